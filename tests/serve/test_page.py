"""The files of the page load nothing from elsewhere, hold no inline script, and speak both languages."""

from __future__ import annotations

import json
import re

import pytest

from bomgen.core.resources import languages
from bomgen.output.registry import DOCUMENTS, WIRINGS
from bomgen.plan.schema import declaration_at
from bomgen.plan.search_space import SOLD
from bomgen.serve.engine import PROGRAMS, READERS, WIRING
from bomgen.serve.form import GOALS, INQUIRY, NONE, PURPOSE, PURPOSES, QUESTIONS
from bomgen.serve.server import INDEX, PAGE

OWN = sorted(path for path in PAGE.rglob("*.*") if path.suffix in (".js", ".css", ".html") and path.name != "editor.js")
NAMESPACE = "http://www.w3.org/2000/svg"


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_no_address_outside_the_page(path) -> None:
    """Look at each file that is written by hand."""
    assert not re.findall(r"(?:https?|wss?):?//", path.read_text("utf-8").replace(NAMESPACE, ""))


def test_no_inline_script_or_style() -> None:
    """Look at the frame of the page."""
    text = (PAGE / INDEX).read_text("utf-8")
    assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", text)


def words_of(code: str) -> dict[str, str]:
    """Return the words of a language by key, those of a group by `group.key`."""
    text = (PAGE / "words" / f"{code}.js").read_text("utf-8").partition("export default")[2].rstrip("; \n")
    # Strings stay; between them keys get their quotes, and a last comma goes.
    pieces = re.split(r'("(?:[^"\\]|\\.)*")', text)
    plain = "".join(piece if at % 2 else re.sub(r"([\w-]+)(?=:)", r'"\1"', piece) for at, piece in enumerate(pieces))
    words: dict[str, str] = {}
    for key, value in json.loads(re.sub(r",(\s*})", r"\1", plain)).items():
        words |= {f"{key}.{name}": word for name, word in value.items()} if isinstance(value, dict) else {key: value}
    return words


def without_editor(words: dict[str, str]) -> dict[str, str]:
    """Return words without those of the editor and of the engine, which are English by themselves."""
    return {key: word for key, word in words.items() if key.partition(".")[0] not in ("editor", "stages", "formats")}


def test_both_languages_have_the_same_words_and_places() -> None:
    """Compare the keys, and what is filled into each word."""
    english, chinese = (without_editor(words_of(code)) for code in ("en", "zh"))
    assert english.keys() == chinese.keys()
    places = {key: [sorted(re.findall(r"\{\d\}", words[key])) for words in (english, chinese)] for key in english}
    assert {key: found for key, found in places.items() if found[0] != found[1]} == {}
    assert [key for key, word in (english | chinese).items() if not word.strip()] == []


def test_every_word_is_used_and_known() -> None:
    """Look for each key as a text of the page's modules or of its frame, and for each word that these name."""
    sources = [path.read_text("utf-8") for path in OWN if path.parent.name != "words"]
    used = {name for text in sources for name in re.findall(r"""["'`]([\w-]+)["'`]""", text)}
    asked = {"questions": {PURPOSE, *(question.id for question in QUESTIONS)}}
    asked["groups"] = {question.group for question in QUESTIONS} - {INQUIRY}
    actions = (PAGE / "start.js").read_text("utf-8").partition("ACTIONS = {")[2].partition("};")[0]
    asked["goals"] = asked["hints"] = {*GOALS, *re.findall(r"(\w+): \(\w*\) =>", actions)}
    proposed = {name for question in QUESTIONS if question.kind == "choice" for name in question.proposed}
    asked["values"] = {*PURPOSES, NONE, SOLD, *proposed, *languages(), *declaration_at(("quote", "state")).words}
    numbers = {declaration_at(question.path).unit for question in QUESTIONS if question.kind == "number"}
    asked["readers"] = {*READERS, PROGRAMS}
    asked["facts"] = {"model", "place", "power", "supplied", "supplies"}
    asked["units"] = numbers - {"count", "word"}
    asked["errors"] = {name.partition(".")[2] for name in words_of("en") if name.startswith("errors.")}
    code = "".join(path.read_text("utf-8") for path in [*PAGE.parent.glob("*.py"), PAGE / "api.js"])
    assert [error for error in asked["errors"] if f'"{error}"' not in code] == []
    words = without_editor(words_of("en"))
    grouped = {key for key in words if "." in key}
    assert words.keys() - grouped - used == set()
    assert grouped == {f"{group}.{name}" for group, names in asked.items() for name in names}
    named = {
        name for text in sources for name in re.findall(r'\bword\("([\w-]+)"|data-(?:word|label)="([\w-]+)"', text)
    }
    assert {name for pair in named for name in pair if name} - words.keys() == set()


def test_the_editor_has_the_phrases_that_are_translated() -> None:
    """Look for each in the bundle, so that none is left behind by another version of the editor."""
    bundle = (PAGE / "editor.js").read_text("utf-8")
    phrases = [key.removeprefix("editor.") for key in words_of("zh") if key.startswith("editor.")]
    assert phrases
    assert [phrase for phrase in phrases if f'"{phrase}"' not in bundle] == []


def test_formats_and_stages_have_chinese_words() -> None:
    """Every format that is offered, and every stage that a call reports with a text of its own."""
    chinese = words_of("zh")
    offered = [file for name in DOCUMENTS.names for file in DOCUMENTS.files(name)]
    offered += [WIRING + name for name in WIRINGS.names]
    assert {key.removeprefix("formats.") for key in chinese if key.startswith("formats.")} == {*offered}
    code = PAGE.parents[1]
    sources = [path.read_text("utf-8") for room in ("workflow", "output") for path in (code / room).glob("*.py")]
    reported = re.compile(r'\breport_stage\(f?"([^"{]+?)(?: \{\w+(?:\.\w+)?\})?"\)')
    stages = {name for text in sources for name in reported.findall(text)}
    assert stages
    assert stages - {key.removeprefix("stages.") for key in chinese} == set()

"""Quotes in another language: nothing that the program says of itself is left in English."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from openpyxl import load_workbook

from bomgen.core import language as languages_room
from bomgen.core import resources, schema
from bomgen.core.language import Language, language
from bomgen.core.phrases import Phrases, places
from bomgen.core.provenance import Assumed, Cited, Reference, walk
from bomgen.output.writer import render
from bomgen.plan import schema as plan_schema
from bomgen.report.result import Report, assumptions, numbers_of
from bomgen.workflow.inputs import open_plan
from bomgen.workflow.pipeline import work_out

ROOT = Path(__file__).parents[2]
PLANS = sorted((ROOT / "plans").glob("*.yaml"))
ASSUMPTIONS = sorted((ROOT / "bomgen" / "data" / "assumption").glob("*.yaml"))
LOGS = sorted((ROOT / "tests" / "errors").glob("*.txt"))
CHINESE = language("zh")
PROSE = re.compile(r"(?<![\w./-])[a-z]{2,}(?: [a-z]{2,})+")
"""English: lower-case words that follow each other."""
CODE = re.compile(r"\\?`[^`]*`|https?://[^\s)>]+")
KEYWORDS = {"if", "else", "for", "in", "not", "and", "or"}
"""Words of formulas, which are program text."""
WARNING = re.compile(r": warning: (.+) \[[a-z-]+\]$", re.MULTILINE)
SAID = (
    "report/warnings",
    "report/checks",
    "pricing/price_warnings",
    "site/weight_and_heat",
    "site/racks",
    "site/power_supply",
    "report/elevations/outlets",
)
"""The modules whose messages all reach the reader of a quote."""
LEAST_WORDS = 3
"""Words of a piece of a message that tell it from others."""


@cache
def reported(path: Path) -> Report:
    """The result of a plan in Chinese."""
    return work_out(open_plan(str(path), str(ROOT)), ("quote.language=zh",))


def named(path: Path) -> Iterator[str]:
    """Every text of a YAML file, which is its author's."""
    stack: list[Any] = [yaml.safe_load(path.read_text("utf-8"))]
    while stack:
        data = stack.pop()
        if isinstance(data, str):
            yield data
        elif isinstance(data, dict | list):
            stack += data.values() if isinstance(data, dict) else data


@cache
def proper_names() -> frozenset[str]:
    """Names of parts and models of the catalogue, and what price books say."""
    files = [path for path in resources.folder("data").glob("*/*.yaml") if path.parent.name != "language"]
    found = {str(data.get("name", "")) for data in (yaml.safe_load(path.read_text("utf-8")) for path in files)}
    return frozenset(found | {text for path in (ROOT / "prices").glob("*.yaml") for text in named(path)})


def documents(report: Report) -> Iterator[Reference]:
    """The documents that a result rests on."""
    figures = [*numbers_of(report).values(), *(figure for figure, _ in assumptions(report, ()))]
    figures += [line.line.quantity for line in report.quote.lines]
    for figure in walk(*figures):
        if isinstance(figure.origin, Cited | Assumed):
            yield from figure.origin.references


def is_told(text: str, words: Language = CHINESE) -> bool:
    """Whether a language has a phrase for a text."""
    return words.phrases.find(text) is not None


# the file -----------------------------------------------------------------------------------------------------------


def test_a_message_and_its_translation_have_the_same_places() -> None:
    """No name or number of a message is lost or made up."""
    wrong = {text for text, said in CHINESE.messages.items() if set(places(text)) != set(places(said))}
    assert wrong == set()


def literals(node: ast.AST) -> Iterator[str]:
    """The texts in a module that are said to somebody: neither docstrings nor what a decorator or an error says."""
    body = getattr(node, "body", None)
    skipped = [each for each in body if isinstance(each, ast.Expr)] if isinstance(body, list) else []
    skipped = [each for each in skipped if isinstance(each.value, ast.Constant)]
    for child in ast.iter_child_nodes(node):
        if child in skipped or isinstance(child, ast.Raise) or child in getattr(node, "decorator_list", ()):
            continue
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value
        yield from literals(child)


@pytest.mark.parametrize("module", SAID)
def test_every_warning_of_the_program_has_a_translation(module: str) -> None:
    """Each piece of text between the places of a message stands in a phrase, even if no plan brings it up."""
    known = "\n".join(text.replace("{{", "{").replace("}}", "}") for text in CHINESE.messages)
    tree = ast.parse((ROOT / "bomgen" / f"{module}.py").read_text("utf-8"))
    pieces = [text for text in literals(tree) if len(re.findall("[a-z]{2,}", text)) >= LEAST_WORDS and " " in text]
    assert [text for text in pieces if text not in known] == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "bomgen" / "data" / "assumption").glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_assumption_has_a_translation(path: Path) -> None:
    """What an assumption is called, and why it is made."""
    data = yaml.safe_load(path.read_text("utf-8"))
    assert is_told(data["name"])
    assert is_told(data["why"].strip())


def test_warnings_that_mistakes_bring_up_are_translated() -> None:
    """Every warning in the transcripts of tests/errors."""
    said = {
        found
        for path in (ROOT / "tests" / "errors").glob("*.txt")
        for found in WARNING.findall(path.read_text("utf-8"))
    }
    assert sorted(text for text in said if not is_told(text)) == []


# whole quotes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_what_a_quote_says_is_translated(path: Path) -> None:
    """Warnings, checks, reasons, and what figures are of."""
    report = reported(path)
    said = {problem.message for problem in report.problems} | {check.message for check in report.checks}
    said |= set(report.design.sizing.fit.reasons) if report.design.sizing.fit else set()
    for figure in walk(*numbers_of(report).values()):
        if isinstance(figure.origin, Assumed):
            said |= {figure.origin.name, figure.origin.why}
    assert sorted(text for text in said if not is_told(text)) == []


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_no_english_is_left_in_a_chinese_quote(path: Path) -> None:
    """Beside code, formulas, names of parts, titles of documents and what the plan says, no two words are English."""
    report = reported(path)
    text = render(report, ("md",))["quote.md"].decode("utf-8").replace("\\", "")
    own = {*proper_names(), *named(path), *(each.title for each in documents(report))}
    for name in sorted(own, key=len, reverse=True):
        text = text.replace(name, "·") if name else text
    lines = (CODE.sub("·", line) for line in text.splitlines())
    found = [match[0] for line in lines for match in PROSE.finditer(line) if not KEYWORDS & set(match[0].split())]
    assert found == []


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_units_are_translated(path: Path) -> None:
    """A unit is a word of the language, or an international symbol."""
    units = {figure.unit for figure in walk(*numbers_of(reported(path)).values())}
    symbols = {"BTU/h", "FLOP/s", "FLOPs", "Gb/s", "TFLOP/s", "U", "W", "kWh", "m", "mm", "money", "kg/kWh"}
    assert units - symbols - set(CHINESE.units) == set()


# phrases ------------------------------------------------------------------------------------------------------------


def test_the_phrase_that_says_most_is_found() -> None:
    """Of phrases that fit a text the one with the most text of its own; numbers only where a number is asked for."""
    phrases = Phrases(["{what} of {whole}", "the power of {names} is not known", "{count:d} of {whole}", "a {b}"])
    assert phrases.find("the power of A, B is not known") == ("the power of {names} is not known", {"names": "A, B"})
    assert phrases.find("3 of 4") == ("{what} of {whole}", {"what": "3", "whole": "4"})
    assert phrases.find("nothing") is None
    assert Phrases(["{count:d} of {whole}"]).find("some of them") is None


def test_lists_and_names_within_messages_are_translated() -> None:
    """A list is written as the language does, and generic parts in it are called by their names."""
    told = CHINESE.message(
        "the weight of rack, rack PDU and DGX H100 is not known; the sum leaves it out: ask the vendor"
    )
    assert told == "机柜、机柜 PDU、DGX H100 的重量未知，未计入合计；请询问供应商"
    said = (
        "leaf-spine links run at 400 Gb/s like those below, both ends carry 800; `links: {leaf-spine: {rate: 800G}}` "
    )
    assert "叶—脊链路与下层链路同为 400 Gb/s" in (told := CHINESE.message(said + "may need fewer switches"))
    assert "`links: {leaf-spine: {rate: 800G}}`" in told, "what is to be written in a plan stays"
    assert CHINESE.message("something that nobody says") == "something that nobody says"


# another language ---------------------------------------------------------------------------------------------------


def test_a_language_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the folder of languages is all that a new one needs: a plan may ask for it, and gets it."""
    package = tmp_path / "bomgen"
    (package / "data" / "language").mkdir(parents=True)
    for place in resources.folder("data").iterdir():
        if place.name != "language":
            (package / "data" / place.name).symlink_to(place)
    words = yaml.safe_load((resources.folder("data") / "language" / "en.yaml").read_text("utf-8"))
    words["words"] |= {"section-summary": "Resumo", "fact-date": "Dato"}
    words["messages"] = {"every line has a price": "ĉiu linio havas prezon"}
    (package / "data" / "language" / "eo.yaml").write_text(yaml.safe_dump(words, allow_unicode=True), "utf-8")
    for name in ("schemas", "templates"):
        (package / name).symlink_to(resources.folder(name))
    caches = (
        resources.folder,
        resources.languages,
        languages_room.language,
        schema.document,
        schema._validator,
        plan_schema.document,
    )
    monkeypatch.setattr(resources, "PACKAGE", package)
    try:
        for each in caches:
            each.cache_clear()
        assert resources.languages() == ("eo",)
        report = work_out(open_plan(str(ROOT / "plans" / "llama65b-linkx.yaml"), str(ROOT)), ("quote.language=eo",))
        text = render(report, ("md",))["quote.md"].decode("utf-8")
    finally:
        monkeypatch.undo()
        for each in caches:
            each.cache_clear()
    assert "## Resumo" in text
    assert "ĉiu linio havas prezon" in text


def test_a_workbook_has_the_font_of_its_language() -> None:
    """Chinese is not left to whatever a spreadsheet puts in place of a Latin font."""
    book = load_workbook(BytesIO(render(reported(ROOT / "plans" / "llama65b.yaml"), ("xlsx",))["quote.xlsx"]))
    assert {cell.font.name for row in book.worksheets[0].iter_rows() for cell in row if cell.value} == {CHINESE.font}

"""Quotes in another language: nothing that the program says of itself is left in English."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path

import pytest
import yaml
from openpyxl import load_workbook
from package_source import PACKAGE, TREES
from plan_cases import read_cases

from bomgen.core import messages as messages_room
from bomgen.core import resources, schema
from bomgen.core.language import language
from bomgen.core.messages import Message, message, places
from bomgen.core.provenance import Assumed, Cited, Reference, walk
from bomgen.output.writer import render
from bomgen.plan import schema as plan_schema
from bomgen.plan.schema import declaration_at
from bomgen.results.result import Report, assumptions, numbers_of
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import open_plan

ROOT = Path(__file__).parents[2]
PLANS = sorted((ROOT / "plans").glob("*.yaml"))
ASSUMPTIONS = sorted((ROOT / "bomgen" / "data" / "assumption").glob("*.yaml"))
ERRORS = read_cases(*(ROOT / "tests" / "errors" / "cases").glob("*.yaml"))
ENGLISH, CHINESE = language("en"), language("zh")
PROSE = re.compile(r"(?<![\w./-])[a-z]{2,}(?: [a-z]{2,})+")
"""English: lower-case words that follow each other."""
CODE = re.compile(r"\\?`[^`]*`|https?://[^\s)>]+")
KEYWORDS = {"if", "else", "for", "in", "not", "and", "or"}
"""Words of formulas, which are program text."""
WARNING = re.compile(r": warning: (.+) \[[a-z-]+\]$", re.MULTILINE)
SAID = (
    "results/what_if",
    "results/warnings",
    "results/checks",
    "pricing/quote",
    "site/rack_loads",
    "site/racks",
    "results/elevations",
)
"""The modules whose messages all reach the reader of a quote."""
LEAST_WORDS = 3
"""Words of a text that is a sentence, rather than a name."""


@cache
def reported(path: Path) -> Report:
    """The result of a plan in Chinese."""
    return work_out(open_plan(str(path), str(ROOT)), ("quote.language=zh",))


@cache
def named(path: Path) -> frozenset[str]:
    """Every text of a YAML file, which is its author's."""
    found, stack = set[str](), [yaml.safe_load(path.read_text("utf-8"))]
    while stack:
        data = stack.pop()
        if isinstance(data, str):
            found.add(data)
        elif isinstance(data, dict | list):
            stack += data.values() if isinstance(data, dict) else data
    return frozenset(found)


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


@cache
def calls() -> list[tuple[Path, ast.Call]]:
    """Every call of `message` in the program."""
    return [
        (path, node)
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "message"
    ]


def codes(node: ast.expr) -> list[str]:
    """The codes that an argument may be, as far as they are written there."""
    if isinstance(node, ast.IfExp):
        return codes(node.body) + codes(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def texts() -> set[str]:
    """Every text that is written in the program, and the beginnings of those that are put together."""
    nodes = (node for tree in TREES.values() for node in ast.walk(tree))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def unsaid(words: Mapping[str, str]) -> set[str]:
    """The codes that the program uses, or English has, and a language has no sentence for."""
    used = {code for _, call in calls() for code in codes(call.args[0])}
    return (used | ENGLISH.messages.keys()) - words.keys()


def is_translated(text: str) -> bool:
    """Whether a text is a message or the text of a record, in full: what is in it, too."""
    if not isinstance(text, Message):
        return False
    if "/" in text.code:
        return text.code in CHINESE.records
    return text.code in CHINESE.messages and set(text.parameters) == places(CHINESE.messages[text.code])


def sentences(text: str) -> Iterator[str]:
    """A text, and the texts that were put into it, which may be messages themselves."""
    yield text
    if isinstance(text, Message):
        for value in text.parameters.values():
            for each in value if isinstance(value, tuple) else (value,):
                yield from sentences(each) if isinstance(each, str) else ()


def plain_english(text: str) -> list[str]:
    """The English sentences in a text that no language knows of: a message within them has lost its code."""
    found = (each for each in sentences(text) if not isinstance(each, Message))
    return [each for each in found if PROSE.search(CODE.sub("·", each)) and each not in proper_names()]


# the file -----------------------------------------------------------------------------------------------------------


def test_every_language_has_every_sentence() -> None:
    """A message that the program uses and a language lacks is named."""
    assert {each: unsaid(language(each).messages) for each in resources.languages()} == {
        each: set() for each in resources.languages()
    }


def test_a_missing_sentence_is_named() -> None:
    """A language that lacks one sentence fails, and the failure says which."""
    fewer = {code: sentence for code, sentence in CHINESE.messages.items() if code != "over-built"}
    assert unsaid(fewer) == {"over-built"}


def test_every_sentence_is_used() -> None:
    """A sentence that nothing says is no longer needed; languages have no others than English."""
    written = texts()
    begun = tuple(text for text in written if re.fullmatch("[a-z]+-", text))
    assert [code for code in ENGLISH.messages if code not in written and not code.startswith(begun)] == []
    assert CHINESE.messages.keys() - ENGLISH.messages.keys() == set()


def test_a_message_and_its_translation_have_the_same_places() -> None:
    """No name or number of a message is lost or made up."""
    wrong = {code for code, said in CHINESE.messages.items() if places(ENGLISH.messages[code]) != places(said)}
    assert wrong == set()


def test_a_message_has_a_parameter_for_every_place() -> None:
    """What a call passes is what its sentence holds; calls that pass a mapping are looked at when they run."""
    wrong = []
    for path, call in calls():
        named = {each.arg for each in call.keywords}
        for code in codes(call.args[0]):
            wanted = places(ENGLISH.messages[code])
            if not (named - {None} <= wanted if None in named else named == wanted):
                wrong.append(f"{path.name}:{call.lineno}: {code} takes {sorted(wanted)}")
    assert wrong == []


def test_every_number_has_two_forms() -> None:
    """A place for a number and its noun has one form for one and another for more."""
    forms = [
        form for text in ENGLISH.messages.values() for form in re.findall(r"(?<!\{)\{[a-z]+:([^{} ][^{}]*)\}", text)
    ]
    assert [form for form in forms if form.count("|") != 1 and form not in ("and", "or")] == []
    assert message("enough-gpus", count=1) == "1 GPU is enough"
    assert message("enough-gpus", count=8) == "8 GPUs are enough"


def literals(node: ast.AST) -> Iterator[str]:
    """The texts of a module that somebody reads: no docstrings, no sources, nor what a decorator or an error says.

    What a step of a calculation means is no more read there than what a formula says of itself.
    """
    body = getattr(node, "body", None)
    skipped = [each for each in body if isinstance(each, ast.Expr)] if isinstance(body, list) else []
    skipped = [each for each in skipped if isinstance(each.value, ast.Constant)]
    for child in ast.iter_child_nodes(node):
        if child in skipped or isinstance(child, ast.Raise) or child in getattr(node, "decorator_list", ()):
            continue
        if isinstance(child, ast.keyword) and child.arg == "source":
            continue
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id == "step":
            continue
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value
        yield from literals(child)


@pytest.mark.parametrize("module", SAID)
def test_every_warning_of_the_program_has_a_translation(module: str) -> None:
    """Modules whose messages all reach a quote have no sentence of their own: every one is a message with a code."""
    tree = TREES[PACKAGE / f"{module}.py"]
    pieces = [text for text in literals(tree) if len(re.findall("[a-z]{2,}", text)) >= LEAST_WORDS and " " in text]
    assert pieces == []


@pytest.mark.parametrize("path", ASSUMPTIONS, ids=lambda path: path.stem)
def test_every_assumption_has_a_translation(path: Path) -> None:
    """What an assumption is called, and why it is made."""
    assert {f"assumption/{path.stem}/name", f"assumption/{path.stem}/why"} <= CHINESE.records.keys()


def test_every_planning_part_has_a_translation() -> None:
    """Parts that are no product of a vendor have no proper name."""
    paths = [path for path in resources.folder("data").glob("*/*.yaml") if path.parent.name != "language"]
    generic = [path for path in paths if "\ngeneric: true" in path.read_text("utf-8")]
    assert len(generic) > 10
    named = [path for path in generic if PROSE.search(yaml.safe_load(path.read_text("utf-8"))["name"])]
    assert [path.name for path in named if f"{path.parent.name}/{path.stem}" not in CHINESE.records] == []


def test_every_translated_record_is_there() -> None:
    """A translation of a record that is gone, or of a text that it does not have, is no longer needed."""
    wrong = []
    for place in CHINESE.records:
        kind, id, *keys = place.split("/")
        if kind in ("figure", "source"):
            continue
        if kind == "key":
            wrong += [] if declaration_at(id.split(".")).comment else [place]
            continue
        path = ROOT / "bomgen" / "data" / kind / f"{id}.yaml"
        data = yaml.safe_load(path.read_text("utf-8")) if path.is_file() else {}
        if kind == "assumption" or not keys:
            found = data.get(keys[0] if keys else "name")
        else:
            found = data.get("chassis", {}).get(keys[0], {}).get("name")
        wrong += [] if found else [place]
    assert wrong == []


def test_warnings_that_mistakes_bring_up_are_translated() -> None:
    """Every warning in the transcripts of tests/errors is an instance of a sentence that other languages have.

    Those of part files are not: no document of a customer shows them.
    """
    patterns = [re.compile(pattern_of(sentence), re.DOTALL) for sentence in ENGLISH.messages.values()]
    shown = (case["says"] for name, case in ERRORS.items() if not name.startswith("part-folder"))
    said = {found for text in shown for found in WARNING.findall(text)}
    assert sorted(text for text in said if not any(pattern.fullmatch(text) for pattern in patterns)) == []


def pattern_of(sentence: str) -> str:
    """What a sentence looks like with its places filled; places alone are no sentence."""
    parts = re.split(r"\{[a-z]+(?::[^{}]*)?\}", sentence.replace("{{", "\0").replace("}}", "\1"))
    escaped = [re.escape(part).replace("\0", "{").replace("\1", "}") for part in parts]
    return "(?!)" if sum(map(len, parts)) < len("; remove it") else ".+?".join(escaped)


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
    assert sorted(text for text in said if not is_translated(text)) == []
    own = {*named(path), *proper_names()}
    assert [each for text in said for each in plain_english(text) if each not in own] == []


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_no_english_is_left_in_a_chinese_quote(path: Path) -> None:
    """Beside code, formulas, names of parts, titles of documents, plans and price books, no words are English."""
    report = reported(path)
    text = render(report, ("md",))["report.md"].decode("utf-8").replace("\\", "")
    titles = [title for item in report.bill.open_items for title in item.source.split("; ")]
    prices = named(ROOT / "bomgen/data/indicative-prices.yaml")
    own = {*proper_names(), *named(path), *prices, *titles, *(each.title for each in documents(report))}
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


# messages -----------------------------------------------------------------------------------------------------------


def test_lists_and_names_within_messages_are_translated() -> None:
    """A list is written as the language does, and generic parts in it are called by their names."""
    text = message("unknown-weight", names=(message("rack"), message("rack-pdu"), "DGX H100"))
    assert text == "weight unknown for rack, rack PDU, DGX H100; the total excludes it; ask the vendor"
    assert CHINESE.message(text) == "机柜、机柜 PDU、DGX H100 的重量未知，未计入合计；请询问供应商"
    text = message("one-leaf", fabric="storage", ports=2, dual="6 + 3", single="5 + 3")
    assert "`homing: dual`" in CHINESE.message(text), "what is to be written in a plan stays"
    assert CHINESE.message("something that nobody says") == "something that nobody says"


def test_the_last_of_a_list_is_joined_by_a_word() -> None:
    """`a, b and c` in English."""
    names = ("a", "b", "c")
    assert message("cards-without-number", names=names, switch="X").startswith("a, b and c of X")
    assert message("cards-without-number", names=("a",), switch="X").startswith("a of X")


def test_a_message_survives_a_copy() -> None:
    """A copy has the code and the parameters, a text made from a message has not."""
    text = message("enough-gpus", count=8)
    copied = copy.deepcopy(text)
    assert (copied, copied.code, copied.parameters) == (text, "enough-gpus", {"count": 8})
    assert not isinstance(f"{text}.", Message)


def test_english_that_lost_its_code_is_found() -> None:
    """A message within an f-string is plain English, wherever it stands."""
    lost = f"{message('enough-gpus', count=8)}"
    assert plain_english(message("target-days", gpus=8, days="2", target="1", remedy=lost)) == ["8 GPUs are enough"]
    assert not is_translated(lost)


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
    (package / "data" / "language" / "en.yaml").symlink_to(resources.folder("data") / "language" / "en.yaml")
    words["messages"] |= {"lines-priced": "ĉiu linio havas prezon"}
    (package / "data" / "language" / "eo.yaml").write_text(yaml.safe_dump(words, allow_unicode=True), "utf-8")
    for name in ("schemas", "templates"):
        (package / name).symlink_to(resources.folder(name))
    caches = (
        resources.folder,
        messages_room.read_language,
        schema.document,
        plan_schema.document,
    )
    monkeypatch.setattr(resources, "PACKAGE", package)
    try:
        for each in caches:
            each.cache_clear()
        assert resources.languages() == ("en", "eo")
        report = work_out(open_plan(str(ROOT / "plans" / "llama65b-linkx.yaml"), str(ROOT)), ("quote.language=eo",))
        text = render(report, ("md",))["report.md"].decode("utf-8")
    finally:
        monkeypatch.undo()
        for each in caches:
            each.cache_clear()
    assert "## Resumo" in text
    assert "ĉiu linio havas prezon" in text


def test_a_workbook_has_the_font_of_its_language() -> None:
    """Chinese is not left to whatever a spreadsheet puts in place of a Latin font."""
    book = load_workbook(BytesIO(render(reported(ROOT / "plans" / "llama65b.yaml"), ("xlsx",))["report.xlsx"]))
    assert {cell.font.name for row in book.worksheets[0].iter_rows() for cell in row if cell.value} == {CHINESE.font}

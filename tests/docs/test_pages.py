"""The pages of the documentation: those that are written leave nothing out, links lead somewhere, plans are right."""

from __future__ import annotations

import doctest
import json
import re
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import commands
import errors
import formulas
import jsonschema
import pictures
import pytest
import written
from click.testing import CliRunner

from bomgen.catalog.files import KINDS, Catalog
from bomgen.cli.command import COMMANDS, INTERRUPTED, NOT_WRITTEN, PASSED, WRONG_PLAN, WRONG_USAGE, main, subcommand
from bomgen.core.resources import folder
from bomgen.plan import schema as plan_schema

CHECKOUT = Path(__file__).parents[2]
KEPT = (
    *(CHECKOUT / name for name in ("README.md", "README.zh.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((CHECKOUT / "docs").rglob("*.md")),
)
ROLES = ("sellers", "engineers", "buyers", "planners")
TRANSLATED = ("xray", "quote", "prices", "serve")
"""Pages in Chinese beside those of the roles; their commands and headings are held to the English ones."""
PLAN = plan_schema.document("plan")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
WHOLE_PLAN = re.compile(r"^```yaml\n(bomgen: 1\n.*?)^```", re.MULTILINE | re.DOTALL)


@cache
def pages_written() -> dict[str, str]:
    """Return the pages that the program writes, by their place in the documentation."""
    return dict(written.pages())


# written pages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_has_its_figures(kind: str) -> None:
    """The page of a kind has every part of it, and of each every figure with its confidence and sources."""
    page = pages_written()[f"catalog/{kind}.md"]
    for record in Catalog().all(kind):
        section = page.partition(f"{{#{record.id}}}")[2].partition("\n## ")[0]
        assert section, record.id
        for key, raw in record.data.items():
            if isinstance(raw, dict) and "value" in raw:
                row = re.search(rf"<tr><td><code>{re.escape(key)}</code></td>.*?</tr>", section)
                assert row, f"{record.id}.{key}"
                assert f"<td>{raw.get('confidence', '')}</td>" in row[0], f"{record.id}.{key}"
        for name in record.data.get("sources") or ():
            assert f"<b>{name}</b>" in section, f"{record.id}: {name}"


def test_every_formula_is_there() -> None:
    """With its expression, and its source where it has one."""
    pages = "".join(text for path, text in pages_written().items() if path.startswith("reference/formulas/"))
    every = [each for room in formulas.rooms().values() for each in room]
    assert len(every) > 400
    for each in every:
        place = f"{{#{each.__module__.removeprefix('bomgen.')}.{each.name}}}"
        assert pages.count(place) == 1, place


def test_every_assumption_is_there() -> None:
    """By its id."""
    page = pages_written()["reference/assumptions.md"]
    assert [
        path.stem for path in (folder("data") / "assumption").glob("*.yaml") if f"{{#{path.stem}}}" not in page
    ] == []


def test_every_rule_of_the_transcripts_is_there() -> None:
    """Each with the messages that the tests know of it, and in Chinese with what it means."""
    for page in ("reference/errors.md", "zh/errors.md"):
        text = pages_written()[page]
        assert [rule for rule in errors.rules() if f"## {rule} {{#{rule}}}" not in text] == []
    assert len(errors.rules()) > 80
    assert [*errors.meanings()] == [*errors.rules()]


def test_every_command_and_option_is_there() -> None:
    """As the command knows them."""
    [(_, page)] = commands.pages()
    for name in COMMANDS:
        command = subcommand(name)
        section = page.partition(f"{{#{name}}}")[2].partition("\n## ")[0]
        options = [each for parameter in command.params for each in parameter.opts if each.startswith("--")]
        assert [option for option in options if option not in section] == [], name


def test_every_exit_code_is_there() -> None:
    """Those that the program itself ends with, by the constants of the command line."""
    [(_, page)] = commands.pages()
    said = page.partition("Exit codes: ")[2].partition("\n")[0]
    ended = 128 + signal.SIGPIPE  # as shells tell of a program that this signal ended
    codes = (0, WRONG_PLAN, WRONG_USAGE, NOT_WRITTEN, PASSED, INTERRUPTED, ended)
    assert [*codes] == [int(code) for code in re.findall(r"\b\d+\b", said)]


@pytest.mark.parametrize(
    ("text", "short"),
    [("a: 1\n", True), ("a: \x07\n", False), ("a: '" + "x" * 400 + "'\n", False), (b"\xff\n", False)],
)
def test_a_plan_is_shown_where_it_can_be(text: str | bytes, short: bool) -> None:
    """A long one, one with signs that nobody sees, and one that is no text is not."""
    assert short == errors._is_short({"plan": text, "says": "plan.yaml:1:1: error: a [b]\n"})


def keys(data: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key of a schema with its path, as far as no reference leads away."""
    for key, entry in (data.get("properties") or {}).items():
        at = f"{path}.{key}" if path else key
        yield at, entry
        yield from keys(entry, at)


def test_every_key_of_a_plan_is_there() -> None:
    """Those of the plan itself, of fabrics, models and training runs."""
    pages = "".join(text for path, text in pages_written().items() if path.startswith("reference/plan/"))
    wanted = [path for path, _ in keys(PLAN)]
    for name, path in (("fabric", "fabrics.NAME"), ("model", "model"), ("training", "workload.training")):
        wanted += [at for at, _ in keys(PLAN["$defs"][name], path)]
    assert len(wanted) > 250
    assert [path for path in wanted if f"{{#{path}}}" not in pages] == []


def described(data: Any) -> Iterator[dict[str, Any]]:
    """Every entry of a schema that has examples."""
    if isinstance(data, dict):
        if isinstance(data.get("examples"), list) and ("type" in data or "$ref" in data):
            yield data
        for key, below in data.items():
            if key != "examples":
                yield from described(below)
    elif isinstance(data, list):
        for below in data:
            yield from described(below)


def test_every_example_of_a_key_is_valid() -> None:
    """Each example keeps to the schema that it stands in."""
    found = list(described(PLAN))
    assert len(found) > 500
    whole = jsonschema.Draft202012Validator(PLAN)
    wrong = [
        f"{entry.get('title')}: {json.dumps(example)}"
        for entry in found
        for example in entry["examples"]
        if not whole.evolve(schema=entry).is_valid(example)
    ]
    assert wrong == []


def test_no_written_page_hides_a_kept_one() -> None:
    """The site would show only one of them."""
    kept = {path.relative_to(CHECKOUT / "docs").as_posix() for path in KEPT if path.is_relative_to(CHECKOUT / "docs")}
    assert {*pages_written()} & kept == set()


# links --------------------------------------------------------------------------------------------------------------


def slug(heading: str) -> str:
    """The anchor of a heading, as MkDocs and GitHub make it."""
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, those with an id of their own by it."""
    headings = re.findall(r"^#+ (.+?)\s*$", FENCED.sub("", text), re.MULTILINE)
    own = {found[1] for heading in headings if (found := re.search(r"\{#([^}]+)\}$", heading))}
    return own | {slug(re.sub(r"[`*]", "", heading)) for heading in headings}


def text_of(path: Path) -> str | None:
    """The page at a place of the checkout: kept there, or written into the site below docs/."""
    if path.is_file():
        return path.read_text("utf-8") if path.suffix == ".md" else ""
    docs = CHECKOUT / "docs"
    return pages_written().get(path.relative_to(docs).as_posix()) if path.is_relative_to(docs) else None


@pytest.mark.parametrize("page", KEPT, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Links within the checkout to a file and heading that are there; others are whole addresses."""
    for link in LINK.findall(CODE.sub("", FENCED.sub("", page.read_text("utf-8")))):
        if "://" in link:
            parts = urlsplit(link)
            assert parts.scheme in ("http", "https"), link
            assert "." in parts.netloc, link
            continue
        file, _, anchor = link.partition("#")
        text = text_of((page.parent / file).resolve() if file else page)
        assert text is not None, link
        assert not anchor or anchor in anchors(text), link


# plans and translations ---------------------------------------------------------------------------------------------


PLANS = [(page, text) for page in KEPT for text in WHOLE_PLAN.findall(page.read_text("utf-8"))]


@pytest.mark.parametrize(("page", "text"), PLANS, ids=[page.name for page, _ in PLANS])
def test_whole_plans_can_be_built(page: Path, text: str, tmp_path: Path) -> None:
    """A plan that a page shows whole is checked as it stands; what it names lies where the examples lie."""
    place = tmp_path / "plans"
    place.mkdir()
    (tmp_path / "prices").symlink_to(CHECKOUT / "prices")
    (place / "plan.yaml").write_text(text, encoding="utf-8")
    outcome = CliRunner().invoke(main, ["check", str(place / "plan.yaml"), "--root", str(CHECKOUT.anchor)])
    assert outcome.exit_code == 0, f"{page}: {outcome.stderr}"


@pytest.mark.parametrize("page", KEPT, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_sessions_of_python_do_what_they_show(page: Path) -> None:
    """Lines behind `>>>` print what stands below them."""
    assert (
        doctest.testfile(
            str(page), module_relative=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        ).failed
        == 0
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [("README.md", "README.zh.md"), *((f"docs/{role}.md", f"docs/zh/{role}.md") for role in (*ROLES, *TRANSLATED))],
)
def test_the_chinese_page_shows_the_same(one: str, other: str) -> None:
    """Commands, outputs, files and pictures are those of the English page."""
    english, chinese = ((CHECKOUT / name).read_text("utf-8") for name in (one, other))
    chinese = chinese.replace("](../", "](")
    assert FENCED.findall(chinese) == FENCED.findall(english)
    pictures = re.compile(r"!\[[^]]*\]\(([^)]+)\)")
    assert pictures.findall(chinese) == pictures.findall(english)
    assert chinese.count("\n**") == english.count("\n**")


def test_an_entry_of_the_menu_is_the_title_of_its_page() -> None:
    """A reader who follows the menu arrives at what it said."""
    menu = re.findall(r"^ +- (.+): ([a-z/-]+\.md)$", (CHECKOUT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    kept = [(entry, CHECKOUT / "docs" / page) for entry, page in menu if (CHECKOUT / "docs" / page).is_file()]
    assert len(kept) > 30
    assert [entry for entry, page in kept if not page.read_text("utf-8").startswith(f"# {entry}\n")] == []


@pytest.mark.parametrize("page", sorted(path.name for path in (CHECKOUT / "docs" / "zh").glob("*.md")))
def test_the_chinese_page_has_as_many_headings(page: str) -> None:
    """Of the same levels, so that a chapter that lags behind is seen."""
    levels = [
        re.findall(r"^(#+) ", FENCED.sub("", (CHECKOUT / "docs" / folder / page).read_text("utf-8")), re.MULTILINE)
        for folder in ("", "zh")
    ]
    assert levels[1] == levels[0]


def test_pictures_show_what_bomgen_shows_today() -> None:
    """Drawings as they are, screenshots by the digest of what they show; `make docs` draws them anew."""
    stale = [name for name, svg in pictures.drawings() if not pictures.is_drawing(pictures.PICTURES / name, svg)]
    shots = [(pictures.PICTURES / f"{shot.name}.png", shot) for shot in pictures.screenshots()]
    stale += [file.name for file, shot in shots if not shot.is_drawn_in(file)]
    assert stale == [], "run `make docs`"


def test_every_picture_is_shown() -> None:
    """None is left over from a page that was rewritten."""
    shown = "".join(page.read_text("utf-8") for page in KEPT)
    assert [path.name for path in pictures.PICTURES.iterdir() if f"pictures/{path.name})" not in shown] == []

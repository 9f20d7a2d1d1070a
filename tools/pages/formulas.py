"""Pages of the formulas, one a room: expression, unit, meaning and source; and of the assumptions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib import import_module
from inspect import getsource
from itertools import groupby, pairwise
from pkgutil import walk_packages

from text import html, plain, sources

import bomgen
from bomgen.catalog.files import built_in
from bomgen.core.provenance import Formula
from bomgen.core.resources import folder

LEFT_OUT = ("bomgen.cli.__main__",)
"""Programs, which importing would run."""
SUBJECTS = {
    "sizing": "Sizing: training, fine-tuning, serving, storage",
    "fabric": "Fabrics",
    "site": "Racks, power, weight, energy",
    "optics": "Modules and cables",
    "catalog": "Parameters of a model from its shape",
}


def rooms() -> dict[str, list[Formula]]:
    """The formulas of each room, in the order of its modules."""
    found: dict[str, list[Formula]] = {}
    for module in walk_packages(bomgen.__path__, "bomgen."):
        if module.name not in LEFT_OUT:
            own = (each for each in vars(import_module(module.name)).values() if isinstance(each, Formula))
            for each in own:
                if each.__module__ == module.name:
                    found.setdefault(module.name.split(".")[1], []).append(each)
    return found


def pages() -> Iterator[tuple[str, str]]:
    """The page of each room with many formulas, one of all others, and the one that leads to them."""
    found = rooms()
    others = [room for room in found if room not in SUBJECTS]
    lines = "".join(
        f"- [{title}](formulas/{room}.md): {len(found[room])} formulas\n" for room, title in SUBJECTS.items()
    )
    count, rest = sum(map(len, found.values())), sum(len(found[room]) for room in others)
    told = (
        f"# Formulas\n\nThe {count} formulas that numbers are worked out with. The expression is the program's own: it "
        "is read from the source that runs, and `bomgen explain` shows it with the numbers of a plan. Names of inputs "
        f"end in their unit.\n\n{lines}- [Other rooms](formulas/others.md): {rest} formulas\n"
    )
    yield "reference/formulas.md", told
    for room, title in SUBJECTS.items():
        yield f"reference/formulas/{room}.md", f"# {title}\n\n" + _by_module(found[room])
    told = "".join(_by_module(found[room]) for room in others)
    yield "reference/formulas/others.md", f"# Formulas of other rooms\n\n{told}"


def _by_module(found: list[Formula]) -> str:
    """Formulas under headings of their modules, each with what the module says of itself."""
    parts = []
    for module, own in groupby(found, lambda each: each.__module__):
        said = " ".join((import_module(module).__doc__ or "").partition("\n\n")[0].split())
        parts.append(f"## {module.removeprefix('bomgen.')}\n\n{plain(said)}\n\n" + "".join(map(_formula, own)))
    return "".join(parts)


def _formula(each: Formula) -> str:
    """A formula as a section; its text is HTML, because hundreds of Markdown blocks take their time."""
    module = each.__module__.removeprefix("bomgen.")
    meaning = html(" ".join((each.__doc__ or _said_below(each.__module__).get(each.name, "")).split()))
    source = f"<p>Source: {html(each.source)}</p>\n" if each.source else ""
    unit = f" [{escape(_unit(each.unit))}]" if _unit(each.unit) else ""
    return (
        f"### {each.name.replace('_', ' ')} {{#{module}.{each.name}}}\n\n"
        f'<div class="formula">\n<pre><code>{escape(each.name)}{unit} = {escape(each.text)}</code></pre>\n'
        f"<p>{meaning}</p>\n{source}</div>\n\n"
    )


@cache
def _said_below(module: str) -> dict[str, str]:
    """What a module says below each formula that it declares by an operation."""
    return {
        declared.id: said
        for statement, below in pairwise(ast.parse(getsource(import_module(module))).body)
        for declared, said in _declaration(statement, below)
    }


def _declaration(statement: ast.stmt, below: ast.stmt) -> Iterator[tuple[ast.Name, str]]:
    match statement, below:
        case ast.Assign(targets=[ast.Name() as declared]), ast.Expr(value=ast.Constant(value=str() as said)):
            yield declared, said


def _unit(unit: str) -> str:
    taken = re.fullmatch("<(.+)>", unit)
    return f"unit of {taken[1]}" if taken else unit


def assumptions() -> Iterator[tuple[str, str]]:
    """The page of all that is taken where a plan is silent."""
    parts = [
        "# Assumptions\n\nWhat bomgen takes where a plan is silent, why, and after which document. A quote lists those "
        "that it rests on, and a plan that says otherwise replaces them.\n"
    ]
    for path in sorted((folder("data") / "assumption").glob("*.yaml")):
        data = built_in("assumption", path.stem).data
        value = data["value"]
        shown = ("yes" if value else "no") if isinstance(value, bool) else f"{value}"
        unit = data.get("unit", "")
        counted = f" {plain(unit)}" if unit and unit not in ("word", "count") else ""
        parts.append(
            f"## {plain(data['name'])} {{#{path.stem}}}\n\n**{plain(shown)}{counted}**, confidence "
            f"{data['confidence']}\n\n{plain(data['why'])}\n\n{sources(data.get('sources') or {})}"
        )
    yield "reference/assumptions.md", "\n".join(parts)

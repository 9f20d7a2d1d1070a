"""Writes docs/reference-designs.md: every published cell of `fabrics.yaml` beside bomgen's, and why they differ.

`python tests/reference/designs.py` writes the page anew; a test holds it to what it would write.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from bomgen.results.result import result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

TABLES = Path(__file__).with_name("fabrics.yaml")
COMPONENTS = Path(__file__).with_name("components.yaml")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference-designs.md"
WIDTH = 120
SIGNS = {"+": operator.add, "/": operator.floordiv}
HEAD = """# Reference designs

Published fabrics, each built from a plan of a few lines. The first line of every row is the published
number, the second is bomgen's. If they differ, the reason is below the table. This page is written by
`make docs` from the tables in `tests/reference/fabrics.yaml`, which the tests hold bomgen to.
"""


def lay_over(plan: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a dotted path of a plan."""
    *above, last = path.split(".")
    for step in above:
        plan = plan.setdefault(step, {})
    plan[last] = value


def plan_of(table: dict[str, Any], number: int) -> dict[str, Any]:
    """The plan of a row: that of the table with the row's given values laid over it."""
    plan: dict[str, Any] = deepcopy(table["plan"])
    for path, value in zip(table["given"], table["rows"][number], strict=False):
        lay_over(plan, path, value)
    return plan


def printed(table: dict[str, Any], number: int) -> dict[str, Any]:
    """The cells of a row as the document prints them."""
    return dict(zip(table["expect"], table["rows"][number][len(table["given"]) :], strict=True))


def consistent(table: dict[str, Any], number: int) -> dict[str, Any]:
    """The cells of a row: as printed, in links where it counts cages of several, and corrected by the errata."""
    units = table.get("printed_in", {})
    corrected = {erratum["cell"]: erratum["value"] for erratum in table.get("errata", ()) if erratum["row"] == number}
    return {cell: value * units.get(cell, 1) for cell, value in printed(table, number).items()} | corrected


def cell_of(bom: dict[str, Any], path: str) -> Any:
    """The value of bom.json at a dotted path, or of a sum (`a + b`) or a share (`a / b`) of two."""
    for sign, worked_out in SIGNS.items():
        if f" {sign} " in path:
            return worked_out(*(cell_of(bom, each) for each in path.split(f" {sign} ")))
    value: Any = bom
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def built(plan: dict[str, Any]) -> dict[str, Any]:
    """The bom.json of a plan."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        return result(work_out(PlanFile("plan.yaml", yaml.safe_dump(plan).encode(), place, place)))


def page() -> str:
    """The whole page."""
    tables = yaml.safe_load(TABLES.read_text(encoding="utf-8"))
    components = yaml.safe_load(COMPONENTS.read_text(encoding="utf-8"))
    lines = (*_lines(tables), *(line for each in components for line in _component_lines(each)))
    return HEAD + "".join(f"\n{line}\n" if line.startswith("## ") else f"{line}\n" for line in lines)


def pieces_by_line(components: dict[str, Any]) -> dict[str, int]:
    """The quantities of the bill of the plan that a list of components is held against, by line."""
    plan = yaml.safe_load((ROOT / components["plan"]).read_text(encoding="utf-8"))
    plan.pop("quote")
    return {line["id"]: line["quantity"] for line in built(plan)["lines"]}


def _component_lines(components: dict[str, Any]) -> Iterator[str]:
    pieces = pieces_by_line(components)
    yield f"## {components['title']}"
    yield ""
    source = f"[{components['source']}]({components['url']})" if "url" in components else components["source"]
    yield f"Source: {source}. The plan is `{components['plan']}`."
    if "note" in components:
        yield f"{components['note'][0].upper()}{components['note'][1:]}."
    yield ""
    yield "| component | published | bomgen | why they differ |"
    yield "|---|---|---|---|"
    for row in components["rows"]:
        ours, theirs = (_text(each) for each in (sum(pieces[line] for line in row["lines"]), row["printed"]))
        yield f"| {row['component']} | {theirs} | {ours if ours == theirs else f'**{ours}**'} | {row.get('why', '')} |"
    for line, why in components.get("besides", {}).items():
        yield f"| `{line}` | – | **{_text(pieces[line])}** | {why} |"


def _lines(tables: list[dict[str, Any]]) -> Iterator[str]:
    for table in tables:
        yield f"## {table['title']}"
        yield ""
        source = f"[{table['source']}]({table['url']})" if "url" in table else table["source"]
        yield f"Source: {source}."
        if "note" in table:
            yield f"{table['note'][0].upper()}{table['note'][1:]}."
        yield ""
        names = [_short(path) for path in (*table["given"], *table["expect"])]
        yield f"| | {' | '.join(names)} |"
        yield f"|---|{'---|' * len(names)}"
        for number in range(len(table["rows"])):
            yield from _row(table, number)
        yield ""
        yield "<details markdown><summary>The plan of the first row</summary>"
        yield ""
        yield "```yaml"
        yield yaml.safe_dump(plan_of(table, 0), sort_keys=False, width=WIDTH).rstrip()
        yield "```"
        yield ""
        yield "</details>"
        reasons = list(_reasons(table))
        if reasons:
            yield ""
            yield from reasons


def _row(table: dict[str, Any], number: int) -> Iterator[str]:
    given = [_text(value) for value in table["rows"][number][: len(table["given"])]]
    bom = built(plan_of(table, number))
    published = [_text(value) for value in printed(table, number).values()]
    ours = [_text(cell_of(bom, path)) for path in table["expect"]]
    yield f"| published | {' | '.join((*given, *published))} |"
    marked = [own if own == theirs else f"**{own}**" for own, theirs in zip(ours, published, strict=True)]
    yield f"| bomgen | {' | '.join((*given, *marked))} |"


def _reasons(table: dict[str, Any]) -> Iterator[str]:
    for path, links in table.get("printed_in", {}).items():
        yield f"- {_short(path)}: a cell of the document counts cages of {links} links each."
    for erratum in table.get("errata", ()):
        row = table["rows"][erratum["row"]][0]
        yield f"- {_short(erratum['cell'])}, row {row}: {erratum['why']}."


def _short(path: str) -> str:
    """The end of a path, which says enough in a table of one fabric."""
    for sign in SIGNS:
        if f" {sign} " in path:
            return f" {sign} ".join(_short(each) for each in path.split(f" {sign} "))
    return path.removeprefix("fabrics.compute.").removeprefix("cluster.").removeprefix("switches.")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else str(value)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

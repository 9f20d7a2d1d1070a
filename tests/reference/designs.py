"""Writes docs/reference-designs.md and its CSV file: every published number beside bomgen's, and why they differ.

`python tests/reference/designs.py` writes both anew; a test holds them to what it would write.
"""

from __future__ import annotations

import csv
import io
import operator
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import yaml

from bomgen.results.result import result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

TABLES = Path(__file__).with_name("fabrics.yaml")
COMPONENTS = Path(__file__).with_name("components.yaml")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference-designs.md"
CSV = ROOT / "docs" / "evidence" / "reference-designs.csv"
SIGNS = {"+": operator.add, "/": operator.floordiv}
HEAD = """# Reference designs

Published fabrics and bills, each built from a plan of a few lines.
[reference-designs.csv](evidence/reference-designs.csv) has every published number beside bomgen's, with its source
and the reason where they differ; `tests/reference/` has the plans, and tests that hold bomgen to them. `make docs`
writes this page.

| design | numbers | different |
|---|--:|--:|
"""


class Comparison(NamedTuple):
    """A published number beside bomgen's."""

    design: str
    row: str
    number: str
    published: str
    bomgen: str
    why: str
    source: str


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
    """Return the whole page."""
    rows = []
    for table in (*_read(TABLES), *_read(COMPONENTS)):
        name = f"[{table['title']}]({table['url']})" if "url" in table else str(table["title"])
        compared = [each.published != each.bomgen for each in comparisons() if each.design == table["title"]]
        rows.append(f"| {name} | {len(compared)} | {sum(compared) or ''} |\n")
    return HEAD + "".join(rows)


def as_csv() -> str:
    """Return every number, as the file beside the page has them."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([Comparison._fields, *comparisons()])
    return file.getvalue()


@cache
def comparisons() -> tuple[Comparison, ...]:
    """Return every published number beside bomgen's."""
    fabrics = (row for table in _read(TABLES) for row in _compare_fabrics(table))
    return (*fabrics, *(row for components in _read(COMPONENTS) for row in _compare_components(components)))


def _read(path: Path) -> list[dict[str, Any]]:
    tables: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tables


def _compare_fabrics(table: dict[str, Any]) -> Iterator[Comparison]:
    cages = {path: f"the document counts cages of {links} links" for path, links in table.get("printed_in", {}).items()}
    errata = {(each["row"], each["cell"]): each["why"] for each in table.get("errata", ())}
    for number, row in enumerate(table["rows"]):
        bom = built(plan_of(table, number))
        for path, value in printed(table, number).items():
            texts = (_short(path), _text(value), _text(cell_of(bom, path)))
            why = errata.get((number, path), cages.get(path, ""))
            yield Comparison(
                table["title"], ", ".join(map(str, row[: len(table["given"])])), *texts, why, table["source"]
            )


def pieces_by_line(components: dict[str, Any]) -> dict[str, int]:
    """The quantities of the bill of the plan that a list of components is held against, by line."""
    plan = yaml.safe_load((ROOT / components["plan"]).read_text(encoding="utf-8"))
    plan.pop("quote")
    return {line["id"]: line["quantity"] for line in built(plan)["lines"]}


def _compare_components(components: dict[str, Any]) -> Iterator[Comparison]:
    title, source, pieces = components["title"], components["source"], pieces_by_line(components)
    for row in components["rows"]:
        ours = sum(pieces[line] for line in row["lines"])
        yield Comparison(title, "", row["component"], _text(row["printed"]), _text(ours), row.get("why", ""), source)
    for line, why in components.get("besides", {}).items():
        yield Comparison(title, "", line, "", _text(pieces[line]), why, source)


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
    CSV.write_text(as_csv(), encoding="utf-8")

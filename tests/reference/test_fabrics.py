"""Fabrics against published tables, from a plan to the delivered bom.json."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

FILE = Path(__file__).with_name("fabrics.yaml")
TABLES = yaml.safe_load(FILE.read_text(encoding="utf-8"))

Built = Callable[[dict[str, Any]], dict[str, Any]]
Cells = Callable[[dict[str, Any], Iterable[str]], dict[str, Any]]


def lay_over(plan: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a dotted path of a plan."""
    *above, last = path.split(".")
    for step in above:
        plan = plan.setdefault(step, {})
    plan[last] = value


def consistent(table: dict[str, Any], number: int) -> dict[str, Any]:
    """The cells of a row: as printed, in links where it counts cages of several, and corrected by the errata."""
    printed = dict(zip(table["expect"], table["rows"][number][len(table["given"]) :], strict=True))
    units = table.get("printed_in", {})
    corrected = {erratum["cell"]: erratum["value"] for erratum in table.get("errata", ()) if erratum["row"] == number}
    return {cell: value * units.get(cell, 1) for cell, value in printed.items()} | corrected


ROWS = [
    pytest.param(table, number, id=f"{table['id']}-{row[0]}")
    for table in TABLES
    for number, row in enumerate(table["rows"])
]


@pytest.mark.parametrize(("table", "number"), ROWS)
def test_fabric_is_as_published(table: dict[str, Any], number: int, built: Built, cells: Cells) -> None:
    """Every published cell of a fabric comes out as printed, or as the reason beside it says."""
    plan = deepcopy(table["plan"])
    given = table["given"]
    for path, value in zip(given, table["rows"][number], strict=False):
        lay_over(plan, path, value)
    bom = built(plan)
    expected = consistent(table, number)
    assert expected == cells(bom, expected)


def test_every_table_states_its_source() -> None:
    """No cell is expected without the document it was read in."""
    assert [] == [table["id"] for table in TABLES if not table["source"] or not table["rows"]]

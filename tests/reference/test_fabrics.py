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


ROWS = [pytest.param(table, row, id=f"{table['id']}-{row[0]}") for table in TABLES for row in table["rows"]]


@pytest.mark.parametrize(("table", "row"), ROWS)
def test_fabric_is_as_published(table: dict[str, Any], row: list[Any], built: Built, cells: Cells) -> None:
    """Every published cell of a fabric comes out as printed."""
    plan = deepcopy(table["plan"])
    given = table["given"]
    for path, value in zip(given, row, strict=False):
        lay_over(plan, path, value)
    bom = built(plan)
    expected = dict(zip(table["expect"], row[len(given) :], strict=True))
    assert expected == cells(bom, expected)


def test_every_table_states_its_source() -> None:
    """No cell is expected without the document it was read in."""
    assert [] == [table["id"] for table in TABLES if not table["source"] or not table["rows"]]

"""Fabrics against published tables, from a plan to the delivered bom.json."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from designs import COMPONENTS, CSV, PAGE, as_csv, cell_of, consistent, page, pieces_by_line, plan_of
from designs import TABLES as FILE

TABLES = yaml.safe_load(FILE.read_text(encoding="utf-8"))
PLANS = yaml.safe_load(FILE.with_name("plans.yaml").read_text(encoding="utf-8"))
LISTS = yaml.safe_load(COMPONENTS.read_text(encoding="utf-8"))

Built = Callable[[dict[str, Any]], dict[str, Any]]


ROWS = [
    pytest.param(table, number, id=f"{table['id']}-{row[0]}")
    for table in TABLES
    for number, row in enumerate(table["rows"])
]


@pytest.mark.parametrize(("table", "number"), ROWS)
def test_fabric_is_as_published(table: dict[str, Any], number: int, built: Built) -> None:
    """Every published cell of a fabric comes out as printed, or as the reason beside it says."""
    bom = built(plan_of(table, number))
    expected = consistent(table, number)
    assert expected == {path: cell_of(bom, path) for path in expected}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_keeps_to_the_design_it_is_named_after(name: str, built: Built) -> None:
    """The example plans of published designs have the published counts."""
    plan = yaml.safe_load((FILE.parents[2] / "plans" / f"{name}.yaml").read_text(encoding="utf-8"))
    plan.pop("quote")
    bom = built(plan)
    assert PLANS[name] == {path: cell_of(bom, path) for path in PLANS[name]}


@pytest.mark.parametrize("components", LISTS, ids=[each["plan"] for each in LISTS])
def test_a_published_list_of_components_is_compared_line_by_line(components: dict[str, Any]) -> None:
    """Every line of the document and of the bill is there once; where the numbers differ, the reason is given."""
    pieces = pieces_by_line(components)
    besides = components.get("besides", {})
    named = [line for row in components["rows"] for line in row["lines"]] + list(besides)
    assert sorted(named) == sorted(pieces)
    differ = {
        row["component"] for row in components["rows"] if sum(pieces[each] for each in row["lines"]) != row["printed"]
    }
    assert differ == {row["component"] for row in components["rows"] if "why" in row}


def test_every_table_states_its_source() -> None:
    """No cell is expected without the document it was read in."""
    assert [] == [table["id"] for table in TABLES if not table["source"] or not table["rows"]]


def test_the_page_of_reference_designs_is_written_from_these_tables() -> None:
    """docs/reference-designs.md says what the tables and bomgen say."""
    assert page() == PAGE.read_text(encoding="utf-8")
    assert as_csv() == CSV.read_text(encoding="utf-8")

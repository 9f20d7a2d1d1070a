"""The registry has a row with the unit of every number, and documents have words for what they show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bills_by_hand import bom
from plan_reports import PLANS, report_of, unregistered

from bomgen.core.document import LESS, MORE, NEITHER, measures, registry
from bomgen.core.language import language
from bomgen.core.resources import languages
from bomgen.documents.diff.difference import compare
from bomgen.documents.diff.side import compared_result_of

ROOT = Path(__file__).parents[2]
ROWS = tuple(registry().values())
PARTS = {"workload", "memory-host"}
"""Parts of tables, which have no name of their own: the workload's is that of its kind."""


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.stem)
def test_every_number_has_a_row_with_its_unit(plan: Path) -> None:
    """A number is at the path of a row, whose unit it has."""
    assert unregistered(report_of(plan)) == []


def test_the_columns_of_a_row() -> None:
    """What a diff ranks has a title; what is better, added up or in a table of the report is one of a few words."""
    assert {row.better for row in ROWS} == {LESS, MORE, NEITHER}
    assert {row.summed for row in ROWS} == {"all", "known", ""}
    assert [row for row in ROWS if row.rank and not row.title] == []
    assert [row for row in ROWS if row.better and not row.compared] == []
    of_site = (row for row in ROWS if row.path[0] == "site" and row.unit)
    assert [row for row in of_site if not row.table] == []


def test_rows_that_are_shown_have_labels() -> None:
    """Every table of the report and every number that is compared has a label in each language."""
    for code in languages():
        words = language(code).words
        assert {row.table for row in ROWS if f"table-{row.table}" not in words} == {"", *PARTS}
        labels = ((row, row.path[-1], f"compare-{row.compared}") for row in ROWS if row.compared)
        assert [row for row, name, key in labels if f"label-{name}" not in words and key not in words] == []


def test_measures_are_those_of_the_plan_schema_and_the_page() -> None:
    """What a search minimises and bounds is stated once, in the registry; schema, page and words name the same."""
    search = json.loads((ROOT / "schemas" / "plan.schema.json").read_text("utf-8"))["properties"]["search"][
        "properties"
    ]
    names = list(measures())
    assert search["minimise"]["items"]["enum"] == names
    assert list(search["within"]["properties"]) == names
    assert ", ".join(f"`{name}`" for name in names) in (ROOT / "docs" / "search.md").read_text("utf-8")
    for code in languages():
        assert [name for name in names if f"search-{name}" not in language(code).words] == []


def test_a_number_that_is_given_has_the_unit_of_its_row() -> None:
    """No derivation says the unit of a number that a plan or a part gives; a diff has it all the same."""
    old, new = (compared_result_of(bom(workload={"memory": {"gpu": size}}), f"{size}.json") for size in (80, 141))
    (number,) = compare(old, new).rows
    assert (number.key, number.unit) == ("workload.memory.gpu", "bytes")

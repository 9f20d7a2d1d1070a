"""The table of order numbers: every line names a part that exists, and says what no part file says."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from bomgen.catalog.files import Catalog, Record
from bomgen.catalog.part_file_checks import OrderNumber, number_sources, order_numbers
from bomgen.core.resources import folder, text
from bomgen.reading.part_numbers import built_in_parts

ROWS = [row for rows in order_numbers().values() for row in rows]


def of(row: OrderNumber) -> Record:
    """Return the record of the part of a line."""
    kind, _, id = row.part.partition("/")
    return Catalog().find_original(kind, id)


@pytest.mark.parametrize("part", order_numbers())
def test_the_part_of_a_line_exists(part: str) -> None:
    """By kind and id, as the file of the part is called."""
    row = order_numbers()[part][0]
    assert f"{of(row).kind}/{of(row).id}" == part


def test_a_vendor_prints_a_number_for_one_part() -> None:
    """A number stands once for each vendor, and for the same part with all of them."""
    assert len({(row.number.lower(), row.vendor) for row in ROWS}) == len(ROWS)
    assert len({(row.number.lower(), row.part) for row in ROWS}) == len({row.number.lower() for row in ROWS})


def test_no_line_repeats_a_part_file() -> None:
    """What a file states as its number, alias or id is not said twice."""
    for row in ROWS:
        data = of(row).data
        values = [data.get("part_number"), data.get("ordering_number"), *(data.get("part_numbers") or {}).values()]
        stated = {str(value["value"] if isinstance(value, dict) else value).lower() for value in values}
        assert row.number.lower() not in {of(row).id, *stated, *map(str.lower, data.get("aliases", ()))}, row


def test_every_line_has_a_source() -> None:
    """A document that the file of sources describes, or an address."""
    described = number_sources({row.source for row in ROWS})
    for source in described.values():
        assert source["title"]
    assert all("read" in described[id] or id.startswith("https://") for id in described), described
    header, *lines = text(folder("data") / "numbers.csv").splitlines()
    assert header == "number,vendor,part,variant,source"
    assert len(lines) == len(ROWS)


def test_a_bill_with_a_number_names_its_part() -> None:
    """Every number of the table is recognised as the part of its line, and that of a cable at its length."""
    for row in ROWS:
        named = built_in_parts().find(row.number)
        assert named, row
        assert f"{named.kind}/{named.id}" == row.part, row
        assert not row.length or named.length_m == of(row).lengths[row.number.lower()], row


def test_numbers_of_public_bills_are_found() -> None:
    """Of two samples that no source of the table has, each as its part and at its length; the others as no part."""
    rows = list(csv.DictReader(Path(__file__).with_name("bill-numbers.csv").read_text("utf-8").splitlines()))
    for sample, least in ((rows[:40], 36), (rows[40:], 32)):
        found = [(row, named) for row in sample if (named := built_in_parts().find(row["number"]))]
        assert len(sample) == 40
        assert len(found) >= least
        for row, named in found:
            assert (f"{named.kind}/{named.id}", str(named.length_m or "")) == (row["part"], row["length"]), row

"""Every built-in record against itself and the parts that it names; tests/errors has a folder that fails each check."""

from __future__ import annotations

from bomgen.catalog.cross_checks import cross_check, numbers_in_conflict, records_by_number
from bomgen.catalog.files import KINDS, Catalog

CATALOG = Catalog()


def test_no_record_contradicts_itself() -> None:
    """Ports and cages, lanes and rates, watts and supplies, slots, peaks, bandwidths, reaches."""
    records = [record for kind in KINDS for record in CATALOG.all(kind)]
    assert [str(problem) for record in records for problem in cross_check(record, CATALOG)] == []


def test_no_order_number_is_that_of_two_parts() -> None:
    """A chassis sold with several GPUs, and editions with numbers to order them by, share the number of the model."""
    known = records_by_number(CATALOG, KINDS)
    records = [record for kind in KINDS for record in CATALOG.all(kind)]
    assert [problem.file for problem in numbers_in_conflict(records, known)] == []

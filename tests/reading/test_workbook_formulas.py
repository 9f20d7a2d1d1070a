"""What is compared of the formulas of a workbook that came back."""

from __future__ import annotations

import pytest

from bomgen.reading.scans import relative_formula


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("='My Sheet'!A1*B2", "'My Sheet'!A1 * B2"),
        ("='Sheet1'!A1", "Sheet1!A1"),
        ('="a ""B2"" c"', '"a ""B2"" c"'),
    ],
)
def test_formulas_that_programs_write_differently_are_equal(one: str, other: str) -> None:
    """Quotes around titles, blanks and the sign of equality are a matter of the program."""
    assert relative_formula(one, (3, 2)) == relative_formula(other, (3, 2))


def test_quotes_without_a_title_are_passed_over_once() -> None:
    """Each was a new beginning: half a million, some hundred bytes of a package, would have taken twenty minutes."""
    assert relative_formula("'" * 500_001, (1, 1)) == "'" * 500_001

"""The table of order numbers: what makers and resellers print for a part, besides what its own file says.

`data/numbers.csv` has a line a number: the number, who prints it, the part by kind and id, its variant and the source,
an id of `data/sources.csv` or an address. The variant of a cable begins with its length: `30 m, edition F`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from bomgen.core.resources import folder, text

NUMBERS = "numbers.csv"
_LENGTH = re.compile(r"([0-9.]+) m\b")


class OrderNumber(NamedTuple):
    """A number that someone prints for a part."""

    number: str
    vendor: str
    part: str
    """Kind and id, as in `switch/qm9700`."""
    variant: str
    source: str

    @property
    def length(self) -> str | None:
        """The length of a cable [m], which its variant begins with; None for other parts."""
        match = _LENGTH.match(self.variant)
        return match and match[1]


@cache
def order_numbers() -> Mapping[str, tuple[OrderNumber, ...]]:
    """Return the numbers of the table by part."""
    rows = [OrderNumber(**row) for row in csv.DictReader(text(folder("data") / NUMBERS).splitlines())]
    by_part: dict[str, tuple[OrderNumber, ...]] = {}
    for row in rows:
        by_part[row.part] = (*by_part.get(row.part, ()), row)
    return by_part


def numbers_by_length(part: str, vendor: str) -> dict[str, str]:
    """Return the maker's own order number of each length [m] of a cable: the first of the table."""
    by_length: dict[str, str] = {}
    for row in order_numbers().get(part, ()):
        if row.vendor == vendor and row.length:
            by_length.setdefault(row.length, row.number)
    return by_length

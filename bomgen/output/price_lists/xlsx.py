"""Prices as a workbook of one sheet, for whoever works in a spreadsheet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bomgen.output.price_lists.forms import Entry

SUFFIXES = (".xlsx",)
BINARY = True


def write(entries: Sequence[Entry], _: str | None = None) -> bytes:
    """Return the workbook of prices, byte-identical for the same prices."""
    from bomgen.output.xlsx.prices import price_workbook

    return price_workbook(entries)

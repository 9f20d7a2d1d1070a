"""Prices as CSV (RFC 4180), a row per price."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from bomgen.core.safety import FORMULA_STARTS
from bomgen.output.price_list_reading import Entry, column_names

BINARY = False
SPECIAL = set('",;\t\r\n')
"""Characters that require quotes, with any separator."""


def write(entries: Sequence[Entry], _: str | None = None) -> bytes:
    """Return the rows below a header; text that a spreadsheet would run as a formula gets an apostrophe."""
    names = column_names(entries)
    rows = [names, *([_field(entry.get(name)) for name in names] for entry in entries)]
    return "".join(",".join(row) + "\r\n" for row in rows).encode()


def _field(value: str | int | bool | Decimal | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    text = f"'{value}" if value.lstrip("'").startswith(FORMULA_STARTS) else value
    return '"' + text.replace('"', '""') + '"' if SPECIAL & set(text) else text

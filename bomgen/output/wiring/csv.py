"""The wiring as CSV: a row per cable."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bomgen.cabling.types import Wiring
from bomgen.output.registry import Progress
from bomgen.output.wiring.columns import column_names, tables, words_of

ABOUT = "One row per cable, for spreadsheets and scripts."
BINARY = False
SEVERAL_FILES = False
ONE_FABRIC = False
SPECIAL = set('",\r\n')
"""Characters that require quotes."""


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every cable; all texts are quoted if any needs quotes."""
    wiring = wiring.each_cable
    out.write((",".join(column_names(wiring)) + "\n").encode())
    quoted = any(SPECIAL & set(word) for word in words_of(wiring))
    for table in tables(wiring):
        fields = [_fields(column, quoted) for column in table.values()]
        out.write(("\n".join(map(",".join, zip(*fields, strict=True))) + "\n").encode())
        progress(len(fields[0]))


def _fields(column: NDArray[Any], quoted: bool) -> list[str]:
    """Return the values of a column for CSV: integers without a decimal point, empty for None."""
    if column.dtype != object:
        return _numbers(column)
    values: list[Any] = column.tolist()
    if quoted:
        return [_quoted(value) for value in values]
    if None in values:
        return ["" if value is None else str(value) for value in values]
    return values


def _numbers(column: NDArray[Any]) -> list[str]:
    """Return numbers as text; each distinct number is formatted once."""
    different, found = np.unique(column, return_inverse=True)
    texts = np.array([f"{number:.15g}" for number in different.tolist()], dtype=object)
    values: list[str] = texts[found].tolist()
    return values


def _quoted(value: str | int | None) -> str:
    """Return a text in quotes; numbers and None without."""
    if isinstance(value, str):
        doubled = value.replace('"', '""')
        return f'"{doubled}"'
    return "" if value is None else str(value)

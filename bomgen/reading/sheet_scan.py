"""Findings about a workbook that calamine does not return, for any format: extent, errors, hidden parts.

The package was checked before: it has no document types, and unpacks to a bounded size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import NamedTuple
from xml.parsers import expat

from bomgen.reading.cells import Area, Broken, Value

LAST_ROW, LAST_COLUMN = 1_048_576, 16_384
"""Maximum size of a sheet (Excel specifications and limits)."""
LETTERS = 26
NO_VALUE = Broken("a formula without a value; save the workbook in a spreadsheet program, or write the value")


class Found(NamedTuple):
    """Findings about a sheet."""

    rows: int = 0
    columns: int = 0
    """The last row and column with a cell."""
    text: int = 0
    """Bytes of texts that several cells share, counted as often as they are shown."""
    beyond: tuple[int, int] | None = None
    """First row and column of a value beyond the columns that are read."""
    cells: Mapping[int, Mapping[int, Value]] = {}
    """Values that calamine returns as empty or as another value, by row and column."""
    merged: tuple[Area, ...] = ()
    """Merged cells, if calamine does not return them."""
    hidden_rows: tuple[range, ...] = ()
    hidden_columns: tuple[range, ...] = ()


def shown_error(text: str) -> Broken:
    """Return the value of a cell that shows an error."""
    return Broken(f"the cell shows {text or 'an error'}; fix its formula, or write the value")


def parser_of(start: Callable[[str, dict[str, str]], None]) -> expat.XMLParserType:
    """Return a parser that calls a function at the start of each element, and raises ValueError at a document type."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = _refuse
    return parser


def _refuse(*_: object) -> None:
    raise ValueError("a document type")


def feed(parser: expat.XMLParserType, content: bytes) -> None:
    """Parse XML. Raises ValueError if it is invalid."""
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ValueError(str(error)) from None


def column_number(letters: str) -> int:
    """Return the number of a column, from 1, from its letters."""
    return reduce(lambda number, letter: number * LETTERS + ord(letter) - ord("A") + 1, letters.upper(), 0)


def column_letters(number: int) -> str:
    """Return the letters of a column from its number, from 1."""
    letters = ""
    while number:
        number, letter = divmod(number - 1, LETTERS)
        letters = chr(ord("A") + letter) + letters
    return letters

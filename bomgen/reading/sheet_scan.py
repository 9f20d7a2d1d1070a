"""What a workbook has that calamine does not say, whatever its format: how far cells reach, errors, what is hidden.

The package was judged before: it has no document types, and unpacks to a bounded size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import NamedTuple
from xml.parsers import expat

from bomgen.reading.cells import Area, Broken, Value

LAST_ROW, LAST_COLUMN = 1_048_576, 16_384
"""Of a sheet (Excel's specifications and limits)."""
LETTERS = 26
NO_VALUE = Broken("a formula without a value; save the workbook in a spreadsheet program, or write the value")


class Found(NamedTuple):
    """What is in a sheet."""

    rows: int = 0
    columns: int = 0
    """The last row and column that have a cell."""
    text: int = 0
    """Bytes of the texts that several cells may show, each as often as it is shown."""
    beyond: tuple[int, int] | None = None
    """The first row and column of a value beyond the columns that are read."""
    cells: Mapping[int, Mapping[int, Value]] = {}
    """What calamine shows as empty or as another value, by row and column."""
    merged: tuple[Area, ...] = ()
    """Merged cells, where calamine does not tell them."""
    hidden_rows: tuple[range, ...] = ()
    hidden_columns: tuple[range, ...] = ()
    """Those that whoever opens the workbook does not see."""


def shown_error(text: str) -> Broken:
    """The value of a cell that shows an error."""
    return Broken(f"the cell shows {text or 'an error'}; fix its formula, or write the value")


def parser_of(start: Callable[[str, dict[str, str]], None]) -> expat.XMLParserType:
    """A parser that calls a function at the start of each element, and raises ValueError at a document type."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = _refuse
    return parser


def _refuse(*_: object) -> None:
    raise ValueError("a document type")


def feed(parser: expat.XMLParserType, content: bytes) -> None:
    """Parse XML. Raises ValueError for what is none."""
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ValueError(str(error)) from None


def column_number(letters: str) -> int:
    """Return the number of a column, from 1, by its letters."""
    return reduce(lambda number, letter: number * LETTERS + ord(letter) - ord("A") + 1, letters.upper(), 0)


def column_letters(number: int) -> str:
    """Return what spreadsheet programs call a column, by its number from 1."""
    letters = ""
    while number:
        number, letter = divmod(number - 1, LETTERS)
        letters = chr(ord("A") + letter) + letters
    return letters

"""What the XML of a workbook has and calamine does not say: how far cells reach, errors, formulas without a value.

The package was judged before: it has no document types, and unpacks to a bounded size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import NamedTuple
from xml.parsers import expat
from zipfile import ZipFile

from bomgen.reading.cells import Area, Broken, Value

MAX_COLUMNS = 50
"""What a price list or a bill needs at most; more is another table, or an attack."""
LAST_ROW, LAST_COLUMN = 1_048_576, 16_384
"""Of a sheet (Excel's specifications and limits)."""
LETTERS = 26
NO_VALUE = Broken("a formula without a value; save the workbook in a spreadsheet program, or write the value")
ERROR = "the cell shows {}; fix its formula, or write the value"
_REFERENCE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
_STRING = re.compile(rb"<(?:\w+:)?si[\s>/]")
_CELL = re.compile(rb'<c r="([A-Z]{1,3})([0-9]{1,7})"(?: (?:s|t|cm|vm|ph)="[^"<>&]*")* ?/?>')
"""A cell as all programs write it; one with a second `r` is no XML, and the library takes that one."""
_BEGINNINGS = (b"<c ", b"<c>", b"<c/")
"""How cells begin where names have no prefix."""
_OTHERS = (b"<!", b"='", b":row", b"<f>", b"<f ", b"<f/", b't="e"', b"<c\t", b"<c\r", b"<c\n")
"""What only a parser of XML reads rightly, formulas and errors."""


class Found(NamedTuple):
    """What is in a sheet."""

    rows: int = 0
    columns: int = 0
    """The last row and column that have a cell."""
    text: int = 0
    """Bytes of the texts of its cells, each as often as it is shown."""
    beyond: tuple[int, int] | None = None
    """The first row and column of a value beyond the columns that are read."""
    cells: Mapping[int, Mapping[int, Value]] = {}
    """What calamine shows as empty or as another value, by row and column."""
    merged: tuple[Area, ...] = ()
    """Merged cells, where calamine does not tell them."""


def scan_xlsx(package: ZipFile) -> dict[str, Found]:
    """What is in each sheet of an Excel package, by its title.

    Every part with cells is looked at, whether a sheet names it or not. Raises ValueError for what is no XML, KeyError
    for a sheet without its part.
    """
    texts = package.read("xl/sharedStrings.xml") if "xl/sharedStrings.xml" in package.namelist() else b""
    starts = [found.start() for found in _STRING.finditer(texts)]
    lengths = [end - start for start, end in zip(starts, [*starts[1:], len(texts)], strict=False)]
    parts: dict[str, Found] = {}
    for name in package.namelist():
        content = package.read(name)
        if b"sheetData" in content:
            parts[name] = _measure(content, lengths) or _scan_sheet(content, lengths)
    sheets, targets = dict[str, str](), dict[str, str]()

    def sheet(name: str, attributes: dict[str, str]) -> None:
        if name == "sheet":
            [key] = [value for key, value in attributes.items() if key.rpartition(":")[2] == "id"]
            sheets[attributes["name"]] = key

    def relation(name: str, attributes: dict[str, str]) -> None:
        if name == "Relationship":
            targets[attributes["Id"]] = attributes["Target"]

    _parse(package.read("xl/workbook.xml"), sheet)
    _parse(package.read("xl/_rels/workbook.xml.rels"), relation)
    places = {title: targets[key].removeprefix("/") for title, key in sheets.items()}
    found = {title: parts.pop(place if place in parts else f"xl/{place}", Found()) for title, place in places.items()}
    return found | {f"/{name}": each for name, each in parts.items()}


def _measure(content: bytes, lengths: list[int]) -> Found | None:
    """How far the cells of a sheet reach, where it is written as all programs do and holds nothing but values.

    None where it must be parsed: with formulas, errors, cells far away or more text than is read.
    """
    cells = _CELL.findall(content)
    if any(each in content for each in _OTHERS) or len(cells) != sum(map(content.count, _BEGINNINGS)):
        return None
    columns = max((_column(letters.decode()) for letters in {letters for letters, _ in cells}), default=0)
    rows = max((int(row) for row in {row for _, row in cells}), default=0)
    text = content.count(b't="s"') * max(lengths, default=0)
    return None if columns > MAX_COLUMNS or text > len(content) else Found(rows, columns, text)


def _scan_sheet(content: bytes, lengths: list[int]) -> Found:
    """What is in the XML of a sheet; `lengths` are the bytes of the shared texts."""
    longest = max(lengths, default=0)
    cells: dict[int, dict[int, Value]] = {}
    rows = columns = row = column = shared = 0
    beyond: tuple[int, int] | None = None
    kind: str | None = None
    formula = False
    text: list[str] | None = None

    def close() -> None:
        """Judge the cell that ended."""
        nonlocal formula, text
        if kind == "e":
            cells.setdefault(row, {})[column] = Broken(ERROR.format("".join(text or ()).strip() or "an error"))
        elif formula and kind != "str" and not "".join(text or ()).strip():
            cells.setdefault(row, {})[column] = NO_VALUE
        formula, text, parser.CharacterDataHandler = False, None, None

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal rows, columns, row, column, shared, beyond, kind, formula, text
        name = name.rpartition(":")[2]
        if name == "c":
            if formula or kind == "e":
                close()
            kind = attributes.get("t")
            reference = _REFERENCE.fullmatch(attributes.get("r", ""))
            if reference:
                column, row = _column(reference[1]), int(reference[2])
            else:
                column += 1
        elif name in ("v", "f", "is"):
            rows, columns = max(rows, row), max(columns, column)
            if column > MAX_COLUMNS and beyond is None:
                beyond = row, column
            shared += kind == "s"
            formula = formula or name == "f"
            if formula or kind == "e":
                # The text of a formula is dropped when that of its value begins.
                text = [] if name == "v" else None
                parser.CharacterDataHandler = text.append if text is not None else None
        elif name == "row":
            if formula or kind == "e":
                close()
            kind, column = None, 0
            row = int(attributes.get("r", row + 1))
        elif formula and name != "t":
            parser.CharacterDataHandler = None  # what stands behind the last cell is none of its value

    parser = _parser(start)
    _feed(parser, content)
    if formula or kind == "e":
        close()
    size = shared * longest
    return Found(rows, columns, _shown(content, lengths) if size > len(content) else size, beyond, cells)


def _shown(content: bytes, lengths: list[int]) -> int:
    """The bytes of shared texts that the cells of a sheet show."""
    total, shared = 0, False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal shared
        name = name.rpartition(":")[2]
        if name == "c":
            shared = attributes.get("t") == "s"
        parser.CharacterDataHandler = text if shared and name == "v" else None

    def text(data: str) -> None:
        nonlocal total
        at = int(data) if data.strip().isdecimal() else 0
        total += lengths[at] if at < len(lengths) else 0

    parser = _parser(start)
    _feed(parser, content)
    return total


def scan_ods(package: ZipFile) -> dict[str, Found]:
    """What is in each sheet of an OpenDocument package, by its title. Raises ValueError for what is no XML."""
    found: dict[str, Found] = {}
    sheet = _OdsSheet()

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal sheet
        name = name.rpartition(":")[2]
        given = {key.rpartition(":")[2]: value for key, value in attributes.items()}
        if name == "table":
            sheet = _OdsSheet()
            found[given.get("name", "")] = Found()
        elif name == "table-row":
            sheet.start_row(int(given.get("number-rows-repeated", 1)))
        elif name in ("table-cell", "covered-table-cell"):
            sheet.start_cell(given, attributes.get("calcext:value-type") == "error")
        elif name == "p":
            sheet.start_text()
            parser.CharacterDataHandler = sheet.add_text

    def end(name: str) -> None:
        name = name.rpartition(":")[2]
        if name in ("table-cell", "covered-table-cell"):
            parser.CharacterDataHandler = None
            sheet.end_cell()
        elif name == "table":
            found[list(found)[-1]] = sheet.found

    parser = _parser(start)
    parser.EndElementHandler = end
    _feed(parser, package.read("content.xml"))
    return found


class _OdsSheet:
    """A sheet of an OpenDocument package while it is read: cells and rows are repeated by a count."""

    def __init__(self) -> None:
        self.found = Found()
        self.row = self.column = 1
        self.rows = self.columns = 0
        self.value: Value = None
        self.error, self.texts = False, list[str]()

    def start_row(self, repeated: int) -> None:
        """Go on to the next row, which stands so many times."""
        self.row, self.rows = self.row + self.rows, repeated
        self.column, self.columns = 1, 0

    def start_cell(self, given: Mapping[str, str], error: bool) -> None:
        """Go on to the next cell, with its attributes."""
        self.column, self.columns = self.column + self.columns, int(given.get("number-columns-repeated", 1))
        self.error, self.texts, self.value = error, [], None
        kind = given.get("value-type")
        if kind == "boolean":
            self.value = given.get("boolean-value") == "true"
        elif kind is None and "formula" in given:
            self.value = NO_VALUE
        if kind or self.value is not None:
            self.count()
        down, right = int(given.get("number-rows-spanned", 1)), int(given.get("number-columns-spanned", 1))
        if down > 1 or right > 1:
            area = Area(self.row, self.column, self.row + down - 1, self.column + right - 1)
            self.found = self.found._replace(merged=(*self.found.merged, area))

    def start_text(self) -> None:
        """Go on to the text that a cell shows: one without a value shows none, which is what its formula came to."""
        self.count()
        if self.value == NO_VALUE:
            self.value = None

    def count(self) -> None:
        """Count the cell as one that holds something."""
        last_row, last_column = self.row + self.rows - 1, self.column + self.columns - 1
        beyond = self.found.beyond
        if last_column > MAX_COLUMNS and beyond is None:
            beyond = self.row, max(self.column, MAX_COLUMNS + 1)
        self.found = self.found._replace(
            rows=max(self.found.rows, last_row), columns=max(self.found.columns, last_column), beyond=beyond
        )

    def add_text(self, text: str) -> None:
        """Keep a piece of the text of a cell."""
        self.texts.append(text)

    def end_cell(self) -> None:
        """Count the text of a cell, and keep what calamine does not tell of it."""
        times = self.rows * self.columns
        size = sum(map(len, self.texts))
        self.found = self.found._replace(text=self.found.text + size * times)
        value = Broken(ERROR.format("".join(self.texts) or "an error")) if self.error else self.value
        if value is None:
            return
        if times > LAST_COLUMN:
            raise ValueError("a value that is repeated beyond measure")
        cells: dict[int, Mapping[int, Value]] = dict(self.found.cells)
        for row in range(self.row, self.row + self.rows):
            cells[row] = {
                **cells.get(row, {}),
                **dict.fromkeys(range(self.column, self.column + self.columns), value),
            }
        self.found = self.found._replace(cells=cells)


def _column(letters: str) -> int:
    """The number of a column, from 1, by its letters."""
    return reduce(lambda number, letter: number * LETTERS + ord(letter) - ord("A") + 1, letters.upper(), 0)


def _parser(start: Callable[[str, dict[str, str]], None]) -> expat.XMLParserType:
    """A parser that calls a function at the start of each element, and raises ValueError at a document type."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = _refuse
    return parser


def _refuse(*_: object) -> None:
    raise ValueError("a document type")


def _parse(content: bytes, start: Callable[[str, dict[str, str]], None]) -> None:
    """Call a function with the local name and the attributes of each element."""
    _feed(_parser(lambda name, attributes: start(name.rpartition(":")[2], attributes)), content)


def _feed(parser: expat.XMLParserType, content: bytes) -> None:
    """Parse XML. Raises ValueError for what is none."""
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ValueError(str(error)) from None

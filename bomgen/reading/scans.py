"""What calamine does not return of xlsx and OpenDocument workbooks: errors, hidden rows, merged cells, formulas, names.

No other library reads xlsx, xls and ods alike; openpyxl has these of xlsx alone, and takes several times as long. The
package was checked before: it has no document types, and unpacks to a bounded size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import NamedTuple
from xml.parsers import expat

from bomgen.reading.cells import MAX_COLUMNS, Area, Broken, Value

LAST_ROW, LAST_COLUMN = 1_048_576, 16_384
"""Maximum size of a sheet (Excel specifications and limits)."""
LETTERS = 26
NO_VALUE = Broken("a formula without a value; save the workbook in a spreadsheet program, or write the value")


class Scan(NamedTuple):
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


# xlsx and OpenDocument ------------------------------------------------------------------------------------------------

WORKBOOK = "xl/workbook.xml"
TRUE = ("1", "true")
TEXTS = "sharedstrings.xml"
"""Suffix of the name of the shared strings part, in lower case; the library ignores case."""
_REFERENCE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
_STRING = re.compile(rb"<(?:\w+:)?si[\s>/]")


def scan_xlsx(package: Mapping[str, bytes]) -> dict[str, Scan]:
    """Return the findings of each sheet of an Excel package, by title.

    Every part with cells is scanned, even if no sheet names it. Raises ValueError for invalid XML and for files that no
    program writes: two parts with shared strings, sheets with one title, sheets in one part. Raises KeyError for a
    sheet without its part.
    """
    texts, *more = [part for name, part in package.items() if name.lower().endswith(TEXTS)] or [b""]
    if more:
        raise ValueError("two parts with texts")
    starts = [match.start() for match in _STRING.finditer(texts)]
    lengths = [end - start for start, end in zip(starts, [*starts[1:], len(texts)], strict=False)]
    sheets = {name: content for name, content in package.items() if b"sheetData" in content}
    parts = {name: _scan_sheet(content, lengths) for name, content in sheets.items()}
    by_title = {title: parts.pop(part, Scan()) for title, part in find_sheets(package).items()}
    return by_title | {f"/{name}": scan for name, scan in parts.items()}


def find_sheets(package: Mapping[str, bytes]) -> dict[str, str]:
    """Return the name of the part of each sheet of an Excel package, by title. Raises as `scan_xlsx`."""
    sheets, targets = dict[str, str](), dict[str, str]()

    def start(name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if name == "sheet":
            [key] = [value for key, value in attributes.items() if key.rpartition(":")[2] == "id"]
            if attributes["name"] in sheets:
                raise ValueError("two sheets of one title")
            sheets[attributes["name"]] = key
        elif name == "Relationship":
            targets[attributes["Id"]] = attributes["Target"].removeprefix("/")

    for part in (WORKBOOK, "xl/_rels/workbook.xml.rels"):
        feed(parser_of(start), package[part])
    named = {title: targets[key] for title, key in sheets.items()}
    is_whole = {path: b"sheetData" in package.get(path, b"") for path in named.values()}
    paths = {title: path if is_whole[path] else f"xl/{path}" for title, path in named.items()}
    if len({path.lower() for path in paths.values()}) < len(paths):
        raise ValueError("two sheets of one part")
    return paths


def _scan_sheet(content: bytes, lengths: Sequence[int]) -> Scan:
    """Return the findings of a sheet; `lengths` are those of the texts that cells share."""
    cells: dict[int, dict[int, Value]] = {}
    hidden_rows, hidden_columns = list[range](), list[range]()
    rows = columns = row = column = shared = 0
    beyond: tuple[int, int] | None = None
    kind: str | None = None
    formula, text = False, list[str]()

    def close() -> None:
        """Process the cell that ended."""
        nonlocal formula, text, shared
        value = "".join(text).strip()
        if kind == "e":
            cells.setdefault(row, {})[column] = shown_error(value)
        elif formula and kind != "str" and not value:
            cells.setdefault(row, {})[column] = NO_VALUE
        elif kind == "s" and value.isdecimal():
            shared += sum(lengths[int(value) : int(value) + 1])
        formula, text, parser.CharacterDataHandler = False, [], None

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal rows, columns, row, column, beyond, kind, formula, text
        name = name.rpartition(":")[2]
        if name == "c":
            close()
            kind = attributes.get("t")
            reference = _REFERENCE.fullmatch(attributes.get("r", ""))
            if reference:
                column, row = column_number(reference[1]), int(reference[2])
            else:
                column += 1
        elif name in ("v", "f", "is"):
            rows, columns = max(rows, row), max(columns, column)
            if column > MAX_COLUMNS and beyond is None:
                beyond = row, column
            formula = formula or name == "f"
            if formula or kind in ("e", "s"):
                # The text of a formula is dropped when the text of its value begins.
                text = []
                parser.CharacterDataHandler = text.append if name == "v" else None
        elif name == "row":
            close()
            kind, column = None, 0
            row = int(attributes.get("r", row + 1))
            if attributes.get("hidden") in TRUE:
                hidden_rows.append(range(row, row + 1))
        elif name == "col":
            if attributes.get("hidden") in TRUE:
                hidden_columns.append(range(int(attributes["min"]), int(attributes["max"]) + 1))
        elif name != "t":
            parser.CharacterDataHandler = None  # text after the last cell is not part of its value

    parser = parser_of(start)
    feed(parser, content)
    close()
    return Scan(rows, columns, shared, beyond, cells, (), (*hidden_rows,), (*hidden_columns,))


# ods scan -----------------------------------------------------------------------------------------------------------
# XML of an OpenDocument workbook that calamine does not return: repeated and merged cells, errors, formulas.
#
# Elements and attributes have the usual prefixes, which calamine expects too.

ODS_CELLS = ("table:table-cell", "table:covered-table-cell")
ROWS, ODS_COLUMNS = "table:number-rows-repeated", "table:number-columns-repeated"
VALUES, FORMULA = "office:", "table:formula"
"""Prefix of value attributes, and the name of the formula attribute."""
ODS_TEXTS = (FORMULA, *(f"office:{kind}-value" for kind in ("string", "date", "time")))
"""Attributes whose text the library copies into every cell."""
HIDDEN = ("collapse", "filter")


def scan_ods(content: bytes) -> dict[str, Scan]:
    """Return the findings of each sheet of an OpenDocument package, by title. Raises ValueError for invalid XML."""
    sheets = {"": _Sheet()}
    sheet = sheets[""]

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal sheet
        if name in ODS_CELLS:
            sheet.start_cell(attributes)
        elif name == "text:p":
            parser.CharacterDataHandler = sheet.start_text()
        elif name == "text:s":
            sheet.size += _times(attributes, "text:c")
        elif name == "table:table-row":
            sheet.start_row(attributes)
        elif name == "table:table-column":
            sheet.add_columns(attributes)
        elif name == "table:table":
            sheet.end_cell()
            title = attributes.get("table:name", "")
            if title and title in sheets:
                raise ValueError("two sheets of one title")
            sheet = sheets[title] = _Sheet()

    parser = parser_of(start)
    feed(parser, content)
    sheet.end_cell()
    return {name: scanned.scan() for name, scanned in sheets.items()}


def _times(attributes: Mapping[str, str], name: str) -> int:
    """Return a repeat count, which the library treats as 0 if it is negative."""
    return max(int(attributes.get(name, 1)), 0)


class _Sheet:
    """A sheet being read; cells, rows and columns have repeat counts."""

    def __init__(self) -> None:
        self.row = self.column = 1
        self.times_down = self.times_right = 0
        self.defined = 1
        """The next column to be defined."""
        self.value: Value = None
        self.is_error = self.is_counted = False
        self.texts: list[str] = []
        self.size = 0
        """Bytes of a cell beyond its text: counted spaces, and attributes."""
        self.last_row = self.last_column = self.text = 0
        self.beyond: tuple[int, int] | None = None
        self.cells: dict[int, dict[int, Value]] = {}
        self.merged: list[Area] = []
        self.hidden_rows, self.hidden_columns = list[range](), list[range]()

    def scan(self) -> Scan:
        """Return the findings."""
        hidden = tuple(self.hidden_rows), tuple(self.hidden_columns)
        return Scan(self.last_row, self.last_column, self.text, self.beyond, self.cells, tuple(self.merged), *hidden)

    def add_columns(self, attributes: Mapping[str, str]) -> None:
        """Record whether the next columns are hidden."""
        first, self.defined = self.defined, self.defined + _times(attributes, ODS_COLUMNS)
        if attributes.get("table:visibility") in HIDDEN:
            self.hidden_columns.append(range(first, self.defined))

    def start_row(self, attributes: Mapping[str, str]) -> None:
        """Start the next row, with its repeat count."""
        self.end_cell()
        self.row, self.times_down = self.row + self.times_down, _times(attributes, ROWS)
        self.column = 1
        if attributes.get("table:visibility") in HIDDEN:
            self.hidden_rows.append(range(self.row, self.row + self.times_down))

    def start_cell(self, attributes: Mapping[str, str]) -> None:
        """Start the next cell, with its attributes."""
        self.end_cell()
        self.times_right = _times(attributes, ODS_COLUMNS)
        self.is_error = attributes.get("calcext:value-type") == "error"
        kind = attributes.get("office:value-type")
        if kind == "boolean":
            self.value = attributes.get("office:boolean-value") == "true"
        elif kind is None and FORMULA in attributes:
            self.value = NO_VALUE
        if FORMULA in attributes or any(key.startswith(VALUES) for key in attributes):
            self.count()
        if self.times_right * self.times_down > 1:
            self.size = sum(len(attributes.get(key, "")) for key in ODS_TEXTS)
        if "table:number-rows-spanned" in attributes or "table:number-columns-spanned" in attributes:
            down = int(attributes.get("table:number-rows-spanned", 1))
            right = int(attributes.get("table:number-columns-spanned", 1))
            if down > 1 or right > 1:
                self.merged.append(Area(self.row, self.column, self.row + down - 1, self.column + right - 1))

    def start_text(self) -> Callable[[str], None] | None:
        """Start the text of a cell, which then has a value; return a function that collects it, if it is needed."""
        if not self.is_counted:
            self.count()
        if self.value is NO_VALUE:
            self.value = None
        return self.texts.append if self.is_error or self.times_right * self.times_down > 1 else None

    def count(self) -> None:
        """Count the cell as not empty."""
        self.is_counted = True
        self.last_row = max(self.last_row, self.row + self.times_down - 1)
        self.last_column = max(self.last_column, self.column + self.times_right - 1)
        if self.last_column > MAX_COLUMNS and self.beyond is None:
            self.beyond = self.row, max(self.column, MAX_COLUMNS + 1)

    def end_cell(self) -> None:
        """Move past the cell that ended."""
        if self.is_counted or self.size:
            self.keep_cell()
        self.column += self.times_right
        self.times_right, self.is_counted, self.size = 0, False, 0

    def keep_cell(self) -> None:
        """Count the text of a cell, and store what calamine does not return."""
        times = self.times_down * self.times_right
        text = "".join(self.texts).strip()
        self.text += (len(text) + self.size) * times
        value = shown_error(text) if self.is_error else self.value
        if value is not None:
            if times > LAST_COLUMN:
                raise ValueError("a value that is repeated beyond measure")
            for row in range(self.row, self.row + self.times_down):
                columns = range(self.column, self.column + self.times_right)
                self.cells.setdefault(row, {}).update(dict.fromkeys(columns, value))
        self.value, self.is_error, self.texts = None, False, []


# formulas and names ---------------------------------------------------------------------------------------------------

Place = tuple[int, int]
"""Line and column of a cell, both from 1."""
_PREFIX = re.compile(r"_xl(?:fn|ws)\.", re.IGNORECASE)
"""The prefix that Excel writes before functions newer than the format."""
_ARRAY = re.compile(r"^arrayformula\((.*)\)$", re.DOTALL)
"""Google Sheets' wrapper for a formula over an area."""
_TOKEN = re.compile(
    r'"(?:[^"]|"")*"|\'(?:[^\']|\'\')*\'!?|\s+'
    r"|(?<![A-Za-z0-9_.$!])(\$?)([A-Za-z]{1,3})(\$?)([0-9]{1,7})(?![A-Za-z0-9_.(])"
)
"""Texts, sheet titles and spaces of a formula, and references to cells of its own sheet."""
_AREA = re.compile(
    r"\$?(?:'((?:[^']|'')*)'|([^'!\s]+))!\$?([A-Z]{1,3})\$?([0-9]{1,7})(?::\$?([A-Z]{1,3})\$?([0-9]{1,7}))?"
)


class NamedArea(NamedTuple):
    """A named area of a sheet, from the first place to the last."""

    sheet: str
    first: Place
    last: Place


class Formulas(NamedTuple):
    """The formulas and defined names of a workbook."""

    cells: Mapping[str, Mapping[Place, str]]
    """By sheet title and cell place, in the form of `relative_formula`."""
    names: Mapping[str, NamedArea | None]
    """The area of each defined name of the workbook; None for a name without an area, or with several."""


def read_formulas(parts: Mapping[str, bytes]) -> Formulas | None:
    """Return the formulas and names in the parts of an xlsx workbook; None for another format."""
    if WORKBOOK not in parts:
        return None
    cells = {title: _read_sheet(parts[part]) for title, part in find_sheets(parts).items() if part in parts}
    return Formulas(cells, _read_names(parts[WORKBOOK]))


def relative_formula(formula: str, cell: Place) -> str:
    """Return the formula of a cell with references to its own sheet as R1C1 offsets.

    Formulas that were copied or sorted to another line are thus equal. Spaces, case and function prefixes, in which
    programs differ, are normalised.
    """

    def write(token: re.Match[str]) -> str:
        if token[4] is None:
            text = token[0]
            if text.startswith("'") and text.endswith("!"):
                # Programs differ in which sheet titles they quote.
                return text.strip("'!").replace("''", "'") + "!"
            return "" if text.isspace() else text
        column, row = column_number(token[2]), int(token[4])
        named_column = f"C{column}" if token[1] else f"C[{column - cell[1]}]"
        return f"R{row}{named_column}" if token[3] else f"R[{row - cell[0]}]{named_column}"

    text = _TOKEN.sub(write, _PREFIX.sub("", formula.strip().removeprefix("="))).casefold()
    return _ARRAY.sub(r"\1", text)


def _read_names(content: bytes) -> dict[str, NamedArea | None]:
    names, name, text = dict[str, NamedArea | None](), "", list[str]()

    def close() -> None:
        if name:
            # A second area, such as one of a single sheet, hides the first one from some formulas.
            names[name] = None if name in names else _read_area("".join(text))

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal name, text
        close()
        name, text, parser.CharacterDataHandler = "", [], None
        if tag.rpartition(":")[2] == "definedName":
            name, parser.CharacterDataHandler = attributes.get("name", "").lower(), text.append

    parser = parser_of(start)
    feed(parser, content)
    close()
    return names


def _read_area(text: str) -> NamedArea | None:
    match = _AREA.fullmatch(text.strip())
    if match is None:
        return None
    quoted, plain, left, top, right, bottom = match.groups()
    sheet = plain if quoted is None else quoted.replace("''", "'")
    first = int(top), column_number(left)
    return NamedArea(sheet, first, (int(bottom), column_number(right)) if bottom else first)


def _read_sheet(content: bytes) -> dict[Place, str]:
    """Return the formulas of a sheet; a shared formula applies to each of its cells."""
    formulas, shared = dict[Place, str](), dict[str, str]()
    cell, sharing, text = (0, 0), "", list[str]()
    inside = False

    def close() -> None:
        nonlocal inside
        if inside:
            formula = relative_formula("".join(text), cell) if text else shared.get(sharing, "")
            if sharing and text:
                shared.setdefault(sharing, formula)
            formulas[cell] = formula
        inside, parser.CharacterDataHandler = False, None

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal cell, sharing, text, inside
        close()
        tag = tag.rpartition(":")[2]
        if tag == "row":
            cell = int(attributes.get("r", cell[0] + 1)), 0
        elif tag == "c":
            reference = _REFERENCE.fullmatch(attributes.get("r", ""))
            cell = (int(reference[2]), column_number(reference[1])) if reference else (cell[0], cell[1] + 1)
        elif tag == "f":
            inside, text = True, []
            sharing = attributes.get("si", "") if attributes.get("t") == "shared" else ""
            parser.CharacterDataHandler = text.append

    def end(tag: str) -> None:
        if tag.rpartition(":")[2] == "f":
            close()

    parser = parser_of(start)
    parser.EndElementHandler = end
    feed(parser, content)
    return formulas

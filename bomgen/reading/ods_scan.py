"""What the XML of an OpenDocument workbook has and calamine does not say: repeated and merged cells, errors, formulas.

Elements and attributes are those with the prefixes that programs write, which calamine asks for, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bomgen.reading.cells import MAX_COLUMNS, Area, Value
from bomgen.reading.sheet_scan import LAST_COLUMN, NO_VALUE, Found, feed, parser_of, shown_error

CELLS = ("table:table-cell", "table:covered-table-cell")
ROWS, COLUMNS = "table:number-rows-repeated", "table:number-columns-repeated"
VALUES, FORMULA = "office:", "table:formula"
"""What the names of attributes with values begin with, and that of a formula."""
TEXTS = (FORMULA, *(f"office:{kind}-value" for kind in ("string", "date", "time")))
"""The attributes whose text the library keeps in every cell."""
HIDDEN = ("collapse", "filter")
"""The visibility of rows and columns that nobody sees."""


def scan_ods(content: bytes) -> dict[str, Found]:
    """What is in each sheet of an OpenDocument package, by its title. Raises ValueError for what is no XML."""
    sheets = {"": _Sheet()}
    sheet = sheets[""]

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal sheet
        if name in CELLS:
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
    return {name: each.found() for name, each in sheets.items()}


def _times(given: Mapping[str, str], name: str) -> int:
    """How often something is repeated, which the library takes for 0 where it is negative."""
    return max(int(given.get(name, 1)), 0)


class _Sheet:
    """A sheet while it is read: cells, rows and columns are repeated by a count."""

    def __init__(self) -> None:
        self.row = self.column = 1
        self.times_down = self.times_right = 0
        self.defined = 1
        """The next column that is defined."""
        self.value: Value = None
        self.is_error = self.is_counted = False
        self.texts: list[str] = []
        self.size = 0
        """Bytes of what a cell shows and its text does not hold: of blanks that are counted, and of attributes."""
        self.last_row = self.last_column = self.text = 0
        self.beyond: tuple[int, int] | None = None
        self.cells: dict[int, dict[int, Value]] = {}
        self.merged: list[Area] = []
        self.hidden_rows, self.hidden_columns = list[range](), list[range]()

    def found(self) -> Found:
        """What was read."""
        return Found(
            *(self.last_row, self.last_column, self.text, self.beyond, self.cells, tuple(self.merged)),
            *(tuple(self.hidden_rows), tuple(self.hidden_columns)),
        )

    def add_columns(self, given: Mapping[str, str]) -> None:
        """Note whether the next columns are hidden."""
        first, self.defined = self.defined, self.defined + _times(given, COLUMNS)
        if given.get("table:visibility") in HIDDEN:
            self.hidden_columns.append(range(first, self.defined))

    def start_row(self, given: Mapping[str, str]) -> None:
        """Go on to the next row, which stands so many times."""
        self.end_cell()
        self.row, self.times_down = self.row + self.times_down, _times(given, ROWS)
        self.column = 1
        if given.get("table:visibility") in HIDDEN:
            self.hidden_rows.append(range(self.row, self.row + self.times_down))

    def start_cell(self, given: Mapping[str, str]) -> None:
        """Go on to the next cell, with its attributes."""
        self.end_cell()
        self.times_right = _times(given, COLUMNS)
        self.is_error = given.get("calcext:value-type") == "error"
        kind = given.get("office:value-type")
        if kind == "boolean":
            self.value = given.get("office:boolean-value") == "true"
        elif kind is None and FORMULA in given:
            self.value = NO_VALUE
        if FORMULA in given or any(key.startswith(VALUES) for key in given):
            self.count()
        if self.times_right * self.times_down > 1:
            self.size = sum(len(given.get(key, "")) for key in TEXTS)
        if "table:number-rows-spanned" in given or "table:number-columns-spanned" in given:
            down = int(given.get("table:number-rows-spanned", 1))
            right = int(given.get("table:number-columns-spanned", 1))
            if down > 1 or right > 1:
                self.merged.append(Area(self.row, self.column, self.row + down - 1, self.column + right - 1))

    def start_text(self) -> Callable[[str], None] | None:
        """Go on to the text that a cell shows, and give what takes it, where it is asked for.

        A cell without a value shows none, which is what its formula came to.
        """
        if not self.is_counted:
            self.count()
        if self.value is NO_VALUE:
            self.value = None
        return self.texts.append if self.is_error or self.times_right * self.times_down > 1 else None

    def count(self) -> None:
        """Count the cell as one that holds something."""
        self.is_counted = True
        self.last_row = max(self.last_row, self.row + self.times_down - 1)
        self.last_column = max(self.last_column, self.column + self.times_right - 1)
        if self.last_column > MAX_COLUMNS and self.beyond is None:
            self.beyond = self.row, max(self.column, MAX_COLUMNS + 1)

    def end_cell(self) -> None:
        """Go on behind the cell that ended."""
        if self.is_counted or self.size:
            self.keep_cell()
        self.column += self.times_right
        self.times_right, self.is_counted, self.size = 0, False, 0

    def keep_cell(self) -> None:
        """Count the text of a cell, and keep what calamine does not tell of it."""
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

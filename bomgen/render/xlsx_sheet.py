"""Sheets in the making: how cells look, how wide and high they are, and how a sheet is printed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from decimal import Decimal
from typing import NamedTuple, cast

from openpyxl import Workbook
from openpyxl.cell import Cell as SheetCell
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.utils import get_column_letter, quote_sheetname
from openpyxl.worksheet.hyperlink import Hyperlink
from openpyxl.worksheet.properties import PageSetupProperties

from bomgen.document import Cell, Column, Document, Value
from bomgen.language import Language
from bomgen.render.xlsx_finish import Result
from bomgen.render.xlsx_text import (
    GENERAL,
    LEAST,
    PADDING,
    clean,
    cut,
    more_lines,
    number_format,
    plain,
    storable,
    width_of,
)

_UNKNOWN = "–"
_NOTE_COLUMNS = ("explain", "why", "how", "note", "source", "origin")
"""The columns whose text explains the others, and steps back behind them."""
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\n")
_ILLEGAL_IN_NAME = re.compile(r"[\[\]:*?/\\\s\x00-\x1f\ud800-\udfff\ufffe\uffff]+")
_RESERVED_NAME = "history"
_MAX_NAME = 31

_FONT = "Arial"
_TEXT_SIZE = 10
_PRINTED_SIZE = 8
_BLACK = "000000"
_WHITE = "FFFFFF"
_NAVY = "1F3864"
_PALE = "E9EEF6"
_GREY = "666666"
_BLUE = "0B5FB0"
_LINE = "C9D2E0"
AMBER = "FFF2CC"

_LINE_HEIGHT = 13
_GAP = 2
_MAX_HEIGHT = 409
_TITLE_HEIGHT = 28
_HEADER_HEIGHT = 18
_A4 = 9
_LANDSCAPE_FROM = 100
"""Sheets that are wider, in characters, are printed across."""
_MARGIN = 0.45
_MAX_HEADER = 80
_MAX_FOOTER = 130
"""The parts of a header or footer, with their commands, may have 255 characters together."""


class Look(NamedTuple):
    """How a cell looks, apart from its number format."""

    color: str = _BLACK
    size: int = _TEXT_SIZE
    bold: bool = False
    fill: str = ""
    lined: bool = True
    right: bool = False
    middle: bool = False
    wrap: bool = True
    indent: int = 0


HEADING = Look(color=_NAVY, size=12, bold=True, lined=False, wrap=False)
PARAGRAPH = Look(lined=False)
CAPTION = Look(color=_GREY, lined=False)
GROUP = Look(color=_NAVY, bold=True, fill=_PALE, wrap=False)
TABLE_BAND = GROUP._replace(size=11, fill="")
PATH = GROUP._replace(wrap=True)
TEXT = Look()
LABEL = Look(bold=True)
NUMBER = Look(right=True, wrap=False)
INPUT = NUMBER._replace(color=_BLUE)
WARNING = Look(bold=True, fill=AMBER)
TOTAL_LABEL = Look(right=True, wrap=False, lined=False)
GRAND_LABEL = TOTAL_LABEL._replace(bold=True)
GRAND = NUMBER._replace(bold=True, fill=_PALE)
GRAND_TEXT = Look(bold=True, fill=_PALE)
_TITLE = Look(color=_NAVY, size=16, bold=True, lined=False, wrap=False)
_HEADER = Look(color=_WHITE, bold=True, fill=_NAVY, middle=True)
_NUMBER_HEADER = _HEADER._replace(right=True)
_EXPLANATION = Look(color=_GREY)
_WORD_OF_NUMBERS = Look(right=True)


class Book:
    """A workbook in the making: its language, its styles, and the results of its formulas."""

    def __init__(self, document: Document, language: Language) -> None:
        self.workbook = Workbook()
        self.workbook.remove(self.workbook.worksheets[0])
        self.workbook.properties.creator = "bomgen"
        self.workbook.properties.title = clean(document.title)
        self.document = document
        self.language = language
        self.sheets: list[Sheet] = []
        self.results: dict[str, dict[str, Result]] = {}
        """What each formula comes to, by sheet and address."""
        self.places: dict[str, str] = {}
        """Where the derivation of each path begins."""
        self._styles: dict[tuple[Look, str, bool], object] = {}

    def sheet(self, title: str) -> Sheet:
        """A new sheet behind the others; its name is the title as far as Excel allows it."""
        name = _ILLEGAL_IN_NAME.sub(" ", title).strip("' ") or "Sheet"
        taken = {sheet.title.casefold() for sheet in self.workbook.worksheets} | {_RESERVED_NAME}
        unique, number = cut(name, _MAX_NAME), 1
        while unique.casefold() in taken:
            number += 1
            unique = f"{cut(name, _MAX_NAME - len(f' ({number})'))} ({number})"
        self.sheets.append(Sheet(self, unique, title))
        return self.sheets[-1]

    def style(self, cell: SheetCell, look: Look, form: str, quoted: bool) -> None:
        """Give a cell its look, number format and quote prefix; a style is made once, then shared."""
        key = (look, form, quoted)
        if key not in self._styles:
            cell._style = copy(cell._style)  # type: ignore[attr-defined]
            cell.font = Font(name=self.language.font or _FONT, size=look.size, bold=look.bold, color=look.color)
            cell.alignment = Alignment(
                horizontal="right" if look.right else "left",
                vertical="center" if look.middle else "top",
                wrap_text=look.wrap,
                indent=look.indent + (look.lined and not look.right),
            )
            if look.lined:
                line = Side(style="thin", color=_LINE)
                cell.border = Border(top=line, bottom=line)
            if look.fill:
                cell.fill = PatternFill("solid", start_color=look.fill)
            cell.number_format = form
            cell.quotePrefix = quoted
            self._styles[key] = cell._style  # type: ignore[attr-defined]
        cell._style = self._styles[key]  # type: ignore[attr-defined]


class Sheet:
    """A sheet that is written from top to bottom; `row` is the row to write next, `widths` are set before."""

    def __init__(self, book: Book, name: str, title: str) -> None:
        self.book = book
        self.title = title
        self.page = book.workbook.create_sheet(name)
        self.quoted = quote_sheetname(name)
        self.results = book.results.setdefault(name, {})
        self.row = 1
        self.widths: list[float] = []

    def put(self, column: int, value: Value, look: Look, form: str = GENERAL, columns: int = 1) -> SheetCell:
        """Write a value into the current row and return its cell.

        Text stays text, whatever it begins with; it has room on `columns` columns.
        """
        cell = self._cell(column)
        quoted = False
        if isinstance(value, str):
            text = clean(value)
            quoted = text.startswith(_FORMULA_STARTS)
            cell.value, cell.data_type = text, "s"
            if look.wrap:
                room = sum(self.widths[column - 1 : column - 1 + columns]) - PADDING * (1 + look.indent)
                self._heighten(text, max(room, 1))
        elif value is not None:
            number = storable(value)
            cell.value = number
            self._widen(column, number, form)
        self.book.style(cell, look, form, quoted)
        return cell

    def calculate(self, column: int, formula: str, result: Result, look: Look, form: str = GENERAL) -> str:
        """Write a formula with what it comes to into the current row and return the address of its cell."""
        cell = self._cell(column)
        cell.value = f"={formula}"
        self.book.style(cell, look, form, False)
        self.results[cell.coordinate] = result
        if not isinstance(result, str):
            self._widen(column, result, form)
        return cell.coordinate

    def value(self, position: int, column: Column, cell: Cell, named: bool = True) -> None:
        """Write a cell of a table, linked to its derivation; `named` puts the unit behind a number."""
        language = self.book.language
        value = language.value(cell.value, cell.unit) if isinstance(cell.value, str) else cell.value
        value = _UNKNOWN if value is None else value
        if column.kind != "text":
            look = _WORD_OF_NUMBERS if isinstance(value, str) else NUMBER
        else:
            look = _EXPLANATION if column.key in _NOTE_COLUMNS else TEXT
        form = number_format(cell.value, cell.unit, language, named)
        if cell.least and form != GENERAL:
            form = LEAST + form
        self.link(self.put(position, value, look, form), cell)

    def link(self, cell: SheetCell, source: Cell) -> None:
        """Link the cell of a number to the derivation that explains the number."""
        place = self.book.places.get(source.why) if source.why else None
        if place and not isinstance(source.value, str):
            cell.hyperlink = Hyperlink(ref=cell.coordinate, location=place)

    def heading(self, title: str, *captions: str | None) -> None:
        """Write the title of the sheet and what is said below it."""
        self.put(1, title, _TITLE)
        self.page.row_dimensions[self.row].height = _TITLE_HEIGHT
        self.row += 1
        for caption in filter(None, captions):
            self.across(1, caption, CAPTION)
        if not any(captions):
            self.row += 1

    def across(self, column: int, text: str, look: Look) -> None:
        """Write text from a column to the end of the row, and make the row as high as the text needs."""
        columns = len(self.widths) - column + 1
        self.put(column, text, look, columns=columns)
        for other in range(column + 1, column + columns):
            self.put(other, None, look)
        if columns > 1:
            first, last = get_column_letter(column), get_column_letter(len(self.widths))
            self.page.merged_cells.add(f"{first}{self.row}:{last}{self.row}")
        self.row += 1

    def header(self, columns: Iterable[Column]) -> None:
        """Write the header of a table: the titles of its columns."""
        for position, column in enumerate(columns, 1):
            self.put(position, column.title, _HEADER if column.kind == "text" else _NUMBER_HEADER)
        self._at_least(_HEADER_HEIGHT)
        self.row += 1

    def freeze(self) -> None:
        """Keep the header that was just written and all above it in sight, and repeat it on every printed page."""
        header = self.row - 1
        self.page.freeze_panes = f"A{self.row}"
        self.page.print_title_rows = f"{header}:{header}"

    def finish(self) -> None:
        """Set the widths of the columns and how the sheet is printed."""
        page, document = self.page, self.book.document
        for position, width in enumerate(self.widths, 1):
            page.column_dimensions[get_column_letter(position)].width = width
        page.sheet_view.showGridLines = False
        page.print_area = f"A1:{get_column_letter(len(self.widths))}{max(self.row - 1, 1)}"
        page.page_setup.paperSize = _A4
        page.page_setup.orientation = "landscape" if sum(self.widths) > _LANDSCAPE_FROM else "portrait"
        page.page_setup.fitToHeight = 0
        page.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
        margins = page.page_margins
        margins.left = margins.right = _MARGIN
        margins.top = margins.bottom = 2 * _MARGIN
        margins.header = margins.footer = _MARGIN
        for part, text in (
            (page.oddHeader.left, plain(document.title, _MAX_HEADER)),
            (page.oddHeader.right, plain(self.title, _MAX_HEADER)),
            (page.oddFooter.left, plain(document.footer, _MAX_FOOTER)),
            (page.oddFooter.right, self.book.language.word("xlsx-page", page="&P", pages="&N")),
        ):
            part.text, part.size, part.color = text, _PRINTED_SIZE, _GREY
            part.font = f"{_FONT},Regular"

    def _cell(self, column: int) -> SheetCell:
        return cast(SheetCell, self.page.cell(self.row, column))

    def _heighten(self, text: str, room: float) -> None:
        """Make the row high enough for wrapped text; programs disagree about it when they print."""
        if lines := more_lines(text, room):
            self._at_least(min((lines + 1) * _LINE_HEIGHT + _GAP, _MAX_HEIGHT))

    def _at_least(self, height: float) -> None:
        row = self.page.row_dimensions[self.row]
        row.height = max(row.height or 0, height)

    def _widen(self, column: int, number: int | float | Decimal, form: str) -> None:
        needed = width_of(number, form)
        if column <= len(self.widths) and needed > self.widths[column - 1]:
            self.widths[column - 1] = needed

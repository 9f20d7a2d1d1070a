"""Sheets in the making: their cells, how wide and high they are, and how a sheet is printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import cast

from openpyxl import Workbook
from openpyxl.cell import Cell as SheetCell
from openpyxl.styles import Alignment, Border, Font, PatternFill, Protection, Side
from openpyxl.utils import get_column_letter, quote_sheetname
from openpyxl.utils.indexed_list import IndexedList
from openpyxl.workbook.protection import WorkbookProtection
from openpyxl.worksheet.dimensions import SheetFormatProperties
from openpyxl.worksheet.formula import ArrayFormula
from openpyxl.worksheet.hyperlink import Hyperlink
from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.properties import PageSetupProperties
from openpyxl.worksheet.worksheet import Worksheet

from bomgen.core.document import Cell, Column, Derivation, Document, Note, Value
from bomgen.core.language import BEST, Language, as_power
from bomgen.core.safety import FORMULA_STARTS
from bomgen.core.units import minor_unit
from bomgen.documents.tables import HEADING
from bomgen.output.face import is_wide
from bomgen.output.xlsx import cells
from bomgen.output.xlsx.cells import Result
from bomgen.reading.quote_workbook import CELLS, CellPlace, QuoteCell

# page setup ---------------------------------------------------------------------------------------------------------
# How a sheet is printed: paper, scale, margins, and where a page must end so that what belongs together stays so.

_A4 = 9
_SHORT_SIDE, _LONG_SIDE = 595.3, 792.0
"""What A4 and Letter both have [points]: a sheet takes as many pages on either."""
_MARGIN = 0.45
"""[inches]"""
_POINTS_AN_INCH = 72
_POINTS_A_DIGIT = 5.56
"""What a column takes for a digit of its width: a digit of Arial is 0.556 of its size, which is 10 points."""
_USUAL_HEIGHT = 15.0
"""Of rows that nothing else is said of [points]."""
_LANDSCAPE_FROM = 100
"""Sheets that are wider, in characters, are printed across."""
_SURE = 0.92
"""The part of a page that rows fill by any program's measure; programs disagree a little about heights."""
_DOUBT = 0.05
"""How far off the rows of a page may be, in parts of it, for every page that a program ended itself."""
_NARROWER = 0.97
"""What a sheet is scaled to of the width of its page, where the scale is a number; programs disagree there, too."""
_MOST_SHRUNK = 1.25
"""A little more than a page is printed smaller, so that it takes no second one, but text of 10 points at least at 8."""
_LEAST_SCALE = 0.8
_FULL_SIZE = 100
"""[per cent]"""


def arrange(page: Worksheet, widths: Sequence[float], last: int, together: Mapping[int, int]) -> None:
    """Set up the print of a sheet's columns of such widths [characters] down to its last row.

    `together` has the first and last row of what is not to be split by the end of a page.
    """
    page.sheet_format = SheetFormatProperties(defaultRowHeight=_USUAL_HEIGHT, customHeight=True)
    wide = sum(widths)
    across = wide > _LANDSCAPE_FROM
    page.print_area = f"A1:{get_column_letter(len(widths))}{last}"
    page.page_setup.paperSize = _A4
    page.page_setup.orientation = "landscape" if across else "portrait"
    margins = page.page_margins
    margins.left = margins.right = margins.header = margins.footer = _MARGIN
    margins.top = margins.bottom = 2 * _MARGIN
    width, height = (_LONG_SIDE, _SHORT_SIDE) if across else (_SHORT_SIDE, _LONG_SIDE)
    scale = min((width - 2 * _MARGIN * _POINTS_AN_INCH) / (wide * _POINTS_A_DIGIT), 1) * _NARROWER
    room = (height - 2 * 2 * _MARGIN * _POINTS_AN_INCH) / scale
    heights = [page.row_dimensions[row].height or _USUAL_HEIGHT for row in range(1, last + 1)]
    too_much = sum(heights) / (room * _SURE)
    if 1 < too_much <= _MOST_SHRUNK and (scale / too_much >= _LEAST_SCALE or scale < _LEAST_SCALE):
        page.page_setup.scale = int(scale / too_much * _FULL_SIZE)
        return
    if too_much > 1 and scale > _LEAST_SCALE:  # what takes several pages takes the fewest
        room, scale = room * scale / _LEAST_SCALE, _LEAST_SCALE
    header = int(page.print_title_rows.rpartition("$")[2]) if page.print_title_rows else 0
    if ends := page_ends(heights, together, room, heights[header - 1] if header else 0):
        page.page_setup.scale = int(scale * _FULL_SIZE)
        for row in ends:
            page.row_breaks.append(Break(row))
        return
    # A sheet that is fitted to the width of its page has no page ends of its own: Excel ignores them.
    page.page_setup.fitToHeight = 0
    page.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)


def page_ends(heights: Sequence[float], together: Mapping[int, int], room: float, repeated: float) -> list[int]:
    """The rows after which a page must end so that no block of `together` is split.

    `heights` are those of the rows, `room` that of a page, `repeated` that of the header on every page but the first,
    all in points.
    """
    ends: list[int] = []
    used = doubt = 0.0
    for row, height in enumerate(heights, 1):
        end = used + sum(heights[row - 1 : together.get(row, 0)])
        if row in together and row > 1 and (end + doubt > room * _SURE or (doubt and used - doubt < repeated)):
            ends.append(row - 1)
            used, doubt = repeated, 0.0
        elif used + height > room:
            used, doubt = repeated, doubt + room * _DOUBT
        used += height
    return ends


# sheet --------------------------------------------------------------------------------------------------------------

_UNKNOWN = "–"
_NOTE_COLUMNS = ("explain", "why", "how", "note", "source", "origin")
"""The columns whose text explains the others, and steps back behind them."""
_REFERENCE = re.compile("\0([^\0]+)\0")
"""A reference in a formula (documents/tables.py)."""
_ADDRESS = re.compile("([A-Z]+)([0-9]+)")

_PRINTED_SIZE = 8
_LINE_HEIGHT, _WIDE_LINE_HEIGHT = 13, 15
"""Of Latin letters and of Chinese ones [points]."""
_GAP = 2
_MAX_HEIGHT = 409
_TITLE_HEIGHT = 28
_HEADER_HEIGHT = 18
_MAX_HEADER = 80
_MAX_FOOTER = 130
"""The parts of a header or footer, with their commands, may have 255 characters together."""


def absolute(area: str) -> str:
    """Return an address that stays when a formula is copied."""
    return _ADDRESS.sub(r"$\1$\2", area)


class Book:
    """A workbook in the making: its language, its styles, and the results of its formulas."""

    def __init__(self, document: Document, language: Language) -> None:
        self.workbook = Workbook()
        self.workbook.remove(self.workbook.worksheets[0])
        # The usual font is the measure of all widths of columns.
        usual = Font(name=cells.FONT, size=cells.TEXT_SIZE)
        self.workbook._fonts = IndexedList([usual])  # type: ignore[attr-defined]
        self.workbook._named_styles["Normal"].font = usual  # type: ignore[attr-defined]
        self.workbook.properties.creator = cells.clean(document.author)
        self.workbook.properties.title = cells.clean(document.title)
        if document.protected:
            self.workbook.security = WorkbookProtection(lockStructure=True)
        self.document = document
        self.language = language
        self.sheets: list[Sheet] = []
        self.results: dict[str, dict[str, Result]] = {}
        """What each formula comes to, by sheet and address."""
        self.places: dict[str, str] = {}
        """Where the derivation of each path begins."""
        self.derived: dict[str, Derivation] = {}
        """The same derivations."""
        self.areas: dict[str, tuple[Sheet, str]] = {}
        """What formulas of any sheet refer to, such as `required.amount`: its sheet and address."""
        self.formulas: list[tuple[Sheet, SheetCell, str, Mapping[str, str], int]] = []
        """The formulas, with the letters of the columns and the row of the header above them."""
        self.cells: dict[CellPlace, QuoteCell] = {}
        """Cells whose edits go back into the plan, by where they stand."""
        self._styles: dict[tuple[cells.Look, str, bool], object] = {}

    @cached_property
    def decimals(self) -> int:
        """Return how many decimal places the amounts of the bill have."""
        return cells.places(minor_unit(self.document.totals.currency))

    @cached_property
    def plain(self) -> str:
        """Return the format of amounts without their currency."""
        return cells.fixed(self.decimals)

    @cached_property
    def money(self) -> str:
        """Return the format of amounts with their currency."""
        return cells.money_format(self.document.totals.currency, self.language)

    def sheet(self, title: str) -> Sheet:
        """A new sheet behind the others; its name is the title as far as Excel allows it."""
        self.sheets.append(Sheet(self, cells.sheet_name(title, self.workbook.sheetnames), title))
        return self.sheets[-1]

    def finish(self) -> None:
        """Fill in the references of all formulas, and set the widths of columns and how the sheets are printed."""
        for sheet, cell, formula, letters, header in self.formulas:
            pieces = _REFERENCE.split(formula)
            pieces[1::2] = [self._address(sheet, key, letters, cell.row, header) for key in pieces[1::2]]
            text = cells.clean("".join(pieces))
            cell.value = ArrayFormula(cell.coordinate, f"={text[1:-1]}") if text.startswith("{") else f"={text}"
        for sheet in self.sheets:
            sheet.finish()

    def _address(self, sheet: Sheet, key: str, letters: Mapping[str, str], row: int, header: int) -> str:
        """Return the address that a reference in a formula of a sheet and row means."""
        if key in letters:
            return f"{letters[key]}{row}"
        if key.startswith(HEADING):
            return f"{letters[key.removeprefix(HEADING)]}${header}"
        other, area = self.areas[key]
        if other is sheet:
            return area
        return f"{other.quoted}!{absolute(area) if ':' in area else area}"

    def style(self, cell: SheetCell, look: cells.Look, form: str, quoted: bool) -> None:
        """Give a cell its look, number format and quote prefix; a style is made once, then shared."""
        key = (look, form, quoted)
        if key not in self._styles:
            cell._style = copy(cell._style)  # type: ignore[attr-defined]
            cell.font = Font(name=self.language.font or cells.FONT, size=look.size, bold=look.bold, color=look.color)
            cell.alignment = Alignment(
                horizontal="right" if look.right else "left",
                vertical="center" if look.middle else "top",
                wrap_text=look.wrap,
                indent=look.indent + (look.lined and not look.right),
            )
            if look.lined:
                line = Side(style="thin", color=cells.LINE)
                cell.border = Border(top=line, bottom=line)
            if look.fill:
                cell.fill = PatternFill("solid", start_color=look.fill)
            cell.number_format = form
            cell.quotePrefix = quoted
            if look.open:
                cell.protection = Protection(locked=False)
            self._styles[key] = cell._style  # type: ignore[attr-defined]
        cell._style = self._styles[key]  # type: ignore[attr-defined]


Written = tuple[Value | Cell, cells.Look] | tuple[Value | Cell, cells.Look, str]
"""A cell to write: its value, or a cell with a formula, its look, and its number format."""


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
        self.letters: dict[str, str] = {}
        """The letters of the columns of the last header, by their keys."""
        self.header_row = 0
        self.printed: int | None = None
        """How many columns are printed, where that is not all of them; 0: the sheet is for the screen."""
        self.folded: set[int] = set()
        """Columns out of sight that the reader can unfold."""
        self.together: dict[int, int] = {}
        """First and last row of what is not to be split by the end of a page."""

    def put(
        self, column: int, written: Value | Cell, look: cells.Look, form: str = cells.GENERAL, columns: int = 1
    ) -> SheetCell:
        """Write a value, or a formula with its result, into the current row and return its cell.

        Text stays text, whatever it begins with; it has room on `columns` columns.
        """
        cell = cast(SheetCell, self.page.cell(self.row, column))
        value, quoted = written.value if isinstance(written, Cell) else written, False
        if isinstance(written, Cell) and written.formula:
            self.book.formulas.append((self, cell, written.formula, self.letters, self.header_row))
            result = value if isinstance(value, str | Decimal) else "" if value is None else cells.storable(value)
            self.results[cell.coordinate] = result
            if not isinstance(result, str):
                self._widen(column, result, form)
        elif isinstance(value, str):
            text = cells.clean(value)
            quoted = text.startswith(FORMULA_STARTS)
            cell.value, cell.data_type = text, "s"
            if look.wrap:
                widths = self._seen() if columns > 1 else self.widths
                room = sum(widths[column - 1 : column - 1 + columns]) - cells.PADDING * (1 + look.indent)
                # The row is made high enough for wrapped text; programs disagree about it when they print.
                if lines := cells.more_lines(text, max(room, 1)):
                    height = _WIDE_LINE_HEIGHT if any(map(is_wide, text)) else _LINE_HEIGHT
                    self._at_least(min((lines + 1) * height + _GAP, _MAX_HEIGHT))
        elif value is not None:
            number = cells.storable(value)
            cell.value = number
            self._widen(column, number, form)
        self.book.style(cell, look, form, quoted)
        return cell

    def line(self, *written: Written, start: int = 1) -> list[str]:
        """Write cells beside each other from a column on, go on to the next row, and return their addresses."""
        addresses = [self.put(position, *cell).coordinate for position, cell in enumerate(written, start)]
        self.row += 1
        return addresses

    def mark(self, column: int, name: str, *steps: str | int) -> None:
        """Note that a cell of the current row is one of `CELLS`, if it is; `steps` lead on from its path."""
        if cell := CELLS.get(name):
            self.book.cells[self.page.title, self.row, column] = cell._replace(path=(*cell.path, *steps))

    def value(self, position: int, column: Column, cell: Cell, named: bool = True) -> None:
        """Write a cell of a table, linked to its derivation; `named` puts the unit behind a number."""
        language = self.book.language
        if cell.formula:
            look = cells.LABEL if column.kind == "text" else cells.NUMBER
            self.live(position, column, cell, look, named)
            return
        value, unit = as_power(cell.value, cell.unit)
        value = language.value(value, unit) if isinstance(value, str) else value
        value = _UNKNOWN if value is None else value
        if column.kind != "text":
            look = cells.WORD_OF_NUMBERS if isinstance(value, str) else cells.NUMBER
        else:
            look = cells.EXPLANATION if column.key in _NOTE_COLUMNS else cells.TEXT
        form = cells.estimate_format(cells.number_format(cell.value, cell.unit, language, named), cell, language)
        if cell.least and form != cells.GENERAL:
            form = cells.LEAST + form
        if cell.best:
            look, form = look._replace(bold=True, fill=cells.PALE), f'"{BEST} "{form}'
        self.link(self.put(position, value, look, form), cell)

    def live(
        self, position: int, column: Column, cell: Cell, look: cells.Look, named: bool = False, form: str = ""
    ) -> None:
        """Write a cell with a formula in the format of its column, whatever its result is at present."""
        if column.kind == "money":
            amount = cell.value if isinstance(cell.value, Decimal) else Decimal(0)
            form = form or cells.number_format(amount, cell.unit, self.book.language, named)
        elif column.kind == "share":
            form = cells.SHARE_FORMAT
        else:
            form = cells.number_format(cell.value, cell.unit, self.book.language, named)
        result = self.book.language.word("xlsx-no-price") if cell.value is None else cell.value
        self.put(position, replace(cell, value=result), look, form)

    def link(self, cell: SheetCell, source: Cell) -> None:
        """Link the cell of a number to the derivation that explains the number."""
        place = self.book.places.get(source.why) if source.why else None
        if place and not isinstance(source.value, str):
            cell.hyperlink = Hyperlink(ref=cell.coordinate, location=place)

    def area(self, name: str, rows: range) -> None:
        """Let formulas refer to rows of the columns of the last header, by this name of their table."""
        for key, letter in self.letters.items():
            self.book.areas[f"{name}.{key}"] = self, f"{letter}{rows.start}:{letter}{rows.stop - 1}"

    def subheading(self, text: str) -> None:
        """Write the title of a part of the sheet."""
        self.put(1, text, cells.HEADING)
        self._at_least(_HEADER_HEIGHT)
        self.row += 1

    def explain(self, cell: SheetCell, source: Cell) -> None:
        """Link the cell of a number to its derivation, and tell in a note how the number came about."""
        self.link(cell, source)
        if isinstance(source.value, str):
            return
        derivation = self.book.derived.get(source.why) if source.why else None
        if text := cells.summarize(derivation, self.book.language) if derivation else source.note:
            cell.comment = cells.comment(text)

    def heading(self, title: str, *captions: str | None) -> None:
        """Write the title of the sheet and what is said below it."""
        self.put(1, title, cells.TITLE)
        self.page.row_dimensions[self.row].height = _TITLE_HEIGHT
        self.row += 1
        for caption in filter(None, captions):
            self.across(1, caption, cells.CAPTION)
        if not any(captions):
            self.row += 1

    def notes(self, notes: Iterable[Note]) -> None:
        """Write notes with their level before them and their place behind."""
        word = self.book.language.word
        for note in notes:
            text = word("xlsx-note-at", text=note.text, place=note.place) if note.place else note.text
            self.put(1, word(f"xlsx-{note.level}"), cells.WARNING if note.level == "warning" else cells.LABEL)
            self.across(2, text, cells.TEXT)

    def across(self, column: int, text: str | Cell, look: cells.Look) -> None:
        """Write text from a column to the end of the row, and make the row as high as the text needs.

        A cell may have a formula for its text.
        """
        end = self.printed or len(self.widths)
        columns = end - column + 1
        self.put(column, text.value if isinstance(text, Cell) else text, look, columns=columns)
        if isinstance(text, Cell) and text.formula:
            self.put(column, text, look)
        for other in range(column + 1, column + columns):
            self.put(other, None, look)
        if columns > 1:
            first, last = get_column_letter(column), get_column_letter(end)
            self.page.merged_cells.add(f"{first}{self.row}:{last}{self.row}")
        self.row += 1

    def header(self, columns: Iterable[Column]) -> None:
        """Write the header of a table: the titles of its columns."""
        self.letters, self.header_row = {}, self.row
        for position, column in enumerate(columns, 1):
            self.letters[column.key] = get_column_letter(position)
            self.put(position, column.title, cells.HEADER if column.kind == "text" else cells.NUMBER_HEADER)
        self._at_least(_HEADER_HEIGHT)
        self.row += 1

    def fold_rows(self, first: int) -> None:
        """Put the rows from `first` to the last one written out of sight, below a heading that unfolds them."""
        self.page.sheet_properties.outlinePr.summaryBelow = False
        for row in range(first, self.row):
            dimension = self.page.row_dimensions[row]
            dimension.hidden, dimension.outlineLevel = True, 1
        self.page.row_dimensions[first - 1].collapsed = True

    def freeze(self) -> None:
        """Keep the header that was just written and all above it in sight, and repeat it on every printed page."""
        header = self.row - 1
        self.page.freeze_panes = f"A{self.row}"
        self.page.print_title_rows = f"{header}:{header}"

    def finish(self) -> None:
        """Set the widths of the columns and how the sheet is printed."""
        page, document = self.page, self.book.document
        for position, width in enumerate(self.widths, 1):
            dimension = page.column_dimensions[get_column_letter(position)]
            dimension.width = width
            if position in self.folded:
                dimension.hidden, dimension.outlineLevel = True, 1
        page.sheet_view.showGridLines = False
        arrange(page, self._seen()[: self.printed or None], max(self.row - 1, 1), self.together)
        if self.printed == 0:  # there is no other way to keep it off the paper than to print an empty cell
            page.print_area = f"{get_column_letter(len(self.widths) + 1)}1"
        for part, text in (
            (page.oddHeader.left, cells.header_text(document.title, _MAX_HEADER)),
            (page.oddHeader.right, cells.header_text(self.title, _MAX_HEADER)),
            (page.oddFooter.left, cells.header_text(document.footer, _MAX_FOOTER)),
            (page.oddFooter.right, self.book.language.word("xlsx-page", page="&P", pages="&N")),
        ):
            part.text, part.size, part.color = text, _PRINTED_SIZE, cells.GREY
            part.font = f"{cells.FONT},Regular"
        if document.protected:
            # The reader changes inputs only; what a locked sheet still allows is False here.
            lock = page.protection
            lock.sheet = lock.objects = lock.scenarios = True
            lock.autoFilter = lock.sort = lock.formatColumns = lock.formatRows = False

    def _seen(self) -> list[float]:
        return [0 if position in self.folded else width for position, width in enumerate(self.widths, 1)]

    def _at_least(self, height: float) -> None:
        row = self.page.row_dimensions[self.row]
        row.height = max(row.height or 0, height)

    def _widen(self, column: int, number: int | float | Decimal, form: str) -> None:
        needed = cells.width_of(number, form)
        if column <= len(self.widths) and needed > self.widths[column - 1]:
            self.widths[column - 1] = needed

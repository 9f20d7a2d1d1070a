"""The report as an Excel workbook that goes on calculating: change a quantity or a price, and the totals follow."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple, cast
from unicodedata import east_asian_width

from openpyxl import Workbook
from openpyxl.cell import Cell as SheetCell
from openpyxl.formatting.rule import Rule
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.utils import get_column_letter, quote_sheetname
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.hyperlink import Hyperlink
from openpyxl.worksheet.properties import PageSetupProperties

from bomgen.document import Cell, Column, Derivation, Document, Note, Row, Section, Table, Value
from bomgen.language import Language
from bomgen.money import Totals, minor_unit
from bomgen.render.xlsx_finish import Result, package

_UNKNOWN = "–"
_MAX_TEXT = 32767
_MAX_NAME = 31
_MAX_HEADER = 80
_MAX_FOOTER = 130
"""The parts of a header or footer, with their commands, may have 255 characters together."""
_MAX_INDENT = 15
_MAX_WHOLE = 2**53
"""From here on a number of a sheet no longer tells whole numbers apart."""
_LARGE_COUNT = 10**9
_LARGE = 10**7
_SMALL = 0.001
_SMALL_SHARE = 0.01
_SIGNIFICANT_DIGITS = 4
_POWER_OF_TEN = "0.00E+00"
_WHOLE = "#,##0"
_SHARE = "share"
_SHARE_FORMAT = "0.0#%"
_SMALL_SHARE_FORMAT = "0.0###%"
_GENERAL = "General"

_NARROW = re.compile(r"[ijltfrI.,:;'|!()\[\]/\\ -]")
_BROAD = re.compile("[A-HJ-Zmw%@]")
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ILLEGAL_IN_NAME = re.compile(r"[\[\]:*?/\\\s\x00-\x1f\ud800-\udfff\ufffe\uffff]+")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\n")

_A4 = 9
_LANDSCAPE_FROM = 100
"""Sheets that are wider, in characters, are printed across."""
_LINE_HEIGHT = 13
_GAP = 2
_MAX_HEIGHT = 409
_TITLE_HEIGHT = 28
_HEADER_HEIGHT = 18
_PADDING = 2
"""What the indent of a cell takes from its column, in characters."""
_MARGIN = 0.45
_LETTER = 0.92
"""The width of a usual letter, in digits."""
_WIDE_LETTERS = ("W", "F")
_SUMMARY_WIDTHS = (34, 26, 16, 24)
_DERIVATION_WIDTHS = (38, 40, 18, 14, 64)
_MAX_BILL_WIDTH = 40
"""Wider columns would make the print of the bill too small."""
_NOTE_COLUMNS = ("explain", "why", "how", "note", "source")

_FONT = "Arial"
_NAVY = "1F3864"
_PALE = "E9EEF6"
_GREY = "666666"
_BLUE = "0B5FB0"
_AMBER = "FFF2CC"
_LINE = "C9D2E0"


class _Look(NamedTuple):
    """How a cell looks, apart from its number format."""

    color: str = "000000"
    size: int = 10
    bold: bool = False
    fill: str = ""
    lined: bool = True
    right: bool = False
    middle: bool = False
    wrap: bool = True
    indent: int = 0


_TITLE = _Look(color=_NAVY, size=16, bold=True, lined=False, wrap=False)
_HEADING = _Look(color=_NAVY, size=12, bold=True, lined=False, wrap=False)
_PARAGRAPH = _Look(lined=False)
_CAPTION = _Look(color=_GREY, lined=False)
_HEADER = _Look(color="FFFFFF", bold=True, fill=_NAVY, middle=True)
_NUMBER_HEADER = _HEADER._replace(right=True)
_GROUP = _Look(color=_NAVY, bold=True, fill=_PALE, wrap=False)
_TABLE_BAND = _GROUP._replace(size=11, fill="")
_PATH = _GROUP._replace(wrap=True)
_TEXT = _Look()
_LABEL = _Look(bold=True)
_EXPLANATION = _Look(color=_GREY)
_NUMBER = _Look(right=True, wrap=False)
_WORD_OF_NUMBERS = _Look(right=True)
_INPUT = _NUMBER._replace(color=_BLUE)
_WARNING = _Look(bold=True, fill=_AMBER)
_TOTAL_LABEL = _Look(right=True, wrap=False, lined=False)
_GRAND_LABEL = _TOTAL_LABEL._replace(bold=True)
_GRAND = _NUMBER._replace(bold=True, fill=_PALE)
_GRAND_TEXT = _Look(bold=True, fill=_PALE)


class _Bill(NamedTuple):
    """What other sheets refer to: the addresses of the bill's columns and labels, and what its formulas come to."""

    amounts: str
    categories: str
    labels: Mapping[str, tuple[str, str]]
    """Address and text of the label of each total."""
    money: Mapping[str, Decimal]
    """Each total."""
    by_category: Mapping[str, Decimal]


class _Book:
    """A workbook in the making: its language, its styles, and the results of its formulas."""

    def __init__(self, document: Document, language: Language) -> None:
        self.workbook = Workbook()
        self.workbook.remove(self.workbook.worksheets[0])
        self.workbook.properties.creator = "bomgen"
        self.workbook.properties.title = _clean(document.title)
        self.document = document
        self.language = language
        self.sheets: list[_Sheet] = []
        self.results: dict[str, dict[str, Result]] = {}
        self.places: dict[str, str] = {}
        """Where the derivation of each path begins."""
        self._styles: dict[tuple[_Look, str, bool], object] = {}

    def sheet(self, title: str) -> _Sheet:
        """A new sheet; its name is the title as far as Excel allows it."""
        name = _ILLEGAL_IN_NAME.sub(" ", title).strip("' ") or "Sheet"
        taken = {sheet.title.casefold() for sheet in self.workbook.worksheets} | {"history"}
        unique, number = _cut(name, _MAX_NAME), 1
        while unique.casefold() in taken:
            number += 1
            unique = f"{_cut(name, _MAX_NAME - len(f' ({number})'))} ({number})"
        self.sheets.append(_Sheet(self, unique, title))
        return self.sheets[-1]

    def style(self, cell: SheetCell, look: _Look, number_format: str, quoted: bool) -> object:
        """The shared style array of a look: made once on `cell`, then given to every cell that looks like it."""
        key = (look, number_format, quoted)
        if key not in self._styles:
            cell.font = Font(name=_FONT, size=look.size, bold=look.bold, color=look.color)
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
            cell.number_format = number_format
            cell.quotePrefix = quoted
            self._styles[key] = cell._style  # type: ignore[attr-defined]
        return self._styles[key]

    def currency_format(self, currency: str, named: bool = True) -> str:
        """The number format of amounts, with or without the currency behind."""
        decimals = _decimals(currency)
        digits = _WHOLE + ("." + "0" * decimals if decimals else "")
        return digits + _suffix(currency) if named else digits

    def number_format(self, value: Value, unit: str, named: bool = True) -> str:
        """The format of a number by its unit and size; `named` puts the unit behind the number."""
        if isinstance(value, str) or value is None:
            return _GENERAL
        if isinstance(value, Decimal):
            return self.currency_format(unit, named)
        if unit == _SHARE:
            return _SHARE_FORMAT if value == 0 or abs(float(value)) >= _SMALL_SHARE else _SMALL_SHARE_FORMAT
        suffix = _suffix(self.language.unit(unit)) if named else ""
        return ("#,##0.00" if unit == "days" else _digits(value)) + suffix


class _Sheet:
    """A sheet that is written from top to bottom; `row` is the row to write next."""

    def __init__(self, book: _Book, name: str, title: str) -> None:
        self.book = book
        self.title = title
        self.page = book.workbook.create_sheet(name)
        self.quoted = quote_sheetname(name)
        self.results = book.results.setdefault(name, {})
        self.row = 1
        self.widths: list[float] = []

    def put(self, column: int, value: Value, look: _Look, number_format: str = _GENERAL, columns: int = 1) -> SheetCell:
        """Write a value into the current row. Text stays text, whatever it begins with; it has room on `columns`."""
        cell = self._cell(column)
        quoted = False
        if isinstance(value, str):
            text = _clean(value)
            quoted = text.startswith(_FORMULA_STARTS)
            cell.value, cell.data_type = text, "s"
            if look.wrap:
                room = sum(self.widths[column - 1 : column - 1 + columns]) - _PADDING * (1 + look.indent)
                self._heighten(text, max(room, 1))
        elif value is not None:
            number = _number(value)
            cell.value = number
            self._widen(column, number, number_format)
        cell._style = self.book.style(cell, look, number_format, quoted)  # type: ignore[attr-defined]
        return cell

    def calculate(self, column: int, formula: str, result: Result, look: _Look, number_format: str = _GENERAL) -> str:
        """Write a formula with what it comes to into the current row. The address of the cell."""
        cell = self._cell(column)
        cell.value = f"={formula}"
        cell._style = self.book.style(cell, look, number_format, False)  # type: ignore[attr-defined]
        self.results[cell.coordinate] = result
        if not isinstance(result, str):
            self._widen(column, result, number_format)
        return cell.coordinate

    def across(self, column: int, text: str, look: _Look) -> None:
        """Write text over the rest of the row, and make the row as high as the text needs."""
        columns = len(self.widths) - column + 1
        self.put(column, text, look, columns=columns)
        for other in range(column + 1, column + columns):
            self.put(other, None, look)
        if columns > 1:
            first, last = get_column_letter(column), get_column_letter(len(self.widths))
            self.page.merged_cells.add(f"{first}{self.row}:{last}{self.row}")
        self.row += 1

    def header(self, columns: Iterable[tuple[str, bool]]) -> None:
        """Write the header of a table: the title of each column, and whether it holds numbers."""
        for position, (title, numeric) in enumerate(columns, 1):
            self.put(position, title, _NUMBER_HEADER if numeric else _HEADER)
        rows = self.page.row_dimensions
        rows[self.row].height = max(rows[self.row].height or 0, _HEADER_HEIGHT)
        self.row += 1

    def freeze(self, header: int) -> None:
        """Keep everything down to the header row in sight, and repeat the header on every printed page."""
        self.page.freeze_panes = f"A{header + 1}"
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
            (page.oddHeader.left, _plain(document.title, _MAX_HEADER)),
            (page.oddHeader.right, _plain(self.title, _MAX_HEADER)),
            (page.oddFooter.left, _plain(document.footer, _MAX_FOOTER)),
            (page.oddFooter.right, self.book.language.word("xlsx-page", page="&P", pages="&N")),
        ):
            part.text, part.size, part.color = text, 8, _GREY
            part.font = f"{_FONT},Regular"

    def _cell(self, column: int) -> SheetCell:
        return cast(SheetCell, self.page.cell(self.row, column))

    def _heighten(self, text: str, room: float) -> None:
        """Make the row high enough for wrapped text; programs disagree about it when they print."""
        if lines := _more_lines(text, room):
            rows = self.page.row_dimensions
            height = min((lines + 1) * _LINE_HEIGHT + _GAP, _MAX_HEIGHT)
            rows[self.row].height = max(rows[self.row].height or 0, height)

    def _widen(self, column: int, number: int | float | Decimal, number_format: str) -> None:
        needed = _shown(number, number_format)
        if column <= len(self.widths) and needed > self.widths[column - 1]:
            self.widths[column - 1] = needed


def workbook(document: Document, language: Language) -> bytes:
    """The document as the bytes of an .xlsx file; equal documents give equal bytes."""
    book = _Book(document, language)
    sections = {section.id: section for section in document.sections}
    first = sections.get("summary", Section("summary", language.word("xlsx-summary")))
    derivations = [derivation for section in document.sections for derivation in section.derivations]
    summary = book.sheet(first.title)
    pages = [(section, book.sheet(section.title)) for section in document.sections if _has_sheet(section)]
    if derivations:
        last = sections.get("derivations", Section("derivations", language.word("xlsx-derivations")))
        _derivations(book.sheet(last.title), derivations, last.text)
    bill = None
    for section, sheet in pages:
        if section.id == "bill":
            bill = _bill(sheet, section)
        else:
            _section(sheet, section)
    homeless = [section for section in document.sections if not _has_sheet(section)]
    _summary(summary, first, [note for section in homeless for note in section.notes], bill)
    for sheet in book.sheets:
        sheet.finish()
    return package(book.workbook, book.results)


def _has_sheet(section: Section) -> bool:
    return bool(section.tables) and section.id != "summary"


def _summary(sheet: _Sheet, section: Section, notes: Sequence[Note], bill: _Bill | None) -> None:
    """The cover: facts, headline numbers, totals and notes."""
    document, word = sheet.book.document, sheet.book.language.word
    sheet.widths = list(_SUMMARY_WIDTHS)
    _title(sheet, document.title, document.subtitle)
    sheet.row += 1
    for text in section.text:
        sheet.across(1, text, _PARAGRAPH)
    sheet.row += bool(section.text)
    for label, text in document.facts:
        sheet.put(1, label, _LABEL)
        sheet.across(2, text, _TEXT)
    sheet.row += bool(document.facts)
    if document.headline:
        sheet.header([(word("xlsx-key-figure"), False), (word("xlsx-value"), True), (word("xlsx-unit"), False)])
        for label, cell in document.headline:
            sheet.put(1, label, _LABEL)
            _headline(sheet, cell, bill)
        sheet.row += 1
    if bill:
        _summary_totals(sheet, bill)
    for table in section.tables:
        sheet.widths += [column.width for column in table.columns[len(sheet.widths) :]]
        _table(sheet, table)
    _notes(sheet, notes)


def _headline(sheet: _Sheet, cell: Cell, bill: _Bill | None) -> None:
    """Write a headline number; a total of the bill follows the bill."""
    number_format = sheet.book.number_format(cell.value, cell.unit, named=False)
    total = bill and next((key for key in _LIVE if bill.money[key] == cell.value), None)
    if bill and total and isinstance(cell.value, Decimal):
        sheet.calculate(2, _LIVE[total], cell.value, _NUMBER, number_format)
    else:
        _link(sheet, sheet.put(2, _spoken(sheet.book, cell.value), _NUMBER, number_format), cell)
    unit = "" if isinstance(cell.value, str) or cell.value is None else sheet.book.language.unit(cell.unit)
    sheet.put(3, unit, _TEXT)
    sheet.row += 1


_LIVE = {
    "amount": "bom_amount",
    "net": "bom_list-bom_discount",
    "list": "bom_list",
}
"""The totals that a headline may show, as formulas."""


def _summary_totals(sheet: _Sheet, bill: _Bill) -> None:
    """The totals and what each category comes to, by formulas that refer to the bill."""
    currency, word = sheet.book.document.totals.currency, sheet.book.language.word
    money = sheet.book.currency_format(currency)
    formulas = {"list": "bom_list", "discount": "bom_discount", **_LIVE, "tax": "bom_tax", "amount": "bom_amount"}
    sheet.header([(word("xlsx-totals"), False), (word("xlsx-amount-column"), True)])
    for key in ("list", "discount", "net", "tax", "amount"):
        address, label = bill.labels[key]
        grand = key == "amount"
        sheet.calculate(1, address, label, _GRAND_TEXT if grand else _LABEL)
        sheet.calculate(2, formulas[key], bill.money[key], _GRAND if grand else _NUMBER, money)
        sheet.row += 1
    sheet.row += 1
    net = bill.money["net"]
    sheet.header([(word("xlsx-category"), False), (word("xlsx-net"), True), (word("xlsx-share"), True)])
    for category, amount in bill.by_category.items():
        row = sheet.row
        sheet.put(1, category, _LABEL)
        sheet.calculate(2, f"SUMPRODUCT(--EXACT({bill.categories},A{row}),{bill.amounts})", amount, _NUMBER, money)
        share = f"IF({_LIVE['net']}=0,0,B{row}/({_LIVE['net']}))"
        sheet.calculate(3, share, float(amount / net) if net else 0, _NUMBER, _SHARE_FORMAT)
        sheet.row += 1
    sheet.row += 1


def _bill(sheet: _Sheet, section: Section) -> _Bill:
    """The bill: a line for each part with its amount as a formula, and the totals below."""
    book, totals = sheet.book, sheet.book.document.totals
    table = _categorised(next(table for table in section.tables if table.id == "bill"), book.language)
    word, decimals = book.language.word, _decimals(totals.currency)
    money = book.currency_format(totals.currency, named=False)
    column = {column.key: position for position, column in enumerate(table.columns, 1)}
    hint = f"{word('xlsx-currency', currency=totals.currency)} {word('xlsx-inputs')}"
    sheet.widths = [min(column.width, _MAX_BILL_WIDTH) for column in table.columns]
    _title(sheet, section.title, " ".join(filter(None, (table.caption, hint))))
    header = sheet.row
    sheet.header((column.title, column.kind != "text") for column in table.columns)
    sheet.freeze(header)
    first, end = sheet.row, sheet.row + len(table.rows)
    letter = {key: get_column_letter(position) for key, position in column.items()}
    whole = {key: f"{name}{first}:{name}{end}" for key, name in letter.items()}
    lists: list[Decimal] = []
    amounts: list[Decimal] = []
    by_category: dict[str, Decimal] = {}
    unpriced = 0
    for row in table.rows:
        line = {item.key: cell for item, cell in zip(table.columns, row.cells, strict=True)}
        for item, cell in zip(table.columns, row.cells, strict=True):
            if item.key == "amount":
                continue
            if item.key in _INPUTS:
                number_format = money if item.kind == "money" else _SHARE_FORMAT if item.kind == "share" else _WHOLE
                if isinstance(cell.value, Decimal) and _precise(cell.value) > decimals:
                    number_format = _WHOLE + "." + "0" * _precise(cell.value)
                _link(sheet, sheet.put(column[item.key], cell.value, _INPUT, number_format), cell)
            else:
                _value(sheet, column[item.key], item, cell, missing=None)
        price = line["unit_price"].value
        at = {key: f"{name}{sheet.row}" for key, name in letter.items()}
        result: Result = word("xlsx-no-price")
        unpriced += price is None and line["quantity"].value is not None
        category = _clean(str(_spoken(book, line["category"].value) or ""))
        by_category.setdefault(category, Decimal(0))
        if price is not None:
            full = _exact(line["quantity"], line["spare"]) * Fraction(str(price))
            result = _rounded(full * (1 - _exact(line["discount"])), decimals)
            lists.append(_rounded(full, decimals))
            amounts.append(result)
            by_category[category] += result
        formula = (
            f'IF({at["unit_price"]}="",{_literal(word("xlsx-no-price"))},'
            f"ROUND(({at['quantity']}+{at['spare']})*{at['unit_price']}*(1-{at['discount']}),{decimals}))"
        )
        sheet.calculate(column["amount"], formula, result, _NUMBER, money)
        sheet.row += 1
    _live_lines(sheet, whole, letter, header, len(table.columns), bool(table.rows))
    sheet.row += 1
    full_price, net = sum(lists, Decimal(0)), sum(amounts, Decimal(0))
    labels, results = _totals(sheet, column["amount"], whole, full_price, net, unpriced)
    sheet.row += 1
    for other in section.tables:
        if other.id != "bill":
            _table(sheet, other)
    _remarks(sheet, section.text, section.notes)
    named = f"{sheet.quoted}!{{}}"
    return _Bill(
        amounts=named.format(_absolute(whole["amount"])),
        categories=named.format(_absolute(whole["category"])),
        labels={key: (named.format(address), text) for key, (address, text) in labels.items()},
        money=results,
        by_category=by_category,
    )


def _categorised(table: Table, language: Language) -> Table:
    """The bill with a column for the category. Headings between the lines would break its filter and its formulas."""
    if any(column.key == "category" for column in table.columns):
        return table
    columns = (Column("category", language.word("xlsx-category")), *table.columns)
    return replace(table, columns=columns, rows=tuple(Row((Cell(row.group or ""), *row.cells)) for row in table.rows))


_INPUTS = ("quantity", "spare", "unit_price", "discount")
"""The columns of the bill that the reader may change."""


def _live_lines(
    sheet: _Sheet, whole: Mapping[str, str], letter: Mapping[str, str], header: int, width: int, filled: bool
) -> None:
    """Let the lines of the bill be filtered, refuse what is no number, and mark lines without a price."""
    page, last = sheet.page, sheet.row - 1
    page.auto_filter.ref = f"A{header}:{get_column_letter(width)}{max(last, header)}"
    for keys, rule in (
        (("quantity", "spare"), DataValidation("whole", operator="greaterThanOrEqual", formula1="0")),
        (("unit_price",), DataValidation("decimal", operator="greaterThanOrEqual", formula1="0")),
        (("discount",), DataValidation("decimal", operator="between", formula1="0", formula2="1")),
    ):
        for key in keys:
            rule.add(whole[key])
        page.add_data_validation(rule)
    if filled:
        row = header + 1
        missing = f'AND(${letter["quantity"]}{row}<>"",${letter["unit_price"]}{row}="")'
        mark = Rule("expression", dxf=DifferentialStyle(fill=PatternFill(bgColor=_AMBER)), formula=[missing])
        areas = [f"{letter[key]}{row}:{letter[key]}{last}" for key in ("unit_price", "amount")]
        page.conditional_formatting.add(" ".join(areas), mark)


def _totals(
    sheet: _Sheet, column: int, whole: Mapping[str, str], full: Decimal, net: Decimal, unpriced: int
) -> tuple[dict[str, tuple[str, str]], dict[str, Decimal]]:
    """Write the totals of the bill. The address and text of each label, and what each total comes to."""
    book, totals = sheet.book, sheet.book.document.totals
    decimals = _decimals(totals.currency)
    money = book.currency_format(totals.currency)
    beside = column - 1 if column > 1 else column + 1
    name, start = get_column_letter(column), sheet.row
    at = {key: f"{name}{start + offset}" for offset, key in enumerate(_TOTALS)}
    tax = _rounded(totals.tax_share * Fraction(net), decimals) if totals.tax_share else Decimal(0)
    results = {"list": full, "discount": full - net, "net": net, "tax": tax, "amount": net + tax}
    quantities, prices = whole["quantity"], whole["unit_price"]
    formulas = {
        "unpriced": f'SUMPRODUCT(({quantities}<>"")*({prices}=""))',
        "list": f"SUMPRODUCT(ROUND(({quantities}+{whole['spare']})*{prices},{decimals}))",
        "discount": f"ROUND({at['list']}-SUM({whole['amount']}),{decimals})",
        "net": f"ROUND({at['list']}-{at['discount']},{decimals})",
        "tax": f"ROUND({at['rate']}*{at['net']},{decimals})",
        "amount": f"ROUND({at['net']}+{at['tax']},{decimals})",
    }
    labels: dict[str, tuple[str, str]] = {}
    for key in _TOTALS:
        grand = key == "amount"
        label, text = _total_label(book.language, totals, key, at, unpriced)
        look = _GRAND_LABEL if grand else _TOTAL_LABEL
        if label:
            labels[key] = (sheet.calculate(beside, label, text, look), text)
        else:
            labels[key] = (sheet.put(beside, text, look).coordinate, text)
        if key == "rate":
            sheet.put(column, totals.tax_share, _INPUT, _SHARE_FORMAT)
        elif key == "unpriced":
            sheet.calculate(column, formulas[key], unpriced, _NUMBER, _WHOLE)
        else:
            sheet.calculate(column, formulas[key], results[key], _GRAND if grand else _NUMBER, money)
        if f"bom_{key}" in _NAMES:
            address = f"{sheet.quoted}!{_absolute(at[key])}"
            book.workbook.defined_names[f"bom_{key}"] = DefinedName(f"bom_{key}", attr_text=address)
        sheet.row += 1
    return labels, results


_TOTALS = ("unpriced", "list", "discount", "net", "rate", "tax", "amount")
_NAMES = ("bom_list", "bom_discount", "bom_tax", "bom_amount")


def _total_label(
    language: Language, totals: Totals, key: str, at: Mapping[str, str], unpriced: int
) -> tuple[str | None, str]:
    """The label of a total: a formula where it depends on the bill, and its text."""
    plain = language.word(f"xlsx-{key}")
    if key in ("unpriced", "discount", "rate"):
        return None, plain
    limit = language.word("xlsx-at-least", label=plain)
    if not totals.complete and not unpriced:
        return None, limit
    formula = f"IF({at['unpriced']}>0,{_literal(limit)},{_literal(plain)})"
    text = limit if unpriced else plain
    if key == "tax":
        missing = language.word("xlsx-no-tax")
        formula = f'IF({at["rate"]}="",{_literal(missing)},{formula})'
        text = missing if totals.tax_share is None else text
    return formula, text


def _section(sheet: _Sheet, section: Section) -> None:
    """A sheet of tables. Tables of the same columns stand under one header that stays in sight."""
    tables = section.tables
    sheet.widths = [
        max(table.columns[position].width for table in tables if position < len(table.columns))
        for position in range(max(len(table.columns) for table in tables))
    ]
    lead = section.text if len(section.text) == 1 else ()
    _title(sheet, section.title, *lead, tables[0].caption if len(tables) == 1 else None)
    if len({tuple(column.title for column in table.columns) for table in tables}) == 1:
        sheet.header((column.title, column.kind != "text") for column in tables[0].columns)
        sheet.freeze(sheet.row - 1)
        for table in tables:
            if len(tables) > 1:
                _band(sheet, table.title, len(table.columns), _TABLE_BAND)
                if table.caption:
                    sheet.across(1, table.caption, _CAPTION)
            _rows(sheet, table)
        sheet.row += 1
    else:
        for table in tables:
            _table(sheet, table)
    _remarks(sheet, section.text[len(lead) :], section.notes)


def _table(sheet: _Sheet, table: Table) -> None:
    """A table with its own title and header."""
    sheet.put(1, table.title, _HEADING)
    sheet.row += 1
    if table.caption:
        sheet.across(1, table.caption, _CAPTION)
    sheet.header((column.title, column.kind != "text") for column in table.columns)
    _rows(sheet, table)
    sheet.row += 1


def _rows(sheet: _Sheet, table: Table) -> None:
    """The rows of a table under the headings of their groups."""
    named = all(column.key != "unit" for column in table.columns)
    group = None
    for row in table.rows:
        if row.group is not None and row.group != group:
            _band(sheet, row.group, len(table.columns))
        group = row.group
        for position, (column, cell) in enumerate(zip(table.columns, row.cells, strict=True), 1):
            _value(sheet, position, column, cell, named=named)
        sheet.row += 1


def _value(
    sheet: _Sheet, position: int, column: Column, cell: Cell, named: bool = True, missing: str | None = _UNKNOWN
) -> None:
    """One cell of a table, linked to its derivation."""
    value = missing if cell.value is None else _spoken(sheet.book, cell.value)
    number_format = sheet.book.number_format(cell.value, cell.unit, named)
    if column.kind != "text":
        look = _WORD_OF_NUMBERS if isinstance(value, str) else _NUMBER
    else:
        look = _EXPLANATION if column.key in _NOTE_COLUMNS else _TEXT
    _link(sheet, sheet.put(position, value, look, number_format), cell)


def _derivations(sheet: _Sheet, derivations: Sequence[Derivation], texts: Sequence[str]) -> None:
    """How each number was worked out; the place of each is kept for links from the other sheets."""
    book, word = sheet.book, sheet.book.language.word
    sheet.widths = list(_DERIVATION_WIDTHS)
    _title(sheet, sheet.title, *texts)
    titles = [(word("xlsx-path"), False), (word("xlsx-name"), False), (word("xlsx-value"), True)]
    sheet.header([*titles, (word("xlsx-unit"), False), (word("xlsx-origin"), False)])
    sheet.freeze(sheet.row - 1)
    for derivation in derivations:
        book.places[derivation.path] = f"{sheet.quoted}!A{sheet.row}"
        sheet.put(1, derivation.path, _PATH)
        sheet.put(2, derivation.title, _GROUP)
        for position in (3, 4, 5):
            sheet.put(position, None, _GROUP)
        sheet.row += 1
        for step in derivation.steps:
            sheet.put(1, None, _TEXT)
            sheet.put(2, step.name, _TEXT._replace(indent=min(step.depth, _MAX_INDENT)))
            number_format = book.number_format(step.value, step.unit, named=False)
            value = _UNKNOWN if step.value is None else _spoken(book, step.value)
            sheet.put(3, value, _WORD_OF_NUMBERS if isinstance(value, str) else _NUMBER, number_format)
            sheet.put(4, book.language.unit(step.unit), _TEXT)
            sheet.put(5, step.origin, _EXPLANATION)
            sheet.row += 1


def _title(sheet: _Sheet, title: str, *captions: str | None) -> None:
    """The title of a sheet and what is said below it."""
    sheet.put(1, title, _TITLE)
    sheet.page.row_dimensions[sheet.row].height = _TITLE_HEIGHT
    sheet.row += 1
    for caption in filter(None, captions):
        sheet.across(1, caption, _CAPTION)
    if not any(captions):
        sheet.row += 1


def _band(sheet: _Sheet, text: str, width: int, look: _Look = _GROUP) -> None:
    sheet.put(1, text, look)
    for position in range(2, width + 1):
        sheet.put(position, None, look)
    sheet.row += 1


def _remarks(sheet: _Sheet, texts: Sequence[str], notes: Sequence[Note]) -> None:
    """Sentences and notes below the tables."""
    for text in texts:
        sheet.across(1, text, _PARAGRAPH)
    sheet.row += bool(texts)
    _notes(sheet, notes)


def _notes(sheet: _Sheet, notes: Sequence[Note]) -> None:
    word = sheet.book.language.word
    for note in notes:
        place = word("xlsx-note-at", text=note.text, place=note.place) if note.place else note.text
        sheet.put(1, word(f"xlsx-{note.level}"), _WARNING if note.level == "warning" else _LABEL)
        sheet.across(2, place, _TEXT)


def _link(sheet: _Sheet, cell: SheetCell, source: Cell) -> None:
    """Link a number to the derivation that explains it."""
    place = sheet.book.places.get(source.why) if source.why else None
    if place and not isinstance(source.value, str):
        cell.hyperlink = Hyperlink(ref=cell.coordinate, location=place)


def _spoken(book: _Book, value: Value) -> Value:
    """Words of the data in the language of the report."""
    return book.language.value(value) if isinstance(value, str) else value


def _number(value: int | float | Fraction | Decimal) -> int | float:
    """A number as a sheet can hold it."""
    if isinstance(value, Fraction) and value.denominator == 1:
        value = value.numerator
    return value if isinstance(value, int) and abs(value) <= _MAX_WHOLE else float(value)


def _digits(value: int | float | Fraction) -> str:
    """The number format of a plain number: whole ones in full, very large and small ones as a power of ten."""
    size = abs(float(value))
    if size >= (_LARGE_COUNT if isinstance(value, int) else _LARGE) or 0 < size < _SMALL:
        return _POWER_OF_TEN
    if size == 0 or value == int(value):
        return _WHOLE
    places = max(_SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(size)), 0)
    places = len(f"{float(value):.{places}f}".partition(".")[2].rstrip("0"))
    return _WHOLE + ("." + "0" * places if places else "")


def _suffix(unit: str) -> str:
    """The part of a number format that puts a unit behind the number."""
    name = _clean(unit).replace('"', "")[:_MAX_NAME]
    return f'" {name}"' if name else ""


def _shown(number: int | float | Decimal, number_format: str) -> int:
    """About how many characters wide a number is in a format."""
    digits, _, suffix = number_format.partition('"')
    if digits == _POWER_OF_TEN:
        return len(digits) + _breadth(suffix) + _PADDING
    scale = 100 if digits.endswith("%") else 1
    return len(f"{float(number) * scale:,.{digits.partition('.')[2].count('0')}f}") + _breadth(suffix) + _PADDING + 1


def _exact(*cells: Cell) -> Fraction:
    """The sum of numbers, without any rounding; what is not there counts nothing."""
    return sum((Fraction(cell.value) for cell in cells if cell.value is not None), Fraction(0))


def _rounded(amount: Fraction, decimals: int) -> Decimal:
    """An amount rounded half up."""
    return Decimal(math.floor(amount * 10**decimals + Fraction(1, 2))).scaleb(-decimals)


def _decimals(currency: str) -> int:
    """How many decimal places the amounts of a currency have."""
    return _precise(minor_unit(currency))


def _precise(amount: Decimal) -> int:
    """How many decimal places an amount needs."""
    return max(-int(amount.normalize().as_tuple().exponent), 0)


def _literal(text: str) -> str:
    """A text inside a formula."""
    return '"' + _clean(text).replace('"', '""') + '"'


def _absolute(area: str) -> str:
    """An address that stays when a formula is copied."""
    return re.sub(r"([A-Z]+)([0-9]+)", r"$\1$\2", area)


def _clean(text: str) -> str:
    """Text as a sheet can hold it."""
    return _cut(_ILLEGAL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")), _MAX_TEXT)


def _cut(text: str, most: int) -> str:
    """Text of at most that many UTF-16 units, as Excel counts, with an ellipsis where something is missing."""
    units = text.encode("utf-16-le", "ignore")
    return text if len(units) <= 2 * most else units[: 2 * (most - 1)].decode("utf-16-le", "ignore") + "…"


def _plain(text: str, most: int) -> str:
    """Text for a header or footer, where an ampersand begins a command."""
    words = " ".join(_clean(text).split())
    return _cut(words, max(most - words.count("&"), 1)).replace("&", "&&")


def _more_lines(text: str, room: float) -> int:
    """How many lines more than one a text takes when it is wrapped into a room of so many digits."""
    if 2 * len(text) <= room and "\n" not in text:
        return 0
    lines = -1
    for paragraph in text.split("\n"):
        lines, used = lines + 1, 0.0
        for word in re.findall(r"[^\u2e80-\uffff\s]*.", paragraph):
            width = _LETTER * (_breadth(word) - len(_NARROW.findall(word)) / 2 + len(_BROAD.findall(word)) / 4)
            if used and used + width > room:
                lines, used = lines + 1, 0.0
            used += width
            lines, used = lines + int(used // room), used % room
    return lines


def _breadth(text: str) -> int:
    """How many columns of type a text takes; Chinese characters take two."""
    return (
        len(text) if text.isascii() else len(text) + sum(east_asian_width(letter) in _WIDE_LETTERS for letter in text)
    )

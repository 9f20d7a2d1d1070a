"""The sheets of the live bill: quantities and prices that the reader may change, and sums that follow them.

What formulas are there and what they come to is content (documents/sheets.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Literal

from openpyxl.formatting.rule import Rule
from openpyxl.styles import PatternFill
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.utils import get_column_letter
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation

from bomgen.core.document import Cell, Column, Row, Section, Table
from bomgen.documents.sheets import (
    COLUMN_NAMES,
    HARDWARE,
    MAY_BE_UNKNOWN,
    SUBTOTAL,
    UNPRICED,
    BillLine,
    LiveSum,
    bill_lines,
    hardware_shares,
    line_hardware,
    live_sums,
    pick_columns,
    share_price,
    subtotals,
)
from bomgen.documents.tables import TOTAL, columns_of, line_amount, literal
from bomgen.output.xlsx import cells
from bomgen.output.xlsx.sheet import Sheet, absolute
from bomgen.reading.quote_workbook import NUMBERS

_WIDTHS = {"category": 13, "number": 5, "fabric": 14, "role": 16, "sku": 22, "piece": 7}
"""Columns that are narrower than on a page of HTML: the bill is printed at 8 points on A4 landscape."""
_MAX_WIDTH = 33
"""Of the description, for the same reason."""
_INPUT_FORMATS = {"number": cells.WHOLE, "share": cells.SHARE_FORMAT}
_EXPLAIN = "explain"
_BEHIND = {"vendor": 1, "place": 2, "details": 3, _EXPLAIN: 4}
"""Columns behind all others, in this order; they are not printed, so that a part takes a line or two of the paper."""
_EXPLANATION = cells.EXPLANATION._replace(wrap=False)
"""It runs on to the right, so that lines stay low."""
_EMPTY_LINES = 3
"""Lines that are ready for what the reader adds; more can be had by copying one."""
_AMBER = DifferentialStyle(fill=PatternFill(bgColor=cells.AMBER))


def bill(sheet: Sheet, section: Section) -> tuple[list[BillLine], list[LiveSum]]:
    """Write a line for each part of the section's one table, and the sums below; return the lines and the sums."""
    book, [given] = sheet.book, section.tables
    order = sorted(range(len(given.columns)), key=lambda at: _BEHIND.get(given.columns[at].key, 0))
    table = pick_columns(given, order)
    lines = bill_lines(table, book.language)
    shares = list(hardware_shares(table, lines, book.language)) if any(line.share for line in lines) else []
    columns = _columns(sheet, table, bool(shares))
    if book.document.id:
        # An edited workbook is read back by the ids of its lines, and by that of the quote above them.
        sheet.put(len(columns), book.document.id, _EXPLANATION)
    _lay_out(sheet, columns)
    sheet.heading(section.title, book.language.word("list-sentences").join(_hints(sheet, table, bool(shares))))
    sheet.header(columns)
    sheet.freeze()
    rows, letters = range(sheet.row, sheet.row + len(table.rows) + _EMPTY_LINES), sheet.letters
    sheet.area("bill", rows)
    for key in filter(letters.__contains__, COLUMN_NAMES):
        # The row behind the last line belongs to the areas, so that they grow when a row is inserted there.
        define(sheet, COLUMN_NAMES[key], f"{letters[key]}{rows.start}:{letters[key]}{rows.stop}")
    numbers = iter(range(1, len(lines) + 1))
    for row, line in zip(table.rows, lines, strict=True):
        _line(sheet, columns, row, line, next(numbers) if line.share is not None else None)
    for _ in range(_EMPTY_LINES):
        _empty_line(sheet, columns)
    _live_lines(sheet, columns, rows)
    sheet.row += 1
    below, column = sheet.row, 1 + [column.key for column in columns].index("amount")
    of_categories = list(subtotals(lines, book.language))
    write_sums(sheet, column, of_categories)
    if lines:
        _, categories = sheet.book.areas["bill.category"]
        label = get_column_letter(column - 1)
        choices = absolute(f"{label}{below + 1}:{label}{sheet.row - 1}")
        accept_choice(sheet, categories, columns[0].title, choices)
    sheet.row += 1
    if shares:
        write_sums(sheet, column, shares)
        sheet.row += 1
    sums = list(live_sums(book.document, book.language, len(lines)))
    write_sums(sheet, column, sums)
    sheet.together[below] = sheet.row - 1
    sheet.row += 1
    return lines, sums


def _columns(sheet: Sheet, table: Table, shares: bool) -> tuple[Column, ...]:
    """Return the columns of the bill: its category before them, what each line adds to the hardware, and its id."""
    category, hardware = columns_of("live-bill", sheet.book.language)
    columns = [category, *table.columns]
    if shares:
        columns.insert(1 + [column.key for column in columns].index("amount"), hardware)
    return (*columns, Column("id", "id")) if sheet.book.document.id else tuple(columns)


def _lay_out(sheet: Sheet, columns: Sequence[Column]) -> None:
    sheet.widths = [_WIDTHS.get(column.key, min(column.width, _MAX_WIDTH)) for column in columns]
    sheet.folded = {position for position, column in enumerate(columns, 1) if column.key in (HARDWARE, "id")}
    sheet.printed = sum(column.key not in (*_BEHIND, HARDWARE, "id") for column in columns)


def _hints(sheet: Sheet, table: Table, shares: bool) -> Iterable[str]:
    document, word = sheet.book.document, sheet.book.language.word
    if table.caption:
        yield table.caption
    yield word("xlsx-currency", currency=sheet.book.language.unit_of(document.totals.currency))
    elsewhere = any(table.id == "required" for section in document.sections for table in section.tables)
    said = {"inputs": True, "additions": True, "shares": shares, "required-elsewhere": elsewhere}
    yield from (word(f"xlsx-{key}") for key, holds in (*said.items(), ("protected", document.protected)) if holds)


def _line(sheet: Sheet, columns: Sequence[Column], row: Row, line: BillLine, number: int | None) -> None:
    """Write a line of the bill; `number` is that of its share of the hardware, where it has one."""
    book = sheet.book
    keys = [column.key for column in columns if column.key not in (HARDWARE, "id")]
    held = dict(zip(keys, (Cell(row.group or ""), *row.cells), strict=True)) | {"id": Cell(row.id)}
    if number is None:
        added = line.amount if line.hardware else ""
        held[HARDWARE] = Cell(added, formula=line_hardware(book.language, row.in_stock))
    else:  # the cell of a charge that is a share of the hardware is empty
        held[HARDWARE] = Cell(None)
    for position, column in enumerate(columns, 1):
        cell = held[column.key]
        if column.key == HARDWARE:
            sheet.put(position, cell, cells.NUMBER, book.plain if cell.formula else cells.GENERAL)
        elif column.key == "unit_price" and number is not None:
            price = Cell(cell.value, formula=share_price(number, book.document.totals.currency))
            sheet.explain(sheet.put(position, price, cells.NUMBER, book.plain), cell)
        elif column.key in NUMBERS:
            finer = cells.places(cell.value) if isinstance(cell.value, Decimal) else 0
            form = _INPUT_FORMATS.get(column.kind) or cells.fixed(max(book.decimals, finer))
            sheet.explain(sheet.put(position, cell.value, cells.INPUT, form), cell)
        elif column.key in ("details", _EXPLAIN, "id"):
            sheet.put(position, cell.value, _EXPLANATION)
        else:
            sheet.value(position, column, cell, named=False)
    sheet.row += 1


def _empty_line(sheet: Sheet, columns: Sequence[Column]) -> None:
    language, currency = sheet.book.language, sheet.book.document.totals.currency
    formulas = {"amount": line_amount(currency, language), HARDWARE: line_hardware(language)}
    for position, column in enumerate(columns, 1):
        if column.key in formulas:
            sheet.put(position, Cell("", formula=formulas[column.key]), cells.NUMBER, sheet.book.plain)
        elif column.key in NUMBERS:
            sheet.put(position, None, cells.INPUT, _INPUT_FORMATS.get(column.kind) or sheet.book.plain)
        else:
            sheet.put(position, None, cells.TEXT if column.key == _EXPLAIN else cells.INPUT_TEXT)
    sheet.row += 1


def _live_lines(sheet: Sheet, columns: Sequence[Column], rows: range) -> None:
    """Let the lines of the bill be filtered, refuse what is no number, and mark lines without a price."""
    letters, titles = sheet.letters, {column.key: column.title for column in columns}
    areas = {key: sheet.book.areas[f"bill.{key}"][1] for key in letters}
    sheet.page.auto_filter.ref = f"A{rows.start - 1}:{get_column_letter(len(letters))}{rows.stop - 1}"
    for key in ("quantity", "spare"):
        accept_numbers(sheet, areas[key], titles[key], "whole", "pieces")
    accept_numbers(sheet, areas["unit_price"], titles["unit_price"], "decimal", "price")
    accept_shares(sheet, areas["discount"], titles["discount"], "discount")
    missing = f'AND(${letters["quantity"]}{rows.start}<>"",${letters["unit_price"]}{rows.start}="")'
    rule = Rule("expression", dxf=_AMBER, formula=[missing])
    sheet.page.conditional_formatting.add(f"{areas['unit_price']} {areas['amount']}", rule)


def write_sums(sheet: Sheet, column: int, sums: Iterable[LiveSum]) -> None:
    """Write sums in a column, behind their labels; those without a formula are shares that the reader may change."""
    sheet.letters = {"label": get_column_letter(column - 1), "amount": get_column_letter(column)}
    for total in sums:
        text_look, look, form = cells.TOTAL_LABEL, cells.NUMBER, sheet.book.money
        if total.key == TOTAL:
            text_look, look = cells.GRAND_LABEL, cells.GRAND
        if total.key == UNPRICED:
            form = cells.WHOLE
        elif total.key in MAY_BE_UNKNOWN:
            form = total_format(sheet)
        elif not total.cell.formula:
            look, form = cells.INPUT, cells.SHARE_FORMAT
        if total.mark:
            sheet.mark(column, total.mark, *total.steps)
        label, address = sheet.line((total.label, text_look), (total.cell, look, form), start=column - 1)
        if look == cells.INPUT:
            accept_shares(sheet, address, str(total.label.value), _SHARES_OF[total.mark])
        if total.name:
            sheet.book.areas |= {f"{total.name}.label": (sheet, label), f"{total.name}.amount": (sheet, address)}
            if total.key != SUBTOTAL:
                define(sheet, total.name, address)


def total_format(sheet: Sheet) -> str:
    """Return the number format of list price, net and total: while no line has a price, 0 is shown as no price."""
    form, totals = sheet.book.money, sheet.book.document.totals
    no_price = sheet.book.language.word("xlsx-no-price").replace('"', "")  # formats know no escaped quotes
    return form if totals.priced_lines or not totals.lines else f"{form};-{form};{literal(no_price)}"


def check_sum(sheet: Sheet, position: int) -> None:
    """Write the difference between the sum above and the net amount of the bill: 0 unless lines are missing."""
    sheet.mark(position, "xlsx-difference")
    formula = f"ROUND({get_column_letter(position)}{sheet.row - 1}-bom_net,{sheet.book.decimals})"
    difference = Cell(Decimal(0), formula=formula), cells.Look(right=True, wrap=False), sheet.book.plain
    label = sheet.book.language.word("xlsx-difference"), cells.TOTAL_LABEL
    _, place = sheet.line(label, difference, start=position - 1)
    sheet.page.conditional_formatting.add(place, Rule("expression", dxf=_AMBER, formula=[f"{place}<>0"]))


def define(sheet: Sheet, name: str, area: str) -> None:
    """Give an area of the sheet a name that formulas of all sheets know."""
    address = f"{sheet.quoted}!{absolute(area)}"
    sheet.book.workbook.defined_names[name] = DefinedName(name, attr_text=address)


# inputs -------------------------------------------------------------------------------------------------------------
# What the reader of a workbook may type.

_MAX_TITLE = 32
_MAX_TEXT = 225
"""What Excel takes as the title and the text of a prompt or refusal."""
_SHARES_OF: Mapping[str, str] = {"xlsx-rate": "tax", "xlsx-share-of-hardware": "hardware"}
"""The words for what the shares below a bill are taken of."""


def accept_numbers(sheet: Sheet, area: str, title: str, kind: Literal["whole", "decimal"], of: str) -> None:
    """Let an area take numbers of 0 or more; `of` is the word for what they count."""
    _add(sheet, area, DataValidation(kind, operator="greaterThanOrEqual", formula1="0"), title, of)


def accept_shares(sheet: Sheet, area: str, title: str, of: str) -> None:
    """Let an area take shares of 0 to 1; `of` is the word for what they are taken of."""
    _add(sheet, area, DataValidation("decimal", operator="between", formula1="0", formula2="1"), title, of)


def accept_choice(sheet: Sheet, area: str, title: str, choices: str) -> None:
    """Let an area take what stands in the cells of another, which are offered as a list."""
    _add(sheet, area, DataValidation("list", formula1=choices), title, "choice")


def _add(sheet: Sheet, area: str, rule: DataValidation, title: str, of: str) -> None:
    words, currency = sheet.book.language, sheet.book.document.totals.currency
    rule.allow_blank = rule.showInputMessage = rule.showErrorMessage = True
    rule.promptTitle = rule.errorTitle = cells.cut(title, _MAX_TITLE)
    texts = (words.word(f"xlsx-{kind}-{of}", currency=currency) for kind in ("prompt", "error"))
    rule.prompt, rule.error = (cells.cut(text, _MAX_TEXT) for text in texts)
    rule.add(area)
    sheet.page.add_data_validation(rule)

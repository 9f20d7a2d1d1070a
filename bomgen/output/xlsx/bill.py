"""The live bill: quantities and prices that the reader may change, and formulas that follow them to the totals.

What a formula comes to is not worked out here: it is the amount of the document, and stands beside the formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import zip_longest
from typing import Literal, NamedTuple

from openpyxl.formatting.rule import Rule
from openpyxl.styles import PatternFill
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.utils import get_column_letter
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation

from bomgen.core.document import Cell, Column, Row, Section, Table, group_by
from bomgen.core.language import Language
from bomgen.core.units import Totals
from bomgen.documents.tables import (
    COLUMN_NAMES,
    HARDWARE,
    HARDWARE_NAME,
    NET,
    RATE,
    SHARE_NAME,
    TOTAL,
    UNPRICED,
    LiveSum,
    line_amount,
    line_hardware,
    literal,
    live_sums,
    share_price,
)
from bomgen.output.xlsx import looks
from bomgen.output.xlsx.cells import Result, clean, cut, fixed, money_format, places
from bomgen.output.xlsx.sheet import Sheet
from bomgen.plan.commercial_terms import CHARGED
from bomgen.reading.quote_workbook import NUMBERS

_MAX_WIDTH = 40
"""Wider columns would make the print of the bill too small."""
_INPUT_FORMATS = {"number": looks.WHOLE, "share": looks.SHARE_FORMAT}
_EXPLAIN = "explain"
"""The column that is not printed: it would make the others small, and derivations have a sheet of their own."""
_EXPLANATION = looks.EXPLANATION._replace(wrap=False)
"""It runs on to the right, so that lines stay low."""
_EMPTY_LINES = 3
"""Lines that are ready for what the reader adds; more can be had by copying one."""


class BillRow(NamedTuple):
    """A line of the bill as the sheet shows it; the amount is None without a price."""

    category: str
    fabric: str
    role: str
    pieces: int
    amount: Decimal | None
    hardware: bool
    """Whether percentage charges apply to it."""


class Subtotal(NamedTuple):
    """What the lines of a category come to: the cell, what it shows, the amount, and how many lines have no price."""

    address: str
    result: Result
    amount: Decimal
    unpriced: int


class BillReferences(NamedTuple):
    """What other sheets refer to: the lines, the labels of the totals, and the subtotals."""

    sheet: Sheet
    areas: Mapping[str, str]
    """Columns of lines by their keys, with the empty lines."""
    lines: Sequence[BillRow]
    sums: Sequence[tuple[LiveSum, str]]
    """The sums below the lines, each with the address of its label."""
    subtotals: Mapping[str, Subtotal]
    """By category."""


def bill(sheet: Sheet, section: Section) -> BillReferences:
    """Write a line for each part of the section's one table, its amount as a formula, and the totals below."""
    book = sheet.book
    word, currency = book.language.word, book.language.unit_of(book.document.totals.currency)
    [table] = section.tables
    columns: tuple[Column, ...] = (Column("category", word("xlsx-category")), *table.columns)
    shares = price_shares(table)
    if shares:
        behind = 1 + [column.key for column in columns].index("amount")
        added = Column(HARDWARE, word("xlsx-hardware"), "money", _WIDTH)
        columns = (*columns[:behind], added, *columns[behind:])
    if book.document.id:
        columns = (*columns, Column("id", "id"))
        # An edited workbook is read back by the ids of its lines, and by that of the quote above them.
        sheet.put(len(columns), book.document.id, _EXPLANATION)
    sheet.widths = [min(column.width, _MAX_WIDTH) for column in columns]
    sheet.folded = {position for position, column in enumerate(columns, 1) if column.key in (HARDWARE, "id")}
    sheet.printed = len([column for column in columns if column.key not in (_EXPLAIN, "id")])
    while columns[sheet.printed - 1].key in (HARDWARE, "id"):
        sheet.printed -= 1
    hints = [word("xlsx-currency", currency=currency), word("xlsx-inputs"), word("xlsx-additions")]
    if shares:
        hints.append(word("xlsx-shares"))
    if any(table.id == "required" for section in book.document.sections for table in section.tables):
        hints.append(word("xlsx-required-elsewhere"))
    if book.document.protected:
        hints.append(word("xlsx-protected"))
    sheet.heading(section.title, word("list-sentences").join(filter(None, (table.caption, *hints))))
    sheet.header(columns)
    sheet.freeze()
    first, end = sheet.row, sheet.row + len(table.rows) + _EMPTY_LINES
    letter = sheet.letters
    for key in filter(letter.__contains__, COLUMN_NAMES):
        # The row behind the last line belongs to the areas, so that they grow when a row is inserted there.
        define(sheet, COLUMN_NAMES[key], f"{letter[key]}{first}:{letter[key]}{end}")
    numbers = {at: number for number, at in enumerate(shares, 1)}
    lines = [_line(sheet, columns, row, numbers.get(at)) for at, row in enumerate(table.rows)]
    for _ in range(_EMPTY_LINES):
        _empty_line(sheet, columns)
    areas = {key: f"{name}{first}:{name}{end - 1}" for key, name in letter.items()}
    _live_lines(sheet, columns, areas, letter, range(first, end))
    sheet.row += 1
    below = sheet.row
    column = 1 + [column.key for column in columns].index("amount")
    subtotals = _subtotals(sheet, column, lines)
    if subtotals:
        labels = f"{get_column_letter(column - 1)}{sheet.row - len(subtotals)}"
        labels += f":{get_column_letter(column - 1)}{sheet.row - 1}"
        accept_choice(sheet, areas["category"], columns[0].title, absolute(labels))
    sheet.row += 1
    if shares:
        write_shares(sheet, column, table, _sum(line for line in lines if line.hardware))
    sums = _write_totals(sheet, column, len(lines))
    sheet.together[below] = sheet.row - 1
    sheet.row += 1
    named = f"{sheet.quoted}!{{}}"
    return BillReferences(
        sheet=sheet,
        areas=areas,
        lines=lines,
        sums=[(total, named.format(address)) for total, address in sums],
        subtotals={key: each._replace(address=named.format(each.address)) for key, each in subtotals.items()},
    )


MAY_BE_UNKNOWN = ("list", NET, TOTAL)
"""Keys of the sums that are no price while no line has one."""


def total_format(totals: Totals, language: Language) -> str:
    """The number format of list price, net and total amount: while no line has a price, 0 is shown as no price."""
    form = money_format(totals.currency, language)
    no_price = language.word("xlsx-no-price").replace('"', "")  # formats know no escaped quotes
    return form if totals.priced_lines or not totals.lines else f"{form};-{form};{literal(no_price)}"


def _line(sheet: Sheet, columns: Sequence[Column], row: Row, number: int | None = None) -> BillRow:
    """Write a line of the bill and return it; `number` is that of its share of the hardware, where it has one."""
    keys = [column.key for column in columns if column.key not in (HARDWARE, "id")]
    cells = dict(zip(keys, (Cell(row.group or ""), *row.cells), strict=True)) | {"id": Cell(row.id)}
    amount = cells["amount"].value if isinstance(cells["amount"].value, Decimal) else None
    charges = {sheet.book.language.word(f"category-{category}") for category in CHARGED}
    hardware = number is None and amount is not None and row.group not in charges and not row.in_stock
    for position, column in enumerate(columns, 1):
        if column.key == HARDWARE:
            # The cell of a charge that is a share of the hardware is empty.
            if number is None:
                added = Cell(amount if hardware else "", formula=line_hardware(sheet.book.language, row.in_stock))
                sheet.put(position, added, looks.NUMBER, sheet.book.plain)
            else:
                sheet.put(position, None, looks.NUMBER)
            continue
        cell = cells[column.key]
        if column.key == "unit_price" and number is not None:
            price = Cell(cell.value, formula=share_price(number, sheet.book.document.totals.currency))
            sheet.explain(sheet.put(position, price, looks.NUMBER, sheet.book.plain), cell)
        elif column.key in NUMBERS:
            finer = places(cell.value) if isinstance(cell.value, Decimal) else 0
            form = _INPUT_FORMATS.get(column.kind) or fixed(max(sheet.book.decimals, finer))
            sheet.explain(sheet.put(position, cell.value, looks.INPUT, form), cell)
        elif column.key in (_EXPLAIN, "id"):
            sheet.put(position, cell.value, _EXPLANATION)
        else:
            sheet.value(position, column, cell, named=False)
    sheet.row += 1
    pieces = sum(int(value) for key in ("quantity", "spare") if isinstance(value := cells[key].value, int))
    text = {key: clean(str(cells[key].value or "")) if key in cells else "" for key in ("category", "fabric", "role")}
    return BillRow(**text, pieces=pieces, amount=amount, hardware=hardware)


def _empty_line(sheet: Sheet, columns: Sequence[Column]) -> None:
    """Write a line that the reader may fill in."""
    language, currency = sheet.book.language, sheet.book.document.totals.currency
    formulas = {"amount": line_amount(currency, language), HARDWARE: line_hardware(language)}
    for position, column in enumerate(columns, 1):
        if column.key in formulas:
            sheet.put(position, Cell("", formula=formulas[column.key]), looks.NUMBER, sheet.book.plain)
        elif column.key in NUMBERS:
            sheet.put(position, None, looks.INPUT, _INPUT_FORMATS.get(column.kind) or sheet.book.plain)
        else:
            sheet.put(position, None, looks.TEXT if column.key == _EXPLAIN else looks.INPUT_TEXT)
    sheet.row += 1


def _live_lines(
    sheet: Sheet, columns: Sequence[Column], areas: Mapping[str, str], letter: Mapping[str, str], rows: range
) -> None:
    """Let the lines of the bill be filtered, refuse what is no number, and mark lines without a price."""
    page, title = sheet.page, {column.key: column.title for column in columns}
    page.auto_filter.ref = f"A{rows.start - 1}:{get_column_letter(len(letter))}{rows.stop - 1}"
    for key in ("quantity", "spare"):
        accept_numbers(sheet, areas[key], title[key], "whole", "pieces")
    accept_numbers(sheet, areas["unit_price"], title["unit_price"], "decimal", "price")
    accept_shares(sheet, areas["discount"], title["discount"], "discount")
    missing = f'AND(${letter["quantity"]}{rows.start}<>"",${letter["unit_price"]}{rows.start}="")'
    mark = Rule("expression", dxf=DifferentialStyle(fill=PatternFill(bgColor=looks.AMBER)), formula=[missing])
    page.conditional_formatting.add(" ".join(areas[key] for key in ("unit_price", "amount")), mark)


def _subtotals(sheet: Sheet, column: int, lines: Sequence[BillRow]) -> dict[str, Subtotal]:
    """Write the sums of the visible lines and of each category, and return the latter.

    They stand below the lines, not between them, so that the lines can be sorted and filtered.
    """
    word, money = sheet.book.language.word, sheet.book.money
    sheet.mark(column, "xlsx-shown")
    visible = Cell(_sum(lines), formula=f"SUBTOTAL({_SUM_OF_SHOWN},bom_amounts)")
    sheet.line((word("xlsx-shown"), looks.TOTAL_LABEL), (visible, looks.NUMBER, money), start=column - 1)
    subtotals: dict[str, Subtotal] = {}
    for category in dict.fromkeys(line.category for line in lines):
        of_category = [line for line in lines if line.category == category]
        amount, unpriced = _sum(of_category), sum(line.amount is None for line in of_category)
        its = f"EXACT(bom_categories,{get_column_letter(column - 1)}{sheet.row})"
        formula = (
            f"IF(AND(SUMPRODUCT(--{its},bom_amounts)=0,SUMPRODUCT({its}*ISNUMBER(bom_amounts))<SUMPRODUCT(--{its})),"
            f"{literal(word('xlsx-no-price'))},SUMPRODUCT(--{its},bom_amounts))"
        )
        # What is in stock costs nothing, whether or not the rest has a price.
        result = word("xlsx-no-price") if unpriced and not amount else amount
        written = (category, looks.TOTAL_LABEL), (Cell(result, formula=formula), looks.NUMBER, money)
        _, address = sheet.line(*written, start=column - 1)
        subtotals[category] = Subtotal(address, result, amount, unpriced)
    return subtotals


_SUM_OF_SHOWN = 109
"""The function number of SUBTOTAL for the sum of rows that no filter hides and nobody hid by hand."""


def _write_totals(sheet: Sheet, column: int, listed: int) -> list[tuple[LiveSum, str]]:
    """Write the totals of the bill below its amounts; return each with the address of its label."""
    book, totals = sheet.book, sheet.book.document.totals
    written = list[tuple[LiveSum, str]]()
    for total in live_sums(book.document, book.language, listed):
        text_look, look, form = looks.TOTAL_LABEL, looks.NUMBER, book.money
        if total.key == TOTAL:
            text_look, look = looks.GRAND_LABEL, looks.GRAND
        if total.key == UNPRICED:
            form = looks.WHOLE
        elif total.key == RATE:
            look, form = looks.INPUT, looks.SHARE_FORMAT
            sheet.mark(column, "xlsx-rate", *(() if total.rate is None else (total.rate,)))
        elif total.key in MAY_BE_UNKNOWN:
            form = total_format(totals, book.language)
        label, address = sheet.line((total.label, text_look), (total.cell, look, form), start=column - 1)
        if total.key == RATE:
            accept_shares(sheet, address, str(total.label.value), "tax")
        define(sheet, total.name, address)
        written.append((total, label))
    return written


# inputs -------------------------------------------------------------------------------------------------------------
# What the reader of a workbook may type, and the names and prices that formulas follow from it.

_MAX_TITLE = 32
_MAX_TEXT = 225
"""What Excel takes as the title and the text of a prompt or refusal."""


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
    rule.promptTitle = rule.errorTitle = cut(title, _MAX_TITLE)
    texts = (words.word(f"xlsx-{kind}-{of}", currency=currency) for kind in ("prompt", "error"))
    rule.prompt, rule.error = (cut(text, _MAX_TEXT) for text in texts)
    rule.add(area)
    sheet.page.add_data_validation(rule)


# names --------------------------------------------------------------------------------------------------------------
# The names that formulas of all sheets know: columns and totals of the bill (documents/tables.py).

_ADDRESS = re.compile("([A-Z]+)([0-9]+)")


def define(sheet: Sheet, name: str, area: str) -> None:
    """Give an area of the sheet a name that formulas of all sheets know."""
    address = f"{sheet.quoted}!{absolute(area)}"
    sheet.book.workbook.defined_names[name] = DefinedName(name, attr_text=address)


def absolute(area: str) -> str:
    """An address that stays when a formula is copied."""
    return _ADDRESS.sub(r"$\1$\2", area)


# shares -------------------------------------------------------------------------------------------------------------
# Charges that are a share of the hardware, such as freight: their prices follow what the hardware comes to.
#
# What the hardware comes to must not be taken of the column of amounts, which the charges themselves stand in: a
# formula would depend on itself. It has a column of its own, which is empty at charges and folded away.

_WIDTH = 28


def price_shares(table: Table) -> dict[int, Fraction]:
    """The shares of the charges of a bill by the place of their row, in the order that they are numbered in."""
    price = [column.key for column in table.columns].index("unit_price")
    given = ((at, row.cells[price].share_of_hardware) for at, row in enumerate(table.rows))
    return {at: share for at, share in given if share is not None}


def write_shares(sheet: Sheet, column: int, table: Table, comes_to: Decimal) -> None:
    """Write what the hardware comes to, and below it the share of each charge, which the reader may change."""
    word, hardware = sheet.book.language.word, Cell(comes_to, formula=f"SUM({COLUMN_NAMES[HARDWARE]})")
    written = (word("xlsx-hardware"), looks.TOTAL_LABEL), (hardware, looks.NUMBER, sheet.book.money)
    _, address = sheet.line(*written, start=column - 1)
    define(sheet, HARDWARE_NAME, address)
    name = [column.key for column in table.columns].index("description")
    for number, (at, share) in enumerate(price_shares(table).items(), 1):
        text = word("xlsx-share-of-hardware", name=table.rows[at].cells[name].value)
        sheet.mark(column, "xlsx-share-of-hardware", table.rows[at].id or "", "share")
        row = (text, looks.TOTAL_LABEL), (share, looks.INPUT, looks.SHARE_FORMAT)
        _, address = sheet.line(*row, start=column - 1)
        accept_shares(sheet, address, text, "hardware")
        define(sheet, SHARE_NAME.format(number), address)
    sheet.row += 1


# groups -------------------------------------------------------------------------------------------------------------
# The bill by fabric and role: what the lines of the bill come to, by formulas, checked against its net amount.

_NET = 4
"""The column of amounts of the table by role."""
_NAME_WIDTH, _ROLE_WIDTH, _AMOUNT_WIDTH = 26, 24, 16
_WIDTHS_BY_ROLE = (_NAME_WIDTH, _ROLE_WIDTH, *(_AMOUNT_WIDTH,) * 3)
_BOLD_NUMBER = looks.NUMBER._replace(bold=True)


def groups(sheet: Sheet, live: BillReferences) -> None:
    """Write the table of fabrics by categories, and that of fabrics and roles."""
    word, currency = sheet.book.language.word, sheet.book.language.unit_of(sheet.book.document.totals.currency)
    by_category = (_NAME_WIDTH, *(_AMOUNT_WIDTH for _ in (*live.subtotals, "sum")))
    sheet.widths = [max(widths) for widths in zip_longest(by_category, _WIDTHS_BY_ROLE, fillvalue=0)]
    texts = word("xlsx-currency", currency=currency), word("xlsx-groups-text")
    sheet.heading(sheet.title, word("list-sentences").join(texts))
    sheet.row += 1
    # What belongs to no fabric comes last, so that the fabrics are one area, which is offered as a list.
    fabrics = sorted(dict.fromkeys(line.fabric for line in live.lines), key=lambda fabric: not fabric)
    if live.lines:
        _category_table(sheet, live, fabrics)
        _role_table(sheet, live, fabrics)


def _category_table(sheet: Sheet, live: BillReferences, fabrics: Sequence[str]) -> None:
    """A row for each fabric and one for what belongs to none, a column for each category."""
    word, form, start = sheet.book.language.word, f'{sheet.book.plain};-{sheet.book.plain};"–"', sheet.row
    categories = list(live.subtotals)
    sheet.subheading(word("xlsx-by-category"))
    titles = [Column(category, category, "money") for category in categories]
    sheet.header((Column("fabric", word("column-fabric")), *titles, Column("sum", word("xlsx-sum"), "money")))
    first, letters = sheet.row, [get_column_letter(1 + at) for at in range(len(categories) + 2)]
    for fabric in fabrics:
        label, chosen = _fabric(sheet, fabric)
        amounts = [
            Cell(
                _sum(line for line in live.lines if (line.fabric, line.category) == (fabric, category)),
                formula=f"SUMPRODUCT({chosen}*EXACT(bom_categories,{letter}${first - 1}),bom_amounts)",
            )
            for letter, category in zip(letters[1:], categories, strict=False)
        ]
        of_fabric = _sum(line for line in live.lines if line.fabric == fabric)
        total = Cell(of_fabric, formula=f"SUM(B{sheet.row}:{letters[-2]}{sheet.row})")
        numbers = ((amount, looks.NUMBER, form) for amount in amounts)
        sheet.line((label, looks.LABEL), *numbers, (total, _BOLD_NUMBER, form))
    sums = [subtotal.amount for subtotal in live.subtotals.values()]
    results = zip(letters[1:], (*sums, _sum(live.lines)), strict=True)
    totals = (Cell(result, formula=f"SUM({letter}{first}:{letter}{sheet.row - 1})") for letter, result in results)
    sheet.line((word("xlsx-sum"), looks.GRAND_TEXT), *((total, looks.GRAND, form) for total in totals))
    check_sum(sheet, len(letters))
    sheet.together[start] = sheet.row - 1
    sheet.row += 1
    if named := [row for row, fabric in enumerate(fabrics, first) if fabric]:
        choices = f"{sheet.quoted}!$A${named[0]}:$A${named[-1]}"
        accept_choice(live.sheet, live.areas["fabric"], word("column-fabric"), choices)


def _role_table(sheet: Sheet, live: BillReferences, fabrics: Sequence[str]) -> None:
    """A row for each role in a fabric: pieces bought, what they come to, and their share."""
    word, form = sheet.book.language.word, f'{sheet.book.plain};-{sheet.book.plain};"–"'
    net, first = sheet.book.document.totals.net, sheet.row + 2
    sheet.subheading(word("xlsx-by-role"))
    sheet.header(
        (
            Column("fabric", word("column-fabric")),
            Column("role", word("column-role")),
            Column("pieces", word("xlsx-pieces"), "number"),
            Column("net", word("xlsx-net"), "money"),
            Column("share", word("xlsx-share"), "share"),
        )
    )

    of_net = "IF(bom_net=0,0,D{}/bom_net)"
    lines_in_order = sorted(live.lines, key=lambda line: fabrics.index(line.fabric))
    for (fabric, role), lines in group_by(lines_in_order, lambda line: (line.fabric, line.role)).items():
        label, chosen = _fabric(sheet, fabric)
        chosen += f"*EXACT(bom_roles,B{sheet.row})"
        pieces = Cell(sum(line.pieces for line in lines), formula=f"SUMPRODUCT({chosen}*(bom_quantities+bom_spares))")
        amount = Cell(_sum(lines), formula=f"SUMPRODUCT({chosen},bom_amounts)")
        share = Cell(float(_sum(lines) / net) if net else 0, formula=of_net.format(sheet.row))
        numbers = (pieces, looks.NUMBER, looks.WHOLE), (amount, looks.NUMBER, form)
        sheet.line((label, looks.LABEL), (role, looks.TEXT), *numbers, (share, looks.NUMBER, looks.SHARE_FORMAT))
    last = sheet.row - 1
    sheet.together[sheet.row] = sheet.row + 1
    pieces = Cell(sum(line.pieces for line in live.lines), formula=f"SUM(C{first}:C{last})")
    amount = Cell(_sum(live.lines), formula=f"SUM(D{first}:D{last})")
    share = Cell(1 if net else 0, formula=of_net.format(sheet.row))
    numbers = (pieces, looks.GRAND, looks.WHOLE), (amount, looks.GRAND, form)
    label, empty = word("xlsx-sum"), (None, looks.GRAND_TEXT)
    sheet.line((label, looks.GRAND_TEXT), empty, *numbers, (share, looks.GRAND, looks.SHARE_FORMAT))
    check_sum(sheet, _NET)


def _fabric(sheet: Sheet, fabric: str) -> tuple[str, str]:
    """Return the label of a fabric, or of none, in the current row, and the formula that finds its lines."""
    if not fabric:
        return sheet.book.language.word("xlsx-no-fabric"), 'EXACT(bom_fabrics,"")'
    return fabric, f"EXACT(bom_fabrics,$A{sheet.row})"


def check_sum(sheet: Sheet, position: int) -> None:
    """Write the difference between the sum above and the net amount of the bill: 0 unless lines are missing."""
    sheet.mark(position, "xlsx-difference")
    formula = f"ROUND({get_column_letter(position)}{sheet.row - 1}-bom_net,{sheet.book.decimals})"
    difference = Cell(Decimal(0), formula=formula), looks.Look(right=True, wrap=False), sheet.book.plain
    label = sheet.book.language.word("xlsx-difference"), looks.TOTAL_LABEL
    _, place = sheet.line(label, difference, start=position - 1)
    mark = DifferentialStyle(fill=PatternFill(bgColor=looks.AMBER))
    sheet.page.conditional_formatting.add(place, Rule("expression", dxf=mark, formula=[f"{place}<>0"]))


def _sum(lines: Iterable[BillRow]) -> Decimal:
    return sum((line.amount for line in lines if line.amount is not None), Decimal(0))

"""The live bill: quantities and prices that the reader may change, and formulas that follow them to the totals.

What a formula comes to is not worked out here: it is the amount of the document, and stands beside the formula.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from openpyxl.formatting.rule import Rule
from openpyxl.styles import PatternFill
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.utils import get_column_letter

from bomgen.core.document import Cell, Column, Document, Row, Section
from bomgen.core.language import Language
from bomgen.core.units import Tax, Totals
from bomgen.output.xlsx import inputs
from bomgen.output.xlsx.cells import (
    AMBER,
    EXPLANATION,
    GRAND,
    GRAND_LABEL,
    INPUT,
    INPUT_TEXT,
    NUMBER,
    SHARE_FORMAT,
    TEXT,
    TOTAL_LABEL,
    WHOLE,
    clean,
    decimals_of,
    fixed,
    literal,
    money_format,
    places,
)
from bomgen.output.xlsx.inputs import COLUMN_NAMES, HARDWARE, TOTAL_NAMES, absolute, define, rate_names, tax_name
from bomgen.output.xlsx.package import Result
from bomgen.output.xlsx.sheet import Sheet
from bomgen.pricing.quote import MIN_PRICED, WITH_GPUS
from bomgen.reading.quote_workbook import DISCOUNT, ID, NUMBERS, PRICE, QUANTITY, SPARE

_MAX_WIDTH = 40
"""Wider columns would make the print of the bill too small."""
_INPUT_FORMATS = {"number": WHOLE, "share": SHARE_FORMAT}
_EXPLAIN = "explain"
"""The column that is not printed: it would make the others small, and derivations have a sheet of their own."""
_EXPLANATION = EXPLANATION._replace(wrap=False)
"""It runs on to the right, so that lines stay low."""
_EMPTY_LINES = 3
"""Lines that are ready for what the reader adds; more can be had by copying one."""


class BillRow(NamedTuple):
    """A line of the bill as the sheet shows it; the amount is nothing without a price."""

    category: str
    fabric: str
    role: str
    pieces: int
    amount: Decimal
    priced: bool
    hardware: bool
    """Whether shares of the hardware are taken of it."""


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
    labels: Mapping[str, tuple[str, str]]
    """Address and text of the label of each total."""
    subtotals: Mapping[str, Subtotal]
    """By category."""


def bill(sheet: Sheet, section: Section) -> BillReferences:
    """Write a line for each part of the section's one table, its amount as a formula, and the totals below."""
    book = sheet.book
    word, currency = book.language.word, book.language.unit_of(book.document.totals.currency)
    [table] = section.tables
    columns: tuple[Column, ...] = (Column("category", word("xlsx-category")), *table.columns)
    shares = inputs.price_shares(table)
    if shares:
        columns = inputs.add_hardware_column(sheet, columns)
    if book.document.id:
        columns = (*columns, Column(ID, ID))
        # An edited workbook is read back by the ids of its lines, and by that of the quote above them.
        sheet.put(len(columns), book.document.id, _EXPLANATION)
    sheet.widths = [min(column.width, _MAX_WIDTH) for column in columns]
    sheet.folded = {position for position, column in enumerate(columns, 1) if column.key in (HARDWARE, ID)}
    sheet.printed = len([column for column in columns if column.key not in (_EXPLAIN, ID)])
    while columns[sheet.printed - 1].key in (HARDWARE, ID):
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
    letter = {column.key: get_column_letter(position) for position, column in enumerate(columns, 1)}
    for key in filter(letter.__contains__, COLUMN_NAMES):
        # The row behind the last line belongs to the areas, so that they grow when a row is inserted there.
        define(sheet, COLUMN_NAMES[key], f"{letter[key]}{first}:{letter[key]}{end}")
    numbers = {at: number for number, at in enumerate(shares, 1)}
    lines = [_line(sheet, columns, row, letter, numbers.get(at)) for at, row in enumerate(table.rows)]
    for _ in range(_EMPTY_LINES):
        _empty_line(sheet, columns, letter)
    areas = {key: f"{name}{first}:{name}{end - 1}" for key, name in letter.items()}
    _live_lines(sheet, columns, areas, letter, range(first, end))
    sheet.row += 1
    below = sheet.row
    column = 1 + [column.key for column in columns].index("amount")
    subtotals = _subtotals(sheet, column, lines)
    if subtotals:
        labels = f"{get_column_letter(column - 1)}{sheet.row - len(subtotals)}"
        labels += f":{get_column_letter(column - 1)}{sheet.row - 1}"
        inputs.one_of(sheet, areas["category"], columns[0].title, absolute(labels))
    sheet.row += 1
    if shares:
        comes_to = sum((line.amount for line in lines if line.hardware), Decimal(0))
        inputs.inputs(sheet, column, table, comes_to)
    labels_of_totals = _totals(sheet, column, len(lines))
    sheet.together[below] = sheet.row - 1
    sheet.row += 1
    named = f"{sheet.quoted}!{{}}"
    return BillReferences(
        sheet=sheet,
        areas=areas,
        lines=lines,
        labels={key: (named.format(address), text) for key, (address, text) in labels_of_totals.items()},
        subtotals={key: each._replace(address=named.format(each.address)) for key, each in subtotals.items()},
    )


def total_format(totals: Totals, language: Language) -> str:
    """The number format of list price, net and total amount: while no line has a price, 0 is shown as no price."""
    form = money_format(totals.currency, language)
    no_price = language.word("xlsx-no-price").replace('"', "")  # formats know no escaped quotes
    return form if totals.priced_lines or not totals.lines else f"{form};-{form};{literal(no_price)}"


def results_of(totals: Totals) -> dict[str, Decimal]:
    """What the formulas of the totals come to."""
    return {name: getattr(totals, name) for name in ("list", "discount", "net", "tax", "amount")}


def _line(
    sheet: Sheet, columns: Sequence[Column], row: Row, letter: Mapping[str, str], number: int | None = None
) -> BillRow:
    """Write a line of the bill and return it; `number` is that of its share of the hardware, where it has one."""
    decimals = decimals_of(sheet.book.document.totals)
    keys = [column.key for column in columns if column.key not in (HARDWARE, ID)]
    cells = dict(zip(keys, (Cell(row.group or ""), *row.cells), strict=True)) | {ID: Cell(row.id)}
    amount = cells["amount"].value
    hardware = inputs.is_hardware(sheet, row, cells["amount"]) and number is None
    for position, column in enumerate(columns, 1):
        if column.key == HARDWARE:
            # The cell of a charge that is a share of the hardware is empty.
            if number is None:
                added = amount if hardware and isinstance(amount, Decimal) else ""
                inputs.hardware(sheet, position, letter, added, row.in_stock)
            else:
                sheet.put(position, None, NUMBER)
            continue
        cell = cells[column.key]
        if column.key == "unit_price" and number is not None:
            inputs.unit_price(sheet, position, number, cell)
        elif column.key in NUMBERS:
            finer = places(cell.value) if isinstance(cell.value, Decimal) else 0
            form = _INPUT_FORMATS.get(column.kind) or fixed(max(decimals, finer))
            sheet.explain(sheet.put(position, cell.value, INPUT, form), cell)
        elif column.key == "amount":
            unpriced = sheet.book.language.word("xlsx-no-price")
            _amount(sheet, position, letter, amount if isinstance(amount, Decimal) else unpriced)
        elif column.key in (_EXPLAIN, ID):
            sheet.put(position, cell.value, _EXPLANATION)
        else:
            sheet.value(position, column, cell)
    sheet.row += 1
    pieces = sum(int(value) for key in ("quantity", "spare") if isinstance(value := cells[key].value, int))
    text = {key: clean(str(cells[key].value or "")) if key in cells else "" for key in ("category", "fabric", "role")}
    priced = isinstance(amount, Decimal)
    comes_to = amount if isinstance(amount, Decimal) else Decimal(0)
    return BillRow(**text, pieces=pieces, amount=comes_to, priced=priced, hardware=hardware)


def _empty_line(sheet: Sheet, columns: Sequence[Column], letter: Mapping[str, str]) -> None:
    """Write a line that the reader may fill in."""
    decimals = decimals_of(sheet.book.document.totals)
    for position, column in enumerate(columns, 1):
        if column.key == "amount":
            _amount(sheet, position, letter, "")
        elif column.key == HARDWARE:
            inputs.hardware(sheet, position, letter, "")
        elif column.key in NUMBERS:
            sheet.put(position, None, INPUT, _INPUT_FORMATS.get(column.kind) or fixed(decimals))
        else:
            sheet.put(position, None, TEXT if column.key == _EXPLAIN else INPUT_TEXT)
    sheet.row += 1


def _amount(sheet: Sheet, position: int, letter: Mapping[str, str], result: Result) -> None:
    """Write what a line comes to: nothing while it is empty, a word while it has no price."""
    at = {key: f"{name}{sheet.row}" for key, name in letter.items()}
    decimals, unpriced = decimals_of(sheet.book.document.totals), sheet.book.language.word("xlsx-no-price")
    formula = (
        f'IF({at["unit_price"]}="",IF({at["quantity"]}="","",{literal(unpriced)}),'
        f"ROUND(({at['quantity']}+{at['spare']})*{at['unit_price']}*(1-{at['discount']}),{decimals}))"
    )
    sheet.calculate(position, formula, result, NUMBER, fixed(decimals))


def _live_lines(
    sheet: Sheet, columns: Sequence[Column], areas: Mapping[str, str], letter: Mapping[str, str], rows: range
) -> None:
    """Let the lines of the bill be filtered, refuse what is no number, and mark lines without a price."""
    page, title = sheet.page, {column.key: column.title for column in columns}
    page.auto_filter.ref = f"A{rows.start - 1}:{get_column_letter(len(letter))}{rows.stop - 1}"
    for key in (QUANTITY, SPARE):
        inputs.numbers(sheet, areas[key], title[key], "whole", "pieces")
    inputs.numbers(sheet, areas[PRICE], title[PRICE], "decimal", "price")
    inputs.shares(sheet, areas[DISCOUNT], title[DISCOUNT], "discount")
    missing = f'AND(${letter["quantity"]}{rows.start}<>"",${letter["unit_price"]}{rows.start}="")'
    mark = Rule("expression", dxf=DifferentialStyle(fill=PatternFill(bgColor=AMBER)), formula=[missing])
    page.conditional_formatting.add(" ".join(areas[key] for key in ("unit_price", "amount")), mark)


def _subtotals(sheet: Sheet, column: int, lines: Sequence[BillRow]) -> dict[str, Subtotal]:
    """Write the sums of the visible lines and of each category, and return the latter.

    They stand below the lines, not between them, so that the lines can be sorted and filtered.
    """
    word, language = sheet.book.language.word, sheet.book.language
    money = money_format(sheet.book.document.totals.currency, language)
    everything = sum((line.amount for line in lines), Decimal(0))
    sheet.put(column - 1, word("xlsx-shown"), TOTAL_LABEL)
    sheet.mark(column, "xlsx-shown")
    sheet.calculate(column, f"SUBTOTAL({_SUM_OF_SHOWN},bom_amounts)", everything, NUMBER, money)
    sheet.row += 1
    found: dict[str, Subtotal] = {}
    for category in dict.fromkeys(line.category for line in lines):
        amounts = [line.amount for line in lines if line.category == category and line.priced]
        unpriced = sum(line.category == category and not line.priced for line in lines)
        amount = sum(amounts, Decimal(0))
        label = sheet.put(column - 1, category, TOTAL_LABEL).coordinate
        its = f"EXACT(bom_categories,{label})"
        formula = (
            f"IF(AND(SUMPRODUCT(--{its},bom_amounts)=0,SUMPRODUCT({its}*ISNUMBER(bom_amounts))<SUMPRODUCT(--{its})),"
            f"{literal(word('xlsx-no-price'))},SUMPRODUCT(--{its},bom_amounts))"
        )
        # What is in stock costs nothing, whether or not the rest has a price.
        result = word("xlsx-no-price") if unpriced and not amount else amount
        found[category] = Subtotal(sheet.calculate(column, formula, result, NUMBER, money), result, amount, unpriced)
        sheet.row += 1
    return found


_SUM_OF_SHOWN = 109
"""The function number of SUBTOTAL for the sum of rows that no filter hides and nobody hid by hand."""


def _totals(sheet: Sheet, column: int, listed: int) -> dict[str, tuple[str, str]]:
    """Write the totals of the bill below its amounts. The address and text of each label."""
    book, totals = sheet.book, sheet.book.document.totals
    decimals, results = decimals_of(totals), results_of(totals)
    money = money_format(totals.currency, book.language)
    formulas = {
        "unpriced": 'SUMPRODUCT((bom_quantities<>"")*(bom_prices=""))',
        "list": f"SUM(IF(ISNUMBER(bom_prices),ROUND((bom_quantities+bom_spares)*bom_prices,{decimals}),0))",
        "discount": f"ROUND(bom_list-SUM(bom_amounts),{decimals})",
        "net": f"ROUND(bom_list-bom_discount,{decimals})",
        "tax": _tax_formula(totals, decimals),
        "amount": f"ROUND(bom_net+bom_tax,{decimals})",
    }
    labels: dict[str, tuple[str, str]] = {}
    several = len(totals.taxes) > 1
    for key, name in TOTAL_NAMES.items():
        if several and key == "rate":
            _rates(sheet, column)
            continue
        if several and key == "tax":
            labels |= _taxes(sheet, column)
        grand = key == "amount"
        text, label = _label(book.language, totals, key, book.document.cover is not None)
        if grand and label:
            text, label = _label_of_few(book.language, book.document, listed, text, label)
        look = GRAND_LABEL if grand else TOTAL_LABEL
        if label:
            labels[key] = (sheet.calculate(column - 1, label, text, look), text)
        else:
            labels[key] = (sheet.put(column - 1, text, look).coordinate, text)
        if key == "rate":
            sheet.mark(column, "xlsx-rate")
            share = totals.taxes[0].share if totals.taxes else None
            address = sheet.put(column, share, INPUT, SHARE_FORMAT).coordinate
            inputs.shares(sheet, address, text, "tax")
        elif key == "unpriced":
            address = sheet.calculate(column, formulas[key], _unpriced(totals), NUMBER, WHOLE)
        else:
            look = GRAND if grand else NUMBER
            # A price may be an empty text, which no product can take: each line is looked at before it is multiplied.
            form = money if key in ("discount", "tax") else total_format(totals, book.language)
            address = sheet.formula(column, formulas[key], results[key], look, form, key == "list").coordinate
        define(sheet, name, address)
        sheet.row += 1
    return labels


# Of several tax rates, each has its own input, net amount and tax; the first is that of all lines that no other has.


def _rates(sheet: Sheet, column: int) -> None:
    """Write an input for each tax rate."""
    for at, part in enumerate(sheet.book.document.totals.taxes):
        text = sheet.book.language.word("xlsx-rate-of", names=_taxed_lines(sheet.book.language, part))
        sheet.put(column - 1, text, TOTAL_LABEL)
        sheet.mark(column, "xlsx-rate", at)
        address = sheet.put(column, part.share, INPUT, SHARE_FORMAT).coordinate
        inputs.shares(sheet, address, text, "tax")
        define(sheet, tax_name("rate", at), address)
        sheet.row += 1


def _taxes(sheet: Sheet, column: int) -> dict[str, tuple[str, str]]:
    """Write the tax at each rate. Returns the address and text of each label."""
    totals, language = sheet.book.document.totals, sheet.book.language
    decimals, money = decimals_of(totals), money_format(totals.currency, language)
    labels = {}
    for at, part in enumerate(totals.taxes):
        text = language.word("xlsx-tax-of", names=_taxed_lines(language, part))
        labels[f"tax-{at}"] = (sheet.put(column - 1, text, TOTAL_LABEL).coordinate, text)
        net = "+".join(_net_of(language, category) for category in part.categories)
        if not part.categories:
            others = (category for each in totals.taxes for category in each.categories)
            net = "-".join(["bom_net", *(_net_of(language, category) for category in others)])
        formula = f"ROUND({tax_name('rate', at)}*ROUND({net},{decimals}),{decimals})"
        define(sheet, tax_name("tax", at), sheet.calculate(column, formula, part.tax, NUMBER, money))
        sheet.row += 1
    return labels


def _taxed_lines(language: Language, part: Tax) -> str:
    names = [language.word(f"category-{category}") for category in part.categories]
    return language.word("list-comma").join(names) or language.word("xlsx-other-lines")


def _net_of(language: Language, category: str) -> str:
    """A formula for what the lines of a category come to."""
    return f"SUMPRODUCT(--EXACT(bom_categories,{literal(language.word(f'category-{category}'))}),bom_amounts)"


def _tax_formula(totals: Totals, decimals: int) -> str:
    if len(totals.taxes) > 1:
        return "+".join(tax_name("tax", at) for at in range(len(totals.taxes)))
    return f"ROUND(bom_tax_rate*bom_net,{decimals})"


def _label_total(language: Language, totals: Totals) -> tuple[str, str]:
    """What the total of a quote is called, and the formula for it, by the tax and by what has no price."""
    labels = [language.word("quote-total-with-tax"), language.word("ui-total")]
    limits = [language.word("xlsx-at-least", label=label) for label in labels]
    texts = limits if _unpriced(totals) else labels
    rate = "+".join(f"N({name})" for name in rate_names(totals))
    least, complete = (f"IF({rate}>0,{literal(taxed)},{literal(plain)})" for taxed, plain in (limits, labels))
    return texts[0 if totals.taxed else 1], f"IF(bom_unpriced>0,{least},{complete})"


def _label_of_few(language: Language, document: Document, listed: int, text: str, label: str) -> tuple[str, str]:
    """The label of the total and its formula, also while so few lines have a price that the sum is no total.

    `listed` are the lines of the bill: those from stock are not charged.
    """
    totals = document.totals
    lines = f'(SUMPRODUCT(--(bom_quantities<>""))-{listed - totals.lines})'
    counts = {"\0": f"({lines}-bom_unpriced)", "\1": lines}
    pieces = re.split("([\0\1])", language.word("quote-priced-only", priced="\0", lines="\1"))
    said = "&".join(counts.get(piece) or literal(piece) for piece in pieces)
    names = (literal(language.word(f"category-{category}")) for category in WITH_GPUS)
    gpus = "+".join(f"EXACT(bom_categories,{name})" for name in names)
    without = f'SUMPRODUCT(({gpus})*(bom_quantities<>"")*(bom_prices=""))'
    few = f"AND({lines}>bom_unpriced,OR(bom_unpriced>{lines}*{float(1 - MIN_PRICED)},{without}>0))"
    if document.sums and not document.sums[-1].final:
        text = document.sums[-1].label
    return text, f"IF({few},{said},{label})"


def _label(language: Language, totals: Totals, key: str, quoted: bool) -> tuple[str, str | None]:
    """The label of a total: its text, and a formula where it depends on the bill; that of a quote says more."""
    plain = language.word(f"xlsx-{key}")
    if key == "amount" and quoted:
        return _label_total(language, totals)
    if key in ("unpriced", "discount", "rate"):
        return plain, None
    limit = language.word("xlsx-at-least", label=plain)
    formula = f'IF(AND(bom_unpriced>0,COUNTIF(bom_prices,">0")>0),{literal(limit)},{literal(plain)})'
    text = limit if _unpriced(totals) and totals.list else plain
    if key == "tax" and len(totals.taxes) < 2:
        missing = language.word("xlsx-no-tax")
        formula = f'IF(bom_tax_rate="",{literal(missing)},{formula})'
        text = text if totals.taxes else missing
    return text, formula


def _unpriced(totals: Totals) -> int:
    return totals.lines - totals.priced_lines

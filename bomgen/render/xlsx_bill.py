"""The live bill: quantities and prices that the reader may change, and formulas that follow them to the totals.

What a formula comes to is not worked out here: it is the amount of the document, and stands beside the formula.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from openpyxl.formatting.rule import Rule
from openpyxl.styles import PatternFill
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.utils import get_column_letter
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation

from bomgen.document import Cell, Column, Row, Section
from bomgen.language import Language
from bomgen.money import Totals, minor_unit
from bomgen.render.xlsx_finish import Result
from bomgen.render.xlsx_sheet import (
    AMBER,
    GRAND,
    GRAND_LABEL,
    GRAND_TEXT,
    INPUT,
    LABEL,
    NUMBER,
    TOTAL_LABEL,
    Sheet,
)
from bomgen.render.xlsx_text import SHARE_FORMAT, WHOLE, clean, fixed, money_format, places

_MAX_WIDTH = 40
"""Wider columns would make the print of the bill too small."""
_INPUTS = ("quantity", "spare", "unit_price", "discount")
"""The columns of the bill that the reader may change."""
_INPUT_FORMATS = {"number": WHOLE, "share": SHARE_FORMAT}
_TOTALS = ("unpriced", "list", "discount", "net", "rate", "tax", "amount")
"""The lines below the bill."""
_LIVE = {
    "list": "bom_list",
    "discount": "bom_discount",
    "net": "bom_list-bom_discount",
    "tax": "bom_tax",
    "amount": "bom_amount",
}
"""The totals on other sheets, by the defined names of those below the bill."""
_ADDRESS = re.compile("([A-Z]+)([0-9]+)")


class Bill(NamedTuple):
    """What other sheets refer to: the areas of the bill, the labels of its totals, and what they come to."""

    amounts: str
    categories: str
    labels: Mapping[str, tuple[str, str]]
    """Address and text of the label of each total."""
    by_category: Mapping[str, Decimal]


def bill(sheet: Sheet, section: Section) -> Bill:
    """Write a line for each part of the section's one table, its amount as a formula, and the totals below.

    What comes out is what `summary` needs to refer to them.
    """
    word, currency = sheet.book.language.word, sheet.book.document.totals.currency
    [table] = section.tables
    columns = (Column("category", word("xlsx-category")), *table.columns)
    sheet.widths = [min(column.width, _MAX_WIDTH) for column in columns]
    hint = f"{word('xlsx-currency', currency=currency)} {word('xlsx-inputs')}"
    sheet.heading(section.title, " ".join(filter(None, (table.caption, hint))))
    sheet.header(columns)
    sheet.freeze()
    first, end = sheet.row, sheet.row + len(table.rows)
    letter = {column.key: get_column_letter(position) for position, column in enumerate(columns, 1)}
    whole = {key: f"{name}{first}:{name}{end}" for key, name in letter.items()}
    by_category: dict[str, Decimal] = {}
    for row in table.rows:
        category = clean(row.group or "")
        by_category[category] = by_category.get(category, Decimal(0)) + _line(sheet, columns, row, letter)
    _live_lines(sheet, whole, letter, first)
    sheet.row += 1
    labels = _totals(sheet, 1 + [column.key for column in columns].index("amount"), whole)
    sheet.row += 1
    named = f"{sheet.quoted}!{{}}"
    return Bill(
        amounts=named.format(_absolute(whole["amount"])),
        categories=named.format(_absolute(whole["category"])),
        labels={key: (named.format(address), text) for key, (address, text) in labels.items()},
        by_category=by_category,
    )


def summary(sheet: Sheet, bill: Bill) -> None:
    """Write the totals and what each category comes to, by formulas that refer to the bill."""
    word, totals = sheet.book.language.word, sheet.book.document.totals
    money, results = money_format(totals.currency), _results(totals)
    sheet.header([Column("total", word("xlsx-totals")), Column("amount", word("xlsx-amount-column"), "money")])
    for key, formula in _LIVE.items():
        address, label = bill.labels[key]
        grand = key == "amount"
        sheet.calculate(1, address, label, GRAND_TEXT if grand else LABEL)
        sheet.calculate(2, formula, results[key], GRAND if grand else NUMBER, money)
        sheet.row += 1
    sheet.row += 1
    columns = (
        Column("category", word("xlsx-category")),
        Column("net", word("xlsx-net"), "money"),
        Column("share", word("xlsx-share"), "share"),
    )
    sheet.header(columns)
    net = results["net"]
    for category, amount in bill.by_category.items():
        row = sheet.row
        sheet.put(1, category, LABEL)
        sheet.calculate(2, f"SUMPRODUCT(--EXACT({bill.categories},A{row}),{bill.amounts})", amount, NUMBER, money)
        share = f"IF({_LIVE['net']}=0,0,B{row}/({_LIVE['net']}))"
        sheet.calculate(len(columns), share, float(amount / net) if net else 0, NUMBER, SHARE_FORMAT)
        sheet.row += 1
    sheet.row += 1


def _line(sheet: Sheet, columns: tuple[Column, ...], row: Row, letter: Mapping[str, str]) -> Decimal:
    """A line of the bill. What it comes to, nothing without a price."""
    decimals = _decimals(sheet.book.document.totals)
    unpriced = sheet.book.language.word("xlsx-no-price")
    result: Result = unpriced
    at = {key: f"{name}{sheet.row}" for key, name in letter.items()}
    for position, (column, cell) in enumerate(zip(columns, (Cell(row.group or ""), *row.cells), strict=True), 1):
        if column.key in _INPUTS:
            finer = places(cell.value) if isinstance(cell.value, Decimal) else 0
            form = _INPUT_FORMATS.get(column.kind) or fixed(max(decimals, finer))
            sheet.link(sheet.put(position, cell.value, INPUT, form), cell)
        elif column.key == "amount":
            result = cell.value if isinstance(cell.value, Decimal) else unpriced
            formula = (
                f'IF({at["unit_price"]}="",{_literal(unpriced)},'
                f"ROUND(({at['quantity']}+{at['spare']})*{at['unit_price']}*(1-{at['discount']}),{decimals}))"
            )
            sheet.calculate(position, formula, result, NUMBER, fixed(decimals))
        else:
            sheet.value(position, column, cell)
    sheet.row += 1
    return result if isinstance(result, Decimal) else Decimal(0)


def _live_lines(sheet: Sheet, whole: Mapping[str, str], letter: Mapping[str, str], first: int) -> None:
    """Let the lines of the bill be filtered, refuse what is no number, and mark lines without a price."""
    page, last = sheet.page, sheet.row - 1
    page.auto_filter.ref = f"A{first - 1}:{get_column_letter(len(letter))}{last}"
    for keys, rule in (
        (("quantity", "spare"), DataValidation("whole", operator="greaterThanOrEqual", formula1="0")),
        (("unit_price",), DataValidation("decimal", operator="greaterThanOrEqual", formula1="0")),
        (("discount",), DataValidation("decimal", operator="between", formula1="0", formula2="1")),
    ):
        for key in keys:
            rule.add(whole[key])
        page.add_data_validation(rule)
    if last >= first:
        missing = f'AND(${letter["quantity"]}{first}<>"",${letter["unit_price"]}{first}="")'
        mark = Rule("expression", dxf=DifferentialStyle(fill=PatternFill(bgColor=AMBER)), formula=[missing])
        areas = [f"{letter[key]}{first}:{letter[key]}{last}" for key in ("unit_price", "amount")]
        page.conditional_formatting.add(" ".join(areas), mark)


def _totals(sheet: Sheet, column: int, whole: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Write the totals of the bill below its amounts. The address and text of each label."""
    book, totals = sheet.book, sheet.book.document.totals
    decimals, money, results = _decimals(totals), money_format(totals.currency), _results(totals)
    name, start = get_column_letter(column), sheet.row
    at = {key: f"{name}{start + offset}" for offset, key in enumerate(_TOTALS)}
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
        text, label = _label(book.language, totals, key, at)
        look = GRAND_LABEL if grand else TOTAL_LABEL
        if label:
            labels[key] = (sheet.calculate(column - 1, label, text, look), text)
        else:
            labels[key] = (sheet.put(column - 1, text, look).coordinate, text)
        if key == "rate":
            sheet.put(column, totals.tax_share, INPUT, SHARE_FORMAT)
        elif key == "unpriced":
            sheet.calculate(column, formulas[key], _unpriced(totals), NUMBER, WHOLE)
        else:
            sheet.calculate(column, formulas[key], results[key], GRAND if grand else NUMBER, money)
        if _LIVE.get(key) == f"bom_{key}":
            address = f"{sheet.quoted}!{_absolute(at[key])}"
            book.workbook.defined_names[_LIVE[key]] = DefinedName(_LIVE[key], attr_text=address)
        sheet.row += 1
    return labels


def _label(language: Language, totals: Totals, key: str, at: Mapping[str, str]) -> tuple[str, str | None]:
    """The label of a total: its text, and a formula where it depends on the bill."""
    plain = language.word(f"xlsx-{key}")
    if key in ("unpriced", "discount", "rate"):
        return plain, None
    limit = language.word("xlsx-at-least", label=plain)
    formula = f"IF({at['unpriced']}>0,{_literal(limit)},{_literal(plain)})"
    text = limit if _unpriced(totals) else plain
    if key == "tax":
        missing = language.word("xlsx-no-tax")
        formula = f'IF({at["rate"]}="",{_literal(missing)},{formula})'
        text = missing if totals.tax_share is None else text
    return text, formula


def _results(totals: Totals) -> dict[str, Decimal]:
    """What the formulas of the totals come to."""
    net = totals.list - totals.discount
    return {"list": totals.list, "discount": totals.discount, "net": net, "tax": totals.tax, "amount": totals.amount}


def _unpriced(totals: Totals) -> int:
    return totals.lines - totals.priced_lines


def _decimals(totals: Totals) -> int:
    """How many decimal places the amounts of the bill have."""
    return places(minor_unit(totals.currency))


def _literal(text: str) -> str:
    """A text inside a formula."""
    return '"' + clean(text).replace('"', '""') + '"'


def _absolute(area: str) -> str:
    """An address that stays when a formula is copied."""
    return _ADDRESS.sub(r"$\1$\2", area)

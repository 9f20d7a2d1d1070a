"""What the reader of a workbook may type, and the names and prices that formulas follow from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation

from bomgen.core.document import Cell, Column, Row, Table
from bomgen.core.units import Totals
from bomgen.output.xlsx.cells import (
    INPUT,
    NUMBER,
    SHARE_FORMAT,
    TOTAL_LABEL,
    cut,
    decimals_of,
    fixed,
    literal,
    money_format,
)
from bomgen.output.xlsx.package import Result
from bomgen.output.xlsx.sheet import Sheet
from bomgen.plan.commercial_terms import CHARGED
from bomgen.reading.quote_workbook import PRICE

_MAX_TITLE = 32
_MAX_TEXT = 225
"""What Excel takes as the title and the text of a prompt or refusal."""


def numbers(sheet: Sheet, area: str, title: str, kind: Literal["whole", "decimal"], of: str) -> None:
    """Let an area take numbers of 0 or more; `of` is the word for what they count."""
    _add(sheet, area, DataValidation(kind, operator="greaterThanOrEqual", formula1="0"), title, of)


def shares(sheet: Sheet, area: str, title: str, of: str) -> None:
    """Let an area take shares of 0 to 1; `of` is the word for what they are taken of."""
    _add(sheet, area, DataValidation("decimal", operator="between", formula1="0", formula2="1"), title, of)


def one_of(sheet: Sheet, area: str, title: str, choices: str) -> None:
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
# The names that formulas of all sheets know: columns and totals of the bill.

HARDWARE = "hardware"
"""The column of what each line adds to the hardware, where a charge is a share of that."""
COLUMN_NAMES = {
    "category": "bom_categories",
    "fabric": "bom_fabrics",
    "role": "bom_roles",
    "sku": "bom_part_numbers",
    "description": "bom_descriptions",
    "quantity": "bom_quantities",
    "spare": "bom_spares",
    "unit_price": "bom_prices",
    "discount": "bom_discounts",
    "amount": "bom_amounts",
    HARDWARE: "bom_hardware_amounts",
}
"""The defined names of columns of the bill."""
TOTAL_NAMES = {
    "unpriced": "bom_unpriced",
    "list": "bom_list",
    "discount": "bom_discount",
    "net": "bom_net",
    "rate": "bom_tax_rate",
    "tax": "bom_tax",
    "amount": "bom_amount",
}
"""The defined names of the lines below the bill."""


def tax_name(key: str, at: int) -> str:
    """Return the defined name of one of several tax rates, or of the tax at it."""
    return f"{TOTAL_NAMES[key]}_{at + 1}"


def rate_names(totals: Totals) -> list[str]:
    """Return the defined names of the tax rates."""
    several = len(totals.taxes) > 1
    return [tax_name("rate", at) for at in range(len(totals.taxes))] if several else [TOTAL_NAMES["rate"]]


HARDWARE_NAME, SHARE_NAME = "bom_hardware", "bom_share_{}"
"""The defined names of what the hardware comes to, and of the numbered shares of it that are charged."""
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
    price = [column.key for column in table.columns].index(PRICE)
    given = ((at, row.cells[price].share_of_hardware) for at, row in enumerate(table.rows))
    return {at: share for at, share in given if share is not None}


def add_hardware_column(sheet: Sheet, columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of the bill with that of what the hardware comes to behind the amounts."""
    at = 1 + [column.key for column in columns].index("amount")
    own = Column(HARDWARE, sheet.book.language.word("xlsx-hardware"), "money", _WIDTH)
    return (*columns[:at], own, *columns[at:])


def unit_price(sheet: Sheet, position: int, number: int, cell: Cell) -> None:
    """Write the price of a charge: its share of the hardware, and nothing while no hardware has a price."""
    decimals, share = decimals_of(sheet.book.document.totals), SHARE_NAME.format(number)
    unknown = f'OR({share}="",COUNT({COLUMN_NAMES[HARDWARE]})=0)'
    formula = f'IF({unknown},"",ROUND({share}*{HARDWARE_NAME},{decimals}))'
    result = cell.value if isinstance(cell.value, Decimal) else ""
    sheet.explain(sheet.formula(position, formula, result, NUMBER, fixed(decimals)), cell)


def is_hardware(sheet: Sheet, row: Row, amount: Cell) -> bool:
    """Whether shares are taken of what a row of the bill comes to."""
    charged = {sheet.book.language.word(f"category-{category}") for category in CHARGED}
    return isinstance(amount.value, Decimal) and row.group not in charged and not row.in_stock


def hardware(sheet: Sheet, position: int, letter: Mapping[str, str], result: Result, in_stock: bool = False) -> None:
    """Write what a line adds to the hardware; `letter` are those of its columns.

    A part in stock adds nothing until somebody gives it a price.
    """
    word = sheet.book.language.word
    at = {key: f"{name}{sheet.row}" for key, name in letter.items()}
    others = [f"EXACT({at['category']},{literal(word(f'category-{category}'))})" for category in CHARGED]
    if in_stock:
        others.append(f"{at[PRICE]}=0")
    formula = f'IF(OR(NOT(ISNUMBER({at["amount"]})),{",".join(others)}),"",{at["amount"]})'
    sheet.calculate(position, formula, result, NUMBER, fixed(decimals_of(sheet.book.document.totals)))


def inputs(sheet: Sheet, column: int, table: Table, comes_to: Decimal) -> None:
    """Write what the hardware comes to, and below it the share of each charge, which the reader may change."""
    word, totals = sheet.book.language.word, sheet.book.document.totals
    sheet.put(column - 1, word("xlsx-hardware"), TOTAL_LABEL)
    formula = f"SUM({COLUMN_NAMES[HARDWARE]})"
    money = money_format(totals.currency, sheet.book.language)
    define(sheet, HARDWARE_NAME, sheet.calculate(column, formula, comes_to, NUMBER, money))
    sheet.row += 1
    name = [column.key for column in table.columns].index("description")
    for number, (at, share) in enumerate(price_shares(table).items(), 1):
        text = word("xlsx-share-of-hardware", name=table.rows[at].cells[name].value)
        sheet.put(column - 1, text, TOTAL_LABEL)
        sheet.mark(column, "xlsx-share-of-hardware", table.rows[at].id or "", "share")
        address = sheet.put(column, share, INPUT, SHARE_FORMAT).coordinate
        shares(sheet, address, text, "hardware")
        define(sheet, SHARE_NAME.format(number), address)
        sheet.row += 1
    sheet.row += 1

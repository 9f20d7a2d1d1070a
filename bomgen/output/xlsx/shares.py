"""Charges that are a share of the hardware, such as freight: their prices follow what the hardware comes to.

What the hardware comes to must not be taken of the column of amounts, which the charges themselves stand in: a formula
would depend on itself. It has a column of its own, which is empty at charges and folded away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from bomgen.core.document import Cell, Column, Row, Table
from bomgen.output.xlsx import inputs as xlsx_inputs
from bomgen.output.xlsx.cells import SHARE_FORMAT, decimals_of, fixed, literal, money_format
from bomgen.output.xlsx.names import COLUMN_NAMES, HARDWARE, HARDWARE_NAME, SHARE_NAME, define
from bomgen.output.xlsx.package import Result
from bomgen.output.xlsx.sheet import Sheet
from bomgen.output.xlsx.styles import INPUT, NUMBER, TOTAL_LABEL
from bomgen.plan.commercial_terms import CHARGED

_PRICE = "unit_price"
_NAME = "description"
"""The column that tells what a charge is called."""
_WIDTH = 28


def shares(table: Table) -> dict[int, Fraction]:
    """The shares of the charges of a bill by the place of their row, in the order that they are numbered in."""
    price = [column.key for column in table.columns].index(_PRICE)
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


def hardware(sheet: Sheet, position: int, at: Mapping[str, str], result: Result, in_stock: bool = False) -> None:
    """Write what a line adds to the hardware; `at` are the addresses of its cells.

    A part in stock adds nothing until somebody gives it a price.
    """
    word = sheet.book.language.word
    others = [f"EXACT({at['category']},{literal(word(f'category-{category}'))})" for category in CHARGED]
    if in_stock:
        others.append(f"{at[_PRICE]}=0")
    formula = f'IF(OR(NOT(ISNUMBER({at["amount"]})),{",".join(others)}),"",{at["amount"]})'
    sheet.calculate(position, formula, result, NUMBER, fixed(decimals_of(sheet.book.document.totals)))


def inputs(sheet: Sheet, column: int, table: Table, comes_to: Decimal) -> None:
    """Write what the hardware comes to, and below it the share of each charge, which the reader may change."""
    word, totals = sheet.book.language.word, sheet.book.document.totals
    sheet.put(column - 1, word("xlsx-hardware"), TOTAL_LABEL)
    formula = f"SUM({COLUMN_NAMES[HARDWARE]})"
    define(sheet, HARDWARE_NAME, sheet.calculate(column, formula, comes_to, NUMBER, money_format(totals.currency)))
    sheet.row += 1
    name = [each.key for each in table.columns].index(_NAME)
    for number, (at, share) in enumerate(shares(table).items(), 1):
        text = word("xlsx-share-of-hardware", name=table.rows[at].cells[name].value)
        sheet.put(column - 1, text, TOTAL_LABEL)
        address = sheet.put(column, share, INPUT, SHARE_FORMAT).coordinate
        xlsx_inputs.shares(sheet, address, text, "hardware")
        define(sheet, SHARE_NAME.format(number), address)
        sheet.row += 1
    sheet.row += 1

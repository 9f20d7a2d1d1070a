"""The names that formulas of all sheets know: columns and totals of the bill."""

from __future__ import annotations

import re

from openpyxl.workbook.defined_name import DefinedName

from bomgen.output.xlsx.sheet import Sheet

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

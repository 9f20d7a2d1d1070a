"""Prices as a workbook of one sheet, for whoever works in a spreadsheet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

from bomgen.output.price_list_reading import Entry, column_names
from bomgen.output.xlsx.cells import package
from bomgen.reading.price_table import DATES, DESCRIPTION

BINARY = True
SHEET = "prices"
BOLD = Font(name="Calibri", bold=True, size=11)
WIDTHS = {"part": 26, DESCRIPTION: 44, "source": 44}
WIDTH = 14
DIGITS = 15
"""Excel keeps as many of a number (Excel's specifications and limits); one with more is written as text."""
FIRST_DAY = date(1900, 3, 1)
"""Excel takes 1900 for a leap year and knows nothing before it; earlier dates are written as text."""
TEXT, DATE = "@", "yyyy-mm-dd"
"""Formats that keep a spreadsheet from guessing."""


def write(entries: Sequence[Entry], _: str | None = None) -> bytes:
    """Return the workbook of prices, byte-identical for the same prices."""
    book = Workbook(write_only=True)
    sheet: Any = book.create_sheet(SHEET)
    names = column_names(entries)
    for at, name in enumerate(names, 1):
        sheet.column_dimensions[get_column_letter(at)].width = WIDTHS.get(name, WIDTH)
    sheet.freeze_panes = "B2"
    header = [WriteOnlyCell(sheet, value=name) for name in names]
    for cell in header:
        cell.font = BOLD
    sheet.append(header)
    for entry in entries:
        sheet.append([_cell(sheet, name, entry.get(name)) for name in names])
    return package(book, {})


def _cell(sheet: Any, name: str, value: str | int | bool | Decimal | None) -> Any:
    if isinstance(value, Decimal):
        if len(value.normalize().as_tuple().digits) <= DIGITS:
            whole = value == value.to_integral_value()
            return WriteOnlyCell(sheet, value=int(value) if whole else float(value))
        value = f"{value:f}"
    if not isinstance(value, str):
        return WriteOnlyCell(sheet, value=value)
    if name in DATES and (day := date.fromisoformat(value)) >= FIRST_DAY:
        cell: Any = WriteOnlyCell(sheet, value=datetime(day.year, day.month, day.day))
        cell.number_format = DATE
        return cell
    cell = WriteOnlyCell(sheet, value=value)
    cell.data_type, cell.number_format = "s", TEXT
    cell.quotePrefix = True
    return cell

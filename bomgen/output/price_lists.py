"""Price books: the entries that are written, and the forms of their files: CSV, a workbook, YAML.

Reading any form returns what was written, except the name of a book, which tables cannot store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from bomgen.core.safety import FORMULA_STARTS
from bomgen.core.yaml_edit import quote_double, write_scalar
from bomgen.output.registry import Format, Formats
from bomgen.pricing.price_book import FORMAT, FORMAT_KEY
from bomgen.reading.price_table import DATES, columns

if TYPE_CHECKING:
    from bomgen.pricing.quote import QuoteLine

Entry = Mapping[str, Any]
"""A price with the keys of price books."""


def column_names(entries: Sequence[Entry]) -> list[str]:
    """Return the columns of a price table: all keys in use, and a description if one is given."""
    part, *others = columns()
    described = ["description"] if any("description" in entry for entry in entries) else []
    return [part, *described, *others]


def unpriced_entries(lines: Sequence[QuoteLine], currency: str) -> Iterator[Entry]:
    """Yield the unpriced parts of a bill as prices to fill in, with each cable length as a separate part.

    Each appears once, under its most specific name, with the pieces of all its lines.
    """
    found: dict[str, tuple[str, int]] = {}
    for line in lines:
        if not line.line.names or line.amount is not None:
            continue
        part = line.line.names[0]
        description, pieces = found.get(part, (line.line.description, 0))
        found[part] = description, pieces + line.line.pieces
    for part, (description, pieces) in found.items():
        count = f"{pieces} piece{'s' if pieces > 1 else ''}"
        yield {"part": part, "description": f"{description}: {count}", "price": None, "currency": currency}


def written(entries: Sequence[Entry], form: str, name: str | None = None) -> bytes:
    """Return prices as a file of a form, identical for equal prices; `name` is that of the book."""
    content: bytes = PRICE_LISTS.module(form).write(entries, name)
    return content


# CSV ----------------------------------------------------------------------------------------------------------------

SPECIAL = set('",;\t\r\n')
"""Characters that require quotes, with any separator."""


def write_csv(entries: Sequence[Entry], _: str | None = None) -> bytes:
    """Return the rows below a header; text that a spreadsheet would run as a formula gets an apostrophe."""
    names = column_names(entries)
    rows = [names, *([_csv_field(entry.get(name)) for name in names] for entry in entries)]
    return "".join(",".join(row) + "\r\n" for row in rows).encode()


def _csv_field(value: str | int | bool | Decimal | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    text = f"'{value}" if value.lstrip("'").startswith(FORMULA_STARTS) else value
    return '"' + text.replace('"', '""') + '"' if SPECIAL & set(text) else text


# YAML ---------------------------------------------------------------------------------------------------------------
# A line per price; values common to all are at the top.

SHARED = ("currency", "date", "source", "estimate")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/()+-]*(?: [A-Za-z0-9._/()+-]+)*")
_RESERVED = ("null", "true", "false")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def write_yaml(entries: Sequence[Entry], name: str | None = None) -> bytes:
    """Return the book. A description is a comment after its price."""
    shared = {
        key: entries[0][key]
        for key in SHARED
        if entries and all(key in entry and entry[key] == entries[0][key] for entry in entries)
    }
    head = {FORMAT_KEY: FORMAT, "name": name, **shared}
    lines = [f"{key}: {scalar(value)}" for key, value in head.items() if value is not None]
    lines.append("prices:" if entries else "prices: []")
    for entry in entries:
        own = (f"{key}: {scalar(entry[key])}" for key in entry if key not in shared and key != "description")
        comment = "".join(letter if letter.isprintable() else " " for letter in entry.get("description", ""))
        lines.append(f"  - {{{', '.join(own)}}}" + (f" # {comment}" if comment else ""))
    return ("\n".join(lines) + "\n").encode()


def scalar(value: str | int | bool | Decimal | None) -> str:
    """Return a value as YAML on one line."""
    if not isinstance(value, str):
        return write_scalar(value)
    if _DATE.fullmatch(value) or (_PLAIN.fullmatch(value) and value.lower() not in _RESERVED):
        return value
    return quote_double(value)


# workbook -----------------------------------------------------------------------------------------------------------
# A workbook of one sheet, for whoever works in a spreadsheet.

SHEET = "prices"
WIDTHS = {"part": 26, "description": 44, "source": 44}
WIDTH = 14
FONT_SIZE = 11
DIGITS = 15
"""Excel keeps as many of a number (Excel's specifications and limits); one with more is written as text."""
FIRST_DAY = date(1900, 3, 1)
"""Excel takes 1900 for a leap year and knows nothing before it; earlier dates are written as text."""
TEXT, DATE = "@", "yyyy-mm-dd"
"""Formats that keep a spreadsheet from guessing."""


def write_workbook(entries: Sequence[Entry], _: str | None = None) -> bytes:
    """Return the workbook of prices, byte-identical for the same prices."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    from bomgen.output.xlsx.cells import package

    book = Workbook(write_only=True)
    sheet: Any = book.create_sheet(SHEET)
    names = column_names(entries)
    for at, name in enumerate(names, 1):
        sheet.column_dimensions[get_column_letter(at)].width = WIDTHS.get(name, WIDTH)
    sheet.freeze_panes = "B2"
    new_cell = partial(WriteOnlyCell, sheet)
    header = [new_cell(name) for name in names]
    for cell in header:
        cell.font = Font(name="Calibri", bold=True, size=FONT_SIZE)
    sheet.append(header)
    for entry in entries:
        sheet.append([_cell(new_cell, name, entry.get(name)) for name in names])
    return package(book, {})


def _cell(new_cell: Callable[[Any], Any], name: str, value: str | int | bool | Decimal | None) -> Any:
    if isinstance(value, Decimal):
        if len(value.normalize().as_tuple().digits) <= DIGITS:
            return new_cell(int(value) if value == value.to_integral_value() else float(value))
        value = f"{value:f}"
    if not isinstance(value, str):
        return new_cell(value)
    if name in DATES and (day := date.fromisoformat(value)) >= FIRST_DAY:
        cell = new_cell(datetime(day.year, day.month, day.day))
        cell.number_format = DATE
        return cell
    cell = new_cell(value)
    cell.data_type, cell.number_format = "s", TEXT
    cell.quotePrefix = True
    return cell


PRICE_LISTS = Formats(
    {
        "csv": Format(write_csv),
        "xlsx": Format(write_workbook, BINARY=True),
        "yaml": Format(write_yaml, SUFFIXES=(".yml",)),
    }
)
"""The forms of price books that `bomgen prices` writes."""

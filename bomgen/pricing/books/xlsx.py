"""The sheet of a workbook as rows of cells: what Excel computed and shows, never what it would run."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, time, timedelta
from decimal import Context, Decimal
from functools import lru_cache
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

from openpyxl import load_workbook

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.pricing.books.book import KEPT
from bomgen.pricing.books.table import MAX_COLUMNS, Broken, Cell, Value

SHEET = "prices"
"""The sheet that is read; without one of that name the first that is visible."""
VISIBLE = "visible"
MAX_BYTES = 5 * 10**6
MAX_EXPANDED = 20 * 10**6
MAX_ENTRIES = 200
MAX_RATIO = 200
"""Repeated rows are packed to a fiftieth; a bomb, to a thousandth."""
SMALL = 10**6
"""Bytes of an entry that may be packed however well."""
LAST_ROW = 1_048_576
"""Of a sheet (Excel's specifications and limits)."""
SHOWN_DIGITS = Context(prec=15)
"""Excel keeps and shows 15 digits (Excel's specifications and limits); more are noise of binary numbers."""
FORMULA, ERROR = "f", "e"


def rows(content: bytes, file: str) -> Iterator[Sequence[Cell]]:
    """The rows of the visible sheet `prices`, or of the first visible one; marks count its rows and columns.

    Raises PlanErrors for what is no workbook, or too large.
    """
    unpacked(content, file)
    try:
        with warnings.catch_warnings():
            # What openpyxl does not keep of a workbook is nothing to a table of values.
            warnings.simplefilter("ignore")
            yield from _rows(content, file)
    except PlanErrors:
        raise
    except Exception as error:  # openpyxl raises whatever its parts do when XML is not what it expects
        message = "the workbook cannot be read; open it in a spreadsheet program and save it as .xlsx again"
        raise _wrong(file, message, "xlsx") from error


def _rows(content: bytes, file: str) -> Iterator[Sequence[Cell]]:
    values, formulas = _sheet(content, file, True), _sheet(content, file, False)
    for number, (row, written) in enumerate(zip(values.iter_rows(), formulas.iter_rows(), strict=True), 1):
        if number > LAST_ROW:
            raise _wrong(file, f"more than {LAST_ROW} rows; no sheet has so many", "table-limit")
        cells = [
            Cell(_value(cell, of.data_type == FORMULA), Mark(file, number, at))
            for at, (cell, of) in enumerate(zip(row, written, strict=True), 1)
        ]
        beyond = next((cell for cell in cells[MAX_COLUMNS:] if cell.value is not None), None)
        if beyond:
            message = f"a cell beyond column {MAX_COLUMNS}; price lists have at most {MAX_COLUMNS}, remove the rest"
            raise PlanErrors([Problem(beyond.mark, "error", message, "table-limit")])
        yield cells[:MAX_COLUMNS]


def _sheet(content: bytes, file: str, computed: bool) -> Any:
    """The sheet of prices, with what formulas come to or as they are written."""
    book = load_workbook(BytesIO(content), read_only=True, data_only=computed, keep_links=False)
    sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == VISIBLE]
    if not sheets:
        hidden = "every worksheet is hidden; show the one with the prices"
        message = hidden if book.worksheets else "the workbook has no worksheet; put the prices into one"
        raise _wrong(file, message, "xlsx")
    sheet: Any = next((sheet for sheet in sheets if sheet.title.strip().lower() == SHEET), sheets[0])
    sheet.reset_dimensions()
    return sheet


def hidden_sheets(content: bytes) -> tuple[str, ...]:
    """The names of the sheets that nobody sees, and that are not read, of a workbook whose rows were read."""
    book = load_workbook(BytesIO(content), read_only=True, keep_links=False)
    return tuple(sheet.title for sheet in book.worksheets if sheet.sheet_state != VISIBLE)


def _value(cell: Any, formula: bool) -> Value:
    """What a cell shows."""
    value = cell.value
    if cell.data_type == ERROR:
        return Broken(f"the cell shows {value}; fix its formula, or write the value")
    if value is None:
        message = "a formula without a value; save the workbook in a spreadsheet program, or write the value"
        return Broken(message) if formula else None
    if isinstance(value, str):
        return value.replace("\r\n", "\n").strip() or None
    if isinstance(value, bool | date | time):
        return value
    if isinstance(value, timedelta):
        return Broken(f"{value} is a duration; write what the column asks for")
    if not math.isfinite(value):
        return Broken("the number is too large; write the price of one piece")
    return SHOWN_DIGITS.create_decimal(repr(value)) if isinstance(value, int | float) else Decimal(value)


@lru_cache(maxsize=KEPT)
def unpacked(content: bytes, file: str) -> int:
    """The bytes of a package once it is unpacked; kept, because what that costs is asked before it is read.

    Raises PlanErrors for one that is none, or that would take too much room.
    """
    if len(content) > MAX_BYTES:
        raise _wrong(file, f"{len(content)} bytes; a workbook of at most {MAX_BYTES} is read", "xlsx-limit")
    try:
        with ZipFile(BytesIO(content)) as package:
            entries = package.infolist()
            if len(entries) > MAX_ENTRIES:
                message = f"{len(entries)} files in the workbook; at most {MAX_ENTRIES} are read"
                raise _wrong(file, message, "xlsx-limit")
            names = Counter(entry.filename.lower() for entry in entries)
            twice = next((entry.filename for entry in entries if names[entry.filename.lower()] > 1), None)
            if twice:
                message = f"'{twice}' is twice in the workbook; save it as .xlsx in a spreadsheet program"
                raise _wrong(file, message, "xlsx")
            expanded = sum(entry.file_size for entry in entries)
            if expanded > MAX_EXPANDED:
                message = f"{expanded} bytes once it is unpacked; at most {MAX_EXPANDED} are read"
                raise _wrong(file, message, "xlsx-limit")
            for entry in entries:
                if entry.file_size > max(SMALL, MAX_RATIO * entry.compress_size):
                    message = f"'{entry.filename}' is packed to less than 1/{MAX_RATIO}; at most that is unpacked"
                    raise _wrong(file, message, "xlsx-limit")
            for entry in entries:
                head = package.read(entry) if entry.filename.lower().endswith((".xml", ".rels")) else b""
                if b"<!DOCTYPE" in head or b"<!ENTITY" in head or b"\0" in head:
                    message = "a part of the workbook has a document type; save it as .xlsx in a spreadsheet program"
                    raise _wrong(file, message, "xlsx")
            return expanded
    except (BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        message = "not a workbook: no .xlsx package, or protected by a password; save it as .xlsx"
        raise _wrong(file, message, "xlsx") from error


def _wrong(file: str, message: str, rule: str) -> PlanErrors:
    return PlanErrors([Problem(Mark(file, 1, 1), "error", message, rule)])

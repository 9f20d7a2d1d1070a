"""The sheets of a workbook as tables: what a spreadsheet program computed and shows, never what it would run.

calamine reads xlsx, xls and ods. It takes the space of the whole rectangle that cells span, and shows errors and
formulas without a value as empty: `xlsx_scan`, `ods_scan` and `xls_scan` look at what is in the file first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, time
from decimal import Context, Decimal
from functools import lru_cache
from io import BytesIO
from itertools import repeat
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.pricing.books.book import KEPT
from bomgen.reading.cells import Area, Broken, Cell, RawTable, Value
from bomgen.reading.ods_scan import scan_ods
from bomgen.reading.sheet_scan import MAX_COLUMNS, Found
from bomgen.reading.xls_scan import scan_xls
from bomgen.reading.xlsx_scan import scan_xlsx

MAX_BYTES = 5 * 10**6
MAX_EXPANDED = 40 * 10**6
"""20 000 rows of 14 columns in OpenDocument, which takes 150 bytes a cell, three times those of Excel."""
MAX_TAGS = 4 * 10**6
"""Of XML, at the beginning and the end of elements: the four of a cell take about 3 microseconds."""
MAX_TEXT = 20 * 10**6
"""Bytes of texts that stand once in a workbook and in many cells of a sheet."""
MAX_ENTRIES = 200
MAX_RATIO = 200
"""Repeated rows are packed to a fiftieth; a bomb, to a thousandth."""
SMALL = 10**6
"""Bytes of an entry that may be packed however well."""
MAX_CELLS = 4 * 10**6
"""Cells of the rectangle that the cells of a sheet span: three columns down to the last row are fewer."""
SHOWN_DIGITS = Context(prec=15)
"""Excel keeps and shows 15 digits (Excel's specifications and limits); more are noise of binary numbers."""
EXACT = 10**15
"""Whole numbers below it have no digit that is noise."""
COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""What files of Excel 97 begin with."""
UNREADABLE = "the workbook cannot be read; open it in a spreadsheet program and save it as .xlsx again"
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
"""The stream of a workbook that a password protects."""


class Unpacked(NamedTuple):
    """The size of a package once it is unpacked."""

    bytes: int
    tags: int
    """Of its XML, at the beginning and the end of elements."""


def tables(content: bytes, file: str) -> Iterator[RawTable]:
    """Every sheet of a workbook, in its order; marks count rows and columns.

    Raises PlanErrors for what is no workbook, or too large.
    """
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    if content.startswith(COMPOUND):
        if ENCRYPTED in content:
            raise _wrong(file, "a password protects the workbook; save it without one", "workbook")
        if len(content) > MAX_BYTES:
            raise _wrong(file, f"{len(content)} bytes; a workbook of at most {MAX_BYTES} is read", "workbook-limit")
    else:
        unpacked(content, file)
    scanned = _scan(content, file)
    try:
        with CalamineWorkbook.from_filelike(BytesIO(content)) as book:
            for at, about in enumerate(book.sheets_metadata):
                if about.typ == SheetTypeEnum.WorkSheet:
                    hidden = about.visible != SheetVisibleEnum.Visible
                    sheet = book.get_sheet_by_name(about.name)
                    found = scanned.get(about.name, Found()) if isinstance(scanned, Mapping) else scanned[at]
                    yield _table(sheet, file, found, hidden)
    except (CalamineError, ValueError, OSError, IndexError) as error:
        raise _wrong(file, UNREADABLE, "workbook") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a slip in the library, which ends nothing but the reading
            raise
        raise _wrong(file, UNREADABLE, "workbook") from error


def _scan(content: bytes, file: str) -> Mapping[str, Found] | list[Found]:
    """What is in each sheet, by its title, or in the order of sheets.

    Raises PlanErrors for cells that take more room than is read.
    """
    found: Mapping[str, Found] | list[Found]
    try:
        if content.startswith(COMPOUND):
            found = scan_xls(content)
        else:
            with ZipFile(BytesIO(content)) as package:
                names = package.namelist()
                if "xl/workbook.xml" not in names and "content.xml" not in names:
                    raise ValueError("neither xlsx nor ods")
                found = scan_xlsx(package) if "xl/workbook.xml" in names else scan_ods(package)
    except (ValueError, KeyError) as error:
        raise _wrong(file, UNREADABLE, "workbook") from error
    for sheet in found.values() if isinstance(found, Mapping) else found:
        if sheet.beyond:
            raise _beyond(Mark(file, *sheet.beyond))
        if sheet.rows * sheet.columns > MAX_CELLS or sheet.text > MAX_TEXT:
            message = f"a sheet that spans {sheet.rows} rows and {sheet.columns} columns; remove what is far from it"
            if sheet.text > MAX_TEXT:
                message = f"{sheet.text} bytes of text in a sheet; at most {MAX_TEXT} are read"
            raise _wrong(file, message, "workbook-limit")
    return found


def _table(sheet: Any, file: str, found: Found, hidden: bool) -> RawTable:
    """A sheet as calamine read it, with what the scan found in its cells."""
    rows: list[tuple[Cell, ...]] = []
    read = [*sheet.iter_rows()]
    read += [()] * (max(found.cells, default=0) - len(read))
    for number, row in enumerate(read, 1):
        values = [_value(value) for value in row]
        if replaced := found.cells.get(number):
            values += [None] * (max(replaced) - len(values))
            for column, value in replaced.items():
                values[column - 1] = value
        while values and values[-1] is None:
            values.pop()
        if len(values) > MAX_COLUMNS:
            raise _beyond(Mark(file, number, len(values)))
        marks = map(Mark, repeat(file), repeat(number), range(1, len(values) + 1))
        rows.append(tuple(map(Cell, values, marks)))
    while rows and not rows[-1]:
        rows.pop()
    merged = found.merged or tuple(
        Area(top + 1, left + 1, bottom + 1, right + 1)
        for (top, left), (bottom, right) in sheet.merged_cell_ranges or ()
    )
    hidden_rows = _within(found.hidden_rows, len(rows))
    hidden_columns = _within(found.hidden_columns, MAX_COLUMNS)
    return RawTable(sheet.name, tuple(rows), hidden, merged, hidden_rows, hidden_columns)


def _within(ranges: Iterable[range], last: int) -> frozenset[int]:
    """The numbers of some ranges up to the last one that counts."""
    return frozenset(number for each in ranges for number in range(each.start, min(each.stop, last + 1)))


def _value(value: Any) -> Value:
    """What a cell shows."""
    kind = type(value)
    if kind is str:
        return value.replace("\r\n", "\n").strip() or None
    if kind is float:
        if value.is_integer() and abs(value) < EXACT:
            return Decimal(int(value))
        if not math.isfinite(value):
            return Broken("the number is too large; write the price of one piece")
        return SHOWN_DIGITS.create_decimal(repr(value))
    if kind is int:
        return SHOWN_DIGITS.create_decimal(value)
    if isinstance(value, bool | date | time):
        return value
    return Broken(f"{value} is a duration; write what the column asks for")


@lru_cache(maxsize=KEPT)
def unpacked(content: bytes, file: str) -> Unpacked:
    """How large a package is once it is unpacked; kept, because what that costs is asked before it is read.

    Raises PlanErrors for one that is none, or that would take too much room.
    """
    if len(content) > MAX_BYTES:
        raise _wrong(file, f"{len(content)} bytes; a workbook of at most {MAX_BYTES} is read", "workbook-limit")
    try:
        with ZipFile(BytesIO(content)) as package:
            entries = package.infolist()
            if len(entries) > MAX_ENTRIES:
                message = f"{len(entries)} files in the workbook; at most {MAX_ENTRIES} are read"
                raise _wrong(file, message, "workbook-limit")
            names = Counter(entry.filename.lower() for entry in entries)
            twice = next((entry.filename for entry in entries if names[entry.filename.lower()] > 1), None)
            if twice:
                message = f"'{twice}' is twice in the workbook; save it as .xlsx in a spreadsheet program"
                raise _wrong(file, message, "workbook")
            expanded = sum(entry.file_size for entry in entries)
            if expanded > MAX_EXPANDED:
                message = f"{expanded} bytes once it is unpacked; at most {MAX_EXPANDED} are read"
                raise _wrong(file, message, "workbook-limit")
            for entry in entries:
                if entry.file_size > max(SMALL, MAX_RATIO * entry.compress_size):
                    message = f"'{entry.filename}' is packed to less than 1/{MAX_RATIO}; at most that is unpacked"
                    raise _wrong(file, message, "workbook-limit")
            tags = 0
            for entry in entries:
                part = package.read(entry) if entry.filename.lower().endswith((".xml", ".rels")) else b""
                tags += part.count(b"<")
                if tags > MAX_TAGS:
                    message = f"more than {MAX_TAGS} tags in the workbook; at most so many are read"
                    raise _wrong(file, message, "workbook-limit")
                if b"<!DOCTYPE" in part or b"<!ENTITY" in part or b"\0" in part:
                    message = "a part of the workbook has a document type; save it as .xlsx in a spreadsheet program"
                    raise _wrong(file, message, "workbook")
            return Unpacked(expanded, tags)
    except (BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        message = "not a workbook: no .xlsx package, or protected by a password; save it as .xlsx"
        raise _wrong(file, message, "workbook") from error


def _beyond(mark: Mark) -> PlanErrors:
    message = f"a cell beyond column {MAX_COLUMNS}; tables have at most {MAX_COLUMNS}, remove the rest"
    return PlanErrors([Problem(mark, "error", message, "table-limit")])


def _wrong(file: str, message: str, rule: str) -> PlanErrors:
    return PlanErrors([Problem(Mark(file, 1, 1), "error", message, rule)])

"""The sheets of a workbook as tables: computed and displayed values, never macros or live formulas.

calamine reads xlsx and ods here, and xls in a separate process. It allocates the whole rectangle of cells, and returns
errors and formulas without a value as empty: `scans` examines the file first. A size that a file states is never
trusted: the unpacked content is counted, and packed again.
"""

from __future__ import annotations

import math
import re
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date, time
from decimal import Context, Decimal
from functools import lru_cache
from io import BytesIO
from itertools import repeat
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from bomgen.core.diagnostics import PlanErrors, error_at
from bomgen.core.provenance import Mark
from bomgen.pricing.price_book import KEPT
from bomgen.reading.cells import MAX_CELLS, MAX_COLUMNS, Area, Broken, RawTable, TableCell, Value, too_many_cells
from bomgen.reading.scans import WORKBOOK, Scan, scan_ods, scan_xlsx, shown_error

MAX_BYTES = 5 * 10**6
MAX_EXPANDED = 40 * 10**6
"""Maximum unpacked size: 20,000 rows of 14 columns in OpenDocument, at 150 bytes per cell, three times Excel's."""
MAX_TAGS = 4 * 10**6
"""Maximum number of XML tags; the four of a cell take about 3 microseconds."""
MAX_TEXT = 20 * 10**6
"""Maximum bytes of shared texts, counted per cell that shows them."""
MAX_ENTRIES = 200
MAX_RATIO = 200
"""Maximum compression ratio: repeated rows reach 50, a bomb 1000."""
SMALL = 10**6
"""Size of an entry below which any compression ratio is accepted."""
MAX_SPAN = 4 * 10**6
"""Maximum number of cells in the bounding rectangles of all sheets."""
MAX_SHEETS = 200
METHODS = (ZIP_STORED, ZIP_DEFLATED)
"""Accepted compression methods; Python unpacks others without a limit."""
READ = (".xml", ".rels", "mimetype")
"""Suffixes of the parts that are read, in lower case; images and macros stay packed."""
LEAST_TEXT = len("<si/>")
SHOWN_DIGITS = Context(prec=15)
"""Excel keeps and shows 15 digits (Excel specifications and limits); more are binary rounding noise."""
EXACT = 10**15
"""Integers below it have no rounding noise."""
_STATED = re.compile(rb"uniqueCount\s*=\s*[\"'][\s+]*([0-9]+)")
"""The stated number of shared strings, for which the library reserves memory."""
UNREADABLE = "the workbook cannot be read; open it in a spreadsheet program and save it as .xlsx again"


class Unpacked(NamedTuple):
    """The size of an unpacked package."""

    bytes: int
    tags: int


def tables(content: bytes, file: str) -> Iterator[RawTable]:
    """Return every sheet of a workbook; the library gets a package of counted content only. Raises PlanErrors."""
    parts = unpack(content, file)
    try:
        scans = scan_xlsx(parts) if WORKBOOK in parts else scan_ods(parts["content.xml"])
    except (ValueError, KeyError) as error:
        raise error_at(file, UNREADABLE, "workbook") from error
    check_sheets(file, scans.values())
    stream = BytesIO()
    with ZipFile(stream, "w", ZIP_STORED) as package:
        for name, part in parts.items():
            package.writestr(name, part)
    return read_sheets(stream.getvalue(), file, lambda _, title: scans.get(title, Scan()))


def read_sheets(content: bytes, file: str, found_in: Callable[[int, str], Scan]) -> Iterator[RawTable]:
    """Yield every sheet of a workbook, with its findings by index and title. Raises PlanErrors for unreadable files."""
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    left = MAX_CELLS
    try:
        with CalamineWorkbook.from_filelike(BytesIO(content)) as book:
            for at, about in enumerate(book.sheets_metadata):
                if about.typ == SheetTypeEnum.WorkSheet:
                    hidden = about.visible != SheetVisibleEnum.Visible
                    table = _table(book.get_sheet_by_name(about.name), file, found_in(at, about.name), hidden, left)
                    left -= sum(map(len, table.rows))
                    yield table
    except (CalamineError, ValueError, OSError, IndexError) as error:
        raise error_at(file, UNREADABLE, "workbook") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a bug of the library, which must not end more than the reading
            raise
        raise error_at(file, UNREADABLE, "workbook") from error


def check_sheets(file: str, sheets: Collection[Scan]) -> None:
    """Raise PlanErrors for sheets that exceed the limits."""
    if len(sheets) > MAX_SHEETS + MAX_ENTRIES:
        raise error_at(file, f"more than {MAX_SHEETS} sheets; save those with prices alone", "workbook-limit")
    cells = text = 0
    for sheet in sheets:
        if sheet.beyond:
            raise _beyond(Mark(file, *sheet.beyond))
        cells, text = cells + sheet.rows * sheet.columns, text + sheet.text
        if cells > MAX_SPAN or text > MAX_TEXT:
            message = f"a sheet that spans {sheet.rows} rows and {sheet.columns} columns; remove what is far from it"
            if text > MAX_TEXT:
                message = f"{text} bytes of text in a sheet; at most {MAX_TEXT} are read"
            raise error_at(file, message, "workbook-limit")


def _table(sheet: Any, file: str, scan: Scan, hidden: bool, most: int) -> RawTable:
    rows: list[tuple[TableCell, ...]] = []
    read = [*sheet.iter_rows()]
    read += [()] * (max(scan.cells, default=0) - len(read))
    for number, row in enumerate(read, 1):
        values = [_value(value) for value in row]
        if replaced := scan.cells.get(number):
            values += [None] * (max(replaced) - len(values))
            for column, value in replaced.items():
                values[column - 1] = value
        while values and values[-1] is None:
            values.pop()
        if len(values) > MAX_COLUMNS:
            raise _beyond(Mark(file, number, len(values)))
        most -= len(values)
        if most < 0:
            raise too_many_cells(Mark(file, number, 1))
        marks = map(Mark, repeat(file), repeat(number), range(1, len(values) + 1))
        rows.append(tuple(map(TableCell, values, marks)))
    while rows and not rows[-1]:
        rows.pop()
    merged = scan.merged or tuple(
        Area(top + 1, left + 1, bottom + 1, right + 1)
        for (top, left), (bottom, right) in sheet.merged_cell_ranges or ()
    )
    hidden_rows = _within(scan.hidden_rows, len(rows))
    hidden_columns = _within(scan.hidden_columns, MAX_COLUMNS)
    return RawTable(sheet.name, tuple(rows), hidden, merged, hidden_rows, hidden_columns)


def _within(ranges: Iterable[range], last: int) -> frozenset[int]:
    return frozenset(number for span in ranges for number in range(span.start, min(span.stop, last + 1)))


def _value(value: Any) -> Value:
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
    return Broken(f"{value} is a duration; write a valid value for the column")


@lru_cache(maxsize=KEPT)
def unpacked(content: bytes, file: str) -> Unpacked:
    """Return the unpacked size of a package, cached for the second reading. Raises PlanErrors as `unpack`."""
    parts = unpack(content, file)
    return Unpacked(sum(map(len, parts.values())), sum(part.count(b"<") for part in parts.values()))


def unpack(content: bytes, file: str) -> dict[str, bytes]:
    """Return the parts of a package that are read, up to the limit. Raises PlanErrors for other and larger files."""
    if len(content) > MAX_BYTES:
        raise error_at(file, f"{len(content)} bytes; a workbook of at most {MAX_BYTES} is read", "workbook-limit")
    try:
        with ZipFile(BytesIO(content)) as package:
            entries = package.infolist()
            _check_entries(entries, file)
            parts = dict[str, bytes]()
            left, tags = MAX_EXPANDED, 0
            for entry in entries:
                if not entry.filename.lower().endswith(READ):
                    continue
                if entry.compress_type not in METHODS:
                    raise NotImplementedError
                with package.open(entry) as stream:
                    part = stream.read(left + 1)
                left -= len(part)
                tags += part.count(b"<")
                if left < 0:
                    message = f"more than {MAX_EXPANDED} bytes once it is unpacked; at most so many are read"
                    raise error_at(file, message, "workbook-limit")
                if tags > MAX_TAGS:
                    message = f"more than {MAX_TAGS} tags in the workbook; at most so many are read"
                    raise error_at(file, message, "workbook-limit")
                _check_part(entry.filename, part, file)
                parts[entry.filename] = part
            return parts
    except (BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError, zlib.error) as error:
        message = "not a workbook: no .xlsx package, or protected by a password; save it as .xlsx"
        raise error_at(file, message, "workbook") from error


def _check_entries(entries: Sequence[ZipInfo], file: str) -> None:
    if len(entries) > MAX_ENTRIES:
        raise error_at(file, f"{len(entries)} files in the workbook; at most {MAX_ENTRIES} are read", "workbook-limit")
    names = Counter(entry.filename.lower() for entry in entries)
    twice = next((entry.filename for entry in entries if names[entry.filename.lower()] > 1), None)
    if twice:
        message = f"'{twice}' is twice in the workbook; save it as .xlsx in a spreadsheet program"
        raise error_at(file, message, "workbook")
    expanded = sum(entry.file_size for entry in entries)
    if expanded > MAX_EXPANDED:
        raise error_at(file, f"{expanded} bytes once it is unpacked; at most {MAX_EXPANDED} are read", "workbook-limit")
    for entry in entries:
        if entry.file_size > max(SMALL, MAX_RATIO * entry.compress_size):
            message = f"'{entry.filename}' is packed to less than 1/{MAX_RATIO}; at most that is unpacked"
            raise error_at(file, message, "workbook-limit")


def _check_part(name: str, part: bytes, file: str) -> None:
    if b"\0" in part:
        message = f"'{name}' is not text in UTF-8; save the workbook as .xlsx in a spreadsheet program"
        raise error_at(file, message, "workbook")
    if b"<!DOCTYPE" in part or b"<!ENTITY" in part:
        message = "a part of the workbook has a document type; save it as .xlsx in a spreadsheet program"
        raise error_at(file, message, "workbook")
    for stated in map(int, _STATED.findall(part)):
        if stated > max(SMALL, len(part) // LEAST_TEXT):
            message = f"'{name}' states {stated} texts but is too short for them; save the workbook again"
            raise error_at(file, f"{message} in a spreadsheet program", "workbook")


def _beyond(mark: Mark) -> PlanErrors:
    message = f"a cell beyond column {MAX_COLUMNS}; tables have at most {MAX_COLUMNS}, remove the rest"
    return error_at(mark, message, "table-limit")


# Excel 97 -------------------------------------------------------------------------------------------------------------
# Records of an Excel 97 workbook that calamine does not return: extent of the cells, errors, hidden rows and columns.
#
# File formats: [MS-CFB] and [MS-XLS], Microsoft Open Specifications. Only the parts needed to find the cells are read.

STREAMS = ("Workbook", "Book")
ENTRY, INT, SHORT, KIND = 128, 4, 2, 4
"""Bytes of a directory entry of a compound file, of numbers, and of a record header."""
SECTOR_SIZES = (512, 4096)
IN_HEADER = 109
"""Sectors of the sector table that the header lists: those of 7 MB, more than a file may have."""
LAST_SECTOR = 0xFFFFFFFA
"""First number that does not denote a sector."""
SMALL_97 = 4096
"""Size below which a stream is in small sectors."""
SMALL_SECTOR = 64
SECTORS, TABLES, FOLDER, SMALL_TABLE, MORE = (0x1E, 0x4C, 0x30, 0x3C, 0x44)
"""Offsets in the header, the first sector: sector size, sector table, directory, small sectors, further table."""
NAME_LENGTH, START = 0x40, 0x74
"""Offsets of the name length and of the stream start in a directory entry."""
SHEET, BEGIN, MANY, TRUTH = 0x85, 0x809, 0xBD, 0x205
SIZE, WIDE, LAST_ROW, LAST_COLUMN = 0x200, 12, 65536, 256
"""The record of the size of a sheet, its minimum length in Excel 97, and the maximum size."""
ROW, COLUMNS = 0x208, 0x7D
"""The records of a row and of column widths, with their minimum lengths, and the offsets of their hidden flags."""
ROW_LENGTH, COLUMNS_LENGTH, FLAGS_OF_ROW, FLAGS_OF_COLUMNS, ROW_HIDDEN, COLUMNS_HIDDEN = 16, 10, 12, 8, 0x20, 0x01
FORMULAS = (0x06, 0x206, 0x406)
CELLS = (0x203, 0x27E, MANY, 0x204, 0xFD, TRUTH, 0xD6, *FORMULAS)
"""Records of cells: numbers, texts, booleans and formulas."""
IS_ERROR, RESULT, MARK, NO_NUMBER = 2, 6, slice(12, 14), b"\xff\xff"
"""The type of an error result, the offset of a result, and the mark of a result other than a number."""
ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}


def _scan_97(stream: bytes) -> list[Scan]:
    """Return the findings of each sheet, in order."""
    scans: dict[int, Scan] = {}
    broken: dict[int, dict[int, dict[int, Value]]] = {}
    hidden_rows, hidden_columns = dict[int, list[range]](), dict[int, list[range]]()
    order: list[int] = []
    begin = 0
    for at, kind, data in _records(stream):
        if kind == SHEET and len(data) >= INT:
            order.append(struct.unpack_from("<I", data)[0])
        elif kind == SIZE and len(data) >= WIDE:
            # The library reserves memory for the stated size of a sheet.
            first, rows, left, columns = struct.unpack_from("<IIHH", data)
            if rows > LAST_ROW or columns > LAST_COLUMN or first > rows or left > columns:
                raise ValueError("a sheet larger than any")
        elif kind == BEGIN:
            begin = at
            scans[begin] = Scan()
        elif kind == ROW and len(data) >= ROW_LENGTH and data[FLAGS_OF_ROW] & ROW_HIDDEN:
            row = struct.unpack_from("<H", data)[0] + 1
            hidden_rows.setdefault(begin, []).append(range(row, row + 1))
        elif kind == COLUMNS and len(data) >= COLUMNS_LENGTH and data[FLAGS_OF_COLUMNS] & COLUMNS_HIDDEN:
            left, right = struct.unpack_from("<HH", data)
            hidden_columns.setdefault(begin, []).append(range(left + 1, right + 2))
        elif kind in CELLS and len(data) >= 2 * SHORT:
            row, column = (number + 1 for number in struct.unpack_from("<HH", data))
            last = struct.unpack_from("<H", data, len(data) - SHORT)[0] + 1 if kind == MANY else column
            scan = scans.get(begin, Scan())
            beyond = scan.beyond or ((row, last) if last > MAX_COLUMNS else None)
            if error := _error(kind, data):
                broken.setdefault(begin, {}).setdefault(row, {})[column] = error
            scans[begin] = scan._replace(rows=max(scan.rows, row), columns=max(scan.columns, last), beyond=beyond)
    return [
        scans.get(offset, Scan())._replace(
            cells=broken.get(offset, {}),
            hidden_rows=tuple(hidden_rows.get(offset, ())),
            hidden_columns=tuple(hidden_columns.get(offset, ())),
        )
        for offset in order
    ]


def _error(kind: int, data: bytes) -> Value:
    code: int | None = None
    if kind == TRUTH and data[RESULT + 1 : RESULT + 2] == b"\x01":
        code = data[RESULT]
    elif kind in FORMULAS and data[MARK] == NO_NUMBER and data[RESULT] == IS_ERROR:
        code = data[RESULT + 2]
    return None if code is None else shown_error(ERRORS.get(code, ""))


def _records(stream: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at + KIND <= len(stream):
        kind, length = struct.unpack_from("<HH", stream, at)
        yield at, kind, stream[at + KIND : at + KIND + length]
        at += KIND + length


def _streams(content: bytes) -> Iterator[bytes]:
    size = 1 << struct.unpack_from("<H", content, SECTORS)[0]
    if size not in SECTOR_SIZES or struct.unpack_from("<I", content, MORE)[0] < LAST_SECTOR:
        raise ValueError("sectors of no size, or more than the file has")
    table: list[int] = []
    for sector in struct.unpack_from(f"<{IN_HEADER}I", content, TABLES):
        if sector < LAST_SECTOR and size + (sector + 1) * size <= len(content):
            table += struct.unpack_from(f"<{size // INT}I", content, size + sector * size)
    sectors = content[size:]
    folder = _chain(sectors, size, table, struct.unpack_from("<I", content, FOLDER)[0])
    if len(content) % size or len(folder) % ENTRY:
        raise ValueError("a sector that is cut short")
    small_bytes = _chain(sectors, size, table, struct.unpack_from("<I", content, SMALL_TABLE)[0])
    small_table = [sector for (sector,) in struct.iter_unpack("<I", small_bytes)]
    small_sectors = _chain(sectors, size, table, struct.unpack_from("<I", folder, START)[0])
    for at in range(0, len(folder) - ENTRY + 1, ENTRY):
        length = struct.unpack_from("<H", folder, at + NAME_LENGTH)[0]
        name = folder[at : at + max(length - SHORT, 0)].decode("utf-16-le", "replace")
        start, count = struct.unpack_from("<II", folder, at + START)
        if name in STREAMS and count < SMALL_97:
            yield _chain(small_sectors, SMALL_SECTOR, small_table, start)[:count]
        elif name in STREAMS:
            yield _chain(sectors, size, table, start)[:count]


def _chain(sectors: bytes, size: int, table: list[int], sector: int) -> bytes:
    """Return the bytes of a chain of sectors. Raises ValueError for a circle, which the library would never leave."""
    pieces, seen = list[bytes](), set[int]()
    while sector < len(table):
        if sector in seen:
            raise ValueError("sectors in a circle")
        seen.add(sector)
        pieces.append(sectors[sector * size : (sector + 1) * size])
        sector = table[sector]
    return b"".join(pieces)


ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


def read_workbook_97(content: bytes, file: str) -> tuple[RawTable, ...]:
    """Return every sheet of a workbook, in its order. Raises PlanErrors for an invalid or too large file."""
    if ENCRYPTED in content:
        raise error_at(file, "a password protects the workbook; save it without one", "workbook")
    if len(content) > MAX_BYTES:
        raise error_at(file, f"{len(content)} bytes; a workbook of at most {MAX_BYTES} is read", "workbook-limit")
    try:
        scanned = [scan for stream in _streams(content) for scan in _scan_97(stream)]
    except (ValueError, struct.error, IndexError) as error:
        raise error_at(file, UNREADABLE, "workbook") from error
    check_sheets(file, scanned)
    return tuple(read_sheets(content, file, lambda at, _: scanned[at] if at < len(scanned) else Scan()))

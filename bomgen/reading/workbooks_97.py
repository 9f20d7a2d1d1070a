"""Excel 97 workbooks: their sheets by calamine, and what calamine does not return: errors and hidden rows.

Their format is not XML, so that the scan of other workbooks cannot serve.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from bomgen.reading.cells import MAX_COLUMNS, RawTable, Value
from bomgen.reading.sheet_scan import Found, shown_error
from bomgen.reading.workbooks import MAX_BYTES, UNREADABLE, check_sheets, read_sheets, wrong

# xls scan -----------------------------------------------------------------------------------------------------------
# Records of an Excel 97 workbook that calamine does not return: extent of the cells, and errors.
#
# File formats: [MS-CFB] and [MS-XLS], Microsoft Open Specifications. Only the parts needed to find the cells are read.

STREAMS = ("Workbook", "Book")
ENTRY, INT, SHORT, KIND = 128, 4, 2, 4
"""Bytes of a directory entry of a compound file, of numbers, and of a record header."""
IN_HEADER = 109
"""Sectors of the sector table that the header lists."""
LAST_SECTOR = 0xFFFFFFFA
"""First number that does not denote a sector."""
SMALL = 4096
"""Size below which a stream is in small sectors of 64 bytes."""
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


def scan_xls(content: bytes) -> list[Found]:
    """Return the findings of each sheet of an Excel 97 workbook, in order. Raises ValueError for other files."""
    try:
        streams = [*_streams(content)]
        if not streams:
            raise ValueError("no workbook")
        return [found for stream in streams for found in _scan(stream)]
    except (struct.error, IndexError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _scan(stream: bytes) -> list[Found]:
    found: dict[int, Found] = {}
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
            found[begin] = Found()
        elif kind == ROW and len(data) >= ROW_LENGTH and data[FLAGS_OF_ROW] & ROW_HIDDEN:
            row = struct.unpack_from("<H", data)[0] + 1
            hidden_rows.setdefault(begin, []).append(range(row, row + 1))
        elif kind == COLUMNS and len(data) >= COLUMNS_LENGTH and data[FLAGS_OF_COLUMNS] & COLUMNS_HIDDEN:
            left, right = struct.unpack_from("<HH", data)
            hidden_columns.setdefault(begin, []).append(range(left + 1, right + 2))
        elif kind in CELLS and len(data) >= 2 * SHORT:
            row, column = (number + 1 for number in struct.unpack_from("<HH", data))
            last = struct.unpack_from("<H", data, len(data) - SHORT)[0] + 1 if kind == MANY else column
            each = found.get(begin, Found())
            beyond = each.beyond or ((row, last) if last > MAX_COLUMNS else None)
            if error := _error(kind, data):
                broken.setdefault(begin, {}).setdefault(row, {})[column] = error
            found[begin] = each._replace(rows=max(each.rows, row), columns=max(each.columns, last), beyond=beyond)
    return [
        found.get(place, Found())._replace(
            cells=broken.get(place, {}),
            hidden_rows=tuple(hidden_rows.get(place, ())),
            hidden_columns=tuple(hidden_columns.get(place, ())),
        )
        for place in order
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
    if not SMALL_SECTOR < size <= SMALL:
        raise ValueError("sectors of no size")
    tables = [*struct.unpack_from(f"<{IN_HEADER}I", content, TABLES)]
    more = struct.unpack_from("<I", content, MORE)[0]
    seen: set[int] = set()
    while more < LAST_SECTOR:
        _see(more, seen)
        *numbers, more = struct.unpack_from(f"<{size // INT}I", content, size + more * size)
        tables += numbers
    table: list[int] = []
    for sector in tables:
        if sector < LAST_SECTOR and size + (sector + 1) * size <= len(content):
            table += struct.unpack_from(f"<{size // INT}I", content, size + sector * size)
    folder = _chain(content, size, size, table, struct.unpack_from("<I", content, FOLDER)[0])
    if len(content) % size or len(folder) % ENTRY:
        raise ValueError("a sector that is cut short")
    small_bytes = _chain(content, size, size, table, struct.unpack_from("<I", content, SMALL_TABLE)[0])
    small = [*struct.unpack(f"<{len(small_bytes) // INT}I", small_bytes[: len(small_bytes) // INT * INT])]
    root = _chain(content, size, size, table, struct.unpack_from("<I", folder, START)[0])
    for at in range(0, len(folder) - ENTRY + 1, ENTRY):
        length = struct.unpack_from("<H", folder, at + NAME_LENGTH)[0]
        name = folder[at : at + max(length - SHORT, 0)].decode("utf-16-le", "replace")
        start, count = struct.unpack_from("<II", folder, at + START)
        if name in STREAMS:
            small_stream = count < SMALL
            stored, offset, length = (root, 0, SMALL_SECTOR) if small_stream else (content, size, size)
            yield _chain(stored, offset, length, small if small_stream else table, start)[:count]


def _chain(content: bytes, offset: int, size: int, table: list[int], sector: int) -> bytes:
    """Return the bytes of a chain of sectors. Raises ValueError for a circular one."""
    pieces: list[bytes] = []
    seen: set[int] = set()
    while sector < len(table):
        _see(sector, seen)
        pieces.append(content[offset + sector * size : offset + (sector + 1) * size])
        sector = table[sector]
    return b"".join(pieces)


def _see(sector: int, seen: set[int]) -> None:
    """Add a sector to its chain. Raises ValueError for a repeated one, which the library would follow forever."""
    if sector in seen:
        raise ValueError("sectors in a circle")
    seen.add(sector)


# workbooks 97 -------------------------------------------------------------------------------------------------------

ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


def read_workbook_97(content: bytes, file: str) -> tuple[RawTable, ...]:
    """Return every sheet of a workbook, in its order. Raises PlanErrors for an invalid or too large file."""
    if ENCRYPTED in content:
        raise wrong(file, "a password protects the workbook; save it without one", "workbook")
    if len(content) > MAX_BYTES:
        raise wrong(file, f"{len(content)} bytes; a workbook of at most {MAX_BYTES} is read", "workbook-limit")
    try:
        scanned = scan_xls(content)
    except ValueError as error:
        raise wrong(file, UNREADABLE, "workbook") from error
    check_sheets(file, scanned)
    return tuple(read_sheets(content, file, lambda at, _: scanned[at] if at < len(scanned) else Found()))

"""Workbooks of Excel 97: their sheets by calamine, and what calamine does not give."""

from __future__ import annotations

from bomgen.reading.cells import RawTable
from bomgen.reading.sheet_scan import Found
from bomgen.reading.workbooks import MAX_BYTES, UNREADABLE, check_sheets, read_sheets, wrong
from bomgen.reading.xls_scan import scan_xls

ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
"""The stream of a workbook that a password protects."""


def read_workbook_97(content: bytes, file: str) -> tuple[RawTable, ...]:
    """Every sheet of a workbook, in its order. Raises PlanErrors for what is no workbook, or too large."""
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

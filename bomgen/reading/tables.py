"""The tables in a file that somebody sent, whatever program wrote it: workbooks, separated text, PDF."""

from __future__ import annotations

from pathlib import PurePath

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.reading.apart import XLS, read_apart
from bomgen.reading.cells import RawTable
from bomgen.reading.separated import decode_text, rows

WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
"""The suffixes of workbooks that are read."""
TEXTS = (".csv", ".tsv", ".txt")
OTHERS = (".xlsb", ".numbers", ".et", ".pdf", ".docx", ".doc")
"""Lists come as these, too, and none is read."""
PACKAGE, COMPOUND, PDF = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"%PDF-"
"""What a zip archive, a file of Excel 97 and a PDF begin with."""
HTML = ("<!doctype html", "<html", "<table")
"""Some programs call a web page `.xls`."""
HEAD = 1000
"""Characters in which a web page says what it is."""


def read_tables(content: bytes, file: str) -> tuple[RawTable, ...]:
    """Every sheet of an xlsx, xls or ods workbook, or the one table of a text in any encoding, with any separator.

    What a file is its content says, not the suffix of its name `file`, which marks carry: `.xls` is often text with
    tabs. Raises PlanErrors for what is none of these, for what is too large, and for quotes that do not match.
    """
    suffix = PurePath(file).suffix.lower()
    if suffix in OTHERS or content.startswith(PDF):
        message = f"'{suffix}' is not a format of tables; save it as .xlsx, .ods or .csv"
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "table")])
    if content.startswith(COMPOUND):
        return read_apart(XLS, content, file)
    if content.startswith(PACKAGE) or suffix in WORKBOOKS[:2] or suffix == WORKBOOKS[-1]:
        from bomgen.reading import workbooks

        return tuple(workbooks.tables(content, file))
    text, _ = decode_text(content, file)
    if any(mark in text[:HEAD].lower() for mark in HTML):
        message = "this is a web page, whatever its suffix; open it in a spreadsheet program and save it as .xlsx"
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "table")])
    return (RawTable("", tuple(rows(text, file))),)

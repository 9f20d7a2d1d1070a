"""The kinds of file that a price book may be, by suffix: YAML, text with separators, or the sheet of a workbook."""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePath

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.core.yaml_source import Source, decoded, read
from bomgen.pricing.books.book import KEPT
from bomgen.reading.cells import RawTable
from bomgen.reading.price_table import source_of
from bomgen.reading.tables import OTHERS, TEXTS, WORKBOOKS, read_tables

SHEET = "prices"
"""The sheet that is read; without one of that name the first that is visible."""


def open_book(content: bytes, file: str) -> Source:
    """The data of a price book, with marks; `file` is its name, by whose suffix it is read.

    Raises PlanErrors when the file is not what its suffix says, or of a kind that is not read.
    """
    if not is_table(file):
        return read(decoded(content, file), file)
    tables = _tables(content, file)
    seen = [table for table in tables if not table.hidden]
    if not seen:
        hidden = "every worksheet is hidden; show the one with the prices"
        message = hidden if tables else "the workbook has no worksheet; put the prices into one"
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "workbook")])
    table = next((table for table in seen if table.name.strip().lower() == SHEET), seen[0])
    return source_of(table.rows, file)


def is_table(file: str) -> bool:
    """Whether a file is a table by the suffix of its name; it is YAML otherwise."""
    return PurePath(file).suffix.lower() in (*WORKBOOKS, *TEXTS, *OTHERS)


def is_text(file: str) -> bool:
    """Whether the lines of a file can be shown, by the suffix of its name."""
    return PurePath(file).suffix.lower() not in (*WORKBOOKS, *OTHERS)


def hidden_sheets(content: bytes, file: str) -> tuple[str, ...]:
    """The names of the sheets that nobody sees, and that are not read."""
    return tuple(table.name for table in _tables(content, file) if table.hidden) if is_table(file) else ()


@lru_cache(maxsize=KEPT)
def _tables(content: bytes, file: str) -> tuple[RawTable, ...]:
    return read_tables(content, file)

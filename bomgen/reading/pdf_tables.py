"""The tables of a PDF, by pdfplumber, which is an extra: only bills are read from PDFs."""

from __future__ import annotations

import io
from collections.abc import Sequence

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.reading.cells import Cell, RawTable
from bomgen.reading.tables import PDF

MAX_PAGES = 200
"""Pages of a bill at most."""


def is_pdf(content: bytes) -> bool:
    """Whether the bytes of a file are a PDF."""
    return content.startswith(PDF)


def read_pdf(content: bytes, file: str) -> tuple[RawTable, ...]:
    """The tables of all pages as one; the line of a mark is the number of its row from the first page on.

    Only tables with ruled lines are read: without them a text that wraps in its cell looks like several rows.
    Raises PlanErrors where pdfplumber is not installed, for a PDF that is broken, too long, or without such a table.
    """
    try:
        import pdfplumber
    except ImportError:
        message = (
            "to read a PDF install the extra: pip install 'bomgen[pdf-reading]'; or save the bill as .xlsx or .csv"
        )
        raise _problem(file, message) from None
    try:
        with pdfplumber.open(io.BytesIO(content)) as document:
            if len(document.pages) > MAX_PAGES:
                raise _problem(file, f"more than {MAX_PAGES} pages; give the pages of the bill alone")
            rows = [row for page in document.pages for table in page.extract_tables() for row in table]
            is_scan = not any(cell for row in rows for cell in row) and not any(page.chars for page in document.pages)
    except PlanErrors:
        raise
    except Exception as error:
        # What is wrong with a PDF comes as errors of many kinds, from three libraries.
        raise _problem(
            file, f"not a PDF that can be read ({type(error).__name__}); save the bill as .xlsx or .csv"
        ) from None
    if is_scan:
        raise _problem(file, "the PDF has no text, as a scan has none; save the bill as .xlsx or .csv")
    if not rows:
        message = "no table in the PDF has lines around its cells, by which it is read; save the bill as .xlsx or .csv"
        raise _problem(file, message)
    table = tuple(_cells(row, line, file) for line, row in enumerate(rows, 1))
    return (RawTable("", table),)


def _cells(row: Sequence[str | None], line: int, file: str) -> tuple[Cell, ...]:
    return tuple(Cell(" ".join((text or "").split()), Mark(file, line, at)) for at, text in enumerate(row, 1))


def _problem(file: str, message: str) -> PlanErrors:
    return PlanErrors([Problem(Mark(file, 1, 1), "error", message, "pdf")])

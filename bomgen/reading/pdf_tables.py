"""The tables of a PDF, by pdfplumber, which is an extra: only bills are read from PDFs."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.reading.cells import Cell, RawTable
from bomgen.reading.tables import PDF

MAX_PAGES = 200
"""Pages of a bill at most."""
_GAP = re.compile(r"\s{2,}")
"""What stands between columns of text without lines."""


def is_pdf(content: bytes) -> bool:
    """Whether the bytes of a file are a PDF."""
    return content.startswith(PDF)


def read_pdf(content: bytes, file: str) -> tuple[RawTable, ...]:
    """The tables of all pages as one; the line of a mark is the number of its row from the first page on.

    Raises PlanErrors where pdfplumber is not installed, for a PDF that is broken or too long, and for one without text.
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
            rows = [row for page in document.pages for row in _rows(page)]
    except PlanErrors:
        raise
    except Exception as error:
        # What is wrong with a PDF comes as errors of many kinds, from three libraries.
        raise _problem(
            file, f"not a PDF that can be read ({type(error).__name__}); save the bill as .xlsx or .csv"
        ) from None
    if not any(cell for row in rows for cell in row):
        raise _problem(file, "the PDF has no text, as a scan has none; save the bill as .xlsx or .csv")
    table = tuple(_cells(row, line, file) for line, row in enumerate(rows, 1))
    return (RawTable("", table),)


def _rows(page: Any) -> Iterator[Sequence[str | None]]:
    """The rows of the tables of a page; without lines around cells those of its text."""
    tables = page.extract_tables()
    if tables:
        for table in tables:
            yield from table
        return
    for line in (page.extract_text(layout=True) or "").splitlines():
        if line.strip():
            yield _GAP.split(line.strip())


def _cells(row: Sequence[str | None], line: int, file: str) -> tuple[Cell, ...]:
    return tuple(Cell(" ".join((text or "").split()), Mark(file, line, at)) for at, text in enumerate(row, 1))


def _problem(file: str, message: str) -> PlanErrors:
    return PlanErrors([Problem(Mark(file, 1, 1), "error", message, "pdf")])

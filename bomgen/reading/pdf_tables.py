"""The tables of a PDF, by pdfplumber, which is an extra: only bills are read from PDFs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib.util import find_spec

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.reading.apart import PDF, read_apart
from bomgen.reading.cells import Cell, RawTable

SIGNATURE = b"%PDF-"
"""What a PDF begins with."""
MAX_PAGES = 100
"""Pages of a bill at most."""
MAX_EDGES = 20_000
"""Lines and edges of rectangles on a page: 50 columns and 100 rows have as many where each cell has its own."""


def is_pdf(content: bytes) -> bool:
    """Whether the bytes of a file are a PDF."""
    return content.startswith(SIGNATURE)


def read_pdf(content: bytes, file: str) -> tuple[RawTable, ...]:
    """The tables of all pages as one; the line of a mark is the number of its row from the first page on.

    Only tables with ruled lines are read: without them a text that wraps in its cell looks like several rows.
    Raises PlanErrors where pdfplumber is not installed, for a PDF that is broken, too long, or without such a table.
    """
    if find_spec("pdfplumber") is None:
        message = (
            "to read a PDF install the extra: pip install 'bomgen[pdf-reading]'; or save the bill as .xlsx or .csv"
        )
        raise _problem(file, message)
    return read_apart(PDF, content, file)


def extract_tables(content: bytes, file: str) -> tuple[RawTable, ...]:
    """The tables of a PDF as `read_pdf` gives them, read in this process."""
    import pdfplumber

    try:
        with pdfplumber.open(io.BytesIO(content)) as document:
            if len(document.pages) > MAX_PAGES:
                raise _problem(file, f"more than {MAX_PAGES} pages; give the pages of the bill alone")
            rows, is_scan = list[Sequence[str | None]](), True
            for page in document.pages:
                if len(page.edges) > MAX_EDGES:
                    message = f"a page with more than {MAX_EDGES} lines; save the bill as .xlsx or .csv"
                    raise _problem(file, message)
                is_scan = is_scan and not page.chars
                rows += [row for table in page.extract_tables() for row in table]
                page.close()  # what it drew takes memory until then
    except (PlanErrors, MemoryError):
        raise
    except Exception as error:
        if any(isinstance(each, MemoryError) for each in error.args):
            raise MemoryError from None
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

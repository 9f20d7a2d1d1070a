"""quote.xlsx: the quote as a workbook that calculates."""

from __future__ import annotations

from bomgen.output.source import Source
from bomgen.output.xlsx.workbook import workbook

ABOUT = "The quote as a workbook whose prices and quantities can be changed."
FILE = "quote.xlsx"
BINARY = True


def write(source: Source) -> bytes:
    """The workbook, alike to the byte for the same quote."""
    return workbook(source.page, source.language)

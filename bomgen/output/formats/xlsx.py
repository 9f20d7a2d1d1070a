"""quote.xlsx and report.xlsx: workbooks that calculate."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bomgen.output.registry import DocumentInputs

ABOUT = "A workbook whose prices and quantities can be changed."
FILE = "{kind}.xlsx"
BINARY = True


def write(source: DocumentInputs, kind: str) -> bytes:
    """The workbook, byte-identical for the same result."""
    from bomgen.core.document import QUOTE
    from bomgen.output.xlsx.quote import quote_workbook
    from bomgen.output.xlsx.workbook import workbook

    document = source.document(kind)
    return quote_workbook(document, source.language).content if kind == QUOTE else workbook(document, source.language)

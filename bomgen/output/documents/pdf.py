"""quote.pdf: the page printed."""

from __future__ import annotations

from bomgen.output.pdf import NotPrinted, pdf
from bomgen.output.source import Source
from bomgen.output.writer import OutputError

ABOUT = "The page printed by Chromium: the one in PATH, or the one that BOMGEN_CHROMIUM names."
FILE = "quote.pdf"
BINARY = True


def write(source: Source) -> bytes:
    """The page as PDF. Raises OutputError when there is no browser that prints."""
    try:
        return pdf(source.html)
    except NotPrinted as error:
        raise OutputError(f"{FILE}: {error}") from error

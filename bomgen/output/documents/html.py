"""quote.html: the quote as one page for a browser."""

from __future__ import annotations

from bomgen.output.source import Source

ABOUT = "The quote as a single page, with drawings and derivations."
FILE = "quote.html"
BINARY = False


def write(source: Source) -> bytes:
    """A page that needs no other file."""
    return source.html

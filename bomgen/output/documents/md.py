"""quote.md: the quote as Markdown."""

from __future__ import annotations

from bomgen.output.markdown_html import markdown
from bomgen.output.source import Source

ABOUT = "The quote as Markdown."
FILE = "quote.md"
BINARY = False


def write(source: Source) -> bytes:
    """All chapters, with the drawings where they are files of their own."""
    return markdown(source.page, source.language)

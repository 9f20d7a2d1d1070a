"""quote.md and report.md: Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bomgen.output.source import DocumentInputs

ABOUT = "Markdown, for sites that show the files of a repository."
FILE = "{kind}.md"
BINARY = False


def write(source: DocumentInputs, kind: str) -> bytes:
    """All chapters, with the drawings where they are files of their own."""
    from bomgen.output.markdown_html import markdown

    return markdown(source.document(kind), source.language)

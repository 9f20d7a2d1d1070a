"""quote.md and report.md: Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bomgen.output.registry import DocumentInputs

ABOUT = "Markdown, for sites that show the files of a repository."
FILE = "{kind}.md"
BINARY = False


def write(source: DocumentInputs, kind: str) -> bytes:
    """Return all chapters, with references to drawings that are separate files."""
    from bomgen.output.markdown_html import markdown

    return markdown(source.document(kind), source.language)

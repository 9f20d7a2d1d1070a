"""quote.html and report.html: one self-contained page each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bomgen.output.registry import DocumentInputs

ABOUT = "A single page that needs no other file; the report with derivations."
FILE = "{kind}.html"
BINARY = False


def write(source: DocumentInputs, kind: str) -> bytes:
    """Return a page that needs no other file."""
    return source.html(kind)

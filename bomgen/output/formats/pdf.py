"""quote.pdf: the quote page in print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bomgen.output.registry import DocumentInputs

ABOUT = "The quote as PDF; needs the extra bomgen[pdf]."
FILE = "quote.pdf"
BINARY = True
PACKAGE = "weasyprint"


def write(source: DocumentInputs) -> bytes:
    """Return the page as PDF. Raises OutputError if it cannot be printed, such as without WeasyPrint."""
    from bomgen.core.diagnostics import OutputError
    from bomgen.core.document import QUOTE
    from bomgen.output.pdf import NotPrinted, pdf

    try:
        return pdf(source.html(QUOTE))
    except NotPrinted as error:
        raise OutputError(f"{FILE}: {error}") from error

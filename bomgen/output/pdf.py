"""A page as PDF, set by WeasyPrint: real fonts, an outline, page numbers, and no browser.

The extra `pdf` installs WeasyPrint. The page needs no other file, and none is fetched: who wrote the plan may have
written an address into it.
"""

from __future__ import annotations

INSTALL = "pip install 'bomgen[pdf]'"
ALLOWED = ("data",)
"""What a page may refer to: pictures that it holds whole."""


class NotPrinted(Exception):
    """WeasyPrint, or the library that it draws text with, is not installed."""


def pdf(page: bytes) -> bytes:
    """An HTML page that needs no other file in, the bytes of its PDF out.

    Raises NotPrinted when WeasyPrint is not installed.
    """
    try:
        from weasyprint import HTML
        from weasyprint.urls import URLFetcher
    except ImportError:
        raise NotPrinted(f"a PDF takes WeasyPrint, which is not installed: {INSTALL}") from None
    except OSError as error:
        raise NotPrinted(f"a PDF takes Pango, which WeasyPrint does not find; install it: {error}") from None
    document = HTML(string=page.decode("utf-8"), url_fetcher=URLFetcher(allowed_protocols=ALLOWED))
    content: bytes = document.write_pdf()
    return content

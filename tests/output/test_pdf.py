"""The PDF of a quote: pages, fonts, outline and numbers of pages; and what is said where it cannot be made."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import pytest

from bomgen.output.pdf import NotPrinted, pdf

PAGE = b'<!DOCTYPE html><html lang="en"><head><title>Quote</title></head><body><h1>Quote</h1></body></html>'


def test_a_page_is_printed() -> None:
    """The bytes of a PDF come out."""
    printed = pdf(PAGE)
    assert printed.startswith(b"%PDF-")
    assert printed.rstrip().endswith(b"%%EOF")


@pytest.mark.parametrize("address", ["https://example.com/picture.png", "file:///etc/hostname"])
def test_nothing_is_fetched(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that refers to the network or to a file is printed without what it refers to."""
    import urllib.request

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("fetched")

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", refuse)
    page = PAGE.replace(b"<h1>", f'<img src="{address}" alt=""><h1>'.encode())
    assert pdf(page).startswith(b"%PDF-")


@pytest.mark.parametrize(
    ("error", "words"),
    [(ImportError("No module named 'weasyprint'"), r"pip install 'bomgen\[pdf\]'"), (OSError("no libpango"), "Pango")],
)
def test_what_is_missing_is_said(error: Exception, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without WeasyPrint, or without the library that it draws text with, the message says what to install."""
    load = builtins.__import__

    def fail(name: str, *arguments: Any, **named: Any) -> Any:
        if name.startswith("weasyprint"):
            raise error
        return load(name, *arguments, **named)

    for name in [name for name in sys.modules if name.partition(".")[0] == "weasyprint"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", fail)
    with pytest.raises(NotPrinted, match=words):
        pdf(PAGE)

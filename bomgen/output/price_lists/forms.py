"""The forms of price books, and the entries that each of them writes.

What is read back from any form is what was written, save the name of a book, which tables have no place for. A form is
a module of this folder (output/registry.py) with `SUFFIXES`, those of its files; `BINARY`; and `write(entries, name)`.
"""

from __future__ import annotations

from collections.abc import Sequence

from bomgen.output.price_lists.entries import Entry
from bomgen.output.registry import PRICE_LISTS


def form_of(name: str) -> str | None:
    """The form that the suffix of a file's name asks for; None: none that is written."""
    return next(
        (form for form in PRICE_LISTS.names if name.lower().endswith(PRICE_LISTS.constant(form, "SUFFIXES"))), None
    )


def written(entries: Sequence[Entry], form: str, name: str | None = None) -> bytes:
    """Prices as the file of a form, equal bytes for equal prices; `name` is that of the book."""
    content: bytes = PRICE_LISTS.module(form).write(entries, name)
    return content

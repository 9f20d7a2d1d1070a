"""The price book that is made of the catalogue."""

from __future__ import annotations

from indicative_prices import BOOK, book


def test_the_price_book_is_what_the_catalogue_says() -> None:
    """`make docs` writes it."""
    assert BOOK.read_text("utf-8") == book()

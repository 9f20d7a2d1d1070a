"""Fields of CSV that no spreadsheet runs as a formula."""

from __future__ import annotations

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def kept_text(value: object) -> object:
    """A value for a field of CSV: text that a spreadsheet would run as a formula is kept text by an apostrophe.

    Truths are words, lists their items with blanks between.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return " ".join(map(str, value))
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value

"""Fields of CSV that no spreadsheet runs as a formula."""

from __future__ import annotations

import re

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a formula begins with (OWASP, CSV Injection), in full width, too, which a Japanese Excel reads alike."""
_INNER = re.compile("(?<=[;\t])(?=[=+@＝＋－＠-])")
"""Where a field would begin, with a formula, for a program that separates by semicolons or tabs."""


def escape_formula(value: object) -> object:
    """A value for a field of CSV: text that a spreadsheet would run as a formula is kept text by an apostrophe.

    Truths are words, lists their items with blanks between.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        value = " ".join(map(str, value))
    return _INNER.sub("'", guarded(value)) if isinstance(value, str) else value


def guarded(text: str) -> str:
    """A text with an apostrophe before what it would be run for."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text

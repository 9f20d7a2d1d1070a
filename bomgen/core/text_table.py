"""A table of text: what is printed with columns as wide as they come, or fitted to a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple


class TextTable(NamedTuple):
    """Rows of equally many cells. A row with text in its first cell alone is a heading; one without text is a gap."""

    rows: Sequence[Sequence[str]]
    right: Collection[int] = ()
    """Columns that end at the right: numbers."""
    keys: int = 1
    """How many columns at the left name a row; they are repeated where the others need several tables."""
    indent: str = ""
    """Before every row."""
    styles: Sequence[str] = ()
    """How each row looks, as rich names it; none: as it is."""

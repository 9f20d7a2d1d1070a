"""The kept results in the tree: the drawing of their ratios, and the table of docs/trust.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from drawing import drawing
from measuring import CHECKOUT
from results import FOLDER, Result, compared_with, heading, last_before, table

DRAWING = FOLDER / "ratios.svg"
PAGE = CHECKOUT / "docs" / "trust.md"


def write(history: Sequence[Result]) -> Iterator[Path]:
    """Draw the kept results, the oldest first, and put the last ones into the page."""
    DRAWING.write_text(drawing(history), encoding="utf-8")
    yield DRAWING
    PAGE.write_text(filled(PAGE.read_text("utf-8"), history), encoding="utf-8")
    yield PAGE


def filled(page: str, history: Sequence[Result]) -> str:
    """Return a page with its table as the last result has it, between the two marks."""
    last = [result for result in history if result["works"]][-1]
    old = last_before(last, history)
    text = f"{heading(last)}\n\n{table(last, old)}\n\n{compared_with(last, old)}"
    begin, end = "<!-- ratios: begin -->\n", "<!-- ratios: end -->"
    return re.sub(f"(?<={begin}).*?(?={end})", lambda _: f"\n{text}\n\n", page, flags=re.DOTALL)

"""The kept results in the tree: the drawing of their ratios, and the tables of docs/speed.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import beside
from drawing import drawing
from measuring import CHECKOUT
from results import FOLDER, Result, compared_with, heading, last_before, table

DRAWING = FOLDER / "ratios.svg"
PAGE = CHECKOUT / "docs" / "speed.md"


def write(history: Sequence[Result]) -> Iterator[Path]:
    """Draw the kept results, the oldest first, and put the last ones into the page."""
    DRAWING.write_text(drawing(history), encoding="utf-8")
    yield DRAWING
    PAGE.write_text(filled(PAGE.read_text("utf-8"), history), encoding="utf-8")
    yield PAGE


def filled(page: str, history: Sequence[Result]) -> str:
    """A page with its tables as the last results have them, each between two marks of its own."""
    for name, text in _tables(history):
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
        page = re.sub(f"(?<={begin}).*?(?={end})", lambda _, text=text: f"\n{text}\n\n", page, flags=re.DOTALL)
    return page


def _tables(history: Sequence[Result]) -> Iterator[tuple[str, str]]:
    last = [result for result in history if result["works"]][-1:]
    for result in last:
        old = last_before(result, history)
        yield "ratios", f"{heading(result)}\n\n{table(result, old)}\n\n{compared_with(result, old)}"
    for result in [result for result in history if result["peers"]][-1:]:
        yield "peers", f"{heading(result)}\n\n{beside.table(result)}"

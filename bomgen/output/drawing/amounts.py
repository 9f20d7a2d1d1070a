"""Amounts as bars: a name, and beside it a bar for each amount with its words behind it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.output.drawing.canvas import LEFT, LINE, RIGHT, WIDTH, Canvas, text_width

_PITCH = 34
"""From name to name, where each has one bar."""
_BESIDE = 22
"""From bar to bar of the same name."""
_HEIGHT = 18
_GAP = 8
"""Between a bar and what is written behind it."""
_SHORTEST = 1.5
"""A bar that stands for something is seen, however little it is."""
_TONE = 0.55
_PALE = 0.2
"""Of bars that another one follows: what was before."""
_SIZE = 12
_NAME_SIZE = 13
_BOLD = 1.1
"""How much wider bold letters are."""


class Bar(NamedTuple):
    """An amount; None where it is not known, which has words alone."""

    amount: int | float | Fraction | Decimal | None
    text: str
    pale: bool = False


class Bars(NamedTuple):
    """The bars of one name, one below the other."""

    name: str
    bars: tuple[Bar, ...]


def bar_svg(groups: Sequence[Bars], name: str, title: str) -> str:
    """Bars as long as their amounts, as an SVG element; `name` makes its ids unique within a page."""
    canvas = Canvas()
    every = [bar for group in groups for bar in group.bars]
    left = min(max(text_width(group.name, _NAME_SIZE) * _BOLD for group in groups) + 2 * _GAP, LEFT)
    room = RIGHT - left - max(text_width(bar.text, _SIZE) for bar in every) - _GAP
    longest = max((Fraction(bar.amount) for bar in every if bar.amount), default=Fraction(0)) or 1
    middle = float(LINE)
    for group in groups:
        room_of_name = (left - _GAP) / _BOLD
        canvas.words("cost-name", 0, middle, group.name, room_of_name, anchor="start", largest=_NAME_SIZE, strong=True)
        for at, bar in enumerate(group.bars):
            middle += _BESIDE * bool(at)
            _draw(canvas, bar, left, middle, room, longest)
        texts = (bar.text for bar in group.bars)
        canvas.spoken.append(f"{group.name}: {', '.join(texts)}")
        canvas.bottom = middle
        middle += _PITCH
    return canvas.text(name, title, False)


def _draw(canvas: Canvas, bar: Bar, left: float, middle: float, room: float, longest: Fraction | int) -> None:
    """A bar, and its words behind it."""
    end = left
    if bar.amount is not None:
        width = max(float(Fraction(bar.amount) / longest) * room, _SHORTEST)
        kind, tone = ("amount pale", _PALE) if bar.pale else ("amount", _TONE)
        canvas.rectangle(kind, left, middle - _HEIGHT / 2, width, _HEIGHT, filled=True, tone=tone, corner=2)
        end = left + width + _GAP
    canvas.words("cost", end, middle, bar.text, WIDTH - end, anchor="start", largest=_SIZE)

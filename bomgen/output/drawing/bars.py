"""Bars from one origin to one scale: plain, stacked, or from one value to another.

Name and number of a bar stand beside it where they are short, as in a histogram, and else above it.
"""

from __future__ import annotations

from bomgen.documents.charts.types import Bar, Bars
from bomgen.output.drawing.canvas import LINE, NARROW, Canvas, cut_words, text_width

_SIZE, _NAME_SIZE = 12, 13
_WIDE, _BOLD = 1.1, 1.25
"""How much wider letters and bold letters of some systems are: numbers are not cut off."""
_GAP = 8
_HEIGHT = 16
_BETWEEN = 10
"""Between two bars, with their words."""
_SHORTEST = 1.5
"""A part that stands for something is seen, however little it is."""
_DARKEST, _LIGHTEST = 0.8, 0.12
_MARK, _BEYOND = 2, 4
"""Width of a mark, and how far it stands out above and below its bar."""


def draw_bars(canvas: Canvas, shape: Bars) -> None:
    """All bars with their names and numbers, and the key to their parts below."""
    bars = shape.bars
    longest = max((_end(bar) for bar in bars), default=0.0) or 1
    names = max(text_width(bar.name, _NAME_SIZE) * _BOLD for bar in bars) + _GAP
    texts = max(text_width(bar.text, _SIZE) * _WIDE for bar in bars) + _GAP
    beside = names + texts <= NARROW / 2
    left, room = (names, NARROW - names - texts) if beside else (0, NARROW - 2)
    y = 0.0
    for bar in bars:
        canvas.spoken.append(f"{bar.name}: {bar.text}" if bar.name else bar.text)
        if beside:
            middle = y + _HEIGHT / 2
            canvas.words("bar-name", 0, middle, bar.name, names, anchor="start", largest=_NAME_SIZE, strong=True)
            end = _draw(canvas, bar, left, y, room / longest, len(shape.key))
            canvas.words("bar-text", end + _GAP, middle, bar.text, texts, anchor="start", largest=_SIZE)
            y += _HEIGHT + _BETWEEN
        else:
            y = _words_above(canvas, bar, y)
            _draw(canvas, bar, 1, y, room / longest, len(shape.key))
            y += _HEIGHT + _BETWEEN + _BETWEEN
    canvas.bottom = y - _BETWEEN
    if len(shape.key) > 1:
        canvas.key(list(zip(shape.key, tones(len(shape.key)), strict=True)))


def tones(parts: int) -> list[float]:
    """How dark each of so many parts is."""
    if parts < 2:
        return [_DARKEST]
    step = (_DARKEST - _LIGHTEST) / (parts - 1)
    return [_DARKEST - index * step for index in range(parts)]


def _end(bar: Bar) -> float:
    return max(float(bar.start) + sum(map(float, bar.parts)), float(bar.mark or 0), float(bar.frame or 0))


def _words_above(canvas: Canvas, bar: Bar, y: float) -> float:
    """Name and number above a bar, on one line where both fit; where the bar begins."""
    middle, room = y + LINE / 2, NARROW - text_width(bar.text, _SIZE) * _WIDE - _GAP
    fits = text_width(bar.name, _NAME_SIZE) * _BOLD <= room
    name = bar.name if fits else cut_words(bar.name, NARROW / _BOLD, _NAME_SIZE)
    canvas.words("bar-name", 0, middle, name, NARROW, anchor="start", largest=_NAME_SIZE, strong=True)
    if fits:
        canvas.words("bar-text", NARROW, middle, bar.text, NARROW, anchor="end", largest=_SIZE)
        return y + LINE + 2
    canvas.words("bar-text", 0, middle + LINE, bar.text, NARROW, anchor="start", largest=_SIZE)
    return y + 2 * LINE + 2


def _draw(canvas: Canvas, bar: Bar, left: float, top: float, scale: float, parts: int) -> float:
    """The shapes of a bar; where they end."""
    x = left + float(bar.start) * scale
    for length, tone in zip(bar.parts, tones(max(parts, len(bar.parts))), strict=False):
        if length:
            width = max(float(length) * scale, _SHORTEST)
            canvas.rectangle("bar", x, top, width, _HEIGHT, filled=True, tone=tone, corner=0)
            x += width
    if bar.frame:
        canvas.rectangle("frame", left, top, float(bar.frame) * scale, _HEIGHT, corner=0)
        x = max(x, left + float(bar.frame) * scale)
    if bar.mark is not None:
        at, height = left + float(bar.mark) * scale - _MARK / 2, _HEIGHT + 2 * _BEYOND
        canvas.rectangle("at", at, top - _BEYOND, _MARK, height, filled=True, tone=1, corner=0)
    return x

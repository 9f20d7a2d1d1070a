"""A one-line diagram of the power supply: boxes on levels, joined by a bus from each level to the next."""

from __future__ import annotations

from bomgen.documents.charts.types import Box, OneLine
from bomgen.output.drawing.canvas import LINE, NARROW, Canvas, cut_words, text_width

_GAP = 10
_BETWEEN = 34
"""Between two levels."""
_SIZE, _SMALLEST, _BOLD = 12, 10, 1.2
_INSET = 8
_PADDING = 8
_LINES = 3
"""Of a name or of what is known, at most."""


def draw_one_line(canvas: Canvas, shape: OneLine) -> None:
    """All levels from the top down."""
    y = 1.0
    above: list[float] = []
    for level in shape.levels:
        width = (NARROW - 2 - (len(level) - 1) * _GAP) / len(level)
        middles = [1 + index * (width + _GAP) + width / 2 for index in range(len(level))]
        if above:
            bus = y + _BETWEEN / 2
            for x in above:
                canvas.line(x, y, x, bus)
            for x in middles:
                canvas.line(x, bus, x, y + _BETWEEN)
            ends = (*above, *middles)
            canvas.line(min(ends), bus, max(ends), bus)
            y += _BETWEEN
        written = [(_wrap(box.name, width), _wrap(box.text, width)) for box in level]
        height = LINE * max(len(name) + len(text) for name, text in written) + 2 * _PADDING
        for box, (name, text), x in zip(level, written, middles, strict=True):
            _box(canvas, box, (*name, *text), len(name), x, y, width, height)
        y, above = y + height, middles
    canvas.bottom = y


def _box(
    canvas: Canvas, box: Box, lines: tuple[str, ...], strong: int, x: float, y: float, width: float, height: float
) -> None:
    canvas.rectangle("box", x - width / 2, y, width, height, filled=True)
    start = y + height / 2 - LINE * (len(lines) - 1) / 2
    for index, line in enumerate(lines):
        canvas.words("power", x, start + index * LINE, line, width, largest=_SIZE, strong=index < strong)
    canvas.spoken.append(f"{box.name}: {box.text}")


def _wrap(text: str, width: float) -> tuple[str, ...]:
    """Text in lines that fit a box; what is left over is cut off."""
    room, lines = (width - 2 * _INSET) / _BOLD, [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, _SIZE) <= room or not lines[-1]:
            lines[-1] = longer
        elif len(lines) < _LINES:
            lines.append(word)
        else:
            lines[-1] = longer
    return tuple(cut_words(line, room, _SMALLEST) for line in lines)

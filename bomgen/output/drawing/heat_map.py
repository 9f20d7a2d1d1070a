"""The floor with the power of every rack: racks side by side in their rows, the darker the more they draw.

Racks of equal power side by side are one shape, so that ten thousand racks take as little room as ten kinds of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from bomgen.core.language import Language
from bomgen.core.provenance import Figure
from bomgen.output.drawing.canvas import LINE, NARROW, Canvas
from bomgen.results.elevations.types import FREE, Block, Elevations

_LABEL = 58
_WIDEST, _TALLEST = 40, 26
"""Of a rack in the drawing."""
_HIGHEST = 560
"""Of all rows together."""
_AISLE = 0.25
"""What is left free between two rows, of their pitch."""
_SIZE = 11
_LIGHTEST, _DARKEST = 0.08, 0.85
_GAP = 8
_LEVELS = 8
"""Powers that the key names one by one; of more it names that many ranges."""
_LEAST_PITCH = 4
"""Racks that are drawn narrower have no line between them."""
_WATTS = "W"


def draw_heat_map(canvas: Canvas, found: Elevations, language: Language) -> None:
    """All rows with their racks, and the key to the tones below."""
    power = _power_of_racks(found)
    most = max(Fraction(each.value) for each in power.values() if each)
    width = min((NARROW - _LABEL) / max(sum(block.racks for block in row) for row in found.rows), _WIDEST)
    pitch = min(_HIGHEST / len(found.rows), _TALLEST)
    top = max(_SIZE - pitch, 0)
    named = max(1, round(LINE / pitch + 1 / 2))
    for index, row in enumerate(found.rows):
        y = top + index * pitch
        if index % named == 0:
            text = language.word("ui-floor-row", number=index + 1)
            canvas.words("row", 0, y + pitch * (1 - _AISLE) / 2, text, _LABEL - _GAP, anchor="start", largest=_SIZE)
        _draw_row(canvas, row, power, (_LABEL, y, width, pitch * (1 - _AISLE)), most)
    canvas.bottom = top + len(found.rows) * pitch
    _draw_key(canvas, power, most, language)


def _power_of_racks(found: Elevations) -> dict[int, Figure | None]:
    """The power of each rack [W] by its number; None where it is not known."""
    return {
        rack: group.sums.power_w
        for group in found.groups
        for first, last in group.racks
        for rack in range(first, last + 1)
    }


def _draw_row(
    canvas: Canvas,
    row: Sequence[Block],
    power: dict[int, Figure | None],
    place: tuple[float, float, float, float],
    most: Fraction,
) -> None:
    """The racks of a row: those of equal power in one shape, with lines between them where there is room."""
    left, y, width, height = place
    first = row[0].first
    racks = [(block.first + index, block.kind) for block in row for index in range(block.racks)]
    watts_of = {rack: figure.value for rack, figure in power.items() if figure}
    for watts, same in groupby(racks, key=lambda rack: None if rack[1] == FREE else watts_of.get(rack[0])):
        numbers = [number for number, _ in same]
        x = left + (numbers[0] - first) * width
        known = watts is not None
        tone = _tone(watts, most) if known else 0
        canvas.rectangle("rack", x, y, len(numbers) * width, height, not known, known, tone, 0)
        if width >= _LEAST_PITCH and len(numbers) > 1:
            lines = "".join(f"M{x + index * width:g} {y:g}v{height:g}" for index in range(1, len(numbers)))
            canvas.elements.append(f'<path class="between" d="{lines}" stroke-width="0.75" stroke-opacity="0.8"/>')


def _tone(watts: Fraction | None, most: Fraction) -> float:
    return round(_LIGHTEST + (_DARKEST - _LIGHTEST) * float(watts or 0) / float(most), 2)


def _draw_key(canvas: Canvas, power: dict[int, Figure | None], most: Fraction, language: Language) -> None:
    """What the tones stand for, and how many racks there are of each; an estimate has its range."""
    known = [(Fraction(figure.value), figure.bounds) for figure in power.values() if figure]
    levels = sorted({watts for watts, _ in known})
    word = "chart-racks-at"
    if len(levels) > _LEVELS:
        levels, word = [most * (step + 1) / _LEVELS for step in range(_LEVELS)], "chart-racks-up-to"
    entries, below = [], None
    for level in levels:
        racks = [bounds for watts, bounds in known if (below is None or watts > below) and watts <= level]
        below = level
        if racks:
            estimates = [bounds for bounds in racks if bounds]
            ends = (min(low for low, _ in estimates), max(high for _, high in estimates)) if estimates else None
            text = language.word(word, power=language.value(level, _WATTS, ends), racks=language.integer(len(racks)))
            entries.append((text, _tone(level, most)))
    canvas.key(entries)

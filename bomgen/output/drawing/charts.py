"""Charts as SVG: bars, matrices, points, one-line diagrams; comparisons of plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import groupby, pairwise, product
from math import ceil, dist

from bomgen.core.document import Drawing
from bomgen.core.language import Language
from bomgen.core.provenance import Figure
from bomgen.documents.charts import Bar, Bars, Chart, HeatMap, OneLine, Points, name_box
from bomgen.documents.comparison import ComparedPlans, charted
from bomgen.documents.diff.contents import changed_categories
from bomgen.documents.diff.difference import Difference
from bomgen.output.drawing.canvas import LINE, MARGIN, NARROW, Canvas, cut_words, text_width
from bomgen.plan.types import FREE_RACK
from bomgen.results.elevations import Elevations, RackBlock

# bars ---------------------------------------------------------------------------------------------------------------
# Bars with a common origin and scale: plain, stacked, or from one value to another.
#
# Name and number of a bar are next to it if they are short, as in a histogram, else above it.

_BAR_WORDS, _NAME_SIZE = 12, 13
_BAR_GAP = 8
_BAR_HEIGHT = 12
_BETWEEN_BARS = 6
"""Gap between two bars with their text."""
_SHORTEST = 1.5
"""Minimum length of a non-zero segment."""
_DARKEST_BAR, _LIGHTEST_BAR = 0.8, 0.12
_MARK, _BEYOND = 2, 4
"""Width of a mark, and how far it extends above and below its bar."""


def draw_bars(canvas: Canvas, shape: Bars) -> None:
    """Draw all bars with names and numbers, and the legend of their segments below."""
    bars = shape.bars
    longest = (
        max(
            (
                max(float(bar.start) + sum(map(float, bar.parts)), float(bar.mark or 0), float(bar.frame or 0))
                for bar in bars
            ),
            default=0.0,
        )
        or 1
    )
    names = max(text_width(bar.name, _NAME_SIZE, strong=True) for bar in bars) + _BAR_GAP
    texts = max(text_width(bar.text, _BAR_WORDS) for bar in bars) + _BAR_GAP
    beside = names + texts <= NARROW / 2
    left, room = (names, NARROW - names - texts) if beside else (0, NARROW - 2)
    y = 0.0
    for bar in bars:
        canvas.spoken.append(f"{bar.name}: {bar.text}" if bar.name else bar.text)
        if beside:
            middle = y + _BAR_HEIGHT / 2
            canvas.words("bar-name", 0, middle, bar.name, names, anchor="start", largest=_NAME_SIZE, strong=True)
            end = _draw(canvas, bar, left, y, room / longest, len(shape.key))
            canvas.words("bar-text", end + _BAR_GAP, middle, bar.text, texts, anchor="start", largest=_BAR_WORDS)
            y += _BAR_HEIGHT + _BETWEEN_BARS
        else:
            y = _words_above(canvas, bar, y)
            _draw(canvas, bar, 1, y, room / longest, len(shape.key))
            y += _BAR_HEIGHT + _BETWEEN_BARS
    canvas.bottom = y - _BETWEEN_BARS
    if len(shape.key) > 1:
        canvas.key(list(zip(shape.key, tones(len(shape.key)), strict=True)))


def tones(parts: int) -> list[float]:
    """Return the darkness of each of a number of segments."""
    if parts < 2:
        return [_DARKEST_BAR]
    step = (_DARKEST_BAR - _LIGHTEST_BAR) / (parts - 1)
    return [_DARKEST_BAR - index * step for index in range(parts)]


def _words_above(canvas: Canvas, bar: Bar, y: float) -> float:
    """Draw name and number above a bar, on one line if both fit, and return the top of the bar."""
    middle, room = y + LINE / 2, NARROW - text_width(bar.text, _BAR_WORDS) - _BAR_GAP
    fits = text_width(bar.name, _NAME_SIZE, strong=True) <= room
    name = bar.name if fits else cut_words(bar.name, NARROW, _NAME_SIZE, strong=True)
    canvas.words("bar-name", 0, middle, name, NARROW, anchor="start", largest=_NAME_SIZE, strong=True)
    if fits:
        canvas.words("bar-text", NARROW, middle, bar.text, NARROW, anchor="end", largest=_BAR_WORDS)
        return y + LINE
    canvas.words("bar-text", 0, middle + LINE, bar.text, NARROW, anchor="start", largest=_BAR_WORDS)
    return y + 2 * LINE


def _draw(canvas: Canvas, bar: Bar, left: float, top: float, scale: float, parts: int) -> float:
    """Draw the shapes of a bar and return their right end."""
    x = left + float(bar.start) * scale
    for length, tone in zip(bar.parts, tones(max(parts, len(bar.parts))), strict=False):
        if length:
            width = max(float(length) * scale, _SHORTEST)
            canvas.rectangle("bar", x, top, width, _BAR_HEIGHT, filled=True, tone=tone, corner=0)
            x += width
    if bar.frame:
        canvas.rectangle("frame", left, top, float(bar.frame) * scale, _BAR_HEIGHT, corner=0)
        x = max(x, left + float(bar.frame) * scale)
    if bar.mark is not None:
        at, height = left + float(bar.mark) * scale - _MARK / 2, _BAR_HEIGHT + 2 * _BEYOND
        canvas.rectangle("at", at, top - _BEYOND, _MARK, height, filled=True, tone=1, corner=0)
    return x


# heat map -----------------------------------------------------------------------------------------------------------
# The floor with the power of every rack: racks in their rows, darker with more power.
#
# Adjacent racks of equal power are one shape, so that ten thousand racks take as little space as ten kinds of them.

_LABEL = 58
_WIDEST, _TALLEST = 40, 26
"""Maximum size of a rack in the drawing."""
_HIGHEST = 560
"""Maximum height of all rows."""
_AISLE = 0.25
"""Gap between two rows, as a share of their pitch."""
_RACK_WORDS = 11
_LIGHTEST_RACK, _DARKEST_RACK = 0.08, 0.85
_RACK_GAP = 8
_LEVELS = 8
"""Power levels that the legend lists individually; above that, the number of ranges."""
_LEAST_PITCH = 4
"""Rack width below which no line separates racks."""
_WATTS = "W"


def draw_heat_map(canvas: Canvas, elevations: Elevations, language: Language) -> None:
    """Draw all rows with their racks, and the legend of shades below."""
    power = {
        rack: group.sums.power_w
        for group in elevations.groups
        for first, last in group.racks
        for rack in range(first, last + 1)
    }
    watts = {rack: Fraction(figure.value) for rack, figure in power.items() if figure}
    most = max(watts.values())
    width = min((NARROW - _LABEL) / max(sum(block.racks for block in row) for row in elevations.rows), _WIDEST)
    pitch = min(_HIGHEST / len(elevations.rows), _TALLEST)
    top = max(_RACK_WORDS - pitch, 0)
    named = max(1, round(LINE / pitch + 1 / 2))
    for index, row in enumerate(elevations.rows):
        y = top + index * pitch
        if index % named == 0:
            text = language.word("ui-floor-row", number=index + 1)
            canvas.words(
                "row", 0, y + pitch * (1 - _AISLE) / 2, text, _LABEL - _RACK_GAP, anchor="start", largest=_RACK_WORDS
            )
        _draw_row(canvas, row, watts, (_LABEL, y, width, pitch * (1 - _AISLE)), most)
    canvas.bottom = top + len(elevations.rows) * pitch
    _draw_key(canvas, power, most, language)


def _draw_row(
    canvas: Canvas,
    row: Sequence[RackBlock],
    watts_of: dict[int, Fraction],
    place: tuple[float, float, float, float],
    most: Fraction,
) -> None:
    """Draw the racks of a row: adjacent racks of equal power as one shape, with separating lines if there is space."""
    left, y, width, height = place
    first = row[0].first
    racks = [(block.first + index, block.kind) for block in row for index in range(block.racks)]
    for watts, same in groupby(racks, key=lambda rack: None if rack[1] == FREE_RACK else watts_of.get(rack[0])):
        numbers = [number for number, _ in same]
        x = left + (numbers[0] - first) * width
        known = watts is not None
        tone = _tone(watts, most) if known else 0
        canvas.rectangle("rack", x, y, len(numbers) * width, height, not known, known, tone, 0)
        if width >= _LEAST_PITCH and len(numbers) > 1:
            lines = "".join(f"M{x + index * width:g} {y:g}v{height:g}" for index in range(1, len(numbers)))
            canvas.elements.append(f'<path class="between" d="{lines}" stroke-width="0.75" stroke-opacity="0.8"/>')


def _tone(watts: Fraction | None, most: Fraction) -> float:
    return round(_LIGHTEST_RACK + (_DARKEST_RACK - _LIGHTEST_RACK) * float(watts or 0) / float(most), 2)


def _draw_key(canvas: Canvas, power: dict[int, Figure | None], most: Fraction, language: Language) -> None:
    """Draw the legend of shades with the number of racks of each; an estimate has its range."""
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


# one line -----------------------------------------------------------------------------------------------------------
# A one-line diagram of the power supply: boxes on levels, connected by a bus from each level to the next.

_BOX_GAP = 10
_BETWEEN_LEVELS = 34
"""Gap between two levels."""
_BOX_WORDS, _SMALLEST = 12, 10
_BOX_INSET = 8
_PADDING = 8
_LINES = 3
"""Maximum number of lines for a name or a text."""


def draw_one_line(canvas: Canvas, shape: OneLine) -> None:
    """Draw all levels from the top down."""
    y = 1.0
    above: list[float] = []
    for depth, level in enumerate(shape.levels, 1):
        width = (NARROW - 2 - (len(level) - 1) * _BOX_GAP) / len(level)
        middles = [1 + index * (width + _BOX_GAP) + width / 2 for index in range(len(level))]
        if above:
            bus = y + _BETWEEN_LEVELS / 2
            for x in above:
                canvas.line(x, y, x, bus)
            for x in middles:
                canvas.line(x, bus, x, y + _BETWEEN_LEVELS)
            ends = (*above, *middles)
            canvas.line(min(ends), bus, max(ends), bus)
            y += _BETWEEN_LEVELS
        written = [(_wrap(box.name, width, strong=True), _wrap(box.text, width)) for box in level]
        height = LINE * max(len(name) + len(text) for name, text in written) + 2 * _PADDING
        for number, (box, (name, text), x) in enumerate(zip(level, written, middles, strict=True), 1):
            canvas.rectangle("box", x - width / 2, y, width, height, filled=True, device=name_box(depth, number))
            canvas.lines("power", x, y + height / 2, (*name, *text), width, _BOX_WORDS, strong=len(name))
            canvas.spoken.append(f"{box.name}: {box.text}")
        y, above = y + height, middles
    canvas.bottom = y


def _wrap(text: str, width: float, strong: bool = False) -> tuple[str, ...]:
    room, lines = width - 2 * _BOX_INSET, [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, _BOX_WORDS, strong) <= room or not lines[-1]:
            lines[-1] = longer
        elif len(lines) < _LINES:
            lines.append(word)
        else:
            lines[-1] = longer
    return tuple(cut_words(line, room, _SMALLEST, strong) for line in lines)


# points -------------------------------------------------------------------------------------------------------------
# Points in two dimensions: the frame of the plane, the ends of both axes, and numbered points.
#
# A number is next to its point, or at the end of a short line where others are in the way.

PLANE = 760
"""Width of a drawing of points."""
_PLANE_HEIGHT = 400
_TOP = 2 * LINE
"""Space for the name of the vertical axis and its largest value."""
_POINT_INSET = 24
"""Gap between the outermost points and the frame."""
_RADIUS = 3.5
_POINT_WORDS = 12
_NUMBER = 10
"""Font size of the numbers."""
_MOST_NUMBERED = 150
"""Number of points above which the numbers would hide them."""
_DISTANCES = (9, 15, 22, 31, 42, 56)
"""Distances of a number from its point, in the order tried."""
_DIRECTIONS = ((0.8, -1), (-0.8, 1), (1, 0), (0, -1), (-1, 0), (0, 1), (0.8, 1), (-0.8, -1))
"""Directions of a number from its point, in the order tried: first away from a falling line, on both sides."""
_LINE_STEP = 5
"""Distance between the places of a line that keep numbers away."""

Spot = tuple[float, float]
Area = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def draw_points(canvas: Canvas, shape: Points) -> None:
    """Draw all points with their numbers; their meaning is in the description and shown by a pointer."""
    (left, right), (low, high) = shape.ends
    canvas.words("axis", 0, LINE / 2, f"{shape.names[1]}: {low} – {high}", PLANE, anchor="start", largest=_POINT_WORDS)
    canvas.rectangle("frame", 1, _TOP, PLANE - 2, _PLANE_HEIGHT)
    xs, ys = [float(point.x) for point in shape.points], [float(point.y) for point in shape.points]
    places = [
        (
            _POINT_INSET + _share(x, xs) * (PLANE - 2 * _POINT_INSET),
            _TOP + _PLANE_HEIGHT - _POINT_INSET - _share(y, ys) * (_PLANE_HEIGHT - 2 * _POINT_INSET),
        )
        for x, y in zip(xs, ys, strict=True)
    ]
    line = sorted(place for place, point in zip(places, shape.points, strict=True) if point.joined)
    lines = [area for one, other in pairwise(line) for area in _along(one, other)]
    for one, other in pairwise(line):
        canvas.line(*one, *other)
    for (x, y), point in zip(places, shape.points, strict=True):
        canvas.point(x, y, _RADIUS, point.joined, f"{point.name}: {point.text}")
        canvas.spoken.append(f"{point.name}: {point.text}")
    if len(places) <= _MOST_NUMBERED:
        _draw_numbers(canvas, places, [point.name for point in shape.points], lines)
    below = _TOP + _PLANE_HEIGHT + LINE
    canvas.words("axis", PLANE, below, f"{shape.names[0]}: {left} – {right}", PLANE, anchor="end", largest=_POINT_WORDS)
    canvas.bottom = below + LINE / 2


def _draw_numbers(canvas: Canvas, places: Sequence[Spot], names: Sequence[str], lines: Sequence[Area]) -> None:
    """Draw the number of each point where it covers no point, number or line; omit it if there is no such place."""
    taken = [*lines, *((x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS) for x, y in places)]
    for place, name in zip(places, names, strict=True):
        half = text_width(name, _NUMBER) / 2 + 1
        for distance, (dx, dy) in product(_DISTANCES, _DIRECTIONS):
            x, y = place[0] + dx * (distance + half - _NUMBER / 2), place[1] + dy * distance
            area = (x - half, y - _NUMBER / 2, x + half, y + _NUMBER / 2)
            leader = [] if distance == _DISTANCES[0] else [*_along(place, (x, y))]
            inside = area[0] > 2 and area[2] < PLANE - 2 and area[1] > _TOP + 1 and area[3] < _TOP + _PLANE_HEIGHT - 1
            if inside and all(
                area[0] >= other[2] or other[0] >= area[2] or area[1] >= other[3] or other[1] >= area[3]
                for other in taken
            ):
                if leader:
                    canvas.line(*place, x - dx * half, y - dy * _NUMBER / 2)
                canvas.words("number", x, y, name, PLANE, largest=_NUMBER)
                taken += [area, *leader]
                break


def _along(one: Spot, other: Spot) -> Iterator[Area]:
    steps = ceil(dist(one, other) / _LINE_STEP)
    for step in range(1, steps):
        x, y = (a + (b - a) * step / steps for a, b in zip(one, other, strict=True))
        yield x - 1, y - 1, x + 1, y + 1


def _share(value: float, values: list[float]) -> float:
    """Return the position of a value between minimum and maximum, from 0 to 1; 1/2 if all are equal."""
    least, most = min(values), max(values)
    return (value - least) / (most - least) if most > least else 1 / 2


# charts -------------------------------------------------------------------------------------------------------------

_BELOW = 4
"""Space below a chart."""


def chart_svg(chart: Chart, name: str, language: Language) -> str:
    """Return a chart as an SVG element whose ids contain the name."""
    shape = chart.shape
    canvas = Canvas("chart wide", PLANE) if isinstance(shape, Points) else Canvas("chart", NARROW)
    if isinstance(shape, Bars):
        draw_bars(canvas, shape)
    elif isinstance(shape, HeatMap):
        draw_heat_map(canvas, shape.found, language)
    elif isinstance(shape, Points):
        draw_points(canvas, shape)
    else:
        draw_one_line(canvas, shape)
    canvas.bottom += _BELOW - MARGIN
    return canvas.text(f"chart-{name}", chart.title, language)


def draw_chart(chart: Chart, name: str, language: Language) -> Drawing:
    """Return a chart as a drawing; the name makes its ids unique within a page."""
    data = replace(chart.data, id=name) if chart.data else None
    return Drawing(name, chart.title, chart_svg(chart, name, language), chart.text, data=data)


# side by side -------------------------------------------------------------------------------------------------------
# Comparisons of plans or results as bars: a bar per plan, or each category before and after.

_PALE = (0,)
"""An empty first segment, so that the next one is paler."""


def comparison_drawing(comparison: ComparedPlans, language: Language) -> Drawing | None:
    """Return a bar chart of compared totals, or of power or GPUs if not all have prices; None if nothing differs."""
    row = charted(comparison)
    if row is None:
        return None
    bars = []
    for side, cell in zip(comparison.sides, row.cells, strict=True):
        parts = () if cell.value is None or isinstance(cell.value, str) else (cell.value,)
        bars.append(Bar(side.name, language.cell(replace(cell, best=False)), parts))
    return draw_chart(Chart("comparison", row.label, row.label, Bars(tuple(bars))), "comparison", language)


def changes_drawing(difference: Difference, language: Language) -> Drawing | None:
    """Return a bar chart of changed categories, before and after; None if no amount changed, or currencies differ."""
    word, bars = language.word, list[Bar]()
    for row in changed_categories(difference, language):
        names = ((row.label, "diff-bar-before", _PALE), ("", "diff-bar-after", ()))
        for cell, (name, key, paler) in zip(row.cells, names, strict=True):
            amount = cell.value if isinstance(cell.value, Decimal) else None
            shown = word("ui-no-price") if amount is None else language.money(amount, cell.unit)
            shown = word("ui-at-least", amount=shown) if cell.least else shown
            bars.append(Bar(name, word(key, amount=shown), () if amount is None else (*paler, amount)))
    chart = Chart("changes", word("diff-chart"), word("diff-chart-text"), Bars(tuple(bars)))
    return draw_chart(chart, chart.id, language) if bars else None

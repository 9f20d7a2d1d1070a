"""Groups of routers drawn as frames: each a ring whose routers are all linked, with curves between the groups."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import cos, pi, sin

from bomgen.output.drawing.arrangement import find_groups, is_link_inside_group, links_within_tier
from bomgen.output.drawing.canvas import NUMBER_SIZE, PADDING, Box, Canvas, DrawingRow, lay_out_frames
from bomgen.output.drawing.tiers import draw_servers, label_servers
from bomgen.output.drawing.wording import Wording

_SHOWN_GROUPS = 4
_SHOWN_ROUTERS = 8
_RING = 48
"""Radius of the ring that routers stand on."""
_ROUTER = 11
_CAPTION = 20
_FRAME = _CAPTION + 2 * (_RING + _ROUTER + PADDING)
_ARCS = 84
"""How high the curves rise."""
_LEAN = 1.3
"""How far above a curve's top the points lie that it is drawn towards, in heights of it."""


def draw_groups(canvas: Canvas, wording: Wording) -> None:
    """Draw a fabric whose switches are linked side by side."""
    fabric = wording.drawn
    tier, groups = fabric.tiers[0], find_groups(fabric)
    shown = list(lay_out_frames(groups.count, _SHOWN_GROUPS))
    label = [wording.tier_name(tier.name), *wording.tier(tier)]
    if groups.count > 1:
        label.append(wording.groups())
    above: list[str] = []
    for links in (each for each in links_within_tier(fabric) if each.count.value):
        (label if is_link_inside_group(fabric, links) else above).extend(
            [*wording.links(links), *wording.side_by_side(links)]
        )
    row = DrawingRow(label, above, _FRAME, _ARCS if len(shown) > 1 else 0)
    middle, below = canvas.rows([row, label_servers(wording)])
    top = middle - _FRAME / 2
    for box in shown:
        canvas.rectangle("pod", box.x, top, box.width, _FRAME, dashed=box.more)
        if box.more:
            canvas.words("more", box.middle, middle, f"+{box.number}", box.width)
            continue
        if groups.count > 1:
            caption = wording.language.word("ui-group", number=box.number)
            canvas.words("pod", box.middle, top + _CAPTION / 2 + 2, caption, box.width)
        routers = len(groups.members(box.number - 1))
        _draw_ring(canvas, box.middle, middle + _CAPTION / 2, routers)
    _draw_curves(canvas, shown, top)
    draw_servers(canvas, wording, [box.middle for box in shown if not box.more], middle + _FRAME / 2, below)


def _draw_ring(canvas: Canvas, x: float, y: float, count: int) -> None:
    """The routers of a group: all when they are few, else the first ones, the place of the others, and the last."""
    shown = min(count, _SHOWN_ROUTERS)
    numbers = [f"{number}" for number in range(1, shown + 1)]
    if count > shown:
        numbers[-2:] = [f"+{count - shown + 1}", f"{count}"]
    angles = [2 * pi * index / shown - pi / 2 for index in range(shown)]
    places = [(x + _RING * cos(angle), y + _RING * sin(angle)) for angle in angles] if shown > 1 else [(x, y)]
    drawn = [(place, number, number.startswith("+")) for place, number in zip(places, numbers, strict=True)]
    for (one, _, one_more), (other, _, other_more) in combinations(drawn, 2):
        canvas.line_between(one, other, _ROUTER, dashed=one_more or other_more)
    for (left, top), number, more in drawn:
        canvas.circle(left, top, _ROUTER, dashed=more)
        canvas.words("more" if more else "number", left, top, number, 2 * _ROUTER - 2)


def _draw_curves(canvas: Canvas, shown: Sequence[Box], top: float) -> None:
    """A curve from every group to every other; they leave side by side, the farthest in the middle."""
    count = len(shown)
    for first, last in combinations(range(count), 2):
        start = _curve_foot(shown[first], first, last, count)
        end = _curve_foot(shown[last], last, first, count)
        height = _LEAN * _ARCS * (last - first) / max(count - 1, 1)
        dashed = shown[first].more or shown[last].more
        canvas.curve([(start, top), (start, top - height), (end, top - height), (end, top)], dashed)


def _curve_foot(box: Box, index: int, other: int, count: int) -> float:
    """Where the curve to another group leaves: those to the left, near before far, then to the right, far first."""
    order = [*range(index - 1, -1, -1), *range(count - 1, index, -1)]
    return box.middle + (order.index(other) - (count - 2) / 2) * NUMBER_SIZE

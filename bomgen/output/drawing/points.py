"""Points by two values: the frame of the plane, the ends of both axes, and a numbered point for each design."""

from __future__ import annotations

from bomgen.documents.charts.types import Points
from bomgen.output.drawing.canvas import LINE, NARROW, Canvas

_HEIGHT = 300
_TOP = 2 * LINE
"""Room for the name of the axis upwards and its largest value."""
_INSET = 18
"""Between the outermost points and the frame."""
_RADIUS = 9
_SIZE = 12


def draw_points(canvas: Canvas, shape: Points) -> None:
    """All points at their places, each with its number; what they stand for is in the description."""
    (left, right), (low, high) = shape.ends
    canvas.words("axis", 0, LINE / 2, f"{shape.names[1]}: {low} – {high}", NARROW, anchor="start", largest=_SIZE)
    canvas.rectangle("frame", 1, _TOP, NARROW - 2, _HEIGHT)
    xs, ys = [float(point.x) for point in shape.points], [float(point.y) for point in shape.points]
    for point, x, y in zip(shape.points, xs, ys, strict=True):
        across = _INSET + _share(x, xs) * (NARROW - 2 * _INSET)
        up = _INSET + _share(y, ys) * (_HEIGHT - 2 * _INSET)
        canvas.circle(across, _TOP + _HEIGHT - up, _RADIUS)
        canvas.words("number", across, _TOP + _HEIGHT - up, point.name, 2 * _RADIUS)
        canvas.spoken.append(f"{point.name}: {point.text}")
    below = _TOP + _HEIGHT + LINE
    canvas.words("axis", NARROW, below, f"{shape.names[0]}: {left} – {right}", NARROW, anchor="end", largest=_SIZE)
    canvas.bottom = below + LINE / 2


def _share(value: float, values: list[float]) -> float:
    """Where a value lies between the least and the largest, from 0 to 1; in the middle where all are equal."""
    least, most = min(values), max(values)
    return (value - least) / (most - least) if most > least else 1 / 2

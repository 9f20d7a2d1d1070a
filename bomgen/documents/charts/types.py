"""Records of charts: their contents in words and numbers. Their appearance is defined in `output/drawing/`.

A chart shows numbers of the result; runs other than the plan's come from `sizing/size_counts.py`. Every chart has all
of its numbers as text next to the shapes, or in a table.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.document import Table
from bomgen.results.elevations.types import Elevations

Length = int | float | Fraction | Decimal


class Bar(NamedTuple):
    """A bar with its name, and its numbers as text; all lengths are in the unit of the chart."""

    name: str
    text: str
    parts: tuple[Length, ...] = ()
    """Segments in order; empty if the value is unknown."""
    start: Length = 0
    """Start of the first segment."""
    mark: Length | None = None
    """A value between the ends that is marked by a line."""
    frame: Length | None = None
    """Total capacity that the segments fill."""


class Bars(NamedTuple):
    """Bars with a common origin and scale."""

    bars: tuple[Bar, ...]
    key: tuple[str, ...] = ()
    """Meaning of the segments, if a bar has several."""


class PairMatrix(NamedTuple):
    """A value for every pair of a row and a column; larger values are darker."""

    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Fraction, ...]], ...]
    """The name of a row and its values."""
    texts: tuple[tuple[str, ...], ...]
    """The values as text, row by row."""
    chosen: tuple[int, int]
    """Row and column of the plan's value."""
    foot: tuple[str, ...] = ()
    """An unshaded row at the bottom: its name, and a text per column."""


class PowerNode(NamedTuple):
    """A consumer or supply of power, with a text of what is known about it."""

    name: str
    text: str


class OneLine(NamedTuple):
    """A one-line diagram from the facility down; the boxes of a level together supply those of the next."""

    levels: tuple[tuple[PowerNode, ...], ...]


class HeatMap(NamedTuple):
    """The racks of a floor; racks with more power are darker."""

    found: Elevations


class Point(NamedTuple):
    """A point with its number, and its meaning as text."""

    name: str
    x: Length
    y: Length
    text: str
    joined: bool = True
    """Whether the point is on the line that joins the best ones."""


class Points(NamedTuple):
    """Points in two dimensions."""

    points: tuple[Point, ...]
    names: tuple[str, str]
    """Names of the horizontal and the vertical axis."""
    ends: tuple[tuple[str, str], tuple[str, str]]
    """Smallest and largest value of each axis, as text."""


class Chart(NamedTuple):
    """A chart with its title, a sentence about its contents, and its numbers if no other table has them."""

    id: str
    title: str
    text: str
    shape: Bars | PairMatrix | OneLine | HeatMap | Points
    data: Table | None = None

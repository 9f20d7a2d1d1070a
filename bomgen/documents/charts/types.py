"""The records of charts: what is drawn, in words and numbers. How it looks is said by `output/drawing/`.

A chart shows numbers of the result; runs that the plan does not have come from the sizing (`sizing/sensitivity.py`).
Each comes with all of its numbers as text beside the shapes, or with a table.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.document import Table
from bomgen.results.elevations.types import Elevations

Length = int | float | Fraction | Decimal


class Bar(NamedTuple):
    """A bar with its name, and its numbers as text; all lengths are in the unit of its chart."""

    name: str
    text: str
    parts: tuple[Length, ...] = ()
    """One behind the other; none where a bar stands for something that nobody knows."""
    start: Length = 0
    """Where the first part begins."""
    mark: Length | None = None
    """A value between the ends that is shown as a line."""
    frame: Length | None = None
    """How much there is of what the parts take up."""


class Bars(NamedTuple):
    """Bars from the same origin to the same scale."""

    bars: tuple[Bar, ...]
    key: tuple[str, ...] = ()
    """What the parts stand for, where a bar has several."""


class PairMatrix(NamedTuple):
    """A value for every pair of a row and a column, the darker the larger."""

    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Fraction, ...]], ...]
    """The name of a row and its values."""
    texts: tuple[tuple[str, ...], ...]
    """The values as they are written, row by row."""
    chosen: tuple[int, int]
    """Row and column of the value that the plan has."""
    foot: tuple[str, ...] = ()
    """A row below that has no shades: its name, and a text for each column."""


class PowerNode(NamedTuple):
    """Something that power goes to, with what is known of it."""

    name: str
    text: str


class OneLine(NamedTuple):
    """What supplies what, from the facility down; all boxes of a level supply those of the next one together."""

    levels: tuple[tuple[PowerNode, ...], ...]


class HeatMap(NamedTuple):
    """The racks of a floor, the darker the more power they draw."""

    found: Elevations


class Point(NamedTuple):
    """A point with its number, and what it stands for, as text."""

    name: str
    x: Length
    y: Length
    text: str


class Points(NamedTuple):
    """Points by two values."""

    points: tuple[Point, ...]
    names: tuple[str, str]
    """Of the axis to the right, and of the axis upwards."""
    ends: tuple[tuple[str, str], tuple[str, str]]
    """The least and the largest value on each axis, as text."""


class Chart(NamedTuple):
    """Something to draw with its title, what it shows in a sentence, and its numbers where no other table has them."""

    id: str
    title: str
    text: str
    shape: Bars | PairMatrix | OneLine | HeatMap | Points
    data: Table | None = None

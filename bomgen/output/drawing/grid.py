"""A torus drawn as a grid, layer behind layer: lines between neighbours, curves from the end of a line to its start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bomgen.output.drawing.arrangement import Torus, find_torus
from bomgen.output.drawing.canvas import LEFT, LINE, NUMBER_SIZE, RIGHT, Canvas, DrawingRow
from bomgen.output.drawing.wording import Wording

_SHOWN = 4
"""Nodes of an axis that are drawn; of a longer one the first two and the last."""
_SHOWN_LAYERS = 3
_AXES = 3
_NODE = 6
_PITCH_X, _PITCH_Y = 92, 68
_BEHIND_X, _BEHIND_Y = 44, -26
"""How far a layer stands beside and above the one before it."""
_BOW = 24
"""How far the points that a curve is drawn towards stand off its line."""
_DOWN = 0.5
"""How far the curves from front to back lean down, for every step that they lean aside."""
_NUMBER_ROOM = 16
"""From a node to the number of its line."""
_NAME_ROOM = 2 * LINE
_APART = "\u2003"
"""Between a number and the name of its axis."""


class _Axis(NamedTuple):
    """The nodes of an axis that are drawn, as their numbers; where some are left out, it is before the last."""

    name: str
    size: int
    numbers: tuple[int, ...]
    closed: bool

    @property
    def last(self) -> int:
        return len(self.numbers) - 1

    def passes(self, place: int) -> bool:
        """Whether nodes are left out between a place and the one after it."""
        return self.numbers[place + 1] - self.numbers[place] > 1


def draw_grid(canvas: Canvas, wording: Wording, axes: Sequence[str]) -> None:
    """Draw a fabric without switches, whose nodes stand on a grid of up to three axes."""
    torus = find_torus(wording.drawn)
    drawn = zip((*axes, "", "")[:_AXES], (_SHOWN, _SHOWN, _SHOWN_LAYERS), strict=True)
    x, y, z = (_axis(torus, name, shown) for name, shown in drawn)
    depth = -_BEHIND_Y * z.last
    tall = y.last * _PITCH_Y + depth + _BOW + _NUMBER_ROOM + _NAME_ROOM
    [middle] = canvas.rows([DrawingRow(_label(wording, torus), height=tall)])
    wide = x.last * _PITCH_X + z.last * _BEHIND_X
    grid = _Grid(canvas, (LEFT + RIGHT - wide) / 2, middle - tall / 2 + depth + _BOW, (x, y, z))
    grid.draw()
    grid.name(wording)


def _axis(torus: Torus, name: str, shown: int) -> _Axis:
    size = torus.sizes.get(name, 1)
    numbers = tuple(range(1, size + 1)) if size <= shown else (*range(1, _SHOWN_LAYERS), size)
    return _Axis(name, size, numbers, torus.wrapped and size > 2)


def _label(wording: Wording, torus: Torus) -> list[str]:
    language = wording.language
    lines = [wording.grid(), language.word("ui-nodes", count=language.integer(torus.nodes))]
    for links in wording.drawn.links:
        lines += wording.links(links)
        lines.append(language.word("ui-per-node", count=wording.spread(2 * links.count.value, torus.nodes)))
    closed = [name for name, size in torus.sizes.items() if torus.wrapped and size > 2]
    return [*lines, language.word("ui-wrapped", axes=", ".join(closed))] if closed else lines


class _Grid:
    """Where the nodes of a grid stand, from its first one on."""

    def __init__(self, canvas: Canvas, left: float, top: float, axes: tuple[_Axis, _Axis, _Axis]) -> None:
        self.canvas, self.left, self.top = canvas, left, top
        self.x, self.y, self.z = axes

    def place(self, column: int, row: int, layer: int) -> tuple[float, float]:
        return (
            self.left + column * _PITCH_X + layer * _BEHIND_X,
            self.top + row * _PITCH_Y + layer * _BEHIND_Y,
        )

    def draw(self) -> None:
        """All lines, then the nodes upon them, those behind first."""
        for layer in range(self.z.last, -1, -1):
            for row in range(self.y.last + 1):
                for column in range(self.x.last + 1):
                    self._links(column, row, layer)
        self._curves()
        for layer in range(self.z.last, -1, -1):
            for row in range(self.y.last + 1):
                for column in range(self.x.last + 1):
                    self.canvas.circle(*self.place(column, row, layer), _NODE)

    def _links(self, column: int, row: int, layer: int) -> None:
        here = self.place(column, row, layer)
        for axis, at, there in (
            (self.x, column, (column + 1, row, layer)),
            (self.y, row, (column, row + 1, layer)),
            (self.z, layer, (column, row, layer + 1)),
        ):
            if at < axis.last:
                self.canvas.line_between(here, self.place(*there), _NODE, dashed=axis.passes(at))

    def _curves(self) -> None:
        """From the last node of a line to its first, on the faces that one looks at."""
        x, y, z = self.x, self.y, self.z
        for row in range(y.last + 1) if x.closed else ():
            self._curve(self.place(0, row, 0), self.place(x.last, row, 0), 0, -1)
        for column in range(x.last + 1) if y.closed else ():
            self._curve(self.place(column, 0, 0), self.place(column, y.last, 0), -1, 0)
        for row in range(y.last + 1) if z.closed else ():
            self._curve(self.place(x.last, row, 0), self.place(x.last, row, z.last), 1, _DOWN)

    def _curve(self, start: tuple[float, float], end: tuple[float, float], aside: float, below: float) -> None:
        """A curve between two rims that stands off to a side."""
        rims = [(x + aside * _NODE, y + below * _NODE) for x, y in (start, end)]
        bent = [(x + aside * _BOW, y + below * _BOW) for x, y in rims]
        self.canvas.curve([rims[0], *bent, rims[1]])

    def name(self, wording: Wording) -> None:
        """Numbers along the axes, and the axes' names with their sizes."""
        canvas, language = self.canvas, wording.language
        x, y, z = self.x, self.y, self.z
        names = {axis: language.word("ui-axis", axis=axis.name, count=axis.size) for axis in (x, y, z) if axis.last}
        if x.last:
            _, bottom = self.place(0, y.last, 0)
            for column, number in enumerate(x.numbers):
                canvas.words("number", self.place(column, 0, 0)[0], bottom + _NUMBER_ROOM, f"{number}", _PITCH_X)
            middle = (self.place(0, 0, 0)[0] + self.place(x.last, 0, 0)[0]) / 2
            canvas.words("axis", middle, bottom + _NUMBER_ROOM + LINE, names[x], _PITCH_X)
        if y.last:
            aside = self.left - _NUMBER_ROOM - _BOW
            for row, number in enumerate(y.numbers):
                canvas.words("number", aside, self.place(0, row, 0)[1], f"{number}", _PITCH_Y)
            middle = (self.place(0, 0, 0)[1] + self.place(0, y.last, 0)[1]) / 2
            canvas.words("axis", aside - LINE, middle, names[y], 2 * _PITCH_Y, turned=True)
        for layer, number in enumerate(z.numbers if z.last else ()):
            right, bottom = self.place(x.last, y.last, layer)
            text = f"{number}" if layer < z.last else f"{number}{_APART}{names[z]}"
            canvas.words("number", right + 2 * NUMBER_SIZE, bottom + _NUMBER_ROOM / 2, text, _PITCH_X, anchor="start")

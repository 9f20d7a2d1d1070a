"""SVG shapes and labels of a drawing.

Labels have a separate column on the left, and rows are as far apart as their labels need, so that no text overlaps a
line or other text. Switches that are not shown take no elements: 20,000 switches take as long as fifty. Everything is
drawn in `currentColor`, so that a drawing follows the colours of its page, light, dark or printed; a standalone file
has its own background.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import hypot
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from bomgen.core.language import Language
from bomgen.output.face import BOLD, FAMILIES, REGULAR, width_in_ems

WIDTH = 760
NARROW = 460
"""Width of a chart, for legible text on a phone."""
LEFT, RIGHT = 220, 756
"""Horizontal ends of the shapes; labels are to the left."""
MARGIN = 34
BOX_HEIGHT = 30
PADDING = 12
"""Between a frame and its contents."""
LINE = 16
NUMBER_SIZE = 11
BETWEEN_BOXES = 9
_WORDS_WIDTH = 204
_ROW_PITCH = 126
_GAP = 10
"""Minimum gap between two labels."""
_WIDEST_BOX = 56
_SLOT = 33
"""Minimum width of a box, with its spacing."""
_MOST_SLOTS = 16
_MORE_FRAMES = 64
_NAME_SIZE = 13
_WORD_SIZE = 12
_NAME_LINES = 2
_PIECES = re.compile(r"\s*(?:[\u2e80-\uffdc]|[^\s\u2e80-\uffdc]+)")
"""Units between which a line may break: words and Chinese characters."""
_KEY = 12
"""Side of a colour box in a legend."""
_TONE = 0.07
"""Fill opacity of a box."""
_CORNER = 4
_SMALLEST = 4.5
"""Smallest legible font size, even on a scaled page."""
_GROUND = 28
"""Margin around the drawing in a standalone file."""
_STYLE = (
    "<style>:root{color:#1c2128;background:#fff}"
    "@media(prefers-color-scheme:dark){:root{color:#e2e6ea;background:#14171c}.ground{fill:#14171c}}</style>"
)


class DrawnBox(NamedTuple):
    """A drawn box, or, with `more`, a placeholder for items that are not drawn."""

    x: float
    width: float
    number: int
    more: bool

    @property
    def middle(self) -> float:
        """Return its horizontal centre."""
        return self.x + self.width / 2


class DrawingRow(NamedTuple):
    """A row of the drawing: its label, and the label of the links to the row above."""

    label: Sequence[str]
    links: Sequence[str] = ()
    height: float = BOX_HEIGHT
    """Height of its shapes."""
    head: float = 0
    """Height of the labels above the shapes of the first row."""


class Canvas:
    """Collector of the elements of one drawing."""

    def __init__(self, kind: str = "fabric", width: float = WIDTH) -> None:
        self.kind, self.width = kind, width
        self.elements: list[str] = []
        self.spoken: list[str] = []
        self.bottom = 0.0

    def text(self, name: str, title: str, language: Language, alone: bool = False) -> str:
        """Return the SVG element, or with `alone` a standalone file. The name makes its ids unique within a page."""
        height = self.bottom + MARGIN
        slug = "svg-" + "".join(char if char.isalnum() else f"-{ord(char):x}-" for char in name)
        left, width = (-_GROUND, self.width + 2 * _GROUND) if alone else (0, self.width)
        place = f'x="{left:g}" y="0" width="{width:g}" height="{height:g}"'
        ground = f'{_STYLE}<rect class="ground" {place} fill="#fff" stroke="none"/>' if alone else ""
        size = f' width="{width:g}" height="{height:g}" color="#1c2128"' if alone else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{self.kind}" '
            f'viewBox="{left:g} 0 {width:g} {height:g}"{size} role="img" '
            f'aria-labelledby="{slug}-title {slug}-desc" fill="none" stroke="currentColor" '
            f'lang="{language.word("ui-language")}" font-family="{FAMILIES}">'
            f'<title id="{slug}-title">{escape(title)}</title>'
            f'<desc id="{slug}-desc">{escape("; ".join(self.spoken))}</desc>'
            f"{ground}{''.join(self.elements)}</svg>\n"
        )

    # Words

    def header(self, lines: Sequence[str]) -> None:
        """Add text above everything else."""
        if lines:
            lines = _wrap_label(lines)
            self.block(MARGIN / 2 + LINE * (len(lines) - 1) / 2, lines, strong=True)
            self.bottom = MARGIN / 2 + LINE * len(lines)

    def rows(self, rows: Sequence[DrawingRow]) -> list[float]:
        """Add the labels of all rows and return the vertical centres of their shapes, spaced for the labels."""
        middles: list[float] = []
        above = self.bottom
        for index, row in enumerate(rows):
            label = _wrap_label(row.label)
            links = [piece for line in row.links for piece in wrap_words(line)]
            half = LINE * len(label) / 2
            start = above + (LINE * len(links) + 2 * _GAP if links else 0)
            middle = max(start + half, self.bottom + MARGIN + row.head + row.height / 2)
            if index:
                pitch = _ROW_PITCH - BOX_HEIGHT + (row.height + rows[index - 1].height) / 2
                middle = max(start + half, middles[-1] + pitch)
            if links:
                self.block((above + middle - half) / 2, links)
            self.block(middle, label, strong=True)
            middles.append(middle)
            above = middle + half
        self.bottom = max(above, middles[-1] + rows[-1].height / 2)
        return middles

    def block(self, centre: float, lines: Sequence[str], strong: bool = False) -> None:
        """Add lines in the label column around a height; a strong block has a heading."""
        self.spoken.append(", ".join(lines))
        y = centre - LINE * (len(lines) - 1) / 2
        for index, line in enumerate(lines):
            size, weight = (_NAME_SIZE, BOLD) if strong and not index else (_WORD_SIZE, REGULAR)
            self.elements.append(
                f'<text x="0" y="{y + index * LINE:g}" font-size="{size}" font-weight="{weight}" '
                f'dominant-baseline="central" fill="currentColor" stroke="none">{escape(line)}</text>'
            )

    def words(
        self,
        kind: str,
        x: float,
        y: float,
        text: str,
        width: float,
        turned: bool = False,
        anchor: str = "middle",
        largest: float = NUMBER_SIZE,
        strong: bool = False,
    ) -> None:
        """Add text around or from a point among the shapes, small enough to fit."""
        size = min(largest, (width - 2) / max(width_in_ems(text, strong), 1))
        weight = f' font-weight="{BOLD}"' if strong else ""
        turn = f' transform="rotate(-90 {x:g} {y:g})"' if turned else ""
        self.elements.append(
            f'<text x="{x:g}" y="{y:g}"{turn} class="{kind}" font-size="{size:.3g}"{weight} text-anchor="{anchor}" '
            f'dominant-baseline="central" fill="currentColor" stroke="none">{escape(text)}</text>'
        )

    def lines(
        self,
        kind: str,
        x: float,
        middle: float,
        lines: Sequence[str],
        width: float,
        largest: float,
        pitch: float = LINE,
        strong: int = 0,
    ) -> None:
        """Add lines around a point among the shapes, the first `strong` ones in bold."""
        for index, line in enumerate(lines):
            y = middle + (index - (len(lines) - 1) / 2) * pitch
            self.words(kind, x, y, line, width, largest=largest, strong=index < strong)

    # Shapes

    def boxes(self, middle: float, boxes: Sequence[DrawnBox], kind: str, devices: Sequence[int]) -> None:
        """Add a row of boxes of a fabric and tier, with their numbers; `devices` are their indices in all of it."""
        for box in boxes:
            top = middle - BOX_HEIGHT / 2
            device = kind if box.more else f"{kind} {devices[box.number - 1] + 1}"
            self.rectangle(
                "box", box.x, top, box.width, BOX_HEIGHT, dashed=box.more, filled=not box.more, device=device
            )
            text = f"+{box.number}" if box.more else str(box.number)
            self.words("more" if box.more else "number", box.middle, middle, text, box.width)

    def rectangle(
        self,
        kind: str,
        x: float,
        y: float,
        width: float,
        height: float,
        dashed: bool = False,
        filled: bool = False,
        tone: float = _TONE,
        corner: float = _CORNER,
        device: str = "",
    ) -> None:
        """Add a box, or, with another kind, a frame."""
        thin = "" if kind == "box" else ' stroke-width="0.75"'
        self.elements.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{corner:g}"'
            f"{_style_of_box(dashed, filled, tone)}{thin}{_data_of(device)}/>"
        )

    def circle(self, x: float, y: float, radius: float, dashed: bool = False, device: str = "") -> None:
        """Add a router or a node of a grid."""
        look = _style_of_box(dashed, not dashed) + _data_of(device)
        self.elements.append(f'<circle class="node" cx="{x:g}" cy="{y:g}" r="{radius:g}"{look}/>')

    def point(self, x: float, y: float, radius: float, filled: bool, title: str) -> None:
        """Add a point of a plane, with the text that a pointer shows."""
        self.elements.append(
            f'<circle class="point" cx="{x:g}" cy="{y:g}" r="{radius:g}" stroke-width="1.2" '
            f'fill="currentColor" fill-opacity="{1 if filled else 0}"><title>{escape(title)}</title></circle>'
        )

    def key(self, entries: Sequence[tuple[str, float]]) -> None:
        """Add a legend of the shades of a chart below it, in as many lines as needed."""
        x, y = 0.0, self.bottom + LINE
        for text, tone in entries:
            width = _KEY + BETWEEN_BOXES + text_width(text, _WORD_SIZE) + 2 * BETWEEN_BOXES
            if x and x + width > self.width:
                x, y = 0.0, y + LINE + 2
            self.rectangle("key", x + 1, y - _KEY / 2, _KEY, _KEY, filled=True, tone=tone, corner=0)
            left = x + _KEY + BETWEEN_BOXES
            self.words("key", left, y, text, self.width - left, anchor="start", largest=_WORD_SIZE)
            x += width
        self.spoken.append(", ".join(text for text, _ in entries))
        self.bottom = y + LINE / 2

    def line(self, x1: float, y1: float, x2: float, y2: float, dashed: bool = False) -> None:
        """Add a link; a dashed one passes omitted items."""
        self.elements.append(
            f'<line class="link" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke-width="0.8" '
            f'stroke-opacity="0.45"{_dash_style(dashed)}/>'
        )

    def line_between(
        self, one: tuple[float, float], other: tuple[float, float], radius: float, dashed: bool = False
    ) -> None:
        """Add a link from the edge of one circle to that of another."""
        (x1, y1), (x2, y2) = one, other
        part = radius / hypot(x2 - x1, y2 - y1)
        dx, dy = (x2 - x1) * part, (y2 - y1) * part
        self.line(x1 + dx, y1 + dy, x2 - dx, y2 - dy, dashed)

    def curve(self, points: Sequence[tuple[float, float]], dashed: bool = False) -> None:
        """Add a curved link from the first of four points to the last, with two control points."""
        start, *rest = (f"{x:g} {y:g}" for x, y in points)
        self.elements.append(
            f'<path class="link" d="M{start}C{", ".join(rest)}" stroke-width="0.8" '
            f'stroke-opacity="0.45"{_dash_style(dashed)}/>'
        )


def _data_of(device: str) -> str:
    """Return what a page knows a shape by: the name of a device, or its fabric, tier and number from 1 on."""
    return f" data-device={quoteattr(device)}" if device else ""


def _style_of_box(dashed: bool, filled: bool, tone: float = _TONE) -> str:
    look = ' stroke-dasharray="3 3" stroke-opacity="0.6"' if dashed else ' stroke-opacity="0.8"'
    return look + (f' fill="currentColor" fill-opacity="{tone:g}"' if filled else "")


def _dash_style(dashed: bool) -> str:
    return ' stroke-dasharray="2 3"' if dashed else ""


def elide(count: int, most: int) -> list[tuple[int, bool]]:
    """Return the numbers to draw, from 1: all if there are few, else the first ones, a placeholder, and the last.

    The placeholder, which is marked, has the number of omitted items.
    """
    if count <= most:
        return [(number, False) for number in range(1, count + 1)]
    return [*((number, False) for number in range(1, most - 1)), (count - most + 1, True), (count, False)]


def lay_out_frames(count: int, most: int) -> Iterator[DrawnBox]:
    """Yield frames beside each other."""
    shown, elided = elide(count, most), count > most
    width = (RIGHT - LEFT - elided * _MORE_FRAMES - (len(shown) - 1) * PADDING) / max(len(shown) - elided, 1)
    x: float = LEFT
    for number, more in shown:
        yield DrawnBox(x, _MORE_FRAMES if more else width, number, more)
        x += (_MORE_FRAMES if more else width) + PADDING


def lay_out_boxes(left: float, room: float, count: int) -> list[DrawnBox]:
    """Return boxes centred in a width."""
    slots = min(int(room // _SLOT), _MOST_SLOTS)
    shown, pitch = elide(count, slots), room / slots
    width = min(pitch - BETWEEN_BOXES, _WIDEST_BOX)
    start = left + (room - len(shown) * pitch) / 2 + (pitch - width) / 2
    return [DrawnBox(start + slot * pitch, width, number, more) for slot, (number, more) in enumerate(shown)]


def _wrap_label(lines: Sequence[str]) -> list[str]:
    return [piece for index, line in enumerate(lines) for piece in wrap_words(line, strong=not index)]


def wrap_words(text: str, strong: bool = False) -> list[str]:
    """Return text as lines of the label column, or of its headings, truncated if too long."""
    size = _NAME_SIZE if strong else _WORD_SIZE
    lines: list[str] = []
    line = ""
    for piece in _PIECES.findall(text):
        if line and text_width(line + piece, size, strong) > _WORDS_WIDTH:
            lines.append(line)
            line = piece.lstrip()
        else:
            line = (line + piece).lstrip()
    lines.append(line)
    if len(lines) > _NAME_LINES:
        lines = [*lines[: _NAME_LINES - 1], " ".join(lines[_NAME_LINES - 1 :])]
    return [cut_words(line, _WORDS_WIDTH, size, strong) for line in lines]


def fit_words(text: str, width: float, strong: bool = False) -> str:
    """Return text for a width among the shapes, truncated to a legible size."""
    return cut_words(text, width - 2, _SMALLEST, strong)


def cut_words(line: str, room: float, size: float, strong: bool = False) -> str:
    """Return text of a size for a width, truncated if too long."""
    if text_width(line, size, strong) <= room:
        return line
    while line and text_width(f"{line}…", size, strong) > room:
        line = line[:-1]
    return f"{line.rstrip()}…"


def text_width(text: str, size: float, strong: bool = False) -> float:
    """Return the width of text of a size."""
    return size * width_in_ems(text, strong)

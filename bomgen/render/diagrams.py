"""A drawing of a fabric, from its model: tiers as rows of boxes, and the links between them.

Words stand in a column of their own on the left, so that no line ever runs through them. Everything is drawn in
`currentColor`, so that the drawing follows the page it stands on, light, dark or printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import NamedTuple
from unicodedata import east_asian_width
from xml.sax.saxutils import escape

from bomgen.fabric.model import Fabric, Links, Tier
from bomgen.language import Language

_WIDTH = 760
_WORDS_WIDTH = 204
_LEFT = 220
_RIGHT = 756
_BOX_HEIGHT = 30
_ROW_PITCH = 126
_MARGIN = 34
_WIDEST_BOX = 56
_BETWEEN_BOXES = 9
_SLOT = 45
"""A box needs this much width, with the space beside it."""
_MOST_SLOTS = 8
_SHOWN_PODS = 3
_POD_GAP = 12
_POD_PADDING = 12
_POD_WORD = 22
_MORE_PODS = 64
_LINE = 16
_BOLD, _REGULAR = 600, 400
_NAME_SIZE = 13
_WORD_SIZE = 12
_NUMBER_SIZE = 11
_GLYPH = 0.56
"""Width of an average letter, in ems; a Chinese one is one em."""
_NAME_LINES = 2


class _Box(NamedTuple):
    """A switch or pod that is drawn, or, with `more`, the place of so many that are not."""

    x: float
    width: float
    number: int
    more: bool

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def fabric_svg(fabric: Fabric, name: str, language: Language) -> str:
    """A fabric as the text of an SVG element of its own: scalable, described for readers who do not see it.

    `name` is the fabric's name in the plan; it makes the ids in the drawing unique within a page.
    """
    return _Drawing(fabric, name, language).text()


class _Drawing:
    """Collects the elements of one drawing, row by row."""

    def __init__(self, fabric: Fabric, name: str, language: Language) -> None:
        self.fabric, self.name, self.language = fabric, name, language
        self.tiers = fabric.tiers[::-1]
        self.links = {links.kind: links for links in fabric.links}
        self.pods = fabric.pods.value if fabric.pods is not None and len(self.tiers) > 1 else 0
        self.elements: list[str] = []
        self.spoken: list[str] = []

    def text(self) -> str:
        """The whole element."""
        frames = list(_frames(self.pods))
        self._draw_frames(frames)
        above: list[list[_Box]] = []
        for row, tier in enumerate(self.tiers):
            groups = self._groups(tier, frames)
            for boxes in groups:
                self._draw_boxes(row, boxes)
            self._label_tier(row, tier)
            if row:
                upper = self.tiers[row - 1]
                self._connect(row, groups, above, self._links_up(tier) >= self._reachable(upper))
                self._label_links(row, tier, upper)
            above = groups
        self._draw_servers(len(self.tiers), above)
        return self._element()

    def _element(self) -> str:
        height = _middle(len(self.tiers)) + _BOX_HEIGHT / 2 + _MARGIN
        slug = "svg-" + "".join(char if char.isalnum() else f"-{ord(char):x}-" for char in self.name)
        title = self.language.word("ui-fabric", name=self.name, parts=self._parts())
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="fabric" viewBox="0 0 {_WIDTH} {height:g}" role="img" '
            f'aria-labelledby="{slug}-title {slug}-desc" fill="none" stroke="currentColor" '
            "font-family=\"system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', "
            "'Microsoft YaHei', sans-serif\">"
            f'<title id="{slug}-title">{escape(title)}</title>'
            f'<desc id="{slug}-desc">{escape("; ".join(self.spoken))}</desc>{"".join(self.elements)}</svg>\n'
        )

    def _parts(self) -> str:
        return ", ".join(self._switches(tier) for tier in self.fabric.tiers)

    def _switches(self, tier: Tier) -> str:
        count = self.language.integer(tier.count.value)
        return self.language.word("ui-switches", count=count, name=tier.switch.identity.name)

    # Rows

    def _groups(self, tier: Tier, frames: Sequence[_Box]) -> list[list[_Box]]:
        """The boxes of a tier, pod by pod; those of a core, and of a fabric without pods, are one group."""
        if not self.pods or tier.name == "core":
            return [list(_boxes(_LEFT, _RIGHT - _LEFT, tier.count.value))]
        each, larger = divmod(tier.count.value, self.pods)
        left, padding = _POD_WORD, _POD_WORD + _POD_PADDING
        return [
            list(_boxes(frame.x + left, frame.width - padding, each + (1 if frame.number <= larger else 0)))
            for frame in frames
            if not frame.more
        ]

    def _draw_frames(self, frames: Sequence[_Box]) -> None:
        rows = [row for row, tier in enumerate(self.tiers) if tier.name != "core"]
        if not frames:
            return
        top = _middle(rows[0]) - _BOX_HEIGHT / 2 - _POD_PADDING
        height = _middle(rows[-1]) + _BOX_HEIGHT / 2 + _POD_PADDING - top
        for frame in frames:
            self._rectangle("pod", frame.x, top, frame.width, height, dashed=frame.more)
            centre = top + height / 2
            if frame.more:
                self._words("more", frame.x + frame.width / 2, centre, f"+{frame.number}", frame.width)
                continue
            x = frame.x + _POD_WORD / 2
            word = escape(self.language.word("ui-pod", number=frame.number))
            self.elements.append(
                f'<text x="{x:g}" y="{centre:g}" transform="rotate(-90 {x:g} {centre:g})" class="pod" '
                f'font-size="{_NUMBER_SIZE}" text-anchor="middle" dominant-baseline="central" fill="currentColor" '
                f'stroke="none">{word}</text>'
            )

    def _draw_boxes(self, row: int, boxes: Sequence[_Box]) -> None:
        top = _middle(row) - _BOX_HEIGHT / 2
        for box in boxes:
            self._rectangle("box", box.x, top, box.width, _BOX_HEIGHT, dashed=box.more, filled=not box.more)
            text = f"+{box.number}" if box.more else str(box.number)
            self._words("more" if box.more else "number", box.middle, _middle(row), text, box.width)

    def _draw_servers(self, row: int, leaves: Sequence[Sequence[_Box]]) -> None:
        """One frame around the servers: which of them hang on which leaf differs from topology to topology."""
        fabric, language = self.fabric, self.language
        servers = ceil(fabric.endpoints.value / fabric.ports_per_server.value)
        top = _middle(row) - _BOX_HEIGHT / 2
        self._rectangle("servers", _LEFT, top - _POD_PADDING, _RIGHT - _LEFT, _BOX_HEIGHT + 2 * _POD_PADDING)
        boxes = list(_boxes(_LEFT + _POD_PADDING, _RIGHT - _LEFT - 2 * _POD_PADDING, servers))
        self._draw_boxes(row, boxes)
        start = _middle(row - 1) + _BOX_HEIGHT / 2
        for box in (box for group in leaves for box in group if not box.more):
            for x in (box.middle - _BETWEEN_BOXES, box.middle, box.middle + _BETWEEN_BOXES):
                self._line(x, start, x, top - _POD_PADDING)
        endpoints = language.word("ui-endpoints", count=language.integer(fabric.endpoints.value))
        per_server = language.word("ui-per-server", count=language.integer(fabric.ports_per_server.value))
        self._label(row, language.word("ui-tier-server"), [endpoints, per_server])
        self._write_links(row, self.links["server-leaf"], [])

    # Links

    def _links_up(self, tier: Tier) -> int:
        return tier.up.value if tier.up is not None else 0

    def _reachable(self, upper: Tier) -> int:
        """The switches of a tier that one below may be linked to: those of its pod, or all."""
        return int(upper.count.value // self.pods if self.pods and upper.name != "core" else upper.count.value)

    def _connect(
        self,
        row: int,
        groups: Sequence[Sequence[_Box]],
        above: Sequence[Sequence[_Box]],
        all_joined: bool,
    ) -> None:
        """Lines to all switches above, or, where up-links are fewer than these, to a group of them."""
        start, end = _middle(row) - _BOX_HEIGHT / 2, _middle(row - 1) + _BOX_HEIGHT / 2
        for index, group in enumerate(groups):
            upper = [box for box in (above[index] if len(above) == len(groups) else above[0]) if not box.more]
            lower = [box for box in group if not box.more]
            for position, box in enumerate(lower):
                for other, target in enumerate(upper):
                    if all_joined or other * len(lower) // len(upper) == position:
                        self._line(box.middle, start, target.middle, end)

    def _label_links(self, row: int, lower: Tier, upper: Tier) -> None:
        language = self.language
        more = []
        links_up, reachable = self._links_up(lower), self._reachable(upper)
        if links_up % reachable == 0:
            more.append(language.word("ui-per-pair", count=language.integer(links_up // reachable)))
        else:
            more.append(language.word("ui-per-switch", count=language.integer(links_up)))
        if self.pods and upper.name != "core":
            more.append(language.word("ui-pods", count=language.integer(self.pods)))
        self._write_links(row, self.links[f"{lower.name}-{upper.name}"], more)

    def _write_links(self, row: int, links: Links, more: Sequence[str]) -> None:
        count = self.language.integer(links.count.value)
        rate = self.language.value(links.rate_gbps.value, "Gb/s")
        lines = [self.language.word("ui-links", count=count, rate=rate), *more]
        self._block((_middle(row - 1) + _middle(row)) / 2, lines)

    # Words

    def _label_tier(self, row: int, tier: Tier) -> None:
        self._label(row, self.language.word(f"ui-tier-{tier.name}"), _wrapped(self._switches(tier)))

    def _label(self, row: int, name: str, lines: Sequence[str]) -> None:
        self._block(_middle(row), [name, *lines], strong=True)

    def _block(self, centre: float, lines: Sequence[str], strong: bool = False) -> None:
        """Lines of words in the left column, around a height; a strong block has a heading."""
        self.spoken.append(", ".join(lines))
        y = centre - _LINE * (len(lines) - 1) / 2
        for index, line in enumerate(lines):
            size, weight = (_NAME_SIZE, _BOLD) if strong and not index else (_WORD_SIZE, _REGULAR)
            self.elements.append(
                f'<text x="0" y="{y + index * _LINE:g}" font-size="{size}" font-weight="{weight}" '
                f'dominant-baseline="central" fill="currentColor" stroke="none">{escape(line)}</text>'
            )

    def _words(self, kind: str, x: float, y: float, text: str, width: float) -> None:
        """A number in the middle of a box, small enough for it."""
        size = min(_NUMBER_SIZE, (width - 2) / (len(text) * _GLYPH))
        self.elements.append(
            f'<text x="{x:g}" y="{y:g}" class="{kind}" font-size="{size:.3g}" text-anchor="middle" '
            f'dominant-baseline="central" fill="currentColor" stroke="none">{text}</text>'
        )

    # Shapes

    def _rectangle(
        self, kind: str, x: float, y: float, width: float, height: float, dashed: bool = False, filled: bool = False
    ) -> None:
        look = ' stroke-dasharray="3 3" stroke-opacity="0.6"' if dashed else ' stroke-opacity="0.8"'
        if kind in ("pod", "servers"):
            look += ' stroke-width="0.75"'
        if filled:
            look += ' fill="currentColor" fill-opacity="0.07"'
        self.elements.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4"{look}/>'
        )

    def _line(self, x1: float, y1: float, x2: float, y2: float) -> None:
        self.elements.append(
            f'<line class="link" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke-width="0.8" '
            'stroke-opacity="0.45"/>'
        )


def _middle(row: int) -> float:
    """The height at which the boxes of a row are centred."""
    return _MARGIN + _BOX_HEIGHT / 2 + row * _ROW_PITCH


def _frames(pods: int) -> Iterator[_Box]:
    """All pods when they are few; else the first, the place of the others, and the last."""
    room = _RIGHT - _LEFT
    if pods <= _SHOWN_PODS:
        width = (room - (pods - 1) * _POD_GAP) / max(pods, 1)
        yield from (_Box(_LEFT + index * (width + _POD_GAP), width, index + 1, False) for index in range(pods))
        return
    width = (room - _MORE_PODS - 2 * _POD_GAP) / 2
    yield _Box(_LEFT, width, 1, False)
    yield _Box(_LEFT + width + _POD_GAP, _MORE_PODS, pods - 2, True)
    yield _Box(_RIGHT - width, width, pods, False)


def _boxes(left: float, room: float, count: int) -> Iterator[_Box]:
    """Boxes in the middle of the room: all when they fit, else the first, the place of the others, and the last."""
    slots = min(int(room // _SLOT), _MOST_SLOTS)
    shown = min(count, slots)
    pitch = room / slots
    width = min(pitch - _BETWEEN_BOXES, _WIDEST_BOX)
    start = left + (room - shown * pitch) / 2 + (pitch - width) / 2
    for slot in range(shown):
        x = start + slot * pitch
        if count > slots and slot == shown - 2:
            yield _Box(x, width, count - shown + 1, True)
        else:
            yield _Box(x, width, count if slot == shown - 1 else slot + 1, False)


def _wrapped(text: str) -> list[str]:
    """Text in the lines that the left column has for it; what does not fit is cut off."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and _width(f"{line} {word}") > _WORDS_WIDTH:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".lstrip()
    lines.append(line)
    if len(lines) > _NAME_LINES:
        lines = [*lines[: _NAME_LINES - 1], " ".join(lines[_NAME_LINES - 1 :])]
    return [_cut(each) for each in lines]


def _cut(line: str) -> str:
    if _width(line) <= _WORDS_WIDTH:
        return line
    while line and _width(f"{line}…") > _WORDS_WIDTH:
        line = line[:-1]
    return f"{line.rstrip()}…"


def _width(text: str) -> float:
    return _WORD_SIZE * sum(1 if east_asian_width(char) in "WF" else _GLYPH for char in text)

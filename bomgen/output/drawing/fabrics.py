"""Drawings of fabrics: the arrangement of their switches, the labels, and the SVG.

The topology declares whether it is drawn as tiers, groups of switches or a grid. SVG and Graphviz drawings share this
module. Of several equal planes one is drawn, with its counts and the totals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import comb, cos, pi, prod, sin
from types import MappingProxyType
from typing import NamedTuple

from bomgen.core.language import Language
from bomgen.fabric.types import SERVER, Fabric, Links, NodeGrid, SwitchGroups, Tier, TierRows, topology
from bomgen.output.drawing.canvas import (
    BETWEEN_BOXES,
    BOX_HEIGHT,
    LEFT,
    LINE,
    NUMBER_SIZE,
    PADDING,
    RIGHT,
    Canvas,
    DrawingRow,
    DrawnBox,
    elide,
    lay_out_boxes,
    lay_out_frames,
)
from bomgen.plan.types import ROLES

CORE = "core"


def find_arrangement(fabric: Fabric) -> TierRows | SwitchGroups | NodeGrid:
    """Return how the topology of a fabric is drawn."""
    return topology(fabric.topology).arrangement


def is_link_inside_group(fabric: Fabric, links: Links) -> bool:
    """Return whether links connect switches of one group."""
    arrangement = find_arrangement(fabric)
    return isinstance(arrangement, SwitchGroups) and links.kind == arrangement.inside


def find_links(fabric: Fabric, lower: str, upper: str) -> Links | None:
    """Return the links between two tiers; None if there are none."""
    return next((links for links in fabric.links if links.ends == (lower, upper)), None)


def members_of_parts(count: int, parts: int, first: int, last: int) -> range:
    """Return the indices of `count` items in parts `first` to `last`, where the first parts have one more."""
    each, larger = divmod(count, parts)
    return range(first * each + min(first, larger), (last + 1) * each + min(last + 1, larger))


def count_last_pods(fabric: Fabric) -> int:
    """Return the number of last pods with another size; 0 if pods are as equal as possible."""
    arrangement = find_arrangement(fabric)
    found = fabric.dimensions.get(arrangement.last_pods) if isinstance(arrangement, TierRows) else None
    return int(found.value) if found else 0


def links_of_pods(fabric: Fabric, links: Links) -> tuple[int, int]:
    """Return the links between every two pods, and between one of the last and any other."""
    pods, others, arrangement = count_pods(fabric), count_last_pods(fabric), find_arrangement(fabric)
    if not others or not isinstance(arrangement, TierRows):
        each = int(links.count.value) // (comb(pods, 2))
        return each, each
    to_last = int(fabric.dimensions[arrangement.links_to_last].value)
    pairs, large = comb(pods, 2), pods - others
    pairs_of_large = comb(large, 2)
    left = int(links.count.value) - to_last * (pairs - pairs_of_large)
    return left // pairs_of_large if pairs_of_large else to_last, to_last


def members_of_pods(fabric: Fabric, tier: Tier, first: int, last: int) -> range:
    """Return the switches of a tier in pods `first` to `last`."""
    arrangement, pods, others = find_arrangement(fabric), count_pods(fabric), count_last_pods(fabric)
    if not others or not isinstance(arrangement, TierRows):
        return members_of_parts(int(tier.count.value), pods, first, last)
    size, other_size = (int(fabric.dimensions[name].value) for name in arrangement.sizes[tier.name])

    def count_before(pod: int) -> int:
        behind = max(pod - (pods - others), 0)
        return (pod - behind) * size + behind * other_size

    return range(count_before(first), count_before(last + 1))


def count_pods(fabric: Fabric) -> int:
    """Return the number of pods; 0 for a fabric without."""
    return int(fabric.pods.value) if fabric.pods is not None and len(fabric.tiers) > 1 else 0


def count_reachable(fabric: Fabric, upper: Tier) -> int:
    """Return the switches of a tier that a lower switch may connect to: those of the first pod, or all."""
    if not count_pods(fabric) or upper.name == CORE:
        return int(upper.count.value)
    return len(members_of_pods(fabric, upper, 0, 0))


@dataclass(frozen=True, slots=True)
class Groups:
    """Routers in groups; each pair of routers in a group, and each pair of groups, is connected."""

    count: int
    size: int
    """Routers of the largest group."""
    routers: int
    small: int = 0
    """Number of last groups, which have fewer routers."""
    small_size: int = 0

    def members(self, index: int) -> range:
        """Return the routers of a group, by its index."""
        if not self.small:
            return members_of_parts(self.routers, self.count, index, index)
        behind = max(index - (self.count - self.small), 0)
        start = (index - behind) * self.size + behind * self.small_size
        return range(start, start + (self.small_size if index >= self.count - self.small else self.size))


def find_groups(fabric: Fabric) -> Groups:
    """Return the groups of a fabric, from the numbers that its topology declares."""
    routers, declared = int(fabric.tiers[0].count.value), find_arrangement(fabric)
    named = declared if isinstance(declared, SwitchGroups) else SwitchGroups("")
    count, size, small, small_size = (
        fabric.dimensions.get(name or "")
        for name in (named.groups, named.group_size, named.small_groups, named.small_size)
    )
    groups = int(count.value) if count else 1
    found = Groups(groups, int(size.value) if size else -(-routers // groups), routers)
    return replace(found, small=int(small.value), small_size=int(small_size.value)) if small and small_size else found


_PAIR = 2
"""Nodes that are no grid yet: both are connected directly."""


class Torus(NamedTuple):
    """Nodes on a grid, each connected to the next along every axis."""

    sizes: Mapping[str, int]
    links: Mapping[str, int] | None
    """Links along each axis; None if the counts do not determine them."""
    wrapped: bool
    """Whether the last node of an axis is connected to the first."""

    @property
    def nodes(self) -> int:
        """Return the number of nodes."""
        return prod(self.sizes.values())

    def steps(self, axis: str) -> int:
        """Return the number of pairs of neighbours on a line along an axis."""
        size = self.sizes[axis]
        return size if self.wrapped and size > 2 else size - 1


def find_torus(fabric: Fabric) -> Torus:
    """Return the grid of a fabric without switches; the link count tells whether its lines are closed."""
    arrangement = find_arrangement(fabric)
    axes = arrangement.axes if isinstance(arrangement, NodeGrid) else ()
    sizes = {axis: int(fabric.dimensions[axis].value) for axis in axes if axis in fabric.dimensions}
    count = sum(links.count.value for links in fabric.links)
    nodes = prod(sizes.values())
    for wrapped in (True, False):
        for on_a_pair in (1, 2):
            found = {axis: nodes // size * _links_of_line(size, wrapped, on_a_pair) for axis, size in sizes.items()}
            total = sum(found.values())
            if total and count % total == 0:
                return Torus(sizes, {axis: links * (count // total) for axis, links in found.items()}, wrapped)
    return Torus(sizes, None, wrapped=True)


def _links_of_line(size: int, wrapped: bool, on_a_pair: int) -> int:
    """Return the links of nodes in a line; a closed line of two has one link, or two, one each way round."""
    if size <= 2:
        return (size - 1) * (on_a_pair if wrapped else 1)
    return size if wrapped else size - 1


# wording ------------------------------------------------------------------------------------------------------------
# Labels of a fabric's drawing: of one plane, and totals of all planes.

_GBPS = "Gb/s"


class Wording:
    """Labels of a fabric's drawing.

    `servers` is the number of attached servers, if known; `existing` has the switches by tier, and the servers, that
    the customer has in use.
    """

    def __init__(
        self, fabric: Fabric, name: str, language: Language, servers: int | None, existing: Mapping[str, int]
    ) -> None:
        self.all, self.name, self.language, self.servers = fabric, name, language, servers
        self.existing = existing
        self.drawn = fabric.plane or fabric
        self.planes = int(fabric.planes.value) if fabric.plane and fabric.planes is not None else 1
        arrangement = find_arrangement(self.drawn)
        rows = arrangement if isinstance(arrangement, TierRows) else TierRows("")
        self.group = rows.pod_of_rails if self.drawn.pods_hold_all_rails and rows.pod_of_rails else rows.pod

    def title(self) -> str:
        """Return the fabric's name and its switches."""
        parts = ", ".join(self.switches(tier) for tier in self.drawn.tiers) or self.grid()
        if self.name in ROLES:
            return f"{self.language.word(f'compare-{self.name}')}{self.language.word('name-in')}{parts}"
        return self.language.word("ui-fabric", name=self.name, parts=parts)

    def _in_all(self, count: int) -> list[str]:
        return [self.language.word("ui-all-planes", count=self.language.integer(count))] if self.planes > 1 else []

    # Switches

    def tier_name(self, tier: str) -> str:
        """Return the name of a tier; the only tier of a fabric has routers."""
        key = "router" if isinstance(find_arrangement(self.drawn), SwitchGroups) else tier
        return self.language.words.get(f"ui-tier-{key}", tier)

    def switches(self, tier: Tier, count: int | None = None) -> str:
        """Return a label for all switches of a tier, or for some."""
        shown = self.language.integer(tier.count.value if count is None else count)
        return self.language.word("ui-switches", count=shown, name=tier.switch.identity.name)

    def tier(self, tier: Tier) -> list[str]:
        """Return the switches of a tier, per plane and in total."""
        whole = self.all.tier(tier.name)
        return [self.switches(tier), *(self._in_all(whole.count.value) if whole else []), *self._existing(tier.name)]

    def _existing(self, kind: str) -> list[str]:
        count = self.existing.get(kind, 0)
        return [self.language.word("ui-existing", count=self.language.integer(count))] if count else []

    def grid(self) -> str:
        """Return the grid sizes of a fabric without switches."""
        torus = find_torus(self.drawn)
        if torus.nodes == _PAIR:
            return self.language.word("ui-pair")
        shape = " × ".join(map(str, torus.sizes.values()))
        return self.language.word("ui-torus" if torus.wrapped else "ui-mesh", shape=shape)

    # Links

    def links(self, links: Links) -> list[str]:
        """Return the links of a kind with their rate, per plane and in total."""
        kind = f"ui-links-{links.kind}"
        key = kind if kind in self.language.words else "ui-links"
        whole = self.all.links_of(links.kind)
        rate = self.language.value(links.rate_gbps.value, _GBPS)
        text = self.language.word(key, count=self.language.integer(links.count.value), rate=rate)
        return [text, *(self._in_all(whole.count.value) if whole else [])]

    def spread(self, count: int, parts: int) -> str:
        """Return a number divided over several parts: one number, or two adjacent ones."""
        least, left = divmod(count, max(parts, 1))
        text = self.language.integer(least)
        return f"{text}–{self.language.integer(least + 1)}" if left else text

    def joining(self, lower: Tier, upper: Tier) -> list[str]:
        """Return how the links between two tiers spread over pairs of switches and pods."""
        up, above = lower.up.value if lower.up is not None else 0, count_reachable(self.drawn, upper)
        even = above and up % above == 0 and not count_last_pods(self.drawn)
        key, count = ("ui-per-pair", up // above) if even else ("ui-per-switch", up)
        lines = [self.language.word(key, count=self.language.integer(count))]
        pods = self.language.word(f"ui-{self.group}s", count=self.language.integer(count_pods(self.drawn)))
        return [*lines, pods] if above < upper.count.value else lines

    def between_pods(self, links: Links) -> list[str]:
        """Return the links between pods, and the number per pair."""
        pods = count_pods(self.drawn)
        each = self.spread(links.count.value, comb(pods, 2))
        if count_last_pods(self.drawn):
            each = "–".join(self.language.integer(count) for count in sorted(set(links_of_pods(self.drawn, links))))
        return [*self.links(links), self.language.word("ui-per-pair-group", count=each)]

    def side_by_side(self, links: Links) -> list[str]:
        """Return how links within a tier spread: over pairs of routers in a group, or of groups."""
        groups = find_groups(self.drawn)
        within = is_link_inside_group(self.drawn, links)
        pairs = comb(groups.count, 2)
        if within:
            pairs = (groups.count - groups.small) * comb(groups.size, 2) + groups.small * comb(groups.small_size, 2)
        if pairs and links.count.value >= pairs:
            key = "ui-per-pair-router" if within else "ui-per-pair-group"
            return [self.language.word(key, count=self.spread(links.count.value, pairs))]
        if links.ports is None:
            return []
        return [self.language.word("ui-per-router", count=self.language.integer(links.ports.value))]

    # Servers

    def server_links(self) -> Links | None:
        """Return the links between servers and switches."""
        lowest = self.drawn.tiers[0].name if self.drawn.tiers else ""
        return find_links(self.drawn, SERVER, lowest)

    def server_count(self) -> int:
        """Return the servers of the fabric, or the number for its cabled links if unknown."""
        links = self.server_links()
        if self.servers is not None or links is None:
            return self.servers or 0
        return int(-(-links.cabled.value // self.drawn.ports_per_server.value))

    def endpoints(self) -> list[str]:
        """Return the endpoints, per plane and in total, by kind of host."""
        fabric, links = self.drawn, self.server_links()
        word = self.language.word
        lines = [word("ui-endpoints", count=self.language.integer(fabric.endpoints.value))]
        lines += self._in_all(self.all.endpoints.value)
        lines.append(word("ui-per-server", count=self.language.integer(fabric.ports_per_server.value)))
        lines += self._existing(SERVER)
        if links is None:
            return lines
        others = links.cabled.value - self.server_count() * fabric.ports_per_server.value
        reserved = links.count.value - links.cabled.value
        if others > 0:
            lines.append(word("ui-other-endpoints", count=self.language.integer(others)))
        if reserved > 0:
            lines.append(word("ui-reserved", count=self.language.integer(reserved)))
        return lines


# fabrics ------------------------------------------------------------------------------------------------------------
# Drawings of fabrics: as tiers, groups of switches, or a grid.

# tiers --------------------------------------------------------------------------------------------------------------
# Tiers of switches as rows of boxes with the servers below; pods are frames around their boxes.

_SHOWN_PODS = 3
_POD_WORD = 22
"""Width of the strip in a pod's frame for its name, rotated."""


def draw_tiers(canvas: Canvas, wording: Wording) -> None:
    """Draw a fabric whose switches form tiers."""
    fabric = wording.drawn
    tiers = fabric.tiers[::-1]
    pods = list(lay_out_frames(count_pods(fabric), _SHOWN_PODS))
    rows = [DrawingRow([wording.tier_name(tier.name), *wording.tier(tier)]) for tier in tiers]
    for index, (upper, lower) in enumerate(pairwise(tiers), start=1):
        links = find_links(fabric, lower.name, upper.name)
        if links is not None:
            rows[index] = rows[index]._replace(links=[*wording.links(links), *wording.joining(lower, upper)])
    beside = [links for links in fabric.links if links.within_tier]
    if beside:
        rows[0] = rows[0]._replace(links=[line for links in beside for line in wording.between_pods(links)])
    middles = canvas.rows([*rows, label_servers(wording)])
    _draw_pods(canvas, wording, pods, [y for tier, y in zip(tiers, middles, strict=False) if tier.name != CORE])
    above: list[list[DrawnBox]] = []
    for index, (tier, middle) in enumerate(zip(tiers, middles, strict=False)):
        groups = _boxes_by_pod(fabric, tier, pods)
        for pod, boxes in zip([box.number - 1 for box in pods if not box.more] or [0], groups, strict=False):
            canvas.boxes(middle, boxes, f"{wording.name} {tier.name}", _switches_of_pod(fabric, tier, pod))
        if not index and beside:
            # A line joins all switches of the top tier, for links between every two pods.
            boxes, top = [box for group in groups for box in group if not box.more], middle - BOX_HEIGHT / 2
            for box in boxes:
                canvas.line(box.middle, top, box.middle, top - 2 * PADDING)
            canvas.line(boxes[0].middle, top - 2 * PADDING, boxes[-1].middle, top - 2 * PADDING)
        if index:
            up = tier.up.value if tier.up is not None else 0
            heights = (middle - BOX_HEIGHT / 2, middles[index - 1] + BOX_HEIGHT / 2)
            _draw_links(canvas, groups, above, heights, up >= count_reachable(fabric, tiers[index - 1]))
        above = groups
    leaves = [box.middle for group in above for box in group if not box.more]
    draw_servers(canvas, wording, leaves, middles[-2] + BOX_HEIGHT / 2, middles[-1])


def label_servers(wording: Wording) -> DrawingRow:
    """Return the label of the servers."""
    links = wording.server_links()
    label = [wording.language.word("ui-tier-server"), *wording.endpoints()]
    return DrawingRow(label, wording.links(links) if links is not None else ())


def draw_servers(canvas: Canvas, wording: Wording, above: Sequence[float], start: float, middle: float) -> None:
    """Draw one frame around the servers; their distribution over switches depends on the topology."""
    top, servers = middle - BOX_HEIGHT / 2 - PADDING, wording.server_count()
    canvas.rectangle("servers", LEFT, top, RIGHT - LEFT, BOX_HEIGHT + 2 * PADDING)
    canvas.boxes(
        middle,
        lay_out_boxes(LEFT + PADDING, RIGHT - LEFT - 2 * PADDING, servers),
        f"{wording.name} {SERVER}",
        range(servers),
    )
    for x in above:
        for shift in (-BETWEEN_BOXES, 0, BETWEEN_BOXES):
            canvas.line(x + shift, start, x + shift, top)


def _boxes_by_pod(fabric: Fabric, tier: Tier, pods: Sequence[DrawnBox]) -> list[list[DrawnBox]]:
    """Return the boxes of a tier by pod; a core, or a fabric without pods, is one group."""
    if not pods or tier.name == CORE:
        return [lay_out_boxes(LEFT, RIGHT - LEFT, tier.count.value)]
    padding = _POD_WORD + PADDING
    return [
        lay_out_boxes(pod.x + _POD_WORD, pod.width - padding, len(members_of_pods(fabric, tier, *[pod.number - 1] * 2)))
        for pod in pods
        if not pod.more
    ]


def _switches_of_pod(fabric: Fabric, tier: Tier, pod: int) -> Sequence[int]:
    """Return the switches of a tier in a pod, as cables are numbered; of a core, or without pods, all."""
    pods, seats = count_pods(fabric), fabric.seats
    if not pods or tier.name == CORE:
        return range(int(tier.count.value))
    if tier is not fabric.tiers[0] or seats is None or len(seats.value.rails) == 1:
        return members_of_pods(fabric, tier, pod, pod)
    from bomgen.fabric.links import order_leaves_by_pod

    leaves, of = order_leaves_by_pod(int(tier.count.value), len(seats.value.rails), pods, seats.value.rows_of_pod)
    numbers: list[int] = leaves[of == pod].tolist()
    return numbers


def _draw_pods(canvas: Canvas, wording: Wording, pods: Sequence[DrawnBox], middles: Sequence[float]) -> None:
    if not pods:
        return
    top = middles[0] - BOX_HEIGHT / 2 - PADDING
    height = middles[-1] + BOX_HEIGHT / 2 + PADDING - top
    for pod in pods:
        canvas.rectangle("pod", pod.x, top, pod.width, height, dashed=pod.more)
        centre = top + height / 2
        if pod.more:
            canvas.words("more", pod.middle, centre, f"+{pod.number}", pod.width)
        else:
            name = wording.language.word(f"ui-{wording.group}", number=pod.number)
            canvas.words("pod", pod.x + _POD_WORD / 2, centre, name, height, turned=True)


def _draw_links(
    canvas: Canvas,
    groups: Sequence[Sequence[DrawnBox]],
    above: Sequence[Sequence[DrawnBox]],
    heights: tuple[float, float],
    all_joined: bool,
) -> None:
    """Draw lines to all switches above, or, with fewer uplinks, to a group of them."""
    start, end = heights
    for index, group in enumerate(groups):
        upper = [box for box in (above[index] if len(above) == len(groups) else above[0]) if not box.more]
        lower = [box for box in group if not box.more]
        for position, box in enumerate(lower):
            for other, target in enumerate(upper):
                if all_joined or other * len(lower) // len(upper) == position:
                    canvas.line(box.middle, start, target.middle, end)


# groups -------------------------------------------------------------------------------------------------------------
# Groups of routers as frames: each a ring of fully connected routers, with curves between the groups.

_SHOWN_GROUPS = 4
_SHOWN_ROUTERS = 8
_RING = 48
"""Radius of the ring of routers."""
_ROUTER = 11
_CAPTION = 20
_FRAME = _CAPTION + 2 * (_RING + _ROUTER + PADDING)
_ARCS = 84
"""Height of the curves."""
_LEAN = 1.3
"""Height of the control points of a curve, relative to its top."""


def draw_groups(canvas: Canvas, wording: Wording) -> None:
    """Draw a fabric whose switches are connected within a tier."""
    fabric = wording.drawn
    tier, groups = fabric.tiers[0], find_groups(fabric)
    shown = list(lay_out_frames(groups.count, _SHOWN_GROUPS))
    label = [wording.tier_name(tier.name), *wording.tier(tier)]
    if groups.count > 1:
        integer = wording.language.integer
        label.append(wording.language.word("ui-groups", count=integer(groups.count), size=integer(groups.size)))
    above: list[str] = []
    for links in (links for links in fabric.links if links.within_tier and links.count.value):
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
        _draw_ring(
            canvas, box.middle, middle + _CAPTION / 2, f"{wording.name} {tier.name}", groups.members(box.number - 1)
        )
    _draw_curves(canvas, shown, top)
    draw_servers(canvas, wording, [box.middle for box in shown if not box.more], middle + _FRAME / 2, below)


def _draw_ring(canvas: Canvas, x: float, y: float, kind: str, routers: range) -> None:
    shown = elide(len(routers), _SHOWN_ROUTERS)
    angles = [2 * pi * index / len(shown) - pi / 2 for index in range(len(shown))]
    places = [(x + _RING * cos(angle), y + _RING * sin(angle)) for angle in angles] if len(shown) > 1 else [(x, y)]
    drawn = [(place, number, more) for place, (number, more) in zip(places, shown, strict=True)]
    for (one, _, one_more), (other, _, other_more) in combinations(drawn, 2):
        canvas.line_between(one, other, _ROUTER, dashed=one_more or other_more)
    for (left, top), number, more in drawn:
        canvas.circle(left, top, _ROUTER, dashed=more, device=kind if more else f"{kind} {routers.start + number}")
        text = f"+{number}" if more else f"{number}"
        canvas.words("more" if more else "number", left, top, text, 2 * _ROUTER - 2)


def _draw_curves(canvas: Canvas, shown: Sequence[DrawnBox], top: float) -> None:
    """Draw a curve between every two groups; curves start next to each other, the farthest in the middle."""
    count = len(shown)
    for first, last in combinations(range(count), 2):
        start = _curve_foot(shown[first], first, last, count)
        end = _curve_foot(shown[last], last, first, count)
        height = _LEAN * _ARCS * (last - first) / max(count - 1, 1)
        dashed = shown[first].more or shown[last].more
        canvas.curve([(start, top), (start, top - height), (end, top - height), (end, top)], dashed)


def _curve_foot(box: DrawnBox, index: int, other: int, count: int) -> float:
    """Return the horizontal start of a curve to another group: left groups first, nearest first, then right ones."""
    order = [*range(index - 1, -1, -1), *range(count - 1, index, -1)]
    return box.middle + (order.index(other) - (count - 2) / 2) * NUMBER_SIZE


# grid ---------------------------------------------------------------------------------------------------------------
# A torus as a grid, layer behind layer: lines between neighbours, curves from the end of a line to its start.

_SHOWN = 4
"""Drawn nodes per axis; of a longer one the first two and the last."""
_SHOWN_LAYERS = 3
_AXES = 3
_NODE = 6
_PITCH_X, _PITCH_Y = 92, 68
_BEHIND_X, _BEHIND_Y = 44, -26
"""Offset of a layer from the one before it."""
_BOW = 24
"""Distance of a curve's control points from its line."""
_DOWN = 0.5
"""Downward offset of front-to-back curves, per step to the side."""
_NUMBER_ROOM = 16
"""Distance of a node from its line number."""
_NAME_ROOM = 2 * LINE
_APART = "\u2003"
"""Separator between a number and the name of its axis."""


class _Axis(NamedTuple):
    """The numbers of the drawn nodes of an axis; omitted ones are before the last."""

    name: str
    size: int
    numbers: tuple[int, ...]
    closed: bool

    @property
    def last(self) -> int:
        return len(self.numbers) - 1

    def passes(self, place: int) -> bool:
        """Return whether nodes are omitted after an index."""
        return self.numbers[place + 1] - self.numbers[place] > 1


def draw_grid(canvas: Canvas, wording: Wording, axes: Sequence[str]) -> None:
    """Draw a fabric without switches as a grid with up to three axes."""
    torus = find_torus(wording.drawn)
    drawn = zip((*axes, "", "")[:_AXES], (_SHOWN, _SHOWN, _SHOWN_LAYERS), strict=True)
    x, y, z = (
        _Axis(name, size, tuple(range(1, size + 1)) if size <= most else (*range(1, _SHOWN_LAYERS), size), closed)
        for name, most in drawn
        for size in [torus.sizes.get(name, 1)]
        for closed in [torus.wrapped and size > 2]
    )
    depth = -_BEHIND_Y * z.last
    tall = y.last * _PITCH_Y + depth + _BOW + _NUMBER_ROOM + _NAME_ROOM
    [middle] = canvas.rows([DrawingRow(_label(wording, torus), height=tall)])
    wide = x.last * _PITCH_X + z.last * _BEHIND_X
    grid = _NodeGrid(
        canvas, (LEFT + RIGHT - wide) / 2, middle - tall / 2 + depth + _BOW, (x, y, z), f"{wording.name} {SERVER}"
    )
    grid.draw()
    grid.name(wording)


def _label(wording: Wording, torus: Torus) -> list[str]:
    language = wording.language
    lines = [wording.grid(), language.word("ui-nodes", count=language.integer(torus.nodes))]
    for links in wording.drawn.links:
        lines += wording.links(links)
        lines.append(language.word("ui-per-node", count=wording.spread(2 * links.count.value, torus.nodes)))
    closed = [name for name, size in torus.sizes.items() if torus.wrapped and size > 2]
    return [*lines, language.word("ui-wrapped", axes=", ".join(closed))] if closed else lines


class _NodeGrid:
    """Positions of the nodes of a grid, relative to its first one."""

    def __init__(self, canvas: Canvas, left: float, top: float, axes: tuple[_Axis, _Axis, _Axis], kind: str) -> None:
        self.canvas, self.left, self.top, self.kind = canvas, left, top, kind
        self.x, self.y, self.z = axes

    def place(self, column: int, row: int, layer: int) -> tuple[float, float]:
        return (
            self.left + column * _PITCH_X + layer * _BEHIND_X,
            self.top + row * _PITCH_Y + layer * _BEHIND_Y,
        )

    def draw(self) -> None:
        """Draw all lines, then the nodes, back to front."""
        columns, rows, layers = (range(axis.last + 1) for axis in (self.x, self.y, self.z))
        nodes = [(column, row, layer) for layer in reversed(layers) for row in rows for column in columns]
        for node in nodes:
            for index, axis in enumerate((self.x, self.y, self.z)):
                if node[index] < axis.last:
                    neighbour = [at + (index == along) for along, at in enumerate(node)]
                    dashed = axis.passes(node[index])
                    self.canvas.line_between(self.place(*node), self.place(*neighbour), _NODE, dashed=dashed)
        self._curves()
        for node in nodes:
            x, y, z = (axis.numbers[at] for axis, at in zip((self.x, self.y, self.z), node, strict=True))
            number = x + self.x.size * (y - 1 + self.y.size * (z - 1))
            self.canvas.circle(*self.place(*node), _NODE, device=f"{self.kind} {number}")

    def _curves(self) -> None:
        """Draw the links from the last node of a line to its first, on the visible faces."""
        x, y, z = self.x, self.y, self.z
        for row in range(y.last + 1) if x.closed else ():
            self._curve(self.place(0, row, 0), self.place(x.last, row, 0), 0, -1)
        for column in range(x.last + 1) if y.closed else ():
            self._curve(self.place(column, 0, 0), self.place(column, y.last, 0), -1, 0)
        for row in range(y.last + 1) if z.closed else ():
            self._curve(self.place(x.last, row, 0), self.place(x.last, row, z.last), 1, _DOWN)

    def _curve(self, start: tuple[float, float], end: tuple[float, float], aside: float, below: float) -> None:
        rims = [(x + aside * _NODE, y + below * _NODE) for x, y in (start, end)]
        bent = [(x + aside * _BOW, y + below * _BOW) for x, y in rims]
        self.canvas.curve([rims[0], *bent, rims[1]])

    def name(self, wording: Wording) -> None:
        """Draw numbers along the axes, and the names and sizes of the axes."""
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


# one drawing --------------------------------------------------------------------------------------------------------


def fabric_svg(
    fabric: Fabric,
    name: str,
    language: Language,
    servers: int | None = None,
    alone: bool = False,
    existing: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Return a drawing of a fabric as an SVG element, with a description for screen readers.

    `name` is the fabric's name in the plan; it makes ids unique within a page. `servers` is the number of attached
    servers, if known; other endpoints then belong to other hosts. `alone`: the element is a standalone file with its
    own size, background and colours. `existing` has the switches by tier, and the servers, that the customer has in
    use.
    """
    wording, canvas = Wording(fabric, name, language, servers, existing), Canvas()
    if wording.planes > 1:
        canvas.header([language.word("ui-planes", count=language.integer(wording.planes))])
    arrangement = find_arrangement(wording.drawn)
    if isinstance(arrangement, NodeGrid):
        draw_grid(canvas, wording, arrangement.axes)
    elif isinstance(arrangement, SwitchGroups):
        draw_groups(canvas, wording)
    else:
        draw_tiers(canvas, wording)
    return canvas.text(name, wording.title(), language, alone)

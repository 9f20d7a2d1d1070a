"""How the switches of a fabric are arranged, and what drawings say of it.

The topology declares whether it is drawn as tiers, groups of switches or a grid. SVG and Graphviz drawings both rest on
this module and on the labels of `wording`. Of several equal planes one is drawn, with its counts and those of all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from bomgen.core.language import Language
from bomgen.fabric.declaration import NodeGrid, SwitchGroups, TierRows, topology
from bomgen.fabric.types import SERVER, Fabric, Links, Tier
from bomgen.plan.types import ROLES

CORE = "core"


def links_within_tier(fabric: Fabric) -> list[Links]:
    """The links between switches of one tier."""
    return [links for links in fabric.links if links.within_tier]


def find_arrangement(fabric: Fabric) -> TierRows | SwitchGroups | NodeGrid:
    """How the topology of a fabric is drawn."""
    return topology(fabric.topology).arrangement


def is_link_inside_group(fabric: Fabric, links: Links) -> bool:
    """Whether links connect switches of one group."""
    arrangement = find_arrangement(fabric)
    return isinstance(arrangement, SwitchGroups) and links.kind == arrangement.inside


def find_links(fabric: Fabric, lower: str, upper: str) -> Links | None:
    """The links that join two tiers."""
    return next((links for links in fabric.links if links.ends == (lower, upper)), None)


def members_of_parts(count: int, parts: int, first: int, last: int) -> range:
    """Which of `count` things belong to the parts from `first` to `last`, where the first parts have one more."""
    each, larger = divmod(count, parts)
    return range(first * each + min(first, larger), (last + 1) * each + min(last + 1, larger))


def count_last_pods(fabric: Fabric) -> int:
    """Return how many last pods have another size; 0 where all are as equal as can be."""
    arrangement = find_arrangement(fabric)
    found = fabric.dimensions.get(arrangement.last_pods) if isinstance(arrangement, TierRows) else None
    return int(found.value) if found else 0


def links_of_pods(fabric: Fabric, links: Links) -> tuple[int, int]:
    """Return the links that join every two pods, and those that join one of the last to any other."""
    pods, others, arrangement = count_pods(fabric), count_last_pods(fabric), find_arrangement(fabric)
    if not others or not isinstance(arrangement, TierRows):
        each = int(links.count.value) // (pods * (pods - 1) // 2)
        return each, each
    to_last = int(fabric.dimensions[arrangement.links_to_last].value)
    pairs, large = pods * (pods - 1) // 2, pods - others
    pairs_of_large = large * (large - 1) // 2
    left = int(links.count.value) - to_last * (pairs - pairs_of_large)
    return left // pairs_of_large if pairs_of_large else to_last, to_last


def members_of_pods(fabric: Fabric, tier: Tier, first: int, last: int) -> range:
    """Return the switches of a tier in the pods from `first` to `last`."""
    arrangement, pods, others = find_arrangement(fabric), count_pods(fabric), count_last_pods(fabric)
    if not others or not isinstance(arrangement, TierRows):
        return members_of_parts(int(tier.count.value), pods, first, last)
    size, other_size = (int(fabric.dimensions[name].value) for name in arrangement.sizes[tier.name])

    def count_before(pod: int) -> int:
        behind = max(pod - (pods - others), 0)
        return (pod - behind) * size + behind * other_size

    return range(count_before(first), count_before(last + 1))


def count_uplinks(tier: Tier, switches: range) -> int:
    """The links up of some switches of a tier, those that are alike one after the other."""
    found, start = 0, 0
    for alike in tier.fitted:
        stop = start + alike.count.value
        overlap = min(stop, switches.stop) - max(start, switches.start)
        found += max(overlap, 0) * (alike.up.value if alike.up is not None else 0)
        start = stop
    rest = switches.stop - max(start, switches.start)
    return int(found + max(rest, 0) * (tier.up.value if tier.up is not None else 0))


def count_pods(fabric: Fabric) -> int:
    """The pods that switches stand in; none for a fabric without."""
    return int(fabric.pods.value) if fabric.pods is not None and len(fabric.tiers) > 1 else 0


def count_reachable(fabric: Fabric, upper: Tier) -> int:
    """The switches of a tier that one below may be linked to: those of its pod, here of the first, or all."""
    if not count_pods(fabric) or upper.name == CORE:
        return int(upper.count.value)
    return len(members_of_pods(fabric, upper, 0, 0))


@dataclass(frozen=True, slots=True)
class Groups:
    """Routers in groups: every pair of a group is linked, and so is every pair of groups."""

    count: int
    size: int
    """Routers of the largest group."""
    routers: int
    small: int = 0
    """The last groups, which have fewer routers."""
    small_size: int = 0

    def members(self, index: int) -> range:
        """The routers of a group, by its place."""
        if not self.small:
            return members_of_parts(self.routers, self.count, index, index)
        behind = max(index - (self.count - self.small), 0)
        start = (index - behind) * self.size + behind * self.small_size
        return range(start, start + (self.small_size if index >= self.count - self.small else self.size))

    @property
    def pairs(self) -> int:
        """Pairs of groups."""
        return self.count * (self.count - 1) // 2

    @property
    def pairs_inside(self) -> int:
        """Pairs of routers of one group, over all groups."""
        large = self.count - self.small
        return large * (self.size * (self.size - 1) // 2) + self.small * (self.small_size * (self.small_size - 1) // 2)


def find_groups(fabric: Fabric) -> Groups:
    """The groups of a fabric whose switches are linked side by side, as its topology names their numbers."""
    routers, declared = int(fabric.tiers[0].count.value), find_arrangement(fabric)
    named = declared if isinstance(declared, SwitchGroups) else SwitchGroups("")
    count, size, small, small_size = (
        fabric.dimensions.get(name or "")
        for name in (named.groups, named.group_size, named.small_groups, named.small_size)
    )
    groups = int(count.value) if count else 1
    found = Groups(groups, int(size.value) if size else -(-routers // groups), routers)
    return replace(found, small=int(small.value), small_size=int(small_size.value)) if small and small_size else found


class Torus(NamedTuple):
    """Nodes on a grid, each linked to the next along every axis."""

    sizes: Mapping[str, int]
    links: Mapping[str, int] | None
    """Links along each axis; None where the counts do not tell."""
    wrapped: bool
    """Whether the last node of an axis is linked to the first."""

    @property
    def nodes(self) -> int:
        """All of them."""
        return prod(self.sizes.values())

    @property
    def shape(self) -> str:
        """Its sizes, as one writes them."""
        return " × ".join(map(str, self.sizes.values()))

    def steps(self, axis: str) -> int:
        """Pairs of neighbours on a line along an axis."""
        size = self.sizes[axis]
        return size if self.wrapped and size > 2 else size - 1

    def per_pair(self, axis: str) -> int | None:
        """Links of two neighbours along an axis, where the counts tell."""
        pairs = self.nodes // self.sizes[axis] * self.steps(axis)
        if self.links is None or not pairs:
            return None
        return self.links[axis] // pairs


def find_torus(fabric: Fabric) -> Torus:
    """The grid of a fabric without switches, and whether its count of links is that of closed or of open lines."""
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
    """Links of nodes in a line; closed, a line of two has one link or, one each way round, two."""
    if size <= 2:
        return (size - 1) * (on_a_pair if wrapped else 1)
    return size if wrapped else size - 1


# wording ------------------------------------------------------------------------------------------------------------
# What drawings say of a fabric: one plane of it, and what all planes have together.

_GBPS = "Gb/s"


class Wording:
    """The labels of a fabric's drawing. `servers` is how many are attached, where that is known."""

    def __init__(self, fabric: Fabric, name: str, language: Language, servers: int | None) -> None:
        self.all, self.name, self.language, self.servers = fabric, name, language, servers
        self.drawn = fabric.plane or fabric
        self.planes = int(fabric.planes.value) if fabric.plane and fabric.planes is not None else 1
        arrangement = find_arrangement(self.drawn)
        rows = arrangement if isinstance(arrangement, TierRows) else TierRows("")
        self.group = rows.pod_of_rails if self.drawn.pods_hold_all_rails and rows.pod_of_rails else rows.pod

    def title(self) -> str:
        """The fabric's name and its switches."""
        parts = ", ".join(self.switches(tier) for tier in self.drawn.tiers) or self.grid()
        if self.name in ROLES:
            return f"{self.language.word(f'compare-{self.name}')}{self.language.word('ui-colon')} {parts}"
        return self.language.word("ui-fabric", name=self.name, parts=parts)

    def plane(self) -> list[str]:
        """Which part of the fabric is drawn, when it is not all."""
        return [self.language.word("ui-planes", count=self._integer(self.planes))] if self.planes > 1 else []

    def _integer(self, number: int) -> str:
        return self.language.integer(number)

    def _in_all(self, count: int) -> list[str]:
        return [self.language.word("ui-all-planes", count=self._integer(count))] if self.planes > 1 else []

    # Switches

    def tier_name(self, tier: str) -> str:
        """What a tier is called; the one tier of a fabric without tiers above holds routers."""
        key = "router" if isinstance(find_arrangement(self.drawn), SwitchGroups) else tier
        return self.language.words.get(f"ui-tier-{key}", tier)

    def switches(self, tier: Tier, count: int | None = None) -> str:
        """All switches of a tier, or some of them."""
        shown = self._integer(tier.count.value if count is None else count)
        return self.language.word("ui-switches", count=shown, name=tier.switch.identity.name)

    def tier(self, tier: Tier) -> list[str]:
        """The switches of a tier, in a plane and in all."""
        whole = self.all.tier(tier.name)
        return [self.switches(tier), *(self._in_all(whole.count.value) if whole else [])]

    def groups(self) -> str:
        """Groups of routers, and how many stand in one."""
        groups = find_groups(self.drawn)
        return self.language.word("ui-groups", count=self._integer(groups.count), size=self._integer(groups.size))

    def pod(self, first: int, last: int | None = None) -> str:
        """A pod, or pods in a row, by their numbers."""
        if last is None or last == first:
            return self.language.word(f"ui-{self.group}", number=first)
        return self.language.word(f"ui-{self.group}s-range", first=first, last=last)

    def pods(self) -> str:
        """How many pods there are."""
        return self.language.word(f"ui-{self.group}s", count=self._integer(count_pods(self.drawn)))

    def grid(self) -> str:
        """A fabric without switches by the sizes of its grid."""
        torus = find_torus(self.drawn)
        return self.language.word("ui-torus" if torus.wrapped else "ui-mesh", shape=torus.shape)

    # Links

    def rate(self, links: Links) -> str:
        """The rate of one link."""
        return self.language.value(links.rate_gbps.value, _GBPS)

    def links(self, links: Links) -> list[str]:
        """The links of a kind with their rate, in a plane and in all."""
        kind = f"ui-links-{links.kind}"
        key = kind if kind in self.language.words else "ui-links"
        whole = self.all.links_of(links.kind)
        text = self.language.word(key, count=self._integer(links.count.value), rate=self.rate(links))
        return [text, *(self._in_all(whole.count.value) if whole else [])]

    def bundle(self, links: Links, count: int, parts: int = 1) -> str:
        """An edge of so many links: as the number of an equal part where there are several, or the two nearest."""
        return f"{self.spread(count, parts)} × {self.rate(links)}"

    def spread(self, count: int, parts: int) -> str:
        """How many of a number each of several parts has: one number, or two beside each other."""
        least, left = divmod(count, max(parts, 1))
        text = self._integer(least)
        return f"{text}–{self._integer(least + 1)}" if left else text

    def joining(self, lower: Tier, upper: Tier) -> list[str]:
        """How the links between two tiers spread over pairs of switches and pods."""
        up, above = lower.up.value if lower.up is not None else 0, count_reachable(self.drawn, upper)
        even = above and up % above == 0 and not count_last_pods(self.drawn)
        key, count = ("ui-per-pair", up // above) if even else ("ui-per-switch", up)
        lines = [self.language.word(key, count=self._integer(count))]
        return [*lines, self.pods()] if above < upper.count.value else lines

    def between_pods(self, links: Links) -> list[str]:
        """The links that join every two pods, and how many each pair has."""
        pods = count_pods(self.drawn)
        each = self.spread(links.count.value, pods * (pods - 1) // 2)
        if count_last_pods(self.drawn):
            each = "–".join(self._integer(count) for count in sorted(set(links_of_pods(self.drawn, links))))
        return [*self.links(links), self.language.word("ui-per-pair-group", count=each)]

    def side_by_side(self, links: Links) -> list[str]:
        """How links within a tier spread: over pairs of routers in a group, or over pairs of groups."""
        groups = find_groups(self.drawn)
        within = is_link_inside_group(self.drawn, links)
        pairs = groups.pairs_inside if within else groups.pairs
        if pairs and links.count.value >= pairs:
            key = "ui-per-pair-router" if within else "ui-per-pair-group"
            return [self.language.word(key, count=self.spread(links.count.value, pairs))]
        if links.ports is None:
            return []
        return [self.language.word("ui-per-router", count=self._integer(links.ports.value))]

    # Servers

    def server_links(self) -> Links | None:
        """The links between servers and switches."""
        lowest = self.drawn.tiers[0].name if self.drawn.tiers else ""
        return find_links(self.drawn, SERVER, lowest)

    def server_count(self) -> int:
        """Servers of the fabric; where nobody says, as many as have its cabled links."""
        links = self.server_links()
        if self.servers is not None or links is None:
            return self.servers or 0
        return int(-(-links.cabled.value // self.drawn.ports_per_server.value))

    def endpoints(self) -> list[str]:
        """The endpoints, in a plane and in all, and whose they are."""
        fabric, links = self.drawn, self.server_links()
        word = self.language.word
        lines = [word("ui-endpoints", count=self._integer(fabric.endpoints.value))]
        lines += self._in_all(self.all.endpoints.value)
        lines.append(word("ui-per-server", count=self._integer(fabric.ports_per_server.value)))
        if links is None:
            return lines
        others = links.cabled.value - self.server_count() * fabric.ports_per_server.value
        reserved = links.count.value - links.cabled.value
        if others > 0:
            lines.append(word("ui-other-endpoints", count=self._integer(others)))
        if reserved > 0:
            lines.append(word("ui-reserved", count=self._integer(reserved)))
        return lines

"""Arrangement of the switches of a fabric, and the labels of its drawings.

The topology declares whether it is drawn as tiers, groups of switches or a grid. SVG and Graphviz drawings share this
module. Of several equal planes one is drawn, with its counts and the totals.
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
    """Return the links between switches of one tier."""
    return [links for links in fabric.links if links.within_tier]


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
        each = int(links.count.value) // (pods * (pods - 1) // 2)
        return each, each
    to_last = int(fabric.dimensions[arrangement.links_to_last].value)
    pairs, large = pods * (pods - 1) // 2, pods - others
    pairs_of_large = large * (large - 1) // 2
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

    @property
    def pairs(self) -> int:
        """Return the number of pairs of groups."""
        return self.count * (self.count - 1) // 2

    @property
    def pairs_inside(self) -> int:
        """Return the number of pairs of routers in the same group, over all groups."""
        large = self.count - self.small
        return large * (self.size * (self.size - 1) // 2) + self.small * (self.small_size * (self.small_size - 1) // 2)


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

    @property
    def shape(self) -> str:
        """Return its sizes as text."""
        return " × ".join(map(str, self.sizes.values()))

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

    def plane(self) -> list[str]:
        """Return the label of the drawn plane, if there are several."""
        return [self.language.word("ui-planes", count=self._integer(self.planes))] if self.planes > 1 else []

    def _integer(self, number: int) -> str:
        return self.language.integer(number)

    def _in_all(self, count: int) -> list[str]:
        return [self.language.word("ui-all-planes", count=self._integer(count))] if self.planes > 1 else []

    # Switches

    def tier_name(self, tier: str) -> str:
        """Return the name of a tier; the only tier of a fabric has routers."""
        key = "router" if isinstance(find_arrangement(self.drawn), SwitchGroups) else tier
        return self.language.words.get(f"ui-tier-{key}", tier)

    def switches(self, tier: Tier, count: int | None = None) -> str:
        """Return a label for all switches of a tier, or for some."""
        shown = self._integer(tier.count.value if count is None else count)
        return self.language.word("ui-switches", count=shown, name=tier.switch.identity.name)

    def tier(self, tier: Tier) -> list[str]:
        """Return the switches of a tier, per plane and in total."""
        whole = self.all.tier(tier.name)
        return [self.switches(tier), *(self._in_all(whole.count.value) if whole else []), *self._existing(tier.name)]

    def _existing(self, kind: str) -> list[str]:
        count = self.existing.get(kind, 0)
        return [self.language.word("ui-existing", count=self._integer(count))] if count else []

    def groups(self) -> str:
        """Return the number of router groups and their size."""
        groups = find_groups(self.drawn)
        return self.language.word("ui-groups", count=self._integer(groups.count), size=self._integer(groups.size))

    def pod(self, first: int, last: int | None = None) -> str:
        """Return the label of a pod or a range of pods."""
        if last is None or last == first:
            return self.language.word(f"ui-{self.group}", number=first)
        return self.language.word(f"ui-{self.group}s-range", first=first, last=last)

    def pods(self) -> str:
        """Return the number of pods."""
        return self.language.word(f"ui-{self.group}s", count=self._integer(count_pods(self.drawn)))

    def grid(self) -> str:
        """Return the grid sizes of a fabric without switches."""
        torus = find_torus(self.drawn)
        return self.language.word("ui-torus" if torus.wrapped else "ui-mesh", shape=torus.shape)

    # Links

    def rate(self, links: Links) -> str:
        """Return the rate of one link."""
        return self.language.value(links.rate_gbps.value, _GBPS)

    def links(self, links: Links) -> list[str]:
        """Return the links of a kind with their rate, per plane and in total."""
        kind = f"ui-links-{links.kind}"
        key = kind if kind in self.language.words else "ui-links"
        whole = self.all.links_of(links.kind)
        text = self.language.word(key, count=self._integer(links.count.value), rate=self.rate(links))
        return [text, *(self._in_all(whole.count.value) if whole else [])]

    def spread(self, count: int, parts: int) -> str:
        """Return a number divided over several parts: one number, or two adjacent ones."""
        least, left = divmod(count, max(parts, 1))
        text = self._integer(least)
        return f"{text}–{self._integer(least + 1)}" if left else text

    def joining(self, lower: Tier, upper: Tier) -> list[str]:
        """Return how the links between two tiers spread over pairs of switches and pods."""
        up, above = lower.up.value if lower.up is not None else 0, count_reachable(self.drawn, upper)
        even = above and up % above == 0 and not count_last_pods(self.drawn)
        key, count = ("ui-per-pair", up // above) if even else ("ui-per-switch", up)
        lines = [self.language.word(key, count=self._integer(count))]
        return [*lines, self.pods()] if above < upper.count.value else lines

    def between_pods(self, links: Links) -> list[str]:
        """Return the links between pods, and the number per pair."""
        pods = count_pods(self.drawn)
        each = self.spread(links.count.value, pods * (pods - 1) // 2)
        if count_last_pods(self.drawn):
            each = "–".join(self._integer(count) for count in sorted(set(links_of_pods(self.drawn, links))))
        return [*self.links(links), self.language.word("ui-per-pair-group", count=each)]

    def side_by_side(self, links: Links) -> list[str]:
        """Return how links within a tier spread: over pairs of routers in a group, or of groups."""
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
        lines = [word("ui-endpoints", count=self._integer(fabric.endpoints.value))]
        lines += self._in_all(self.all.endpoints.value)
        lines.append(word("ui-per-server", count=self._integer(fabric.ports_per_server.value)))
        lines += self._existing(SERVER)
        if links is None:
            return lines
        others = links.cabled.value - self.server_count() * fabric.ports_per_server.value
        reserved = links.count.value - links.cabled.value
        if others > 0:
            lines.append(word("ui-other-endpoints", count=self._integer(others)))
        if reserved > 0:
            lines.append(word("ui-reserved", count=self._integer(reserved)))
        return lines

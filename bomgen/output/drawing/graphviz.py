"""A fabric as a Graphviz graph: with tiers, in groups, or in a grid.

Every switch is a node up to `MOST_SWITCHES` and `MOST_EDGES`. More of them collapse: those of a pod and tier into one
node, and many equal pods into one, so that the graph of any fabric stays small enough to read. The counts on the edges
add up to the links of each kind; where the counts leave open how many endpoints a leaf has, its edge says "up to".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import pairwise
from typing import NamedTuple

from bomgen.core.language import Language
from bomgen.fabric.declaration import NodeGrid, SwitchGroups
from bomgen.fabric.types import Fabric, Links, Tier
from bomgen.output.drawing.arrangement import (
    CORE,
    count_last_pods,
    count_pods,
    count_reachable,
    count_uplinks,
    find_arrangement,
    find_links,
    links_of_pods,
    links_within_tier,
    members_of_pods,
)
from bomgen.output.drawing.dot import Graph
from bomgen.output.drawing.graphviz_flat import add_grid, add_groups
from bomgen.output.drawing.graphviz_parts import MOST_EDGES, MOST_GROUPS, MOST_SWITCHES, add_servers, summary
from bomgen.output.drawing.wording import Wording


def fabric_dot(fabric: Fabric, name: str, language: Language, servers: int | None = None) -> str:
    """A fabric as the text of an undirected Graphviz graph; of several equal planes it is one.

    `servers` is how many are attached, where that is known; the other endpoints then count as other machines'.
    """
    wording = Wording(fabric, name, language, servers)
    graph = Graph(name, summary(wording))
    arrangement = find_arrangement(wording.drawn)
    if isinstance(arrangement, NodeGrid):
        add_grid(graph, wording)
    elif isinstance(arrangement, SwitchGroups):
        add_groups(graph, wording)
    else:
        _add_tiers(graph, wording)
    return graph.text()


class _Part(NamedTuple):
    """Switches of a tier that are one node, and the pods that they stand in: none but in these."""

    tier: Tier
    switches: range
    pods: range | None

    @property
    def name(self) -> str:
        first, last = self.switches[0] + 1, self.switches[-1] + 1
        return f"{self.tier.name} {first}" if first == last else f"{self.tier.name} {first}-{last}"


def _add_tiers(graph: Graph, wording: Wording) -> None:
    """Nodes from the top down, then the edges between every tier and the one above it."""
    fabric = wording.drawn
    pods, single = _pods(fabric), _is_small(fabric)
    if single:
        graph.look("ordering=out")
    tiers = {tier.name: list(_parts(fabric, tier, pods, single)) for tier in fabric.tiers}
    for part in tiers.get(CORE, ()):
        _add_node(graph, wording, part, single)
    frames: list[range | None] = [*pods] or [None]
    for few in frames:
        label = "" if few is None else wording.pod(few[0] + 1, few[-1] + 1)
        with nullcontext() if few is None else graph.cluster(f"pod {few[0] + 1}", label):
            for tier in reversed(fabric.tiers):
                for part in tiers[tier.name]:
                    if part.pods == few and tier.name != CORE:
                        _add_node(graph, wording, part, single)
    for lower, upper in pairwise(fabric.tiers):
        links = find_links(fabric, lower.name, upper.name)
        for part in tiers[lower.name] if links is not None else ():
            for above in tiers[upper.name]:
                if above.pods in (None, part.pods):
                    _add_edge(graph, wording, links, part, above, single)
    for links in links_within_tier(fabric):
        _add_links_between_pods(graph, wording, links, tiers[links.ends[0]])
    lowest = fabric.tiers[0]
    add_servers(graph, wording, [(part.name, len(part.switches)) for part in tiers[lowest.name]])


def _add_links_between_pods(graph: Graph, wording: Wording, links: Links, parts: list[_Part]) -> None:
    """The edges between nodes that hold whole pods: as many links for every two pods of one size."""
    between, to_last = links_of_pods(wording.drawn, links)
    large = count_pods(wording.drawn) - count_last_pods(wording.drawn)
    for place, part in enumerate(parts):
        for other in parts[place:]:
            one, two = len(part.pods or ()), len(other.pods or ())
            pairs = one * (one - 1) // 2 if other is part else one * two
            each = to_last if other.pods and other.pods[0] >= large else between
            if pairs:
                graph.edge(part.name, other.name, [wording.bundle(links, each * pairs)])


def _pods(fabric: Fabric) -> list[range]:
    """Pods one by one when they are few, else those that are alike together."""
    pods = count_pods(fabric)
    if pods <= MOST_GROUPS:
        return [range(index, index + 1) for index in range(pods)]
    if others := count_last_pods(fabric):
        return [range(pods - others), range(pods - others, pods)]
    ends = {0, pods, *(tier.count.value % pods for tier in fabric.tiers if tier.name != CORE)}
    return [range(first, end) for first, end in pairwise(sorted(ends))]


def _is_small(fabric: Fabric) -> bool:
    """Whether every switch can be a node: not where links join pods, of which each tier is one node."""
    if links_within_tier(fabric):
        return False
    edges = fabric.tiers[0].count.value
    for lower, upper in pairwise(fabric.tiers):
        up = lower.up.value if lower.up is not None else 0
        edges += lower.count.value * min(count_reachable(fabric, upper), up)
    switches = sum(tier.count.value for tier in fabric.tiers)
    return bool(switches <= MOST_SWITCHES and edges <= MOST_EDGES and count_pods(fabric) <= MOST_GROUPS)


def _parts(fabric: Fabric, tier: Tier, pods: list[range], single: bool) -> Iterator[_Part]:
    count = tier.count.value
    in_pods: list[range | None] = [*pods] if pods and tier.name != CORE else [None]
    for few in in_pods:
        switches = range(count) if few is None else members_of_pods(fabric, tier, few[0], few[-1])
        if single:
            yield from (_Part(tier, range(index, index + 1), few) for index in switches)
        elif switches:
            yield _Part(tier, switches, few)


def _add_node(graph: Graph, wording: Wording, part: _Part, single: bool) -> None:
    name = wording.tier_name(part.tier.name)
    if single:
        graph.node(part.name, [f"{name} {part.switches[0] + 1}", part.tier.switch.identity.name])
        return
    label = [name, wording.switches(part.tier, len(part.switches))]
    if part.pods is not None and len(part.pods) > 1:
        label.append(wording.language.word("ui-in-each", count=len(part.switches) // len(part.pods)))
    graph.node(part.name, label)


def _add_edge(graph: Graph, wording: Wording, links: Links | None, part: _Part, above: _Part, single: bool) -> None:
    """The edge between two nodes, where there is a link between their switches."""
    if links is None:
        return
    count = count_uplinks(part.tier, part.switches)
    if single:
        count = _count_links_of_pair(wording.drawn, part, above)
    if count:
        graph.edge(above.name, part.name, [wording.bundle(links, count)])


def _count_links_of_pair(fabric: Fabric, part: _Part, above: _Part) -> int:
    """Links of one switch to one above: even, and where too few, from where the last one's ended."""
    index, up = part.switches[0], count_uplinks(part.tier, part.switches)
    first_below = first_above = 0
    if part.pods is not None:
        pod = part.pods[0]
        first_below = members_of_pods(fabric, part.tier, pod, pod).start
        first_above = members_of_pods(fabric, above.tier, pod, pod).start if above.pods is not None else 0
    targets = count_reachable(fabric, above.tier) if above.pods is not None else int(above.tier.count.value)
    even, rest = divmod(up, targets)
    start = (index - first_below) * rest % targets
    return even + ((above.switches[0] - first_above - start) % targets < rest)

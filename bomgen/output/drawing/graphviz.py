"""Fabrics as Graphviz graphs: with tiers, in groups, or in a grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import combinations, pairwise, product
from typing import NamedTuple

from bomgen.core.language import Language
from bomgen.fabric.declaration import NodeGrid, SwitchGroups
from bomgen.fabric.types import Fabric, Links, Tier
from bomgen.output.drawing.arrangement import (
    CORE,
    Torus,
    Wording,
    count_last_pods,
    count_pods,
    count_reachable,
    count_uplinks,
    find_arrangement,
    find_groups,
    find_links,
    find_torus,
    is_link_inside_group,
    links_of_pods,
    links_within_tier,
    members_of_pods,
)

_FONT = "Helvetica,Arial,sans-serif"
_SPACE = "bgcolor=white compound=true newrank=true nodesep=0.5 ranksep=1"
_BOX = 'shape=box style="rounded,filled" fillcolor="#f1f3f5" color="#57606a"'
_INDENT = "  "
_CENTRED, _LEFT = "\\n", "\\l"
"""Line ends that set the alignment."""


class Graph:
    """Collector of the statements of one undirected graph; upper ends of edges come first."""

    def __init__(self, name: str, title: Sequence[str]) -> None:
        """Begin a graph with a title."""
        self.lines = [f"graph {quote([name])} {{"]
        self.depth = 1
        label = quote([*title, ""], _LEFT)
        self._add(f'graph [label={label} labelloc=t labeljust=l fontsize=13 fontname="{_FONT}" {_SPACE}]')
        self._add(f'node [fontsize=11 fontname="{_FONT}" {_BOX}]')
        self._add(f'edge [fontsize=10 fontname="{_FONT}" color="#8c959f"]')

    def text(self) -> str:
        """Return the whole graph."""
        return "\n".join([*self.lines, "}", ""])

    def _add(self, line: str) -> None:
        self.lines.append(f"{_INDENT * self.depth}{line};")

    def look(self, attributes: str) -> None:
        """Set attributes of the whole graph."""
        self._add(f"graph [{attributes}]")

    @contextmanager
    def cluster(self, name: str, label: str) -> Iterator[None]:
        """Draw a frame around the nodes that are added in the context."""
        self.lines.append(f"{_INDENT * self.depth}subgraph {quote([f'cluster {name}'])} {{")
        self.depth += 1
        self._add(f'label={quote([label])}; labeljust=l; style="rounded"; color="#afb8c1"; fontsize=11')
        yield
        self.depth -= 1
        self.lines.append(f"{_INDENT * self.depth}}}")

    def node(self, name: str, label: Sequence[str], look: str = "") -> None:
        """Add a node with its label."""
        self._add(f"{quote([name])} [label={quote(label)}{look and ' '}{look}]")

    def edge(self, upper: str, lower: str, label: Sequence[str], look: str = "") -> None:
        """Add an edge with its label, which is placed at a distance."""
        words = quote([f" {line} " for line in label])
        self._add(f"{quote([upper])} -- {quote([lower])} [label={words}{look and ' '}{look}]")

    def plain_edge(self, upper: str, lower: str, look: str) -> None:
        """Add an edge without a label."""
        self._add(f"{quote([upper])} -- {quote([lower])} [{look}]")

    def clustered_edge(self, upper: tuple[str, str], lower: tuple[str, str], label: Sequence[str]) -> None:
        """Add an edge between the frames of two nodes, each given with its frame."""
        ends = f"ltail={quote([f'cluster {upper[0]}'])} lhead={quote([f'cluster {lower[0]}'])}"
        self.edge(upper[1], lower[1], label, f"{ends} constraint=false")


def escape(text: str) -> str:
    """Return text for a quoted string, without escape sequences, entities or quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;").replace("\n", " ")


def quote(lines: Sequence[str], end: str = _CENTRED) -> str:
    """Return a quoted string of one or several lines."""
    return '"' + end.join(map(escape, lines)) + '"'


# graphviz parts -----------------------------------------------------------------------------------------------------
# Common parts of all Graphviz graphs of a fabric: summary, servers, and the sizes that remain legible.

MOST_SWITCHES = 32
MOST_EDGES = 96
"""Number of nodes or edges above which labels are illegible."""
MOST_GROUPS = 8
"""Maximum number of pods or groups drawn individually."""
SERVERS = "servers"
_LOOK = 'style="rounded,dashed"'


def summary(wording: Wording) -> list[str]:
    """Return the title of a graph: the fabric, its plane, and all counts."""
    fabric = wording.drawn
    lines = [wording.language.word("drawing-title", name=wording.name), *wording.plane()]
    if not fabric.tiers:
        lines.append(wording.grid())
    for tier in reversed(fabric.tiers):
        lines.append(", ".join([wording.tier_name(tier.name), *wording.tier(tier)]))
    return [
        *lines,
        *(f"{links.kind}: {', '.join(wording.links(links))}" for links in fabric.links if links.count.value),
    ]


def add_servers(graph: Graph, wording: Wording, leaves: Iterable[tuple[str, int]]) -> None:
    """Add one node for all servers, below nodes that represent a number of leaves each."""
    links = wording.server_links()
    if links is None:
        return
    graph.node(SERVERS, [wording.language.word("ui-tier-server"), *wording.endpoints()], _LOOK)
    tier, count = wording.drawn.tiers[0], links.count.value
    full = tier.count.value * tier.down.value == count
    for name, switches in leaves:
        most = min(switches * tier.down.value, count)
        text = wording.bundle(links, count if switches == tier.count.value else most)
        exact = full or switches == tier.count.value
        graph.edge(name, SERVERS, [text if exact else wording.language.word("ui-up-to", text=text)])


# graphviz flat ------------------------------------------------------------------------------------------------------
# Fabrics without stacked tiers as Graphviz graphs: groups of routers, and grids of nodes.

_OTHER_SIDE = "headport=w tailport=w"
"""Side of a node for a second loop, so that labels do not overlap."""
_PINNED = "layout=neato splines=true"
"""Layout that keeps node positions and routes edges around them."""
_STEPS = ((3.2, 0), (0, -2), (1.4, 0.7))
"""Offset of the next node along each axis in inches."""


def add_groups(graph: Graph, wording: Wording) -> None:
    """Add routers individually, groups individually, or all groups as one node."""
    fabric = wording.drawn
    routers, groups = fabric.tiers[0].count.value, find_groups(fabric)
    kinds = [links for links in links_within_tier(fabric) if links.count.value]
    inside = [links for links in kinds if is_link_inside_group(fabric, links)]
    outside = [links for links in kinds if not is_link_inside_group(fabric, links)]
    if routers <= MOST_SWITCHES and groups.pairs_inside + groups.pairs + routers <= MOST_EDGES:
        _add_routers(graph, wording, inside, outside)
    elif groups.count <= MOST_GROUPS:
        _add_each_group(graph, wording, inside, outside)
    else:
        tier = fabric.tiers[0]
        graph.node(tier.name, [wording.tier_name(tier.name), wording.switches(tier), wording.groups()])
        for links in kinds:
            label = [*wording.links(links)[:1], *wording.side_by_side(links)]
            graph.edge(tier.name, tier.name, label, "" if is_link_inside_group(fabric, links) else _OTHER_SIDE)
        add_servers(graph, wording, [(tier.name, routers)])


def _add_routers(graph: Graph, wording: Wording, inside: list[Links], outside: list[Links]) -> None:
    groups, tier = find_groups(wording.drawn), wording.drawn.tiers[0]
    members = [groups.members(index) for index in range(groups.count)]
    for index, routers in enumerate(members):
        with graph.cluster(f"group {index + 1}", wording.language.word("ui-group", number=index + 1)):
            for router in routers:
                label = wording.language.word("ui-router", number=router + 1)
                graph.node(f"{tier.name} {router + 1}", [label, tier.switch.identity.name])
            for links in inside:
                text = wording.bundle(links, links.count.value, groups.pairs_inside)
                for one, other in combinations(routers, 2):
                    graph.edge(f"{tier.name} {one + 1}", f"{tier.name} {other + 1}", [text])
    for links in outside:
        text = wording.bundle(links, links.count.value, groups.pairs)
        for first, second in combinations(range(groups.count), 2):
            ends = [(f"group {each + 1}", f"{tier.name} {members[each][0] + 1}") for each in (first, second)]
            graph.clustered_edge(ends[0], ends[1], [text])
    add_servers(graph, wording, [(f"{tier.name} {router + 1}", 1) for routers in members for router in routers])


def _add_each_group(graph: Graph, wording: Wording, inside: list[Links], outside: list[Links]) -> None:
    """Add a node per group, connected to itself and to every other."""
    groups, tier = find_groups(wording.drawn), wording.drawn.tiers[0]
    names = [f"group {index + 1}" for index in range(groups.count)]
    sizes = [len(groups.members(index)) for index in range(groups.count)]
    for index, (name, size) in enumerate(zip(names, sizes, strict=True)):
        graph.node(name, [wording.language.word("ui-group", number=index + 1), wording.switches(tier, size)])
        for links in inside:
            graph.edge(name, name, [wording.bundle(links, links.count.value, groups.count)])
    for links in outside:
        text = wording.bundle(links, links.count.value, groups.pairs)
        for one, other in combinations(names, 2):
            graph.edge(one, other, [text])
    add_servers(graph, wording, zip(names, sizes, strict=True))


def add_grid(graph: Graph, wording: Wording) -> None:
    """Add nodes individually, or all as one node connected to itself along every axis."""
    torus = find_torus(wording.drawn)
    edges = sum(torus.nodes // size * torus.steps(axis) for axis, size in torus.sizes.items())
    for links in wording.drawn.links:
        if torus.nodes <= MOST_SWITCHES and edges <= MOST_EDGES:
            _add_nodes(graph, wording, torus, links)
            continue
        nodes = wording.language.word("ui-nodes", count=wording.language.integer(torus.nodes))
        graph.node("nodes", [wording.grid(), nodes])
        each = torus.links or {}
        label = [f"{axis}: {wording.bundle(links, count)}" for axis, count in each.items() if count]
        graph.edge("nodes", "nodes", label or [wording.bundle(links, links.count.value)])


def _add_nodes(graph: Graph, wording: Wording, torus: Torus, links: Links) -> None:
    """Add every node of the grid, and the edges to its next neighbours."""
    sizes = list(torus.sizes.values())
    places = list(product(*(range(1, size + 1) for size in sizes)))
    graph.look(_PINNED)
    for place in places:
        graph.node(_node_name(place), [_node_name(place)], _node_position(place))
    for place in places:
        for position, (axis, size) in enumerate(torus.sizes.items()):
            if place[position] > torus.steps(axis):
                continue
            count = torus.per_pair(axis)
            label = [wording.rate(links)] if count is None else [wording.bundle(links, count)]
            around = place[position] == size
            after = (*place[:position], 1 if around else place[position] + 1, *place[position + 1 :])
            graph.edge(_node_name(place), _node_name(after), label)


def _node_name(place: tuple[int, ...]) -> str:
    return ", ".join(map(str, place))


def _node_position(place: tuple[int, ...]) -> str:
    """Return the position of a grid node; later layers are behind the first."""
    x, y = (sum(number * step[side] for number, step in zip(place, _STEPS, strict=False)) for side in (0, 1))
    return f'pos="{x:.2f},{y:.2f}!"'


# graphviz -----------------------------------------------------------------------------------------------------------
# A fabric as a Graphviz graph: with tiers, in groups, or in a grid.
#
# Every switch is a node up to `MOST_SWITCHES` and `MOST_EDGES`. In larger graphs the switches of a pod and tier
# collapse into one node, and many equal pods into one, so that the graph of any fabric remains legible. The counts on
# the edges add up to the links of each kind; if the counts do not determine the endpoints of a leaf, its edge says "up
# to".


def fabric_dot(fabric: Fabric, name: str, language: Language, servers: int | None = None) -> str:
    """Return a fabric as an undirected Graphviz graph; of several equal planes, one.

    `servers` is the number of attached servers, if known; other endpoints then belong to other hosts.
    """
    wording = Wording(fabric, name, language, servers, {})
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
    """Switches of a tier drawn as one node, and the pods that contain all of them."""

    tier: Tier
    switches: range
    pods: range | None

    @property
    def name(self) -> str:
        first, last = self.switches[0] + 1, self.switches[-1] + 1
        return f"{self.tier.name} {first}" if first == last else f"{self.tier.name} {first}-{last}"


def _add_tiers(graph: Graph, wording: Wording) -> None:
    """Add nodes from the top down, then the edges between adjacent tiers."""
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
    """Add the edges between nodes of whole pods, with equal links per pair of pods of one size."""
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
    """Return pods individually if there are few, else equal pods together."""
    pods = count_pods(fabric)
    if pods <= MOST_GROUPS:
        return [range(index, index + 1) for index in range(pods)]
    if others := count_last_pods(fabric):
        return [range(pods - others), range(pods - others, pods)]
    ends = {0, pods, *(tier.count.value % pods for tier in fabric.tiers if tier.name != CORE)}
    return [range(first, end) for first, end in pairwise(sorted(ends))]


def _is_small(fabric: Fabric) -> bool:
    """Return whether every switch can be a node; not if links join pods, of which each tier is one node."""
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
    """Add the edge between two nodes if their switches are connected."""
    if links is None:
        return
    count = count_uplinks(part.tier, part.switches)
    if single:
        count = _count_links_of_pair(wording.drawn, part, above)
    if count:
        graph.edge(above.name, part.name, [wording.bundle(links, count)])


def _count_links_of_pair(fabric: Fabric, part: _Part, above: _Part) -> int:
    """Return the links between a switch and one above: even, with remainders distributed in turn."""
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

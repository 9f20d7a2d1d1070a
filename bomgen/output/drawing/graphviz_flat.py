"""Fabrics without tiers above each other as Graphviz graphs: groups of routers, and grids of nodes."""

from __future__ import annotations

from itertools import combinations, product

from bomgen.fabric.types import Links
from bomgen.output.drawing.arrangement import Torus, find_groups, find_torus, is_link_inside_group, links_within_tier
from bomgen.output.drawing.dot import Graph
from bomgen.output.drawing.graphviz_parts import MOST_EDGES, MOST_GROUPS, MOST_SWITCHES, add_servers
from bomgen.output.drawing.wording import Wording

_OTHER_SIDE = "headport=w tailport=w"
"""Loops of a node would run through each other's words."""
_PINNED = "layout=neato splines=true"
"""Nodes stay where they are put, and edges go round them."""
_STEPS = ((3.2, 0), (0, -2), (1.4, 0.7))
"""How far aside and up the next node along each axis stands, in inches."""


def add_groups(graph: Graph, wording: Wording) -> None:
    """Routers one by one, groups one by one, or all of them as one node."""
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
    """Every group a node that is linked within itself and to every other."""
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
    """Nodes one by one, or all as one that is linked to itself along every axis."""
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
    """Every node of the grid, and the edges to its next neighbours."""
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
    """Where a node of a grid stands: later layers behind the first."""
    x, y = (sum(number * step[side] for number, step in zip(place, _STEPS, strict=False)) for side in (0, 1))
    return f'pos="{x:.2f},{y:.2f}!"'

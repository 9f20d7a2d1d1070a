"""What every Graphviz graph of a fabric has: its summary, its servers, and the sizes that stay readable."""

from __future__ import annotations

from collections.abc import Iterable

from bomgen.output.drawing.dot import Graph
from bomgen.output.drawing.wording import Wording

MOST_SWITCHES = 32
MOST_EDGES = 96
"""A graph of more nodes or edges than these has labels that nobody can read."""
MOST_GROUPS = 8
"""Pods or groups that are drawn one by one."""
SERVERS = "servers"
_LOOK = 'style="rounded,dashed"'


def summary(wording: Wording) -> list[str]:
    """What stands above a graph: the fabric, which plane of it, and all counts."""
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
    """One node for all servers, below nodes that stand for so many leaves each."""
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

"""Fabrics made by hand, for drawings: of few and of very many switches, with planes, groups of routers, and grids."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from bomgen.catalog.parts import Identity, Switch
from bomgen.core.provenance import Figure, Given, Mark
from bomgen.fabric.types import Fabric, Links, Tier

TIERS = ("leaf", "spine", "core")


def figure(value: int, unit: str = "count") -> Figure:
    """A number of the plan."""
    return Figure(value, unit, Given(Mark("plan.yaml", 1, 1)))


def switch(name: str) -> Switch:
    """A switch of that name."""
    return Switch(Identity("switch", "switch", name), None, (), figure(1), None, None, None)


def _links(kind: str, count: int, ends: tuple[str, str], cabled: int | None = None, ports: int | None = None) -> Links:
    return Links(
        kind,
        figure(count, "links"),
        figure(count if cabled is None else cabled, "links"),
        figure(400, "Gb/s"),
        ends,
        None if ports is None else figure(ports, "ports"),
    )


def _fabric(
    topology: str,
    endpoints: int,
    ports_per_server: int,
    tiers: Sequence[Tier],
    links: Sequence[Links],
    pods: int | None = None,
    dimensions: dict[str, int] | None = None,
) -> Fabric:
    return Fabric(
        topology=topology,
        endpoints=figure(endpoints, "endpoints"),
        ports_per_server=figure(ports_per_server, "ports"),
        tier_count=figure(len(tiers), "tiers"),
        tiers=tuple(tiers),
        links=tuple(links),
        switches=figure(sum(tier.count.value for tier in tiers), "switches"),
        bisection_gbps=figure(1, "Gb/s"),
        hops=figure(1, "switches"),
        largest=None,
        free_ports={},
        pods=figure(pods, "pods") if pods else None,
        dimensions={name: figure(size) for name, size in (dimensions or {}).items()},
    )


def clos(
    counts: Sequence[int],
    uplinks: Sequence[int],
    endpoints: int,
    ports_per_server: int = 8,
    pods: int | None = None,
    name: str = "QM9700",
    reserved: int = 0,
    topology: str = "fat-tree",
) -> Fabric:
    """Tiers of so many switches with so many links up each."""
    ups = [*(figure(each, "ports") for each in uplinks), None]
    downs = [
        -(-endpoints // counts[0]),
        *(-(-count * up // above) for count, up, above in zip(counts, uplinks, counts[1:], strict=False)),
    ]
    tiers = [
        Tier(tier, switch(name), figure(count, "switches"), figure(64, "ports"), figure(down, "ports"), up, (), None)
        for tier, count, down, up in zip(TIERS, counts, downs, ups, strict=False)
    ]
    links = [_links("server-leaf", endpoints, ("server", "leaf"), cabled=endpoints - reserved)]
    for lower, upper, count, up in zip(TIERS, TIERS[1:], counts, uplinks, strict=False):
        links.append(_links(f"{lower}-{upper}", count * up, (lower, upper)))
    return _fabric(topology, endpoints, ports_per_server, tiers, links, pods)


def dragonfly(groups: int, routers: int, global_ports: int, servers_a_router: int = 4, name: str = "SN5600") -> Fabric:
    """Groups of routers, all linked within a group, with so many ports of each to other groups."""
    count = groups * routers
    port, up = figure(servers_a_router, "ports"), figure(routers - 1 + global_ports, "ports")
    tier = Tier("leaf", switch(name), figure(count, "switches"), figure(64), port, up, (), None)
    links = [
        _links("server-leaf", count * servers_a_router, ("server", "leaf")),
        _links("local", count * (routers - 1) // 2, ("leaf", "leaf"), ports=routers - 1),
        _links("global", count * global_ports // 2, ("leaf", "leaf"), ports=global_ports),
    ]
    sizes = {"groups": groups, "switches_per_group": routers}
    return _fabric("dragonfly", count * servers_a_router, 1, [tier], links, dimensions=sizes)


def torus(*sizes: int, links: int | None = None) -> Fabric:
    """A grid whose lines are closed, or one with so many links."""
    nodes = prod(sizes)
    closed = sum(nodes // size * (size if size > 2 else size - 1) for size in sizes)
    between = _links("neighbour", closed if links is None else links, ("server", "server"))
    return _fabric("torus", nodes, 1, [], [between], dimensions=dict(zip("xyz", sizes, strict=False)))


def planes(plane: Fabric, count: int) -> Fabric:
    """So many equal fabrics side by side."""

    def times(number: Figure) -> Figure:
        return figure(number.value * count, number.unit)

    tiers = [
        Tier(tier.name, tier.switch, times(tier.count), tier.radix, tier.down, tier.up, (), None)
        for tier in plane.tiers
    ]
    links = [
        Links(each.kind, times(each.count), times(each.cabled), each.rate_gbps, each.ends, each.ports)
        for each in plane.links
    ]
    return plane._replace(
        endpoints=times(plane.endpoints),
        tiers=tuple(tiers),
        links=tuple(links),
        switches=times(plane.switches),
        plane=plane,
        planes=figure(count, "planes"),
    )


FABRICS = {
    "one switch": clos([1], [], 40, 4),
    "two tiers": clos([32, 16], [32], 1024, 4),
    "two switches": clos([2], [], 64, 8),
    "few": clos([3, 2], [32], 90, 4),
    "fifty": clos([34, 16], [32], 1088, 8),
    "pods": clos([2048, 2048, 1024], [32, 32], 65536, 8, 64),
    "three pods": clos([24, 24, 8], [8, 8], 640, 8, 3),
    "unequal pods": clos([21, 16, 8], [32, 32], 640, 8, 2),
    "no core": clos([32, 16], [8], 640, 8, 4),
    "1664": clos([576, 576, 512], [32, 32], 18432, 8, 18),
    "rails": clos([576, 576, 512], [32, 32], 18432, 8, 18, topology="rail-optimized", reserved=4),
    "huge": clos([20000, 20000, 10000], [32, 32], 640000, 8, 625),
    "planes": planes(clos([16, 8], [32], 512, 1, reserved=2), 8),
    "planes of pods": planes(clos([2048, 2048, 1024], [32, 32], 65536, 1, 64, reserved=2), 8),
    "small dragonfly": dragonfly(3, 4, 2),
    "dragonfly": dragonfly(9, 4, 2),
    "one group": dragonfly(1, 6, 0),
    "two groups": dragonfly(2, 4, 1),
    "large dragonfly": dragonfly(545, 32, 17),
    "planes of dragonflies": planes(dragonfly(65, 16, 8), 4),
    "torus": torus(16, 16, 16),
    "cube": torus(4, 4, 4),
    "slab": torus(8, 4),
    "ring": torus(6),
    "pair": torus(2, 2, 2),
    "mesh": torus(4, 4, 2, links=2 * 2 * 4 * 3 + 16),
    "torus of 20 000": torus(20, 20, 50),
}
"""Fabrics by what they are."""

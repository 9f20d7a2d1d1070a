"""A bound on the bisection of a fabric, from the links that its topology enumerates.

Whatever cut separates the first half of the endpoints from the second carries at least the flow between them (max-flow
min-cut, Ford and Fulkerson 1956). So a stated bisection that is larger than the cut found here is wrong, whatever the
topology. The cut is found by sweeps: every switch goes to the half that it has more bandwidth to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.fabric.declaration import SERVER_LEAF
from bomgen.fabric.links.endpoints import Seats, seat_plane
from bomgen.fabric.registry import topology
from bomgen.fabric.types import Fabric

Column = NDArray[np.int64]
FIRST, SECOND, OPEN = 0, 1, -1
SWEEPS = 4


class Cut(NamedTuple):
    """What the enumeration of a plane tells."""

    gbps: int
    """Bandwidth of a cut between the halves of the endpoints: no bisection is larger."""
    miscounted: tuple[tuple[str, int, int], ...]
    """Kinds of link that are not enumerated as often as they are counted: name, links enumerated, links counted."""


class _Graph(NamedTuple):
    """Devices as nodes, and what is attached to them."""

    one: Column
    other: Column
    gbps: Column
    """Links: both nodes and the rate [Gb/s]."""
    halves: Column
    """Bandwidth of the endpoints attached to each node [Gb/s], a row a half."""
    levels: tuple[Column, ...]
    """Nodes tier by tier."""


def cut_between_halves(plane: Fabric) -> Cut:
    """A cut between the first and the second half of the endpoints of one plane, servers in their order, then hosts.

    Raises ValueError when the links of a topology name a kind that the fabric has none of.
    """
    seats = None
    if plane.seats is not None:
        ports = int(plane.ports_per_server.value)
        servers = sum(group.leaves * group.nic_ports for group in plane.seats.value.groups()) // ports
        seats = seat_plane(plane, servers, ports)
    graph, miscounted = _graph(plane, seats)
    return Cut(_smallest(graph) if seats else _between_nodes(graph, int(plane.endpoints.value)), miscounted)


def _graph(plane: Fabric, seats: Seats | None) -> tuple[_Graph, tuple[tuple[str, int, int], ...]]:
    """The enumerated links as a graph; the fabric that uplinks lead into is its last node."""
    starts, levels, count = dict[str, int](), [], 0
    for tier in plane.tiers:
        starts[tier.name] = count
        levels.append(np.arange(count, count + int(tier.count.value), dtype=np.int64))
        count += int(tier.count.value)
    one, other, gbps, miscounted = [], [], [], []
    for kind, (lower, _, upper, _) in topology(plane.topology).connect(plane, seats):
        links = plane.links_of(kind.name)
        if links is None:
            raise ValueError(f"{kind.name} links are connected, and the fabric counts none")
        if len(lower) != links.count.value:
            miscounted.append((kind.name, len(lower), int(links.count.value)))
        one.append(np.asarray(lower, dtype=np.int64) + starts.get(kind.ends[0], 0))
        other.append(np.asarray(upper, dtype=np.int64) + starts.get(kind.ends[1], 0))
        gbps.append(np.full(len(lower), int(links.rate_gbps.value), dtype=np.int64))
    if plane.uplink_gbps and plane.tiers and plane.tiers[-1].up:
        top, up = levels[-1], plane.tiers[-1].up
        one.append(top)
        other.append(np.full(len(top), count, dtype=np.int64))
        gbps.append(np.full(len(top), int(up.value * plane.uplink_gbps.value), dtype=np.int64))
        levels.append(np.array([count], dtype=np.int64))
        count += 1
    none = np.zeros(0, dtype=np.int64)
    lower_end, upper_end, rate = (np.concatenate([none, *each]) for each in (one, other, gbps))
    return _Graph(lower_end, upper_end, rate, _halves(plane, seats, count), tuple(levels)), tuple(miscounted)


def _halves(plane: Fabric, seats: Seats | None, nodes: int) -> Column:
    """Bandwidth of the endpoints of each half at each node [Gb/s]."""
    links = plane.links_of(SERVER_LEAF.name)
    if seats is None or links is None:
        return np.zeros((2, nodes), dtype=np.int64)
    leaves = [seats.leaf[np.lexsort((seats.port, seats.server))]]
    hosts = [(np.arange(len(leaf)) * seats.rails + rail, leaf) for rail, (leaf, _) in enumerate(seats.hosts)]
    order, leaf = (np.concatenate(each) for each in zip(*hosts, strict=True))
    leaves.append(leaf[np.argsort(order)])
    endpoints = np.concatenate(leaves)
    middle = len(endpoints) // 2
    found = [np.bincount(half, minlength=nodes) for half in (endpoints[:middle], endpoints[middle:])]
    each_half: Column = np.stack(found).astype(np.int64) * int(links.rate_gbps.value)
    return each_half


def _smallest(graph: _Graph) -> int:
    """The smallest of the cuts that sweeps over the tiers find [Gb/s]."""
    side = np.full(graph.halves.shape[1], OPEN, dtype=np.int64)
    found = int(graph.halves.sum(axis=1).min())
    for _ in range(SWEEPS):
        for level in graph.levels:
            first, second = (_pull(graph, side, half) for half in (FIRST, SECOND))
            side[level] = np.where(first > second, FIRST, SECOND)[level]
        crossing = graph.gbps[side[graph.one] != side[graph.other]].sum()
        apart = graph.halves[FIRST, side == SECOND].sum() + graph.halves[SECOND, side == FIRST].sum()
        found = min(found, int(crossing + apart))
    return found


def _pull(graph: _Graph, side: Column, half: int) -> Column:
    """The bandwidth that each node has to one half: to its endpoints, and to the nodes that joined it."""
    found: Column = graph.halves[half].copy()
    for near, far in ((graph.one, graph.other), (graph.other, graph.one)):
        joined = side[far] == half
        np.add.at(found, near[joined], graph.gbps[joined])
    return found


def _between_nodes(graph: _Graph, nodes: int) -> int:
    """The links between the first and the second half of nodes that are linked directly [Gb/s]."""
    middle = nodes // 2
    return int(graph.gbps[(graph.one < middle) != (graph.other < middle)].sum())

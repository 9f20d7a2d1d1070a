"""Enumeration of the links between devices, as columns of numbers, and a bound on the bisection from them.

The occupancy gives every endpoint its leaf and port; `connect` of the topology gives the links between switches.
Devices and ports are numbered from 0 within their tier: leaf 3 of plane 1 of ten leaves per plane is number 13. Names,
cages and positions belong to `cabling`.

NumPy holds the columns. A cable is a handful of integers, and dividing with remainder, repeating, sorting and reducing
by group is one call per column; Arrow has no such functions, and objects would take gigabytes for a million GPUs.
Reserved ports have no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.fabric.declaration import SERVER_LEAF, topology
from bomgen.fabric.links.patterns import Seats, seat_plane
from bomgen.fabric.types import SERVER, Fabric

Column = NDArray[np.int64]

HOST = "host"
"""The lower end of links of machines other than servers: their ports, numbered consecutively over all of them."""


class PortSpread(NamedTuple):
    """The distribution of the ports of a machine over equal fabrics."""

    ports: int
    """Ports of a server, over all planes."""
    ports_of_nic: int
    """Size of a group of adjacent ports, of which every plane gets an equal share."""
    planes: int
    host_ports: int
    """Ports of all other machines, over all planes."""


class LinkTable(NamedTuple):
    """Links of one kind, one per row, with the device and port at either end."""

    kind: str
    ends: tuple[str, str]
    """`server`, `host` or a tier."""
    lower: Column
    lower_port: Column
    upper: Column
    upper_port: Column

    @property
    def links(self) -> int:
        """The number of links."""
        return len(self.lower)


def enumerate_links(fabric: Fabric, spread: PortSpread, servers: int) -> Iterator[LinkTable]:
    """Yield every link of a fabric with switches that gets a cable, by kind; reserved ports get none.

    Servers come in their order, then other machines. Raises ValueError when the fabric's counts do not add up.
    """
    plane = fabric.plane or fabric
    equal = int(fabric.planes.value) if fabric.planes else 1
    trees = equal // spread.planes
    parts: dict[tuple[str, tuple[str, str]], list[tuple[Column, ...]]] = {}
    for number in range(equal):
        for table in _links_of_plane(plane, spread, servers, number % spread.planes, number // spread.planes, trees):
            lower_count, upper_count = (_device_count(plane, end) for end in table.ends)
            columns = (
                table.lower + number * lower_count,
                table.lower_port,
                table.upper + number * upper_count,
                table.upper_port,
            )
            parts.setdefault((table.kind, table.ends), []).append(columns)
    for (kind, ends), rows in parts.items():
        lower, lower_port, upper, upper_port = (np.concatenate(each) for each in zip(*rows, strict=True))
        if ends[0] in (SERVER, HOST):
            order = np.lexsort((lower_port, lower))
            lower, lower_port, upper, upper_port = (each[order] for each in (lower, lower_port, upper, upper_port))
        yield LinkTable(kind, ends, lower, lower_port, upper, upper_port)


def _device_count(plane: Fabric, end: str) -> int:
    """Return the devices of a plane at an end of a kind of link; machines are the same in every plane."""
    tier = plane.tier(end)
    return int(tier.count.value) if tier else 0


def _links_of_plane(
    plane: Fabric, spread: PortSpread, servers: int, number: int, tree: int, trees: int
) -> Iterator[LinkTable]:
    """Yield the links of one of several equal fabrics: plane `number`, and of its `trees` that of rail `tree`."""
    seats = seat_plane(plane, servers, int(plane.ports_per_server.value))
    of_nic = spread.ports_of_nic // spread.planes
    in_plane = seats.port + tree
    port = in_plane // of_nic * spread.ports_of_nic + in_plane % of_nic * spread.planes + number
    yield LinkTable(SERVER_LEAF.name, SERVER_LEAF.ends, seats.server, port, seats.leaf, seats.leaf_port)
    rows = trees * seats.rails
    hosts = list[tuple[Any, ...]]()
    for rail, (leaf, leaf_port) in enumerate(seats.hosts):
        first = number + spread.planes * (tree + rail)
        ids = np.arange(first, spread.host_ports, spread.planes * rows, dtype=np.int64)
        if len(ids) > len(leaf):
            raise ValueError(f"{len(ids)} ports of other machines for {len(leaf)} seats of plane {number}")
        hosts.append((ids, np.zeros_like(ids), leaf[: len(ids)], leaf_port[: len(ids)]))
    columns = [np.concatenate(each) for each in zip(*hosts, strict=True)]
    if len(columns[0]):
        yield LinkTable(SERVER_LEAF.name, (HOST, SERVER_LEAF.ends[1]), *columns)
    for kind, ends in topology(plane.topology).connect(plane, seats):
        yield LinkTable(kind.name, kind.ends, *(np.asarray(column, dtype=np.int64) for column in ends))


# bisection ----------------------------------------------------------------------------------------------------------
# A bound on the bisection of a fabric, from the links that its topology enumerates.
#
# Any cut that separates the first half of the endpoints from the second carries at least the flow between them
# (max-flow min-cut, Ford and Fulkerson 1956). So a stated bisection that is larger than the cut found here is wrong,
# whatever the topology. The cut is found by sweeps: every switch goes to the half that it has more bandwidth to.

FIRST, SECOND, OPEN = 0, 1, -1
SWEEPS = 4


class Cut(NamedTuple):
    """The result of checking the links enumerated for a plane."""

    gbps: int
    """Bandwidth of a cut between the halves of the endpoints, an upper bound of the bisection."""
    miscounted: tuple[tuple[str, int, int], ...]
    """Kinds of link with an enumeration that differs from their count: name, links enumerated, links counted."""


class _Graph(NamedTuple):
    one: Column
    other: Column
    gbps: Column
    """Links: both nodes and the rate [Gb/s]."""
    halves: Column
    """Bandwidth of the endpoints attached to each node [Gb/s], one row per half."""
    levels: tuple[Column, ...]
    """Nodes by tier."""


def cut_between_halves(plane: Fabric) -> Cut:
    """Return a cut between the halves of the endpoints of one plane, servers in order and then hosts.

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
    """Return the enumerated links as a graph; the fabric that uplinks lead into is its last node."""
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
    """Return the bandwidth of the endpoints of each half at each node [Gb/s]."""
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
    """Return the smallest cut found by sweeps over the tiers [Gb/s]."""
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
    """Return the bandwidth of each node to one half: to its endpoints, and to the nodes that joined it."""
    found: Column = graph.halves[half].copy()
    for near, far in ((graph.one, graph.other), (graph.other, graph.one)):
        joined = side[far] == half
        np.add.at(found, near[joined], graph.gbps[joined])
    return found


def _between_nodes(graph: _Graph, nodes: int) -> int:
    middle = nodes // 2
    return int(graph.gbps[(graph.one < middle) != (graph.other < middle)].sum())

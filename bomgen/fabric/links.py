"""The links between devices, one by one, as columns of numbers, and a bound on the bisection from them.

The occupancy gives every endpoint its leaf and port; `connect` of the topology gives the links between switches, by the
patterns below. Devices and ports are numbered from 0 within their tier: leaf 3 of plane 1 of ten leaves per plane is
number 13. Leaves of rails are numbered unit by unit, so that a pod of all rails has consecutive numbers. Names, cages
and positions belong to `cabling`.

Parallel links of two switches are adjacent on both, so that cables of several links and twin-port modules connect the
same two cages. Spines at the same position in their pods connect to the same cores.

NumPy holds the columns. A cable is a handful of integers, and dividing with remainder, repeating, sorting and reducing
by group is one call per column; Arrow has no such functions, and objects would take gigabytes for a million GPUs.
Reserved ports have no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.core.provenance import require
from bomgen.fabric.occupancy import LeafGroup, Occupancy, leaves_of_pods
from bomgen.fabric.types import SERVER, SERVER_LEAF, Fabric, topology

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


# mesh ---------------------------------------------------------------------------------------------------------------
# The connections of a mesh: every switch to every other.

Ends = tuple[Column, Column, Column, Column]
"""Lower device and port, upper device and port."""


def connect_peers(switches: int, each: int) -> Ends:
    """Return `each` links between every two switches; those of a pair are adjacent on both, to allow shared cages."""
    one, other = (np.repeat(column.astype(np.int64), each) for column in np.triu_indices(switches, 1))
    parallel = np.tile(np.arange(each, dtype=np.int64), switches * (switches - 1) // 2)
    return one, (other - 1) * each + parallel, other, one * each + parallel


# endpoints ----------------------------------------------------------------------------------------------------------
# The leaf of every endpoint of a plane, and its port there.


class Seats(NamedTuple):
    """The endpoints of a plane: servers in order, and the ports for other machines, by rail."""

    rails: int
    server: Column
    port: Column
    """Port of the server, among those that it has in the plane."""
    leaf: Column
    leaf_port: Column
    hosts: tuple[tuple[Column, Column], ...]
    """Leaf and port of every port for other machines, by rail, in the order of the leaves."""
    up: Column
    """Uplinks of each leaf."""


def seat_plane(plane: Fabric, servers: int, ports: int) -> Seats:
    """Return the seats of a plane that connects a number of servers with `ports` ports each."""
    if plane.seats is None:
        raise ValueError("a fabric without switches seats nobody")
    return _seats_of_groups(plane.seats.value, servers, ports)


def _seats_of_groups(occupancy: Occupancy, servers: int, ports: int) -> Seats:
    """Return the endpoints on the leaves they were counted on. Leaves are numbered unit by unit, rail after rail."""
    rails = len(occupancy.rails)
    rows = [_seats_of_rail(groups, index, rails) for index, groups in enumerate(occupancy.rails)]
    leaf, leaf_port = (np.concatenate([row[0][part] for row in rows]) for part in (0, 1))
    of_rail = ports // rails
    server = np.tile(np.repeat(np.arange(servers, dtype=np.int64), of_rail), rails)
    port = np.tile(np.arange(of_rail, dtype=np.int64), servers * rails)
    port += np.repeat(np.arange(rails, dtype=np.int64) * of_rail, servers * of_rail)
    if len(server) != len(leaf):
        raise ValueError(f"{len(leaf)} seats for {len(server)} endpoints")
    up = np.zeros(sum(group.leaves for group in occupancy.groups()), dtype=np.int64)
    for index, groups in enumerate(occupancy.rails):
        up[index::rails] = _repeat_per_leaf(groups, "up")
    return Seats(rails, server, port, leaf, leaf_port, tuple(row[1] for row in rows), up)


def _seats_of_rail(
    groups: tuple[LeafGroup, ...], rail: int, rails: int
) -> tuple[tuple[Column, Column], tuple[Column, Column]]:
    """Return leaf and port of every server's port on a rail, and of every port for other machines after them."""
    of_servers, of_hosts = _repeat_per_leaf(groups, "nic_ports"), _repeat_per_leaf(groups, "host_ports")
    leaves = np.arange(len(of_servers), dtype=np.int64) * rails + rail
    return (
        (np.repeat(leaves, of_servers), count_up(of_servers)),
        (np.repeat(leaves, of_hosts), count_up(of_hosts) + np.repeat(of_servers, of_hosts)),
    )


def _repeat_per_leaf(groups: tuple[LeafGroup, ...], what: str) -> Column:
    return np.repeat(
        np.array([getattr(group, what) for group in groups], dtype=np.int64),
        np.array([group.leaves for group in groups]),
    )


def count_up(sizes: Column) -> Column:
    """Return 0, 1, ... up to each size, one after the other: (2, 3) gives 0 1 0 1 2."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0, dtype=np.int64) - np.repeat(ends - sizes, sizes)


# folded clos --------------------------------------------------------------------------------------------------------


def connect_spines(plane: Fabric, seats: Seats | None) -> Ends:
    """Return the links of every leaf to the spines of its pod. Raises ValueError as `spread_links` does."""
    spine = plane.tier("spine")
    if spine is None or seats is None:
        raise ValueError("a fabric without spines")
    pods = int(plane.pods.value) if plane.pods else 1
    of_pod = int(spine.count.value) // pods
    leaf, pod = order_leaves_by_pod(len(seats.up), seats.rails, pods, require(plane.seats, "seated").value.rows_of_pod)
    return spread_links(leaf, seats.up[leaf], pod, pod * of_pod, np.full_like(pod, of_pod))


def spread_links(leaf: Column, up: Column, pod: Column, first_spine: Column, spines: Column) -> Ends:
    """Return the links of leaves, in the order of their pods, to the spines of these, numbered from `first_spine`.

    Links to one spine are adjacent on both switches, so that two of them may share a cage at either end. Raises
    ValueError when they do not spread evenly.
    """
    each = up // spines
    if np.any(each * spines != up):
        raise ValueError("links up that do not spread evenly over the spines")
    before = np.cumsum(each) - each
    first = np.concatenate(([0], np.flatnonzero(np.diff(pod)) + 1)).astype(np.int64)
    before -= np.repeat(before[first], np.diff(np.append(first, len(pod))))
    lower_port = count_up(up)
    parallel = np.repeat(each, up)
    return (
        np.repeat(leaf, up),
        lower_port,
        np.repeat(first_spine, up) + lower_port // np.maximum(parallel, 1),
        np.repeat(before, up) + lower_port % np.maximum(parallel, 1),
    )


def order_leaves_by_pod(leaves: int, rails: int, pods: int, rows_of_pod: int) -> tuple[Column, Column]:
    """Return the leaves of a folded Clos pod by pod, and the pod of each."""
    if pods == 1:
        return np.arange(leaves, dtype=np.int64), np.zeros(leaves, dtype=np.int64)
    row = leaves // rails
    sizes = np.array(leaves_of_pods(row, pods * rows_of_pod // rails), dtype=np.int64)
    of_unit = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)[:, None]
    pod = (of_unit + np.arange(rails, dtype=np.int64) // rows_of_pod * len(sizes)).ravel()
    order = np.argsort(pod, kind="stable")
    return order, pod[order]


def connect_cores(plane: Fabric) -> Ends:
    """Return the links of every spine to the cores, each spine to as many different ones as possible.

    Spines at the same position in their pods connect to the same cores; links to one core are adjacent on both
    switches.
    """
    spine, core = plane.tier("spine"), plane.tier("core")
    if spine is None or core is None or spine.up is None:
        raise ValueError("a fabric without cores")
    pods = int(plane.pods.value) if plane.pods else 1
    spines, up, cores = int(spine.count.value), int(spine.up.value), int(core.count.value)
    of_pod = spines // pods
    device = np.repeat(np.arange(spines, dtype=np.int64), up)
    port = np.tile(np.arange(up, dtype=np.int64), spines)
    pod, place = device // of_pod, device % of_pod
    if up % cores == 0:
        each = up // cores
        return device, port, port // each, pod * (of_pod * each) + place * each + port % each
    link = place * up + port
    return device, port, link % cores, pod * (of_pod * up // cores) + link // cores


# dragonfly ----------------------------------------------------------------------------------------------------------
# The connections of a dragonfly: all to all inside the groups and between them.


class GroupSizes(NamedTuple):
    """Groups of switches, numbered group after group; of all `groups` the last `small` have `small_size` switches."""

    groups: int
    size: int
    small: int = 0
    small_size: int = 0

    @property
    def large(self) -> int:
        """The number of groups of `size` switches."""
        return self.groups - self.small

    def starts(self, group: Column) -> Column:
        """Return the first switch of each group."""
        behind: Column = np.maximum(group - self.large, 0)
        return (group - behind) * self.size + behind * self.small_size

    def sizes(self, group: Column) -> Column:
        """Return the number of switches of each group."""
        return np.where(group < self.large, self.size, self.small_size).astype(np.int64)


def connect_switches_of_groups(sizes: GroupSizes) -> Ends:
    """Return the links between every two switches of each group."""
    found = []
    for first, last, size in ((0, sizes.large, sizes.size), (sizes.large, sizes.groups, sizes.small_size)):
        one, other = (column.astype(np.int64) for column in np.triu_indices(size, 1))
        start = np.repeat(sizes.starts(np.arange(first, last, dtype=np.int64)), len(one))
        lower, upper = np.tile(one, last - first), np.tile(other, last - first)
        found.append((start + lower, upper - 1, start + upper, lower))
    lower, lower_port, upper, upper_port = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return lower, lower_port, upper, upper_port


def connect_spines_of_groups(seats: Seats | None, leaves: GroupSizes, spines: GroupSizes) -> Ends:
    """Return the links of every leaf to the spines of its group; the last groups may have other numbers of both."""
    if seats is None:
        raise ValueError("a fabric without leaves")
    groups = np.arange(leaves.groups, dtype=np.int64)
    group = np.repeat(groups, leaves.sizes(groups))
    leaf = np.arange(len(group), dtype=np.int64)
    return spread_links(leaf, seats.up[leaf], group, spines.starts(group), spines.sizes(group))


def connect_groups(sizes: GroupSizes, each: int, to_small: int = 0) -> Ends:
    """Return `each` links between every two large groups and `to_small` to a small one, spread over the switches.

    The assignment of global links to the switches of a group is free (Kim et al. 2008 leave it open); a distribution in
    turn gives every switch of a group as many as any other, or one fewer.
    """
    first, second = (column.astype(np.int64) for column in np.triu_indices(sizes.groups, 1))
    links = np.where(second < sizes.large, each, to_small)
    one, other = np.repeat(first, links), np.repeat(second, links)
    number = np.arange(len(one), dtype=np.int64) - np.repeat(np.cumsum(links) - links, links)
    beyond = np.maximum(other - sizes.large, 0)
    of_large = (np.minimum(other, sizes.large) - 1) * each + beyond * to_small
    from_one = np.where(one < sizes.large, of_large, (other - 1) * to_small) + number
    from_other = one * np.where(other < sizes.large, each, to_small) + number
    size_one, size_other = sizes.sizes(one), sizes.sizes(other)
    return (
        sizes.starts(one) + from_one % size_one,
        from_one // size_one,
        sizes.starts(other) + from_other % size_other,
        from_other // size_other,
    )

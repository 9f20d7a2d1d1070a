"""Connection patterns of switches by the kind of fabric, and the leaf of every endpoint.

Parallel links of two switches are adjacent on both, so that cables of several links and twin-port modules connect the
same two cages. Spines at the same position in their pods connect to the same cores. Leaves of rails are numbered unit
by unit, so that a pod of all rails has consecutive numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.core.provenance import require
from bomgen.fabric.clos.occupancy import LeafGroup, Occupancy, leaves_of_pods
from bomgen.fabric.types import Fabric

# mesh ---------------------------------------------------------------------------------------------------------------
# The connections of a mesh: every switch to every other.

Column = NDArray[np.int64]
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
    leaf, pod = _leaves_of_pods(len(seats.up), seats.rails, pods, require(plane.seats, "seated").value.rows_of_pod)
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


def _leaves_of_pods(leaves: int, rails: int, pods: int, rows_of_pod: int) -> tuple[Column, Column]:
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

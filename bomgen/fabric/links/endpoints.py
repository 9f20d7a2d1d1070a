"""Which leaf every endpoint of a plane is attached to, and at which of its ports."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.fabric.clos.occupancy import LeafGroup, Occupancy
from bomgen.fabric.types import Fabric

Column = NDArray[np.int64]


class Seats(NamedTuple):
    """The endpoints of a plane: servers in their order, and the places of other machines, rail by rail."""

    rails: int
    server: Column
    port: Column
    """Of the server, among those that it has in the plane."""
    leaf: Column
    leaf_port: Column
    hosts: tuple[tuple[Column, Column], ...]
    """Leaf and port of every place for other machines, by rail, in the order of the leaves."""
    up: Column
    """Links up of each leaf."""


def seat_plane(plane: Fabric, servers: int, ports: int) -> Seats:
    """The seats of a plane that connects so many servers with so many ports each."""
    if plane.seats is None:
        raise ValueError("a fabric without switches seats nobody")
    return _seats_of_groups(plane.seats.value, servers, ports)


def _seats_of_groups(occupancy: Occupancy, servers: int, ports: int) -> Seats:
    """Endpoints on the leaves that they were counted on. Leaves are numbered unit by unit, rail after rail."""
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
    """Leaf and port of every server's port on a rail, and of every place for other machines behind them."""
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
    """0, 1, ... up to each size, one after the other: (2, 3) gives 0 1 0 1 2."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0, dtype=np.int64) - np.repeat(ends - sizes, sizes)

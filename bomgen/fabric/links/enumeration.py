"""Which device is connected to which, link by link, as columns of numbers, and a bound on the bisection from them.

The occupancy gives every endpoint its leaf and port; `connect` of the topology gives the links between switches.
Devices and ports are numbers from 0 within their tier: leaf 3 of plane 1 of ten leaves a plane is number 13. Names,
cages and places belong to `cabling`.

NumPy carries the columns. A cable is a handful of integers, and dividing with remainder, repeating, sorting and
reducing by group is one call for a column; Arrow has no such functions, and objects would take gigabytes for a million
GPUs. Reserved ports have no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.fabric.declaration import SERVER_LEAF
from bomgen.fabric.links.endpoints import seat_plane
from bomgen.fabric.registry import topology
from bomgen.fabric.types import SERVER, Fabric

Column = NDArray[np.int64]

HOST = "host"
"""The lower end of links of machines beside the servers: their ports, numbered through over all of them."""


class PortSpread(NamedTuple):
    """How the ports of a machine are dealt out to equal fabrics."""

    ports: int
    """Of a server, over all planes."""
    ports_of_nic: int
    """Neighbouring ports that belong together: every plane gets as many of each such group."""
    planes: int
    host_ports: int
    """Of all other machines, over all planes."""


class LinkTable(NamedTuple):
    """Links of one kind: a row a link, the device and port at either end."""

    kind: str
    ends: tuple[str, str]
    """`server`, `host` or a tier."""
    lower: Column
    lower_port: Column
    upper: Column
    upper_port: Column

    @property
    def links(self) -> int:
        """How many there are."""
        return len(self.lower)


def enumerate_links(fabric: Fabric, spread: PortSpread, servers: int) -> Iterator[LinkTable]:
    """Every link of a fabric with switches that gets a cable, kind by kind; reserved ports get none.

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
    """Devices of a plane at an end of a kind of link; machines are the same in every plane."""
    tier = plane.tier(end)
    return int(tier.count.value) if tier else 0


def _links_of_plane(
    plane: Fabric, spread: PortSpread, servers: int, number: int, tree: int, trees: int
) -> Iterator[LinkTable]:
    """The links of one of several equal fabrics: plane `number`, and of its `trees` that of rail `tree`."""
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

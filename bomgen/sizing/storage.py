"""Storage: bandwidth of all servers together, room for checkpoints and data, and the storage servers that this takes.

A checkpoint holds what a run needs to go on: weights and optimizer states, 14 bytes a parameter with Adam in mixed
precision (2 for the weight, 4 for its master copy, 8 for the moments), 12 when the 16-bit weights are left out.

A level of bandwidth is the row of four scalable units of the reference architecture: a fourth of it for every begun
unit, rounded down to whole GB/s, or what the servers draw where that is less. This one rule gives every printed cell,
from a node to four units. Square roots are exact integers of a named resolution, so that results are equal on every
machine.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, formula
from bomgen.core.units import GIGA
from bomgen.plan.types import Storage, StorageServers, Training
from bomgen.sizing.servers import servers_for_gpus
from bomgen.sizing.training import states

LEVELS = "NVIDIA DGX SuperPOD reference architecture with DGX H100, RA-11333-001 V11, table 6"
UNITS_IN_TABLE = 4
"""Table 6 gives four scalable units, in whole GB/s rounded down: one unit writes 7 and 62 GB/s, four 30 and 250."""


class Bandwidth(NamedTuple):
    """Bandwidth of storage [bytes/s]."""

    read_per_server: Figure
    """As the plan gives it, or what a single server may draw at the level."""
    write_per_server: Figure
    read: Figure
    """Of all servers at a time."""
    write: Figure


class Contents(NamedTuple):
    """What one checkpoint of a run holds [bytes]."""

    all: Figure
    without_copy: Figure | None
    """Without the weights that their master copy restores; None where there is no such copy."""


class Checkpoint(NamedTuple):
    """The checkpoints of a training run."""

    contents: Contents
    write_seconds: Figure
    interval_days: Figure


class Level(NamedTuple):
    """What a level of bandwidth gives the cluster [bytes/s]."""

    name: str
    read: Figure
    write: Figure


class Stored(NamedTuple):
    """The storage of a cluster; None is what nobody knows, or what the plan does not name."""

    bandwidth: Bandwidth
    levels: tuple[Level, ...]
    """Every level at the size of the cluster."""
    checkpoint: Checkpoint | None
    kept: Figure | None
    checkpoint_capacity_bytes: Figure | None
    dataset_bytes: Figure | None
    capacity_bytes: Figure | None
    """Of what is known of checkpoints and data."""
    servers: Figure | None


@formula("bytes/s")
def bandwidth_of_servers(servers: int, of_server: Fraction) -> Fraction:
    """Bandwidth of all servers at a time."""
    return servers * of_server


@formula("bytes/s", LEVELS)
def bandwidth_of_level(servers: int, unit_servers: int, of_server: int, of_four_units: int) -> int:
    """Bandwidth of begun scalable units in whole GB/s, or of the servers where all together draw less."""
    return min(servers * of_server, ceil(servers / unit_servers) * of_four_units // UNITS_IN_TABLE // GIGA * GIGA)


@formula("bytes")
def checkpoint_bytes(weights: int, optimizer: int) -> int:
    """A checkpoint: weights and optimizer states."""
    return weights + optimizer


@formula("s")
def write_seconds(checkpoint_bytes: int, write: Fraction) -> Fraction:
    """Time that a checkpoint takes to write with all servers; the training stops as long."""
    return Fraction(checkpoint_bytes) / write


@formula("bytes")
def capacity_of_checkpoints(checkpoint_bytes: int, kept: int) -> int:
    """Room for the checkpoints held at a time."""
    return checkpoint_bytes * kept


@formula("bytes")
def capacity_of_all(dataset_bytes: int, checkpoint_capacity_bytes: int) -> int:
    """Room for data and checkpoints."""
    return dataset_bytes + checkpoint_capacity_bytes


@formula("servers")
def servers_for(need: int, of_one: int) -> int:
    """Storage servers that hold or carry so much."""
    return ceil(Fraction(need) / of_one)


@formula("servers")
def no_servers() -> int:
    """Storage servers for a need that is not known, or that the plan does not say how one meets."""
    return 0


@formula("servers")
def storage_servers(for_capacity: int, for_read: int, for_write: int) -> int:
    """Storage servers that meet every need."""
    return max(for_capacity, for_read, for_write)


def contents(training: Training) -> Contents:
    """What one checkpoint of a run holds: all that it trains, which frozen weights are not."""
    parameters = states.trainable_parameters(training)
    weight, _, of_optimizer = states.state_bytes(training)
    optimizer = states.optimizer_states(parameters, of_optimizer)
    everything = checkpoint_bytes(states.weights(parameters, weight), optimizer)
    return Contents(everything, optimizer if weight.value < states.MASTER.value else None)


def bandwidth(storage: Storage, gpus: Figure, servers: Figure | None) -> Bandwidth:
    """The bandwidth of a cluster's storage: as the plan gives it for a server, else by level."""
    known = servers or servers_for_gpus(gpus, storage.server_gpus)
    level = storage.levels[str(storage.level.value)]
    read, write = storage.read_per_server, storage.write_per_server
    unit = storage.unit_servers
    return Bandwidth(
        read_per_server=read or level.read_of_server,
        write_per_server=write or level.write_of_server,
        read=bandwidth_of_servers(known, read)
        if read
        else bandwidth_of_level(known, unit, level.read_of_server, level.read_of_four_units),
        write=bandwidth_of_servers(known, write)
        if write
        else bandwidth_of_level(known, unit, level.write_of_server, level.write_of_four_units),
    )


def size(storage: Storage, checkpoint: Checkpoint | None, gpus: Figure, servers: Figure | None) -> Stored | None:
    """The storage of a cluster; None where the plan asks for none.

    Raises Infeasible when the number of storage servers hangs on a capacity that nothing gives.
    """
    if not storage.given:
        return None
    carried = bandwidth(storage, gpus, servers)
    room = capacity_of_checkpoints(checkpoint.contents.all, storage.keep) if checkpoint else None
    data = storage.dataset_bytes
    capacity = capacity_of_all(data, room) if data and room else data or room
    return Stored(
        bandwidth=carried,
        levels=tuple(_level(storage, name, gpus, servers) for name in storage.levels),
        checkpoint=checkpoint,
        kept=storage.keep if checkpoint else None,
        checkpoint_capacity_bytes=room,
        dataset_bytes=data,
        capacity_bytes=capacity,
        servers=_servers(storage.servers, carried, capacity) if storage.servers else None,
    )


def _level(storage: Storage, name: str, gpus: Figure, servers: Figure | None) -> Level:
    word = Figure(name, "word", storage.level.origin)
    found = bandwidth(storage._replace(level=word, read_per_server=None, write_per_server=None), gpus, servers)
    return Level(name, found.read, found.write)


def _servers(named: StorageServers, carried: Bandwidth, capacity: Figure | None) -> Figure:
    """How many of the storage servers that the plan names are bought."""
    if named.pieces:
        return named.pieces
    needs = ((capacity, named.capacity_bytes), (carried.read, named.read), (carried.write, named.write))
    found = [servers_for(need, of_one) if need and of_one else no_servers() for need, of_one in needs]
    if named.capacity_bytes and not any(figure.value for figure in found):
        message = (
            f"nothing says how many of {named.identity.name} are needed: what is stored is not known; give `dataset` "
            "or `servers.count`"
        )
        raise Infeasible(message, because=named.capacity_bytes, rule="unknown-capacity")
    return storage_servers(*found)

"""Storage of a cluster: bandwidth, capacity and servers, the checkpoints of a run, and the time that it loses.

A checkpoint holds the state that a run needs to resume: weights and optimizer states, 14 bytes per parameter with Adam
in mixed precision (2 for the weight, 4 for its master copy, 8 for the moments), 12 without the 16-bit weights.

A level of bandwidth is the row of four scalable units of the reference architecture: a fourth of it for every begun
unit, rounded down to whole GB/s, or the bandwidth of the servers where that is less. This one rule gives every printed
cell, from a node to four units.

The bandwidth of a storage server, and of a server that reads and writes, is limited by its ports on the storage fabrics
as cabled: a port of 400 Gb/s that is plugged into 200 Gb/s counts as the latter.

A run writes a checkpoint, which takes delta, every tau. Each interruption, one per mean time M, costs a restart R and
on average half the work since the last checkpoint. To first order the share delta / tau + tau / (2 M) + R / M of the
time is lost; Young's interval sqrt(2 delta M) minimises it. Checkpoints are assumed to stop training while they are
written; asynchronous checkpoints cost less.

An estimated goodput and the size of the cluster depend on each other. The search starts from no loss and continues
with the least goodput found so far, so that the cluster only grows. It ends as soon as the cluster's own goodput is
no less than the one it was sized with. Otherwise steps of bandwidth between units would make it oscillate. Square roots
are exact integers of a named resolution, so that results are equal on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from math import ceil, isqrt
from typing import NamedTuple

from bomgen.catalog.parts import BackEnd
from bomgen.core.diagnostics import Infeasible
from bomgen.core.messages import message
from bomgen.core.provenance import (
    Assumed,
    Figure,
    Formula,
    Reference,
    constant,
    formula,
    maximum,
    minimum,
    product,
    quotient,
    sum_of,
)
from bomgen.core.units import GIGA, HOURS_A_DAY, TERA
from bomgen.fabric.types import SERVER_LEAF
from bomgen.plan import fabric_demand
from bomgen.plan.fabric_demand import Attachment
from bomgen.plan.types import STORAGE, FabricPlan, Plan, Storage, StorageServers, Training
from bomgen.sizing.servers import bytes_of_ports, port_rate, servers_for_gpus
from bomgen.sizing.training import states
from bomgen.sizing.training.run import SECONDS_A_DAY

LEVELS = "NVIDIA DGX SuperPOD reference architecture with DGX H100, RA-11333-001 V11, table 6"
UNITS_IN_TABLE = 4
"""Table 6 gives four scalable units, in whole GB/s rounded down: one unit writes 7 and 62 GB/s, four 30 and 250."""


class Bandwidth(NamedTuple):
    """Bandwidth of storage [bytes/s]."""

    read_per_server: Figure
    """As set by the plan, or the maximum of a single server at the level."""
    write_per_server: Figure
    read: Figure
    """Read bandwidth of all servers together."""
    write: Figure


class Contents(NamedTuple):
    """Size of one checkpoint of a run [bytes]."""

    all: Figure
    without_copy: Figure | None
    """Size without the weights that their master copy restores; None when there is no such copy."""


class Checkpoint(NamedTuple):
    """The checkpoints of a training run."""

    contents: Contents
    write_seconds: Figure
    interval_days: Figure


class Level(NamedTuple):
    """Bandwidth of the cluster at a level [bytes/s]."""

    name: str
    read: Figure
    write: Figure


class StoredUnits(NamedTuple):
    """The units of one part of a storage system; a figure is None when it is unknown."""

    of: StorageServers
    """The part, with its bandwidth as cabled."""
    number: Figure

    @property
    def capacity_bytes(self) -> Figure | None:
        """Return the usable capacity of all units."""
        return capacity_of_units(self.number, self.of.capacity_bytes) if self.of.capacity_bytes else None

    @property
    def read(self) -> Figure | None:
        """Return the read bandwidth of all units [bytes/s]."""
        return bandwidth_of_servers(self.number, self.of.read) if self.of.read else None

    @property
    def write(self) -> Figure | None:
        """Return the write bandwidth of all units [bytes/s]."""
        return bandwidth_of_servers(self.number, self.of.write) if self.of.write else None


class Stored(NamedTuple):
    """The storage of a cluster; a figure is None when it is unknown or not specified."""

    bandwidth: Bandwidth
    levels: tuple[Level, ...]
    """Every level, for the size of the cluster."""
    checkpoint: Checkpoint | None
    kept: Figure | None
    checkpoint_capacity_bytes: Figure | None
    dataset_bytes: Figure | None
    capacity_bytes: Figure | None
    """Capacity for checkpoints and data, as far as they are known."""
    units: tuple[StoredUnits, ...]
    """The storage system: each of its parts; empty if the plan specifies none."""

    @property
    def servers(self) -> Figure | None:
        """Return the units of all parts, without the switches between them; None if the plan specifies none."""
        return _sum(sum_of_units, (part.number for part in self.units if not part.of.switch_ports))

    @property
    def sold_capacity_bytes(self) -> Figure | None:
        """Return the usable capacity of the storage system; None if it is unknown."""
        return _sum(sum_of_capacities, (part.capacity_bytes for part in self.units))

    @property
    def delivered_read(self) -> Figure | None:
        """Return the read bandwidth of the storage system as cabled [bytes/s]; None if it is unknown."""
        return _delivered(self.units, lambda part: part.read)

    @property
    def delivered_write(self) -> Figure | None:
        """Return the write bandwidth of the storage system as cabled [bytes/s]; None if it is unknown."""
        return _delivered(self.units, lambda part: part.write)


bandwidth_of_servers = product("bandwidth_of_servers", "bytes/s", "servers", "of_server")
"""Combined bandwidth of all servers."""
capacity_of_units = product("capacity_of_units", "bytes", "servers", "of_server")
"""Usable capacity of all units of a part."""
sum_of_units = sum_of("sum_of_units", "servers", "servers", "more_servers")
"""Units of several parts of a storage system."""
sum_of_capacities = sum_of("sum_of_capacities", "bytes", "capacity", "more")
"""Usable capacity of several parts of a storage system."""
sum_of_bandwidths = sum_of("sum_of_bandwidths", "bytes/s", "carried", "more")
"""Bandwidth of several parts of a storage system."""
bandwidth_through = minimum("bandwidth_through", "bytes/s", "carried", "carried_behind")
"""Bandwidth of a storage system whose drives are reached through other parts of it."""


def _sum(formula: Formula, terms: Iterable[Figure | None]) -> Figure | None:
    terms_known = [term for term in terms if term]
    return reduce(formula, terms_known) if terms_known else None


def _delivered(units: Sequence[StoredUnits], bandwidth: Callable[[StoredUnits], Figure | None]) -> Figure | None:
    """Return the bandwidth of the parts with ports on the network, limited by that of the parts behind them."""
    front, behind = (
        _sum(sum_of_bandwidths, (bandwidth(part) for part in units if bool(part.of.ports) is reached))
        for reached in (True, False)
    )
    return bandwidth_through(front, behind) if front and behind else front


@formula("bytes/s", LEVELS)
def bandwidth_of_level(servers: int, unit_servers: int, of_server: int, of_four_units: int) -> int:
    """Bandwidth of scalable units, rounded up to whole units and down to whole GB/s, at most that of all servers."""
    return min(servers * of_server, ceil(servers / unit_servers) * of_four_units // UNITS_IN_TABLE // GIGA * GIGA)


carried_by_all_ports = sum_of("carried_by_all_ports", "bytes/s", "carried", "more")
"""Port bandwidth of a machine on several fabrics."""
rate_as_cabled = minimum("rate_as_cabled", "bytes/s", "rated", "carried_by_ports")
"""Delivered bandwidth of a storage server: its rated bandwidth, limited by its ports."""
required_as_cabled = minimum("required_as_cabled", "bytes/s", "required", "carried_by_ports")
"""Required bandwidth of a GPU server, limited by its ports."""
checkpoint_bytes = sum_of("checkpoint_bytes", "bytes", "weights", "optimizer")
"""A checkpoint: weights and optimizer states."""
write_seconds = quotient("write_seconds", "s", "checkpoint_bytes", "write")
"""Time to write a checkpoint with all servers, during which training stops."""
capacity_of_checkpoints = product("capacity_of_checkpoints", "bytes", "checkpoint_bytes", "kept")
"""Capacity for the checkpoints that are kept."""
capacity_of_all = sum_of("capacity_of_all", "bytes", "dataset_bytes", "checkpoint_capacity_bytes")
"""Capacity for data and checkpoints."""


@formula("servers")
def servers_for(need: int, of_one: int) -> int:
    """Storage servers that meet a need for capacity or bandwidth."""
    return ceil(Fraction(need) / of_one)


zero_servers = constant("zero_servers", "servers", 0)
"""Storage servers for an unknown need, or for one that the plan gives no capacity for."""


ZERO_SERVERS = zero_servers()


storage_servers = maximum("storage_servers", "servers", "for_capacity", "for_read", "for_write")
"""Storage servers that meet every need."""
storage_servers_sold = maximum("storage_servers_sold", "servers", "servers", "least")
"""Storage servers that meet every need, at least the smallest configuration sold."""
storage_servers_beside = product("storage_servers_beside", "servers", "units", "each")
"""Storage servers by the vendor's least ratio to another part of the system."""
links_of_units = product("links_of_units", "links", "units", "ports")
"""Links of a part's units to the switches of the system."""
sum_of_back_end_links = sum_of("sum_of_back_end_links", "links", "links", "more")
"""Links of all parts to the switches of the system."""


@formula("<need>")
def need_left(need: int, met: int) -> int:
    """Capacity or bandwidth that parts of a given number leave to the others."""
    return max(need - met, 0)


@formula("switches")
def back_end_switches(links: int, ports: int, switches: int) -> int:
    """Switches between the parts of a storage system, in pairs or whatever is sold together, for all links."""
    return ceil(Fraction(links) / (ports * switches)) * switches


def contents(training: Training) -> Contents:
    """Return the size of one checkpoint of a run: everything it trains, without frozen weights."""
    parameters = states.trainable_parameters(training)
    weight, _, of_optimizer = states.state_bytes(training)
    optimizer = states.optimizer_states(parameters, of_optimizer)
    everything = checkpoint_bytes(states.weights(parameters, weight), optimizer)
    copied = weight.value < states.MASTER.value and states.has_master_weights(training)
    return Contents(everything, optimizer if copied else None)


def as_cabled(plan: Plan, attached: Mapping[str, Attachment]) -> Storage:
    """Return the storage of a plan at the rates that the ports of its machines carry on the storage fabrics."""
    storage = plan.storage
    of_server = _carried(
        plan,
        attached,
        lambda fabric, nics: bytes_of_ports(nics.ports_per_server, port_rate(plan.cluster, fabric, nics)),
    )
    if of_server:
        storage = storage._replace(
            read_per_server=_limited(required_as_cabled, storage.read_per_server, of_server),
            write_per_server=_limited(required_as_cabled, storage.write_per_server, of_server),
            levels={
                name: level._replace(
                    read_of_server=required_as_cabled(level.read_of_server, of_server),
                    write_of_server=required_as_cabled(level.write_of_server, of_server),
                )
                for name, level in storage.levels.items()
            },
        )
    return storage._replace(servers=tuple(_part_as_cabled(part, plan, attached) for part in storage.servers))


def _part_as_cabled(part: StorageServers, plan: Plan, attached: Mapping[str, Attachment]) -> StorageServers:
    carried = _carried(plan, attached, partial(_storage_ports, part, part.ports)) if part.ports else None
    if carried is None:
        return part
    read, write = (_limited(rate_as_cabled, rated, carried) for rated in (part.read, part.write))
    return part._replace(read=read, write=write)


def _limited(as_cabled: Formula, bandwidth: Figure | None, carried: Figure) -> Figure | None:
    return as_cabled(bandwidth, carried) if bandwidth else None


def _carried(
    plan: Plan, attached: Mapping[str, Attachment], of_fabric: Callable[[FabricPlan, Attachment], Figure]
) -> Figure | None:
    """Return the bandwidth of a machine's ports on all storage fabrics [bytes/s]; None: there is no such fabric."""
    fabrics = [fabric for fabric in plan.fabrics if fabric.role == STORAGE and fabric.name in attached]
    carried = [of_fabric(fabric, attached[fabric.name]) for fabric in fabrics]
    return reduce(carried_by_all_ports, carried) if carried else None


def _storage_ports(named: StorageServers, ports: Figure, fabric: FabricPlan, attached: Attachment) -> Figure:
    """Return the bandwidth of the ports of a storage server, each at the rate of its slower end."""
    rate = fabric_demand.rates(fabric, attached)[SERVER_LEAF.name]
    port_gbps = named.plug.port_gbps if named.plug else None
    return bytes_of_ports(ports, fabric_demand.slower_end(port_gbps, rate) if port_gbps else rate)


def bandwidth(storage: Storage, gpus: Figure, servers: Figure | None) -> Bandwidth:
    """Return the bandwidth of a cluster's storage: as the plan sets it per server, else by level."""
    count = servers or servers_for_gpus(gpus, storage.server_gpus)
    level = storage.levels[str(storage.level.value)]
    read, write = storage.read_per_server, storage.write_per_server
    unit = storage.unit_servers
    return Bandwidth(
        read_per_server=read or level.read_of_server,
        write_per_server=write or level.write_of_server,
        read=bandwidth_of_servers(count, read)
        if read
        else bandwidth_of_level(count, unit, level.read_of_server, level.read_of_four_units),
        write=bandwidth_of_servers(count, write)
        if write
        else bandwidth_of_level(count, unit, level.write_of_server, level.write_of_four_units),
    )


def size_storage(
    storage: Storage, checkpoint: Checkpoint | None, gpus: Figure, servers: Figure | None
) -> Stored | None:
    """Return the storage of a cluster; None when the plan has none.

    Raises Infeasible when the number of units of a part depends on a figure that nothing gives.
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
        units=size_units(storage.servers, carried, capacity),
    )


def _level(storage: Storage, name: str, gpus: Figure, servers: Figure | None) -> Level:
    word = Figure(name, "word", storage.level.origin)
    reached = bandwidth(storage._replace(level=word, read_per_server=None, write_per_server=None), gpus, servers)
    return Level(name, reached.read, reached.write)


def size_units(named: Sequence[StorageServers], carried: Bandwidth, capacity: Figure | None) -> tuple[StoredUnits, ...]:
    """Return the units of each part of a storage system: as given, else for what the part has of each need.

    A part follows at least the vendor's ratio to its partners, a switch the links of all parts.

    Raises Infeasible when the number of units of a part depends on a figure that nothing gives.
    """
    open_parts = [part for part in named if part.pieces is None]
    unrated = [part for part in open_parts if not (part.identity.inline or part.switch_ports)]
    if capacity and unrated and not any(part.capacity_bytes for part in named):
        names = " and ".join(part.identity.name for part in unrated)
        text = f"no capacity of {names} is known, and {float(capacity.value / TERA):g} TB are required; set `capacity`"
        raise Infeasible(f"{text} or `count` in `storage.servers`", because=capacity, rule="unknown-capacity")
    counted = [StoredUnits(part, part.pieces) for part in named if part.pieces]
    needs = (capacity, carried.read, carried.write)
    counts = {part.of.identity.id: part.number for part in counted}
    # A part is sized by itself, then by its partners, then by the links of all parts.
    for part in sorted(
        open_parts,
        key=lambda part: (part.switch_ports is not None, not part.rated or any(one.quantity for one in part.partners)),
    ):
        counts[part.identity.id] = _count(part, _left(part, needs, counted), counts, named)
    return tuple(StoredUnits(part, counts[part.identity.id]) for part in named)


def _left(part: StorageServers, needs: Sequence[Figure | None], counted: Sequence[StoredUnits]) -> list[Figure | None]:
    """Return what parts of a given number leave of each need: of bandwidth those on the same side of the system."""
    beside = [units for units in counted if bool(units.of.ports) is bool(part.ports)]
    met = (
        _sum(sum_of_capacities, (units.capacity_bytes for units in counted)),
        _sum(sum_of_bandwidths, (units.read for units in beside)),
        _sum(sum_of_bandwidths, (units.write for units in beside)),
    )
    return [need_left(need, by) if need and by else need for need, by in zip(needs, met, strict=True)]


def _count(
    part: StorageServers, left: Sequence[Figure | None], counts: Mapping[str, Figure], named: Sequence[StorageServers]
) -> Figure:
    if part.switch_ports and part.back_end:
        return _count_switches(part.switch_ports, part.back_end, counts, named)
    of_one = [figure and replace(figure, estimate=None) for figure in (part.capacity_bytes, part.read, part.write)]
    needs = [servers_for(need, one) if need and one else ZERO_SERVERS for need, one in zip(left, of_one, strict=True)]
    if part.capacity_bytes and left[0] is None and not any(figure.value for figure in needs):
        text = f"the number of units of {part.identity.name} is not specified and the data set size is unknown"
        raise Infeasible(
            f"{text}; set `dataset` or `servers.count`", because=part.capacity_bytes, rule="unknown-capacity"
        )
    beside = _sum(
        sum_of_units,
        (
            storage_servers_beside(counts[id], partner.quantity)
            for partner in part.partners
            for id in partner.parts
            if id in counts and partner.quantity
        ),
    )
    needed = storage_servers(*needs) if part.rated or beside is None else beside
    if part.rated and beside:
        needed = storage_servers_sold(needed, beside)
    return storage_servers_sold(needed, part.least) if part.least else needed


def _count_switches(
    ports: Figure, back_end: BackEnd, counts: Mapping[str, Figure], named: Sequence[StorageServers]
) -> Figure:
    links = [
        links_of_units(counts[part.identity.id], part.back_end.ports)
        for part in named
        if part.back_end and part.back_end.switch == back_end.switch and not part.switch_ports
    ]
    return back_end_switches(reduce(sum_of_back_end_links, links), ports, back_end.switches)


YOUNG = "Young 1974, A First Order Approximation to the Optimum Checkpoint Interval, CACM 17(9), 530-531"
KOKOLIS = "Kokolis et al. 2024, arXiv 2410.21680"
_YOUNG = Reference(YOUNG, "https://doi.org/10.1145/361147.361115", "2026")
RESOLUTION = 10**12
"""The resolution of a square root [1/day]; integers round the same on every machine."""


class LostTime(NamedTuple):
    """Time lost to interruptions and checkpoints of a run."""

    mean_time_days: Figure
    """Mean time between two interruptions."""
    checkpoint: Checkpoint
    lost: Figure
    """The share of time lost; above 1 when no time is left."""
    goodput: Figure
    """The estimated share of time that trains; used only where the plan says so."""
    goodput_range: tuple[Figure, Figure] | None = None
    """Goodput with the most and the fewest interruptions of published clusters; None: the plan sets their rate."""
    interruptions: Figure | None = None
    """Number in the whole run; None: its duration is not known yet."""


full_goodput = constant("full_goodput", "share", 1)
"""Goodput without lost time, from which the estimate starts."""


FULL_GOODPUT = full_goodput()


@formula("days", f"{KOKOLIS}, MTTF: a cluster of n nodes is interrupted n times as often as one")
def mean_time_between(interruption_gpu_hours: Fraction, gpus: int) -> Fraction:
    """Mean time between two interruptions of a run on all GPUs."""
    return Fraction(interruption_gpu_hours) / (gpus * HOURS_A_DAY)


@formula("days", f"{YOUNG}: sqrt(2 delta M)")
def young_interval(write_seconds: Fraction, mean_time_days: Fraction) -> Fraction:
    """The time between two checkpoints that minimises lost time."""
    return square_root(2 * Fraction(write_seconds) / SECONDS_A_DAY * mean_time_days)


@formula("share", f"{YOUNG}; the terms are those of ETTR in {KOKOLIS}")
def share_lost(
    write_seconds: Fraction, interval_days: Fraction, mean_time_days: Fraction, restart_days: Fraction
) -> Fraction:
    """Share of time spent on checkpoints, on repeated work and on restarts."""
    return (
        Fraction(write_seconds) / (interval_days * SECONDS_A_DAY)
        + Fraction(interval_days) / (2 * mean_time_days)
        + Fraction(restart_days) / mean_time_days
    )


@formula("share")
def share_that_trains(lost: Fraction) -> Fraction:
    """Goodput: the share of time spent on training, at least 0."""
    return max(1 - lost, Fraction(0))


@formula("GPUs")
def gpus_that_lose(needed: Fraction, goodput: Fraction, smallest: int) -> int:
    """Whole GPUs including those that compensate for lost time; `needed` GPUs are enough without losses."""
    return max(ceil(needed / Fraction(goodput)), smallest)


def candidate_size(gpus: int) -> Figure:
    """Return the size of a cluster that the search tries, as a chosen assumption."""
    name, why = message("cluster-with-losses"), message("cluster-with-losses-why")
    return Figure(gpus, "GPUs", Assumed(name, why, (_YOUNG,), "medium", chosen=True))


interruptions_of_run = quotient("interruptions_of_run", "interruptions", "run_days", "mean_time_days")
"""Interruptions to expect over the run."""


def square_root(number: Fraction) -> Fraction:
    """Return the square root of a number above 0, rounded up to whole parts of `RESOLUTION`."""
    return Fraction(isqrt(ceil(number * RESOLUTION**2) - 1) + 1, RESOLUTION)


def lost_time(contents: Contents, storage: Storage, gpus: Figure, servers: Figure | None) -> LostTime:
    """Return the time that a run with checkpoints of these contents loses on a number of GPUs."""
    between = mean_time_between(storage.interruption_gpu_hours, gpus)
    written = write_seconds(contents.all, bandwidth(storage, gpus, servers).write)
    interval = storage.checkpoint_every or young_interval(written, between)
    lost = share_lost(written, interval, between, storage.restart_days)
    range_ = None
    if storage.interruption_range:
        means = (mean_time_between(hours, gpus) for hours in storage.interruption_range)
        low, high = (share_that_trains(share_lost(written, interval, mean, storage.restart_days)) for mean in means)
        range_ = (low, high)
    return LostTime(between, Checkpoint(contents, written, interval), lost, share_that_trains(lost), range_)


def add_interruptions(run_days: Figure, lost: LostTime) -> LostTime:
    """Return the lost time with the interruptions of a run of that duration."""
    return lost._replace(interruptions=interruptions_of_run(run_days, lost.mean_time_days))

"""The devices that cables connect: their numbers, names and positions, and the lengths of the routes between them.

A route is rounded up to a stock length of its cable.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.cabling.types import GONE, NOWHERE, Column, DeviceKind, Places, Wiring
from bomgen.catalog.identity import ascii_slug
from bomgen.catalog.parts import Appliance, Identity, Pdu, Server
from bomgen.core.document import group_by
from bomgen.core.messages import message
from bomgen.core.provenance import Figure, constant, formula
from bomgen.design.assembly import BuiltFabric, Design
from bomgen.fabric.links import HOST
from bomgen.fabric.types import Tier
from bomgen.optics.uses import JUMPER, TRUNKED
from bomgen.plan.types import (
    IN_USE,
    OUT_OF_BAND,
    PDUS,
    SPARE,
    SWITCHES,
    Hosts,
    Installed,
    Place,
    Site,
    StorageServers,
    switches_of,
)
from bomgen.site import floor_plan
from bomgen.site.facility import describe_servers, fill_rooms, open_hall, rooms_of_racks
from bomgen.site.floor_plan import Floor, FloorPositions, MachineGroup, Route
from bomgen.site.racks import COMPUTE, MANAGEMENT, Machines, compute_capacity, management_capacity

SERVERS = "server"
LEAST_DIGITS = 2
UNKNOWN_UNIT = 0
"""The unit of an installed machine whose height is unknown."""


class DeviceTable(NamedTuple):
    """All devices of a design, with access to those of a fabric."""

    kinds: tuple[DeviceKind, ...]
    tiers: dict[tuple[str, str], DeviceKind]
    """Switches by fabric and tier."""
    hosts: dict[str, DeviceKind]
    """Other machines by their name in the plan."""
    servers: DeviceKind
    spare: DeviceKind | None
    """Servers in racks without a cable."""


class _Numbering:
    def __init__(self, digits: Mapping[str, int]) -> None:
        self.digits = digits
        self.kinds: list[DeviceKind] = []
        self.taken: set[str] = set()

    def add(self, kind: DeviceKind, stem: str, planes: tuple[str, ...] = ("",)) -> DeviceKind:
        """Return a kind of device numbered after those before it, with names that begin with a stem."""
        name = _unused_name(stem, self.taken)
        self.taken.add(name)
        start = self.kinds[-1].start + self.kinds[-1].number if self.kinds else 0
        per_plane = max(kind.number // len(planes), 1)
        digits = self.digits.get(name) or max(len(str(per_plane)), LEAST_DIGITS)
        called = device_names(name, per_plane, planes, digits)
        self.kinds.append(kind._replace(start=start, name=called, planes=len(planes), stem=name, digits=digits))
        return self.kinds[-1]


def number_devices(design: Design) -> DeviceTable:
    """Return every device of a design, servers first, then switches fabric by fabric, then other machines."""
    numbers = _Numbering(design.plan.digits)
    prefix = f"{design.plan.cluster_name}-" if design.plan.cluster_name else ""
    server, servers = design.facility.server, design.sizing.servers
    stem = "tray" if server and server.trays else SERVERS
    of_servers = numbers.add(_server_kind(server, servers), f"{prefix}{stem}")
    called = fabric_codes(design)
    tiers = {
        (built.plan.name, tier.name): numbers.add(
            _switches(built, tier)._replace(code=called[built.plan.name]),
            f"{called[built.plan.name]}-{tier.name}",
            plane_names(built),
        )
        for built in design.fabrics
        for tier in built.fabric.tiers
    }
    stored = {part.of.identity.name: part for part in (design.sizing.stored.units if design.sizing.stored else ())}
    hosts: dict[str, DeviceKind] = {}
    for machine, count in _other_machines(design.fabrics):
        part = stored[machine.name].of if machine.name in stored else machine.part
        plain = machine.name.replace("'", "") if machine.customers else machine.name
        stem_of_host = "pdu" if machine.managed == PDUS else ascii_slug(plain) or HOST
        hosts[machine.name] = numbers.add(_host(part, count), f"{prefix}{stem_of_host}")
    for name in [name for name in stored if name not in hosts]:
        unit = stored[name]
        hosts[name] = numbers.add(_host(unit.of, int(unit.number.value)), f"{prefix}{ascii_slug(name) or HOST}")
    spare = design.plan.cluster.spare_servers
    of_spare = (
        numbers.add(_server_kind(server, spare), f"{prefix}spare-{stem}") if server and spare and spare.value else None
    )
    return DeviceTable(tuple(numbers.kinds), tiers, hosts, of_servers, of_spare)


def _server_kind(server: Server | None, count: Figure | None) -> DeviceKind:
    if server is None or server.trays:
        return _device_kind(SERVERS, int(count.value) if count else 0, server.identity if server else None, None, None)
    kind = _device_kind(SERVERS, int(count.value) if count else 0, server.identity, server.rack_units, server.power_w)
    return kind._replace(weight_kg=server.weight_kg, supplies=server.supplies)


def _host(part: Appliance | StorageServers | None, count: int) -> DeviceKind:
    if part is None:
        return _device_kind(HOST, count, None, None, None)
    kind = _device_kind(HOST, count, part.identity, part.rack_units, part.power_w)
    return kind._replace(weight_kg=part.weight_kg, supplies=part.supplies)


def _device_kind(
    device: str, number: int, identity: Identity | None, height_u: Figure | None, power_w: Figure | None
) -> DeviceKind:
    return DeviceKind(device, None, 0, number, identity, str, height_u, power_w)


def _switches(built: BuiltFabric, tier: Tier) -> DeviceKind:
    switch = tier.switch
    cages = sum(ceil(group.ports.value / group.ports_per_cage.value) for group in switch.groups)
    modules = Counter[str]()
    for use in built.interconnect.modules:
        if use.device == tier.name:
            modules[use.module.identity.id] += int(use.quantity.value)
    return _device_kind(tier.name, int(tier.count.value), switch.identity, switch.rack_units, switch.power_w)._replace(
        fabric=built.plan.name,
        cages=int(cages),
        of_box=int(switch.switches_per_unit.value),
        weight_kg=switch.weight_kg,
        supplies=switch.supplies,
        modules=dict(modules),
    )


def fabric_codes(design: Design) -> dict[str, str]:
    """Return the code of each fabric in names of ports and switches, after its cluster where a plan has several."""
    codes: dict[str, str] = {}
    for built in design.fabrics:
        stem = ascii_slug(
            f"{design.plan.cluster_name}-{built.plan.name}" if design.plan.cluster_name else built.plan.name
        )
        codes[built.plan.name] = _unused_name(stem, codes.values())
    return codes


def plane_names(built: BuiltFabric) -> tuple[str, ...]:
    """Return the part of switch names that distinguishes the equal fabrics of one."""
    planes = int(built.plan.planes.value)
    all_of_them = int(built.fabric.planes.value) if built.fabric.planes else 1
    rails = all_of_them // planes
    per_plane = [f"p{number + 1}" if planes > 1 else "" for number in range(planes)]
    if not built.plan.declared.isolated_rails:
        return tuple(per_plane)
    return tuple(f"{plane}r{rail + 1}" for rail in range(rails) for plane in per_plane)


def device_names(stem: str, per_plane: int, planes: tuple[str, ...], digits: int) -> Callable[[int], str]:
    """Return the names of equal devices: stem, plane, and a number of at least `digits` digits."""
    stems = [f"{stem}-{plane}-" if plane else f"{stem}-" for plane in planes]
    return lambda number: f"{stems[number // per_plane]}{number % per_plane + 1:0{digits}}"


def _unused_name(stem: str, taken: Collection[str]) -> str:
    numbered = (f"{stem}-{number}" for number in itertools.count(2))
    return next(name for name in itertools.chain((stem,), numbered) if name not in taken)


def _other_machines(fabrics: Iterable[BuiltFabric]) -> Iterator[tuple[Hosts, int]]:
    """Yield the machines other than servers and switches, each kind once, bought ones first."""
    machines: dict[str, tuple[Hosts, int]] = {}
    for built in fabrics:
        for host in built.hosts:
            if host.leaves_of or host.managed == SWITCHES:
                continue
            listed, count = machines.get(host.name, (host, 0))
            machines[host.name] = (listed if listed.part or not host.part else host, max(count, int(host.pieces.value)))
    yield from machines.values()


def switch_boxes(design: Design, device_table: DeviceTable) -> list[int]:
    """Return the switch that represents each box with a management port, in the order of `design.assembly`."""
    numbers = list[int]()
    for built in design.fabrics:
        for tier in built.fabric.tiers if built.plan.role != OUT_OF_BAND else ():
            kind = device_table.tiers[built.plan.name, tier.name]
            shared = int(tier.switch.switches_per_unit.value)
            numbers += range(kind.start, kind.start + kind.number, shared)
    return numbers


def require_tier(built: BuiltFabric, name: str) -> Tier:
    """Return a tier that the fabric is known to have."""
    tier = built.fabric.tier(name)
    if tier is None:
        raise ValueError(f"the fabric {built.plan.name} has no {name}")
    return tier


# positions ----------------------------------------------------------------------------------------------------------
# The positions of the devices of a design.


def build_floor(design: Design) -> Floor | None:
    """Return the racks on the floor; None where the plan describes no site, or no racks are known or needed.

    Raises ValueError when the rows of the plan have room for fewer.
    """
    site, installed = design.plan.site, design.facility
    compute, management = (_whole(racks) for racks in (installed.compute_racks, installed.management_racks))
    if site is None or not (compute or management):
        return None
    return floor_plan.arrange_floor(site, compute, management)


def locate_devices(design: Design, machines: DeviceTable, site: Site, racks: Floor) -> Places:
    """Return row, rack and unit of every device, as far as they are known."""
    count = machines.kinds[-1].start + machines.kinds[-1].number
    rack, unit = (np.full(count, NOWHERE, dtype=np.int64) for _ in range(2))
    if site.installed:
        standing = _around_installed(design, machines, site, site.installed, racks)
    else:
        standing = itertools.chain(_server_places(design, machines, racks), _others(design, machines, site, racks))
    positions = (*standing, *_pdus(site, machines, racks))
    for kind, position in positions:
        rows = slice(kind.start, kind.start + kind.number)
        rack[rows], unit[rows] = position
    row = np.where(rack == NOWHERE, NOWHERE, racks.row[np.maximum(rack, 0)])
    numbers = np.where(rack == NOWHERE, NOWHERE, rack + 1)
    return Places(row, numbers, unit, len(racks.row), _whole(site.rack_units), site.rack)


def _server_places(design: Design, machines: DeviceTable, racks: Floor) -> Iterator[tuple[DeviceKind, FloorPositions]]:
    server, kind = design.plan.cluster.server, machines.servers
    of_rack = server.trays if server and server.trays else design.facility.servers_per_rack
    if server is None or of_rack is None or not len(racks.compute):
        return
    height = _whole(kind.height_u) or None
    spare, per_rack = machines.spare, int(of_rack.value)
    before = ceil(kind.number / per_rack) * per_rack if server.trays else kind.number
    filled = floor_plan.place_in_order(racks.compute, before + (spare.number if spare else 0), per_rack, height)
    yield kind, FloorPositions(filled.rack[: kind.number], filled.unit[: kind.number])
    if spare:
        yield spare, FloorPositions(filled.rack[before:], filled.unit[before:])


def list_kinds(machines: DeviceTable) -> dict[str, DeviceKind]:
    """Return the kinds of machine that can be installed, by the names under which their places are known."""
    tiers = {switches_of(*fabric_and_tier): kind for fabric_and_tier, kind in machines.tiers.items()}
    spare = {SPARE: machines.spare} if machines.spare else {}
    return {IN_USE: machines.servers, **spare, **tiers, **machines.hosts}


def list_installed(design: Design) -> Installed | None:
    """Return the places of the machines of a design; None without a layout or racks."""
    last = number_devices(design).kinds[-1]
    return find_installed(design, design, np.arange(last.start + last.number, dtype=np.int64))


def find_installed(old: Design, new: Design, numbers: Column) -> Installed | None:
    """Return what stands in an old design as the places of machines of the new one; None without a layout or racks.

    `numbers` are those of the old devices in the new design, GONE where there is none.
    """
    site, racks, before = old.plan.site, build_floor(old), number_devices(old)
    if site is None or racks is None or not old.plan.laid_out:
        return None
    places, today = locate_devices(old, before, site, racks), list_kinds(before)
    now = number_devices(new)
    origin = np.full(now.kinds[-1].start + now.kinds[-1].number, GONE, dtype=np.int64)
    origin[numbers[numbers != GONE]] = np.flatnonzero(numbers != GONE)
    found: dict[str, dict[int, Place]] = {}
    for name, kind in list_kinds(now).items():
        if name not in today or today[name].part != kind.part:
            continue
        devices = origin[kind.start : kind.start + kind.number : kind.of_box]
        stand = np.flatnonzero((devices != GONE) & (places.rack[devices] != NOWHERE))
        of_machines = zip(places.rack[devices[stand]].tolist(), places.unit[devices[stand]].tolist(), strict=True)
        found[name] = {
            box: (rack, max(unit, UNKNOWN_UNIT)) for box, (rack, unit) in zip(stand.tolist(), of_machines, strict=True)
        }
    digits = {kind.stem: kind.digits for kind in before.kinds}
    return Installed(floor_plan.list_rows(racks), found, digits)


def _around_installed(
    design: Design, machines: DeviceTable, site: Site, installed: Installed, racks: Floor
) -> Iterator[tuple[DeviceKind, FloorPositions]]:
    names = {kind.start: name for name, kind in list_kinds(machines).items() if kind.number}
    server, per_rack = design.facility.server, design.facility.servers_per_rack
    of_rack = server.trays if server and server.trays else per_rack
    servers = [kind for kind in (machines.servers, machines.spare) if kind and kind.number and server and of_rack]
    packed = stack_of_machines(design, machines, site)
    groups = [
        Machines(group.pieces, group.height_u, group.power_w, installed.places.get(names[kind.start], {}))
        for kind, group in zip(packed.kinds, packed.standing, strict=True)
    ]
    of_servers = [
        describe_servers(server, kind.number, installed.places.get(names[kind.start], {})) for kind in servers if server
    ]
    hall = open_hall(site, installed, _whole(of_rack))
    by_kind = hall.stand(of_servers, groups, shared=not len(racks.management))
    numbers = {COMPUTE: racks.compute, MANAGEMENT: racks.management}
    for kind, places in zip((*servers, *packed.kinds), by_kind, strict=True):
        standing = floor_plan.no_positions(kind.number)
        for box, place in enumerate(places):
            if place and place.rack < len(numbers[place.kind]):
                devices = slice(box * kind.of_box, (box + 1) * kind.of_box)
                standing.rack[devices] = numbers[place.kind][place.rack]
                standing.unit[devices] = place.unit or NOWHERE
        yield kind, standing


class RackContents(NamedTuple):
    """The devices to pack into the racks other than those of servers, and the capacity of one such rack."""

    kinds: tuple[DeviceKind, ...]
    standing: tuple[MachineGroup, ...]
    units: int
    power_w: int


def stack_of_machines(design: Design, machines: DeviceTable, site: Site) -> RackContents:
    """Return switches and other machines of known height, in the order in which their racks were counted."""
    last = [part.identity.name for part in design.plan.storage.servers]
    hosts = sorted(
        machines.hosts.items(),
        key=lambda named: (named[1].identity is None, last.index(named[0]) + 1 if named[0] in last else 0),
    )
    of_hosts = (kind for _, kind in hosts)
    kinds = tuple(kind for kind in (*machines.tiers.values(), *of_hosts) if kind.height_u and kind.number)
    standing = tuple(
        MachineGroup(ceil(kind.number / kind.of_box), _whole(kind.height_u), _whole(kind.power_w)) for kind in kinds
    )
    offered = management_capacity(site)
    return RackContents(kinds, standing, _whole(offered.units), int(offered.power_w.value))


def _others(
    design: Design, machines: DeviceTable, site: Site, racks: Floor
) -> Iterator[tuple[DeviceKind, FloorPositions]]:
    packed = stack_of_machines(design, machines, site)
    if len(racks.management):
        positions = floor_plan.stack_machines(racks.management, packed.standing, packed.units, packed.power_w)
    else:
        positions = _above_servers(design, machines, site, racks, packed.standing)
    for kind, position in zip(packed.kinds, positions, strict=True):
        box = np.arange(kind.number, dtype=np.int64) // kind.of_box
        yield kind, FloorPositions(position.rack[box], position.unit[box])


def _above_servers(
    design: Design, machines: DeviceTable, site: Site, racks: Floor, standing: Sequence[MachineGroup]
) -> list[FloorPositions]:
    server, per_rack, spare = design.facility.server, design.facility.servers_per_rack, machines.spare
    if server is None or server.rack_units is None or per_rack is None:
        return [floor_plan.no_positions(kind.pieces) for kind in standing]
    servers = machines.servers.number + (spare.number if spare else 0)
    rooms = rooms_of_racks(site, server, int(per_rack.value), servers)
    units = _whole(compute_capacity(site).units)
    used = [units - free for free, _ in rooms]
    return floor_plan.stack_above(racks.compute, standing, fill_rooms([kind.item for kind in standing], rooms), used)


def _pdus(site: Site, machines: DeviceTable, racks: Floor) -> Iterator[tuple[DeviceKind, FloorPositions]]:
    """Yield the PDUs, those of servers' racks first: upright beside the units, or lying in the topmost ones."""
    kind = machines.hosts.get(PDUS)
    if kind is None:
        return
    rack_groups = (
        (racks.compute, site.pdus_per_rack, site.pdu),
        (racks.management, site.management_pdus, site.management_pdu),
    )
    rack = np.concatenate([np.repeat(column, int(pdus.value)) for column, pdus, _ in rack_groups])[: kind.number]
    unit = np.concatenate([np.tile(pdu_units(site, pdu, pdus), len(column)) for column, pdus, pdu in rack_groups])[
        : kind.number
    ]
    if len(rack) != kind.number:
        return
    order = np.arange(len(rack), dtype=np.int64)
    if site.installed:
        order = _keep_slots(rack + 1, np.maximum(unit, UNKNOWN_UNIT), site.installed.places.get(PDUS, {}))
    yield kind, FloorPositions(rack[order], unit[order])


def _keep_slots(rack: Column, unit: Column, installed: Mapping[int, Place]) -> Column:
    """Return the slot of each PDU, by the racks and units of the slots; installed PDUs stay in theirs."""
    slots = zip(rack.tolist(), unit.tolist(), strict=True)
    free = group_by(enumerate(slots), lambda slot: slot[1])
    kept = {number: free[place].pop(0)[0] for number, place in sorted(installed.items()) if free.get(place)}
    left = sorted(slot for slots_of_place in free.values() for slot, _ in slots_of_place)
    new = iter(left)
    return np.array([kept[number] if number in kept else next(new) for number in range(len(rack))], dtype=np.int64)


def pdu_units(site: Site, pdu: Pdu | None, pdus: Figure) -> Column:
    """Return the lowest unit of each PDU of a rack; NOWHERE for upright ones."""
    height = _whole(pdu.rack_units) if pdu else 0
    first = _whole(site.rack_units) - int(pdus.value) * height + 1
    if not height or first < 1:
        return np.full(int(pdus.value), NOWHERE, dtype=np.int64)
    return np.arange(int(pdus.value), dtype=np.int64) * height + first


def _whole(figure: Figure | None) -> int:
    return ceil(figure.value) if figure else 0


CENTIMETRES = 100
"""Routes are measured in whole centimetres, rounded up."""
BEYOND_M = 10
"""Cables longer than any stock length are ordered in multiples of ten metres."""


class CableEnds(NamedTuple):
    """The ends of cables on the floor."""

    route: Route
    piece: Column
    """Number of the cable of each route, ascending: those of a cable of several links are adjacent."""
    known: NDArray[np.bool_]
    """Whether both ends are in a known rack."""

    @property
    def unplaced(self) -> int:
        """Number of cables with an end at an unknown position."""
        return len(np.unique(self.piece[~self.known]))

    def __str__(self) -> str:
        route = str(self.route)
        return message("routes-and-unknown", routes=route, unplaced=self.unplaced) if self.unplaced else route


class Routes(NamedTuple):
    """Numbers of cables by the length of their route, shortest first."""

    centimetres: tuple[tuple[int, int], ...]
    """Pairs of length and number of cables."""

    def count_up_to(self, metres: Fraction) -> int:
        """Return the number of cables with routes up to a length."""
        most = floor(metres * CENTIMETRES)
        return sum(count for length, count in self.centimetres if length <= most)

    def __str__(self) -> str:
        shortest, longest = (f"{self.centimetres[end][0] / CENTIMETRES:g}" for end in (0, -1))
        ways = sum(count for _, count in self.centimetres)
        return message("ways-of-length", ways=ways, shortest=shortest, longest=longest)


@formula(
    "ways",
    source="units x unit + racks apart x rack pitch + rows apart x row pitch + 2 x slack, over the trays + 2 x tray",
)
def cable_routes(
    ends: CableEnds,
    unit_m: Fraction,
    rack_pitch_m: Fraction,
    row_pitch_m: Fraction,
    tray_m: Fraction,
    slack_m: Fraction,
    fallback_length_m: Fraction,
) -> Routes:
    """Return the routes of cables, in centimetres, from their ends and the dimensions of the floor.

    A route inside a rack is the rack units between its ends times their height. A route to the next rack or over the
    trays is added up from rack units to the top of both racks, racks and rows times their pitch, twice the height of
    the tray if it crosses the trays, and slack at both ends. A cable with an end that is not placed in a rack is
    assumed to be `fallback_length_m` long.
    """
    return route_lengths(ends, (unit_m, rack_pitch_m, row_pitch_m, tray_m, slack_m), fallback_length_m)


@formula("m")
def longest(ways: Routes) -> Fraction:
    """Length of the longest route."""
    return Fraction(ways.centimetres[-1][0], CENTIMETRES)


@formula("pieces")
def pieces_up_to(ways: Routes, over_m: Fraction, up_to_m: Fraction) -> int:
    """Cables whose route is longer than the next shorter stock length and no longer than this one."""
    return ways.count_up_to(up_to_m) - ways.count_up_to(over_m)


zero_length = constant("zero_length", "m", 0)
"""Lower end of the range of the shortest stock length."""


def route_lengths(ends: CableEnds, floor: tuple[Fraction, ...], fallback_length_m: Fraction) -> Routes:
    """Return the lengths of the routes; for a cable with several, of the longest."""
    of_pieces = _longest_per_piece(measure_routes(ends, floor, fallback_length_m), ends.piece)
    return Routes(tuple(sorted(Counter(of_pieces.tolist()).items())))


def measure_routes(ends: CableEnds, floor: tuple[Fraction, ...], fallback_length_m: Fraction) -> Column:
    """Return the length of every route [cm]: over the floor where both ends are known."""
    lengths: Column = np.where(ends.known, centimetres(ends.route, floor), ceil(fallback_length_m * CENTIMETRES))
    return lengths


def centimetres(route: Route, floor: tuple[Fraction, ...]) -> Column:
    """Return the length of every route, rounded up; 1 cm for a cable of length 0, where pitch and slack are 0."""
    exact = [Fraction(figure) * CENTIMETRES for figure in floor]
    shared = 1
    for length in exact:
        shared = shared * length.denominator // np.gcd(shared, length.denominator)
    unit, rack, row, tray, slack = (int(length * int(shared)) for length in exact)
    total = route.units * unit + route.racks_apart * rack + route.rows_apart * row
    total = total + route.over_trays * (2 * tray) + 2 * slack
    rounded: Column = np.maximum(-(-total // int(shared)), 1)
    return rounded


def _longest_per_piece(length: Column, piece: Column) -> Column:
    begins = np.flatnonzero(np.diff(piece, prepend=-1))
    return np.maximum.reduceat(length, begins) if len(begins) else length


def total_patched_length(wiring: Wiring, table: Wiring, fabric: str, kind: str) -> Routes:
    """Return the stock lengths of jumper, trunk and jumper together, of the links of a kind over panels.

    Links share a port number at both ends of their trunk's leg, so ports of panels show which cables belong together.
    """
    name = len(table.ports)
    of_role = {
        role: [
            n
            for n, cable_type in enumerate(table.cable_types)
            if (cable_type.fabric, cable_type.kind, cable_type.role) == (fabric, kind, role)
        ]
        for role in (JUMPER, TRUNKED)
    }
    trunks, jumpers = (np.flatnonzero(np.isin(table.cable_type, of_role[role])) for role in (TRUNKED, JUMPER))
    if not len(trunks):
        return Routes(())
    first = wiring.kinds[-1].start + wiring.kinds[-1].number
    below = table.a_device[jumpers] < first
    panel = np.where(below, table.b_device[jumpers], table.a_device[jumpers])
    panel_port = panel * name + np.where(below, table.b_cage[jumpers], table.a_cage[jumpers])
    order = np.argsort(panel_port)
    total = table.length_m[trunks]
    for device, port in ((table.a_device, table.a_cage), (table.b_device, table.b_cage)):
        at = np.searchsorted(panel_port[order], device[trunks] * name + port[trunks])
        total = total + table.length_m[jumpers][order][at]
    lengths, counts = np.unique(np.round(total * CENTIMETRES).astype(np.int64), return_counts=True)
    return Routes(tuple(zip(lengths.tolist(), counts.tolist(), strict=True)))


def floor_figures(site: Site) -> tuple[Figure, ...]:
    """Return the figures that determine the lengths of routes, in the order of `cable_routes`."""
    drawn = site.layout
    return (drawn.unit_m, drawn.rack_pitch_m, drawn.row_pitch_m, drawn.tray_m, drawn.slack_m)


def locate_ends(wiring: Wiring, rows: Column, site: Site, racks: Floor) -> CableEnds | None:
    """Return the ends of the cables of some rows; None when no positions are known.

    Without a layout, only positions in the same rack are known to each other.
    """
    positions = wiring.places
    if positions is None:
        return None
    a, b = wiring.a_device[rows], wiring.b_device[rows]
    both_known = (positions.rack[a] != NOWHERE) & (positions.rack[b] != NOWHERE)
    a_rack, b_rack = (np.maximum(positions.rack[end] - 1, 0) for end in (a, b))
    if not site.layout.given:
        both_known &= a_rack == b_rack
        if not both_known.any():
            return None
    units = ceil(site.rack_units.value)
    route = floor_plan.routes(racks, units, a_rack, positions.unit[a], b_rack, positions.unit[b])
    return CableEnds(route, wiring.piece[rows], both_known)


def round_to_stock_length(wiring: Wiring, site: Site, racks: Floor) -> Wiring:
    """Return the wiring with every cable in the stock length for its route, where routes count."""
    length = wiring.length_m.copy()
    for number, cable_type in enumerate(wiring.cable_types):
        if (
            not cable_type.measured
            or cable_type.medium is None
            or cable_type.medium.cable is None
            or not cable_type.medium.cable.lengths_m
        ):
            continue
        rows = np.flatnonzero(wiring.cable_type == number)
        ends = locate_ends(wiring, rows, site, racks)
        if ends is not None:
            floor = tuple(figure.value for figure in floor_figures(site))
            length[rows] = stock_lengths(
                measure_routes(ends, floor, cable_type.fallback_length_m), ends.piece, cable_type.medium.cable.lengths_m
            )
    return replace(wiring, length_m=length)


def stock_lengths(ways: Column, piece: Column, lengths_m: tuple[float, ...]) -> NDArray[np.float64]:
    """Return the length of each cable for its route [cm], one row per link."""
    of_pieces = _longest_per_piece(ways, piece)
    steps = stock_lengths_up_to(lengths_m, Fraction(int(of_pieces.max(initial=0)), CENTIMETRES))
    bounds = np.array([int(step * CENTIMETRES) for step in steps], dtype=np.int64)
    of_piece = np.array([float(step) for step in steps])[np.searchsorted(bounds, of_pieces)]
    of_rows: NDArray[np.float64] = of_piece[np.cumsum(np.diff(piece, prepend=-1) != 0) - 1]
    return of_rows


def stock_lengths_up_to(lengths_m: tuple[float, ...], longest_m: Fraction) -> list[Fraction]:
    """Return the lengths of cables, ascending: stock lengths, and beyond them steps of made-to-measure ones."""
    steps = sorted(Fraction(str(metres)) for metres in lengths_m)
    step = (steps[-1] // BEYOND_M + 1) * BEYOND_M
    while steps[-1] < longest_m:
        steps.append(Fraction(step))
        step += BEYOND_M
    return steps

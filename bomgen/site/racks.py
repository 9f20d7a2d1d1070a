"""Equipment, its power and energy, and racks: their number for servers and other machines, and how these are packed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

from bomgen.catalog.parts import Pdu, PowerSupplies, Server
from bomgen.core.messages import Message, message
from bomgen.core.provenance import (
    Figure,
    Given,
    Number,
    applied,
    ceil_div,
    constant,
    divided_up,
    floor_div,
    formula,
    greatest,
    minimum,
    named,
    product,
    step,
    sum_of,
    trace,
)
from bomgen.core.units import HOURS_A_DAY
from bomgen.plan.types import RACK_KINDS, Installed, Place, Site

# equipment ----------------------------------------------------------------------------------------------------------
# Equipment other than the servers: machines in racks, and cards in the servers.


@dataclass(frozen=True, slots=True)
class Equipment:
    """Equal machines other than the servers: how many, and the known values of one."""

    name: str
    count: Figure
    power_w: Figure | None
    height_u: Figure | None
    in_server: bool = False
    """Whether they are in servers and take no rack units."""
    of_storage: bool = False
    """Whether they belong to storage, not to the network."""
    weight_kg: Figure | None = None
    """Per machine."""
    supplies: PowerSupplies | None = None
    kind: str = ""
    """The kind of machine by which the places of installed ones are known."""


# power --------------------------------------------------------------------------------------------------------------

WATTS_A_KILOWATT = 1000
DAYS_A_YEAR = 365


unknown_power = constant("unknown_power", "W", 0)
"""Power of machines whose power is not known."""
UNKNOWN_POWER = unknown_power()
power_of = product("power_of", "W", "count", "each_w")
"""Power of equal machines, all at their maximum."""


@formula("W")
def power_with_cards(power_w: int, cards: int, card_power_w: int) -> int:
    """Power of a server, including the cards that are bought for it."""
    return power_w + cards * card_power_w


cards_of_rack = product("cards_of_rack", "NICs", "cards", "trays")
"""Cards of all trays of a rack-scale system."""
sum_of_power = sum_of("sum_of_power", "W", "power_w", "more_power_w")
"""Power of all machines."""
power_of_facility = product("power_of_facility", "W", "power_w", "pue")
"""Power of the facility: power of the machines times power usage effectiveness (PUE)."""


@formula("kWh")
def energy_of_run(facility_power_w: Fraction, run_days: Fraction) -> Fraction:
    """Energy of the facility over the run, an upper bound: all machines run at their maximum."""
    return Fraction(facility_power_w) / WATTS_A_KILOWATT * run_days * HOURS_A_DAY


@formula("kWh")
def energy_of_a_year(facility_power_w: Fraction) -> Fraction:
    """Energy of the facility per year, an upper bound: all machines run at their maximum."""
    return Fraction(facility_power_w) / WATTS_A_KILOWATT * HOURS_A_DAY * DAYS_A_YEAR


cost_of_energy = product("cost_of_energy", "money", "energy_kwh", "electricity")
"""Cost of energy in the currency of the quote; `electricity` is a price per kWh."""
carbon_of_energy = product(
    "carbon_of_energy", "kg", "energy_kwh", "carbon", source="Touvron et al. 2023, LLaMA, arXiv 2302.13971, section 6"
)
"""CO2 equivalent of energy; `carbon` is in kg per kWh."""


def in_words(power_w: Figure, shared_by: int = 1) -> Message:
    """Return a power for a message, or an equal share of it, rounded up; an estimate with its range."""
    values = (Fraction(value) / shared_by for value in (power_w.value, *(power_w.bounds or ())))
    amount, *ends = (watts_in_words(ceil(watts)) for watts in values)
    return message("estimate", amount=amount, low=ends[0], high=ends[1]) if ends else amount


def watts_in_words(watts: int) -> Message:
    """Return a power for a message with all its digits, so that a power above a limit never reads as the limit."""
    if watts < WATTS_A_KILOWATT:
        return message("watts", watts=watts)
    return message("kilowatts", kilowatts=Decimal(watts).normalize() / WATTS_A_KILOWATT)


def at_end(power_w: Figure, end: int) -> Figure:
    """Return a power at the low (0) or high (1) end of its estimate; an exact one unchanged."""
    return replace(power_w, value=power_w.estimate[end], estimate=None) if power_w.estimate else power_w


def known_power(machines: Iterable[Equipment]) -> Figure | None:
    """Return the total known power of machines; None when none is known."""
    power: Figure | None = None
    for machine in machines:
        if machine.power_w:
            more = power_of(machine.count, machine.power_w)
            power = more if power is None else sum_of_power(power, more)
    return power


# rack packing -------------------------------------------------------------------------------------------------------
# Packing of machines into racks: item by item in the order given, next-fit.
#
# A machine goes into the rack opened last if that has enough free height and power, otherwise into a new one. Equal
# machines are counted together, so that 200 000 machines of three kinds take as long as three. A machine that exceeds
# an empty rack still gets a rack; the caller warns about it.
#
# The order of the kinds follows from the plan: switches fabric by fabric, appliances, storage. The packing never
# returns to an earlier rack, so that the order on the floor is that of the plan; the price is one more rack where kinds
# of little height meet kinds of high power. Servers per rack follow from height, power and cooling. Horizontal PDUs in
# a rack take height from it.


class RackRun(NamedTuple):
    """Consecutive racks that each hold the same number of machines of one kind."""

    first: int
    """Number of the first rack, from 0."""
    racks: int
    machines: int
    """Machines per rack."""


class RackItem(NamedTuple):
    """Equal machines to be packed into racks."""

    height_u: Figure
    power_w: Figure
    """Power of one; 0 if unknown."""
    pieces: Figure


class RackCapacity(NamedTuple):
    """The capacity of an empty rack, or the rest of one."""

    units: Figure
    power_w: Figure


def machines_that_fit(
    free_units: Number, free_power_w: Number, height_u: Number, power_w: Number, machines: int
) -> int:
    """Return how many of the machines fit, by height [U] and by power [W]; 0 U or 0 W do not limit it."""
    by_height = free_units // height_u if height_u else machines
    by_power = free_power_w // power_w if power_w else machines
    return max(0, min(machines, int(by_height), int(by_power)))


class _Packed(NamedTuple):
    """Machines of one kind: in the rack opened before, in a full one, the racks they open, and in the last of these."""

    in_begun_rack: Any
    of_rack: Any
    racks: Any
    last: Any


def _pack(items: Iterable[tuple[Any, Any, Any]], rack_units: Any, rack_power_w: Any) -> Iterator[_Packed]:
    """Yield how machines fill racks, kind by kind, as numbers or as steps of a calculation."""
    rack, free = (rack_units, rack_power_w), None
    for height_u, power_w, machines in items:
        if not machines:
            yield _Packed(0, 0, 0, 0)
            continue
        wanted = height_u, power_w, machines
        first = applied(machines_that_fit, *free, *wanted) if free else 0
        first = step("in_begun_rack", "machines", first, "That fit into the open rack.", decides=True)
        of_rack = greatest(1, applied(machines_that_fit, *rack, *wanted))
        of_rack = step("of_rack", "machines", of_rack, "Of an empty rack, even if one exceeds it.", decides=True)
        racks = step("racks", "racks", divided_up(machines - first, of_rack), "Opened beyond the open one.")
        last = machines - first - (racks - 1) * of_rack if racks else first
        last = step("machines", "machines", last, "In the last rack.")
        units, watts = rack if racks or free is None else free
        free = (
            step("free_units", "U", units - last * height_u, "Height left free in a rack."),
            step("free_power_w", "W", watts - last * power_w, "Power left in a rack."),
        )
        yield _Packed(first, of_rack, racks, last)


def pack_racks(
    items: Sequence[tuple[Number, Number, int]], rack_units: Number, rack_power_w: Number
) -> tuple[tuple[RackRun, ...], ...]:
    """Return the racks of each item (height [U], power [W], count); all racks are equal.

    An item has at most three runs: the open rack, full racks, and the last one.
    """
    opened = 0
    found = []
    for first, of_rack, racks, last in _pack(items, rack_units, rack_power_w):
        full = racks if not racks or last == of_rack else racks - 1
        runs = (
            RackRun(opened - 1, 1, first),
            RackRun(opened, max(full, 0), of_rack),
            RackRun(opened + full, racks - full, last),
        )
        found.append(tuple(run for run in runs if run.racks > 0 and run.machines))
        opened += racks
    return tuple(found)


def count_racks(items: Sequence[RackItem], rack: RackCapacity) -> Figure | None:
    """Return the number of racks that `pack_racks` fills, as a figure; None when there are no machines."""

    def count() -> Any:
        names = "height_u", "power_w", "machines"
        given = (tuple(map(named, names, item)) for item in items)
        packed = _pack(given, named("rack_units", rack.units), named("rack_power_w", rack.power_w))
        racks = None
        for more in (kind.racks for kind in packed if kind.racks):
            both = racks + step("more_racks", "racks", more) if racks else None
            racks = step("racks", "racks", both, "Opened one after the other.") if racks else more
        return racks

    found: Figure | None = trace(count)
    return found


# racks --------------------------------------------------------------------------------------------------------------

Warnings = list[tuple[str, str]]
"""Message and rule."""
RACK_POWER, RACK_COOLING, RACK_UNITS = "rack-power", "rack-cooling", "rack-units"
MACHINE_POWER, RACK_LOAD, SHARED_RACKS = "machine-power", "rack-load", "shared-racks"
OVERLOADS = {
    RACK_POWER: ("rack", "power"),
    RACK_COOLING: ("rack", "cooling"),
    RACK_UNITS: ("rack", "units"),
    MACHINE_POWER: ("management", "power"),
    RACK_LOAD: ("rack", "part"),
    SHARED_RACKS: ("management", "racks"),
}
"""The rules about overloaded racks, each with the key of `site` that sets the limit: errors unless allowed."""


@formula("servers", decides=True)
def servers_that_fit(rack_units: int, rack_power_w: int, server_units: int, server_power_w: int) -> int:
    """Servers per rack, by height and power."""
    return min(rack_units // server_units, rack_power_w // server_power_w)


servers_that_fit_height = floor_div("servers_that_fit_height", "servers", "rack_units", "server_units")
"""Servers per rack by height, where their power is not known."""


lone_server = constant("lone_server", "servers", 1)
"""When not even one fits, and the plan allows overload."""
servers_of_fullest_rack = minimum("servers_of_fullest_rack", "servers", "servers", "servers_per_rack")
"""Servers in the fullest rack: as many as fit, at most all servers."""
racks_of_servers = ceil_div("racks_of_servers", "racks", "servers", "servers_per_rack")
"""Racks that hold the servers."""
racks_of_systems = ceil_div("racks_of_systems", "racks", "servers", "trays")
"""Racks of a rack-scale system, each of which is one rack."""
trays_of_racks = product("trays_of_racks", "servers", "racks", "trays")
"""Compute trays of whole racks."""
sum_of_racks = sum_of("sum_of_racks", "racks", "compute_racks", "management_racks")
"""All racks."""
racks_after_growth = sum_of("racks_after_growth", "racks", "installed_racks", "new_racks")
"""Racks that are installed, and those for new machines that these have no room for."""
pdus_of_racks = product("pdus_of_racks", "pieces", "racks", "pdus_per_rack")
"""PDUs of equal racks."""
bought_servers = sum_of("bought_servers", "servers", "servers", "spare_servers")
"""Servers in use and spare servers, which both stand in racks."""


def units_bought(servers: Figure, server: Server) -> Figure:
    """Return the units bought for a number of servers: the servers, or whole racks of a rack-scale system."""
    return racks_of_systems(servers, server.trays) if server.trays else servers


usable_power = minimum("usable_power", "W", "rack_power_w", "rack_cooling_w")
"""Power that the machines of a rack may draw: limited by its feed and by its cooling."""


@formula("U")
def usable_units(rack_units: int, pdus: int, pdu_units: int) -> int:
    """Rack units left by PDUs that take rack units."""
    return max(0, rack_units - pdus * pdu_units)


def compute_capacity(site: Site) -> RackCapacity:
    """Return the rack units and power that a rack offers to servers."""
    return _capacity(site, site.rack_power_w, site.pdu, site.pdus_per_rack)


def management_capacity(site: Site) -> RackCapacity:
    """Return the rack units and power that a management rack offers."""
    return _capacity(site, site.management_power_w, site.management_pdu, site.management_pdus)


def _capacity(site: Site, power: Figure, pdu: Pdu | None, pdus: Figure) -> RackCapacity:
    units = site.rack_units
    if pdu and pdu.rack_units and pdu.rack_units.value and pdus.value:
        units = usable_units(units, pdus, pdu.rack_units)
    if site.rack_cooling_w:
        power = usable_power(power, site.rack_cooling_w)
    return RackCapacity(units, power)


def servers_of_rack(site: Site, server: Server, servers: Figure | None, warnings: Warnings) -> Figure | None:
    """Return the servers per rack: as set, else as many as fit, or one that does not.

    None for rack-scale systems, and when the height of a server is unknown. Adds to `warnings`; those of OVERLOADS are
    errors.
    """
    if server.trays:
        warnings.extend(_overloaded_system_warnings(site, server))
        return None
    units, power, offered = server.rack_units, server.power_w, compute_capacity(site)
    if site.servers_per_rack:
        held = servers_of_fullest_rack(servers, site.servers_per_rack) if servers else site.servers_per_rack
        warnings.extend(_overfilled_rack_warnings(site, held, server, offered))
        return site.servers_per_rack
    if units is None:
        warnings.append((message("server-height-unknown", server=server.identity.name), "unknown-height"))
        return None
    if power is None:
        warnings.append((message("racks-by-height", server=server.identity.name), "unknown-power"))
        fits = servers_that_fit_height(offered.units, units)
    else:
        fits = servers_that_fit(offered.units, offered.power_w, units, power)
    if fits.value:
        return fits
    warnings.extend(_overfilled_rack_warnings(site, lone_server(), server, offered))
    return lone_server()


def _overfilled_rack_warnings(
    site: Site, per_rack: Figure, server: Server, offered: RackCapacity
) -> Iterator[tuple[str, str]]:
    count, name = per_rack.value, server.identity.name
    drawn = power_of(per_rack, server.power_w) if server.power_w else None
    if drawn and drawn.value > site.rack_power_w.value:
        limit = in_words(site.rack_power_w)
        yield message("servers-draw", servers=count, name=name, drawn=in_words(drawn), watts=limit), RACK_POWER
    if drawn and site.rack_cooling_w and drawn.value > site.rack_cooling_w.value:
        cooled = in_words(site.rack_cooling_w)
        yield message("servers-heat", servers=count, name=name, drawn=in_words(drawn), cooled=cooled), RACK_COOLING
    if server.rack_units and count * server.rack_units.value > offered.units.value:
        height = count * server.rack_units.value
        yield message("servers-high", servers=count, name=name, height=height, units=offered.units.value), RACK_UNITS


def _overloaded_system_warnings(site: Site, server: Server) -> Iterator[tuple[str, str]]:
    """Yield warnings about a rack-scale system that exceeds the power or cooling the plan sets for its rack."""
    if server.power_w is None:
        return
    drawn, limit, cooled = server.power_w, site.rack_power_w, site.rack_cooling_w
    if isinstance(limit.origin, Given) and drawn.value > limit.value:
        text = message("rack-power", server=server.identity.name, drawn=in_words(drawn), limit=in_words(limit))
        yield text, RACK_POWER
    if cooled and drawn.value > cooled.value:
        text = message("rack-cooling", server=server.identity.name, drawn=in_words(drawn), limit=in_words(cooled))
        yield text, RACK_COOLING


def management_racks(site: Site, machines: Iterable[Equipment], warnings: Warnings) -> Figure | None:
    """Return the racks of everything but servers: as set, else packed in the order of `machines`.

    Machines are packed by height and known power. Adds to `warnings`. None without machines of known height.
    """
    if site.management_racks:
        return site.management_racks
    racked = [machine for machine in machines if not machine.in_server]
    warn_of_unknown_height(racked, warnings)
    offered = management_capacity(site)
    items = []
    for machine in racked:
        if machine.height_u and machine.count.value:
            power = machine.power_w or UNKNOWN_POWER
            items.append(RackItem(machine.height_u, power, machine.count))
            if machine.height_u.value > offered.units.value:
                text = message(
                    "machine-high", name=machine.name, height=machine.height_u.value, units=offered.units.value
                )
                warnings.append((text, RACK_UNITS))
            if power.value > offered.power_w.value:
                drawn, watts = in_words(power), in_words(offered.power_w)
                warnings.append((message("machine-draws", name=machine.name, drawn=drawn, watts=watts), MACHINE_POWER))
    return count_racks(items, offered)


def warn_of_unknown_height(racked: Iterable[Equipment], warnings: Warnings) -> None:
    """Add a warning about machines of unknown height to `warnings`."""
    unknown = dict.fromkeys(machine.name for machine in racked if machine.height_u is None)
    if unknown:
        warnings.append((message("unknown-height", names=unknown), "unknown-height"))


# installed ----------------------------------------------------------------------------------------------------------
# Machines around those that are installed: what is there stays, and new machines take the free space beside it.
#
# New machines go into racks of their kind, the lowest number first and from the bottom up, then into new racks. Where a
# rack is gone, too low or has too little power now, its machines are like new ones.

COMPUTE, MANAGEMENT = RACK_KINDS


class RackSpace(NamedTuple):
    """What an empty rack of a kind has for machines."""

    units: int
    power_w: int


class Machines(NamedTuple):
    """Equal machines to stand in racks, some of which are installed."""

    pieces: int
    height_u: int
    """Height of one; 0 if it is unknown."""
    power_w: int
    installed: Mapping[int, Place]
    """Their places by number, from 0."""


class RackPlace(NamedTuple):
    """Where a machine stands."""

    kind: str
    rack: int
    """The number of the rack among those of its kind, from 0."""
    unit: int
    """The lowest unit; 0 if it is unknown."""


@dataclass(slots=True)
class FilledRack:
    """A rack with machines in it."""

    kind: str
    number: int
    """Among the racks of its kind, from 0."""
    units: int
    free_w: int
    taken: int = 0
    """Units in use, a bit per unit."""
    servers: int = 0

    def find_unit(self, height_u: int) -> int | None:
        """Return the lowest unit above which a height is free; None where there is none."""
        wanted = (1 << height_u) - 1
        return next((unit for unit in range(1, self.units - height_u + 2) if not self.taken & (wanted << unit)), None)

    def add(self, machines: Machines, unit: int) -> RackPlace:
        """Put a machine at a unit, and return its place."""
        self.taken |= ((1 << machines.height_u) - 1) << unit
        self.free_w -= machines.power_w
        return RackPlace(self.kind, self.number, unit if machines.height_u else 0)


class Hall:
    """The racks of a site that grows, as machines are put into them."""

    def __init__(self, installed: Installed, spaces: Mapping[str, RackSpace], per_rack: int, overload: bool) -> None:
        self.spaces, self.per_rack, self.overload = spaces, per_rack, overload
        self.racks: dict[str, list[FilledRack]] = {kind: [] for kind in RACK_KINDS}
        self.by_number: dict[int, FilledRack] = {}
        for number, (_, _, kind) in enumerate(installed.racks, start=1):
            if kind in self.racks:
                self.by_number[number] = self._open(kind)

    def stand(
        self, servers: Sequence[Machines], others: Sequence[Machines], shared: bool
    ) -> list[list[RackPlace | None]]:
        """Return the places of servers, then those of other machines; `shared`: these stand in the servers' racks.

        A machine without a place is one for which shared racks have no room.
        """
        groups = (*servers, *others)
        places = [self._keep(machines, number < len(servers)) for number, machines in enumerate(groups)]
        for number, (machines, kept) in enumerate(zip(groups, places, strict=True)):
            missing = [index for index, place in enumerate(kept) if place is None]
            new = self._find_room(machines, number < len(servers), shared, len(missing))
            for index, place in zip(missing, new, strict=False):
                kept[index] = place
        return places

    def _open(self, kind: str) -> FilledRack:
        rack = FilledRack(kind, len(self.racks[kind]), *self.spaces[kind])
        self.racks[kind].append(rack)
        return rack

    def _keep(self, machines: Machines, of_servers: bool) -> list[RackPlace | None]:
        places: list[RackPlace | None] = [None] * machines.pieces
        for index, (number, unit) in sorted(machines.installed.items()):
            rack = self.by_number.get(number)
            if rack is None or index >= machines.pieces or (of_servers and rack.kind != COMPUTE):
                continue
            high = unit + machines.height_u - 1 > rack.units
            overlaps = rack.taken & (((1 << machines.height_u) - 1) << unit) or bool(machines.height_u) != bool(unit)
            overloads = high or machines.power_w > rack.free_w
            if overlaps or (overloads and not self.overload):
                continue
            places[index] = rack.add(machines, unit)
            rack.servers += of_servers
        return places

    def _find_room(self, machines: Machines, of_servers: bool, shared: bool, pieces: int) -> list[RackPlace]:
        kind = COMPUTE if of_servers or shared else MANAGEMENT
        places = list[RackPlace]()
        for rack in self.racks[kind]:
            self._fill(rack, machines, of_servers, pieces, places)
        while len(places) < pieces and (of_servers or not shared):
            rack = self._open(kind)
            self._fill(rack, machines, of_servers, pieces, places)
            if not rack.taken and not rack.servers:  # one even where it does not fit, as in any rack
                places.append(self._add(rack, machines, 1, of_servers))
        return places

    def _fill(
        self, rack: FilledRack, machines: Machines, of_servers: bool, pieces: int, places: list[RackPlace]
    ) -> None:
        while len(places) < pieces and (unit := self._find_unit(rack, machines, of_servers)) is not None:
            places.append(self._add(rack, machines, unit, of_servers))

    def _find_unit(self, rack: FilledRack, machines: Machines, of_servers: bool) -> int | None:
        if of_servers and rack.servers >= self.per_rack:
            return None
        if machines.power_w > rack.free_w and not (of_servers and self.overload):
            return None
        return rack.find_unit(machines.height_u)

    def _add(self, rack: FilledRack, machines: Machines, unit: int, of_servers: bool) -> RackPlace:
        rack.servers += of_servers
        return rack.add(machines, unit)

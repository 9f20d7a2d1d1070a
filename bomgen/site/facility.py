"""The facility: the number of racks, power, energy, weight, heat, and the power supply of the racks.

Racks are those of servers and those of all other machines, which may share them; the plan may limit their number.
Switches, storage and appliances stand in management racks. At a small site, or where the plan sets `management.racks`
to 0, they stand above the servers instead, in the height and power that these leave.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from bomgen.catalog.parts import Server
from bomgen.core.diagnostics import PlanErrors, Problem, error_at
from bomgen.core.document import rows_below
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Reference, first_given, formula
from bomgen.plan.types import IN_USE, RACK_KINDS, SPARE, Installed, Place, Site
from bomgen.site.rack_loads import (
    NO_LOAD,
    NO_SUPPLY,
    FullRack,
    Load,
    SiteContents,
    Supply,
    site_load,
    supply,
    supply_warnings,
)
from bomgen.site.racks import (
    COMPUTE,
    MACHINE_POWER,
    MANAGEMENT,
    OVERLOADS,
    RACK_COOLING,
    RACK_LOAD,
    RACK_POWER,
    RACK_UNITS,
    SHARED_RACKS,
    Equipment,
    Hall,
    Machines,
    RackPlace,
    RackSpace,
    Warnings,
    at_end,
    carbon_of_energy,
    compute_capacity,
    cost_of_energy,
    energy_of_a_year,
    energy_of_run,
    in_words,
    known_power,
    machines_that_fit,
    management_capacity,
    management_racks,
    pdus_of_racks,
    power_of,
    power_of_facility,
    racks_after_growth,
    racks_of_servers,
    racks_of_systems,
    servers_of_fullest_rack,
    servers_of_rack,
    sum_of_power,
    sum_of_racks,
    units_bought,
    warn_of_unknown_height,
)

PLACED = Reference(message("source-places"))
Room = tuple[int, int]
"""Height [U] and power [W] that the servers of a rack leave."""
Kind = tuple[int, int, int]
"""Height [U] and power [W] of equal machines, and their number."""


class ServerRacks(NamedTuple):
    """The racks of servers whose height is known, as other machines may share them."""

    server: Server
    servers: Figure
    per_rack: Figure
    racks: Figure


@formula("racks")
def racks_beside_servers(separate: int, compute_racks: int, shared_racks: int) -> int:
    """Management racks where the racks of the servers have room for all machines: none if these racks are few."""
    return 0 if compute_racks <= shared_racks else separate


def count_other_racks(
    site: Site, contents: SiteContents, machines: Sequence[Equipment], warnings: Warnings
) -> Figure | None:
    """Return the racks of everything but servers: 0 where these machines stand in the racks of `contents`.

    Adds to `warnings`. None without machines of known height.
    """
    racked, fixed = [machine for machine in machines if not machine.in_server], site.management_racks
    if fixed and not fixed.value:
        warn_of_unknown_height(racked, warnings)
        warnings.extend((text, SHARED_RACKS) for text in _lacks(site, contents, racked))
        return fixed
    said: Warnings = []
    separate, limit = management_racks(site, machines, said), site.shared_racks
    beside = _server_racks(contents)
    if separate and beside and not fixed:
        if site.racks and beside.racks.value + separate.value > site.racks.value:
            limit = site.racks
        measured = bool(beside.server.power_w) and all(machine.height_u for machine in racked)
        if measured and limit and beside.racks.value <= limit.value and not any(_lacks(site, contents, racked)):
            return racks_beside_servers(separate, beside.racks, limit)
    warnings += said
    return separate


def count_racks(
    site: Site | None,
    server: Server | None,
    servers: Figure | None,
    machines: Sequence[Equipment],
    warnings: Warnings,
    count_others: Callable[[Site, SiteContents, Sequence[Equipment], Warnings], Figure | None] = count_other_racks,
) -> SiteContents:
    """Return the racks of a site and their PDUs, for arguments as those of `size_facility`.

    Doubtful points are added to `warnings`. `count_others` gives the racks of everything but servers.
    """
    per_rack = servers_of_rack(site, server, servers, warnings) if site and server else None
    compute = None
    if site and servers and server and server.trays:
        compute = racks_of_systems(servers, server.trays)
    elif servers and per_rack:
        compute = racks_of_servers(servers, per_rack)
    contents = SiteContents(server, servers, per_rack, compute, None, None, None)
    if site is None:
        return contents
    management = count_others(site, contents, machines, warnings)
    if site.installed:
        compute, management = _count_after_growth(site, site.installed, contents, machines, management)
    return contents._replace(
        compute_racks=compute,
        management_racks=management,
        compute_pdus=pdus_of_racks(compute, site.pdus_per_rack) if compute else None,
        management_pdus=pdus_of_racks(management, site.management_pdus) if management else None,
    )


def _count_after_growth(
    site: Site, installed: Installed, contents: SiteContents, machines: Sequence[Equipment], management: Figure | None
) -> tuple[Figure | None, Figure | None]:
    """Return the racks of servers and those of everything else, where what is installed stays."""
    # `management` are those of the second kind if nothing were.
    fixed = site.management_racks
    shared = _share_racks(installed, management)
    hall, places = _fill_hall(site, installed, contents, machines, shared)
    if shared and not fixed and any(place is None for of_kind in places for place in of_kind):
        hall, _ = _fill_hall(site, installed, contents, machines, shared=False)
    compute, other = (
        racks_after_growth(
            Figure(installed.count(kind), "racks", Cited(message("installed-racks"), (PLACED,), "high")),
            Figure(len(racks) - installed.count(kind), "racks", Cited(message("new-racks"), (PLACED,), "high")),
        )
        for kind, racks in hall.racks.items()
    )
    return contents.compute_racks and compute, fixed or (other if management or other.value else None)


def _share_racks(installed: Installed, management: Figure | None) -> bool:
    return management is not None and not management.value and not installed.count(MANAGEMENT)


def _fill_hall(
    site: Site, installed: Installed, contents: SiteContents, machines: Iterable[Equipment], shared: bool
) -> tuple[Hall, list[list[RackPlace | None]]]:
    """Return the racks around what is installed, and the places of servers, then of each kind of other machine."""
    servers, server = list[Machines](), contents.server
    if server and contents.servers and (server.trays or contents.per_rack):
        places = (place for kind in (IN_USE, SPARE) for place in installed.places.get(kind, {}).values())
        servers.append(describe_servers(server, int(contents.servers.value), dict(enumerate(places))))
    others = [
        Machines(int(count), height, power, installed.places.get(machine.kind, {}))
        for machine, (height, power, count) in _kinds(machine for machine in machines if not machine.in_server)
    ]
    per_rack = server.trays if server and server.trays else contents.per_rack
    hall = open_hall(site, installed, int(per_rack.value) if per_rack else 0)
    return hall, hall.stand(servers, others, shared)


def describe_servers(server: Server, pieces: int, installed: Mapping[int, Place]) -> Machines:
    """Return servers as machines in racks; height and power of trays are those of their rack."""
    known = (None, None) if server.trays else (server.rack_units, server.power_w)
    height, power = (ceil(figure.value) if figure else 0 for figure in known)
    return Machines(pieces, height, power, installed)


def open_hall(site: Site, installed: Installed, per_rack: int) -> Hall:
    """Return the installed racks of a site, still empty."""
    spaces = {
        kind: RackSpace(int(capacity.units.value), int(capacity.power_w.value))
        for kind, capacity in zip(RACK_KINDS, (compute_capacity(site), management_capacity(site)), strict=True)
    }
    return Hall(installed, spaces, per_rack, site.allow_overload)


def _server_racks(contents: SiteContents) -> ServerRacks | None:
    server, servers, per_rack, racks = contents.server, contents.servers, contents.per_rack, contents.compute_racks
    if server and server.rack_units and servers and per_rack and racks:
        return ServerRacks(server, servers, per_rack, racks)
    return None


def rooms_of_racks(site: Site, server: Server, per_rack: int, servers: int) -> list[Room]:
    """Return what the servers leave of each rack, in the order in which the racks are filled."""
    units, power = compute_capacity(site)
    height, drawn = (ceil(figure.value) if figure else 0 for figure in (server.rack_units, server.power_w))
    held = [min(per_rack, servers - before) for before in range(0, servers, per_rack)]
    return [(int(units.value) - count * height, int(power.value) - count * drawn) for count in held]


def fill_rooms(kinds: Sequence[Kind], rooms: Sequence[Room]) -> list[list[int]]:
    """Return how many machines of each kind stand in each rack: first-fit, the highest machines and middle rack first.

    From the middle rack the longest cable is the shortest.
    """
    free, middle_out = list(rooms), sorted(range(len(rooms)), key=lambda rack: abs(2 * rack - len(rooms) + 1))
    counts = [[0] * len(rooms) for _ in kinds]
    for kind in sorted(range(len(kinds)), key=lambda kind: -kinds[kind][0]):
        height, power, left = kinds[kind]
        for rack in middle_out:
            units, watts = free[rack]
            if units < 0 or watts < 0 or not left:
                continue
            fits = machines_that_fit(units, watts, height, power, left)
            free[rack] = units - fits * height, watts - fits * power
            counts[kind][rack] = fits
            left -= fits
    return counts


def _kinds(machines: Iterable[Equipment]) -> list[tuple[Equipment, Kind]]:
    return [
        (
            machine,
            (ceil(machine.height_u.value), ceil(machine.power_w.value) if machine.power_w else 0, machine.count.value),
        )
        for machine in machines
        if machine.height_u and machine.count.value
    ]


def _lacks(site: Site, contents: SiteContents, racked: Iterable[Equipment]) -> Iterator[str]:
    named, beside = _kinds(racked), _server_racks(contents)
    if not named:
        return
    if beside is None:
        yield message("no-shared-racks", names=dict.fromkeys(machine.name for machine, _ in named))
        return
    rooms = rooms_of_racks(site, beside.server, int(beside.per_rack.value), int(beside.servers.value))
    kinds = [kind for _, kind in named]
    filled = fill_rooms(kinds, rooms)
    left = [count - sum(racks) for (_, _, count), racks in zip(kinds, filled, strict=True)]
    if not any(left):
        return
    units, watts = (
        sum(max(0, room[of]) for room in rooms)
        - sum(kind[of] * sum(racks) for kind, racks in zip(kinds, filled, strict=True))
        for of in range(len(rooms[0]))
    )
    height, power = (sum(kind[of] * count for kind, count in zip(kinds, left, strict=True)) for of in (0, 1))
    lacks = max(0, height - units), max(0, power - watts)
    yield message(
        "beside-servers-full",
        names=[
            message("some-of-machines", number=missing, all=machine.count.value, machine=machine.name)
            for (machine, _), missing in zip(named, left, strict=True)
            if missing
        ],
        height=height,
        watts=power,
        units=units,
        power=watts,
        lack=message("too-little", units=lacks[0], watts=lacks[1]) if any(lacks) else message("too-scattered"),
    )


def full_rack(site: Site, contents: SiteContents, machines: Sequence[Equipment]) -> FullRack | None:
    """Return the rack of servers with the highest power, and the machines that share it."""
    beside, racked = _server_racks(contents), _kinds(machine for machine in machines if not machine.in_server)
    if contents.per_rack is None:
        return None
    management = contents.management_racks
    if beside is None or not racked or management is None or (management.value and not site.installed):
        return FullRack(contents.per_rack, ())
    per_rack, servers = int(beside.per_rack.value), int(beside.servers.value)
    if site.installed:
        shared = _share_racks(site.installed, management)
        hall, (_, *others) = _fill_hall(site, site.installed, contents, machines, shared)
        held = [rack.servers for rack in hall.racks[COMPUTE]]
        filled = [[0] * len(held) for _ in racked]
        for counts, places in zip(filled, others, strict=True):
            for place in places:
                if place and place.kind == COMPUTE:
                    counts[place.rack] += 1
    else:
        held = [min(per_rack, servers - before) for before in range(0, servers, per_rack)]
        filled = fill_rooms([kind for _, kind in racked], rooms_of_racks(site, beside.server, per_rack, servers))
    kinds = [kind for _, kind in racked]
    of_server = describe_servers(beside.server, servers, {})

    def taken(rack: int) -> tuple[int, int]:
        """Return power and height in use in a rack."""
        units, power = (
            sum(kind[of] * counts[rack] for kind, counts in zip(kinds, filled, strict=True)) for of in (0, 1)
        )
        return power + held[rack] * of_server.power_w, units + held[rack] * of_server.height_u

    fullest = max(range(len(held)), key=taken)
    return FullRack(
        contents.per_rack if held[fullest] == per_rack else _counted(held[fullest], "servers"),
        tuple(
            (machine, _counted(counts[fullest], machine.count.unit))
            for (machine, _), counts in zip(racked, filled, strict=True)
            if counts[fullest]
        ),
    )


def _counted(number: int, unit: str) -> Figure:
    return Figure(number, unit, Cited(message("pieces-in-rack"), (PLACED,), "high"))


# the limit of the plan -----------------------------------------------------------------------------------------------


def refuse_more_racks(site: Site, contents: SiteContents, machines: Sequence[Equipment]) -> None:
    """Raise PlanErrors where the racks are more than the plan has, with what does not fit and what would."""
    limit = site.racks
    if limit is None or (needed := count_all_racks(contents)) <= limit.value:
        return
    most = int(limit.value)

    def fit(site: Site, servers: Figure | None) -> bool:
        counted = count_racks(site, contents.server, servers, machines, [])
        return site.racks is None or count_all_racks(counted) <= site.racks.value

    def fit_servers(number: int) -> bool:
        return fit(site, contents.servers and replace(contents.servers, value=number))

    def fit_racks(number: int) -> bool:
        return fit(site._replace(racks=replace(limit, value=number)), contents.servers)

    def fit_power(watts: int) -> bool:
        return fit(site._replace(rack_power_w=replace(site.rack_power_w, value=watts)), contents.servers)

    remedies = [f"set `site.racks: {_first(fit_racks, most, needed)}`"]
    server, servers = contents.server, int(contents.servers.value) if contents.servers else 0
    if server and not server.trays and fit_servers(1):
        fewer = _first(lambda number: not fit_servers(number), 1, servers) - 1
        remedies.append(f"use {fewer} {'server' if fewer == 1 else 'servers'}")
    powers = [(machine.power_w, machine.count) for machine in machines if machine.power_w and not machine.in_server]
    if server and server.power_w and contents.servers:
        powers.append((server.power_w, contents.servers))
    drawn = sum(ceil(power.value) * int(count.value) for power, count in powers)
    if drawn > site.rack_power_w.value and fit_power(drawn):
        remedies.append(f"raise `site.rack.power` to {_first(fit_power, int(site.rack_power_w.value), drawn)} W")
    text = f"the design needs {needed} racks, but `site.racks` is {most}"
    if server and contents.per_rack:
        each = ", ".join(
            (
                *([f"{server.rack_units.value} U"] if server.rack_units else []),
                f"{in_words(server.power_w) if server.power_w else 'unknown power'} each",
            )
        )
        offered = f"{site.rack_units.value} U and {in_words(site.rack_power_w)}"
        text += (
            f": a rack of {offered} holds {contents.per_rack.value} of the {servers} x {server.identity.name} ({each})"
        )
    if contents.management_racks and contents.management_racks.value:
        counts = Counter[str]()
        for machine in machines:
            counts[machine.name] += 0 if machine.in_server else int(machine.count.value)
        names = ", ".join(f"{count} x {name}" for name, count in counts.items() if count)
        text += f", and {names} would need {contents.management_racks.value} more"
    mark = first_given(limit) or site.mark
    raise error_at(mark, f"{text}; {', or '.join(remedies)}", "rack-count", "site.racks")


def count_all_racks(contents: SiteContents) -> int:
    """Return the number of racks, those of management included; 0 where none are counted."""
    return sum(int(racks.value) for racks in (contents.compute_racks, contents.management_racks) if racks)


def _first(holds: Callable[[int], bool], below: int, above: int) -> int:
    """Return the first number after `below` for which a condition holds, as it does for `above`."""
    return below + 1 + bisect_left(range(below + 1, above), True, key=holds)


LOW_END, HIGH_END = 0, 1
"""The ends of an estimate."""
ESTIMATED = "estimated-power"


class Facility(NamedTuple):
    """Racks, PDUs, power and energy; a figure is None when it is not specified or unknown."""

    racks: Figure | None
    compute_racks: Figure | None
    management_racks: Figure | None
    servers_per_rack: Figure | None
    compute_pdus: Figure | None
    management_pdus: Figure | None
    gpu_power_w: Figure | None
    """Power of the GPUs, a part of that of the servers."""
    network_power_w: Figure | None
    """Power of switches and purchased NICs."""
    storage_power_w: Figure | None
    power_w: Figure | None
    facility_power_w: Figure | None
    energy_kwh_per_year: Figure | None
    energy_cost_per_year: Figure | None
    carbon_kg_per_year: Figure | None
    run_energy_kwh: Figure | None
    run_energy_cost: Figure | None
    run_carbon_kg: Figure | None
    load: Load
    supply: Supply
    warnings: tuple[tuple[str, str], ...]
    """Pairs of message and rule."""
    lower_bounds: frozenset[str]
    """Names of the figures that are lower bounds, because of unknown values."""
    server: Server | None = None
    """The server in a rack, with the power of its purchased cards."""

    @property
    def in_one_rack(self) -> bool:
        """Whether the whole cluster stands in one rack, at either end of estimated powers."""
        compute, management = self.compute_racks, self.management_racks
        if compute is None or management is None or compute.bounds or management.bounds:
            return False
        return bool(compute.value == 1 and management.value == 0)


def _lower_bounds(machines: Iterable[Equipment], any_unknown: bool) -> frozenset[str]:
    bounds = {
        "storage_power_w" if machine.of_storage else "network_power_w" for machine in machines if not machine.power_w
    }
    if any_unknown:
        bounds |= {row.path[-1] for row in rows_below("site") if row.needs_power}
    return frozenset(bounds)


def _estimated_power(
    server: Server | None, servers_power_w: Figure | None, machines: Iterable[Equipment]
) -> Iterator[tuple[str, str]]:
    estimated = [machine for machine in machines if machine.power_w and machine.power_w.bounds]
    power, names = known_power(estimated), dict.fromkeys(machine.name for machine in estimated)
    if server and servers_power_w and servers_power_w.bounds:
        power = sum_of_power(servers_power_w, power) if power else servers_power_w
        names = {server.identity.name: None, **names}
    if power and power.bounds:
        yield message("estimated-power", names=names, power=in_words(power)), ESTIMATED


def _racks_by_estimate(
    site: Site,
    server: Server | None,
    servers: Figure | None,
    machines: Sequence[Equipment],
    contents: SiteContents,
    warnings: list[tuple[str, str]],
) -> tuple[SiteContents, list[tuple[str, str]]]:
    """Return the racks with their range over estimated powers, and the overloads at the high end."""
    # Adds a warning to `warnings` where the number of racks depends on an estimate.
    everything = list(machines)
    if server and servers:
        everything.insert(0, Equipment(server.identity.name, units_bought(servers, server), server.power_w, None))
    names = dict.fromkeys(machine.name for machine in everything if machine.power_w and machine.power_w.bounds)
    said, ends = list[tuple[str, str]](), list[SiteContents]()
    for at, machines_at_end in at_ends(server, machines):
        said = []
        ends.append(count_racks(site, at, servers, machines_at_end, said))
    racks, *others_racks = (count_all_racks(site_contents) for site_contents in (contents, *ends))
    if any(count != racks for count in others_racks):
        few, many = sorted(others_racks)
        warnings.append((message("estimated-racks", racks=racks, names=names, few=few, many=many), ESTIMATED))
    return with_rack_ranges(contents, ends), [(text, rule) for text, rule in said if rule in OVERLOADS]


def at_ends(server: Server | None, machines: Sequence[Equipment]) -> list[tuple[Server | None, list[Equipment]]]:
    """Return server and machines with their powers at the low and the high end of estimates; none without estimates."""
    powers = (server and server.power_w, *(machine.power_w for machine in machines))
    if not any(power and power.bounds for power in powers):
        return []
    return [
        (
            server and server._replace(power_w=server.power_w and at_end(server.power_w, end)),
            [replace(machine, power_w=machine.power_w and at_end(machine.power_w, end)) for machine in machines],
        )
        for end in (LOW_END, HIGH_END)
    ]


def with_rack_ranges(contents: SiteContents, ends: Sequence[SiteContents]) -> SiteContents:
    """Return contents whose racks have their range between the ends of an estimate."""
    return contents._replace(
        compute_racks=_between(contents.compute_racks, [end.compute_racks for end in ends]),
        management_racks=_between(contents.management_racks, [end.management_racks for end in ends]),
    )


def _between(racks: Figure | None, ends: Sequence[Figure | None]) -> Figure | None:
    counts = [end.value for end in ends if end]
    return racks.between(counts[LOW_END], counts[HIGH_END]) if racks and len(counts) > HIGH_END else racks


def sum_of_all_power(compute_power: Figure | None, machines: Sequence[Equipment]) -> Figure | None:
    """Return the known power of servers and all other machines; None if that of the servers is unknown."""
    for of_storage in (False, True):
        more = known_power(machine for machine in machines if machine.of_storage is of_storage)
        compute_power = sum_of_power(compute_power, more) if compute_power and more else compute_power
    return compute_power


def _refuse_overload(site: Site, warnings: Iterable[tuple[str, str]]) -> None:
    limits = {
        RACK_POWER: site.rack_power_w,
        RACK_COOLING: site.rack_cooling_w,
        RACK_UNITS: site.rack_units,
        MACHINE_POWER: site.management_power_w,
        RACK_LOAD: None,
        SHARED_RACKS: site.management_racks,
    }
    problems = []
    for text, rule in warnings:
        if rule in OVERLOADS:
            key, limit = ".".join(("site", *OVERLOADS[rule])), limits[rule]
            more = f"name a rack that bears more with `{key}`" if rule == RACK_LOAD else f"raise `{key}`"
            more = f"{more} or `site.rack.power`" if rule == SHARED_RACKS else more
            fewer = ", lower `site.servers_per_rack`" if site.servers_per_rack and rule != MACHINE_POWER else ""
            hint = f"{more}{fewer}, or set `site.allow_overload: true`"
            mark = (first_given(limit) if limit else None) or site.mark
            problems.append(Problem(mark, "error", f"{text}; {hint}", rule, key))
    if problems and not site.allow_overload:
        raise PlanErrors(problems)


def _power_by_racks(
    compute_power: Figure | None, contents: SiteContents, machines: Sequence[Equipment]
) -> tuple[Figure | None, Figure | None]:
    cards = known_power(machine for machine in machines if machine.in_server)
    in_racks = known_power(machine for machine in machines if not machine.in_server)
    inside = sum_of_power(compute_power, cards) if compute_power and cards else compute_power or cards
    if contents.management_racks is None or contents.management_racks.value or inside is None or in_racks is None:
        return inside, in_racks
    return sum_of_power(inside, in_racks), None


def size_facility(
    site: Site | None,
    server: Server | None,
    servers: Figure | None,
    server_power_w: Figure | None,
    machines: tuple[Equipment, ...],
    run_days: Figure | None,
    accelerators: Equipment,
) -> Facility:
    """Return the facility for the servers, spare ones included, and all other equipment.

    The power of `server` includes its purchased cards.

    `server_power_w` is the maximum power of the servers in use; where it is unknown, only their GPUs count. Racks are
    counted where the plan describes a site, power wherever it is known.

    Raises PlanErrors for overloaded racks, unless the plan allows them.
    """
    warnings: list[tuple[str, str]] = []
    gpu_power = power_of(accelerators.count, accelerators.power_w) if accelerators.power_w else None
    network = known_power(machine for machine in machines if not machine.of_storage)
    storage = known_power(machine for machine in machines if machine.of_storage)
    compute_power = server_power_w or gpu_power
    power = sum_of_all_power(compute_power, machines)
    unknown = list(dict.fromkeys(machine.name for machine in machines if machine.power_w is None))
    is_bound = server_power_w is None or bool(unknown)
    if server_power_w is None and gpu_power is None:
        unknown.insert(0, server.identity.name if server else accelerators.name)
    elif server_power_w is None:
        named = message("server-power-unknown", server=server.identity.name) if server else message("no-server-power")
        warnings.append((named, "unknown-power"))
    if unknown:
        warnings.append((message("unknown-power", names=unknown), "unknown-power"))
    warnings += _estimated_power(server, server_power_w, machines)
    contents = count_racks(site, server, servers, machines, warnings)
    if site:
        contents, said = _racks_by_estimate(site, server, servers, machines, contents, warnings)
        overloaded = {rule for _, rule in warnings if rule in OVERLOADS}
        warnings += [
            (message("estimated-overload", text=text), ESTIMATED) for text, rule in said if rule not in overloaded
        ]
    if servers and contents.per_rack:
        contents = contents._replace(per_rack=servers_of_fullest_rack(servers, contents.per_rack))
    compute, management = contents.compute_racks, contents.management_racks
    facility_power = power_of_facility(power, site.pue) if site and site.pue and power else None
    price = site.electricity if site else None
    drawn = facility_power or power
    energy = energy_of_run(drawn, run_days) if drawn and run_days else None
    yearly = energy_of_a_year(drawn) if drawn and site else None
    carbon = site.carbon if site else None
    racks = sum_of_racks(compute, management) if compute and management else compute or management
    load, supplied = NO_LOAD, NO_SUPPLY
    if site:
        full = full_rack(site, contents, machines)
        load = site_load(site, contents, full, machines, power)
        warnings.extend(load.warnings)
        _refuse_overload(site, warnings)
        refuse_more_racks(site, contents, machines)
        supplied = supply(
            site, server, full, load.compute_rack_power_w, _power_by_racks(compute_power, contents, machines)
        )
        warnings.extend(supply_warnings(site, server, full, load.compute_rack_power_w, supplied))
    return Facility(
        racks=racks,
        compute_racks=compute,
        management_racks=management,
        servers_per_rack=contents.per_rack,
        compute_pdus=contents.compute_pdus,
        management_pdus=contents.management_pdus,
        gpu_power_w=gpu_power,
        network_power_w=network,
        storage_power_w=storage,
        power_w=power,
        facility_power_w=facility_power,
        energy_kwh_per_year=yearly,
        energy_cost_per_year=cost_of_energy(yearly, price) if yearly and price else None,
        carbon_kg_per_year=carbon_of_energy(yearly, carbon) if yearly and carbon else None,
        run_energy_kwh=energy,
        run_energy_cost=cost_of_energy(energy, price) if energy and price else None,
        run_carbon_kg=carbon_of_energy(energy, carbon) if energy and carbon else None,
        load=load,
        supply=supplied,
        warnings=tuple(dict.fromkeys(warnings)),
        lower_bounds=_lower_bounds(machines, is_bound) | load.lower_bounds,
        server=server,
    )

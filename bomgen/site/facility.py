"""The facility: racks, power, energy, weight, heat, and the power supply of the racks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from bomgen.catalog.parts import Server
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.document import rows_below
from bomgen.core.grouping import group_by
from bomgen.core.messages import message
from bomgen.core.provenance import Figure, first_given
from bomgen.plan.types import Site
from bomgen.site.rack_count import count_all_racks, count_racks, full_rack, refuse_more_racks
from bomgen.site.rack_loads import NO_LOAD, NO_SUPPLY, Load, SiteContents, Supply, site_load, supply, supply_warnings
from bomgen.site.racks import (
    MACHINE_POWER,
    OVERLOADS,
    RACK_COOLING,
    RACK_LOAD,
    RACK_POWER,
    RACK_UNITS,
    SHARED_RACKS,
    Equipment,
    at_end,
    bought_servers,
    carbon_of_energy,
    cost_of_energy,
    energy_of_a_year,
    energy_of_run,
    in_words,
    known_power,
    power_of,
    power_of_facility,
    servers_of_fullest_rack,
    sum_of_power,
    sum_of_racks,
    trays_of_racks,
    units_bought,
)

__all__ = [
    "Equipment",
    "Facility",
    "bought_servers",
    "count_racks",
    "power_of",
    "size_facility",
    "sum_of_racks",
    "trays_of_racks",
    "units_bought",
]
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
    unpowered: Mapping[str, int]
    """Number of machines of unknown power, by name."""
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
    """Yield the warning about estimated power; that of the servers excludes their cards, which are in `machines`."""
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
    """Return the racks with their range over estimated powers, and the overloads at the high end.

    Adds a warning to `warnings` where the number of racks depends on an estimate.
    """
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
    """Return a number of racks with its range, where it differs between the ends of an estimate."""
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
    """Return the power of the machines in compute racks, and of those in management racks."""
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
    by_name = group_by((machine for machine in machines if machine.power_w is None), lambda machine: machine.name)
    unpowered = {name: sum(int(machine.count.value) for machine in equal) for name, equal in by_name.items()}
    unknown = list(unpowered)
    if server_power_w is None:
        name = server.identity.name if server else accelerators.name
        unpowered = {name: int((servers if server and servers else accelerators.count).value), **unpowered}
    if server_power_w is None and gpu_power is None:
        unknown.insert(0, server.identity.name if server else accelerators.name)
    elif server_power_w is None:
        named = message("server-power-unknown", server=server.identity.name) if server else message("no-server-power")
        warnings.append((named, "unknown-power"))
    if unknown:
        warnings.append((message("unknown-power", names=dict.fromkeys(unknown)), "unknown-power"))
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
        unpowered=unpowered,
        lower_bounds=_lower_bounds(machines, bool(unpowered)) | load.lower_bounds,
        server=server,
    )

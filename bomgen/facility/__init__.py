"""Racks and power: how many racks the servers fill, what all draws, and what a run costs in energy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen import packing
from bomgen.figures import Figure, formula
from bomgen.parts import Server
from bomgen.plan import Site
from bomgen.quantities import HOURS_A_DAY

WATTS_A_KILOWATT = 1000
DAYS_A_YEAR = 365


OF_ALL = (
    *("power_w", "facility_power_w", "energy_kwh_per_year", "energy_cost_per_year", "carbon_kg_per_year"),
    *("run_energy_kwh", "run_energy_cost", "run_carbon_kg"),
)
"""Figures of a site that rest on the power of all machines."""


@dataclass(frozen=True, slots=True)
class Machines:
    """Equal machines beside the servers: how many, and the power and height of one where they are known."""

    name: str
    count: Figure
    power_w: Figure | None
    height_u: Figure | None
    in_server: bool = False
    """They take no room of their own."""
    typical: bool = False
    """The power is a typical one, because no maximum is published."""
    of_storage: bool = False
    """They store, and are no part of the network."""


class Facility(NamedTuple):
    """Racks, PDUs, power and energy; None is what the plan does not ask for or the catalogue does not know."""

    racks: Figure | None
    compute_racks: Figure | None
    management_racks: Figure | None
    servers_per_rack: Figure | None
    compute_pdus: Figure | None
    management_pdus: Figure | None
    gpu_power_w: Figure | None
    """The GPUs alone: a part of what the servers draw."""
    network_power_w: Figure | None
    """Switches, and cards that are bought."""
    storage_power_w: Figure | None
    power_w: Figure | None
    facility_power_w: Figure | None
    energy_kwh_per_year: Figure | None
    energy_cost_per_year: Figure | None
    carbon_kg_per_year: Figure | None
    run_energy_kwh: Figure | None
    run_energy_cost: Figure | None
    run_carbon_kg: Figure | None
    warnings: tuple[tuple[str, str], ...]
    """Message and rule."""
    unpowered: Mapping[str, int]
    """Machines whose power is not known: how many, by name."""
    lower_bounds: frozenset[str]
    """The figures that leave machines out for that, by name."""


@formula("servers")
def servers_that_fit(rack_units: int, rack_power_w: int, server_units: int, server_power_w: int) -> int:
    """Servers of a rack, by its height and by its power."""
    return min(rack_units // server_units, rack_power_w // server_power_w)


@formula("servers")
def servers_by_height(rack_units: int, server_units: int) -> int:
    """Servers of a rack by its height, where their power is not known."""
    return rack_units // server_units


@formula("racks")
def racks_of_servers(servers: int, servers_per_rack: int) -> int:
    """Racks that hold the servers."""
    return ceil(servers / servers_per_rack)


@formula("racks")
def racks_of_systems(servers: int, trays: int) -> int:
    """Racks of a rack-scale system: each is one."""
    return ceil(servers / trays)


@formula("servers")
def trays_of_racks(racks: int, trays: int) -> int:
    """Compute trays of whole racks."""
    return racks * trays


@formula("W")
def no_power() -> int:
    """Nothing known of power."""
    return 0


@formula("racks")
def sum_of_racks(compute_racks: int, management_racks: int) -> int:
    """All racks."""
    return compute_racks + management_racks


@formula("pieces")
def pdus_of_racks(racks: int, pdus_per_rack: int) -> int:
    """PDUs of equal racks."""
    return racks * pdus_per_rack


@formula("servers")
def bought_servers(servers: int, spare_servers: int) -> int:
    """Servers in use and spare ones: both stand in racks."""
    return servers + spare_servers


@formula("W")
def power_of(count: int, each_w: int) -> int:
    """Power of equal machines at their maximum."""
    return count * each_w


@formula("W")
def sum_of_power(power_w: int, more_power_w: int) -> int:
    """Power of all machines."""
    return power_w + more_power_w


@formula("W")
def with_cooling(power_w: int, pue: Fraction) -> Fraction:
    """Power of the facility: that of the machines times its power usage effectiveness."""
    return power_w * pue


@formula("kWh")
def energy_of_run(facility_power_w: Fraction, run_days: Fraction) -> Fraction:
    """Energy of the facility over the run, all machines at their maximum: an upper bound."""
    return Fraction(facility_power_w) / WATTS_A_KILOWATT * run_days * HOURS_A_DAY


@formula("kWh")
def energy_of_a_year(facility_power_w: Fraction) -> Fraction:
    """Energy of the facility in a year, all machines at their maximum: an upper bound."""
    return Fraction(facility_power_w) / WATTS_A_KILOWATT * HOURS_A_DAY * DAYS_A_YEAR


@formula("money")
def cost_of_energy(energy_kwh: Fraction, electricity: Fraction) -> Fraction:
    """Price of energy, in the currency of the quote."""
    return energy_kwh * electricity


@formula("kg", source="Touvron et al. 2023, LLaMA, arXiv 2302.13971, section 6")
def carbon_of_energy(energy_kwh: Fraction, carbon: Fraction) -> Fraction:
    """CO2 equivalent of energy."""
    return energy_kwh * carbon


def units_bought(servers: Figure, server: Server) -> Figure:
    """What is bought for so many servers: as many, or whole racks of a rack-scale system."""
    return racks_of_systems(servers, server.trays) if server.trays else servers


def _power(machines: Iterable[Machines]) -> Figure | None:
    """The power of machines as far as it is known."""
    power: Figure | None = None
    for machine in machines:
        if machine.power_w:
            more = power_of(machine.count, machine.power_w)
            power = more if power is None else sum_of_power(power, more)
    return power


def _lower_bounds(machines: Iterable[Machines], any_unknown: bool) -> frozenset[str]:
    """The figures that leave machines out, by name."""
    found = {
        "storage_power_w" if machine.of_storage else "network_power_w" for machine in machines if not machine.power_w
    }
    return frozenset(found | (set(OF_ALL) if any_unknown else set()))


def install(
    site: Site | None,
    server: Server | None,
    servers: Figure | None,
    server_power_w: Figure | None,
    machines: tuple[Machines, ...],
    run_days: Figure | None,
    accelerators: Machines,
) -> Facility:
    """The racks and power of servers, spare ones with them, and of other machines.

    `server_power_w` is what the servers in use draw at most; where that is not known, their GPUs count alone.
    Racks are worked out where the plan describes a site; power wherever it is known.
    """
    warnings: list[tuple[str, str]] = []
    of_gpus = power_of(accelerators.count, accelerators.power_w) if accelerators.power_w else None
    network = _power(machine for machine in machines if not machine.of_storage)
    storage = _power(machine for machine in machines if machine.of_storage)
    power = server_power_w or of_gpus
    for more in (network, storage):
        power = sum_of_power(power, more) if power and more else power
    unknown = [machine.name for machine in machines if machine.power_w is None]
    unpowered = {machine.name: 0 for machine in machines if machine.power_w is None}
    for machine in machines:
        if machine.power_w is None:
            unpowered[machine.name] += int(machine.count.value)
    if server_power_w is None:
        name = server.identity.name if server else accelerators.name
        unpowered = {name: int((servers if server and servers else accelerators.count).value), **unpowered}
    if server_power_w is None and of_gpus is None:
        unknown.insert(0, server.identity.name if server else accelerators.name)
    elif server_power_w is None:
        named = f"the power of {server.identity.name}" if server else "the server, and so its power,"
        warnings.append((f"{named} is not known; its GPUs alone are counted: ask the vendor", "unknown-power"))
    if unknown:
        names = ", ".join(dict.fromkeys(unknown))
        warnings.append((f"the power of {names} is not known; the sum leaves it out: ask the vendor", "unknown-power"))
    typical = [machine.name for machine in machines if machine.typical and machine.power_w]
    if typical:
        names = ", ".join(dict.fromkeys(typical))
        message = f"no maximum power of {names} is published: the typical one is counted; add a margin"
        warnings.append((message, "typical-power"))
    per_rack = _servers_per_rack(site, server, warnings) if site and server else None
    compute = None
    if site and servers and server and server.trays:
        compute = racks_of_systems(servers, server.trays)
    elif servers and per_rack:
        compute = racks_of_servers(servers, per_rack)
    management = _management_racks(site, machines, warnings) if site else None
    facility_power = with_cooling(power, site.pue) if site and site.pue and power else None
    price = site.electricity if site else None
    drawn = facility_power or power
    energy = energy_of_run(drawn, run_days) if drawn and run_days else None
    yearly = energy_of_a_year(drawn) if drawn and site else None
    carbon = site.carbon if site else None
    racks = sum_of_racks(compute, management) if compute and management else compute or management
    return Facility(
        racks=racks,
        compute_racks=compute,
        management_racks=management,
        servers_per_rack=per_rack,
        compute_pdus=pdus_of_racks(compute, site.pdus_per_rack) if site and compute else None,
        management_pdus=pdus_of_racks(management, site.management_pdus) if site and management else None,
        gpu_power_w=of_gpus,
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
        warnings=tuple(dict.fromkeys(warnings)),
        unpowered=unpowered,
        lower_bounds=_lower_bounds(machines, bool(unpowered)),
    )


def _servers_per_rack(site: Site, server: Server, warnings: list[tuple[str, str]]) -> Figure | None:
    if server.trays:
        return None
    units, power = server.rack_units, server.power_w
    if site.servers_per_rack:
        per_rack = site.servers_per_rack
        drawn = per_rack.value * power.value if power else 0
        if drawn > site.rack_power_w.value:
            warnings.append(
                (f"{per_rack.value} servers draw up to {drawn} W; a rack has {site.rack_power_w.value} W", "rack-power")
            )
        if units and per_rack.value * units.value > site.rack_units.value:
            height = per_rack.value * units.value
            warnings.append(
                (f"{per_rack.value} servers are {height} U high; a rack has {site.rack_units.value} U", "rack-units")
            )
        return per_rack
    if units is None:
        warnings.append(
            (
                f"the height of {server.identity.name} is not known: no racks are counted; give `rack_units`",
                "unknown-height",
            )
        )
        return None
    if power is None:
        warnings.append(
            (
                f"the power of {server.identity.name} is not known: racks by height only; give `power`",
                "unknown-power",
            )
        )
        fits = servers_by_height(site.rack_units, units)
    else:
        fits = servers_that_fit(site.rack_units, site.rack_power_w, units, power)
    if fits.value == 0:
        warnings.append(
            (
                f"no {server.identity.name} fits a rack: no racks are counted; give racks more units or power",
                "rack-power",
            )
        )
        return None
    return fits


def _management_racks(site: Site, machines: tuple[Machines, ...], warnings: list[tuple[str, str]]) -> Figure | None:
    """Racks of everything but servers: as given, else packed in the order given, by height and by known power."""
    if site.management_racks:
        return site.management_racks
    standing = [machine for machine in machines if not machine.in_server]
    unknown = [machine.name for machine in standing if machine.height_u is None]
    if unknown:
        names = ", ".join(dict.fromkeys(unknown))
        warnings.append((f"the height of {names} is not known: no rack is counted; ask the vendor", "unknown-height"))
    kinds = []
    for machine in standing:
        if machine.height_u and machine.count.value:
            power = machine.power_w or no_power()
            kinds.append(packing.Kind(machine.height_u, power, machine.count))
            warnings.extend(_too_much(site, machine.name, machine.height_u, power))
    return packing.racks_of(kinds, packing.Room(site.rack_units, site.rack_power_w))


def _too_much(site: Site, name: str, height_u: Figure, power_w: Figure) -> Iterator[tuple[str, str]]:
    """Warnings about a machine that is too high for an empty rack, or draws more than one has."""
    if height_u.value > site.rack_units.value:
        yield (
            f"{name} is {height_u.value} U high; a rack has {site.rack_units.value} U: one each is counted",
            "rack-units",
        )
    if power_w.value > site.rack_power_w.value:
        message = f"{name} draws up to {power_w.value} W; a rack has {site.rack_power_w.value} W: one each is counted"
        yield message, "rack-power"

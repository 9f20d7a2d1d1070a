"""What racks weigh on the floor and give off as heat.

What has no weight in the catalogue is named, and the sum is a lower bound. Cables and modules are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from bomgen.catalog.parts import Pdu, Rack, Server
from bomgen.core.provenance import Figure, formula
from bomgen.plan.types import Site
from bomgen.site.machines import Machines
from bomgen.site.power import power_of
from bomgen.site.racks import units_bought

ANY_RACK, ANY_PDU = "rack", "rack PDU"
"""What racks and PDUs are called of which the plan names no part."""
OF_ALL, OF_RACK, OF_FLOOR = "weight_kg", "compute_rack_weight_kg", "compute_rack_floor_load_kg_per_m2"
"""Figures that leave out what nobody knows the weight of."""

JOULES_OF_A_BTU = Fraction("1055.05585262")
"""Of the International Table; NIST SP 811 (2008), appendix B.8."""
SECONDS_AN_HOUR = 3600
SQUARE_MILLIMETRES_OF_A_SQUARE_METRE = 1_000_000


class Heavy(NamedTuple):
    """Equal things that weigh something: how many, and the weight of one [kg] where it is known."""

    name: str
    pieces: Figure
    weight_kg: Figure | None


class Weight(NamedTuple):
    """A weight as far as it is known."""

    weight_kg: Figure | None
    unknown: tuple[str, ...]
    """What is left out, by name."""


class Load(NamedTuple):
    """Weight and heat of the site; None is what nobody asks for or knows."""

    weight_kg: Figure | None
    """Everything in racks, and the racks; without cables and modules."""
    compute_rack_weight_kg: Figure | None
    compute_rack_floor_load: Figure | None
    """kg/m2, on what the rack covers."""
    compute_rack_power_w: Figure | None
    compute_rack_heat: Figure | None
    """BTU/h."""
    heat: Figure | None
    lower_bounds: frozenset[str] = frozenset()
    """The weights that leave something out, by name."""
    warnings: tuple[tuple[str, str], ...] = ()
    """Message and rule."""


NO_LOAD = Load(None, None, None, None, None, None)


class Standing(NamedTuple):
    """What stands in racks beside the machines of the fabrics, and the racks."""

    server: Server | None
    servers: Figure | None
    """Spare ones with them; trays of a rack-scale system."""
    per_rack: Figure | None
    compute_racks: Figure | None
    management_racks: Figure | None
    compute_pdus: Figure | None
    management_pdus: Figure | None


@formula("kg")
def weight_of(pieces: int, each: Fraction) -> Fraction:
    """Weight of equal things."""
    return pieces * each


@formula("kg")
def sum_of_weights(weight: Fraction, more_weight: Fraction) -> Fraction:
    """Weight of different things."""
    return weight + more_weight


@formula("kg/m2")
def floor_load(weight: Fraction, width_mm: int, depth_mm: int) -> Fraction:
    """Weight on a square metre of what a rack covers."""
    return Fraction(weight) / (width_mm * depth_mm) * SQUARE_MILLIMETRES_OF_A_SQUARE_METRE


@formula("BTU/h", source="NIST SP 811 (2008), appendix B.8: 1 Btu (International Table) = 1055.05585262 J")
def heat_of(power_w: int) -> Fraction:
    """Heat of machines: all that they draw."""
    return Fraction(power_w) * SECONDS_AN_HOUR / JOULES_OF_A_BTU


def weigh(things: Sequence[Heavy]) -> Weight:
    """The weight of things as far as it is known, and what of them it leaves out."""
    weight: Figure | None = None
    present = [each for each in things if each.pieces.value]
    for each in present:
        if each.weight_kg:
            more = weight_of(each.pieces, each.weight_kg)
            weight = more if weight is None else sum_of_weights(weight, more)
    return Weight(weight, tuple(dict.fromkeys(each.name for each in present if each.weight_kg is None)))


def on_floor(weight: Figure | None, rack: Rack | None) -> Figure | None:
    """The load on the floor below a rack; None where its weight or what it covers is not known."""
    if weight is None or rack is None or rack.width_mm is None or rack.depth_mm is None:
        return None
    return floor_load(weight, rack.width_mm, rack.depth_mm)


def rack_as_heavy(rack: Rack | None, count: Figure) -> Heavy:
    """So many racks."""
    return Heavy(rack.identity.name, count, rack.weight_kg) if rack else Heavy(ANY_RACK, count, None)


def pdu_as_heavy(pdu: Pdu | None, count: Figure) -> Heavy:
    """So many PDUs."""
    return Heavy(pdu.identity.name, count, pdu.weight_kg) if pdu else Heavy(ANY_PDU, count, None)


def _everything(site: Site, standing: Standing, machines: Iterable[Machines]) -> list[Heavy]:
    """All that stands on the floor; a rack-scale system comes with its rack."""
    found, server = [], standing.server
    if server and standing.servers:
        found.append(Heavy(server.identity.name, units_bought(standing.servers, server), server.weight_kg))
    found += [Heavy(each.name, each.count, each.weight_kg) for each in machines if not each.in_server]
    bought = not (server and server.rack_scale)
    if bought and standing.compute_racks:
        found.append(rack_as_heavy(site.rack, standing.compute_racks))
    if bought and standing.compute_pdus:
        found.append(pdu_as_heavy(site.pdu, standing.compute_pdus))
    if standing.management_racks:
        found.append(rack_as_heavy(site.rack, standing.management_racks))
    if standing.management_pdus:
        found.append(pdu_as_heavy(site.management_pdu, standing.management_pdus))
    return found


def loads(site: Site, standing: Standing, machines: Iterable[Machines], power_w: Figure | None) -> Load:
    """Weight and heat of the site, whose machines draw `power_w`, and of a full compute rack."""
    server, warnings = standing.server, []
    whole = weigh(_everything(site, standing, machines))
    if whole.unknown:
        names = ", ".join(whole.unknown)
        message = f"the weight of {names} is not known; the sum leaves it out: ask the vendor"
        warnings.append((message, "unknown-weight"))
    light = {OF_ALL} if whole.unknown else set()
    weight, drawn, floor = None, None, None
    if server and server.rack_scale:
        weight, drawn = server.weight_kg, server.power_w
    elif server and standing.per_rack:
        drawn = power_of(standing.per_rack, server.power_w) if server.power_w else None
        inside = weigh([Heavy("", standing.per_rack, server.weight_kg), pdu_as_heavy(site.pdu, site.pdus_per_rack)])
        weight = inside.weight_kg if server.weight_kg else None
        warnings += _overloaded(site.rack, weight)
        if weight and site.rack and site.rack.weight_kg:
            weight = sum_of_weights(weight, site.rack.weight_kg)
        if inside.unknown or site.rack is None or site.rack.weight_kg is None:
            light |= {OF_RACK, OF_FLOOR}
        floor = on_floor(weight, site.rack)
    return Load(
        weight_kg=whole.weight_kg,
        compute_rack_weight_kg=weight,
        compute_rack_floor_load=floor,
        compute_rack_power_w=drawn,
        compute_rack_heat=heat_of(drawn) if drawn else None,
        heat=heat_of(power_w) if power_w else None,
        lower_bounds=frozenset(light),
        warnings=tuple(warnings),
    )


def _overloaded(rack: Rack | None, weight: Figure | None) -> list[tuple[str, str]]:
    """A warning when a rack holds more than it bears."""
    if rack is None or rack.load_kg is None or weight is None or weight.value <= rack.load_kg.value:
        return []
    held, borne = float(weight.value), float(rack.load_kg.value)
    return [(f"a compute rack holds {held:g} kg; {rack.identity.name} bears {borne:g} kg", "rack-load")]

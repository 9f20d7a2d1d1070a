"""Weight and heat of racks, and the load on the floor.

Items without a weight in the catalogue are named, and the sum is a lower bound. Cables and modules are excluded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from bomgen.catalog.parts import Pdu, Rack, Server
from bomgen.core.messages import message
from bomgen.core.provenance import Figure, formula, product, sum_of
from bomgen.core.units import JOULES_OF_A_BTU, SECONDS_AN_HOUR
from bomgen.plan.types import Site
from bomgen.site.power import Equipment, power_of, sum_of_power
from bomgen.site.racks import RACK_LOAD, units_bought

TOTAL_WEIGHT, RACK_WEIGHT, FLOOR_LOAD = "weight_kg", "compute_rack_weight_kg", "compute_rack_floor_load_kg_per_m2"
"""Names of the figures that are lower bounds when a weight is not known."""
RACK, PDU = "rack", "rack-pdu"
"""The messages that name a rack and a PDU that are not parts of the catalogue."""
SQUARE_MILLIMETRES_OF_A_SQUARE_METRE = 1_000_000


class WeighedItems(NamedTuple):
    """Equal items: how many, and the weight of one [kg] where it is known."""

    name: str
    pieces: Figure
    weight_kg: Figure | None


class Weight(NamedTuple):
    """A weight as far as it is known."""

    weight_kg: Figure | None
    unknown: tuple[str, ...]
    """Names of the items of unknown weight, which are excluded."""
    estimated: tuple[str, ...]
    """Names of the items whose weight is an estimate."""


class Load(NamedTuple):
    """Weight and heat of the site; a figure is None when it is not specified or unknown."""

    weight_kg: Figure | None
    """All racks with everything in them, without cables and modules."""
    heat_btu_per_hour: Figure | None
    compute_rack_power_w: Figure | None
    compute_rack_heat_btu_per_hour: Figure | None
    compute_rack_weight_kg: Figure | None
    compute_rack_floor_load_kg_per_m2: Figure | None
    """Load over the footprint of the rack."""
    lower_bounds: frozenset[str] = frozenset()
    """Names of the weights that are lower bounds."""
    unweighed: tuple[str, ...] = ()
    """Names of items on the floor of unknown weight."""
    warnings: tuple[tuple[str, str], ...] = ()
    """Message and rule."""


NO_LOAD = Load(None, None, None, None, None, None)


class FullRack(NamedTuple):
    """The rack of servers with the highest power."""

    servers: Figure
    others: tuple[tuple[Equipment, Figure], ...]
    """The machines that share it, and how many."""


class SiteContents(NamedTuple):
    """Servers, racks and PDUs of a site."""

    server: Server | None
    servers: Figure | None
    """Including spares; trays of a rack-scale system."""
    per_rack: Figure | None
    compute_racks: Figure | None
    management_racks: Figure | None
    compute_pdus: Figure | None
    management_pdus: Figure | None


weight_of = product("weight_of", "kg", "pieces", "each")
"""Weight of equal items."""
sum_of_weights = sum_of("sum_of_weights", "kg", "weight", "more_weight")
"""Weight of different items."""


@formula("kg/m2")
def floor_load(weight: Fraction, width_mm: int, depth_mm: int) -> Fraction:
    """Weight per square metre of a rack's footprint."""
    return Fraction(weight) / (width_mm * depth_mm) * SQUARE_MILLIMETRES_OF_A_SQUARE_METRE


@formula("BTU/h", source="NIST SP 811 (2008), appendix B.8: 1 Btu (International Table) = 1055.05585262 J")
def heat_of(power_w: int) -> Fraction:
    """Heat of machines, which is all the power they draw."""
    return Fraction(power_w) * SECONDS_AN_HOUR / JOULES_OF_A_BTU


def weigh(items: Sequence[WeighedItems]) -> Weight:
    """Return the total weight of items as far as it is known, with the names of those left out and those estimated."""
    weight: Figure | None = None
    present = [item for item in items if item.pieces.value]
    for item in present:
        if item.weight_kg:
            more = weight_of(item.pieces, item.weight_kg)
            weight = more if weight is None else sum_of_weights(weight, more)
    unknown = dict.fromkeys(item.name for item in present if item.weight_kg is None)
    estimated = dict.fromkeys(item.name for item in present if item.weight_kg and item.weight_kg.bounds)
    return Weight(weight, tuple(unknown), tuple(estimated))


def rack_floor_load(weight: Figure | None, rack: Rack | None) -> Figure | None:
    """Return the floor load of a rack; None when its weight or footprint is unknown."""
    if weight is None or rack is None or rack.width_mm is None or rack.depth_mm is None:
        return None
    return floor_load(weight, rack.width_mm, rack.depth_mm)


def weighed(part: Rack | Pdu | None, count: Figure, otherwise: str) -> WeighedItems:
    """Return a number of racks or PDUs as weighed items; `otherwise` is the message that names an unknown part."""
    if part is None:
        return WeighedItems(message(otherwise), count, None)
    return WeighedItems(part.identity.name, count, part.weight_kg)


def _everything(site: Site, contents: SiteContents, machines: Iterable[Equipment]) -> list[WeighedItems]:
    """Return everything on the floor; a rack-scale system includes its rack."""
    items, server = [], contents.server
    if server and contents.servers:
        items.append(WeighedItems(server.identity.name, units_bought(contents.servers, server), server.weight_kg))
    items += [
        WeighedItems(machine.name, machine.count, machine.weight_kg) for machine in machines if not machine.in_server
    ]
    bought = not (server and server.rack_scale)
    if bought and contents.compute_racks:
        items.append(weighed(site.rack, contents.compute_racks, RACK))
    if bought and contents.compute_pdus:
        items.append(weighed(site.pdu, contents.compute_pdus, PDU))
    if contents.management_racks:
        items.append(weighed(site.rack, contents.management_racks, RACK))
    if contents.management_pdus:
        items.append(weighed(site.management_pdu, contents.management_pdus, PDU))
    return items


def site_load(
    site: Site, contents: SiteContents, full: FullRack | None, machines: Iterable[Equipment], power_w: Figure | None
) -> Load:
    """Return weight and heat of the site, whose machines draw `power_w`, and of a full compute rack."""
    server, warnings = contents.server, []
    whole = weigh(_everything(site, contents, machines))
    if whole.estimated:
        warnings.append((message("estimated-weight", names=whole.estimated), "estimated-weight"))
    if whole.unknown:
        warnings.append((message("unknown-weight", names=whole.unknown), "unknown-weight"))
    lower_bounds = {TOTAL_WEIGHT} if whole.unknown else set()
    weight, drawn, floor = None, None, None
    if server and server.rack_scale:
        weight, drawn = server.weight_kg, server.power_w
    elif server and full:
        drawn = power_of(full.servers, server.power_w) if server.power_w else None
        for machine, count in full.others:
            drawn = drawn and machine.power_w and sum_of_power(drawn, power_of(count, machine.power_w))
        inside = weigh(
            [
                WeighedItems("", full.servers, server.weight_kg),
                *(WeighedItems(machine.name, count, machine.weight_kg) for machine, count in full.others),
                weighed(site.pdu, site.pdus_per_rack, PDU),
            ]
        )
        weight = inside.weight_kg if server.weight_kg else None
        if weight and site.rack and site.rack.load_kg and weight.value > site.rack.load_kg.value:
            held, borne = f"{float(weight.value):g}", f"{float(site.rack.load_kg.value):g}"
            text = message("rack-load", held=held, rack=site.rack.identity.name, borne=borne)
            warnings.append((text, RACK_LOAD))
        if weight and site.rack and site.rack.weight_kg:
            weight = sum_of_weights(weight, site.rack.weight_kg)
        if inside.unknown or site.rack is None or site.rack.weight_kg is None:
            lower_bounds |= {RACK_WEIGHT, FLOOR_LOAD}
        floor = rack_floor_load(weight, site.rack)
    return Load(
        weight_kg=whole.weight_kg,
        compute_rack_weight_kg=weight,
        compute_rack_floor_load_kg_per_m2=floor,
        compute_rack_power_w=drawn,
        compute_rack_heat_btu_per_hour=heat_of(drawn) if drawn else None,
        heat_btu_per_hour=heat_of(power_w) if power_w else None,
        lower_bounds=frozenset(lower_bounds),
        warnings=tuple(warnings),
        unweighed=whole.unknown,
    )

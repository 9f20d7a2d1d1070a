"""Totals of a rack: rack units, power, heat, weight; and a check of its PDU outlets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bomgen.catalog.parts import Server
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Reference, product, sum_of
from bomgen.plan.types import RACK_KINDS, Site
from bomgen.results.elevations.types import PANEL, Elevation, HungPdu, Slot, Sums
from bomgen.site.power import UNKNOWN_POWER, power_of, sum_of_power
from bomgen.site.power_supply import (
    OUTLET,
    SuppliedRack,
    outlet_warnings,
    outlets_of_pdus,
    outlets_of_servers,
    pdu_warnings,
    power_supply_warnings,
    sum_of_outlets,
    unrated_pdu_warnings,
)
from bomgen.site.weight_and_heat import PDU, RACK, WeighedItems, heat_of, weigh, weighed

PLACED = Reference(message("source-places"))
COMPUTE, _ = RACK_KINDS


units_of = product("units_of", "U", "pieces", "height_u")
"""Rack units of equal devices."""
sum_of_units = sum_of("sum_of_units", "U", "units", "more_units")
"""Rack units of different devices."""


def sums_of(site: Site, kind: str, server: Server | None, slots: Sequence[Slot], pdus: Sequence[HungPdu]) -> Sums:
    """Return the totals of one rack; a rack-scale system includes its rack and supply, and has totals as a whole."""
    pieces = [_pieces(slot.pieces) for slot in slots]
    powered = [(slot, count) for slot, count in zip(slots, pieces, strict=True) if slot.device != PANEL]
    system = server if server and server.rack_scale and kind == COMPUTE and slots else None
    part, one = site.pdu if kind == COMPUTE else site.management_pdu, _pieces(1)
    hung = _pieces(len(pdus))
    missing: set[str] = set()
    if system:
        power = UNKNOWN_POWER if all(slot.spare for slot in slots) else system.power_w
        weight = weigh([WeighedItems(system.identity.name, one, system.weight_kg)])
    else:
        power = _power(powered, missing)
        heavy = [WeighedItems(_name(slot), count, slot.weight_kg) for slot, count in zip(slots, pieces, strict=True)]
        weight = weigh([*heavy, weighed(site.rack, one, RACK), weighed(part, hung, PDU)])
    if weight.unknown:
        missing.add("weight_kg")
    offered = {form: outlets_of_pdus(hung, each) for form, each in part.outlets.items()} if part and pdus else {}
    return Sums(
        units_used=_units(slots, pieces, pdus),
        power_w=power,
        heat=heat_of(power) if power else None,
        weight_kg=weight.weight_kg,
        outlets=_outlets(powered, missing),
        pdu_outlets={} if system else offered,
        lower_bounds=frozenset(missing),
    )


def _pieces(number: int) -> Figure:
    return Figure(number, "pieces", Cited(message("pieces-in-rack"), (PLACED,), "high"))


def _name(slot: Slot) -> str:
    return slot.identity.name if slot.identity else slot.device


def _units(slots: Sequence[Slot], pieces: Sequence[Figure], pdus: Sequence[HungPdu]) -> Figure | None:
    if any(slot.unit is None or slot.height_u is None for slot in slots):
        return None
    found = units_of(_pieces(0), _height(0))
    for slot, count in zip(slots, pieces, strict=True):
        found = sum_of_units(found, units_of(count, _height(slot.height_u or 0)))
    for pdu in pdus:
        if pdu.unit is not None:
            found = sum_of_units(found, _height(pdu.height_u))
    return found


def _height(units: int) -> Figure:
    return Figure(units, "U", Cited(message("units-of-machine"), (PLACED,), "high"))


def _power(powered: Sequence[tuple[Slot, Figure]], missing: set[str]) -> Figure | None:
    found: Figure | None = None
    for slot, count in powered:
        if slot.drawn_w is None:
            missing.add("power_w")
            continue
        more = power_of(count, slot.drawn_w)
        found = more if found is None else sum_of_power(found, more)
    return found


def _outlets(powered: Sequence[tuple[Slot, Figure]], missing: set[str]) -> dict[str, Figure]:
    """Return the outlets that devices need, by form: one per power supply."""
    found: dict[str, Figure] = {}
    for slot, count in powered:
        if slot.supplies is None:
            missing.add("outlets")
            continue
        form, more = OUTLET[slot.supplies.inlet], outlets_of_servers(count, slot.supplies.pieces)
        found[form] = sum_of_outlets(found[form], more) if form in found else more
    return found


# outlets ------------------------------------------------------------------------------------------------------------
# Whether the PDUs of management racks have the outlets and the power that their devices need.

_, MANAGEMENT = RACK_KINDS


def doubts(site: Site, feeds: Figure | None, groups: Sequence[Elevation]) -> Iterator[tuple[str, str]]:
    """Yield warnings about management racks, each about the worst one: message and rule."""
    racks = [_fed(site, feeds, group) for group in groups if group.kind == MANAGEMENT]
    for form in sorted({form for rack in racks for form in rack.outlets}):
        worst = max((rack for rack in racks if form in rack.outlets), key=lambda rack: rack.outlets[form].value)
        yield from outlet_warnings(worst._replace(outlets={form: worst.outlets[form]}))
    drawing = [rack for rack in racks if rack.power_w]
    if drawing:
        worst = max(drawing, key=lambda rack: rack.power_w.value if rack.power_w else 0)
        yield from pdu_warnings(site, worst, feeds)
        yield from unrated_pdu_warnings(site, worst, feeds)
    machines = {
        slot.identity.name: slot.supplies
        for group in groups
        if group.kind == MANAGEMENT
        for slot in group.slots
        if slot.identity
    }
    for name, supplies in machines.items() if racks else ():
        yield from power_supply_warnings(site, racks[0], feeds, name, supplies)


def _fed(site: Site, feeds: Figure | None, group: Elevation) -> SuppliedRack:
    """Return the first of equal racks, for the checks of its supply."""
    number, _ = group.racks[0]
    used = group.sums.units_used
    lying = sum(pdu.height_u for pdu in group.pdus)
    return SuppliedRack(
        name=message("management-rack", number=number),
        machines=message("machines-of-management-rack", number=number),
        power_w=group.sums.power_w,
        outlets=group.sums.outlets,
        pdu=site.management_pdu,
        pdus=len(group.pdus),
        room_u=int(group.units - (used.value - lying)) if used else None,
        own_feeds=int(feeds.value) if feeds else 0,
        fewer=message("more-racks"),
    )

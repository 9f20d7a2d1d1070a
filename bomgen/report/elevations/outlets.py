"""Whether the PDUs of management racks have the outlets and carry the power that what stands there needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bomgen.core.messages import message
from bomgen.core.provenance import Figure
from bomgen.plan.types import RACK_KINDS, Site
from bomgen.report.elevations.types import Elevation
from bomgen.site.power_supply import (
    SuppliedRack,
    outlet_warnings,
    pdu_warnings,
    power_supply_warnings,
    unrated_pdu_warnings,
)

_, MANAGEMENT = RACK_KINDS


def doubts(site: Site, feeds: Figure | None, groups: Sequence[Elevation]) -> Iterator[tuple[str, str]]:
    """Warnings about management racks, each about the worst of them: message and rule."""
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
    """The first of equal racks."""
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

"""Rack elevations as data, as in bom.json, and as text.

This module has no NumPy, so that plans without a site can be read without it; `rack_placement` calculates the
elevations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from bomgen.catalog.parts import Identity, PowerSupplies, Server
from bomgen.core.language import Language
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Reference, json_value, product, range_data, sum_of
from bomgen.plan.types import RACK_KINDS, Site
from bomgen.site.rack_loads import (
    OUTLET,
    PDU,
    RACK,
    SuppliedRack,
    WeighedItems,
    heat_of,
    outlet_warnings,
    outlets_of_pdus,
    outlets_of_servers,
    pdu_warnings,
    power_supply_warnings,
    sum_of_outlets,
    unrated_pdu_warnings,
    weigh,
    weighed,
)
from bomgen.site.racks import UNKNOWN_POWER, power_of, sum_of_power

Span = tuple[int, int]
"""The first and last of consecutive numbers."""
Named = tuple[str, str]
"""The names of the first and last of consecutive devices."""
TRAY = "tray"
"""A compute tray of a rack-scale system, whose position in the rack its vendor defines."""
PANEL = "panel"
"""A patch panel, which needs neither power nor outlets."""
MOST_NAMED = 12
"""Maximum number of rack ranges on a line."""
NO_ROOM, NO_HEIGHT = "room", "height"
"""Reasons why devices are not in a rack: the racks are full, or the height is unknown."""


class Slot(NamedTuple):
    """Equal devices stacked in each of equal racks."""

    device: str
    """server, tray, leaf, spine, core, panel, or host for other hosts."""
    identity: Identity | None
    unit: int | None
    """Lowest rack unit; None if the position in the rack is not defined."""
    height_u: int | None
    """Height of one device."""
    pieces: int
    """Devices per rack."""
    names: tuple[Named, ...]
    """Names of all devices, rack by rack, from the bottom."""
    boxes: tuple[Named, ...]
    """For each device from the bottom: its name in the first rack and in the last."""
    power_w: Figure | None
    """Maximum power of one device."""
    weight_kg: Figure | None
    supplies: PowerSupplies | None
    spare: bool = False
    """Whether they are spare servers, which take rack units and weight but no power."""

    @property
    def drawn_w(self) -> Figure | None:
        """Return the power of one device in operation."""
        return UNKNOWN_POWER if self.spare else self.power_w

    @property
    def top(self) -> int | None:
        """Return the topmost rack unit in use."""
        return None if self.unit is None or self.height_u is None else self.unit + self.pieces * self.height_u - 1


class HungPdu(NamedTuple):
    """A PDU of each of equal racks."""

    name: Named | None
    """Its name in the first rack and in the last; None if PDUs are not counted individually."""
    second: str | None
    """Its name in the second rack, which shows the number step between racks; None with one rack."""
    feed: str | None
    """Letter of its power feed."""
    unit: int | None
    """Lowest rack unit if it is mounted horizontally; None if it is vertical and takes no rack units."""
    height_u: int


class Sums(NamedTuple):
    """Totals of one of equal racks; None if nothing is known."""

    units_used: Figure | None
    """Includes PDUs that take rack units."""
    power_w: Figure | None
    heat: Figure | None
    """In BTU/h."""
    weight_kg: Figure | None
    """Includes devices, the rack and its PDUs."""
    outlets: Mapping[str, Figure]
    """Outlets that the devices need, by form."""
    pdu_outlets: Mapping[str, Figure]
    lower_bounds: frozenset[str]
    """Names of the totals that are lower bounds."""


class Elevation(NamedTuple):
    """Racks with the same kinds of device at the same units."""

    kind: str
    """compute or management."""
    racks: tuple[Span, ...]
    """Numbers of the racks over all rows."""
    rows: tuple[Span, ...]
    number: int
    units: int
    slots: tuple[Slot, ...]
    pdus: tuple[HungPdu, ...]
    sums: Sums

    @property
    def feeds(self) -> dict[str, int]:
        """Return the number of PDUs by the letter of their feed."""
        letters = [pdu.feed for pdu in self.pdus if pdu.feed]
        return {letter: letters.count(letter) for letter in sorted(set(letters))}


class Unplaced(NamedTuple):
    """Devices that are not in a rack."""

    name: str
    number: int
    of: int
    """Total number of these devices."""
    why: str
    """NO_ROOM or NO_HEIGHT."""


class RackBlock(NamedTuple):
    """Adjacent racks of one kind in a row."""

    kind: str
    """compute, management, or FREE."""
    first: int
    """Number of the first rack."""
    racks: int


class Elevations(NamedTuple):
    """The racks of a site: their elevations and floor positions."""

    units: int
    """Rack units per rack."""
    groups: tuple[Elevation, ...]
    """Ordered by their first rack."""
    rows: tuple[tuple[RackBlock, ...], ...]
    unplaced: tuple[Unplaced, ...]
    warnings: tuple[tuple[str, str], ...]
    """Pairs of message and rule."""


def spans_text(spans: tuple[Span, ...], most: int = 0) -> str:
    """Return ranges of numbers as text, such as 1-16, 23-38; above `most` ranges, how many follow."""
    shown = spans[:most] if most else spans
    text = ", ".join(f"{first}" if first == last else f"{first}–{last}" for first, last in shown)
    return text if len(shown) == len(spans) else f"{text}, … +{len(spans) - len(shown)}"


def left_out(elevations: Elevations, shown: tuple[Elevation, ...]) -> str:
    """Return the numbers of racks that are not among those shown, as text; empty if all are shown."""
    drawn = {group.racks for group in shown}
    spans = sorted(span for group in elevations.groups if group.racks not in drawn for span in group.racks)
    joined: list[Span] = []
    for first, last in spans:
        if joined and joined[-1][1] + 1 == first:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return spans_text(tuple(joined), MOST_NAMED)


def dealt_text(named: Named, second: str | None) -> str:
    """Return the names of devices of which each rack has one, such as pdu-01, 03 … 19 with two per rack."""
    first, last = named
    stem, _, number = first.rpartition("-")
    if second is None or not all(each.rpartition("-")[0] == stem for each in (second, last)):
        return named_text(named)
    then, end = (each.rpartition("-")[2] for each in (second, last))
    if int(then) == int(number) + 1:
        return named_text(named)
    return f"{first}, {then}" if then == end else f"{first}, {then} … {end}"


def named_text(named: Named) -> str:
    """Return the names of consecutive devices: the first, and how the last differs."""
    first, last = named
    if first == last:
        return first
    stem = first.rpartition("-")[0]
    alike = stem and last.rpartition("-")[0] == stem
    return f"{first} … {last.rpartition('-')[2] if alike else last}"


# data ---------------------------------------------------------------------------------------------------------------
# Elevations as plain data, as in bom.json: groups of equal racks keep many racks short.


def to_data(elevations: Elevations) -> dict[str, Any]:
    """Return the elevations and the unplaced devices, for `site` in bom.json."""
    return {
        "elevations": [_group(group) for group in elevations.groups],
        "rows": [[block._asdict() for block in row] for row in elevations.rows],
        "unplaced": [devices._asdict() for devices in elevations.unplaced],
    }


def _group(group: Elevation) -> dict[str, Any]:
    sums = group.sums
    return {
        "kind": group.kind,
        "racks": [list(span) for span in group.racks],
        "rows": [list(span) for span in group.rows],
        "number": group.number,
        "units": group.units,
        "units_used": _value(sums.units_used),
        "power_w": _value(sums.power_w),
        **_range("power_w", sums.power_w),
        "heat_btu_per_hour": _value(sums.heat),
        **_range("heat_btu_per_hour", sums.heat),
        "weight_kg": _value(sums.weight_kg),
        "outlets": {form: _value(count) for form, count in sums.outlets.items()},
        "pdu_outlets": {form: _value(count) for form, count in sums.pdu_outlets.items()},
        "lower_bounds": sorted(sums.lower_bounds),
        "slots": [
            {
                **{key: getattr(slot, key) for key in ("unit", "height_u", "pieces", "device")},
                "part": slot.identity.id if slot.identity else None,
                "devices": [list(named) for named in slot.names],
            }
            for slot in group.slots
        ],
        "pdus": [
            {
                "feed": pdu.feed,
                "unit": pdu.unit,
                "height_u": pdu.height_u,
                "first": pdu.name[0] if pdu.name else None,
                "last": pdu.name[1] if pdu.name else None,
            }
            for pdu in group.pdus
        ],
    }


def _value(figure: Figure | None) -> Any:
    return json_value(figure.value) if figure else None


def _range(key: str, figure: Figure | None) -> dict[str, Any]:
    """Return the range of an estimate under its own key; nothing for other figures."""
    return {f"{key}_range": range_data(figure.bounds)} if figure and figure.bounds else {}


# words --------------------------------------------------------------------------------------------------------------
# Texts about a rack for drawings and tables.

ANY = "PDU"
"""Name of a PDU that is not counted individually."""


def pdu_words(language: Language, pdu: HungPdu) -> str:
    """Return the name of a PDU in the first and last of equal racks, with its feed."""
    name = dealt_text(pdu.name, pdu.second) if pdu.name else ANY
    return language.word("ui-pdu-on-feed", name=name, feed=pdu.feed) if pdu.feed else name


# sums ---------------------------------------------------------------------------------------------------------------
# Totals of a rack: rack units, power, heat, weight; and a check of its PDU outlets.

PLACED = Reference(message("source-places"))
COMPUTE, MANAGEMENT = RACK_KINDS


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
        draws = [power_of(count, slot.drawn_w) for slot, count in powered if slot.drawn_w]
        power = reduce(sum_of_power, draws) if draws else None
        if len(draws) < len(powered):
            missing.add("power_w")
        heavy = [
            WeighedItems(slot.identity.name if slot.identity else slot.device, count, slot.weight_kg)
            for slot, count in zip(slots, pieces, strict=True)
        ]
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


def _units(slots: Sequence[Slot], pieces: Sequence[Figure], pdus: Sequence[HungPdu]) -> Figure | None:
    if any(slot.unit is None or slot.height_u is None for slot in slots):
        return None
    stacks = [units_of(count, _height(slot.height_u or 0)) for slot, count in zip(slots, pieces, strict=True)]
    lying = [_height(pdu.height_u) for pdu in pdus if pdu.unit is not None]
    return reduce(sum_of_units, (units_of(_pieces(0), _height(0)), *stacks, *lying))


def _height(units: int) -> Figure:
    return Figure(units, "U", Cited(message("units-of-machine"), (PLACED,), "high"))


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

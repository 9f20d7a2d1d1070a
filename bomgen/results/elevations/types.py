"""Rack elevations as data, as in bom.json, and as text.

This module has no NumPy, so that plans without a site can be read without it; `elevations.placement` calculates the
elevations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bomgen.catalog.parts import Identity, PowerSupplies
from bomgen.core.language import Language
from bomgen.core.provenance import Figure, json_value, range_data
from bomgen.site.power import UNKNOWN_POWER

Span = tuple[int, int]
"""The first and last of consecutive numbers."""
Named = tuple[str, str]
"""The names of the first and last of consecutive devices."""
TRAY = "tray"
"""A compute tray of a rack-scale system, whose position in the rack its vendor defines."""
PANEL = "panel"
"""A patch panel, which needs neither power nor outlets."""
FREE = "free"
"""A rack on the floor in addition to those that were counted."""
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
        "slots": [_slot(slot) for slot in group.slots],
        "pdus": [_pdu(pdu) for pdu in group.pdus],
    }


def _slot(slot: Slot) -> dict[str, Any]:
    return {
        "unit": slot.unit,
        "height_u": slot.height_u,
        "pieces": slot.pieces,
        "device": slot.device,
        "part": slot.identity.id if slot.identity else None,
        "devices": [list(named) for named in slot.names],
    }


def _pdu(pdu: HungPdu) -> dict[str, Any]:
    return {
        "feed": pdu.feed,
        "unit": pdu.unit,
        "height_u": pdu.height_u,
        "first": pdu.name[0] if pdu.name else None,
        "last": pdu.name[1] if pdu.name else None,
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

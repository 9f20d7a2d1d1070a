"""What stands in the racks, as data, as bom.json holds it, and in words.

The module is plain data, so that readers of a plan without a site need no NumPy; `elevations.standing` finds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bomgen.catalog.parts import Identity, PowerSupplies
from bomgen.core.language import Language
from bomgen.core.plain_data import json_value, range_data
from bomgen.core.provenance import Figure
from bomgen.site.power import UNKNOWN_POWER

Span = tuple[int, int]
"""The first and the last of numbers in a row."""
Named = tuple[str, str]
"""What the first and the last of devices in a row are called."""
TRAY = "tray"
"""A compute tray of a rack-scale system, whose vendor knows where in its rack it stands."""
PANEL = "panel"
"""A patch panel, which needs neither power nor outlets."""
FREE = "free"
"""A rack on the floor that nothing was counted for, beside the kinds of rack of the plan."""
MOST_NAMED = 12
"""Ranges of racks that a line names."""
NO_ROOM, NO_HEIGHT = "room", "height"
"""Why machines stand in no rack: the racks are full, or nobody knows how high they are."""


class Slot(NamedTuple):
    """Equal devices one above the other, in each of equal racks."""

    device: str
    """server, tray, leaf, spine, core, panel, or host for other machines."""
    identity: Identity | None
    unit: int | None
    """The lowest unit; None: they are somewhere in the rack."""
    height_u: int | None
    """Of one."""
    pieces: int
    """In one rack."""
    names: tuple[Named, ...]
    """Of all of them, rack after rack and from below."""
    boxes: tuple[Named, ...]
    """Of each piece, from below: what stands there in the first of the racks, and in the last."""
    power_w: Figure | None
    """Of one, at most."""
    weight_kg: Figure | None
    supplies: PowerSupplies | None
    spare: bool = False
    """Spare servers take room and weigh; they are off, so that they draw nothing and give off no heat."""

    @property
    def drawn_w(self) -> Figure | None:
        """What one draws while the cluster works."""
        return UNKNOWN_POWER if self.spare else self.power_w

    @property
    def top(self) -> int | None:
        """The topmost unit that they fill."""
        return None if self.unit is None or self.height_u is None else self.unit + self.pieces * self.height_u - 1


class HungPdu(NamedTuple):
    """A PDU of each of equal racks."""

    name: Named | None
    """In the first rack and in the last; None: nobody counts PDUs one by one."""
    second: str | None
    """In the second rack, which shows how many PDUs lie between; None where there is none."""
    feed: str | None
    """Letter of the feed that it hangs on."""
    unit: int | None
    """The lowest unit of one that lies in the rack; None: it stands upright beside the units."""
    height_u: int


class Sums(NamedTuple):
    """What one of equal racks holds and needs; None where nothing of it is known."""

    units_used: Figure | None
    """Those of PDUs that lie in the rack with them."""
    power_w: Figure | None
    heat: Figure | None
    """BTU/h."""
    weight_kg: Figure | None
    """Of the machines, the rack and its PDUs."""
    outlets: Mapping[str, Figure]
    """That the machines need, by form."""
    pdu_outlets: Mapping[str, Figure]
    lower_bounds: frozenset[str]
    """The names of those that leave something out."""


class Elevation(NamedTuple):
    """Racks that hold the same kinds of device at the same units."""

    kind: str
    """compute or management."""
    racks: tuple[Span, ...]
    """By their numbers over all rows."""
    rows: tuple[Span, ...]
    number: int
    units: int
    slots: tuple[Slot, ...]
    pdus: tuple[HungPdu, ...]
    sums: Sums

    @property
    def feeds(self) -> dict[str, int]:
        """PDUs by the letter of their feed."""
        letters = [pdu.feed for pdu in self.pdus if pdu.feed]
        return {letter: letters.count(letter) for letter in sorted(set(letters))}


class Unplaced(NamedTuple):
    """Devices that stand in no rack."""

    name: str
    number: int
    of: int
    """How many of them there are in all."""
    why: str
    """NO_ROOM or NO_HEIGHT."""


class RackBlock(NamedTuple):
    """Racks of one kind side by side in a row."""

    kind: str
    """compute, management, or FREE."""
    first: int
    """Number of the first rack."""
    racks: int


class Elevations(NamedTuple):
    """The racks of a site: what they hold, and how they stand on the floor."""

    units: int
    """Of a rack."""
    groups: tuple[Elevation, ...]
    """By their first rack."""
    rows: tuple[tuple[RackBlock, ...], ...]
    unplaced: tuple[Unplaced, ...]
    warnings: tuple[tuple[str, str], ...]
    """Message and rule."""


def spans_text(spans: tuple[Span, ...], most: int = 0) -> str:
    """Numbers as a reader writes them: 1-16, 23-38; of more than `most` spans the first and how many follow."""
    shown = spans[:most] if most else spans
    text = ", ".join(f"{first}" if first == last else f"{first}–{last}" for first, last in shown)
    return text if len(shown) == len(spans) else f"{text}, … +{len(spans) - len(shown)}"


def left_out(elevations: Elevations, shown: tuple[Elevation, ...]) -> str:
    """The numbers of the racks that are not among those shown; empty when all are."""
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
    """What devices are called of which every rack has one: pdu-01, 03 … 19, where each rack has two of them."""
    first, last = named
    stem, _, number = first.rpartition("-")
    if second is None or not all(each.rpartition("-")[0] == stem for each in (second, last)):
        return named_text(named)
    then, end = (each.rpartition("-")[2] for each in (second, last))
    if int(then) == int(number) + 1:
        return named_text(named)
    return f"{first}, {then}" if then == end else f"{first}, {then} … {end}"


def named_text(named: Named) -> str:
    """What devices in a row are called: the first, and what tells the last from it."""
    first, last = named
    if first == last:
        return first
    stem = first.rpartition("-")[0]
    alike = stem and last.rpartition("-")[0] == stem
    return f"{first} … {last.rpartition('-')[2] if alike else last}"


# data ---------------------------------------------------------------------------------------------------------------
# Elevations as plain data, as bom.json holds them: groups of equal racks, so that many racks stay short.


def to_data(elevations: Elevations) -> dict[str, Any]:
    """What the racks hold and what stands nowhere, for the site of bom.json."""
    return {
        "elevations": [_group(group) for group in elevations.groups],
        "rows": [
            [{"kind": kind, "first": first, "racks": racks} for kind, first, racks in row] for row in elevations.rows
        ],
        "unplaced": [
            {"name": each.name, "number": each.number, "of": each.of, "why": each.why} for each in elevations.unplaced
        ],
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
        "outlets": _values(sums.outlets),
        "pdu_outlets": _values(sums.pdu_outlets),
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


def _values(figures: Mapping[str, Figure]) -> dict[str, Any]:
    return {form: _value(figure) for form, figure in figures.items()}


def _value(figure: Figure | None) -> Any:
    """A figure as JSON holds it."""
    return json_value(figure.value) if figure else None


def _range(key: str, figure: Figure | None) -> dict[str, Any]:
    """The range of an estimate, under its own key."""
    return {f"{key}_range": range_data(figure.bounds)} if figure and figure.bounds else {}


# words --------------------------------------------------------------------------------------------------------------
# What drawings and tables both say of a rack.

ANY = "PDU"
"""What a PDU is called that nobody counts one by one."""


def pdu_words(language: Language, pdu: HungPdu) -> str:
    """A PDU of equal racks, in the first and in the last of them, with its feed."""
    name = dealt_text(pdu.name, pdu.second) if pdu.name else ANY
    return language.word("ui-pdu-on-feed", name=name, feed=pdu.feed) if pdu.feed else name

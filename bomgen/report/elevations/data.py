"""Elevations as plain data, as bom.json holds them: groups of equal racks, so that many racks stay short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bomgen.core.plain_data import plain, range_data
from bomgen.core.provenance import Figure
from bomgen.report.elevations.types import Elevation, Elevations, HungPdu, Slot


def to_data(found: Elevations) -> dict[str, Any]:
    """What the racks hold and what stands nowhere, for the site of bom.json."""
    return {
        "elevations": [_group(group) for group in found.groups],
        "rows": [[{"kind": kind, "first": first, "racks": racks} for kind, first, racks in row] for row in found.rows],
        "unplaced": [
            {"name": each.name, "number": each.number, "of": each.of, "why": each.why} for each in found.unplaced
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
    return plain(figure.value) if figure else None


def _range(key: str, figure: Figure | None) -> dict[str, Any]:
    """The range of an estimate, under its own key."""
    return {f"{key}_range": range_data(figure.bounds)} if figure and figure.bounds else {}

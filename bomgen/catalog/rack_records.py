"""Records of racks, PDUs and power supplies as data."""

from __future__ import annotations

from fractions import Fraction

from bomgen.catalog import parts
from bomgen.catalog.files import Record
from bomgen.catalog.identity import SUPPLIES, identity, name_part
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import formula

OUTLETS = ("c13", "c19", "either")
MILLIMETRES_OF_A_METRE = 1000


@formula("m")
def metres_of(length_mm: int) -> Fraction:
    """Width or depth of a rack."""
    return Fraction(length_mm) / MILLIMETRES_OF_A_METRE


def supplies(record: Record) -> parts.PowerSupplies | None:
    """The power supplies of a machine; None when the record does not know them.

    Raises PlanErrors when it needs more of them than it has.
    """
    count = record.figure("count", "count", SUPPLIES) if record.value(SUPPLIES) else None
    if count is None:
        return None
    needed = record.figure("needed", "count", SUPPLIES)
    if needed and needed.value > count.value:
        mark = record.source.mark((*record.steps, SUPPLIES, "needed"))
        message = f"{needed.value} of {count.value} power supplies are needed; at most all of them"
        raise PlanErrors([Problem(mark, "error", message, "range")])
    return parts.PowerSupplies(count, needed, str(record.value(SUPPLIES, "inlet")))


def rack(record: Record) -> parts.Rack:
    """A record of kind rack as data."""
    return parts.Rack(
        identity=name_part(identity(record), "rack"),
        rack_units=record.figure("rack_units", "U"),
        width_mm=record.figure("width_mm", "mm"),
        depth_mm=record.figure("depth_mm", "mm"),
        weight_kg=record.figure("weight", "kg"),
        load_kg=record.figure("load", "kg"),
    )


def panel(record: Record) -> parts.Panel:
    """A record of kind panel as data. Raises PlanErrors when its ports or its height are unknown."""
    return parts.Panel(
        identity=name_part(identity(record), "patch panel"),
        ports=record.need("ports", "count"),
        connectors=tuple(record.value("connectors") or ()),
        rack_units=record.need("rack_units", "U"),
        weight_kg=record.figure("weight", "kg"),
    )


def pdu(record: Record) -> parts.Pdu:
    """A record of kind pdu as data."""
    known = record.value("outlets") or {}
    outlets = {form: record.figure(form, "count", "outlets", zero=True) for form in OUTLETS if form in known}
    return parts.Pdu(
        identity=name_part(identity(record), "rack PDU"),
        power_w=record.figure("power", "W"),
        outlets={form: figure for form, figure in outlets.items() if figure is not None},
        rack_units=record.figure("rack_units", "U", zero=True),
        weight_kg=record.figure("weight", "kg"),
    )

"""Lines beside the parts: freight, installation, support, software, counted by what the plan says.

Charges are lines. One that is a share of the hardware is worked out after all other lines, and once more for the low
and the high end of the prices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from math import ceil

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Figure, formula
from bomgen.design.assembly import Design
from bomgen.design.attached_hosts import boxes_of, sum_of_boxes
from bomgen.plan.clusters import together
from bomgen.plan.commercial_terms import ORDER, Charge
from bomgen.pricing.bill_line import Line

UNKNOWN = ("server", "rack")
"""What a cluster always has, though its plan may leave open how many."""


@formula("pieces")
def over_years(pieces: int, years: Fraction) -> int:
    """Pieces that are bought anew for each year begun."""
    return pieces * ceil(years)


def charges(designs: Sequence[Design]) -> Iterator[Line]:
    """A line for each charge of a plan with these designs.

    Raises PlanErrors for a charge that is counted by what the plan does not have.
    """
    for charge in designs[0].plan.quote.charges:
        counted = _counted(charge, designs)
        if counted is None or not counted.value:
            message = f"nothing to charge by the {charge.per}: the plan has none; count it by the {ORDER}"
            raise PlanErrors([Problem(charge.mark, "error", message, "charge", "quote.charges")])
        quantity = over_years(counted, charge.years) if charge.years else counted
        yield Line(
            id=charge.id,
            category=charge.category,
            fabric=None,
            role=charge.kind,
            part=charge.part,
            sku=None,
            vendor=None,
            description=charge.name or charge.kind,
            quantity=quantity,
            charge=charge,
        )


def _counted(charge: Charge, designs: Sequence[Design]) -> Figure | None:
    """How many of what a charge is counted by; None where the plan does not have it."""
    if charge.per == ORDER:
        return charge.once
    counted = [count_units(charge.per, design) for design in designs]
    if charge.per in UNKNOWN and any(counted):
        for design, figure in zip(designs, counted, strict=True):
            if figure is None:
                message = (
                    f"the {charge.per}s of cluster {design.plan.cluster_name} are not known; count it by the {ORDER}"
                )
                raise PlanErrors([Problem(charge.mark, "error", message, "charge", "quote.charges")])
    return together(counted)


def count_units(per: str, design: Design) -> Figure | None:
    """How many GPUs, servers, racks or switches a design has; None where it is not known, or it has none."""
    if per == "gpu":
        return design.sizing.gpus
    if per == "server":
        return design.sizing.servers
    if per == "rack":
        return design.facility.racks
    boxes = [boxes_of(tier) for built in design.fabrics for tier in built.fabric.tiers]
    return reduce(sum_of_boxes, boxes) if boxes else None

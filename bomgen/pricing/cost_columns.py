"""What the bill of many designs costs, in one column: the money of `quote` without its lines."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.columns import Column
from bomgen.core.money import in_minor_units, round_half_up
from bomgen.core.provenance import require
from bomgen.plan.commercial_terms import QuotePlan
from bomgen.pricing.bill import Bill, Line
from bomgen.pricing.books.book import PriceBook
from bomgen.pricing.quote import hardware_share, is_counted, is_hardware
from bomgen.pricing.unit_prices import Unit, after_discount, discount_of, units


class Cost(NamedTuple):
    """What designs cost."""

    minor: Column | int | None
    """With tax, in minor units of the currency; None where a line has no price."""
    unpriced: tuple[str, ...]
    """Parts without a price, each once."""


def cost_columns(bill: Bill, plan: QuotePlan, books: Sequence[PriceBook]) -> Cost:
    """What a bill comes to whose quantities are columns. Raises Diverges where price breaks differ by row."""
    priced = [
        (line, unit)
        for line, unit in zip(bill.lines, units(bill.lines, plan, books), strict=True)
        if is_counted(line, unit)
    ]
    known = [(line, unit) for line, unit in priced if unit.amount is not None]
    without = [line for line, unit in priced if unit.amount is None]
    hardware = [_after(line, unit, plan) for line, unit in known if is_hardware(line)]
    shares = [line for line in without if hardware and hardware_share(line)]
    if len(without) > len(shares):
        missing = (line.part or line.description for line in without if line not in shares)
        return Cost(None, tuple(dict.fromkeys(missing)))
    whole = sum(hardware)
    charged = [_after(line, unit, plan) for line, unit in known if not is_hardware(line)]
    after = sum([whole, *charged, *(_after_share(line, whole, plan) for line in shares)])
    tax = round_half_up(after * Fraction(plan.tax.value)) if plan.tax else 0
    return Cost(after + tax, ())


def _after(line: Line, unit: Unit, plan: QuotePlan) -> int:
    return in_minor_units(
        after_discount(require(unit.amount, "the line has a price"), line.pieces, discount_of(line, plan)),
        plan.currency,
    )


def _after_share(line: Line, hardware: int, plan: QuotePlan) -> int:
    """What a line comes to that is a share of the hardware, in minor units."""
    share = require(hardware_share(line), "the line is a share")
    each = round_half_up(hardware * Fraction(share.value))
    return round_half_up(each * line.pieces * (1 - discount_of(line, plan)))

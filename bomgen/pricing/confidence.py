"""How sure the money is: the share of it that rests on unverified facts, on estimated prices and on old ones.

Doubt is counted per line: a quantity is doubted when a figure or assumption that it rests on has no document; a price
when it is marked as an estimate, has a range, is old or has expired. Shares of the hardware are as doubtful as the
hardware.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.money import rounded
from bomgen.core.provenance import Assumed, Cited, walk
from bomgen.plan.commercial_terms import QuotePlan
from bomgen.pricing.price_warnings import has_expired, is_estimate, is_old
from bomgen.pricing.quote import QuoteLine

UNVERIFIED, ESTIMATED, OLD = "unverified", "estimated", "old"
REASONS = (UNVERIFIED, ESTIMATED, OLD)
"""Why a line is doubted: a fact without a source, a price that is an estimate or a range, one old or run out."""


class Confidence(NamedTuple):
    """Money after discount and before tax, and how much of it is doubtful."""

    net: Decimal
    doubtful: Decimal
    by_reason: Mapping[str, Decimal]
    """A line that is doubted for several reasons counts in each of them, and once in `doubtful`."""
    unpriced: int
    """Lines without a price."""

    def share(self, amount: Decimal) -> Fraction:
        """An amount as a share of all money; 0 where there is none."""
        return Fraction(amount) / Fraction(self.net) if self.net else Fraction(0)


def doubts(priced: QuoteLine, plan: QuotePlan) -> tuple[str, ...]:
    """Why the money of a line is doubtful; empty where there is none, as of stock, and for shares of other lines."""
    if not priced.amount or _is_share(priced):
        return ()
    price = priced.price
    holds = {
        UNVERIFIED: _unverified(priced) or (price is not None and price.source is None),
        ESTIMATED: is_estimate(priced.unit),
        OLD: price is not None and (is_old(price, plan) or has_expired(price, plan)),
    }
    return tuple(reason for reason in REASONS if holds[reason])


def _unverified(priced: QuoteLine) -> bool:
    """Whether a quantity rests on a figure or an assumption that no document bears out."""
    return any(
        isinstance(node.origin, Cited | Assumed) and not node.origin.references for node in walk(priced.line.quantity)
    )


def _is_share(priced: QuoteLine) -> bool:
    return priced.line.charge is not None and priced.line.charge.share is not None


def confidence(lines: Sequence[QuoteLine], plan: QuotePlan) -> Confidence:
    """How sure the money of lines is. A charge that is a share of the hardware is as doubtful as the hardware is."""
    own: dict[str, Fraction] = dict.fromkeys(REASONS, Fraction(0))
    doubtful = hardware = shares = beside = Fraction(0)
    of_hardware = dict.fromkeys((*REASONS, ""), Fraction(0))
    for line in lines:
        amount = Fraction(line.amount or 0)
        if _is_share(line):
            shares += amount
            continue
        found = doubts(line, plan)
        sums = of_hardware if line.hardware else None
        for reason in found:
            own[reason] += amount
            if sums is not None:
                sums[reason] += amount
        doubtful += amount if found else 0
        if line.hardware:
            hardware += amount
            of_hardware[""] += amount if found else 0
        else:
            beside += amount
    part = shares / hardware if hardware else Fraction(0)
    return Confidence(
        net=rounded(hardware + shares + beside, plan.currency),
        doubtful=rounded(doubtful + of_hardware[""] * part, plan.currency),
        by_reason={
            reason: rounded(amount + of_hardware[reason] * part, plan.currency) for reason, amount in own.items()
        },
        unpriced=sum(line.amount is None for line in lines),
    )

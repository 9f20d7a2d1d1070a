"""What the seller earns: net amounts of a quote beside what its parts cost him. No customer's file is made of this.

A line without a cost, or without a price, is marked and never counts as nothing: sums that leave one out are bounds.

This module alone reads cost books, and only `bomgen margin` and `bomgen check` call it: what no build reads cannot
leak.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.money import minor_unit, rounded
from bomgen.plan.commercial_terms import QuotePlan
from bomgen.pricing.bill_line import CATEGORIES
from bomgen.pricing.price_book import PriceBook
from bomgen.pricing.price_warnings import warnings_of_ages
from bomgen.pricing.quote import QuoteLine
from bomgen.pricing.unit_prices import Unit, missing_rates, pieces_of_parts, unit_for

PRICE, COST = "price", "cost"
EXACT, AT_MOST, AT_LEAST, UNKNOWN = "exact", "at most", "at least", "unknown"
TOTAL = "total"


class Earned(NamedTuple):
    """A charged line: what the customer pays after discount and before tax, and what it costs the seller."""

    priced: QuoteLine
    unit: Unit
    """What a piece costs the seller, in the currency of the quote."""
    cost: Decimal | None

    @property
    def missing(self) -> tuple[str, ...]:
        """What is not known of the line: its price, its cost."""
        known = {PRICE: self.priced.amount, COST: self.cost}
        return tuple(name for name, amount in known.items() if amount is None)

    @property
    def margin(self) -> Decimal | None:
        """Net amount less cost; None where either is not known."""
        if self.priced.amount is None or self.cost is None:
            return None
        return self.priced.amount - self.cost

    @property
    def share(self) -> Fraction | None:
        """The margin as a share of the net amount; None where nobody knows, or nothing is paid."""
        return _share(self.margin, self.priced.amount)


class MarginTotal(NamedTuple):
    """Several lines together. Net and cost leave out what is not known, and are then what it comes to at least.

    They are None where nothing of it is known.
    """

    name: str
    lines: int
    amount: Decimal | None
    without_price: int
    cost: Decimal | None
    without_cost: int

    @property
    def bound(self) -> str:
        """What the margin is: exact, or a bound of the true one; unknown where neither says anything of it."""
        if (self.without_price and self.without_cost) or self.amount is None or self.cost is None:
            return UNKNOWN
        return AT_LEAST if self.without_price else AT_MOST if self.without_cost else EXACT

    @property
    def margin(self) -> Decimal | None:
        """Net less cost, as far as that says anything of the true margin."""
        if self.bound == UNKNOWN or self.amount is None or self.cost is None:
            return None
        return self.amount - self.cost

    @property
    def share(self) -> Fraction | None:
        """The margin as a share of net, a bound of the true share in the same direction."""
        return _share(self.margin, self.amount)


class Margin(NamedTuple):
    """The margins of a quote."""

    currency: str
    lines: tuple[Earned, ...]
    categories: tuple[MarginTotal, ...]
    total: MarginTotal
    problems: tuple[Problem, ...]
    """Costs that are old or have run out."""


def margin(lines: Sequence[QuoteLine], plan: QuotePlan, books: Sequence[PriceBook]) -> Margin:
    """The margins of the lines that are charged, by the cost books of the plan; the last book that has a part wins.

    The cost of a charge is found by its part, or by the id of its line. Raises PlanErrors when a cost is in a currency
    that the plan pins no rate for.
    """
    if wrong := missing_rates(plan, books):
        raise PlanErrors(wrong)
    charged = [line for line in lines if not line.line.in_stock]
    pieces = pieces_of_parts([line.line for line in charged])
    earned = []
    for priced in charged:
        line = priced.line
        unit = unit_for([*line.names, line.id.lower()], pieces[line.part or line.id], plan, books)
        cost = None if unit.amount is None else rounded(line.pieces * Fraction(unit.amount), plan.currency)
        earned.append(Earned(priced, unit, cost))
    by_category = {
        category: [line for line in earned if line.priced.line.category == category] for category in CATEGORIES
    }
    return Margin(
        currency=plan.currency,
        lines=tuple(earned),
        categories=tuple(_sum(name, members, plan) for name, members in by_category.items() if members),
        total=_sum(TOTAL, earned, plan),
        problems=warnings_of_ages([line.unit for line in earned], [line.priced.line for line in earned], plan),
    )


def _sum(name: str, lines: Sequence[Earned], plan: QuotePlan) -> MarginTotal:
    amounts = [line.priced.amount for line in lines if line.priced.amount is not None]
    costs = [line.cost for line in lines if line.cost is not None]
    nothing = Decimal(0) * minor_unit(plan.currency)
    return MarginTotal(
        name=name,
        lines=len(lines),
        amount=sum(amounts, nothing) if amounts else None,
        without_price=len(lines) - len(amounts),
        cost=sum(costs, nothing) if costs else None,
        without_cost=len(lines) - len(costs),
    )


def _share(margin: Decimal | None, amount: Decimal | None) -> Fraction | None:
    return None if margin is None or not amount else Fraction(margin) / Fraction(amount)

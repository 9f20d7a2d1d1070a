"""The seller's margin: net amounts of a quote against the cost of its parts; never part of a customer document.

A line without a cost or a price is marked and never counted as 0: sums that exclude one are bounds.

A build reads cost books only to sell by margin, and keeps nothing of them but prices: price books of which no cost can
be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Figure
from bomgen.core.units import minor_unit, rounded
from bomgen.plan.commercial_terms import QuotePlan, Sell
from bomgen.pricing.bill_line import CATEGORIES
from bomgen.pricing.price_book import Price, PriceBook
from bomgen.pricing.price_warnings import warnings_of_ages
from bomgen.pricing.quote import QuoteLine
from bomgen.pricing.unit_prices import Unit, at_margin, converted, missing_rates, pieces_of_parts, unit_for

PRICE, COST = "price", "cost"
EXACT, AT_MOST, AT_LEAST, UNKNOWN = "exact", "at most", "at least", "unknown"
TOTAL = "total"


class Earned(NamedTuple):
    """A charged line: the customer's net amount before tax, and the seller's cost."""

    priced: QuoteLine
    unit: Unit
    """Unit cost in the currency of the quote."""
    cost: Decimal | None

    @property
    def missing(self) -> tuple[str, ...]:
        """Return what is unknown about the line: its price, its cost."""
        amounts = {PRICE: self.priced.amount, COST: self.cost}
        return tuple(name for name, amount in amounts.items() if amount is None)

    @property
    def margin(self) -> Decimal | None:
        """Return the net amount less cost; None if either is unknown."""
        if self.priced.amount is None or self.cost is None:
            return None
        return self.priced.amount - self.cost

    @property
    def share(self) -> Fraction | None:
        """Return the margin as a share of the net amount; None if unknown, or if the net amount is 0."""
        return _share(self.margin, self.priced.amount)


class MarginTotal(NamedTuple):
    """The sum of several lines. Net amount and cost exclude unknown ones, and are then lower bounds.

    They are None if none is known.
    """

    name: str
    lines: int
    amount: Decimal | None
    without_price: int
    cost: Decimal | None
    without_cost: int

    @property
    def bound(self) -> str:
        """Return whether the margin is exact, a bound of the true one, or unknown."""
        if (self.without_price and self.without_cost) or self.amount is None or self.cost is None:
            return UNKNOWN
        return AT_LEAST if self.without_price else AT_MOST if self.without_cost else EXACT

    @property
    def margin(self) -> Decimal | None:
        """Return net amount less cost; None if it does not bound the true margin."""
        if self.bound == UNKNOWN or self.amount is None or self.cost is None:
            return None
        return self.amount - self.cost

    @property
    def share(self) -> Fraction | None:
        """Return the margin as a share of the net amount, a bound in the same direction."""
        return _share(self.margin, self.amount)


class Margin(NamedTuple):
    """The margins of a quote."""

    currency: str
    lines: tuple[Earned, ...]
    categories: tuple[MarginTotal, ...]
    total: MarginTotal
    problems: tuple[Problem, ...]
    """Warnings about old or expired costs."""


def margin(lines: Sequence[QuoteLine], plan: QuotePlan, books: Sequence[PriceBook]) -> Margin:
    """Return the margins of the charged lines by the plan's cost books; the last book that has a part applies.

    The cost of a charge is its own, or found by its part or the id of its line.

    Raises PlanErrors for a cost in a currency without an exchange rate in the plan.
    """
    if wrong := missing_rates(plan, books):
        raise PlanErrors(wrong)
    charged = [line for line in lines if not line.line.in_stock]
    pieces = pieces_of_parts([line.line for line in charged])
    earned = []
    for priced in charged:
        line = priced.line
        unit = unit_for([*line.names, line.id.lower()], line.category, pieces[line.part or line.id], plan, books)
        if line.charge and line.charge.cost is not None:
            own_cost = converted(line.charge.cost, line.charge.currency or plan.currency, plan)
            unit = Unit(own_cost, own_cost, own_cost)
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


# selling prices -------------------------------------------------------------------------------------------------------
# They are in the currency of the quote, without the names, places and sources of the cost books, and come before the
# plan's own price books, which take precedence.

NAME = "quote.sell"
"""The key of the plan, and the name of the books by which prices made of it are known."""


def selling_books(costs: Sequence[PriceBook], plan: QuotePlan) -> list[PriceBook]:
    """Return the prices that the plan sells at, from cost books: a book for all categories of each margin.

    Raises KeyError if the plan has no exchange rate for the currency of a cost.
    """
    return [] if plan.sell is None else list(_books(costs, plan, plan.sell))


def _books(costs: Sequence[PriceBook], plan: QuotePlan, sell: Sell) -> Iterator[PriceBook]:
    rest = frozenset(CATEGORIES).difference(sell.by)
    margins = {NAME: (sell.margin, rest)}
    margins |= {f"{NAME}.by.{category}": (margin, frozenset({category})) for category, margin in sell.by.items()}
    for at, book in enumerate(costs):
        for name, (margin, categories) in margins.items():
            prices = tuple(_sold(price, margin, plan, sell) for price in book.prices)
            book_name = name if len(costs) == 1 else f"{name}.{at + 1}"
            yield PriceBook(book_name, book_name, prices, ((plan.currency, sell.mark),), categories=categories)


def _sold(cost: Price, margin: Figure, plan: QuotePlan, sell: Sell) -> Price:
    amount, low, high = (
        None if end is None else at_margin(converted(end, cost.currency, plan), margin, plan)
        for end in (cost.amount, cost.low, cost.high)
    )
    return cost._replace(amount=amount, low=low, high=high, currency=plan.currency, source=NAME, mark=sell.mark)

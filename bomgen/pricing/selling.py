"""Prices by margin: what the seller's costs are sold at, as price books of which no cost can be read.

They hold selling prices in the currency of the quote, without the names, places and sources of the cost books, and come
before the plan's own price books, which take precedence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bomgen.core.provenance import Figure
from bomgen.plan.commercial_terms import QuotePlan, Sell
from bomgen.pricing.bill_line import CATEGORIES
from bomgen.pricing.price_book import Price, PriceBook
from bomgen.pricing.unit_prices import at_margin, converted

NAME = "quote.sell"
"""The key of the plan, and the name of the books by which prices made of it are known."""


def selling_books(costs: Sequence[PriceBook], plan: QuotePlan) -> list[PriceBook]:
    """Return the prices that the plan sells at, from cost books: a book for all categories of each margin.

    Raises KeyError if the plan has no exchange rate for the currency of a cost.
    """
    return [] if plan.sell is None else list(_books(costs, plan, plan.sell))


def _books(costs: Sequence[PriceBook], plan: QuotePlan, sell: Sell) -> Iterator[PriceBook]:
    others = frozenset(CATEGORIES).difference(sell.by)
    margins = {NAME: (sell.margin, others)}
    margins |= {f"{NAME}.by.{category}": (margin, frozenset({category})) for category, margin in sell.by.items()}
    for at, book in enumerate(costs):
        for name, (margin, categories) in margins.items():
            prices = tuple(_sold(price, margin, plan, sell) for price in book.prices)
            known = name if len(costs) == 1 else f"{name}.{at + 1}"
            yield PriceBook(known, known, prices, ((plan.currency, sell.mark),), categories=categories)


def _sold(cost: Price, margin: Figure, plan: QuotePlan, sell: Sell) -> Price:
    amount, low, high = (
        None if end is None else at_margin(converted(end, cost.currency, plan), margin, plan)
        for end in (cost.amount, cost.low, cost.high)
    )
    return cost._replace(amount=amount, low=low, high=high, currency=plan.currency, source=NAME, mark=sell.mark)

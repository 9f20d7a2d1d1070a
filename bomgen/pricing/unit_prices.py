"""Unit prices: from the price books, in the currency of the quote, less the plan's discounts.

Prices in another currency are rounded per piece, because the printed unit price must give the amount.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.catalog.parts import Cable, Module, Switch
from bomgen.core.diagnostics import Problem
from bomgen.core.provenance import Figure
from bomgen.core.units import exact, rounded
from bomgen.plan.commercial_terms import CHARGED, DEFAULT, Charge, QuotePlan
from bomgen.pricing.bill_line import Line, names_of
from bomgen.pricing.price_book import Price, PriceBook, find_price, first


class Unit(NamedTuple):
    """A unit price in the currency of the quote before discount; None if unknown."""

    amount: Decimal | None
    low: Decimal | None
    high: Decimal | None
    price: Price | None = None
    book: PriceBook | None = None

    @property
    def ranges(self) -> bool:
        """Return whether the price is only known as a range."""
        return self.low != self.high


UNKNOWN = Unit(None, None, None)


def units(lines: Sequence[Line], plan: QuotePlan, books: Sequence[PriceBook]) -> Iterator[Unit]:
    """Yield the unit price of each line; 0 for stock, unknown for a share of other lines.

    The quantity for price breaks is that of the part over all charged lines.
    """
    of_part = pieces_of_parts(lines)
    for line in lines:
        if line.in_stock:
            nothing = rounded(Fraction(0), plan.currency)
            yield Unit(nothing, nothing, nothing)
        elif line.charge and (price := price_of_charge(line.charge, plan)) is not None:
            yield Unit(price, price, price)
        else:
            yield unit_for(line.names, line.category, of_part[line.part or line.id], plan, books)


def pieces_of_parts(lines: Sequence[Line]) -> dict[str, int]:
    """Return the pieces per part, or per line without a part, over all charged lines."""
    pieces: dict[str, int] = {}
    for line in lines:
        if not line.in_stock:
            pieces[line.part or line.id] = pieces.get(line.part or line.id, 0) + line.pieces
    return pieces


def price_of_charge(charge: Charge, plan: QuotePlan) -> Decimal | None:
    """Return the price that the plan gives a charge, or its cost at the margin; None for a part or a share."""
    if charge.price is not None:
        return converted(charge.price, charge.currency or plan.currency, plan)
    if charge.cost is None or not charge.sold_by_cost or plan.sell is None:
        return None
    cost = converted(charge.cost, charge.currency or plan.currency, plan)
    return at_margin(cost, plan.sell.margin_of(charge.category), plan)


def at_margin(cost: Decimal, margin: Figure, plan: QuotePlan) -> Decimal:
    """Return the price of which the margin is a share, rounded half up to the minor unit."""
    return rounded(Fraction(cost) / (1 - Fraction(margin.value)), plan.currency)


def unit_for(names: Sequence[str], category: str, pieces: int, plan: QuotePlan, books: Sequence[PriceBook]) -> Unit:
    """Return the unit price of a part in the currency of the quote, for a quantity.

    `names` as in `find_price`. Raises KeyError if the plan has no exchange rate for the currency of the price.
    """
    match = find_price(books, names, pieces, category)
    if match is None:
        return UNKNOWN
    price, book = with_estimated_range(match[0], plan), match[1]
    amount, low, high = (
        None if amount is None else converted(amount, price.currency, plan)
        for amount in (price.amount, price.low, price.high)
    )
    return Unit(amount, low, high, price, book)


def with_estimated_range(price: Price, plan: QuotePlan) -> Price:
    """Return a price with its range; an estimate without one has the default range."""
    if not price.estimate or price.ranged or price.amount is None:
        return price
    ends = (1 - Fraction(plan.estimate_below.value), 1 + Fraction(plan.estimate_above.value))
    low, high = (rounded(Fraction(price.amount) * end, price.currency) for end in ends)
    return price._replace(low=low, high=high)


def converted(amount: Decimal, currency: str, plan: QuotePlan) -> Decimal:
    """Return an amount in the currency of the quote, rounded half up to its minor unit if it is converted.

    Raises KeyError if the plan has no exchange rate for its currency.
    """
    if currency == plan.currency:
        return amount
    return rounded(Fraction(amount) * Fraction(plan.exchange[currency].rate), plan.currency)


def missing_rates(plan: QuotePlan, books: Sequence[PriceBook]) -> list[Problem]:
    """Return problems for currencies of price books and charges without a rate, at the first place of each."""
    message = "{what} in {currency}, the quote is in {own}; pin a rate under `quote.exchange`"
    used = [
        (f"the price book {book.name} has prices", currency, mark)
        for book in books
        for currency, mark in book.currencies
    ]
    used += [
        (f"the charge '{charge.name or charge.kind}' has its price", charge.currency, charge.mark)
        for charge in plan.charges
        if charge.currency
    ]
    return [
        Problem(mark, "error", message.format(what=what, currency=currency, own=plan.currency), "currency", "quote")
        for what, currency, mark in used
        if currency != plan.currency and currency not in plan.exchange
    ]


def discount_of(line: Line, plan: QuotePlan) -> Fraction:
    """Return the discount share of a line: its own, else that of its part or category; 0 if it is not charged."""
    discount = discount_given(line, plan)
    return Fraction(discount.value) if discount else Fraction(0)


def discount_given(line: Line, plan: QuotePlan) -> Figure | None:
    """Return the discount that the plan sets for a line; None if there is none, or the line is not charged."""
    if line.in_stock:
        return None
    return plan.discounts.lines.get(line.id) or _discount_given_on(line.names, line.category, plan)


def discount_on(names: Sequence[str], category: str, plan: QuotePlan) -> Fraction:
    """Return the discount share of a part: its own, else that of its category, else the default, except for charges."""
    discount = _discount_given_on(names, category, plan)
    return Fraction(discount.value) if discount else Fraction(0)


def _discount_given_on(names: Sequence[str], category: str, plan: QuotePlan) -> Figure | None:
    discounts = plan.discounts
    default = None if category in CHARGED else discounts.categories.get(DEFAULT)
    of_part = next((discounts.parts[name] for name in names if name in discounts.parts), None)
    return of_part or discounts.categories.get(category, default)


def part_price(
    plan: QuotePlan, books: Sequence[PriceBook]
) -> Callable[[Module | Cable | Switch, Fraction | None], Fraction | None]:
    """Return a function for the net price of a module, or of a cable of one length [m]; None if no book has one."""

    def price(part: Module | Cable | Switch, length_m: Fraction | None) -> Fraction | None:
        names = names_of(part, length_m)
        return _net(first(books, names, part.identity.kind), names, part.identity.kind, plan)

    return price


def net_price(
    names: Sequence[str], category: str, pieces: int, plan: QuotePlan, books: Sequence[PriceBook]
) -> Fraction | None:
    """Return the net unit price of a part for a quantity; None if no book has a price.

    `names` are the part's id and numbers in lower case, most specific first.
    """
    price = find_price(books, names, pieces, category)
    return _net(price[0] if price else None, names, category, plan)


def _net(price: Price | None, names: Sequence[str], category: str, plan: QuotePlan) -> Fraction | None:
    if price is None or price.amount is None:
        return None
    return Fraction(converted(price.amount, price.currency, plan)) * (1 - discount_on(names, category, plan))


def before_and_after(amount: Decimal, pieces: int, discount: Fraction, currency: str) -> tuple[Decimal, Decimal]:
    """Return the amount of pieces before and after a discount, each rounded half up."""
    before = pieces * exact(amount)
    return rounded(before, currency), rounded(before * (1 - discount), currency)

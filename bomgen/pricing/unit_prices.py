"""What one piece costs: by the price books, in the currency of the quote, less what the plan takes off.

Prices in another currency are rounded per piece, because the unit price that is printed must give the amount.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.catalog.parts import Cable, Module, Switch
from bomgen.core.diagnostics import Problem
from bomgen.core.money import exact, rounded
from bomgen.core.provenance import Figure
from bomgen.plan.commercial_terms import CHARGED, DEFAULT, QuotePlan
from bomgen.pricing.bill_line import Line, names_of
from bomgen.pricing.price_book import Price, PriceBook, find_price, first


class Unit(NamedTuple):
    """What a piece costs in the currency of the quote, before discount; None where nobody knows."""

    amount: Decimal | None
    low: Decimal | None
    high: Decimal | None
    price: Price | None = None
    book: PriceBook | None = None

    @property
    def ranges(self) -> bool:
        """Whether the price is known to lie in a range."""
        return self.low != self.high


UNKNOWN = Unit(None, None, None)


def units(lines: Sequence[Line], plan: QuotePlan, books: Sequence[PriceBook]) -> Iterator[Unit]:
    """What a piece of each line costs; nothing where the customer has it, unknown where it is a share of others.

    The quantity that decides between price breaks is that of the part on all lines that are charged.
    """
    of_part = pieces_of_parts(lines)
    for line in lines:
        if line.in_stock:
            nothing = rounded(Fraction(0), plan.currency)
            yield Unit(nothing, nothing, nothing)
        elif line.charge and line.charge.price is not None:
            yield Unit(line.charge.price, line.charge.price, line.charge.price)
        else:
            yield unit_for(line.names, of_part[line.part or line.id], plan, books)


def pieces_of_parts(lines: Sequence[Line]) -> dict[str, int]:
    """The pieces of each part, or of a line that is none, on all lines that are charged."""
    found: dict[str, int] = {}
    for line in lines:
        if not line.in_stock:
            found[line.part or line.id] = found.get(line.part or line.id, 0) + line.pieces
    return found


def unit_for(names: Sequence[str], pieces: int, plan: QuotePlan, books: Sequence[PriceBook]) -> Unit:
    """What a piece costs in the currency of the quote, where so many are bought.

    `names` as in `find`. Raises KeyError when the plan pins no rate for the currency of the price.
    """
    found = find_price(books, names, pieces)
    if found is None:
        return UNKNOWN
    price, book = with_estimated_range(found[0], plan), found[1]
    amount, low, high = (
        None if amount is None else converted(amount, price.currency, plan)
        for amount in (price.amount, price.low, price.high)
    )
    return Unit(amount, low, high, price, book)


def with_estimated_range(price: Price, plan: QuotePlan) -> Price:
    """A price with its range; an estimate without one in the book has the default range."""
    if not price.estimate or price.ranged or price.amount is None:
        return price
    ends = (1 - Fraction(plan.estimate_below.value), 1 + Fraction(plan.estimate_above.value))
    low, high = (rounded(Fraction(price.amount) * end, price.currency) for end in ends)
    return price._replace(low=low, high=high)


def converted(amount: Decimal, currency: str, plan: QuotePlan) -> Decimal:
    """An amount in the currency of the quote; one that is converted is rounded half up to its minor unit.

    Raises KeyError when the plan pins no rate for its currency.
    """
    if currency == plan.currency:
        return amount
    return rounded(Fraction(amount) * Fraction(plan.exchange[currency].rate), plan.currency)


def missing_rates(plan: QuotePlan, books: Sequence[PriceBook]) -> list[Problem]:
    """Currencies of price books that the plan pins no rate for, each at the place that names it."""
    message = "the price book {name} has prices in {currency}, the quote is in {own}; pin a rate under `quote.exchange`"
    return [
        Problem(
            mark, "error", message.format(name=book.name, currency=currency, own=plan.currency), "currency", "quote"
        )
        for book in books
        for currency, mark in book.currencies
        if currency != plan.currency and currency not in plan.exchange
    ]


def discount_of(line: Line, plan: QuotePlan) -> Fraction:
    """The share that is taken off a line: its own, else that of what stands on it; nothing where it is not charged."""
    found = discount_given(line, plan)
    return Fraction(found.value) if found else Fraction(0)


def discount_given(line: Line, plan: QuotePlan) -> Figure | None:
    """What the plan takes off a line; None: nothing, as where it is not charged."""
    if line.in_stock:
        return None
    return plan.discounts.lines.get(line.id) or _discount_given_on(line.names, line.category, plan)


def discount_on(names: Sequence[str], category: str, plan: QuotePlan) -> Fraction:
    """The share that is taken off a part: its own, else that of its category, else the default, but for charges."""
    found = _discount_given_on(names, category, plan)
    return Fraction(found.value) if found else Fraction(0)


def _discount_given_on(names: Sequence[str], category: str, plan: QuotePlan) -> Figure | None:
    given = plan.discounts
    default = None if category in CHARGED else given.categories.get(DEFAULT)
    of_part = next((given.parts[name] for name in names if name in given.parts), None)
    return of_part or given.categories.get(category, default)


def part_price(
    plan: QuotePlan, books: Sequence[PriceBook]
) -> Callable[[Module | Cable | Switch, Fraction | None], Fraction | None]:
    """What tells the discounted price of a module, or of a cable of one length [m]; None where no book has one."""

    def price(part: Module | Cable | Switch, length_m: Fraction | None) -> Fraction | None:
        names = names_of(part, length_m)
        return _net(first(books, names), names, part.identity.kind, plan)

    return price


def net_price(
    names: Sequence[str], category: str, pieces: int, plan: QuotePlan, books: Sequence[PriceBook]
) -> Fraction | None:
    """What a piece of a part costs after discount, for so many pieces; None where no book has a price.

    `names` are the part's id and numbers in lower case, the most exact first.
    """
    price = find_price(books, names, pieces)
    return _net(price[0] if price else None, names, category, plan)


def _net(price: Price | None, names: Sequence[str], category: str, plan: QuotePlan) -> Fraction | None:
    if price is None or price.amount is None:
        return None
    return Fraction(converted(price.amount, price.currency, plan)) * (1 - discount_on(names, category, plan))


def before_and_after(amount: Decimal, pieces: int, discount: Fraction, currency: str) -> tuple[Decimal, Decimal]:
    """What pieces of a unit price come to before and after a discount, rounded half up each."""
    before = pieces * exact(amount)
    return rounded(before, currency), rounded(before * (1 - discount), currency)

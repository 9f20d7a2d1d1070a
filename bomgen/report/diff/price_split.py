"""How much of what a bill costs more comes from quantities, prices, discounts and exchange rates.

Each line is worked out step by step from old to new, one thing at a time, as a quote works it out, and each step's
difference belongs to what was changed in it: first the quantity, then the price, then the discount, then the exchange
rate. The steps of a line so add up to what it costs more to the last minor unit, whatever was rounded on the way, and a
price that a discount makes up for is seen as both.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from bomgen.core.money import ANY_AMOUNT, minor_unit, rounded
from bomgen.plan.commercial_terms import CHARGED
from bomgen.report.diff.lines import Pair
from bomgen.report.diff.side import Item, Side

_WHOLE = Decimal(1)
MOST_REMEMBERED = 1 << 16
"""Amounts that are worked out once: the steps of a line mostly differ in one thing, and lines are alike."""
QUANTITY, PRICE, DISCOUNT, EXCHANGE = "quantity", "price", "discount", "exchange_rate"
NEW, GONE, PRICED, UNPRICED = "new_lines", "gone_lines", "newly_priced", "no_longer_priced"
CHARGES, TAX, OTHER = "charges", "tax", "other"
PARTS = (QUANTITY, PRICE, DISCOUNT, EXCHANGE, NEW, GONE, PRICED, UNPRICED, CHARGES, TAX, OTHER)
"""What a change of the total is split into. `other` is 0, unless a file's totals are not the sum of its lines."""


class PriceSplit(NamedTuple):
    """A change of the total, in parts that add up to it."""

    old: Decimal
    new: Decimal
    parts: dict[str, Decimal]

    @property
    def change(self) -> Decimal:
        """How much more the bill comes to."""
        return ANY_AMOUNT.subtract(self.new, self.old)


def split_total(old: Side, new: Side, pairs: Iterable[Pair]) -> PriceSplit | None:
    """The change of the total in parts; None where the sides are in different currencies."""
    if old.totals.currency != new.totals.currency:
        return None
    parts = dict.fromkeys(PARTS, Decimal(0))
    for pair in pairs:
        for name, amount in split_line(pair, new.totals.currency).items():
            parts[name] = ANY_AMOUNT.add(parts[name], amount)
    parts[TAX] = ANY_AMOUNT.subtract(new.totals.tax, old.totals.tax)
    found = PriceSplit(old.totals.amount, new.totals.amount, parts)
    known = _sum(amount for name, amount in parts.items() if name != OTHER)
    parts[OTHER] = ANY_AMOUNT.subtract(found.change, known)
    return found


def split_line(pair: Pair, currency: str) -> dict[str, Decimal]:
    """What a line costs more, in parts."""
    before = pair.old.amount if pair.old else None
    after = pair.new.amount if pair.new else None
    change = ANY_AMOUNT.subtract(after or Decimal(0), before or Decimal(0))
    if pair.item.category in CHARGED:
        return {CHARGES: change}
    if pair.old is None:
        return {NEW: change}
    if pair.new is None:
        return {GONE: change}
    if before is None or after is None:
        return {PRICED: change} if before is None else {UNPRICED: change}
    return _steps(pair.old, pair.new, currency)


def _steps(old: Item, new: Item, currency: str) -> dict[str, Decimal]:
    """What a line that has a price on both sides costs more, a part a step."""
    was, became = _unit(old), _unit(new)
    at_old_rate = became if (repriced := _at_rate(new, old, currency)) is None else repriced
    steps = (
        ("", _amount(old.pieces, was, old.discount, currency)),
        (QUANTITY, _amount(new.pieces, was, old.discount, currency)),
        (PRICE, _amount(new.pieces, at_old_rate, old.discount, currency)),
        (DISCOUNT, _amount(new.pieces, at_old_rate, new.discount, currency)),
        (EXCHANGE, _amount(new.pieces, became, new.discount, currency)),
    )
    found = {}
    for (_, before), (name, after) in pairwise(steps):
        found[name] = ANY_AMOUNT.subtract(after, before)
    return found


def _unit(item: Item) -> Decimal:
    return item.unit_price or Decimal(0)


def _at_rate(new: Item, old: Item, currency: str) -> Decimal | None:
    """The new price at the old exchange rate, in the currency of the quote; None where no rate changed."""
    same = new.original_currency == old.original_currency and new.original_currency not in (None, currency)
    if not same or new.original_price is None or old.exchange_rate is None or old.exchange_rate == new.exchange_rate:
        return None
    return rounded(Fraction(new.original_price) * Fraction(old.exchange_rate), currency)


@lru_cache(maxsize=MOST_REMEMBERED)
def _amount(pieces: int, unit: Decimal, discount: Decimal, currency: str) -> Decimal:
    """What pieces come to, rounded as a quote rounds it; decimals are exact here, and faster than fractions."""
    left = ANY_AMOUNT.multiply(unit, ANY_AMOUNT.subtract(_WHOLE, discount))
    exact = ANY_AMOUNT.multiply(Decimal(pieces), left)
    return exact.quantize(minor_unit(currency), ROUND_HALF_UP, ANY_AMOUNT)


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    total = Decimal(0)
    for amount in amounts:
        total = ANY_AMOUNT.add(total, amount)
    return total

"""The difference between two results, and the split of its amount by cause: quantities, prices, discounts, rates.

`compare` works on the data of two bom.json files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bomgen.core.messages import message
from bomgen.core.units import ANY_AMOUNT, minor_unit, rounded
from bomgen.documents.diff.changes import ChangedNumber, KeyChange, changed_keys, changed_numbers
from bomgen.documents.diff.expansion import Expansion, expansion, is_expansion
from bomgen.documents.diff.matching import NewNames, Pair, names, paired
from bomgen.documents.diff.side import (
    BILL,
    BillTotals,
    ComparedResult,
    Item,
    Warned,
    bill_in,
    compared_result_of,
    sum_amounts,
)
from bomgen.plan.commercial_terms import CHARGED

if TYPE_CHECKING:
    from bomgen.cabling.recabling import Moves

# price split --------------------------------------------------------------------------------------------------------
# The change of a bill's total, split into quantities, prices, discounts and exchange rates.
#
# Each line is calculated in steps from old to new, with one change at a time, rounded as in a quote, and the difference
# of each step is attributed to its change: first the quantity, then the price, the discount, and the exchange rate. The
# steps of a line thus add up to its change exactly, whatever is rounded, and a price increase that a discount offsets
# shows as both.

_WHOLE = Decimal(1)
MOST_REMEMBERED = 1 << 16
"""Number of cached amounts; most steps of a line change one input, and many lines are alike."""
QUANTITY, PRICE, DISCOUNT, EXCHANGE = "quantity", "price", "discount", "exchange_rate"
NEW, GONE, PRICED, UNPRICED = "new_lines", "gone_lines", "newly_priced", "no_longer_priced"
CHARGES, TAX, OTHER = "charges", "tax", "other"
PARTS = (QUANTITY, PRICE, DISCOUNT, EXCHANGE, NEW, GONE, PRICED, UNPRICED, CHARGES, TAX, OTHER)
"""Causes of a change of the total. `other` is 0, unless a file's totals are not the sum of its lines."""


class PriceSplit(NamedTuple):
    """A change of the total, split into parts that add up to it."""

    old: Decimal
    new: Decimal
    parts: dict[str, Decimal]

    @property
    def change(self) -> Decimal:
        """Return the increase of the total."""
        return ANY_AMOUNT.subtract(self.new, self.old)

    @property
    def changed(self) -> bool:
        """Return whether the total or any cause of a change is other than 0."""
        return bool(self.change or any(self.parts.values()))


def split_total(old: ComparedResult, new: ComparedResult, pairs: Iterable[Pair]) -> PriceSplit | None:
    """Return the change of the total split by cause; None if the sides are in different currencies."""
    if old.totals.currency != new.totals.currency:
        return None
    parts = dict.fromkeys(PARTS, Decimal(0))
    for pair in pairs:
        for name, amount in split_line(pair, new.totals.currency).items():
            parts[name] = ANY_AMOUNT.add(parts[name], amount)
    parts[TAX] = ANY_AMOUNT.subtract(new.totals.tax, old.totals.tax)
    price_split = PriceSplit(old.totals.amount, new.totals.amount, parts)
    known = sum_amounts(amount for name, amount in parts.items() if name != OTHER)
    parts[OTHER] = ANY_AMOUNT.subtract(price_split.change, known)
    return price_split


def split_line(pair: Pair, currency: str) -> dict[str, Decimal]:
    """Return the change of a line's amount, split by cause."""
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
    """Return the new price at the old exchange rate, in the currency of the quote; None if the rate is unchanged."""
    same = new.original_currency == old.original_currency and new.original_currency not in (None, currency)
    if not same or new.original_price is None or old.exchange_rate is None or old.exchange_rate == new.exchange_rate:
        return None
    return rounded(Fraction(new.original_price) * Fraction(old.exchange_rate), currency)


@lru_cache(maxsize=MOST_REMEMBERED)
def _amount(pieces: int, unit: Decimal, discount: Decimal, currency: str) -> Decimal:
    """Return the amount of pieces, rounded as in a quote; decimals are exact here, and faster than fractions."""
    left = ANY_AMOUNT.multiply(unit, ANY_AMOUNT.subtract(_WHOLE, discount))
    exact = ANY_AMOUNT.multiply(Decimal(pieces), left)
    return exact.quantize(minor_unit(currency), ROUND_HALF_UP, ANY_AMOUNT)


def line_change(pair: Pair, currency: str | None) -> Decimal | None:
    """Return the increase of a line's amount; None if unknown, or if the sides have different currencies."""
    amounts = [item.amount for item in (pair.old, pair.new) if item]
    if currency is None or all(amount is None for amount in amounts):
        return None
    return sum_amounts(split_line(pair, currency).values())


# difference ---------------------------------------------------------------------------------------------------------

__all__ = ["ComparedResult", "Difference", "add_moves", "bill_in", "compare", "compared_result_of"]

_NUMBERS = re.compile(r"\b[0-9][0-9 .,]*\b")


class Difference(NamedTuple):
    """All changes from one result to another."""

    old: ComparedResult
    new: ComparedResult
    keys: tuple[KeyChange, ...] | None
    """Changed plan keys; None if a side is not a plan."""
    numbers: tuple[ChangedNumber, ...]
    added_fabrics: tuple[str, ...]
    removed_fabrics: tuple[str, ...]
    renamed_fabrics: Mapping[str, str]
    names: NewNames
    """Corresponding clusters and fabrics of both sides."""
    added_warnings: tuple[Warned, ...]
    removed_warnings: tuple[Warned, ...]
    pairs: tuple[Pair, ...]
    """Changed bill lines."""
    unchanged: int
    """Unchanged bill lines."""
    money: PriceSplit | None
    """None if the sides are in different currencies."""
    rates: Mapping[str, tuple[Decimal, Decimal]]
    """Changed exchange rates, by the currency of the prices."""
    alternatives: Mapping[str, tuple[BillTotals | None, BillTotals | None]]
    """Alternatives that changed their total, were added or removed."""
    expansion: Expansion | None
    """None if it is not an expansion."""
    moves: Moves | None = None
    """None if not requested, or unknown."""
    moves_unknown: str = ""
    """The reason why the moves of an expansion are unknown."""

    @property
    def currency(self) -> str | None:
        """Return the currency of changed amounts; None if the sides are in different currencies."""
        return self.new.totals.currency if self.money else None

    @property
    def result_changed(self) -> bool:
        """Return whether anything in the result changed."""
        money = self.money is None or bool(self.money.change)
        designed = self.added_clusters or self.removed_clusters or self.added_fabrics or self.removed_fabrics
        warnings = self.added_warnings or self.removed_warnings
        renamed = self.renamed_fabrics
        return bool(self.numbers or designed or renamed or warnings or self.pairs or money or self.alternatives)

    @property
    def changed(self) -> bool:
        """Return whether anything changed, including plan keys without effect."""
        return bool(self.keys) or self.result_changed

    @property
    def added_clusters(self) -> tuple[str, ...]:
        """Return the added clusters, of a plan with several."""
        return tuple(name for name in self.new.clusters if name not in self.names.clusters.values())

    @property
    def removed_clusters(self) -> tuple[str, ...]:
        """Return the removed clusters, of a plan with several."""
        return tuple(name for name in self.old.clusters if name not in self.names.clusters)

    @property
    def renamed_clusters(self) -> Mapping[str, str]:
        """Return the new names of renamed clusters, by old name; the name of an only cluster is empty."""
        return {old: new for old, new in self.names.clusters.items() if old != new}

    @property
    def unpriced(self) -> tuple[Pair, ...]:
        """Return the lines that need a price and have none: new ones, larger quantities, or lost prices."""
        return tuple(
            pair
            for pair in self.pairs
            if pair.new
            and pair.new.lacks_price
            and (pair.old is None or pair.old.amount is not None or pair.pieces > 0)
        )

    @property
    def unpriced_side(self) -> ComparedResult | None:
        """Return the side without any price if the other has some, so that totals are not comparable; else None."""
        unknown = [side for side in (self.old, self.new) if side.totals.is_unknown]
        return unknown[0] if self.money and self.money.change and unknown else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Return messages about the limits of the comparison."""
        return tuple(_notes(self))


def compare(old: ComparedResult, new: ComparedResult) -> Difference:
    """Return the changes from one result to another."""
    same = names(old, new)
    pairs = paired(old.items, new.items, same)
    changed = [pair for pair in pairs if pair.old != pair.new]
    fabrics = {name: same.fabrics.get(name, name) for name in old.fabrics}
    was, became = ({_unplaced(warning): warning for warning in side.warnings} for side in (old, new))
    return Difference(
        old=old,
        new=new,
        keys=tuple(changed_keys(old.source, new.source, same.clusters)) if old.source and new.source else None,
        numbers=tuple(changed_numbers(old, new, same)),
        added_fabrics=tuple(name for name in new.fabrics if name not in fabrics.values()),
        removed_fabrics=tuple(name for name, now in fabrics.items() if now not in new.fabrics),
        renamed_fabrics=same.renamed,
        names=same,
        added_warnings=tuple(each for key, each in became.items() if key not in was),
        removed_warnings=tuple(each for key, each in was.items() if key not in became),
        pairs=tuple(changed),
        unchanged=len(pairs) - len(changed),
        money=split_total(old, new, changed),
        rates=dict(_rates(changed)),
        alternatives=dict(_alternatives(old, new)),
        expansion=expansion(new, changed) if is_expansion(old, new, same) else None,
    )


def add_moves(difference: Difference, moves: Moves | None, unknown: str = "") -> Difference:
    """Return a difference with its cable moves, or the reason why they are unknown."""
    return difference._replace(moves=moves, moves_unknown=unknown)


def _unplaced(warning: Warned) -> tuple[str, str]:
    """Return a warning without its place and numbers, for comparison."""
    return warning.id, _NUMBERS.sub("#", warning.message)


def _rates(pairs: list[Pair]) -> Iterator[tuple[str, tuple[Decimal, Decimal]]]:
    for pair in pairs:
        was, became = pair.old, pair.new
        if was and became and was.exchange_rate is not None and became.exchange_rate is not None:
            same = was.original_currency == became.original_currency
            if same and became.original_currency and was.exchange_rate != became.exchange_rate:
                yield became.original_currency, (was.exchange_rate, became.exchange_rate)


def _alternatives(
    old: ComparedResult, new: ComparedResult
) -> Iterator[tuple[str, tuple[BillTotals | None, BillTotals | None]]]:
    for name in dict.fromkeys((*new.alternatives, *old.alternatives)):
        was, became = old.alternatives.get(name), new.alternatives.get(name)
        if was != became:
            yield name, (was, became)


def _notes(difference: Difference) -> Iterator[str]:
    old, new = difference.old, difference.new
    if difference.keys is None:
        bills = dict.fromkeys(side.name for side in (old, new) if side.kind == BILL)
        yield message("diff-no-plan", name=" and ".join(bills))
    if old.version != new.version:
        yield message("diff-versions", old=old.version or "unknown", new=new.version or "unknown")
    if difference.money is None:
        yield message("diff-currencies", old=old.totals.currency, new=new.totals.currency)
    before, after = (sum(item.lacks_price for item in side.items) for side in (old, new))
    if before or after:
        yield message("diff-unpriced", old=before, old_lines=len(old.items), new=after, new_lines=len(new.items))
    if difference.money and difference.money.change and not (old.rates_known and new.rates_known):
        yield message("diff-rates")

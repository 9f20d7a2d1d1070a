"""The difference between two results, the split of its amount by cause, and the order that an expansion is.

`compare` works on the data of two bom.json files.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bomgen.core.document import group_by
from bomgen.core.messages import message
from bomgen.core.units import ANY_AMOUNT, Tax, minor_unit, rounded
from bomgen.documents.comparison import Comparison
from bomgen.documents.diff.matching import (
    KeyChange,
    NewNames,
    Pair,
    changed_keys,
    changed_numbers,
    named_by_words,
    names,
    paired,
)
from bomgen.documents.diff.side import BILL, BillTotals, ComparedResult, Item, Warned, sum_amounts
from bomgen.plan.commercial_terms import CHARGED
from bomgen.pricing.bill_line import Line
from bomgen.pricing.quote import taxes_on

if TYPE_CHECKING:
    from bomgen.cabling.recabling import Moves

# price split --------------------------------------------------------------------------------------------------------
# The change of a bill's total, split into quantities, prices, discounts and exchange rates.
#
# Each line is calculated in steps from old to new, with one change at a time, rounded as in a quote, and the difference
# of each step is attributed to its change: first the quantity, then the price, the discount, and the exchange rate. The
# steps of a line thus add up to its change exactly, whatever is rounded, and a price increase that a discount offsets
# shows as both.

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
    was, became = old.unit_price or Decimal(0), new.unit_price or Decimal(0)
    at_old_rate = became
    if new.original_currency == old.original_currency and new.original_currency not in (None, currency):
        price, rate = new.original_price, old.exchange_rate
        if price is not None and rate is not None and rate != new.exchange_rate:
            at_old_rate = rounded(Fraction(price) * Fraction(rate), currency)
    steps = (
        ("", _amount(old.pieces, was, old.discount, currency)),
        (QUANTITY, _amount(new.pieces, was, old.discount, currency)),
        (PRICE, _amount(new.pieces, at_old_rate, old.discount, currency)),
        (DISCOUNT, _amount(new.pieces, at_old_rate, new.discount, currency)),
        (EXCHANGE, _amount(new.pieces, became, new.discount, currency)),
    )
    return {name: ANY_AMOUNT.subtract(after, before) for (_, before), (name, after) in pairwise(steps)}


@lru_cache(maxsize=MOST_REMEMBERED)
def _amount(pieces: int, unit: Decimal, discount: Decimal, currency: str) -> Decimal:
    """Return the amount of pieces, rounded as in a quote; decimals are exact here, and faster than fractions."""
    left = ANY_AMOUNT.multiply(unit, ANY_AMOUNT.subtract(Decimal(1), discount))
    exact = ANY_AMOUNT.multiply(Decimal(pieces), left)
    return exact.quantize(minor_unit(currency), ROUND_HALF_UP, ANY_AMOUNT)


def line_change(pair: Pair, currency: str | None) -> Decimal | None:
    """Return the increase of a line's amount; None if unknown, or if the sides have different currencies."""
    amounts = [item.amount for item in (pair.old, pair.new) if item]
    if currency is None or all(amount is None for amount in amounts):
        return None
    return sum_amounts(split_line(pair, currency).values())


# order --------------------------------------------------------------------------------------------------------------
# An expansion as an order: parts to buy in addition to the existing ones, and surplus parts.


class Ordered(NamedTuple):
    """A part of which more or fewer pieces are needed."""

    part: str | None
    sku: str | None
    description: str
    category: str
    pieces: int
    amount: Decimal | None
    """Amount at the new prices and discounts; None if a price is unknown, or nothing is to be paid."""
    lines: tuple[str, ...]
    """Ids of the lines whose quantity changes."""


class OrderedLine(NamedTuple):
    """Ordered pieces of a new bill line, or the amount of a charge for the order."""

    item: Item
    pieces: int
    amount: Decimal | None
    """None if the price is unknown."""


class Expansion(NamedTuple):
    """The order that turns the old cluster into the new one."""

    order: tuple[Ordered, ...]
    free: tuple[Ordered, ...]
    """Surplus pieces."""
    amount: Decimal
    """Amount of the order as far as it is priced, without charges and tax."""
    unpriced: int
    """Number of ordered parts without a price."""
    charges: Decimal
    """Amount of freight, installation, support and software for the order."""
    taxes: tuple[Tax, ...]
    """Tax on the order and its charges, at the new rates."""

    @property
    def tax(self) -> Decimal:
        """Return the tax at all rates."""
        return sum_amounts(part.tax for part in self.taxes)

    @property
    def total(self) -> Decimal:
        """Return the amount of the order with charges and tax."""
        return ANY_AMOUNT.add(ANY_AMOUNT.add(self.amount, self.charges), self.tax)


def is_expansion(old: ComparedResult, new: ComparedResult, names: NewNames) -> bool:
    """Return whether the new clusters are the old ones with more servers, or more GPUs if they have no servers.

    No cluster may be smaller; an added cluster counts as more.
    """
    if len(names.clusters) < max(len(old.clusters), 1):
        return False
    grown = len(new.clusters) > len(names.clusters)
    for cluster, now in names.clusters.items():
        if any(old.of_cluster(cluster, key) != new.of_cluster(now, key) for key in ("gpu", "server")):
            return False
        key = "gpus" if new.of_cluster(now, "servers") is None else "servers"
        before, after = old.of_cluster(cluster, key), new.of_cluster(now, key)
        if type(before) is not int or type(after) is not int or not after >= before > 0:
            return False
        grown = grown or after > before
    return grown


def expansion(new: ComparedResult, pairs: Sequence[Pair]) -> Expansion:
    """Return the order that leads to the new side. Pieces freed on one line are used on other lines."""
    bought = (pair for pair in pairs if pair.item.category not in CHARGED and not pair.item.in_stock)
    free, lines = list[Ordered](), list[OrderedLine]()
    for of_part in group_by(bought, lambda pair: _part(pair.item)).values():
        pieces = sum(pair.pieces for pair in of_part)
        items = [pair.item for pair in of_part if pair.pieces < 0]
        if pieces > 0:
            lines += _take(of_part, pieces, new.totals.currency)
        elif pieces < 0:
            free.append(_ordered(items, -pieces, None))
    amount = sum_amounts(line.amount for line in lines)
    charged = [_charge(new, pair, amount) for pair in pairs if pair.item.category in CHARGED]
    return order_of(lines, charged, free, new.totals)


def order_of(
    lines: Sequence[OrderedLine], charged: Sequence[OrderedLine], free: Sequence[Ordered], totals: BillTotals
) -> Expansion:
    """Return the order of some lines and charges, at the tax rates of a bill; `free` are surplus parts."""
    order = []
    for of_part in group_by(lines, lambda line: _part(line.item)).values():
        amounts = [line.amount for line in of_part]
        amount = None if None in amounts else sum_amounts(amounts)
        order.append(_ordered([line.item for line in of_part], sum(line.pieces for line in of_part), amount))
    return Expansion(
        order=tuple(order),
        free=tuple(free),
        amount=sum_amounts(line.amount for line in lines),
        unpriced=sum(row.amount is None for row in order),
        charges=sum_amounts(line.amount for line in charged),
        taxes=taxes_on(
            ((line.item.category, line.amount) for line in (*lines, *charged)), totals.known_rates, totals.currency
        ),
    )


def _ordered(items: Sequence[Item], pieces: int, amount: Decimal | None) -> Ordered:
    part, sku, description, category = items[0].part, items[0].sku, items[0].description, items[0].category
    return Ordered(part, sku, description, category, pieces, amount, tuple(item.id for item in items))


def _charge(new: ComparedResult, pair: Pair, ordered: Decimal) -> OrderedLine:
    """Return the amount of a charge for an order of hardware; None if it has no price now.

    A share applies to the amount of the order. Additional pieces are charged at the new price, like parts. Otherwise
    the amount is the increase of the charge, at least 0: surplus parts and their services are not credited.
    """
    item = pair.new
    if item is None:
        return OrderedLine(pair.item, 0, Decimal(0))
    if item.amount is None:
        return OrderedLine(item, pair.pieces, None)
    currency = new.totals.currency
    if share := new.shares.get(item.id):
        unit_price = rounded(share * Fraction(ordered), currency)
        return OrderedLine(item, item.pieces, _net(item, item.pieces, unit_price, currency))
    if pair.pieces > 0 and item.unit_price is not None:
        return OrderedLine(item, pair.pieces, _net(item, pair.pieces, item.unit_price, currency))
    before = (pair.old.amount if pair.old else None) or Decimal(0)
    more = ANY_AMOUNT.subtract(item.amount, before) if pair.pieces == 0 else Decimal(0)
    return OrderedLine(item, max(pair.pieces, 0), max(more, Decimal(0)))


def _net(item: Item, pieces: int, unit_price: Decimal, currency: str) -> Decimal:
    return rounded(pieces * Fraction(unit_price) * (1 - Fraction(item.discount)), currency)


def _part(item: Item) -> Hashable:
    return item.category, item.part, item.description if named_by_words(item) else ""


def _take(pairs: Sequence[Pair], pieces: int, currency: str) -> Iterator[OrderedLine]:
    """Yield the ordered pieces of a part per line, in the order of the bill."""
    for pair in pairs:
        taken = min(pair.pieces, pieces)
        if pair.new is None or taken <= 0:
            continue
        pieces -= taken
        price = pair.new.unit_price
        amount = None if price is None else _net(pair.new, taken, price, currency)
        yield OrderedLine(pair.new, taken, amount)


# difference ---------------------------------------------------------------------------------------------------------

_NUMBERS = re.compile(r"\b[0-9][0-9 .,]*\b")


@dataclass(frozen=True)
class Difference(Comparison[ComparedResult]):
    """All changes from one result to another; the rows are changed numbers and words of the design."""

    keys: tuple[KeyChange, ...] | None
    """Changed plan keys; None if a side is not a plan."""
    added_fabrics: tuple[str, ...]
    removed_fabrics: tuple[str, ...]
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
    def old(self) -> ComparedResult:
        """Return the side before."""
        return self.sides[0]

    @property
    def new(self) -> ComparedResult:
        """Return the side after."""
        return self.sides[1]

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
        renamed = self.names.renamed
        return bool(self.rows or designed or renamed or warnings or self.pairs or money or self.alternatives)

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
    def on_one_side(self) -> tuple[tuple[ComparedResult, tuple[str, ...], tuple[str, ...]], ...]:
        """Return the clusters and fabrics that only the new side has, then those that only the old one has."""
        return (
            (self.new, self.added_clusters, self.added_fabrics),
            (self.old, self.removed_clusters, self.removed_fabrics),
        )

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
        unknown = [side for side in self.sides if side.totals.is_unknown]
        return unknown[0] if self.money and self.money.change and unknown else None


def compare(old: ComparedResult, new: ComparedResult) -> Difference:
    """Return the changes from one result to another."""
    same = names(old, new)
    pairs = paired(old.items, new.items, same)
    changed = tuple(pair for pair in pairs if pair.old != pair.new)
    fabrics = {name: same.fabrics.get(name, name) for name in old.fabrics}
    # warnings are the same regardless of their place and numbers
    was, became = (
        {(warning.id, _NUMBERS.sub("#", warning.message)): warning for warning in side.warnings} for side in (old, new)
    )
    keys = tuple(changed_keys(old.source, new.source, same.clusters)) if old.source and new.source else None
    money = split_total(old, new, changed)
    both = {name: (old.alternatives.get(name), new.alternatives.get(name)) for name in new.alternatives}
    both |= {name: (totals, None) for name, totals in old.alternatives.items() if name not in both}
    return Difference(
        sides=(old, new),
        rows=tuple(changed_numbers(old, new, same)),
        notes=tuple(_notes(old, new, keys, money)),
        keys=keys,
        added_fabrics=tuple(name for name in new.fabrics if name not in fabrics.values()),
        removed_fabrics=tuple(name for name, now in fabrics.items() if now not in new.fabrics),
        names=same,
        added_warnings=tuple(warning for key, warning in became.items() if key not in was),
        removed_warnings=tuple(warning for key, warning in was.items() if key not in became),
        pairs=changed,
        unchanged=len(pairs) - len(changed),
        money=money,
        rates=dict(_rates(changed)),
        alternatives={name: totals for name, totals in both.items() if totals[0] != totals[1]},
        expansion=expansion(new, changed) if is_expansion(old, new, same) else None,
    )


def add_moves(difference: Difference, moves: Moves | None, unknown: str = "") -> Difference:
    """Return a difference with its cable moves, or the reason why they are unknown."""
    return replace(difference, moves=moves, moves_unknown=unknown)


def add_order(difference: Difference, order: ComparedResult, left_over: Iterable[Line]) -> Difference:
    """Return an expansion of one plan into another with the order that its quote has, and its surplus parts."""
    lines = [OrderedLine(item, item.pieces, item.amount) for item in order.items if not item.in_stock]
    parts, charges = (
        [line for line in lines if (line.item.category in CHARGED) is charged] for charged in (False, True)
    )
    free = [
        Ordered(line.part, line.sku, line.description, line.category, line.pieces, None, (line.id,))
        for line in left_over
    ]
    return replace(difference, expansion=order_of(parts, charges, free, difference.new.totals))


def _rates(pairs: Iterable[Pair]) -> Iterator[tuple[str, tuple[Decimal, Decimal]]]:
    for was, became in ((pair.old, pair.new) for pair in pairs):
        if was and became and was.exchange_rate is not None and became.exchange_rate is not None:
            same = was.original_currency == became.original_currency
            if same and became.original_currency and was.exchange_rate != became.exchange_rate:
                yield became.original_currency, (was.exchange_rate, became.exchange_rate)


def _notes(
    old: ComparedResult, new: ComparedResult, keys: tuple[KeyChange, ...] | None, money: PriceSplit | None
) -> Iterator[str]:
    if keys is None:
        bills = dict.fromkeys(side.name for side in (old, new) if side.kind == BILL)
        yield message("diff-no-plan", name=" and ".join(bills))
    if old.version != new.version:
        yield message("diff-versions", old=old.version or "unknown", new=new.version or "unknown")
    if money is None:
        yield message("diff-currencies", old=old.totals.currency, new=new.totals.currency)
    before, after = (sum(item.lacks_price for item in side.items) for side in (old, new))
    if before or after:
        yield message("diff-unpriced", old=before, old_lines=len(old.items), new=after, new_lines=len(new.items))
    if money and money.change and not (old.rates_known and new.rates_known):
        yield message("diff-rates")

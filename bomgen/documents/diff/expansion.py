"""An expansion as an order: parts to buy in addition to the existing ones, and surplus parts."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.grouping import group_by
from bomgen.core.units import ANY_AMOUNT, Tax, rounded
from bomgen.documents.diff.matching import NewNames, Pair, cluster_prefix, named_by_words
from bomgen.documents.diff.side import ComparedResult, Item, sum_amounts
from bomgen.plan.commercial_terms import CHARGED
from bomgen.pricing.quote import taxes_on


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
    spare: int = 0
    """How many of the pieces are spares."""


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
    lines: tuple[OrderedLine, ...]
    """The order line by line, in the order of the new bill."""
    charged: tuple[OrderedLine, ...]
    """Charges of the order: shares of its amount, and piece charges for additional pieces."""

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
        was, became = f"{cluster_prefix(old, cluster)}cluster", f"{cluster_prefix(new, now)}cluster"
        if any(old.numbers.get(f"{was}.{key}") != new.numbers.get(f"{became}.{key}") for key in ("gpu", "server")):
            return False
        key = "servers" if f"{became}.servers" in new.numbers else "gpus"
        before, after = old.numbers.get(f"{was}.{key}"), new.numbers.get(f"{became}.{key}")
        if type(before) is not int or type(after) is not int or not after >= before > 0:
            return False
        grown = grown or after > before
    return grown


def expansion(new: ComparedResult, pairs: Sequence[Pair]) -> Expansion:
    """Return the order that leads to the new side. Pieces freed on one line are used on other lines."""
    bought = [pair for pair in pairs if pair.item.category not in CHARGED and not pair.item.in_stock]
    order, free, lines = list[Ordered](), list[Ordered](), list[OrderedLine]()
    for found in group_by(bought, lambda pair: _part(pair.item)).values():
        pieces = sum(pair.pieces for pair in found)
        if pieces > 0:
            taken = list(_take(found, pieces, new.totals.currency))
            needing = [pair.item for pair in found if pair.pieces > 0]
            known = all(line.amount is not None for line in taken)
            order.append(_row(needing, pieces, sum_amounts(line.amount for line in taken) if known else None))
            lines += taken
        elif pieces < 0:
            given = [pair.item for pair in found if pair.pieces < 0]
            free.append(_row(given, -pieces, None))
    amount = sum_amounts(row.amount for row in lines)
    charged = tuple(_charge(new, pair, amount) for pair in pairs if pair.item.category in CHARGED)
    charges = sum_amounts(row.amount for row in charged)
    places = {item.id: at for at, item in enumerate(new.items)}
    return Expansion(
        order=tuple(order),
        free=tuple(free),
        amount=amount,
        unpriced=sum(row.amount is None for row in order),
        charges=charges,
        taxes=taxes_on(
            ((line.item.category, line.amount) for line in (*lines, *charged)),
            new.totals.known_rates,
            new.totals.currency,
        ),
        lines=tuple(sorted(lines, key=lambda line: places[line.item.id])),
        charged=charged,
    )


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
    words = item.description if named_by_words(item) else ""
    return item.category, item.part, words


def _take(pairs: Sequence[Pair], pieces: int, currency: str) -> Iterator[OrderedLine]:
    """Yield the ordered pieces of a part per line, in the order of the bill."""
    for pair in pairs:
        taken = min(pair.pieces, pieces)
        if pair.new is None or taken <= 0:
            continue
        pieces -= taken
        price = pair.new.unit_price
        amount = None if price is None else _net(pair.new, taken, price, currency)
        spare = max(pair.new.spare - (pair.old.spare if pair.old else 0), 0)
        yield OrderedLine(pair.new, taken, amount, min(spare, taken))


def _row(items: Sequence[Item], pieces: int, amount: Decimal | None) -> Ordered:
    first = items[0]
    lines = tuple(item.id for item in items)
    return Ordered(first.part, first.sku, first.description, first.category, pieces, amount, lines)

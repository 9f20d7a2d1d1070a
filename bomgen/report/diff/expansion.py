"""An expansion as an order: what to buy on top of what stands there, and what is left over."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.money import ANY_AMOUNT, rounded
from bomgen.plan.commercial_terms import CHARGED
from bomgen.report.diff.clusters import Names, cluster_prefix
from bomgen.report.diff.lines import Pair, named_by_words
from bomgen.report.diff.side import Item, Side


class Ordered(NamedTuple):
    """A part of which more pieces are needed, or fewer."""

    part: str | None
    sku: str | None
    description: str
    category: str
    pieces: int
    amount: Decimal | None
    """At the new prices and discounts; None where one is not known, or nothing is to be paid."""
    lines: tuple[str, ...]
    """Ids of the lines that need more of it, or fewer."""


class Expansion(NamedTuple):
    """What turns the old cluster into the new one."""

    order: tuple[Ordered, ...]
    free: tuple[Ordered, ...]
    """Pieces that nothing needs any more."""
    amount: Decimal
    """Of what is ordered, as far as it has a price; charges and tax apart."""
    unpriced: int
    """Parts of the order without a price."""
    charges: Decimal
    """How much more freight, installation, support and software come to."""
    tax: Decimal


def is_expansion(old: Side, new: Side, names: Names) -> bool:
    """Whether the new clusters are the old ones with more servers, or with more GPUs where they have no servers.

    None of them has fewer, and one that is new is more as well.
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


def expansion(old: Side, new: Side, pairs: Sequence[Pair]) -> Expansion:
    """The order for an expansion. Pieces of a part that one place gives up serve where another needs more."""
    bought = [pair for pair in pairs if pair.item.category not in CHARGED and not pair.item.in_stock]
    by_part: dict[Hashable, list[Pair]] = {}
    for pair in bought:
        by_part.setdefault(_part(pair.item), []).append(pair)
    order, free = list[Ordered](), list[Ordered]()
    for found in by_part.values():
        pieces = sum(pair.pieces for pair in found)
        if pieces > 0:
            order.append(_ordered(found, pieces, new.totals.currency))
        elif pieces < 0:
            free.append(_row([pair for pair in found if pair.pieces < 0], -pieces, None))
    charges = [pair for pair in pairs if pair.item.category in CHARGED]
    before, after = (_sum(item.amount for item in side if item) for side in _sides(charges))
    return Expansion(
        order=tuple(order),
        free=tuple(free),
        amount=_sum(row.amount for row in order),
        unpriced=sum(row.amount is None for row in order),
        charges=ANY_AMOUNT.subtract(after, before),
        tax=ANY_AMOUNT.subtract(new.totals.tax, old.totals.tax),
    )


def _sides(pairs: Iterable[Pair]) -> tuple[list[Item | None], list[Item | None]]:
    found = list(pairs)
    return [pair.old for pair in found], [pair.new for pair in found]


def _part(item: Item) -> Hashable:
    """What is one part to whoever orders it."""
    words = item.description if named_by_words(item) else ""
    return item.category, item.part, words


def _ordered(found: Sequence[Pair], pieces: int, currency: str) -> Ordered:
    """The order of a part: pieces are taken from the lines that need more, in the order of the bill."""
    needing = [pair for pair in found if pair.pieces > 0 and pair.new]
    left, amount = pieces, Decimal(0)
    known = True
    for pair in needing:
        taken = min(pair.pieces, left)
        left -= taken
        if pair.new is None or not taken:
            continue
        if pair.new.unit_price is None:
            known = False
            continue
        share = 1 - Fraction(pair.new.discount)
        amount = ANY_AMOUNT.add(amount, rounded(taken * Fraction(pair.new.unit_price) * share, currency))
    return _row(needing, pieces, amount if known else None)


def _row(found: Sequence[Pair], pieces: int, amount: Decimal | None) -> Ordered:
    item = found[0].item
    lines = tuple(pair.item.id for pair in found)
    return Ordered(item.part, item.sku, item.description, item.category, pieces, amount, lines)


def _sum(amounts: Iterable[Decimal | None]) -> Decimal:
    total = Decimal(0)
    for amount in amounts:
        total = ANY_AMOUNT.add(total, amount or Decimal(0))
    return total

"""What changed between two results: keys of the plan, the design, lines of the bill, money, what an expansion takes.

`compare` works on the data of two bom.json; `text`, `markdown` and `data` show what it found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from bomgen.core.messages import message
from bomgen.report.diff.clusters import Names, names
from bomgen.report.diff.expansion import Expansion, expansion, is_expansion
from bomgen.report.diff.keys import KeyChange, changed_keys
from bomgen.report.diff.lines import Pair, paired
from bomgen.report.diff.numbers import Changed, changed_numbers
from bomgen.report.diff.price_split import PriceSplit, split_total
from bomgen.report.diff.side import BILL, Money, Side, Warned, bill_in, side_of

if TYPE_CHECKING:
    from bomgen.cabling.recabling import Moves

__all__ = ["Difference", "Side", "add_moves", "bill_in", "compare", "side_of"]

_NUMBERS = re.compile(r"\b[0-9][0-9 .,]*\b")


class Difference(NamedTuple):
    """Everything that changed from one side to the other."""

    old: Side
    new: Side
    keys: tuple[KeyChange, ...] | None
    """Of the plan; None: a side is no plan."""
    numbers: tuple[Changed, ...]
    added_fabrics: tuple[str, ...]
    removed_fabrics: tuple[str, ...]
    renamed_fabrics: Mapping[str, str]
    names: Names
    """Which clusters and fabrics are the same on both sides."""
    added_warnings: tuple[Warned, ...]
    removed_warnings: tuple[Warned, ...]
    pairs: tuple[Pair, ...]
    """Lines of the bill that changed."""
    unchanged: int
    """Lines that did not."""
    money: PriceSplit | None
    """None: the sides are in different currencies."""
    rates: Mapping[str, tuple[Decimal, Decimal]]
    """Exchange rates that changed, by the currency of the prices."""
    alternatives: Mapping[str, tuple[Money | None, Money | None]]
    """Alternatives of the plan whose totals changed, are new or gone."""
    expansion: Expansion | None
    """None: it is none."""
    moves: Moves | None = None
    """None: not asked for, or not known."""
    moves_unknown: str = ""
    """Why the moves of an expansion are not known."""

    @property
    def result_changed(self) -> bool:
        """Whether anything of the result changed."""
        money = self.money is None or bool(self.money.change)
        designed = self.added_clusters or self.removed_clusters or self.added_fabrics or self.removed_fabrics
        warnings = self.added_warnings or self.removed_warnings
        renamed = self.renamed_fabrics
        return bool(self.numbers or designed or renamed or warnings or self.pairs or money or self.alternatives)

    @property
    def changed(self) -> bool:
        """Whether anything changed, be it only words of the plan."""
        return bool(self.keys) or self.result_changed

    @property
    def added_clusters(self) -> tuple[str, ...]:
        """Clusters that are new, where there are several."""
        return tuple(name for name in self.new.clusters if name not in self.names.clusters.values())

    @property
    def removed_clusters(self) -> tuple[str, ...]:
        """Clusters that are gone, where there were several."""
        return tuple(name for name in self.old.clusters if name not in self.names.clusters)

    @property
    def renamed_clusters(self) -> Mapping[str, str]:
        """Clusters that are called otherwise, by the old name; that of a plan with one cluster is empty."""
        return {old: new for old, new in self.names.clusters.items() if old != new}

    @property
    def unpriced(self) -> tuple[Pair, ...]:
        """Lines that have no price and need one: they are new, are of more pieces, or had one before."""
        return tuple(
            pair
            for pair in self.pairs
            if pair.new
            and pair.new.lacks_price
            and (pair.old is None or pair.old.amount is not None or pair.pieces > 0)
        )

    @property
    def unpriced_side(self) -> Side | None:
        """The side on which nothing has a price, where the other one has some: totals are not compared then."""
        unknown = [side for side in (self.old, self.new) if side.totals.is_unknown]
        return unknown[0] if self.money and self.money.change and unknown else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the comparison, as messages."""
        return tuple(_notes(self))


def compare(old: Side, new: Side) -> Difference:
    """What changed from one side to the other."""
    same = names(old, new)
    pairs = paired(old.items, new.items, same)
    changed = [pair for pair in pairs if pair.old != pair.new]
    fabrics = {name: same.fabrics.get(name, name) for name in old.fabrics}
    was, became = ({_unplaced(each): each for each in side.warnings} for side in (old, new))
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


def add_moves(found: Difference, moves: Moves | None, unknown: str = "") -> Difference:
    """A difference with what is to be moved, or why that is not known."""
    return found._replace(moves=moves, moves_unknown=unknown)


def _unplaced(each: Warned) -> tuple[str, str]:
    """What a warning says, wherever it stands and however many it counts."""
    return each.id, _NUMBERS.sub("#", each.message)


def _rates(pairs: list[Pair]) -> Iterator[tuple[str, tuple[Decimal, Decimal]]]:
    for pair in pairs:
        was, became = pair.old, pair.new
        if was and became and was.exchange_rate is not None and became.exchange_rate is not None:
            same = was.original_currency == became.original_currency
            if same and became.original_currency and was.exchange_rate != became.exchange_rate:
                yield became.original_currency, (was.exchange_rate, became.exchange_rate)


def _alternatives(old: Side, new: Side) -> Iterator[tuple[str, tuple[Money | None, Money | None]]]:
    for name in dict.fromkeys((*new.alternatives, *old.alternatives)):
        was, became = old.alternatives.get(name), new.alternatives.get(name)
        if was != became:
            yield name, (was, became)


def _notes(found: Difference) -> Iterator[str]:
    old, new = found.old, found.new
    if found.keys is None:
        bills = dict.fromkeys(side.name for side in (old, new) if side.kind == BILL)
        yield message("diff-no-plan", name=" and ".join(bills))
    if old.version != new.version:
        yield message("diff-versions", old=old.version or "unknown", new=new.version or "unknown")
    if found.money is None:
        yield message("diff-currencies", old=old.totals.currency, new=new.totals.currency)
    before, after = (sum(item.lacks_price for item in side.items) for side in (old, new))
    if before or after:
        yield message("diff-unpriced", old=before, old_lines=len(old.items), new=after, new_lines=len(new.items))
    if found.money and found.money.change and not (old.rates_known and new.rates_known):
        yield message("diff-rates")

"""Matching of clusters and bill lines between two results, or between a result and a customer's bill."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from bomgen import __version__
from bomgen.core.grouping import group_by
from bomgen.core.units import ANY_AMOUNT
from bomgen.documents.diff.side import BILL, BillTotals, ComparedResult, Item, sum_amounts
from bomgen.reading.bills import SentBill, SentLine

ONLY = ""
"""Name used here for the only cluster of a result."""


class NewNames(NamedTuple):
    """Names on the new side, by name on the old side."""

    clusters: Mapping[str, str]
    """New names of clusters by old name; removed ones are missing."""
    fabrics: Mapping[str, str]
    """Old names of renamed fabrics, with their cluster and a dot as prefix, and their new names."""
    renamed: Mapping[str, str]
    """The renamed fabrics whose own name changed, not only that of their cluster."""


def names(old: ComparedResult, new: ComparedResult) -> NewNames:
    """Return the corresponding clusters and fabrics of both sides."""
    clusters = _clusters(old, new)
    moved = {}
    for name in old.fabrics:
        cluster, _, own = name.rpartition(".")
        if cluster in clusters:
            moved[name] = f"{clusters[cluster]}.{own}" if clusters[cluster] else own
        elif clusters == {ONLY: ONLY}:
            moved[name] = name
    fresh = [name for name in new.fabrics if name not in moved.values()]
    kinds = {name: (cluster_of(now), old.fabrics[name]) for name, now in moved.items() if now not in new.fabrics}
    renamed = {}
    for name, kind in kinds.items():
        alike = [other for other in fresh if (cluster_of(other), new.fabrics[other]) == kind]
        if len(alike) == 1 == list(kinds.values()).count(kind):
            renamed[name] = alike[0]
    kept = {name: now for name, now in moved.items() if now in new.fabrics and now != name}
    return NewNames(clusters, kept | renamed, renamed)


def own_names(names: NewNames, cluster: str) -> dict[str, str]:
    """Return the renamed fabrics of one old cluster, without the cluster's name."""
    fabrics = ((old.rpartition("."), new.rpartition(".")) for old, new in names.fabrics.items())
    return {old[-1]: new[-1] for old, new in fabrics if old[0] == cluster and old[-1] != new[-1]}


def cluster_of(fabric: str) -> str:
    """Return the cluster of a fabric, from its name."""
    return fabric.rpartition(".")[0]


def described_cluster(side: ComparedResult, cluster: str) -> str:
    """Return a short description of a cluster."""
    number, gpu, servers, server = (side.of_cluster(cluster, key) for key in ("gpus", "gpu", "servers", "server"))
    gpus = f"{number or 0} x {gpu or 'GPU'}"
    return f"{gpus} in {servers} x {server or 'server'}" if servers else gpus


def _clusters(old: ComparedResult, new: ComparedResult) -> dict[str, str]:
    """Return the new names of clusters by old name: equal names, then equal machines, nearest in size."""
    before, after = old.clusters or (ONLY,), new.clusters or (ONLY,)
    clusters = {name: name for name in before if name in after}
    gone, fresh = ([name for name in side if name not in clusters] for side in (before, after))
    for name in gone:
        if ONLY not in (*gone, *fresh) and not len(gone) == 1 == len(fresh):
            continue
        machines = [old.of_cluster(name, key) for key in ("gpu", "server")]
        alike = [other for other in fresh if [new.of_cluster(other, key) for key in ("gpu", "server")] == machines]
        if alike:
            clusters[name] = min(alike, key=lambda other: abs(_size(new, other) - _size(old, name)))
            fresh.remove(clusters[name])
    return clusters


def _size(side: ComparedResult, cluster: str) -> int:
    gpus = side.of_cluster(cluster, "gpus")
    return gpus if type(gpus) is int else 0


# lines --------------------------------------------------------------------------------------------------------------
# Corresponding lines of two bills, and their order for a reader.

CABLE = "cable"
"""Category of parts that also differ by length, which only the description of generic ones has."""
NO_NAMES = NewNames({}, {}, {})
ADDED, REMOVED, CHANGED, RENAMED = "added", "removed", "changed", "renamed"


class Pair(NamedTuple):
    """A line before and after; one is None if the line was added or removed."""

    old: Item | None
    new: Item | None
    replaces: str | None = None
    """For an added line: the id of the removed line that it replaces."""
    replaced_by: str | None = None
    """For a removed line: the id of the added line that replaces it."""

    @property
    def item(self) -> Item:
        """Return the new line, or the old one if it was removed."""
        item = self.new or self.old
        if item is None:
            raise ValueError("a pair has at least one line")
        return item

    @property
    def change(self) -> str:
        """Return the kind of change of the line."""
        if self.old is None:
            return ADDED
        if self.new is None:
            return REMOVED
        return RENAMED if _bought(self.old) == _bought(self.new) else CHANGED

    @property
    def pieces(self) -> int:
        """Return the increase in pieces, including spares."""
        return (self.new.pieces if self.new else 0) - (self.old.pieces if self.old else 0)


def _bought(item: Item) -> tuple[object, ...]:
    """Return part, quantity and price of a line, without its names."""
    what = (item.category, item.role, item.part, item.quantity, item.spare, item.in_stock)
    money = (item.unit_price, item.discount, item.amount, item.original_price, item.original_currency)
    return (*what, *money, item.exchange_rate)


def named_by_words(item: Item) -> bool:
    """Return whether only the description identifies a line: no part, a cable length, or a generic rack."""
    return item.part in (None, item.category) or item.category == CABLE


def paired(old: Sequence[Item], new: Sequence[Item], names: NewNames) -> list[Pair]:
    """Return the lines of both bills in pairs, in the order of the new bill; removed ones keep their position.

    Lines with equal id and part match; then lines with equal part, use and fabric, such as cables that now have several
    lengths. Remaining lines with the same id, or alone in the same use, replace each other. `names` has renamed
    clusters and fabrics.
    """
    by_id = {item.id: at for at, item in enumerate(old)}
    if names.fabrics or any(name != now for name, now in names.clusters.items()):
        by_id |= {_moved_id(item, names): at for at, item in enumerate(old)}
    partner = dict[int, int]()
    instead = dict[int, int]()
    taken = set[int]()
    for at, item in enumerate(new):
        before = by_id.get(item.id)
        if before is not None and before not in taken and _is_same(old[before], item):
            partner[at] = before
            taken.add(before)
    if len(partner) < len(new):
        alike = {use: places[::-1] for use, places in _left(old, taken, lambda item: _use(item, names)).items()}
        for at, item in enumerate(new):
            if at not in partner and (places := alike.get(_use(item, NO_NAMES))):
                partner[at] = places.pop()
                taken.add(partner[at])
    for at, item in enumerate(new):
        if at not in partner and (before := by_id.get(item.id)) is not None and before not in taken:
            instead[at] = before
            taken.add(before)
    if len(partner) + len(instead) < len(new):
        alone = _left(old, taken, lambda item: _place(item, names))
        for place, places in _left(new, {*partner, *instead}, lambda item: _place(item, NO_NAMES)).items():
            if len(places) == 1 == len(alone.get(place, ())):
                instead[places[0]] = alone[place][0]
    return _in_order(old, new, partner, instead)


def _is_same(old: Item, new: Item) -> bool:
    """Return whether two lines are for the same part, regardless of names."""
    if (old.part, old.in_stock, old.category) != (new.part, new.in_stock, new.category):
        return False
    return old.description == new.description or not named_by_words(new)


def _moved_id(item: Item, names: NewNames) -> str:
    if item.fabric and item.fabric in names.fabrics and item.id.startswith(f"{item.fabric}."):
        return names.fabrics[item.fabric] + item.id[len(item.fabric) :]
    cluster = names.clusters.get(item.cluster, item.cluster)
    if cluster == item.cluster:
        return item.id
    own = item.id.removeprefix(f"{item.cluster}.") if item.cluster else item.id
    return f"{cluster}.{own}" if cluster else own


def _use(item: Item, names: NewNames) -> Hashable:
    """Return position and part of a line, regardless of its id."""
    return *_place(item, names), item.part, item.description


def _place(item: Item, names: NewNames) -> tuple[Hashable, ...]:
    fabric = names.fabrics.get(item.fabric, item.fabric) if item.fabric else None
    return item.category, names.clusters.get(item.cluster, item.cluster), fabric, item.role, item.in_stock


def _left(items: Sequence[Item], taken: set[int], key: Callable[[Item], Hashable]) -> dict[Hashable, list[int]]:
    """Return the places of items that have no counterpart yet, by key."""
    return group_by((at for at in range(len(items)) if at not in taken), lambda at: key(items[at]))


def _in_order(
    old: Sequence[Item], new: Sequence[Item], partner: Mapping[int, int], instead: Mapping[int, int]
) -> list[Pair]:
    after, replaced = {before: at for at, before in partner.items()}, {*instead.values()}
    waiting = dict[int, list[Pair]]()
    last = -1
    for at, item in enumerate(old):
        if at in after:
            last = after[at]
        elif at not in replaced:
            waiting.setdefault(last, []).append(Pair(item, None))
    pairs = waiting.get(-1, [])
    for at, item in enumerate(new):
        if at in instead:
            before = old[instead[at]]
            pairs += [Pair(before, None, replaced_by=item.id), Pair(None, item, replaces=before.id)]
        else:
            pairs.append(Pair(old[partner[at]] if at in partner else None, item))
        pairs += waiting.get(at, [])
    return pairs


# sent bill ----------------------------------------------------------------------------------------------------------
# A customer's bill as a side of a comparison: its lines by part, matched by part number.

UNKNOWN = "unknown"
"""Category of lines with unknown parts."""


def side_of_bill(bill: SentBill) -> ComparedResult:
    """Return a bill as a side of a comparison; its currency may be unknown."""
    items = tuple(_by_part([_item(line) for line in bill.lines if line.quantity]))
    amounts = [item.amount for item in items]
    money = BillTotals(bill.currency, Decimal(0), sum_amounts(amounts), None not in amounts)
    return ComparedResult(bill.file, BILL, bill.file, __version__, items, money)


def beside_bill(old: ComparedResult, new: ComparedResult) -> tuple[ComparedResult, ComparedResult]:
    """Return both sides by part, if one is a customer's bill; a bill without a currency gets that of the other side."""
    currency = old.totals.currency or new.totals.currency
    one, other = (
        ComparedResult(
            *(side.name, side.kind, side.plan, side.version, tuple(_by_part(side.items))),
            side.totals._replace(currency=side.totals.currency or currency),
            rates_known=side.rates_known,
        )
        for side in (old, new)
    )
    return one, other


def _item(line: SentLine) -> Item:
    named = line.recognition.named
    amount = line.amount
    if amount is None and line.unit_price is not None:
        share = 1 - (line.discount or Decimal(0))
        amount = ANY_AMOUNT.multiply(ANY_AMOUNT.multiply(line.unit_price, Decimal(line.pieces)), share)
    part = named.part if named else line.shown.lower()
    return Item(
        *(part, named.kind if named else UNKNOWN, None, None, part, line.part or None, None, line.description or part),
        *(line.quantity or 0, line.spare or 0, line.unit_price, line.discount or Decimal(0), amount, line.in_stock),
        *(line.unit_price, None, None),
    )


def _by_part(items: Sequence[Item]) -> Iterator[Item]:
    """Yield items with those of one part merged: pieces and amounts added, the price if it is the same."""
    for lines in group_by(items, lambda item: (item.category, item.part or item.description)).values():
        first = lines[0]
        amounts = [item.amount for item in lines if item.amount is not None]
        yield first._replace(
            id=(name := first.part or first.description.lower()),
            description=name,
            fabric=None,
            role=None,
            cluster="",
            original_price=None,
            original_currency=None,
            exchange_rate=None,
            quantity=sum(item.pieces for item in lines),
            spare=0,
            unit_price=first.unit_price if len({item.unit_price for item in lines}) == 1 else None,
            amount=sum_amounts(amounts) if amounts else None,
        )

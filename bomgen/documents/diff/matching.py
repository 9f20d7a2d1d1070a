"""Matching of clusters and bill lines between two results, or between a result and a customer's bill."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from bomgen import __version__
from bomgen.core.units import ANY_AMOUNT
from bomgen.documents.diff.side import BILL, BillTotals, ComparedResult, Item, sum_amounts
from bomgen.plan.clusters import KEY as CLUSTERS
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
    moved = {name: _fabric_in(name, clusters) for name in old.fabrics}
    fresh = [name for name in new.fabrics if name not in moved.values()]
    kinds = {
        name: (cluster_of(now), old.fabrics[name]) for name, now in moved.items() if now and now not in new.fabrics
    }
    renamed = {}
    for name, kind in kinds.items():
        taken = [other for other in fresh if (cluster_of(other), new.fabrics[other]) == kind]
        if len(taken) == 1 == list(kinds.values()).count(kind):
            renamed[name] = taken[0]
    known = {name: now for name, now in moved.items() if now in new.fabrics and now != name}
    return NewNames(clusters, {**{name: now for name, now in known.items() if now}, **renamed}, renamed)


def own_names(names: NewNames, cluster: str) -> dict[str, str]:
    """Return the renamed fabrics of one old cluster, without the cluster's name."""
    found = ((old.rpartition("."), new.rpartition(".")) for old, new in names.fabrics.items())
    return {old[-1]: new[-1] for old, new in found if old[0] == cluster and old[-1] != new[-1]}


def cluster_of(fabric: str) -> str:
    """Return the cluster of a fabric, from its name."""
    return fabric.rpartition(".")[0]


def cluster_prefix(side: ComparedResult, cluster: str) -> str:
    """Return the path prefix of a cluster's numbers."""
    return f"{CLUSTERS}.{cluster}." if side.clusters else ""


def described_cluster(side: ComparedResult, cluster: str) -> str:
    """Return a short description of a cluster."""
    get, base = side.numbers.get, f"{cluster_prefix(side, cluster)}cluster"
    gpus = f"{get(f'{base}.gpus', 0)} x {get(f'{base}.gpu', 'GPU')}"
    servers = get(f"{base}.servers")
    return f"{gpus} in {servers} x {get(f'{base}.server', 'server')}" if servers else gpus


def _fabric_in(name: str, clusters: Mapping[str, str]) -> str | None:
    cluster, _, own = name.rpartition(".")
    if cluster not in clusters:
        return name if clusters == {ONLY: ONLY} else None
    now = clusters[cluster]
    return f"{now}.{own}" if now else own


def _clusters(old: ComparedResult, new: ComparedResult) -> dict[str, str]:
    before, after = old.clusters or (ONLY,), new.clusters or (ONLY,)
    found = {name: name for name in before if name in after}
    gone = [name for name in before if name not in found]
    fresh = [name for name in after if name not in found]
    for name in gone:
        alike = [other for other in fresh if _machines(old, name) == _machines(new, other)]
        alike.sort(key=lambda other: abs(_size(new, other) - _size(old, name)))
        if ONLY not in (*gone, *fresh) and not len(gone) == 1 == len(fresh):
            alike = []
        if alike:
            found[name] = alike[0]
            fresh.remove(alike[0])
    return found


def _machines(side: ComparedResult, cluster: str) -> tuple[object, ...]:
    base = f"{cluster_prefix(side, cluster)}cluster"
    return tuple(side.numbers.get(f"{base}.{key}") for key in ("gpu", "server"))


def _size(side: ComparedResult, cluster: str) -> float:
    found = side.numbers.get(f"{cluster_prefix(side, cluster)}cluster.gpus")
    return found if type(found) is int else 0


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
        found = self.new or self.old
        if found is None:
            raise ValueError("a pair has at least one line")
        return found

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


def same_thing(old: Item, new: Item) -> bool:
    """Return whether two lines are for the same part, regardless of names."""
    if old.part != new.part or old.in_stock != new.in_stock or old.category != new.category:
        return False
    return old.description == new.description or not named_by_words(new)


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
    partner: dict[int, int] = {}
    taken = set[int]()
    for at, item in enumerate(new):
        before = by_id.get(item.id)
        if before is not None and before not in taken and same_thing(old[before], item):
            partner[at] = before
            taken.add(before)
    _join(partner, old, new, lambda item, was_old: _use(item, names if was_old else NO_NAMES))
    taken = set(partner.values())
    instead = dict[int, int]()
    for at, item in enumerate(new):
        if at not in partner and (before := by_id.get(item.id)) is not None and before not in taken:
            instead[at] = before
            taken.add(before)
    _join_alone(instead, partner, old, new, names)
    return _in_order(old, new, partner, instead)


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


def _join(
    partner: dict[int, int], old: Sequence[Item], new: Sequence[Item], key: Callable[[Item, bool], Hashable]
) -> None:
    if len(partner) == len(new):
        return
    taken = set(partner.values())
    waiting: dict[Hashable, list[int]] = {}
    for at in reversed(range(len(old))):
        if at not in taken:
            waiting.setdefault(key(old[at], True), []).append(at)
    for at, item in enumerate(new):
        if at not in partner and (found := waiting.get(key(item, False))):
            partner[at] = found.pop()


def _join_alone(
    instead: dict[int, int],
    partner: Mapping[int, int],
    old: Sequence[Item],
    new: Sequence[Item],
    names: NewNames,
) -> None:
    """Pair remaining lines that are the only ones in the same position, as replacements."""
    if len(partner) + len(instead) == len(new):
        return

    def places_by_use(items: Sequence[Item], taken: Iterable[int], names: NewNames) -> dict[Hashable, list[int]]:
        gone, found = set(taken), dict[Hashable, list[int]]()
        for at, item in enumerate(items):
            if at not in gone:
                found.setdefault(_place(item, names), []).append(at)
        return found

    left = places_by_use(old, (*partner.values(), *instead.values()), names)
    for key, found in places_by_use(new, (*partner, *instead), NO_NAMES).items():
        if len(found) == 1 == len(left.get(key, ())):
            instead[found[0]] = left[key][0]


def _in_order(
    old: Sequence[Item], new: Sequence[Item], partner: Mapping[int, int], instead: Mapping[int, int]
) -> list[Pair]:
    after = {before: at for at, before in partner.items()}
    replacing = {before: at for at, before in instead.items()}
    waiting: dict[int, list[Pair]] = {}
    last = -1
    for at, item in enumerate(old):
        if at in after:
            last = after[at]
        elif at not in replacing:
            waiting.setdefault(last, []).append(Pair(item, None))
    found = waiting.get(-1, [])
    for at, item in enumerate(new):
        if at in instead:
            before = old[instead[at]]
            found += [Pair(before, None, replaced_by=item.id), Pair(None, item, replaces=before.id)]
        else:
            found.append(Pair(old[partner[at]] if at in partner else None, item))
        found += waiting.get(at, [])
    return found


# sent bill ----------------------------------------------------------------------------------------------------------
# A customer's bill as a side of a comparison: its lines by part, matched by part number.

UNKNOWN = "unknown"
"""Category of lines with unknown parts."""


def side_of_bill(bill: SentBill) -> ComparedResult:
    """Return a bill as a side of a comparison; its currency may be unknown."""
    items = tuple(_by_part(_item(line) for line in bill.lines if line.quantity))
    amounts = [item.amount for item in items]
    money = BillTotals(bill.currency, Decimal(0), sum_amounts(amounts), None not in amounts)
    return ComparedResult(bill.file, BILL, bill.file, __version__, items, money, {}, {}, {}, (), {}, rates_known=True)


def beside_bill(old: ComparedResult, new: ComparedResult) -> tuple[ComparedResult, ComparedResult]:
    """Return both sides by part, if one is a customer's bill; a bill without a currency gets that of the other side."""
    currency = old.totals.currency or new.totals.currency
    one, other = _without_design(old), _without_design(new)
    return tuple(  # type: ignore[return-value]
        each._replace(totals=each.totals._replace(currency=each.totals.currency or currency)) for each in (one, other)
    )


def _without_design(side: ComparedResult) -> ComparedResult:
    return side._replace(
        items=tuple(_by_part(side.items)),
        numbers={},
        units={},
        fabrics={},
        warnings=(),
        alternatives={},
        source=None,
        clusters=(),
    )


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


def _by_part(items: Iterable[Item]) -> Iterable[Item]:
    """Return items with those of one part merged: pieces and amounts added, the price if it is the same."""
    found: dict[tuple[str, str], Item] = {}
    for item in items:
        part = item.part or item.description.lower()
        key = item.category, part if item.part else item.description
        first = found.get(key)
        if first is None:
            found[key] = item._replace(
                id=part,
                fabric=None,
                role=None,
                description=part,
                cluster="",
                quantity=item.pieces,
                spare=0,
                original_price=None,
                original_currency=None,
                exchange_rate=None,
            )
            continue
        known = first.amount is not None and item.amount is not None
        same = first.unit_price == item.unit_price
        found[key] = first._replace(
            quantity=first.quantity + item.pieces,
            unit_price=first.unit_price if same else None,
            amount=ANY_AMOUNT.add(first.amount or Decimal(0), item.amount or Decimal(0))
            if known
            else first.amount or item.amount,
        )
    return found.values()

"""Which lines of two bills are the same thing in the same place, and in which order a reader sees what changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from bomgen.report.diff.clusters import Names
from bomgen.report.diff.side import Item

CABLE = "cable"
"""The category of parts that are told apart by their length, which stands in the description of generic ones alone."""
NO_NAMES = Names({}, {}, {})
ADDED, REMOVED, CHANGED, RENAMED = "added", "removed", "changed", "renamed"


class Pair(NamedTuple):
    """A line before and after; one of them is None where the line is new or gone."""

    old: Item | None
    new: Item | None
    replaces: str | None = None
    """Of a new line: the id of the gone one in whose place it stands."""
    replaced_by: str | None = None
    """Of a gone line: the id of the new one that stands in its place."""

    @property
    def item(self) -> Item:
        """The line as it is, or was."""
        found = self.new or self.old
        if found is None:
            raise ValueError("a pair has at least one line")
        return found

    @property
    def change(self) -> str:
        """What happened to the line."""
        if self.old is None:
            return ADDED
        if self.new is None:
            return REMOVED
        return RENAMED if _bought(self.old) == _bought(self.new) else CHANGED

    @property
    def pieces(self) -> int:
        """How many more pieces there are, spares among them."""
        return (self.new.pieces if self.new else 0) - (self.old.pieces if self.old else 0)


def _bought(item: Item) -> tuple[object, ...]:
    """What is bought, and for how much, whatever the line is called."""
    what = (item.category, item.role, item.part, item.quantity, item.spare, item.in_stock)
    money = (item.unit_price, item.discount, item.amount, item.original_price, item.original_currency)
    return (*what, *money, item.exchange_rate)


def same_thing(old: Item, new: Item) -> bool:
    """Whether two lines are for the same part, whatever they are called."""
    if old.part != new.part or old.in_stock != new.in_stock or old.category != new.category:
        return False
    return old.description == new.description or not named_by_words(new)


def named_by_words(item: Item) -> bool:
    """Whether only its description says what a line is: no part, a cable of some length, or any rack of some height."""
    return item.part in (None, item.category) or item.category == CABLE


def paired(old: Sequence[Item], new: Sequence[Item], names: Names) -> list[Pair]:
    """Every line of both bills, in the order of the new one, those that are gone where they stood.

    Lines are the same where id and part are; then where part, use and fabric are, such as cables that became one of
    several lengths. What is left under the same id, or alone in the same use, stands in the place of the other.
    `names` says which clusters and fabrics are called otherwise now.
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


def _moved_id(item: Item, names: Names) -> str:
    """The id of an old line as the new bill would call it."""
    if item.fabric and item.fabric in names.fabrics and item.id.startswith(f"{item.fabric}."):
        return names.fabrics[item.fabric] + item.id[len(item.fabric) :]
    cluster = names.clusters.get(item.cluster, item.cluster)
    if cluster == item.cluster:
        return item.id
    own = item.id.removeprefix(f"{item.cluster}.") if item.cluster else item.id
    return f"{cluster}.{own}" if cluster else own


def _use(item: Item, names: Names) -> Hashable:
    """What is bought for which use, whatever the line is called."""
    return *_place(item, names), item.part, item.description


def _place(item: Item, names: Names) -> tuple[Hashable, ...]:
    fabric = names.fabrics.get(item.fabric, item.fabric) if item.fabric else None
    return item.category, names.clusters.get(item.cluster, item.cluster), fabric, item.role, item.in_stock


def _join(
    partner: dict[int, int], old: Sequence[Item], new: Sequence[Item], key: Callable[[Item, bool], Hashable]
) -> None:
    """Partners for lines that have none yet and are equal by a key, in their order."""
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
    names: Names,
) -> None:
    """Lines that stand in the place of another because each is the only one left in its use."""
    if len(partner) + len(instead) == len(new):
        return

    def places_by_use(items: Sequence[Item], taken: Iterable[int], names: Names) -> dict[Hashable, list[int]]:
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

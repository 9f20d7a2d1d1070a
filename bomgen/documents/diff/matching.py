"""What corresponds in two results, or in a result and a customer's bill, and what changed in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen import __version__
from bomgen.core.document import Cell, group_by, row_at
from bomgen.core.language import Language
from bomgen.core.units import ANY_AMOUNT
from bomgen.core.yaml_source import OVERRIDES, Source
from bomgen.documents.comparison import ComparedRow, difference
from bomgen.documents.diff.side import BILL, BillTotals, ComparedResult, Item, sum_amounts
from bomgen.plan.commercial_terms import SECRET_KEYS
from bomgen.plan.schema import CLUSTERS, OF_CLUSTER
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


# changes ------------------------------------------------------------------------------------------------------------
# Changes of the plan by key, and of the design by number.

NAMED_BY = ("name", "kind", "model")
"""Keys that identify the mappings of a list."""
_PLAIN = re.compile(r"[A-Za-z0-9_./%+-][A-Za-z0-9_./%+ -]*")
_WIDTH = 100
"""Maximum length of a shown value."""

Path = tuple[str | int, ...]


class KeyChange(NamedTuple):
    """A changed plan key; values are as in YAML, None for a missing key."""

    key: str
    """Dotted key, as `--set` takes it."""
    old: str | None
    new: str | None
    place: str
    """FILE:LINE of the new value, or of the old one if the key is removed; `--set` for an override."""


def changed_keys(old: Source, new: Source, clusters: Mapping[str, str] | None = None) -> list[KeyChange]:
    """Return the changed keys of two plans; `clusters` maps old cluster names to new ones."""
    changes = []
    for was_at, at, was, became in _plans(_open(old.data), _open(new.data), clusters or {}):
        mark = old.key_mark(was_at) if became is _NOTHING else new.key_mark(at)
        changes.append(
            KeyChange(
                key=".".join(map(str, at or was_at)),
                old=None if was is _NOTHING else written(was),
                new=None if became is _NOTHING else written(became),
                place="--set" if mark.file == OVERRIDES else f"{mark.file}:{mark.line}",
            )
        )
    return changes


_NOTHING = object()


def _open(data: Any, quoted: bool = False) -> Any:
    """Return the data of a plan without the seller's costs and margins."""
    if isinstance(data, dict):
        names = {key: str(key).split(".") for key in data}
        secret = {key for key, steps in names.items() if (quoted or len(steps) > 1) and set(SECRET_KEYS) & set(steps)}
        return {key: _open(value, quoted or key == "quote") for key, value in data.items() if key not in secret}
    return [_open(value, quoted) for value in data] if isinstance(data, list) else data


def _plans(was: Any, became: Any, clusters: Mapping[str, str]) -> Iterator[tuple[Path, Path, Any, Any]]:
    """Yield the differences of two plans. A plan's only cluster is compared with its counterpart among several."""
    if CLUSTERS in was and CLUSTERS not in became and "" in clusters.values():
        one = next(name for name, now in clusters.items() if not now)
        yield from ((at, was_at, old, new) for was_at, at, new, old in _plans(became, was, {"": one}))
        return
    entries = became.get(CLUSTERS, []) if CLUSTERS not in was and clusters.get("") else []
    place = next((at for at, each in enumerate(entries) if each.get("name") == clusters[""]), None)
    if place is None:
        yield from _compared((), (), was, became)
        return
    alone, entry = was.get("cluster", {}), entries[place]
    shared = [key for key in entry if key in OF_CLUSTER and key not in became]
    for key in dict.fromkeys((*(each for each in entry if each not in OF_CLUSTER), *alone)):
        yield from _compared(
            ("cluster", key), (CLUSTERS, place, key), alone.get(key, _NOTHING), entry.get(key, _NOTHING)
        )
    for key in shared:
        yield from _compared((key,), (CLUSTERS, place, key), was.get(key, _NOTHING), entry[key])
    for at, each in enumerate(entries):
        if at != place:
            yield (CLUSTERS, at), (CLUSTERS, at), _NOTHING, each
    for key in entry:
        if key in OF_CLUSTER and key not in shared:
            yield (CLUSTERS, place, key), (CLUSTERS, place, key), _NOTHING, entry[key]
    left = {"cluster", CLUSTERS, *shared}
    yield from _compared(
        (), (), *({key: value for key, value in data.items() if key not in left} for data in (was, became))
    )


def _compared(was_at: Path, at: Path, was: Any, became: Any) -> Iterator[tuple[Path, Path, Any, Any]]:
    if isinstance(was, dict) and isinstance(became, dict):
        for key in dict.fromkeys((*became, *was)):
            yield from _compared((*was_at, key), (*at, key), was.get(key, _NOTHING), became.get(key, _NOTHING))
    elif (before := _places(was)) is not None and (after := _places(became)) is not None:
        for tag, place in after.items():
            known = before.pop(tag, None)
            paths = (*was_at, place if known is None else known), (*at, place)
            yield from _compared(*paths, _NOTHING if known is None else was[known], became[place])
        for place in before.values():
            yield (*was_at, place), (), was[place], _NOTHING
    elif was != became and not all(value is _NOTHING or value in ({}, [], None) for value in (was, became)):
        # a mapping that had only the seller's costs is left empty
        yield was_at, at, was, became


def _places(entries: Any) -> dict[str, int] | None:
    """Return the places of mappings by what identifies them; None for anything but a list of such mappings."""
    if not isinstance(entries, list):
        return None
    places = dict[str, int]()
    for place, entry in enumerate(entries):
        named = isinstance(entry, dict) and (key for key in NAMED_BY if entry.get(key) is not None)
        tag = next((f"{key}={entry[key]}" for key in named or ()), "")
        if not tag or tag in places:
            return None
        places[tag] = place
    return places


def written(value: Any) -> str:
    """Return a value as YAML on one line, truncated if it is long."""
    text = _text(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_text(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
    text = " ".join(str(value).split())
    return text if not isinstance(value, str) or _PLAIN.fullmatch(text) else f"'{text}'"


# numbers ------------------------------------------------------------------------------------------------------------
# Changed numbers of the design, in the order of importance to a reader.

FABRICS = "fabrics"
CLUSTER = "cluster"
UNRANKED = 1000
"""Rank of unimportant numbers, which come last."""


def changed_numbers(old: ComparedResult, new: ComparedResult, names: NewNames) -> list[ComparedRow]:
    """Return the changes in clusters and fabrics that both sides have, by group, in order of importance.

    The key of a row is its path. Its group is `cluster`, `workload`, the name of a fabric after `fabrics.`, `storage`,
    `site`, `operation`; for one of several clusters with the prefix `clusters.NAME.`.
    """
    before = dict(_moved(old, new, names))
    kept = set(new.fabrics) & {names.fabrics.get(name, name) for name in old.fabrics}
    changed = []
    for path in dict.fromkeys((*new.numbers, *before)):
        was_at = before.get(path, "")
        was, became = old.numbers.get(was_at), new.numbers.get(path)
        if was == became and type(was) is type(became):
            continue
        cluster, own = _split(path)
        section, _, key = own.partition(".")
        group = f"{CLUSTERS}.{cluster}.{section}" if cluster else section
        if section == FABRICS:
            fabric, _, key = key.partition(".")
            group = f"{group}.{fabric}"
            if (f"{cluster}.{fabric}" if cluster else fabric) not in kept:
                continue
        if cluster and cluster not in names.clusters.values():
            continue
        # a sum over clusters stands at the path that a plan with one cluster uses for its own number
        if was is None and bool(new.clusters) != bool(old.clusters) and not cluster and path not in old.numbers:
            continue
        if not (was or became) or difference(was, became) == 0:
            continue  # 0 instead of none, or a number that is written differently, such as 1.0
        row = row_at(tuple(path.split(".")))
        unit = new.units.get(path) or old.units.get(was_at) or (row.unit if row else "")
        label = (row and row.title) or key.replace("_", " ").replace(".", ", ")
        cells = Cell(was, unit, estimate=old.ends(was_at)), Cell(became, unit, estimate=new.ends(path))
        changed.append(ComparedRow(path, group, label, cells, unit, rank=(row and row.rank) or None))
    groups = {group: place for place, group in enumerate(dict.fromkeys(_groups(old, new)))}
    return sorted(changed, key=lambda row: (groups.get(row.group, len(groups)), row.rank or UNRANKED))


def describe_fabric(side: ComparedResult, fabric: str, language: Language) -> str:
    """Return a short description of a fabric that was added or removed."""
    base, get, word = side.fabric_path(fabric), side.numbers.get, language.word
    tiers = ((tier, get(f"{base}.switches.{tier}")) for tier in ("leaf", "spine", "core"))
    counts = [f"{count} {language.value(tier, 'word')}" for tier, count in tiers if count]
    links = (value for path, value in side.numbers.items() if path.startswith(f"{base}.links."))
    topology = get(f"{base}.topology")
    return word(
        "diff-fabric",
        topology=word("diff-a-fabric") if topology is None else language.value(topology, "word"),
        tiers=" + ".join(counts) or word("diff-no-switches"),
        links=sum(value for value in links if type(value) in (int, float)),
    )


def _moved(old: ComparedResult, new: ComparedResult, names: NewNames) -> Iterator[tuple[str, str]]:
    """Yield the path of every old number on the new side, and its old path.

    A single cluster is compared with the sums over all clusters of the other side, and with its counterpart.
    """
    later = []
    for path in old.numbers:
        cluster, own = _split(path)
        if not cluster and (old.clusters or new.clusters):
            if path in new.numbers or (old.clusters and new.clusters):
                later.append((path, path))
            if old.clusters:
                continue
        if cluster not in names.clusters:
            continue
        now = names.clusters[cluster]
        section, _, rest = own.partition(".")
        name, dot, key = rest.partition(".")
        became = names.fabrics.get(f"{cluster}.{name}" if cluster else name)
        if section == FABRICS and became is not None:
            own = f"{FABRICS}.{became.removeprefix(f'{now}.') if now else became}{dot}{key}"
        yield f"{CLUSTERS}.{now}.{own}" if now else own, path
    yield from later


def _split(path: str) -> tuple[str, str]:
    if not path.startswith(f"{CLUSTERS}."):
        return ONLY, path
    cluster, _, own = path[len(CLUSTERS) + 1 :].partition(".")
    return cluster, own


def _groups(old: ComparedResult, new: ComparedResult) -> Iterator[str]:
    for cluster in (ONLY, *new.clusters):
        before = f"{CLUSTERS}.{cluster}." if cluster else ""
        yield from (f"{before}{group}" for group in (CLUSTER, "workload"))
        fabrics = (*new.fabrics, *old.fabrics)
        yield from (f"{before}{FABRICS}.{name.rpartition('.')[2]}" for name in fabrics if cluster_of(name) == cluster)
        yield from (f"{before}{group}" for group in ("storage", "site", "operation"))

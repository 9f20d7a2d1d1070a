"""A comparison as sections of rows, for every form that people read; what matters comes first in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, overload

from bomgen.documents.diff.changes import Changed, described, fabric_path
from bomgen.documents.diff.difference import EXCHANGE, Difference
from bomgen.documents.diff.expansion import Expansion, Ordered
from bomgen.documents.diff.matching import (
    ADDED,
    ONLY,
    REMOVED,
    RENAMED,
    Pair,
    cluster_of,
    cluster_prefix,
    described_cluster,
)
from bomgen.documents.diff.side import Money, Side
from bomgen.documents.diff.words import (
    ARROW,
    MINUS,
    NOTHING,
    amount_text,
    change_text,
    money_text,
    part_text,
    pieces_text,
    share_text,
    signed_money,
    value_text,
    what_changed,
    words,
)
from bomgen.plan.clusters import KEY as CLUSTERS

if TYPE_CHECKING:
    from bomgen.cabling.recabling import Moved

PLUS, TILDE, PLAIN = "+", "~", " "
OLD_NEW = ("Old", "New", "Change")
DESIGN, BILL, MONEY, ORDER, MOVE, PLAN, WARNINGS, FREE = (
    *("Design", "Bill", "Money", "Order", "Move", "Plan", "Warnings"),
    "Left over, for the stock",
)
TIERS = ("leaf", "spine", "core")
TITLES = {
    "cluster": "Cluster",
    "workload": "Workload",
    "storage": "Storage",
    "site": "Site",
    "operation": "Running costs",
}


class DiffRow(NamedTuple):
    """A row of a section, with a sign for what is new, gone or changed."""

    sign: str
    cells: tuple[str, ...]


class Rows(Sequence[DiffRow]):
    """Rows that are made when somebody looks at them: of thousands of lines a page shows a few."""

    def __init__(self, pairs: Sequence[Pair], row: Callable[[Pair], DiffRow]) -> None:
        self.pairs, self.row = pairs, row

    def __len__(self) -> int:
        return len(self.pairs)

    @overload
    def __getitem__(self, place: int) -> DiffRow: ...

    @overload
    def __getitem__(self, place: slice) -> list[DiffRow]: ...

    def __getitem__(self, place: int | slice) -> DiffRow | list[DiffRow]:
        if isinstance(place, slice):
            return [self.row(pair) for pair in self.pairs[place]]
        return self.row(self.pairs[place])


class DiffSection(NamedTuple):
    """Rows under a title; the first `first` of them are what matters."""

    title: str
    rows: Sequence[DiffRow]
    first: int
    what: str
    """What the other rows are called when they are counted."""
    head: tuple[str, ...]
    """What the columns are called."""
    right: tuple[str, ...] = ()
    """The heads of columns of numbers."""
    notes: tuple[str, ...] = ()


def headline(found: Difference) -> str:
    """The whole comparison on one line."""
    if not found.changed:
        return "No change: both give the same result"
    said = list(_design_changes(found))
    if found.unpriced_side:
        said.append(f"no prices in {found.unpriced_side.name}")
    elif found.money and found.money.change:
        share = share_text(Fraction(found.money.change), Fraction(found.money.old))
        money = signed_money(found.money.change, found.new.totals.currency, named=True)
        said.append(f"{money} ({share})" if share else money)
    elif found.money is None:
        was, became = (money_text(side.totals.amount, side.totals.currency) for side in (found.old, found.new))
        said.append(f"{was} {ARROW} {became}")
    elif found.result_changed and found.new.totals.amount:
        said.append("no change of the total")
    if not found.result_changed:
        return "The result is the same; only the text of the plan differs"
    if unknown := len(found.unpriced):
        said.append(f"{unknown} lines need a price" if unknown > 1 else "a line needs a price")
    return ", ".join(said)


def _design_changes(found: Difference) -> Iterator[str]:
    """What a reader asks first: GPUs, servers, switches, days, power."""
    numbers = {each.path: each for each in found.numbers}
    yield from (f"new cluster {name}" for name in found.added_clusters)
    yield from (f"cluster {name} gone" for name in found.removed_clusters)
    clusters = [cluster_prefix(found.new, name) for name in found.new.clusters or (ONLY,)]
    for each in (numbers.get(f"{before}cluster.{key}") for before in clusters for key in ("gpu", "server")):
        if each:
            yield f"{value_text(each.old, '')} {ARROW} {value_text(each.new, '')}"
    for key, one, many in (("gpus", "GPU", "GPUs"), ("servers", "server", "servers")):
        if (each := numbers.get(f"cluster.{key}")) and each.change:
            yield _counted(int(each.change), one, many)
    for tier in TIERS:
        if change := _switches_added(found, tier):
            yield _counted(change, tier, tier)
    for name in found.added_fabrics:
        if cluster_of(name) not in found.added_clusters:
            yield f"new fabric {name}"
    for name in found.removed_fabrics:
        if cluster_of(name) not in found.removed_clusters:
            yield f"fabric {name} gone"
    for name in found.new.fabrics:
        if each := numbers.get(f"{fabric_path(found.new, name)}.topology"):
            yield f"{name} {each.old} {ARROW} {each.new}"
    for each in filter(None, (numbers.get(f"{before}workload.days") for before in clusters)):
        yield f"{value_text(each.old, '')} {ARROW} {value_text(each.new, 'days')}"


def _counted(change: int, one: str, many: str) -> str:
    return f"{PLUS if change > 0 else MINUS}{words().integer(abs(change))} {one if abs(change) == 1 else many}"


def _switches_added(found: Difference, tier: str) -> int:
    """How many more switches of a tier there are over all fabrics."""

    def total(side: Side) -> int:
        counts = (side.numbers.get(f"{fabric_path(side, name)}.switches.{tier}") for name in side.fabrics)
        return sum(count for count in counts if type(count) is int)

    return total(found.new) - total(found.old)


def sections(found: Difference, together: bool = False) -> list[DiffSection]:
    """All that changed, section by section, numbers `together` or by what they belong to; empty ones are left out."""
    every = [_keys(found), _money(found), _order(found), _moves(found), _free(found), _clusters(found), _fabrics(found)]
    every += [design(found)] if together else [*_numbers(found)]
    every += [_bill(found), _alternatives(found), _warnings(found)]
    return [section for section in every if section and (section.rows or section.notes)]


def _keys(found: Difference) -> DiffSection:
    rows = []
    for each in found.keys or ():
        sign = PLUS if each.old is None else MINUS if each.new is None else TILDE
        said = each.new if each.old is None else each.old if each.new is None else f"{each.old} {ARROW} {each.new}"
        rows.append(DiffRow(sign, (each.key, said or "", each.place)))
    return DiffSection(PLAN, tuple(rows), len(rows), "keys", ("Key", "Value", "Place"))


def _clusters(found: Difference) -> DiffSection:
    rows = [DiffRow(PLUS, (name, described_cluster(found.new, name))) for name in found.added_clusters]
    rows += [DiffRow(MINUS, (name, described_cluster(found.old, name))) for name in found.removed_clusters]
    for old, new in found.renamed_clusters.items():
        said = f"was called {old}" if old else "was the only one"
        rows.append(DiffRow(TILDE, (new, said) if new else (old, "is the only one")))
    return DiffSection("Clusters", tuple(rows), len(rows), "clusters", ("Cluster", "What"))


def _fabrics(found: Difference) -> DiffSection:
    rows = [DiffRow(PLUS, (name, described(found.new, name))) for name in found.added_fabrics]
    rows += [DiffRow(MINUS, (name, described(found.old, name))) for name in found.removed_fabrics]
    rows += [DiffRow(TILDE, (new, f"was called {old}")) for old, new in found.renamed_fabrics.items()]
    return DiffSection("Fabrics", tuple(rows), len(rows), "fabrics", ("Fabric", "What"))


def _numbers(found: Difference) -> Iterator[DiffSection]:
    for group in dict.fromkeys(each.group for each in found.numbers):
        of_group = [each for each in found.numbers if each.group == group]
        rows = tuple(_number(each) for each in of_group)
        first = sum(each.important for each in of_group)
        yield DiffSection(_title(group), rows, first, "numbers", ("Number", *OLD_NEW), OLD_NEW)


def design(found: Difference) -> DiffSection:
    """All numbers of the design in one section, those first that a reader wants first, whichever part has them."""
    ranked = sorted(found.numbers, key=lambda each: each.rank)
    rows = tuple(DiffRow(_number(each).sign, (_title(each.group), *_number(each).cells)) for each in ranked)
    first = sum(each.important for each in ranked)
    return DiffSection(DESIGN, rows, first, "numbers", ("Of", "Number", *OLD_NEW), OLD_NEW)


def _title(group: str) -> str:
    if group.startswith(f"{CLUSTERS}."):
        _, cluster, own = group.split(".", 2)
        return f"{cluster}: {_title(own)}"
    kind, _, name = group.partition(".")
    return f"Fabric {name}" if name else TITLES.get(kind, kind)


def _number(each: Changed) -> DiffRow:
    sign = PLUS if each.old is None else MINUS if each.new is None else TILDE
    was, now = each.ends
    texts = (value_text(each.old, each.unit, was), value_text(each.new, each.unit, now))
    if texts[0] == texts[1] and isinstance(each.old, int | float) and isinstance(each.new, int | float):
        texts = (repr(each.old), repr(each.new))
    return DiffRow(sign, (each.label, *texts, change_text(each.change, each.unit, each.old)))


def _bill(found: Difference) -> DiffSection:
    currency = found.new.totals.currency if found.money else None
    shown = [pair for pair in found.pairs if pair.change != RENAMED]
    rows = Rows(shown, lambda pair: _line(pair, currency))
    notes = [f"{found.unchanged} of {found.unchanged + len(found.pairs)} lines are unchanged"] if found.pairs else []
    if renamed := len(found.pairs) - len(shown):
        notes.append(f"{renamed} lines have other ids and are the same")
    head = ("Pieces", "Part", "Line", "What changed", currency or "Amount")
    return DiffSection(BILL, rows, len(rows), "lines", head, ("Pieces", head[-1]), tuple(notes))


def _line(pair: Pair, currency: str | None) -> DiffRow:
    more = pair.pieces
    sign = {ADDED: PLUS, REMOVED: MINUS}.get(pair.change, PLUS if more > 0 else MINUS if more < 0 else TILDE)
    item = pair.item
    name = f"{part_text(item)} (in stock)" if item.in_stock else part_text(item)
    return DiffRow(sign, (pieces_text(pair), name, item.id, what_changed(pair, currency), amount_text(pair, currency)))


def _money(found: Difference) -> DiffSection | None:
    if found.money is None:
        was, became = (money_text(side.totals.amount, side.totals.currency) for side in (found.old, found.new))
        total = (DiffRow(TILDE, ("total", f"{was} {ARROW} {became}", "")),)
        return DiffSection(MONEY, total, 1, "parts", ("Of", "Amount", ""), ("Amount",))
    if not found.money.change and not any(found.money.parts.values()):
        return None
    currency, head = found.new.totals.currency, ("Of", found.new.totals.currency, "Share of the old total")
    if found.unpriced_side:
        was, became = (
            "no prices" if side.totals.is_unknown else words().amount(side.totals.amount, currency)
            for side in (found.old, found.new)
        )
        total = (DiffRow(TILDE, (f"total {was} {ARROW} {became}", "", "")),)
        return DiffSection(MONEY, total, 1, "parts", head, head[1:])
    base = Fraction(found.money.old)
    was, became = (words().amount(amount, currency) for amount in (found.money.old, found.money.new))
    least = "" if found.old.totals.complete and found.new.totals.complete else ", at least"
    change = found.money.change
    rows = [DiffRow(_sign(change), (f"total{least} {was} {ARROW} {became}", *_amounts(change, base, currency)))]
    for name, amount in found.money.parts.items():
        if amount:
            said = words().word(f"diff-{name}") + (f" ({_rates(found)})" if name == EXCHANGE else "")
            rows.append(DiffRow(_sign(amount), (f"  {said}", *_amounts(amount, base, currency))))
    return DiffSection(MONEY, tuple(rows), len(rows), "parts", head, head[1:])


def _amounts(amount: Decimal, base: Fraction, currency: str) -> tuple[str, str]:
    return signed_money(amount, currency), share_text(Fraction(amount), base)


def _rates(found: Difference) -> str:
    return ", ".join(f"1 {name}: {was} {ARROW} {became}" for name, (was, became) in found.rates.items())


def _sign(amount: Decimal) -> str:
    return PLUS if amount > 0 else MINUS if amount < 0 else PLAIN


def _order(found: Difference) -> DiffSection | None:
    if found.expansion is None or not found.expansion.order:
        return None
    currency = found.new.totals.currency
    rows = tuple(_ordered(row, currency) for row in found.expansion.order)
    notes = tuple(_order_notes(found.expansion, currency))
    head = ("Pieces", "Part", "Number", currency)
    return DiffSection(ORDER, rows, len(rows), "parts", head, ("Pieces", currency), notes)


def _ordered(row: Ordered, currency: str) -> DiffRow:
    amount = "no price" if row.amount is None else words().amount(row.amount, currency)
    return DiffRow(PLUS, (f"{words().integer(row.pieces)} x", row.description, row.sku or row.part or "", amount))


def _order_notes(found: Expansion, currency: str) -> Iterator[str]:
    if found.unpriced == len(found.order):
        yield "no part has a price"
    else:
        beside = f", {found.unpriced} of {len(found.order)} parts without a price" if found.unpriced else ""
        yield f"parts come to {money_text(found.amount, currency)} at the new prices, spares among them{beside}"
    if found.charges:
        yield f"freight, services and software: {signed_money(found.charges, currency)}"
    if found.tax:
        yield f"tax: {signed_money(found.tax, currency)}"


def _moves(found: Difference) -> DiffSection | None:
    if found.expansion is None:
        return None
    if found.moves is None:
        unknown = (f"not known: {found.moves_unknown}",) if found.moves_unknown else ()
        return DiffSection(MOVE, (), 0, "kinds of link", (), (), unknown)
    rows = tuple(_moved(each) for each in found.moves.cables if each.old)
    cables = found.moves.cables
    remarks = [] if any(each.moved or each.free for each in cables) else ["no cable moves"]
    if elsewhere := found.moves.elsewhere:
        total = words().integer(sum(elsewhere.values()))
        remarks.append(f"{total} machines move on the floor plan; rows in site.layout keep their places")
    head = ("Fabric", "Cables", "Before", "Stay", "Move one end", "Free", "New", "Remarks")
    return DiffSection(MOVE, rows, len(rows), "kinds of link", head, head[2:-1], tuple(remarks))


def _moved(each: Moved) -> DiffRow:
    numbers = (each.old, each.stay, each.moved, each.free, each.added)
    remarks = []
    if each.of_pair_old != each.of_pair_new and each.of_pair_new[1]:
        remarks.append(f"between two devices {_span(each.of_pair_old)} {ARROW} {_span(each.of_pair_new)}")
    if each.other_length:
        remarks.append(f"{words().integer(each.other_length)} that stay are of another length now")
    if each.other_cable:
        remarks.append(f"{words().integer(each.other_cable)} that stay are another cable now")
    sign = TILDE if each.moved or each.free else PLAIN
    return DiffRow(sign, (each.fabric, each.kind, *map(words().integer, numbers), "; ".join(remarks)))


def _span(ends: tuple[int, int]) -> str:
    low, high = ends
    return str(low) if low == high else f"{low} to {high}"


def _free(found: Difference) -> DiffSection | None:
    if found.expansion is None or not found.expansion.free:
        return None
    rows = tuple(DiffRow(MINUS, _left_over(row)) for row in found.expansion.free)
    return DiffSection(FREE, rows, len(rows), "parts", ("Pieces", "Part", "Number", "From"), ("Pieces",))


def _left_over(row: Ordered) -> tuple[str, ...]:
    return f"{words().integer(row.pieces)} x", row.description, row.sku or row.part or "", ", ".join(row.lines)


def _alternatives(found: Difference) -> DiffSection:
    def text(money: Money | None) -> str:
        return NOTHING if money is None else money_text(money.amount, money.currency)

    rows = tuple(
        DiffRow(PLUS if was is None else MINUS if became is None else TILDE, (name, text(was), text(became)))
        for name, (was, became) in found.alternatives.items()
    )
    return DiffSection("Alternatives", rows, len(rows), "alternatives", ("Name", "Old", "New"), ("Old", "New"))


def _warnings(found: Difference) -> DiffSection:
    rows = [DiffRow(PLUS, (each.message, each.id)) for each in found.added_warnings]
    rows += [DiffRow(MINUS, (each.message, each.id)) for each in found.removed_warnings]
    return DiffSection(WARNINGS, tuple(rows), len(rows), "warnings", ("Warning", "Reason"))

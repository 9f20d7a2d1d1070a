"""The difference as a document: amounts first, or for a review, as text or a comment, the plan keys first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from bomgen import __version__
from bomgen.core.document import Cell, Column, ColumnKind, Document, Drawing, Note, Row, Section, Sign, Table, row_of
from bomgen.core.language import Language
from bomgen.core.messages import message
from bomgen.documents.comparison import ComparedRow
from bomgen.documents.comparison import difference as increase
from bomgen.documents.diff.changes import FABRICS, describe_fabric
from bomgen.documents.diff.data import ARROW, headline
from bomgen.documents.diff.difference import EXCHANGE, Difference, line_change
from bomgen.documents.diff.expansion import Ordered
from bomgen.documents.diff.matching import ADDED, REMOVED, RENAMED, Pair, described_cluster
from bomgen.documents.diff.side import BillTotals, Item, sum_amounts
from bomgen.documents.tables import part_columns, section_of
from bomgen.plan.clusters import KEY as CLUSTERS
from bomgen.pricing.bill_line import CATEGORIES

if TYPE_CHECKING:
    from bomgen.cabling.recabling import Moved

MOST_ROWS = 40
"""Maximum number of initially visible rows of a review table."""
MONEY = "money"
SHOWN_UNITS = ("W", "Gb/s", "kg", "days", "h", "min", "s", "bytes", "bytes/s", "kWh", "FLOP/s", "share", "m", "BTU/h")
"""Units that are shown; others, such as pieces, are part of the label."""
GROUPS = {
    "cluster": "compare-cluster",
    "workload": "compare-workload",
    "storage": "section-storage",
    "site": "section-site",
    "operation": "section-operation",
}
"""Words for the groups of numbers."""


def changed_categories(difference: Difference, language: Language) -> list[ComparedRow]:
    """Return the categories whose amounts changed, in bill order; none if the currencies differ.

    The amount of a category without a priced line is unknown, and a lower bound if some lines lack a price.
    """
    if difference.money is None:
        return []
    rows = []
    for name in dict.fromkeys((*CATEGORIES, *(item.category for side in difference.sides for item in side.items))):
        cells = []
        for side in difference.sides:
            lines = (item for item in side.items if item.category == name)
            amounts = [item.amount for item in lines if item.amount is not None or item.lacks_price]
            priced = [amount for amount in amounts if amount is not None]
            total = sum_amounts(priced) if priced or not amounts else None
            cells.append(Cell(total, side.totals.currency, least=bool(priced) and len(priced) < len(amounts)))
        if cells[0] != cells[1]:
            rows.append(ComparedRow(name, "", _category(name, language), tuple(cells)))
    return rows


def _category(name: str, language: Language) -> str:
    return language.word(f"category-{name}") if name in CATEGORIES else name


def changes_document(difference: Difference, language: Language, chart: Drawing | None = None) -> Document:
    """Return all changes as a document; equal values are omitted."""
    word = language.word
    notes = notes_of(difference.notes, language)
    sections = (
        _money(difference, language, chart),
        order_section(difference, language),
        bill_section(difference, language, partial(_bill, language=language, currency=difference.currency)),
        design_section(difference, language),
        plan_section(difference, language),
        alternatives_section(difference, language),
        warnings_section(difference, language),
    )
    held = [section for section in sections if section and section.tables]
    if held:
        held[0] = replace(held[0], notes=notes)
    else:
        held = [
            Section(
                "money", word("compare-money"), text=(word("diff-nothing"),), tables=(_totals(difference, language),)
            )
        ]
    headlines = [
        (word(key), _total_of(side.totals))
        for side, key in zip(difference.sides, ("diff-total-before", "diff-total-after"), strict=True)
    ]
    if difference.money and not difference.unpriced_side:
        headlines.append((word("diff-change"), Cell(difference.money.change, difference.new.totals.currency)))
    return Document(
        title=word("diff-heading", old=difference.old.name, new=difference.new.name),
        language=language.code,
        headline=tuple(headlines),
        sections=tuple(held),
        footer=word("compare-footer", version=__version__),
    )


def notes_of(texts: Iterable[str], language: Language) -> tuple[Note, ...]:
    """Return messages as notes."""
    return tuple(Note("info", language.message(text)) for text in texts)


def _total_of(money: BillTotals) -> Cell:
    if money.is_unknown:
        return Cell(None, money.currency)
    return Cell(money.amount, money.currency, least=not money.complete)


def _before_and_after(language: Language, first: Column, kind: ColumnKind) -> tuple[Column, ...]:
    return first, *(Column(key, language.word(f"diff-{key}"), kind, 20) for key in ("before", "after", "change"))


def _totals(difference: Difference, language: Language) -> Table:
    columns = _before_and_after(language, Column("name", language.word("column-category"), "text", 34), "money")
    known = difference.money if not difference.unpriced_side else None
    change = Cell(known.change, difference.new.totals.currency) if known else Cell(None)
    row = row_of(language.word("ui-total"), _total_of(difference.old.totals), _total_of(difference.new.totals), change)
    return Table("money", language.word("compare-money"), columns, (row,), open=True)


def _money(difference: Difference, language: Language, chart: Drawing | None) -> Section | None:
    if difference.money is not None and not difference.money.changed:
        return None
    word, currency = language.word, difference.new.totals.currency
    totals = _totals(difference, language)
    rows = []
    for row in changed_categories(difference, language):
        before, after = (cell.value or Decimal(0) for cell in row.cells)
        rows.append(row_of(row.label, *row.cells, Cell(increase(before, after), currency)))
    if difference.money and (tax := difference.money.parts["tax"]):
        amounts = (difference.old.totals.tax, difference.new.totals.tax, tax)
        rows.append(row_of(word("quote-tax"), *(Cell(amount, currency) for amount in amounts)))
    tables = [Table("money", word("diff-by-category"), totals.columns, (*rows, *totals.rows), open=True)]
    if difference.money:
        causes = (
            Column("cause", word("diff-cause"), "text", 50),
            Column("amount", word("column-amount"), "money", 20),
        )
        parts = ((word(f"diff-{name}"), amount) for name, amount in difference.money.parts.items() if amount)
        by_cause = tuple(row_of(name, Cell(amount, currency)) for name, amount in parts)
        tables.append(Table("causes", word("diff-by-cause"), causes, by_cause, open=True))
    return Section("money", word("compare-money"), tables=tuple(tables), drawings=(chart,) if chart else ())


def order_section(difference: Difference, language: Language) -> Section | None:
    """Return the section of an expansion's order and surplus parts; None if it is not an expansion."""
    if difference.expansion is None:
        return None
    word, currency = language.word, difference.new.totals.currency

    def table(id: str, title: str, parts: Sequence[Ordered], priced: bool, sign: Sign) -> Table:
        rows = (
            row_of(
                part.sku or part.part,
                language.message(part.description),
                part.pieces,
                *([Cell(part.amount, currency)] if priced else []),
                sign=sign,
            )
            for part in parts
        )
        return Table(id, title, part_columns(language, amount=priced), tuple(rows), open=True)

    tables = (
        table("order", word("diff-order"), difference.expansion.order, True, "+"),
        table("left-over", word("expansion-left-over"), difference.expansion.free, False, "-"),
    )
    return Section("order", word("diff-order"), tables=tuple(table for table in tables if table.rows))


def bill_section(difference: Difference, language: Language, table: Callable[[Sequence[Pair]], Table]) -> Section:
    """Return the section of the changed lines in a table, with the number of unchanged ones."""
    shown = [pair for pair in difference.pairs if pair.change != RENAMED]
    same, all_ = difference.unchanged + len(difference.pairs) - len(shown), difference.unchanged + len(difference.pairs)
    text = language.word("diff-unchanged", same=language.integer(same), lines=language.integer(all_))
    return section_of(table(shown), (text,) if difference.pairs else ())


def _bill(pairs: Sequence[Pair], language: Language, currency: str | None) -> Table:
    word = language.word
    columns = (
        Column("part", word("column-sku"), "text", 36),
        Column("description", word("column-description"), "text", 44),
        Column("line", word("diff-line"), "text", 40),
        Column("before", word("diff-before"), "number", 10),
        Column("after", word("diff-after"), "number", 10),
        Column("change", word("column-amount"), "money", 20),
    )
    ranks = {name: rank for rank, name in enumerate(CATEGORIES)}
    rows = tuple(
        row_of(
            pair.item.sku or pair.item.part,
            item_name(pair.item, language),
            pair.item.id,
            *(item.pieces if item else 0 for item in (pair.old, pair.new)),
            Cell(line_change(pair, currency), currency or ""),
            group=_category(pair.item.category, language),
        )
        for pair in sorted(pairs, key=lambda pair: ranks.get(pair.item.category, len(ranks)))
    )
    return Table("lines", word("section-bill"), columns, rows, open=True)


def item_name(item: Item, language: Language) -> str:
    """Return the name of a bill line."""
    name = language.message(item.description)
    if item.description == item.role and f"charge-{item.role}" in language.words:
        name = language.word(f"charge-{item.role}")
    return language.word("in-stock", name=name) if item.in_stock else name


def design_section(difference: Difference, language: Language, review: bool = False, ranked: bool = False) -> Section:
    """Return the section of changed numbers, `ranked` by importance or by group; unimportant ones are folded."""
    word = language.word
    columns = _before_and_after(language, Column("name", word("column-name"), "text", 40), "number")
    status = (Column("name", word("column-fabric"), "text", 40), Column("status", word("diff-status"), "text", 40))

    def table(id: str, title: str, important: bool) -> Table:
        rows = [row for row in difference.rows if (row.rank is not None) is important]
        if ranked:
            rows.sort(key=lambda row: row.rank or 0)
        numbers = tuple(_number(row, difference.new.totals.currency, language) for row in rows)
        return Table(id, title, columns, numbers, folded=not important, open=important)

    tables = (
        Table(
            "fabrics",
            "" if review else word("diff-status"),
            status,
            tuple(_added_and_removed(difference, language, review)),
            open=True,
        ),
        table("design", word("diff-design"), True),
        table("numbers", word("diff-other-numbers"), False),
    )
    return Section("design", word("diff-design"), tables=tuple(table for table in tables if table.rows))


def _added_and_removed(difference: Difference, language: Language, review: bool) -> Iterator[Row]:
    word = language.word
    signs: tuple[tuple[str, Sign], ...] = (("diff-new", "+"), ("diff-gone", "-"))
    for (key, sign), (side, clusters, fabrics) in zip(signs, difference.on_one_side, strict=True):
        described = [(name, described_cluster(side, name)) for name in clusters]
        described += [(name, describe_fabric(side, name, language)) for name in fabrics]
        for name, description in described:
            yield row_of(name, word(key) + (word("list-comma") + description if review else ""), sign=sign)
    for old, new in (*difference.renamed_clusters.items(), *difference.names.renamed.items()):
        if old and new:
            yield row_of(new, word("diff-renamed", name=old), sign="~")
        elif review:
            yield row_of(new or old, word("diff-was-only" if new else "diff-is-only"), sign="~")


def _number(row: ComparedRow, currency: str, language: Language) -> Row:
    word = language.word
    unit = currency if row.unit == MONEY else row.unit if row.unit in SHOWN_UNITS else ""
    old, new = (cell.value for cell in row.cells)
    cells = (
        Cell(language.message(str(cell.value)))
        if isinstance(cell.value, bool)
        else replace(cell, unit="" if isinstance(cell.value, str) else unit)
        for cell in row.cells
    )
    (change,) = row.differences
    steps = row.key.split(".")
    ends = (".".join(steps[-3:]), ".".join(steps[-2:]), steps[-1])
    labels = (*(f"diff-number-{end}" for end in ends), f"label-{row.key}", *(f"label-{end}" for end in ends[1:]))
    label = next((word(key) for key in labels if key in language.words), row.label)
    cluster, own = "", row.group
    if own.startswith(f"{CLUSTERS}."):
        _, cluster, own = own.split(".", 2)
    kind, _, name = own.partition(".")
    title = word("drawing-title", name=name) if kind == FABRICS else word(GROUPS[kind])
    group = word("name-in").join(part for part in (cluster, title) if part)
    return row_of(
        label, *cells, Cell(change, unit, base=None if change is None else old), group=group, sign=_sign_of(old, new)
    )


def _sign_of(old: object, new: object) -> Sign:
    return "+" if old is None else "-" if new is None else "~"


def plan_section(difference: Difference, language: Language) -> Section:
    """Return the section of changed plan keys."""
    word = language.word
    columns = (
        Column("key", word("diff-key"), "text", 50),
        Column("before", word("diff-before"), "text", 24),
        Column("after", word("diff-after"), "text", 24),
        Column("place", word("diff-place"), "text", 44),
    )
    keys = difference.keys or ()
    rows = tuple(row_of(each.key, each.old, each.new, each.place, sign=_sign_of(each.old, each.new)) for each in keys)
    return section_of(Table("plan", word("diff-plan"), columns, rows, open=True, most=MOST_ROWS))


def alternatives_section(difference: Difference, language: Language, review: bool = False) -> Section:
    """Return the section of alternatives that changed their total, were added or removed."""
    word = language.word
    columns = (
        Column("name", word("section-alternatives"), "text", 40),
        Column("before", word("diff-before"), "money", 20),
        Column("after", word("diff-after"), "money", 20),
    )
    rows = tuple(
        row_of(
            name,
            *(Cell("" if review else None) if money is None else _total_of(money) for money in totals),
            sign=_sign_of(*totals),
        )
        for name, totals in difference.alternatives.items()
    )
    return section_of(Table("alternatives", word("section-alternatives"), columns, rows, open=True))


def warnings_section(difference: Difference, language: Language, review: bool = False) -> Section:
    """Return the section of added and removed warnings; a review shows their rule ids."""
    word = language.word
    status = Column("status", word("diff-status"), "text", 12)
    warning = Column("warning", word("diff-warnings"), "text", 90)
    warnings = [("diff-new", each) for each in difference.added_warnings]
    warnings += [("diff-gone", each) for each in difference.removed_warnings]
    rows = []
    for key, each in warnings:
        cells = (word(key), language.message(each.message), each.id)
        rows.append(row_of(*(cells[1:] if review else cells[:2]), sign="+" if key == "diff-new" else "-"))
    columns = (warning, Column("id", word("diff-rule"))) if review else (status, warning)
    return section_of(Table("warnings", word("diff-warnings"), columns, tuple(rows), open=True, most=MOST_ROWS))


# review -------------------------------------------------------------------------------------------------------------


def review_document(difference: Difference, language: Language, ranked: bool = False) -> Document:
    """Return all changes for a review, with numbers `ranked` by importance or by group."""
    sections = (
        plan_section(difference, language),
        _money_review(difference, language),
        *_order_review(difference, language),
        _moves(difference, language),
        design_section(difference, language, review=True, ranked=ranked),
        bill_section(difference, language, partial(_bill_review, language=language, currency=difference.currency)),
        alternatives_section(difference, language, review=True),
        warnings_section(difference, language, review=True),
        Section("notes", "", notes=notes_of(difference.notes, language)),
    )
    return Document(
        title=f"{difference.old.name} {ARROW} {difference.new.name}",
        subtitle=headline(difference, language),
        language=language.code,
        sections=tuple(section for section in sections if section) if difference.changed else (),
    )


def _money_review(difference: Difference, language: Language) -> Section | None:
    word, split = language.word, difference.money
    if split is not None and not split.changed:
        return None
    totals = [
        word("ui-no-price") if side.totals.is_unknown else language.cell(_total_of(side.totals))
        for side in (difference.old, difference.new)
    ]
    changes = [(f"{word('ui-total')} {f' {ARROW} '.join(totals)}", None if split is None else split.change)]
    if split is None or difference.unpriced_side:
        return Section("money", word("compare-money"), text=(changes[0][0],))
    for name, amount in split.parts.items():
        rates = (f"1 {currency}: {was} {ARROW} {became}" for currency, (was, became) in difference.rates.items())
        at_rates = f" ({', '.join(rates)})" if name == EXCHANGE else ""
        changes += [(word(f"diff-{name}") + at_rates, amount)] if amount else []
    columns = (
        Column("cause", word("diff-cause")),
        Column("amount", word("diff-change"), "money"),
        Column("share", word("diff-share"), "number"),
    )
    currency, base = difference.new.totals.currency, Fraction(split.old)
    rows = tuple(
        row_of(
            name,
            Cell(amount, currency, base=0),
            language.relative(Fraction(amount or 0), base),
            sign=_sign(amount or 0),
        )
        for name, amount in changes
    )
    return section_of(Table("money", word("compare-money"), columns, rows))


def _sign(change: int | Decimal) -> Sign:
    return "+" if change > 0 else "-" if change < 0 else ""


def _order_review(difference: Difference, language: Language) -> Iterator[Section]:
    section, expansion = order_section(difference, language), difference.expansion
    if section is None or expansion is None:
        return
    currency = difference.new.totals.currency
    said = []
    if expansion.order and expansion.unpriced == len(expansion.order):
        said.append(message("diff-order-unpriced"))
    elif expansion.order:
        amount, parts = language.money(expansion.amount, currency), len(expansion.order)
        key = "diff-order-partly-priced" if expansion.unpriced else "diff-order-priced"
        said.append(message(key, amount=amount, unpriced=expansion.unpriced, parts=parts))
    if expansion.charges:
        said.append(message("diff-order-charges", amount=language.money(expansion.charges, currency)))
    if expansion.tax:
        said.append(message("diff-order-tax", amount=language.money(expansion.tax, currency)))
    if expansion.charges or expansion.tax:
        said.append(message("diff-order-total", amount=language.money(expansion.total, currency)))
    for table in section.tables:
        yield section_of(table, notes=notes_of(said, language) if table.id == "order" else ())


def _moves(difference: Difference, language: Language) -> Section | None:
    word, moves = language.word, difference.moves
    title = word("diff-moves")
    if moves is None:
        said = [message("diff-moves-unknown", why=difference.moves_unknown)] if difference.moves_unknown else []
        return Section("moves", title, notes=notes_of(said, language)) if said else None
    keys = ("before", "stay", "moved", "free", "added")
    columns = (
        Column("fabric", word("column-fabric")),
        Column("kind", word("expansion-moves")),
        *(Column(key, word(f"expansion-{key}"), "number") for key in keys),
        Column("remarks", word("diff-remarks")),
    )
    cables = [cable for cable in moves.cables if cable.old]
    rows = []
    for cable in cables:
        counts = (cable.old, cable.stay, cable.moved, cable.free, cable.added)
        remarks = word("list-comma").join(_remarks(cable, language))
        texts = (Cell(cable.fabric), Cell(cable.kind, "word"))
        rows.append(row_of(*texts, *counts, remarks, sign="~" if cable.moved or cable.free else ""))
    said = [] if any(row.sign for row in rows) else [message("diff-no-moves")]
    if machines := sum(moves.elsewhere.values()):
        said.append(message("diff-machines-move", machines=machines))
    return section_of(Table("moves", title, columns, tuple(rows), keys=2), notes=notes_of(said, language))


def _remarks(moved: Moved, language: Language) -> Iterator[str]:
    if moved.of_pair_old != moved.of_pair_new and moved.of_pair_new[1]:
        old, new = ("–".join(map(str, dict.fromkeys(ends))) for ends in (moved.of_pair_old, moved.of_pair_new))
        yield language.word("diff-between-devices", old=old, new=new)
    for key, count in (("diff-other-length", moved.other_length), ("diff-other-cable", moved.other_cable)):
        if count:
            yield language.word(key, count=language.integer(count))


def _bill_review(pairs: Sequence[Pair], language: Language, currency: str | None) -> Table:
    word = language.word
    columns = (
        Column("pieces", word("quote-pieces"), "number"),
        Column("part", word("column-description")),
        Column("line", word("diff-line")),
        Column("what", word("diff-what")),
        *((Column("amount", word("column-amount"), "money"),) if currency else ()),
    )
    rows = []
    for pair in pairs:
        amount = Cell(line_change(pair, currency), currency or "", base=0)
        pieces = Cell(abs(pair.pieces) or "")
        what = word("list-comma").join(_line_changes(pair, language, currency or ""))
        cells = (pieces, Cell(item_name(pair.item, language)), Cell(pair.item.id), Cell(what))
        sign: Sign = "+" if pair.change == ADDED else "-" if pair.change == REMOVED else _sign(pair.pieces) or "~"
        rows.append(row_of(*cells, *((amount,) if currency else ()), sign=sign))
    return Table("lines", word("section-bill"), columns, tuple(rows), most=MOST_ROWS, keys=2)


def _line_changes(pair: Pair, language: Language, currency: str) -> Iterator[str]:
    word, old, new = language.word, pair.old, pair.new
    if old is None or new is None:
        yield word("diff-new" if old is None else "diff-gone")
        if pair.item.spare:
            yield word("diff-spares-of", count=pair.item.spare)
        if pair.replaces:
            yield word("diff-in-place")
        return
    said = []
    if old.quantity != new.quantity:
        said.append(f"{language.integer(old.quantity)} {ARROW} {language.integer(new.quantity)}")
    if old.spare != new.spare:
        said.append(word("diff-spares", old=old.spare, new=new.spare))
    was, became = (
        "" if each.unit_price is None else language.unit_price(each.unit_price, currency) for each in (old, new)
    )
    if was != became:
        key = "diff-unit-price" if was and became else "diff-priced-now" if became else "diff-unpriced-now"
        said.append(word(key, old=was, new=became))
    if old.discount != new.discount:
        shares = (language.exact_share(Fraction(each.discount)) for each in (old, new))
        said.append(word("diff-discount-was", change=f" {ARROW} ".join(shares)))
    if not said and old.exchange_rate != new.exchange_rate:
        said.append(word("diff-rate-was", old=old.exchange_rate, new=new.exchange_rate))
    if not said and old.id != new.id:
        said.append(word("diff-renamed", name=old.id))
    yield from said or [word("diff-only-description")]

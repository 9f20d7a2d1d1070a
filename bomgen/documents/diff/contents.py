"""The difference as a document, amounts first, in the language of the quote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from bomgen import __version__
from bomgen.core.document import Cell, Column, ColumnKind, Document, Drawing, Note, Row, Section, Sign, Table, row_of
from bomgen.core.language import Language
from bomgen.core.units import ANY_AMOUNT
from bomgen.documents.diff.changes import FABRICS, ChangedNumber, describe_fabric
from bomgen.documents.diff.difference import Difference, line_change
from bomgen.documents.diff.expansion import Ordered
from bomgen.documents.diff.matching import RENAMED, Pair, described_cluster
from bomgen.documents.diff.side import BillTotals, ComparedResult, Ends, Item, Warned, sum_amounts
from bomgen.documents.tables import part_columns, section_of
from bomgen.plan.clusters import KEY as CLUSTERS
from bomgen.pricing.bill_line import CATEGORIES

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


class CategoryChange(NamedTuple):
    """The old and new amount of a bill category: None without a priced line, a lower bound if some lack a price."""

    category: str
    old: Cell
    new: Cell


def changed_categories(difference: Difference) -> list[CategoryChange]:
    """Return the categories whose amounts changed, in bill order; none if the currencies differ."""
    if difference.money is None:
        return []
    names = dict.fromkeys(
        (*CATEGORIES, *(item.category for side in (difference.old, difference.new) for item in side.items))
    )
    changes = (CategoryChange(name, _sum(difference.old, name), _sum(difference.new, name)) for name in names)
    return [change for change in changes if change.old != change.new]


def _sum(side: ComparedResult, category: str) -> Cell:
    lines = (item for item in side.items if item.category == category)
    amounts = [item.amount for item in lines if item.amount is not None or item.lacks_price]
    priced = [amount for amount in amounts if amount is not None]
    if amounts and not priced:
        return Cell(None, side.totals.currency)
    return Cell(sum_amounts(priced), side.totals.currency, least=len(priced) < len(amounts))


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
    return Document(
        title=word("diff-heading", old=difference.old.name, new=difference.new.name),
        language=language.code,
        headline=tuple(_headline(difference, language)),
        sections=tuple(held),
        footer=word("compare-footer", version=__version__),
    )


def notes_of(texts: Iterable[str], language: Language) -> tuple[Note, ...]:
    """Return messages as notes."""
    return tuple(Note("info", language.message(text)) for text in texts)


def _headline(difference: Difference, language: Language) -> Iterator[tuple[str, Cell]]:
    for side, key in ((difference.old, "diff-total-before"), (difference.new, "diff-total-after")):
        yield language.word(key), total_of(side.totals)
    if difference.money and not difference.unpriced_side:
        yield language.word("diff-change"), Cell(difference.money.change, difference.new.totals.currency)


def _known(cell: Cell) -> Decimal:
    return cell.value if isinstance(cell.value, Decimal) else Decimal(0)


def total_of(money: BillTotals) -> Cell:
    """Return a total as a cell."""
    if money.is_unknown:
        return Cell(None, money.currency)
    return Cell(money.amount, money.currency, least=not money.complete)


def _before_and_after(language: Language, first: Column, kind: ColumnKind) -> tuple[Column, ...]:
    return first, *(Column(key, language.word(f"diff-{key}"), kind, 20) for key in ("before", "after", "change"))


def _totals(difference: Difference, language: Language) -> Table:
    columns = _before_and_after(language, Column("name", language.word("column-category"), "text", 34), "money")
    known = difference.money if not difference.unpriced_side else None
    change = Cell(known.change, difference.new.totals.currency) if known else Cell(None)
    row = row_of(language.word("ui-total"), total_of(difference.old.totals), total_of(difference.new.totals), change)
    return Table("money", language.word("compare-money"), columns, (row,), open=True)


def _money(difference: Difference, language: Language, chart: Drawing | None) -> Section | None:
    if difference.money is not None and not difference.money.changed:
        return None
    word, currency = language.word, difference.new.totals.currency
    totals = _totals(difference, language)
    rows = [
        row_of(
            word(f"category-{changed_category.category}")
            if changed_category.category in CATEGORIES
            else changed_category.category,
            changed_category.old,
            changed_category.new,
            Cell(ANY_AMOUNT.subtract(_known(changed_category.new), _known(changed_category.old)), currency),
        )
        for changed_category in changed_categories(difference)
    ]
    if difference.money and (tax := difference.money.parts["tax"]):
        amounts = (difference.old.totals.tax, difference.new.totals.tax, tax)
        rows.append(row_of(word("quote-tax"), *(Cell(amount, currency) for amount in amounts)))
    by_category = Table("money", word("diff-by-category"), totals.columns, (*rows, *totals.rows), open=True)
    tables = (by_category, *([_causes(difference, language)] if difference.money else []))
    return Section("money", word("compare-money"), tables=tables, drawings=(chart,) if chart else ())


def _causes(difference: Difference, language: Language) -> Table:
    word, currency = language.word, difference.new.totals.currency
    columns = (
        Column("cause", word("diff-cause"), "text", 50),
        Column("amount", word("column-amount"), "money", 20),
    )
    parts = difference.money.parts if difference.money else {}
    rows = [row_of(word(f"diff-{name}"), Cell(amount, currency)) for name, amount in parts.items() if amount]
    return Table("causes", word("diff-by-cause"), columns, tuple(rows), open=True)


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
    ordered = sorted(pairs, key=lambda pair: ranks.get(pair.item.category, len(ranks)))
    rows = tuple(_line(pair, language, currency) for pair in ordered)
    return Table("lines", word("section-bill"), columns, rows, open=True)


def _line(pair: Pair, language: Language, currency: str | None) -> Row:
    item = pair.item
    pieces = (Cell(each.pieces if each else 0) for each in (pair.old, pair.new))
    category = language.word(f"category-{item.category}") if item.category in CATEGORIES else item.category
    name, change = item_name(item, language), line_change(pair, currency)
    return row_of(item.sku or item.part, name, item.id, *pieces, Cell(change, currency or ""), group=category)


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
        of = [number for number in difference.numbers if number.important is important]
        of = sorted(of, key=lambda number: number.rank) if ranked else of
        return Table(
            id,
            title,
            columns,
            tuple(_number(each, difference, language) for each in of),
            folded=not important,
            open=important,
        )

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
    def said(key: str, what: str) -> str:
        return language.word(key) + (language.word("list-comma") + what if review else "")

    changes: tuple[tuple[str, Sign, ComparedResult, Sequence[str], Sequence[str]], ...] = (
        ("diff-new", "+", difference.new, difference.added_clusters, difference.added_fabrics),
        ("diff-gone", "-", difference.old, difference.removed_clusters, difference.removed_fabrics),
    )
    for key, sign, side, clusters, fabrics in changes:
        for name in clusters:
            yield row_of(name, said(key, described_cluster(side, name)), sign=sign)
        for name in fabrics:
            yield row_of(name, said(key, describe_fabric(side, name, language)), sign=sign)
    for old, new in (*difference.renamed_clusters.items(), *difference.renamed_fabrics.items()):
        if old and new:
            yield row_of(new, language.word("diff-renamed", name=old), sign="~")
        elif review:
            yield row_of(new or old, language.word("diff-was-only" if new else "diff-is-only"), sign="~")


def _number(number: ChangedNumber, difference: Difference, language: Language) -> Row:
    currency = difference.new.totals.currency
    unit = currency if number.unit == MONEY else number.unit if number.unit in SHOWN_UNITS else ""
    values = zip((number.old, number.new), number.ends, strict=True)
    cells = (_value(value, unit, language, ends) for value, ends in values)
    change = Cell(number.change, unit, base=None if number.change is None else number.old)
    sign = _sign_of(number.old, number.new)
    return row_of(_label(number, language), *cells, change, group=_group(number, language), sign=sign)


def _sign_of(old: object, new: object) -> Sign:
    return "+" if old is None else "-" if new is None else "~"


def _value(value: object, unit: str, language: Language, ends: Ends | None) -> Cell:
    if isinstance(value, bool):
        return Cell(language.message(str(value)))
    return Cell(value, "" if isinstance(value, str) else unit, estimate=ends)  # type: ignore[arg-type]


def _label(number: ChangedNumber, language: Language) -> str:
    steps = number.path.split(".")
    ends = (".".join(steps[-3:]), ".".join(steps[-2:]), steps[-1])
    keys = (*(f"diff-number-{end}" for end in ends), f"label-{number.path}", *(f"label-{end}" for end in ends[1:]))
    return next((language.word(key) for key in keys if key in language.words), number.label)


def _group(number: ChangedNumber, language: Language) -> str:
    cluster, own = "", number.group
    if own.startswith(f"{CLUSTERS}."):
        _, cluster, own = own.split(".", 2)
    kind, _, name = own.partition(".")
    title = language.word("drawing-title", name=name) if kind == FABRICS else language.word(GROUPS[kind])
    return language.word("name-in").join(part for part in (cluster, title) if part)


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
            *(Cell("" if review else None) if money is None else total_of(money) for money in each),
            sign=_sign_of(*each),
        )
        for name, each in difference.alternatives.items()
    )
    return section_of(Table("alternatives", word("section-alternatives"), columns, rows, open=True))


def warnings_section(difference: Difference, language: Language, review: bool = False) -> Section:
    """Return the section of added and removed warnings; a review shows their rule ids."""
    word = language.word
    columns = [Column("status", word("diff-status"), "text", 12), Column("warning", word("diff-warnings"), "text", 90)]
    rows = []
    warnings: tuple[tuple[str, Sign, Sequence[Warned]], ...] = (
        ("diff-new", "+", difference.added_warnings),
        ("diff-gone", "-", difference.removed_warnings),
    )
    for key, sign, those in warnings:
        for each in those:
            cells = (Cell(word(key)), Cell(language.message(each.message)), Cell(each.id))
            rows.append(Row(cells[1:] if review else cells[:2], sign=sign))
    if review:
        columns = [columns[1], Column("id", word("diff-rule"))]
    table = Table("warnings", word("diff-warnings"), tuple(columns), tuple(rows), open=True, most=MOST_ROWS)
    return section_of(table)

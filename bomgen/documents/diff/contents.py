"""The difference as a document: amounts first, or for a review, as text or a comment, the plan keys first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from bomgen import __version__
from bomgen.core.document import (
    Cell,
    Column,
    ColumnKind,
    Document,
    Drawing,
    Note,
    Row,
    Section,
    Sign,
    Table,
    group_by,
    row_of,
)
from bomgen.core.language import Language
from bomgen.core.messages import message
from bomgen.documents.comparison import ComparedRow, category_label, category_rows
from bomgen.documents.comparison import difference as increase
from bomgen.documents.diff.data import ARROW, headline
from bomgen.documents.diff.difference import EXCHANGE, Difference, Ordered, line_change
from bomgen.documents.diff.matching import ADDED, FABRICS, REMOVED, RENAMED, Pair, describe_fabric, described_cluster
from bomgen.documents.diff.side import BillTotals, Item, sum_amounts
from bomgen.documents.tables import columns_of, make_table, section_of
from bomgen.plan.schema import CLUSTERS
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
    sides = []
    for side in difference.sides:
        amounts = dict[str, tuple[Decimal | None, bool]]()
        for name, items in group_by(side.items, lambda item: item.category).items():
            lines = [item.amount for item in items if item.amount is not None or item.lacks_price]
            priced = [amount for amount in lines if amount is not None]
            total = sum_amounts(priced) if priced or not lines else None
            amounts[name] = total, bool(priced) and len(priced) < len(lines)
        sides.append(amounts)
    rows = category_rows(sides, difference.new.totals.currency, language)
    return [row for row in rows if row.cells[0] != row.cells[1]]


def changes_document(difference: Difference, language: Language, chart: Drawing | None = None) -> Document:
    """Return all changes as a document; equal values are omitted."""
    word, writer = language.word, _Writer(difference, language)
    sections = [
        *(writer.money(chart), writer.order(), writer.bill(), writer.design()),
        *(writer.plan(), writer.alternatives(), writer.warnings()),
    ]
    held = [section for section in sections if section and section.tables]
    if held:
        held[0] = replace(held[0], notes=writer.notes(difference.notes))
    else:
        held = [Section("money", word("compare-money"), (word("diff-nothing"),), (writer.totals(),))]
    headlines = [
        (word("diff-total-before"), _total_of(difference.old.totals)),
        (word("diff-total-after"), _total_of(difference.new.totals)),
    ]
    if difference.money and not difference.unpriced_side:
        headlines.append((word("diff-change"), Cell(difference.money.change, writer.currency)))
    return Document(
        title=word("diff-heading", old=difference.old.name, new=difference.new.name),
        language=language.code,
        headline=tuple(headlines),
        sections=tuple(held),
        footer=word("compare-footer", version=__version__),
    )


def review_document(difference: Difference, language: Language, ranked: bool = False) -> Document:
    """Return all changes for a review, with numbers `ranked` by importance or by group."""
    writer = _Writer(difference, language, review=True)
    sections = (
        *(writer.plan(), writer.reviewed_money(), *writer.reviewed_order(), writer.moves()),
        *(writer.design(ranked), writer.bill(), writer.alternatives(), writer.warnings()),
        Section("notes", "", notes=writer.notes(difference.notes)),
    )
    return Document(
        title=f"{difference.old.name} {ARROW} {difference.new.name}",
        subtitle=headline(difference, language),
        language=language.code,
        sections=tuple(section for section in sections if section) if difference.changed else (),
    )


def _total_of(money: BillTotals) -> Cell:
    return Cell(None if money.is_unknown else money.amount, money.currency, least=not money.complete)


def _sign_of(old: object, new: object) -> Sign:
    return "+" if old is None else "-" if new is None else "~"


def _sign(change: int | Decimal) -> Sign:
    return "+" if change > 0 else "-" if change < 0 else ""


class _Writer:
    """Writer of the sections of a difference, of a document or for a review."""

    def __init__(self, difference: Difference, language: Language, review: bool = False) -> None:
        self.difference, self.language, self.word, self.review = difference, language, language.word, review
        self.currency = difference.new.totals.currency

    def notes(self, texts: Iterable[str]) -> tuple[Note, ...]:
        return tuple(Note("info", self.language.message(text)) for text in texts)

    def changes(self, kind: ColumnKind) -> tuple[Column, ...]:
        """Return the columns of the values before and after, and of the change."""
        return tuple(Column(key, self.word(f"diff-{key}"), kind, 20) for key in ("before", "after", "change"))

    # money

    def totals(self) -> Table:
        word, difference = self.word, self.difference
        columns = (*columns_of("diff-money", self.language), *self.changes("money"))
        known = difference.money if not difference.unpriced_side else None
        change = Cell(known.change, self.currency) if known else Cell(None)
        row = row_of(word("ui-total"), *(_total_of(side.totals) for side in difference.sides), change)
        title = word("compare-money")
        return make_table("diff-money", self.language, (row,), id="money", title=title, columns=columns)

    def money(self, chart: Drawing | None) -> Section | None:
        word, currency, split = self.word, self.currency, self.difference.money
        if split is not None and not split.changed:
            return None
        totals, rows = self.totals(), []
        for row in changed_categories(self.difference, self.language):
            before, after = (cell.value or Decimal(0) for cell in row.cells)
            rows.append(row_of(row.label, *row.cells, Cell(increase(before, after), currency)))
        if split and (tax := split.parts["tax"]):
            amounts = (*(side.totals.tax for side in self.difference.sides), tax)
            rows.append(row_of(word("quote-tax"), *(Cell(amount, currency) for amount in amounts)))
        tables = [replace(totals, title=word("diff-by-category"), rows=(*rows, *totals.rows))]
        if split:
            causes = (row_of(word(f"diff-{name}"), Cell(part, currency)) for name, part in split.parts.items() if part)
            tables.append(make_table("causes", self.language, causes))
        return Section("money", word("compare-money"), tables=tuple(tables), drawings=(chart,) if chart else ())

    def reviewed_money(self) -> Section | None:
        word, language, split = self.word, self.language, self.difference.money
        if split is not None and not split.changed:
            return None
        totals = [
            word("ui-no-price") if side.totals.is_unknown else language.cell(_total_of(side.totals))
            for side in self.difference.sides
        ]
        total = f"{word('ui-total')} {f' {ARROW} '.join(totals)}"
        if split is None or self.difference.unpriced_side:
            return Section("money", word("compare-money"), text=(total,))
        changes = [(total, split.change)]
        for name, amount in split.parts.items():
            rates = self.difference.rates.items() if name == EXCHANGE else ()
            ends = ", ".join(f"1 {currency}: {was} {ARROW} {became}" for currency, (was, became) in rates)
            changes += [(word(f"diff-{name}") + (f" ({ends})" if name == EXCHANGE else ""), amount)] if amount else []
        rows = tuple(
            row_of(
                *(name, Cell(amount, self.currency, base=0)),
                language.relative(Fraction(amount), Fraction(split.old)),
                sign=_sign(amount),
            )
            for name, amount in changes
        )
        return section_of(make_table("review-money", self.language, rows, id="money"))

    # order of an expansion

    def order(self) -> Section | None:
        """Return the section of an expansion's order and surplus parts; None if it is not an expansion."""
        if self.difference.expansion is None:
            return None

        def table(id: str, title: str, parts: Sequence[Ordered], priced: bool, sign: Sign) -> Table:
            rows = (
                row_of(
                    *(part.sku or part.part, self.language.message(part.description), part.pieces),
                    *([Cell(part.amount, self.currency)] if priced else []),
                    sign=sign,
                )
                for part in parts
            )
            columns = columns_of("parts", self.language, without=("vendor", "" if priced else "amount"))
            return make_table(id, self.language, rows, title=self.word(title), columns=columns, open=True)

        tables = (
            table("order", "diff-order", self.difference.expansion.order, True, "+"),
            table("left-over", "expansion-left-over", self.difference.expansion.free, False, "-"),
        )
        return Section("order", self.word("diff-order"), tables=tuple(table for table in tables if table.rows))

    def reviewed_order(self) -> Iterator[Section]:
        section, expansion = self.order(), self.difference.expansion
        if section is None or expansion is None:
            return
        texts = []
        if expansion.order and expansion.unpriced == len(expansion.order):
            texts.append(message("diff-order-unpriced"))
        elif expansion.order:
            amount, parts = self.language.money(expansion.amount, self.currency), len(expansion.order)
            key = "diff-order-partly-priced" if expansion.unpriced else "diff-order-priced"
            texts.append(message(key, amount=amount, unpriced=expansion.unpriced, parts=parts))
        total = expansion.total if expansion.charges or expansion.tax else None
        for key, sum_ in (("charges", expansion.charges), ("tax", expansion.tax), ("total", total)):
            if sum_ or (key == "total" and sum_ is not None):
                texts.append(message(f"diff-order-{key}", amount=self.language.money(sum_, self.currency)))
        for table in section.tables:
            yield section_of(table, notes=self.notes(texts) if table.id == "order" else ())

    def moves(self) -> Section | None:
        word, moves, title = self.word, self.difference.moves, self.word("diff-moves")
        if moves is None:
            unknown = self.difference.moves_unknown
            notes = self.notes([message("diff-moves-unknown", why=unknown)] if unknown else [])
            return Section("moves", title, notes=notes) if notes else None
        rows = []
        for cable in (cable for cable in moves.cables if cable.old):
            rows.append(
                row_of(
                    *(cable.fabric, Cell(cable.kind, "word")),
                    *(cable.old, cable.stay, cable.moved, cable.free, cable.added),
                    word("list-comma").join(_remarks(cable, self.language)),
                    sign="~" if cable.moved or cable.free else "",
                )
            )
        texts = [] if any(row.sign for row in rows) else [message("diff-no-moves")]
        if machines := sum(moves.elsewhere.values()):
            texts.append(message("diff-machines-move", machines=machines))
        table = make_table("review-moves", self.language, rows, id="moves", keys=2)
        return section_of(table, notes=self.notes(texts))

    # bill

    def bill(self) -> Section:
        """Return the section of the changed lines in a table, with the number of unchanged ones."""
        difference = self.difference
        shown = [pair for pair in difference.pairs if pair.change != RENAMED]
        lines = difference.unchanged + len(difference.pairs)
        numbers = {"same": self.language.integer(lines - len(shown)), "lines": self.language.integer(lines)}
        text = (self.word("diff-unchanged", **numbers),) if difference.pairs else ()
        return section_of(self.reviewed_lines(shown) if self.review else self.lines(shown), text)

    def lines(self, pairs: Sequence[Pair]) -> Table:
        ranks, currency = {name: rank for rank, name in enumerate(CATEGORIES)}, self.difference.currency
        rows = tuple(
            row_of(
                *(pair.item.sku or pair.item.part, self.name(pair.item), pair.item.id),
                *(item.pieces if item else 0 for item in (pair.old, pair.new)),
                Cell(line_change(pair, currency), currency or ""),
                group=category_label(pair.item.category, self.language),
            )
            for pair in sorted(pairs, key=lambda pair: ranks.get(pair.item.category, len(ranks)))
        )
        return make_table("diff-lines", self.language, rows, id="lines")

    def reviewed_lines(self, pairs: Sequence[Pair]) -> Table:
        word, currency = self.word, self.difference.currency
        kind = "review-lines"
        columns = columns_of(kind, self.language, without=() if currency else ("amount",))
        signs: dict[str, Sign] = {ADDED: "+", REMOVED: "-"}
        rows = tuple(
            row_of(
                *(abs(pair.pieces) or "", self.name(pair.item), pair.item.id),
                word("list-comma").join(_line_changes(pair, self.language, currency or "")),
                *((Cell(line_change(pair, currency), currency, base=0),) if currency else ()),
                sign=signs.get(pair.change) or _sign(pair.pieces) or "~",
            )
            for pair in pairs
        )
        return make_table(kind, self.language, rows, id="lines", columns=columns, most=MOST_ROWS, keys=2)

    def name(self, item: Item) -> str:
        """Return the name of a bill line."""
        name = self.language.message(item.description)
        if item.description == item.role and f"charge-{item.role}" in self.language.words:
            name = self.word(f"charge-{item.role}")
        return self.word("in-stock", name=name) if item.in_stock else name

    # design

    def design(self, ranked: bool = False) -> Section:
        """Return the section of changed numbers, `ranked` by importance or by group; unimportant ones are folded."""
        word = self.word
        columns = (*columns_of("diff-numbers", self.language), *self.changes("number"))
        heading = "" if self.review else word("diff-status")
        tables = [make_table("diff-fabrics", self.language, self.added_and_removed(), id="fabrics", title=heading)]
        for id, title, important in (("design", "diff-design", True), ("numbers", "diff-other-numbers", False)):
            rows = [row for row in self.difference.rows if (row.rank is not None) is important]
            if ranked:
                rows.sort(key=lambda row: row.rank or 0)
            numbers = tuple(map(self.number, rows))
            tables.append(Table(id, word(title), columns, numbers, folded=not important, open=important))
        return Section("design", word("diff-design"), tables=tuple(table for table in tables if table.rows))

    def added_and_removed(self) -> Iterator[Row]:
        word, difference = self.word, self.difference
        signs: tuple[tuple[str, Sign], ...] = (("diff-new", "+"), ("diff-gone", "-"))
        for (key, sign), (side, clusters, fabrics) in zip(signs, difference.on_one_side, strict=True):
            described = [(name, described_cluster(side, name)) for name in clusters]
            described += [(name, describe_fabric(side, name, self.language)) for name in fabrics]
            for name, description in described:
                yield row_of(name, word(key) + (word("list-comma") + description if self.review else ""), sign=sign)
        for old, new in (*difference.renamed_clusters.items(), *difference.names.renamed.items()):
            if old and new:
                yield row_of(new, word("diff-renamed", name=old), sign="~")
            elif self.review:
                yield row_of(new or old, word("diff-was-only" if new else "diff-is-only"), sign="~")

    def number(self, row: ComparedRow) -> Row:
        word, words = self.word, self.language.words
        unit = self.currency if row.unit == MONEY else row.unit if row.unit in SHOWN_UNITS else ""
        old, new = (cell.value for cell in row.cells)
        cells = (
            Cell(self.language.message(str(cell.value)))
            if isinstance(cell.value, bool)
            else replace(cell, unit="" if isinstance(cell.value, str) else unit)
            for cell in row.cells
        )
        (change,) = row.differences
        steps = row.key.split(".")
        ends = (".".join(steps[-3:]), ".".join(steps[-2:]), steps[-1])
        labels = (*(f"diff-number-{end}" for end in ends), f"label-{row.key}", *(f"label-{end}" for end in ends[1:]))
        label = next((word(key) for key in labels if key in words), row.label)
        cluster, own = "", row.group
        if own.startswith(f"{CLUSTERS}."):
            _, cluster, own = own.split(".", 2)
        kind, _, name = own.partition(".")
        title = word("drawing-title", name=name) if kind == FABRICS else word(GROUPS[kind])
        group = word("name-in").join(part for part in (cluster, title) if part)
        increased = Cell(change, unit, base=None if change is None else old)
        return row_of(label, *cells, increased, group=group, sign=_sign_of(old, new))

    # plan, alternatives, warnings

    def plan(self) -> Section:
        """Return the section of changed plan keys."""
        keys = self.difference.keys or ()
        rows = tuple(row_of(*key, sign=_sign_of(key.old, key.new)) for key in keys)
        return section_of(make_table("diff-plan", self.language, rows, id="plan", most=MOST_ROWS))

    def alternatives(self) -> Section:
        """Return the section of alternatives that changed their total, were added or removed."""
        columns = (*columns_of("diff-alternatives", self.language), *self.changes("money")[:2])
        missing = Cell("" if self.review else None)
        rows = tuple(
            row_of(name, *(_total_of(money) if money else missing for money in totals), sign=_sign_of(*totals))
            for name, totals in self.difference.alternatives.items()
        )
        return section_of(make_table("diff-alternatives", self.language, rows, id="alternatives", columns=columns))

    def warnings(self) -> Section:
        """Return the section of added and removed warnings; a review shows their rule ids."""
        word, rows = self.word, list[Row]()
        signs: tuple[tuple[str, Sign], ...] = (("diff-new", "+"), ("diff-gone", "-"))
        both = (self.difference.added_warnings, self.difference.removed_warnings)
        for (key, sign), warnings in zip(signs, both, strict=True):
            for warned in warnings:
                cells = (word(key), self.language.message(warned.message), warned.id)
                rows.append(row_of(*(cells[1:] if self.review else cells[:2]), sign=sign))
        columns = columns_of("diff-warnings", self.language, without=("status",) if self.review else ("id",))
        table = make_table("diff-warnings", self.language, rows, id="warnings", columns=columns, most=MOST_ROWS)
        return section_of(table)


def _remarks(moved: Moved, language: Language) -> Iterator[str]:
    if moved.of_pair_old != moved.of_pair_new and moved.of_pair_new[1]:
        old, new = ("–".join(map(str, dict.fromkeys(ends))) for ends in (moved.of_pair_old, moved.of_pair_new))
        yield language.word("diff-between-devices", old=old, new=new)
    for key, count in (("diff-other-length", moved.other_length), ("diff-other-cable", moved.other_cable)):
        if count:
            yield language.word(key, count=language.integer(count))


def _line_changes(pair: Pair, language: Language, currency: str) -> Iterator[str]:
    word, old, new = language.word, pair.old, pair.new
    if old is None or new is None:
        yield word("diff-new" if old is None else "diff-gone")
        if pair.item.spare:
            yield word("diff-spares-of", count=pair.item.spare)
        if pair.replaces:
            yield word("diff-in-place")
        return
    texts = []
    if old.quantity != new.quantity:
        texts.append(f"{language.integer(old.quantity)} {ARROW} {language.integer(new.quantity)}")
    if old.spare != new.spare:
        texts.append(word("diff-spares", old=old.spare, new=new.spare))
    was, became = (
        "" if each.unit_price is None else language.unit_price(each.unit_price, currency) for each in (old, new)
    )
    if was != became:
        key = "diff-unit-price" if was and became else "diff-priced-now" if became else "diff-unpriced-now"
        texts.append(word(key, old=was, new=became))
    if old.discount != new.discount:
        shares = (language.exact_share(Fraction(each.discount)) for each in (old, new))
        texts.append(word("diff-discount-was", change=f" {ARROW} ".join(shares)))
    if not texts and old.exchange_rate != new.exchange_rate:
        texts.append(word("diff-rate-was", old=old.exchange_rate, new=new.exchange_rate))
    if not texts and old.id != new.id:
        texts.append(word("diff-renamed", name=old.id))
    yield from texts or [word("diff-only-description")]

"""The difference as a document for a review, as text or a comment: the plan keys first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from bomgen.core.document import Cell, Column, Document, Section, Sign, Table, row_of
from bomgen.core.language import Language
from bomgen.core.messages import message
from bomgen.documents.diff.contents import (
    MOST_ROWS,
    alternatives_section,
    bill_section,
    design_section,
    item_name,
    notes_of,
    order_section,
    plan_section,
    total_of,
    warnings_section,
)
from bomgen.documents.diff.difference import EXCHANGE, Difference, line_change
from bomgen.documents.diff.headline import ARROW, headline
from bomgen.documents.diff.matching import ADDED, REMOVED, Pair
from bomgen.documents.tables import section_of

if TYPE_CHECKING:
    from bomgen.cabling.recabling import Moved


def review_document(difference: Difference, language: Language, ranked: bool = False) -> Document:
    """Return all changes for a review, with numbers `ranked` by importance or by group."""
    sections = (
        plan_section(difference, language),
        _money_review(difference, language),
        *_order_review(difference, language),
        _moves(difference, language),
        design_section(difference, language, review=True, ranked=ranked),
        bill_section(difference, language, partial(_bill, language=language, currency=difference.currency)),
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
        word("ui-no-price") if side.totals.is_unknown else language.cell(total_of(side.totals))
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


def _bill(pairs: Sequence[Pair], language: Language, currency: str | None) -> Table:
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

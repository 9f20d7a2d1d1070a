"""The quote as a document for signature: cover, offer, order list, bill, site, delivery and terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from bomgen.core import money
from bomgen.core.document import Cell, Column, Cover, Document, Drawing, NoteKind, Row, Section, Table, row_of
from bomgen.core.grouping import group_by
from bomgen.core.language import Language
from bomgen.core.money import Totals, minor_unit
from bomgen.documents.customer_quote.record import (
    CustomerQuote,
    LeftOver,
    QuotedAlternative,
    QuotedCluster,
    QuotedExpansion,
    QuotedLine,
    QuotedMove,
)
from bomgen.documents.tables import part_columns, section_of
from bomgen.pricing.bill_line import CATEGORIES
from bomgen.pricing.quote import lines_to_price

CHINESE = "zh"
OFFERED_BESIDE = ("storage", "rack", "pdu", "cooling", "software", "support", "service")
"""Categories often ordered with a cluster; a quote lists those without a line as not included."""
WARRANTY = ("warrant", "guarantee", "质保", "保修", "保证期")
"""Text that identifies warranty terms; a quote without any states that it has no warranty terms."""
DAYS_A_WEEK = 7
_ROOM_TO_WRITE = "…" * 12
TOTAL = "total"
"""Row id of the whole order in the table of alternatives."""
DIFFERENCE = "difference"
"""Row id of the difference between alternatives and plan."""
CHANGES = "changes"
"""Section of an expansion for recabling and surplus parts."""
Drawings = Mapping[str, tuple[Drawing, ...]]
"""Drawings by cluster name."""


def quote_document(quote: CustomerQuote, language: Language, networks: Drawings, floors: Drawings) -> Document:
    """Return the quote as a document; `networks` and `floors` are the drawings per cluster name.

    For an expansion it describes the changes on site, without a floor plan, because existing racks stay in place.
    """
    sections = (
        _offer(quote, language, networks),
        _order_list(quote, language),
        _bill(quote, language),
        *(
            (_changes(quote.expansion, language), _site(quote, language, {}))
            if quote.expansion
            else (_alternatives(quote, language), _not_included(quote, language), _site(quote, language, floors))
        ),
        _terms(quote, language),
    )
    facts = tuple(_facts(quote, language))
    return Document(
        title=quote.title,
        subtitle=_subtitle(quote, language),
        language=language.code,
        facts=tuple((language.word(key), text) for key, text in facts),
        fact_keys=tuple(key for key, _ in facts),
        headline=(),
        sections=tuple(section for section in sections if section),
        totals=quote.totals,
        footer=_number(quote, language),
        parties=quote.parties,
        logo=quote.logo,
        protected=quote.protected,
        cover=_cover(quote, language),
        id=quote.id,
        acceptance=tuple(_acceptance(quote, language)),
        author=quote.vendor or "",
        date=quote.date,
    )


def _subtitle(quote: CustomerQuote, language: Language) -> str:
    if quote.status:
        return language.word(f"quote-{quote.status}")
    return language.word("quote-quotation")


def _number(quote: CustomerQuote, language: Language) -> str:
    return f"{language.word('quote-quotation')} {quote.number}" if quote.number else quote.title


def _facts(quote: CustomerQuote, language: Language) -> Iterator[tuple[str, str]]:
    if quote.number:
        yield "fact-number", quote.number
    if quote.revision:
        yield "fact-revision", quote.revision
    if quote.date:
        yield "fact-date", language.date(quote.date)
    if quote.valid_until:
        yield "fact-valid-until", language.date(quote.valid_until)
    elif quote.valid_days:
        yield "fact-valid", language.value(quote.valid_days, "days")
    if quote.lead_time:
        yield "quote-lead-time", _duration(quote.lead_time[0], language)
    if quote.payment:
        yield "fact-payment", quote.payment
    yield "fact-currency", quote.totals.currency


def _duration(days: int, language: Language) -> str:
    """Return a duration in the style of vendors: in weeks if it is several whole weeks, else in days."""
    weeks, left = divmod(days, DAYS_A_WEEK)
    return language.value(days, "days") if left or weeks == 1 else language.word("quote-weeks", count=weeks)


def _cover(quote: CustomerQuote, language: Language) -> Cover:
    totals, word = quote.totals, language.word
    label = _total_label(totals, language)
    notes: dict[NoteKind, str] = {}
    if not totals.priced_lines:
        if totals.lines:
            notes["lines"] = word("quote-none-priced", lines=language.integer(totals.lines))
        return Cover(label, word("quote-no-total"), tuple(notes.values()), tuple(notes))
    amount = language.money(totals.amount, totals.currency)
    if language.code == CHINESE and totals.currency == money.CURRENCY:
        notes["capitals"] = word("quote-in-capitals", amount=money.write_in_capitals(totals.amount))
    taxed = totals.tax_share and word("quote-covers-tax", share=language.share(totals.tax_share))
    notes["tax"] = taxed or word("quote-no-tax")
    covers_all = word("quote-covers-all", lines=language.integer(totals.lines))
    notes["lines"] = covers_all if totals.complete else _unpriced(quote, language)
    if required := _by_part(line for line in quote.lines if not line.counted):
        notes["required"] = word("quote-required-left-out", count=language.integer(len(required)))
    total = amount if totals.complete else word("ui-at-least", amount=amount)
    return Cover(label, total, tuple(notes.values()), tuple(notes))


def _acceptance(quote: CustomerQuote, language: Language) -> Iterator[str]:
    word = language.word
    names = [_number(quote, language)]
    names += [f"{word('fact-revision')} {quote.revision}"] if quote.revision else []
    names += [language.date(quote.date)] if quote.date else []
    accepted = {"names": word("list-comma").join(names), "label": _total_label(quote.totals, language)}
    if quote.totals.priced_lines:
        yield word("quote-accepted-total", total=_cover(quote, language).total, **accepted)
    else:
        yield word("quote-accepted", names=accepted["names"])
    if quote.alternatives:
        yield word("quote-alternative-ordered", room=_ROOM_TO_WRITE)


def _unpriced(quote: CustomerQuote, language: Language) -> str:
    counts: dict[str, int] = {}
    for line in quote.lines:
        if line.counted and line.amount is None:
            counts[line.category] = counts.get(line.category, 0) + 1
    named = (
        language.word(
            "quote-unpriced-of", category=language.word(f"category-{category}"), count=language.integer(count)
        )
        for category, count in counts.items()
    )
    return language.word(
        "quote-unpriced",
        lines=language.integer(sum(counts.values())),
        all=language.integer(quote.totals.lines),
        names=language.word("list-comma").join(named),
    )


def _offer(quote: CustomerQuote, language: Language, networks: Drawings) -> Section:
    text = tuple(sentence for cluster in quote.clusters for sentence in cluster.sentences)
    drawings = [
        replace(drawing, title=_in_cluster(cluster, language, cluster.fabrics[0].name))
        for cluster in quote.clusters
        for drawing in networks.get(cluster.name, ())[:1]
        if cluster.fabrics
    ]
    return Section("offer", language.word("quote-offer"), text=text, drawings=tuple(drawings))


def _order_list(quote: CustomerQuote, language: Language) -> Section | None:
    """Return the section of every part number once, with pieces to order and amount; None without lines."""
    found = _by_part(line for line in quote.lines if line.counted and not line.in_stock)
    rows = tuple(
        row_of(
            _part_number(lines[0], language),
            lines[0].description,
            _count_pieces(lines),
            _sum(lines, quote.totals.currency),
        )
        for lines in found
    )
    table = Table("order-list", language.word("quote-order-list"), part_columns(language, amount=True), rows, open=True)
    text = (language.word("quote-order-list-lead"), *_from_stock(quote, language))
    tables = tuple(each for each in (table, _required(quote, language)) if each)
    return Section("order-list", language.word("quote-order-list"), text=text, tables=tables) if rows else None


def _from_stock(quote: CustomerQuote, language: Language) -> Iterator[str]:
    """Yield a sentence about parts taken partly from stock, which reduce the pieces to order."""
    counted = (line for line in quote.lines if line.counted)
    named = []
    for (_, name), lines in group_by(counted, lambda line: (line.part_number, line.name)).items():
        if any(line.in_stock for line in lines):
            counts = {
                "installed": sum(line.quantity for line in lines),
                "spare": sum(line.spare for line in lines),
                "stock": _count_pieces(line for line in lines if line.in_stock),
                "order": _count_pieces(line for line in lines if not line.in_stock),
            }
            shown = {key: language.number(count) for key, count in counts.items()}
            named.append(language.word("quote-from-stock-part", name=name, **shown))
    if named:
        yield language.word("quote-from-stock", parts=language.word("list-semicolon").join(named))


def _required(quote: CustomerQuote, language: Language) -> Table | None:
    rows = tuple(
        row_of(_part_number(lines[0], language), lines[0].description, _count_pieces(lines))
        for lines in _by_part(line for line in quote.lines if not line.counted)
    )
    title, caption = language.word("quote-required"), language.word("quote-required-lead")
    return Table("required", title, part_columns(language), rows, caption, open=True) if rows else None


def _by_part(lines: Iterable[QuotedLine]) -> list[list[QuotedLine]]:
    """Return the lines grouped by part, in the order of the bill."""
    return list(group_by(lines, lambda line: (line.part_number or "", line.description)).values())


def _count_pieces(lines: Iterable[QuotedLine]) -> int | Fraction:
    return sum(line.pieces for line in lines)


def _part_number(line: QuotedLine, language: Language) -> str:
    if line.part_number or line.charge:
        return line.part_number or ""
    return language.word("planning-part" if line.planning else "no-part-number")


def _sum(lines: Sequence[QuotedLine], currency: str) -> Cell:
    """Return the total of lines as a cell: empty if no charged line is priced, a lower bound if one is not."""
    lines = lines_to_price(lines)
    amounts = [line.amount for line in lines if line.amount is not None]
    if not amounts:
        return Cell(None, currency)
    return Cell(
        sum(amounts, Decimal(0)), currency, least=len(amounts) < len(lines) or any(line.least for line in lines)
    )


def _bill(quote: CustomerQuote, language: Language) -> Section:
    word, currency = language.word, quote.totals.currency
    columns = (
        Column("sku", word("column-sku"), "text", 36),
        Column("description", word("column-description"), "text", 40),
        Column("place", word("quote-place"), "text", 28),
        Column("quantity", word("column-quantity"), "number", 9),
        Column("spare", word("column-spare"), "number", 7),
        Column("unit_price", word("column-unit-price"), "money", 13),
        Column("discount", word("column-discount"), "share", 10),
        Column("amount", word("column-net-amount"), "money", 15),
    )
    rows = tuple(_bill_row(line, language, currency) for line in quote.lines if line.counted)
    title = word("section-bill")
    return Section("bill", title, tables=(Table("bill", title, columns, rows, open=True),))


def _bill_row(line: QuotedLine, language: Language, currency: str) -> Row:
    cells = (
        Cell(_part_number(line, language)),
        Cell(line.description),
        Cell(line.place),
        Cell(line.quantity),
        Cell(line.spare),
        Cell(line.unit_price, currency, share_of_hardware=line.share_of_hardware),
        Cell(line.discount, "share"),
        Cell(line.amount, currency, least=line.least),
    )
    return Row(cells, language.word(f"category-{line.category}"), line.in_stock, line.id)


def _alternatives(quote: CustomerQuote, language: Language) -> Section | None:
    if not quote.alternatives:
        return None
    word, currency = language.word, quote.totals.currency
    columns = (
        Column("name", word("xlsx-category"), "text", 30),
        *(Column(f"amount-{at}", each.name, "money", 20) for at, each in enumerate(quote.alternatives)),
    )
    rows = [
        row_of(
            word(f"category-{category}"),
            *(_category_amount(alternative, category, currency) for alternative in quote.alternatives),
        )
        for category in CATEGORIES
        if any(category in alternative.amounts for alternative in quote.alternatives)
    ]
    totals = [alternative.totals for alternative in quote.alternatives]
    amounts = (
        Cell(
            total.amount if total.priced_lines else None, currency, least=total.priced_lines > 0 and not total.complete
        )
        for total in totals
    )
    rows.append(row_of(_total_label(quote.totals, language), *amounts, id=TOTAL))
    if all(total.complete for total in totals):
        differences = (Cell(total.amount - totals[0].amount, currency) for total in totals)
        rows.append(row_of(word("quote-difference"), *differences, id=DIFFERENCE))
    table = Table("alternatives", word("section-alternatives"), columns, tuple(rows), open=True)
    return section_of(table, (word("quote-alternatives"),))


def _category_amount(quoted_alternative: QuotedAlternative, category: str, currency: str) -> Cell:
    amount, least = quoted_alternative.amounts.get(category, (Decimal(0) * minor_unit(currency), False))
    return Cell(amount, currency, least=least)


def _total_label(totals: Totals, language: Language) -> str:
    return language.word("quote-total-with-tax" if totals.tax_share else "ui-total")


def _not_included(quote: CustomerQuote, language: Language) -> Section | None:
    """Return the section of usual items of a cluster order that this one lacks; None if there are none."""
    word, held = language.word, {name for line in quote.lines for name in (line.category, line.charge)}
    missing = [word(f"quote-without-{category}") for category in OFFERED_BESIDE if category not in held]
    if not quote.totals.tax_share:
        missing.append(word("quote-without-tax"))
    text = [word("quote-without", names=word("list-comma").join(missing))] if missing else []
    required = [
        word("quote-required-part", name=lines[0].description, count=language.integer(int(_count_pieces(lines))))
        for lines in _by_part(line for line in quote.lines if not line.counted)
    ]
    if required:
        text.append(word("quote-required-without", names=word("list-comma").join(required)))
    if not any(named in term.casefold() for term in quote.terms for named in WARRANTY):
        text.append(word("quote-no-warranty"))
    return Section("not-included", word("quote-not-included"), text=tuple(text)) if text else None


def _site(quote: CustomerQuote, language: Language, floors: Drawings) -> Section | None:
    tables = tuple(
        table
        for cluster in quote.clusters
        for table in (_networks(cluster, language), _site_numbers(cluster, language))
        if table.rows
    )
    drawings = tuple(
        replace(drawing, title=_in_cluster(cluster, language, drawing.title))
        for cluster in quote.clusters
        for drawing in floors.get(cluster.name, ())[:1]
    )
    if not tables:
        return None
    title = language.word("expansion-site" if quote.expansion else "quote-site")
    return Section("racks-and-network", title, tables=tables, drawings=drawings)


def _changes(expansion: QuotedExpansion, language: Language) -> Section:
    word = language.word
    moves = _moves(expansion.moves or (), language)
    free = _left_over(expansion.left_over, language)
    text = []
    if expansion.moves is None:
        text.append(word("expansion-moves-unknown"))
    elif not any(move.moved or move.free for move in expansion.moves):
        text.append(word("expansion-no-moves"))
    if expansion.moved_machines:
        text.append(word("expansion-machines", machines=language.integer(expansion.moved_machines)))
    if not free.rows:
        text.append(word("expansion-nothing-left"))
    tables = tuple(table for table in (moves, free) if table.rows)
    return Section(CHANGES, word("expansion-changes"), text=tuple(text), tables=tables)


def _moves(moves: Sequence[QuotedMove], language: Language) -> Table:
    word = language.word
    columns = (
        Column("fabric", word("column-fabric"), "text", 26),
        Column("links", word("quote-place"), "text", 36),
        Column("before", word("expansion-before"), "number", 12),
        Column("stay", word("expansion-stay"), "number", 12),
        Column("moved", word("expansion-moved"), "number", 16),
        Column("free", word("expansion-free"), "number", 16),
        Column("added", word("expansion-added"), "number", 12),
    )
    rows = tuple(Row(tuple(Cell(value) for value in move)) for move in moves)
    return Table("moves", word("expansion-moves"), columns, rows, word("expansion-moves-lead"), open=True)


def _left_over(pieces: Sequence[LeftOver], language: Language) -> Table:
    word = language.word
    rows = tuple(
        row_of(piece.part_number or word("no-part-number"), piece.description, piece.pieces) for piece in pieces
    )
    title, caption = word("expansion-left-over"), word("expansion-left-over-lead")
    return Table("left-over", title, part_columns(language), rows, caption, open=True)


def _networks(cluster: QuotedCluster, language: Language) -> Table:
    word = language.word
    columns = (
        Column("name", word("column-fabric"), "text", 20),
        Column("topology", word("compare-topology"), "text", 20),
        Column("rate", word("quote-rate"), "number", 12),
        Column("endpoints", word("quote-endpoints"), "number", 10),
        Column("oversubscription", word("quote-oversubscription"), "text", 20),
        Column("switches", word("compare-switches"), "text", 44),
    )
    rows = tuple(
        row_of(
            fabric.name,
            fabric.topology,
            Cell(fabric.rate_gbps, "Gb/s"),
            fabric.endpoints,
            fabric.oversubscription,
            fabric.switches,
        )
        for fabric in cluster.fabrics
    )
    return Table(
        f"networks-{cluster.name}", _in_cluster(cluster, language, word("section-network")), columns, rows, open=True
    )


def _site_numbers(cluster: QuotedCluster, language: Language) -> Table:
    columns = (
        Column("name", language.word("quote-item"), "text", 50),
        Column("value", language.word("column-value"), "number", 20),
    )
    rows = tuple(row_of(label, cell) for label, cell in cluster.site)
    return Table(
        f"site-{cluster.name}", _in_cluster(cluster, language, language.word("section-site")), columns, rows, open=True
    )


def _in_cluster(cluster: QuotedCluster, language: Language, title: str) -> str:
    return language.word("name-in").join(name for name in (cluster.name, title) if name)


def _terms(quote: CustomerQuote, language: Language) -> Section:
    word, totals = language.word, quote.totals
    text = []
    if quote.lead_time:
        days, part = quote.lead_time
        text.append(word("quote-longest", time=_duration(days, language), part=part))
    if not quote.terms:
        text.append(word("quote-delivery"))
    text.append(word("terms-rounding", unit=language.money(minor_unit(totals.currency), totals.currency)))
    text.append(word("terms-tax" if totals.tax_share else "terms-no-tax"))
    if quote.status:
        text.append(word(f"quote-{quote.status}-text"))
    if quote.payment:
        text.append(word("terms-payment", payment=quote.payment))
    return Section("terms", word("section-terms"), text=(*text, *quote.terms), own=len(quote.terms))

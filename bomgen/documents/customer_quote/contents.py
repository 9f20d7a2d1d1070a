"""The quote as a document for signature: cover, offer, order list, bill, site, delivery and terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from bomgen.core import units
from bomgen.core.document import Cell, Column, Cover, Document, Drawing, NoteKind, Row, Section, Sum, Table, row_of
from bomgen.core.grouping import group_by
from bomgen.core.language import Language
from bomgen.core.units import minor_unit
from bomgen.documents.chapters.money import tax_terms
from bomgen.documents.customer_quote.inclusive import including_tax, inclusive_columns
from bomgen.documents.customer_quote.record import (
    CustomerQuote,
    LeftOver,
    QuotedAlternative,
    QuotedCluster,
    QuotedExpansion,
    QuotedLine,
    QuotedMove,
    QuotedOpenItem,
)
from bomgen.documents.tables import part_columns, section_of
from bomgen.documents.totals import TOTAL, headline_total, sums_of, total_label
from bomgen.plan.commercial_terms import DELIVERY, PROMISED
from bomgen.pricing.bill_line import CATEGORIES
from bomgen.pricing.quote import Indications, is_total, lines_to_price

CHINESE = "zh"
OFFERED_BESIDE = ("storage", "rack", "pdu", "cooling", "software", "support", "freight", "installation")
"""Categories and charges often ordered with a cluster; a quote lists those without a line as not included."""
WARRANTY = ("warrant", "guarantee", "质保", "保修", "保证期")
"""Text that identifies warranty terms; a quote without any states that it has no warranty terms."""
FACTS = (PROMISED, "delivery_place", "incoterm")
"""Conditions of delivery that the first page states; the terms state the others."""
DAYS_A_WEEK = 7
_ROOM_TO_WRITE = "…" * 12
BEFORE_DISCOUNT = ("list", "discount")
"""The sums that the first page leaves out."""
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
        _offer(quote, language),
        _bill(quote, language),
        _order_list(quote, language),
        _changes(quote.expansion, language) if quote.expansion else _alternatives(quote, language),
        _not_included(quote, language),
        _notes(quote, language),
        _site(quote, language, networks, {} if quote.expansion else floors),
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
        sums=_sums(quote, language),
        footer=_footer(quote, language),
        parties=quote.parties,
        logo=quote.logo,
        protected=quote.protected,
        paper=quote.paper,
        cover=_cover(quote, language),
        id=quote.id,
        acceptance=tuple(_acceptance(quote, language)) if _is_offer(quote) else (),
        author=quote.vendor or "",
        date=quote.date,
    )


def _is_offer(quote: CustomerQuote) -> bool:
    """Return whether the customer can accept the quote: its sum is a total, and no price is an indication."""
    return is_total(quote.totals, _counted(quote)) and quote.indicative is None


def _sums(quote: CustomerQuote, language: Language) -> tuple[Sum, ...]:
    return sums_of(quote.totals, _counted(quote), quote.indicative, language)


def _counted(quote: CustomerQuote) -> list[QuotedLine]:
    return [line for line in quote.lines if line.counted]


def _subtitle(quote: CustomerQuote, language: Language) -> str:
    """Return the kind of the document; one without a date that is not an offer is marked as undated."""
    kind = _kind(quote, language)
    return kind if quote.date or _is_offer(quote) else language.beside(kind, language.word("quote-undated"))


def _kind(quote: CustomerQuote, language: Language) -> str:
    if not quote.totals.priced_lines:
        return language.word("section-bill")
    if quote.status:
        return language.word(f"quote-{quote.status}")
    if quote.indicative:
        return language.word("quote-indicative")
    return language.word("quote-quotation")


def _number(quote: CustomerQuote, language: Language) -> str:
    return f"{language.word('quote-quotation')} {quote.number}" if quote.number else quote.title


def _footer(quote: CustomerQuote, language: Language) -> str:
    """Return the line at the foot of each page: the number, and the revision if there is one."""
    revision = f"{language.word('fact-revision')} {quote.revision}" if quote.revision else ""
    return language.word("name-in").join(filter(None, (_number(quote, language), revision)))


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
    if quote.lead_time and PROMISED not in quote.delivery:
        yield "quote-lead-time", _duration(quote.lead_time[0], language)
    for key in FACTS:
        if key in quote.delivery:
            yield f"fact-{key}", quote.delivery[key]
    if quote.payment:
        yield "fact-payment", quote.payment
    yield "fact-currency", quote.totals.currency


def _duration(days: int, language: Language) -> str:
    """Return a duration in the style of vendors: in weeks if it is several whole weeks, else in days."""
    weeks, left = divmod(days, DAYS_A_WEEK)
    return language.value(days, "days") if left or weeks == 1 else language.word("quote-weeks", count=weeks)


def _cover(quote: CustomerQuote, language: Language) -> Cover:
    totals, word, lines = quote.totals, language.word, _counted(quote)
    label, total = headline_total(totals, lines, quote.indicative, language)
    bought = (quote.expansion.headline,) if quote.expansion else tuple(cluster.headline for cluster in quote.clusters)
    notes: dict[NoteKind, str] = {}
    if not totals.priced_lines:
        notes |= {"lines": word("quote-none-priced", lines=language.integer(totals.lines))} if totals.lines else {}
        return Cover(label, total, tuple(notes.values()), tuple(notes), bought)
    if quote.indicative:
        notes["indicative"] = _period(quote.indicative, language)
        if not is_total(totals, lines):
            shown = language.cell(_sums(quote, language)[-1].cell)
            said = word("quote-indicative-sum", range=shown), notes["indicative"]
            notes["indicative"] = word("list-sentences").join(said)
    elif is_total(totals, lines) and language.code == CHINESE and totals.currency == units.CURRENCY:
        notes["capitals"] = word("quote-in-capitals", amount=units.write_in_capitals(totals.amount))
    shares = word("list-comma").join(language.share(part.share) for part in totals.taxes)
    covers = "quote-covers-taxes" if len(totals.taxes) > 1 else "quote-covers-tax"
    notes["tax"] = word(covers, share=shares) if totals.taxed else word("quote-no-tax")
    covers_all = word("quote-covers-all", lines=language.integer(totals.lines))
    notes["lines"] = covers_all if totals.complete else _unpriced(quote, language)
    if required := _by_part(line for line in quote.lines if not line.counted):
        notes["required"] = word("quote-required-left-out", count=language.integer(len(required)))
    if lacking := [item for item in quote.open_items if not item.ask]:
        notes["open"] = word("quote-open-items", count=language.integer(len(lacking)))
    if missing := _missing(quote):
        notes["without"] = word("quote-without", names=_name_missing(missing, language))
    return Cover(label, total, tuple(notes.values()), tuple(notes), bought)


def _period(indicative: Indications, language: Language) -> str:
    """Return the sentence about indications: their dates, and how unit prices and the total follow from them."""
    word, dates = language.word, indicative.dates
    period = language.months(dates[0], dates[-1]) if dates else word("quote-prices-no-date")
    if dates and indicative.undated:
        period = word("quote-prices-undated", period=period, undated=language.integer(indicative.undated))
    said = [word("quote-prices-of", period=period)]
    if indicative.low != indicative.high:
        said.append(word("quote-prices-range"))
    return word("list-sentences").join(said)


def _acceptance(quote: CustomerQuote, language: Language) -> Iterator[str]:
    word = language.word
    names = [_number(quote, language)]
    names += [f"{word('fact-revision')} {quote.revision}"] if quote.revision else []
    names += [language.date(quote.date)] if quote.date else []
    accepted = {"names": word("list-comma").join(names), "label": total_label(quote.totals, language)}
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
        "quote-unpriced" if is_total(quote.totals, _counted(quote)) else "quote-unpriced-most",
        lines=language.integer(sum(counts.values())),
        all=language.integer(quote.totals.lines),
        names=language.word("list-comma").join(named),
    )


def _offer(quote: CustomerQuote, language: Language) -> Section:
    word = language.word
    text = [sentence for cluster in quote.clusters for sentence in cluster.sentences]
    if quote.scope is not None:
        offered = word("list-comma").join(word(f"category-{category}") for category in quote.scope).lower()
        text.append(word("quote-scope", categories=offered))
    if quote.existing:
        parts = (word("quote-required-part", name=name, count=language.number(count)) for name, count in quote.existing)
        text.append(word("quote-existing", parts=word("list-comma").join(parts)))
    return Section("offer", word("quote-offer"), text=tuple(text), tables=(_subtotals(quote, language),))


def _subtotals(quote: CustomerQuote, language: Language) -> Table:
    """Return the table of the amount of each category, including tax if the lines include it, and the sums."""
    word, currency = language.word, quote.totals.currency
    lines = including_tax(_counted(quote), quote.totals) if quote.inclusive else _counted(quote)
    columns = (
        Column("category", word("xlsx-category"), "text", 40),
        Column("pieces", word("quote-pieces"), "number", 12),
        Column("amount", word("column-inclusive-amount" if quote.inclusive else "column-net-amount"), "money", 20),
    )
    rows = [
        row_of(word(f"category-{category}"), _count_pieces(of_category), _sum(of_category, currency))
        for category, of_category in group_by(lines, lambda line: line.category).items()
    ]
    rows += [
        row_of(each.label, "", each.cell, id=TOTAL if each.final else None)
        for each in _sums(quote, language)
        if each.key not in BEFORE_DISCOUNT
    ]
    return Table("subtotals", word("quote-subtotals"), columns, tuple(rows), open=True)


def _order_list(quote: CustomerQuote, language: Language) -> Section | None:
    """Return the section of every part number once, with pieces to order and amount; None without lines."""
    ordered = [line for line in _counted(quote) if not line.in_stock]
    rows = tuple(
        row_of(
            lines[0].vendor or "",
            _part_number(lines[0], language),
            lines[0].description,
            _count_pieces(lines),
            _sum(lines, quote.totals.currency),
        )
        for lines in _by_part(ordered)
    )
    columns = part_columns(language, amount=True, vendor=True)
    if quote.inclusive:
        columns = (*columns, inclusive_columns(language)[1])
        taxed = _by_part(including_tax(ordered, quote.totals))
        rows = tuple(
            replace(row, cells=(*row.cells, _sum(lines, quote.totals.currency)))
            for row, lines in zip(rows, taxed, strict=True)
        )
    table = Table("order-list", language.word("quote-order-list"), columns, rows, open=True)
    text = (language.word("quote-order-list-lead"), *_from_stock(quote, language))
    tables = tuple(each for each in (table, _required(quote, language)) if each)
    return Section("order-list", language.word("quote-order-list"), text=text, tables=tables) if rows else None


def _from_stock(quote: CustomerQuote, language: Language) -> Iterator[str]:
    """Yield a sentence about parts taken partly from stock, which reduce the pieces to order."""
    named = []
    for (_, name), lines in group_by(_counted(quote), lambda line: (line.part_number, line.name)).items():
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
        row_of(lines[0].vendor or "", _part_number(lines[0], language), lines[0].description, _count_pieces(lines))
        for lines in _by_part(line for line in quote.lines if not line.counted)
    )
    title, caption = language.word("quote-required"), language.word("quote-required-lead")
    return Table("required", title, part_columns(language, vendor=True), rows, caption, open=True) if rows else None


def _by_part(lines: Iterable[QuotedLine]) -> list[list[QuotedLine]]:
    """Return the lines grouped by part, in the order of the bill."""
    return list(group_by(lines, lambda line: (line.part_number or "", line.description)).values())


def _count_pieces(lines: Iterable[QuotedLine]) -> int | Fraction:
    return sum(line.pieces for line in lines)


def _part_number(line: QuotedLine, language: Language) -> str:
    if line.part_number or line.charge:
        return line.part_number or ""
    return language.word(line.unnumbered)


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
    columns: tuple[Column, ...] = (
        Column("number", word("quote-line"), "number", 6),
        Column("vendor", word("quote-manufacturer"), "text", 16),
        Column("sku", word("column-sku"), "text", 30),
        Column("description", word("column-description"), "text", 40, main=True),
        Column("details", word("quote-details"), "text", 40),
        Column("place", word("quote-place"), "text", 28),
        Column("quantity", word("column-quantity"), "number", 9, main=True),
        Column("piece", word("quote-unit"), "text", 8),
        Column("spare", word("column-spare"), "number", 7),
        Column("unit_price", word("column-unit-price"), "money", 13),
        Column("discount", word("column-discount"), "share", 10),
        Column("amount", word("column-net-amount"), "money", 15, main=not quote.inclusive),
    )
    lines = _counted(quote)
    rows = tuple(_bill_row(number, line, language, currency) for number, line in enumerate(lines, 1))
    if quote.inclusive:
        columns = (*columns, *inclusive_columns(language))
        added = (_price_cells(line, currency) for line in including_tax(lines, quote.totals))
        rows = tuple(replace(row, cells=(*row.cells, *cells)) for row, cells in zip(rows, added, strict=True))
    title, lead = word("section-bill"), word("quote-bill-lead-inclusive" if quote.inclusive else "quote-bill-lead")
    return Section("bill", title, tables=(Table("bill", title, columns, rows, lead, open=True),))


def _price_cells(line: QuotedLine, currency: str) -> tuple[Cell, Cell]:
    price = Cell(line.unit_price, currency, share_of_hardware=line.share_of_hardware)
    return price, Cell(line.amount, currency, least=line.least)


def _bill_row(number: int, line: QuotedLine, language: Language, currency: str) -> Row:
    price, amount = _price_cells(line, currency)
    cells = (
        Cell(number),
        Cell(line.vendor or ""),
        Cell(_part_number(line, language)),
        Cell(line.description),
        Cell(language.word("list-semicolon").join(line.details)),
        Cell(line.place),
        Cell(line.quantity),
        Cell(line.unit),
        Cell(line.spare),
        price,
        Cell(line.discount, "share"),
        amount,
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
    amounts = ((total.amount, not total.complete) if total.priced_lines else (None, False) for total in totals)
    cells = (Cell(amount, currency, least=least) for amount, least in amounts)
    rows.append(row_of(total_label(quote.totals, language), *cells, id=TOTAL))
    if all(total.complete for total in totals):
        differences = (Cell(total.amount - totals[0].amount, currency) for total in totals)
        rows.append(row_of(word("quote-difference"), *differences, id=DIFFERENCE))
    table = Table("alternatives", word("section-alternatives"), columns, tuple(rows), open=True)
    section = section_of(table, (word("quote-alternatives"), *_said_of_alternatives(quote, language)))
    changes = (
        _changed_parts(number, alternative, language, currency)
        for number, alternative in enumerate(quote.alternatives[1:], 1)
    )
    return replace(section, tables=(*section.tables, *(table for table in changes if table.rows)))


def _said_of_alternatives(quote: CustomerQuote, language: Language) -> Iterator[str]:
    """Yield sentences about each alternative: its delivery, its validity, and what else the customer has to know."""
    word, base = language.word, quote.alternatives[0]
    for alternative in quote.alternatives[1:]:
        said = []
        if not alternative.changes:
            said.append(word("quote-alternative-same"))
        if alternative.lead_time and alternative.lead_time != base.lead_time:
            days, part = alternative.lead_time
            said.append(word("quote-longest", time=_duration(days, language), part=part))
        if alternative.valid_until and alternative.valid_until != base.valid_until:
            said.append(word("quote-valid-until", date=language.date(alternative.valid_until)))
        if said := [*said, *alternative.notes]:
            yield word("quote-said-of", name=alternative.name, text=word("list-sentences").join(said))


def _changed_parts(number: int, alternative: QuotedAlternative, language: Language, currency: str) -> Table:
    """Return the table of what an alternative changes: pieces and amounts of each part, and their differences."""
    word = language.word
    columns = (
        Column("part", word("column-sku"), "text", 30),
        Column("description", word("column-description"), "text", 44),
        Column("before", word("column-as-planned"), "number", 12),
        Column("after", word("quote-alternative"), "number", 12),
        Column("difference", word("quote-difference"), "money", 18),
    )
    rows = [
        row_of(
            change.part_number or "",
            change.description,
            change.before,
            change.after,
            _difference(change.amount_before, change.amount_after, currency),
        )
        for change in alternative.changes
    ]
    known = [row.cells[-1].value for row in rows]
    if rows and all(isinstance(value, Decimal) for value in known):
        whole = sum((value for value in known if isinstance(value, Decimal)), Decimal(0))
        rows.append(row_of(word("quote-difference-net"), "", "", "", Cell(whole, currency), id=TOTAL))
    title = word("quote-changes-of", name=alternative.name)
    return Table(f"alternative-{number}", title, columns, tuple(rows), open=True)


def _difference(before: Decimal | None, after: Decimal | None, currency: str) -> Cell:
    return Cell(None if before is None or after is None else after - before, currency)


def _category_amount(quoted_alternative: QuotedAlternative, category: str, currency: str) -> Cell:
    amount, least = quoted_alternative.amounts.get(category, (Decimal(0) * minor_unit(currency), False))
    return Cell(amount, currency, least=least)


def _not_included(quote: CustomerQuote, language: Language) -> Section | None:
    """Return the section of usual items of a cluster order that this one lacks; None if there are none."""
    word = language.word
    missing = [*_missing(quote), *(() if quote.totals.taxed else ("tax",))]
    text = [word("quote-without", names=_name_missing(missing, language))] if missing else []
    required = [
        word("quote-required-part", name=lines[0].description, count=language.integer(int(_count_pieces(lines))))
        for lines in _by_part(line for line in quote.lines if not line.counted)
    ]
    if required:
        text.append(word("quote-required-without", names=word("list-comma").join(required)))
    text += [_open_item(item, language) for item in quote.open_items]
    if not (quote.delivery.get("warranty") or _names_warranty(quote.terms)):
        text.append(word("quote-no-warranty"))
    return Section("not-included", word("quote-not-included"), text=tuple(text)) if text else None


def _missing(quote: CustomerQuote) -> list[str]:
    """Return what is often ordered with a cluster and has no line in a quote; nothing where its scope is set."""
    held = {line.charge or line.category for line in quote.lines}
    return [name for name in OFFERED_BESIDE if name not in held] if quote.scope is None else []


def _name_missing(missing: Iterable[str], language: Language) -> str:
    return language.word("list-comma").join(language.word(f"quote-without-{name}") for name in missing)


def _open_item(item: QuotedOpenItem, language: Language) -> str:
    """Return the sentence about a required part that is not included and has to be selected, or may be included."""
    word, names = language.word, language.word("list-or").join(item.names)
    parts = word("list-comma").join(item.required_by)
    if item.quantity is None:
        needed = word("quote-required-for", name=names, parts=parts)
    else:
        needed = word("quote-required-part", name=names, count=language.number(item.quantity))
    settled = "quote-select-one" if item.quantity is None else "quote-required-without"
    text = word("quote-select" if len(item.names) > 1 else settled, names=needed)
    if item.ask:
        text = word("quote-not-known", names=names, parts=parts, vendors=word("list-comma").join(item.ask))
    return word("list-sentences").join((text, word("quote-heat", power=item.heat))) if item.heat else text


def _names_warranty(terms: Iterable[str]) -> bool:
    return any(named in term.casefold() for term in terms for named in WARRANTY)


def _notes(quote: CustomerQuote, language: Language) -> Section | None:
    """Return the section of what changes what the customer gets; None if there is nothing."""
    return Section("notes", language.word("quote-notes"), text=quote.notes) if quote.notes else None


def _site(quote: CustomerQuote, language: Language, networks: Drawings, floors: Drawings) -> Section | None:
    tables = tuple(
        table
        for cluster in quote.clusters
        for table in (_networks(cluster, language), _site_numbers(cluster, language))
        if table.rows
    )
    drawings = [
        replace(drawing, title=_in_cluster(cluster, language, cluster.fabrics[0].name))
        for cluster in quote.clusters
        for drawing in networks.get(cluster.name, ())[:1]
        if cluster.fabrics
    ]
    drawings += [
        replace(drawing, title=_in_cluster(cluster, language, drawing.title))
        for cluster in quote.clusters
        for drawing in floors.get(cluster.name, ())[:1]
    ]
    if not tables:
        return None
    title = language.word("expansion-site" if quote.expansion else "quote-site")
    included = quote.existing and any(cluster.site for cluster in quote.clusters)
    text = (language.word("quote-site-existing"),) if included else ()
    return Section("racks-and-network", title, text=text, tables=tables, drawings=tuple(drawings))


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
    if quote.lead_time and PROMISED not in quote.delivery:
        days, part = quote.lead_time
        text.append(word("quote-longest", time=_duration(days, language), part=part))
    text += [
        word(f"terms-{key}", text=quote.delivery[key]) for key in DELIVERY if key in quote.delivery and key not in FACTS
    ]
    if not quote.terms and not quote.delivery:
        text.append(word("quote-delivery"))
    unit = language.money(minor_unit(totals.currency), totals.currency)
    text.append(word("terms-rounding", unit=unit))
    if quote.inclusive:
        text.append(word("terms-inclusive", unit=unit))
    text.append(word(tax_terms(totals.taxed, len(totals.taxes))))
    if quote.indicative:
        text.append(word("quote-indicative-text"))
    if quote.status:
        text.append(word(f"quote-{quote.status}-text"))
    if quote.payment:
        text.append(word("terms-payment", payment=quote.payment))
    if quote.bank:
        text.append(word("terms-bank", text=word("list-comma").join(quote.bank)))
    return Section("terms", word("section-terms"), text=(*text, *quote.terms), own=len(quote.terms))

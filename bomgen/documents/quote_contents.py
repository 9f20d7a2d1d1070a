"""The quote as a document for signature: cover, offer, order list, bill, site, delivery and terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from operator import attrgetter

from bomgen.core import units
from bomgen.core.document import Cell, Cover, Document, Drawing, Row, Section, Table, group_by, row_of
from bomgen.core.language import Language
from bomgen.core.units import Totals, minor_unit, rounded
from bomgen.documents.chapters.money import tax_terms
from bomgen.documents.customer_quote import CustomerQuote, QuotedCluster, QuotedLine, duration
from bomgen.documents.tables import (
    TOTAL,
    amount_of,
    columns_of,
    decimal_places,
    headline_total,
    line_amount,
    literal,
    make_table,
    rate_names,
    reference,
    splice,
    sums_of,
    total_label,
)
from bomgen.plan.commercial_terms import DELIVERY, PROMISED
from bomgen.pricing.quote import Indications, is_total, lines_to_price

CHINESE = "zh"
OFFERED_BESIDE = ("storage", "rack", "pdu", "cooling", "software", "support", "freight", "installation")
"""Categories and charges often ordered with a cluster; a quote lists those without a line as not included."""
WARRANTY = ("warrant", "guarantee", "质保", "保修", "保证期")
"""Text that identifies warranty terms; a quote without any states that it has no warranty terms."""
FACTS = (PROMISED, "delivery_place", "incoterm")
"""Conditions of delivery that the first page states; the terms state the others."""
_ROOM_TO_WRITE = "…" * 12
_PRICED_ALIKE = attrgetter("category", "part_number", "description", "unit_price", "discount", "in_stock")
"""What lines that are one on paper have in common; charges that are shares of different things are not."""
REQUIRED = "required"
"""The table of required parts that have no price."""
AS_IT_WAS: tuple[str, ...] = ("capitals", "indicative")
"""The notes of the cover that the bill of a workbook cannot give."""
PERCENT = 100
BEFORE_DISCOUNT = ("list", "discount")
"""The sums that the first page leaves out."""
Drawings = Mapping[str, tuple[Drawing, ...]]
"""Drawings by cluster name."""


def quote_document(quote: CustomerQuote, language: Language, networks: Drawings, floors: Drawings) -> Document:
    """Return the quote as a document; `networks` and `floors` are the drawings per cluster name.

    For an expansion it describes the changes on site, without a floor plan, because existing racks stay in place.
    """
    printed = _document(_merge_lines(quote, language), language, networks, floors, printed=True)
    return replace(_document(quote, language, networks, floors), printed=printed)


def _document(
    quote: CustomerQuote, language: Language, networks: Drawings, floors: Drawings, printed: bool = False
) -> Document:
    """Return the quote for a workbook, or as it is printed: with one line for a part number and price."""
    order_list = _order_list(quote, language)
    # On paper the drawings come last, so that no page has a few terms alone.
    end = (_site(quote, language, networks, {} if quote.expansion else floors), _terms(quote, language, printed))
    sections = (
        _offer(quote, language),
        _bill(quote, language, order_list.tables[1:] if order_list and printed else (), printed),
        None if printed else order_list,
        quote.phases,
        *([quote.expansion.changes] if quote.expansion else quote.alternatives),
        _not_included(quote, language),
        Section("notes", language.word("quote-notes"), text=quote.notes) if quote.notes else None,
        *(reversed(end) if printed else end),
    )
    facts, word = tuple(_facts(quote, language)), language.word
    if not quote.totals.priced_lines:
        kind = word("section-bill")
    elif quote.status:
        kind = word(f"quote-{quote.status}")
    else:
        kind = word("quote-indicative" if quote.indicative else "quote-quotation")
    undated = not (quote.date or _is_offer(quote))
    revision = f"{word('fact-revision')} {quote.revision}" if quote.revision else ""
    return Document(
        title=quote.title,
        subtitle=language.beside(kind, word("quote-undated")) if undated else kind,
        language=language.code,
        facts=tuple((word(key), text) for key, text in facts),
        fact_keys=tuple(key for key, _ in facts),
        sections=tuple(section for section in sections if section),
        totals=quote.totals,
        sums=sums_of(quote.totals, _counted(quote), quote.indicative, language),
        footer=word("name-in").join(filter(None, (_number(quote, language), revision))),
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


def _counted(quote: CustomerQuote) -> list[QuotedLine]:
    return [line for line in quote.lines if line.counted]


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
    if quote.lead_time and PROMISED not in quote.delivery:
        yield "quote-lead-time", duration(quote.lead_time[0], language)
    for key in FACTS:
        if key in quote.delivery:
            yield f"fact-{key}", quote.delivery[key]
    if quote.payment:
        yield "fact-payment", quote.payment
    yield "fact-currency", quote.totals.currency


def _cover(quote: CustomerQuote, language: Language) -> Cover:
    totals, lines = quote.totals, _counted(quote)
    label, total = headline_total(totals, lines, quote.indicative, language)
    bought = (quote.expansion.headline,) if quote.expansion else tuple(cluster.headline for cluster in quote.clusters)
    notes, lead = _cover_notes(quote, language), None
    if totals.priced_lines and not _is_offer(quote):
        text = language.word("name-in").join((label, total))
        same = _same_total(totals) if is_total(totals, lines) else f"bom_unpriced={totals.lines - totals.priced_lines}"
        lead = Cell(text, formula=f'IF({same},{literal(text)},"")')
    formulas = _live_notes(quote, language, notes)
    cells = tuple(Cell(text, formula=formulas.get(kind, "")) for kind, text in notes.items())
    return Cover(label, total, cells, bought, lead)


def _cover_notes(quote: CustomerQuote, language: Language) -> dict[str, str]:
    totals, word, lines = quote.totals, language.word, _counted(quote)
    notes: dict[str, str] = {}
    if not totals.priced_lines:
        return {"lines": word("quote-none-priced", lines=language.integer(totals.lines))} if totals.lines else {}
    if quote.indicative:
        notes["indicative"] = _period(quote.indicative, language)
        if not is_total(totals, lines):
            shown = language.cell(sums_of(quote.totals, _counted(quote), quote.indicative, language)[-1].cell)
            said = word("quote-indicative-sum", range=shown), notes["indicative"]
            notes["indicative"] = word("list-sentences").join(said)
    elif is_total(totals, lines) and language.code == CHINESE and totals.currency == units.CURRENCY:
        notes["capitals"] = word("quote-in-capitals", amount=units.write_in_capitals(totals.amount))
    shares = word("list-comma").join(language.share(part.share) for part in totals.taxes)
    covers = "quote-covers-taxes" if len(totals.taxes) > 1 else "quote-covers-tax"
    notes["tax"] = word(covers, share=shares) if totals.taxed else word("quote-no-tax")
    covers_all = word("quote-covers-all", lines=language.integer(totals.lines))
    notes["lines"] = covers_all if totals.complete else _unpriced(quote, language)
    if required := _required_parts(quote):
        notes["required"] = word("quote-required-left-out", count=language.integer(len(required)))
    if lacking := sum(note.level == "warning" for note in quote.open_items):
        notes["open"] = word("quote-open-items", count=language.integer(lacking))
    if missing := _missing(quote):
        notes["without"] = word("quote-without", names=_name_missing(missing, language))
    return notes


def _live_notes(quote: CustomerQuote, language: Language, notes: Mapping[str, str]) -> dict[str, str]:
    """Return the formulas of notes of the cover: the reader of a workbook may change the bill.

    What the bill cannot give is shown while the bill is as it was.
    """
    word, totals, rates = language.word, quote.totals, rate_names(quote.totals)
    free = len(_counted(quote)) - totals.lines  # parts from stock are not charged
    lines = f'SUMPRODUCT(--(bom_quantities<>"")){f"-{free}" if free else ""}'
    every = splice(word("quote-covers-all", lines="{lines}"), lines=lines)
    some = splice(word("xlsx-some-unpriced", lines="{lines}"), lines="bom_unpriced")
    of_lines = f"IF(bom_unpriced=0,{every},{some})"
    if not (totals.complete and totals.priced_lines):
        as_it_was = f"bom_unpriced={totals.lines - totals.priced_lines}"
        of_lines = f"IF({as_it_was},{literal(notes.get('lines', ''))},{of_lines})"
    shares = f"&{literal(word('list-comma'))}&".join(
        f'ROUND({rate}*{PERCENT},4)&"{language.percent}"' for rate in rates
    )
    covers = word("quote-covers-taxes" if len(rates) > 1 else "quote-covers-tax", share="{share}")
    taxed, untaxed = splice(covers, share=shares), literal(word("quote-no-tax"))
    unpriced = f"({len(_required_parts(quote))}-COUNT({reference('amount', REQUIRED)}))"
    left = splice(word("quote-required-left-out", count="{count}"), count=unpriced)
    added = f"IF({unpriced}=0,{literal(word('xlsx-required-priced'))},{left})"
    formulas: dict[str, str] = {
        "lines": of_lines,
        "tax": f"IF({'+'.join(f'N({rate})' for rate in rates)}=0,{untaxed},{taxed})",
        "required": added
        if any(not line.in_stock for line in _counted(quote))
        else "",  # else no sheet lists the required parts
    }
    same = _same_total(totals)
    return formulas | {kind: f'IF({same},{literal(notes[kind])},"")' for kind in AS_IT_WAS if kind in notes}


def _same_total(totals: Totals) -> str:
    """Return a formula for whether the total is the one that the quote was written with."""
    return f"ROUND(bom_amount-({totals.amount:f}),{decimal_places(totals.currency)})=0"


def _period(indicative: Indications, language: Language) -> str:
    """Return the sentence about indications: their dates, and how unit prices and the total follow from them."""
    word, dates = language.word, indicative.dates
    period = language.ages(dates) if dates else word("quote-prices-no-date")
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
    asked = [cluster.requirements for cluster in quote.clusters if cluster.requirements.rows]
    return Section("offer", word("quote-offer"), text=tuple(text), tables=(*asked, _subtotals(quote, language)))


def _subtotals(quote: CustomerQuote, language: Language) -> Table:
    """Return the table of the amount of each category, including tax if the lines include it, and the sums."""
    word, currency = language.word, quote.totals.currency
    lines = including_tax(_counted(quote), quote.totals) if quote.inclusive else _counted(quote)
    *columns, amount = columns_of("subtotals", language)
    if quote.inclusive:
        amount = replace(amount, title=word("column-inclusive-amount"))
    rows = [
        row_of(word(f"category-{category}"), _count_pieces(of_category), _sum(of_category, currency))
        for category, of_category in group_by(lines, lambda line: line.category).items()
    ]
    rows += [
        row_of(each.label, "", each.cell, id=TOTAL if each.final else None)
        for each in sums_of(quote.totals, _counted(quote), quote.indicative, language)
        if each.key not in BEFORE_DISCOUNT
    ]
    return make_table("subtotals", language, rows, columns=(*columns, amount))


def _order_list(quote: CustomerQuote, language: Language) -> Section | None:
    """Return the section of every part number once, with pieces to order and amount; None without lines."""
    ordered = [line for line in _counted(quote) if not line.in_stock]
    part, description = reference("part"), reference("description")
    of_part = f"EXACT(bom_part_numbers,${part})*EXACT(bom_descriptions,${description})"
    rows = tuple(
        row_of(
            lines[0].vendor or "",
            _part_number(lines[0], language),
            lines[0].description,
            Cell(_count_pieces(lines), formula=f"SUMPRODUCT({of_part}*(bom_quantities+bom_spares))"),
            replace(_sum(lines, quote.totals.currency), formula=amount_of(of_part, language)),
        )
        for lines in _by_part(ordered)
    )
    columns = columns_of("parts", language)
    if quote.inclusive:
        columns = (*columns, columns_of("inclusive", language)[1])
        taxed = _by_part(including_tax(ordered, quote.totals))
        rows = tuple(
            replace(row, cells=(*row.cells, _sum(lines, quote.totals.currency)))
            for row, lines in zip(rows, taxed, strict=True)
        )
    table = make_table("order-list", language, rows, columns=columns)
    text = (language.word("quote-order-list-lead"), *_from_stock(quote, language))
    required = tuple(
        row_of(lines[0].vendor or "", _part_number(lines[0], language), lines[0].description, _count_pieces(lines))
        for lines in _required_parts(quote)
    )
    caption, title = language.word("quote-required-lead"), language.word("quote-required")
    unpriced = columns_of("parts", language, without=("amount",))
    others = make_table(REQUIRED, language, required, caption, title=title, columns=unpriced, open=True)
    tables = (table, others) if required else (table,)
    return Section("order-list", table.title, text=text, tables=tables) if rows else None


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


def _required_parts(quote: CustomerQuote) -> list[list[QuotedLine]]:
    return _by_part(line for line in quote.lines if not line.counted)


def _by_part(lines: Iterable[QuotedLine]) -> list[list[QuotedLine]]:
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


def _bill(quote: CustomerQuote, language: Language, required: tuple[Table, ...], printed: bool) -> Section:
    word, currency = language.word, quote.totals.currency
    *columns, amount = columns_of("quote-bill", language)
    columns.append(replace(amount, main=not quote.inclusive))
    lines = _counted(quote)
    rows = tuple(_bill_row(number, line, language, currency) for number, line in enumerate(lines, 1))
    if quote.inclusive:
        columns += columns_of("inclusive", language)
        added = (_price_cells(line, currency) for line in including_tax(lines, quote.totals))
        rows = tuple(replace(row, cells=(*row.cells, *cells)) for row, cells in zip(rows, added, strict=True))
    said = [word("quote-bill-lead-inclusive" if quote.inclusive else "quote-bill-lead")]
    if printed:
        said = [*said, word("quote-bill-product")] if quote.totals.priced_lines else []
        said.append(word("quote-bill-pieces"))
    lead = word("list-sentences").join(said)
    table = make_table("quote-bill", language, rows, lead, id="bill", columns=columns)
    return Section("bill", table.title, tables=(table, *required))


def _merge_lines(quote: CustomerQuote, language: Language) -> CustomerQuote:
    """Return a quote with one line for each part, price and discount, spares included in its quantity.

    The same if with so few lines its sum were a total, or no longer one.
    """
    merged = list[QuotedLine]()
    for lines in group_by(
        _counted(quote), lambda line: (_PRICED_ALIKE(line), line.place if line.charge else "")
    ).values():
        one = _merge(lines, quote.totals.currency, language)
        merged += [one] if one else [_with_spares(line, language) for line in lines]
    charged = lines_to_price(merged)
    priced = sum(line.amount is not None for line in charged)
    totals = quote.totals._replace(lines=len(charged), priced_lines=priced)
    if is_total(totals, merged) != is_total(quote.totals, _counted(quote)):
        return quote
    return quote._replace(lines=(*merged, *(line for line in quote.lines if not line.counted)), totals=totals)


def _merge(lines: Sequence[QuotedLine], currency: str, language: Language) -> QuotedLine | None:
    """Return lines as one; None if its amount, which a buyer works out, were not the sum of theirs."""
    first, amounts = lines[0], [line.amount for line in lines if line.amount is not None]
    together = first._replace(
        quantity=sum(line.quantity for line in lines),
        spare=sum(line.spare for line in lines),
        amount=sum(amounts, Decimal(0)) if amounts else None,
        details=tuple(dict.fromkeys(text for line in lines for text in line.details)),
    )
    if len(lines) > 1 and first.unit_price is not None:
        price = rounded(together.pieces * Fraction(first.unit_price) * (1 - first.discount), currency)
        if price != together.amount:
            return None
    return _with_spares(together, language)


def _with_spares(line: QuotedLine, language: Language) -> QuotedLine:
    """Return a line whose quantity includes the spare pieces; of a charge it says what it is a share of."""
    said = [*line.details, line.place] if line.charge and line.place else [*line.details]
    said += [language.word("quote-of-them-spare", count=language.integer(line.spare))] if line.spare else []
    return line._replace(quantity=line.pieces, spare=0, details=tuple(said), place="")


def _price_cells(line: QuotedLine, currency: str) -> tuple[Cell, Cell]:
    price = Cell(line.unit_price, currency, share_of_hardware=line.share_of_hardware)
    return price, Cell(line.amount, currency, least=line.least)


def _bill_row(number: int, line: QuotedLine, language: Language, currency: str) -> Row:
    price, amount = _price_cells(line, currency)
    amount = replace(amount, formula=line_amount(currency, language))
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


def _not_included(quote: CustomerQuote, language: Language) -> Section | None:
    """Return the section of usual items of a cluster order that this one lacks; None if there are none."""
    word = language.word
    missing = [*_missing(quote), *(() if quote.totals.taxed else ("tax",))]
    text = [word("quote-without", names=_name_missing(missing, language))] if missing else []
    required = [
        word("quote-required-part", name=lines[0].description, count=language.integer(int(_count_pieces(lines))))
        for lines in _required_parts(quote)
    ]
    if required:
        text.append(word("quote-required-without", names=word("list-comma").join(required)))
    text += [note.text for note in quote.open_items]
    named = any(word in term.casefold() for term in quote.terms for word in WARRANTY)
    if not (quote.delivery.get("warranty") or named):
        text.append(word("quote-no-warranty"))
    title = word("quote-not-included")
    return Section("not-included", title, text=tuple(text), tables=quote.choices) if text else None


def _missing(quote: CustomerQuote) -> list[str]:
    """Return what is often ordered with a cluster and has no line in a quote; nothing where its scope is set."""
    held = {line.charge or line.category for line in quote.lines}
    return [name for name in OFFERED_BESIDE if name not in held] if quote.scope is None else []


def _name_missing(missing: Iterable[str], language: Language) -> str:
    return language.word("list-comma").join(language.word(f"quote-without-{name}") for name in missing)


def _site(quote: CustomerQuote, language: Language, networks: Drawings, floors: Drawings) -> Section | None:
    def drawn(drawings: Drawings, cluster: QuotedCluster, title: str | None = None) -> Iterator[Drawing]:
        for drawing in drawings.get(cluster.name, ())[:1]:
            names = filter(None, (cluster.name, title or drawing.title))
            yield replace(drawing, title=language.word("name-in").join(names))

    tables = tuple(table for cluster in quote.clusters for table in (cluster.networks, cluster.site) if table.rows)
    drawings = [
        drawing
        for cluster in quote.clusters
        if cluster.networks.rows
        for drawing in drawn(networks, cluster, str(cluster.networks.rows[0].cells[0].value))
    ]
    drawings += [drawing for cluster in quote.clusters for drawing in drawn(floors, cluster)]
    if not tables:
        return None
    title = language.word("expansion-site" if quote.expansion else "quote-site")
    included = quote.existing and any(cluster.site.rows for cluster in quote.clusters)
    text = (language.word("quote-site-existing"),) if included else ()
    return Section("racks-and-network", title, text=text, tables=tables, drawings=tuple(drawings))


def _terms(quote: CustomerQuote, language: Language, printed: bool) -> Section:
    word, totals = language.word, quote.totals
    text = []
    if quote.lead_time and PROMISED not in quote.delivery:
        days, part = quote.lead_time
        text.append(word("quote-longest", time=duration(days, language), part=part))
    text += [
        word(f"terms-{key}", text=quote.delivery[key]) for key in DELIVERY if key in quote.delivery and key not in FACTS
    ]
    if not quote.terms and not quote.delivery:
        text.append(word("quote-delivery"))
    if totals.priced_lines or not printed:
        unit = language.money(minor_unit(totals.currency), totals.currency)
        text.append(word("terms-rounding", unit=unit))
        text += [word("terms-inclusive", unit=unit)] if quote.inclusive else []
        text.append(word(tax_terms(totals.taxed, len(totals.taxes))))
    if quote.indicative:
        text.append(word("quote-indicative-text"))
    for currency, given in quote.exchange.items():
        rate = word("rate", currency=currency, rate=f"{given.rate:f}", own=totals.currency)
        basis = word("list-comma").join(filter(None, (language.date(given.date), given.source)))
        text.append(word("terms-rate", rate=rate, basis=basis))
    if quote.status:
        text.append(word(f"quote-{quote.status}-text"))
    if quote.payment:
        text.append(word("terms-payment", payment=quote.payment))
    if quote.bank:
        text.append(word("terms-bank", text=word("list-comma").join(quote.bank)))
    return Section("terms", word("section-terms"), text=(*text, *quote.terms), own=len(quote.terms))


# prices including tax -----------------------------------------------------------------------------------------------
# Prices as quotes in China show them: unit price and amount of each line, which add up to the total.
#
# Tax is calculated on sums, so that lines rounded one by one may differ from the total by some minor units. The line
# with the largest amount takes the difference.


def including_tax(lines: Sequence[QuotedLine], totals: Totals) -> list[QuotedLine]:
    """Return lines whose unit price, before discount, and amount include tax."""
    amounts = [None if line.amount is None else _with_tax(line.amount, line, totals) for line in lines]
    known = [amount for amount in amounts if amount is not None]
    if known:
        at = amounts.index(max(known))
        amounts[at] = max(known) + totals.amount - sum(known, Decimal(0))
    prices = (None if line.unit_price is None else _with_tax(line.unit_price, line, totals) for line in lines)
    return [
        line._replace(unit_price=price, amount=amount)
        for line, price, amount in zip(lines, prices, amounts, strict=True)
    ]


def _with_tax(amount: Decimal, line: QuotedLine, totals: Totals) -> Decimal:
    rate = next((part.share for part in totals.taxes if line.category in part.categories), totals.taxes[0].share)
    return rounded(Fraction(amount) * (1 + rate), totals.currency)

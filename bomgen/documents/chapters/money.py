"""The chapters of amounts: costs by category, price basis, running costs, terms."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from bomgen.core.document import AddressBlock, Cell, Column, Note, Row, Section, Table, row_of
from bomgen.core.units import minor_unit
from bomgen.documents.chapters.writer import Writer
from bomgen.plan.commercial_terms import Party
from bomgen.pricing.costs import PARTS
from bomgen.pricing.price_book import Price
from bomgen.pricing.quote import REASONS, Confidence, QuoteLine, age_days, category_amounts, confidence, is_old
from bomgen.results.result import OPERATION

_HUNDRED = 10**2


CONTACT = ("contact", "email", "phone", "tax_id", "reference")
"""Keys of a side of the quote that stand behind its address, in their order."""


def facts(writer: Writer) -> Iterator[tuple[str, str]]:
    """Yield the cover facts of the quote: number, dates, terms of payment, confidence in the amounts."""
    quote, word, language = writer.report.plan.quote, writer.word, writer.language
    if quote.number:
        yield word("fact-number"), quote.number
    if quote.revision:
        yield word("fact-revision"), quote.revision
    if quote.customer and not parties(writer):
        yield word("fact-customer"), quote.customer.name
    if quote.date:
        yield word("fact-date"), language.date(quote.date)
        if quote.valid_days:
            until = date.fromisoformat(quote.date) + timedelta(days=int(quote.valid_days.value))
            yield word("fact-valid-until"), language.date(until.isoformat())
    elif quote.valid_days:
        yield word("fact-valid"), language.value(quote.valid_days.value, "days")
    if quote.payment:
        yield word("fact-payment"), quote.payment
    yield word("fact-plan"), writer.report.plan_file
    yield word("fact-currency"), quote.currency
    totals = writer.report.quote.totals
    if totals.priced_lines or totals.low:
        if totals.low is not None and totals.low != totals.high:
            low = language.money(totals.low, totals.currency)
            if totals.high is not None:
                high = language.money(totals.high, totals.currency)
                yield word("fact-range"), word("range-ends", low=low, high=high)
            elif totals.low != totals.amount:
                yield word("fact-low"), low
        if totals.priced_lines:
            yield word("fact-confidence"), _how_sure(writer)


def _how_sure(writer: Writer) -> str:
    found = confidence(writer.report.quote.lines, writer.report.plan.quote)
    if not found.doubtful:
        return writer.word("confidence-all")
    reasons = writer.word("list-comma").join(
        writer.word("confidence-reason", reason=writer.word(f"doubt-{reason}"), share=_share(writer, found, amount))
        for reason, amount in found.by_reason.items()
        if amount
    )
    return writer.word("confidence-some", share=_share(writer, found, found.doubtful), reasons=reasons)


def _share(writer: Writer, found: Confidence, amount: Decimal) -> str:
    """Return a share of the amount in whole per cent, or more precisely if that would show 0."""
    share = found.share(amount)
    return writer.language.share(Fraction(round(share * _HUNDRED), _HUNDRED) or share)


def parties(writer: Writer) -> tuple[AddressBlock, ...]:
    """Return vendor and customer with addresses, if the plan has more than a name."""
    quote = writer.report.plan.quote
    sides = (("party-vendor", quote.vendor), ("fact-customer", quote.customer))
    if quote.vendor is None and (quote.customer is None or quote.customer == Party(quote.customer.name)):
        return ()
    return tuple(AddressBlock(writer.word(key), tuple(_lines(writer, side)), key) for key, side in sides if side)


def _lines(writer: Writer, side: Party) -> Iterator[str]:
    yield side.name
    yield from side.address
    for key in CONTACT:
        value = getattr(side, key)
        if value:
            yield writer.word("party-line", label=writer.word(f"party-{key}"), value=value)


def prices(writer: Writer) -> Section | None:
    """Return the chapter of confidence and of every price used; None if nothing is priced."""
    report = writer.report
    if not report.quote.totals.priced_lines:
        return None
    tables = [_confidence_table(writer)]
    used = list(dict.fromkeys((line.unit.price, line.unit.book) for line in report.quote.lines if line.unit.price))
    if used:
        tables.append(_price_table(writer, [(price, book.name) for price, book in used if price and book]))
    if report.plan.quote.exchange:
        tables.append(_rates(writer))
    return Section("prices", writer.word("section-prices"), text=(writer.word("prices-lead"),), tables=tuple(tables))


def _confidence_table(writer: Writer) -> Table:
    currency = writer.report.quote.totals.currency
    found = confidence(writer.report.quote.lines, writer.report.plan.quote)
    columns = (
        Column("name", writer.word("column-doubt"), "text", 60),
        Column("amount", writer.word("column-amount"), "money", 18),
        Column("share", writer.word("column-share"), "share", 10),
    )
    rows = [(writer.word(f"doubt-{reason}"), found.by_reason[reason]) for reason in REASONS]
    rows += [(writer.word("doubt-any"), found.doubtful), (writer.word("doubt-net"), found.net)]
    shown = tuple(row_of(name, Cell(amount, currency), Cell(found.share(amount), "share")) for name, amount in rows)
    caption = writer.word("confidence-unpriced", lines=found.unpriced) if found.unpriced else None
    return Table("confidence", writer.word("table-confidence"), columns, shown, caption)


def _price_table(writer: Writer, used: list[tuple[Price, str]]) -> Table:
    plan, language = writer.report.plan.quote, writer.language
    columns = (
        Column("part", writer.word("column-part"), "text", 26),
        Column("price", writer.word("column-unit-price"), "money", 16, main=True),
        Column("low", writer.word("column-lowest"), "money", 14),
        Column("high", writer.word("column-highest"), "money", 14),
        Column("date", writer.word("fact-date"), "text", 16),
        Column("age", writer.word("column-age"), "number", 10, main=True),
        Column("valid_until", writer.word("fact-valid-until"), "text", 16),
        Column("remark", writer.word("column-remark"), "text", 14),
        Column("source", writer.word("column-source"), "text", 50),
    )
    rows = []
    for price, book in used:
        ranges = price.low != price.high
        age = age_days(price, plan)
        cells = (
            Cell(price.part),
            Cell(price.amount, price.currency) if price.amount is not None else Cell(writer.word("price-unknown")),
            Cell(price.low, price.currency) if ranges else Cell(""),
            Cell(price.high, price.currency) if ranges else Cell(""),
            Cell(language.date(price.date) if price.date else writer.word("quote-undated")),
            Cell("" if age is None else age),
            Cell(language.date(price.valid_until) if price.valid_until else ""),
            Cell(writer.word("list-comma").join(_remarks(writer, price))),
            Cell(_source(writer, price, book)),
        )
        rows.append(Row(cells))
    return Table("prices", writer.word("table-prices"), columns, tuple(rows))


def _remarks(writer: Writer, price: Price) -> list[str]:
    doubts = (("estimate", price.estimate), ("old", is_old(price, writer.report.plan.quote)))
    return [writer.word(f"price-{doubt}") for doubt, holds in doubts if holds]


def _source(writer: Writer, price: Price, book: str) -> str:
    return writer.word("price-source", book=book, source=price.source) if price.source else book


def price_note(writer: Writer, line: QuoteLine) -> str | None:
    """Return source, date and confidence of a unit price on one line; None without a price."""
    charge, language = line.line.charge, writer.language
    if charge and charge.share:
        return writer.word("price-share", share=language.share(Fraction(charge.share.value)))
    if charge and charge.part is None and line.unit.amount is not None:
        stated = [language.money(charge.price, charge.currency)] if charge.currency and charge.price is not None else []
        return writer.word("list-semicolon").join([charge.mark.recorded, *stated])
    if line.price is None or line.book is None:
        return None
    price, parts = line.price, [_source(writer, line.price, line.book.name)]
    if price.date:
        parts.append(language.date(price.date))
    parts += _remarks(writer, price)
    if price.low is not None and price.high is not None and price.low != price.high:
        low, high = (language.money(end, price.currency) for end in (price.low, price.high))
        parts.append(writer.word("range-ends", low=low, high=high))
    elif price.currency != writer.report.quote.totals.currency and price.amount is not None:
        parts.append(language.money(price.amount, price.currency))
    return writer.word("list-semicolon").join(parts)


def _rates(writer: Writer) -> Table:
    quote = writer.report.plan.quote
    columns = (
        Column("currency", writer.word("fact-currency"), "text", 14),
        Column("rate", writer.word("column-rate"), "text", 30),
        Column("date", writer.word("fact-date"), "text", 20),
        Column("source", writer.word("column-source"), "text", 50),
    )
    rows = tuple(
        row_of(
            currency,
            writer.word("rate", currency=currency, rate=f"{given.rate:f}", own=quote.currency),
            writer.language.date(given.date),
            given.source or "",
        )
        for currency, given in quote.exchange.items()
    )
    return Table("rates", writer.word("table-rates"), columns, rows, writer.word("rates-caption"))


def operation(writer: Writer) -> Section | None:
    """Return the chapter of running costs; None if they are not requested."""
    table = writer.table(OPERATION)
    if not table.rows:
        return None
    word, running = writer.word, writer.report.running
    notes = []
    if "total_cost" in running.lower_bounds:
        missing = [name for name in PARTS if name not in running.figures]
        left_out = word("list-comma").join(writer.label((OPERATION, name)) for name in missing)
        notes.append(Note("info", word("operation-without", names=left_out) if missing else word("operation-least")))
    text = (word("operation-lead"),)
    return Section(OPERATION, word("section-operation"), text=text, tables=(table,), notes=tuple(notes))


def terms(writer: Writer) -> Section:
    """Return the chapter of price terms: how amounts are calculated, and the vendor's own terms."""
    quote, word = writer.report.plan.quote, writer.word
    text = [word("terms-rounding", unit=writer.language.money(minor_unit(quote.currency), quote.currency))]
    text.append(word(tax_terms(bool(quote.tax), len(writer.report.quote.totals.taxes))))
    if quote.payment:
        text.append(word("terms-payment", payment=quote.payment))
    return Section("terms", word("section-terms"), text=(*text, *quote.terms))


def tax_terms(taxed: bool, rates: int) -> str:
    """Return the word for how tax is calculated."""
    return ("terms-tax-by-rate" if rates > 1 else "terms-tax") if taxed else "terms-no-tax"


# costs --------------------------------------------------------------------------------------------------------------
# The chapter of costs: the amount of each category of the bill, as a chart and as a table.


def costs(writer: Writer) -> Section | None:
    """Return the costs chapter, whose charts have all of its numbers; None if nothing is priced."""
    if not category_amounts(writer.report.quote.lines):
        return None
    return Section("costs", writer.word("section-costs"))


def costs_table(writer: Writer) -> Table:
    """Return a table of the amount and share of each bill category."""
    word = writer.word
    columns = (
        Column("category", word("column-category"), "text", 24),
        Column("amount", word("column-net-amount"), "money", 20),
        Column("share", word("column-share"), "share", 10),
        Column("lines", word("column-priced-lines"), "number", 18),
    )
    rows = tuple(
        row_of(
            word(f"category-{part.category}"),
            Cell(part.amount, writer.report.quote.totals.currency, least=not part.complete),
            writer.language.rough_share(part.share) if part.amount is not None else None,
            word("priced-lines", priced=part.priced_lines, lines=part.lines),
        )
        for part in category_amounts(writer.report.quote.lines)
    )
    return Table("costs", word("drawing-costs"), columns, rows, word("drawing-costs-text"))

"""The chapters of amounts: bill and order, costs by category, price basis, running costs, terms, alternatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from bomgen.core.document import AddressBlock, Cell, Column, Note, Row, Section, Table, row_of
from bomgen.core.provenance import Derived
from bomgen.core.units import minor_unit
from bomgen.design.assembly import boxes_of
from bomgen.documents.comparison import ComparedRow, Comparison, category_rows
from bomgen.documents.tables import TOTAL, Writer, columns_of, line_amount, make_table
from bomgen.plan.commercial_terms import Party, QuotePlan
from bomgen.pricing.bill_line import CATEGORIES, Line
from bomgen.pricing.costs import PARTS
from bomgen.pricing.price_book import Price
from bomgen.pricing.quote import REASONS, Confidence, QuoteLine, age_days, category_amounts, confidence, is_old
from bomgen.results.result import OPERATION, Report

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
        if until := valid_until(quote):
            yield word("fact-valid-until"), language.date(until)
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


def valid_until(plan: QuotePlan) -> str | None:
    """Return the last day on which a quote is valid, such as `2026-12-20`; None if it has no date or no limit."""
    if not (plan.date and plan.valid_days):
        return None
    return (date.fromisoformat(plan.date) + timedelta(days=int(plan.valid_days.value))).isoformat()


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

    def contacts(side: Party) -> Iterator[str]:
        for key in CONTACT:
            if value := getattr(side, key):
                yield writer.word("party-line", label=writer.word(f"party-{key}"), value=value)

    if quote.vendor is None and (quote.customer is None or quote.customer == Party(quote.customer.name)):
        return ()
    named = [(key, side) for key, side in sides if side]
    return tuple(
        AddressBlock(writer.word(key), (side.name, *side.address, *contacts(side)), key) for key, side in named
    )


def prices(writer: Writer) -> Section | None:
    """Return the chapter of confidence and of every price used; None if nothing is priced."""
    report, language, word = writer.report, writer.language, writer.word
    quote, totals = report.plan.quote, report.quote.totals
    if not totals.priced_lines:
        return None
    found = confidence(report.quote.lines, quote)
    doubts = [(word(f"doubt-{reason}"), found.by_reason[reason]) for reason in REASONS]
    doubts += [(word("doubt-any"), found.doubtful), (word("doubt-net"), found.net)]
    rows = (row_of(name, Cell(amount, totals.currency), Cell(found.share(amount), "share")) for name, amount in doubts)
    caption = word("confidence-unpriced", lines=found.unpriced) if found.unpriced else None
    tables = [make_table("confidence", language, rows, caption)]
    used = list(dict.fromkeys((line.unit.price, line.unit.book) for line in report.quote.lines if line.unit.price))
    if used:
        tables.append(_price_table(writer, [(price, book.name) for price, book in used if price and book]))
    if quote.exchange:
        rates = (
            row_of(
                currency,
                word("rate", currency=currency, rate=f"{given.rate:f}", own=quote.currency),
                language.date(given.date),
                given.source or "",
            )
            for currency, given in quote.exchange.items()
        )
        tables.append(make_table("rates", language, rates, word("rates-caption")))
    return Section("prices", word("section-prices"), text=(word("prices-lead"),), tables=tuple(tables))


def _price_table(writer: Writer, used: list[tuple[Price, str]]) -> Table:
    plan, language, word = writer.report.plan.quote, writer.language, writer.word
    rows = []
    for price, book in used:
        ends = (price.low, price.high) if price.low != price.high else ("", "")
        age = age_days(price, plan)
        rows.append(
            row_of(
                price.part,
                word("price-unknown") if price.amount is None else Cell(price.amount, price.currency),
                *(Cell(end, price.currency) for end in ends),
                language.date(price.date) if price.date else word("quote-undated"),
                "" if age is None else age,
                language.date(price.valid_until) if price.valid_until else "",
                word("list-comma").join(_remarks(writer, price)),
                _source(writer, price, book),
            )
        )
    return make_table("prices", language, rows)


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


def costs(writer: Writer) -> Section | None:
    """Return the costs chapter, whose charts have all of its numbers; None if nothing is priced."""
    if not category_amounts(writer.report.quote.lines):
        return None
    return Section("costs", writer.word("section-costs"))


# alternatives -------------------------------------------------------------------------------------------------------
# The chapter that compares the plan with its alternatives.

SWITCH = "switch"
BOXES = "switches"
"""The bom.json key for numbers of switches."""
WHOLE = "ui-total"
"""Key of the row of totals."""
COUNTED = (SWITCH, "transceiver", "cable")
"""Categories shown with quantities in addition to amounts."""
Alternatives = Comparison[tuple[str, Report]]
Pieces = tuple[int | Fraction, Decimal | None]
NO_PIECES: Pieces = (0, Decimal(0))


def alternatives(writer: Writer) -> Section | None:
    """Return the chapter that compares the plan with its alternatives; None if there are none."""
    word = writer.word
    if not writer.report.alternatives:
        return None
    comparison = compared_alternatives(writer)
    (planned, _), *others = comparison.sides
    columns = [*columns_of("alternatives", writer.language), Column("plan", planned, "money", 20)]
    counts = [*columns_of("alternatives-pieces", writer.language), Column("plan", planned, "number", 20)]
    for number, (name, _) in enumerate(others, 1):
        columns.append(Column(f"amount-{number}", name, "money", 20))
        columns.append(Column(f"difference-{number}", word("column-difference"), "money", 20))
        counts.append(Column(f"pieces-{number}", name, "number", 20))
    rows, counted = list[Row](), list[Row]()
    for row in comparison.rows:
        if row.unit:
            rows.append(row_of(row.label, *_cells(row)))
        elif any(cell.value for cell in row.cells):
            counted.append(row_of(row.label, *row.cells))
    tables = (
        make_table("alternatives", writer.language, rows, columns=columns),
        make_table("alternatives-pieces", writer.language, counted, columns=counts),
        *(
            changed_parts(writer, number, name, other, writer.described)
            for number, (name, other) in enumerate(others, 1)
        ),
    )
    notes = tuple(Note("warning", text) for text in comparison.notes)
    return Section("alternatives", word("section-alternatives"), (word("alternatives-lead"),), tables, notes)


def compared_alternatives(writer: Writer) -> Alternatives:
    """Return the amounts and pieces of the plan and of its alternatives; amounts have the currency as their unit."""
    word, report, currency = writer.word, writer.report, writer.report.quote.totals.currency
    names = (word("column-as-planned"), *(alternative.name for alternative in report.plan.quote.alternatives))
    sides = tuple(zip(names, (report, *report.alternatives), strict=True))
    amounts = [
        {part.category: (part.amount, not part.complete) for part in category_amounts(side.quote.lines)}
        for _, side in sides
    ]
    rows, totals = list(category_rows(amounts, currency, writer.language)), [side.quote.totals for _, side in sides]
    for key, name in (("xlsx-net", "net"), ("ui-tax", "tax"), (WHOLE, "amount")):
        if name != "tax" or report.quote.totals.taxes:
            sums = ((getattr(each, name), not each.complete) if each.priced_lines else (None, False) for each in totals)
            cells = tuple(Cell(amount, currency, least=least) for amount, least in sums)
            rows.append(ComparedRow(key, "", word(key), cells, currency))
    for category in COUNTED:
        cells = tuple(Cell(_count(side, category)) for _, side in sides)
        rows.append(ComparedRow(category, "", word(f"category-{category}"), cells))
    say = writer.language.message
    notes = (
        word("warning-of", name=name, text=say(problem.message))
        for name, other in sides[1:]
        for problem in other.problems
    )
    return Comparison(sides, tuple(rows), tuple(notes))


def _count(report: Report, category: str) -> int:
    """Return the pieces of a category; for switches without line cards and power supplies."""
    lines = (line for line in report.bill.lines if line.category == category)
    return sum(line.pieces for line in lines if category != SWITCH or BOXES in (line.path or "").split(".")[-2:])


def _cells(row: ComparedRow) -> Iterator[Cell]:
    """Yield the amount of the plan, then of each alternative with the difference."""
    planned, *others = row.cells
    yield planned
    for cell, difference in zip(others, row.differences, strict=True):
        yield cell
        certain = difference is not None and not cell.least and not planned.least
        yield Cell(difference, row.unit) if certain else Cell("–")


def changed_parts(writer: Writer, number: int, name: str, other: Report, describe: Callable[[Line], str]) -> Table:
    """Return the parts of which an alternative has other pieces, or at another amount, in the order of a bill."""
    word, currency = writer.word, writer.report.quote.totals.currency
    before, after = (_pieces_by_part(report, describe) for report in (writer.report, other))
    rows, differences = list[Row](), list[Decimal | None]()
    for key in sorted({**before, **after}, key=lambda key: CATEGORIES.index(key[0])):
        (pieces, amount), (new_pieces, new_amount) = (side.get(key, NO_PIECES) for side in (before, after))
        if (pieces, amount) != (new_pieces, new_amount):
            difference = None if amount is None or new_amount is None else new_amount - amount
            differences.append(difference)
            rows.append(row_of(key[1] or "", key[2], pieces, new_pieces, Cell(difference, currency)))
    known = [difference for difference in differences if difference is not None]
    if rows and len(known) == len(rows):
        whole = Cell(sum(known, Decimal(0)), currency)
        rows.append(row_of(word("quote-difference-net"), "", "", "", whole, id=TOTAL))
    id, title = f"alternative-{number}", word("quote-changes-of", name=name)
    return make_table("changed-parts", writer.language, rows, id=id, title=title)


def _pieces_by_part(report: Report, describe: Callable[[Line], str]) -> dict[tuple[str, str | None, str], Pieces]:
    parts = dict[tuple[str, str | None, str], Pieces]()
    for priced in report.quote.all_lines:
        line = priced.line
        key = line.category, line.sku, describe(line._replace(in_stock=False))
        pieces, amount = parts.get(key, NO_PIECES)
        whole = None if amount is None or priced.amount is None else amount + priced.amount
        parts[key] = pieces + (0 if line.in_stock else line.pieces), whole
    return parts


# bill ---------------------------------------------------------------------------------------------------------------
# The chapter of the bill: every line with its price.


def bill(writer: Writer) -> Section:
    """Return the chapter of the bill: every line with its price, by category."""
    ordered = sorted(writer.report.quote.lines, key=lambda line: CATEGORIES.index(line.line.category))
    table = make_table("bill", writer.language, (_bill_row(writer, line) for line in ordered))
    return Section("bill", writer.word("section-bill"), tables=(table,))


def _bill_row(writer: Writer, priced: QuoteLine) -> Row:
    line, currency = priced.line, writer.report.quote.totals.currency
    why = writer.derivation_of(line.quantity)
    if (
        why is None
        and line.path in writer.paths.figures
        and isinstance(writer.paths.figures[line.path].origin, Derived)
    ):
        why = line.path
    share, how = line.charge.share if line.charge else None, writer.origin(line.quantity)
    if share and priced.of is not None:
        amount = writer.language.money(priced.of, currency)
        how = writer.word("share-of", share=writer.language.exact_share(Fraction(share.value)), amount=amount, how=how)
    cells = (
        Cell(writer.joined(*filter(None, (line.cluster, line.fabric and writer.fabric_name(line.fabric))))),
        Cell(writer.place(line.role or "")),
        Cell(line.sku or ("" if line.charge else writer.word("no-part-number"))),
        Cell(writer.described(line)),
        Cell(line.quantity.value, "", why),
        Cell(line.spare.value, note=writer.origin(line.spare)) if line.spare else Cell(0),
        Cell(
            priced.unit.amount,
            currency,
            note=price_note(writer, priced),
            share_of_hardware=Fraction(share.value) if share else None,
        ),
        Cell(priced.discount, "share"),
        Cell(priced.amount, currency, least=priced.least, formula=line_amount(currency, writer.language)),
        Cell(how),
    )
    return Row(cells, writer.word(f"category-{line.category}"), line.in_stock)


# order --------------------------------------------------------------------------------------------------------------
# The chapter that completes an order: unpriced required parts, and open items.


def order(writer: Writer) -> Section | None:
    """Return the chapter of unpriced required parts and open items; None if there are neither."""
    word, message = writer.word, writer.language.message
    required = (
        row_of(
            line.sku or word("no-part-number"),
            writer.described(line),
            line.quantity.value,
            message(line.required_by.name) if line.required_by else "",
            writer.origin(line.quantity),
            group=word(f"category-{line.category}"),
        )
        for line in (priced.line for priced in writer.report.quote.unpriced_required)
    )
    parts = make_table("required", writer.language, required, word("required-caption"))
    tables = (parts, _open_items(writer, False), _open_items(writer, None))
    held = tuple(table for table in tables if table.rows)
    return Section("order", word("section-order"), tables=held) if held else None


def _open_items(writer: Writer, included: bool | None) -> Table:
    word, language, rows = writer.word, writer.language, []
    for item in writer.report.bill.open_items:
        if item.included is not included:
            continue
        names = (language.beside(language.message(part.name), part.sku or "") for part in item.parts)
        choice = word("list-or").join(names)
        rows.append(
            row_of(
                word("choice-a-year", names=choice) if item.per == "year" else choice,
                item.quantity.value if item.quantity else word("quantity-open"),
                language.message(item.required_by.name),
                item.source or word("unverified"),
            )
        )
    name = "not-on-bill" if included is False else "not-known"
    return make_table(
        "open-items", writer.language, rows, writer.word(f"{name}-caption"), id=name, title=writer.word(f"table-{name}")
    )


# phases -------------------------------------------------------------------------------------------------------------
# The chapter of the orders in which a plan is built.


def phases(writer: Writer) -> Section | None:
    """Return the chapter of the phases: what stands after each and costs, and what buying ahead changes."""
    report, word = writer.report, writer.word
    if not report.phases:
        return None
    planned = tuple(zip(report.plan.phases, report.phases, strict=True))
    rows = []
    for phase, of_phase in planned:
        design, date = of_phase.design, of_phase.plan.quote.date
        counts = (figure.value if figure else "" for figure in (design.sizing.servers, design.facility.racks))
        watts = design.facility.power_w
        power = Cell(writer.held(watts), watts.unit) if watts else ""
        day = writer.language.date(date) if date else ""
        rows.append(row_of(phase.name, day, *counts, power, _moved([of_phase]), _total([of_phase])))
    rows.append(row_of(word("phases-sum"), "", "", "", "", _moved(report.phases), _total(report.phases)))
    rows.append(row_of(word("phases-at-once"), "", "", "", "", "", _total([report])))
    tables = [make_table("phases", writer.language, rows, title=word("section-phases"))]
    if report.other_phases:
        early, late = report.phases, report.other_phases
        if not any(phase.ahead for phase in report.plan.phases):
            early, late = late, early
        names = [*(phase.name for phase, _ in planned), word("phases-sum")]
        ways: list[list[Sequence[Report]]] = [[*([phase] for phase in way), way] for way in (early, late)]
        both = (
            row_of(name, _moved(ahead), _total(ahead), _moved(later), _total(later))
            for name, ahead, later in zip(names, *ways, strict=True)
        )
        parts = word("list-semicolon").join(dict.fromkeys(_early_parts(writer, early, late)))
        tables.append(make_table("ahead", writer.language, both, word("phases-ahead-lead", parts=parts)))
    return Section("phases", word("section-phases"), (word("phases-lead"),), tuple(tables))


def _moved(reports: Sequence[Report]) -> Cell:
    """Return the installed cables that phases move or unplug; empty if that is unknown."""
    counts = [report.growth.moved_cables for report in reports if report.growth]
    return Cell("" if None in counts else sum(filter(None, counts)))


def _total(reports: Sequence[Report]) -> Cell:
    """Return the sum of the totals of reports; empty if nothing is priced."""
    totals = [report.quote.totals for report in reports]
    amount = (
        sum((total.amount for total in totals), Decimal(0)) if any(total.priced_lines for total in totals) else None
    )
    return Cell(amount, totals[0].currency, least=not all(total.complete for total in totals))


def _early_parts(writer: Writer, early: Sequence[Report], late: Sequence[Report]) -> Iterator[str]:
    """Yield the parts that one way buys in a phase before they are needed, with their numbers."""
    for ahead, later in zip(early, late, strict=True):
        tiers = {(built.plan.name, tier.name): tier for built in later.design.fabrics for tier in built.fabric.tiers}
        for built in ahead.design.fabrics:
            for tier in built.fabric.tiers:
                less = tiers.pop((built.plan.name, tier.name), None)
                if less and (more := int(boxes_of(tier).value) - int(boxes_of(less).value)) > 0:
                    yield writer.joined(writer.fabric_name(built.plan.name), writer.describe_tier(tier, more))
        for line in (line for line in ahead.bill.lines if line.is_ahead):
            part, count = writer.language.message(line.description), writer.language.integer(line.pieces)
            text = writer.word("quote-headline-pieces", count=count, name=part)
            yield writer.joined(writer.fabric_name(line.fabric), text) if line.fabric else text

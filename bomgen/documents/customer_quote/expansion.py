"""The quote for an expansion: parts to buy, cables to move, and surplus parts.

It uses the record of a quote, with the lines of the order only, so that it is written like any other quote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

from bomgen.core.document import Section, Table, row_of
from bomgen.core.units import ANY_AMOUNT, Totals, rounded
from bomgen.documents.chapters.contents import count_categories
from bomgen.documents.chapters.writer import Writer
from bomgen.documents.customer_quote.record import (
    CustomerQuote,
    QuotedExpansion,
    QuotedLine,
    customer_quote,
    longest_lead_time,
    name_links,
    open_items,
)
from bomgen.documents.diff.difference import Difference, Expansion, OrderedLine
from bomgen.documents.tables import make_table
from bomgen.pricing.quote import lines_to_price

EXPANSION = " / E1"
"""What the number of a quote for an expansion ends with; a plan gives the next expansion a number of its own."""


def expansion_quote(writer: Writer, difference: Difference) -> CustomerQuote | None:
    """Return the customer's record of an expansion; the writer's report is the new side.

    None if it is not an expansion, nothing is to be bought, or the sides are in different currencies.
    """
    expansion = difference.expansion
    if expansion is None or not expansion.lines or difference.money is None:
        return None
    quote = customer_quote(writer)
    quoted = {line.id: line for line in quote.lines}
    currency = quote.totals.currency
    ordered = {line.item.id: line for line in expansion.lines}
    both = ((line, ordered[id]) for id, line in quoted.items() if id in ordered)  # by category, as in any quote
    parts = [
        line._replace(quantity=more.pieces - more.spare, spare=more.spare, amount=more.amount) for line, more in both
    ]
    charges = [
        _charge(line, quoted.get(line.item.id), expansion, currency) for line in expansion.charged if line.amount
    ]
    lines = (*parts, *charges)
    grown = dict(_grown(writer, difference))
    totals = _totals(lines, expansion, quote.totals)
    pieces = ((line.category, line.pieces) for line in parts if line.counted)
    offered = writer.word("list-comma").join(count_categories(writer, pieces))
    return quote._replace(
        title=writer.word("expansion-title", title=quote.title),
        number=quote.number and f"{quote.number}{EXPANSION}",
        lead_time=longest_lead_time(writer, {line.id for line in lines}),
        lines=lines,
        totals=totals,
        inclusive=quote.inclusive and totals.taxed,
        indicative=quote.indicative and quote.indicative._replace(low=totals.amount, high=totals.amount),
        open_items=tuple(open_items(writer, counted=False)),
        clusters=tuple(
            cluster._replace(sentences=grown.get(cluster.name, cluster.sentences))
            for cluster in quote.clusters
            if cluster.name in grown or cluster.name in difference.added_clusters
        ),
        alternatives=(),
        id=None,
        expansion=QuotedExpansion(
            writer.word("expansion-headline", offered=offered),
            _changes(writer, difference, expansion),
        ),
    )


def _charge(line: OrderedLine, quoted: QuotedLine | None, expansion: Expansion, currency: str) -> QuotedLine:
    """Return the line of a charge for the order: a share of what is ordered, or its increase."""
    amount, item = line.amount or Decimal(0), line.item
    if quoted is None:
        quoted = QuotedLine(
            *(item.id, item.category, "", None, item.role, item.description, item.description, 1, 0),
            *(amount, Fraction(0), amount, False, None, False, True),
        )
    share = quoted.share_of_hardware
    at_share = None if share is None else rounded(share * Fraction(expansion.amount), currency)
    options = ((quoted.quantity, at_share, share), (line.pieces, quoted.unit_price, None))
    fitting = next(
        (
            (pieces, unit, of_hardware)
            for pieces, unit, of_hardware in options
            if unit is not None and rounded(pieces * Fraction(unit) * (1 - quoted.discount), currency) == amount
        ),
        None,
    )
    pieces, unit, of_hardware = fitting or (1, amount, None)
    quoted = quoted if fitting else quoted._replace(description=item.description, discount=Fraction(0))
    place = quoted.place if of_hardware == share else ""
    of_order = quoted._replace(place=place, quantity=pieces, spare=0, share_of_hardware=of_hardware)
    return of_order._replace(unit_price=unit, amount=amount)


def _totals(lines: Sequence[QuotedLine], expansion: Expansion, whole: Totals) -> Totals:
    counted = [line for line in lines if line.counted]
    prices = (line.pieces * Fraction(line.unit_price or 0) for line in counted)
    listed = sum((rounded(price, whole.currency) for price in prices), Decimal(0))
    net = ANY_AMOUNT.add(expansion.amount, expansion.charges)
    charged = lines_to_price(counted)
    priced = sum(line.amount is not None for line in charged)
    return Totals(
        currency=whole.currency,
        complete=priced == len(charged),
        list=listed,
        discount=ANY_AMOUNT.subtract(listed, net),
        taxes=expansion.taxes if whole.taxes else (),
        amount=ANY_AMOUNT.add(net, expansion.tax),
        priced_lines=priced,
        lines=len(charged),
    )


def _grown(writer: Writer, difference: Difference) -> Iterator[tuple[str, tuple[str, ...]]]:
    word = writer.word
    for old, new in difference.names.clusters.items():
        numbers = []
        for key in ("servers", "gpus"):
            before, after = difference.old.of_cluster(old, key), difference.new.of_cluster(new, key)
            if type(before) is int and type(after) is int and after > before:
                counts = {"old": writer.language.integer(before), "new": writer.language.integer(after)}
                numbers.append(word(f"expansion-{key}", **counts))
        if numbers:
            sentence = word("expansion-grows", numbers=word("list-comma").join(numbers))
            yield new, (f"{new}{word('name-in')}{sentence}" if new else sentence,)


def _changes(writer: Writer, difference: Difference, expansion: Expansion) -> Section:
    word, text, tables, moves = writer.word, list[str](), list[Table](), difference.moves
    cables = [cable for cable in moves.cables if cable.old] if moves else []
    rows = []
    for cable in cables:
        cluster, _, fabric = cable.fabric.rpartition(".")
        name = writer.joined(*filter(None, (cluster, writer.fabric_name(fabric))))
        counts = (cable.old, cable.stay, cable.moved, cable.free, cable.added)
        rows.append(row_of(name, name_links(writer, cable.kind), *counts))
    if rows:
        tables.append(make_table("moves", writer.language, rows, word("expansion-moves-lead")))
    if moves is None:
        text.append(word("expansion-moves-unknown"))
    elif not any(cable.moved or cable.free for cable in cables):
        text.append(word("expansion-no-moves"))
    moved = sum(moves.elsewhere.values()) if moves and writer.report.design.routed else 0
    if moved:
        text.append(word("expansion-machines", machines=writer.language.integer(moved)))
    if expansion.free:
        surplus = (
            row_of(row.sku or word("no-part-number"), writer.language.message(row.description), row.pieces)
            for row in expansion.free
        )
        tables.append(make_table("left-over", writer.language, surplus, word("expansion-left-over-lead")))
    else:
        text.append(word("expansion-nothing-left"))
    return Section("changes", word("expansion-changes"), text=tuple(text), tables=tuple(tables))

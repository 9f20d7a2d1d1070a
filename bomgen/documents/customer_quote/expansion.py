"""The quote for an expansion: parts to buy, cables to move, and surplus parts.

It uses the record of a quote, with the lines of the order only, so that it is written like any other quote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

from bomgen.core.units import ANY_AMOUNT, Totals, rounded
from bomgen.documents.chapters.writer import Writer
from bomgen.documents.customer_quote.record import (
    CustomerQuote,
    LeftOver,
    QuotedExpansion,
    QuotedLine,
    QuotedMove,
    count_categories,
    customer_quote,
    longest_lead_time,
    name_links,
)
from bomgen.documents.diff.difference import Difference
from bomgen.documents.diff.expansion import Expansion, OrderedLine
from bomgen.documents.diff.matching import cluster_prefix
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
    known = {line.id: line for line in quote.lines}
    currency = quote.totals.currency
    ordered = {line.item.id: line for line in expansion.lines}
    parts = [  # by category, as in any quote
        known[id]._replace(
            quantity=ordered[id].pieces - ordered[id].spare, spare=ordered[id].spare, amount=ordered[id].amount
        )
        for id in known
        if id in ordered
    ]
    charges = [_charge(line, known.get(line.item.id), expansion, currency) for line in expansion.charged if line.amount]
    lines = (*parts, *charges)
    grown = dict(_grown(writer, difference))
    totals = _totals(lines, expansion, quote.totals)
    return quote._replace(
        title=writer.word("expansion-title", title=quote.title),
        number=quote.number and f"{quote.number}{EXPANSION}",
        lead_time=longest_lead_time(writer, {line.id for line in lines}),
        lines=lines,
        totals=totals,
        inclusive=quote.inclusive and totals.taxed,
        indicative=quote.indicative and quote.indicative._replace(low=totals.amount, high=totals.amount),
        open_items=tuple(item._replace(quantity=None, heat=None) for item in quote.open_items),
        clusters=tuple(
            cluster._replace(sentences=grown.get(cluster.name, cluster.sentences))
            for cluster in quote.clusters
            if cluster.name in grown or cluster.name in difference.added_clusters
        ),
        alternatives=(),
        id=None,
        expansion=QuotedExpansion(
            _moves(writer, difference),
            sum(difference.moves.elsewhere.values()) if difference.moves and writer.report.design.routed else 0,
            tuple(LeftOver(row.sku, writer.language.message(row.description), row.pieces) for row in expansion.free),
            writer.word(
                "expansion-headline", offered=count_categories(writer, [line for line in parts if line.counted])
            ),
        ),
    )


def _charge(line: OrderedLine, known: QuotedLine | None, expansion: Expansion, currency: str) -> QuotedLine:
    """Return the line of a charge for the order: a share of what is ordered, or its increase."""
    amount, item = line.amount or Decimal(0), line.item
    if known is None:
        known = QuotedLine(
            *(item.id, item.category, "", None, item.role, item.description, item.description, 1, 0),
            *(amount, Fraction(0), amount, False, None, False, True),
        )
    share = known.share_of_hardware
    at_share = None if share is None else rounded(share * Fraction(expansion.amount), currency)
    for pieces, unit, of_hardware in ((known.quantity, at_share, share), (line.pieces, known.unit_price, None)):
        if unit is not None and rounded(pieces * Fraction(unit) * (1 - known.discount), currency) == amount:
            return known._replace(
                place=known.place if of_hardware == share else "",
                quantity=pieces,
                spare=0,
                unit_price=unit,
                amount=amount,
                share_of_hardware=of_hardware,
            )
    return known._replace(
        place="" if share is not None else known.place,
        description=item.description,
        quantity=1,
        spare=0,
        unit_price=amount,
        discount=Fraction(0),
        amount=amount,
        share_of_hardware=None,
    )


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
    for old, new in difference.names.clusters.items():
        before, after = cluster_prefix(difference.old, old), cluster_prefix(difference.new, new)
        said = []
        for key in ("servers", "gpus"):
            was, became = (
                side.numbers.get(f"{path}cluster.{key}")
                for side, path in ((difference.old, before), (difference.new, after))
            )
            if type(was) is int and type(became) is int and became > was:
                old_count, new_count = map(writer.language.integer, (was, became))
                said.append(writer.word(f"expansion-{key}", old=old_count, new=new_count))
        if said:
            sentence = writer.word("expansion-grows", numbers=writer.word("list-comma").join(said))
            yield new, (f"{new}{writer.word('name-in')}{sentence}" if new else sentence,)


def _moves(writer: Writer, difference: Difference) -> tuple[QuotedMove, ...] | None:
    if difference.moves is None:
        return None
    return tuple(
        QuotedMove(
            _fabric_name(writer, cable.fabric),
            name_links(writer, cable.kind),
            *(cable.old, cable.stay, cable.moved, cable.free, cable.added),
        )
        for cable in difference.moves.cables
        if cable.old
    )


def _fabric_name(writer: Writer, name: str) -> str:
    cluster, _, fabric = name.rpartition(".")
    return writer.joined(*(each for each in (cluster, writer.fabric_name(fabric)) if each))

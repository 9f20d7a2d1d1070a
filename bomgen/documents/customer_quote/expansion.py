"""The quote for an expansion, or for a later phase: parts to buy, cables to move, and surplus parts.

It is the quote of the order as any other, with what changes on site.
"""

from __future__ import annotations

from collections.abc import Iterator

from bomgen.core.document import Section, Table, row_of
from bomgen.documents.chapters.contents import count_categories
from bomgen.documents.customer_quote.record import (
    CustomerQuote,
    QuotedExpansion,
    customer_quote,
    name_links,
    open_items,
)
from bomgen.documents.tables import Writer, make_table
from bomgen.results.result import Growth


def expansion_quote(writer: Writer, growth: Growth) -> CustomerQuote:
    """Return the customer's record of what the writer's report orders beside the installed clusters."""
    quote = customer_quote(writer)
    grown = dict(_grown(writer, growth))
    pieces = ((line.category, line.pieces) for line in quote.lines if line.counted and line.charge is None)
    offered = writer.word("list-comma").join(count_categories(writer, pieces))
    return quote._replace(
        title=writer.word("expansion-title", title=quote.title),
        open_items=tuple(open_items(writer, counted=False)),
        existing=(),
        clusters=tuple(
            cluster._replace(sentences=grown.get(cluster.name, cluster.sentences))
            for cluster in quote.clusters
            if cluster.name in grown or cluster.name not in growth.today or not grown
        ),
        alternatives=(),
        id=None,
        expansion=QuotedExpansion(writer.word("expansion-headline", offered=offered), _changes(writer, growth)),
    )


def _grown(writer: Writer, growth: Growth) -> Iterator[tuple[str, tuple[str, ...]]]:
    word = writer.word
    for cluster in writer.report.each_cluster:
        name, numbers = cluster.plan.cluster_name, []
        for key in ("servers", "gpus") if name in growth.today else ():
            before, after = (getattr(design.sizing, key) for design in (growth.today[name].design, cluster.design))
            if before and after and after.value > before.value:
                counts = {"old": writer.language.number(before.value), "new": writer.language.number(after.value)}
                numbers.append(word(f"expansion-{key}", **counts))
        if numbers:
            sentence = word("expansion-grows", numbers=word("list-comma").join(numbers))
            yield name, (f"{name}{word('name-in')}{sentence}" if name else sentence,)


def _changes(writer: Writer, growth: Growth) -> Section:
    word, text, tables, moves = writer.word, list[str](), list[Table](), growth.moves
    cables = [cable for cable in moves.cables if cable.old] if moves else []
    rows = []
    for cable in cables:
        cluster, _, fabric = cable.fabric.rpartition(".")
        name = writer.joined(*filter(None, (cluster, writer.fabric_name(fabric))))
        stay, free, added = cable.stay - cable.replaced, cable.free + cable.replaced, cable.added + cable.replaced
        rows.append(row_of(name, name_links(writer, cable.kind), cable.old, stay, cable.moved, free, added))
    if rows:
        tables.append(make_table("moves", writer.language, rows, word("expansion-moves-lead")))
    if moves is None:
        text.append(word("expansion-moves-unknown"))
    elif not growth.moved_cables:
        text.append(word("expansion-no-moves"))
    moved = sum(moves.elsewhere.values()) if moves and writer.report.design.routed else 0
    if moved:
        text.append(word("expansion-machines", machines=writer.language.integer(moved)))
    if left_over := writer.report.bill.left_over:
        surplus = (
            row_of(line.sku or word("no-part-number"), writer.language.message(line.description), line.pieces)
            for line in left_over
        )
        tables.append(make_table("left-over", writer.language, surplus, word("expansion-left-over-lead")))
    else:
        text.append(word("expansion-nothing-left"))
    return Section("changes", word("expansion-changes"), text=tuple(text), tables=tuple(tables))

"""The chapters of the design and the order: fabrics, links, bill, and required parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from bomgen.catalog.identity import key_of
from bomgen.core.document import Cell, Column, Drawing, Path, Row, Section, Table, row_of
from bomgen.core.provenance import Derived
from bomgen.core.units import rounded
from bomgen.design.assembly import BuiltFabric
from bomgen.documents.chapters.money import price_note
from bomgen.documents.chapters.writer import Writer
from bomgen.fabric.types import tiers_in_words
from bomgen.optics.uses import Chosen
from bomgen.pricing.bill import OpenItem
from bomgen.pricing.bill_line import CATEGORIES
from bomgen.pricing.quote import QuoteLine
from bomgen.results.reasons import rejection
from bomgen.results.what_if import OtherDesign, full_build_out, with_oversubscription, with_split_servers

# links --------------------------------------------------------------------------------------------------------------
# The options selected for the links of a fabric, and the rejected ones.


def links_table(writer: Writer, built: BuiltFabric) -> Table:
    """Return a table with a row per kind of link: the option selected, its reason, and the rejected options."""
    columns = (
        Column("link", writer.word("column-link"), "text", 20),
        Column("way", writer.word("column-way"), "text", 30),
        Column("reason", writer.word("column-why"), "text", 40),
        Column("others", writer.word("column-others"), "text", 60),
    )
    rows = tuple(
        row
        for chosen in built.interconnect.choices
        for row in (_row(writer, chosen), *_short_rows(writer, built, chosen))
    )
    name = built.plan.name
    return Table(f"links-{name}", writer.word("table-links", name=writer.fabric_title(name)), columns, rows)


def _row(writer: Writer, chosen: Chosen) -> Row:
    selected = writer.language.value(chosen.option, "word")
    parts = writer.word("link-parts", names=writer.word("list-comma").join(chosen.parts)) if chosen.parts else ""
    reason = writer.word(f"chosen-{chosen.reason}")
    others = writer.word("list-semicolon").join(
        writer.joined(
            writer.language.value(option.name, "word"),
            f"{writer.language.message(rejection(option))}{_cost(writer, option.cost)}",
        )
        for option in chosen.others
    )
    return row_of(writer.place(chosen.kind), f"{selected}{parts}", f"{reason}{_cost(writer, chosen.cost)}", others)


def _short_rows(writer: Writer, built: BuiltFabric, chosen: Chosen) -> Iterator[Row]:
    for short in built.interconnect.short_links(chosen.kind):
        names = writer.word("list-comma").join(short.medium.part_ids)
        length = writer.language.value(short.longest_m, "m")
        yield row_of(
            writer.word("short-links", kind=writer.place(chosen.kind), length=length),
            f"{writer.language.value(short.medium.option, 'word')}{writer.word('link-parts', names=names)}",
            writer.word("chosen-short", links=writer.language.number(short.links.value)),
            "",
        )


def _cost(writer: Writer, cost: Fraction | None) -> str:
    if cost is None:
        return ""
    currency = writer.report.quote.totals.currency
    return writer.word("cost-of-link", amount=writer.language.money(rounded(cost, currency), currency))


# build --------------------------------------------------------------------------------------------------------------


def network(writer: Writer, drawings: tuple[Drawing, ...]) -> Section | None:
    """Return the chapter of the fabrics with their drawings; None if there are none."""
    if not writer.report.design.fabrics:
        return None
    tables = []
    for built in writer.report.design.fabrics:
        tables += [fabric_table(writer, built), *([links_table(writer, built)] if built.interconnect.choices else [])]
    return Section("network", writer.word("section-network"), tables=tuple(tables), drawings=drawings)


def fabric_table(writer: Writer, built: BuiltFabric) -> Table:
    """Return a table of all numbers of a fabric."""
    base = ("fabrics", built.plan.name)
    rows = tuple(
        row_of(_label(writer, built, path[2:]), *writer.row(path).cells[1:])
        for path in writer.numbers
        if path[:2] == base
    )
    title = writer.word(
        "table-fabric-named",
        name=writer.fabric_title(built.plan.name),
        topology=writer.language.value(built.fabric.topology, "word"),
    )
    caption = writer.word("list-sentences").join(_other_designs(writer, built)) or None
    return replace(
        writer.table("fabric", rows=rows), id=f"fabric-{built.plan.name}", title=title, caption=caption, code=True
    )


def _other_designs(writer: Writer, built: BuiltFabric) -> Iterator[str]:
    report = writer.report
    if (full := full_build_out(report, built)) and not full.is_equal:
        adds = min(full.pieces.values()) >= 0
        yield writer.word("full-would-add" if adds else "full-would-change", pieces=_name_pieces(writer, full, adds))
    if (other := with_oversubscription(report, built)) and not other.is_equal:
        yield writer.word("oversubscribed-would-change", pieces=_name_pieces(writer, other, False))
    if split := with_split_servers(report, built):
        numbers = {"switches": tiers_in_words(split.fabric), "built": tiers_in_words(built.fabric)}
        yield writer.word("split-would-take", **numbers)


def _name_pieces(writer: Writer, other_design: OtherDesign, adds: bool) -> str:
    shown = "{}" if adds else "{:+}"
    named = [
        writer.word(f"more-{kind}", count=shown.format(count)) for kind, count in other_design.pieces.items() if count
    ]
    if other_design.amount is not None:
        named.append(writer.language.money(other_design.amount, writer.report.quote.totals.currency))
    return writer.word("list-comma").join(named)


def _label(writer: Writer, built: BuiltFabric, path: Path) -> str:
    """Return the label of a number of a fabric; a bisection that is a lower bound says so."""
    if path[-1] == "bisection_gbps" and not built.fabric.exact_bisection:
        path = (*path[:-1], "bisection_at_least_gbps")
    named: dict[Path, str] = {("hosts", key_of(hosts.name)): hosts.name for hosts in built.hosts}
    if path[:2] in named:
        return writer.joined(
            writer.label(path[:1]), writer.language.value(named[path[:2]], "word"), writer.group_label(path[2:])
        )
    return writer.group_label(path)


def bill_table(writer: Writer) -> Table:
    """Return a table of every line of the bill with its price, by category."""
    columns = (
        Column("fabric", writer.word("column-fabric"), "text", 18),
        Column("role", writer.word("column-role"), "text", 20),
        Column("sku", writer.word("column-sku"), "text", 28),
        Column("description", writer.word("column-description"), "text", 44),
        Column("quantity", writer.word("column-quantity"), "number", 10, main=True),
        Column("spare", writer.word("column-spare"), "number", 8),
        Column("unit_price", writer.word("column-unit-price"), "money", 14),
        Column("discount", writer.word("column-discount"), "share", 10),
        Column("amount", writer.word("column-net-amount"), "money", 18, main=True),
        Column("explain", writer.word("column-why"), "text", 60),
    )
    ordered = sorted(writer.report.quote.lines, key=lambda line: CATEGORIES.index(line.line.category))
    return Table("bill", writer.word("table-bill"), columns, tuple(bill_row(writer, line) for line in ordered))


def _how(writer: Writer, priced: QuoteLine) -> str:
    how = writer.origin(priced.line.quantity)
    share = priced.line.charge.share if priced.line.charge else None
    if share is None or priced.of is None:
        return how
    whole = writer.language.money(priced.of, writer.report.quote.totals.currency)
    return writer.word("share-of", share=writer.language.exact_share(Fraction(share.value)), amount=whole, how=how)


def bill_row(writer: Writer, priced: QuoteLine) -> Row:
    """Return the row of one bill line."""
    line, currency = priced.line, writer.report.quote.totals.currency
    why = writer.derivation_of(line.quantity)
    if (
        why is None
        and line.path in writer.paths.figures
        and isinstance(writer.paths.figures[line.path].origin, Derived)
    ):
        why = line.path
    share = line.charge.share if line.charge else None
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
        Cell(priced.amount, currency, least=priced.least),
        Cell(_how(writer, priced)),
    )
    return Row(cells, writer.word(f"category-{line.category}"), line.in_stock)


# order --------------------------------------------------------------------------------------------------------------
# The chapter that completes an order: unpriced required parts, and open items.


def order(writer: Writer) -> Section | None:
    """Return the chapter of unpriced required parts and open items; None if there are neither."""
    parts = (_required(writer), _open_items(writer, False), _open_items(writer, None))
    tables = tuple(table for table in parts if table.rows)
    return Section("order", writer.word("section-order"), tables=tables) if tables else None


def _required(writer: Writer) -> Table:
    columns = (
        Column("sku", writer.word("column-sku"), "text", 28),
        Column("description", writer.word("column-description"), "text", 44),
        Column("quantity", writer.word("column-quantity"), "number", 10),
        Column("required_by", writer.word("column-required-by"), "text", 34),
        Column("explain", writer.word("column-why"), "text", 60),
    )
    rows = tuple(
        row_of(
            line.sku or writer.word("no-part-number"),
            writer.described(line),
            line.quantity.value,
            writer.language.message(line.required_by.name) if line.required_by else "",
            writer.origin(line.quantity),
            group=writer.word(f"category-{line.category}"),
        )
        for line in (priced.line for priced in writer.report.quote.unpriced_required)
    )
    return Table("required", writer.word("table-required"), columns, rows, writer.word("required-caption"))


def _open_items(writer: Writer, included: bool | None) -> Table:
    columns = (
        Column("choose", writer.word("column-choose"), "text", 60),
        Column("quantity", writer.word("column-quantity"), "number", 10),
        Column("required_by", writer.word("column-required-by"), "text", 34),
        Column("source", writer.word("column-source"), "text", 60),
    )
    rows = tuple(
        row_of(
            describe_choice(writer, item),
            item.quantity.value if item.quantity else writer.word("quantity-open"),
            writer.language.message(item.required_by.name),
            item.source or writer.word("unverified"),
        )
        for item in writer.report.bill.open_items
        if item.included is included
    )
    name = "not-on-bill" if included is False else "not-known"
    return Table(name, writer.word(f"table-{name}"), columns, rows, writer.word(f"{name}-caption"))


def describe_choice(writer: Writer, item: OpenItem) -> str:
    """Return the parts to choose from, with the unit of their quantity."""
    names = writer.word("list-or").join(
        writer.language.beside(writer.language.message(part.name), part.sku or "") for part in item.parts
    )
    return writer.word("choice-a-year", names=names) if item.per == "year" else names

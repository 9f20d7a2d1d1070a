"""The chapters of what is built: fabrics and the bill."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from bomgen.catalog.identity import slug
from bomgen.core.document import Cell, Column, Drawing, Row, Section, Table
from bomgen.core.provenance import Derived
from bomgen.design.assembly import BuiltFabric
from bomgen.fabric.types import tiers_in_words
from bomgen.pricing.bill_line import CATEGORIES
from bomgen.pricing.quote import QuoteLine
from bomgen.report.chapters.links import links_table
from bomgen.report.chapters.money import price_note
from bomgen.report.chapters.writer import Writer
from bomgen.report.metrics import Path
from bomgen.report.other_designs import OtherDesign, full_build_out, with_oversubscription, with_split_servers


def network(writer: Writer, drawings: tuple[Drawing, ...]) -> Section | None:
    """The fabrics with their drawings; None when there are none."""
    if not writer.report.design.fabrics:
        return None
    tables = tuple(table for built in writer.report.design.fabrics for table in _tables(writer, built))
    return Section("network", writer.word("section-network"), tables=tables, drawings=drawings)


def _tables(writer: Writer, built: BuiltFabric) -> Iterator[Table]:
    yield fabric_table(writer, built)
    if built.interconnect.choices:
        yield links_table(writer, built)


def fabric_table(writer: Writer, built: BuiltFabric) -> Table:
    """All numbers of a fabric."""
    base = ("fabrics", built.plan.name)
    rows = tuple(
        Row((Cell(_label(writer, built, path[2:])), *row.cells[1:]))
        for path, row in zip([path for path in writer.numbers if path[:2] == base], writer.rows(base), strict=True)
    )
    title = writer.word(
        "table-fabric-named",
        name=writer.fabric_title(built.plan.name),
        topology=writer.language.value(built.fabric.topology, "word"),
    )
    caption = " ".join(_other_designs(writer, built)) or None
    return replace(writer.table("fabric", rows), id=f"fabric-{built.plan.name}", title=title, caption=caption)


def _other_designs(writer: Writer, built: BuiltFabric) -> Iterator[str]:
    """What a full build-out would add, how many switches split servers would save, and what 2:1 would."""
    report = writer.report
    if (full := full_build_out(report, built)) and not full.is_equal:
        adds = min(_pieces(full).values()) >= 0
        yield writer.word("full-would-add" if adds else "full-would-change", pieces=_name_pieces(writer, full, adds))
    if (other := with_oversubscription(report, built)) and not other.is_equal:
        yield writer.word("oversubscribed-would-change", pieces=_name_pieces(writer, other, False))
    if split := with_split_servers(report, built):
        numbers = {"switches": tiers_in_words(split.fabric), "built": tiers_in_words(built.fabric)}
        yield writer.word("split-would-take", **numbers)


def _pieces(other: OtherDesign) -> dict[str, int]:
    return {"switches": other.switches, "links": other.links, "modules": other.modules, "cables": other.cables}


def _name_pieces(writer: Writer, other: OtherDesign, adds: bool) -> str:
    """The difference of another design in pieces and money; without signs where it only `adds`."""
    shown = "{}" if adds else "{:+}"
    named = [writer.word(f"more-{kind}", count=shown.format(count)) for kind, count in _pieces(other).items() if count]
    if other.amount is not None:
        named.append(writer.language.money(other.amount, writer.report.quote.totals.currency))
    return writer.word("list-comma").join(named)


def _label(writer: Writer, built: BuiltFabric, path: Path) -> str:
    """What a number of a fabric is called; a bisection that is a bound from below says so."""
    if path[-1] == "bisection_gbps" and not built.fabric.exact_bisection:
        path = (*path[:-1], "bisection_at_least_gbps")
    named: dict[Path, str] = {("hosts", slug(hosts.name)): hosts.name for hosts in built.hosts}
    if path[:2] in named:
        return writer.joined(
            writer.label(path[:1]), writer.language.value(named[path[:2]], "word"), writer.group_label(path[2:])
        )
    return writer.group_label(path)


def bill_table(writer: Writer) -> Table:
    """Every line of the bill with its price, by category."""
    columns = (
        Column("fabric", writer.word("column-fabric"), "text", 12),
        Column("role", writer.word("column-role"), "text", 20),
        Column("sku", writer.word("column-sku"), "text", 28),
        Column("description", writer.word("column-description"), "text", 44),
        Column("quantity", writer.word("column-quantity"), "number", 10),
        Column("spare", writer.word("column-spare"), "number", 8),
        Column("unit_price", writer.word("column-unit-price"), "money", 14),
        Column("discount", writer.word("column-discount"), "share", 10),
        Column("amount", writer.word("column-amount"), "money", 18),
        Column("explain", writer.word("column-why"), "text", 60),
    )
    ordered = sorted(writer.report.quote.lines, key=lambda line: CATEGORIES.index(line.line.category))
    return Table("bill", writer.word("table-bill"), columns, tuple(bill_row(writer, line) for line in ordered))


def _how(writer: Writer, priced: QuoteLine) -> str:
    """Why a line has its quantity; of a charge that is a share, of how much."""
    how = writer.origin(priced.line.quantity)
    share = priced.line.charge.share if priced.line.charge else None
    if share is None or priced.of is None:
        return how
    whole = writer.language.money(priced.of, writer.report.quote.totals.currency)
    return writer.word("share-of", share=writer.language.exact_share(Fraction(share.value)), amount=whole, how=how)


def bill_row(writer: Writer, priced: QuoteLine) -> Row:
    """One line of the bill."""
    line, currency = priced.line, writer.report.quote.totals.currency
    why = writer.paths.of.get(id(line.quantity))
    why = why if why and "#" not in why and isinstance(line.quantity.origin, Derived) else None
    if (
        why is None
        and line.path in writer.paths.figures
        and isinstance(writer.paths.figures[line.path].origin, Derived)
    ):
        why = line.path
    share = line.charge.share if line.charge else None
    cells = (
        Cell(writer.joined(*(name for name in (line.cluster, line.fabric) if name))),
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

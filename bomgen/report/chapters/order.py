"""The chapter of what completes an order: parts that others require and nobody has a price for, and open choices."""

from __future__ import annotations

from bomgen.catalog.parts import Identity
from bomgen.core.document import Cell, Column, Row, Section, Table
from bomgen.pricing.required_parts import OpenItem
from bomgen.report.chapters.writer import Writer


def order(writer: Writer) -> Section | None:
    """Required parts without a price, and what is not on the bill; None where there is neither."""
    tables = tuple(table for table in (_required(writer), _open_items(writer)) if table.rows)
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
        Row(
            (
                Cell(line.sku or writer.word("no-part-number")),
                Cell(writer.described(line)),
                Cell(line.quantity.value),
                Cell(line.required_by.name if line.required_by else ""),
                Cell(writer.origin(line.quantity)),
            ),
            writer.word(f"category-{line.category}"),
        )
        for line in (priced.line for priced in writer.report.quote.unpriced_required)
    )
    return Table("required", writer.word("table-required"), columns, rows, writer.word("required-caption"))


def _open_items(writer: Writer) -> Table:
    columns = (
        Column("choose", writer.word("column-choose"), "text", 60),
        Column("quantity", writer.word("column-quantity"), "number", 10),
        Column("required_by", writer.word("column-required-by"), "text", 34),
        Column("source", writer.word("column-source"), "text", 60),
    )
    rows = tuple(
        Row(
            (
                Cell(describe_choice(writer, item)),
                Cell(item.quantity.value if item.quantity else writer.word("quantity-open")),
                Cell(item.required_by.name),
                Cell(item.source or writer.word("unverified")),
            )
        )
        for item in writer.report.bill.open_items
    )
    return Table("not-on-bill", writer.word("table-not-on-bill"), columns, rows, writer.word("not-on-bill-caption"))


def describe_choice(writer: Writer, item: OpenItem) -> str:
    """The parts to choose from, and for what their number stands."""
    names = writer.word("list-or").join(_named(part) for part in item.parts)
    return writer.word("choice-a-year", names=names) if item.per == "year" else names


def _named(part: Identity) -> str:
    return f"{part.name} ({part.sku})" if part.sku else part.name

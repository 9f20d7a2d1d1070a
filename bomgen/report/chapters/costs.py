"""The chapter of costs: what each category of the bill comes to, as a picture and as a table."""

from __future__ import annotations

from bomgen.core.document import Cell, Column, Row, Section, Table
from bomgen.pricing.quote import Part, category_amounts
from bomgen.report.chapters.writer import Writer


def costs(writer: Writer) -> Section | None:
    """The chapter, whose charts have all of its numbers; None where nothing has a price."""
    if not category_amounts(writer.report.quote.lines):
        return None
    return Section("costs", writer.word("section-costs"))


def costs_table(writer: Writer) -> Table:
    """Amount and share of each category of the bill."""
    word = writer.word
    columns = (
        Column("category", word("column-category"), "text", 24),
        Column("amount", word("column-amount"), "money", 20),
        Column("share", word("column-share"), "share", 10),
        Column("lines", word("column-priced-lines"), "number", 18),
    )
    rows = tuple(_row(writer, part) for part in category_amounts(writer.report.quote.lines))
    return Table("costs", word("drawing-costs"), columns, rows, word("drawing-costs-text"))


def _row(writer: Writer, part: Part) -> Row:
    currency = writer.report.quote.totals.currency
    lines = writer.word("priced-lines", priced=part.priced_lines, lines=part.lines)
    return Row(
        (
            Cell(writer.word(f"category-{part.category}")),
            Cell(part.amount, currency, least=not part.complete),
            Cell(writer.language.rough_share(part.share) if part.amount is not None else None),
            Cell(lines),
        )
    )

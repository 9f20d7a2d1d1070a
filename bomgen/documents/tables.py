"""Columns and sections that several documents share."""

from __future__ import annotations

from bomgen.core.document import Column, Note, Section, Table
from bomgen.core.language import Language


def part_columns(language: Language, amount: bool = False, vendor: bool = False) -> tuple[Column, ...]:
    """Return the columns of a list of parts: part number, description, pieces; if asked for, manufacturer, amount."""
    columns = (
        *((Column("vendor", language.word("quote-manufacturer"), "text", 16),) if vendor else ()),
        Column("part", language.word("column-sku"), "text", 36),
        Column("description", language.word("column-description"), "text", 50, main=True),
        Column("pieces", language.word("quote-pieces"), "number", 10, main=True),
    )
    if not amount:
        return columns
    return (*columns, Column("amount", language.word("column-net-amount"), "money", 20, main=True))


def section_of(table: Table, text: tuple[str, ...] = (), notes: tuple[Note, ...] = ()) -> Section:
    """Return the section of one table, with its id and title; without the table if it has no rows."""
    return Section(table.id, table.title, text, (table,) if table.rows else (), notes)

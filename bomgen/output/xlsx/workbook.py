"""The report as an Excel workbook that stays live: change a quantity or a price, and the totals follow."""

from __future__ import annotations

from collections.abc import Sequence

from bomgen.core.document import Cell, Column, Derivation, Document, Section, Step, Table
from bomgen.core.language import Language
from bomgen.output.xlsx import looks
from bomgen.output.xlsx.bill import bill, groups
from bomgen.output.xlsx.cells import package
from bomgen.output.xlsx.cover import cover
from bomgen.output.xlsx.sheet import Book, Sheet

_BILL = "bill"
"""The section whose one table is the bill."""
_SENTENCE_WIDTH = 100
"""Width of a sheet without tables."""
_MAX_INDENT = 15


def workbook(document: Document, language: Language) -> bytes:
    """A document with a summary, a bill and derivations in; the bytes of an .xlsx file out.

    Equal documents give equal bytes.
    """
    book = Book(document, language)
    front = book.sheet(document.section("summary").title)
    place = [section.id for section in document.sections].index(_BILL)
    before, [of_bill, *behind] = document.sections[:place], document.sections[place:]
    pages = [(section, book.sheet(section.title)) for section in before if section.tables]
    lines, grouped = book.sheet(of_bill.title), book.sheet(language.word("xlsx-groups"))
    pages += [(section, book.sheet(section.title)) for section in behind if section.tables]
    derivations = document.section("derivations")
    _derivations(book.sheet(derivations.title), derivations)
    live = bill(lines, of_bill)
    groups(grouped, live)
    for section, sheet in pages:
        write_tables(sheet, section)
    cover(front, document, live)
    for sheet in book.sheets:
        sheet.finish()
    return package(book.workbook, book.results)


def tables(document: Document, language: Language) -> bytes:
    """A document of tables in, a sheet for each of its sections; the bytes of an .xlsx file out.

    Equal documents give equal bytes.
    """
    book = Book(document, language)
    for section in document.sections:
        sheet = book.sheet(section.title)
        write_tables(sheet, section)
        sheet.finish()
    return package(book.workbook, book.results)


def write_tables(sheet: Sheet, section: Section) -> None:
    """A sheet of tables. Tables of the same columns stand under one header that stays in sight."""
    tables = section.tables
    sheet.widths = [
        max(table.columns[position].width for table in tables if position < len(table.columns))
        for position in range(max((len(table.columns) for table in tables), default=0))
    ] or [_SENTENCE_WIDTH]
    lead = section.text if len(section.text) == 1 else ()
    sheet.heading(section.title, *lead, tables[0].caption if len(tables) == 1 else None)
    if len({tuple(column.title for column in table.columns) for table in tables}) == 1:
        sheet.header(tables[0].columns)
        sheet.freeze()
        for table in tables:
            if len(tables) > 1:
                if table.title != section.title:
                    _band(sheet, table.title, len(table.columns), looks.TABLE_BAND)
                if table.caption:
                    sheet.across(1, table.caption, looks.CAPTION)
            first = sheet.row
            _rows(sheet, table)
            if table.folded:
                sheet.fold_rows(first)
        sheet.row += 1
    else:
        for table in tables:
            _table(sheet, table)
    texts = section.text[len(lead) :]
    for text in texts:
        sheet.across(1, text, looks.PARAGRAPH)
    sheet.row += bool(texts)
    sheet.notes(section.notes)


def _table(sheet: Sheet, table: Table) -> None:
    sheet.together[sheet.row] = sheet.row + 2 + bool(table.caption)
    sheet.subheading(table.title)
    if table.caption:
        sheet.across(1, table.caption, looks.CAPTION)
    sheet.header(table.columns)
    _rows(sheet, table)
    sheet.row += 1


def _rows(sheet: Sheet, table: Table) -> None:
    named = all(column.key != "unit" for column in table.columns)
    group = None
    for row in table.rows:
        if row.group is not None and row.group != group:
            _band(sheet, row.group, len(table.columns), looks.GROUP)
        group = row.group
        write_row(sheet, table.columns, row.cells, named)


def write_row(sheet: Sheet, columns: Sequence[Column], row: Sequence[Cell], named: bool = False) -> None:
    """Write a row of cells; `named` puts units behind numbers."""
    for position, (column, cell) in enumerate(zip(columns, row, strict=True), 1):
        sheet.value(position, column, cell, named)
    sheet.row += 1


def _derivations(sheet: Sheet, section: Section) -> None:
    """How each number was worked out; the place of each is kept for links from the other sheets."""
    word = sheet.book.language.word
    columns = (
        Column("path", word("xlsx-path"), "text", 38),
        Column("name", word("xlsx-name"), "text", 40),
        Column("value", word("xlsx-value"), "number", 18),
        Column("unit", word("xlsx-unit"), "text", 14),
        Column("origin", word("xlsx-origin"), "text", 64),
        Column("expression", word("xlsx-expression"), "text", 64),
    )
    sheet.widths = [column.width for column in columns]
    sheet.folded = {len(columns)}
    sheet.heading(sheet.title, *section.text)
    sheet.header(columns)
    sheet.freeze()
    for derivation in section.derivations:
        _derivation(sheet, columns, derivation)


def _derivation(sheet: Sheet, columns: Sequence[Column], derivation: Derivation) -> None:
    sheet.book.places[derivation.path] = f"{sheet.quoted}!A{sheet.row}"
    sheet.book.derived[derivation.path] = derivation
    sheet.put(1, derivation.path, looks.PATH)
    _band(sheet, derivation.title, len(columns), looks.GROUP, start=2)
    for step in derivation.steps:
        _step(sheet, columns, step)


def _step(sheet: Sheet, columns: Sequence[Column], step: Step) -> None:
    sheet.put(1, None, looks.TEXT)
    sheet.put(2, step.name, looks.TEXT._replace(indent=min(step.depth, _MAX_INDENT)))
    cells = (
        Cell(step.value, step.unit, estimate=step.estimate),
        Cell(sheet.book.language.unit(step.unit, step.value)),
        Cell(step.origin),
        Cell(step.expression),
    )
    for position in range(2, len(columns)):
        sheet.value(position + 1, columns[position], cells[position - 2], named=False)
    sheet.row += 1


def _band(sheet: Sheet, text: str, width: int, look: looks.Look, start: int = 1) -> None:
    """A heading over rows of so many columns, from a column on."""
    sheet.put(start, text, look)
    for position in range(start + 1, width + 1):
        sheet.put(position, None, look)
    sheet.row += 1

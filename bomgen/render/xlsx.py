"""The report as an Excel workbook that goes on calculating: change a quantity or a price, and the totals follow."""

from __future__ import annotations

from collections.abc import Sequence

from bomgen.document import Cell, Column, Derivation, Document, Note, Section, Step, Table
from bomgen.language import Language, is_prefixed
from bomgen.render.xlsx_bill import Bill, bill, summary
from bomgen.render.xlsx_finish import package
from bomgen.render.xlsx_sheet import (
    CAPTION,
    GROUP,
    HEADING,
    LABEL,
    NUMBER,
    PARAGRAPH,
    PATH,
    TABLE_BAND,
    TEXT,
    WARNING,
    Book,
    Look,
    Sheet,
)
from bomgen.render.xlsx_text import number_format

_BILL = "bill"
"""The section whose one table is the bill."""
_SUMMARY_WIDTHS = (34, 26, 16, 24)
_MAX_INDENT = 15


def workbook(document: Document, language: Language) -> bytes:
    """A document with a summary, a bill and derivations in; the bytes of an .xlsx file out.

    Equal documents give equal bytes.
    """
    book = Book(document, language)
    cover = book.sheet(document.section("summary").title)
    pages = [(section, book.sheet(section.title)) for section in document.sections if section.tables]
    derivations = document.section("derivations")
    _derivations(book.sheet(derivations.title), derivations)
    live = next(bill(sheet, section) for section, sheet in pages if section.id == _BILL)
    for section, sheet in pages:
        if section.id != _BILL:
            _tables(sheet, section)
    _summary(cover, document, live)
    for sheet in book.sheets:
        sheet.finish()
    return package(book.workbook, book.results)


def _summary(sheet: Sheet, document: Document, live: Bill) -> None:
    """The cover: facts, headline numbers, totals, and the notes that have no other sheet."""
    section = document.section("summary")
    sheet.widths = list(_SUMMARY_WIDTHS)
    sheet.heading(document.title, document.subtitle)
    sheet.row += 1
    for text in section.text:
        sheet.across(1, text, PARAGRAPH)
    sheet.row += bool(section.text)
    for label, text in document.facts:
        sheet.put(1, label, LABEL)
        sheet.across(2, text, TEXT)
    sheet.row += bool(document.facts)
    if document.headline:
        _headline(sheet, document.headline)
    summary(sheet, live)
    _notes(sheet, [note for section in document.sections if not section.tables for note in section.notes])


def _headline(sheet: Sheet, numbers: Sequence[tuple[str, Cell]]) -> None:
    """The few numbers that the reader came for, each with its unit beside it."""
    language = sheet.book.language
    columns = (
        Column("name", language.word("xlsx-key-figure")),
        Column("value", language.word("xlsx-value"), "number"),
        Column("unit", language.word("xlsx-unit")),
    )
    sheet.header(columns)
    for label, cell in numbers:
        sheet.put(1, label, LABEL)
        sheet.link(sheet.put(2, cell.value, NUMBER, number_format(cell.value, cell.unit, language, named=False)), cell)
        named = is_prefixed(cell.value, cell.unit)
        sheet.put(len(columns), "" if named else language.unit(cell.unit), TEXT)
        sheet.row += 1
    sheet.row += 1


def _tables(sheet: Sheet, section: Section) -> None:
    """A sheet of tables. Tables of the same columns stand under one header that stays in sight."""
    tables = section.tables
    sheet.widths = [
        max(table.columns[position].width for table in tables if position < len(table.columns))
        for position in range(max(len(table.columns) for table in tables))
    ]
    lead = section.text if len(section.text) == 1 else ()
    sheet.heading(section.title, *lead, tables[0].caption if len(tables) == 1 else None)
    if len({tuple(column.title for column in table.columns) for table in tables}) == 1:
        sheet.header(tables[0].columns)
        sheet.freeze()
        for table in tables:
            if len(tables) > 1:
                _band(sheet, table.title, len(table.columns), TABLE_BAND)
                if table.caption:
                    sheet.across(1, table.caption, CAPTION)
            _rows(sheet, table)
        sheet.row += 1
    else:
        for table in tables:
            _table(sheet, table)
    texts = section.text[len(lead) :]
    for text in texts:
        sheet.across(1, text, PARAGRAPH)
    sheet.row += bool(texts)
    _notes(sheet, section.notes)


def _table(sheet: Sheet, table: Table) -> None:
    """A table with its own title and header."""
    sheet.put(1, table.title, HEADING)
    sheet.row += 1
    if table.caption:
        sheet.across(1, table.caption, CAPTION)
    sheet.header(table.columns)
    _rows(sheet, table)
    sheet.row += 1


def _rows(sheet: Sheet, table: Table) -> None:
    """The rows of a table under the headings of their groups."""
    named = all(column.key != "unit" for column in table.columns)
    group = None
    for row in table.rows:
        if row.group is not None and row.group != group:
            _band(sheet, row.group, len(table.columns), GROUP)
        group = row.group
        for position, (column, cell) in enumerate(zip(table.columns, row.cells, strict=True), 1):
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
    )
    sheet.widths = [column.width for column in columns]
    sheet.heading(sheet.title, *section.text)
    sheet.header(columns)
    sheet.freeze()
    for derivation in section.derivations:
        _derivation(sheet, columns, derivation)


def _derivation(sheet: Sheet, columns: Sequence[Column], derivation: Derivation) -> None:
    sheet.book.places[derivation.path] = f"{sheet.quoted}!A{sheet.row}"
    sheet.put(1, derivation.path, PATH)
    _band(sheet, derivation.title, len(columns), GROUP, start=2)
    for step in derivation.steps:
        _step(sheet, columns, step)


def _step(sheet: Sheet, columns: Sequence[Column], step: Step) -> None:
    """One line of a derivation, its name indented by its depth."""
    sheet.put(1, None, TEXT)
    sheet.put(2, step.name, TEXT._replace(indent=min(step.depth, _MAX_INDENT)))
    cells = (Cell(step.value, step.unit), Cell(sheet.book.language.unit(step.unit)), Cell(step.origin))
    for position in range(2, len(columns)):
        sheet.value(position + 1, columns[position], cells[position - 2], named=False)
    sheet.row += 1


def _band(sheet: Sheet, text: str, width: int, look: Look, start: int = 1) -> None:
    """A heading over rows of so many columns, from a column on."""
    sheet.put(start, text, look)
    for position in range(start + 1, width + 1):
        sheet.put(position, None, look)
    sheet.row += 1


def _notes(sheet: Sheet, notes: Sequence[Note]) -> None:
    """Notes with their level before them and their place behind."""
    word = sheet.book.language.word
    for note in notes:
        text = word("xlsx-note-at", text=note.text, place=note.place) if note.place else note.text
        sheet.put(1, word(f"xlsx-{note.level}"), WARNING if note.level == "warning" else LABEL)
        sheet.across(2, text, TEXT)

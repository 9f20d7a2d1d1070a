"""The report and the quote as Excel workbooks that stay live: change a quantity or a price, and the totals follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from bomgen.core.document import Cell, Column, Document, Section, Step, Table
from bomgen.core.language import Language
from bomgen.documents.tables import amount_of, reference
from bomgen.output.xlsx import looks
from bomgen.output.xlsx.bill import BillReferences, absolute, bill, check_sum, groups
from bomgen.output.xlsx.cells import NO_DATE, package
from bomgen.output.xlsx.cover import categories, cover, logo, sides_and_facts, totals
from bomgen.output.xlsx.sheet import Book, Sheet
from bomgen.reading.quote_workbook import INCLUSIVE, QuoteCells

_BILL = "bill"
"""The section whose one table is the bill."""
_DERIVATIONS = "derivations"
"""The last section of a report, which no other document has."""
_SENTENCE_WIDTH = 100
"""Width of a sheet without tables."""
_MAX_INDENT = 15


class WorkbookFile(NamedTuple):
    """The bytes of an .xlsx file, and its cells whose edits go back into the plan: those of a quote."""

    content: bytes
    cells: QuoteCells


def workbook(document: Document, language: Language) -> WorkbookFile:
    """Return a quote, a report, or a document of tables, which has a sheet for each of its sections, as a workbook.

    Equal documents give equal bytes.
    """
    book = Book(document, language)
    if document.cover:
        _quote(book)
    elif any(section.id == _DERIVATIONS for section in document.sections):
        _report(book)
    else:
        for section in document.sections:
            write_tables(book.sheet(section.title), section)
    for sheet in book.sheets:
        sheet.finish()
    day = datetime.fromisoformat(document.date) if document.date else NO_DATE
    return WorkbookFile(package(book.workbook, book.results, day), book.cells)


def _report(book: Book) -> None:
    """Write the summary, a sheet for each chapter with tables, and the derivations that their numbers link to."""
    document, word = book.document, book.language.word
    front = book.sheet(document.section("summary").title)
    place = [section.id for section in document.sections].index(_BILL)
    before, [of_bill, *behind] = document.sections[:place], document.sections[place:]
    pages = [(section, book.sheet(section.title)) for section in before if section.tables]
    lines, grouped = book.sheet(of_bill.title), book.sheet(word("xlsx-groups"))
    pages += [(section, book.sheet(section.title)) for section in behind if section.tables]
    derivations = document.section(_DERIVATIONS)
    _derivations(book.sheet(derivations.title), derivations)
    live = bill(lines, of_bill)
    groups(grouped, live)
    for section, sheet in pages:
        write_tables(sheet, section)
    cover(front, document, live)


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


# quote --------------------------------------------------------------------------------------------------------------
# The quote as a workbook for the customer: cover, live bill, order list by formulas, racks and network, terms.

_QUOTE_WIDTHS = (34, 24, 20, 22)
_ORDER_LIST, _TERMS = "order-list", "terms"
_TABLES = ("changes", "racks-and-network")
"""The sections that are sheets of their own, as far as a quote has them with tables."""
_TEXTS = ("changes", "not-included", "notes", _TERMS)
"""The sections of sentences that stand on one sheet, as far as a quote has them."""
_DESCRIPTION = 3
"""The column of the order list behind those of manufacturer and part number."""
_ROWS_OF_SUM = 3
"""Rows below the order list: sum, check, space."""
_OTHER_SIDE = 3
"""The column of the customer's signature, beside the seller's; it takes the next one as well."""


def _quote(book: Book) -> None:
    """Write cover, live bill, order list, racks and network, and terms."""
    document, language = book.document, book.language
    # Prices including tax are left out: formulas add the tax below the lines.
    held = {section.id: replace(section, tables=tuple(map(_omit_tax, section.tables))) for section in document.sections}
    [charged] = held[_BILL].tables
    held[_BILL] = replace(held[_BILL], tables=(replace(charged, caption=language.word("quote-bill-lead")),))
    front, lines = book.sheet(language.word("quote-quotation")), book.sheet(held[_BILL].title)
    by_part = book.sheet(held[_ORDER_LIST].title) if _ORDER_LIST in held else None
    sheets = [(book.sheet(held[name].title), held[name]) for name in _TABLES if name in held and held[name].tables]
    terms = book.sheet(held[_TERMS].title)
    live = bill(lines, held[_BILL])
    if by_part:
        _order_list(by_part, held[_ORDER_LIST])
    for sheet, section in sheets:
        write_tables(sheet, replace(section, drawings=()))
    _cover(front, document, live)
    _terms(terms, [held[name] for name in _TEXTS if name in held and not held[name].tables], live)


def _omit_tax(table: Table) -> Table:
    kept = [at for at, column in enumerate(table.columns) if column.key not in INCLUSIVE]
    rows = tuple(replace(row, cells=tuple(row.cells[at] for at in kept)) for row in table.rows)
    return replace(table, columns=tuple(table.columns[at] for at in kept), rows=rows)


def _cover(sheet: Sheet, document: Document, live: BillReferences) -> None:
    """Who offers what to whom, the totals, and the alternatives that the customer asked for."""
    sheet.widths = list(_QUOTE_WIDTHS)
    logo(sheet, document.logo)
    sheet.mark(1, "title")
    sheet.heading(document.title, document.subtitle)
    sheet.row += 1
    sides_and_facts(sheet, document)
    sheet.row += 1
    for text in (*(document.cover.bought if document.cover else ()), *document.section("offer").text):
        sheet.across(1, text, looks.PARAGRAPH)
    sheet.row += 1
    if document.cover and document.cover.lead:
        _across(sheet, document.cover.lead)
        sheet.row += 1
    totals(sheet, live)
    for note in document.cover.notes if document.cover else ():
        _across(sheet, note)
    sheet.row += 1
    categories(sheet, live)
    for section in document.sections:
        if section.id == "alternatives":
            _alternatives(sheet, section)


def _across(sheet: Sheet, sentence: Cell) -> None:
    """Write a sentence over the whole row."""
    sheet.across(1, str(sentence.value), looks.PARAGRAPH)
    if sentence.formula:
        sheet.row -= 1
        sheet.line((sentence, looks.PARAGRAPH))


def _alternatives(sheet: Sheet, section: Section) -> None:
    """Each alternative in a row: the cover has no room for a column each."""
    [table, *changes], language = section.tables, sheet.book.language
    word = language.word
    total, *differences = (row for row in table.rows if row.id)
    sheet.subheading(section.title)
    sheet.across(1, word("xlsx-alternatives"), looks.PARAGRAPH)
    currency = language.unit_of(sheet.book.document.totals.currency)
    titles = [language.beside(f"{row.cells[0].value}", currency) for row in (total, *differences)]
    amounts = [Column(f"amount-{at}", title, "money") for at, title in enumerate(titles)]
    sheet.header((Column("name", word("xlsx-alternative")), *amounts))
    for at, column in enumerate(table.columns[1:], 1):
        sheet.put(1, column.title, looks.LABEL)
        for position, row in enumerate((total, *differences), 2):
            sheet.value(position, column, row.cells[at], named=False)
        sheet.row += 1
    for text in section.text[1:]:
        sheet.across(1, text, looks.PARAGRAPH)
    for change in changes:
        sheet.row += 1
        sheet.subheading(change.title)
        columns = change.columns[1:]
        sheet.header(columns)
        for row in change.rows:
            [part, *cells] = row.cells
            texts = (each.value for each in (cells[0], part) if each.value)
            cells[0] = replace(cells[0], value=word("list-semicolon").join(map(str, texts)))
            for position, (column, cell) in enumerate(zip(columns, cells, strict=True), 1):
                sheet.value(position, column, cell, named=False)
            sheet.row += 1


def _order_list(sheet: Sheet, section: Section) -> None:
    """Each part number with its pieces and what they come to, by formulas that refer to the bill.

    What is required and has no price follows; the bill may get its price from the reader.
    """
    table, *others = section.tables
    document, language = sheet.book.document, sheet.book.language
    word = language.word
    sheet.widths = [column.width for column in table.columns]
    currency = word("xlsx-currency", currency=language.unit_of(document.totals.currency))
    sheet.heading(section.title, *section.text, currency)
    sheet.header(table.columns)
    sheet.freeze()
    first = sheet.row
    for row in table.rows:
        write_row(sheet, table.columns, row.cells)
    amount = sheet.letters["amount"]
    priced = f"SUM({amount}{first}:{amount}{sheet.row - 1})"
    of_sum, sheet.row = sheet.row, sheet.row + _ROWS_OF_SUM
    ordered = {tuple(cell.value for cell in row.cells[:_DESCRIPTION]) for row in table.rows}
    for other in others:
        sheet.subheading(other.title)
        sheet.across(1, word("list-sentences").join((str(other.caption), word("xlsx-required-hint"))), looks.TEXT)
        sheet.header((*other.columns, table.columns[-1]))
        area = f"{amount}{sheet.row}:{amount}{sheet.row + len(other.rows) - 1}"
        sheet.book.areas[f"{other.id}.amount"] = f"{sheet.quoted}!{absolute(area)}"
        priced += f"+SUM({area})"
        for row in other.rows:
            # The amount is that of the line by which the reader adds the part to the bill. Where parts of its name are
            # ordered as well, the list of those has the line.
            number, description = (f"${reference(key)}" for key in ("part", "description"))
            named = f'(EXACT(bom_part_numbers,{number})+(bom_part_numbers=""))'
            added = Cell(None, document.totals.currency)
            if tuple(cell.value for cell in row.cells[:_DESCRIPTION]) not in ordered:
                added = replace(added, formula=amount_of(f"EXACT(bom_descriptions,{description})*{named}", language))
            write_row(sheet, (*other.columns, table.columns[-1]), (*row.cells, added))
    end, sheet.row = sheet.row, of_sum
    for column in range(1, len(table.columns)):
        sheet.put(column, None, looks.GRAND_TEXT)
    sheet.put(_DESCRIPTION, word("xlsx-net"), looks.GRAND_TEXT)
    sheet.put(len(table.columns), Cell(document.totals.net, formula=priced), looks.GRAND, sheet.book.plain)
    sheet.row += 1
    check_sum(sheet, len(table.columns))
    sheet.row = max(end, sheet.row + 1)


def _terms(sheet: Sheet, sections: Sequence[Section], live: BillReferences) -> None:
    """What the quote rests on, and room for the signatures of both sides."""
    word = sheet.book.language.word
    sheet.widths = list(_QUOTE_WIDTHS)
    sheet.heading(sheet.title)
    for section in sections:
        if section.title != sheet.title:
            sheet.subheading(section.title)
        for at, text in enumerate(section.text, section.own - len(section.text)):
            if at >= 0:
                sheet.mark(1, "term", at)
            sheet.across(1, text, looks.PARAGRAPH)
        sheet.row += 1
    document = sheet.book.document
    label = document.cover.label if document.cover and document.totals.priced_lines else ""
    for text in document.acceptance:
        accepted, _, total = text.partition(label) if label else (text, "", "")
        sheet.across(1, accepted.strip(), looks.PARAGRAPH)
        if total:
            last, label_address = live.sums[-1]
            label_cell = Cell(last.label.value, formula=label_address)
            amount = Cell(last.cell.value, formula=last.name), looks.GRAND, sheet.book.money
            sheet.line((label_cell, looks.LABEL), amount)
    if not document.acceptance:
        return
    sheet.row += 1
    sheet.put(1, word("quote-for-seller"), looks.LABEL)
    sheet.across(_OTHER_SIDE, word("quote-for-customer"), looks.LABEL)
    sheet.row += 1
    for line in ("quote-name", "quote-signature", "quote-signed-on"):
        sheet.put(1, word(line), looks.TEXT)
        sheet.across(_OTHER_SIDE, word(line), looks.TEXT)
        sheet.row += 1

"""The quote as a workbook for the customer: cover, live bill, order list by formulas, racks and network, terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from bomgen.core.document import Cell, Column, Document, Section, Table
from bomgen.core.language import Language
from bomgen.documents.tables import amount_of, reference
from bomgen.output.xlsx import looks
from bomgen.output.xlsx.bill import BillReferences, absolute, bill, check_sum
from bomgen.output.xlsx.cells import NO_DATE, package
from bomgen.output.xlsx.cover import categories, logo, sides_and_facts, totals
from bomgen.output.xlsx.sheet import Book, Sheet
from bomgen.output.xlsx.workbook import write_row, write_tables
from bomgen.reading.quote_workbook import INCLUSIVE, QuoteCells

_WIDTHS = (34, 24, 20, 22)
_ORDER_LIST, _BILL, _TERMS = "order-list", "bill", "terms"
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


class QuoteWorkbook(NamedTuple):
    """The bytes of an .xlsx file, and its cells whose edits go back into the plan."""

    content: bytes
    cells: QuoteCells


def quote_workbook(document: Document, language: Language) -> QuoteWorkbook:
    """A quote in, its workbook out. Equal documents give equal bytes."""
    book = Book(document, language)
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
    for sheet in book.sheets:
        sheet.finish()
    day = datetime.fromisoformat(document.date) if document.date else NO_DATE
    return QuoteWorkbook(package(book.workbook, book.results, day), book.cells)


def _omit_tax(table: Table) -> Table:
    kept = [at for at, column in enumerate(table.columns) if column.key not in INCLUSIVE]
    rows = tuple(replace(row, cells=tuple(row.cells[at] for at in kept)) for row in table.rows)
    return replace(table, columns=tuple(table.columns[at] for at in kept), rows=rows)


def _cover(sheet: Sheet, document: Document, live: BillReferences) -> None:
    """Who offers what to whom, the totals, and the alternatives that the customer asked for."""
    sheet.widths = list(_WIDTHS)
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
    sheet.widths = list(_WIDTHS)
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

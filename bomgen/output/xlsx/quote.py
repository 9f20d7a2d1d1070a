"""The quote as a workbook for the customer: cover, live bill, order list by formulas, racks and network, terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from bomgen.core.document import Column, Document, Row, Section
from bomgen.core.language import Language
from bomgen.output.xlsx.bill import Bill, bill, results_of
from bomgen.output.xlsx.cells import WHOLE, decimals_of, fixed, literal, storable
from bomgen.output.xlsx.cover import categories, totals
from bomgen.output.xlsx.logo import logo
from bomgen.output.xlsx.package import package
from bomgen.output.xlsx.sheet import Book, Sheet
from bomgen.output.xlsx.styles import GRAND, GRAND_TEXT, LABEL, NUMBER, PARAGRAPH, TEXT
from bomgen.output.xlsx.workbook import write_tables

_WIDTHS = (34, 26, 16, 24)
_ORDER_LIST, _BILL, _TERMS = "order-list", "bill", "terms"
_TABLES = ("changes", "racks-and-network")
"""The sections that are sheets of their own, as far as a quote has them with tables."""
_TEXTS = ("changes", "not-included", _TERMS)
"""The sections of sentences that stand on one sheet, as far as a quote has them."""
_PIECES, _AMOUNT = 3, 4
"""The columns of the order list that are formulas."""
_OTHER_SIDE = 3
"""The column of the customer's signature, beside the seller's; it takes the next one as well."""


def quote_workbook(document: Document, language: Language) -> bytes:
    """A quote in; the bytes of an .xlsx file out. Equal documents give equal bytes."""
    book = Book(document, language)
    held = {section.id: section for section in document.sections}
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
    _terms(terms, [held[name] for name in _TEXTS if name in held and not held[name].tables])
    for sheet in book.sheets:
        sheet.finish()
    return package(book.workbook, book.results)


def _cover(sheet: Sheet, document: Document, live: Bill) -> None:
    """Who offers what to whom, the totals, and the alternatives that the customer asked for."""
    sheet.widths = list(_WIDTHS)
    logo(sheet, document.logo)
    sheet.heading(document.title, document.subtitle)
    sheet.row += 1
    for party in document.parties:
        sheet.put(1, party.title, LABEL)
        sheet.across(2, "\n".join(party.lines), TEXT)
    for label, text in document.facts:
        sheet.put(1, label, LABEL)
        sheet.across(2, text, TEXT)
    sheet.row += 1
    for text in document.section("offer").text:
        sheet.across(1, text, PARAGRAPH)
    sheet.row += 1
    totals(sheet, live)
    for text in document.cover.notes if document.cover else ():
        sheet.across(1, text, PARAGRAPH)
    sheet.row += 1
    categories(sheet, live)
    for section in document.sections:
        if section.id == "alternatives":
            _alternatives(sheet, section)


def _alternatives(sheet: Sheet, section: Section) -> None:
    """Each alternative in a row: the cover has no room for a column each."""
    [table] = section.tables
    total = next(row for row in table.rows if row.id)
    sheet.subheading(section.title)
    sheet.across(1, section.text[0], PARAGRAPH)
    sheet.header((Column("name", table.columns[0].title), Column("amount", str(total.cells[0].value), "money")))
    for column, cell in zip(table.columns[1:], total.cells[1:], strict=True):
        sheet.put(1, column.title, LABEL)
        sheet.value(2, column, cell)
        sheet.row += 1


def _order_list(sheet: Sheet, section: Section) -> None:
    """Each part number with its pieces and what they come to, by formulas that refer to the bill; then other tables."""
    table, *others = section.tables
    document, word = sheet.book.document, sheet.book.language.word
    sheet.widths = [column.width for column in table.columns]
    sheet.heading(section.title, *section.text, word("xlsx-currency", currency=document.totals.currency))
    sheet.header(table.columns)
    sheet.freeze()
    first, money = sheet.row, fixed(decimals_of(document.totals))
    for row in table.rows:
        _order_line(sheet, row, money)
    sheet.put(1, None, GRAND_TEXT)
    sheet.put(2, word("xlsx-net"), GRAND_TEXT)
    sheet.put(_PIECES, None, GRAND_TEXT)
    comes_to = results_of(document.totals)["net"]
    sheet.calculate(_AMOUNT, f"SUM(D{first}:D{sheet.row - 1})", comes_to, GRAND, money)
    sheet.row += 2
    for other in others:
        sheet.subheading(other.title)
        if other.caption:
            sheet.across(1, other.caption, TEXT)
        for row in other.rows:
            for position, (column, cell) in enumerate(zip(other.columns, row.cells, strict=True), 1):
                sheet.value(position, column, cell)
            sheet.row += 1


def _order_line(sheet: Sheet, row: Row, money: str) -> None:
    number, description, pieces, amount = row.cells
    count = storable(pieces.value) if isinstance(pieces.value, int | Fraction) else 0
    sheet.put(1, number.value, TEXT)
    sheet.put(2, description.value, TEXT)
    its = f"EXACT(bom_part_numbers,$A{sheet.row})*EXACT(bom_descriptions,$B{sheet.row})"
    sheet.calculate(_PIECES, f"SUMPRODUCT({its}*(bom_quantities+bom_spares))", count, NUMBER, WHOLE)
    without = sheet.book.language.word("xlsx-no-price")
    sheet.calculate(
        _AMOUNT,
        f"IF(SUMPRODUCT({its}*ISNUMBER(bom_amounts))=0,{literal(without)},SUMPRODUCT({its},bom_amounts))",
        amount.value if isinstance(amount.value, Decimal) else without,
        NUMBER,
        money,
    )
    sheet.row += 1


def _terms(sheet: Sheet, sections: Sequence[Section]) -> None:
    """What the quote rests on, and room for the signatures of both sides."""
    word = sheet.book.language.word
    sheet.widths = list(_WIDTHS)
    sheet.heading(sheet.title)
    for section in sections:
        if section.title != sheet.title:
            sheet.subheading(section.title)
        for text in section.text:
            sheet.across(1, text, PARAGRAPH)
        sheet.row += 1
    sheet.put(1, word("quote-for-seller"), LABEL)
    sheet.across(_OTHER_SIDE, word("quote-for-customer"), LABEL)
    sheet.row += 1
    for line in ("quote-name", "quote-signature", "quote-signed-on"):
        sheet.put(1, word(line), TEXT)
        sheet.across(_OTHER_SIDE, word(line), TEXT)
        sheet.row += 1

"""The quote as a workbook for the customer: cover, live bill, order list by formulas, racks and network, terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.document import Column, Document, NoteKind, Row, Section, Table
from bomgen.core.language import Language
from bomgen.core.units import Totals
from bomgen.output.xlsx.bill import BillReferences, bill, results_of
from bomgen.output.xlsx.cells import (
    GRAND,
    GRAND_TEXT,
    LABEL,
    NUMBER,
    PARAGRAPH,
    TEXT,
    WHOLE,
    WORD_OF_NUMBERS,
    decimals_of,
    fixed,
    literal,
    money_format,
    percent,
    storable,
)
from bomgen.output.xlsx.cover import categories, logo, sides_and_facts, totals
from bomgen.output.xlsx.groups import check_sum
from bomgen.output.xlsx.inputs import absolute, rate_names
from bomgen.output.xlsx.package import NO_DATE, package
from bomgen.output.xlsx.sheet import Book, Sheet
from bomgen.output.xlsx.workbook import write_tables
from bomgen.reading.quote_workbook import INCLUSIVE, QuoteCells

_WIDTHS = (34, 24, 20, 22)
_ORDER_LIST, _BILL, _TERMS = "order-list", "bill", "terms"
_TABLES = ("changes", "racks-and-network")
"""The sections that are sheets of their own, as far as a quote has them with tables."""
_TEXTS = ("changes", "not-included", "notes", _TERMS)
"""The sections of sentences that stand on one sheet, as far as a quote has them."""
_NUMBER, _DESCRIPTION, _PIECES, _AMOUNT = 2, 3, 4, 5
"""The columns of the order list behind that of the manufacturer; the last two are formulas."""
_BEHIND_THE_SUM = 6
"""Rows from the last line of the order list to the first required part: sum, check, space, title, caption, header."""
_NONE = "0"
"""The formula for no required parts."""
_HOLE = "\0"
"""What stands in a sentence for what a formula comes to."""
_FIXED: tuple[NoteKind, ...] = ("open", "without")
"""The notes of the cover that no cell of the workbook changes."""
_OTHER_SIDE = 3
"""The column of the customer's signature, beside the seller's; it takes the next one as well."""


class QuoteWorkbook(NamedTuple):
    """The bytes of an .xlsx file, and its cells whose edits go back into the plan."""

    content: bytes
    cells: QuoteCells


def quote_workbook(document: Document, language: Language) -> QuoteWorkbook:
    """A quote in, its workbook out. Equal documents give equal bytes."""
    book = Book(document, language)
    held = {section.id: _before_tax(section) for section in document.sections}
    [charged] = held[_BILL].tables
    held[_BILL] = replace(held[_BILL], tables=(replace(charged, caption=language.word("quote-bill-lead")),))
    front, lines = book.sheet(language.word("quote-quotation")), book.sheet(held[_BILL].title)
    by_part = book.sheet(held[_ORDER_LIST].title) if _ORDER_LIST in held else None
    sheets = [(book.sheet(held[name].title), held[name]) for name in _TABLES if name in held and held[name].tables]
    terms = book.sheet(held[_TERMS].title)
    live = bill(lines, held[_BILL])
    unpriced = _order_list(by_part, held[_ORDER_LIST]) if by_part else _NONE
    for sheet, section in sheets:
        write_tables(sheet, replace(section, drawings=()))
    _cover(front, document, live, unpriced)
    _terms(terms, [held[name] for name in _TEXTS if name in held and not held[name].tables], live)
    for sheet in book.sheets:
        sheet.finish()
    day = datetime.fromisoformat(document.date) if document.date else NO_DATE
    return QuoteWorkbook(package(book.workbook, book.results, day), book.cells)


def _before_tax(section: Section) -> Section:
    """Return a section without prices including tax: formulas add the tax below the lines."""
    return replace(section, tables=tuple(map(_without_tax, section.tables)))


def _without_tax(table: Table) -> Table:
    kept = [at for at, column in enumerate(table.columns) if column.key not in INCLUSIVE]
    rows = tuple(replace(row, cells=tuple(row.cells[at] for at in kept)) for row in table.rows)
    return replace(table, columns=tuple(table.columns[at] for at in kept), rows=rows)


def _cover(sheet: Sheet, document: Document, live: BillReferences, unpriced: str) -> None:
    """Who offers what to whom, the totals, and the alternatives that the customer asked for.

    `unpriced` is a formula for how many required parts have no price.
    """
    sheet.widths = list(_WIDTHS)
    logo(sheet, document.logo)
    sheet.mark(1, "title")
    sheet.heading(document.title, document.subtitle)
    sheet.row += 1
    sides_and_facts(sheet, document)
    sheet.row += 1
    for text in (*(document.cover.bought if document.cover else ()), *document.section("offer").text):
        sheet.across(1, text, PARAGRAPH)
    sheet.row += 1
    _partial(sheet, document)
    totals(sheet, live)
    formulas = _note_formulas(sheet.book, unpriced, len(live.lines) - document.totals.lines)
    if document.cover:
        for text, kind in zip(document.cover.notes, document.cover.kinds, strict=True):
            if kind in _FIXED:
                sheet.across(1, text, PARAGRAPH)
            else:
                _live_text(sheet, text, _note_formula(document.totals, kind, text, formulas))
    sheet.row += 1
    categories(sheet, live)
    for section in document.sections:
        if section.id == "alternatives":
            _alternatives(sheet, section)


def _partial(sheet: Sheet, document: Document) -> None:
    """Write above the sums that they are not a total or not an offer, until the reader changes a price."""
    cover, totals = document.cover, document.totals
    if cover and totals.priced_lines and not document.acceptance:
        text = sheet.book.language.word("name-in").join((cover.label, cover.total))
        unpriced = totals.lines - totals.priced_lines
        same = _is_as_it_was(totals) if document.sums[-1].final else f"bom_unpriced={unpriced}"
        _live_text(sheet, text, f'IF({same},{literal(text)},"")')
        sheet.row += 1


def _note_formulas(book: Book, unpriced: str, free: int) -> dict[NoteKind, str]:
    """Return the formulas of the notes of the cover but that of the total: the reader may change the bill.

    `free` lines are not charged, because their parts come from stock.
    """
    word, rates = book.language.word, rate_names(book.document.totals)
    lines = f'SUMPRODUCT(--(bom_quantities<>"")){f"-{free}" if free else ""}'
    every = _splice(word("quote-covers-all", lines=_HOLE), lines)
    some = _splice(word("xlsx-some-unpriced", lines=_HOLE), "bom_unpriced")
    shares = f"&{literal(word('list-comma'))}&".join(percent(rate, book.language) for rate in rates)
    taxed = _splice(word("quote-covers-taxes" if len(rates) > 1 else "quote-covers-tax", share=_HOLE), shares)
    left = _splice(word("quote-required-left-out", count=_HOLE), unpriced)
    return {
        "lines": f"IF(bom_unpriced=0,{every},{some})",
        "tax": f"IF({'+'.join(f'N({rate})' for rate in rates)}=0,{literal(word('quote-no-tax'))},{taxed})",
        "required": f"IF({unpriced}=0,{literal(word('xlsx-required-priced'))},{left})",
    }


def _note_formula(totals: Totals, kind: NoteKind, text: str, formulas: Mapping[NoteKind, str]) -> str:
    """Return the formula of a note of the cover; what the bill cannot give is shown while the bill is as it was."""
    if kind in ("capitals", "indicative"):
        return f'IF({_is_as_it_was(totals)},{literal(text)},"")'
    if kind == "lines" and not (totals.complete and totals.priced_lines):
        return f"IF(bom_unpriced={totals.lines - totals.priced_lines},{literal(text)},{formulas[kind]})"
    return formulas[kind]


def _is_as_it_was(totals: Totals) -> str:
    """Return a formula for whether the total is the one that the quote was written with."""
    return f"ROUND(bom_amount-({totals.amount:f}),{decimals_of(totals)})=0"


def _splice(text: str, formula: str) -> str:
    """A formula for a sentence with what another formula comes to in its hole."""
    before, _, after = text.partition(_HOLE)
    return f"{literal(before)}&{formula}&{literal(after)}"


def _live_text(sheet: Sheet, text: str, formula: str) -> None:
    """Write a sentence over the whole row, by a formula."""
    sheet.across(1, text, PARAGRAPH)
    sheet.row -= 1
    sheet.calculate(1, formula, text, PARAGRAPH)
    sheet.row += 1


def _alternatives(sheet: Sheet, section: Section) -> None:
    """Each alternative in a row: the cover has no room for a column each."""
    [table, *changes], language = section.tables, sheet.book.language
    word = language.word
    total, *differences = (row for row in table.rows if row.id)
    sheet.subheading(section.title)
    sheet.across(1, word("xlsx-alternatives"), PARAGRAPH)
    currency = language.unit_of(sheet.book.document.totals.currency)
    titles = [language.beside(f"{row.cells[0].value}", currency) for row in (total, *differences)]
    amounts = [Column(f"amount-{at}", title, "money") for at, title in enumerate(titles)]
    sheet.header((Column("name", word("xlsx-alternative")), *amounts))
    for at, column in enumerate(table.columns[1:], 1):
        sheet.put(1, column.title, LABEL)
        for position, row in enumerate((total, *differences), 2):
            sheet.value(position, column, row.cells[at], named=False)
        sheet.row += 1
    for text in section.text[1:]:
        sheet.across(1, text, PARAGRAPH)
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


def _order_list(sheet: Sheet, section: Section) -> str:
    """Each part number with its pieces and what they come to, by formulas that refer to the bill.

    What is required and has no price follows; the bill may get its price from the reader. Returns the formula for how
    many of those parts have none.
    """
    table, *others = section.tables
    document, word = sheet.book.document, sheet.book.language.word
    sheet.widths = [column.width for column in table.columns]
    currency = sheet.book.language.unit_of(document.totals.currency)
    sheet.heading(section.title, *section.text, word("xlsx-currency", currency=currency))
    sheet.header(table.columns)
    sheet.freeze()
    first, money = sheet.row, fixed(decimals_of(document.totals))
    for row in table.rows:
        _order_line(sheet, row, money)
    last = sheet.row - 1
    priced, unpriced = f"SUM(E{first}:E{last})", _NONE
    start = last + _BEHIND_THE_SUM + 1
    for other in others:
        rows = f"E{start}:E{start + len(other.rows) - 1}"
        priced += f"+SUM({rows})"
        unpriced = f"({len(other.rows)}-COUNT({sheet.quoted}!{absolute(rows)}))"
    for column in (1, _NUMBER, _PIECES):
        sheet.put(column, None, GRAND_TEXT)
    sheet.put(_DESCRIPTION, word("xlsx-net"), GRAND_TEXT)
    comes_to = results_of(document.totals)["net"]
    sheet.calculate(_AMOUNT, priced, comes_to, GRAND, money)
    sheet.row += 1
    check_sum(sheet, _AMOUNT)
    sheet.row += 1
    ordered = {(row.cells[1].value, row.cells[2].value) for row in table.rows}
    for other in others:
        sheet.subheading(other.title)
        sheet.across(1, word("list-sentences").join((str(other.caption), word("xlsx-required-hint"))), TEXT)
        sheet.header((*other.columns, table.columns[_AMOUNT - 1]))
        for row in other.rows:
            _required_line(sheet, row, (row.cells[1].value, row.cells[2].value) in ordered, money)
    return unpriced


def _order_line(sheet: Sheet, row: Row, money: str) -> None:
    vendor, number, description, pieces, amount = row.cells
    count = storable(pieces.value) if isinstance(pieces.value, int | Fraction) else 0
    for column, cell in enumerate((vendor, number, description), 1):
        sheet.put(column, cell.value, TEXT)
    its = f"EXACT(bom_part_numbers,$B{sheet.row})*EXACT(bom_descriptions,$C{sheet.row})"
    sheet.calculate(_PIECES, f"SUMPRODUCT({its}*(bom_quantities+bom_spares))", count, NUMBER, WHOLE)
    without = sheet.book.language.word("xlsx-no-price")
    comes_to = amount.value if isinstance(amount.value, Decimal) else without
    sheet.calculate(_AMOUNT, _amount_of(its, without), comes_to, NUMBER, money)
    sheet.row += 1


def _required_line(sheet: Sheet, row: Row, ordered: bool, money: str) -> None:
    """A part that is required, and the amount of the line by which the reader added it to the bill.

    Where parts of its name are ordered as well, the list of those has the line.
    """
    vendor, number, description, pieces = row.cells
    for column, cell in enumerate((vendor, number, description), 1):
        sheet.put(column, cell.value, TEXT)
    sheet.put(_PIECES, pieces.value, NUMBER, WHOLE)
    without, at = sheet.book.language.word("xlsx-no-price"), sheet.row
    its = f'EXACT(bom_descriptions,$C{at})*(EXACT(bom_part_numbers,$B{at})+(bom_part_numbers=""))'
    if ordered:
        sheet.put(_AMOUNT, without, WORD_OF_NUMBERS)
    else:
        sheet.calculate(_AMOUNT, _amount_of(its, without), without, NUMBER, money)
    sheet.row += 1


def _amount_of(its: str, without: str) -> str:
    """A formula for what the chosen lines of the bill come to, and a word while none of them has a price."""
    return f"IF(SUMPRODUCT({its}*ISNUMBER(bom_amounts))=0,{literal(without)},SUMPRODUCT({its},bom_amounts))"


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
            sheet.across(1, text, PARAGRAPH)
        sheet.row += 1
    document = sheet.book.document
    label = document.cover.label if document.cover and document.totals.priced_lines else ""
    for text in document.acceptance:
        accepted, _, total = text.partition(label) if label else (text, "", "")
        sheet.across(1, accepted.strip(), PARAGRAPH)
        if total:
            address, text = live.labels["amount"]
            sheet.calculate(1, address, text, LABEL)
            money = money_format(document.totals.currency, sheet.book.language)
            sheet.calculate(2, "bom_amount", document.totals.amount, GRAND, money)
            sheet.row += 1
    if not document.acceptance:
        return
    sheet.row += 1
    sheet.put(1, word("quote-for-seller"), LABEL)
    sheet.across(_OTHER_SIDE, word("quote-for-customer"), LABEL)
    sheet.row += 1
    for line in ("quote-name", "quote-signature", "quote-signed-on"):
        sheet.put(1, word(line), TEXT)
        sheet.across(_OTHER_SIDE, word(line), TEXT)
        sheet.row += 1

"""The quote as a workbook for the customer: cover, live bill, order list by formulas, racks and network, terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.document import Column, Document, NoteKind, Section, Table
from bomgen.core.language import Language
from bomgen.output.xlsx import looks
from bomgen.output.xlsx.bill import BillReferences, absolute, bill, check_sum, rate_names
from bomgen.output.xlsx.cells import (
    NO_DATE,
    Formula,
    literal,
    package,
    percent,
    storable,
)
from bomgen.output.xlsx.cover import categories, logo, sides_and_facts, totals
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
    # Prices including tax are left out: formulas add the tax below the lines.
    held = {section.id: replace(section, tables=tuple(map(_omit_tax, section.tables))) for section in document.sections}
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


def _omit_tax(table: Table) -> Table:
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
        sheet.across(1, text, looks.PARAGRAPH)
    sheet.row += 1
    cover, of_bill = document.cover, document.totals
    if cover and of_bill.priced_lines and not document.acceptance:
        # Above the sums it says that they are not a total or not an offer, until the reader changes a price.
        text = sheet.book.language.word("name-in").join((cover.label, cover.total))
        unpriced_lines = of_bill.lines - of_bill.priced_lines
        same = _is_as_it_was(sheet.book) if document.sums[-1].final else f"bom_unpriced={unpriced_lines}"
        _live_text(sheet, text, f'IF({same},{literal(text)},"")')
        sheet.row += 1
    totals(sheet, live)
    formulas = _note_formulas(sheet.book, unpriced, len(live.lines) - of_bill.lines)
    for text, kind in zip(cover.notes, cover.kinds, strict=True) if cover else ():
        if kind in _FIXED:
            sheet.across(1, text, looks.PARAGRAPH)
        elif kind in ("capitals", "indicative"):
            # What the bill cannot give is shown while the bill is as it was.
            _live_text(sheet, text, f'IF({_is_as_it_was(sheet.book)},{literal(text)},"")')
        elif kind == "lines" and not (of_bill.complete and of_bill.priced_lines):
            same = f"bom_unpriced={of_bill.lines - of_bill.priced_lines}"
            _live_text(sheet, text, f"IF({same},{literal(text)},{formulas[kind]})")
        else:
            _live_text(sheet, text, formulas[kind])
    sheet.row += 1
    categories(sheet, live)
    for section in document.sections:
        if section.id == "alternatives":
            _alternatives(sheet, section)


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


def _is_as_it_was(book: Book) -> str:
    """Return a formula for whether the total is the one that the quote was written with."""
    return f"ROUND(bom_amount-({book.document.totals.amount:f}),{book.decimals})=0"


def _splice(text: str, formula: str) -> str:
    """A formula for a sentence with what another formula comes to in its hole."""
    before, _, after = text.partition(_HOLE)
    return f"{literal(before)}&{formula}&{literal(after)}"


def _live_text(sheet: Sheet, text: str, formula: str) -> None:
    """Write a sentence over the whole row, by a formula."""
    sheet.across(1, text, looks.PARAGRAPH)
    sheet.row -= 1
    sheet.line((Formula(formula, text), looks.PARAGRAPH))


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
    first, ordered = sheet.row, set[tuple[object, object]]()
    without = word("xlsx-no-price")
    for row in table.rows:
        vendor, number, description, pieces, amount = (cell.value for cell in row.cells)
        ordered.add((number, description))
        its = f"EXACT(bom_part_numbers,$B{sheet.row})*EXACT(bom_descriptions,$C{sheet.row})"
        count = storable(pieces) if isinstance(pieces, int | Fraction) else 0
        of_part = _amount_of(its, without, amount if isinstance(amount, Decimal) else without)
        sheet.line(
            *((text, looks.TEXT) for text in (vendor, number, description)),
            (Formula(f"SUMPRODUCT({its}*(bom_quantities+bom_spares))", count), looks.NUMBER, looks.WHOLE),
            (of_part, looks.NUMBER, sheet.book.plain),
        )
    last = sheet.row - 1
    priced, unpriced = f"SUM(E{first}:E{last})", _NONE
    start = last + _BEHIND_THE_SUM + 1
    for other in others:
        rows = f"E{start}:E{start + len(other.rows) - 1}"
        priced += f"+SUM({rows})"
        unpriced = f"({len(other.rows)}-COUNT({sheet.quoted}!{absolute(rows)}))"
    for column in (1, _NUMBER, _PIECES):
        sheet.put(column, None, looks.GRAND_TEXT)
    sheet.put(_DESCRIPTION, word("xlsx-net"), looks.GRAND_TEXT)
    sheet.line((Formula(priced, document.totals.net), looks.GRAND, sheet.book.plain), start=_AMOUNT)
    check_sum(sheet, _AMOUNT)
    sheet.row += 1
    for other in others:
        sheet.subheading(other.title)
        sheet.across(1, word("list-sentences").join((str(other.caption), word("xlsx-required-hint"))), looks.TEXT)
        sheet.header((*other.columns, table.columns[_AMOUNT - 1]))
        for row in other.rows:
            # The amount is that of the line by which the reader adds the part to the bill. Where parts of its name are
            # ordered as well, the list of those has the line.
            texts = [cell.value for cell in row.cells[:_DESCRIPTION]]
            at = sheet.row
            its = f'EXACT(bom_descriptions,$C{at})*(EXACT(bom_part_numbers,$B{at})+(bom_part_numbers=""))'
            listed = tuple(texts[1:]) in ordered
            added = without if listed else _amount_of(its, without, without)
            look, form = (looks.WORD_OF_NUMBERS, looks.GENERAL) if listed else (looks.NUMBER, sheet.book.plain)
            counted = row.cells[_PIECES - 1].value, looks.NUMBER, looks.WHOLE
            sheet.line(*((text, looks.TEXT) for text in texts), counted, (added, look, form))
    return unpriced


def _amount_of(its: str, without: str, result: Decimal | str) -> Formula:
    """A formula for what the chosen lines of the bill come to, and a word while none of them has a price."""
    sums = f"SUMPRODUCT({its},bom_amounts)"
    return Formula(f"IF(SUMPRODUCT({its}*ISNUMBER(bom_amounts))=0,{literal(without)},{sums})", result)


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
            amount = Formula("bom_amount", document.totals.amount), looks.GRAND, sheet.book.money
            sheet.line((Formula(*live.labels["amount"]), looks.LABEL), amount)
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

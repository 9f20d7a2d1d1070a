"""The report and the quote as Excel workbooks that stay live: change a quantity or a price, and the totals follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from bomgen.core.document import Cell, Column, Document, Section, Step, Table
from bomgen.core.language import Language, as_power, is_prefixed
from bomgen.documents.sheets import (
    MAY_BE_UNKNOWN,
    BillLine,
    LiveSum,
    alternatives_tables,
    categories_table,
    groups,
    omit_tax,
    order_tables,
    totals_table,
)
from bomgen.documents.tables import TOTAL, columns_of, reference
from bomgen.output.xlsx import cells
from bomgen.output.xlsx.bill import accept_choice, bill, check_sum, total_format
from bomgen.output.xlsx.cells import NO_DATE, package
from bomgen.output.xlsx.pictures import chart, logo
from bomgen.output.xlsx.sheet import Book, Sheet
from bomgen.reading.quote_workbook import QuoteCells

_BILL = "bill"
"""The section whose one table is the bill."""
_DERIVATIONS = "derivations"
"""The last section of a report, which no other document has."""
_ON_PAPER = ("summary", _BILL, "order", "alternatives", "site", "racks")
"""The sections of a report that are printed, with the groups of the bill; the others are for the screen."""
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
    book.finish()
    day = datetime.fromisoformat(document.date) if document.date else NO_DATE
    return WorkbookFile(package(book.workbook, book.results, day), book.cells)


# tables -------------------------------------------------------------------------------------------------------------


def write_tables(sheet: Sheet, section: Section) -> None:
    """Write a sheet of tables. Tables of the same columns stand under one header that stays in sight."""
    tables = section.tables
    _set_widths(sheet, tables)
    lead = section.text if len(section.text) == 1 else ()
    sheet.heading(section.title, *lead, tables[0].caption if len(tables) == 1 else None)
    if len({tuple(column.title for column in table.columns) for table in tables}) == 1:
        sheet.header(tables[0].columns)
        sheet.freeze()
        for table in tables:
            if len(tables) > 1:
                if table.title != section.title:
                    _band(sheet, table.title, len(table.columns), cells.TABLE_BAND)
                if table.caption:
                    sheet.across(1, table.caption, cells.CAPTION)
            first = sheet.row
            write_rows(sheet, table)
            if table.folded:
                sheet.fold_rows(first)
        sheet.row += 1
    else:
        for table in tables:
            sheet.together[sheet.row] = sheet.row + 2 + bool(table.caption)
            sheet.subheading(table.title)
            if table.caption:
                sheet.across(1, table.caption, cells.CAPTION)
            sheet.header(table.columns)
            write_rows(sheet, table)
            sheet.row += 1
    _write_texts(sheet, section.text[len(lead) :])
    sheet.notes(section.notes)


def _set_widths(sheet: Sheet, tables: Sequence[Table]) -> None:
    """Make each column as wide as the widest of the tables at its place."""
    most = max((len(table.columns) for table in tables), default=0)
    sheet.widths = [
        max(table.columns[position].width for table in tables if position < len(table.columns))
        for position in range(most)
    ] or [_SENTENCE_WIDTH]


def _write_texts(sheet: Sheet, texts: Sequence[str]) -> None:
    """Write sentences over the whole row, and an empty row below them."""
    for text in texts:
        sheet.across(1, text, cells.PARAGRAPH)
    sheet.row += bool(texts)


def write_rows(
    sheet: Sheet, table: Table, named: bool | None = None, labels: bool = False, grand: bool = False, zero: bool = True
) -> None:
    """Write the rows of a table below its header, which formulas may refer to.

    `named` puts units behind numbers, `labels` makes the first column bold, `grand` lets the row of the total stand
    out; without `zero` an amount of 0 is a dash.
    """
    sheet.area(table.id, range(sheet.row, sheet.row + sum(row.id != TOTAL for row in table.rows)))
    named = all(column.key != "unit" for column in table.columns) if named is None else named
    group = None
    for row in table.rows:
        if row.group is not None and row.group != group:
            _band(sheet, row.group, len(table.columns), cells.GROUP)
        group = row.group
        for position, (column, cell) in enumerate(zip(table.columns, row.cells, strict=True), 1):
            look = cells.LABEL if labels and position == 1 else None
            if grand and row.id == TOTAL:
                look = cells.GRAND_TEXT if column.kind == "text" or cell.value == "" else cells.GRAND
            if cell.formula:
                look = look or cells.NUMBER._replace(bold=labels and column.main)
                form = "" if zero else f'{sheet.book.plain};-{sheet.book.plain};"–"'
                if named and row.id in MAY_BE_UNKNOWN:
                    form = total_format(sheet)
                sheet.live(position, column, cell, look, named, form)
            elif look:
                sheet.put(position, cell.value or None, look)
            else:
                sheet.value(position, column, cell, named)
        sheet.row += 1


def _band(sheet: Sheet, text: str, width: int, look: cells.Look, start: int = 1) -> None:
    """Write a heading over rows of so many columns, from a column on."""
    sheet.put(start, text, look)
    for position in range(start + 1, width + 1):
        sheet.put(position, None, look)
    sheet.row += 1


# report -------------------------------------------------------------------------------------------------------------


def _report(book: Book) -> None:
    document, word = book.document, book.language.word
    front = book.sheet(document.section("summary").title)
    place = [section.id for section in document.sections].index(_BILL)
    before, [of_bill, *behind] = document.sections[:place], document.sections[place:]
    pages = [(section, book.sheet(section.title)) for section in before if section.tables]
    lines, grouped = book.sheet(of_bill.title), book.sheet(word("xlsx-groups"))
    pages += [(section, book.sheet(section.title)) for section in behind if section.tables]
    derivations = document.section(_DERIVATIONS)
    derived = book.sheet(derivations.title)
    _derivations(derived, derivations)
    held, sums = bill(lines, of_bill)
    _groups(grouped, lines, held)
    for section, sheet in pages:
        write_tables(sheet, section)
    for section, sheet in (*pages, (derivations, derived)):
        sheet.printed = None if section.id in _ON_PAPER else 0
    _summary(front, document, held, sums)
    names = word("list-comma").join(sheet.title for sheet in book.sheets if sheet.printed == 0)
    front.row += 1
    front.across(1, word("xlsx-on-screen", names=names), cells.CAPTION)


def _derivations(sheet: Sheet, section: Section) -> None:
    """Write how each number was worked out; the place of each is kept for links from the other sheets."""
    columns = columns_of("derivations", sheet.book.language)
    sheet.widths = [column.width for column in columns]
    sheet.folded = {len(columns)}
    sheet.heading(sheet.title, *section.text)
    sheet.header(columns)
    sheet.freeze()
    for derivation in section.derivations:
        sheet.book.places[derivation.path] = f"{sheet.quoted}!A{sheet.row}"
        sheet.book.derived[derivation.path] = derivation
        sheet.put(1, derivation.path, cells.PATH)
        _band(sheet, derivation.title, len(columns), cells.GROUP, start=2)
        for step in derivation.steps:
            _step(sheet, columns, step)


def _step(sheet: Sheet, columns: Sequence[Column], step: Step) -> None:
    sheet.put(1, None, cells.TEXT)
    sheet.put(2, step.name, cells.TEXT._replace(indent=min(step.depth, _MAX_INDENT)))
    of_step = (
        Cell(step.value, step.unit, estimate=step.estimate),
        Cell(sheet.book.language.unit(step.unit, step.value)),
        Cell(step.origin),
        Cell(step.expression),
    )
    for position, (column, cell) in enumerate(zip(columns[2:], of_step, strict=True), 2 + 1):
        sheet.value(position, column, cell, named=False)
    sheet.row += 1


def _groups(sheet: Sheet, of_bill: Sheet, lines: Sequence[BillLine]) -> None:
    """Write the bill by fabric and role, each table checked against its net amount."""
    document, language = sheet.book.document, sheet.book.language
    tables = groups(document, lines, language)
    _set_widths(sheet, tables)
    currency = language.word("xlsx-currency", currency=language.unit_of(document.totals.currency))
    sheet.heading(sheet.title, language.word("list-sentences").join((currency, language.word("xlsx-groups-text"))))
    for table in tables if lines else ():
        sheet.row += 1
        start = sheet.row
        sheet.subheading(table.title)
        sheet.header(table.columns)
        write_rows(sheet, table, named=False, labels=True, grand=True, zero=False)
        last = max(at for at, column in enumerate(table.columns, 1) if column.kind == "money")
        check_sum(sheet, last)
        # A long table of roles may end on another page, its sum with the difference from the bill.
        sheet.together[start if table is tables[0] else sheet.row - 2] = sheet.row - 1
    if named := len({line.fabric for line in lines} - {""}):
        _, fabrics = sheet.book.areas[f"{tables[0].id}.fabric"]
        first = int(fabrics.partition(":")[0].removeprefix("A"))
        choices = f"{sheet.quoted}!$A${first}:$A${first + named - 1}"
        accept_choice(of_bill, of_bill.book.areas["bill.fabric"][1], language.word("column-fabric"), choices)


def _summary(sheet: Sheet, document: Document, lines: Sequence[BillLine], sums: Sequence[LiveSum]) -> None:
    """Write what is proposed and what it costs, by formulas that refer to the bill, and the notes without a sheet."""
    section = document.section("summary")
    _set_widths(sheet, (categories_table(document, lines, sheet.book.language),))
    logo(sheet, document.logo)
    sheet.heading(document.title, document.subtitle)
    sheet.row += 1
    _write_texts(sheet, section.text)
    _sides_and_facts(sheet, document)
    sheet.row += bool(document.parties or document.facts)
    if document.headline:
        _headline(sheet, document.headline)
    _totals(sheet, document, sums)
    _categories(sheet, document, lines)
    without_sheet = [section for section in document.sections if not section.tables]
    sheet.notes([note for section in without_sheet for note in section.notes])
    for other in without_sheet:
        if other.text and not other.derivations and other is not section:
            sheet.row += 1
            sheet.subheading(other.title)
            for text in other.text:
                sheet.across(1, text, cells.PARAGRAPH)


def _headline(sheet: Sheet, numbers: Sequence[tuple[str, Cell]]) -> None:
    language = sheet.book.language
    columns = columns_of("headline", language)
    sheet.header(columns)
    for label, cell in numbers:
        sheet.put(1, label, cells.LABEL)
        plain = cells.number_format(cell.value, cell.unit, language, named=False)
        form = cells.estimate_format(plain, cell, language)
        sheet.explain(sheet.put(2, as_power(cell.value, cell.unit)[0], cells.NUMBER, form), cell)
        named = is_prefixed(cell.value, cell.unit)
        sheet.line(("" if named else language.unit(cell.unit, cell.value), cells.TEXT), start=len(columns))
    sheet.row += 1


# covers -------------------------------------------------------------------------------------------------------------


def _sides_and_facts(sheet: Sheet, document: Document) -> None:
    """Write who offers what to whom, and the facts of the quote that this does not say."""
    sides = [(party.title, "\n".join(party.lines), party.key) for party in document.parties]
    keys = document.fact_keys or ("",) * len(document.facts)
    facts = [(label, text, key) for (label, text), key in zip(document.facts, keys, strict=True)]
    titles = {title for title, _, _ in sides}
    for label, text, key in (*sides, *(fact for fact in facts if fact[0] not in titles)):
        sheet.put(1, label, cells.LABEL)
        sheet.mark(2, key)
        sheet.across(2, text, cells.TEXT)


def _totals(sheet: Sheet, document: Document, sums: Sequence[LiveSum]) -> None:
    table, start = totals_table(document, sums, sheet.book.language), sheet.row
    sheet.header(table.columns)
    write_rows(sheet, table, labels=True, grand=True)
    sheet.together[start] = sheet.row - 1
    sheet.row += 1


def _categories(sheet: Sheet, document: Document, lines: Sequence[BillLine]) -> None:
    table, start, net = categories_table(document, lines, sheet.book.language), sheet.row, document.totals.net
    sheet.header(table.columns)
    write_rows(sheet, table, named=False, labels=True)
    sheet.row += 1
    if net:
        chart(sheet, table, start + 1)
    sheet.together[start] = sheet.row - 1 - bool(net)


# quote --------------------------------------------------------------------------------------------------------------
# The quote as a workbook for the customer: cover, live bill, order list by formulas, racks and network, terms.

_QUOTE_WIDTHS = (34, 24, 20, 22)
_ORDER_LIST, _TERMS = "order-list", "terms"
_TABLES = ("changes", "racks-and-network")
"""The sections that are sheets of their own, as far as a quote has them with tables."""
_TEXTS = ("changes", "not-included", "notes", _TERMS)
"""The sections of sentences that stand on one sheet, as far as a quote has them."""
_OTHER_SIDE = 3
"""The column of the customer's signature, beside the seller's; it takes the next one as well."""


def _quote(book: Book) -> None:
    document, language = book.document, book.language
    held = {section.id: omit_tax(section) for section in document.sections}
    [charged] = held[_BILL].tables
    held[_BILL] = replace(held[_BILL], tables=(replace(charged, caption=language.word("quote-bill-lead")),))
    front, of_bill = book.sheet(language.word("quote-quotation")), book.sheet(held[_BILL].title)
    by_part = book.sheet(held[_ORDER_LIST].title) if _ORDER_LIST in held else None
    sheets = [(book.sheet(held[name].title), held[name]) for name in _TABLES if name in held and held[name].tables]
    terms = book.sheet(held[_TERMS].title)
    lines, sums = bill(of_bill, held[_BILL])
    if by_part:
        _order_list(by_part, held[_ORDER_LIST])
    for sheet, section in sheets:
        write_tables(sheet, replace(section, drawings=()))
    _cover(front, document, lines, sums)
    _terms(terms, [held[name] for name in _TEXTS if name in held and not held[name].tables], sums[-1])


def _cover(sheet: Sheet, document: Document, lines: Sequence[BillLine], sums: Sequence[LiveSum]) -> None:
    """Write who offers what to whom, the totals, and the alternatives that the customer asked for."""
    cover = document.cover
    sheet.widths = list(_QUOTE_WIDTHS)
    logo(sheet, document.logo)
    sheet.mark(1, "title")
    sheet.heading(document.title, document.subtitle)
    sheet.row += 1
    _sides_and_facts(sheet, document)
    sheet.row += 1
    for text in (*(cover.bought if cover else ()), *document.section("offer").text):
        sheet.across(1, text, cells.PARAGRAPH)
    sheet.row += 1
    if cover and cover.lead:
        sheet.across(1, cover.lead, cells.PARAGRAPH)
        sheet.row += 1
    _totals(sheet, document, sums)
    for note in cover.notes if cover else ():
        sheet.across(1, note, cells.PARAGRAPH)
    sheet.row += 1
    _categories(sheet, document, lines)
    for section in document.sections:
        if section.id == "alternatives":
            _alternatives(sheet, section)


def _alternatives(sheet: Sheet, section: Section) -> None:
    by_plan, *changes = alternatives_tables(section, sheet.book.document, sheet.book.language)
    sheet.subheading(section.title)
    sheet.across(1, sheet.book.language.word("xlsx-alternatives"), cells.PARAGRAPH)
    sheet.header(by_plan.columns)
    write_rows(sheet, by_plan, named=False, labels=True)
    for text in section.text[1:]:
        sheet.across(1, text, cells.PARAGRAPH)
    for change in changes:
        sheet.row += 1
        sheet.subheading(change.title)
        sheet.header(change.columns)
        write_rows(sheet, change, named=False)


def _order_list(sheet: Sheet, section: Section) -> None:
    """Write each part number with its pieces and what they come to, and below their sum what is required."""
    document, language = sheet.book.document, sheet.book.language
    table, *others = order_tables(section, document, language)
    sheet.widths = [column.width for column in table.columns]
    currency = language.word("xlsx-currency", currency=language.unit_of(document.totals.currency))
    sheet.heading(section.title, *section.text, currency)
    sheet.header(table.columns)
    sheet.freeze()
    write_rows(sheet, table, named=False, grand=True)
    check_sum(sheet, len(table.columns))
    sheet.row += 1
    for other in others:
        sheet.subheading(other.title)
        sheet.across(1, str(other.caption), cells.TEXT)
        sheet.header(other.columns)
        write_rows(sheet, other, named=False)


def _terms(sheet: Sheet, sections: Sequence[Section], total: LiveSum) -> None:
    word, document = sheet.book.language.word, sheet.book.document
    sheet.widths = list(_QUOTE_WIDTHS)
    sheet.heading(sheet.title)
    for section in sections:
        if section.title != sheet.title:
            sheet.subheading(section.title)
        for at, text in enumerate(section.text, section.own - len(section.text)):
            if at >= 0:
                sheet.mark(1, "term", at)
            sheet.across(1, text, cells.PARAGRAPH)
        sheet.row += 1
    label = document.cover.label if document.cover and document.totals.priced_lines else ""
    for text in document.acceptance:
        accepted, _, amount = text.partition(label) if label else (text, "", "")
        sheet.across(1, accepted.strip(), cells.PARAGRAPH)
        if amount:
            label_cell = Cell(total.label.value, formula=reference("label", total.name))
            amount_cell = Cell(total.cell.value, formula=total.name)
            sheet.line((label_cell, cells.LABEL), (amount_cell, cells.GRAND, sheet.book.money))
    if not document.acceptance:
        return
    sheet.row += 1
    sheet.put(1, word("quote-for-seller"), cells.LABEL)
    sheet.across(_OTHER_SIDE, word("quote-for-customer"), cells.LABEL)
    sheet.row += 1
    for line in ("quote-name", "quote-signature", "quote-signed-on"):
        sheet.put(1, word(line), cells.TEXT)
        sheet.across(_OTHER_SIDE, word(line), cells.TEXT)
        sheet.row += 1

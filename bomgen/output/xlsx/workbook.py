"""The report and the quote as Excel workbooks that stay live: change a quantity or a price, and the totals follow."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from openpyxl.chart import BarChart, Reference, Series
from openpyxl.chart.axis import ChartLines
from openpyxl.chart.data_source import AxDataSource, NumData, NumVal, StrData, StrRef, StrVal
from openpyxl.chart.label import DataLabelList
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.chart.text import RichText, Text
from openpyxl.chart.title import Title
from openpyxl.drawing.image import Image
from openpyxl.drawing.line import LineProperties
from openpyxl.drawing.text import CharacterProperties, Font, Paragraph, ParagraphProperties, RegularTextRun
from openpyxl.utils.units import pixels_to_points

from bomgen.core.document import Cell, Column, Document, Logo, Section, Step, Table
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
from bomgen.output.xlsx.cells import BLACK, FONT, GREY, LINE, NAVY, NO_DATE, clean, package, storable
from bomgen.output.xlsx.sheet import Book, Sheet
from bomgen.reading.quote_workbook import QuoteCells

# logo ---------------------------------------------------------------------------------------------------------------
# The vendor's picture on the cover: its size is read from its first bytes, so no library of pictures is needed.

_MOST_HIGH, _MOST_WIDE = 45, 320
"""[pixels]"""
_LOGO_GAP = 6
"""Below the picture [points]."""
_JPEG_SEGMENT, _JPEG_FIRST = struct.Struct(">BBH"), 2
"""A segment begins with this byte, its kind and its length; the first one follows the mark of the file's start."""
_JPEG_FRAME, _JPEG_SIZE_AT = struct.Struct(">HH"), 5
"""Height and width, behind kind, length and precision of a segment that tells how a frame is coded."""
_MARKER = 0xFF
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""The kinds of segments that begin a frame (ITU-T T.81, table B.1): the others of that range are tables."""
_FORMATS = {"image/png": "png", "image/jpeg": "jpeg"}
"""Excel shows an SVG only beside a picture of another kind."""


class _Picture(Image):
    """A picture as openpyxl writes it, made without the library that openpyxl would read its size with."""

    def __init__(self, content: bytes, format: str, size: tuple[int, int]) -> None:
        self.format = format
        self.width, self.height = size
        self._content = content

    def _data(self) -> bytes:
        return self._content


def logo(sheet: Sheet, picture: Logo | None) -> None:
    """Put a picture into a row of its own and go on below it; one that the sheet cannot show is left out."""
    size = _shown_size(picture) if picture else None
    if picture is None or size is None:
        return
    sheet.page.add_image(_Picture(picture.content, _FORMATS[picture.media_type], size), f"A{sheet.row}")
    sheet.page.row_dimensions[sheet.row].height = pixels_to_points(size[1]) + _LOGO_GAP
    sheet.row += 1


def _shown_size(picture: Logo) -> tuple[int, int] | None:
    """Width and height that a picture is shown in [pixels]; None where nobody can tell or it is of another kind."""
    if picture.media_type not in _FORMATS:
        return None
    try:
        width, height = picture.size or _jpeg(picture.content)
    except (struct.error, ValueError):
        return None
    if not width or not height:
        return None
    scale = min(1, _MOST_HIGH / height, _MOST_WIDE / width)
    return max(round(width * scale), 1), max(round(height * scale), 1)


def _jpeg(content: bytes) -> tuple[int, int]:
    """Width and height of a JPEG. Raises ValueError or struct.error where its segments do not lead to them."""
    at = _JPEG_FIRST
    while True:
        marker, kind, length = _JPEG_SEGMENT.unpack_from(content, at)
        if marker != _MARKER:
            raise ValueError("no segment")
        if kind in _FRAMES:
            height, width = _JPEG_FRAME.unpack_from(content, at + _JPEG_SIZE_AT)
            return width, height
        # Any number of fill bytes may stand before the kind.
        at += 1 if kind == _MARKER else 2 + length


# chart --------------------------------------------------------------------------------------------------------------

_AXIS_FORMAT = '[>=1000000]#,##0.0,," M";[>=1000]#,##0," k";#,##0'
"""Amounts on the axis, in millions or thousands as they are large."""
_LABEL_FORMAT = '[>=1000000]#,##0.00,," M";[>0]#,##0.0," k";'
"""Amounts at the bars; what has no price has none."""
_ROW_HEIGHT = 15
"""Of the rows that a chart covers [points]."""
_ROWS_OF_CHART = 6
"""For title and axis; each bar takes one and a half more."""
_CENTIMETRES_A_DIGIT = 0.182
"""What a column is wide for a digit of its width: 7 pixels, 96 to an inch, a little less so that nothing sticks out."""
_CENTIMETRES_A_POINT = 2.54 / 72
_TITLE_SIZE, _LETTER_SIZE = 1100, 900
"""[hundredths of a point]"""
_BAR_GAP = 45
"""Between bars [per cent of a bar]."""


def chart(sheet: Sheet, table: Table, first: int) -> None:
    """Put bars of the amounts in the second column of a table from row `first` on, and go on below them."""
    cells = (row.cells for row in table.rows)
    amounts = [
        (clean(str(name.value)), of.value if isinstance(of.value, Decimal) else Decimal(0)) for name, of, *_ in cells
    ]
    last = first + len(amounts) - 1
    series = Series(Reference(sheet.page, min_col=2, min_row=first, max_row=last))
    series.val.numRef.numCache = NumData(
        formatCode=sheet.book.plain,
        ptCount=len(amounts),
        pt=[NumVal(idx=place, v=storable(amount)) for place, (_, amount) in enumerate(amounts)],
    )
    names = StrData(ptCount=len(amounts), pt=[StrVal(idx=place, v=name) for place, (name, _) in enumerate(amounts)])
    series.cat = AxDataSource(strRef=StrRef(f=f"{sheet.quoted}!$A${first}:$A${last}", strCache=names))
    series.graphicalProperties = GraphicalProperties(solidFill=NAVY)
    series.dLbls = DataLabelList(showVal=True, numFmt=_LABEL_FORMAT)
    series.dLbls.txPr = _letters()
    for part in ("showSerName", "showCatName", "showLegendKey", "showPercent", "showLeaderLines"):
        setattr(series.dLbls, part, False)
    chart = BarChart(barDir="bar", gapWidth=_BAR_GAP)
    chart.append(series)
    chart.title = _title(sheet.book.language.word("xlsx-chart"), _TITLE_SIZE, NAVY)
    chart.legend = None
    chart.roundedCorners = False
    # Bars are drawn from the bottom up: turned round, they have the order of the table, and the amounts below them.
    chart.x_axis.scaling.orientation = "maxMin"
    chart.y_axis.crosses = "max"
    chart.y_axis.scaling.min = 0
    chart.y_axis.title = _title(table.columns[1].title, _LETTER_SIZE, GREY)
    chart.y_axis.number_format = _AXIS_FORMAT
    chart.y_axis.majorGridlines = ChartLines(spPr=GraphicalProperties(ln=LineProperties(solidFill=LINE)))
    for axis in (chart.x_axis, chart.y_axis):
        axis.delete = False
        axis.txPr = _letters()
        axis.graphicalProperties = GraphicalProperties(ln=LineProperties(solidFill=LINE))
    rows = _ROWS_OF_CHART + len(amounts)
    chart.width = int(sum(sheet.widths) * _CENTIMETRES_A_DIGIT)
    chart.height = int(rows * _ROW_HEIGHT * _CENTIMETRES_A_POINT)
    sheet.page.add_chart(chart, f"A{sheet.row}")
    for row in range(sheet.row, sheet.row + rows):
        sheet.page.row_dimensions[row].height = _ROW_HEIGHT
    sheet.row += rows + 1


def _letters() -> RichText:
    return RichText(p=[Paragraph(pPr=ParagraphProperties(defRPr=_character(_LETTER_SIZE, BLACK)), r=[])])


def _title(text: str, size: int, color: str) -> Title:
    properties = _character(size, color)
    run = RegularTextRun(rPr=properties, t=clean(text))
    paragraph = Paragraph(pPr=ParagraphProperties(defRPr=properties), r=[run])
    return Title(tx=Text(rich=RichText(p=[paragraph])), overlay=False)


def _character(size: int, color: str) -> CharacterProperties:
    return CharacterProperties(sz=size, b=size > _LETTER_SIZE, solidFill=color, latin=Font(typeface=FONT))


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
_TABLES = ("phases", "changes", "racks-and-network")
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

"""The cover: facts, totals, a chart, notes, and the vendor's picture."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal

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

from bomgen.core.document import Cell, Column, Document, Logo
from bomgen.core.language import as_power, is_prefixed
from bomgen.documents.tables import RATE, TAX_NAME, TOTAL, UNPRICED
from bomgen.output.xlsx import looks
from bomgen.output.xlsx.bill import MAY_BE_UNKNOWN, BillReferences, total_format
from bomgen.output.xlsx.cells import (
    clean,
    estimate_format,
    number_format,
    storable,
)
from bomgen.output.xlsx.sheet import Sheet

# logo ---------------------------------------------------------------------------------------------------------------
# The vendor's picture on the cover: its size is read from its first bytes, so no library of pictures is needed.

_MOST_HIGH, _MOST_WIDE = 45, 320
"""[pixels]"""
_LOGO_GAP = 6
"""Below the picture [points]."""
_PNG_SIZE, _PNG_SIZE_AT = struct.Struct(">4sII"), 12
"""The kind of the first chunk, width and height; the signature of the file and the length of the chunk come before."""
_PNG_HEADER = b"IHDR"
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


def logo(sheet: Sheet, given: Logo | None) -> None:
    """Put a picture into a row of its own and go on below it; one that the sheet cannot show is left out."""
    size = shown_size(given) if given else None
    if given is None or size is None:
        return
    sheet.page.add_image(_Picture(given.content, _FORMATS[given.media_type], size), f"A{sheet.row}")
    sheet.page.row_dimensions[sheet.row].height = pixels_to_points(size[1]) + _LOGO_GAP
    sheet.row += 1


def shown_size(given: Logo) -> tuple[int, int] | None:
    """Width and height that a picture is shown in [pixels]; None where nobody can tell or it is of another kind."""
    if given.media_type not in _FORMATS:
        return None
    try:
        width, height = _png(given.content) if _FORMATS[given.media_type] == "png" else _jpeg(given.content)
    except (struct.error, ValueError):
        return None
    if not width or not height:
        return None
    scale = min(1, _MOST_HIGH / height, _MOST_WIDE / width)
    return max(round(width * scale), 1), max(round(height * scale), 1)


def _png(content: bytes) -> tuple[int, int]:
    """Width and height of a PNG. Raises ValueError or struct.error where it does not begin as one does."""
    kind, width, height = _PNG_SIZE.unpack_from(content, _PNG_SIZE_AT)
    if kind != _PNG_HEADER:
        raise ValueError("no header")
    return width, height


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


# cover --------------------------------------------------------------------------------------------------------------

_WIDTHS = (34, 26, 16, 24)
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


def cover(sheet: Sheet, document: Document, live: BillReferences) -> None:
    """Write what is proposed and what it costs, by formulas that refer to the bill, and the notes without a sheet."""
    section = document.section("summary")
    sheet.widths = list(_WIDTHS)
    logo(sheet, document.logo)
    sheet.heading(document.title, document.subtitle)
    sheet.row += 1
    for text in section.text:
        sheet.across(1, text, looks.PARAGRAPH)
    sheet.row += bool(section.text)
    sides_and_facts(sheet, document)
    sheet.row += bool(document.parties or document.facts)
    if document.headline:
        _headline(sheet, document.headline)
    totals(sheet, live)
    categories(sheet, live)
    without_sheet = [section for section in document.sections if not section.tables]
    sheet.notes([note for section in without_sheet for note in section.notes])
    for other in without_sheet:
        if other.text and not other.derivations and other is not section:
            sheet.row += 1
            sheet.subheading(other.title)
            for text in other.text:
                sheet.across(1, text, looks.PARAGRAPH)


def sides_and_facts(sheet: Sheet, document: Document) -> None:
    """Who offers what to whom, and the facts of the quote that this does not say."""
    sides = [(party.title, "\n".join(party.lines), party.key) for party in document.parties]
    keys = document.fact_keys or ("",) * len(document.facts)
    facts = [(label, text, key) for (label, text), key in zip(document.facts, keys, strict=True)]
    named = {title for title, _, _ in sides}
    for label, text, key in (*sides, *(fact for fact in facts if fact[0] not in named)):
        sheet.put(1, label, looks.LABEL)
        sheet.mark(2, key)
        sheet.across(2, text, looks.TEXT)


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
        sheet.put(1, label, looks.LABEL)
        form = estimate_format(number_format(cell.value, cell.unit, language, named=False), cell, language)
        sheet.explain(sheet.put(2, as_power(cell.value, cell.unit)[0], looks.NUMBER, form), cell)
        named = is_prefixed(cell.value, cell.unit)
        sheet.line(("" if named else language.unit(cell.unit, cell.value), looks.TEXT), start=len(columns))
    sheet.row += 1


def totals(sheet: Sheet, live: BillReferences) -> None:
    """The totals of the bill."""
    word, of_bill, start = sheet.book.language.word, sheet.book.document.totals, sheet.row
    sheet.header([Column("total", word("xlsx-totals")), Column("amount", word("xlsx-amount-column"), "money")])
    for total, label in live.sums:
        if total.key in (UNPRICED, RATE) or (len(of_bill.taxes) > 1 and total.name == TAX_NAME):
            continue
        text_look, look = (looks.GRAND_TEXT, looks.GRAND) if total.key == TOTAL else (looks.LABEL, looks.NUMBER)
        form = total_format(of_bill, sheet.book.language) if total.key in MAY_BE_UNKNOWN else sheet.book.money
        amount = Cell(total.cell.value, formula=total.name)
        sheet.line((Cell(total.label.value, formula=label), text_look), (amount, look, form))
    sheet.together[start] = sheet.row - 1
    sheet.row += 1


def categories(sheet: Sheet, live: BillReferences) -> None:
    """What each category comes to, as a table and as a chart of it."""
    word, start = sheet.book.language.word, sheet.row
    net, first = sheet.book.document.totals.net, sheet.row + 1
    columns = (
        Column("category", word("xlsx-category")),
        Column("net", _net_title(sheet), "money"),
        Column("share", word("xlsx-share"), "share"),
        Column("unpriced", word("xlsx-unpriced"), "number"),
    )
    sheet.header(columns)
    for category, subtotal in live.subtotals.items():
        share = Cell(float(subtotal.amount / net) if net else 0, formula=f"IF(bom_net=0,0,SUM(B{sheet.row})/bom_net)")
        unpriced = f'SUMPRODUCT(EXACT(bom_categories,A{sheet.row})*(bom_quantities<>"")*(bom_prices=""))'
        sheet.line(
            (category, looks.LABEL),
            (Cell(subtotal.result, formula=subtotal.address), looks.NUMBER, sheet.book.plain),
            (share, looks.NUMBER, looks.SHARE_FORMAT),
            (Cell(subtotal.unpriced, formula=unpriced), looks.NUMBER, looks.WHOLE),
        )
    sheet.row += 1
    if net:
        _chart(sheet, {category: subtotal.amount for category, subtotal in live.subtotals.items()}, first)
    sheet.together[start] = sheet.row - 1 - bool(net)


def _net_title(sheet: Sheet) -> str:
    language = sheet.book.language
    return language.beside(language.word("xlsx-net"), language.unit_of(sheet.book.document.totals.currency))


def _chart(sheet: Sheet, amounts: Mapping[str, Decimal], first: int) -> None:
    """Put bars of the amounts that stand in the second column from row `first` on, and go on below them."""
    word, last = sheet.book.language.word, first + len(amounts) - 1
    series = Series(Reference(sheet.page, min_col=2, min_row=first, max_row=last))
    series.val.numRef.numCache = NumData(
        formatCode=sheet.book.plain,
        ptCount=len(amounts),
        pt=[NumVal(idx=place, v=storable(amount)) for place, amount in enumerate(amounts.values())],
    )
    names = StrData(ptCount=len(amounts), pt=[StrVal(idx=place, v=name) for place, name in enumerate(amounts)])
    series.cat = AxDataSource(strRef=StrRef(f=f"{sheet.quoted}!$A${first}:$A${last}", strCache=names))
    series.graphicalProperties = GraphicalProperties(solidFill=looks.NAVY)
    series.dLbls = DataLabelList(showVal=True, numFmt=_LABEL_FORMAT)
    series.dLbls.txPr = _letters(looks.BLACK)
    for part in ("showSerName", "showCatName", "showLegendKey", "showPercent", "showLeaderLines"):
        setattr(series.dLbls, part, False)
    chart = BarChart(barDir="bar", gapWidth=_BAR_GAP)
    chart.append(series)
    chart.title = _title(word("xlsx-chart"), _TITLE_SIZE, looks.NAVY)
    chart.legend = None
    chart.roundedCorners = False
    # Bars are drawn from the bottom up: turned round, they have the order of the table, and the amounts below them.
    chart.x_axis.scaling.orientation = "maxMin"
    chart.y_axis.crosses = "max"
    chart.y_axis.scaling.min = 0
    chart.y_axis.title = _title(_net_title(sheet), _LETTER_SIZE, looks.GREY)
    chart.y_axis.number_format = _AXIS_FORMAT
    chart.y_axis.majorGridlines = ChartLines(spPr=GraphicalProperties(ln=LineProperties(solidFill=looks.LINE)))
    for axis in (chart.x_axis, chart.y_axis):
        axis.delete = False
        axis.txPr = _letters(looks.BLACK)
        axis.graphicalProperties = GraphicalProperties(ln=LineProperties(solidFill=looks.LINE))
    rows = _ROWS_OF_CHART + len(amounts) + len(amounts) // 2
    chart.width = int(sum(sheet.widths) * _CENTIMETRES_A_DIGIT)
    chart.height = int(rows * _ROW_HEIGHT * _CENTIMETRES_A_POINT)
    sheet.page.add_chart(chart, f"A{sheet.row}")
    for row in range(sheet.row, sheet.row + rows):
        sheet.page.row_dimensions[row].height = _ROW_HEIGHT
    sheet.row += rows + 1


def _letters(color: str) -> RichText:
    """The letters of a part of a chart."""
    return RichText(p=[Paragraph(pPr=ParagraphProperties(defRPr=_character(_LETTER_SIZE, color)), r=[])])


def _title(text: str, size: int, color: str) -> Title:
    properties = _character(size, color)
    run = RegularTextRun(rPr=properties, t=clean(text))
    paragraph = Paragraph(pPr=ParagraphProperties(defRPr=properties), r=[run])
    return Title(tx=Text(rich=RichText(p=[paragraph])), overlay=False)


def _character(size: int, color: str) -> CharacterProperties:
    return CharacterProperties(sz=size, b=size > _LETTER_SIZE, solidFill=color, latin=Font(typeface=looks.FONT))

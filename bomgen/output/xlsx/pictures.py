"""Pictures of sheets: the vendor's logo, and the chart of the categories."""

from __future__ import annotations

import struct
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

from bomgen.core.document import Logo, Table
from bomgen.output.xlsx.cells import BLACK, FONT, GREY, LINE, NAVY, clean, storable
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
        width, height = _png(picture.content) if _FORMATS[picture.media_type] == "png" else _jpeg(picture.content)
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
    series.dLbls.txPr = _letters(BLACK)
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
        axis.txPr = _letters(BLACK)
        axis.graphicalProperties = GraphicalProperties(ln=LineProperties(solidFill=LINE))
    rows = _ROWS_OF_CHART + len(amounts) + len(amounts) // 2
    chart.width = int(sum(sheet.widths) * _CENTIMETRES_A_DIGIT)
    chart.height = int(rows * _ROW_HEIGHT * _CENTIMETRES_A_POINT)
    sheet.page.add_chart(chart, f"A{sheet.row}")
    for row in range(sheet.row, sheet.row + rows):
        sheet.page.row_dimensions[row].height = _ROW_HEIGHT
    sheet.row += rows + 1


def _letters(color: str) -> RichText:
    return RichText(p=[Paragraph(pPr=ParagraphProperties(defRPr=_character(_LETTER_SIZE, color)), r=[])])


def _title(text: str, size: int, color: str) -> Title:
    properties = _character(size, color)
    run = RegularTextRun(rPr=properties, t=clean(text))
    paragraph = Paragraph(pPr=ParagraphProperties(defRPr=properties), r=[run])
    return Title(tx=Text(rich=RichText(p=[paragraph])), overlay=False)


def _character(size: int, color: str) -> CharacterProperties:
    return CharacterProperties(sz=size, b=size > _LETTER_SIZE, solidFill=color, latin=Font(typeface=FONT))

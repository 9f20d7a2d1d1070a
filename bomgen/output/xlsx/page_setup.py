"""How a sheet is printed: paper, scale, margins, and where a page must end so that what belongs together stays so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.dimensions import SheetFormatProperties
from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.properties import PageSetupProperties
from openpyxl.worksheet.worksheet import Worksheet

_A4 = 9
_SHORT_SIDE, _LONG_SIDE = 595.3, 792.0
"""What A4 and Letter both have [points]: a sheet takes as many pages on either."""
_MARGIN = 0.45
"""[inches]"""
_POINTS_AN_INCH = 72
_POINTS_A_DIGIT = 5.56
"""What a column takes for a digit of its width: a digit of Arial is 0.556 of its size, which is 10 points."""
_USUAL_HEIGHT = 15.0
"""Of rows that nothing else is said of [points]."""
_LANDSCAPE_FROM = 100
"""Sheets that are wider, in characters, are printed across."""
_SURE = 0.92
"""The part of a page that rows fill by any program's measure; programs disagree a little about heights."""
_DOUBT = 0.05
"""How far off the rows of a page may be, in parts of it, for every page that a program ended itself."""
_NARROWER = 0.97
"""What a sheet is scaled to of the width of its page, where the scale is a number; programs disagree there, too."""
_MOST_SHRUNK = 1.25
"""A little more than a page is printed smaller, so that it takes no second one."""
_FULL_SIZE = 100
"""[per cent]"""


def arrange(page: Worksheet, widths: Sequence[float], last: int, together: Mapping[int, int]) -> None:
    """Set up the print of a sheet's columns of such widths [characters] down to its last row.

    `together` has the first and last row of what is not to be split by the end of a page.
    """
    page.sheet_format = SheetFormatProperties(defaultRowHeight=_USUAL_HEIGHT, customHeight=True)
    wide = sum(widths)
    across = wide > _LANDSCAPE_FROM
    page.print_area = f"A1:{get_column_letter(len(widths))}{last}"
    page.page_setup.paperSize = _A4
    page.page_setup.orientation = "landscape" if across else "portrait"
    margins = page.page_margins
    margins.left = margins.right = margins.header = margins.footer = _MARGIN
    margins.top = margins.bottom = 2 * _MARGIN
    width, height = (_LONG_SIDE, _SHORT_SIDE) if across else (_SHORT_SIDE, _LONG_SIDE)
    scale = min((width - 2 * _MARGIN * _POINTS_AN_INCH) / (wide * _POINTS_A_DIGIT), 1) * _NARROWER
    room = (height - 2 * 2 * _MARGIN * _POINTS_AN_INCH) / scale
    heights = [page.row_dimensions[row].height or _USUAL_HEIGHT for row in range(1, last + 1)]
    too_much = sum(heights[: max(together.values(), default=0)]) / (room * _SURE)
    if 1 < too_much <= _MOST_SHRUNK:
        page.page_setup.scale = int(scale / too_much * _FULL_SIZE)
        return
    if ends := page_ends(heights, together, room, sum(heights[row - 1] for row in _repeated(page))):
        page.page_setup.scale = int(scale * _FULL_SIZE)
        for row in ends:
            page.row_breaks.append(Break(row))
        return
    # A sheet that is fitted to the width of its page has no page ends of its own: Excel ignores them.
    page.page_setup.fitToHeight = 0
    page.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)


def page_ends(heights: Sequence[float], together: Mapping[int, int], room: float, repeated: float) -> list[int]:
    """The rows after which a page must end so that no block of `together` is split.

    `heights` are those of the rows, `room` that of a page, `repeated` that of the header on every page but the first,
    all in points.
    """
    ends: list[int] = []
    used = doubt = 0.0
    for row, height in enumerate(heights, 1):
        end = used + sum(heights[row - 1 : together.get(row, 0)])
        if row in together and row > 1 and (end + doubt > room * _SURE or (doubt and used - doubt < repeated)):
            ends.append(row - 1)
            used, doubt = repeated, 0.0
        elif used + height > room:
            used, doubt = repeated, doubt + room * _DOUBT
        used += height
    return ends


def _repeated(page: Worksheet) -> range:
    rows = (page.print_title_rows or "").replace("$", "")
    first, _, last = rows.partition(":")
    return range(int(first), int(last) + 1) if rows else range(0)

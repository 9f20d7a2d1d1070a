"""How cells of sheets look, and their usual number formats."""

from __future__ import annotations

from typing import NamedTuple

GENERAL = "General"
WHOLE = "#,##0"
SHARE_FORMAT = "0.0#%"
FONT = "Arial"
TEXT_SIZE = 10
BLACK = "000000"
WHITE = "FFFFFF"
NAVY = "1F3864"
PALE = "E9EEF6"
GREY = "666666"
BLUE = "0B5FB0"
LINE = "C9D2E0"
AMBER = "FFF2CC"


class Look(NamedTuple):
    """How a cell looks, apart from its number format."""

    color: str = BLACK
    size: int = TEXT_SIZE
    bold: bool = False
    fill: str = ""
    lined: bool = True
    right: bool = False
    middle: bool = False
    wrap: bool = True
    indent: int = 0
    open: bool = False
    """Whether the reader of a protected workbook may change the cell."""


TITLE = Look(color=NAVY, size=16, bold=True, lined=False, wrap=False)
HEADING = Look(color=NAVY, size=12, bold=True, lined=False, wrap=False)
HEADER = Look(color=WHITE, bold=True, fill=NAVY, middle=True)
NUMBER_HEADER = HEADER._replace(right=True)
PARAGRAPH = Look(lined=False)
CAPTION = Look(color=GREY, lined=False)
GROUP = Look(color=NAVY, bold=True, fill=PALE, wrap=False)
TABLE_BAND = GROUP._replace(size=11, fill="")
PATH = GROUP._replace(wrap=True)
TEXT = Look()
LABEL = Look(bold=True)
EXPLANATION = Look(color=GREY)
NUMBER = Look(right=True, wrap=False)
WORD_OF_NUMBERS = Look(right=True)
INPUT = NUMBER._replace(color=BLUE, open=True)
INPUT_TEXT = TEXT._replace(color=BLUE, open=True)
WARNING = Look(bold=True, fill=AMBER)
TOTAL_LABEL = Look(right=True, wrap=False, lined=False)
GRAND_LABEL = TOTAL_LABEL._replace(bold=True)
GRAND = NUMBER._replace(bold=True, fill=PALE)
GRAND_TEXT = Look(bold=True, fill=PALE)

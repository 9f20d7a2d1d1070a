"""A report as plain data: sections of facts, tables, notes, drawings and derivations.

Renderers know these, not clusters. Text in a document is in the language of the quote; numbers stay numbers, so that a
workbook can calculate with them and a page can format them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal, NamedTuple

from bomgen.core.money import NO_TOTALS, Totals

# picture ------------------------------------------------------------------------------------------------------------
# The vendor's picture: what kind of file it is, told by its first bytes.

MOST_LOGO = 10**6
"""Bytes of a picture that every quote carries."""
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_SVG = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?((?><!--.*?-->|<!DOCTYPE[^>\[]*>)\s*)*+<svg(\s[^<]*)?>", re.DOTALL
)
"""Comments are not gone back into: of a thousand of them there are more ways to read than time for it."""
_PNG_SIZE = slice(16, 24)
"""Where a PNG holds its width and height, four bytes each."""
_MOST_PIXELS = 10**4
"""Of width and height."""


class Logo(NamedTuple):
    """A picture of the vendor."""

    media_type: str
    content: bytes


def logo(content: bytes) -> Logo | None:
    """A picture with its media type; None for what is no PNG, JPEG or SVG, or too large.

    An SVG is only ever shown as an image, where no script of it runs and nothing is fetched.
    """
    if len(content) > MOST_LOGO:
        return None
    if content.startswith(_PNG):
        return Logo("image/png", content) if _has_size(content) else None
    if content.startswith(_JPEG):
        return Logo("image/jpeg", content)
    return Logo("image/svg+xml", content) if _SVG.match(content) else None


def _has_size(png: bytes) -> bool:
    """Whether a PNG tells a width and a height that a page can show."""
    size = png[_PNG_SIZE]
    half = len(size) // 2
    numbers = [int.from_bytes(side, "big") for side in (size[:half], size[half:])]
    return all(0 < number <= _MOST_PIXELS for number in numbers)


# document -----------------------------------------------------------------------------------------------------------

Value = str | int | float | Fraction | Decimal | None

USUAL_WIDTH = 14
"""Width of a column that needs no more [characters]."""
ColumnKind = Literal["text", "number", "money", "share"]
Level = Literal["info", "warning"]
Sign = Literal["", "+", "-", "~"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with its unit; None is a value that nobody knows."""

    value: Value
    unit: str = ""
    why: str | None = None
    """The path of the derivation that explains it."""
    least: bool = False
    """A number that leaves something out, because it is not known: a lower bound."""
    note: str | None = None
    """How a value that has no derivation of its own came about."""
    share_of_hardware: Fraction | None = None
    """The share of what the hardware comes to that a unit price is."""
    estimate: tuple[Value, Value] | None = None
    """The range of an estimate; None if the value is not an estimate."""
    best: bool = False
    """Whether it is the best of its row, where plans stand side by side."""
    base: Value = None
    """What the value is a change of: it is written with its sign, and with its share of that."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `key` is its name for programs, `width` its width in characters."""

    key: str
    title: str
    kind: ColumnKind = "text"
    width: int = USUAL_WIDTH


@dataclass(frozen=True, slots=True)
class Row:
    """Cells in the order of the columns; `group` is the heading that the row stands under, where a table has groups."""

    cells: tuple[Cell, ...]
    group: str | None = None
    in_stock: bool = False
    """Whether the customer has what the row is about: no share of the hardware is taken of it."""
    id: str | None = None
    """The id of the line of a bill, which a workbook keeps out of sight."""
    sign: Sign = ""
    """Whether the row is new, gone or changed, where texts say so."""


def row_of(
    *values: Cell | Value, group: str | None = None, in_stock: bool = False, id: str | None = None, sign: Sign = ""
) -> Row:
    """Return a row of cells, or of values that need no more than themselves."""
    return Row(tuple(each if isinstance(each, Cell) else Cell(each) for each in values), group, in_stock, id, sign)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of equal columns."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: str | None = None
    open: bool = False
    """Whether a page never folds it away, however long it is."""
    folded: bool = False
    """Whether it is folded away wherever something can be, however short it is."""
    most: int | None = None
    """Rows that a terminal shows at first; it counts the others."""
    keys: int = 1
    """Columns at the left that name a row; a terminal repeats them where the others need several tables."""


def heading_of(table: Table, index: int) -> str:
    """Return the title of a column, with its currency where it has one."""
    title, currency = table.columns[index].title, currency_of(table, index)
    return f"{title} ({currency})" if currency else title


def currency_of(table: Table, index: int) -> str:
    """Return the currency of a column of money where it has only one: its heading names it."""
    if table.columns[index].kind != "money":
        return ""
    found = {cell.unit for row in table.rows if isinstance((cell := row.cells[index]).value, Decimal)}
    return found.pop() if len(found) == 1 else ""


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence that the reader must see, and the place of the plan that it is about."""

    level: Level
    text: str
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture as SVG, with a description for readers who do not see it."""

    id: str
    title: str
    svg: str
    description: str
    file: str | None = None
    """The file of the picture beside the document; None: there is none."""
    data: Table | None = None
    """What the picture shows, as a table; a workbook leaves it out."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a derivation: a name, its value, and the formula in words, place or document that it comes from."""

    depth: int
    name: str
    value: Value
    unit: str
    origin: str
    see: str | None = None
    """The path of the derivation that goes on from here; `origin` says so in words."""
    expression: str = ""
    """The code's own expression of a formula that `origin` describes."""
    estimate: tuple[Value, Value] | None = None
    """The range of an estimate."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """How one number of the result was worked out; `path` is its path in bom.json."""

    path: str
    title: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A chapter; empty parts are left out by the renderers."""

    id: str
    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[Note, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    derivations: tuple[Derivation, ...] = ()


@dataclass(frozen=True, slots=True)
class Party:
    """One side of the quote: what it is, and the lines of its address, the name first."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cover:
    """What stands large on the cover of a quote: the total with its label, and below it what that covers."""

    label: str
    total: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report, or a quote."""

    title: str
    language: str
    sections: tuple[Section, ...]
    subtitle: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    """Label and text of the cover: customer, date, validity, plan."""
    headline: tuple[tuple[str, Cell], ...] = ()
    """The few numbers that the reader came for."""
    totals: Totals = NO_TOTALS
    footer: str = ""
    parties: tuple[Party, ...] = ()
    logo: Logo | None = None
    protected: bool = False
    """Whether a workbook lets its reader change inputs only."""
    cover: Cover | None = None
    """Of a quote; a report has none."""
    id: str | None = None
    """By which a quote that was edited is recognised, where it can be."""
    acceptance: tuple[str, ...] = ()
    """What the signatures below a quote stand for."""
    author: str = ""
    """Who offers; empty where the plan does not say."""
    date: str | None = None
    """That of the quote, as `2026-11-20`."""

    def section(self, id: str) -> Section:
        """The section of that id. Raises KeyError when there is none."""
        for section in self.sections:
            if section.id == id:
                return section
        raise KeyError(id)

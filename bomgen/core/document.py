"""Documents as plain data: sections of facts, tables, notes, drawings and derivations.

Renderers know these, not clusters. Text in a document is in the language of the quote; numbers stay numbers, so that a
workbook can calculate with them and a page can format them.

Which numbers documents show is in the registry: a row per property of `schemas/bom.schema.json`, at its path in
bom.json. In addition to its type and description a row may state how documents use the number:

- `title`: its name in `bomgen diff`
- `x-unit`: its unit, except for counts
- `x-better`: the better direction, `less` or `more`
- `x-rank`: its rank in a diff, 1 first
- `x-sum`: whether it adds up over clusters, or over fabrics of a role: over `all`, or over those where it is `known`
- `x-compare`: its row in `bomgen compare`: true, or the key of the row
- `x-table`: the report table that shows it and everything below it
- `x-search`: its rank and name as a measure of `bomgen search`
- `x-quote`: its rank among the site numbers of a quote
- `x-power`: whether it is a lower bound where the power of a machine is not known

Labels are in `data/language/`, by the end of the path. To add a number, add its row, and a field of its name to the
record that `results/numbers.py` reads.

Grouping of items by a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar

from bomgen.core.provenance import json_value
from bomgen.core.resources import folder, text, unfold
from bomgen.core.units import NO_TOTALS, Totals

# picture ------------------------------------------------------------------------------------------------------------
# The vendor's logo: its kind of file, from its first bytes.

MOST_LOGO = 10**6
"""Maximum size of the logo, which every quote carries [bytes]."""
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", b"\xff\xd8\xff"
"""The first bytes: of a PNG its signature and the head of its first chunk (PNG, second edition, W3C 2003)."""
_SVG = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?((?><!--.*?-->|<!DOCTYPE[^>\[]*>)\s*)*+<svg(\s[^<]*)?>", re.DOTALL
)
"""Comments match without backtracking: a thousand of them would take exponential time."""
_PNG_SIZE = slice(16, 24)
"""The bytes of a PNG that hold its width and height, four bytes each."""
_MOST_PIXELS = 10**4
"""Maximum width and height of a PNG [pixels]."""


class Logo(NamedTuple):
    """The logo of the vendor."""

    media_type: str
    content: bytes
    size: tuple[int, int] | None = None
    """Width and height of a PNG [pixels]."""


def logo(content: bytes) -> Logo | None:
    """Return a picture with its media type; None if it is not a PNG, JPEG or SVG, or is too large.

    An SVG is only ever shown as an image, where its scripts do not run and nothing is fetched.
    """
    if len(content) > MOST_LOGO:
        return None
    if content.startswith(_PNG):
        size = content[_PNG_SIZE]
        half = len(size) // 2
        width, height = (int.from_bytes(side, "big") for side in (size[:half], size[half:]))
        small = all(0 < side <= _MOST_PIXELS for side in (width, height))
        return Logo("image/png", content, (width, height)) if small else None
    if content.startswith(_JPEG):
        return Logo("image/jpeg", content)
    return Logo("image/svg+xml", content) if _SVG.match(content) else None


# document -----------------------------------------------------------------------------------------------------------

QUOTE, REPORT = KINDS = ("quote", "report")
"""The document that the customer signs, and the one that the engineer checks."""
Value = str | int | float | Fraction | Decimal | None

USUAL_WIDTH = 14
"""Width of a column of ordinary content [characters]."""
ColumnKind = Literal["text", "number", "money", "share"]
Level = Literal["info", "warning"]
Sign = Literal["", "+", "-", "~"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with its unit; None is an unknown value."""

    value: Value
    unit: str = ""
    why: str | None = None
    """The path of the derivation of the value."""
    least: bool = False
    """Whether the number is a lower bound because it excludes unknown items."""
    note: str | None = None
    """How a value without a derivation was obtained."""
    share_of_hardware: Fraction | None = None
    """The share of the hardware total that makes up a unit price."""
    estimate: tuple[Value, Value] | None = None
    """The range of an estimate; None if the value is not an estimate."""
    best: bool = False
    """Whether the value is the best of its row, where plans are compared side by side."""
    base: Value = None
    """The value that this one is a change of: the change is written with its sign, and as a share of the base."""
    documents: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Title and address of the documents that the text names; pages and Markdown show them as links."""
    formula: str = field(default="", repr=False)
    """The formula by which a workbook works out the value (documents/tables.py)."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `key` is its name for programs, `width` its width in characters."""

    key: str
    title: str
    kind: ColumnKind = "text"
    width: int = USUAL_WIDTH
    main: bool = field(default=False, repr=False)
    """Whether a narrow screen shows the column; it shows the first ones of a table that declares none."""
    code: bool = field(default=False, repr=False)
    """Whether backticks in its texts enclose code, as in messages."""


@dataclass(frozen=True, slots=True)
class Row:
    """Cells in the order of the columns; `group` is the heading of the row, where a table has groups."""

    cells: tuple[Cell, ...]
    group: str | None = None
    in_stock: bool = False
    """Whether the customer already owns the row's part, which then has no share of the hardware total."""
    id: str | None = None
    """The id of the bill line of the row, which a workbook keeps in a hidden column."""
    sign: Sign = ""
    """Whether the row was added, removed or changed, where documents show it."""


def row_of(*values: Cell | Value, group: str | None = None, id: str | None = None, sign: Sign = "") -> Row:
    """Return a row of cells, or of plain values that become cells."""
    return Row(tuple(value if isinstance(value, Cell) else Cell(value) for value in values), group, id=id, sign=sign)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of equal columns."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: str | None = None
    open: bool = False
    """Whether a page never folds the table, however long it is."""
    folded: bool = False
    """Whether a page always folds the table, however short it is."""
    most: int | None = None
    """Rows that a terminal shows at first; the rest are counted."""
    keys: int = 1
    """Columns at the left that identify a row; a terminal repeats them where it splits a wide table."""
    code: bool = field(default=False, repr=False)
    """Whether backticks in the caption enclose code."""
    sortable: bool = field(default=False, repr=False)
    """Whether the reader of a page sorts the rows by any column; the texts of a row are then never stacked."""


def currency_of(table: Table, index: int) -> str:
    """Return the currency of a column of money that has only one, which its heading then names."""
    if table.columns[index].kind != "money":
        return ""
    units = {cell.unit for row in table.rows if isinstance((cell := row.cells[index]).value, Decimal)}
    return units.pop() if len(units) == 1 else ""


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence that the reader must see, and the place of the plan that it refers to."""

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
    """The file of the picture beside the document, if there is one."""
    data: Table | None = None
    """The content of the picture as a table; a workbook omits it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a derivation: a name, its value, and its origin: the formula in words, a place or a document.

    The name of an input of a formula contains the value: `4 servers`.
    """

    depth: int
    name: str
    value: Value
    unit: str
    origin: str
    see: str | None = None
    """The path of the derivation of this value; `origin` names it in words."""
    expression: str = ""
    """The code's own expression of a formula that `origin` describes."""
    estimate: tuple[Value, Value] | None = None
    """The range of an estimate."""
    parameter: str = ""
    """The code's own name of an input of a formula."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """The calculation of one number of the result; `path` is its path in bom.json."""

    path: str
    title: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A chapter; renderers omit its empty parts."""

    id: str
    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[Note, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    derivations: tuple[Derivation, ...] = ()
    own: int = 0
    """The number of sentences at the end of the text that the plan gives."""


@dataclass(frozen=True, slots=True)
class AddressBlock:
    """One side of the quote: its role, and the lines of its address, the name first."""

    title: str
    lines: tuple[str, ...]
    key: str = field(default="", repr=False)
    """The key of the word that is its title; the fingerprint of a quote, made of `repr`, leaves it out."""


@dataclass(frozen=True, slots=True)
class Cover:
    """The headline of a quote's cover: what is bought, the total with its label, and below it what the total covers."""

    label: str
    total: str
    notes: tuple[Cell, ...]
    bought: tuple[str, ...] = ()
    """What is bought, on one line for each cluster."""
    lead: Cell | None = None
    """What a workbook says above its sums if they are no offer; the formula says it until a price is changed."""


class Sum(NamedTuple):
    """A sum below a bill."""

    key: str
    """`list`, `discount`, `net`, `tax` or `total`."""
    label: str
    cell: Cell
    final: bool = False
    """Whether it is the amount to pay."""


def _row_data(columns: Iterable[Column], row: Row) -> dict[str, Any]:
    data = dict[str, Any]()
    for column, cell in zip(columns, row.cells, strict=True):
        data[column.key] = f"{cell.value:f}" if isinstance(cell.value, Decimal) else json_value(cell.value)
        if cell.unit and cell.value is not None:
            data[f"{column.key}_unit"] = cell.unit
    return data


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
    """The few numbers that the reader looks for first."""
    totals: Totals = NO_TOTALS
    footer: str = ""
    parties: tuple[AddressBlock, ...] = ()
    logo: Logo | None = None
    protected: bool = False
    paper: str = "a4"
    """a4 or letter."""
    """Whether a workbook lets its reader change inputs only."""
    cover: Cover | None = None
    """The cover of a quote; a report has none."""
    id: str | None = None
    """The identifier by which an edited quote is recognised, if it has one."""
    acceptance: tuple[str, ...] = ()
    """The text above the signatures of a quote: what they accept; empty for a document that nobody signs."""
    author: str = ""
    """The vendor; empty where the plan does not name one."""
    date: str | None = None
    """The date of the quote, such as `2026-11-20`."""
    fact_keys: tuple[str, ...] = ()
    """The keys of the words that label the facts of a quote."""
    sums: tuple[Sum, ...] = ()
    """The totals in words; the total comes last. Empty where no line has a price."""
    printed: Document | None = None
    """What pages and Markdown show instead, where the lines of a workbook say more: where each part is used."""

    @property
    def kind(self) -> str:
        """Return the kind of the document, one of `KINDS`."""
        return QUOTE if self.cover else REPORT

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of all tables as data, by column: `table` names the table, amounts are decimal strings."""
        return [
            {"table": table.id} | _row_data(table.columns, row)
            for section in self.sections
            for table in section.tables
            for row in table.rows
        ]

    def section(self, id: str) -> Section:
        """Return the section with an id. Raises KeyError when there is none."""
        for section in self.sections:
            if section.id == id:
                return section
        raise KeyError(id)


Path = tuple[str, ...]
Better = Literal["less", "more", ""]
"""Better direction; empty for neither."""
LESS: Better = "less"
MORE: Better = "more"
NEITHER: Better = ""
KNOWN = "known"
"""Value of `x-sum` that skips unknown numbers; otherwise all must be known."""
EACH = "*"
"""Placeholder in a row's path for names that plans choose, such as those of fabrics."""


class Number(NamedTuple):
    """A registry row: how documents use a number, or a word among numbers."""

    path: Path
    title: str
    unit: str
    better: Better
    rank: int | None
    summed: str
    compared: str
    """Key of its comparison row; empty without one."""
    table: str
    searched: tuple[int, str] | None
    """Its rank and name as a measure of a search."""
    quoted: int | None
    """Its rank in a quote."""
    needs_power: bool
    """Whether it depends on the power of every machine."""


@cache
def registry() -> Mapping[Path, Number]:
    """Return every row by its path, in the order of the schema."""
    whole = json.loads(text(folder("schemas") / "bom.schema.json"))
    rows = dict[Path, Number]()
    for row in _rows_below(whole, whole, ()):
        rows.setdefault(row.path, row)
    return rows


def _rows_below(whole: dict[str, Any], schema: dict[str, Any], path: Path, table: str = "") -> Iterator[Number]:
    for part in unfold(whole, schema):
        named, named_freely = part.get("properties", {}), part.get("additionalProperties")
        for key, row in (*named.items(), *([(EACH, named_freely)] if isinstance(named_freely, dict) else ())):
            at = (*path, key)
            compared, shown_in = row.get("x-compare", ""), row.get("x-table", table)
            yield Number(
                at,
                row.get("title", ""),
                row.get("x-unit", ""),
                row.get("x-better", NEITHER),
                row.get("x-rank"),
                row.get("x-sum", ""),
                compared if isinstance(compared, str) else ".".join(at),
                shown_in,
                tuple(row["x-search"]) if "x-search" in row else None,
                row.get("x-quote"),
                row.get("x-power", False),
            )
            yield from _rows_below(whole, row, at, shown_in)


def measures() -> Mapping[str, str]:
    """Return the measures of a search by rank, with their units; `count` for those without a unit."""
    rows = {row.searched: row.unit or "count" for row in registry().values() if row.searched}
    return {name: unit for (_, name), unit in sorted(rows.items())}


def serving_measures() -> Mapping[str, tuple[Path, bool]]:
    """Return the measures of a search that serving a model has: the path of each, and whether more is better."""
    found = [(row.searched, path, row.better == MORE) for path, row in registry().items() if row.searched]
    return {name: (path, more) for (_, name), path, more in sorted(found) if path[0] == "workload" and name != "days"}


def row_at(path: Path) -> Number | None:
    """Return the row of a number; None if the schema does not have it."""
    rows, paths = registry(), list[Path]([()])
    for step in path:
        paths = [at for before in paths for at in ((*before, step), (*before, EACH)) if at in rows]
    return rows[paths[0]] if paths else None


def rows_below(*path: str) -> Iterator[Number]:
    """Yield the rows below a path, in the order of the schema."""
    return (row for at, row in registry().items() if at[: len(path)] == path)


Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return the items of each key, in their order; keys are in order of first appearance."""
    groups = dict[Key, list[Item]]()
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups

"""Documents of tables, and how a price list was understood, as text for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple
from unicodedata import east_asian_width

from bomgen.core.document import Document, Table, TextTable
from bomgen.core.language import Language
from bomgen.core.money import decimal
from bomgen.reading.list_columns import Column
from bomgen.reading.list_rows import FREE, HEADER, NO_PART, NO_PRICE, NOTE, SAME, SUM, UNIT_UNKNOWN, LeftOut
from bomgen.reading.part_numbers import PartIndex
from bomgen.reading.price_lists import PriceList

_GAP = "  "
_BOLD = "bold"
_WIDE = ("W", "F")
"""Characters that take the place of two."""


def text(document: Document, language: Language, every: bool = False) -> bytes:
    """The tables and notes of a document in UTF-8, columns aligned; `every` table, or those that are not folded."""
    lines = list[str]()
    for each in parts(document, language, every):
        lines += [each] if isinstance(each, str) else align(each)
    return ("\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n").encode("utf-8")


def parts(document: Document, language: Language, every: bool = False) -> Iterator[str | TextTable]:
    """The lines and the tables of a document, one after the other. Headings in a table are rows with a single text.

    Of a folded table there is a line that says how many rows it has, unless `every` one is shown.
    """
    colon = language.word("ui-colon")
    yield from (document.title, "")
    for section in document.sections:
        yield from (*section.text, *([""] if section.text else []))
        for table in section.tables:
            if table.folded and not every:
                yield from (language.word("text-folded", title=table.title, rows=len(table.rows)), "")
                continue
            yield from [table.title] if table.folded else []
            yield from (_table(table, language), "")
        yield from (f"{language.word(f'ui-{note.level}')}{colon} {note.text}" for note in section.notes)
        yield from [""] if section.notes else []


def _table(table: Table, language: Language) -> TextTable:
    rows, styles = [[column.title for column in table.columns]], [_BOLD]
    group = None
    for row in table.rows:
        if row.group is not None and row.group != group:
            rows.append([row.group, *[""] * (len(table.columns) - 1)])
            styles.append(_BOLD)
        group = row.group
        rows.append([_GAP + language.cell(row.cells[0]), *(language.cell(cell) for cell in row.cells[1:])])
        styles.append("")
    rows[0][0] = _GAP + rows[0][0]
    numbers = [at for at, column in enumerate(table.columns) if column.kind != "text"]
    return TextTable(rows, right=numbers, styles=styles)


def align(table: TextTable) -> Iterator[str]:
    """Cells side by side: texts begin at the left, numbers end at the right. Headings move no column."""
    whole = [row for row in table.rows if any(row[1:])]
    widths = [max(map(_width, cells)) for cells in zip(*whole, strict=True)]
    for row in table.rows:
        padded = []
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            room = " " * (width - _width(cell))
            padded.append(room + cell if at in table.right else cell + room)
        yield _GAP.join(padded)


def _width(text: str) -> int:
    return sum(2 if east_asian_width(sign) in _WIDE else 1 for sign in text)


# list reading -------------------------------------------------------------------------------------------------------
# How a vendor's price list was understood, as text.

FIRST = 5
"""Prices that are shown of a list."""
NAMED = 10
"""Rows of each kind that are named."""
GAP = "  "
REASONS = {
    NO_PRICE: ("row without a price", "rows without a price"),
    FREE: ("row with a price of 0", "rows with a price of 0"),
    UNIT_UNKNOWN: ("row priced by another unit than pieces", "rows priced by another unit than pieces"),
    NO_PART: ("row with a price and no part", "rows with a price and no part"),
    SUM: ("subtotal or total", "subtotals and totals"),
    NOTE: ("note", "notes"),
    HEADER: ("header again", "headers again"),
    SAME: ("row that repeats another", "rows that repeat others"),
}
NAMED_REASONS = (NO_PRICE, FREE, UNIT_UNKNOWN, NO_PART)
"""Rows that a reader may miss."""


class Use(NamedTuple):
    """What a plan takes of a list."""

    plan: str
    used: int
    """Rows of parts that it uses."""
    parts: int
    """Parts that it buys."""
    unpriced: Sequence[str]
    """Those of them that the list has no price for."""


def describe(found: PriceList, parts: PartIndex, use: Use | None = None) -> Iterator[str]:
    """Lines: what each column was taken for, the first prices, what was left out, and what no part is known for."""
    file = found.source.file
    for layout in found.layouts:
        sheet = f", sheet '{layout.table.name}'" if layout.table.name else ""
        yield f"{file}{sheet}: header in line {layout.header.line}"
        breaks = {column.at: f"{role} from {quantity or 1}" for role, quantity, column in layout.breaks}
        taken = {column.at: (role, column) for role, column in layout.columns.items()}
        taken |= {column.at: (breaks[column.at], column) for *_, column in layout.breaks}
        rows = [
            (column.letter, _quoted(column), role.replace("_", " "), column.why)
            for _, (role, column) in sorted(taken.items())
        ]
        rows += [(column.letter, _quoted(column), "not read", "") for column in layout.unused]
        yield from _aligned(rows)
    yield from found.notes
    for kind, names in (("without prices", found.unread), ("hidden", found.hidden)):
        if names:
            yield f"sheets that are not read, {kind}: {', '.join(names)}"
    entries = found.source.data["prices"]
    yield ""
    yield (
        f"{_count(len(entries), ('price', 'prices'))}, of these the first:"
        if len(entries) > FIRST
        else _count(len(entries), ("price", "prices")) + ":"
    )
    yield from _aligned([_price(entry, parts) for entry in entries[:FIRST]])
    yield from _left_out(found.left_out)
    yield from _unmatched(entries, found, parts)
    if use:
        yield ""
        priced = use.parts - len(use.unpriced)
        yield f"{use.plan} uses {use.used} of the {len(entries)} prices, for {priced} of its {use.parts} parts"
        if use.unpriced:
            yield f"  no price in it: {', '.join(use.unpriced)}"


def _quoted(column: Column) -> str:
    return f"'{column.heading.text}'" if column.heading.text else ""


def _price(entry: dict[str, Any], parts: PartIndex) -> tuple[str, ...]:
    ids = parts.ids(entry["part"])
    amount = f"{decimal(entry['price']):f}" if "price" in entry else f"{entry.get('min')} to {entry.get('max')}"
    known = f"= {ids[0]}" if len(ids) == 1 and ids[0] != entry["part"].lower() else ""
    pieces = f"from {entry['from_quantity']}" if "from_quantity" in entry else ""
    until = f"until {entry['valid_until']}" if "valid_until" in entry else ""
    return entry["part"], f"{amount} {entry['currency']}", pieces, until, entry.get("lead_time", ""), known


def _left_out(rows: Sequence[LeftOut]) -> Iterator[str]:
    counts = Counter(row.reason for row in rows)
    if not counts:
        return
    yield ""
    yield "left out: " + ", ".join(_count(counts[reason], names) for reason, names in REASONS.items() if counts[reason])
    for reason in NAMED_REASONS:
        of_reason = [row for row in rows if row.reason == reason]
        for row in of_reason[:NAMED]:
            yield f"  line {row.mark.line}: {reason}: {row.text}"
        if len(of_reason) > NAMED:
            yield f"  ... and {len(of_reason) - NAMED} more with {reason}"


def _unmatched(entries: Sequence[dict[str, Any]], found: PriceList, parts: PartIndex) -> Iterator[str]:
    """The prices of parts that nobody knows, or that are several."""
    unknown = [(at, entry["part"]) for at, entry in enumerate(entries) if len(parts.ids(entry["part"])) != 1]
    if not unknown:
        return
    yield ""
    yield f"{_count(len(unknown), ('price matches', 'prices match'))} no part of the catalogue:"
    for at, part in unknown[:NAMED]:
        several = parts.ids(part)
        near = several or parts.nearest(part)
        words = (
            f"fits several: {', '.join(several)}" if several else f"near: {', '.join(near)}" if near else "none is near"
        )
        yield f"  line {found.source.mark(('prices', at)).line}: {part} ({words})"
    if len(unknown) > NAMED:
        yield f"  ... and {len(unknown) - NAMED} more"


def use_of(
    found: PriceList, plan: str, names: Sequence[Collection[str]], shown: Sequence[str], parts: PartIndex
) -> Use:
    """What a plan takes of a list: `names` are those of each of its parts, `shown` what each is called."""
    listed = [{entry["part"].lower(), *parts.ids(entry["part"])[:1]} for entry in found.source.data["prices"]]
    of_plan = {name for each in names for name in each}
    of_list = {name for each in listed for name in each}
    unpriced = [name for name, each in zip(shown, names, strict=True) if not set(each) & of_list]
    return Use(plan, sum(bool(each & of_plan) for each in listed), len(shown), unpriced)


def _count(number: int, names: tuple[str, str]) -> str:
    return f"{number} {names[number != 1]}"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows with their cells below each other, without columns that are empty."""
    used = [at for at in range(len(rows[0])) if any(row[at] for row in rows)]
    return (f"{GAP}{line}".rstrip() for line in align(TextTable([[row[at] for at in used] for row in rows])))

"""The interpretation of a vendor's price list, as a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bomgen.core.document import Cell, Column, Document, Row, Section, Table
from bomgen.core.messages import ENGLISH
from bomgen.core.money import decimal
from bomgen.reading.list_columns import RecognisedColumn as ListColumn
from bomgen.reading.list_rows import FREE, HEADER, NO_PART, NO_PRICE, NOTE, SAME, SUM, UNIT_UNKNOWN, UnpricedRow
from bomgen.reading.part_numbers import PartIndex
from bomgen.reading.price_lists import OTHER_PRICE, PriceList
from bomgen.results.result import Report

FIRST = 5
"""Number of prices shown."""
NAMED = 10
"""Number of rows of each kind that are named."""
REASONS = {
    NO_PRICE: ("row without a price", "rows without a price"),
    FREE: ("row with a price of 0", "rows with a price of 0"),
    UNIT_UNKNOWN: ("row priced by another unit than pieces", "rows priced by another unit than pieces"),
    NO_PART: ("row with a price and no part", "rows with a price and no part"),
    SUM: ("subtotal or total", "subtotals and totals"),
    NOTE: ("note", "notes"),
    HEADER: ("header again", "headers again"),
    OTHER_PRICE: ("row with another price of a part", "rows with other prices of parts"),
    SAME: ("row that repeats another", "rows that repeat others"),
}
NAMED_REASONS = (NO_PRICE, FREE, UNIT_UNKNOWN, NO_PART, OTHER_PRICE)
"""Reasons for skipped rows that a reader may miss."""


class Use(NamedTuple):
    """How a plan uses a price list."""

    plan: str
    used: int
    """Rows of parts that it uses."""
    parts: int
    """Parts that it buys."""
    unpriced: Sequence[str]
    """Parts that the list has no price for."""
    unused: Sequence[str]
    """Parts of the list that it does not buy."""
    near: Sequence[tuple[str, Sequence[str]]] = ()
    """Parts of the list that no part is known by, and the unpriced parts of the plan whose numbers are close."""


def describe(price_list: PriceList, parts: PartIndex, use: Use | None = None) -> Document:
    """Return the role of each column, the first prices, skipped rows, and prices without a known part."""
    entries = price_list.source.data["prices"]
    number = _count(len(entries), ("price", "prices"))
    title = f"{number}, of these the first:" if len(entries) > FIRST else f"{number}:"
    unread = [
        f"sheets not read, {kind}: {', '.join(names)}"
        for kind, names in (("without prices", price_list.unread), ("hidden", price_list.hidden))
        if names
    ]
    first = _table(title, [_price(entry, parts) for entry in entries[:FIRST]])
    sections = (
        Section("columns", "", tables=tuple(_layouts(price_list))),
        Section("notes", "", text=(*price_list.notes, *unread)),
        Section("prices", "", tables=(first,)),
        Section("left-out", "", tables=tuple(_left_out(price_list.left_out))),
        Section("unmatched", "", tables=tuple(_unmatched(entries, price_list, parts))),
        Section("use", "", text=tuple(_use(use, len(entries)) if use else ())),
    )
    return Document("", ENGLISH, sections)


def _layouts(price_list: PriceList) -> Iterator[Table]:
    for layout in price_list.layouts:
        sheet = f", sheet '{layout.table.name}'" if layout.table.name else ""
        breaks = {column.at: f"{role} from {quantity or 1}" for role, quantity, column in layout.breaks}
        taken = {column.at: (role, column) for role, column in layout.columns.items()}
        taken |= {column.at: (breaks[column.at], column) for *_, column in layout.breaks}
        rows = [
            (column.letter, _quoted(column), role.replace("_", " "), column.why)
            for _, (role, column) in sorted(taken.items())
        ]
        rows += [(column.letter, _quoted(column), "not read", "") for column in layout.unused]
        yield _table(f"{price_list.source.file}{sheet}: header in line {layout.header.line}", rows)


def _use(use: Use, prices: int) -> Iterator[str]:
    priced = use.parts - len(use.unpriced)
    yield f"{use.plan} uses {use.used} of the {prices} prices, for {priced} of its {use.parts} parts"
    if use.unpriced:
        yield f"no price in the list: {', '.join(use.unpriced)}"
    if use.unused:
        more = f", and {len(use.unused) - NAMED} more" if len(use.unused) > NAMED else ""
        yield f"not in {use.plan}: {', '.join(use.unused[:NAMED])}{more}"


def _quoted(column: ListColumn) -> str:
    return f"'{column.heading.text}'" if column.heading.text else ""


def _price(entry: dict[str, Any], parts: PartIndex) -> tuple[str, ...]:
    ids = parts.ids(entry["part"])
    amount = f"{decimal(entry['price']):f}" if "price" in entry else f"{entry.get('min')} to {entry.get('max')}"
    known = f"= {ids[0]}" if len(ids) == 1 and ids[0] != entry["part"].lower() else ""
    pieces = f"from {entry['from_quantity']}" if "from_quantity" in entry else ""
    until = f"until {entry['valid_until']}" if "valid_until" in entry else ""
    return entry["part"], f"{amount} {entry['currency']}", pieces, until, entry.get("lead_time", ""), known


def _left_out(rows: Sequence[UnpricedRow]) -> Iterator[Table]:
    counts = Counter(row.reason for row in rows)
    if not counts:
        return
    shown = list[tuple[str, ...]]()
    for reason in NAMED_REASONS:
        of_reason = [row for row in rows if row.reason == reason]
        shown += [(f"line {row.mark.line}", f"{reason}: {row.text}") for row in of_reason[:NAMED]]
        if len(of_reason) > NAMED:
            shown.append(("...", f"and {len(of_reason) - NAMED} more with {reason}"))
    names = ", ".join(_count(counts[reason], names) for reason, names in REASONS.items() if counts[reason])
    yield _table(f"left out: {names}", shown)


def _unmatched(entries: Sequence[dict[str, Any]], price_list: PriceList, parts: PartIndex) -> Iterator[Table]:
    """Yield tables of prices that match no catalogue part, or several."""
    unknown = [(at, entry["part"]) for at, entry in enumerate(entries) if len(parts.ids(entry["part"])) != 1]
    if not unknown:
        return
    rows = list[tuple[str, ...]]()
    for at, part in unknown[:NAMED]:
        several = parts.ids(part)
        near = several or parts.nearest(part)
        said = (
            f"fits several: {', '.join(several)}" if several else f"near: {', '.join(near)}" if near else "none is near"
        )
        rows.append((f"line {price_list.source.mark(('prices', at)).line}", part, said))
    if len(unknown) > NAMED:
        rows.append(("...", f"and {len(unknown) - NAMED} more", ""))
    yield _table(f"{_count(len(unknown), ('price matches', 'prices match'))} no part of the catalogue:", rows)


def use_of(entries: Sequence[Mapping[str, Any]], report: Report, parts: PartIndex) -> Use:
    """Return how the bill of a result uses the prices of a list."""
    bought = {names[0]: names for line in report.quote.all_lines if (names := line.line.names)}
    listed = [{entry["part"].lower(), *parts.ids(entry["part"])[:1]} for entry in entries]
    of_plan = {name for names in bought.values() for name in names}
    of_list = {name for each in listed for name in each}
    used = [bool(each & of_plan) for each in listed]
    unused = dict.fromkeys(entry["part"] for entry, uses in zip(entries, used, strict=True) if not uses)
    unpriced = [part for part, names in bought.items() if not set(names) & of_list]
    unknown = [part for part in unused if not parts.ids(part)]
    close = [(part, [part_of for part_of in parts.nearest(part) if part_of in unpriced]) for part in unknown]
    return Use(report.plan.name, sum(used), len(bought), unpriced, [*unused], [pair for pair in close if pair[1]])


def _count(number: int, names: tuple[str, str]) -> str:
    return f"{number} {names[number != 1]}"


def _table(title: str, rows: Sequence[Sequence[str]]) -> Table:
    """Return a table without headings and without empty columns."""
    used = [at for at in range(len(rows[0])) if any(row[at] for row in rows)] if rows else []
    columns = tuple(Column(str(at), "") for at in used)
    return Table(title, title, columns, tuple(Row(tuple(Cell(row[at]) for at in used)) for row in rows))

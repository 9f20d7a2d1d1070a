"""The interpretation of a vendor's price list, as a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bomgen.core.document import Cell, Column, Document, Row, Section, Table
from bomgen.core.language import Language, language
from bomgen.core.messages import ENGLISH, message
from bomgen.core.units import decimal
from bomgen.output.registry import PRICE_LISTS
from bomgen.reading.list_columns import RecognisedColumn as ListColumn
from bomgen.reading.list_columns import name_role
from bomgen.reading.list_rows import FREE, HEADER, NO_PART, NO_PRICE, NOTE, SAME, SUM, UNIT_UNKNOWN, UnpricedRow
from bomgen.reading.part_numbers import PartIndex
from bomgen.reading.price_lists import OTHER_PRICE, PriceList
from bomgen.reading.price_table import DESCRIPTION, columns
from bomgen.results.result import Report

if TYPE_CHECKING:
    from bomgen.pricing.quote import QuoteLine

FIRST = 5
"""Number of prices shown."""
NAMED = 10
"""Number of rows of each kind that are named."""
REASONS = {
    NO_PRICE: "no-price",
    FREE: "free",
    UNIT_UNKNOWN: "unit",
    NO_PART: "no-part",
    SUM: "sum",
    NOTE: "note",
    HEADER: "header",
    OTHER_PRICE: "other-price",
    SAME: "same",
}
"""Names of the reasons in messages: `left-sum` counts rows, `reason-sum` says why a row is skipped."""
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


def describe(
    price_list: PriceList, parts: PartIndex, use: Use | None = None, words: Language | None = None
) -> Document:
    """Return the role of each column, the first prices, skipped rows, and prices without a known part.

    `words` are English by default; those about the `use` always are.
    """
    words = words or language(ENGLISH)
    say = words.message
    entries = price_list.source.data["prices"]
    title = say(message("read-first" if len(entries) > FIRST else "read-prices", count=len(entries)))
    unread = [
        message(name, cell=words.word("list-comma").join(names))
        for name, names in (("read-without-prices", price_list.unread), ("read-hidden", price_list.hidden))
        if names
    ]
    first = _table(title, [_price(entry, parts, words) for entry in entries[:FIRST]])
    sections = (
        Section("columns", "", tables=tuple(_layouts(price_list, words))),
        Section("notes", "", text=tuple(map(say, (*price_list.notes, *unread)))),
        Section("prices", "", tables=(first,)),
        Section("left-out", "", tables=tuple(_left_out(price_list.left_out, words))),
        Section("unmatched", "", tables=tuple(_unmatched(entries, price_list, parts, words))),
        Section("use", "", text=tuple(_use(use, len(entries)) if use else ())),
    )
    return Document("", words.code, sections)


def _layouts(price_list: PriceList, words: Language) -> Iterator[Table]:
    say = words.message
    for layout in price_list.layouts:
        name = "read-header-sheet" if layout.table.name else "read-header"
        file, line = price_list.source.file, str(layout.header.line)
        title = say(message(name, id=file, key=layout.table.name, line=line))
        breaks = {
            column.at: say(message("read-break", role=name_role(role), quantity=str(quantity or 1)))
            for role, quantity, column in layout.breaks
        }
        roles = {role: say(name_role(role)) for role in layout.columns}
        taken = {column.at: (role, column) for role, column in layout.columns.items()}
        taken |= {column.at: (breaks[column.at], column) for *_, column in layout.breaks}
        rows = [
            (column.letter, _quoted(column), roles.get(role, role), say(column.why))
            for _, (role, column) in sorted(taken.items())
        ]
        rows += [(column.letter, _quoted(column), say(message("read-unused")), "") for column in layout.unused]
        yield _table(title, rows)


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


def _price(entry: dict[str, Any], parts: PartIndex, words: Language) -> tuple[str, ...]:
    say = words.message
    ids = parts.ids(entry["part"])
    amount = (
        f"{decimal(entry['price']):f}"
        if "price" in entry
        else words.word("range-ends", low=f"{entry.get('min')}", high=f"{entry.get('max')}")
    )
    known = f"= {ids[0]}" if len(ids) == 1 and ids[0] != entry["part"].lower() else ""
    pieces = say(message("read-from", quantity=str(entry["from_quantity"]))) if "from_quantity" in entry else ""
    until = say(message("read-until", date=str(entry["valid_until"]))) if "valid_until" in entry else ""
    return entry["part"], f"{amount} {entry['currency']}", pieces, until, entry.get("lead_time", ""), known


def _left_out(rows: Sequence[UnpricedRow], words: Language) -> Iterator[Table]:
    say = words.message
    counts = Counter(row.reason for row in rows)
    if not counts:
        return
    shown = list[tuple[str, ...]]()
    for reason in NAMED_REASONS:
        of_reason = [row for row in rows if row.reason == reason]
        why = message(f"reason-{REASONS[reason]}")
        shown += [
            (say(message("read-line", line=str(row.mark.line))), say(message("read-row", why=why, cell=row.text)))
            for row in of_reason[:NAMED]
        ]
        if len(of_reason) > NAMED:
            shown.append(("...", say(message("read-more-with", count=len(of_reason) - NAMED, why=why))))
    names = [message(f"left-{name}", count=counts[reason]) for reason, name in REASONS.items() if counts[reason]]
    yield _table(say(message("read-left-out", names=names)), shown)


def _unmatched(
    entries: Sequence[dict[str, Any]], price_list: PriceList, parts: PartIndex, words: Language
) -> Iterator[Table]:
    """Yield tables of prices that match no catalogue part, or several."""
    say = words.message
    unknown = [(at, entry["part"]) for at, entry in enumerate(entries) if len(parts.ids(entry["part"])) != 1]
    if not unknown:
        return
    rows = list[tuple[str, ...]]()
    for at, part in unknown[:NAMED]:
        several = parts.ids(part)
        near = several or parts.nearest(part)
        name = "read-fits-several" if several else "read-near" if near else "read-none-near"
        line = say(message("read-line", line=str(price_list.source.mark(("prices", at)).line)))
        rows.append((line, part, say(message(name, id=near))))
    if len(unknown) > NAMED:
        rows.append(("...", say(message("read-more", count=len(unknown) - NAMED)), ""))
    yield _table(say(message("read-unmatched", count=len(unknown))), rows)


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


def _table(title: str, rows: Sequence[Sequence[str]]) -> Table:
    """Return a table without headings and without empty columns."""
    used = [at for at in range(len(rows[0])) if any(row[at] for row in rows)] if rows else []
    columns = tuple(Column(str(at), "") for at in used)
    return Table(title, title, columns, tuple(Row(tuple(Cell(row[at]) for at in used)) for row in rows))


# entries ------------------------------------------------------------------------------------------------------------
# The contents of a price list: the entries, and the columns of a table of them.

Entry = Mapping[str, Any]
"""A price with the keys of price books."""


def column_names(entries: Sequence[Entry]) -> list[str]:
    """Return the columns of a price table: all keys in use, and a description if one is given."""
    part, *others = columns()
    described = [DESCRIPTION] if any(DESCRIPTION in entry for entry in entries) else []
    return [part, *described, *others]


def unpriced_entries(lines: Sequence[QuoteLine], currency: str) -> Iterator[Entry]:
    """Yield the unpriced parts of a bill as prices to fill in, with each cable length as a separate part.

    Each appears once, under its most specific name, with the pieces of all its lines.
    """
    found: dict[str, tuple[str, int]] = {}
    for line in lines:
        if not line.line.names or line.amount is not None:
            continue
        part = line.line.names[0]
        description, pieces = found.get(part, (line.line.description, 0))
        found[part] = description, pieces + line.line.pieces
    for part, (description, pieces) in found.items():
        count = f"{pieces} piece{'s' if pieces > 1 else ''}"
        yield {"part": part, DESCRIPTION: f"{description}: {count}", "price": None, "currency": currency}


# forms --------------------------------------------------------------------------------------------------------------
# The forms of price books, and the entries that each of them writes.
#
# Reading any form returns what was written, except the name of a book, which tables cannot store. A form is a module of
# `price_lists/` (output/registry.py) with `SUFFIXES` of its files besides its name, `BINARY`, and
# `write(entries, name)`.


def written(entries: Sequence[Entry], form: str, name: str | None = None) -> bytes:
    """Return prices as a file of a form, identical for equal prices; `name` is that of the book."""
    content: bytes = PRICE_LISTS.module(form).write(entries, name)
    return content

"""Price books and price lists: YAML, tables with the columns of a price book, and lists of any layout.

A table whose first row names nothing but columns of a price book, part and currency among them, with numbers as bomgen
writes them, is a price book. Any other table is a vendor's list, whose columns are recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any, NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.core.yaml_source import Path, Source, decoded, read
from bomgen.pricing.price_book import FORMAT, FORMAT_KEY, KEPT, PriceBook, check_price_book, find_slips, price_book
from bomgen.reading.cells import RawTable, shorten_texts
from bomgen.reading.list_columns import NOTHING, PART, PRICE, QUESTION, ListLayout, RequestedColumns, layouts, letter_of
from bomgen.reading.list_rows import Seen, UnpricedRow, read_rows
from bomgen.reading.part_numbers import PartIndex, built_in_parts
from bomgen.reading.price_table import has_own_columns, source_of
from bomgen.reading.tables import OTHERS, TEXTS, WORKBOOKS, decode_text, read_tables

SHEET = "prices"
"""The sheet that is read of a workbook with the columns of a price book; without one the first that is visible."""

JUDGED_TEXT, JUDGED_WORKBOOK = 1 << 16, 1 << 19
"""Bytes that a file is judged by: as much as a second of reading."""


class PriceList(NamedTuple):
    """A vendor's list as it was understood."""

    source: Source
    """Its prices as the data of a price book, with marks."""
    layouts: tuple[ListLayout, ...]
    """How each table was read."""
    unread: tuple[str, ...]
    """Sheets without prices."""
    hidden: tuple[str, ...]
    """Sheets that are not read because nobody sees them."""
    left_out: tuple[UnpricedRow, ...]
    warnings: tuple[Problem, ...]
    notes: tuple[str, ...]


def open_book(content: bytes, file: str) -> Source:
    """The prices in the bytes of a file as the data of a price book, checked, with marks; otherwise as `read_book`."""
    return own_book(content, file) or read_list(content, file).source


def read_book(content: bytes, file: str) -> PriceBook:
    """The price book in the bytes of a file, of a vendor's list with the ids of parts that it names by an alias.

    `file` is its name, by whose suffix it is YAML or a table. Raises PlanErrors for a book that is wrong, and with the
    question where a list can be read in two ways.
    """
    source = own_book(content, file)
    if source is not None:
        return price_book(source, checked=True)._replace(hidden=hidden_sheets(content, file))
    found = read_list(content, file)
    book = price_book(found.source, checked=True)
    parts = built_in_parts()
    prices = tuple(price._replace(part=_named(price.part, parts)) for price in book.prices)
    return book._replace(prices=prices, hidden=found.hidden, warnings=found.warnings)


def _named(part: str, parts: PartIndex) -> str:
    """The id of the one part that has a name; a name that none or several have stays."""
    ids = parts.ids(part)
    return ids[0] if len(ids) == 1 else part


def own_book(content: bytes, file: str) -> Source | None:
    """The data of a price book, checked, with marks; None where a file is a vendor's list.

    Raises PlanErrors for a book that is wrong, and for a file that nobody can read.
    """
    if not is_table(file):
        source = read(decoded(content, file), file)
    else:
        seen = _visible(content, file)
        table = next((table for table in seen if table.name.strip().lower() == SHEET), seen[0])
        if not has_own_columns(shorten_texts(table).rows):
            return None
        source = source_of(table.rows, file)
    check_price_book(source)
    return source


def read_list(
    content: bytes, file: str, asked: RequestedColumns = NOTHING, known: Callable[[], PartIndex] = built_in_parts
) -> PriceList:
    """A vendor's list as it is understood, all its sheets together.

    Raises PlanErrors with the question where a list can be read in two ways, and for cells that nobody can read.
    """
    seen = [shorten_texts(table) for table in _visible(content, file)]
    if asked.sheet is not None:
        chosen = [table for table in seen if table.name == asked.sheet]
        if not chosen:
            names = ", ".join(f"'{table.name}'" for table in seen)
            raise _wrong(file, f"no sheet '{asked.sheet}'; it has {names}", QUESTION)
        seen = chosen
    found, unread = list[ListLayout](), list[str]()
    for table in seen:
        of_sheet = [*layouts(table, file, asked, known)]
        found += of_sheet
        unread += [] if of_sheet else [table.name]
    if not found:
        message = "no row is known as the header of a price list; name columns: "
        raise _wrong(file, f"{message}bomgen prices {file} --columns {PART}=A,{PRICE}=B", QUESTION)
    entries, marks = list[dict[str, Any]](), dict[Path, Mark]()
    top = Mark(file, 1, 1)
    marks |= {(): top, ("prices",): top}
    left_out, warnings, notes = list[UnpricedRow](), list[Problem](), list[str]()
    read: Seen = {}
    for each in found:
        rows = read_rows(each, file, asked, read)
        for entry, (mark, places) in zip(rows.entries, rows.places, strict=True):
            path: Path = ("prices", len(entries))
            entries.append(entry)
            marks[path] = mark
            for key, place in places.items():
                marks[(*path, key)] = place
        left_out += rows.left_out
        warnings += rows.warnings
        notes += [
            note for note in (*_hidden(each, (mark for mark, _ in rows.places)), *rows.notes) if note not in notes
        ]
    if not entries:
        raise _wrong(
            file, f"no row has a part and a price; name columns: bomgen prices {file} --columns part=A,price=B"
        )
    source = Source(file, "", {FORMAT_KEY: FORMAT, "prices": entries}, {}, marks)
    if problems := find_slips(source):
        raise PlanErrors(problems)
    hidden = hidden_sheets(content, file)
    return PriceList(source, tuple(found), tuple(unread), hidden, tuple(left_out), tuple(warnings), tuple(notes))


def _hidden(layout: ListLayout, marks: Iterable[Mark]) -> Iterator[str]:
    """What whoever opens the workbook does not see of a table: columns, which are not read, and rows, which are."""
    if columns := sorted(layout.table.hidden_columns):
        yield f"hidden columns that are not read: {', '.join(letter_of(at - 1) for at in columns)}"
    if rows := [mark.line for mark in marks if mark.line in layout.table.hidden_rows]:
        yield f"hidden rows that are read: {len(rows)}, the first in line {rows[0]}"


def is_table(file: str) -> bool:
    """Whether a file is a table by the suffix of its name; it is YAML otherwise."""
    return PurePath(file).suffix.lower() in (*WORKBOOKS, *TEXTS, *OTHERS)


def is_price_list(content: bytes, file: str) -> bool:
    """Whether a table is a price book, also one whose prices are still to be filled in, or a list that can be read.

    Of text only the beginning is looked at; a larger workbook is none.
    """
    if is_text(file):
        content = content[:JUDGED_TEXT].rpartition(b"\n")[0] if len(content) > JUDGED_TEXT else content
    elif len(content) > JUDGED_WORKBOOK:
        return False
    try:
        return any(has_own_columns(table.rows) for table in _tables(content, file)) or bool(read_list(content, file))
    except PlanErrors:
        return False


def is_text(file: str) -> bool:
    """Whether the lines of a file can be shown, by the suffix of its name."""
    return PurePath(file).suffix.lower() not in (*WORKBOOKS, *OTHERS)


def text_of(content: bytes, file: str) -> str:
    """The text of a file whose lines can be shown; empty for others."""
    if not is_text(file):
        return ""
    try:
        return decode_text(content, file)[0]
    except PlanErrors:
        return content.decode("utf-8", "replace")


def hidden_sheets(content: bytes, file: str) -> tuple[str, ...]:
    """The names of the sheets that nobody sees, and that are not read."""
    return tuple(table.name for table in _tables(content, file) if table.hidden) if is_table(file) else ()


def _visible(content: bytes, file: str) -> Sequence[RawTable]:
    """The tables that whoever opens a file sees. Raises PlanErrors where there is none."""
    tables = _tables(content, file)
    seen = [table for table in tables if not table.hidden]
    if not seen:
        hidden = "every worksheet is hidden; show the one with the prices"
        raise _wrong(file, hidden if tables else "the workbook has no worksheet; put the prices into one", "workbook")
    return seen


@lru_cache(maxsize=KEPT)
def _tables(content: bytes, file: str) -> tuple[RawTable, ...]:
    return read_tables(content, file)


def _wrong(file: str, message: str, rule: str = QUESTION) -> PlanErrors:
    return PlanErrors([Problem(Mark(file, 1, 1), "error", message, rule)])

"""Price books and price lists: YAML, tables with price book columns, and lists in any layout.

A table is a price book if its first row has only price book columns, including part and currency, and its numbers are
written as bomgen writes them. Any other table is a vendor's list, whose columns are recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any, NamedTuple

from bomgen.core.diagnostics import Choice, PlanErrors, Problem, Question
from bomgen.core.messages import message
from bomgen.core.provenance import Mark
from bomgen.core.yaml_source import Path, Source, decoded, read
from bomgen.pricing.price_book import FORMAT, FORMAT_KEY, KEPT, PriceBook, check_price_book, find_slips, price_book
from bomgen.reading.cells import RawTable, shorten_texts
from bomgen.reading.list_columns import (
    FIRST,
    HIGHEST,
    LAST,
    LOWEST,
    MAX_HEADER,
    NOTHING,
    PART,
    PRICE,
    QUESTION,
    REPEATED,
    REPEATS,
    ListLayout,
    RequestedColumns,
    column_choices,
    layouts,
    name_role,
    question_error,
)
from bomgen.reading.list_rows import Seen, UnpricedRow, read_rows
from bomgen.reading.part_numbers import PartIndex, built_in_parts
from bomgen.reading.price_table import has_own_columns, source_of
from bomgen.reading.scans import column_letters
from bomgen.reading.tables import OTHERS, TEXTS, WORKBOOKS, decode_text, read_tables

SHEET = "prices"
"""The sheet with the columns of a price book; the first visible one if there is none of this name."""

OTHER_PRICE = "another price of the part"
"""Reason for skipping a row."""
MOST_REPEATED = 3
"""Parts with several prices that a question names."""
NEEDED = (PART, PRICE)
"""The columns that every list has."""
JUDGED_TEXT, JUDGED_WORKBOOK = 1 << 16, 1 << 19
"""Maximum bytes examined to classify a file: about a second of reading."""


class PriceList(NamedTuple):
    """A vendor's list as interpreted."""

    source: Source
    """Its prices as the data of a price book, with marks."""
    layouts: tuple[ListLayout, ...]
    unread: tuple[str, ...]
    hidden: tuple[str, ...]
    left_out: tuple[UnpricedRow, ...]
    warnings: tuple[Problem, ...]
    notes: tuple[str, ...]


class PricedPart(NamedTuple):
    """A price of a list, with the marks of its row and of its values."""

    entry: dict[str, Any]
    mark: Mark
    marks: Mapping[str, Mark]

    @property
    def tier(self) -> tuple[str, int]:
        """Return part and least quantity, for which a book has one price."""
        return str(self.entry["part"]).lower(), int(self.entry.get("from_quantity") or 1)


def open_book(content: bytes, file: str) -> Source:
    """Return the prices in a file as checked price book data with marks; otherwise as `read_book`."""
    return own_book(content, file) or read_list(content, file).source


def read_book(content: bytes, file: str) -> PriceBook:
    """Return the price book in a file; aliases of parts in a vendor's list become part ids.

    The suffix of the name `file` decides between YAML and a table. Raises PlanErrors for an invalid book, and with a
    question if a list is ambiguous.
    """
    source = own_book(content, file)
    if source is not None:
        return price_book(source, checked=True)._replace(hidden=hidden_sheets(content, file))
    price_list = read_list(content, file)
    book = price_book(price_list.source, checked=True)
    ids = {price.part: built_in_parts().ids(price.part) for price in book.prices}
    named = {part: ids_of[0] for part, ids_of in ids.items() if len(ids_of) == 1}
    prices = tuple(price._replace(part=named.get(price.part, price.part)) for price in book.prices)
    return book._replace(prices=prices, hidden=price_list.hidden, warnings=price_list.warnings)


def own_book(content: bytes, file: str) -> Source | None:
    """Return checked price book data with marks, None for a vendor's list. Raises PlanErrors for an invalid book."""
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
    content: bytes, file: str, asked: RequestedColumns = NOTHING, index: Callable[[], PartIndex] = built_in_parts
) -> PriceList:
    """Return the interpretation of a vendor's list, all sheets together. Raises PlanErrors, also with questions."""
    seen = [shorten_texts(table) for table in _visible(content, file)]
    if asked.sheet is not None:
        chosen = [table for table in seen if table.name == asked.sheet]
        if not chosen:
            names = ", ".join(f"'{table.name}'" for table in seen)
            raise _wrong(file, f"no sheet '{asked.sheet}'; it has {names}", QUESTION)
        seen = chosen
    list_layouts, unread = list[ListLayout](), list[str]()
    for table in seen:
        of_sheet = [*layouts(table, file, asked, index)]
        list_layouts += of_sheet
        unread += [] if of_sheet else [table.name]
    if not list_layouts:
        raise _ask_for_columns(message("ask-no-header"), file, seen[0])
    priced = list[PricedPart]()
    left_out, warnings, notes = list[UnpricedRow](), list[Problem](), list[str]()
    read: Seen = {}
    for layout in list_layouts:
        rows = read_rows(layout, file, asked, read)
        priced += (PricedPart(entry, *marked) for entry, marked in zip(rows.entries, rows.marks, strict=True))
        left_out += rows.left_out
        warnings += rows.warnings
        said = (*_hidden(layout, (mark for mark, _ in rows.marks)), *rows.notes)
        notes += [note for note in said if note not in notes]
    if not priced:
        raise _ask_for_columns(message("ask-no-row"), file, list_layouts[0].table)
    priced, dropped = _one_price_each(priced, file, asked.repeated)
    left_out += dropped
    top = Mark(file, 1, 1)
    marks: dict[Path, Mark] = {(): top, ("prices",): top}
    for at, part in enumerate(priced):
        marks[("prices", at)] = part.mark
        marks |= {("prices", at, key): mark for key, mark in part.marks.items()}
    source = Source(file, "", {FORMAT_KEY: FORMAT, "prices": [part.entry for part in priced]}, {}, marks)
    if problems := find_slips(source):
        raise PlanErrors(problems)
    hidden = hidden_sheets(content, file)
    return PriceList(source, tuple(list_layouts), tuple(unread), hidden, tuple(left_out), tuple(warnings), tuple(notes))


def _one_price_each(
    priced: Sequence[PricedPart], file: str, kept: str | None
) -> tuple[list[PricedPart], list[UnpricedRow]]:
    """Return one price per part and quantity, and the rows of the others. Raises PlanErrors with a question."""
    prices: dict[tuple[str, int], list[PricedPart]] = {}
    for part in priced:
        prices.setdefault(part.tier, []).append(part)
    repeated = [same for same in prices.values() if len(same) > 1]
    if not repeated:
        return [*priced], []
    comparable = all("price" in part.entry for same in repeated for part in same)
    comparable = comparable and all(len({part.entry["currency"] for part in same}) == 1 for same in repeated)
    if kept is None or (kept in (LOWEST, HIGHEST) and not comparable):
        rules = REPEATS if comparable else (FIRST, LAST)
        choices = tuple(Choice(f"{REPEATED}={rule}", message(f"answer-{rule}")) for rule in rules)
        parts = [*map(_prices_of, repeated[:MOST_REPEATED]), *(["…"] if len(repeated) > MOST_REPEATED else [])]
        asked = Question(REPEATED, message("ask-repeated", count=len(repeated), parts=parts), choices)
        settings = [choice.setting for choice in choices]
        raise question_error(repeated[0][1].mark, asked, f"bomgen prices {file}", settings)
    dropped = {id(part) for same in repeated for part in same} - {id(_kept(same, kept)) for same in repeated}
    unused = [part for part in priced if id(part) in dropped]
    rows = [UnpricedRow(part.mark, OTHER_PRICE, f"{part.entry['part']} | {part.entry.get('price')}") for part in unused]
    return [part for part in priced if id(part) not in dropped], rows


def _prices_of(same: Sequence[PricedPart]) -> str:
    prices = [
        message("ask-price-in", cell=str(part.entry.get("price", "?")), line=str(part.mark.line)) for part in same
    ]
    return message("ask-repeated-part", id=same[0].entry["part"], prices=prices)


def _kept(same: Sequence[PricedPart], rule: str) -> PricedPart:
    if rule in (LOWEST, HIGHEST):
        return (min if rule == LOWEST else max)(same, key=lambda part: part.entry["price"])
    return same[0 if rule == FIRST else -1]


def _hidden(layout: ListLayout, marks: Iterable[Mark]) -> Iterator[str]:
    """Yield notes about hidden parts of a table: columns, which are skipped, and rows, which are read."""
    if columns := sorted(layout.table.hidden_columns):
        yield message("note-hidden-columns", columns=[column_letters(at) for at in columns])
    if rows := [mark.line for mark in marks if mark.line in layout.table.hidden_rows]:
        yield message("note-hidden-rows", count=str(len(rows)), line=str(rows[0]))


def is_table(file: str) -> bool:
    """Return whether a file is a table by its suffix; otherwise it is YAML."""
    return PurePath(file).suffix.lower() in (*WORKBOOKS, *TEXTS, *OTHERS)


def is_price_list(content: bytes, file: str) -> bool:
    """Return whether the beginning of a table is a price book, or a readable list; a large workbook is none."""
    if is_text(file):
        content = content[:JUDGED_TEXT].rpartition(b"\n")[0] if len(content) > JUDGED_TEXT else content
    elif len(content) > JUDGED_WORKBOOK:
        return False
    try:
        return any(has_own_columns(table.rows) for table in _tables(content, file)) or bool(read_list(content, file))
    except PlanErrors:
        return False


def is_text(file: str) -> bool:
    """Return whether the lines of a file can be shown, by its suffix."""
    return PurePath(file).suffix.lower() not in (*WORKBOOKS, *OTHERS)


def text_of(content: bytes, file: str) -> str:
    """Return the text of a file whose lines can be shown; empty for others."""
    if not is_text(file):
        return ""
    try:
        return decode_text(content, file)[0]
    except PlanErrors:
        return content.decode("utf-8", "replace")


def hidden_sheets(content: bytes, file: str) -> tuple[str, ...]:
    """Return the names of hidden sheets, which are not read."""
    return tuple(table.name for table in _tables(content, file) if table.hidden) if is_table(file) else ()


def _visible(content: bytes, file: str) -> Sequence[RawTable]:
    tables = _tables(content, file)
    seen = [table for table in tables if not table.hidden]
    if not seen:
        hidden = "every worksheet is hidden; show the one with the prices"
        raise _wrong(file, hidden if tables else "the workbook has no worksheet; put the prices into one", "workbook")
    return seen


@lru_cache(maxsize=KEPT)
def _tables(content: bytes, file: str) -> tuple[RawTable, ...]:
    return read_tables(content, file)


def _ask_for_columns(what: str, file: str, table: RawTable) -> PlanErrors:
    """Return a question about the columns of parts and prices; each choice shows a value of its column."""
    row = max(table.rows[:MAX_HEADER], key=lambda row: sum(cell.filled for cell in row), default=())
    texts = [" ".join(str(cell.value).split()) if cell.filled else "" for cell in row]
    filled = [at for at, text in enumerate(texts) if text]
    asked = (
        Question(role, message("ask-column", what=what, role=name_role(role)), column_choices(role, texts, filled))
        for role in NEEDED
    )
    said = f"{what}; specify the columns: bomgen prices {file} --columns {PART}=A,{PRICE}=B"
    return PlanErrors([Problem(Mark(file, 1, 1), "error", said, QUESTION, questions=tuple(asked))])


def _wrong(file: str, said: str, rule: str = QUESTION) -> PlanErrors:
    return PlanErrors([Problem(Mark(file, 1, 1), "error", said, rule)])

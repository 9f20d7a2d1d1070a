"""Price books and price lists: YAML, tables with price book columns, and lists in any layout.

A table is a price book if its first row has only price book columns, including part and currency, and its numbers are
written as bomgen writes them. Any other table is a vendor's list, whose columns are recognised.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import PurePath
from typing import Any, NamedTuple

from bomgen.core.diagnostics import MAX_PROBLEMS, Choice, PlanErrors, Problem, Question, error_at
from bomgen.core.messages import message
from bomgen.core.provenance import Mark
from bomgen.core.units import minor_unit, rounded
from bomgen.core.yaml_source import Path, Source, decoded, read
from bomgen.pricing.price_book import FORMAT, FORMAT_KEY, KEPT, PriceBook, check_price_book, find_slips, price_book
from bomgen.reading.cells import (
    PERCENT,
    YEN,
    Broken,
    RawTable,
    TableCell,
    custom_of,
    find_break,
    find_currency,
    normalize,
    read_lead_days,
    shorten_texts,
    words,
)
from bomgen.reading.columns import (
    DIGIT,
    JUDGED,
    MAX_HEADER,
    NO_COLUMN,
    NOTHING,
    PART_OF,
    PRICES,
    REPEATS,
    ListLayout,
    RequestedColumns,
    choose_sheet,
    column_choice,
    column_choices,
    layouts,
    name_role,
    question_error,
)
from bomgen.reading.list_conventions import AMOUNTS, Amount, Conventions, PricedRow, rows_of
from bomgen.reading.part_numbers import built_in_parts
from bomgen.reading.price_table import DATES, MAX_ROWS, has_own_columns, read_value, source_of
from bomgen.reading.scans import column_letters
from bomgen.reading.tables import OTHERS, TEXTS, WORKBOOKS, decode_text, read_tables

MAX_DAYS = 9999
"""Maximum lead time, as in the schema of price books."""
SHOWN = 60
"""Stored characters of a skipped row."""
MORE = ("min", "max", "from_quantity", "valid_until", "date", "source", "estimate")
"""Columns that are read as in a price book."""
LEAST_OF_PRICE, MOST_OF_PRICE = Decimal("0.2"), Decimal(2)
"""Another price over the price that is read: partners pay a part of the list price, and nobody pays twice as much."""
LEAST_ROWS, LEAST_LIKE = 2, Decimal("0.9")
"""Rows, and share of the rows with a price, in which a column that looks like prices has such an amount."""
MOST_DESCRIBED = 100
"""Unknown numbers of a table whose descriptions are searched for a part, some milliseconds each."""
MOST_OFFERED = 5
"""Parts to choose from for an unknown number."""
_UNASKED = re.compile("[,=]")
"""Signs of a number that `--columns` divides at."""
_UNSEEN = dict.fromkeys(map(ord, "\xad\u200b\u200c\u200d\u2060\ufeff"))
"""Soft hyphens, zero-width spaces and joiners, which web pages and PDFs leave in part numbers."""
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–−", "-"))
Seen = dict[tuple[str, int], dict[str, Any]]
"""Prices read so far, by part and quantity."""


class UnpricedRow(NamedTuple):
    """A row without a price."""

    mark: Mark
    reason: str
    text: str


class PricedPart(NamedTuple):
    """A price of a list, with the marks of its row and of its values."""

    entry: dict[str, Any]
    mark: Mark
    marks: Mapping[str, Mark]

    @property
    def tier(self) -> tuple[str, int]:
        """Return part and least quantity, for which a book has one price."""
        return str(self.entry["part"]).lower(), int(self.entry.get("from_quantity") or 1)


class ListRows(NamedTuple):
    """The prices in the rows of a table."""

    priced: list[PricedPart]
    left_out: list[UnpricedRow]
    warnings: list[Problem]
    notes: list[str]
    """Remarks on how they were read: currency, decimal separator, discount."""


class _RowReader:
    def __init__(self, layout: ListLayout, file: str, asked: RequestedColumns, seen: Seen) -> None:
        self.layout, self.seen = layout, seen
        self.rows = [*rows_of(layout)]
        self.conventions = Conventions(layout, self.rows, file, asked)
        self.more = [role for role in MORE if role in layout.columns or (role == "from_quantity" and layout.breaks)]
        self.amounts = [role for role in (self.conventions.base, self.conventions.net, "min", "max") if role]
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self.described = set[str]()
        """Unknown numbers whose descriptions were searched for a part."""

    def read(self) -> ListRows:
        """Return the prices in rows, without those `seen` in other tables. Raises PlanErrors, also with questions."""
        list_rows = ListRows([], [], self.warnings, self.conventions.notes)
        for row in self.rows:
            filled = row.filled
            reason = self._reason(row)
            if reason is None:
                entry, marks = self._entry(row.cells)
                if entry is None:
                    reason = marks["reason"]
                else:
                    priced = PricedPart(entry, filled[0].mark, marks)
                    same = {key: value for key, value in entry.items() if key != "lead_time"}
                    if self.seen.setdefault(priced.tier, same) is not same and self.seen[priced.tier] == same:
                        reason = "same"
                    else:
                        list_rows.priced.append(priced)
            if reason is not None:
                list_rows.left_out.append(UnpricedRow(filled[0].mark, reason, _shown(filled)))
            if len(list_rows.priced) > MAX_ROWS:
                wrong = f"more than {MAX_ROWS} prices; at most {MAX_ROWS} are read, cut the table into several books"
                raise error_at(filled[0].mark, wrong, "table-limit")
        if self.problems:
            raise PlanErrors(self.problems[:MAX_PROBLEMS])
        self.warnings += self._other_prices()
        return list_rows

    def _other_prices(self) -> Iterator[Problem]:
        """Yield a warning for each column that looks like prices and is not read, unless there is a net price."""
        how, layout = self.conventions, self.layout
        if how.base is None or how.net or how.asked.columns.keys() & {*PRICES}:
            return
        rows = layout.table.rows[layout.start : layout.end][:JUDGED]
        used = layout.columns[how.base]
        for column in layout.unused:
            if not column.heading.roles and self._is_like(used.at, column.at, rows):
                choice = column_choice("price", column.letter, column.heading.text)
                said = message(
                    "unread-prices",
                    cell=column.heading.text,
                    column=column.letter,
                    used=used.letter,
                    key=f"bomgen prices {how.file} --columns {choice.setting}",
                )
                header = layout.table.rows[layout.start - 1] if layout.start else ()
                mark = header[column.at].mark if column.at < len(header) else layout.header
                yield Problem(mark, "warning", said, "other-prices", questions=(Question("price", said, (choice,)),))

    def _is_like(self, used: int, column: int, rows: Sequence[Sequence[TableCell]]) -> bool:
        """Return whether a column has amounts near those of the prices, in nearly all rows with a price."""
        priced = near = 0
        for row in rows:
            price, amount = (self._amount(row, at) for at in (used, column))
            if price:
                priced += 1
                near += bool(amount and LEAST_OF_PRICE <= amount / price <= MOST_OF_PRICE)
        return near >= LEAST_ROWS and near >= LEAST_LIKE * priced

    def _amount(self, row: Sequence[TableCell], at: int) -> Decimal | None:
        base = self.conventions.base
        amount = self.conventions.amount({base: row[at]}, base) if base and at < len(row) else None
        return amount[0] if amount else None

    def _reason(self, row: PricedRow) -> str | None:
        """Return why a row has no price, if that shows before its numbers are read; None otherwise."""
        filled, cells = row
        part = cells.get("part")
        # A part number has a digit; a subtotal or a heading has none.
        word = part is not None and isinstance(part.value, str) and not DIGIT.search(part.value)
        if part is None or (word and normalize(str(part.value)) in words("sums")):
            text = next((cell.value for cell in filled if isinstance(cell.value, str)), "")
            first = normalize(text.partition(":")[0].partition("：")[0])
            if first in words("sums") or any(first.startswith(f"{word} ") for word in words("sums")):
                return "sum"
            priced = not cells.keys().isdisjoint(PRICES)
            return "no-part" if priced and part is None else "sum" if part is not None else "note"
        heading = self.layout.columns["part"].heading.text
        if word and heading and normalize(str(part.value)) == normalize(heading):
            return "header"
        if cells.keys().isdisjoint(AMOUNTS):
            return "note" if len(filled) == 1 else "no-price"
        return None

    def _entry(self, cells: Mapping[str, TableCell]) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """Return the price of a row and the mark of each of its values; without a price, None and the reason."""
        how, part = self.conventions, cells["part"]
        entry: dict[str, Any] = {"part": ""}
        marks: dict[str, Any] = {}
        try:
            entry["part"] = self._identify(_plain_number(str(read_value(part.value, "part"))), cells)
        except ValueError as error:
            self._wrong(part, str(error))
        marks["part"] = part.mark
        for role in self.amounts:
            cell = cells.get(role)
            if cell and isinstance(cell.value, Broken):
                self._wrong(cell, cell.value.message, "cell")
            elif cell and isinstance(cell.value, date | time):
                self._wrong(cell, f"{cell.value} is a date; a spreadsheet made it one: format the column as a number")
        base, net = how.amount(cells, how.base), how.amount(cells, how.net)
        named = next((amount[1] for amount in (net, base) if amount and amount[1]), None)
        if (cell := cells.get("currency")) is not None:
            named = find_currency(str(cell.value))
            if named is None:
                self._wrong(cell, f"'{cell.value}' is not a currency; write its code, for example USD")
        if named == YEN:
            named = custom_of(self.layout.language, "yen") or None
        entry["currency"] = named or how.currency
        price = self._price(cells, base, net, entry["currency"])
        if price is not None:
            entry["price"], marks["price"] = price
            if how.taxed:
                entry["price"] = rounded(Fraction(entry["price"]), entry["currency"] or "")
        for role in self.more:
            if (cell := cells.get(role)) is not None:
                self._more(cells, cell, role, entry)
                marks[role] = cell.mark
        for role, cell in how.named_dates.items():
            self._more(cells, cell, role, entry)
            marks[role] = cell.mark
        if price is None and not {"min", "max"} <= entry.keys():
            return None, {"reason": "no-price" if how.pieces(cells) else "unit"}
        if price is not None and price[0] == 0:
            return None, {"reason": "free"}
        if entry["currency"] is None:
            self._wrong(part, f"no currency for {entry['part']}; specify one with --columns currency=USD")
        if (cell := cells.get("lead_time")) is not None:
            text = f"{cell.value:f}" if isinstance(cell.value, Decimal) else str(cell.value)
            days = read_lead_days(text, how.unit_of_times)
            if days is not None and days <= MAX_DAYS:
                entry["lead_time"], marks["lead_time"] = f"{days} days", cell.mark
        return entry, marks

    def _identify(self, number: str, cells: Mapping[str, TableCell]) -> str:
        """Return a part number, or the part chosen for it; warn of an unknown one whose description names a part."""
        parts, described = built_in_parts(), cells.get("description", cells["part"])
        if chosen := self.conventions.asked.parts.get(number.lower()):
            return number if chosen == NO_COLUMN else chosen
        is_asked = number in self.described or len(self.described) == MOST_DESCRIBED or _UNASKED.search(number)
        if is_asked or parts.ids(number):
            return number
        self.described.add(number)
        recognition = parts.recognize("", str(described.value))
        ids = [recognition.named.part] if recognition.named else [id for _, id in recognition.may_be[:MOST_OFFERED]]
        if ids:
            key = f"{PART_OF}{number}"
            choices = [*(Choice(f"{key}={id}", id) for id in ids), Choice(f"{key}={NO_COLUMN}", message("answer-none"))]
            said = message(
                "described-part",
                part=number,
                cell=str(described.value)[:SHOWN],
                ids=ids,
                key=shlex.join(("bomgen", "prices", self.conventions.file, "--columns", choices[0].setting)),
            )
            question = Question(key, said, tuple(choices))
            self.warnings.append(Problem(cells["part"].mark, "warning", said, "other-number", questions=(question,)))
        return number

    def _price(
        self, cells: Mapping[str, TableCell], base: Amount | None, net: Amount | None, currency: str | None
    ) -> tuple[Decimal, Mark] | None:
        """Return the net price, else the list price less its discount; if both exist they are compared."""
        if base is None:
            return (net[0], net[2]) if net else None
        try:
            share = self.conventions.share(cells, net is None)
        except ValueError as error:
            self._wrong(cells[self.conventions.shares], str(error))
            return base[0], base[2]
        less = base[0] if share is None else base[0] * (1 - share[0])
        if net is None:
            exact = rounded(Fraction(less), currency or "") if share is not None and share[0] else less
            return exact, base[2]
        if share is not None and abs(net[0] - less) > base[0] * share[1] + minor_unit(currency or ""):
            percent = f"{(share[0] * PERCENT).normalize():f}"
            message = (
                f"the net price {net[0]:f} is not the list price {base[0]:f} less {percent} %, "
                f"which is {less.normalize():f}; the net price is used"
            )
            self.warnings.append(Problem(net[2], "warning", message, "net-price"))
        return net[0], net[2]

    def _more(self, cells: Mapping[str, TableCell], cell: TableCell, role: str, entry: dict[str, Any]) -> None:
        """Add a value as in tables of price books; quantities and dates may have other forms too."""
        value = cell.value
        if role in ("min", "max"):
            if amount := self.conventions.amount(cells, role):
                entry[role] = amount[0]
            return
        if role == "from_quantity" and isinstance(value, str):
            price_break = find_break(value)
            value = Decimal(price_break[0]) if price_break and not normalize(price_break[1]) else value
        elif role in DATES:
            value = self.conventions.day(cell) or value
        try:
            entry[role] = read_value(value, role)
        except ValueError as error:
            self._wrong(cell, str(error))

    def _wrong(self, cell: TableCell, message: str, rule: str = "type") -> None:
        self.problems.append(Problem(cell.mark, "error", message, rule))


def _plain_number(text: str) -> str:
    """Return a part number in catalogue form: narrow characters, plain hyphens, no invisible characters."""
    if text.isascii():
        return text.strip()
    return unicodedata.normalize("NFKC", text.translate(_DASHES)).translate(_UNSEEN).strip()


def _shown(filled: Sequence[TableCell]) -> str:
    texts = (
        f"{cell.value:f}" if isinstance(cell.value, Decimal) else str(cell.value)
        for cell in filled
        if not isinstance(cell.value, Broken)
    )
    return " | ".join(" ".join(text.split()) for text in texts)[:SHOWN]


# lists ----------------------------------------------------------------------------------------------------------------

SHEET = "prices"
"""The sheet with the columns of a price book; the first visible one if there is none of this name."""

MOST_REPEATED = 3
"""Parts with several prices that a question names."""
NEEDED = ("part", "price")
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


def read_book(content: bytes, file: str) -> PriceBook:
    """Return the price book in a file; names of parts become ids: all of a vendor's list, those with spaces of a book.

    The suffix of the name `file` decides between YAML and a table. Raises PlanErrors for an invalid book, and with a
    question if a list is ambiguous.
    """
    source = own_book(content, file)
    if source is not None:
        book = price_book(source, checked=True)._replace(hidden=hidden_sheets(content, file))
    else:
        price_list = read_list(content, file)
        book = price_book(price_list.source, checked=True)
        book = book._replace(hidden=price_list.hidden, warnings=price_list.warnings)
    names = {price.part for price in book.prices if source is None or " " in price.part}
    named = {name: ids[0] for name in names if len(ids := built_in_parts().ids(name)) == 1}
    return book._replace(prices=tuple(price._replace(part=named.get(price.part, price.part)) for price in book.prices))


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


def read_list(content: bytes, file: str, asked: RequestedColumns = NOTHING) -> PriceList:
    """Return the interpretation of a vendor's list, all sheets together. Raises PlanErrors, also with questions."""
    seen = choose_sheet([*map(shorten_texts, _visible(content, file))], file, asked)
    list_layouts, unread = list[ListLayout](), list[str]()
    for table in seen:
        of_sheet = [*layouts(table, file, asked)]
        list_layouts += of_sheet
        unread += [] if of_sheet else [table.name]
    if not list_layouts:
        raise _ask_for_columns(message("ask-no-header"), file, seen[0])
    priced = list[PricedPart]()
    left_out, warnings, notes = list[UnpricedRow](), list[Problem](), list[str]()
    read: Seen = {}
    for layout in list_layouts:
        rows = _RowReader(layout, file, asked, read).read()
        priced += rows.priced
        left_out += rows.left_out
        warnings += rows.warnings
        said = (*_hidden(layout, (part.mark for part in rows.priced)), *rows.notes)
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
    if kept is None or (kept in ("lowest", "highest") and not comparable):
        rules = REPEATS if comparable else ("first", "last")
        choices = tuple(Choice(f"repeated={rule}", message(f"answer-{rule}")) for rule in rules)
        parts = [*map(_prices_of, repeated[:MOST_REPEATED]), *(["…"] if len(repeated) > MOST_REPEATED else [])]
        asked = Question("repeated", message("ask-repeated", count=len(repeated), parts=parts), choices)
        settings = [choice.setting for choice in choices]
        raise question_error(repeated[0][1].mark, asked, f"bomgen prices {file}", settings)
    dropped = {id(part) for same in repeated for part in same} - {id(_kept(same, kept)) for same in repeated}
    unused = [part for part in priced if id(part) in dropped]
    rows = [
        UnpricedRow(part.mark, "other-price", f"{part.entry['part']} | {part.entry.get('price')}") for part in unused
    ]
    return [part for part in priced if id(part) not in dropped], rows


def _prices_of(same: Sequence[PricedPart]) -> str:
    prices = [
        message("ask-price-in", cell=str(part.entry.get("price", "?")), line=str(part.mark.line)) for part in same
    ]
    return message("ask-repeated-part", id=same[0].entry["part"], prices=prices)


def _kept(same: Sequence[PricedPart], rule: str) -> PricedPart:
    if rule in ("lowest", "highest"):
        return (min if rule == "lowest" else max)(same, key=lambda part: part.entry["price"])
    return same[0 if rule == "first" else -1]


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
        raise error_at(file, hidden if tables else "the workbook has no worksheet; put the prices into one", "workbook")
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
    said = f"{what}; specify the columns: bomgen prices {file} --columns part=A,price=B"
    return PlanErrors([Problem(Mark(file, 1, 1), "error", said, "columns", questions=tuple(asked))])

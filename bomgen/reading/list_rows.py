"""The prices in the rows of a list, and the rows without one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen.core.diagnostics import MAX_PROBLEMS, PlanErrors, Problem, Question
from bomgen.core.messages import message
from bomgen.core.provenance import Mark
from bomgen.core.units import minor_unit, rounded
from bomgen.reading.cells import PERCENT, Broken, TableCell, read_lead_days
from bomgen.reading.list_columns import (
    DIGIT,
    FROM_QUANTITY,
    JUDGED,
    PART,
    PRICE,
    PRICES,
    ListLayout,
    RequestedColumns,
    column_choice,
)
from bomgen.reading.list_conventions import AMOUNTS, Amount, Conventions, PricedRow, rows_of
from bomgen.reading.list_words import YEN, find_break, find_currency, normalize, words, yen_of
from bomgen.reading.price_table import DATES, MAX_ROWS, read_value

MAX_DAYS = 9999
"""Maximum lead time, as in the schema of price books."""
SHOWN = 60
"""Stored characters of a skipped row."""
NO_PRICE, FREE, UNIT_UNKNOWN, NO_PART, SUM, NOTE, HEADER, SAME = (
    "no price",
    "a price of 0",
    "priced by another unit than pieces",
    "no part",
    "sum",
    "note",
    "header",
    "same",
)
"""Reasons for skipping a row."""
MORE = ("min", "max", "from_quantity", "valid_until", "date", "source", "estimate")
"""Columns that are read as in a price book."""
LEAST_OF_PRICE, MOST_OF_PRICE = Decimal("0.2"), Decimal(2)
"""Another price over the price that is read: partners pay a part of the list price, and nobody pays twice as much."""
LEAST_ROWS, LEAST_LIKE = 2, Decimal("0.9")
"""Rows, and share of the rows with a price, in which a column that looks like prices has such an amount."""
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


class ListRows(NamedTuple):
    """The prices in the rows of a table."""

    entries: list[dict[str, Any]]
    """Prices with the keys of price books."""
    marks: list[tuple[Mark, Mapping[str, Mark]]]
    """The mark of each price, and of its values."""
    left_out: list[UnpricedRow]
    warnings: list[Problem]
    notes: list[str]
    """Remarks on how they were read: currency, decimal separator, discount."""


def read_rows(layout: ListLayout, file: str, asked: RequestedColumns, seen: Seen) -> ListRows:
    """Return the prices in rows, without those `seen` in other tables. Raises PlanErrors, also with questions."""
    return _RowReader(layout, file, asked, seen).read()


class _RowReader:
    def __init__(self, layout: ListLayout, file: str, asked: RequestedColumns, seen: Seen) -> None:
        self.layout, self.seen = layout, seen
        self.rows = [*rows_of(layout)]
        self.conventions = Conventions(layout, self.rows, file, asked)
        self.more = [role for role in MORE if role in layout.columns or (role == FROM_QUANTITY and layout.breaks)]
        self.amounts = [role for role in (self.conventions.base, self.conventions.net, "min", "max") if role]
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def read(self) -> ListRows:
        list_rows = ListRows([], [], [], self.warnings, self.conventions.notes)
        for row in self.rows:
            filled = row.filled
            reason = self._reason(row)
            if reason is None:
                entry, marks = self._entry(row.cells)
                if entry is None:
                    reason = marks["reason"]
                else:
                    tier = entry["part"].lower(), int(entry.get("from_quantity") or 1)
                    same = {key: value for key, value in entry.items() if key != "lead_time"}
                    if self.seen.setdefault(tier, same) is not same and self.seen[tier] == same:
                        reason = SAME
                    else:
                        list_rows.entries.append(entry)
                        list_rows.marks.append((filled[0].mark, marks))
            if reason is not None:
                list_rows.left_out.append(UnpricedRow(filled[0].mark, reason, _shown(filled)))
            if len(list_rows.entries) > MAX_ROWS:
                wrong = f"more than {MAX_ROWS} prices; at most {MAX_ROWS} are read, cut the table into several books"
                raise PlanErrors([Problem(filled[0].mark, "error", wrong, "table-limit")])
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
                choice = column_choice(PRICE, column.letter, column.heading.text)
                said = message(
                    "unread-prices",
                    cell=column.heading.text,
                    column=column.letter,
                    used=used.letter,
                    key=f"bomgen prices {how.file} --columns {choice.setting}",
                )
                header = layout.table.rows[layout.start - 1] if layout.start else ()
                mark = header[column.at].mark if column.at < len(header) else layout.header
                yield Problem(mark, "warning", said, "other-prices", questions=(Question(PRICE, said, (choice,)),))

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
        part = cells.get(PART)
        # A part number has a digit; a subtotal or a heading has none.
        word = part is not None and isinstance(part.value, str) and not DIGIT.search(part.value)
        if part is None or (word and normalize(str(part.value)) in words("sums")):
            text = next((cell.value for cell in filled if isinstance(cell.value, str)), "")
            first = normalize(text.partition(":")[0].partition("：")[0])
            if first in words("sums") or any(first.startswith(f"{word} ") for word in words("sums")):
                return SUM
            priced = not cells.keys().isdisjoint(PRICES)
            return NO_PART if priced and part is None else SUM if part is not None else NOTE
        heading = self.layout.columns[PART].heading.text
        if word and heading and normalize(str(part.value)) == normalize(heading):
            return HEADER
        if cells.keys().isdisjoint(AMOUNTS):
            return NOTE if len(filled) == 1 else NO_PRICE
        return None

    def _entry(self, cells: Mapping[str, TableCell]) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """Return the price of a row and the mark of each of its values; without a price, None and the reason."""
        how, part = self.conventions, cells[PART]
        entry: dict[str, Any] = {"part": ""}
        marks: dict[str, Any] = {}
        try:
            entry["part"] = _plain_number(str(read_value(part.value, "part")))
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
            named = yen_of(self.layout.language)
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
            return None, {"reason": NO_PRICE if how.pieces(cells) else UNIT_UNKNOWN}
        if price is not None and price[0] == 0:
            return None, {"reason": FREE}
        if entry["currency"] is None:
            self._wrong(part, f"no currency for {entry['part']}; specify one with --columns currency=USD")
        if (cell := cells.get("lead_time")) is not None:
            text = f"{cell.value:f}" if isinstance(cell.value, Decimal) else str(cell.value)
            days = read_lead_days(text, how.unit_of_times)
            if days is not None and days <= MAX_DAYS:
                entry["lead_time"], marks["lead_time"] = f"{days} days", cell.mark
        return entry, marks

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
        if role == FROM_QUANTITY and isinstance(value, str):
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

"""The prices in the rows of a list, and the rows that have none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen.core.diagnostics import MAX_PROBLEMS, PlanErrors, Problem
from bomgen.core.money import minor_unit, rounded
from bomgen.core.provenance import Mark
from bomgen.reading.amounts import (
    COMMA,
    PERCENT,
    POINT,
    TENTHS,
    Share,
    read_amount,
    read_lead_days,
    read_share,
)
from bomgen.reading.cells import Broken, Cell, Value
from bomgen.reading.dates import ORDERS, read_dates, written_date
from bomgen.reading.list_columns import (
    DISCOUNT,
    FROM_QUANTITY,
    LIST,
    NET,
    PAID,
    PART,
    PRICE,
    PRICES,
    QUESTION,
    UNCLEAR,
    Asked,
    Column,
    Layout,
    mentions,
)
from bomgen.reading.list_words import (
    YEN,
    decimal_of,
    find_break,
    find_currencies,
    find_currency,
    normalize,
    words,
    yen_of,
)
from bomgen.reading.price_table import DATES, MAX_ROWS, read_value

_DIGIT = re.compile("[0-9]")
HALF = Decimal("0.5")
MAX_DAYS = 9999
"""Longer lead times are something else (the schema of price books)."""
SHOWN = 60
"""Characters of a row that is left out that are kept."""
NO_PRICE, FREE, NO_PART, SUM, NOTE, HEADER, SAME = (
    "no price",
    "a price of 0",
    "no part",
    "sum",
    "note",
    "header",
    "same",
)
"""Why a row is left out."""
AMOUNTS = (*PRICES, "min", "max")
MORE = ("min", "max", "from_quantity", "valid_until", "date", "source", "estimate")
"""Columns that are read as those of a price book."""


class LeftOut(NamedTuple):
    """A row that gives no price."""

    mark: Mark
    reason: str
    text: str


class Rows(NamedTuple):
    """What the rows of a table give."""

    entries: list[dict[str, Any]]
    """Prices by the keys of price books."""
    places: list[tuple[Mark, Mapping[str, Mark]]]
    """The place of each, and of its values."""
    left_out: list[LeftOut]
    warnings: list[Problem]
    notes: list[str]
    """How it was read: currency, decimal separator, discount."""


def read_rows(layout: Layout, file: str, asked: Asked) -> Rows:
    """The prices in the rows of a table.

    Raises PlanErrors with a question where a currency, a decimal separator or a discount may be read in two ways, and
    for cells that nobody can read.
    """
    return _Reader(layout, file, asked).read()


class Row(NamedTuple):
    """A row of a list with one price at most."""

    filled: Sequence[Cell]
    """Every cell that has a value, from the left."""
    cells: Mapping[str, Cell]
    """Those that are read, by what their columns are."""


def _rows(layout: Layout) -> Iterator[Row]:
    """The rows below the header that hold anything; one with several prices by quantity is as many rows."""
    columns = [(column.at, role) for role, column in layout.columns.items()]
    breaks = [(role, quantity or 1, column.at) for role, quantity, column in layout.breaks]
    for row in layout.table.rows[layout.start :]:
        filled = [cell for cell in row if cell.value is not None]
        if not filled:
            continue
        width = len(row)
        cells = {role: row[at] for at, role in columns if at < width and row[at].value is not None}
        tiers = [
            Row(filled, cells | {role: row[at], FROM_QUANTITY: Cell(Decimal(quantity), row[at].mark)})
            for role, quantity, at in breaks
            if at < width and row[at].value is not None
        ]
        yield from tiers or [Row(filled, cells)]


class _Reader:
    def __init__(self, layout: Layout, file: str, asked: Asked) -> None:
        self.layout, self.file, self.asked = layout, file, asked
        self.rows = [*_rows(layout)]
        self.columns = layout.columns
        self.more = [role for role in MORE if role in layout.columns or (role == FROM_QUANTITY and layout.breaks)]
        self.notes: list[str] = []
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self.base = LIST if LIST in self.columns else PRICE if PRICE in self.columns else None
        self.net = NET if NET in self.columns else PRICE if PRICE in self.columns and self.base == LIST else None
        self.point = self._point()
        self.dates = self._dates()
        self.unit_of_times = self._unit_of_times()
        self.book_currency = self._currency()
        self.share_of = self._discounts()

    def read(self) -> Rows:
        """Read every row."""
        found = Rows([], [], [], self.warnings, self.notes)
        seen: dict[tuple[str, int], tuple[Any, Mark]] = {}
        for row in self.rows:
            filled = row.filled
            reason = self._reason(row)
            if reason is None:
                entry, places = self._entry(row.cells)
                if entry is None:
                    reason = places["reason"]
                else:
                    tier = entry["part"].lower(), int(entry.get("from_quantity") or 1)
                    same = {key: value for key, value in entry.items() if key != "lead_time"}
                    if tier in seen and seen[tier][0] == same:
                        reason = SAME
                    else:
                        seen.setdefault(tier, (same, filled[0].mark))
                        found.entries.append(entry)
                        found.places.append((filled[0].mark, places))
            if reason is not None:
                found.left_out.append(LeftOut(filled[0].mark, reason, _shown(filled)))
            if len(found.entries) > MAX_ROWS:
                message = f"more than {MAX_ROWS} prices; at most {MAX_ROWS} are read, cut the table into several books"
                raise PlanErrors([Problem(filled[0].mark, "error", message, "table-limit")])
        if self.problems:
            raise PlanErrors(self.problems[:MAX_PROBLEMS])
        return found

    def _reason(self, row: Row) -> str | None:
        """Why a row gives no price, as far as that is seen without reading its numbers."""
        filled, cells = row
        part = cells.get(PART)
        # A part number has a digit, a subtotal or a heading none.
        word = part is not None and isinstance(part.value, str) and not _DIGIT.search(part.value)
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

    def _entry(self, cells: Mapping[str, Cell]) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """The price of a row and the place of each of its values; without a price the reason why."""
        part = cells[PART]
        entry: dict[str, Any] = {"part": ""}
        places: dict[str, Any] = {}
        try:
            entry["part"] = str(read_value(part.value, "part")).strip()
        except ValueError as error:
            self._wrong(part, str(error))
        places["part"] = part.mark
        for role in (self.base, self.net, "min", "max"):
            self._refuse_broken(cells.get(role or ""))
        currency, base, net = self.book_currency, self._amount(cells, self.base), self._amount(cells, self.net)
        named = next((each[1] for each in (net, base) if each and each[1]), None)
        if (cell := cells.get("currency")) is not None:
            named = find_currency(str(cell.value))
            if named is None:
                self._wrong(cell, f"'{cell.value}' is not a currency; write its code, for example USD")
        if named == YEN:
            named = yen_of(self.layout.language)
        entry["currency"] = named or currency
        price = self._price(cells, base, net, entry["currency"])
        if price is not None:
            entry["price"], places["price"] = price
        for role in self.more:
            if (cell := cells.get(role)) is not None:
                self._more(cells, cell, role, entry)
                places[role] = cell.mark
        if price is None and not {"min", "max"} <= entry.keys():
            return None, {"reason": NO_PRICE}
        if price is not None and price[0] == 0:
            return None, {"reason": FREE}
        if entry["currency"] is None:
            self._wrong(part, f"no currency for {entry['part']}; name one with --columns currency=USD")
        if (cell := cells.get("lead_time")) is not None:
            text = f"{cell.value:f}" if isinstance(cell.value, Decimal) else str(cell.value)
            days = read_lead_days(text, self.unit_of_times)
            if days is not None and days <= MAX_DAYS:
                entry["lead_time"], places["lead_time"] = f"{days} days", cell.mark
        return entry, places

    def _price(
        self,
        cells: Mapping[str, Cell],
        base: tuple[Decimal, str | None, Mark] | None,
        net: tuple[Decimal, str | None, Mark] | None,
        currency: str | None,
    ) -> tuple[Decimal, Mark] | None:
        """The price that is paid: the net one, else the list price less its discount; both are compared."""
        share = self.share_of(cells)
        if base is None:
            return (net[0], net[2]) if net else None
        less = base[0] if share is None else base[0] * (1 - share[0])
        if net is None:
            exact = rounded(Fraction(less), currency or "") if share is not None and share[0] else less
            return exact, base[2]
        if share is not None and abs(net[0] - less) > base[0] * share[1] + minor_unit(currency or ""):
            percent = f"{(share[0] * PERCENT).normalize():f}"
            message = f"the net price {net[0]:f} is not the list price {base[0]:f} less {percent} %, "
            message += f"which is {less.normalize():f}; the net price is taken"
            self.warnings.append(Problem(net[2], "warning", message, "net-price"))
        return net[0], net[2]

    def _amount(self, cells: Mapping[str, Cell], role: str | None) -> tuple[Decimal, str | None, Mark] | None:
        """The amount of a cell with the currency that it names, and its place; None for what is no amount."""
        cell = cells.get(role or "")
        if cell is None:
            return None
        value = cell.value
        if isinstance(value, Decimal):
            return (value, None, cell.mark) if value >= 0 else None
        written = read_amount(value) if isinstance(value, str) else None
        return (written.value(self.point), written.currency, cell.mark) if written else None

    def _refuse_broken(self, cell: Cell | None) -> None:
        """Note that an amount is an error of a spreadsheet, or a date."""
        if cell is None:
            return
        if isinstance(cell.value, Broken):
            self._wrong(cell, cell.value.message, "cell")
        elif isinstance(cell.value, date | time):
            self._wrong(cell, f"{cell.value} is a date; a spreadsheet made it one: format the column as a number")

    def _more(self, cells: Mapping[str, Cell], cell: Cell, role: str, entry: dict[str, Any]) -> None:
        """A value that is read as in the tables of price books; quantities and dates as people write them, too."""
        value: Value = cell.value
        if role in ("min", "max"):
            if amount := self._amount(cells, role):
                entry[role] = amount[0]
            return
        if role == FROM_QUANTITY and isinstance(value, str):
            found = find_break(value)
            value = Decimal(found[0]) if found and not normalize(found[1]) else value
        elif role in DATES:
            if isinstance(value, datetime):
                value = value.date()
            elif (text := written_date(value)) and self.dates in (days := read_dates(text)):
                value = days[self.dates]
        try:
            entry[role] = read_value(value, role)
        except ValueError as error:
            self._wrong(cell, str(error))

    def _wrong(self, cell: Cell, message: str, rule: str = "type") -> None:
        self.problems.append(Problem(cell.mark, "error", message, rule))

    def _unit_of_times(self) -> str:
        """The unit in the heading of the lead times: `Lead time (weeks)`."""
        column = self.columns.get("lead_time")
        heading = normalize(re.sub("[()（）]", " ", column.heading.text)) if column else ""
        units = ("working_days", "days", "weeks", "months")
        return next((word for word in reversed(heading.split()) if any(word in words(kind) for kind in units)), "")

    def _texts(self, role: str) -> Iterator[Cell]:
        """The cells of a column that hold text."""
        cells = (row.cells.get(role) for row in self.rows)
        return (cell for cell in cells if cell is not None and isinstance(cell.value, str))

    def _dates(self) -> str:
        """The order in which dates are written. Raises PlanErrors where that may be one or another."""
        if self.asked.dates:
            return self.asked.dates
        cells = (cell for row in self.rows for role in DATES if (cell := row.cells.get(role)))
        dated = [(cell, days) for cell in cells if (days := read_dates(written_date(cell.value) or ""))]
        orders = [*ORDERS]
        for cell, days in dated:
            before, orders = orders, [order for order in orders if order in days]
            if not orders:
                message = f"'{cell.value}' is in another order of day and month than the dates above it"
                raise self._question(cell.mark, message, [f"dates={order}" for order in (*before, *days)])
        for cell, days in dated:
            readings = {days[order]: f"dates={order}" for order in reversed(orders)}
            if len(readings) > 1:
                days_shown = " or ".join(day.isoformat() for day in reversed(readings))
                raise self._question(cell.mark, f"'{cell.value}' may be {days_shown}", [*reversed(readings.values())])
        if any(len(days) < len(ORDERS) for _, days in dated):
            self.notes.append(f"dates: {ORDERS[orders[0]]}")
        return orders[0]

    def _point(self) -> str:
        """The decimal separator. Raises PlanErrors where the amounts prove both, or none and one may be either."""
        if self.asked.decimal:
            return self.asked.decimal
        proved: dict[str, list[Cell]] = {POINT: [], COMMA: []}
        unclear: list[Cell] = []
        for role in (*AMOUNTS, "amount"):
            for cell in self._texts(role):
                written = read_amount(str(cell.value))
                if written and written.point:
                    proved[written.point].append(cell)
                elif written and written.unclear and role != "amount":
                    unclear.append(cell)
        points = [point for point, cells in proved.items() if cells]
        if unclear and not points and (usual := decimal_of(self.layout.language)):
            points = [usual]
        if len(points) > 1:
            odd = min(sorted(proved.values(), key=len)[0], key=lambda cell: cell.mark)
            message = f"'{odd.value}' has another decimal separator than most"
            raise self._question(odd.mark, message, ["decimal=comma"])
        if unclear and not points:
            first = min(unclear, key=lambda cell: cell.mark)
            message = f"'{first.value}' may have a decimal separator or one of thousands"
            raise self._question(first.mark, message, ["decimal=point", "decimal=comma"])
        found = points[0] if points else POINT
        if unclear or found == COMMA:
            self.notes.append(f"decimal separator: {found}")
        return found

    def _question(self, mark: Mark, message: str, answers: Sequence[str]) -> PlanErrors:
        """A question with the answers that `--columns` takes."""
        choose = f"choose with: bomgen prices {self.file} --columns {' or '.join(dict.fromkeys(answers))}"
        return PlanErrors([Problem(mark, "error", f"{message}; {choose}", QUESTION)])

    def _currency(self) -> str | None:
        """The currency of prices that name none. Raises PlanErrors with a question."""
        if self.asked.currency:
            return self.asked.currency
        if "currency" in self.columns:
            return self._alone_in(self._named_by_rows())
        headings = [column.heading for role, column in self.layout.columns.items() if role in PRICES]
        named = {heading.currency for heading in headings if heading.currency}
        where = "by the heading of the prices"
        if not named:
            every, codes = self._named_by_cells()
            if every and YEN not in codes:
                self.notes.append(f"currency: {', '.join(sorted(codes))}, by the prices")
                return None
            named, where = (codes, "by some of the prices") if codes else (named, where)
        if not named:
            above = self.layout.table.rows[: max(self.layout.start - 1, 0)]
            named = {code for text in mentions(above) for code in find_currencies(text)}
            where = "by the text above the header"
        if not named:
            texts = mentions([row.filled for row in self.rows])
            named = {code for text in texts for code in self._named_in_note(text)}
            where = "by a note"
        if YEN in named:
            named = {yen_of(self.layout.language) or YEN} | (named - {YEN})
        if len(named) == 1 and YEN not in named:
            [code] = named
            self.notes.append(f"currency: {code}, {where}")
            return code
        what = f"the list names {' and '.join(sorted(filter(None, named)))}" if named else "no currency is named"
        if named == {YEN}:
            what = "¥ may be yuan or yen"
        if not self._any_prices():
            return None
        raise self._question(self.layout.header, what, ["currency=USD"])

    @staticmethod
    def _named_in_note(text: str) -> frozenset[str]:
        """The currencies that a note names in words, such as "all prices in EUR"."""
        said = normalize(text)
        return find_currencies(text) if any(word in said for word in words("about_prices")) else frozenset()

    def _any_prices(self) -> bool:
        return any(PART in row.cells and not row.cells.keys().isdisjoint(PRICES) for row in self.rows)

    def _named_by_rows(self) -> set[str]:
        return {code for cell in self._texts("currency") if (code := find_currency(str(cell.value)))}

    @staticmethod
    def _alone_in(codes: set[str]) -> str | None:
        """The one currency of all rows; rows without one are refused where there are several."""
        return next(iter(codes)) if len(codes) == 1 else None

    def _named_by_cells(self) -> tuple[bool, set[str]]:
        """Whether every price names its currency, and the currencies that they name."""
        codes, every = set[str](), True
        for row in self.rows:
            found = [self._amount(row.cells, role) for role in PRICES] if PART in row.cells else []
            amounts = [*filter(None, found)]
            named = {amount[1] for amount in amounts if amount[1]}
            codes |= named
            every = every and (bool(named) or not amounts)
        yen = yen_of(self.layout.language)
        return every and bool(codes), {yen if code == YEN and yen else code for code in codes}

    def _discounts(self) -> Callable[[Mapping[str, Cell]], tuple[Decimal, Decimal] | None]:
        """What gives the share that is taken off in a row, and how far that is from the exact one at most.

        Raises PlanErrors where it is not clear whether shares are per cent, or what is taken off or paid.
        """
        role = next((role for role in (DISCOUNT, PAID, UNCLEAR) if role in self.columns), None)
        if role is None or self.base is None:
            return lambda _: None
        discounted = [(row.cells, row.cells[role]) for row in self.rows if {role, PART} <= row.cells.keys()]
        shares = [(cells, cell, share) for cells, cell in discounted if (share := read_share(cell.value))]
        numbers = [share.value for _, _, share in shares if not share.percent and not share.paid]
        percent = any(number > 1 for number in numbers)
        if not percent and numbers and all(number in (0, 1) for number in numbers) and any(numbers):
            first = next(cell for _, cell, share in shares if share.value == 1)
            message = "a discount of 1 may be 1 % or all of it; write it with a per cent sign"
            raise PlanErrors([Problem(first.mark, "error", message, QUESTION)])

        def share_of(share: Share) -> tuple[Decimal, Decimal]:
            scale = Decimal(TENTHS if share.paid else PERCENT if share.percent or percent else 1)
            return share.value / scale, HALF.scaleb(-share.places) / scale

        paid = role == PAID
        if role == UNCLEAR and shares:
            paid = self._is_paid([(cells, *share_of(share), share.paid) for cells, _, share in shares], shares[0][1])
            self.notes.append(
                f"'{self.layout.columns[role].heading.text}' is what is {'paid' if paid else 'taken off'}"
            )

        def find(cells: Mapping[str, Cell]) -> tuple[Decimal, Decimal] | None:
            cell = cells.get(role)
            share = read_share(cell.value) if cell else None
            if cell is None or share is None:
                return None
            value, near = share_of(share)
            if value > 1:
                self._wrong(cell, f"a discount of {(value * PERCENT).normalize():f} %; at most 100 %")
                return None
            return (1 - value if paid or share.paid else value), near

        return find

    def _is_paid(self, shares: Sequence[tuple[Mapping[str, Cell], Decimal, Decimal, bool]], first: Cell) -> bool:
        """Whether shares are what is paid: by word, net prices, amounts, or a share of 0 or 1. Raises PlanErrors."""
        if all(tenths for *_, tenths in shares):
            return True
        off = paid = 0
        for cells, value, near, _ in shares:
            base, net = self._amount(cells, self.base), self._amount(cells, self.net) or self._per_piece(cells)
            if base and net and base[0]:
                room = base[0] * near + minor_unit("") * 2
                off += abs(base[0] * (1 - value) - net[0]) <= room
                paid += abs(base[0] * value - net[0]) <= room
        if (off == 0) != (paid == 0):
            return paid > 0
        values = {value for _, value, *_ in shares}
        if (0 in values) != (1 in values):
            return 1 in values  # a price of 0 is none: nothing is taken off, or all is paid
        heading = self.layout.columns[UNCLEAR].heading.text
        letter = self.layout.columns[UNCLEAR].letter
        message = f"'{heading}' may be what is taken off or what is paid"
        raise self._question(first.mark, message, [f"discount={letter}", f"paid={letter}"])

    def _per_piece(self, cells: Mapping[str, Cell]) -> tuple[Decimal, str | None, Mark] | None:
        """What a piece costs by the amount of a row."""
        amount, quantity = self._amount(cells, "amount"), self._amount(cells, "quantity")
        return (amount[0] / quantity[0], None, amount[2]) if amount and quantity and quantity[0] else None


def _shown(filled: Sequence[Cell]) -> str:
    """A row in short."""
    texts = (
        f"{cell.value:f}" if isinstance(cell.value, Decimal) else str(cell.value)
        for cell in filled
        if not isinstance(cell.value, Broken)
    )
    return " | ".join(" ".join(text.split()) for text in texts)[:SHOWN]


def columns_of(layout: Layout) -> list[Column]:
    """The columns that were taken, in their order."""
    return sorted(layout.columns.values())

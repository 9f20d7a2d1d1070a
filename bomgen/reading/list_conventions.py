"""The conventions of a price list: the forms of amounts, dates and discounts, derived from all of its rows.

They are determined before any row is read, from all rows, the headings, the text above the header, and notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from bomgen.core.diagnostics import Choice, PlanErrors, Question, error_at
from bomgen.core.messages import message
from bomgen.core.provenance import Mark
from bomgen.core.units import minor_unit, minor_units
from bomgen.reading.cells import (
    COMMA,
    ONE,
    ORDERS,
    PERCENT,
    POINT,
    TENTHS,
    YEN,
    Share,
    TableCell,
    custom_of,
    find_currencies,
    find_currency,
    find_scale,
    has_tax,
    languages,
    normalize,
    read_amount,
    read_dates,
    read_pieces,
    read_share,
    words,
    written_date,
)
from bomgen.reading.columns import (
    DECIMALS,
    DIGIT,
    NO_COLUMN,
    PRICES,
    UNITS,
    ListLayout,
    RequestedColumns,
    name_role,
    question_error,
    tax_question,
)
from bomgen.reading.price_table import DATES

HALF = Decimal("0.5")
POINTS = tuple(f"decimal={name}" for name in DECIMALS)
"""Answers to a question about decimal separators."""
AMOUNTS = (*PRICES, "min", "max")
PLACES = Decimal("0.000001")
"""Decimal places of a unit price calculated from the price of several pieces."""
MAX_DATE = 24
"""Maximum length of a date with the name of its month, and time."""
GAP = r"[\s.,:;'’-]+"
MAX_NOTES = 400_000
"""Characters above the header and below it searched for statements about all prices: 40 pages."""
MAX_UNREAD = 10
Amount = tuple[Decimal, str | None, Mark]
"""An amount, the currency in its cell, and its place."""


class PricedRow(NamedTuple):
    """A row of a list with at most one price."""

    filled: Sequence[TableCell]
    """Every cell with a value, from the left."""
    cells: Mapping[str, TableCell]
    """Cells that are read, by role."""


def rows_of(layout: ListLayout) -> Iterator[PricedRow]:
    """Yield the non-empty rows below the header; a row with price breaks becomes several rows."""
    columns = [(column.at, role) for role, column in layout.columns.items()]
    breaks = [(role, quantity or 1, column.at) for role, quantity, column in layout.breaks]
    for row in layout.table.rows[layout.start : layout.end]:
        filled = [cell for cell in row if cell.value is not None]
        if not filled:
            continue
        width = len(row)
        cells = {role: row[at] for at, role in columns if at < width and row[at].value is not None}
        tiers = [
            PricedRow(filled, cells | {role: row[at], "from_quantity": TableCell(Decimal(quantity), row[at].mark)})
            for role, quantity, at in breaks
            if at < width and row[at].value is not None
        ]
        yield from tiers or [PricedRow(filled, cells)]


class Conventions:
    """The forms of amounts, dates and discounts in a list. Raises PlanErrors with a question if they are ambiguous."""

    def __init__(self, layout: ListLayout, rows: Sequence[PricedRow], file: str, asked: RequestedColumns) -> None:
        self.layout, self.rows, self.file, self.asked = layout, rows, file, asked
        self.columns = layout.columns
        self.notes: list[str] = []
        """Remarks on how the list was read, for a check by the user."""
        self.base = "list_price" if "list_price" in self.columns else "price" if "price" in self.columns else None
        """The column of prices before discount."""
        self.net = (
            "net_price"
            if "net_price" in self.columns
            else "price"
            if "price" in self.columns and self.base == "list_price"
            else None
        )
        self.notes_below = [*_first_texts(row.filled for row in rows if len(row.filled) == 1)]
        """Notes in the list."""
        without_part = (row.filled for row in rows if "part" not in row.cells and len(row.filled) > 1)
        self.around = [*_first_texts(layout.titles), *self.notes_below, *_first_texts(without_part)]
        """Text above the header, in notes, and in rows without a part."""
        self._refuse_tax()
        self.taxed: dict[str, Decimal] = {}
        """What prices are divided by for those before tax."""
        if asked.tax:
            self.notes.append(message("note-tax", number=f"{(PERCENT * asked.tax).normalize():f}"))
            headings = {role: column.heading.text for role, column in self.columns.items() if role in AMOUNTS}
            self.taxed = {role: 1 + asked.tax for role, text in headings.items() if has_tax(text) is not False}
        self.scales = self._scales()
        self.units = [unit for unit in UNITS if unit in self.columns]
        if "unit" in self.units and "pack" in self.units:
            self.units.remove("pack")
        self.point = self._point()
        self.named_dates = {role: stated for role in DATES if (stated := self._named_date(role))}
        """Dates of all prices: their date, and their end of validity."""
        self.dates = self._dates()
        for role, cell in self.named_dates.items():
            why = message("why-text", cell=str(cell.value))
            self.notes.append(message("note-date", role=name_role(role), date=str(self.day(cell)), why=why))
        self.unit_of_times = self._unit_of_times()
        self.currency = self._currency()
        """Currency of prices that state none."""
        self.shares = next((role for role in ("discount", "paid", "discount_or_paid") if role in self.columns), "")
        """The column of discounts; empty without one."""
        self.percent = self.paid = False
        """Whether discounts are in per cent, and whether they are the paid share."""
        if self.shares and self.base:
            self._judge_shares()

    def amount(self, cells: Mapping[str, TableCell], role: str | None) -> Amount | None:
        """Return the unit price in a cell; None for other values, and for one of an unknown unit."""
        cell = cells.get(role or "")
        if cell is None:
            return None
        value, currency = cell.value, None
        if isinstance(value, str):
            written = read_amount(value)
            if written is None:
                return None
            value, currency = written.value(self.point), written.currency
        if not isinstance(value, Decimal) or value < 0:
            return None
        if role and role in self.taxed:
            value = (value / self.taxed[role]).quantize(PLACES).normalize()
        if self.units or self.scales:
            pieces = self.pieces(cells) if role in AMOUNTS else ONE
            if pieces is None:
                return None
            value = (value * self.scales.get(role or "", ONE) / pieces).quantize(PLACES).normalize()
        return value, currency, cell.mark

    def pieces(self, cells: Mapping[str, TableCell]) -> Decimal | None:
        """Return the number of pieces that the price of a row is for; None if its unit is not one of pieces."""
        pieces = ONE
        for unit in self.units:
            if (cell := cells.get(unit)) is None:
                continue
            number = read_pieces(cell.value)
            if number is None or (unit == "pack" and number != 1):
                return None
            pieces *= number
        return pieces

    def day(self, cell: TableCell) -> date | None:
        """Return the date of a cell; None if it is not one."""
        if isinstance(cell.value, date):
            return cell.value.date() if isinstance(cell.value, datetime) else cell.value
        return read_dates(written_date(cell.value) or "").get(self.dates)

    def share(self, cells: Mapping[str, TableCell], needed: bool) -> tuple[Decimal, Decimal] | None:
        """Return the discount share of a row and its rounding error. Raises ValueError for an unreadable one."""
        cell = cells.get(self.shares)
        if cell is None:
            return None
        share = read_share(cell.value)
        if share is None:
            if needed and (not isinstance(cell.value, str) or DIGIT.search(cell.value)):
                raise ValueError(f"'{cell.value}' is not a discount; write it as 35 %")
            return None
        value, near = self._scaled(share)
        if value > 1:
            raise ValueError(f"a discount of {(value * PERCENT).normalize():f} %; at most 100 %")
        return (1 - value if self.paid or share.paid else value), near

    def _scaled(self, share: Share) -> tuple[Decimal, Decimal]:
        scale = Decimal(TENTHS if share.paid else PERCENT if share.percent or self.percent else 1)
        return share.value / scale, HALF.scaleb(-share.places) / scale

    def _refuse_tax(self) -> None:
        role = self.net or self.base
        if (
            role is None
            or self.asked.tax is not None
            or self.asked.columns.keys() & set(PRICES)
            or has_tax(self.columns[role].heading.text) is False
        ):
            return
        rows = (*_first_texts(self.layout.titles), *self.notes_below)
        for cell in (cell for row in rows for cell in row if isinstance(cell.value, str)):
            text = str(cell.value)
            if has_tax(text) and not normalize(text).startswith(tuple(words("sums"))):
                raise tax_question(cell.mark, message("ask-taxed", cell=text), text, self.file)

    def _scales(self) -> dict[str, Decimal]:
        columns = [*self.columns.items(), *((role, column) for role, _, column in self.layout.breaks)]
        scales: dict[str, Decimal] = {}
        for role, column in columns:
            if scales.setdefault(role, column.heading.scale) != column.heading.scale:
                asked = message("ask-unit", cell=column.heading.text)
                raise self._question(self.layout.header, asked, [f"{role}={column.letter}"])
        where = message("why-price-heading")
        every = self.asked.scale
        if every is None and all(scales.get(role, ONE) == ONE for role in AMOUNTS):
            for cell in (cell for row in self.around for cell in row if isinstance(cell.value, str)):
                text = str(cell.value)
                if (scale := find_scale(text)) == ONE:
                    continue
                if not normalize(text).startswith(tuple(words("about_units"))):
                    answers = [f"scale={scale.normalize():f}", "scale=1"]
                    raise self._question(cell.mark, message("ask-scale", cell=text), answers)
                every, where = scale, message("why-text", cell=text)
        if every is not None:
            scales = dict.fromkeys((*AMOUNTS, "amount"), every)
        for scale in sorted({scales[role] for role in AMOUNTS if role in scales} - {ONE}):
            name, number = ("note-units", scale) if scale > 1 else ("note-pieces", (ONE / scale).normalize())
            why = where if self.asked.scale is None else message("why-asked")
            self.notes.append(message(name, number=f"{number:f}", why=why))
        return {role: scale for role, scale in scales.items() if scale != ONE}

    def _named_date(self, role: str) -> TableCell | None:
        """Return the date of all prices stated above the header or in a note, such as "valid until 31 Dec 2026"."""
        if role in self.columns or self.asked.columns.get(role) == NO_COLUMN:
            return None
        date_cells: list[TableCell] = []
        unread = dict[str, None]()
        for row in self.around:
            cells = [cell for cell in row if cell.value is not None]
            for cell, behind in zip(cells, [*cells[1:], None], strict=False):
                for phrase in _phrases(role).finditer(cell.value) if isinstance(cell.value, str) else ():
                    named = _date_behind(cell, phrase.end(), behind)
                    if named is not None:
                        date_cells.append(named)
                    elif role == "valid_until":
                        unread[str(cell.value)] = None
        self.notes += [message("note-no-day", cell=text) for text in [*unread][:MAX_UNREAD]]
        if len({str(cell.value) for cell in date_cells}) > 1:
            dates = dict.fromkeys(f"'{cell.value}'" for cell in date_cells[:MAX_UNREAD])
            asked = message("ask-date", dates=dates)
            raise self._question(date_cells[-1].mark, asked, [f"{role}={NO_COLUMN}"])
        return date_cells[0] if date_cells else None

    def _dates(self) -> str:
        if self.asked.dates:
            return self.asked.dates
        cells = [cell for row in self.rows for role in DATES if (cell := row.cells.get(role))]
        cells = [*self.named_dates.values(), *cells]
        dated = [(cell, days) for cell in cells if (days := read_dates(written_date(cell.value) or ""))]
        orders = [*ORDERS]
        for cell, days in dated:
            before, orders = orders, [order for order in orders if order in days]
            if not orders:
                asked = message("ask-order", cell=str(cell.value))
                raise self._question(cell.mark, asked, [f"dates={order}" for order in (*before, *days)])
        for cell, days in dated:
            readings = {days[order]: f"dates={order}" for order in reversed(orders)}
            if len(readings) > 1:
                dates = [day.isoformat() for day in reversed(readings)]
                asked = message("ask-which-date", cell=str(cell.value), dates=dates)
                raise self._question(cell.mark, asked, [*reversed(readings.values())])
        if any(len(days) < len(ORDERS) for _, days in dated):
            self.notes.append(message("note-dates", order=message(f"answer-{orders[0]}")))
        return orders[0]

    def _unit_of_times(self) -> str:
        """Return the unit in the heading of the lead times: `Lead time (weeks)`."""
        column = self.columns.get("lead_time")
        heading = normalize(re.sub("[()（）]", " ", column.heading.text)) if column else ""
        units = ("working_days", "days", "weeks", "months")
        return next((word for word in reversed(heading.split()) if any(word in words(kind) for kind in units)), "")

    def _texts(self, role: str) -> Iterator[TableCell]:
        cells = (row.cells.get(role) for row in self.rows)
        return (cell for cell in cells if cell is not None and isinstance(cell.value, str))

    def _point(self) -> str:
        if self.asked.decimal:
            return self.asked.decimal
        proved: dict[str, list[TableCell]] = {POINT: [], COMMA: []}
        unclear: list[TableCell] = []
        for role in [role for role in (*AMOUNTS, "amount") if role in self.columns]:
            for cell in self._texts(role):
                written = read_amount(str(cell.value))
                if written and written.point:
                    proved[written.point].append(cell)
                elif written and written.unclear and role != "amount":
                    unclear.append(cell)
        points = [point for point, cells in proved.items() if cells]
        if unclear and not points and (usual := custom_of(self.layout.language, "decimal")):
            points = [usual]
        if len(points) > 1:
            odd = min(sorted(proved.values(), key=len)[0], key=lambda cell: cell.mark)
            asked = message("ask-odd-separator", cell=str(odd.value))
            raise self._question(odd.mark, asked, ["decimal=comma"], POINTS)
        if unclear and not points:
            first = min(unclear, key=lambda cell: cell.mark)
            raise self._question(first.mark, message("ask-separator", cell=str(first.value)), POINTS)
        separator = points[0] if points else POINT
        if unclear or separator == COMMA:
            self.notes.append(message("note-separator", cell=separator))
        return separator

    def _currency(self) -> str | None:
        if self.asked.currency:
            return self.asked.currency
        if "currency" in self.columns:
            codes = {code for cell in self._texts("currency") if (code := find_currency(str(cell.value)))}
            return codes.pop() if len(codes) == 1 else None
        headings = [column.heading for role, column in self.layout.columns.items() if role in PRICES]
        named = {heading.currency for heading in headings if heading.currency}
        where = message("why-price-heading")
        if not named:
            every, codes = self._named_by_cells()
            if every and YEN not in codes:
                self.notes.append(message("note-currency", codes=sorted(codes), why=message("why-prices")))
                return None
            named, where = (codes, message("why-some-prices")) if codes else (named, where)
        if not named:
            named = {code for text in _texts_of([*_first_texts(self.layout.titles)]) for code in find_currencies(text)}
            where = message("why-above")
        if not named:
            # A note about prices, such as "all prices in EUR".
            texts = _texts_of([*_first_texts(row.filled for row in self.rows)])
            about = (text for text in texts if any(word in normalize(text) for word in words("about_prices")))
            named = {code for text in about for code in find_currencies(text)}
            where = message("why-note")
        if YEN in named:
            named = {custom_of(self.layout.language, "yen") or YEN} | (named - {YEN})
        if len(named) == 1 and YEN not in named:
            [code] = named
            self.notes.append(message("note-currency", codes=[code], why=where))
            return code
        what = message("ask-currencies", codes=sorted(filter(None, named))) if named else message("ask-no-currency")
        if named == {YEN}:
            what = message("ask-yen")
        if not any("part" in row.cells and not row.cells.keys().isdisjoint(PRICES) for row in self.rows):
            return None
        self._check_any_amount()
        yen = {custom_of(code, "yen") for code in languages()} if YEN in named else set()
        likely = sorted(filter(None, (named | yen) - {YEN}))
        currencies = [f"currency={code}" for code in (*likely, *sorted(minor_units()))]
        raise self._question(self.layout.header, what, ["currency=USD"], currencies)

    def _check_any_amount(self) -> None:
        """Raise PlanErrors at the first price if no price is readable, which is a problem of cells, not columns."""
        cells = [row.cells[role] for row in self.rows if "part" in row.cells for role in PRICES if role in row.cells]
        unread = [cell for cell in cells if isinstance(cell.value, str) and read_amount(cell.value) is None]
        priced = [cell for cell in unread if DIGIT.search(str(cell.value))]
        if priced and len(unread) == len(cells):
            wrong = f"'{priced[0].value}' is not an amount, and no price can be read; put notes into another column"
            raise error_at(priced[0].mark, wrong, "columns")

    def _named_by_cells(self) -> tuple[bool, set[str]]:
        codes, every = set[str](), True
        for row in self.rows:
            prices = [self.amount(row.cells, role) for role in PRICES] if "part" in row.cells else []
            amounts = [*filter(None, prices)]
            named = {amount[1] for amount in amounts if amount[1]}
            codes |= named
            every = every and (bool(named) or not amounts)
        yen = custom_of(self.layout.language, "yen")
        return every and bool(codes), {yen if code == YEN and yen else code for code in codes}

    def _judge_shares(self) -> None:
        """Determine whether discounts are per cent, and deducted or paid. Raises PlanErrors if that is ambiguous."""
        role = self.shares
        discounted = [(row.cells, row.cells[role]) for row in self.rows if {role, "part"} <= row.cells.keys()]
        shares = [(cells, cell, share) for cells, cell in discounted if (share := read_share(cell.value))]
        bare = [(cells, cell, share.value) for cells, cell, share in shares if not share.percent and not share.paid]
        self.percent = any(number > 1 for *_, number in bare)
        ones = [cell for _, cell, number in bare if number == 1]
        if ones and not self.percent and all(number in (0, 1) for *_, number in bare):
            wrong = "a discount of 1 may be 1 % or all of it; write it with a per cent sign"
            raise error_at(ones[0].mark, wrong, "columns")
        for cells, cell, number in bare if self.percent else ():
            if 0 < number < 1 and not self.amount(cells, self.net):
                percent = (number * PERCENT).normalize()
                wrong = (
                    f"a discount of {number:f} among larger ones may be {number:f} % or {percent:f} %; "
                    "write it with a per cent sign"
                )
                raise error_at(cell.mark, wrong, "columns")
        self.paid = role == "paid"
        if role == "discount_or_paid" and shares:
            scaled = [(cells, *self._scaled(share), share.paid) for cells, _, share in shares]
            self.paid = self._is_paid(scaled, shares[0][1])
            name = "note-paid" if self.paid else "note-taken-off"
            self.notes.append(message(name, cell=self.columns[role].heading.text))

    def _is_paid(
        self, shares: Sequence[tuple[Mapping[str, TableCell], Decimal, Decimal, bool]], first: TableCell
    ) -> bool:
        """Return whether shares are paid ones: by word, net prices, amounts, or values of 0 or 1. Raises PlanErrors."""
        if all(tenths for *_, tenths in shares):
            return True
        off = paid = 0
        for cells, value, near, _ in shares:
            base, net = self.amount(cells, self.base), self.amount(cells, self.net) or self._per_piece(cells)
            if base and net and base[0]:
                room = base[0] * near + minor_unit("") * 2
                off += abs(base[0] * (1 - value) - net[0]) <= room
                paid += abs(base[0] * value - net[0]) <= room
        if (off == 0) != (paid == 0):
            return paid > 0
        values = {value for _, value, *_ in shares}
        if (0 in values) != (1 in values):
            return 1 in values  # no price is 0: a deducted share may be 0, a paid one 1
        column = self.columns["discount_or_paid"]
        asked = message("ask-discount", cell=column.heading.text)
        raise self._question(first.mark, asked, [f"discount={column.letter}", f"paid={column.letter}"])

    def _per_piece(self, cells: Mapping[str, TableCell]) -> Amount | None:
        amount, quantity = self.amount(cells, "amount"), self.amount(cells, "quantity")
        return (amount[0] / quantity[0], None, amount[2]) if amount and quantity and quantity[0] else None

    def _question(self, mark: Mark, text: str, answers: Sequence[str], every: Sequence[str] = ()) -> PlanErrors:
        """Return a question; the message names `answers`, and `every` has all that may be chosen, if they are more."""
        pairs = [answer.partition("=") for answer in dict.fromkeys(every or answers)]
        choices = tuple(Choice("".join(pair), _name_answer(pair[0], pair[2])) for pair in pairs)
        return question_error(mark, Question(pairs[0][0], text, choices), f"bomgen prices {self.file}", answers)


def _name_answer(key: str, value: str) -> str:
    if key == "currency":
        return value
    if key == "scale":
        return f"× {value}"
    if value == NO_COLUMN or key in ("decimal", "dates"):
        return message(f"answer-{value}")
    return message(f"answer-{key}") if key in ("discount", "paid") else message("answer-column", column=value)


def _date_behind(cell: TableCell, at: int, behind: TableCell | None) -> TableCell | None:
    rest = str(cell.value)[at : at + 2 * MAX_DATE].lstrip(" \t\n:：至到")
    if not rest:
        is_date = behind and (isinstance(behind.value, date) or read_dates(written_date(behind.value) or ""))
        return behind if is_date else None
    for end in range(min(len(rest), MAX_DATE), 0, -1):
        text = rest[:end].rstrip(" ,;")
        if not rest[end : end + 1].isdigit() and read_dates(text):
            return TableCell(text, cell.mark)
    return None


@cache
def _phrases(role: str) -> re.Pattern[str]:
    """Return a pattern for phrases that introduce a date of all prices: any heading of its columns.

    A word such as "date" alone counts only at the beginning of a text or clause, because a delivery date differs.
    """
    named = {normalize(word) for language in languages().values() for word in language["columns"].get(role, ())}
    forms = []
    for phrase in sorted(named, key=lambda phrase: (-len(phrase), phrase)):
        form = GAP.join(map(re.escape, phrase.split()))
        if role != "valid_until" and " " not in phrase:
            form = rf"(?:^|(?<=[,;|(（，；–—-])) *{form}"
        forms.append(rf"(?<![^\W\d_]){form}(?![^\W\d_])" if phrase.isascii() else form)
    return re.compile("|".join(forms), re.IGNORECASE)


def _first_texts(rows: Iterable[Sequence[TableCell]]) -> Iterator[Sequence[TableCell]]:
    left = MAX_NOTES
    for row in rows:
        left -= sum(len(cell.value) for cell in row if isinstance(cell.value, str))
        if left < 0:
            return
        yield row


def _texts_of(rows: Sequence[Sequence[TableCell]]) -> Iterator[str]:
    return (cell.value for row in rows for cell in row if isinstance(cell.value, str))

"""The columns of a price list: recognised by headings or values, or as requested.

Ambiguity is never resolved by guessing: if two columns may have the same role, or none is recognised, the result is a
question with the candidates, each as `bomgen prices --columns` takes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from bomgen.core.diagnostics import Choice, PlanErrors, Problem, Question, error_at, suggestion
from bomgen.core.messages import message
from bomgen.core.provenance import Mark
from bomgen.core.units import minor_units
from bomgen.reading.cells import (
    COMMA,
    MAX_COLUMNS,
    ORDERS,
    PERCENT,
    POINT,
    Broken,
    Heading,
    RawTable,
    TableCell,
    cell_at,
    fill_merged,
    find_break,
    has_price_word,
    language_of,
    normalize,
    read_amount,
    read_heading,
)
from bomgen.reading.part_numbers import built_in_parts
from bomgen.reading.scans import column_letters, column_number

PRICES = ("net_price", "price", "list_price")
"""Roles of price columns, in order of preference."""
REPEATS = ("first", "last", "lowest", "highest")
"""Which of several prices of a part is kept: that of a row, or an amount."""
NO_COLUMN = "none"
"""Value of `--columns` for a role without a column: `valid_until=none`."""
UNITS = ("unit", "pieces", "pack")
"""Roles that state the number of pieces a row's prices are for."""
DECIMALS = {"point": POINT, "comma": COMMA}
MAX_HEADER = 100
JUDGED = 500
"""Number of rows whose values classify a column."""
CLEAR = 3
"""Ratio of part numbers to those in any other column above which a column is that of the parts."""
LEAST = 2
"""Minimum number of columns of a header; a row with fewer cells is a title or a note."""
DIGIT = re.compile("[0-9]")
"""A digit, which every part number has, and no heading of parts."""
_RATE = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,3})?)\s*[%％]")
MOST_TAX = 28
"""Rates above those that countries have."""
_TAX = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,3})?%")
_SCALE = re.compile(r"[1-9][0-9]{0,6}|0\.0{0,5}[1-9]")
_LETTER = re.compile(r"[A-Z]{1,2}")


class RecognisedColumn(NamedTuple):
    """A column with a recognised role."""

    at: int
    """Column index, from 0."""
    heading: Heading
    why: str

    @property
    def letter(self) -> str:
        """Return the column letter."""
        return column_letters(self.at + 1)


class ListLayout(NamedTuple):
    """The layout of a table."""

    table: RawTable
    """The sheet, with vertically merged cells filled."""
    titles: tuple[tuple[TableCell, ...], ...]
    """Rows above the header; for a later table also those at the top of the sheet."""
    start: int
    end: int
    """First row below the header, and end of the table (exclusive), from 0."""
    header: Mark
    columns: Mapping[str, RecognisedColumn]
    breaks: tuple[tuple[str, int | None, RecognisedColumn], ...]
    """Columns of price breaks: role, minimum quantity, and column."""
    unused: tuple[RecognisedColumn, ...]
    """Columns with a heading that are not read."""
    language: str


class RequestedColumns(NamedTuple):
    """The values of `--columns`."""

    columns: Mapping[str, str]
    """Letters or headings by role."""
    sheet: str | None = None
    decimal: str | None = None
    currency: str | None = None
    header: int | None = None
    dates: str | None = None
    scale: Decimal | None = None
    """Factor from amounts to unit prices in the currency."""
    tax: Decimal | None = None
    """Rate of the tax that prices include."""
    repeated: str | None = None
    """Which price of a part is kept that has several, one of REPEATS."""


NOTHING = RequestedColumns({})


def read_asked(text: str, roles: Sequence[str] = ()) -> RequestedColumns:
    """Return the request in `part=C,price=F,currency=USD,decimal=comma,sheet=List,header=5`.

    A currency is a code or a column; `roles` are the permitted roles, by default those of price lists. Raises
    ValueError for other text.
    """
    roles = roles or ROLES
    columns: dict[str, str] = {}
    settings: dict[str, str] = {}
    for pair in filter(None, text.split(",")):
        key, equals, value = (piece.strip() for piece in pair.partition("="))
        if not equals or not value:
            raise ValueError(f"'{pair}' asks for nothing; write part=C,price=F")
        if key in SETTINGS or (key == "currency" and value.upper() in minor_units()):
            settings[key] = value
        elif key in roles:
            columns[key] = value
        else:
            valid = [*roles, *SETTINGS]
            raise ValueError(f"unknown column '{key}'; {suggestion(key, valid, 'valid columns: ' + ', '.join(valid))}")
    if settings.get("decimal", "point") not in DECIMALS:
        raise ValueError(f"decimal={settings['decimal']} is neither; write decimal=point or decimal=comma")
    if not settings.get("header", "1").isdecimal():
        raise ValueError(f"header={settings['header']} is no line; write the number of the line with the headings")
    if settings.get("dates", "dmy") not in ORDERS:
        raise ValueError(f"dates={settings['dates']} is no order of dates; write one of {', '.join(ORDERS)}")
    if not _SCALE.fullmatch(settings.get("scale", "1")):
        raise ValueError(f"scale={settings['scale']} is no number; write scale=0.01 for prices per 100 pieces")
    if not _TAX.fullmatch(settings.get("tax", "0%")):
        raise ValueError(f"tax={settings['tax']} is no rate; write tax=19% for prices that include this tax, or tax=0%")
    if settings.get("repeated", "first") not in REPEATS:
        raise ValueError(f"repeated={settings['repeated']} is no rule; write one of {', '.join(REPEATS)}")
    return RequestedColumns(
        columns,
        settings.get("sheet"),
        DECIMALS[settings["decimal"]] if "decimal" in settings else None,
        settings["currency"].upper() if "currency" in settings else None,
        int(settings["header"]) if "header" in settings else None,
        settings.get("dates"),
        Decimal(settings["scale"]) if "scale" in settings else None,
        Decimal(settings["tax"].removesuffix("%")) / PERCENT if "tax" in settings else None,
        settings.get("repeated"),
    )


SETTINGS = ("sheet", "decimal", "header", "dates", "scale", "tax", "repeated")
"""Settings other than columns and currency."""
ROLES = (
    *(
        "part",
        "price",
        "list_price",
        "net_price",
        "discount",
        "paid",
        "quantity",
        "amount",
        "currency",
        "lead_time",
        "description",
        "vendor",
    ),
    *("from_quantity", "valid_until", "date", "source", "min", "max", "estimate", *UNITS),
)


def choose_sheet(tables: Sequence[RawTable], file: str, asked: RequestedColumns) -> Sequence[RawTable]:
    """Return all tables, or the requested one. Raises PlanErrors if there is none of this name."""
    chosen = [table for table in tables if asked.sheet in (None, table.name)]
    if tables and not chosen:
        names = ", ".join(f"'{table.name}'" for table in tables)
        raise error_at(file, f"no sheet '{asked.sheet}'; it has {names}", "columns")
    return chosen


def layouts(table: RawTable, file: str, asked: RequestedColumns) -> Iterator[ListLayout]:
    """Yield the lists of a sheet. Raises PlanErrors with a question."""
    filled = fill_merged(_hide_columns(table, asked))
    begin, top = 0, tuple[tuple[TableCell, ...], ...]()
    while (header := _header(filled, begin, asked)) is not None:
        start, headings, mark = header
        end = _next_header(filled, start, headings)
        rows = filled.rows[start : min(start + JUDGED, end)]
        choice = _Choice(file, headings, rows, asked, filled.rows[start - 1] if start else ())
        columns = choice.columns()
        taken = {column.at for column in (*columns.values(), *(column for *_, column in choice.breaks))}
        left = ((at, heading) for at, heading in enumerate(headings) if heading.text and at not in taken)
        unused = tuple(RecognisedColumn(at, heading, "") for at, heading in left)
        titles = top + filled.rows[begin : start - 1]
        language = language_of(column.heading for column in columns.values())
        yield ListLayout(filled, titles, start, end, mark, columns, tuple(choice.breaks), unused, language)
        begin, top = end, top or titles


def _hide_columns(table: RawTable, asked: RequestedColumns) -> RawTable:
    wanted = {column_number(name) for name in asked.columns.values() if _LETTER.fullmatch(name)}
    hidden = table.hidden_columns - wanted
    if not hidden:
        return table
    rows = tuple(
        tuple(TableCell(None, cell.mark) if at in hidden else cell for at, cell in enumerate(row, 1))
        for row in table.rows
    )
    used = {at for row in table.rows for at, cell in enumerate(row, 1) if at in hidden and cell.filled}
    return table._replace(rows=rows, hidden_columns=frozenset(used))


def _header(table: RawTable, begin: int, asked: RequestedColumns) -> tuple[int, list[Heading], Mark] | None:
    """Return the first row below the next header, its headings, and its place.

    The header is the first row that names parts and prices, or of consecutive ones the one with the most columns; else
    the row with the most columns. The search begins at row `begin`, from 0.
    """
    best: tuple[bool, int, int, list[Heading]] | None = None
    for at in range(begin, min(begin + MAX_HEADER, len(table.rows))):
        row = table.rows[at]
        first = next((cell for cell in row if cell.filled), None)
        if asked.header is not None and not begin:
            if first and first.mark.line == asked.header:
                return at + 1, _headings(table, at), first.mark
            continue
        headings = _headings(table, at)
        roles = {role for heading in headings for role in heading.roles}
        full = _is_full(roles)
        if best and best[0] and not (full and at == best[2] + 1):
            break
        enough = full or (len(roles) >= LEAST and {"part", "maybe_part", "description", *PRICES, "taxed_price"} & roles)
        if enough and (best is None or (full, len(roles), full) > (best[0], best[1], False)):
            best = full, len(roles), at, headings
    if best:
        *_, at, headings = best
        return at + 1, headings, next(cell.mark for cell in table.rows[at] if cell.filled)
    if not begin and "part" in asked.columns and asked.columns.keys() & set(PRICES):
        # A list without a header: its columns are the requested ones.
        at = next((at for at, row in enumerate(table.rows) if any(cell.filled for cell in row)), -1)
        if at >= 0:
            width = max(len(row) for row in table.rows)
            return at, [Heading((), None, (), "")] * width, next(cell.mark for cell in table.rows[at] if cell.filled)
    return None


def _is_full(roles: set[str]) -> bool:
    return bool({"part", "maybe_part"} & roles and {*PRICES, "taxed_price"} & roles)


def _next_header(table: RawTable, start: int, headings: Sequence[Heading]) -> int:
    """Return the row at which another table begins, from 0: its titles, and a header unlike the previous one."""
    previous = [heading.text for heading in headings if heading.text]
    parts = [at for at, heading in enumerate(headings) if {"part", "maybe_part"} & {*heading.roles}]
    above = start
    for at in range(start, len(table.rows)):
        row = table.rows[at]
        # A row with a part number, which has a digit, is no header; this excludes most rows quickly.
        if any(part < len(row) and DIGIT.search(str(row[part].value)) for part in parts):
            above = at + 1
        elif sum(cell.value is not None for cell in row) >= LEAST:
            row_headings = _headings(table, at)
            texts = [heading.text for heading in row_headings if heading.text]
            if texts != previous and _is_full({role for heading in row_headings for role in heading.roles}):
                return above
            above = at + 1
    return len(table.rows)


def _headings(table: RawTable, at: int) -> list[Heading]:
    """Return the headings of a row, with those of merged cells above it as prefix, or alone where a column has none."""
    row = table.rows[at]
    above = [area for area in table.merged if area.top == area.bottom == at and area.right > area.left]
    divided = any(all(map(_text, row[area.left - 1 : area.right])) for area in above if area.right <= len(row))
    headings = []
    for column in range(1, max(len(row), len(table.rows[at - 1]) if divided else 0) + 1):
        text = _text(cell_at(table, at + 1, column)) or (_text(cell_at(table, at, column)) if divided else "")
        top = next((area for area in above if area.left <= column <= area.right), None)
        joined = f"{_text(cell_at(table, top.top, top.left))} {text}" if top and text else text
        heading = read_heading(joined)
        if not heading.roles and joined != text:
            heading = read_heading(text)._replace(currency=heading.currency)
        headings.append(heading)
    return headings


def _text(cell: TableCell | None) -> str:
    return " ".join(cell.value.split()) if cell and isinstance(cell.value, str) else ""


class _Choice:
    def __init__(
        self,
        file: str,
        headings: Sequence[Heading],
        rows: Sequence[Sequence[TableCell]],
        asked: RequestedColumns,
        header: Sequence[TableCell],
    ) -> None:
        self.file, self.headings, self.rows, self.asked = file, headings, rows, asked
        self.header = header
        self.breaks: list[tuple[str, int | None, RecognisedColumn]] = []
        self.by_role: dict[str, list[int]] = {}
        for at, heading in enumerate(headings):
            for role in heading.roles:
                # "Unit" next to "Extended" has the unit prices.
                role = "price" if role == "unit" and self._is_numeric(at) else role
                self.by_role.setdefault(role, []).append(at)

    def columns(self) -> dict[str, RecognisedColumn]:
        """Return the columns by role. Raises PlanErrors with a question."""
        columns = self._asked()
        if "part" not in columns:
            columns["part"] = self._part()
        asked = not columns.keys().isdisjoint(PRICES)
        if not asked:
            columns |= self._prices()
        for role, candidates in self.by_role.items():
            if role in columns or role in (
                *PRICES,
                "taxed_price",
                "part",
                "maybe_part",
                "discount_or_paid",
                "discount",
            ):
                continue
            free = [at for at in candidates if at not in {column.at for column in columns.values()}]
            if free and (len(free) == 1 or role not in _ONE):
                columns[role] = self._column(free[0])
            elif free:
                raise self._question(role, free)
        if "discount" not in columns and "paid" not in columns:
            for role in ("discount", "discount_or_paid"):
                if len(candidates := self.by_role.get(role, [])) > 1:
                    raise self._question("discount", candidates)
                if candidates:
                    columns[role] = self._column(candidates[0])
        values = (
            self._values(columns["quantity"].at) if "quantity" in columns and "from_quantity" not in columns else []
        )
        if any(isinstance(value, str) and find_break(value) for value in values):
            columns["from_quantity"] = columns.pop("quantity")._replace(why=message("why-breaks"))
        self._ask_of_others(columns, asked)
        return columns

    def _ask_of_others(self, columns: Mapping[str, RecognisedColumn], asked: bool) -> None:
        """Raise PlanErrors with a question if columns that are not read may have the prices: `EDU price`."""
        taken = next((columns[role] for role in ("price", "list_price") if role in columns), None)
        if asked or "net_price" in columns or taken is None:
            return
        named = (at for at, heading in enumerate(self.headings) if not heading.roles and has_price_word(heading.text))
        if candidates := [at for at in named if self._is_numeric(at)]:
            raise self._question("price", [taken.at, *candidates])

    def _asked(self) -> dict[str, RecognisedColumn]:
        columns: dict[str, RecognisedColumn] = {}
        width = max([len(self.headings), *map(len, self.rows)])
        for role, name in self.asked.columns.items():
            if name == NO_COLUMN:
                self.by_role.pop(role, None)
                continue
            texts = [heading.text for heading in self.headings]
            at = find_column(name, texts, width)
            if at is None:
                raise error_at(self._mark(), lacks_column(name, role, texts), "columns")
            heading = self.headings[at] if at < len(self.headings) else Heading((), None, (), "")
            columns[role] = RecognisedColumn(at, heading, message("why-asked"))
        return columns

    def _column(self, at: int, why: str = "") -> RecognisedColumn:
        return RecognisedColumn(at, self.headings[at], why or message("why-heading"))

    def _part(self) -> RecognisedColumn:
        for role in ("part", "maybe_part"):
            candidates = self.by_role.get(role, [])
            if len(candidates) == 1:
                return self._checked(candidates[0])
            if candidates:
                return self._by_values(candidates, _which("part", candidates))
        texts = [at for at in range(len(self.headings)) if self._values(at) and not self._is_numeric(at)]
        return self._by_values(texts, message("ask-no-part"))

    def _checked(self, at: int) -> RecognisedColumn:
        """Return a column with a heading of parts, unless another one has all the part numbers."""
        values = [str(value) for value in self._values(at)]
        if not values or built_in_parts().count(values):
            return self._column(at)
        candidates = [column for column, heading in enumerate(self.headings) if heading.text and column != at]
        counts = {column: self._count(column) for column in candidates}
        better = [column for column, count in counts.items() if count > 1]
        if not better:
            return self._column(at)
        what = message("ask-other-part", cell=self.headings[at].text, count=max(counts.values()))
        raise self._question("part", better, what)

    def _by_values(self, candidates: Sequence[int], what: str) -> RecognisedColumn:
        counts = sorted(((self._count(at), -at) for at in candidates), reverse=True)
        if counts and counts[0][0] and (len(counts) == 1 or counts[0][0] >= CLEAR * max(counts[1][0], 1)):
            count, at = counts[0]
            rows = len(self._values(-at))
            return self._column(-at, message("why-values-of", count=count, rows=rows))
        if len(counts) > 1 and counts[0][0] and counts[0][0] > 1 and not counts[1][0]:
            return self._column(-counts[0][1], message("why-values", count=counts[0][0]))
        raise self._question("part", candidates, what)

    def _count(self, at: int) -> int:
        return built_in_parts().count(value for value in self._values(at) if isinstance(value, str))

    def _prices(self) -> dict[str, RecognisedColumn]:
        columns: dict[str, RecognisedColumn] = {}
        for role in PRICES:
            free = [at for at in self.by_role.get(role, []) if at not in {column.at for column in columns.values()}]
            quantities = [self.headings[at].from_quantity for at in free]
            if len(set(quantities)) < len(free):
                raise self._question("price", free)
            if free:
                columns[role] = self._column(free[0])
            if any(quantities):
                self.breaks += zip([role] * len(free), quantities, map(self._column, free), strict=True)
        is_net_known = not {"net_price", "price"}.isdisjoint(columns) or (
            columns and not _DISCOUNTS.isdisjoint(self.by_role)
        )
        if not is_net_known and (taxed := self.by_role.get("taxed_price")):
            heading = self.headings[taxed[0]].text
            what = message("ask-taxed-column", cell=heading)
            if len(taxed) > 1:
                raise self._question("price", taxed, what)
            if self.asked.tax is None:
                raise tax_question(self._mark(taxed[0]), what, heading, self.file)
            columns["price"] = self._column(taxed[0])
        if not columns:
            numbers = [at for at in range(len(self.headings)) if self._is_numeric(at)]
            raise self._question("price", numbers, message("ask-no-price"))
        return columns

    def _values(self, at: int) -> list[object]:
        return [row[at].value for row in self.rows if at < len(row) and row[at].filled]

    def _is_numeric(self, at: int) -> bool:
        values = [value for value in self._values(at) if not isinstance(value, Broken)]
        numbers = [value for value in values if not isinstance(value, str) or read_amount(value)]
        return bool(numbers) and len(numbers) * 2 > len(values)

    def _mark(self, at: int = 0) -> Mark:
        return self.header[at].mark if at < len(self.header) else Mark(self.file, 1, 1)

    def _question(self, role: str, candidates: Sequence[int], what: str = "") -> PlanErrors:
        headings, candidates = [heading.text for heading in self.headings], candidates[:MAX_COLUMNS]
        mark = self._mark(min(candidates, default=0))
        what = what or _which(role, candidates)
        return column_question(mark, role, what, headings, candidates, f"bomgen prices {self.file}")


def _which(role: str, candidates: Sequence[int]) -> str:
    return message("ask-which", count=len(candidates), role=name_role(role))


def name_role(role: str) -> str:
    """Return what a column holds, in words."""
    return message(f"role-{role}")


_DISCOUNTS = frozenset(("discount", "paid", "discount_or_paid"))
_ONE = ("currency", "from_quantity", "min", "max", "estimate")
"""Roles that only one column may have; for others the first is taken."""


def find_column(name: str, headings: Sequence[str], width: int) -> int | None:
    """Return the index, from 0, of a column by letter or heading in a table of this width; None if there is none."""
    if _LETTER.fullmatch(name):
        return at if (at := column_number(name) - 1) < width else None
    wanted = normalize(name)
    return next((at for at, text in enumerate(headings) if normalize(text) == wanted), None)


def column_question(
    mark: Mark, role: str, what: str, headings: Sequence[str], candidates: Sequence[int], command: str
) -> PlanErrors:
    """Return the question which column has a role, of some candidates, or of all columns if there are none."""
    choices = column_choices(role, headings, candidates or range(len(headings)))
    if not candidates:
        return question_error(mark, Question(role, what, choices), command, [f"{role}=C"])
    columns = [message("ask-heading", id=column_letters(at + 1), cell=headings[at]) for at in candidates]
    text = message("ask-among", what=what, columns=columns)
    return question_error(mark, Question(role, text, choices), command, [choices[0].setting])


def column_choices(role: str, headings: Sequence[str], candidates: Iterable[int]) -> tuple[Choice, ...]:
    """Return columns to choose from for a role."""
    return tuple(column_choice(role, column_letters(at + 1), headings[at]) for at in candidates)


def column_choice(role: str, letter: str, heading: str) -> Choice:
    """Return a column to choose for a role."""
    return Choice(f"{role}={letter}", f"{letter}: {heading}" if heading else letter)


def tax_question(mark: Mark, what: str, text: str, file: str) -> PlanErrors:
    """Return the question which tax prices include; the rate in a text comes first."""
    rates = [*(f"{rate}%" for rate in _RATE.findall(text)), "0%", *(f"{rate}%" for rate in range(1, MOST_TAX))]
    choices = tuple(Choice(f"tax={rate}", rate) for rate in dict.fromkeys(rates))
    asked = Question("tax", message("ask-tax-rate", what=what), choices)
    named = [choice.setting for choice in choices[:1] if choice.label != "0%"] or ["tax=19%"]
    return question_error(mark, asked, f"bomgen prices {file}", [*named, "tax=0%"])


def question_error(mark: Mark, question: Question, command: str, answers: Iterable[str]) -> PlanErrors:
    """Return a question as an error that says how a command is told some of the answers."""
    said = f"{question.text}; choose with: {command} --columns {' or '.join(dict.fromkeys(answers))}"
    return PlanErrors([Problem(mark, "error", said, "columns", questions=(question,))])


def lacks_column(name: str, role: str, headings: Sequence[str]) -> str:
    """Return a message that a table has no column of the requested name."""
    named = ", ".join(f"{column_letters(at + 1)} '{text}'" for at, text in enumerate(headings) if text)
    return f"no column '{name}' for {role}; it has {named or 'no headings'}"

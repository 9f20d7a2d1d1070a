"""The columns of a price list or a bill: recognised by headings or values, or as requested.

Ambiguity is never resolved by guessing: if two columns may have the same role, or none is recognised, the result is a
question with the candidates, each as `--columns` takes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from bomgen.core.diagnostics import Choice, PlanErrors, Problem, Question, error_at
from bomgen.core.messages import message, suggestion
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
    Value,
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
NO_READINGS: Mapping[int, str] = {}
NO_PARTS: Mapping[str, str] = {}
PART_OF = "part."
"""Prefix of a part number in `--columns part.ACME-1=mma4z00-ns`."""
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
    parts: Mapping[str, str] = NO_PARTS
    """Parts by an unknown number in lower case; NO_COLUMN for one of no part."""


NOTHING = RequestedColumns({})
NO_HEADING = Heading((), None, (), "")


def read_asked(text: str, roles: Sequence[str] = ()) -> RequestedColumns:
    """Return the request in `part=C,price=F,currency=USD,decimal=comma,sheet=List,header=5`.

    A currency is a code or a column, `part.NUMBER=ID` the part of an unknown number; `roles` are permitted, by
    default those of price lists. Raises ValueError for other text.
    """
    roles = roles or ROLES
    columns, settings, parts = dict[str, str](), dict[str, str](), dict[str, str]()
    for pair in filter(None, text.split(",")):
        key, equals, value = (piece.strip() for piece in pair.partition("="))
        if not equals or not value:
            raise ValueError(f"'{pair}' asks for nothing; write part=C,price=F")
        if key in SETTINGS or (key == "currency" and value.upper() in minor_units()):
            settings[key] = value
        elif key.startswith(PART_OF):
            parts[key.removeprefix(PART_OF).lower()] = value
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
        parts,
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


def find_column(name: str, headings: Sequence[str], width: int) -> int | None:
    """Return the index, from 0, of a column by letter or heading in a table of this width; None if there is none."""
    if _LETTER.fullmatch(name):
        return at if (at := column_number(name) - 1) < width else None
    wanted = normalize(name)
    return next((at for at, text in enumerate(headings) if normalize(text) == wanted), None)


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


def name_role(role: str) -> str:
    """Return what a column holds, in words."""
    return message(f"role-{role}")


class HeadedRows:
    """The rows of a list or a bill below its headings, and the columns that may have each role."""

    def __init__(
        self,
        file: str,
        headings: Sequence[Heading],
        rows: Sequence[Sequence[TableCell]],
        asked: RequestedColumns,
        header: Sequence[TableCell],
        command: str = "prices",
        sheet: str = "",
    ) -> None:
        self.file, self.headings, self.rows, self.asked = file, headings, rows, asked
        self.header, self.command, self.sheet = header, command, sheet
        self.by_role: dict[str, list[int]] = {}
        """Column indices, from 0, by role."""
        for at, heading in enumerate(headings):
            for role in heading.roles:
                # "Unit" next to "Extended" has the unit prices.
                role = "price" if role == "unit" and self.is_numeric(at) else role
                self.by_role.setdefault(role, []).append(at)

    def requested(self) -> dict[str, int]:
        """Return the requested columns by role; a role without a column loses its candidates. Raises PlanErrors."""
        columns: dict[str, int] = {}
        texts = [heading.text for heading in self.headings]
        width = max([len(texts), *map(len, self.rows)])
        for role, name in self.asked.columns.items():
            if name == NO_COLUMN:
                self.by_role.pop(role, None)
                continue
            at = find_column(name, texts, width)
            if at is None:
                named = ", ".join(f"{column_letters(at + 1)} '{text}'" for at, text in enumerate(texts) if text)
                wrong = f"no column '{name}' for {role}; it has {named or 'no headings'}"
                raise error_at(self.mark(), wrong, "columns")
            columns[role] = at
        return columns

    def values(self, at: int) -> list[Value]:
        """Return the values of a column."""
        return [row[at].value for row in self.rows if at < len(row) and row[at].filled]

    def are_most(self, at: int, test: Callable[[Value], object]) -> bool:
        """Return whether most values of a column pass a test."""
        values = [value for value in self.values(at) if not isinstance(value, Broken)]
        return 2 * sum(bool(test(value)) for value in values) > len(values)

    def is_numeric(self, at: int) -> bool:
        """Return whether most values of a column are numbers."""
        return self.are_most(at, is_number)

    def mark(self, at: int = 0) -> Mark:
        """Return the place of a heading."""
        return self.header[at].mark if at < len(self.header) else Mark(self.file, 1, 1)

    def question(
        self, role: str, candidates: Sequence[int], what: str = "", readings: Mapping[int, str] = NO_READINGS
    ) -> PlanErrors:
        """Return the question which column has a role, of some candidates, or of all columns if there are none.

        `readings` show by column how the first rows would be read.
        """
        what = what or message("ask-which", count=len(candidates), role=name_role(role))
        if self.sheet:
            what = message("ask-in-sheet", what=what, key=self.sheet)
        texts = [heading.text for heading in self.headings] or [""] * (max(candidates, default=0) + 1)
        for at, reading in readings.items():
            texts[at] = f"{texts[at]}: {reading}".removeprefix(": ")
        candidates = [at for at in candidates[:MAX_COLUMNS] if at < len(texts)]
        choices = column_choices(role, texts, candidates or range(len(texts)))
        if candidates:
            columns = [message("ask-heading", id=column_letters(at + 1), cell=texts[at]) for at in candidates]
            what = message("ask-among", what=what, columns=columns)
        answer = choices[0].setting if candidates else f"{role}=C"
        question = Question(role, what, choices)
        command = f"bomgen {self.command} {self.file}"
        return question_error(self.mark(min(candidates, default=0)), question, command, [answer])


def is_number(value: Value) -> bool:
    """Return whether a value is a number, or the text of one."""
    return value is not None and (not isinstance(value, str) or read_amount(value) is not None)


def read_headings(table: RawTable, at: int, bill: bool = False) -> list[Heading]:
    """Return the headings of a row, with those of merged cells above it as prefix, or alone where a column has none."""
    row = table.rows[at]
    above = [area for area in table.merged if area.top == area.bottom == at and area.right > area.left]
    divided = any(all(map(_text, row[area.left - 1 : area.right])) for area in above if area.right <= len(row))
    headings = []
    for column in range(1, max(len(row), len(table.rows[at - 1]) if divided else 0) + 1):
        text = _text(cell_at(table, at + 1, column)) or (_text(cell_at(table, at, column)) if divided else "")
        top = next((area for area in above if area.left <= column <= area.right), None)
        joined = f"{_text(cell_at(table, top.top, top.left))} {text}" if top and text else text
        heading = read_heading(joined, bill)
        if not heading.roles and joined != text:
            heading = read_heading(text, bill)._replace(currency=heading.currency)
        headings.append(heading)
    return headings


def _text(cell: TableCell | None) -> str:
    return " ".join(cell.value.split()) if cell and isinstance(cell.value, str) else ""


# price lists ----------------------------------------------------------------------------------------------------------


def layouts(table: RawTable, file: str, asked: RequestedColumns) -> Iterator[ListLayout]:
    """Yield the lists of a sheet. Raises PlanErrors with a question."""
    filled = fill_merged(_hide_columns(table, asked))
    begin, top = 0, tuple[tuple[TableCell, ...], ...]()
    while (header := _header(filled, begin, asked)) is not None:
        start, headings, mark = header
        end = _next_header(filled, start, headings)
        rows = filled.rows[start : min(start + JUDGED, end)]
        choice = _ListColumns(file, headings, rows, asked, filled.rows[start - 1] if start else ())
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
                return at + 1, read_headings(table, at), first.mark
            continue
        headings = read_headings(table, at)
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
            return at, [NO_HEADING] * width, next(cell.mark for cell in table.rows[at] if cell.filled)
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
            row_headings = read_headings(table, at)
            texts = [heading.text for heading in row_headings if heading.text]
            if texts != previous and _is_full({role for heading in row_headings for role in heading.roles}):
                return above
            above = at + 1
    return len(table.rows)


_DISCOUNTS = frozenset(("discount", "paid", "discount_or_paid"))
_CHOSEN = (*PRICES, "taxed_price", "part", "maybe_part", "discount_or_paid", "discount")
"""Roles whose columns are chosen by rules of their own."""
_ONE = ("currency", "from_quantity", "min", "max", "estimate")
"""Roles that only one column may have; for others the first is taken."""


class _ListColumns(HeadedRows):
    """The columns of a price list."""

    breaks: list[tuple[str, int | None, RecognisedColumn]]

    def columns(self) -> dict[str, RecognisedColumn]:
        """Return the columns by role. Raises PlanErrors with a question."""
        self.breaks = []
        columns = {role: self._column(at, message("why-asked")) for role, at in self.requested().items()}
        if "part" not in columns:
            columns["part"] = self._part()
        asked = not columns.keys().isdisjoint(PRICES)
        if not asked:
            columns |= self._prices()
        for role, candidates in self.by_role.items():
            if role in columns or role in _CHOSEN:
                continue
            free = [at for at in candidates if at not in {column.at for column in columns.values()}]
            if free and (len(free) == 1 or role not in _ONE):
                columns[role] = self._column(free[0])
            elif free:
                raise self.question(role, free)
        if "discount" not in columns and "paid" not in columns:
            for role in ("discount", "discount_or_paid"):
                if len(candidates := self.by_role.get(role, [])) > 1:
                    raise self.question("discount", candidates)
                if candidates:
                    columns[role] = self._column(candidates[0])
        values = self.values(columns["quantity"].at) if "quantity" in columns and "from_quantity" not in columns else []
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
        if candidates := [at for at in named if self.is_numeric(at)]:
            raise self.question("price", [taken.at, *candidates])

    def _column(self, at: int, why: str = "") -> RecognisedColumn:
        heading = self.headings[at] if at < len(self.headings) else NO_HEADING
        return RecognisedColumn(at, heading, why or message("why-heading"))

    def _part(self) -> RecognisedColumn:
        for role in ("part", "maybe_part"):
            candidates = self.by_role.get(role, [])
            if len(candidates) == 1:
                return self._checked(candidates[0])
            if candidates:
                return self._by_values(candidates)
        texts = [at for at in range(len(self.headings)) if self.values(at) and not self.is_numeric(at)]
        return self._by_values(texts, message("ask-no-part"))

    def _checked(self, at: int) -> RecognisedColumn:
        """Return a column with a heading of parts, unless another one has all the part numbers."""
        values = [str(value) for value in self.values(at)]
        if not values or built_in_parts().count(values):
            return self._column(at)
        candidates = [column for column, heading in enumerate(self.headings) if heading.text and column != at]
        counts = {column: self._count(column) for column in candidates}
        better = [column for column, count in counts.items() if count > 1]
        if not better:
            return self._column(at)
        what = message("ask-other-part", cell=self.headings[at].text, count=max(counts.values()))
        raise self.question("part", better, what)

    def _by_values(self, candidates: Sequence[int], what: str = "") -> RecognisedColumn:
        counts = sorted(((self._count(at), -at) for at in candidates), reverse=True)
        if counts and counts[0][0] and (len(counts) == 1 or counts[0][0] >= CLEAR * max(counts[1][0], 1)):
            count, at = counts[0]
            rows = len(self.values(-at))
            return self._column(-at, message("why-values-of", count=count, rows=rows))
        if len(counts) > 1 and counts[0][0] and counts[0][0] > 1 and not counts[1][0]:
            return self._column(-counts[0][1], message("why-values", count=counts[0][0]))
        raise self.question("part", candidates, what)

    def _count(self, at: int) -> int:
        return built_in_parts().count(value for value in self.values(at) if isinstance(value, str))

    def _prices(self) -> dict[str, RecognisedColumn]:
        columns: dict[str, RecognisedColumn] = {}
        for role in PRICES:
            free = [at for at in self.by_role.get(role, []) if at not in {column.at for column in columns.values()}]
            quantities = [self.headings[at].from_quantity for at in free]
            if len(set(quantities)) < len(free):
                raise self.question("price", free)
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
                raise self.question("price", taxed, what)
            if self.asked.tax is None:
                raise tax_question(self.mark(taxed[0]), what, heading, self.file)
            columns["price"] = self._column(taxed[0])
        if not columns:
            numbers = [at for at in range(len(self.headings)) if self.is_numeric(at)]
            raise self.question("price", numbers, message("ask-no-price"))
        return columns

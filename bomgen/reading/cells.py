"""Tables as received: rows of cells with their places, and amounts and dates in the forms that people write."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.reading.list_words import MAX_HEADING, SIGNS, find_currency, languages, normalize, words

MAX_COLUMNS = 50
"""Maximum number of columns of a price list or a bill; more suggest another table, or an attack."""
MAX_CELLS = 10**6
"""Maximum number of cells up to the last of each row, over all sheets: 20,000 rows of 50 columns."""
MAX_ACROSS = 1000
"""Maximum number of horizontal merges considered, which are headers and section titles."""
LONGEST = 1000
"""Maximum length of a cell searched for parts, dates and currencies; longer ones are terms and conditions."""


class Broken(NamedTuple):
    """A cell without a usable value: a formula without one, an error."""

    message: str


Value = str | Decimal | bool | date | time | Broken | None


class TableCell(NamedTuple):
    """A value of a table and its place; None for an empty cell."""

    value: Value
    mark: Mark
    formula: str = ""
    """The formula of the value, in the form of `relative_formula`, if requested."""

    @property
    def filled(self) -> bool:
        """Return whether the cell has a value."""
        return self.value is not None


class Area(NamedTuple):
    """Merged cells, from the first row and column to the last, from 1."""

    top: int
    left: int
    bottom: int
    right: int


class RawTable(NamedTuple):
    """A sheet of a workbook, or the only table of a delimited text."""

    name: str
    """Title of the sheet; empty for text."""
    rows: tuple[tuple[TableCell, ...], ...]
    """All rows, in a workbook up to the last cell with a value: row n is `rows[n - 1]`, and an empty one is `()`. Rows
    of text are consecutive, wherever their lines begin."""
    hidden: bool = False
    merged: tuple[Area, ...] = ()
    """Merged cells; only the first cell has their value."""
    hidden_rows: frozenset[int] = frozenset()
    hidden_columns: frozenset[int] = frozenset()
    """Hidden columns, from 1."""


def fill_merged(table: RawTable) -> RawTable:
    """Return the table with the value of vertically merged cells in each row. Raises PlanErrors for too many cells."""
    tall = [area for area in table.merged if area.bottom > area.top and area.left == area.right]
    across = [area for area in table.merged if area.bottom == area.top and area.left < area.right]
    rows = [list(row) for row in table.rows] if tall else []
    left = MAX_CELLS - sum(map(len, rows))
    below: dict[int, int] = {}
    """The row below the last area of each column; areas do not overlap, except in manipulated files."""
    for area in sorted(tall):
        first = cell_at(table, area.top, area.left)
        if first is None or not first.filled:
            continue
        start, below[area.left] = max(area.top + 1, below.get(area.left, 0)), area.bottom + 1
        lines = range(start, min(area.bottom, len(rows)) + 1)
        left -= sum(max(area.left - len(rows[line - 1]), 0) for line in lines)
        if left < 0:
            raise too_many_cells(Mark(first.mark.file, area.top, area.left))
        for line in lines:
            row = rows[line - 1]
            row += [TableCell(None, Mark(first.mark.file, line, at)) for at in range(len(row) + 1, area.left + 1)]
            if not row[area.left - 1].filled:
                row[area.left - 1] = TableCell(first.value, row[area.left - 1].mark)
    filled = tuple(map(tuple, rows)) if tall else table.rows
    return table._replace(rows=filled, merged=tuple(sorted(across)[:MAX_ACROSS]))


def too_many_cells(mark: Mark) -> PlanErrors:
    """Return an error for a table with too many cells."""
    message = f"more than {MAX_CELLS} cells; at most so many are read, save the rows with prices alone"
    return PlanErrors([Problem(mark, "error", message, "table-limit")])


def shorten_texts(table: RawTable) -> RawTable:
    """Return the table with its longest texts truncated, marked by `…`."""
    if not any(isinstance(cell.value, str) and len(cell.value) > LONGEST for row in table.rows for cell in row):
        return table
    return table._replace(rows=tuple(tuple(map(_shorten, row)) for row in table.rows))


def _shorten(cell: TableCell) -> TableCell:
    is_long = isinstance(cell.value, str) and len(cell.value) > LONGEST
    return TableCell(f"{str(cell.value)[:LONGEST]}…", cell.mark) if is_long else cell


def cell_at(table: RawTable, line: int, column: int) -> TableCell | None:
    """Return the cell at a line and column of a sheet, both from 1; None beyond the last one of its row."""
    row = table.rows[line - 1] if line <= len(table.rows) else ()
    return row[column - 1] if column <= len(row) else None


# amounts and dates ----------------------------------------------------------------------------------------------------

POINT, COMMA = ".", ","
GROUP = 3
"""Digits between thousands separators."""
PERCENT = 100
TENTHS = 10
WORKDAYS, WEEK, MONTH = 5, 7, 30
"""Working days per week, days per week and per month."""
KEPT = 1 << 16
"""Number of cached texts: those of a long list, which is read repeatedly to find its conventions."""
_NUMBER = re.compile(r"[0-9](?:[0-9.,'\u2019 ]*[0-9])?")
_UNITS = re.compile(
    r"(?:/|\bper\b|\bje\b)? *(?:pcs?|pieces?|each|ea|units?|stk|stück|台|个|件|套|条|只|根|块)\.?$", re.IGNORECASE
)
_NOTE = re.compile(r"[\[(]([^\[\]()0-9]+)[\])]$")
_PLAIN = re.compile(r"([$€£]?) ?([0-9][0-9.,]*) ?([€£]?)")
_INDIAN = re.compile(r"[0-9]{1,2}(?:,[0-9]{2})*,[0-9]{3}")
_CURRENCY_SIGNS = re.compile(r"[A-Z]{3}|(?:US|CA|C|AU|A|HK|S|NT|R)?\$|[€£¥₹₩円元]|人民币|美元|RMB|,?[-–—]{1,2}$")
_PAID = re.compile(r"([0-9]+(?:\.[0-9]+)?) *折")
_SHARE = re.compile(r"-? *([0-9]+(?:[.,][0-9]+)?) *(%?)")
_PIECES = re.compile(r"(?:/|per|je|pro|par|每)? *([0-9]{1,3}(?:[.,' ][0-9]{3})+|[0-9]*) *([^0-9]*)")
_TIME = re.compile(r"(?:[0-9]+(?:[.,][0-9]+)? *(?:-|–|—|~|to|bis|至|到) *)?([0-9]+(?:[.,][0-9]+)?) *([^0-9]*)")


class WrittenAmount(NamedTuple):
    """An amount in its written form."""

    digits: str
    """Digits with their separators."""
    point: str | None
    """The decimal separator if the form determines it; None if there is none, or if either is possible."""
    unclear: bool
    """Whether its single separator may be a decimal or a thousands separator, as in 1,234."""
    currency: str | None

    def value(self, point: str) -> Decimal:
        """Return the number with `point` as decimal separator."""
        separator = COMMA if point == POINT else POINT
        return Decimal(self.digits.replace(separator, "").replace(point, POINT))


@lru_cache(maxsize=KEPT)
def read_amount(text: str) -> WrittenAmount | None:
    """Return an amount with currency, unit and separators; None for other text, such as "on request"."""
    if len(text) > MAX_HEADING:
        return None
    if most := _PLAIN.fullmatch(text):
        sign = most[1] or most[3]
        return _separated(most[2], SIGNS[sign] if sign else None)
    plain = unicodedata.normalize("NFKC", text).strip()
    if (note := _NOTE.search(plain)) and normalize(note[1]) in words("amount_notes"):
        plain = plain[: note.start()]
    plain = _UNITS.sub("", plain.strip()).strip()
    number = _NUMBER.search(plain)
    if number is None:
        return None
    around = plain[: number.start()] + " " + plain[number.end() :]
    currency = find_currency(around)
    if normalize(_CURRENCY_SIGNS.sub("", around)):
        return None
    if plain.lstrip("$€£¥ ").startswith(("-", "–", "(")):
        return None
    digits = re.sub(r"(?<=[0-9])['\u2019 ](?=[0-9]{3}(?![0-9]))", "", number[0])
    return None if re.search(r"['\u2019 ]", digits) else _separated(digits, currency)


def _separated(digits: str, currency: str | None) -> WrittenAmount | None:
    points, commas = digits.count(POINT), digits.count(COMMA)
    last = max(digits.rfind(POINT), digits.rfind(COMMA))
    if not points and not commas:
        return WrittenAmount(digits, None, False, currency)
    sign = digits[last]
    whole, behind = digits[:last], digits[last + 1 :]
    separator = COMMA if sign == POINT else POINT
    if points and commas:
        fine = digits.count(sign) == 1 and _is_grouped(whole, separator)
        return WrittenAmount(digits, sign, False, currency) if fine else None
    if points + commas > 1:
        return WrittenAmount(digits, separator, False, currency) if _is_grouped(digits, sign) else None
    unclear = len(behind) == GROUP and len(whole) <= GROUP and not whole.startswith("0")
    return WrittenAmount(digits, None if unclear else sign, unclear, currency)


def _is_grouped(text: str, sign: str) -> bool:
    """Return whether a separator divides groups of three digits, or of two as in India."""
    first, *rest = text.split(sign)
    groups = 1 <= len(first) <= GROUP and all(len(group) == GROUP for group in rest)
    return (groups and bool(rest)) or bool(_INDIAN.fullmatch(text) and sign == COMMA) or (not rest)


def prove_points(texts: Iterable[str]) -> frozenset[str]:
    """Return the decimal separators that the forms of some amounts determine."""
    written = (read_amount(text) for text in texts)
    return frozenset(amount.point for amount in written if amount and amount.point)


class Share(NamedTuple):
    """A percentage or share in its written form."""

    value: Decimal
    """The number before a per cent sign, or alone."""
    percent: bool
    paid: bool
    """Whether it is the paid share, in tenths: 8.5折."""
    places: int


def read_share(value: Value) -> Share | None:
    """Return a share; None for other values."""
    if isinstance(value, Decimal):
        return Share(value, False, False, max(0, -int(value.as_tuple().exponent)))
    return _read_written_share(value) if isinstance(value, str) else None


@lru_cache(maxsize=KEPT)
def _read_written_share(text: str) -> Share | None:
    text = unicodedata.normalize("NFKC", text[:MAX_HEADING]).strip()
    if match := _PAID.fullmatch(text):
        tenths = Decimal(match[1])
        return Share(tenths if tenths <= TENTHS else tenths / TENTHS, False, True, 1)
    if match := _SHARE.fullmatch(text):
        number = Decimal(match[1].replace(COMMA, POINT))
        return Share(number, bool(match[2]), False, max(0, -int(number.as_tuple().exponent)))
    return None


def read_pieces(value: Value) -> Decimal | None:
    """Return the number of pieces that a price is for, from its unit: 1 for `EA`, 100 for `100 St`; else None."""
    if isinstance(value, Decimal):
        return value if value > 0 else None
    return _read_written_pieces(value) if isinstance(value, str) else None


@lru_cache(maxsize=KEPT)
def _read_written_pieces(text: str) -> Decimal | None:
    match = _PIECES.fullmatch(unicodedata.normalize("NFKC", text[:MAX_HEADING]).strip().lower())
    if match is None or not (match[2].strip() == "" or normalize(match[2]) in words("pieces")):
        return None
    return Decimal(re.sub("[^0-9]", "", match[1]) or 1) or None


@lru_cache(maxsize=KEPT)
def read_lead_days(text: str, unit: str = "") -> int | None:
    """Return a lead time in days, the longer of two; `unit` is that of numbers alone. None for other text."""
    plain = unicodedata.normalize("NFKC", text[:MAX_HEADING]).strip().lower()
    if normalize(plain) in words("in_stock"):
        return 0
    match = _TIME.fullmatch(plain)
    if match is None:
        return None
    number = Fraction(match[1].replace(COMMA, POINT))
    written = re.sub(r"\b(aro|approx|after order|ca|约|左右|内)\b|[()]|左右|内$|以内", " ", match[2])
    word = normalize(written) or normalize(unit)
    units = {"days": Fraction(1), "working_days": Fraction(WEEK, WORKDAYS), "weeks": Fraction(WEEK)}
    units["months"] = Fraction(MONTH)
    return next((ceil(number * days) for kind, days in units.items() if word in words(kind)), None)


# dates --------------------------------------------------------------------------------------------------------------
# Dates in the forms that people write in tables, in each possible order of day, month and year.

ORDERS = {"dmy": "day, month, year", "mdy": "month, day, year", "ymd": "year, month, day"}
"""Orders of day, month and year, with their names for `--columns dates=`."""
DAY_FIRST = ("dmy", "mdy")
"""Orders of dates with points that do not begin with a year: day first, unless that is impossible. Of the 149 locales
whose short dates have points 138 put the day first, 11 the year and none the month (Unicode CLDR)."""
CENTURY = 2000
"""Base of two-digit years; price lists of the last century are irrelevant."""
SHORT_YEAR, LONG_YEAR = 2, 4
KEPT_DATES = 4096
"""Number of cached texts; most rows of a list have the same date."""
_TIME_OF_DAY = re.compile(r"[T ][0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?: ?[ap]m)?$", re.IGNORECASE)
_DIGITS = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
_NUMBERS = re.compile(r"([0-9]{1,4})([./年-]) ?([0-9]{1,2})(?:\2|月) ?([0-9]{1,4})[.日]?")
_DAY_AND_NAME = re.compile(r"(?P<day>[0-9]{1,2})[ .-]*(?P<month>[^\W\d]+)[ .,-]*(?P<year>[0-9]{4}|[0-9]{2})")
_NAME_AND_DAY = re.compile(r"(?P<month>[^\W\d]+)[ .-]*(?P<day>[0-9]{1,2})[ .,-]+(?P<year>[0-9]{4})")


@cache
def _months() -> dict[str, int]:
    return {
        name: number
        for language in languages().values()
        for number, names in enumerate(language.get("month_names", ()), 1)
        for name in names
    }


@lru_cache(maxsize=KEPT_DATES)
def read_dates(text: str) -> Mapping[str, date]:
    """Return the dates that a text may be, by order of day, month and year; equal ones if the form is clear."""
    if len(text) > MAX_HEADING:
        return {}
    plain = _TIME_OF_DAY.sub("", " ".join(unicodedata.normalize("NFKC", text).split()))
    if named := _DAY_AND_NAME.fullmatch(plain) or _NAME_AND_DAY.fullmatch(plain):
        day = _day(named["year"], _months().get(named["month"].lower(), 0), named["day"])
        return dict.fromkeys(ORDERS, day) if day else {}
    if match := _DIGITS.fullmatch(plain):
        first, sign, middle, last = match[1], "", match[2], match[3]
    elif match := _NUMBERS.fullmatch(plain):
        first, sign, middle, last = match.groups()
    else:
        return {}
    if len(first) == LONG_YEAR:
        day = _day(first, middle, last)
        return dict.fromkeys(ORDERS, day) if day else {}
    days = {"dmy": _day(last, middle, first), "mdy": _day(last, first, middle), "ymd": _day(first, middle, last)}
    possible = {order: day for order, day in days.items() if day}
    if sign == ".":
        return next(({order: possible[order]} for order in DAY_FIRST if order in possible), {})
    return possible


def _day(year: str, month: str | int, day: str) -> date | None:
    if len(year) not in (SHORT_YEAR, LONG_YEAR) or len(day) > SHORT_YEAR:
        return None
    try:
        return date(int(year) + (CENTURY if len(year) == SHORT_YEAR else 0), int(month), int(day))
    except ValueError:
        return None


def written_date(value: Value) -> str | None:
    """Return the text of a cell that may be a date, including one stored as a number: 20261231."""
    if isinstance(value, str):
        return value
    is_digits = not isinstance(value, bool | None) and _DIGITS.fullmatch(str(value))
    return str(value) if is_digits else None

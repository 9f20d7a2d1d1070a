"""Tables as received: rows of cells, and the words, amounts and dates in them in the forms that people write.

Each file `data/list-words.LANGUAGE.yaml` has the words of a language, for headings and for rows.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product
from math import ceil
from typing import Any, Literal, NamedTuple

from bomgen.core.diagnostics import PlanErrors, error_at
from bomgen.core.provenance import Mark
from bomgen.core.resources import folder
from bomgen.core.units import minor_units
from bomgen.core.yaml_source import own

SIGNS = {
    **{"US$": "USD", "CA$": "CAD", "C$": "CAD", "AU$": "AUD", "A$": "AUD", "HK$": "HKD", "S$": "SGD", "NT$": "TWD"},
    **{"R$": "BRL", "€": "EUR", "£": "GBP", "₹": "INR", "₩": "KRW", "円": "JPY", "$": "USD"},
}
"""Currencies by sign, longer signs first. A dollar sign alone stands for USD."""
WORDS = frozenset(("ALL", "BOB", "COP", "CUP", "GEL", "MAD", "MOP", "PEN", "SOS", "TOP", "TRY"))
"""Currency codes that are also words; they count as currencies only if they are alone ("ALL PRICES IN USD")."""
KEPT = 1 << 16
"""Number of cached texts: those of a long list, which is read repeatedly to find its conventions."""
ENGLISH = "en"
YEN = "¥"
"""The sign of yuan and yen, resolved by the language of the list."""
_BRACKETS = re.compile(r"[(\[（【][^)\]）】]*[)\]）】]")
_PUNCTUATION = re.compile(r"[\s.,:;/\\_\-'’\"*|&]+")
_BETWEEN_WORDS = re.compile(r"[\s()/:,;\[\]]+")
_RATE = re.compile(r"[0-9]+(?:[.,][0-9]+)? *%")
_CODE = re.compile(r"(?<![A-Za-z])([A-Z]{3})(?![A-Za-z])")


_COUNT = r"([0-9]{1,3}(?:[.,' ][0-9]{3}){1,2}|[0-9]{1,9})"
_PIECES_WORD = r"(?: *(?:pcs?|pieces?|units?|ea|stk|stück|台|个|件|只|根|块))?\.?"
_BREAKS = tuple(
    re.compile(rf"(?<![0-9.,]){form}{_PIECES_WORD}(?![0-9.,])", re.IGNORECASE)
    for form in (
        rf"(?!20[0-9]{{2}} *- *20[0-9]{{2}}){_COUNT} *(?:-|–|—|~|\bto\b|\bbis\b|至|到) *[0-9][0-9.,' ]*",
        rf"(?:>=|≥|\bfrom\b|\bab\b|\bmin\.?) *{_COUNT} *\+?",
        rf"{_COUNT} *(?:\+|(?:or|and) (?:more|up)\b|& up\b|und mehr\b|{_PIECES_WORD}(?:以上|及以上|起))",
    )
)
"""Minimum quantities of a price: `10-99`, `from 10`, `>= 10`, `10+`, `10台以上`; 2026-2027 are years."""
PRICE_ROLES = frozenset(("net_price", "price", "list_price"))
_FOR_SEVERAL = re.compile(
    rf"(?:/|\b(?:per|je|pro|par|for)\b|每) *(?P<pieces>10{{1,4}})(?![.,]?[0-9]){_PIECES_WORD}(?!\w)", re.IGNORECASE
)
"""Units of prices for several pieces: `per 100`, `/1000 Stk`."""
ONE = Decimal(1)
MAX_HEADING = 200
"""Maximum length of a heading, and of a cell with a value; longer ones are notes."""


class Heading(NamedTuple):
    """The meaning of a column heading."""

    roles: tuple[str, ...]
    """Possible roles of the column; empty if the name is unknown."""
    currency: str | None
    languages: tuple[str, ...]
    """Languages with this name."""
    text: str
    from_quantity: int | None = None
    """Minimum quantity in the heading: 10 for `Price 10-99`."""
    scale: Decimal = ONE
    """Factor from amounts to unit prices in the currency: 10000 for 单价（万元）, 0.01 for `per 100`."""


@cache
def languages() -> dict[str, dict[str, Any]]:
    """Return the words of every language by its code, English first."""
    paths = sorted(folder("data").glob("list-words.*.yaml"), key=lambda path: (".en." not in path.name, path.name))
    return {path.name.split(".")[1]: own(path, path.name).data for path in paths}


@cache
def words(kind: str) -> frozenset[str]:
    """Return the words of a kind in all languages, such as `sums`."""
    return frozenset(normalize(word) for language in languages().values() for word in language.get(kind, ()))


@cache
def _roles(bill: bool) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the roles and languages of each heading; on a bill its own roles come first."""
    meanings: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    groups = ("bill_columns", "columns") if bill else ("columns",)
    for group, (code, language) in product(groups, languages().items()):
        for role, headings in language.get(group, {}).items():
            for heading in headings:
                roles, codes = meanings.get(normalize(heading), ((), ()))
                named = tuple(dict.fromkeys((*roles, role))), tuple(dict.fromkeys((*codes, code)))
                meanings[normalize(heading)] = named
    return meanings


@cache
def _currency_names() -> dict[str, str]:
    return {
        normalize(name): code
        for language in languages().values()
        for name, code in language["currencies"].items()
        if code
    }


def normalize(text: str) -> str:
    """Return a text in lower case without punctuation and repeated spaces; wide characters become narrow."""
    text = unicodedata.normalize("NFKC", text).replace("%", " % ").replace("#", " # ")
    return " ".join(_PUNCTUATION.sub(" ", text).lower().split())


@cache
def read_heading(text: str, bill: bool = False) -> Heading:
    """Return the meaning of a heading on a price list or a bill: as written, without brackets, without a currency.

    `Price 10-99 (EUR)` is a price from 10 pieces, and so is `10-99` alone; `Price per 100` is one for 100 pieces.
    """
    if len(text) > MAX_HEADING:
        return Heading((), None, (), text)
    scale, bare = find_scale(text), text
    if scale != ONE:
        bare = _FOR_SEVERAL.sub(" ", unicodedata.normalize("NFKC", text))
        for word, _ in _multiples():
            bare = word.sub(" ", bare)
    heading = _read_break(bare, bill) or _read_heading(bare, bill)
    return heading._replace(currency=find_currency(text), text=text, scale=scale)


def _read_break(text: str, bill: bool) -> Heading | None:
    price_break = find_break(text)
    if price_break is None:
        return None
    quantity, around = price_break
    without = _read_heading(around, bill)
    prices = tuple(role for role in without.roles if role in PRICE_ROLES)
    if prices or "quantity" in without.roles or not re.sub(r"\W", "", _BRACKETS.sub(" ", around)):
        return Heading(prices or ("price",), None, without.languages, text, quantity)
    return None


def _read_heading(text: str, bill: bool) -> Heading:
    plain = _BRACKETS.sub(" ", text)
    currency = find_currency(text)
    without = " ".join(word for word in plain.split() if find_currency(word) is None or normalize(word) in _roles(bill))
    for form in (text, plain, without, re.sub(r"[$€£¥￥]", " ", without)):
        roles, codes = _roles(bill).get(normalize(form), ((), ()))
        if roles:
            if PRICE_ROLES & {*roles} and has_tax(text):
                roles = ("taxed_price",)
            return Heading(roles, currency, codes, text)
    return Heading((), currency, (), text)


def find_break(text: str) -> tuple[int, str] | None:
    """Return the minimum quantity in a heading or a cell, and the text around it; None without one."""
    plain = " ".join(unicodedata.normalize("NFKC", text[:MAX_HEADING]).split())
    for form in _BREAKS:
        if match := form.search(plain):
            quantity = max(int(re.sub("[^0-9]", "", match[1])), 1)
            return quantity, f"{plain[: match.start()]} {plain[match.end() :]}"
    return None


def find_currency(text: str) -> str | None:
    """Return the only currency in a text; None if it has none or several."""
    currencies = find_currencies(text)
    return next(iter(currencies)) if len(currencies) == 1 else None


@lru_cache(maxsize=KEPT)
def find_currencies(text: str) -> frozenset[str]:
    """Return the currencies in a text by code, sign or name; `¥` alone if it does not say yuan or yen."""
    text = unicodedata.normalize("NFKC", text)
    codes = {str(code) for code in _CODE.findall(text) if code in minor_units()}
    currencies = {code for code in codes if code not in WORDS or code == text.strip(" ()[]")}
    currencies |= {named for piece in _BETWEEN_WORDS.split(text) if (named := _currency_names().get(normalize(piece)))}
    if not text.isascii():
        # In a script without spaces between words, a name of two signs or more counts anywhere.
        names = {name: code for name, code in _currency_names().items() if len(name) > 1 and not name.isascii()}
        currencies |= {code for name, code in names.items() if name in text}
    for sign, code in SIGNS.items():
        if sign in text:
            currencies.add(code)
            text = text.replace(sign, " ")
    return frozenset(currencies or ({YEN} if YEN in text else ()))


def language_of(headings: Iterable[Heading]) -> str:
    """Return the language with the most headings that English lacks; English if it has all, empty if ambiguous."""
    counts = Counter(code for heading in headings if ENGLISH not in heading.languages for code in heading.languages)
    best = [code for code, count in counts.items() if count == max(counts.values())] or [ENGLISH]
    return best[0] if len(best) == 1 else ""


def custom_of(language: str, key: Literal["yen", "decimal"]) -> str:
    """Return the currency of `¥`, or the decimal separator, in lists of a language; empty if both are in use."""
    return str(languages().get(language, {}).get(key) or "")


def has_price_word(heading: str) -> bool:
    """Return whether an unknown heading may be that of prices."""
    pieces = normalize(re.sub(r"[()\[\]（）]", " ", heading)).split()
    # In scripts without spaces, headings end with words for prices.
    endings = tuple(word for word in words("price_words") if not word.isascii())
    return any(piece in words("price_words") or piece.endswith(endings) for piece in pieces)


def has_tax(text: str) -> bool | None:
    """Return whether prices include tax; None if a text does not say. If it says both, net prices come first."""
    return False if _has_words(text, "without_tax") else True if _has_words(text, "with_tax") else None


def _has_words(text: str, kind: str) -> bool:
    """Return whether a text has words of a kind; in a script without spaces also inside other words."""
    plain = normalize(re.sub(r"[()\[\]]", " ", _RATE.sub(" ", unicodedata.normalize("NFKC", text))))
    joined = plain.replace(" ", "")
    return any(f" {word} " in f" {plain} " if word.isascii() else word in joined for word in words(kind))


def find_scale(text: str) -> Decimal:
    """Return the factor from the amounts of a heading or title to unit prices in the currency; 1 by default."""
    plain = unicodedata.normalize("NFKC", text)
    pieces = _FOR_SEVERAL.search(plain)
    times = next((Decimal(times) for word, times in _multiples() if word.search(plain)), ONE)
    return times / Decimal(pieces["pieces"]) if pieces else times


@cache
def _multiples() -> tuple[tuple[re.Pattern[str], int], ...]:
    """Return patterns for thousands and other multiples in headings, longer ones first, with their values."""
    named = {word: times for language in languages().values() for word, times in language["multiples"].items()}
    return tuple(
        (re.compile(rf"\b{word}\b" if word.isascii() else rf"(?<![0-9]){word}(?!\w)", re.IGNORECASE), times)
        for word, times in sorted(named.items(), key=lambda item: -len(item[0]))
    )


# cells ----------------------------------------------------------------------------------------------------------------

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
    return error_at(mark, message, "table-limit")


def shorten_texts(table: RawTable) -> RawTable:
    """Return the table with its longest texts truncated, marked by `…`."""
    if not any(isinstance(cell.value, str) and len(cell.value) > LONGEST for row in table.rows for cell in row):
        return table
    rows = (
        [
            TableCell(f"{cell.value[:LONGEST]}…", cell.mark)
            if isinstance(cell.value, str) and len(cell.value) > LONGEST
            else cell
            for cell in row
        ]
        for row in table.rows
    )
    return table._replace(rows=tuple(map(tuple, rows)))


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


@lru_cache(maxsize=KEPT, typed=True)
def read_pieces(value: Value) -> Decimal | None:
    """Return the number of pieces that a price is for, from its unit: 1 for `EA`, 100 for `100 St`; else None."""
    if isinstance(value, Decimal):
        return value if value > 0 else None
    text = value[:MAX_HEADING] if isinstance(value, str) else "?"
    match = _PIECES.fullmatch(unicodedata.normalize("NFKC", text).strip().lower())
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


@lru_cache(maxsize=KEPT)
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

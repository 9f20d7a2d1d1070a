"""Dates as people write them in tables, in each order of day, month and year in which they are one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from functools import cache, lru_cache

from bomgen.reading.cells import Value
from bomgen.reading.list_words import MAX_HEADING, languages

ORDERS = {"dmy": "day, month, year", "mdy": "month, day, year", "ymd": "year, month, day"}
"""The orders in which dates are written, and what `--columns dates=` calls them."""
DAY_FIRST = ("dmy", "mdy")
"""What dates with points are that do not begin with a year: day first, unless that is no day. Of the 149 locales whose
short dates have points 138 put the day first, 11 the year and none the month (Unicode CLDR)."""
CENTURY = 2000
"""What two digits of a year count from: a list of the last century prices nothing."""
SHORT_YEAR, LONG_YEAR = 2, 4
KEPT = 4096
"""Texts that are remembered: most rows of a list have the same date."""
_TIME = re.compile(r"[T ][0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?: ?[ap]m)?$", re.IGNORECASE)
_DIGITS = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
_NUMBERS = re.compile(r"([0-9]{1,4})([./年-]) ?([0-9]{1,2})(?:\2|月) ?([0-9]{1,4})[.日]?")
_DAY_AND_NAME = re.compile(r"(?P<day>[0-9]{1,2})[ .-]*(?P<month>[^\W\d]+)[ .,-]*(?P<year>[0-9]{4}|[0-9]{2})")
_NAME_AND_DAY = re.compile(r"(?P<month>[^\W\d]+)[ .-]*(?P<day>[0-9]{1,2})[ .,-]+(?P<year>[0-9]{4})")


@cache
def _months() -> dict[str, int]:
    """The number of a month by its names and their short forms in all languages."""
    return {
        name: number
        for language in languages().values()
        for number, names in enumerate(language.get("month_names", ()), 1)
        for name in names
    }


@lru_cache(maxsize=KEPT)
def read_dates(text: str) -> Mapping[str, date]:
    """The days that a text may be, by the order in which it is read; empty for what is no date.

    Dates that begin with a year of four digits, and those with the name of a month, are the same day in every order.
    """
    if len(text) > MAX_HEADING:
        return {}
    plain = _TIME.sub("", " ".join(unicodedata.normalize("NFKC", text).split()))
    if named := _DAY_AND_NAME.fullmatch(plain) or _NAME_AND_DAY.fullmatch(plain):
        day = _day(named["year"], _months().get(named["month"].lower(), 0), named["day"])
        return dict.fromkeys(ORDERS, day) if day else {}
    if found := _DIGITS.fullmatch(plain):
        first, sign, middle, last = found[1], "", found[2], found[3]
    elif found := _NUMBERS.fullmatch(plain):
        first, sign, middle, last = found.groups()
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
    """A day of the calendar; None where there is none such."""
    if len(year) not in (SHORT_YEAR, LONG_YEAR) or len(day) > SHORT_YEAR:
        return None
    try:
        return date(int(year) + (CENTURY if len(year) == SHORT_YEAR else 0), int(month), int(day))
    except ValueError:
        return None


def written_date(value: Value) -> str | None:
    """The text of a cell that may be a date, also of one that a spreadsheet made a number: 20261231."""
    if isinstance(value, str):
        return value
    is_digits = not isinstance(value, bool | None) and _DIGITS.fullmatch(str(value))
    return str(value) if is_digits else None

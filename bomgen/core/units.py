"""Human quantities and money: `1.4T` tokens, `50%`, `20 days`, `400G`, `10 kW`, to exact numbers in a base unit.

Prefixes are decimal (K = 1000, GB = 10^9 bytes, Gb/s = 10^9 bit/s); powers of two are written `KiB` to `PiB`.

Money has minor units of currencies, rounding, and the totals of a bill. Only money is decimal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import cache
from math import floor
from typing import NamedTuple

from bomgen.core.safety import quote
from bomgen.core.yaml_source import exact_number, read_data

Exact = int | Fraction

MAX_QUOTED = 40
"""Characters of the user's text that a message repeats."""

GIGA, TERA, PETA = 10**9, 10**12, 10**15
GIBI = 2**30
BITS_A_BYTE = 8
HOURS_A_DAY = 24
MINUTES_A_DAY = 24 * 60
MONTHS_A_YEAR = 12
SECONDS_AN_HOUR = 3600
JOULES_OF_A_BTU = Fraction("1055.05585262")
"""Joules per BTU (International Table); NIST SP 811 (2008), appendix B.8."""

_THOUSAND = 10**3
_DECIMAL: dict[str, Exact] = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "E": 10**18,
    "Z": 10**21,
    "Y": 10**24,
}
_BINARY: dict[str, Exact] = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_COUNTS: dict[str, Exact] = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_DAYS_A_WEEK = 7
_HOUR = Fraction(1, HOURS_A_DAY)
_MINUTE = _HOUR / 60
_SECOND = _MINUTE / 60
_MONTH = Fraction(1, MONTHS_A_YEAR)
_PERCENT = Fraction(1, 100)
_TERA = Fraction(1, TERA)
_RATES: dict[str, Exact] = {"G": 1, "T": _THOUSAND, "M": Fraction(1, _THOUSAND)}


def _with(prefixes: Mapping[str, Exact], *units: str, bare: Exact | None = None) -> dict[str, Exact]:
    scales = {prefix + unit: scale for unit in units for prefix, scale in prefixes.items()}
    return scales if bare is None else scales | {"": bare}


class _Unit(NamedTuple):
    """A unit of quantities: what they are, a correct example, and the scale of each suffix that may follow a number."""

    kind: str
    example: str
    scales: dict[str, Exact]


_UNITS = {
    "count": _Unit("number", "2048 or 2K", _COUNTS),
    "requests": _Unit("number", "600", _COUNTS),
    "requests/min": _Unit("rate", "600 or 0.5", _COUNTS),
    "epochs": _Unit("number", "3 or 1.5", {"": 1}),
    "GPU-hours": _Unit("number", "50000 or 50K", _COUNTS | _with(_COUNTS, " GPU-hours", "GPUh", " GPUh")),
    "FLOP": _Unit("number of operations", "3.8e25 or 38 YFLOP", _DECIMAL | _with(_DECIMAL, "FLOP", " FLOP")),
    "tokens": _Unit("number of tokens", "1.4T or 1.4e12", _COUNTS | _with(_COUNTS, " tokens")),
    "parameters": _Unit("number of parameters", "65B or 65e9", _COUNTS | _with(_COUNTS, " parameters")),
    "tokens/s": _Unit("rate", "380", _COUNTS | _with(_COUNTS, "tokens/s", " tokens/s")),
    "days": _Unit(
        "duration",
        "20 days, 36 h or a bare number of days",
        {
            "": 1,
            **dict.fromkeys(("d", "day", "days"), 1),
            **dict.fromkeys(("w", "week", "weeks"), _DAYS_A_WEEK),
            **dict.fromkeys(("h", "hour", "hours"), _HOUR),
            **dict.fromkeys(("min", "minute", "minutes"), _MINUTE),
            **dict.fromkeys(("s", "second", "seconds"), _SECOND),
        },
    ),
    "s": _Unit(
        "duration",
        "1 s, 40 ms or a bare number of seconds",
        {"": 1, "s": 1, "second": 1, "seconds": 1, "ms": Fraction(1, _THOUSAND)},
    ),
    "years": _Unit(
        "duration",
        "4, 4 years or 18 months",
        {"": 1, **dict.fromkeys(("y", "year", "years"), 1), **dict.fromkeys(("month", "months"), _MONTH)},
    ),
    "share": _Unit("share", "50% or 0.5", {"": 1, "%": _PERCENT}),
    "ratio": _Unit("ratio", "2, 1.5 or 3:2", {"": 1}),
    "FLOP/s": _Unit("rate", "1000 PFLOPS", _DECIMAL | _with(_DECIMAL, "FLOPS", "FLOP/s")),
    "TFLOP/s": _Unit(
        "rate",
        "140 or 140 TFLOPS",
        _with({prefix: scale * _TERA for prefix, scale in _DECIMAL.items()}, "FLOPS", "FLOP/s", bare=1) | {"T": 1},
    ),
    "bytes": _Unit("size", "80 GB", _with({**_DECIMAL, **_BINARY}, "B", bare=1)),
    "bytes/s": _Unit("rate", "4 GB/s", _with({**_DECIMAL, **_BINARY}, "B/s", bare=1)),
    "Gb/s": _Unit(
        "rate",
        "400G or a bare number of Gb/s",
        _with(_RATES, "", "b/s", "bps", "bit/s", "Gb", bare=1),
    ),
    "W": _Unit("power", "10.2 kW", {"": 1, "W": 1, "kW": _THOUSAND, "MW": _THOUSAND**2}),
    "m": _Unit("length", "30 m", {"": 1, "m": 1, "km": _THOUSAND, "cm": _PERCENT}),
    "kg": _Unit("weight", "14.8 kg", {"": 1, "kg": 1}),
    "mm": _Unit("length", "600", {"": 1, "mm": 1}),
    "U": _Unit("height", "48", {"": 1, "U": 1}),
    "per kWh": _Unit("price", "0.08", {"": 1}),
    "kg/kWh": _Unit("carbon intensity", "0.385 or 385 g/kWh", {"": 1, "kg/kWh": 1, "g/kWh": Fraction(1, _THOUSAND)}),
}
_PAIR = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*:\s*([1-9][0-9]*)")
_QUANTITY = re.compile(r"([-+]?[0-9][0-9_ ]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9]+)\s*(.*)", re.DOTALL)


def parse(value: int | Fraction | str, unit: str) -> Exact:
    """Return the exact number of a human quantity in its base unit.

    `unit` is a key of `_UNITS`. Raises ValueError, with a correct example, when the text is not such a quantity.
    """
    if not isinstance(value, str):
        return value
    if unit == "ratio" and (pair := _PAIR.fullmatch(value.strip())):
        return _whole(Fraction(exact_number(pair.group(1))) / exact_number(pair.group(2)))
    match = _QUANTITY.fullmatch(value.strip())
    scales = _UNITS[unit].scales
    suffix = match.group(2).strip() if match else ""
    scale = scales.get(suffix) or scales.get(suffix.lower()) or scales.get(f" {suffix}")
    if match is None or scale is None:
        expected = _UNITS[unit]
        raise ValueError(f"{quote(value, MAX_QUOTED)} is not a valid {expected.kind}; write {expected.example}")
    number = Fraction(exact_number(match.group(1).replace(" ", "").replace("_", ""))) * scale
    return _whole(number)


def with_another_unit(value: int | Fraction | str, unit: str, least: Exact, most: Exact) -> str | None:
    """Return a quantity with a unit that puts it between `least` and `most` [`unit`]; None if no unit does."""
    match = _QUANTITY.fullmatch(str(value).strip()) if isinstance(value, str) else None
    number = Fraction(exact_number(match.group(1).replace(" ", "").replace("_", ""))) if match else Fraction(value)
    for suffix, scale in _UNITS[unit].scales.items():
        if suffix and least <= number * scale <= most:
            return f"{float(number):g} {suffix}"
    return None


def _whole(number: Fraction) -> Exact:
    return number.numerator if number.denominator == 1 else number


_PLACES = "places_"
_USUAL_PLACES = 2
"""Decimal places of amounts whose currency is named elsewhere, or is unknown."""
ANY_AMOUNT = Context(prec=1000)
"""A decimal context precise enough for the amounts of any plan, however absurd."""
MAX_PRICE = 10**12
"""Unit price from which on a price is treated as a typing error."""
HALF = Fraction(1, 2)
MONEY = "money"
"""The unit of figures in the currency of the quote."""


@cache
def minor_units() -> Mapping[str, int]:
    """Return the decimal places of every currency, by its code of ISO 4217."""
    listed = read_data("currencies.yaml")
    return {code: int(key.removeprefix(_PLACES)) for key in listed if key.startswith(_PLACES) for code in listed[key]}


class Tax(NamedTuple):
    """The tax at one rate: the net amount of the lines that have it, and the tax on that, rounded once."""

    share: Fraction
    net: Decimal
    tax: Decimal
    categories: tuple[str, ...] = ()
    """Categories of the plan with this rate; empty for the rate of all other lines, which comes first."""


class Totals(NamedTuple):
    """The totals of a bill. Unpriced lines are excluded, and `complete` tells whether there were none."""

    currency: str
    complete: bool
    list: Decimal
    discount: Decimal
    taxes: tuple[Tax, ...]
    """The tax at each rate; empty if the plan sets none."""
    amount: Decimal
    priced_lines: int
    lines: int
    low: Decimal | None = None
    """The total at the lowest prices, tax included, unpriced lines excluded; None if not calculated."""
    high: Decimal | None = None
    """The total at the highest prices; None if a line has neither a price nor a range."""

    @property
    def net(self) -> Decimal:
        """Return the sum after discount and before tax."""
        return self.list - self.discount

    @property
    def tax(self) -> Decimal:
        """Return the tax at all rates."""
        return sum((part.tax for part in self.taxes), Decimal(0) * minor_unit(self.currency))

    @property
    def taxed(self) -> bool:
        """Return whether a rate is more than 0."""
        return any(part.share for part in self.taxes)


NO_TOTALS = Totals("", True, Decimal(0), Decimal(0), (), Decimal(0), 0, 0)
"""The totals of a document without sums."""


def minor_unit(currency: str) -> Decimal:
    """Return the smallest amount of a currency."""
    return Decimal(1).scaleb(-minor_units().get(currency, _USUAL_PLACES))


def rounded(amount: Fraction, currency: str) -> Decimal:
    """Round an exact amount of 0 or more half up to the currency's minor unit.

    An exact vector (core/exact_vectors.py) is returned unrounded as a vector: its rows are as exact as decimals.
    """
    minor = floor(amount / Fraction(minor_unit(currency)) + HALF)
    return from_minor_units(minor, currency) if isinstance(minor, int) else minor * Fraction(minor_unit(currency))


def from_minor_units(count: int, currency: str) -> Decimal:
    """Return the amount of a number of minor units of a currency."""
    return ANY_AMOUNT.multiply(Decimal(count), minor_unit(currency))


def exact(amount: Decimal) -> Fraction:
    """Return an amount as an exact fraction, for multiplication; a column is exact already."""
    return Fraction(amount) if isinstance(amount, (Decimal, int)) else amount


def decimal(number: int | Fraction | str) -> Decimal:
    """Return a decimal number exactly. Raises ValueError for text with too many digits."""
    value = Fraction(exact_number(number) if isinstance(number, str) else number)
    return ANY_AMOUNT.divide(Decimal(value.numerator), Decimal(value.denominator))


# chinese amount -----------------------------------------------------------------------------------------------------
# Amounts of yuan in Chinese capitals, as contracts and invoices in China write them.
#
# The rules are those of the People's Bank of China for negotiable instruments (支付结算办法, 1997, annex 1).

CURRENCY = "CNY"
_DIGITS = "零壹贰叁肆伍陆柒捌玖"
_CHINESE_PLACES = ("", "拾", "佰", "仟")
_GROUPS = ("", "万", "亿", "万亿", "亿亿")
"""The names of the groups of four digits, from the right."""
_GROUP = 4
_CENT, _CENTS, _TENTH = Decimal("0.01"), 100, 10


def write_in_capitals(amount: Decimal) -> str:
    """Return an amount of yuan, 0 or more and below 10^20, in capitals: 1234.50 is 人民币壹仟贰佰叁拾肆元伍角."""
    yuan, cents = divmod(int(amount.quantize(_CENT, ROUND_HALF_UP) * _CENTS), _CENTS)
    tenths, hundredths = divmod(cents, _TENTH)
    whole = f"{_spell_whole(yuan)}元" if yuan else ""
    if not cents:
        return f"人民币{whole or '零元'}整"
    # A zero between yuan and cents is written, whether it belongs to the yuan or to the tenths.
    gap = "零" if yuan and (not tenths or not yuan % _TENTH) else ""
    part = f"{_DIGITS[tenths]}角" if tenths else ""
    part += f"{_DIGITS[hundredths]}分" if hundredths else ""
    return f"人民币{whole}{gap}{part}"


def _spell_whole(number: int) -> str:
    """Return a number of 1 or more in capitals: consecutive zeros are written once, trailing zeros not at all."""
    written, zero = "", False
    digits = str(number)
    for index, digit in enumerate(digits):
        power = len(digits) - 1 - index
        group, within = divmod(power, _GROUP)
        if digit == "0":
            zero = True
        else:
            written += ("零" if zero and written else "") + _DIGITS[int(digit)] + _CHINESE_PLACES[within]
            zero = False
        if not within and int(digits[max(0, index - _GROUP + 1) : index + 1]):
            # Zeros that end a group are not written before thousands, as the annex shows for 107 000.53.
            written += _GROUPS[group]
            zero = zero and digits[index + 1 : index + 2] == "0"
    return written

"""Amounts: minor units of currencies, rounding, and the totals of a bill. Money is decimal, and only money is."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from math import floor
from typing import NamedTuple

from bomgen.core.yaml_source import exact_number

_NO_PLACES = (
    "BIF",
    "CLP",
    "DJF",
    "GNF",
    "ISK",
    "JPY",
    "KMF",
    "KRW",
    "PYG",
    "RWF",
    "UGX",
    "VND",
    "VUV",
    "XAF",
    "XOF",
    "XPF",
)
_THREE_PLACES = ("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND")
MINOR_UNITS: Mapping[str, int] = {**dict.fromkeys(_NO_PLACES, 0), **dict.fromkeys(_THREE_PLACES, 3)}
"""Decimal places of the currencies that do not have two (ISO 4217)."""
_USUAL_PLACES = 2
ANY_AMOUNT = Context(prec=1000)
"""Digits enough for the amounts of any plan, however absurd."""
MAX_PRICE = 10**12
"""A price of one piece from which on it is taken for a typing error."""
HALF = Fraction(1, 2)
MONEY = "money"
"""The unit of figures in the currency of the quote."""


class Totals(NamedTuple):
    """The money of a bill. What has no price is left out, and `complete` says that something was."""

    currency: str
    complete: bool
    list: Decimal
    discount: Decimal
    tax_share: Fraction | None
    tax: Decimal
    amount: Decimal
    priced_lines: int
    lines: int
    low: Decimal | None = None
    """What it comes to at the lowest prices, tax included, lines without any left out; None: not worked out."""
    high: Decimal | None = None
    """At the highest; None: a line has neither a price nor a range."""


def minor_unit(currency: str) -> Decimal:
    """The smallest amount of a currency."""
    return Decimal(1).scaleb(-MINOR_UNITS.get(currency, _USUAL_PLACES))


def rounded(amount: Fraction, currency: str) -> Decimal:
    """An exact amount of 0 or more, rounded half up to the currency's minor unit."""
    unit = minor_unit(currency)
    minor = floor(amount / Fraction(unit) + HALF)
    return ANY_AMOUNT.multiply(Decimal(minor), unit)


def decimal(number: int | Fraction | str) -> Decimal:
    """A number that was written in decimal, exactly. Raises ValueError for text of more digits than are read."""
    value = Fraction(exact_number(number) if isinstance(number, str) else number)
    return ANY_AMOUNT.divide(Decimal(value.numerator), Decimal(value.denominator))

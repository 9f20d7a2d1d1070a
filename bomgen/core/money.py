"""Amounts: minor units of currencies, rounding, and the totals of a bill. Money is decimal, and only money is."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from math import floor
from typing import NamedTuple

from bomgen.core.resources import folder
from bomgen.core.yaml_source import exact_number, own

_PLACES = "places_"
_USUAL_PLACES = 2
"""Of amounts whose currency is named elsewhere, or is not known."""
ANY_AMOUNT = Context(prec=1000)
"""Digits enough for the amounts of any plan, however absurd."""
MAX_PRICE = 10**12
"""A price of one piece from which on it is taken for a typing error."""
HALF = Fraction(1, 2)
MONEY = "money"
"""The unit of figures in the currency of the quote."""


@cache
def minor_units() -> Mapping[str, int]:
    """The decimal places of every currency, by its code of ISO 4217."""
    path = folder("data") / "currencies.yaml"
    listed = own(path, path.name).data
    return {code: int(key.removeprefix(_PLACES)) for key in listed if key.startswith(_PLACES) for code in listed[key]}


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
    return Decimal(1).scaleb(-minor_units().get(currency, _USUAL_PLACES))


def rounded(amount: Fraction, currency: str) -> Decimal:
    """Round an exact amount of 0 or more half up to the currency's minor unit.

    A column (core/columns.py) stays one: its rows are as exact as decimals.
    """
    minor = floor(amount / Fraction(minor_unit(currency)) + HALF)
    return from_minor_units(minor, currency) if isinstance(minor, int) else minor * Fraction(minor_unit(currency))


def from_minor_units(count: int, currency: str) -> Decimal:
    """Return the amount of so many minor units of a currency."""
    return ANY_AMOUNT.multiply(Decimal(count), minor_unit(currency))


def exact(amount: Decimal) -> Fraction:
    """Return an amount as a fraction, for multiplying by others; a column is exact already."""
    return Fraction(amount) if isinstance(amount, (Decimal, int)) else amount


def decimal(number: int | Fraction | str) -> Decimal:
    """A number that was written in decimal, exactly. Raises ValueError for text of more digits than are read."""
    value = Fraction(exact_number(number) if isinstance(number, str) else number)
    return ANY_AMOUNT.divide(Decimal(value.numerator), Decimal(value.denominator))

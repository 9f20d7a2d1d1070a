"""Money: minor units of currencies, rounding, and the totals of a bill. Only money is decimal."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import cache
from math import floor
from typing import NamedTuple

from bomgen.core.resources import folder
from bomgen.core.yaml_source import exact_number, own

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
    path = folder("data") / "currencies.yaml"
    listed = own(path, path.name).data
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
    whole = f"{_whole(yuan)}元" if yuan else ""
    if not cents:
        return f"人民币{whole or '零元'}整"
    # A zero between yuan and cents is written, whether it belongs to the yuan or to the tenths.
    gap = "零" if yuan and (not tenths or not yuan % _TENTH) else ""
    part = f"{_DIGITS[tenths]}角" if tenths else ""
    part += f"{_DIGITS[hundredths]}分" if hundredths else ""
    return f"人民币{whole}{gap}{part}"


def _whole(number: int) -> str:
    """Return a number of 1 or more in capitals: consecutive zeros are written once, trailing zeros not at all."""
    written, zero = "", False
    digits = str(number)
    for index, digit in enumerate(digits):
        place = len(digits) - 1 - index
        group, within = divmod(place, _GROUP)
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

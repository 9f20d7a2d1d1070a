"""Prices including tax, as quotes in China show them: unit price and amount of each line, which add up to the total.

Tax is calculated on sums, so that lines rounded one by one may differ from the total by some minor units. The line with
the largest amount takes the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from bomgen.core.document import Column
from bomgen.core.language import Language
from bomgen.core.units import Totals, rounded
from bomgen.documents.customer_quote.record import QuotedLine
from bomgen.reading.quote_workbook import INCLUSIVE_AMOUNT, INCLUSIVE_PRICE


def inclusive_columns(language: Language) -> tuple[Column, Column]:
    """Return the columns of unit prices and amounts including tax."""
    return (
        Column(INCLUSIVE_PRICE, language.word("column-inclusive-price"), "money", 13),
        Column(INCLUSIVE_AMOUNT, language.word("column-inclusive-amount"), "money", 15, main=True),
    )


def including_tax(lines: Sequence[QuotedLine], totals: Totals) -> list[QuotedLine]:
    """Return lines whose unit price, before discount, and amount include tax."""
    amounts = [None if line.amount is None else _with_tax(line.amount, line, totals) for line in lines]
    known = [amount for amount in amounts if amount is not None]
    if known:
        at = amounts.index(max(known))
        amounts[at] = max(known) + totals.amount - sum(known, Decimal(0))
    prices = (None if line.unit_price is None else _with_tax(line.unit_price, line, totals) for line in lines)
    return [
        line._replace(unit_price=price, amount=amount)
        for line, price, amount in zip(lines, prices, amounts, strict=True)
    ]


def _with_tax(amount: Decimal, line: QuotedLine, totals: Totals) -> Decimal:
    rate = next((part.share for part in totals.taxes if line.category in part.categories), totals.taxes[0].share)
    return rounded(Fraction(amount) * (1 + rate), totals.currency)

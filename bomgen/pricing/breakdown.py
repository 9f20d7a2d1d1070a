"""The money of a bill by category: what each costs after discounts, before tax, and how much of it is known."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.pricing.quote import QuoteLine, lines_to_price


class Part(NamedTuple):
    """The lines of one category; `amount` is None where none of them has a price."""

    category: str
    amount: Decimal | None
    share: Fraction
    """Of the amounts of all categories."""
    lines: int
    priced_lines: int
    least: bool = False
    """Whether a line is a share of hardware that has no price in part."""

    @property
    def complete(self) -> bool:
        """Whether every line has a price that is no lower bound; else the amount is one."""
        return self.priced_lines == self.lines and not self.least


def category_amounts(lines: Sequence[QuoteLine]) -> tuple[Part, ...]:
    """The categories of a bill, the dearest first, those without any price last; empty where nothing has a price."""
    of: dict[str, list[QuoteLine]] = {}
    for line in lines:
        of.setdefault(line.line.category, []).append(line)
    of = {category: lines_to_price(those) for category, those in of.items()}
    amounts = {category: [line.amount for line in those if line.amount is not None] for category, those in of.items()}
    whole = sum((Fraction(amount) for those in amounts.values() for amount in those), Fraction(0))
    if not any(amounts.values()):
        return ()
    parts = (
        Part(
            category,
            sum(priced, Decimal(0)) if (priced := amounts[category]) else None,
            sum(map(Fraction, priced), Fraction(0)) / whole if whole else Fraction(0),
            len(those),
            len(priced),
            any(line.least for line in those),
        )
        for category, those in of.items()
    )
    return tuple(sorted(parts, key=lambda part: (part.amount is None, -part.share)))

"""Thresholds of a comparison: how much more a bill may cost before somebody has to look at it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.report.diff.difference import Difference
from bomgen.report.diff.words import money_text, share_text

_LIMIT = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,10})?)\s*(%?)")
_HUNDRED = 100


class Limit(NamedTuple):
    """What the total may grow by: a share of the old total, or an amount in the currency of the quote."""

    share: Fraction | None
    amount: Decimal | None


def limit(text: str) -> Limit | None:
    """A limit as a user writes it, such as `5%` or `100000`; None for anything else."""
    found = _LIMIT.fullmatch(text.strip())
    if found is None:
        return None
    number = Decimal(found[1])
    return Limit(Fraction(number) / _HUNDRED, None) if found[2] else Limit(None, number)


def passed(found: Difference, limits: list[Limit], on_change: bool) -> Iterator[str]:
    """Why each threshold that was passed counts as passed; one that cannot be judged does."""
    if on_change and found.changed:
        yield "something changed"
    for each in limits:
        if reason := _passed(found, each):
            yield reason


def _passed(found: Difference, most: Limit) -> str:
    old, new = found.old.totals, found.new.totals
    if found.money is None:
        return f"the increase cannot be judged: the totals are in {old.currency} and {new.currency}"
    if unknown := found.unpriced:
        ids = ", ".join(pair.item.id for pair in unknown[:2]) + (" and others" if len(unknown) > 2 else "")
        return f"the increase cannot be judged: there is more without a price ({ids})"
    return exceeds(found.money.old, found.money.new, new.currency, most)


def exceeds(old: Decimal, new: Decimal, currency: str, most: Limit) -> str:
    """Return how a total passes a limit, in words; empty where it does not."""
    change = new - old
    allowed = Fraction(old) * most.share if most.share is not None else Fraction(most.amount or 0)
    if Fraction(change) <= allowed:
        return ""
    share = share_text(Fraction(change), Fraction(old))
    more = f"{money_text(change, currency)} more" + (f" ({share})" if share else "")
    return f"{more} than before; at most {_limit_text(most, currency)} is allowed"


def _limit_text(most: Limit, currency: str) -> str:
    if most.share is not None:
        return f"{float(most.share * _HUNDRED):g} %"
    return money_text(most.amount or Decimal(0), currency)

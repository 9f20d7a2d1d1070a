"""The difference as data for programs, and the thresholds on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from bomgen import __version__
from bomgen.core.language import language
from bomgen.core.messages import ENGLISH
from bomgen.core.units import minor_unit
from bomgen.documents.diff.changes import describe_fabric
from bomgen.documents.diff.difference import Difference, line_change, split_line
from bomgen.documents.diff.expansion import Ordered
from bomgen.documents.diff.headline import headline
from bomgen.documents.diff.matching import Pair, described_cluster
from bomgen.documents.diff.side import BillTotals, ComparedResult, Item

FORMAT = 1
"""Version of this data format."""


def to_data(difference: Difference, passed: list[str]) -> dict[str, Any]:
    """Return the difference as plain data; `passed` gives the exceeded thresholds and the reasons."""
    words = language(ENGLISH)
    return {
        "bomgen_diff": FORMAT,
        "version": __version__,
        "old": _side(difference.old),
        "new": _side(difference.new),
        "changed": difference.changed,
        "headline": headline(difference, words),
        "plan": None if difference.keys is None else [change._asdict() for change in difference.keys],
        "numbers": [
            {name: getattr(number, name) for name in ("path", "group", "label", "unit", "old", "new")}
            | {"change": _number(number.change), "important": number.important}
            for number in difference.numbers
        ],
        "clusters": {
            "added": _described(described_cluster, difference.new, difference.added_clusters),
            "removed": _described(described_cluster, difference.old, difference.removed_clusters),
            "renamed": [{"old": old, "new": new} for old, new in difference.renamed_clusters.items()],
        },
        "fabrics": {
            "added": _described(partial(describe_fabric, language=words), difference.new, difference.added_fabrics),
            "removed": _described(partial(describe_fabric, language=words), difference.old, difference.removed_fabrics),
            "renamed": [{"old": old, "new": new} for old, new in difference.renamed_fabrics.items()],
        },
        "warnings": {
            "added": [warning._asdict() for warning in difference.added_warnings],
            "removed": [warning._asdict() for warning in difference.removed_warnings],
        },
        "lines": [_line(pair, difference.currency) for pair in difference.pairs],
        "unchanged_lines": difference.unchanged,
        "money": _money(difference),
        "exchange_rates": {
            name: {"old": _text(was), "new": _text(became)} for name, (was, became) in difference.rates.items()
        },
        "alternatives": [
            {"name": name, "old": _total(was), "new": _total(became)}
            for name, (was, became) in difference.alternatives.items()
        ],
        "expansion": _expansion(difference),
        "notes": list(difference.notes),
        "thresholds_passed": passed,
    }


def _described(
    describe: Callable[[ComparedResult, str], str], side: ComparedResult, names: Iterable[str]
) -> list[dict[str, str]]:
    return [{"name": name, "description": describe(side, name)} for name in names]


def _side(side: ComparedResult) -> dict[str, Any]:
    named = {key: getattr(side, key) for key in ("name", "kind", "plan", "version")}
    return {**named, "lines": len(side.items), "totals": _total(side.totals)}


def _total(money: BillTotals | None) -> dict[str, Any] | None:
    if money is None:
        return None
    amount = _amount(money.amount, money.currency)
    return {"amount": amount, "currency": money.currency, "complete": money.complete}


def _number(value: int | Fraction | None) -> int | float | None:
    return float(value) if isinstance(value, Fraction) else value


def _line(pair: Pair, currency: str | None) -> dict[str, Any]:
    item = pair.item
    change = line_change(pair, currency)
    parts = split_line(pair, currency) if currency and change is not None else {}
    return {
        "change": pair.change,
        "id": item.id,
        "old_id": pair.old.id if pair.old else None,
        "category": item.category,
        "cluster": item.cluster or None,
        **{key: getattr(item, key) for key in ("fabric", "role", "part", "sku", "description", "in_stock")},
        "replaces": pair.replaces,
        "replaced_by": pair.replaced_by,
        "old": _item(pair.old),
        "new": _item(pair.new),
        "pieces": pair.pieces,
        "amount": None if change is None or currency is None else _amount(change, currency),
        "parts": {name: _amount(amount, currency or "") for name, amount in parts.items() if amount},
    }


def _item(item: Item | None) -> dict[str, Any] | None:
    if item is None:
        return None
    keys = ("quantity", "spare", "unit_price", "discount", "amount", "original_price", "original_currency")
    values = {key: getattr(item, key) for key in (*keys, "exchange_rate")}
    return {key: _text(value) if isinstance(value, Decimal) else value for key, value in values.items()}


def _money(difference: Difference) -> dict[str, Any] | None:
    if difference.money is None:
        return None
    currency, old = difference.new.totals.currency, difference.money.old
    change = difference.money.change
    return {
        "currency": currency,
        "old": _amount(old, currency),
        "new": _amount(difference.money.new, currency),
        "change": _amount(change, currency),
        "share": float(Fraction(change) / Fraction(old)) if old else None,
        "parts": {name: _amount(amount, currency) for name, amount in difference.money.parts.items()},
    }


def _expansion(difference: Difference) -> dict[str, Any] | None:
    each = difference.expansion
    if each is None:
        return None
    currency = difference.new.totals.currency
    moves = None
    if difference.moves:
        cables = [
            row._asdict() | {"of_pair_old": list(row.of_pair_old), "of_pair_new": list(row.of_pair_new)}
            for row in difference.moves.cables
        ]
        moves = {"cables": cables, "elsewhere": dict(difference.moves.elsewhere)}
    return {
        "order": [_ordered(row, currency) for row in each.order],
        "free": [_ordered(row, currency) for row in each.free],
        "amount": _amount(each.amount, currency),
        "unpriced": each.unpriced,
        "charges": _amount(each.charges, currency) if difference.money else None,
        "tax": _amount(each.tax, currency) if difference.money else None,
        "moves": moves,
        "moves_unknown": difference.moves_unknown or None,
    }


def _ordered(row: Ordered, currency: str) -> dict[str, Any]:
    amount = None if row.amount is None else _amount(row.amount, currency)
    return row._asdict() | {"amount": amount, "lines": list(row.lines)}


def _amount(amount: Decimal, currency: str) -> str:
    places = -int(minor_unit(currency).as_tuple().exponent)
    exponent = amount.as_tuple().exponent
    return f"{amount:.{places}f}" if isinstance(exponent, int) and -exponent < places else f"{amount:f}"


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"


# threshold ----------------------------------------------------------------------------------------------------------
# Thresholds of a comparison: the increase of a total that requires a review.

_LIMIT = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,10})?)\s*(%?)")
_HUNDRED = 100


class Limit(NamedTuple):
    """Maximum increase of the total: a share of the old total, or an amount in the currency of the quote."""

    share: Fraction | None
    amount: Decimal | None


def limit(text: str) -> Limit | None:
    """Return a limit from text such as `5%` or `100000`; None for other text."""
    found = _LIMIT.fullmatch(text.strip())
    if found is None:
        return None
    number = Decimal(found[1])
    return Limit(Fraction(number) / _HUNDRED, None) if found[2] else Limit(None, number)


def passed(difference: Difference, limits: list[Limit], on_change: bool) -> Iterator[str]:
    """Yield a reason for each exceeded threshold; one that cannot be evaluated counts as exceeded."""
    if on_change and difference.changed:
        yield "something changed"
    for each in limits:
        if reason := _passed(difference, each):
            yield reason


def _passed(difference: Difference, most: Limit) -> str:
    old, new = difference.old.totals, difference.new.totals
    if difference.money is None:
        return f"the increase cannot be judged: the totals are in {old.currency} and {new.currency}"
    if unknown := difference.unpriced:
        ids = ", ".join(pair.item.id for pair in unknown[:2]) + (" and others" if len(unknown) > 2 else "")
        return f"the increase cannot be judged: there is more without a price ({ids})"
    return exceeds(difference.money.old, difference.money.new, new.currency, most)


def exceeds(old: Decimal, new: Decimal, currency: str, most: Limit) -> str:
    """Return a text that says how a total exceeds a limit; empty if it does not."""
    change = new - old
    allowed = Fraction(old) * most.share if most.share is not None else Fraction(most.amount or 0)
    if Fraction(change) <= allowed:
        return ""
    words = language(ENGLISH)
    share = words.relative(Fraction(change), Fraction(old))
    more = f"{words.money(change, currency)} more" + (f" ({share})" if share else "")
    return f"{more} than before; at most {_limit_text(most, currency)} is allowed"


def _limit_text(most: Limit, currency: str) -> str:
    if most.share is not None:
        return f"{float(most.share * _HUNDRED):g} %"
    return language(ENGLISH).money(most.amount or Decimal(0), currency)

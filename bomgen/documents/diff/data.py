"""The difference on one line, as data for programs, and the thresholds on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen import __version__
from bomgen.core.language import Language, language
from bomgen.core.messages import ENGLISH, message
from bomgen.core.units import minor_unit
from bomgen.documents.comparison import ComparedRow
from bomgen.documents.diff.difference import Difference, line_change, split_line
from bomgen.documents.diff.matching import ONLY, Pair, cluster_of, describe_fabric, described_cluster
from bomgen.documents.diff.side import BillTotals, Item

FORMAT = 1
"""Version of this data format."""
ARROW = "->"
TIERS = ("leaf", "spine", "core")


def headline(difference: Difference, language: Language) -> str:
    """Return the summary of a difference on one line."""
    word = language.word
    if not difference.changed:
        return word("diff-same")
    if not difference.result_changed:
        return word("diff-same-result")
    changes = [*_design_changes(difference, language), *_change_of_total(difference, language)]
    if unknown := len(difference.unpriced):
        changes.append(language.message(message("diff-need-price", count=unknown)))
    return word("list-comma").join(changes)


def _change_of_total(difference: Difference, language: Language) -> Iterator[str]:
    totals = difference.new.totals
    if difference.unpriced_side:
        yield language.word("diff-no-prices", name=difference.unpriced_side.name)
    elif difference.money and difference.money.change:
        change = difference.money.change
        share = language.relative(Fraction(change), Fraction(difference.money.old))
        sign = "+" if change > 0 else "-"
        yield f"{sign}{totals.currency} {language.amount(abs(change), totals.currency)}" + (share and f" ({share})")
    elif difference.money is None:
        yield f" {ARROW} ".join(
            language.money(side.totals.amount, side.totals.currency) for side in (difference.old, difference.new)
        )
    elif totals.amount:
        yield language.word("diff-same-total")


def _design_changes(difference: Difference, language: Language) -> Iterator[str]:
    word, old, new = language.word, difference.old, difference.new
    changed = {row.key: row for row in difference.rows}
    yield from (word("diff-new-cluster", name=name) for name in difference.added_clusters)
    yield from (word("diff-cluster-gone", name=name) for name in difference.removed_clusters)
    clusters = [new.prefix(name) for name in new.clusters or (ONLY,)]
    for row in (changed.get(f"{prefix}cluster.{key}") for prefix in clusters for key in ("gpu", "server")):
        if row:
            yield _from_to(row, "", language)
    for unit in ("GPUs", "servers"):
        if (row := changed.get(f"cluster.{unit.lower()}")) and (more := row.differences[0]):
            yield f"{'+' if more > 0 else '-'}{language.value(abs(int(more)), unit)}"
    for tier in TIERS:
        before, after = (
            sum(count for count in counts if type(count) is int)
            for counts in (
                [side.numbers.get(f"{side.fabric_path(name)}.switches.{tier}") for name in side.fabrics]
                for side in (old, new)
            )
        )
        if more := after - before:
            yield f"{'+' if more > 0 else '-'}{language.integer(abs(more))} {language.value(tier, 'word')}"
    for name in difference.added_fabrics:
        if cluster_of(name) not in difference.added_clusters:
            yield word("diff-new-fabric", name=name)
    for name in difference.removed_fabrics:
        if cluster_of(name) not in difference.removed_clusters:
            yield word("diff-fabric-gone", name=name)
    for name in new.fabrics:
        if row := changed.get(f"{new.fabric_path(name)}.topology"):
            yield f"{name} {_from_to(row, '', language)}"
    for row in filter(None, (changed.get(f"{prefix}workload.days") for prefix in clusters)):
        yield _from_to(row, "days", language)


def _from_to(row: ComparedRow, unit: str, language: Language) -> str:
    old, new = (
        language.word("diff-none") if cell.value is None else language.value(cell.value, shown)
        for cell, shown in zip(row.cells, ("", unit), strict=True)
    )
    return f"{old} {ARROW} {new}"


# data ---------------------------------------------------------------------------------------------------------------


def to_data(difference: Difference, passed: list[str]) -> dict[str, Any]:
    """Return the difference as plain data; `passed` gives the exceeded thresholds and the reasons."""
    words = language(ENGLISH)
    changes = dict(zip(("added", "removed"), difference.on_one_side, strict=True))
    return {
        "bomgen_diff": FORMAT,
        "version": __version__,
        **{
            key: {name: getattr(side, name) for name in ("name", "kind", "plan", "version")}
            | {"lines": len(side.items), "totals": _total(side.totals)}
            for key, side in zip(("old", "new"), difference.sides, strict=True)
        },
        "changed": difference.changed,
        "headline": headline(difference, words),
        "plan": None if difference.keys is None else [change._asdict() for change in difference.keys],
        "numbers": [
            {
                "path": row.key,
                "group": row.group,
                "label": row.label,
                "unit": row.unit,
                "old": row.cells[0].value,
                "new": row.cells[1].value,
                "change": float(change) if isinstance(change := row.differences[0], Fraction) else change,
                "important": row.rank is not None,
            }
            for row in difference.rows
        ],
        "clusters": {
            key: [{"name": name, "description": described_cluster(side, name)} for name in clusters]
            for key, (side, clusters, _) in changes.items()
        }
        | {"renamed": [{"old": was, "new": now} for was, now in difference.renamed_clusters.items()]},
        "fabrics": {
            key: [{"name": name, "description": describe_fabric(side, name, words)} for name in fabrics]
            for key, (side, _, fabrics) in changes.items()
        }
        | {"renamed": [{"old": was, "new": now} for was, now in difference.names.renamed.items()]},
        "warnings": {
            "added": [warning._asdict() for warning in difference.added_warnings],
            "removed": [warning._asdict() for warning in difference.removed_warnings],
        },
        "lines": [_line(pair, difference.currency) for pair in difference.pairs],
        "unchanged_lines": difference.unchanged,
        "money": _money(difference),
        "exchange_rates": {
            name: {"old": f"{was:f}", "new": f"{became:f}"} for name, (was, became) in difference.rates.items()
        },
        "alternatives": [
            {"name": name, "old": _total(was), "new": _total(became)}
            for name, (was, became) in difference.alternatives.items()
        ],
        "expansion": _expansion(difference),
        "notes": list(difference.notes),
        "thresholds_passed": passed,
    }


def _total(money: BillTotals | None) -> dict[str, Any] | None:
    return money and {
        "amount": _amount(money.amount, money.currency),
        "currency": money.currency,
        "complete": money.complete,
    }


def _line(pair: Pair, currency: str | None) -> dict[str, Any]:
    item, change = pair.item, line_change(pair, currency)
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
        "amount": _amount(change, currency),
        "parts": {name: _amount(amount, currency) for name, amount in parts.items() if amount},
    }


def _item(item: Item | None) -> dict[str, Any] | None:
    keys = ("quantity", "spare", "unit_price", "discount", "amount", "original_price", "original_currency")
    values = ((key, getattr(item, key)) for key in (*keys, "exchange_rate"))
    return item and {key: f"{value:f}" if isinstance(value, Decimal) else value for key, value in values}


def _money(difference: Difference) -> dict[str, Any] | None:
    money, currency = difference.money, difference.currency
    return money and {
        "currency": currency,
        "old": _amount(money.old, currency),
        "new": _amount(money.new, currency),
        "change": _amount(money.change, currency),
        "share": float(Fraction(money.change) / Fraction(money.old)) if money.old else None,
        "parts": {name: _amount(amount, currency) for name, amount in money.parts.items()},
    }


def _expansion(difference: Difference) -> dict[str, Any] | None:
    expansion, currency, moves = difference.expansion, difference.new.totals.currency, difference.moves
    return expansion and {
        **{
            key: [row._asdict() | {"amount": _amount(row.amount, currency), "lines": list(row.lines)} for row in rows]
            for key, rows in (("order", expansion.order), ("free", expansion.free))
        },
        "amount": _amount(expansion.amount, currency),
        "unpriced": expansion.unpriced,
        "charges": _amount(expansion.charges, difference.currency),
        "tax": _amount(expansion.tax, difference.currency),
        "moves": moves
        and {
            "cables": [
                cable._asdict() | {"of_pair_old": list(cable.of_pair_old), "of_pair_new": list(cable.of_pair_new)}
                for cable in moves.cables
            ],
            "elsewhere": dict(moves.elsewhere),
        },
        "moves_unknown": difference.moves_unknown or None,
    }


def _amount(amount: Decimal | None, currency: str | None) -> str | None:
    """Return an amount with at least the decimal places of its currency; None if either is unknown."""
    if amount is None or currency is None:
        return None
    places = -int(minor_unit(currency).as_tuple().exponent)
    exponent = amount.as_tuple().exponent
    return f"{amount:.{places}f}" if isinstance(exponent, int) and -exponent < places else f"{amount:f}"


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
    written = _LIMIT.fullmatch(text.strip())
    if written is None:
        return None
    number = Decimal(written[1])
    return Limit(Fraction(number) / _HUNDRED, None) if written[2] else Limit(None, number)


def passed(difference: Difference, limits: list[Limit], on_change: bool) -> Iterator[str]:
    """Yield a reason for each exceeded threshold; one that cannot be evaluated counts as exceeded."""
    if on_change and difference.changed:
        yield "something changed"
    old, new = difference.old.totals, difference.new.totals
    for most in limits:
        if difference.money is None:
            yield f"the increase cannot be judged: the totals are in {old.currency} and {new.currency}"
        elif unknown := difference.unpriced:
            ids = ", ".join(pair.item.id for pair in unknown[:2]) + (" and others" if len(unknown) > 2 else "")
            yield f"the increase cannot be judged: there is more without a price ({ids})"
        elif reason := exceeds(difference.money.old, difference.money.new, new.currency, most):
            yield reason


def exceeds(old: Decimal, new: Decimal, currency: str, most: Limit) -> str:
    """Return a text that says how a total exceeds a limit; empty if it does not."""
    change, words = new - old, language(ENGLISH)
    if most.share is None:
        allowed, bound = Fraction(most.amount or 0), words.money(most.amount or Decimal(0), currency)
    else:
        allowed, bound = Fraction(old) * most.share, f"{float(most.share * _HUNDRED):g} %"
    if Fraction(change) <= allowed:
        return ""
    share = words.relative(Fraction(change), Fraction(old))
    more = f"{words.money(change, currency)} more" + (f" ({share})" if share else "")
    return f"{more} than before; at most {bound} is allowed"

"""The summary of a difference on one line."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from bomgen.core.language import Language
from bomgen.core.messages import message
from bomgen.documents.diff.changes import ChangedNumber, fabric_path
from bomgen.documents.diff.difference import Difference
from bomgen.documents.diff.matching import ONLY, cluster_of, cluster_prefix
from bomgen.documents.diff.side import ComparedResult

ARROW = "->"
TIERS = ("leaf", "spine", "core")


def headline(difference: Difference, language: Language) -> str:
    """Return the summary of a difference on one line."""
    word = language.word
    if not difference.changed:
        return word("diff-same")
    if not difference.result_changed:
        return word("diff-same-result")
    said = [*_design_changes(difference, language), *_money(difference, language)]
    if unknown := len(difference.unpriced):
        said.append(language.message(message("diff-need-price", count=unknown)))
    return word("list-comma").join(said)


def _money(difference: Difference, language: Language) -> Iterator[str]:
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
    word = language.word
    numbers = {number.path: number for number in difference.numbers}
    yield from (word("diff-new-cluster", name=name) for name in difference.added_clusters)
    yield from (word("diff-cluster-gone", name=name) for name in difference.removed_clusters)
    clusters = [cluster_prefix(difference.new, name) for name in difference.new.clusters or (ONLY,)]
    for each in (numbers.get(f"{before}cluster.{key}") for before in clusters for key in ("gpu", "server")):
        if each:
            yield _change(each, "", language)
    for unit in ("GPUs", "servers"):
        if (each := numbers.get(f"cluster.{unit.lower()}")) and each.change:
            yield _more(int(each.change), language.value(abs(int(each.change)), unit))
    for tier in TIERS:
        if change := _switches_added(difference, tier):
            yield _more(change, f"{language.integer(abs(change))} {language.value(tier, 'word')}")
    for name in difference.added_fabrics:
        if cluster_of(name) not in difference.added_clusters:
            yield word("diff-new-fabric", name=name)
    for name in difference.removed_fabrics:
        if cluster_of(name) not in difference.removed_clusters:
            yield word("diff-fabric-gone", name=name)
    for name in difference.new.fabrics:
        if each := numbers.get(f"{fabric_path(difference.new, name)}.topology"):
            yield f"{name} {_change(each, '', language)}"
    for each in filter(None, (numbers.get(f"{before}workload.days") for before in clusters)):
        yield _change(each, "days", language)


def _change(number: ChangedNumber, unit: str, language: Language) -> str:
    was, became = (
        language.word("diff-none") if value is None else language.value(value, of)
        for value, of in ((number.old, ""), (number.new, unit))
    )
    return f"{was} {ARROW} {became}"


def _more(change: int, text: str) -> str:
    return f"{'+' if change > 0 else '-'}{text}"


def _switches_added(difference: Difference, tier: str) -> int:
    def total(side: ComparedResult) -> int:
        counts = (side.numbers.get(f"{fabric_path(side, name)}.switches.{tier}") for name in side.fabrics)
        return sum(count for count in counts if type(count) is int)

    return total(difference.new) - total(difference.old)

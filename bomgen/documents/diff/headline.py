"""The whole of a comparison on one line: what a reader asks first."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from bomgen.core.language import Language
from bomgen.core.messages import message
from bomgen.documents.diff.changes import Changed, fabric_path
from bomgen.documents.diff.difference import Difference
from bomgen.documents.diff.matching import ONLY, cluster_of, cluster_prefix
from bomgen.documents.diff.side import Side

ARROW = "->"
TIERS = ("leaf", "spine", "core")


def headline(found: Difference, language: Language) -> str:
    """Return the whole comparison on one line."""
    word = language.word
    if not found.changed:
        return word("diff-same")
    if not found.result_changed:
        return word("diff-same-result")
    said = [*_design_changes(found, language), *_money(found, language)]
    if unknown := len(found.unpriced):
        said.append(language.message(message("diff-need-price", count=unknown)))
    return word("list-comma").join(said)


def _money(found: Difference, language: Language) -> Iterator[str]:
    totals = found.new.totals
    if found.unpriced_side:
        yield language.word("diff-no-prices", name=found.unpriced_side.name)
    elif found.money and found.money.change:
        change = found.money.change
        share = language.relative(Fraction(change), Fraction(found.money.old))
        sign = "+" if change > 0 else "-"
        yield f"{sign}{totals.currency} {language.amount(abs(change), totals.currency)}" + (share and f" ({share})")
    elif found.money is None:
        yield f" {ARROW} ".join(
            language.money(side.totals.amount, side.totals.currency) for side in (found.old, found.new)
        )
    elif totals.amount:
        yield language.word("diff-same-total")


def _design_changes(found: Difference, language: Language) -> Iterator[str]:
    """GPUs, servers, switches, days; clusters and fabrics that are new or gone."""
    word = language.word
    numbers = {each.path: each for each in found.numbers}
    yield from (word("diff-new-cluster", name=name) for name in found.added_clusters)
    yield from (word("diff-cluster-gone", name=name) for name in found.removed_clusters)
    clusters = [cluster_prefix(found.new, name) for name in found.new.clusters or (ONLY,)]
    for each in (numbers.get(f"{before}cluster.{key}") for before in clusters for key in ("gpu", "server")):
        if each:
            yield _change(each, "", language)
    for unit in ("GPUs", "servers"):
        if (each := numbers.get(f"cluster.{unit.lower()}")) and each.change:
            yield _more(int(each.change), language.value(abs(int(each.change)), unit))
    for tier in TIERS:
        if change := _switches_added(found, tier):
            yield _more(change, f"{language.integer(abs(change))} {language.value(tier, 'word')}")
    for name in found.added_fabrics:
        if cluster_of(name) not in found.added_clusters:
            yield word("diff-new-fabric", name=name)
    for name in found.removed_fabrics:
        if cluster_of(name) not in found.removed_clusters:
            yield word("diff-fabric-gone", name=name)
    for name in found.new.fabrics:
        if each := numbers.get(f"{fabric_path(found.new, name)}.topology"):
            yield f"{name} {_change(each, '', language)}"
    for each in filter(None, (numbers.get(f"{before}workload.days") for before in clusters)):
        yield _change(each, "days", language)


def _change(each: Changed, unit: str, language: Language) -> str:
    was, became = (
        language.word("diff-none") if value is None else language.value(value, of)
        for value, of in ((each.old, ""), (each.new, unit))
    )
    return f"{was} {ARROW} {became}"


def _more(change: int, text: str) -> str:
    return f"{'+' if change > 0 else '-'}{text}"


def _switches_added(found: Difference, tier: str) -> int:
    """How many more switches of a tier there are over all fabrics."""

    def total(side: Side) -> int:
        counts = (side.numbers.get(f"{fabric_path(side, name)}.switches.{tier}") for name in side.fabrics)
        return sum(count for count in counts if type(count) is int)

    return total(found.new) - total(found.old)

"""The front of a search by its definition over all designs, as a judge of the one found in columns."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from bomgen.plan.search_space import SearchSpace
from bomgen.results.designs import SearchedDesign
from bomgen.results.front import Excess, Front, FrontRow

MORE = ("requests",)
"""Measures of which more is better."""


def judge_front(space: SearchSpace, candidates: Sequence[SearchedDesign]) -> Front:
    """The front of designs, in exact numbers."""
    candidates = sorted(candidates, key=lambda each: each.place)
    built = [each for each in candidates if each.problem is None]
    known = {name for name in space.minimise if any(each.measures[name] is not None for each in built)}
    minimised = tuple(name for name in space.minimise if space.chosen or name in known)
    whole = [each for each in built if any(each.measures[name] is not None for name in minimised)]
    broken = {each.place: _excesses(each, space) for each in whole}
    fitting = [each for each in whole if not broken[each.place]]
    outside = [(each, broken[each.place]) for each in whole if broken[each.place]]
    better = [pair for pair in outside if pair[0].measures[minimised[0]] is not None]
    equal = Counter(_key(each, minimised) for each in fitting)
    ordered = sorted(better, key=lambda other: (_key(other[0], minimised[:1]), -_distance(other[1]), -other[0].place))
    firsts = [_key(other, minimised[:1]) for other, _ in ordered]
    rows = list[FrontRow]()
    before: tuple[Fraction, ...] = ()
    for each in pareto(fitting, minimised) if minimised else ():
        own = _key(each, minimised[:1])
        at = bisect_left(firsts, own) - 1
        beyond = ordered[at] if at >= 0 and firsts[at] > before else None
        rows.append(FrontRow(each, equal[_key(each, minimised)] - 1, beyond))
        before = own
    return Front(
        space,
        minimised,
        tuple(rows),
        None if rows or not outside else min(outside, key=lambda other: (_distance(other[1]), other[0].place)),
        len(candidates),
        tuple(Counter(each.problem.message for each in candidates if each.problem).most_common()),
        tuple((name, count) for name in minimised if (count := sum(each.measures[name] is None for each in built)) > 0),
        tuple(Counter(part for each in built for part in each.unpriced).most_common()),
        len(outside),
    )


def pareto(candidates: Iterable[SearchedDesign], names: Sequence[str]) -> list[SearchedDesign]:
    """The designs that no other one beats, the first of equal ones."""
    front = list[SearchedDesign]()
    keys = list[tuple[Fraction, ...]]()
    for each in sorted(candidates, key=lambda each: (_key(each, names), each.place)):
        key = _key(each, names)
        if not any(all(mine >= other for mine, other in zip(key, found, strict=True)) for found in keys):
            front.append(each)
            keys.append(key)
    return front


def _excesses(candidate: SearchedDesign, space: SearchSpace) -> tuple[Excess, ...]:
    found = list[Excess]()
    for bound in space.within:
        value = candidate.measures[bound.measure]
        exact = None if value is None else Fraction(value)
        if exact is None or (exact < bound.most if bound.measure in MORE else exact > bound.most):
            found.append(Excess(bound, exact))
    return tuple(found)


def _key(candidate: SearchedDesign, names: Sequence[str]) -> tuple[Fraction, ...]:
    """The measures, those that are unknown larger than any other."""
    measures = ((candidate.measures[name], -1 if name in MORE else 1) for name in names)
    return tuple(Fraction(10**30) if value is None else sign * Fraction(value) for value, sign in measures)


def _distance(broken: Sequence[Excess]) -> Fraction:
    return max(
        Fraction(1) if each.value is None or not each.bound.most else abs(each.value / each.bound.most - 1)
        for each in broken
    )

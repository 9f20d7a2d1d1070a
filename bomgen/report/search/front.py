"""The Pareto front of a search: the designs that no other one beats, and why cheaper ones are left out."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from bomgen.plan.search_space import Bound, SearchSpace
from bomgen.report.search.candidates import Candidate


class Excess(NamedTuple):
    """A bound that a design breaks."""

    bound: Bound
    value: Fraction | None
    """What the design comes to; None where nobody knows."""


class FrontRow(NamedTuple):
    """A design of the front."""

    candidate: Candidate
    equals: int
    """How many other designs come to the same in all that is minimised."""
    next_better: tuple[Candidate, tuple[Excess, ...]] | None
    """The design between this one and the one before it, in what is minimised first, that breaks a bound: of several
    the closest. None: there is none."""


class Front(NamedTuple):
    """What a search found."""

    space: SearchSpace
    minimised: tuple[str, ...]
    """What the designs are compared by: as asked, without what no design knows where nobody asked for it."""
    rows: tuple[FrontRow, ...]
    nearest: tuple[Candidate, tuple[Excess, ...]] | None
    """Where nothing keeps within the bounds, the design that breaks them least."""
    tried: int
    """Designs that were worked out, of those of the space: fewer where the search was interrupted."""
    refused: tuple[tuple[str, int], ...]
    """Why designs cannot be built, and how many of them: the most frequent reason first."""
    unknown: tuple[tuple[str, int], ...]
    """Designs that can be built and do not know something that is minimised, by its name."""
    unpriced: tuple[tuple[str, int], ...]
    """The parts without a price that leave designs without a cost, and how many designs."""
    beyond: int
    """Designs that can be built and break a bound."""


def find_front(space: SearchSpace, candidates: Sequence[Candidate]) -> Front:
    """The front of the designs that were worked out, in the order of what is minimised first.

    Of designs that come to the same the first of the space stands for all.
    """
    built = [each for each in candidates if each.problem is None]
    known = {name for name in space.minimise if any(each.measures[name] is not None for each in built)}
    minimised = tuple(name for name in space.minimise if space.chosen or name in known)
    whole = [each for each in built if all(each.measures[name] is not None for name in minimised)]
    broken = {each.place: excesses(each, space.within) for each in whole}
    fitting = [each for each in whole if not broken[each.place]]
    outside = [(each, broken[each.place]) for each in whole if broken[each.place]]
    equal = Counter(_key(each, minimised) for each in fitting)
    ordered = sorted(outside, key=lambda other: (_key(other[0], minimised[:1]), -_distance(other[1]), -other[0].place))
    firsts = [_key(other, minimised[:1]) for other, _ in ordered]
    rows = list[FrontRow]()
    before: tuple[Fraction, ...] = ()
    for each in pareto(fitting, minimised):
        own = _key(each, minimised[:1])
        at = bisect_left(firsts, own) - 1
        better = ordered[at] if at >= 0 and firsts[at] > before else None
        rows.append(FrontRow(each, equal[_key(each, minimised)] - 1, better))
        before = own
    return Front(
        space,
        minimised,
        tuple(rows),
        None if rows or not outside else min(outside, key=lambda other: (_distance(other[1]), other[0].place)),
        len(candidates),
        tuple(Counter(each.problem.message for each in candidates if each.problem).most_common()),
        tuple((name, count) for name in minimised if (count := sum(each.measures[name] is None for each in built))),
        tuple(Counter(part for each in built for part in each.unpriced).most_common()),
        len(outside),
    )


def pareto(candidates: Iterable[Candidate], names: Sequence[str]) -> list[Candidate]:
    """The designs that no other one beats: one that is at most as much in everything, and less in something.

    Sorted by all measures a design can be beaten by earlier ones alone, so that each is held against the front so far.
    """
    front = list[Candidate]()
    keys = list[tuple[Fraction, ...]]()
    for each in sorted(candidates, key=lambda each: (_key(each, names), each.place)):
        key = _key(each, names)
        if not any(all(mine >= other for mine, other in zip(key, found, strict=True)) for found in keys):
            front.append(each)
            keys.append(key)
    return front


def excesses(candidate: Candidate, within: Sequence[Bound]) -> tuple[Excess, ...]:
    """The bounds that a design breaks, or that nobody can say it keeps."""
    found = list[Excess]()
    for bound in within:
        value = candidate.measures[bound.measure]
        exact = None if value is None else Fraction(value)
        if exact is None or exact > bound.most:
            found.append(Excess(bound, exact))
    return tuple(found)


def _key(candidate: Candidate, names: Sequence[str]) -> tuple[Fraction, ...]:
    return tuple(Fraction(candidate.measures[name] or 0) for name in names)


def _distance(broken: Sequence[Excess]) -> Fraction:
    """How far a design is beyond its bounds: the largest excess as a share of its bound. Unknown counts as double."""
    return max(
        Fraction(1) if each.value is None or not each.bound.most else each.value / each.bound.most - 1
        for each in broken
    )

"""The Pareto front of a search: dominated designs are pruned, and the bounds that exclude better ones are named.

A space is evaluated in parts, whose fronts can be merged in any order: the front does not depend on the division into
parts. A second pass, once the front is known, finds designs that would be better but exceed a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.core.units import MONEY, minor_unit
from bomgen.documents.search.candidates import WHOLE, Columned, Columns, SearchedDesign, column_type, column_value
from bomgen.documents.search.pareto import Keys, Mask, Places, concatenate, drop_beaten, empty, likely_best, take
from bomgen.plan.search_space import MEASURES, MeasureLimit, SearchSpace

MAX_FRONT = 100_000
"""Maximum number of designs on a front; longer ones are not readable."""
NOWHERE = np.iinfo(np.int64).max
"""Index that stands for no design."""


class Excess(NamedTuple):
    """A bound that a design exceeds."""

    bound: MeasureLimit
    value: Fraction | None
    """The design's value; None if unknown."""


class FrontRow(NamedTuple):
    """A design of the front."""

    candidate: SearchedDesign
    equals: int
    """Number of other designs with equal minimised measures."""
    next_better: tuple[SearchedDesign, tuple[Excess, ...]] | None
    """The nearest design that exceeds a bound and lies, in the first minimised measure, between this one and the
    previous one. None if there is none, or before the second pass."""


class Front(NamedTuple):
    """The result of a search."""

    space: SearchSpace
    minimised: tuple[str, ...]
    """Compared measures: those requested, or the default ones that some design knows."""
    rows: tuple[FrontRow, ...]
    nearest: tuple[SearchedDesign, tuple[Excess, ...]] | None
    """If no design is within the bounds, the one that exceeds them least."""
    tried: int
    """Number of designs evaluated; less than the space if the search was interrupted."""
    refused: tuple[tuple[str, int], ...]
    """Reasons why designs cannot be built, with the number of designs, most frequent first."""
    unknown: tuple[tuple[str, int], ...]
    """Number of buildable designs with an unknown minimised measure, by its name."""
    unpriced: tuple[tuple[str, int], ...]
    """Unpriced parts that leave designs without a cost, with the number of designs."""
    beyond: int
    """Number of buildable designs that exceed a bound."""


class FrontTooLarge(Exception):
    """More Pareto-optimal designs than can be shown."""


class Seen(NamedTuple):
    """The number of designs with a property, and the index of the first."""

    designs: int
    first: int


class PartialFront(NamedTuple):
    """The Pareto front of a part of a space, and counts of its other designs."""

    compared: frozenset[str]
    """Minimised measures that some design of the part knows; all of them if the user chose them. Designs with an
    unknown one are on no front."""
    keys: Keys
    """A column per compared measure, in the order of the space; rows are sorted by the columns."""
    places: Places
    """Indices of the designs; the first of equal ones."""
    counts: Places
    """Number of equal designs per row."""
    nearest: tuple[float, int] | None
    """If the front is empty, the excess of the nearest design over its bounds, and its index."""
    beyond: int
    tried: int
    refused: Mapping[str, Seen]
    unknown: Mapping[str, int]
    unpriced: Mapping[str, Seen]


class NextBetter(NamedTuple):
    """For each row of a front, the design beyond a bound that is closest below it in the first minimised measure."""

    firsts: NDArray[Any]
    """Its value of that measure."""
    distances: NDArray[np.float64]
    """Its excess over the bounds."""
    places: Places
    """Its index, or NOWHERE."""


def empty_front(space: SearchSpace) -> PartialFront:
    """Return the front of no designs."""
    compared = frozenset(space.minimise if space.chosen else ())
    none = np.empty(0, np.int64)
    return PartialFront(compared, _no_keys(space, compared), none, none, None, 0, 0, {}, {}, {})


def extend_front(space: SearchSpace, front: PartialFront, columns: Columns) -> PartialFront:
    """Return the front of a part extended by further designs in columns. Raises FrontTooLarge."""
    built = columns.refused == 0
    known = {name: columns.known[name] & built for name in space.minimise}
    compared = frozenset(name for name in space.minimise if known[name].any()) | empty_front(space).compared
    front = _comparing(space, front, front.compared | compared)
    names = _names(space, front.compared)
    whole = np.logical_and.reduce([built, *(known[name] for name in names)])
    within = whole & ~_broken(space, columns, slice(None))
    rows = np.flatnonzero(within)
    keys = tuple(columns.measures[name][rows] for name in names)
    if not names:
        keys, rows = _no_keys(space, front.compared), rows[:0]
    likely = likely_best(keys, front.keys)
    keys, places, counts = drop_beaten(take(keys, likely), columns.start + rows[likely], np.ones(len(likely), np.int64))
    outside = np.flatnonzero(whole & ~within)
    partial_front = PartialFront(
        front.compared,
        keys,
        places,
        counts,
        None if len(places) or len(front.places) else _nearest(space, columns, outside),
        len(outside),
        len(built),
        _count_seen(columns.start, columns.refused, [(reason,) for reason in columns.reasons]),
        {name: missing for name in space.minimise if (missing := int(np.count_nonzero(built & ~known[name])))},
        _count_seen(columns.start, np.where(built, columns.unpriced, 0), columns.unpriced_parts),
    )
    return merge_fronts(space, front, partial_front)


def merge_fronts(space: SearchSpace, one: PartialFront, other: PartialFront) -> PartialFront:
    """Return the front of two parts of a space, in any order. Raises FrontTooLarge."""
    compared = one.compared | other.compared
    one, other = _comparing(space, one, compared), _comparing(space, other, compared)
    keys, places, counts = drop_beaten(
        concatenate(one.keys, other.keys),
        np.concatenate((one.places, other.places)),
        np.concatenate((one.counts, other.counts)),
    )
    if len(places) > MAX_FRONT:
        raise FrontTooLarge
    nearest = [each.nearest for each in (one, other) if each.nearest]
    return PartialFront(
        compared,
        keys,
        places,
        counts,
        min(nearest) if nearest and not len(places) else None,
        one.beyond + other.beyond,
        one.tried + other.tried,
        _add_seen(one.refused, other.refused),
        {name: one.unknown.get(name, 0) + other.unknown.get(name, 0) for name in {**one.unknown, **other.unknown}},
        _add_seen(one.unpriced, other.unpriced),
    )


def no_next_better(front: PartialFront) -> NextBetter:
    """Return the initial state of the second pass for the rows of a front."""
    firsts = front.keys[0]
    rows = len(firsts)
    return NextBetter(np.zeros(rows, firsts.dtype), np.full(rows, np.inf), np.full(rows, NOWHERE))


def look_for_better(space: SearchSpace, front: PartialFront, next_better: NextBetter, columns: Columns) -> NextBetter:
    """Return the results of the second pass, updated with the designs of further columns."""
    if not len(front.places):
        return next_better
    names = _names(space, front.compared)
    whole = np.logical_and.reduce([columns.refused == 0, *(columns.known[name] for name in names)])
    rows = np.flatnonzero(whole & _broken(space, columns, slice(None)))
    firsts = columns.measures[names[0]][rows]
    own = front.keys[0]
    gaps = np.searchsorted(own, firsts, side="left")
    inside = gaps < len(own)
    gaps[~inside] = 0
    inside &= own[gaps] != firsts
    inside &= (next_better.places[gaps] == NOWHERE) | (firsts >= next_better.firsts[gaps])
    rows, firsts, gaps = rows[inside], firsts[inside], gaps[inside]
    distances, places = _distances(space, columns, rows), columns.start + rows
    order = np.lexsort((places, distances, -firsts, gaps))
    best = order[np.unique(gaps[order], return_index=True)[1]]
    new = no_next_better(front)
    at = gaps[best]
    new.firsts[at], new.distances[at], new.places[at] = firsts[best], distances[best], places[best]
    return merge_next_better(next_better, new)


def merge_next_better(one: NextBetter, next_better: NextBetter) -> NextBetter:
    """Return the merged results of two parts of a space, in any order."""
    none, further = one.places == NOWHERE, next_better.places != NOWHERE
    equal = one.firsts == next_better.firsts
    closer = (next_better.distances < one.distances) | (
        (next_better.distances == one.distances) & (next_better.places < one.places)
    )
    better = further & (none | (next_better.firsts > one.firsts) | (equal & closer))
    return NextBetter(*(np.where(better, new, old) for new, old in zip(next_better, one, strict=True)))


def shown_designs(front: PartialFront, better: NextBetter) -> list[int]:
    """Return the indices of the designs that are shown."""
    nearest = [front.nearest[1]] if front.nearest else []
    return sorted({*front.places.tolist(), *better.places[better.places != NOWHERE].tolist(), *nearest})


def best_designs(front: PartialFront) -> set[int]:
    """Return the indices of the designs with the smallest value of each measure, or of the nearest design."""
    if not len(front.places):
        return {front.nearest[1]} if front.nearest else set()
    return {int(front.places[np.argmin(key)]) for key in front.keys}


def describe_front(
    space: SearchSpace, front: PartialFront, better: NextBetter, candidate: Callable[[int], SearchedDesign]
) -> Front:
    """Return the front of a space for display; `candidate` returns a design of `shown_designs` by index."""

    def beyond(place: int) -> tuple[SearchedDesign, tuple[Excess, ...]]:
        return (found := candidate(place)), excesses(found, space)

    names = _names(space, front.compared)
    return Front(
        space,
        names,
        tuple(
            FrontRow(candidate(place), count - 1, None if other == NOWHERE else beyond(other))
            for place, count, other in zip(
                front.places.tolist(), front.counts.tolist(), better.places.tolist(), strict=True
            )
        ),
        beyond(front.nearest[1]) if front.nearest else None,
        front.tried,
        _most_common(front.refused),
        tuple((name, front.unknown[name]) for name in names if name in front.unknown),
        _most_common(front.unpriced),
        front.beyond,
    )


def excesses(candidate: SearchedDesign, space: SearchSpace) -> tuple[Excess, ...]:
    """Return the bounds that a design exceeds, or whose measure is unknown."""
    found = list[Excess]()
    for bound in space.within:
        value = candidate.measures[bound.measure]
        most = _most(bound, space.currency)
        if value is None or column_value(bound.measure, value, space.currency) > most:
            found.append(Excess(bound, None if value is None else Fraction(value)))
    return tuple(found)


def _names(space: SearchSpace, compared: frozenset[str]) -> tuple[str, ...]:
    return tuple(name for name in space.minimise if name in compared)


def _no_keys(space: SearchSpace, compared: frozenset[str]) -> Keys:
    """Return empty columns for the compared measures, at least one column."""
    return empty([column_type(name) for name in _names(space, compared)] or [np.int64])


def _comparing(space: SearchSpace, front: PartialFront, compared: frozenset[str]) -> PartialFront:
    """Return a front with more compared measures; its designs, which lack the added ones, are removed."""
    if compared == front.compared:
        return front
    none = np.empty(0, np.int64)
    return front._replace(
        compared=compared, keys=_no_keys(space, compared), places=none, counts=none, nearest=None, beyond=0
    )


def _most(bound: MeasureLimit, currency: str) -> Columned:
    exact = _exact_most(bound, currency)
    return min(floor(exact), NOWHERE) if MEASURES[bound.measure] in WHOLE else float(exact)


def _exact_most(bound: MeasureLimit, currency: str) -> Fraction:
    """Return a bound in the unit of columns."""
    return bound.most / Fraction(minor_unit(currency)) if MEASURES[bound.measure] == MONEY else bound.most


def _broken(space: SearchSpace, columns: Columns, rows: NDArray[np.intp] | slice) -> Mask:
    """Return which rows exceed a bound, or have an unknown bounded measure."""
    broken = np.zeros(len(columns.refused[rows]), np.bool_)
    for bound in space.within:
        most = _most(bound, space.currency)
        broken |= ~columns.known[bound.measure][rows] | (columns.measures[bound.measure][rows] > most)
    return broken


def _distances(space: SearchSpace, columns: Columns, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return each design's largest excess as a share of the bound. An unknown measure counts as double the bound."""
    found = np.full(len(rows), -np.inf)
    for bound in space.within:
        values, known = columns.measures[bound.measure][rows], columns.known[bound.measure][rows]
        exact = float(_exact_most(bound, space.currency))
        share = values / exact - 1 if exact else np.ones(len(rows))
        share = np.where(known, np.where(values > _most(bound, space.currency), share, -np.inf), 1.0)
        found = np.maximum(found, share)
    return found


def _nearest(space: SearchSpace, columns: Columns, outside: NDArray[np.intp]) -> tuple[float, int] | None:
    if not len(outside):
        return None
    distances = _distances(space, columns, outside)
    at = int(np.argmin(distances))
    return float(distances[at]), columns.start + int(outside[at])


def _count_seen(start: int, numbers: NDArray[np.int32], meanings: Sequence[Sequence[str]]) -> dict[str, Seen]:
    """Return the count and first row of each text; `numbers` are 1 + the index of a row's text, or 0."""
    found = dict[str, Seen]()
    rows = np.flatnonzero(numbers)
    counts = np.bincount(numbers[rows])
    firsts = np.zeros(len(counts), np.int64)
    firsts[numbers[rows][::-1]] = start + rows[::-1]  # of equal numbers the last one written is kept
    for number in np.flatnonzero(counts).tolist():
        for text in meanings[number - 1]:
            _add(found, text, Seen(int(counts[number]), int(firsts[number])))
    return found


def _add_seen(one: Mapping[str, Seen], other: Mapping[str, Seen]) -> dict[str, Seen]:
    found = dict(one)
    for text, seen in other.items():
        _add(found, text, seen)
    return found


def _add(found: dict[str, Seen], text: str, seen: Seen) -> None:
    before = found.get(text)
    found[text] = Seen(before.designs + seen.designs, min(before.first, seen.first)) if before else seen


def _most_common(seen: Mapping[str, Seen]) -> tuple[tuple[str, int], ...]:
    """Return texts with counts, most frequent first; ties in the order of the first design."""
    ordered = sorted(seen.items(), key=lambda item: (-item[1].designs, item[1].first, item[0]))
    return tuple((text, each.designs) for text, each in ordered)

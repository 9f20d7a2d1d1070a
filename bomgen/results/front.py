"""The Pareto front of a search: dominated designs are pruned, and the bounds that exclude better ones are named.

A space is evaluated in parts, whose fronts can be merged in any order: the front does not depend on the division into
parts. A second pass, once the front is known, finds designs that would be better but exceed a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.core.units import MONEY, minor_unit
from bomgen.plan.search_space import LARGER_IS_BETTER, MEASURES, MeasureLimit, SearchSpace
from bomgen.results.designs import WHOLE, Columns, SearchedDesign, column_type, column_value

Keys = tuple[NDArray[Any], ...]
"""Columns of equal length, int64 or float64; at least one."""
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]

MAX_FRONT = 100_000
"""Maximum number of designs on a front; longer ones are not readable."""
BALANCE, MOST_RECOMMENDED = "balance", 3
"""The reason of a design that is close to the best in every measure, and how many designs are recommended."""
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
    """Minimised measures that some design of the part knows; all of them if the user chose them. An unknown one, such
    as the cost of a design with an unpriced part, is the worst; designs that know none are on no front."""
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
    whole = built & np.logical_or.reduce([*(known[name] for name in names), np.zeros(len(built), np.bool_)])
    distances = _distances(space, columns)
    rows = np.flatnonzero(whole & (distances == -np.inf))
    keys = tuple(_key_of(columns, name)[rows] for name in names)
    if not names:
        keys, rows = _no_keys(space, front.compared), rows[:0]
    likely = likely_best(keys, front.keys)
    keys, places, counts = drop_beaten(take(keys, likely), columns.start + rows[likely], np.ones(len(likely), np.int64))
    outside = np.flatnonzero(whole & (distances > -np.inf))
    nearest = None
    if len(outside) and not len(places) and not len(front.places):
        at = int(outside[np.argmin(distances[outside])])
        nearest = float(distances[at]), columns.start + at
    partial_front = PartialFront(
        front.compared,
        keys,
        places,
        counts,
        nearest,
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
        tuple(map(np.concatenate, zip(one.keys, other.keys, strict=True))),
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
        _sum_seen((*one.refused.items(), *other.refused.items())),
        {name: one.unknown.get(name, 0) + other.unknown.get(name, 0) for name in {**one.unknown, **other.unknown}},
        _sum_seen((*one.unpriced.items(), *other.unpriced.items())),
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
    distances = _distances(space, columns)
    rows = np.flatnonzero((columns.refused == 0) & columns.known[names[0]] & (distances > -np.inf))
    firsts = columns.measures[names[0]][rows]
    own = front.keys[0]
    gaps = np.searchsorted(own, firsts, side="left")
    inside = gaps < len(own)
    gaps[~inside] = 0
    inside &= own[gaps] != firsts
    inside &= (next_better.places[gaps] == NOWHERE) | (firsts >= next_better.firsts[gaps])
    rows, firsts, gaps = rows[inside], firsts[inside], gaps[inside]
    distances, places = distances[rows], columns.start + rows
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
    excess = list[Excess]()
    for bound in space.within:
        value = candidate.measures[bound.measure]
        if value is None or column_value(bound.measure, value, space.currency) > _most(bound, space.currency)[0]:
            excess.append(Excess(bound, None if value is None else Fraction(value)))
    return tuple(excess)


def recommend(front: Front) -> tuple[tuple[int, str], ...]:
    """Return the rows to look at first, each with its reason: the best in a measure, or `balance`.

    They are the best in the first measure, the one whose worst measure is the fewest times that of the best design, and
    the best in each other measure; each row once.
    """
    known = [
        {name: float(value) for name in front.minimised if (value := row.candidate.measures[name]) is not None}
        for row in front.rows
    ]
    best = dict[str, float]()
    for name in front.minimised:
        if values := [measures[name] for measures in known if name in measures]:
            best[name] = max(values) if name in LARGER_IS_BETTER else min(values)
    reasons = dict[int, str]()
    times = [
        [
            max(value / best[name], best[name] / value) if value and best[name] else 1.0
            for name, value in measures.items()
        ]
        for measures in known
    ]
    whole = [at for at, measures in enumerate(known) if len(measures) == len(best)]
    first, *others = [*best] or [BALANCE]
    for reason in (first, BALANCE, *others):
        if reason == BALANCE:
            found = min(whole, key=lambda at: max(times[at]), default=None) if len(best) > 1 else None
        else:
            found = next(at for at, measures in enumerate(known) if measures.get(reason) == best[reason])
        if found is not None:
            reasons.setdefault(found, reason)
    return tuple(reasons.items())[:MOST_RECOMMENDED]


def best_of_two(front: Front, first: str, second: str) -> tuple[int, ...]:
    """Return the rows of a front that no row beats in two of its measures; of equal ones the first."""
    designs = [row.candidate for row in front.rows]
    keys = tuple(
        np.array([column_value(name, design.measures[name], design.currency) for design in designs], column_type(name))
        for name in (first, second)
    )
    return tuple(drop_beaten(keys, np.arange(len(designs)), np.ones(len(designs), np.int64))[1].tolist())


def _names(space: SearchSpace, compared: frozenset[str]) -> tuple[str, ...]:
    return tuple(name for name in space.minimise if name in compared)


def _no_keys(space: SearchSpace, compared: frozenset[str]) -> Keys:
    """Return empty columns for the compared measures, at least one column."""
    types = [column_type(name) for name in _names(space, compared)] or [np.int64]
    return tuple(np.empty(0, column) for column in types)


def _comparing(space: SearchSpace, front: PartialFront, compared: frozenset[str]) -> PartialFront:
    """Return a front with more compared measures, which its designs do not know."""
    if compared == front.compared:
        return front
    columns = dict(zip(_names(space, front.compared), front.keys, strict=False))
    worst = {name: np.full(len(front.places), _worst(column_type(name))) for name in _names(space, compared)}
    return front._replace(compared=compared, keys=tuple((worst | columns).values()))


def _key_of(columns: Columns, name: str) -> NDArray[Any]:
    """Return a measure with its worst value where it is unknown."""
    values = columns.measures[name]
    return np.where(columns.known[name], values, _worst(values.dtype.type))


def _worst(column: type[Any]) -> float:
    return NOWHERE if column is np.int64 else np.inf


def _most(bound: MeasureLimit, currency: str) -> tuple[int | float, float]:
    """Return a bound in the unit of columns: as they store it, and as a float."""
    exact = bound.most / Fraction(minor_unit(currency)) if MEASURES[bound.measure] == MONEY else bound.most
    exact = -exact if bound.measure in LARGER_IS_BETTER else exact
    return min(floor(exact), NOWHERE) if MEASURES[bound.measure] in WHOLE else float(exact), float(exact)


def _distances(space: SearchSpace, columns: Columns) -> NDArray[np.float64]:
    """Return each design's largest excess as a share of the bound; -inf within all bounds.

    An unknown measure counts as double the bound.
    """
    largest = np.full(len(columns.refused), -np.inf)
    for bound in space.within:
        values, (most, exact) = columns.measures[bound.measure], _most(bound, space.currency)
        share = np.where(values > most, (values - exact) / abs(exact) if exact else 1.0, -np.inf)
        largest = np.maximum(largest, np.where(columns.known[bound.measure], share, 1.0))
    return largest


def _count_seen(start: int, numbers: NDArray[np.int32], meanings: Sequence[Sequence[str]]) -> dict[str, Seen]:
    """Return the count and first row of each text; `numbers` are 1 + the index of a row's text, or 0."""
    rows = np.flatnonzero(numbers)
    counts = np.bincount(numbers[rows])
    firsts = np.zeros(len(counts), np.int64)
    firsts[numbers[rows][::-1]] = start + rows[::-1]  # of equal numbers the last one written is kept
    present = np.flatnonzero(counts).tolist()
    return _sum_seen((text, Seen(int(counts[at]), int(firsts[at]))) for at in present for text in meanings[at - 1])


def _sum_seen(counted: Iterable[tuple[str, Seen]]) -> dict[str, Seen]:
    total = dict[str, Seen]()
    for text, seen in counted:
        before = total.get(text, Seen(0, seen.first))
        total[text] = Seen(before.designs + seen.designs, min(before.first, seen.first))
    return total


def _most_common(seen: Mapping[str, Seen]) -> tuple[tuple[str, int], ...]:
    """Return texts with counts, most frequent first; ties in the order of the first design."""
    ordered = sorted(seen.items(), key=lambda item: (-item[1].designs, item[1].first, item[0]))
    return tuple((text, each.designs) for text, each in ordered)


# rows ----------------------------------------------------------------------------------------------------------------
# The Pareto-optimal rows of columns: no other row is at most equal in every column and smaller in one.
#
# Of many rows most are dominated by a few strong ones; the remaining rows are divided by the first column, and the
# upper half is compared with the lower one in the other columns (Kung, Luccio and Preparata 1975, On finding the maxima
# of a set of vectors, J. ACM 22): n rows of d columns take some n log(n)^(d-2) steps, with a sweep in two dimensions.

FEW = 4096
"""Number of rows below which no strong rows are selected first."""
PAIRS = 2**14
"""Pairs of rows compared at once instead of divided further; they fit the cache of a core."""
PIVOTS = 8
"""Number of strong rows that every row is compared with."""
LEAST_GAIN = 0.8
"""Largest remaining share of rows for which another round with strong rows is worthwhile."""


def take(keys: Keys, rows: NDArray[Any] | slice) -> Keys:
    """Return selected rows."""
    return tuple(column[rows] for column in keys)


def drop_beaten(keys: Keys, places: Places, counts: Places) -> tuple[Keys, Places, Places]:
    """Return the Pareto-optimal rows, sorted by their columns; equal rows are merged.

    A merged row has the smallest index, and the sum of counts.
    """
    rows = _without_weak(keys)
    rows = rows[np.lexsort((places[rows], *take(keys, rows)[::-1]))]
    keys, places, counts = take(keys, rows), places[rows], counts[rows]
    new = np.arange(len(places)) == 0
    for column in keys:
        new[1:] |= column[1:] != column[:-1]
    firsts = np.flatnonzero(new)
    counts = np.add.reduceat(counts, firsts) if len(firsts) else counts
    best = _best_of_sorted(take(keys, firsts))
    return take(keys, firsts[best]), places[firsts[best]], counts[best]


def likely_best(keys: Keys, by: Keys) -> NDArray[np.intp]:
    """Return the rows not found to be dominated by rows of `by`, with few comparisons; exact up to two columns.

    No row of `by` dominates another, and they are sorted by their columns.
    """
    rows = np.arange(len(keys[0]))
    if not len(by[0]):
        return rows
    if len(keys) == 1:
        return np.flatnonzero(keys[0] <= by[0][0])
    if len(keys) == 2:
        at = np.searchsorted(by[0], keys[0], side="right") - 1
        first, second = by[0][at], by[1][at]
        return np.flatnonzero((at < 0) | (second > keys[1]) | ((second == keys[1]) & (first == keys[0])))
    for pivot in np.unique(np.linspace(0, len(by[0]) - 1, PIVOTS).astype(np.intp)):
        keys, rows = _drop(keys, rows, ~_beats(take(by, slice(pivot, pivot + 1)), keys))
    for column in range(len(keys)):
        # of the rows with an equal value here, the nearest ones are the smallest in the other column
        order = np.argsort(by[column], kind="stable")
        at = np.searchsorted(by[column][order], keys[column], side="right") - 1
        keys, rows = _drop(keys, rows, (at < 0) | ~_beats(take(by, order[at]), keys))
    return rows


def _drop(keys: Keys, rows: NDArray[np.intp], kept: Mask) -> tuple[Keys, NDArray[np.intp]]:
    return (keys, rows) if kept.all() else (take(keys, kept), rows[kept])


def _beats(these: Keys, those: Keys) -> Mask:
    """Return whether a row dominates another: at most equal in every column, smaller in one; shapes are broadcast."""
    at_most = these[0] <= those[0]
    less = these[0] < those[0]
    for one, other in zip(these[1:], those[1:], strict=True):
        at_most &= one <= other
        less |= one < other
    return at_most & less


def _without_weak(keys: Keys) -> NDArray[np.intp]:
    """Return the rows that the strongest rows do not dominate; all rows if there are few."""
    rows = np.arange(len(keys[0]))
    while len(rows) > FEW:
        before = len(rows)
        for column in range(-1, len(keys)):
            strong = int(np.argmin(sum(map(_shares, keys)) if column < 0 else keys[column]))
            keys, rows = _drop(keys, rows, ~_beats(take(keys, slice(strong, strong + 1)), keys))
        if len(rows) > before * LEAST_GAIN:
            break
    return rows


def _shares(column: NDArray[Any]) -> NDArray[np.float64]:
    """Return values as shares of the range of their column."""
    least, most = float(column.min()), float(column.max())
    return (column - least) / ((most - least) or 1.0)


def _best_of_sorted(keys: Keys) -> NDArray[np.intp]:
    """Return the Pareto-optimal rows of distinct rows sorted by their columns, where none dominates an earlier one."""
    count = len(keys[0])
    if len(keys) == 1:
        return np.arange(min(count, 1))
    if len(keys) == 2:
        least = np.minimum.accumulate(keys[1])
        return np.flatnonzero(np.concatenate((np.ones(min(count, 1), np.bool_), keys[1][1:] < least[:-1])))
    if count**2 <= PAIRS:
        at_most = _at_most(keys[1:], keys[1:])
        return np.flatnonzero(~(at_most & np.tri(count, k=-1, dtype=np.bool_)).any(axis=1))
    half = count // 2
    lower = _best_of_sorted(take(keys, slice(half)))
    upper = _best_of_sorted(take(keys, slice(half, None))) + half
    beaten = _reached(take(keys[1:], upper), take(keys[1:], lower))
    return np.concatenate((lower, upper[~beaten]))


def _reached(keys: Keys, by: Keys) -> Mask:
    """Return the rows for which a row of `by` is at most equal in every column."""
    reached = np.zeros(len(keys[0]), np.bool_)
    if not len(reached) or not len(by[0]):
        return reached
    if len(keys) == 1:
        return np.asarray(keys[0] >= by[0].min())
    if len(keys) == 2:
        order = np.argsort(by[0], kind="stable")
        at = np.searchsorted(by[0][order], keys[0], side="right") - 1
        return np.asarray((at >= 0) & (np.minimum.accumulate(by[1][order])[at] <= keys[1]))
    if len(reached) * len(by[0]) <= PAIRS:
        return np.asarray(_at_most(keys, by).any(axis=1))
    if by[0].max() <= keys[0].min():
        return _reached(keys[1:], by[1:])
    middle = np.partition(by[0], len(by[0]) // 2)[len(by[0]) // 2]
    if middle == by[0].max():
        middle = by[0][by[0] < middle].max(initial=by[0].min())
    low, by_low = keys[0] <= middle, by[0] <= middle
    if by_low.all():
        # rows equal in this column are decided by the other columns
        rows = np.flatnonzero(keys[0] >= middle)
        reached[rows] = _reached(take(keys[1:], rows), by[1:])
        return reached
    below, above = np.flatnonzero(low), np.flatnonzero(~low)
    reached[below] = _reached(take(keys, below), take(by, by_low))
    reached[above] = _reached(take(keys[1:], above), take(by[1:], by_low))
    above = above[~reached[above]]
    reached[above] = _reached(take(keys, above), take(by, ~by_low))
    return reached


def _at_most(keys: Keys, by: Keys) -> Mask:
    """Return for each row which rows of `by` are at most equal in every column."""
    at_most = by[0] <= keys[0][:, None]
    for column, other in zip(keys[1:], by[1:], strict=True):
        at_most &= other <= column[:, None]
    return np.asarray(at_most)

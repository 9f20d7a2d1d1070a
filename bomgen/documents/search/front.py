"""The Pareto front of a search: dominated designs are pruned, and what excludes cheaper ones is named.

A space is looked at in parts, whose fronts are merged in any order: the front of a space is the same however it is
divided. A second look at the space, once the front is known, finds what would be better and breaks a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.core.money import MONEY, minor_unit
from bomgen.documents.search.candidates import WHOLE, Columned, Columns, SearchedDesign, column_type, column_value
from bomgen.documents.search.pareto import Keys, Mask, Places, concatenate, drop_beaten, empty, likely_best, take
from bomgen.plan.search_space import MEASURES, MeasureLimit, SearchSpace

MAX_FRONT = 100_000
"""Designs of a front; nobody reads so many."""
NOWHERE = np.iinfo(np.int64).max
"""The place of no design."""


class Excess(NamedTuple):
    """A bound that a design breaks."""

    bound: MeasureLimit
    value: Fraction | None
    """What the design comes to; None where nobody knows."""


class FrontRow(NamedTuple):
    """A design of the front."""

    candidate: SearchedDesign
    equals: int
    """How many other designs come to the same in all that is minimised."""
    next_better: tuple[SearchedDesign, tuple[Excess, ...]] | None
    """The design between this one and the one before it, in what is minimised first, that breaks a bound: of several
    the closest. None: there is none, or nobody has looked for it."""


class Front(NamedTuple):
    """What a search found."""

    space: SearchSpace
    minimised: tuple[str, ...]
    """What the designs are compared by: as asked, without what no design knows where nobody asked for it."""
    rows: tuple[FrontRow, ...]
    nearest: tuple[SearchedDesign, tuple[Excess, ...]] | None
    """Where nothing keeps within the bounds, the design that breaks them least."""
    tried: int
    """Designs that were looked at, of those of the space: fewer where the search was interrupted."""
    refused: tuple[tuple[str, int], ...]
    """Why designs cannot be built, and how many of them: the most frequent reason first."""
    unknown: tuple[tuple[str, int], ...]
    """Designs that can be built and do not know something that is minimised, by its name."""
    unpriced: tuple[tuple[str, int], ...]
    """The parts without a price that leave designs without a cost, and how many designs."""
    beyond: int
    """Designs that can be built and break a bound."""


class FrontTooLarge(Exception):
    """More Pareto-optimal designs than are shown."""


class Seen(NamedTuple):
    """How many designs have something, and the place of the first of them."""

    designs: int
    first: int


class PartialFront(NamedTuple):
    """The front of a part of a space, and what is said of the other designs of the part."""

    compared: frozenset[str]
    """What is minimised and any design of the part knows; all that is minimised where the user chose it. Designs that
    do not know all of it are on no front."""
    keys: Keys
    """A column for each measure that is compared, in the order of the space's; rows in the order of the columns."""
    places: Places
    """Of designs that come to the same the first."""
    counts: Places
    """How many designs come to the same."""
    nearest: tuple[float, int] | None
    """Where the front is empty, how far the nearest design is beyond its bounds, and its place."""
    beyond: int
    tried: int
    refused: Mapping[str, Seen]
    unknown: Mapping[str, int]
    unpriced: Mapping[str, Seen]


class NextBetter(NamedTuple):
    """For each row of a front the design beyond a bound that comes closest below it in what is minimised first."""

    firsts: NDArray[Any]
    """What it comes to in that."""
    distances: NDArray[np.float64]
    """How far it is beyond its bounds."""
    places: Places
    """NOWHERE: there is none."""


def empty_front(space: SearchSpace) -> PartialFront:
    """The front of no designs."""
    compared = frozenset(space.minimise if space.chosen else ())
    none = np.empty(0, np.int64)
    return PartialFront(compared, _no_keys(space, compared), none, none, None, 0, 0, {}, {}, {})


def extend_front(space: SearchSpace, front: PartialFront, columns: Columns) -> PartialFront:
    """The front of a part and of further designs, given as columns. Raises FrontTooLarge."""
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
    """The front of two parts of a space, whatever the order. Raises FrontTooLarge."""
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
    """What is known of the rows of a front before anybody has looked."""
    firsts = front.keys[0]
    rows = len(firsts)
    return NextBetter(np.zeros(rows, firsts.dtype), np.full(rows, np.inf), np.full(rows, NOWHERE))


def look_for_better(space: SearchSpace, front: PartialFront, next_better: NextBetter, columns: Columns) -> NextBetter:
    """What was found for the rows of the front of a whole space, and what stands in further columns."""
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
    """What was found in two parts of a space, whatever the order."""
    none, further = one.places == NOWHERE, next_better.places != NOWHERE
    equal = one.firsts == next_better.firsts
    closer = (next_better.distances < one.distances) | (
        (next_better.distances == one.distances) & (next_better.places < one.places)
    )
    better = further & (none | (next_better.firsts > one.firsts) | (equal & closer))
    return NextBetter(*(np.where(better, new, old) for new, old in zip(next_better, one, strict=True)))


def shown_designs(front: PartialFront, better: NextBetter) -> list[int]:
    """The places of the designs that are shown."""
    nearest = [front.nearest[1]] if front.nearest else []
    return sorted({*front.places.tolist(), *better.places[better.places != NOWHERE].tolist(), *nearest})


def best_designs(front: PartialFront) -> set[int]:
    """Return the places of the designs that have least of something that is minimised, else of the nearest one."""
    if not len(front.places):
        return {front.nearest[1]} if front.nearest else set()
    return {int(front.places[np.argmin(key)]) for key in front.keys}


def describe_front(
    space: SearchSpace, front: PartialFront, better: NextBetter, candidate: Callable[[int], SearchedDesign]
) -> Front:
    """The front of a space as it is shown; `candidate` gives a design of `shown_designs`."""

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
    """The bounds that a design breaks, or that nobody can say it keeps."""
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
    """No rows of what is compared; of one column where nothing is."""
    return empty([column_type(name) for name in _names(space, compared)] or [np.int64])


def _comparing(space: SearchSpace, front: PartialFront, compared: frozenset[str]) -> PartialFront:
    """A part's front where more is compared: its designs, which do not know that, are no longer on it."""
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
    """The bound in the unit of columns."""
    return bound.most / Fraction(minor_unit(currency)) if MEASURES[bound.measure] == MONEY else bound.most


def _broken(space: SearchSpace, columns: Columns, rows: NDArray[np.intp] | slice) -> Mask:
    """Which rows break a bound, or nobody can say that they keep it."""
    broken = np.zeros(len(columns.refused[rows]), np.bool_)
    for bound in space.within:
        most = _most(bound, space.currency)
        broken |= ~columns.known[bound.measure][rows] | (columns.measures[bound.measure][rows] > most)
    return broken


def _distances(space: SearchSpace, columns: Columns, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """How far designs are beyond their bounds: the largest excess as a share of its bound. Unknown counts as double."""
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
    """How many rows have each text, and the first of them; `numbers` are 1 + the index of the texts that a row has."""
    found = dict[str, Seen]()
    rows = np.flatnonzero(numbers)
    counts = np.bincount(numbers[rows])
    firsts = np.zeros(len(counts), np.int64)
    firsts[numbers[rows][::-1]] = start + rows[::-1]  # of equal numbers the last one written stays
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
    """The most frequent first, of equally frequent ones that of the first design."""
    ordered = sorted(seen.items(), key=lambda item: (-item[1].designs, item[1].first, item[0]))
    return tuple((text, each.designs) for text, each in ordered)

"""Which rows of columns no other row beats: one that is at most as much in every column, and less in one.

Rows of several columns that are beaten at all are mostly beaten by a few strong rows. So many rows are first held against
few, and only those that are left against each other: in one column by its least, in two by one sweep, in more by blocks
in the order of a score that no row can beat another against.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = tuple[NDArray[Any], ...]
"""Columns of equal length, int64 or float64; none of them is empty of columns."""
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]

FEW = 4096
"""Rows that are held against each other without looking for strong ones first."""
BLOCK = 256
"""Rows that are held against others at a time: their comparisons fit the cache of a core."""
PIVOTS = 8
"""Strong rows that every row is held against."""
LEAST_GAIN = 0.8
"""What may be left of rows for another round against strong ones to pay."""


def take(keys: Keys, rows: NDArray[Any] | slice) -> Keys:
    """Some rows."""
    return tuple(column[rows] for column in keys)


def unite(keys: Keys, places: Places, counts: Places) -> tuple[Keys, Places, Places]:
    """Rows in the order of their columns, equal ones as one: with the least place, and their counts together."""
    order = np.lexsort((places, *keys[::-1]))
    keys, places, counts = take(keys, order), places[order], counts[order]
    new = np.zeros(len(places), np.bool_)
    new[:1] = True
    for column in keys:
        new[1:] |= column[1:] != column[:-1]
    firsts = np.flatnonzero(new)
    return take(keys, firsts), places[firsts], np.add.reduceat(counts, firsts) if len(firsts) else counts


def drop_beaten(keys: Keys, places: Places) -> tuple[Keys, Places, Places]:
    """The rows that no other one beats, as `unite` has them: columns, the first place of each, how many are equal."""
    rows = _without_weak(keys)
    keys, places, counts = unite(take(keys, rows), places[rows], np.ones(len(rows), np.int64))
    best = _best_of_sorted(keys)
    return take(keys, best), places[best], counts[best]


def not_beaten(keys: Keys, by: Keys) -> Mask:
    """The rows that no row of `by` beats; `by` are rows that beat each other nowhere, in the order of their columns."""
    if not len(by[0]) or not len(keys[0]):
        return np.ones(len(keys[0]), np.bool_)
    if len(keys) <= 2:
        return _not_beaten_by_sweep(keys, by)
    left = likely_best(keys, by)
    kept = np.zeros(len(keys[0]), np.bool_)
    strong = take(by, np.argsort(_score(by, by), kind="stable"))
    for at in range(0, len(left), BLOCK):
        rows = left[at : at + BLOCK]
        kept[rows[_not_beaten_by_blocks(take(keys, rows), strong)]] = True
    return kept


def likely_best(keys: Keys, by: Keys) -> NDArray[np.intp]:
    """The rows that no row of `by` is seen to beat, by a few comparisons of each; exactly those in up to two columns."""
    rows = np.arange(len(keys[0]))
    if not len(by[0]):
        return rows
    if len(keys) <= 2:
        return np.flatnonzero(_not_beaten_by_sweep(keys, by))
    for pivot in np.unique(np.linspace(0, len(by[0]) - 1, PIVOTS).astype(np.intp)):
        keys, rows = _drop(keys, rows, ~_beaten_by_row(keys, take(by, slice(pivot, pivot + 1))))
    for column in range(len(keys)):
        # of the rows that are as much here, those that come closest are the least elsewhere
        order = np.argsort(by[column], kind="stable")
        at = np.searchsorted(by[column][order], keys[column], side="right") - 1
        keys, rows = _drop(keys, rows, (at < 0) | ~_beats(take(by, order[at]), keys))
    return rows


def _drop(keys: Keys, rows: NDArray[np.intp], kept: Mask) -> tuple[Keys, NDArray[np.intp]]:
    return (keys, rows) if kept.all() else (take(keys, kept), rows[kept])


def _beats(these: Keys, those: Keys) -> Mask:
    """Whether a row is at most as much as another one in every column, and less in one; shapes are broadcast."""
    at_most = these[0] <= those[0]
    less = these[0] < those[0]
    for one, other in zip(these[1:], those[1:], strict=True):
        at_most &= one <= other
        less |= one < other
    return at_most & less


def _beaten_by_row(keys: Keys, row: Keys) -> Mask:
    return _beats(row, keys)


def _not_beaten_by_sweep(keys: Keys, by: Keys) -> Mask:
    """`not_beaten` of one or two columns: of the rows of `by` with at most as much in the first, the last decides."""
    if len(keys) == 1:
        return np.asarray(keys[0] <= by[0][0])
    at = np.searchsorted(by[0], keys[0], side="right") - 1
    first, second = by[0][at], by[1][at]
    return (at < 0) | (second > keys[1]) | ((second == keys[1]) & (first == keys[0]))


def _without_weak(keys: Keys) -> NDArray[np.intp]:
    """The rows that the strongest of them do not beat; all of few rows."""
    rows = np.arange(len(keys[0]))
    while len(rows) > FEW:
        before = len(rows)
        for weighed in (None, *range(len(keys))):
            score = _score(keys, keys) if weighed is None else keys[weighed]
            strong = int(np.argmin(score))
            keys, rows = _drop(keys, rows, ~_beaten_by_row(keys, take(keys, slice(strong, strong + 1))))
        if len(rows) > before * LEAST_GAIN:
            break
    return rows


def _score(keys: Keys, scale: Keys) -> NDArray[np.float64]:
    """The sum of what each column is between the ends of `scale`; a row that beats another one has no larger score.

    Each step of it is monotone, rounding included.
    """
    score = np.zeros(len(keys[0]))
    for column, ends in zip(keys, scale, strict=True):
        least, most = float(ends.min()), float(ends.max())
        score += (column.astype(np.float64) - least) / ((most - least) or 1.0)
    return score


def _best_of_sorted(keys: Keys) -> NDArray[np.intp]:
    """The rows that no other one beats, of different rows in the order of their columns."""
    count = len(keys[0])
    if len(keys) == 1:
        return np.arange(min(count, 1))
    if len(keys) == 2:
        least = np.minimum.accumulate(keys[1])
        return np.flatnonzero(np.concatenate((np.ones(min(count, 1), np.bool_), keys[1][1:] < least[:-1])))
    if not count:
        return np.arange(0)
    # of equal scores the order of the columns stays, in which no row beats an earlier one
    order = np.argsort(_score(keys, keys), kind="stable")
    found = np.arange(0)
    for at in range(0, count, BLOCK):
        rows = order[at : at + BLOCK]
        rows = rows[_not_beaten_by_blocks(take(keys, rows), take(keys, found))]
        rows = rows[_not_beaten_by_blocks(take(keys, rows), take(keys, rows))]
        found = np.concatenate((found, rows))
    return np.sort(found)


def _not_beaten_by_blocks(keys: Keys, by: Keys) -> NDArray[np.intp]:
    """The rows that no row of `by` beats, which are held against them block by block."""
    rows = np.arange(len(keys[0]))
    for at in range(0, len(by[0]), BLOCK):
        if not len(rows):
            break
        strong = tuple(column[at : at + BLOCK, None] for column in by)
        keys, rows = _drop(keys, rows, ~_beats(strong, keys).any(axis=0))
    return rows


def concatenate(these: Keys, those: Keys) -> Keys:
    """The rows of both."""
    return tuple(np.concatenate(pair) for pair in zip(these, those, strict=True))


def empty(types: Sequence[type[Any]]) -> Keys:
    """No rows, of columns of some types."""
    return tuple(np.empty(0, each) for each in types)

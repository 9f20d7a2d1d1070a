"""The Pareto-optimal rows of columns: no other row is at most equal in every column and smaller in one.

Of many rows most are dominated by a few strong ones; the remaining rows are divided by the first column, and the upper
half is compared with the lower one in the other columns (Kung, Luccio and Preparata 1975, On finding the maxima of a
set of vectors, J. ACM 22): n rows of d columns take some n log(n)^(d-2) steps, with a sweep in two dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = tuple[NDArray[Any], ...]
"""Columns of equal length, int64 or float64; at least one."""
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]

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


def unite(keys: Keys, places: Places, counts: Places) -> tuple[Keys, Places, Places]:
    """Return rows sorted by their columns, with equal rows merged: the smallest index, and the sum of counts."""
    order = np.lexsort((places, *keys[::-1]))
    keys, places, counts = take(keys, order), places[order], counts[order]
    new = np.zeros(len(places), np.bool_)
    new[:1] = True
    for column in keys:
        new[1:] |= column[1:] != column[:-1]
    firsts = np.flatnonzero(new)
    return take(keys, firsts), places[firsts], np.add.reduceat(counts, firsts) if len(firsts) else counts


def drop_beaten(keys: Keys, places: Places, counts: Places) -> tuple[Keys, Places, Places]:
    """Return the Pareto-optimal rows, in the form of `unite`."""
    rows = _without_weak(keys)
    keys, places, counts = unite(take(keys, rows), places[rows], counts[rows])
    best = _best_of_sorted(keys)
    return take(keys, best), places[best], counts[best]


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
        for weighed in (None, *range(len(keys))):
            score = _score(keys) if weighed is None else keys[weighed]
            strong = int(np.argmin(score))
            keys, rows = _drop(keys, rows, ~_beats(take(keys, slice(strong, strong + 1)), keys))
        if len(rows) > before * LEAST_GAIN:
            break
    return rows


def _score(keys: Keys) -> NDArray[np.float64]:
    score = np.zeros(len(keys[0]))
    for column in keys:
        least, most = float(column.min()), float(column.max())
        score += (column - least) / ((most - least) or 1.0)
    return score


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
    found = np.zeros(len(keys[0]), np.bool_)
    if not len(found) or not len(by[0]):
        return found
    if len(keys) == 1:
        return np.asarray(keys[0] >= by[0].min())
    if len(keys) == 2:
        order = np.argsort(by[0], kind="stable")
        at = np.searchsorted(by[0][order], keys[0], side="right") - 1
        return np.asarray((at >= 0) & (np.minimum.accumulate(by[1][order])[at] <= keys[1]))
    if len(found) * len(by[0]) <= PAIRS:
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
        found[rows] = _reached(take(keys[1:], rows), by[1:])
        return found
    below, above = np.flatnonzero(low), np.flatnonzero(~low)
    found[below] = _reached(take(keys, below), take(by, by_low))
    found[above] = _reached(take(keys[1:], above), take(by[1:], by_low))
    above = above[~found[above]]
    found[above] = _reached(take(keys, above), take(by, ~by_low))
    return found


def _at_most(keys: Keys, by: Keys) -> Mask:
    """Return for each row which rows of `by` are at most equal in every column."""
    found = by[0] <= keys[0][:, None]
    for column, other in zip(keys[1:], by[1:], strict=True):
        found &= other <= column[:, None]
    return np.asarray(found)


def concatenate(these: Keys, those: Keys) -> Keys:
    """Return the rows of both."""
    return tuple(np.concatenate(pair) for pair in zip(these, those, strict=True))


def empty(types: Sequence[type[Any]]) -> Keys:
    """Return columns of some types without rows."""
    return tuple(np.empty(0, each) for each in types)

"""Errors and intervals of the prediction on rows that the fit has not seen."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hierarchy import Array, Fit, Observations, Rows
from numpy.typing import NDArray

COVERAGES = (50, 90)


def everything(table: Observations) -> Rows:
    """Indices of all rows."""
    return np.arange(len(table))


def predict_unseen(table: Observations, groups: Iterable[Rows]) -> Array:
    """Return the predicted times of rows, each by a fit without its group; NaN: in no group."""
    times = np.full(len(table), np.nan)
    for group in groups:
        times[group] = Fit(table, np.setdiff1d(everything(table), group)).predict(table, group)
    return times


def widths(table: Observations, *unseen: Array, but: str = "") -> dict[str, dict[int, float]]:
    """Return half the log widths of intervals by kind and coverage, from the residuals of all groups but one.

    Of several ways to leave rows out, the one with the widest interval counts.
    """
    residuals = [np.abs(np.log(times / table.measured)) for times in unseen]
    wide: dict[str, dict[int, float]] = {}
    for kind in sorted(set(table.kinds)):
        used = (table.kinds == kind) & (table.groups != but)
        groups = table.groups[used]
        shares = {at: level(at / 100, len(set(groups))) for at in COVERAGES}
        wide[kind] = {
            at: max(quantile(each[used], groups, share) for each in residuals) for at, share in shares.items()
        }
    return wide


def held(table: Observations, *unseen: Array, coverage: int) -> NDArray[np.bool_]:
    """Return whether each row, left out the first way, is in its interval, whose width knows nothing of its group."""
    off, inside = np.abs(np.log(unseen[0] / table.measured)), np.zeros(len(table), dtype=bool)
    for name in sorted(set(table.groups)):
        wide = widths(table, *unseen, but=name)
        rows = table.groups == name
        inside[rows] = off[rows] <= [wide[kind][coverage] for kind in table.kinds[rows]]
    return inside


def by_label(labels: NDArray[np.str_]) -> list[Rows]:
    """Indices of the rows of each label."""
    return [np.flatnonzero(labels == name) for name in sorted(set(labels))]


def quantile(values: Array, clusters: NDArray[np.str_], coverage: float, power: float = 1.0) -> float:
    """The quantile of values of which one of a cluster of n weighs n to the power of minus `power`."""
    _, place, number = np.unique(clusters, return_inverse=True, return_counts=True)
    weight = number[place].astype(float) ** -power
    order = np.argsort(values)
    reached = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][min(np.searchsorted(reached, coverage), len(values) - 1)])


def level(coverage: float, clusters: int) -> float:
    """The share of the rows of known clusters to hold, so that an interval holds `coverage` of those of a new one.

    The new cluster is one more of the same kind, as likely as any to be the worst (conformal prediction: Dunn,
    Wasserman and Ramdas 2022, arXiv 1809.07441). Where that would be more than all rows, the clusters are too few to
    promise it, and the interval holds the share of theirs.
    """
    corrected = coverage * (clusters + 1) / clusters
    return corrected if corrected < 1 else coverage


def errors(table: Observations, steps: Array) -> Array:
    """Absolute relative errors."""
    return np.asarray(np.abs(steps / table.measured - 1))


def mean_of_clusters(table: Observations, values: Array, used: NDArray[np.bool_]) -> float:
    """The mean over clusters of the means of their rows."""
    clusters = table.groups
    return float(np.mean([values[used & (clusters == name)].mean() for name in sorted(set(clusters[used]))]))

"""Errors and intervals of the prediction on rows that the fit has not seen."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hierarchy import Array, Fit, Observations, Rows
from numpy.typing import NDArray

COVERAGES = (50, 90)
LeftOut = tuple[Array, Array]
"""Predicted times of rows that the fit has not seen, and the spread of their logs."""


def everything(table: Observations) -> Rows:
    """Indices of all rows."""
    return np.arange(len(table))


def leave_out(table: Observations, groups: Iterable[Rows]) -> LeftOut:
    """Predicted steps of rows, each by a fit without its group, and the spread of their logs; NaN: in no group."""
    steps, spreads = np.full(len(table), np.nan), np.full(len(table), np.nan)
    for group in groups:
        fit = Fit(table, np.setdiff1d(everything(table), group))
        parts = fit.parts(table, group)
        steps[group] = parts.sum(axis=1)
        spreads[group] = spread_of_rows(fit, table, group, parts)
    return steps, spreads


def by_label(labels: NDArray[np.str_]) -> list[Rows]:
    """Indices of the rows of each label."""
    return [np.flatnonzero(labels == name) for name in sorted(set(labels))]


def spread_of_rows(fit: Fit, table: Observations, chosen: Rows, parts: Array) -> Array:
    """Standard deviation of the log of each row's step: of a new cluster, and of what the fit has not seen of it."""
    shares = parts @ table.design / parts.sum(axis=1)[:, None]
    problem = fit.problem
    variance = problem.noise**2 + ((shares * fit.spread()) ** 2).sum(axis=1)
    for level in problem.levels:
        known = np.isin(table.labels[level.name][chosen], fit.names[level.name])
        new = ~known | (level.name == problem.cluster)
        variance += new * ((shares @ level.groups(problem.names) * level.deviations()) ** 2).sum(axis=1)
    return np.asarray(np.sqrt(variance))


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


def factors(table: Observations, *left_out: LeftOut, but: str = "") -> dict[str, dict[int, float]]:
    """Spreads that an interval is wide, by kind and coverage, from the residuals of all groups but one.

    Of several ways to leave rows out, the one with the widest interval counts.
    """
    wide: dict[str, dict[int, float]] = {}
    for kind in sorted(set(table.kinds)):
        wide[kind] = dict.fromkeys(COVERAGES, 0.0)
        for found, spreads in left_out:
            scores = np.abs(np.log(found / table.measured)) / spreads
            used = (table.kinds == kind) & (table.groups != but) & ~np.isnan(scores)
            groups = table.groups[used]
            for at in COVERAGES:
                share = level(at / 100, len(set(groups)))
                wide[kind][at] = max(wide[kind][at], quantile(scores[used], groups, share))
    return wide


def covered(table: Observations, *left_out: LeftOut, coverage: int) -> NDArray[np.bool_]:
    """Whether each row, left out the first way, is in its interval, whose factor knows nothing of the row's group."""
    found, spreads = left_out[0]
    inside = np.zeros(len(table), dtype=bool)
    for name in sorted(set(table.groups)):
        wide = factors(table, *left_out, but=name)
        rows = table.groups == name
        width = np.array([wide[kind][coverage] for kind in table.kinds[rows]])
        inside[rows] = np.abs(np.log(found[rows] / table.measured[rows])) <= width * spreads[rows]
    return inside


def errors(table: Observations, steps: Array) -> Array:
    """Absolute relative errors."""
    return np.asarray(np.abs(steps / table.measured - 1))


def mean_of_clusters(table: Observations, values: Array, used: NDArray[np.bool_]) -> float:
    """The mean over clusters of the means of their rows."""
    clusters = table.groups
    return float(np.mean([values[used & (clusters == name)].mean() for name in sorted(set(clusters[used]))]))

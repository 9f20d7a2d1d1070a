"""The fit: inverse efficiencies of terms, by levels such as generation, precision, software and cluster.

An observation is the sum of its parts, each the seconds of a term at line rate times an inverse efficiency, and perhaps
a scale that several parts share. The log of each is a base and the deviations of the levels that the row belongs to.
Penalised least squares of log errors, with Huber's loss, find base and deviations together; each is drawn towards its
prior by a ridge, so that a level with few rows borrows from the others and a term that the rows do not identify keeps
its prior.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

MOST_STEPS = 80


@dataclass(frozen=True)
class Level:
    """How far the rows of a level, such as a generation, may deviate: standard deviations of logs."""

    name: str
    overall: float
    """Of all terms together."""
    term: float
    """Of a single term; 0: all terms deviate together."""
    terms: Mapping[str, float]
    """Of terms that deviate more than others."""

    def spreads(self, names: tuple[str, ...]) -> Array:
        """Of every term."""
        return np.array([self.terms.get(name, self.term) for name in names])


@dataclass(frozen=True)
class Problem:
    """What is fitted, and what is assumed of it before any row is seen."""

    prior: Mapping[str, float]
    """Inverse efficiency of each term, and each scale."""
    spreads: Mapping[str, float]
    """Standard deviation of the log of each around its prior."""
    levels: tuple[Level, ...]
    cluster: str
    """The level that an unseen row has no member of."""
    noise: float
    """Log error of a row that no term explains."""
    huber: float
    """Log error beyond which a row pulls no harder."""
    together: float
    """What the rows of an average group weigh together."""
    enough: float
    """Relative gain of a step of the fit below which it ends."""
    power: float
    """A row of a group of n rows weighs n to the power of minus this."""
    group_powers: tuple[float, ...]
    """The same for the width of intervals, the widest of which counts; with 1 every group has the same weight."""
    hidden: Mapping[str, tuple[str, ...]]
    """Terms of which none may have a larger inverse efficiency than those that hide it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Terms and scales."""
        return tuple(self.prior)

    def base_spreads(self) -> Array:
        """Standard deviations of the logs around their priors."""
        return np.array([self.spreads[name] for name in self.names])

    def level(self, name: str) -> Level:
        """The level of a name."""
        return next(level for level in self.levels if level.name == name)


@dataclass(frozen=True)
class Observations:
    """Measured times as arrays, and the parts that they are sums of."""

    problem: Problem
    measured: Array
    """[s]."""
    seconds: Array
    """At line rate, by row and part [s]."""
    design: Array
    """By part and term or scale: 1 where the part is multiplied by it, else 0."""
    labels: Mapping[str, NDArray[np.str_]]
    """The member of each level that a row belongs to."""
    groups: NDArray[np.str_]
    """The group of each row, whose rows are much alike."""
    kinds: NDArray[np.str_]
    """The kind of each row, by which the width of intervals differs."""
    importance: Array
    """Weight of each row beside the others of its group."""

    def __len__(self) -> int:
        return len(self.measured)


class Fit:
    """Base and deviations fitted to some rows."""

    def __init__(self, table: Observations, chosen: Rows) -> None:
        self.problem = problem = table.problem
        count = len(problem.names)
        self.names: dict[str, list[str]] = {}
        self.start: dict[str, int] = {}
        ridge, size = [problem.base_spreads() ** -2], count
        for level in problem.levels:
            names = sorted(set(table.labels[level.name][chosen]))
            self.names[level.name], self.start[level.name] = names, size
            ridge += [np.full(len(names), level.overall**-2)]
            size += len(names)
            if level.term:
                ridge += [np.tile(level.spreads(problem.names) ** -2, len(names))]
                size += len(names) * count
        self.ridge, self.size = np.concatenate(ridge), size
        self._run(table, chosen)

    def _run(self, table: Observations, chosen: Rows) -> None:
        problem, seconds, measured = self.problem, table.seconds[chosen], table.measured[chosen]
        count, design, weight = (
            len(problem.names),
            table.design,
            _weights(problem, table.groups[chosen]) * table.importance[chosen],
        )
        places = np.stack([self._places(table, chosen, level.name) for level in problem.levels], axis=1)
        cells, cell = np.unique(places, axis=0, return_inverse=True)
        cell = cell.ravel()
        members = [np.flatnonzero(cell == number) for number in range(len(cells))]
        start = np.zeros(self.size)
        start[:count] = np.log([problem.prior[name] for name in problem.names])
        found = start.copy()

        def forward(values: Array) -> tuple[Array, Array]:
            logs = np.stack([self._logs(values, one) for one in cells]) @ design.T
            parts = np.exp(logs)[cell] * seconds
            return parts, parts.sum(axis=1)

        def loss(values: Array) -> float:
            error = np.abs(np.log(forward(values)[1] / measured))
            huber = np.where(error <= problem.huber, error * error / 2, problem.huber * (error - problem.huber / 2))
            return float((weight * huber).sum() / problem.noise**2 + (self.ridge * (values - start) ** 2).sum() / 2)

        current, damping = loss(found), 1e-3
        for _ in range(MOST_STEPS):
            parts, total = forward(found)
            share, error = parts @ design / total[:, None], np.log(total / measured)
            pull = weight * np.minimum(1, problem.huber / np.maximum(np.abs(error), 1e-12)) / problem.noise**2
            slope, curve = self.ridge * (found - start), np.diag(self.ridge)
            for one, rows in zip(cells, members, strict=True):
                terms, overall = self._columns(one)
                shares, pulled = share[rows], share[rows] * pull[rows][:, None]
                square, line = pulled.T @ shares, pulled.sum(axis=0)
                blocks = len(terms) // count
                curve[np.ix_(terms, terms)] += np.tile(square, (blocks, blocks))
                curve[np.ix_(overall, overall)] += pull[rows].sum()
                lines = np.tile(line, blocks)
                curve[np.ix_(overall, terms)] += lines
                curve[np.ix_(terms, overall)] += lines[:, None]
                slope[terms] += np.tile(pulled.T @ error[rows], blocks)
                slope[overall] += (pull[rows] * error[rows]).sum()
            seen = np.flatnonzero(np.diag(curve) > self.ridge)  # what no row has any of stays at its prior
            inner = curve[np.ix_(seen, seen)]
            while damping < 1e9:
                trial = found.copy()
                trial[seen] -= np.linalg.solve(inner + np.diag(np.diag(inner) * damping), slope[seen])
                reached = loss(trial)
                if reached <= current:
                    break
                damping *= 6
            else:
                break
            gain, found, current, damping = current - reached, trial, reached, max(damping / 6, 1e-6)
            if gain < problem.enough * current:
                break
        self.values, self.curve = found, curve

    def _places(self, table: Observations, chosen: Rows, level: str) -> Rows:
        """The place of each row's name in a level; -1: not among the rows of the fit."""
        known = {name: place for place, name in enumerate(self.names[level])}
        return np.array([known.get(name, -1) for name in table.labels[level][chosen]], dtype=np.int64)

    def _columns(self, places: Rows) -> tuple[Rows, Rows]:
        """Indices of the terms of base and levels, one level after the other, and of the levels' overall deviations."""
        count = len(self.problem.names)
        terms, overall = [np.arange(count)], []
        for level, place in zip(self.problem.levels, places, strict=True):
            first = self.start[level.name]
            overall.append(first + place)
            if level.term:
                terms.append(first + len(self.names[level.name]) + place * count + np.arange(count))
        return np.concatenate(terms), np.array(overall)

    def _logs(self, values: Array, places: Rows, leave_out: str = "") -> Array:
        """Logs of the inverse efficiencies of a cell."""
        logs = values[: len(self.problem.names)].copy()
        for level, place in zip(self.problem.levels, places, strict=True):
            if place >= 0 and level.name != leave_out:
                logs += self.deviation(level.name, int(place), values)
        return logs

    def deviation(self, level: str, place: int, values: Array | None = None) -> Array:
        """Logs by which the terms of a level's member deviate, its overall deviation included."""
        values = self.values if values is None else values
        count, first = len(self.problem.names), self.start[level]
        if not self.problem.level(level).term:
            return np.full(count, values[first + place])
        block = first + len(self.names[level]) + place * count
        return np.asarray(values[first + place] + values[block : block + count])

    def logs(self, table: Observations, chosen: Rows, with_cluster: bool) -> Array:
        """Logs of the inverse efficiencies of rows, with or without what is particular to their cluster."""
        problem = self.problem
        places = np.stack([self._places(table, chosen, level.name) for level in problem.levels], axis=1)
        leave_out = "" if with_cluster else problem.cluster
        cells, cell = np.unique(places, axis=0, return_inverse=True)
        logs = np.stack([self._logs(self.values, one, leave_out) for one in cells])
        for name, hiding in problem.hidden.items():
            own, others = problem.names.index(name), [problem.names.index(other) for other in hiding]
            logs[:, own] = np.minimum(logs[:, own], logs[:, others].min(axis=1))
        return np.asarray(logs[cell.ravel()])

    def parts(self, table: Observations, chosen: Rows, with_cluster: bool = False) -> Array:
        """Seconds of each part of rows."""
        return np.asarray(np.exp(self.logs(table, chosen, with_cluster) @ table.design.T) * table.seconds[chosen])

    def predict(self, table: Observations, chosen: Rows, with_cluster: bool = False) -> Array:
        """Seconds of rows."""
        return np.asarray(self.parts(table, chosen, with_cluster).sum(axis=1))

    def spread(self) -> Array:
        """Standard deviation of the log of each base after the fit: as its prior's where no row says more."""
        return np.asarray(np.sqrt(np.diag(np.linalg.inv(self.curve))[: len(self.problem.names)]))


def _weights(problem: Problem, groups: Any) -> Array:
    _, place, number = np.unique(groups, return_inverse=True, return_counts=True)
    weight = number[place].astype(float) ** -problem.power
    return np.asarray(weight / weight.sum() * len(number) * problem.together)


def columns(records: Iterable[Iterable[float]]) -> list[Array]:
    """Return the fields of records as arrays."""
    return [np.array(column, float) for column in zip(*records, strict=True)]

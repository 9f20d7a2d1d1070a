"""The fit: inverse efficiencies of terms, by levels such as generation, precision, software and cluster.

An observation is the sum of its parts, each the seconds of a term at line rate times an inverse efficiency, and perhaps
a scale that several parts share. Each follows from its log, a base and the deviations of the levels that the row
belongs to: an inverse efficiency that cannot be below 1, since nothing is faster than the data sheet, is 1 and the
exponential of it, others are the exponential itself. Penalised least squares of log errors,
with Huber's loss, find base and deviations together; each is drawn towards its prior by a ridge, so that a level with
few rows borrows from the others and a term that the rows do not identify keeps its prior.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

MOST_STEPS = 80


@dataclass(frozen=True)
class Level:
    """How far the rows of a level, such as a generation, may deviate."""

    name: str
    spreads: Mapping[tuple[str, ...], float]
    """Groups of terms that deviate together, each with the standard deviation of its log."""

    def groups(self, names: tuple[str, ...]) -> Array:
        """By term and group: 1 where the term belongs to the group, else 0."""
        return np.array([[float(name in group) for group in self.spreads] for name in names])

    def deviations(self) -> Array:
        """Standard deviation of each group."""
        return np.array(list(self.spreads.values()))


@dataclass(frozen=True)
class Problem:
    """What is fitted, and what is assumed of it before any row is seen."""

    prior: Mapping[str, float]
    """Inverse efficiency of each term, and each scale."""
    spreads: Mapping[str, float]
    """Standard deviation of the log of each around its prior."""
    levels: tuple[Level, ...]
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
    at_least_one: frozenset[str] = frozenset()
    """Inverse efficiencies that are never below 1."""
    aged: frozenset[str] = frozenset()
    """Terms that the age of the software makes slower."""
    age: float = 1.0
    """Standard deviation of the log by which they are slower per year, around 0."""
    cluster: str = ""
    """The level that an unseen row has no member of."""
    hidden: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
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

    def start(self) -> Array:
        """Logs of the priors."""
        prior = np.array([self.prior[name] for name in self.names])
        return np.log(prior - self._among(self.at_least_one))

    def inverse_efficiencies(self, logs: Array) -> tuple[Array, Array]:
        """Return the inverse efficiencies of logs, and the logs' slopes of their own logs."""
        bounded, excess = self._among(self.at_least_one), np.exp(logs)
        return bounded + excess, excess / (bounded + excess)

    def ages(self) -> Array:
        """1 for terms that age, else 0."""
        return self._among(self.aged)

    def _among(self, chosen: frozenset[str]) -> Array:
        return np.array([float(name in chosen) for name in self.names])


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
    years: Array
    """Age of the software of each row [years]."""

    def __len__(self) -> int:
        return len(self.measured)


class Fit:
    """Base, age and deviations fitted to some rows."""

    def __init__(self, table: Observations, chosen: Rows) -> None:
        self.problem = problem = table.problem
        self.age = len(problem.names)
        """Index of the log by which terms are slower per year."""
        self.names: dict[str, list[str]] = {}
        self.first: dict[str, int] = {}
        ridge = [problem.base_spreads() ** -2, np.array([problem.age**-2])]
        self.size = self.age + 1
        for level in problem.levels:
            names = sorted(set(table.labels[level.name][chosen]))
            self.names[level.name], self.first[level.name] = names, self.size
            ridge.append(np.tile(level.deviations() ** -2, len(names)))
            self.size += len(ridge[-1])
        self.ridge = np.concatenate(ridge)
        self._run(table, chosen)

    def _run(self, table: Observations, chosen: Rows) -> None:
        problem, seconds, measured, years = (
            self.problem,
            table.seconds[chosen],
            table.measured[chosen],
            table.years[chosen],
        )
        weight = _weights(problem, table.groups[chosen]) * table.importance[chosen]
        places, cell = self._cells(table, chosen)
        members = [np.flatnonzero(cell == number) for number in range(len(places))]
        maps = [self._map(one) for one in places]
        start = np.zeros(self.size)
        start[: self.age] = problem.start()
        found = start.copy()

        def forward(values: Array) -> tuple[Array, Array, Array]:
            logs = np.stack([matrix @ values[columns] for columns, matrix in maps])[cell]
            inverse, slopes = problem.inverse_efficiencies(logs + np.outer(years, problem.ages()) * values[self.age])
            parts = np.exp(np.log(inverse) @ table.design.T) * seconds
            return parts, slopes, parts.sum(axis=1)

        def loss(values: Array) -> float:
            error = np.abs(np.log(forward(values)[2] / measured))
            huber = np.where(error <= problem.huber, error * error / 2, problem.huber * (error - problem.huber / 2))
            return float((weight * huber).sum() / problem.noise**2 + (self.ridge * (values - start) ** 2).sum() / 2)

        current, damping = loss(found), 1e-3
        for _ in range(MOST_STEPS):
            parts, slopes, total = forward(found)
            share, error = parts @ table.design / total[:, None] * slopes, np.log(total / measured)
            pull = weight * np.minimum(1, problem.huber / np.maximum(np.abs(error), 1e-12)) / problem.noise**2
            slope, curve = self.ridge * (found - start), np.diag(self.ridge)
            for (columns, matrix), rows in zip(maps, members, strict=True):
                steps = share[rows] @ matrix
                steps[:, self.age] = share[rows] @ problem.ages() * years[rows]
                pulled = steps.T * pull[rows]
                curve[np.ix_(columns, columns)] += pulled @ steps
                slope[columns] += pulled @ error[rows]
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

    def _cells(self, table: Observations, chosen: Rows) -> tuple[Rows, Rows]:
        """Return the places of the members of each combination of levels, and the combination of each row.

        A place of -1 is a member without rows in the fit.
        """
        places = []
        for level in self.problem.levels:
            known = {name: place for place, name in enumerate(self.names[level.name])}
            places.append([known.get(name, -1) for name in table.labels[level.name][chosen]])
        cells, cell = np.unique(np.array(places, dtype=np.int64).T, axis=0, return_inverse=True)
        return cells, cell.ravel()

    def _map(self, places: Rows, leave_out: str = "") -> tuple[Rows, Array]:
        """Return the indices of the values that the logs of a combination rest on, and the matrix that adds them."""
        terms = self.age
        columns, matrix = [np.arange(terms + 1)], [np.eye(terms, terms + 1)]
        for level, place in zip(self.problem.levels, places, strict=True):
            if place >= 0 and level.name != leave_out:
                columns.append(self._columns(level, place))
                matrix.append(level.groups(self.problem.names))
        return np.concatenate(columns), np.concatenate(matrix, axis=1)

    def _columns(self, level: Level, place: int) -> Rows:
        """Return the indices of the deviations of a level's member."""
        return self.first[level.name] + place * len(level.spreads) + np.arange(len(level.spreads))

    def deviation(self, level: str, place: int) -> Array:
        """Logs by which the terms of a level's member deviate."""
        of_level = self.problem.level(level)
        return np.asarray(of_level.groups(self.problem.names) @ self.values[self._columns(of_level, place)])

    def logs(self, table: Observations, chosen: Rows) -> Array:
        """Logs of the inverse efficiencies of rows, without what is particular to their cluster."""
        problem = self.problem
        cells, cell = self._cells(table, chosen)
        maps = (self._map(one, problem.cluster) for one in cells)
        logs = np.stack([matrix @ self.values[columns] for columns, matrix in maps])[cell]
        logs += np.outer(table.years[chosen], problem.ages()) * self.values[self.age]
        logs = np.log(problem.inverse_efficiencies(logs)[0])
        for name, hiding in problem.hidden.items():
            own, others = problem.names.index(name), [problem.names.index(other) for other in hiding]
            logs[:, own] = np.minimum(logs[:, own], logs[:, others].min(axis=1))
        return np.asarray(logs)

    def predict(self, table: Observations, chosen: Rows) -> Array:
        """Seconds of rows."""
        parts = np.exp(self.logs(table, chosen) @ table.design.T) * table.seconds[chosen]
        return np.asarray(parts.sum(axis=1))

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

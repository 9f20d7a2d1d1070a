"""The fit: inverse efficiencies of the terms, by accelerator generation, precision, software and cluster.

The inverse efficiency of a term is exp(base + deviations of the levels that a row belongs to). Penalised least squares
of log errors, with Huber's loss, find base and deviations together; each is drawn towards its prior by a ridge, so that
a level with few rows borrows from the others and a term that the rows do not identify keeps its prior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bomgen.sizing.prediction.measurements import MeasuredStep
from bomgen.sizing.prediction.terms import HIDING, Machine, Split, Terms, Work, apply_plain, line_rate_terms

Array = NDArray[np.float64]

TERMS = Terms._fields
CLUSTER = "cluster"
PRIOR: Mapping[str, float] = {
    "matrix": 1.35,
    "experts": 1.8,
    "narrow": 0.2,
    "short": 0.1,
    "head": 1.35,
    "logits": 1.0,
    "attention": 0.7,
    "memory": 1.5,
    "scores": 0.7,
    "weights": 0.8,
    "update": 1.0,
    "launches": 1.0,
    "routing": 1.0,
    "tensor": 1.2,
    "tensor_network": 1.5,
    "context": 0.7,
    "pipeline": 0.5,
    "data": 0.8,
    "data_overlapped": 0.2,
    "gathers": 3.0,
    "gathers_overlapped": 0.3,
    "exchange": 1.2,
    "exchange_network": 0.8,
    "constant": 1.0,
    "constant_network": 1.0,
}
"""Inverse efficiency of each term before any row is seen.

`gathers`, which no cluster but one identifies: DeepSpeed of 2021 took 2.5 to 4.3 times as long as the line rate of its
gathers on 64 A100 with 400 Gb/s per server, by the throughput before and after they were overlapped (pull request 1453
of DeepSpeed).
"""
BASE_SPREAD = {
    "matrix": 0.2,
    "head": 0.2,
    "narrow": 1.2,
    "short": 1.2,
    "constant": 1.0,
    "constant_network": 1.0,
}
OTHER_BASE_SPREAD = 0.6
"""Standard deviation of the log of an inverse efficiency around its prior."""


@dataclass(frozen=True)
class Level:
    """How far the rows of a level, such as a generation, may deviate: standard deviations of logs."""

    name: str
    overall: float
    """Of all terms together."""
    term: float
    """Of a single term."""
    terms: Mapping[str, float]
    """Of terms that deviate more than others."""

    def spreads(self) -> Array:
        """Of every term."""
        return np.array([self.terms.get(name, self.term) for name in TERMS])


LEVELS = (
    Level("generation", 0.1, 0.2, {}),
    Level("precision", 0.1, 0.2, {}),
    Level("stack", 0.1, 0.2, {}),
    Level("version", 0.05, 0.1, {}),
    Level(CLUSTER, 0.1, 0.4, {"constant_network": 1.5}),
)
NOISE = 0.05
"""Log error of a row that no term explains."""
HUBER = 0.03
"""Log error beyond which a row pulls no harder."""
ROWS_PER_CLUSTER = 10.0
"""What the rows of an average cluster weigh together."""
POWER = 0.5
"""A row of a cluster of n rows weighs n to the power of minus this."""
MOST_STEPS = 80
ENOUGH = 1e-5
"""Relative gain of a step below which the fit ends."""


class Table:
    """Rows as arrays."""

    def __init__(self, rows: Sequence[MeasuredStep]) -> None:
        self.rows = list(rows)
        columns = [np.array(column, float) for column in zip(*(row.work for row in rows), strict=True)]
        self.work: Work[Array] = Work(*columns)
        self.machine: Machine[Array] = Machine(
            *(np.array(c, float) for c in zip(*(r.machine for r in rows), strict=True))
        )
        self.split: Split[Array] = Split(*(np.array(c, float) for c in zip(*(r.split for r in rows), strict=True)))
        terms = line_rate_terms(apply_plain, self.work, self.machine, self.split)
        self.seconds = np.stack([np.broadcast_to(np.asarray(term, float), (len(rows),)) for term in terms], axis=1)
        self.step = np.array([row.step for row in rows])
        self.labels = {level.name: np.array([getattr(row, level.name) for row in rows]) for level in LEVELS}
        self.moe = np.array([row.moe for row in rows])
        self.model = np.array([row.fields["model"] for row in rows])
        self.source = np.array([row.fields["source"] for row in rows])

    def __len__(self) -> int:
        return len(self.rows)


class Fit:
    """Base and deviations fitted to some rows of a table."""

    def __init__(self, table: Table, chosen: NDArray[np.int64]) -> None:
        count = len(TERMS)
        self.prior = np.log([PRIOR[name] for name in TERMS])
        self.names: dict[str, list[str]] = {}
        self.start: dict[str, int] = {}
        base = np.array([BASE_SPREAD.get(name, OTHER_BASE_SPREAD) for name in TERMS])
        ridge, size = [base**-2], count
        for level in LEVELS:
            names = sorted(set(table.labels[level.name][chosen]))
            self.names[level.name], self.start[level.name] = names, size
            ridge += [np.full(len(names), level.overall**-2), np.tile(level.spreads() ** -2, len(names))]
            size += len(names) * (count + 1)
        self.ridge, self.size = np.concatenate(ridge), size
        self._run(table, chosen)

    def _run(self, table: Table, chosen: NDArray[np.int64]) -> None:
        count, seconds, step = len(TERMS), table.seconds[chosen], table.step[chosen]
        weight = _weights(table.labels[CLUSTER][chosen])
        places = np.stack([self._places(table, chosen, level.name) for level in LEVELS], axis=1)
        cells, cell = np.unique(places, axis=0, return_inverse=True)
        cell = cell.ravel()
        members = [np.flatnonzero(cell == number) for number in range(len(cells))]
        start = np.zeros(self.size)
        start[:count] = self.prior
        found = start.copy()

        def forward(values: Array) -> tuple[Array, Array]:
            parts = np.exp(np.stack([self._logs(values, one) for one in cells]))[cell] * seconds
            return parts, parts.sum(axis=1)

        def loss(values: Array) -> float:
            error = np.abs(np.log(forward(values)[1] / step))
            huber = np.where(error <= HUBER, error * error / 2, HUBER * (error - HUBER / 2))
            return float((weight * huber).sum() / NOISE**2 + (self.ridge * (values - start) ** 2).sum() / 2)

        current, damping = loss(found), 1e-3
        for _ in range(MOST_STEPS):
            parts, total = forward(found)
            share, error = parts / total[:, None], np.log(total / step)
            pull = weight * np.minimum(1, HUBER / np.maximum(np.abs(error), 1e-12)) / NOISE**2
            slope, curve = self.ridge * (found - start), np.diag(self.ridge)
            for one, rows in zip(cells, members, strict=True):
                terms, overall = self._columns(one)
                shares, pulled = share[rows], share[rows] * pull[rows][:, None]
                square, line = pulled.T @ shares, pulled.sum(axis=0)
                levels = len(LEVELS)
                curve[np.ix_(terms, terms)] += np.tile(square, (levels + 1, levels + 1))
                curve[np.ix_(overall, overall)] += pull[rows].sum()
                lines = np.tile(line, levels + 1)
                curve[np.ix_(overall, terms)] += lines
                curve[np.ix_(terms, overall)] += lines[:, None]
                slope[terms] += np.tile(pulled.T @ error[rows], levels + 1)
                slope[overall] += (pull[rows] * error[rows]).sum()
            while damping < 1e9:
                damped = curve + np.diag(np.diag(curve) * damping)
                trial = found - np.linalg.solve(damped, slope)
                reached = loss(trial)
                if reached <= current:
                    break
                damping *= 6
            else:
                break
            gain, found, current, damping = current - reached, trial, reached, max(damping / 6, 1e-6)
            if gain < ENOUGH * current:
                break
        self.values, self.curve = found, curve

    def _places(self, table: Table, chosen: NDArray[np.int64], level: str) -> NDArray[np.int64]:
        """The place of each row's name in a level; -1: not among the rows of the fit."""
        known = {name: place for place, name in enumerate(self.names[level])}
        return np.array([known.get(name, -1) for name in table.labels[level][chosen]], dtype=np.int64)

    def _columns(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Indices of the terms of base and levels, one level after the other, and of the levels' overall deviations."""
        count = len(TERMS)
        terms, overall = [np.arange(count)], []
        for level, place in zip(LEVELS, places, strict=True):
            first = self.start[level.name]
            overall.append(first + place)
            terms.append(first + len(self.names[level.name]) + place * count + np.arange(count))
        return np.concatenate(terms), np.array(overall)

    def _logs(self, values: Array, places: NDArray[np.int64], leave_out: str = "") -> Array:
        """Logs of the inverse efficiencies of a cell."""
        count = len(TERMS)
        logs = values[:count].copy()
        for level, place in zip(LEVELS, places, strict=True):
            if place >= 0 and level.name != leave_out:
                logs += self.deviation(level.name, int(place), values)
        return logs

    def deviation(self, level: str, place: int, values: Array | None = None) -> Array:
        """Logs by which the terms of a level's member deviate, its overall deviation included."""
        values = self.values if values is None else values
        count, first = len(TERMS), self.start[level]
        block = first + len(self.names[level]) + place * count
        return np.asarray(values[first + place] + values[block : block + count])

    def logs(self, table: Table, chosen: NDArray[np.int64], with_cluster: bool) -> Array:
        """Logs of the inverse efficiencies of rows, with or without what is particular to their cluster."""
        places = np.stack([self._places(table, chosen, level.name) for level in LEVELS], axis=1)
        leave_out = "" if with_cluster else CLUSTER
        cells, cell = np.unique(places, axis=0, return_inverse=True)
        logs = np.stack([self._logs(self.values, one, leave_out) for one in cells])
        launches, hiding = TERMS.index("launches"), [TERMS.index(name) for name in HIDING]
        logs[:, launches] = np.minimum(logs[:, launches], logs[:, hiding].min(axis=1))
        return np.asarray(logs[cell.ravel()])

    def parts(self, table: Table, chosen: NDArray[np.int64], with_cluster: bool = False) -> Array:
        """Seconds of each term of rows."""
        return np.asarray(np.exp(self.logs(table, chosen, with_cluster)) * table.seconds[chosen])

    def predict(self, table: Table, chosen: NDArray[np.int64], with_cluster: bool = False) -> Array:
        """Seconds of the steps of rows."""
        return np.asarray(self.parts(table, chosen, with_cluster).sum(axis=1))

    def spread(self) -> Array:
        """Standard deviation of the log of each term's base after the fit: as its prior's where no row says more."""
        return np.asarray(np.sqrt(np.diag(np.linalg.inv(self.curve))[: len(TERMS)]))


def _weights(clusters: Any) -> Array:
    _, place, number = np.unique(clusters, return_inverse=True, return_counts=True)
    weight = number[place].astype(float) ** -POWER
    return np.asarray(weight / weight.sum() * len(number) * ROWS_PER_CLUSTER)

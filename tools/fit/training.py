"""What is fitted of a training step: the terms and their priors, and the measured rows as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import training_rows
from hierarchy import Level, Observations, Problem, columns
from numpy.typing import NDArray
from training_rows import MeasuredStep, UnusedRow

from bomgen.catalog.files import Catalog
from bomgen.sizing.prediction.terms import EXPERTS, HIDDEN, HIDING, Machine, Split, Work, line_rate_terms

CLUSTER, STACK, VERSION = "cluster", "stack", "version"
KINDS = {False: "dense", True: "moe"}
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
    "states": 1.0,
    "weights": 0.8,
    "update": 1.0,
    "launches": 1.0,
    "routing": 1.0,
    "permutation": 1.0,
    "quantisation": 1.0,
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
    "exchange_overlapped": 1.0,
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
DEVIATION = 0.1
"""Standard deviation of the log by which all terms of a member of a level deviate together.

Deviations of each term alone, thousands of them, predicted unseen clusters no better: docs/training.md.
"""
EXPERTS_DEVIATION = 0.2
"""The same of the terms of experts in a version: Megatron-Bridge 26.08 needs a third less than 26.04."""
TOGETHER = {tuple(PRIOR): DEVIATION}
PROBLEM = Problem(
    prior=PRIOR,
    spreads={name: BASE_SPREAD.get(name, OTHER_BASE_SPREAD) for name in PRIOR},
    levels=tuple(
        Level(name, TOGETHER | {EXPERTS: EXPERTS_DEVIATION} if name == VERSION else TOGETHER)
        for name in ("generation", "precision", STACK, VERSION, "model", CLUSTER)
    ),
    cluster=CLUSTER,
    noise=0.05,
    huber=0.03,
    together=10.0,
    enough=1e-5,
    power=0.5,
    hidden=dict.fromkeys(HIDDEN, HIDING),
)


@dataclass(frozen=True)
class Steps(Observations):
    """Measured steps as arrays."""

    moe: NDArray[np.bool_]
    model: NDArray[np.str_]
    source: NDArray[np.str_]


def read() -> tuple[Steps, list[UnusedRow]]:
    """Return the measured steps, and the rows that are left out."""
    rows, left_out = training_rows.read(Catalog())
    return _steps(rows), left_out


def _steps(rows: Sequence[MeasuredStep]) -> Steps:
    work = Work(*columns(row.work for row in rows))
    machine, split = Machine(*columns(row.machine for row in rows)), Split(*columns(row.split for row in rows))
    terms = line_rate_terms(work, machine, split)
    return Steps(
        problem=PROBLEM,
        measured=np.array([row.step for row in rows]),
        seconds=np.stack([np.broadcast_to(np.asarray(term, float), (len(rows),)) for term in terms], axis=1),
        design=np.eye(len(PRIOR)),
        labels={level.name: np.array([getattr(row, level.name) for row in rows]) for level in PROBLEM.levels},
        groups=np.array([row.cluster for row in rows]),
        kinds=np.array([KINDS[row.moe] for row in rows]),
        importance=np.ones(len(rows)),
        years=np.zeros(len(rows)),
        moe=np.array([row.moe for row in rows]),
        model=np.array([row.fields["model"] for row in rows]),
        source=np.array([row.fields["source"] for row in rows]),
    )

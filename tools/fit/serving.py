"""What is fitted of serving: the terms and their priors, and the measured times as sums of them.

A row gives up to four observations: the time per output token, the time to the first token, the time of a whole batch,
and the mean time of a request. Each is a sum of terms of a decode step and of a prompt, some times a scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from hierarchy import Array, Fit, Level, Observations, Problem, Rows, columns, each_term
from numpy.typing import NDArray
from training import KINDS

from bomgen.core.provenance import Formula
from bomgen.sizing.prediction import serving_rows
from bomgen.sizing.prediction.measurements import UnusedRow
from bomgen.sizing.prediction.serving import AGE, BATCH, CONSTANT, drafting_time, tpot_parts, ttft_parts
from bomgen.sizing.prediction.serving_rows import MeasuredServing
from bomgen.sizing.prediction.serving_terms import (
    CONSTANT_S,
    DECODE,
    PROMPT,
    ReplicaSplit,
    ServedWork,
    ServingMachine,
    line_rate_terms,
)

PRIOR: Mapping[str, float] = {
    "weights": 1.3,
    "experts": 1.4,
    "cache": 1.4,
    "arithmetic": 1.4,
    "expert_arithmetic": 1.6,
    "attention": 1.0,
    "layer_starts": 1.0,
    "expert_starts": 1.0,
    "latent_starts": 1.0,
    "linear_starts": 1.0,
    "reduce_starts": 1.0,
    "reduces": 1.5,
    "exchange_starts": 1.0,
    "exchanges": 1.5,
    "exchanges_network": 1.5,
    "requests": 1.0,
    "step": 1.0,
    "prompt_arithmetic": 1.6,
    "prompt_experts": 2.0,
    "prompt_attention": 1.8,
    "prompt_reduces": 1.5,
    "prompt_exchanges": 1.5,
    "prompt_exchanges_network": 1.5,
    "prompt_weights": 1.3,
    "prompt_starts": 1.0,
    "prompt_tokens": 1.0,
    "interleaving": 0.8,
    "burst": 0.1,
    "constant": 1.0,
    "batch": 1.0,
}
SPREADS: Mapping[str, float] = {
    "weights": 0.15,
    "cache": 0.25,
    "arithmetic": 0.3,
    "expert_arithmetic": 0.4,
    "prompt_arithmetic": 0.3,
    "prompt_experts": 0.4,
    "interleaving": 0.5,
    "burst": 1.0,
    "batch": 0.2,
}
FOLDS, SEED = 12, 0
ENOUGH = 5
"""Groups of an engine from which on its intervals have a width of their own."""
FEW = 4
"""Groups with more rows say how much their rows differ."""
DIGITS = 4
OTHER_SPREAD = 0.7
"""Standard deviation of the log of an inverse efficiency around its prior."""
IMPORTANCE = {"tpot": 1.0, "ttft": 0.5, "batch": 0.7, "request": 1.0}
"""Weight of an observation by its kind; times of requests that are the sum of two others have none."""
PROBLEM = Problem(
    prior=PRIOR,
    spreads={name: SPREADS.get(name, OTHER_SPREAD) for name in PRIOR},
    levels=(
        Level("engine", each_term(PRIOR, 0.1, 0.22)),
        Level("generation", each_term(PRIOR, 0.1, 0.2)),
        Level("precision", each_term(PRIOR, 0.05, 0.12)),
        Level("version", {tuple(PRIOR): 0.1}),
        Level("model", each_term(PRIOR, 0.15, 0.15)),
    ),
    noise=0.15,
    huber=0.15,
    together=6.0,
    enough=3e-4,
    power=0.25,
    group_powers=(0.0, 0.5),
)


@dataclass(frozen=True)
class Times(Observations):
    """Measured times of served models as arrays."""

    rows: tuple[MeasuredServing, ...]
    """The row of each observation."""
    kind: NDArray[np.str_]
    """`tpot`, `ttft`, `batch` or `request`."""
    in_flight: Array
    gpus: Array


def read() -> tuple[Times, list[UnusedRow]]:
    """Return the measured times, and the rows that are left out."""
    rows, left_out = serving_rows.read()
    return times(rows), left_out


def times(rows: Sequence[MeasuredServing]) -> Times:
    """Return measured times as arrays."""
    work, machine = ServedWork(*columns(row.work for row in rows)), ServingMachine(*columns(r.machine for r in rows))
    split = ReplicaSplit(*columns(row.split for row in rows))
    terms = line_rate_terms(Formula.plain, work, machine, split)
    output, mixed = np.array([row.output for row in rows]), np.array([float(row.mixed) for row in rows])
    drafting = np.array([drafting_time(row.split.in_flight) if row.drafting else 1.0 for row in rows])
    tpot = {names: part * drafting for names, part in tpot_parts(terms, split, output, mixed)}
    ttft = dict(ttft_parts(terms, split)) | {(CONSTANT,): CONSTANT_S}
    batch = {(name,): getattr(terms, name) * (output - 1) for name in DECODE} | {(CONSTANT,): CONSTANT_S}
    batch |= {(name, BATCH): getattr(terms, name) * split.in_flight / split.ranks for name in PROMPT}
    request = {names: part * (output - 1) for names, part in tpot.items()}
    request |= {names: request.get(names, 0.0) + part for names, part in ttft.items()}
    kinds = {"tpot": tpot, "ttft": ttft, "batch": batch, "request": request}
    designs = sorted({names for parts in kinds.values() for names in parts})
    age = np.exp(AGE * np.array([row.years for row in rows]))
    seconds, chosen = [], []
    for kind, parts in kinds.items():
        places = np.array([place for place, row in enumerate(rows) if getattr(row, kind)])
        whole = np.stack([np.broadcast_to(parts.get(names, 0.0), (len(rows),)) for names in designs], axis=1)
        seconds.append((whole * age[:, None])[places])
        chosen += [(kind, rows[place]) for place in places]
    return Times(
        problem=PROBLEM,
        measured=np.array([getattr(row, kind) for kind, row in chosen]),
        seconds=np.concatenate(seconds),
        design=np.array([[float(name in names) for name in PRIOR] for names in designs]),
        labels={level.name: np.array([getattr(row, level.name) for _, row in chosen]) for level in PROBLEM.levels},
        groups=np.array([f"{kind} {row.group}" for kind, row in chosen]),
        kinds=np.array([f"{kind} {KINDS[row.work.expert_weights > 0]}" for kind, row in chosen]),
        importance=np.array([IMPORTANCE[kind] * (kind != "request" or row.tpot is None) for kind, row in chosen]),
        years=np.zeros(len(chosen)),
        rows=tuple(row for _, row in chosen),
        kind=np.array([kind for kind, _ in chosen]),
        in_flight=np.array([row.split.in_flight for _, row in chosen]),
        gpus=np.array([row.split.width * row.split.ranks for _, row in chosen]),
    )


def by_engine(table: Times) -> Times:
    """Return the times with kinds by engine, of engines with enough groups for a width of their own."""
    kinds = np.array([f"{kind} {row.engine}" for kind, row in zip(table.kinds, table.rows, strict=True)])
    groups = {name: set(table.groups[kinds == name]) for name in sorted(set(kinds))}
    own = [name for name, found in groups.items() if len(found) >= ENOUGH]
    return replace(table, kinds=np.where(np.isin(kinds, own), kinds, table.kinds))


def folds(labels: NDArray[np.str_]) -> list[Rows]:
    """Return rows to leave out together: in each fold some labels, drawn at random."""
    names = sorted(set(labels))
    order = np.random.default_rng(SEED).permutation(len(names))
    return [
        np.flatnonzero(np.isin(labels, [names[place] for place in order[number::FOLDS]])) for number in range(FOLDS)
    ]


def within(table: Times, fit: Fit) -> float:
    """Return the spread of the log of a time that is left where a model was measured on an accelerator."""
    found = np.log(fit.predict(table, np.arange(len(table))) / table.measured)
    own = [found[table.groups == name] for name in sorted(set(table.groups))]
    return round(float(np.median([each.std() for each in own if len(each) > FEW])), DIGITS)

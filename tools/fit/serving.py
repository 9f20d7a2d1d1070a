"""What is fitted of serving: the terms and their priors, and the measured times as sums of them.

A row gives up to four observations: the time per output token, the time to the first token, the time of a whole batch,
and the mean time of a request. Each is a sum of terms of a decode step and of a prompt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import serving_rows
from evaluate import level, quantile
from hierarchy import Array, Fit, Level, Observations, Problem, Rows, columns
from numpy.typing import NDArray
from serving_rows import ACCEPTED, MeasuredServing
from training import KINDS
from training_rows import UnusedRow

from bomgen.sizing.prediction.serving import LEVELS, REQUEST, TPOT, TTFT
from bomgen.sizing.prediction.serving_terms import (
    AT_LEAST_ONE,
    CHUNKED,
    COEFFICIENTS,
    CONSTANT,
    CONSTANT_S,
    DECODE,
    Load,
    Parts,
    ReplicaSplit,
    ServedWork,
    ServingMachine,
    line_rate_terms,
    steps_of_token,
    times_of_load,
)

BATCH = "batch"
PRIOR: Mapping[str, float] = {
    "memory": 1.25,
    "arithmetic": 1.4,
    "expert_arithmetic": 2.0,
    "starts": 1.0,
    "requests": 1.0,
    "reduces": 1.5,
    "prompt_arithmetic": 1.6,
    "prompt_starts": 3.0,
    CONSTANT: 1.0,
}
OTHER_SPREAD, WIDE_SPREAD = 0.7, 1.0
"""Standard deviations of the log of an inverse efficiency, or of its excess over 1, around its prior."""
PROMPTS = ("prompt_arithmetic", "expert_arithmetic", "prompt_starts")
OVERHEAD = ("starts", "requests")
IMPORTANCE = {TPOT: 1.0, TTFT: 0.5, BATCH: 0.7, REQUEST: 1.0}
"""Weight of an observation by its kind; times of requests that are the sum of two others have none."""
PROBLEM = Problem(
    prior=PRIOR,
    spreads=dict.fromkeys(PRIOR, OTHER_SPREAD) | {"prompt_starts": WIDE_SPREAD},
    levels=(
        Level("engine", {("starts",): 0.1, PROMPTS: 0.15, (CONSTANT,): 0.5}),
        Level("generation", {OVERHEAD: 0.15, ("memory",): 0.2, ("arithmetic",): 0.2, PROMPTS: 0.15}),
    ),
    noise=0.15,
    huber=0.15,
    together=3.0,
    enough=3e-4,
    power=0.5,
    at_least_one=frozenset(AT_LEAST_ONE),
    aged=frozenset(PRIOR),
)
FOLDS, SEED = 12, 0
SHRUNK_WIDTH = 4
"""Groups of an engine whose width counts as much as that of all times, which it has without groups."""
SHRUNK_PAIR = 2
"""Rows of a pair whose mean error counts as much as none."""
ENGINES = ("vllm", "sglang", "tensorrt-llm")
"""Engines that a plan may have, for whose times there are intervals."""
COVERAGE = 0.9
WIDTH_POWER = 0.5
"""A row of a group of n rows weighs n to the power of minus this in the width of an interval."""
FEW = 4
"""Groups with more rows say how much their rows differ."""
DIGITS = 4


@dataclass(frozen=True)
class Times(Observations):
    """Measured times of served models as arrays."""

    rows: tuple[MeasuredServing, ...]
    """The row of each observation."""
    kind: NDArray[np.str_]
    """TPOT, TTFT, BATCH or REQUEST."""
    in_flight: Array
    gpus: Array


def read() -> tuple[Times, list[UnusedRow]]:
    """Return the measured times, and the rows that are left out."""
    rows, left_out = serving_rows.read()
    return times(rows), left_out


def times(rows: Sequence[MeasuredServing]) -> Times:
    """Return measured times as arrays."""
    by_kind = _parts(rows)
    designs = sorted({names for parts in by_kind.values() for names in parts})
    seconds, chosen = [], []
    for kind, parts in by_kind.items():
        places = np.array([place for place, row in enumerate(rows) if getattr(row, kind)], dtype=int)
        whole = np.stack([np.broadcast_to(parts[names], (len(rows),)) for names in designs], axis=1)
        seconds.append(whole[places])
        chosen += [(kind, rows[place]) for place in places]
    return Times(
        problem=PROBLEM,
        measured=np.array([getattr(row, kind) for kind, row in chosen]),
        seconds=np.concatenate(seconds),
        design=np.array([[float(name in names) for name in PRIOR] for names in designs]),
        labels={name: np.array([getattr(row, name) for _, row in chosen]) for name in LEVELS},
        groups=np.array([f"{kind} {row.group}" for kind, row in chosen]),
        kinds=np.array([f"{kind} {KINDS[row.work.expert_weights > 0]}" for kind, row in chosen]),
        importance=np.array([IMPORTANCE[kind] * (kind != REQUEST or row.tpot is None) for kind, row in chosen]),
        years=np.array([row.years for _, row in chosen]),
        rows=tuple(row for _, row in chosen),
        kind=np.array([kind for kind, _ in chosen]),
        in_flight=np.array([row.split.in_flight for _, row in chosen]),
        gpus=np.array([row.split.width * row.split.ranks for _, row in chosen]),
    )


def _parts(rows: Sequence[MeasuredServing]) -> dict[str, dict[tuple[str, ...], Array]]:
    """Return the seconds at line rate of each time of all rows, by the coefficients that multiply them.

    Times are linear in the terms, so each term alone gives its part of all times.
    """
    work, machine = ServedWork(*columns(row.work for row in rows)), ServingMachine(*columns(r.machine for r in rows))
    split = ReplicaSplit(*columns(row.split for row in rows))
    drafted, output = split.verified - 1, np.array([row.output for row in rows])
    mixed, apart, waited = np.array([(row.mixed, row.apart, row.waited) for row in rows]).T
    load = Load(output, mixed, steps_of_token(drafted, ACCEPTED * drafted, work.layers), apart, waited)
    none = np.zeros(len(rows))
    parts: dict[str, dict[tuple[str, ...], Array]] = {kind: defaultdict(lambda: none) for kind in IMPORTANCE}

    def add(coefficient: str | None, **seconds: Array) -> None:
        times = times_of_load(Parts(none, none, none, none)._replace(**seconds), work, split, load)
        names = (coefficient,) if coefficient else ()
        for kind in (TPOT, TTFT, BATCH):
            parts[kind][names] = parts[kind][names] + getattr(times, kind)

    for name, seconds in line_rate_terms(work, machine, split)._asdict().items():
        part = "step" if name in DECODE else "chunked" if name in CHUNKED else "prompt"
        add(COEFFICIENTS.get(name), **{part: none + seconds})
    add(CONSTANT, constant=none + CONSTANT_S)
    for names in parts[TPOT]:
        parts[REQUEST][names] = parts[TPOT][names] * (output - 1) + parts[TTFT][names]
    return parts


def folds(labels: NDArray[np.str_]) -> list[Rows]:
    """Return rows to leave out together: in each fold some labels, drawn at random."""
    names = sorted(set(labels))
    order = np.random.default_rng(SEED).permutation(len(names))
    return [
        np.flatnonzero(np.isin(labels, [names[place] for place in order[number::FOLDS]])) for number in range(FOLDS)
    ]


def half_widths(table: Times, predicted: Array, used: NDArray[np.bool_]) -> dict[str, dict[str, float]]:
    """Return the half widths of 90 % intervals, as logs, by time, then by engine and kind of model.

    From the times in `used`, which `predicted` gives without having seen their model. The width of an engine is drawn
    towards that of all engines and kinds: one model of a kind does not say how far off others are.
    """
    errors, engines = np.abs(np.log(predicted / table.measured)), table.labels["engine"]
    used = used & np.isin(engines, ENGINES)
    found: dict[str, dict[str, float]] = {}
    for time in (TPOT, TTFT, REQUEST):
        found[time], (of_all, _) = {}, _width(table, errors, used & (table.kind == time))
        for kind, engine in product(KINDS.values(), ENGINES):
            own, groups = _width(table, errors, used & (table.kinds == f"{time} {kind}") & (engines == engine))
            width = (groups * own + SHRUNK_WIDTH * of_all) / (groups + SHRUNK_WIDTH)
            found[time][f"{engine} {kind}"] = round(width, DIGITS)
    return found


def _width(table: Times, errors: Array, used: NDArray[np.bool_]) -> tuple[float, int]:
    groups = table.groups[used]
    count = len(set(groups))
    return (quantile(errors[used], groups, level(COVERAGE, count), WIDTH_POWER), count) if count else (0.0, 0)


def covered(table: Times, predicted: Array) -> NDArray[np.bool_]:
    """Return whether each time is in its 90 % interval, whose width knows nothing of its model."""
    inside = np.zeros(len(table), dtype=bool)
    models = np.array([row.model for row in table.rows])
    for model in sorted(set(models)):
        widths, own = half_widths(table, predicted, models != model), models == model
        for place in np.flatnonzero(own & (table.kind != BATCH) & np.isin(table.labels["engine"], ENGINES)):
            time, kind = table.kinds[place].split()
            width = widths[time][f"{table.labels['engine'][place]} {kind}"]
            inside[place] = abs(np.log(predicted[place] / table.measured[place])) <= width
    return inside


def rows_by_accelerator(table: Times) -> dict[str, dict[str, dict[str, int]]]:
    """Return the rows of each accelerator and kind of model, and how many models they are of."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    rows = {row.number: row for row in table.rows}.values()
    for gpu in sorted({row.gpu for row in rows}):
        found[gpu] = {}
        for moe, kind in KINDS.items():
            models = [row.model for row in rows if row.gpu == gpu and (row.work.expert_weights > 0) == moe]
            if models:
                found[gpu][kind] = {"rows": len(models), "models": len(set(models))}
    return found


def pairs(table: Times, predicted: Array) -> dict[str, dict[str, float]]:
    """Return the mean log of measured over predicted times by model, accelerator, engine and format, and by time.

    A mean of few rows is drawn towards none.
    """
    errors, found = np.log(table.measured / predicted), defaultdict[str, dict[str, float]](dict)
    for name in sorted(set(table.groups.tolist())):
        own = errors[table.groups == name]
        time, _, pair = name.partition(" ")
        if time != BATCH:
            found[pair][time] = round(float(own.sum() / (len(own) + SHRUNK_PAIR)), DIGITS)
    return dict(sorted(found.items()))


def within(table: Times, fit: Fit) -> float:
    """Return the spread of the log of a time that is left where a model was measured on an accelerator."""
    found = np.log(fit.predict(table, np.arange(len(table))) / table.measured)
    own = [found[table.groups == name] for name in sorted(set(table.groups))]
    return round(float(np.median([each.std() for each in own if len(each) > FEW])), DIGITS)

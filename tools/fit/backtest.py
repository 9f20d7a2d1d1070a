"""Whether the split that is chosen and the number that is bought would have been right, on measured sweeps.

A sweep is the rows of a model, an accelerator, an engine, a format, lengths and a split at several numbers of requests
in flight. Its capacity at a target is the output tokens/s per GPU at which the time per output token reaches it. The
predicted capacity rests on a fit that has not seen the model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import serving
from hierarchy import Array, Fit
from serving import Times
from serving_rows import MeasuredServing
from training import KINDS

from bomgen.catalog.files import Catalog
from bomgen.sizing.prediction.serving import REQUEST, TPOT

TARGETS_S = (0.010, 0.015, 0.020, 0.030, 0.050)
LOADS = np.geomspace(1, 4096, 49)
COMPARED = ("engine_version", "prompt", "output", "speculative")
"""Columns that are equal in the rows of a sweep, besides model, accelerator, engine and format."""
FEWEST_ROWS = 3
"""Numbers of requests in flight that a sweep has at least."""
MARGINS = {"dense": "inference-margin-dense", "moe": "inference-margin-mixture"}
QUANTILES = (0.1, 0.5, 0.9)


class Capacity(NamedTuple):
    """The capacity of a split at a target, in output tokens/s per GPU."""

    question: str
    """Model, accelerator, engine, format, lengths and target, which several splits answer."""
    kind: str
    """dense or moe."""
    measured: float
    predicted: float


def page(table: Times) -> Iterator[str]:
    """Yield the lines of the section on the choice of a split and on the number."""
    found = list(capacities(table))
    yield "\n## Choice and number, model left out\n"
    yield (
        f"{len(found)} targets for the time per output token, of {len(_sweeps(table))} sweeps over the requests in "
        "flight. Measured over predicted capacity: 10th percentile / median / 90th percentile. Bought is the predicted "
        "need with the margin; the last column is how much that is of the measured need, in the median.\n"
    )
    yield "| | targets | measured over predicted capacity | margin | bought is enough | bought over needed |"
    yield f"|{'---|' * 6}"
    ratios = np.array([each.measured / each.predicted for each in found])
    kinds = np.array([each.kind for each in found])
    factors = np.array([1 + float(Catalog().assumption(MARGINS[each.kind]).value) for each in found])
    for name, used in (*((kind, kinds == kind) for kind in MARGINS), ("all", kinds != "")):
        spread = " / ".join(f"{value:.2f}" for value in np.quantile(ratios[used], QUANTILES))
        margin = "" if name == "all" else f"{factors[used][0] - 1:.0%}"
        enough, bought = (ratios * factors >= 1)[used].mean(), np.median((ratios * factors)[used])
        yield f"| {name} | {used.sum()} | {spread} | {margin} | {enough:.0%} | {bought:.2f} |"
    choices = defaultdict[str, list[Capacity]](list)
    for each in found:
        choices[each.question].append(each)
    several = [options for options in choices.values() if len(options) > 1]
    chosen = [max(options, key=lambda option: option.predicted) for options in several]
    best = [max(option.measured for option in options) for options in several]
    reached = np.array([option.measured / most for option, most in zip(chosen, best, strict=True)])
    yield (
        f"\nOf {len(several)} questions that several measured splits answer, the split with the largest predicted "
        f"capacity is the best one in {(reached == 1).mean():.0%}, and has {reached.mean():.0%} of the best capacity "
        "in the mean."
    )


def capacities(table: Times) -> Iterator[Capacity]:
    """Yield the measured and the predicted capacity of each sweep at each target that it reaches."""
    models = np.array([row.model for row in table.rows])
    sweeps = _sweeps(table)
    for model in sorted({rows[0].model for rows in sweeps}):
        fit = Fit(table, np.flatnonzero(models != model))
        for rows in (rows for rows in sweeps if rows[0].model == model):
            tpot, request = _predict(fit, rows[0])
            predicted = LOADS * rows[0].output / request / _gpus(rows[0])
            for target in TARGETS_S:
                measured = _at(target, [row.tpot or 0.0 for row in rows], [_rate(row) for row in rows])
                if measured is not None and (capacity := _at(target, tpot, predicted)) is not None:
                    kind = KINDS[rows[0].work.expert_weights > 0]
                    yield Capacity(f"{_question(rows[0])} {target}", kind, measured, capacity)


def _sweeps(table: Times) -> list[list[MeasuredServing]]:
    sweeps = defaultdict[str, dict[float, MeasuredServing]](dict)
    for row, kind in zip(table.rows, table.kind, strict=True):
        if kind == TPOT and row.request and row.mixed:
            split = row.split._replace(in_flight=0.0)
            sweeps[f"{_question(row)} {split}"][row.split.in_flight] = row
    return [[rows[load] for load in sorted(rows)] for rows in sweeps.values() if len(rows) >= FEWEST_ROWS]


def _question(row: MeasuredServing) -> str:
    source, _, _ = row.fields["source"].partition("-")
    return " ".join((row.group, source, *(row.fields[key] for key in COMPARED)))


def _predict(fit: Fit, row: MeasuredServing) -> tuple[Array, Array]:
    """Return the predicted times per output token and of requests at all loads."""
    loaded = [
        row._replace(split=row.split._replace(in_flight=load), tpot=1.0, ttft=None, batch=None, request=1.0)
        for load in LOADS.tolist()
    ]
    asked = serving.times(loaded)
    found = fit.predict(asked, np.arange(len(asked)))
    return found[asked.kind == TPOT], found[asked.kind == REQUEST]


def _rate(row: MeasuredServing) -> float:
    return row.split.in_flight * row.output / (row.request or 1.0) / _gpus(row)


def _gpus(row: MeasuredServing) -> float:
    return row.split.width * row.split.ranks * row.split.pipeline


def _at(target: float, tpot: Sequence[float] | Array, rates: Sequence[float] | Array) -> float | None:
    """Return the rate at which the time per output token reaches a target; None: it does not."""
    times = np.maximum.accumulate(np.asarray(tpot))
    if not times[0] <= target <= times[-1]:
        return None
    return float(np.exp(np.interp(np.log(target), np.log(times), np.log(rates))))

"""Fit the terms of training steps and of serving to measured rows, and write what predictions read: `make fit`."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any

import numpy as np
import serving
import serving_rows
import training
from evaluate import (
    by_label,
    errors,
    everything,
    mean_of_clusters,
    predict_unseen,
    quantile,
    widths,
)
from hierarchy import Array, Fit
from training import CLUSTER, KINDS, STACK, VERSION, Steps

from bomgen.core.resources import folder
from bomgen.sizing.prediction import coefficients as predicted
from bomgen.sizing.prediction import serving as predicted_serving
from bomgen.sizing.prediction.terms import EXPERTS

DIGITS = 4
ERROR_DIGITS = 3
"""Of mean errors, as docs/accuracy.md prints them."""
PRIOR_SHARE = 0.8
"""A term whose spread is still this share of its prior's rests on the prior."""
LEVELS = ("generation", "precision", "model")
"""Levels of which a run may have no rows."""
WIDE = 90
"""Percent of the rows that the spread within clusters is chosen to hold."""


def main() -> None:
    """Write the files of the fits."""
    write(predicted.FIT, fit_training())
    write(predicted.SERVING_FIT, fit_serving())


def write(name: str, content: dict[str, Any]) -> None:
    """Write a file of a fit."""
    path = folder("data") / "measured" / name
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: {content['rows']} rows, {content['left_out']} left out")


def fit_training() -> dict[str, Any]:
    """What the prediction reads of the fit to training steps."""
    table, left_out = training.read()
    fit = Fit(table, everything(table))
    clusters, stacks_apart = (predict_unseen(table, by_label(table.labels[level])) for level in (CLUSTER, STACK))
    return {
        "rows_sha256": digest(predicted.ROWS),
        "facts_sha256": digest(predicted.FACTS),
        "rows": len(table),
        "left_out": len(left_out),
        **coefficients(fit),
        **{name: deviations(fit, name) for name in LEVELS},
        "stack": stacks(table, fit),
        "experts": experts(fit),
        "measured": measured(table, clusters),
        "widths": rounded_factors(widths(table, clusters, stacks_apart)),
        "within": within(table, clusters),
    }


def fit_serving() -> dict[str, Any]:
    """What the prediction reads of the fit to measured serving."""
    table, left_out = serving.read()
    fit = Fit(table, everything(table))
    models = np.array([row.model for row in table.rows])
    unseen = predict_unseen(table, by_label(models))
    return {
        "rows_sha256": digest(serving_rows.ROWS),
        "facts_sha256": digest(predicted.SERVING_FACTS),
        "rows": len({row.number for row in table.rows}),
        "left_out": len(left_out),
        **coefficients(fit),
        "age": round(float(fit.values[fit.age]), DIGITS),
        **{name: members(fit, name) for name in predicted_serving.LEVELS},
        "measured": serving.rows_by_accelerator(table),
        "pairs": serving.pairs(table, fit.predict(table, everything(table))),
        "widths": serving.half_widths(table, unseen, np.ones(len(table), dtype=bool)),
        "within": serving.within(table, fit),
    }


def coefficients(fit: Fit) -> dict[str, Any]:
    """Terms and scales with their priors, those that rest on them, and the logs that were found."""
    problem, spread = fit.problem, fit.spread()
    before = problem.base_spreads()
    return {
        "terms": list(problem.names),
        "priors": [
            name for name, of, prior in zip(problem.names, spread, before, strict=True) if of > PRIOR_SHARE * prior
        ],
        "base": rounded(fit.values[: len(problem.names)]),
    }


def within(table: Steps, steps: Array) -> dict[str, float]:
    """Half the log width that holds 90 % of the rows around the mean deviation of their cluster, by kind of model."""
    logs, clusters, found = np.log(steps / table.measured), table.labels[CLUSTER], {}
    for moe, kind in KINDS.items():
        around = np.full(len(table), np.nan)
        for rows_of in by_label(clusters):
            own = rows_of[table.moe[rows_of] == moe]
            if len(own) > 1:
                around[own] = np.abs(logs[own] - logs[own].mean())
        used = ~np.isnan(around)
        found[kind] = round(quantile(around[used], clusters[used], WIDE / 100), DIGITS)
    return found


def digest(name: str) -> str:
    """SHA-256 of a file of the measurements."""
    return hashlib.sha256(predicted.file(name)).hexdigest()


def rounded(values: Array) -> list[float]:
    """Values with as many digits as the file keeps."""
    return [round(float(value), DIGITS) for value in values]


def members(fit: Fit, level: str) -> dict[str, list[float]]:
    """Logs by which the terms of each member of a level deviate."""
    return {str(name): rounded(fit.deviation(level, place)) for place, name in enumerate(fit.names[level])}


def deviations(fit: Fit, level: str) -> dict[str, float]:
    """Log by which the terms of each member of a level deviate together."""
    return {name: round(float(fit.deviation(level, place)[0]), DIGITS) for place, name in enumerate(fit.names[level])}


def experts(fit: Fit) -> dict[str, float]:
    """Log by which the terms of experts deviate in each version of a stack, besides all terms."""
    at, found = fit.problem.names.index(EXPERTS[0]), {}
    for place, version in enumerate(fit.names[VERSION]):
        deviation = fit.deviation(VERSION, place)
        found[version] = round(float(deviation[at] - deviation[0]), DIGITS)
    return found


def stacks(table: Steps, fit: Fit) -> dict[str, float]:
    """The same of each stack, and of each version of a stack with its stack's."""
    found, of_versions = deviations(fit, STACK), deviations(fit, VERSION)
    names = sorted(set(zip(table.labels[STACK], table.labels[VERSION], strict=True)))
    together = {str(version): round(found[stack] + of_versions[version], DIGITS) for stack, version in names}
    return found | together


def measured(table: Steps, steps: Array) -> dict[str, Any]:
    """The rows of each generation and kind of model, their mean error with the cluster left out, and their stacks.

    The rows of a stack include those of its versions, which are also counted alone.
    """
    generations, off = table.labels["generation"], errors(table, steps)
    found: dict[str, Any] = {}
    for generation in sorted(set(generations)):
        found[str(generation)] = of_kind = {}
        for moe, kind in KINDS.items():
            used = (generations == generation) & (table.moe == moe)
            if used.any():
                counts = (Counter(map(str, table.labels[level][used])) for level in ("version", "stack"))
                of_kind[kind] = {
                    "rows": int(used.sum()),
                    "error": round(mean_of_clusters(table, off, used), ERROR_DIGITS),
                    "stacks": {name: rows for of_level in counts for name, rows in sorted(of_level.items())},
                }
    return found


def rounded_factors(found: dict[str, dict[int, float]]) -> dict[str, dict[str, float]]:
    """Factors as the file keeps them."""
    return {kind: {str(at): round(value, DIGITS) for at, value in each.items()} for kind, each in found.items()}


if __name__ == "__main__":
    main()

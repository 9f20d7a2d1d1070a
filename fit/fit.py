"""Fit the terms of a training step to the measured rows, and write what the prediction reads: `make fit`."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from evaluate import KINDS, by_label, everything, factors, leave_out, quantile
from hierarchy import BASE_SPREAD, CLUSTER, LEVELS, NOISE, OTHER_BASE_SPREAD, PRIOR, TERMS, Array, Fit, Table

from bomgen.catalog.files import Catalog
from bomgen.core.resources import folder
from bomgen.sizing.prediction import measurements
from bomgen.sizing.prediction.predict import FILE

DIGITS = 4
PRIOR_SHARE = 0.8
"""A term whose spread is still this share of its prior's rests on the prior."""
WIDE = 90
"""Percent of the rows that the spread within clusters is chosen to hold."""


def main() -> None:
    """Write the file of the fit."""
    read, left_out = measurements.read(Catalog())
    table = Table(read)
    fit = Fit(table, everything(table))
    steps, spreads = leave_out(table, by_label(table.labels[CLUSTER]))
    path = folder("data") / "measured" / FILE
    wide = factors(table, steps, spreads)
    content = fitted(table, fit, len(left_out)) | {
        "factors": rounded_factors(wide),
        "within": within(table, steps, wide),
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: {len(table)} rows, {len(left_out)} left out")


def fitted(table: Table, fit: Fit, left_out: int) -> dict[str, Any]:
    """What the prediction reads of a fit, without the factors of its intervals."""
    base_spread = np.array([BASE_SPREAD.get(name, OTHER_BASE_SPREAD) for name in TERMS])
    spread, deviations = fit.spread(), {level.name: level for level in LEVELS}
    cluster = deviations[CLUSTER]
    return {
        "rows_sha256": digest(measurements.ROWS),
        "facts_sha256": digest(measurements.FACTS),
        "rows": len(table),
        "left_out": left_out,
        "terms": list(TERMS),
        "prior": [PRIOR[name] for name in TERMS],
        "priors": [
            name for name, of, before in zip(TERMS, spread, base_spread, strict=True) if of > PRIOR_SHARE * before
        ],
        "base": rounded(fit.values[: len(TERMS)]),
        "generation": members(fit, "generation"),
        "precision": members(fit, "precision"),
        "stack": stacks(table, fit),
        "stacks_of_generation": stacks_of_generation(table),
        "spread": {
            "overall": round(float(np.hypot(NOISE, cluster.overall)), DIGITS),
            "terms": rounded(np.hypot(spread, cluster.spreads())),
            "unseen": {
                name: {"overall": deviations[name].overall, "terms": rounded(deviations[name].spreads())}
                for name in ("generation", "precision")
            },
        },
    }


def within(table: Table, steps: Array, wide: dict[str, dict[int, float]]) -> dict[str, float]:
    """The spread that is left of a cluster once its mean deviation is known, by kind of model.

    So many spreads as an interval of 90 % is wide hold 90 % of the rows around the mean of their cluster.
    """
    logs, clusters, found = np.log(steps / table.step), table.labels[CLUSTER], {}
    for moe, kind in KINDS.items():
        around = np.full(len(table), np.nan)
        for rows_of in by_label(clusters):
            own = rows_of[table.moe[rows_of] == moe]
            if len(own) > 1:
                around[own] = np.abs(logs[own] - logs[own].mean())
        used = ~np.isnan(around)
        found[kind] = round(quantile(around[used], clusters[used], WIDE / 100) / wide[kind][WIDE], DIGITS)
    return found


def digest(name: str) -> str:
    """SHA-256 of a file of the measurements."""
    return hashlib.sha256(measurements.file(name)).hexdigest()


def rounded(values: Array) -> list[float]:
    """Values with as many digits as the file keeps."""
    return [round(float(value), DIGITS) for value in values]


def members(fit: Fit, level: str) -> dict[str, list[float]]:
    """Logs by which the terms of each member of a level deviate."""
    return {name: rounded(fit.deviation(level, place)) for place, name in enumerate(fit.names[level])}


def stacks(table: Table, fit: Fit) -> dict[str, list[float]]:
    """The same of each stack, and of each version of a stack with its stack's."""
    found = members(fit, "stack")
    names = sorted(set(zip(table.labels["stack"], table.labels["version"], strict=True)))
    for stack, version in names:
        place = fit.names["version"].index(version)
        both = fit.deviation("stack", fit.names["stack"].index(stack)) + fit.deviation("version", place)
        found[str(version)] = rounded(both)
    return found


def stacks_of_generation(table: Table) -> dict[str, list[str]]:
    """The stacks with rows of each generation."""
    pairs = set(zip(table.labels["generation"], table.labels["stack"], strict=True))
    return {
        str(name): sorted(str(stack) for of, stack in pairs if of == name) for name in sorted({of for of, _ in pairs})
    }


def rounded_factors(found: dict[str, dict[int, float]]) -> dict[str, dict[str, float]]:
    """Factors as the file keeps them."""
    return {kind: {str(at): round(value, DIGITS) for at, value in each.items()} for kind, each in found.items()}


if __name__ == "__main__":
    main()

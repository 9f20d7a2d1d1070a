"""How far steps of clusters are off that the fit has not seen, and how many are predicted a second, for comparisons.

`unseen.py FILE CLUSTERS...`: clusters that are joined by commas are left out of the fit together; the result goes to
FILE as JSON.
"""

from __future__ import annotations

import json
import sys
from itertools import repeat
from pathlib import Path
from time import perf_counter

import numpy as np
from evaluate import everything
from hierarchy import Fit
from training import CLUSTER, Steps, read

from bomgen.sizing.prediction.coefficients import Members, inverse_efficiencies
from bomgen.sizing.prediction.predict import predict_steps

TIMES = 100
"""Repetitions of which the shortest counts."""


def main(path: Path, groups: list[list[str]]) -> None:
    """Write the errors, and the steps a second."""
    table, _ = read()
    clusters, found = table.labels[CLUSTER], {}
    for group in groups:
        left_out = np.isin(clusters, group)
        fit = Fit(table, np.flatnonzero(~left_out))
        steps = fit.predict(table, everything(table))
        for name in group:
            off = np.abs(steps / table.measured - 1)[clusters == name]
            found[f"error of {name}"] = round(float(off.mean()), 4)
    found["steps/s"] = round(len(table) / min(seconds(table) for _ in repeat(None, TIMES)))
    path.write_text(json.dumps(found), encoding="utf-8")


def seconds(table: Steps) -> float:
    """The time in which all rows are predicted, as arrays."""
    inverse = inverse_efficiencies(Members("ampere", "16-bit", "megatron-lm", "dense"))
    start = perf_counter()
    predict_steps(table.work, table.machine, table.split, inverse)
    return perf_counter() - start


if __name__ == "__main__":
    main(Path(sys.argv[1]), [each.split(",") for each in sys.argv[2:]])

"""Write the evidence of the prediction of serving: how far it is off, and how often its intervals hold.

Every number comes from fits that have not seen what they predict, except the columns called in-sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import backtest
import evidence
import numpy as np
import serving
from evaluate import by_label, errors, everything, predict_unseen
from hierarchy import Array, Fit
from numpy.typing import NDArray
from serving import BATCH, Times
from training import KINDS as KINDS_OF_MODELS
from training_rows import UnusedRow

from bomgen.sizing.prediction.coefficients import SERVING_FIT, load
from bomgen.sizing.prediction.serving import REQUEST, TPOT, TTFT

SHOWN = ("By what the fit has not seen", "Choice and number, model left out")
"""Sections of the page; all of them are in the CSV file."""
KINDS = {TPOT: "TPOT", TTFT: "TTFT", REQUEST: "throughput", BATCH: "batches"}
BANDS = ((0, 8), (8, 32), (32, 128), (128, np.inf))
SMALL = 30
"""Groups with fewer rows are not judged by themselves."""

Mask = NDArray[np.bool_]


def main() -> None:
    """Write the evidence."""
    evidence.write("serving", page(*serving.read()), SHOWN)


def page(table: Times, left_out: Sequence[UnusedRow]) -> Iterator[str]:
    """The lines of the page."""
    labels = {
        "a model": np.array([row.model for row in table.rows]),
        "an accelerator": np.array([row.gpu for row in table.rows]),
        "an engine": np.array([row.engine for row in table.rows]),
        "a year of the software": np.array([(row.fields["date"] or "undated")[:4] for row in table.rows]),
    }
    unseen = {f"{name} left out": predict_unseen(table, by_label(of)) for name, of in labels.items()}
    together = np.array([f"{row.model} {row.gpu}" for row in table.rows])
    unseen["model and accelerator left out together"] = predict_unseen(table, serving.folds(together))
    numbers = np.array([str(row.number) for row in table.rows])
    unseen["single rows left out"] = _left_out_with_pairs(table, numbers)
    seen = Fit(table, everything(table)).predict(table, everything(table))
    columns = {name: _errors(table, of) for name, of in {"in-sample": seen, **unseen}.items()}
    whole = columns["in-sample"]
    rows = len({row.number for row in table.rows})

    yield (
        f"{rows} measured rows give {len(table)} times; {len(left_out)} rows are left out. Errors are absolute and "
        "relative to the measured number: median / 90th percentile. Throughput is tokens/s, computed from TTFT and "
        "TPOT where both were measured. In cross-validation by row, a prediction is corrected by the deviation of the "
        "other rows of the same model, accelerator, engine and format. Batches are static: all requests of a batch "
        "start together.\n"
    )
    yield "## By what the fit has not seen\n"
    yield f"| | {' | '.join(KINDS.values())} |\n|---|{'---|' * len(KINDS)}"
    for name, found in columns.items():
        cells = (_median_and_most(found, table.kind == kind) for kind in KINDS)
        yield f"| {name} | {' | '.join(cells)} |"
    for title, groups in (
        ("By requests in flight", _bands(table)),
        ("By GPUs of a replica", {f"{size:g}": table.gpus == size for size in sorted(set(table.gpus))}),
        ("By engine", {name: labels["an engine"] == name for name in sorted(set(labels["an engine"]))}),
        ("By accelerator", {name: labels["an accelerator"] == name for name in sorted(set(labels["an accelerator"]))}),
        ("By model", {name: labels["a model"] == name for name in sorted(set(labels["a model"]))}),
    ):
        yield f"\n## {title}\n"
        heads = [f"{KINDS[kind]}, {what}" for kind in KINDS for what in ("in-sample", "model left out")]
        yield f"| | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}"
        for name, used in groups.items():
            cells = [
                _median_and_most(found, used & (table.kind == kind))
                for kind in KINDS
                for found in (whole, columns["a model left out"])
            ]
            yield f"| {name} | {' | '.join(cells)} |"
    yield from intervals(table, unseen["a model left out"], labels["an engine"])
    yield from backtest.page(table)
    yield "\n## Rows left out\n"
    yield "| model | rows | why |\n|---|---|---|"
    counted = Counter((each.fields["model"], each.reason) for each in left_out)
    for (model, why), number in sorted(counted.items()):
        yield f"| {model} | {number} | {why} |"


def _errors(table: Times, times: Array) -> Array:
    """Return absolute relative errors: of times, and of the throughput of requests, which is the inverse of a time."""
    return np.where(table.kind == REQUEST, np.abs(table.measured / times - 1), errors(table, times))


def _left_out_with_pairs(table: Times, numbers: NDArray[np.str_]) -> Array:
    """Return times with single rows left out, corrected by the others of their model and accelerator."""
    found = np.full(len(table), np.nan)
    for rows in serving.folds(numbers):
        others = np.setdiff1d(everything(table), rows)
        fit = Fit(table, others)
        errors_of_others = np.log(table.measured[others] / fit.predict(table, others))
        predicted_times = fit.predict(table, rows)
        for place, group in enumerate(table.groups[rows]):
            own = errors_of_others[table.groups[others] == group]
            predicted_times[place] *= np.exp(own.sum() / (len(own) + serving.SHRUNK_PAIR))
        found[rows] = predicted_times
    return found


def intervals(table: Times, predicted_times: Array, engines: NDArray[np.str_]) -> Iterator[str]:
    """How many times lie in their 90 % interval, whose width and centre know nothing of the model."""
    inside = serving.covered(table, predicted_times)
    groups: dict[str, Mask] = {"all": np.isin(engines, serving.ENGINES)}
    for engine in serving.ENGINES:
        for kind in KINDS_OF_MODELS.values():
            groups[f"{engine} {kind}"] = (engines == engine) & np.char.endswith(table.kinds, kind)
    times = (TPOT, TTFT, REQUEST)
    yield "\n## Times held by their 90 % interval, model left out\n"
    yield f"| | {' | '.join(KINDS[time] for time in times)} | half width |\n|---|{'---|' * 4}"
    for name, used in groups.items():
        masks = [used & (table.kind == time) for time in times]
        cells = [f"{inside[mask].mean():.0%} of {mask.sum()}" if mask.sum() >= SMALL else "" for mask in masks]
        widths = [load(SERVING_FIT)["widths"][time].get(name) for time in times]
        factors = " / ".join(f"{np.exp(width):.2f}" for width in widths if width)
        if any(cells):
            yield f"| {name} | {' | '.join(cells)} | {factors} |"


def _bands(table: Times) -> dict[str, Mask]:
    found = {}
    for low, high in BANDS:
        name = f"up to {high:g}" if np.isfinite(high) else f"above {low:g}"
        found[name] = (table.in_flight > low) & (table.in_flight <= high)
    return found


def _median_and_most(found: Array, used: Mask) -> str:
    known = found[used & ~np.isnan(found)]
    if not len(known):
        return ""
    return f"{np.median(known):.1%} / {np.quantile(known, 0.9):.0%} ({len(known)})"


if __name__ == "__main__":
    main()

"""Write docs/serving-accuracy.md: how far the prediction of serving is off, and how often its intervals hold.

Every number comes from fits that have not seen what they predict, except the columns called in-sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import serving
from evaluate import by_label, covered, errors, everything, leave_out
from hierarchy import Array, Fit
from numpy.typing import NDArray
from serving import PRIOR, Times

from bomgen.sizing.prediction import serving as predicted
from bomgen.sizing.prediction.measurements import UnusedRow

PAGE = Path(__file__).parents[2] / "docs" / "serving-accuracy.md"
KINDS = {"tpot": "TPOT", "ttft": "TTFT", "request": "throughput", "batch": "batches"}
BANDS = ((0, 8), (8, 32), (32, 128), (128, np.inf))
SMALL = 30
"""Groups with fewer rows are not judged by themselves."""

Mask = NDArray[np.bool_]


def main() -> None:
    """Write the page."""
    table, left_out = serving.read()
    PAGE.write_text("\n".join(page(table, left_out)) + "\n", encoding="utf-8")
    print(PAGE)


def page(table: Times, left_out: Sequence[UnusedRow]) -> Iterator[str]:
    """The lines of the page."""
    labels = {
        "a model": np.array([row.model for row in table.rows]),
        "an accelerator": np.array([row.gpu for row in table.rows]),
        "an engine": np.array([row.engine for row in table.rows]),
        "a year of the software": np.array([(row.fields["date"] or "undated")[:4] for row in table.rows]),
    }
    whole = errors(table, Fit(table, everything(table)).predict(table, everything(table)))
    apart = {name: leave_out(table, by_label(of)) for name, of in labels.items()}
    together = np.array([f"{row.model} {row.gpu}" for row in table.rows])
    pairs = leave_out(table, serving.folds(together))
    rows_apart = leave_out(table, serving.folds(np.array([str(row.number) for row in table.rows])))
    columns = {"in-sample": whole, **{f"{name} left out": errors(table, each[0]) for name, each in apart.items()}}
    columns["model and accelerator left out together"] = errors(table, pairs[0])
    columns["single rows left out"] = errors(table, rows_apart[0])
    rows = len({row.number for row in table.rows})

    yield "<!-- written by `make accuracy` -->\n# Accuracy of predicted serving\n"
    yield (
        f"{rows} measured rows give {len(table)} times; {len(left_out)} rows are left out. Errors are absolute and "
        "relative to the measured time: median / 90th percentile. Throughput is the time of a whole request, computed "
        "from TTFT and TPOT where both were measured. Batches are static: all requests of a batch start together. How "
        "the prediction works: [Serving](serving.md)\n"
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
    yield from intervals(
        table, {"model left out": apart["a model"], "model and accelerator": pairs, "single rows": rows_apart}, labels
    )
    yield from coefficients()
    yield "\n## Rows left out\n"
    yield "| model | rows | why |\n|---|---|---|"
    counted = Counter((each.fields["model"], each.reason) for each in left_out)
    for (model, why), number in sorted(counted.items()):
        yield f"| {model} | {number} | {why} |"


def intervals(
    table: Times, found: dict[str, tuple[Array, Array]], labels: dict[str, NDArray[np.str_]]
) -> Iterator[str]:
    """How many times lie in their 90 % interval, whose width comes from the other groups."""
    apart = serving.by_engine(table)
    inside = {name: covered(apart, each, coverage=90).astype(float) for name, each in found.items()}
    moe = np.array([row.work.expert_weights > 0 for row in table.rows])
    groups: dict[str, Mask] = {"all": np.ones(len(table), dtype=bool)}
    for engine in sorted(set(labels["an engine"])):
        for kind, used in (("dense", ~moe), ("mixtures", moe)):
            groups[f"{engine}, {kind}"] = (labels["an engine"] == engine) & used
    yield "\n## Times held by their 90 % interval\n"
    heads = [f"{KINDS[kind]}, {name}" for name in found for kind in KINDS]
    yield f"| | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}"
    for name, used in groups.items():
        cells = []
        for held in inside.values():
            for kind in KINDS:
                mask = used & (table.kind == kind)
                cells.append(f"{held[mask].mean():.0%} of {mask.sum()}" if mask.sum() >= SMALL else "")
        if any(cells):
            yield f"| {name} | {' | '.join(cells)} |"


def coefficients() -> Iterator[str]:
    """The inverse efficiencies and scales that `make fit` found, of an average model, engine and accelerator."""
    found = predicted.fit()
    yield "\n## Fitted inverse efficiencies\n"
    yield (
        f"Of {found['rows']} rows, SHA-256 of the file {found['rows_sha256']}. Seconds of a term are the seconds at "
        "line rate times this number, and those of the engine, the generation, the precision and the model. A term "
        "marked as a prior keeps more than 80 % of the spread that it had before any row was seen: the data do not "
        "identify it.\n"
    )
    yield "| term | prior | found | |\n|---|---|---|---|"
    for name, prior, log in zip(PRIOR, found["prior"], found["base"], strict=True):
        yield f"| {name} | {prior:g} | {np.exp(log):.3g} | {'prior' if name in found['priors'] else 'fitted'} |"
    yield f"\nAll numbers: `bomgen/data/measured/{predicted.FILE}`, as logs."


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

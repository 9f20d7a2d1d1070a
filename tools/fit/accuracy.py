"""Write the evidence of the prediction of training time: how far it is off, and how often its intervals hold.

Every number comes from fits that have not seen what they predict, except the columns called in-sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import evidence
import numpy as np
from evaluate import COVERAGES, by_label, errors, everything, held, mean_of_clusters, predict_unseen, widths
from hierarchy import Array, Fit
from numpy.typing import NDArray
from training import CLUSTER, KINDS, PRIOR, STACK, Steps, read
from training_rows import UnusedRow

from bomgen.sizing.prediction.coefficients import FIT, Members, inverse_efficiencies, load, newest_stack

SHOWN = ("By generation",)
"""Sections of the page; all of them are in the CSV file."""
VTRAIN = "vtrain-multi"
VTRAIN_ALL = ("vtrain-multi", "vtrain-single")
UNTUNED = "selene-2021-zero3"
FOLDS = 10
SEED = 0
FEW = 8
"""Clusters with at least so many rows are to be held by their intervals in most rows."""

Mask = NDArray[np.bool_]


def main() -> None:
    """Write the evidence."""
    evidence.write("training", page(*read()), SHOWN)


def page(table: Steps, left_out: Sequence[UnusedRow]) -> Iterator[str]:
    """The lines of the page."""
    everyone = np.ones(len(table), dtype=bool)
    whole = errors(table, Fit(table, everything(table)).predict(table, everything(table)))
    clusters, stacks, models = (
        predict_unseen(table, by_label(labels)) for labels in (table.labels[CLUSTER], table.labels[STACK], table.model)
    )
    apart, of_stacks, of_models = (errors(table, steps) for steps in (clusters, stacks, models))
    half, most = (held(table, clusters, stacks, coverage=coverage).astype(float) for coverage in COVERAGES)
    most_of_stacks = held(table, stacks, clusters, coverage=90).astype(float)
    columns = (whole, apart, of_stacks, of_models, half, most, most_of_stacks)

    yield (
        f"{len(table)} measured steps of {len(set(table.labels[CLUSTER]))} clusters, {len(left_out)} left out. Errors "
        "are absolute and relative to the measured step. Means over clusters give every cluster the same weight: two "
        "thirds of the rows are one cluster's.\n"
    )
    yield "- In-sample: the fit has seen the row; the peculiarities of its cluster are left out, as for a new cluster."
    yield (
        "- Cluster, software, model left out: the fit has seen no row of the same cluster, of the same software in any "
        "version, or of the same model."
    )
    yield (
        "- Held by 50 %, by 90 %: rows of the left-out cluster in their interval, whose width comes from the residuals "
        "of the other clusters with the cluster or with the software left out, whichever is wider; the last column: "
        "rows of left-out software.\n"
    )
    yield from goals(table, (apart, of_stacks), most)
    for title, labels in (
        ("By generation", table.labels["generation"]),
        ("By source", table.source),
        ("By precision", table.labels["precision"]),
        ("By cluster", table.labels[CLUSTER]),
    ):
        yield f"## {title}\n"
        yield (
            "| | model | rows | in-sample | cluster left out | its median | software left out | model left out "
            "| held by 50 % | held by 90 % | with the software left out |"
        )
        yield f"|{'---|' * 11}"
        for moe, kind in KINDS.items():
            for name in sorted(set(labels[table.moe == moe])):
                yield line(table, str(name), kind, (labels == name) & (table.moe == moe), columns)
        for moe, kind in KINDS.items():
            yield line(table, "all", kind, everyone & (table.moe == moe), columns)
        yield ""
    wide = widths(table, clusters, stacks)
    yield "## Width of the intervals\n"
    yield "| model | half width at 50 % | at 90 % |\n|---|---|---|"
    for kind in KINDS.values():
        yield f"| {kind} | {' | '.join(f'{np.expm1(wide[kind][at]):.0%}' for at in COVERAGES)} |"
    yield from coefficients()
    yield "\n## Rows left out\n"
    yield "| cluster | model | rows | why |\n|---|---|---|---|"
    counted = Counter((each.fields["cluster"], each.fields["model"], each.reason) for each in left_out)
    for (cluster, model, why), number in sorted(counted.items()):
        yield f"| {cluster} | {model} | {number} | {why} |"


def coefficients() -> Iterator[str]:
    """The inverse efficiencies that `make fit` found, by generation, at 16 bits with its newest stack."""
    names = sorted(load(FIT)["generation"])
    stacks = [newest_stack(name, moe=False) for name in names]
    yield "\n## Fitted inverse efficiencies\n"
    yield (
        f"Of {load(FIT)['rows']} rows, SHA-256 of the file {load(FIT)['rows_sha256']}. Seconds of a term are "
        "the seconds at line rate times this number, here at 16 bits with the stack that is the default of a "
        "generation. A term marked as a prior keeps more than 80 % of the spread that it had before any row was seen.\n"
    )
    yield f"| term | {' | '.join(f'{n}, {s}' for n, s in zip(names, stacks, strict=True))} | |"
    yield f"|---|{'---|' * len(names)}---|"
    columns = [inverse_efficiencies(Members(n, "16-bit", s, "dense")) for n, s in zip(names, stacks, strict=True)]
    for place, term in enumerate(PRIOR):
        numbers = " | ".join(f"{column[place]:.3g}" for column in columns)
        yield f"| {term} | {numbers} | {'prior' if term in load(FIT)['priors'] else 'fitted'} |"
    yield "\nAll numbers: `bomgen/data/measured/fit.json`, as logs."


def line(table: Steps, name: str, kind: str, used: Mask, columns: tuple[Array, ...]) -> str:
    """A row of a table: means over clusters."""
    whole, apart, of_stacks, of_models, *held = columns
    means = [f"{mean_of_clusters(table, each, used):.1%}" for each in (whole, apart)]
    means += [f"{np.median(apart[used]):.1%}"]
    means += [f"{mean_of_clusters(table, each, used):.1%}" for each in (of_stacks, of_models)]
    means += [f"{mean_of_clusters(table, each, used):.0%}" for each in held]
    return f"| {name} | {kind} | {used.sum()} | {' | '.join(means)} |"


def goals(table: Steps, apart: tuple[Array, Array], inside: Array) -> Iterator[str]:
    """What was aimed at, and what was reached."""
    clusters, generation = table.labels[CLUSTER], table.labels["generation"]
    dense, tuned = ~table.moe, clusters != UNTUNED

    def of(used: Mask, errors_of: Array = apart[0]) -> float:
        return mean_of_clusters(table, errors_of, used)

    vtrain = np.flatnonzero(clusters == VTRAIN)
    without = Fit(table, np.flatnonzero(~np.isin(clusters, VTRAIN_ALL))).predict(table, vtrain)
    unseen = errors(table, spread_out(table, vtrain, without))[vtrain].mean()
    fold = np.random.default_rng(SEED).permutation(len(vtrain)) % FOLDS
    folds = own_cluster(table, [vtrain[fold == number] for number in range(FOLDS)])
    sizes = own_cluster(table, [vtrain[table.model[vtrain] == name] for name in sorted(set(table.model[vtrain]))])
    large = [name for name in sorted(set(clusters)) if (clusters == name).sum() >= FEW]
    lowest = min((float(inside[clusters == name].mean()), str(name)) for name in large)
    found = [
        ("vTrain's 109 rows, ten folds", 0.055, folds),
        ("vTrain's 109 rows, a model size left out", 0.075, sizes),
        ("vTrain's 109 rows, no row of vTrain seen", 0.08, float(unseen)),
        ("dense, cluster left out", 0.085, of(dense)),
        (f"dense, cluster left out, without {UNTUNED}", 0.085, of(dense & tuned)),
        ("dense A100, cluster left out", 0.06, of(dense & (generation == "ampere"))),
        (f"dense A100, cluster left out, without {UNTUNED}", 0.06, of(dense & (generation == "ampere") & tuned)),
        ("dense Hopper, cluster left out", 0.10, of(dense & (generation == "hopper"))),
        ("dense Blackwell, cluster left out", 0.12, of(dense & np.char.startswith(generation, "blackwell"))),
        ("mixtures of experts, cluster left out", 0.18, of(table.moe)),
        ("dense, software left out", 0.12, of(dense, apart[1])),
        ("mixtures of experts, software left out", 0.20, of(table.moe, apart[1])),
        ("full fine-tuning, cluster left out", 0.15, of(table.tuning == "full")),
        ("LoRA, cluster left out", 0.15, of(table.tuning == "lora")),
    ]
    yield "## Goals\n"
    yield "| what | goal | reached | |\n|---|---|---|---|"
    for what, goal, reached in found:
        yield f"| {what} | at most {goal:.1%} | {reached:.1%} | {'yes' if reached <= goal else 'no'} |"
    held = mean_of_clusters(table, inside, np.ones(len(table), dtype=bool))
    yield f"| rows held by 90 % intervals | 85 to 95 % | {held:.1%} | {'yes' if 0.85 <= held <= 0.95 else 'no'} |"
    yield (
        f"| the same, lowest of clusters of {FEW} rows or more | at least 60 % | {lowest[0]:.0%} ({lowest[1]}) | "
        f"{'yes' if lowest[0] >= 0.6 else 'no'} |\n"
    )
    yield (
        "Ten folds and model sizes of vTrain use what the fit found particular to that cluster from the rows left in, "
        f"as a user's own measurements would. {UNTUNED} has six runs of DeepSpeed ZeRO-3 of 2021 on up to 2 240 GPUs, "
        "which their authors ran as a baseline: its gathers take several times what the links could do, and no other "
        "cluster shows it.\n"
    )


def spread_out(table: Steps, chosen: NDArray[np.int64], values: Array) -> Array:
    """Values of some rows in an array of all rows."""
    found = np.full(len(table), np.nan)
    found[chosen] = values
    return found


def own_cluster(table: Steps, groups: Sequence[NDArray[np.int64]]) -> float:
    """Mean error of rows, each predicted by a fit without its group that knows other rows of the same cluster."""
    found: list[float] = []
    for group in groups:
        fit = Fit(table, np.setdiff1d(everything(table), group))
        found += list(np.abs(fit.predict(table, group, with_cluster=True) / table.measured[group] - 1))
    return float(np.mean(found))


if __name__ == "__main__":
    main()

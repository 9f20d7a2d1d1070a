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
from training import CLUSTER, KINDS, STACK, Steps, read
from training_rows import UnusedRow

SHOWN = ("By generation",)
"""Sections of the page; all of them are in the CSV file."""

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
    yield "\n## Rows left out\n"
    yield "| cluster | model | rows | why |\n|---|---|---|---|"
    counted = Counter((each.fields["cluster"], each.fields["model"], each.reason) for each in left_out)
    for (cluster, model, why), number in sorted(counted.items()):
        yield f"| {cluster} | {model} | {number} | {why} |"


def line(table: Steps, name: str, kind: str, used: Mask, columns: tuple[Array, ...]) -> str:
    """A row of a table: means over clusters."""
    whole, apart, of_stacks, of_models, *held = columns
    means = [f"{mean_of_clusters(table, each, used):.1%}" for each in (whole, apart)]
    means += [f"{np.median(apart[used]):.1%}"]
    means += [f"{mean_of_clusters(table, each, used):.1%}" for each in (of_stacks, of_models)]
    means += [f"{mean_of_clusters(table, each, used):.0%}" for each in held]
    return f"| {name} | {kind} | {used.sum()} | {' | '.join(means)} |"


if __name__ == "__main__":
    main()

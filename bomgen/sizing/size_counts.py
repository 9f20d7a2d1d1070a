"""Sizes of many clusters that differ only in their number of servers, as arrays with the results of `size`.

GPUs, memory and days come from the same formulas: where a formula is a constant divided by the GPUs, its constant is
its value for one GPU; where a condition holds from some number on, that number is found once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bomgen.core.diagnostics import Infeasible, PlanErrors
from bomgen.core.provenance import Figure, Given, function_of, require
from bomgen.plan.fabric_demand import Attachment
from bomgen.plan.types import ESTIMATE, Plan
from bomgen.sizing import storage
from bomgen.sizing.cluster_size import size_cluster
from bomgen.sizing.gpu_counts import Truths, fitting
from bomgen.sizing.servers import MAX_GPUS, count_servers, given_gpus, gpu_with_host, peak_of_gpu, unit_of_counts
from bomgen.sizing.training import parallelism
from bomgen.sizing.training import run as training


class SizedCounts(NamedTuple):
    """Clusters of one plan, one row for each of many numbers of servers, racks or GPUs."""

    counts: npt.NDArray[np.int64]
    """The number set by the plan: servers, racks or GPUs."""
    gpus: npt.NDArray[np.int64]
    sized: npt.NDArray[np.bool_]
    """Whether the cluster can be sized; `refusal` has the reason if not."""
    gpu_days: Sequence[Fraction | None]
    """Days of the run on one GPU; None: it cannot be sized, or the plan has no run."""

    def rounded_days(self) -> npt.NDArray[np.float64]:
        """Return the days of each row as the nearest float: equal numbers are equal, larger ones never smaller.

        NaN where there are none.
        """
        # Python rounds the quotient of two integers once, however large they are.
        rows = zip(self.gpu_days, self.gpus.tolist(), strict=True)
        quotients = [np.nan if days is None else days.numerator / (days.denominator * gpus) for days, gpus in rows]
        return np.array(quotients, np.float64)


def size_counts(
    plan: Plan, attached: Mapping[str, Attachment], counts: Sequence[int] | npt.NDArray[np.int64]
) -> SizedCounts | None:
    """Return the sizes of clusters of the plan with other numbers of servers, racks or GPUs.

    None for a plan that only `size` supports: one that sets no number, serves a model, has its utilisation predicted or
    steps measured, or has a model whose shape is known in part or contradicts its parameters.
    """
    numbers, workload = np.asarray(counts, np.int64), plan.training
    worked = plan.compute and not plan.compute.target
    if (
        plan.inference
        or worked
        or given_gpus(plan.cluster) is None
        or (workload and (workload.predicted or workload.measured))
    ):
        return None
    nothing, no_days = np.zeros(len(numbers), np.int64), [None] * len(numbers)
    sized = SizedCounts(numbers, nothing, nothing.astype(np.bool_), no_days)
    possible = (numbers <= MAX_GPUS) & (numbers % unit_of_counts(plan.cluster) == 0)
    if not possible.any():
        return sized
    largest = with_count(plan, int(numbers[possible].max()))
    try:
        servers, gpus = count_servers(largest, None, attached)
    except (Infeasible, PlanErrors):
        return sized
    sized = sized._replace(gpus=function_of(gpus, (_given(largest),))(numbers))
    if workload:
        return _size_runs(sized, possible, largest, attached, servers, gpus)
    smallest = with_count(plan, int(numbers[possible].min()))
    ends = {refusal(end, attached) is None for end in (smallest, largest)}
    return sized._replace(sized=possible & ends.pop()) if len(ends) == 1 else None


def _size_runs(
    sized_counts: SizedCounts,
    possible: Truths,
    largest: Plan,
    attached: Mapping[str, Attachment],
    servers: Figure | None,
    gpus: Figure,
) -> SizedCounts | None:
    """Return the days of a run, and whether it fits, trying recomputations in the order of `cluster_size`.

    `servers` and `gpus` are those of the plan with the largest number.
    """
    workload, gpu = require(largest.training, "a plan of a run"), gpu_with_host(largest.cluster)
    gpu_days = [*sized_counts.gpu_days]
    try:
        top = peak_of_gpu(gpu, workload.precision, f"workload.{workload.block}", largest.cluster.mark)
        cabled = storage.as_cabled(largest, attached)
        lost = storage.lost_time(storage.contents(workload), cabled, gpus, servers)
    except (Infeasible, PlanErrors):
        return sized_counts
    goodput, shares = workload.goodput, dict[int, Fraction]()
    if goodput.value == ESTIMATE:
        goodput, share = storage.FULL_GOODPUT, function_of(lost.goodput, (_given(largest),))
        shares = {row: share(int(sized_counts.counts[row])) for row in np.flatnonzero(possible).tolist()}
        possible = np.array([bool(shares.get(row)) for row in range(len(possible))], np.bool_)
    choices = [*parallelism.with_recomputation(workload)]
    if workload.parallelism is None and workload.sequence and not isinstance(workload.sequence.origin, Given):
        choices.append(parallelism.with_recomputation(workload._replace(sequence=None))[0])
    waiting = np.flatnonzero(possible)
    for choice in choices:
        if not waiting.size:
            break
        try:
            run = training.size_training(choice, top, goodput)
        except Infeasible:
            break
        fit = fitting(choice, gpu, gpus, sized_counts.gpus[waiting])
        if fit is None:
            return None
        taken = fit.possible if choice is choices[-1] else fit.fits
        rows, waiting = waiting[taken], waiting[~taken]
        on_one = Fraction(training.days(choice, run, replace(gpus, value=1)).value)
        for row in rows.tolist():
            gpu_days[row] = on_one / shares[row] if shares else on_one
    sized = np.array([days is not None for days in gpu_days], np.bool_)
    return sized_counts._replace(sized=sized, gpu_days=gpu_days)


def refusal(plan: Plan, attached: Mapping[str, Attachment]) -> Infeasible | PlanErrors | None:
    """Return why a cluster cannot be sized; None where it can."""
    try:
        size_cluster(plan, attached)
    except (Infeasible, PlanErrors) as error:
        return error
    return None


def _given(plan: Plan) -> Figure:
    cluster = plan.cluster
    return require(cluster.servers or cluster.racks or cluster.gpus, "the plan gives a number")


def with_count(plan: Plan, count: int) -> Plan:
    """Return the plan with another number of servers, racks or GPUs; raises ValueError where it sets none."""
    cluster, size = plan.cluster, replace(_given(plan), value=count)
    changed: dict[str, Any] = {"servers" if cluster.servers else "racks" if cluster.racks else "gpus": size}
    return plan._replace(cluster=cluster._replace(**changed))

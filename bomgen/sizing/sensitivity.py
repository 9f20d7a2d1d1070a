"""Sensitivity of a training run: its days by utilisation and by the number of GPUs.

An estimated goodput is that of each number of GPUs. Varied figures keep the origins of the plan's.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.core.provenance import Figure
from bomgen.plan.types import ESTIMATE, Plan, Training
from bomgen.sizing import storage
from bomgen.sizing.cluster_size import Sizing
from bomgen.sizing.servers import gpus_of_servers, servers_for_gpus
from bomgen.sizing.training.run import TrainingRun, days, gpus_for_days, hardware_utilisation

PLANNED = 100
MFU_PERCENT = (80, 90, PLANNED, 110, 120)
"""Percentages of the utilisation that the plan is sized with."""
GPU_PERCENT = (50, 75, PLANNED, 150, 200)
"""Percentages of the GPUs that the plan has."""


class SensitivityRun(NamedTuple):
    """A run at one utilisation."""

    mfu: Figure
    days: tuple[Figure, ...]
    """Days on each number of GPUs."""
    gpus_required: Figure
    """GPUs for the same days as the plan, before rounding up to servers and replicas."""


class Sensitivity(NamedTuple):
    """Runs at several utilisations, on several numbers of GPUs."""

    gpus: tuple[Figure, ...]
    outlooks: tuple[SensitivityRun, ...]
    planned: tuple[int, int]
    """Indices of the plan's utilisation and number of GPUs."""


def sensitivity(plan: Plan, sized: Sizing) -> Sensitivity | None:
    """Return the days by utilisation and GPUs around those of a sized plan; None for a plan without training alone.

    A utilisation that the GPUs cannot reach is omitted, and so is a cluster that loses all of its time.
    """
    workload, run = plan.training, sized.run
    if workload is None or run is None or sized.days is None or sized.reinforced:
        return None
    sizes = {figure.value: figure for figure in (_gpus(plan, sized, percent) for percent in GPU_PERCENT)}
    sizes[sized.gpus.value] = sized.gpus
    runs = {count: _with_goodput(plan, workload, sized, run, sizes[count]) for count in sorted(sizes)}
    runs = {count: sized_run for count, sized_run in runs.items() if sized_run.goodput.value}
    shares = {percent: replace(run.mfu, value=run.mfu.value * Fraction(percent, PLANNED)) for percent in MFU_PERCENT}
    shares[PLANNED] = run.mfu
    # The utilisation of the hardware, recomputation included, stays below the peak.
    reached = {
        percent: share
        for percent, share in shares.items()
        if hardware_utilisation(share, run.flops, run.hardware_flops).value <= 1
    }
    outlooks = tuple(
        SensitivityRun(
            share,
            tuple(days(workload, sized_run._replace(mfu=share), sizes[count]) for count, sized_run in runs.items()),
            gpus_for_days(
                sized.days, run.flops, run.peak_flops_per_gpu, share, workload.parallel_efficiency, run.goodput
            ),
        )
        for share in reached.values()
    )
    planned = [*reached].index(PLANNED), [*runs].index(sized.gpus.value)
    return Sensitivity(tuple(sizes[count] for count in runs), outlooks, planned)


def _gpus(plan: Plan, sized: Sizing, percent: int) -> Figure:
    """Return a percentage of the GPUs, in whole servers where these are known."""
    count = ceil(sized.gpus.value * Fraction(percent, PLANNED))
    server = plan.cluster.server
    if server and sized.servers:
        count = gpus_of_servers.plain(servers_for_gpus.plain(count, server.gpus.value), server.gpus.value)
    return replace(sized.gpus, value=count)


def _with_goodput(plan: Plan, workload: Training, sized: Sizing, run: TrainingRun, gpus: Figure) -> TrainingRun:
    if workload.goodput.value != ESTIMATE or sized.lost is None or gpus is sized.gpus:
        return run
    server = plan.cluster.server
    servers = servers_for_gpus(gpus, server.gpus) if server and sized.servers else None
    lost = storage.lost_time(sized.lost.checkpoint.contents, plan.storage, gpus, servers)
    return run._replace(goodput=lost.goodput)

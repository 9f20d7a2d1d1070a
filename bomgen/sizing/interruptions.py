"""Time that a training run loses to interruptions and to checkpoints.

A run writes a checkpoint, which takes delta, every tau. Each interruption, one per mean time M, costs a restart R and
on average half the work since the last checkpoint. To first order the share delta / tau + tau / (2 M) + R / M of the
time is lost; Young's interval sqrt(2 delta M) minimises it. Checkpoints are assumed to stop training while they are
written; asynchronous checkpoints cost less.

An estimated goodput and the size of the cluster depend on each other. The search starts from no loss and continues
with the least goodput found so far, so that the cluster only grows. It ends as soon as the cluster's own goodput is
no less than the one it was sized with. Otherwise steps of bandwidth between units would make it oscillate. Square roots
are exact integers of a named resolution, so that results are equal on every machine.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, isqrt
from typing import NamedTuple

from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Figure, Reference, formula, quotient
from bomgen.core.units import HOURS_A_DAY
from bomgen.plan.types import Storage
from bomgen.sizing.storage import Checkpoint, Contents, bandwidth, write_seconds
from bomgen.sizing.training.run import SECONDS_A_DAY

YOUNG = "Young 1974, A First Order Approximation to the Optimum Checkpoint Interval, CACM 17(9), 530-531"
KOKOLIS = "Kokolis et al. 2024, arXiv 2410.21680"
_YOUNG = Reference(YOUNG, "https://doi.org/10.1145/361147.361115", "2026")
RESOLUTION = 10**12
"""The resolution of a square root [1/day]; integers round the same on every machine."""


class LostTime(NamedTuple):
    """Time lost to interruptions and checkpoints of a run."""

    mean_time_days: Figure
    """Mean time between two interruptions."""
    checkpoint: Checkpoint
    lost: Figure
    """The share of time lost; above 1 when no time is left."""
    goodput: Figure
    """The estimated share of time that trains; used only where the plan says so."""
    goodput_range: tuple[Figure, Figure] | None = None
    """Goodput with the most and the fewest interruptions of published clusters; None: the plan sets their rate."""
    interruptions: Figure | None = None
    """Number in the whole run; None: its duration is not known yet."""


@formula("share")
def full_goodput() -> int:
    """Goodput without lost time, from which the estimate starts."""
    return 1


FULL_GOODPUT = full_goodput()


@formula("days", f"{KOKOLIS}, MTTF: a cluster of n nodes is interrupted n times as often as one")
def mean_time_between(interruption_gpu_hours: Fraction, gpus: int) -> Fraction:
    """Mean time between two interruptions of a run on all GPUs."""
    return Fraction(interruption_gpu_hours) / (gpus * HOURS_A_DAY)


@formula("days", f"{YOUNG}: sqrt(2 delta M)")
def young_interval(write_seconds: Fraction, mean_time_days: Fraction) -> Fraction:
    """The time between two checkpoints that minimises lost time."""
    return square_root(2 * Fraction(write_seconds) / SECONDS_A_DAY * mean_time_days)


@formula("share", f"{YOUNG}; the terms are those of ETTR in {KOKOLIS}")
def share_lost(
    write_seconds: Fraction, interval_days: Fraction, mean_time_days: Fraction, restart_days: Fraction
) -> Fraction:
    """Share of time spent on checkpoints, on repeated work and on restarts."""
    return (
        Fraction(write_seconds) / (interval_days * SECONDS_A_DAY)
        + Fraction(interval_days) / (2 * mean_time_days)
        + Fraction(restart_days) / mean_time_days
    )


@formula("share")
def share_that_trains(lost: Fraction) -> Fraction:
    """Goodput: the share of time spent on training, at least 0."""
    return max(1 - lost, Fraction(0))


@formula("GPUs")
def gpus_that_lose(needed: Fraction, goodput: Fraction, smallest: int) -> int:
    """Whole GPUs including those that compensate for lost time; `needed` GPUs are enough without losses."""
    return max(ceil(needed / Fraction(goodput)), smallest)


def candidate_size(gpus: int) -> Figure:
    """Return the size of a cluster that the search tries, as a chosen assumption."""
    name, why = message("cluster-with-losses"), message("cluster-with-losses-why")
    return Figure(gpus, "GPUs", Assumed(name, why, (_YOUNG,), "medium", chosen=True))


interruptions_of_run = quotient("interruptions_of_run", "interruptions", "run_days", "mean_time_days")
"""Interruptions to expect over the run."""


def square_root(number: Fraction) -> Fraction:
    """Return the square root of a number above 0, rounded up to whole parts of `RESOLUTION`."""
    return Fraction(isqrt(ceil(number * RESOLUTION**2) - 1) + 1, RESOLUTION)


def lost_time(contents: Contents, storage: Storage, gpus: Figure, servers: Figure | None) -> LostTime:
    """Return the time that a run with checkpoints of these contents loses on a number of GPUs."""
    between = mean_time_between(storage.interruption_gpu_hours, gpus)
    written = write_seconds(contents.all, bandwidth(storage, gpus, servers).write)
    interval = storage.checkpoint_every or young_interval(written, between)
    lost = share_lost(written, interval, between, storage.restart_days)
    range_ = None
    if storage.interruption_range:
        means = (mean_time_between(hours, gpus) for hours in storage.interruption_range)
        low, high = (share_that_trains(share_lost(written, interval, mean, storage.restart_days)) for mean in means)
        range_ = (low, high)
    return LostTime(between, Checkpoint(contents, written, interval), lost, share_that_trains(lost), range_)


def add_interruptions(run_days: Figure, lost: LostTime) -> LostTime:
    """Return the lost time with the interruptions of a run of that duration."""
    return lost._replace(interruptions=interruptions_of_run(run_days, lost.mean_time_days))

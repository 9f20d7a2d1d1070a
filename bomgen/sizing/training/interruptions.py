"""Time that a training run loses to interruptions, and to the checkpoints that keep the loss small.

A run writes a checkpoint that takes delta to write every tau. One interruption in a mean time M costs a restart R and
on average half the work since the last checkpoint, so that the share delta / tau + tau / (2 M) + R / M of the time is
lost, to first order; Young's interval sqrt(2 delta M) makes it least. Checkpoints stop the training while they are
written; those written in the background cost less.

An estimated goodput and the size of the cluster depend on each other. The search starts from no loss and continues with
the least goodput found so far, so that the cluster only grows. It ends as soon as the cluster's own goodput is no less
than the one it was sized with. Otherwise steps of bandwidth between units would make it oscillate.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, isqrt
from typing import NamedTuple

from bomgen.core.provenance import Assumed, Figure, Reference, formula
from bomgen.core.units import HOURS_A_DAY
from bomgen.plan.types import Storage
from bomgen.sizing.storage import Checkpoint, Contents, bandwidth, write_seconds
from bomgen.sizing.training.run import SECONDS_A_DAY

YOUNG = "Young 1974, A First Order Approximation to the Optimum Checkpoint Interval, CACM 17(9), 530-531"
KOKOLIS = "Kokolis et al. 2024, arXiv 2410.21680"
_YOUNG = Reference(YOUNG, "https://doi.org/10.1145/361147.361115", "2026")
RESOLUTION = 10**12
"""Parts of a day that a square root is exact to: whole numbers, so that every machine rounds alike."""


class LostTime(NamedTuple):
    """What interruptions and checkpoints cost a run."""

    mean_time_days: Figure
    """Between two interruptions."""
    checkpoint: Checkpoint
    lost: Figure
    """The share of time that interruptions and checkpoints take; more than one where nothing is left."""
    goodput: Figure
    """The share of time that trains: an estimate, used only where the plan asks for it."""
    interruptions: Figure | None = None
    """In the whole run; None: its length is not known yet."""


@formula("share")
def nothing_lost() -> int:
    """All time trains: where an estimate starts from."""
    return 1


NOTHING_LOST = nothing_lost()


@formula("days", f"{KOKOLIS}, MTTF: a cluster of n nodes is interrupted n times as often as one")
def mean_time_between(interruption_gpu_hours: Fraction, gpus: int) -> Fraction:
    """Mean time between two interruptions of a run on all GPUs."""
    return Fraction(interruption_gpu_hours) / (gpus * HOURS_A_DAY)


@formula("days", f"{YOUNG}: sqrt(2 delta M)")
def young_interval(write_seconds: Fraction, mean_time_days: Fraction) -> Fraction:
    """The time between two checkpoints that loses least."""
    return square_root(2 * Fraction(write_seconds) / SECONDS_A_DAY * mean_time_days)


@formula("share", f"{YOUNG}; the terms are those of ETTR in {KOKOLIS}")
def share_lost(
    write_seconds: Fraction, interval_days: Fraction, mean_time_days: Fraction, restart_days: Fraction
) -> Fraction:
    """Share of time spent on checkpoints, on work done twice and on restarts."""
    return (
        Fraction(write_seconds) / (interval_days * SECONDS_A_DAY)
        + Fraction(interval_days) / (2 * mean_time_days)
        + Fraction(restart_days) / mean_time_days
    )


@formula("share")
def share_that_trains(lost: Fraction) -> Fraction:
    """Goodput: what is left; nothing where the losses come to more than all time."""
    return max(1 - lost, Fraction(0))


@formula("GPUs")
def gpus_that_lose(needed: Fraction, goodput: Fraction, smallest: int) -> int:
    """Whole GPUs that do as much in the time that they train as so many that lose none."""
    return max(ceil(needed / Fraction(goodput)), smallest)


def tried(gpus: int) -> Figure:
    """The size of a cluster that a search tries."""
    why = "The smallest cluster that makes up for the time that it loses."
    return Figure(gpus, "GPUs", Assumed("Size of the cluster with its losses", why, (_YOUNG,), "medium", chosen=True))


@formula("interruptions")
def interruptions_of_run(run_days: Fraction, mean_time_days: Fraction) -> Fraction:
    """Interruptions to expect over the run."""
    return Fraction(run_days) / mean_time_days


def square_root(number: Fraction) -> Fraction:
    """The square root of a number above 0, rounded up to whole parts of `RESOLUTION`."""
    return Fraction(isqrt(ceil(number * RESOLUTION**2) - 1) + 1, RESOLUTION)


def lost_time(contents: Contents, storage: Storage, gpus: Figure, servers: Figure | None) -> LostTime:
    """What a run with checkpoints of these contents loses on so many GPUs."""
    between = mean_time_between(storage.interruption_gpu_hours, gpus)
    written = write_seconds(contents.all, bandwidth(storage, gpus, servers).write)
    interval = storage.checkpoint_every or young_interval(written, between)
    lost = share_lost(written, interval, between, storage.restart_days)
    return LostTime(between, Checkpoint(contents, written, interval), lost, share_that_trains(lost))


def over(run_days: Figure, lost: LostTime) -> LostTime:
    """What a run of that length loses."""
    return lost._replace(interruptions=interruptions_of_run(run_days, lost.mean_time_days))

"""Second opinions on a training run: a rule of thumb, and published runs to compare with."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.catalog.part_records import REFERENCE_PRECISION
from bomgen.catalog.parts import Gpu, PublishedRun
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Reference, formula
from bomgen.core.units import GIGA, HOURS_A_DAY
from bomgen.plan.types import Training
from bomgen.sizing.servers import peak_flops
from bomgen.sizing.training.run import SECONDS_A_DAY, TrainingRun, parameter_flops

SECONDS_AN_HOUR = SECONDS_A_DAY // HOURS_A_DAY
SHOWN = 4
"""Number of published runs that a report shows: the nearest by active parameters."""

_RULE_OF_THUMB = Reference(
    "慢慢学 AIGC, 你的 LLM 训练需要多少 GPU?, 2024-05-28, after the public app hunkim/llm_gpu_cal", None, "2026"
)
_RULE_NOTE = "6e18 FLOPs in 13.3 hours are 125.3 TFLOP/s: 40.2 % of the 312 TFLOP/s of an A100"
RULE = Figure(
    Fraction("13.3"),
    "GPU-hours per 10¹⁸ parameters x tokens",
    Cited(message("rule-of-thumb"), (_RULE_OF_THUMB,), "medium", _RULE_NOTE),
)
_DCPTX = Reference("DCPTX (calightble.com), optical modules for LLaMA-65B, article 1534175", None, "2026")
A100_TFLOPS = Figure(312, "TFLOP/s", Cited(message("rule-of-thumb-peak"), (_DCPTX,), "high"))


class SecondOpinion(NamedTuple):
    """The result of the rule of thumb for A100 GPUs of 80 GB, whatever the GPU of the plan."""

    gpu_hours: Figure
    gpus_required: Figure | None
    """GPUs for the target days."""
    days: Figure
    """Days on as many A100 GPUs as the cluster has GPUs."""
    days_by_peak: Figure
    """Days on the cluster's GPUs, scaled by their dense bf16 peak."""


class RunComparison(NamedTuple):
    """A published run, and the duration of the plan's run at its utilisation."""

    run: PublishedRun
    mfu: Figure
    """MFU over the whole run, including its interruptions."""
    days: Figure


class Opinions(NamedTuple):
    """All second opinions on a run."""

    second: SecondOpinion
    runs: tuple[RunComparison, ...]
    """Published runs, the nearest by active parameters first."""
    effective_mfu: Figure
    """MFU of the plan's run: 6 N D over wall-clock time, comparable with that of published runs."""


@formula("GPU-hours", source="rule of thumb: tokens x epochs x parameters x 13.3, both in billions")
def hours_by_rule(active_parameters: int, tokens: int, epochs: int, rule: Fraction) -> Fraction:
    """A100 GPU-hours of a run."""
    return Fraction(active_parameters, GIGA) * tokens / GIGA * epochs * rule


@formula("GPUs")
def gpus_by_rule(gpu_hours: Fraction, target_days: Fraction) -> int:
    """Whole A100 GPUs that finish in the target time."""
    return ceil(gpu_hours / (target_days * HOURS_A_DAY))


@formula("days")
def days_by_rule(gpu_hours: Fraction, gpus: int) -> Fraction:
    """Days on a number of A100 GPUs."""
    return gpu_hours / (gpus * HOURS_A_DAY)


@formula("days")
def scaled_by_peak(a100_days: Fraction, a100_peak: Fraction, peak: Fraction) -> Fraction:
    """Days on GPUs with another peak at the same utilisation."""
    return a100_days * Fraction(a100_peak) / peak


@formula("share", source="MFU = 6 N D / (GPU-hours x peak)")
def mfu_of_run(
    flops_per_parameter_token: int, active_parameters: int, tokens: int, gpu_hours: int, peak: int
) -> Fraction:
    """MFU of a whole published run: the share of the dense peak spent on 6 N D FLOPs."""
    return Fraction(flops_per_parameter_token * active_parameters * tokens) / (gpu_hours * SECONDS_AN_HOUR * peak)


@formula("days")
def days_at_mfu(parameter_flops: int, gpus: int, peak: int, mfu: Fraction) -> Fraction:
    """Days of the planned run at the utilisation of a published one."""
    return Fraction(parameter_flops) / (gpus * peak * mfu * SECONDS_A_DAY)


@formula("share")
def mfu_of_wall_clock(parameter_flops: int, gpus: int, peak: int, run_days: Fraction) -> Fraction:
    """MFU over wall-clock time: the share of the dense bf16 peak that a run spends on 6 N D FLOPs."""
    return Fraction(parameter_flops) / (gpus * peak * run_days * SECONDS_A_DAY)


def opinions(training: Training, run: TrainingRun, gpu: Gpu, gpus: Figure, run_days: Figure) -> Opinions:
    """Return second opinions on a training run on a number of GPUs; reads the catalogue's published runs.

    Published utilisations are shares of the dense bf16 peak, and so is everything compared with them; for a GPU without
    a bf16 peak, the peak that the run uses replaces it.
    """
    bf16 = gpu.dense.get(REFERENCE_PRECISION)
    peak = peak_flops(bf16) if bf16 else run.peak_flops_per_gpu
    active = training.model.active_parameters
    hours = hours_by_rule(active, training.tokens, training.epochs, RULE)
    target = training.target_days
    on_a100 = days_by_rule(hours, gpus)
    second = SecondOpinion(
        gpu_hours=hours,
        gpus_required=gpus_by_rule(hours, target) if target else None,
        days=on_a100,
        days_by_peak=scaled_by_peak(on_a100, peak_flops(A100_TFLOPS), peak),
    )
    flops = parameter_flops(training.flops_per_parameter_token, active, training.tokens, training.epochs)
    nearest = sorted(training.published_runs(), key=lambda published: _distance(published, active))[:SHOWN]
    return Opinions(
        second=second,
        runs=tuple(_comparison(published, training, peak, flops, gpus) for published in nearest),
        effective_mfu=mfu_of_wall_clock(flops, gpus, peak, run_days),
    )


def _distance(published: PublishedRun, active: Figure) -> Fraction:
    """Return the factor by which the model of a published run is larger or smaller."""
    ratio: Fraction = Fraction(published.active_parameters.value) / active.value
    return max(ratio, 1 / ratio)


def _comparison(
    published: PublishedRun, training: Training, peak: Figure, flops: Figure, gpus: Figure
) -> RunComparison:
    mfu = mfu_of_run(
        training.flops_per_parameter_token,
        published.active_parameters,
        published.tokens,
        published.gpu_hours,
        peak_flops(published.peak_tflops),
    )
    return RunComparison(published, mfu, days_at_mfu(flops, gpus, peak, mfu))

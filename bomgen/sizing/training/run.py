"""A training run: FLOPs, rates, GPUs and days, and published runs beside it.

C = 6 N D model FLOPs for N active parameters and D tokens (Kaplan et al. 2020); a run takes C / (GPUs x achieved
FLOP/s) seconds. Recomputation of activations costs hardware FLOPs that model FLOPs and MFU leave out.

MFU is shown by every convention of counting attention as soon as the plan gives a sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.catalog.part_records import REFERENCE_PRECISION
from bomgen.catalog.parts import Gpu, PublishedRun
from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Assumed, Figure, formula, product, require, sum_of
from bomgen.core.units import HOURS_A_DAY, TERA
from bomgen.plan.types import COUNTED, LEFT_OUT, Training
from bomgen.sizing import model_work
from bomgen.sizing.model_work import NONE
from bomgen.sizing.servers import peak_flops
from bomgen.sizing.training import states
from bomgen.sizing.training.activations import FULL, SELECTIVE

SECONDS_A_DAY = 24 * 60 * 60


class TrainingRun(NamedTuple):
    """The needs of a training run; none depends on the number of GPUs, except an estimated goodput."""

    parameters: Figure
    active_parameters: Figure
    peak_flops_per_gpu: Figure
    flops: Figure
    hardware_flops: Figure
    mfu: Figure
    hfu: Figure
    achieved_flops_per_gpu: Figure
    """Hardware FLOP/s per GPU, recomputation included."""
    flops_per_token: Figure
    tokens_per_second_per_gpu: Figure
    """Token rate per GPU, before parallel efficiency and goodput."""
    mfu_by_convention: Mapping[str, Figure]
    """MFU at the same speed with attention FLOPs counted as none, causal or full; empty when they cannot be counted."""
    mfu_by_embedding: Mapping[str, Figure]
    """MFU at the same speed with the input embedding counted or left out; empty when both are the same or unknown."""
    hfu_by_recomputation: Mapping[str, Figure]
    """HFU of selective recomputation, from first principles and as printed; empty for another run."""
    goodput: Figure
    """The goodput, as set by the plan or estimated."""
    gpus_required: Figure | None
    """GPUs for the target days; None without a target."""


_KAPLAN = "Kaplan et al. 2020, arXiv 2001.08361: C = 6 N D"
_NARAYANAN = "Narayanan et al. 2021, arXiv 2104.04473, eq. 4: 8 in place of 6"
parameter_flops = product(
    "parameter_flops", "FLOPs", "flops_per_parameter_token", "active_parameters", "tokens", "epochs", source=_KAPLAN
)
"""Forward and backward FLOPs of all matrix products with parameters."""
recomputed_parameters = product(
    "recomputed_parameters",
    "FLOPs",
    "again_per_parameter_token",
    "active_parameters",
    "tokens",
    "epochs",
    source=_NARAYANAN,
)
"""FLOPs of the second forward pass in full recomputation."""


@formula("parameters")
def parameters_without_embedding(active_parameters: int, vocab: int, hidden: int) -> int:
    """Active parameters without the input embedding, which is looked up and not multiplied."""
    return active_parameters - vocab * hidden


@formula("FLOPs", source="Korthikanti et al. 2022, arXiv 2205.05198, eq. 8: 1 + s / (3 h) in place of 1 + s / (6 h)")
def flops_with_attention_twice(model_flops: int, attention_part: int) -> int:
    """Hardware FLOPs of selective recomputation as printed: the attention of a whole step counts twice."""
    return model_flops + attention_part


sum_of_flops = sum_of("sum_of_flops", "FLOPs", "parameter_part", "attention_part")
"""Model FLOPs with attention."""


hardware_flops = sum_of("hardware_flops", "FLOPs", "model_flops", "again")
"""Model FLOPs plus recomputed FLOPs."""


@formula("FLOPs")
def hardware_flops_without_recompute(model_flops: int) -> int:
    """Hardware FLOPs of a run without recomputation: its model FLOPs."""
    return model_flops


sum_of_recomputed = sum_of("sum_of_recomputed", "FLOPs", "parameters_again", "attention_again")
"""All recomputed FLOPs."""


@formula("share")
def mfu_of_rate(achieved_tflops: Fraction, model_flops: int, hardware_flops: int, peak: int) -> Fraction:
    """MFU at a measured hardware rate: the share of the peak spent on model FLOPs."""
    return Fraction(achieved_tflops * TERA * model_flops) / (hardware_flops * peak)


@formula("share")
def mfu_of_tokens(tokens_per_second_per_gpu: Fraction, flops_per_token: int, peak: int) -> Fraction:
    """MFU at a measured token rate: the share of the peak spent on model FLOPs."""
    return Fraction(tokens_per_second_per_gpu * flops_per_token) / peak


@formula("share")
def hardware_utilisation(mfu: Fraction, model_flops: int, hardware_flops: int) -> Fraction:
    """Hardware FLOPs utilisation (HFU): MFU with recomputation included."""
    return Fraction(mfu * hardware_flops) / model_flops


achieved_rate = product("achieved_rate", "FLOP/s", "hfu", "peak")
"""Achieved hardware FLOP/s per GPU."""


@formula("tokens/s")
def rate_of_gpu(peak: int, mfu: Fraction, flops_per_token: Fraction) -> Fraction:
    """Tokens per second per GPU, before parallel efficiency and goodput."""
    return peak * mfu / flops_per_token


@formula("FLOPs")
def model_flops_per_token(model_flops: int, tokens: int, epochs: int) -> Fraction:
    """Model FLOPs per token."""
    return Fraction(model_flops) / (tokens * epochs)


@formula("GPUs", source="T = C / (X A) for X; cite optics-65b, Narayanan et al. 2021, eq. 4")
def gpus_for_days(
    target_days: Fraction, model_flops: int, peak: int, mfu: Fraction, parallel_efficiency: Fraction, goodput: Fraction
) -> int:
    """Whole GPUs that finish the run in the target time."""
    return ceil(Fraction(model_flops) / (peak * mfu * parallel_efficiency * goodput * target_days * SECONDS_A_DAY))


@formula("GPUs", source="T = C / (X A) for X; cite optics-65b, Narayanan et al. 2021, eq. 4")
def gpus_without_loss(
    target_days: Fraction, model_flops: int, peak: int, mfu: Fraction, parallel_efficiency: Fraction
) -> Fraction:
    """GPUs, not rounded, that finish in the target time without lost time."""
    return Fraction(model_flops) / (peak * mfu * parallel_efficiency * target_days * SECONDS_A_DAY)


@formula("days", source="T = C / (X A); cite optics-65b, Narayanan et al. 2021, eq. 4")
def days_on_gpus(
    gpus: int, model_flops: int, peak: int, mfu: Fraction, parallel_efficiency: Fraction, goodput: Fraction
) -> Fraction:
    """Duration of the run in days."""
    return Fraction(model_flops) / (gpus * peak * mfu * parallel_efficiency * goodput * SECONDS_A_DAY)


@formula("tokens/s")
def token_rate(
    gpus: int, peak: int, mfu: Fraction, parallel_efficiency: Fraction, goodput: Fraction, flops_per_token: int
) -> Fraction:
    """Tokens per second of the cluster, averaged over the run."""
    return gpus * peak * mfu * parallel_efficiency * goodput / Fraction(flops_per_token)


def size_training(training: Training, peak_tflops: Figure, goodput: Figure) -> TrainingRun:
    """Return the needs of a training run, from the dense peak of a GPU at its precision [TFLOP/s] and the goodput.

    Raises Infeasible for attention FLOPs of a model of unknown shape, and for a rate above the peak.
    """
    model, peak = training.model, peak_flops(peak_tflops)
    usual = _parameter_flops(training, model.active_parameters)
    counted = _counted_parameters(training, str(training.embedding.value))
    plain = usual if counted is model.active_parameters else _parameter_flops(training, counted)
    model_flops, attention = plain, None
    if training.attention.value != NONE:
        attention = model_work.attention_flops_of_run(training, training.attention)
        model_flops = sum_of_flops(plain, attention)
    hardware = _hardware(training, model_flops, attention)
    a_token = model_flops_per_token(model_flops, training.tokens, training.epochs)
    mfu = _utilisation(training, usual, model_flops, hardware, peak, a_token)
    hfu = hardware_utilisation(mfu, model_flops, hardware)
    required = None
    if training.target_days:
        efficiency = training.parallel_efficiency
        required = gpus_for_days(training.target_days, model_flops, peak, mfu, efficiency, goodput)
    return TrainingRun(
        mfu_by_convention=_mfu_by_convention(training, plain, model_flops, mfu),
        mfu_by_embedding=_mfu_by_embedding(training, model_flops, mfu, attention),
        hfu_by_recomputation=_hfu_by_recomputation(training, model_flops, attention, mfu, hfu),
        tokens_per_second_per_gpu=rate_of_gpu(peak, mfu, a_token),
        parameters=model.parameters,
        active_parameters=model.active_parameters,
        peak_flops_per_gpu=peak,
        flops=model_flops,
        hardware_flops=hardware,
        mfu=mfu,
        hfu=hfu,
        achieved_flops_per_gpu=achieved_rate(hfu, peak),
        flops_per_token=a_token,
        goodput=goodput,
        gpus_required=required,
    )


def _counted_parameters(training: Training, embedding: str) -> Figure:
    """Return the active parameters that count in model FLOPs; all of them where the input embedding is unknown."""
    model = training.model
    vocab, hidden = model.shape.get("vocab"), model.shape.get("hidden")
    if embedding == COUNTED or model.tied or vocab is None or hidden is None:
        return model.active_parameters
    without = parameters_without_embedding(model.active_parameters, vocab, hidden)
    return without if without.value > 0 else model.active_parameters


def _parameter_flops(training: Training, active: Figure) -> Figure:
    """Return forward and backward FLOPs of all matrix products with parameters, also frozen ones and adapters."""
    of_trained = training.flops_per_parameter_token
    if training.tuning is None or not states.adapts(training):
        return parameter_flops(of_trained, active, training.tokens, training.epochs)
    of_frozen, adapters = training.tuning.frozen_flops_per_parameter_token, states.active_adapters(training)
    return states.adapted_flops(of_frozen, active, of_trained, adapters, training.tokens, training.epochs)


def _hardware(training: Training, model_flops: Figure, attention: Figure | None) -> Figure:
    """Return model FLOPs plus recomputed FLOPs: of parameters in full recomputation, of attention in either mode."""
    again = None
    if training.recompute.value == FULL:
        works = _counted_parameters(training, str(training.embedding.value))
        if states.adapts(training):
            works = states.sum_of_parameters(works, states.active_adapters(training))
        again_per_token = training.recompute_flops_per_parameter_token
        again = recomputed_parameters(again_per_token, works, training.tokens, training.epochs)
    twice = model_work.recomputed_attention(training, attention) if attention else None
    if twice:
        again = sum_of_recomputed(again, twice) if again else twice
    return hardware_flops(model_flops, again) if again else hardware_flops_without_recompute(model_flops)


def _mfu_by_convention(training: Training, plain: Figure, model_flops: Figure, mfu: Figure) -> dict[str, Figure]:
    """Return the run's MFU by every convention of counting attention, for comparison with published values."""
    if training.attention.value == NONE and not model_work.can_count_attention(training):
        return {}
    shares = {}
    for convention, word in model_work.CONVENTIONS.items():
        if convention == training.attention.value:
            shares[convention] = mfu
            continue
        counted = plain
        if convention != NONE:
            counted = sum_of_flops(plain, model_work.attention_flops_of_run(training, word))
        shares[convention] = model_work.mfu_of_convention(mfu, model_flops, counted)
    return shares


def _mfu_by_embedding(
    training: Training, model_flops: Figure, mfu: Figure, attention: Figure | None
) -> dict[str, Figure]:
    """Return the run's MFU with the input embedding counted and left out, for comparison with published values."""
    shares = {}
    for embedding in (COUNTED, LEFT_OUT):
        if embedding == training.embedding.value:
            shares[embedding] = mfu
            continue
        active = _counted_parameters(training, embedding)
        if embedding == LEFT_OUT and active is training.model.active_parameters:
            return {}
        products = _parameter_flops(training, active)
        counted = sum_of_flops(products, attention) if attention else products
        shares[embedding] = model_work.mfu_of_convention(mfu, model_flops, counted)
    return shares if shares[COUNTED].value != shares[LEFT_OUT].value else {}


def _hfu_by_recomputation(
    training: Training, model_flops: Figure, attention: Figure | None, mfu: Figure, hfu: Figure
) -> dict[str, Figure]:
    """Return the HFU of selective recomputation from first principles, and as its paper prints it."""
    if training.recompute.value != SELECTIVE or attention is None:
        return {}
    twice = flops_with_attention_twice(model_flops, attention)
    return {"first_principles": hfu, "korthikanti": hardware_utilisation(mfu, model_flops, twice)}


def _utilisation(
    training: Training, plain: Figure, model_flops: Figure, hardware: Figure, peak: Figure, a_token: Figure
) -> Figure:
    """Return the MFU by the plan's convention; an assumed one refers to 6 N D, whatever the convention."""
    if training.achieved_tflops:
        because = training.achieved_tflops
        mfu = mfu_of_rate(training.achieved_tflops, model_flops, hardware, peak)
    elif training.tokens_per_second_per_gpu:
        because = training.tokens_per_second_per_gpu
        mfu = mfu_of_tokens(training.tokens_per_second_per_gpu, a_token, peak)
    else:
        because = mfu = require(training.mfu, "a training run has a utilisation or a measured rate")
        if isinstance(mfu.origin, Assumed) and model_flops is not plain:
            mfu = model_work.mfu_of_convention(mfu, plain, model_flops)
    if mfu.value * hardware.value > model_flops.value:
        share = float(mfu.value * hardware.value / model_flops.value)
        message = (
            f"this rate is {share:.0%} of the dense peak of {float(peak.value / TERA):g} TFLOP/s with recomputation "
            "counted; give a rate that the GPU can reach"
        )
        raise Infeasible(message, because=because, rule="above-peak")
    return mfu


def gpus_needed(training: Training, run: TrainingRun) -> Figure:
    """Return the exact GPUs for the target time without lost time. Raises ValueError without a target."""
    target, efficiency = require(training.target_days, "no target"), training.parallel_efficiency
    return gpus_without_loss(target, run.flops, run.peak_flops_per_gpu, run.mfu, efficiency)


def days(training: Training, run: TrainingRun, gpus: Figure) -> Figure:
    """Return the days that the run takes on a number of GPUs."""
    return days_on_gpus(gpus, run.flops, run.peak_flops_per_gpu, run.mfu, training.parallel_efficiency, run.goodput)


def tokens_per_second(training: Training, run: TrainingRun, gpus: Figure) -> Figure:
    """Return the tokens per second of a number of GPUs, averaged over the run."""
    return token_rate(
        gpus, run.peak_flops_per_gpu, run.mfu, training.parallel_efficiency, run.goodput, run.flops_per_token
    )


SECONDS_AN_HOUR = SECONDS_A_DAY // HOURS_A_DAY
SHOWN = 4
"""Number of published runs that a report shows: the nearest by active parameters."""


class RunComparison(NamedTuple):
    """A published run, and the duration of the plan's run at its utilisation."""

    run: PublishedRun
    mfu: Figure
    """MFU over the whole run, including its interruptions."""
    days: Figure


class RunComparisons(NamedTuple):
    """A run beside published ones."""

    runs: tuple[RunComparison, ...]
    """Published runs, the nearest by active parameters first."""
    effective_mfu: Figure
    """MFU of the plan's run: 6 N D over wall-clock time, comparable with that of published runs."""


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


def compare_runs(training: Training, run: TrainingRun, gpu: Gpu, gpus: Figure, run_days: Figure) -> RunComparisons:
    """Return a training run on a number of GPUs beside the catalogue's published runs.

    Published utilisations are shares of the dense bf16 peak, and so is everything compared with them; for a GPU without
    a bf16 peak, the peak that the run uses replaces it.
    """
    bf16 = gpu.dense.get(REFERENCE_PRECISION)
    peak = peak_flops(bf16) if bf16 else run.peak_flops_per_gpu
    active = training.model.active_parameters
    flops = parameter_flops(training.flops_per_parameter_token, active, training.tokens, training.epochs)
    nearest = sorted(training.published_runs(), key=lambda published: _distance(published, active))[:SHOWN]
    return RunComparisons(
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

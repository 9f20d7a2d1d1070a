"""A training run: FLOPs, rates, GPUs and days.

C = 6 N D model FLOPs for N active parameters and D tokens (Kaplan et al. 2020); a run takes C / (GPUs x achieved
FLOP/s) seconds. Recomputation of activations costs hardware FLOPs that model FLOPs and MFU leave out.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.figures import Figure, formula
from bomgen.plan import Training
from bomgen.problems import Infeasible

TERA = 10**12
SECONDS_A_DAY = 24 * 60 * 60
CAUSAL_SHARE = Fraction(1, 2)
"""Half of the score matrix is computed under a causal mask."""
FULL_ATTENTION_FLOPS = 12
"""Training FLOPs a token, layer, head, head dimension and position of context (PaLM, arXiv 2204.02311, appendix B)."""
BACKWARD_SHARE = 3
"""Forward and backward pass are three times the forward pass."""
ATTENTION_SHARES = {"none": Fraction(0), "causal": CAUSAL_SHARE, "full": Fraction(1)}


class Run(NamedTuple):
    """What a training run needs of any cluster: nothing here depends on the number of GPUs."""

    parameters: Figure
    active_parameters: Figure
    peak_flops_per_gpu: Figure
    flops: Figure
    hardware_flops: Figure
    mfu: Figure
    hfu: Figure
    achieved_flops_per_gpu: Figure
    """Hardware FLOP/s of a GPU, recomputation counted."""
    flops_per_token: Figure
    gpus_required: Figure | None
    """For the target days; None when there is none."""


@formula("FLOP/s")
def peak_flops(peak_tflops: Fraction) -> Fraction:
    """Dense peak of a GPU at the training precision."""
    return peak_tflops * TERA


@formula("FLOPs", source="Kaplan et al. 2020, arXiv 2001.08361: C = 6 N D")
def parameter_flops(flops_per_parameter_token: int, active_parameters: int, tokens: int, epochs: int) -> int:
    """Forward and backward FLOPs of all matrix products with parameters."""
    return flops_per_parameter_token * active_parameters * tokens * epochs


@formula("FLOPs", source="Chowdhery et al. 2022, arXiv 2204.02311, appendix B: 12 L H Q T a token")
def attention_flops(
    attention: str, layers: int, heads: int, head_dim: int, sequence: int, tokens: int, epochs: int
) -> int:
    """Forward and backward FLOPs of the attention scores and of their product with the values."""
    return ceil(
        ATTENTION_SHARES[attention] * FULL_ATTENTION_FLOPS * layers * heads * head_dim * sequence * tokens * epochs
    )


@formula("FLOPs")
def sum_of_flops(parameter_part: int, attention_part: int) -> int:
    """Model FLOPs with attention."""
    return parameter_part + attention_part


@formula("FLOPs")
def recomputed_parameters(
    recompute: str, again_per_parameter_token: int, active_parameters: int, tokens: int, epochs: int
) -> int:
    """FLOPs of the second forward pass that full recomputation runs (Narayanan et al. 2021, eq. 4: 8 in place of 6)."""
    return again_per_parameter_token * active_parameters * tokens * epochs if recompute == "full" else 0


@formula("FLOPs", source="Korthikanti et al. 2022, arXiv 2205.05198: both modes recompute attention")
def recomputed_attention(recompute: str, attention_part: int) -> Fraction:
    """FLOPs of the attention scores computed a second time: a forward pass is a third of forward and backward."""
    return Fraction(0) if recompute == "none" else Fraction(attention_part, BACKWARD_SHARE)


@formula("FLOPs")
def hardware_flops(model_flops: int, again: int) -> int:
    """Model FLOPs and those spent again on recomputation."""
    return model_flops + again


@formula("FLOPs")
def sum_of_recomputed(parameters_again: int, attention_again: Fraction) -> Fraction:
    """All FLOPs spent again."""
    return parameters_again + attention_again


@formula("share")
def mfu_of_rate(achieved_tflops: Fraction, model_flops: int, hardware_flops: int, peak: int) -> Fraction:
    """The share of the peak that goes into model FLOPs at a measured hardware rate."""
    return Fraction(achieved_tflops * TERA * model_flops) / (hardware_flops * peak)


@formula("share")
def mfu_of_tokens(tokens_per_second_per_gpu: Fraction, flops_per_token: int, peak: int) -> Fraction:
    """The share of the peak that goes into model FLOPs at a measured token rate."""
    return Fraction(tokens_per_second_per_gpu * flops_per_token) / peak


@formula("share")
def hardware_utilisation(mfu: Fraction, model_flops: int, hardware_flops: int) -> Fraction:
    """Hardware FLOPs utilisation: MFU with recomputation counted."""
    return Fraction(mfu * hardware_flops) / model_flops


@formula("FLOP/s")
def achieved_rate(hfu: Fraction, peak: int) -> Fraction:
    """Hardware FLOP/s of a GPU."""
    return hfu * peak


@formula("FLOPs")
def per_token(model_flops: int, tokens: int, epochs: int) -> Fraction:
    """Model FLOPs of a token."""
    return Fraction(model_flops) / (tokens * epochs)


@formula("GPUs", source="T = C / (X A) for X; cite optics-65b, Narayanan et al. 2021, eq. 4")
def gpus_for_days(
    target_days: Fraction,
    model_flops: int,
    peak: int,
    mfu: Fraction,
    parallel_efficiency: Fraction,
    goodput: Fraction,
) -> int:
    """Whole GPUs that finish in the target time."""
    return ceil(Fraction(model_flops) / (peak * mfu * parallel_efficiency * goodput * target_days * SECONDS_A_DAY))


@formula("days", source="T = C / (X A); cite optics-65b, Narayanan et al. 2021, eq. 4")
def days_on_gpus(
    gpus: int,
    model_flops: int,
    peak: int,
    mfu: Fraction,
    parallel_efficiency: Fraction,
    goodput: Fraction,
) -> Fraction:
    """Days that the run takes."""
    return Fraction(model_flops) / (gpus * peak * mfu * parallel_efficiency * goodput * SECONDS_A_DAY)


@formula("tokens/s")
def token_rate(
    gpus: int, peak: int, mfu: Fraction, parallel_efficiency: Fraction, goodput: Fraction, flops_per_token: int
) -> Fraction:
    """Tokens that the cluster trains on a second, averaged over the run."""
    return gpus * peak * mfu * parallel_efficiency * goodput / Fraction(flops_per_token)


def size(training: Training, peak_tflops: Figure) -> Run:
    """What a training run needs, from the dense peak of a GPU at its precision.

    Raises Infeasible when attention is to be counted for a model whose shape is not known, or a rate is above the peak.
    """
    model = training.model
    parameters = model.parameters
    active = model.active_parameters
    peak = peak_flops(peak_tflops)
    plain = parameter_flops(training.flops_per_parameter_token, active, training.tokens, training.epochs)
    again = recomputed_parameters(
        training.recompute, training.recompute_flops_per_parameter_token, active, training.tokens, training.epochs
    )
    model_flops = plain
    if training.attention.value != "none":
        attention = _attention(training)
        model_flops = sum_of_flops(plain, attention)
        again = sum_of_recomputed(again, recomputed_attention(training.recompute, attention))
    hardware = hardware_flops(model_flops, again)
    a_token = per_token(model_flops, training.tokens, training.epochs)
    mfu = _utilisation(training, model_flops, hardware, peak, a_token)
    hfu = hardware_utilisation(mfu, model_flops, hardware)
    required = None
    if training.target_days:
        efficiency, goodput = training.parallel_efficiency, training.goodput
        required = gpus_for_days(training.target_days, model_flops, peak, mfu, efficiency, goodput)
    return Run(
        parameters=parameters,
        active_parameters=active,
        peak_flops_per_gpu=peak,
        flops=model_flops,
        hardware_flops=hardware,
        mfu=mfu,
        hfu=hfu,
        achieved_flops_per_gpu=achieved_rate(hfu, peak),
        flops_per_token=a_token,
        gpus_required=required,
    )


@formula("count")
def head_width(hidden: int, heads: int) -> int:
    """Width of an attention head where the model does not say: the heads share the hidden size."""
    return hidden // heads


def _attention(training: Training) -> Figure:
    shape = dict(training.model.shape)
    if "head_dim" not in shape and {"hidden", "heads"} <= shape.keys():
        shape["head_dim"] = head_width(shape["hidden"], shape["heads"])
    if training.sequence is None or not {"layers", "heads", "head_dim"} <= shape.keys():
        message = (
            f"attention FLOPs of {training.model.identity.name} need layers, heads, head_dim and `sequence`; "
            "give them, name a catalogue model, or leave `attention: none`"
        )
        raise Infeasible(message, because=training.attention, rule="unknown-shape")
    return attention_flops(
        training.attention,
        shape["layers"],
        shape["heads"],
        shape["head_dim"],
        training.sequence,
        training.tokens,
        training.epochs,
    )


def _utilisation(training: Training, model_flops: Figure, hardware: Figure, peak: Figure, a_token: Figure) -> Figure:
    if training.achieved_tflops:
        because = training.achieved_tflops
        mfu = mfu_of_rate(training.achieved_tflops, model_flops, hardware, peak)
    elif training.tokens_per_second_per_gpu:
        because = training.tokens_per_second_per_gpu
        mfu = mfu_of_tokens(training.tokens_per_second_per_gpu, a_token, peak)
    elif training.mfu:
        because = training.mfu
        mfu = training.mfu
    else:
        raise ValueError("a training run has a utilisation or a measured rate")
    if mfu.value * hardware.value > model_flops.value:
        share = float(mfu.value * hardware.value / model_flops.value)
        message = (
            f"this rate is {share:.0%} of the dense peak of {float(peak.value / TERA):g} TFLOP/s with recomputation "
            "counted; give a rate that the GPU can reach"
        )
        raise Infeasible(message, because=because, rule="above-peak")
    return mfu


def days(training: Training, run: Run, gpus: Figure) -> Figure:
    """Days that the run takes on so many GPUs."""
    efficiency, goodput = training.parallel_efficiency, training.goodput
    return days_on_gpus(gpus, run.flops, run.peak_flops_per_gpu, run.mfu, efficiency, goodput)


def tokens_per_second(training: Training, run: Run, gpus: Figure) -> Figure:
    """Tokens that so many GPUs train on a second, averaged over the run."""
    efficiency, goodput = training.parallel_efficiency, training.goodput
    return token_rate(gpus, run.peak_flops_per_gpu, run.mfu, efficiency, goodput, run.flops_per_token)

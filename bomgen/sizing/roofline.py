"""How fast a replica serves: a roofline estimate, with the range that published efficiencies span.

A prompt is limited by arithmetic, an answer by the memory that every token reads again: weights once a step for all
requests of a batch, and the KV cache of each. Both are taken at a share of the data sheet's peak; how large a share
programs reach is an assumption, low, typical and high. Left out, and covered by the range: attention FLOPs, traffic
between GPUs, scheduling. Where stages share a model, each works on its part of the batch in turn, so a step lasts as
many turns as there are stages.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from bomgen.figures import Figure, formula
from bomgen.parts import Gpu
from bomgen.plan import Inference
from bomgen.sizing import kv, peak
from bomgen.sizing.kv import BYTES
from bomgen.sizing.replica import PATH, Replica

SECONDS_A_MINUTE = 60
WEIGHT_ONLY = "int4"
"""The format in which weights are only kept: no GPU of the catalogue has a peak for it, they work in 16 bits."""
SIXTEEN_BITS = ("bf16", "fp16")
LACKS = {
    "shape": "the model's shape (layers, hidden, heads)",
    "context": "`context`",
    "bandwidth": "the GPU's memory bandwidth",
    "peak": "the GPU's peak",
}
"""What an estimate cannot do without."""
_POPE = "Pope et al. 2022, Efficiently Scaling Transformer Inference, arXiv 2211.05102, section 2"


class Rate(NamedTuple):
    """How fast a replica serves, at one pair of efficiencies."""

    prefill: Figure
    """Seconds that a prompt takes."""
    step: Figure
    """Seconds that the next token of all requests takes."""
    of_replica: Figure | None
    """Tokens/s put out; None: the plan does not say how many a request asks for."""
    of_gpu: Figure | None


class Estimate(NamedTuple):
    """The rate of a replica as the roofline gives it."""

    peak: Figure
    """FLOP/s of a GPU."""
    batch: Figure
    """Requests that a replica works on at a time."""
    low: Rate
    typical: Rate
    high: Rate


def peak_of(inference: Inference, gpu: Gpu) -> Figure:
    """The peak of a GPU in the format that it works in [FLOP/s]: the weights' own, 16 bits for int4.

    Raises PlanErrors when the GPU does not have it, naming the formats that it has.
    """
    precision = inference.precision
    if precision.value == WEIGHT_ONLY and WEIGHT_ONLY not in gpu.dense:
        works_in = next((name for name in SIXTEEN_BITS if name in gpu.dense), WEIGHT_ONLY)
        precision = replace(precision, value=works_in)
    return peak.peak_flops(peak.peak_of_gpu(gpu, precision, PATH, inference.mark))


def missing(inference: Inference, gpu: Gpu) -> str | None:
    """What an estimate lacks, as a key of `LACKS`; None when all is there."""
    if kv.cache(inference) is None:
        return "shape"
    if inference.context is None:
        return "context"
    if gpu.memory_bandwidth is None:
        return "bandwidth"
    return None if gpu.dense else "peak"


def estimate(inference: Inference, gpu: Gpu, replica: Replica) -> Estimate | None:
    """The rate of a replica; None when something for it is not known.

    Raises PlanErrors when the GPU does not work in the format of the weights.
    """
    top = peak_of(inference, gpu) if gpu.dense else None
    held, context, bandwidth = kv.cache(inference), inference.context, gpu.memory_bandwidth
    if held is None or context is None or bandwidth is None or top is None:
        return None
    batch = _batch(inference, replica)
    turn = requests_of_turn(batch, replica.pipeline)
    output = inference.output_tokens
    mean = kv.of_request(held, mean_tokens(context, output) if output else context)
    cache = kv.of_gpu(held, mean, replica.tensor, replica.stages)
    model = inference.model
    value = BYTES[str(inference.precision.value)]
    read = weights_read(model.parameters, model.active_parameters, turn, value, replica.tensor, replica.stages)
    tokens = prompt_tokens(context, output) if output else context

    def rate(compute_efficiency: Figure, bandwidth_efficiency: Figure) -> Rate:
        prefill = prefill_seconds(model.active_parameters, tokens, replica.gpus, top, compute_efficiency)
        arithmetic = arithmetic_seconds(model.active_parameters, turn, replica.gpus, top, compute_efficiency)
        reading = reading_seconds(read, turn, cache, bandwidth, bandwidth_efficiency)
        step = decode_seconds_per_token(replica.pipeline, arithmetic, reading)
        of_replica = tokens_per_second_of_replica(batch, output, prefill, step) if output else None
        return Rate(prefill, step, of_replica, of_gpu(of_replica, replica.gpus) if of_replica else None)

    compute, memory = inference.compute_efficiency, inference.bandwidth_efficiency
    low, typical = rate(compute.low, memory.low), rate(compute.typical, memory.typical)
    return Estimate(top, batch, low, typical, rate(compute.high, memory.high))


def _batch(inference: Inference, replica: Replica) -> Figure:
    """The requests that a replica works on: those asked for, at most those it holds; not asked, all it holds."""
    if replica.held is None:
        return inference.concurrency
    return requests_at_a_time(inference.concurrency, replica.held) if inference.asks else requests_full(replica.held)


@formula("requests")
def requests_at_a_time(concurrency: int, held: int) -> int:
    """The requests in flight that the plan asks for, as far as a replica holds them."""
    return max(1, min(concurrency, held))


@formula("requests")
def requests_full(held: int) -> int:
    """The requests that a replica holds, where the plan does not say how many are in flight."""
    return max(1, held)


@formula("requests")
def requests_of_turn(batch: int, pipeline: int) -> Fraction:
    """Requests that a stage works on in a turn."""
    return max(Fraction(1), Fraction(batch, pipeline))


@formula("tokens")
def prompt_tokens(context: int, output_tokens: int) -> int:
    """Tokens of a request that are not put out."""
    return context - output_tokens


@formula("tokens")
def mean_tokens(context: int, output_tokens: int) -> Fraction:
    """Tokens that a request holds on average while its answer grows."""
    return context - Fraction(output_tokens, 2)


@formula("s", _POPE)
def prefill_seconds(
    active_parameters: int, prompt_tokens: int, gpus: int, peak: Fraction, efficiency: Fraction
) -> Fraction:
    """Time that a prompt takes: 2 FLOPs a parameter and token."""
    return 2 * active_parameters * prompt_tokens / (gpus * Fraction(peak) * efficiency)


@formula("bytes")
def weights_read(
    parameters: int, active_parameters: int, requests: Fraction, value_bytes: Fraction, tensor: int, stages: Fraction
) -> Fraction:
    """Weights that a GPU reads in a turn: all, or of a mixture no more than its requests together activate."""
    return min(Fraction(parameters), active_parameters * requests) * Fraction(value_bytes) / (tensor * stages)


@formula("s", _POPE)
def arithmetic_seconds(
    active_parameters: int, requests: Fraction, gpus: int, peak: Fraction, efficiency: Fraction
) -> Fraction:
    """Time that the arithmetic of a turn takes."""
    return 2 * active_parameters * requests / (gpus * Fraction(peak) * efficiency)


@formula("s", _POPE)
def reading_seconds(
    weights_read: Fraction, requests: Fraction, kv_of_request: Fraction, bandwidth: int, efficiency: Fraction
) -> Fraction:
    """Time that the fullest GPU takes to read weights and KV cache in a turn."""
    return (weights_read + requests * Fraction(kv_of_request)) / (bandwidth * Fraction(efficiency))


@formula("s")
def decode_seconds_per_token(pipeline: int, arithmetic: Fraction, reading: Fraction) -> Fraction:
    """Time until every request of the batch has its next token: a turn of every stage."""
    return pipeline * max(Fraction(arithmetic), Fraction(reading))


@formula("tokens/s")
def tokens_per_second_of_replica(batch: int, output_tokens: int, prefill: Fraction, step: Fraction) -> Fraction:
    """Tokens put out by a replica that reads the prompts of a batch and then answers all of them."""
    return Fraction(batch * output_tokens) / (batch * prefill + output_tokens * step)


@formula("tokens/s")
def of_gpu(of_replica: Fraction, gpus: int) -> Fraction:
    """Tokens put out, a GPU."""
    return Fraction(of_replica) / gpus

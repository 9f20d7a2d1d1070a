"""Throughput of a replica: a roofline estimate, with the range that published efficiencies span.

A prompt (prefill) is limited by arithmetic, an answer (decode) by memory bandwidth: every step reads the weights once
for all requests of a batch, and the KV cache of each. Both are counted at a share of the data sheet's peak; how large a
share programs reach is an assumption, low, typical and high. Left out, and covered by the range: attention FLOPs of
answers, traffic between GPUs, scheduling. With pipeline stages each stage processes its part of the batch in turn, so a
step lasts as many turns as there are stages; prompts follow each other through the stages, and each passes all.

Of a mixture a step reads all weights, or no more than its requests together activate. A prompt takes 2 FLOPs per
parameter and token, and its causal attention. With stages a prompt occupies the replica for its share of the time, and
takes as many times as long to pass all. A batch lasts as long as its prompts and its answers one after the other, whose
KV cache is read at its mean length; of layers with sparse attention, the chosen tokens.

Speculative decoding drafts tokens that a step of the model verifies together: its arithmetic grows with them, and it
ends with more than one token. The draft itself is taken to cost nothing.

The three efficiencies each for arithmetic and for bandwidth (`data/assumption/inference-*`) are a judgement that spans
published values, and were not fitted; for mixtures of experts those of arithmetic are lower. Of the throughputs of 2023
to 2025 that NVIDIA published for TensorRT-LLM nineteen of twenty lie between low and high.
`tests/reference/serving.yaml` has the rows, and the reason for those outside.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from bomgen.catalog.parts import Gpu, Model
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Reference, formula
from bomgen.plan.types import Inference
from bomgen.sizing import attention_flops as attention
from bomgen.sizing import peak_flops as peak
from bomgen.sizing.serving import kv_cache
from bomgen.sizing.serving.kv_cache import BYTES
from bomgen.sizing.serving.replicas import PATH, Replica, by_requests, kv_of_gpu

SECONDS_A_MINUTE = 60
WEIGHT_ONLY = "int4"
"""The format in which weights are only stored: GPUs without a peak for it compute in 16 bits."""
SIXTEEN_BITS = ("bf16", "fp16")
LACKS = {
    "shape": "the model's shape (layers, hidden, heads)",
    "context": "`context`",
    "memory": "the GPU's memory, or a `batch`",
    "bandwidth": "the GPU's memory bandwidth",
    "peak": "the GPU's peak",
}
"""What an estimate cannot do without."""
ARITHMETIC, BANDWIDTH = "arithmetic", "bandwidth"
"""What may bound a throughput."""
_LEVIATHAN = "Leviathan et al. 2022, Fast Inference from Transformers via Speculative Decoding, arXiv 2211.17192"
_POPE = "Pope et al. 2022, Efficiently Scaling Transformer Inference, arXiv 2211.05102, section 2"
_KAPLAN = Reference(
    "Kaplan et al. 2020, Scaling Laws for Neural Language Models, section 2.1: a forward pass takes 2 N",
    "https://arxiv.org/abs/2001.08361",
    "2026",
)
_PALM = Reference(
    "Chowdhery et al. 2022, PaLM, appendix B: 12 L H Q T a token forward and backward, a third of it forward",
    "https://arxiv.org/abs/2204.02311",
    "2026",
)
_WILLIAMS = Reference(
    "Williams, Waterman and Patterson 2009, Roofline: An Insightful Visual Performance Model",
    "https://doi.org/10.1145/1498765.1498785",
)
FORWARD_FLOPS = Figure(2, "FLOPs", Cited(message("forward-flops"), (_KAPLAN,), "high"))
PRODUCT_FLOPS = Figure(2, "FLOPs", Cited(message("attention-product-flops"), (_PALM,), "high"))
CAUSAL = attention.CONVENTIONS["causal"]
_ALL = Figure(1, "share", Cited(message("roofline-bound"), (_WILLIAMS,), "high"))


class ReplicaWork(NamedTuple):
    """The work of a replica, independent of the efficiencies."""

    batch: Figure
    """Requests processed at a time."""
    turn: Figure
    """Requests that a stage processes per turn."""
    prompt: Figure
    """FLOPs of a request's prompt."""
    weights: Figure
    """Bytes of weights that a GPU reads per turn."""
    cache: Figure
    """What a step reads of the KV cache of a request at its mean length on the fullest GPU [bytes]."""


class Rate(NamedTuple):
    """The throughput of a replica at one pair of efficiencies."""

    prefill: Figure
    """Seconds per prompt."""
    step: Figure
    """Seconds for the next token of all requests."""
    of_replica: Figure | None
    """Tokens/s generated; None: the plan gives no output tokens per request."""
    of_gpu: Figure | None


class Estimate(NamedTuple):
    """The throughput of a replica by the roofline."""

    peak: Figure
    """FLOP/s per GPU."""
    batch: Figure
    """Requests that a replica processes at a time."""
    low: Rate
    typical: Rate
    high: Rate


class Bound(NamedTuple):
    """The upper bound of a GPU's throughput."""

    of_gpu: Figure
    """Tokens/s generated."""
    by: str
    """ARITHMETIC or BANDWIDTH."""
    batch: Figure
    """Requests that share one read of the weights."""


def working_peak(inference: Inference, gpu: Gpu) -> Figure:
    """The peak of a GPU in the format it computes in [FLOP/s]: that of the weights, 16 bits for int4.

    Raises PlanErrors when the GPU does not support the format, naming the formats that it supports.
    """
    precision = inference.precision
    if precision.value == WEIGHT_ONLY and WEIGHT_ONLY not in gpu.dense:
        works_in = next((name for name in SIXTEEN_BITS if name in gpu.dense), WEIGHT_ONLY)
        precision = replace(precision, value=works_in)
    return peak.peak_flops(peak.peak_of_gpu(gpu, precision, PATH, inference.mark))


def missing(inference: Inference, gpu: Gpu) -> str | None:
    """What an estimate lacks, as a key of `LACKS`; None when nothing is missing."""
    if kv_cache.cache(inference) is None:
        return "shape"
    if inference.context is None:
        return "context"
    if gpu.memory_bytes is None and inference.batch is None:
        return "memory"
    if gpu.memory_bandwidth is None:
        return "bandwidth"
    return None if gpu.dense else "peak"


def estimate(inference: Inference, gpu: Gpu, replica: Replica) -> Estimate | None:
    """The estimated throughput of a replica; None when an input is not known.

    Raises PlanErrors when the GPU does not support the format of the weights.
    """
    top = working_peak(inference, gpu) if gpu.dense else None
    load, bandwidth = _load(inference, replica, _batch(inference, replica)), gpu.memory_bandwidth
    if load is None or bandwidth is None or top is None:
        return None
    active, output = inference.model.active_parameters, inference.output_tokens

    def rate(compute_efficiency: Figure, bandwidth_efficiency: Figure) -> Rate:
        fullest = replica.tensor, replica.stages
        occupied = occupied_seconds(load.prompt, *fullest, top, compute_efficiency)
        prefill = prefill_seconds(replica.stages, occupied)
        turn = tokens_verified(load.turn, inference.drafted) if inference.drafted else load.turn
        arithmetic = arithmetic_seconds(FORWARD_FLOPS, active, turn, *fullest, top, compute_efficiency)
        reading = reading_seconds(load.weights, load.turn, load.cache, bandwidth, bandwidth_efficiency)
        step = decode_seconds_per_token(replica.pipeline, arithmetic, reading)
        if inference.accepted:
            step = seconds_per_token_drafted(step, inference.accepted)
        if output is None:
            return Rate(prefill, step, None, None)
        of_replica = tokens_per_second_of_replica(load.batch, output, occupied, prefill, step)
        return Rate(prefill, step, of_replica, tokens_per_second_of_gpu(of_replica, replica.gpus))

    compute, memory = inference.compute_efficiency, inference.bandwidth_efficiency
    low, typical = rate(compute.low, memory.low), rate(compute.typical, memory.typical)
    return Estimate(top, load.batch, low, typical, rate(compute.high, memory.high))


def bound(inference: Inference, gpu: Gpu, replica: Replica) -> Bound | None:
    """The most that a GPU of a full replica generates; None when too little is known.

    Arithmetic and memory reads may overlap, so each alone is a bound. Weights in a format that the GPU does not support
    are assumed to be unpacked to 16 bits.
    """
    batch = requests_full(replica.held) if replica.held else None
    load, output = _load(inference, replica, batch), inference.output_tokens
    if load is None or output is None:
        return None
    found = []
    works_in = next((name for name in (inference.precision.value, *SIXTEEN_BITS) if name in gpu.dense), None)
    if works_in is not None:
        top = peak.peak_flops(gpu.dense[str(works_in)])
        most = most_by_arithmetic(top, load.prompt, output, FORWARD_FLOPS, inference.model.active_parameters)
        found.append(Bound(most, ARITHMETIC, load.batch))
    if gpu.memory_bandwidth is not None:
        reading = reading_seconds(load.weights, load.turn, load.cache, gpu.memory_bandwidth, _ALL)
        most = most_by_bandwidth(load.batch, replica.pipeline, reading, replica.gpus)
        found.append(Bound(most, BANDWIDTH, load.batch))
    return min(found, key=lambda one: one.of_gpu.value, default=None)


def _batch(inference: Inference, replica: Replica) -> Figure | None:
    """The requests that a replica processes at a time: as the plan says, at most those it holds; else all it holds."""
    if replica.held is None:
        return inference.batch
    return requests_at_a_time(inference.batch, replica.held) if inference.batch else requests_full(replica.held)


def _load(inference: Inference, replica: Replica, batch: Figure | None) -> ReplicaWork | None:
    """The work of a replica with a batch of requests; None when batch, shape or context are not known."""
    held, context, output, model = (
        kv_cache.cache(inference),
        inference.context,
        inference.output_tokens,
        inference.model,
    )
    if held is None or context is None or batch is None:
        return None
    turn = requests_of_turn(batch, replica.pipeline)
    value = BYTES[str(inference.precision.value)]
    mean = mean_tokens(context, output) if output else context
    read = weights_read(model.parameters, model.active_parameters, turn, value, replica.tensor, replica.stages)
    of_gpu = partial(kv_cache.bytes_read_per_gpu, held, mean)
    return ReplicaWork(
        batch=batch,
        turn=turn,
        prompt=_flops_of_prompt(model, prompt_tokens(context, output) if output else context),
        weights=replica.weights if by_requests(inference) else read,
        cache=kv_of_gpu(inference, replica.tensor, of_gpu, replica.stages),
    )


def _flops_of_prompt(model: Model, tokens: Figure) -> Figure:
    """FLOPs of a prompt, including attention when the shape of the heads is known."""
    products = attention.products_of_token(model, CAUSAL, tokens)
    if products is None:
        return prompt_flops(FORWARD_FLOPS, model.active_parameters, tokens)
    attention_flops = attention_of_prompt(PRODUCT_FLOPS, products, tokens)
    return prompt_flops_with_attention(FORWARD_FLOPS, model.active_parameters, tokens, attention_flops)


@formula("requests")
def requests_at_a_time(batch: int, held: int) -> int:
    """The batch that the plan asks for, at most what a replica holds."""
    return max(1, min(batch, held))


@formula("requests")
def requests_full(held: int) -> int:
    """The requests that a replica holds, where the plan gives no batch."""
    return max(1, held)


@formula("requests")
def requests_of_turn(batch: int, pipeline: int) -> Fraction:
    """Requests that a stage processes per turn."""
    return max(Fraction(1), Fraction(batch, pipeline))


@formula("tokens")
def prompt_tokens(context: int, output_tokens: int) -> int:
    """Tokens of a request's prompt."""
    return context - output_tokens


@formula("tokens")
def mean_tokens(context: int, output_tokens: int) -> Fraction:
    """Mean length of a request while its answer grows."""
    return context - Fraction(output_tokens, 2)


@formula("FLOPs", _POPE)
def prompt_flops(flops_per_parameter_token: int, active_parameters: int, prompt_tokens: int) -> int:
    """FLOPs of a prompt without attention, where the shape of the heads is not known."""
    return flops_per_parameter_token * active_parameters * prompt_tokens


@formula("FLOPs", "Chowdhery et al. 2022, PaLM, arXiv 2204.02311, appendix B; half of it under a causal mask")
def attention_of_prompt(flops_per_multiply_add: int, products: Fraction, prompt_tokens: int) -> Fraction:
    """FLOPs of the attention scores of a prompt and of their product with the values."""
    return flops_per_multiply_add * products * prompt_tokens


@formula("FLOPs", _POPE)
def prompt_flops_with_attention(
    flops_per_parameter_token: int, active_parameters: int, prompt_tokens: int, attention: Fraction
) -> Fraction:
    """FLOPs of a prompt, including attention."""
    return flops_per_parameter_token * active_parameters * prompt_tokens + attention


@formula("s", _POPE)
def occupied_seconds(
    prompt_flops: Fraction, tensor: int, stages: Fraction, peak: Fraction, efficiency: Fraction
) -> Fraction:
    """Time that a prompt occupies the fullest stage, while other stages process other prompts."""
    return prompt_flops / (tensor * stages * Fraction(peak) * efficiency)


@formula("s")
def prefill_seconds(stages: Fraction, occupied: Fraction) -> Fraction:
    """Time until a prompt has passed all stages."""
    return stages * occupied


@formula("bytes")
def weights_read(
    parameters: int, active_parameters: int, requests: Fraction, value_bytes: Fraction, tensor: int, stages: Fraction
) -> Fraction:
    """Weights that a GPU reads per turn: all, or those of the experts that its requests can activate together."""
    return min(Fraction(parameters), active_parameters * requests) * Fraction(value_bytes) / (tensor * stages)


@formula("s", _POPE)
def arithmetic_seconds(
    flops_per_parameter_token: int,
    active_parameters: int,
    requests: Fraction,
    tensor: int,
    stages: Fraction,
    peak: Fraction,
    efficiency: Fraction,
) -> Fraction:
    """Time of a turn's arithmetic on the fullest stage."""
    return flops_per_parameter_token * active_parameters * requests / (tensor * stages * Fraction(peak) * efficiency)


@formula("s", _POPE)
def reading_seconds(
    weights_read: Fraction, requests: Fraction, kv_of_request: Fraction, bandwidth: int, efficiency: Fraction
) -> Fraction:
    """Time of a turn's reads of weights and KV cache on the fullest GPU."""
    return (weights_read + requests * Fraction(kv_of_request)) / (bandwidth * Fraction(efficiency))


@formula("s")
def decode_seconds_per_token(pipeline: int, arithmetic: Fraction, reading: Fraction) -> Fraction:
    """Time until every request of a batch has its next token: one turn per stage."""
    return pipeline * max(Fraction(arithmetic), Fraction(reading))


@formula("tokens", _LEVIATHAN)
def tokens_verified(requests: Fraction, drafted: int) -> Fraction:
    """Tokens that a turn of a stage works on: the drafted ones of every request, and one more."""
    return requests * (1 + drafted)


@formula("s", _LEVIATHAN)
def seconds_per_token_drafted(step: Fraction, accepted: Fraction) -> Fraction:
    """Mean time per token of a step that also ends with the drafted tokens that are accepted."""
    return step / (1 + Fraction(accepted))


@formula("tokens/s")
def tokens_per_second_of_replica(
    batch: int, output_tokens: int, occupied: Fraction, prefill: Fraction, step: Fraction
) -> Fraction:
    """Tokens/s of a replica that processes the prompts of a batch and then answers all of them."""
    return Fraction(batch * output_tokens) / (max(batch * Fraction(occupied), prefill) + output_tokens * step)


@formula("tokens/s")
def tokens_per_second_of_gpu(of_replica: Fraction, gpus: int) -> Fraction:
    """Tokens/s per GPU."""
    return Fraction(of_replica) / gpus


@formula("tokens/s")
def most_by_arithmetic(
    peak: Fraction, prompt_flops: Fraction, output_tokens: int, flops_per_parameter_token: int, active_parameters: int
) -> Fraction:
    """Tokens/s of a GPU at its full arithmetic peak."""
    return Fraction(peak) / (prompt_flops / Fraction(output_tokens) + flops_per_parameter_token * active_parameters)


@formula("tokens/s")
def most_by_bandwidth(batch: int, pipeline: int, reading: Fraction, gpus: int) -> Fraction:
    """Tokens/s of a GPU at its full memory bandwidth."""
    return Fraction(batch) / (pipeline * reading * gpus)

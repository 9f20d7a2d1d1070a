"""The terms of serving and the work that they time: weights that a step reads, arithmetic and KV cache.

A term is the seconds of one kind of work of a decode step or of a prompt at line rate: bytes over the bandwidth of
memory or links, FLOPs over the peak, and fixed times per layer, request and step. A decode step reads the weights once
for all requests of a replica, and the KV cache of each; prompts are processed in chunks, each of which reads all
weights and starts all layers. As in training, terms are multiplied by inverse efficiencies that are fitted to published
measurements (`COEFFICIENTS`); others rest on the constants here, which the measurements do not identify.
`docs/serving.md` describes the terms.

`line_rate_terms` and `times_of_load` are calculations, on numbers, NumPy arrays and figures alike, as those of `terms`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import exp, log2
from typing import Any, Generic, NamedTuple

from bomgen.catalog import model_matrices
from bomgen.catalog.model_matrices import Matrix
from bomgen.catalog.parts import Gpu, Model
from bomgen.core.provenance import Figure, applied, difference, formula, greatest, least, product, step
from bomgen.plan.types import ServedAdapters
from bomgen.sizing.model_work import (
    CONVENTIONS,
    ONE,
    ZERO,
    add_counts,
    add_figures,
    products_of_token,
    shared_and_routed,
    total_weights,
    weights_of_head,
    weights_of_matrix,
)
from bomgen.sizing.prediction.terms import BYTES, LINK_HOP_S, NETWORK_HOP_S, Number, ring_bandwidth
from bomgen.sizing.servers import peak_flops
from bomgen.sizing.serving import kv_cache
from bomgen.sizing.serving.gpu_memory import KEY_VALUES, adapter_bytes_of_gpu, adapter_parameters, bytes_of_rest
from bomgen.sizing.serving.kv_cache import VALUE_BYTES

CHUNK = 8192
"""Tokens of prompts that a step processes at most, the default of the engines."""
START_S = 30e-6
"""Unit of the fitted time to start the kernels of a layer [s]."""
SPECIAL_STARTS = 0.6
"""Starts of latent and linear attention beyond those of a layer."""
REDUCE_S = 6.4e-6
"""Latency of the all-reduces of a layer, per doubling of GPUs [s]."""
EXCHANGE_S = 60e-6
"""Latency of the two exchanges with experts of a layer [s]."""
EXCHANGE, PROMPT_EXCHANGE = 1.5, 3.0
"""Inverse efficiencies of the exchanges of decode and of prompts."""
REQUEST_S = 8e-6
"""Unit of the fitted time per request and step, for scheduling and sampling [s]."""
STEP_S = 160e-6
"""Constant time per step [s]."""
CHUNK_READING = 1.3
"""Inverse efficiency of reading all weights for a chunk of prompts."""
CONSTANT_S = 0.02
"""Unit of the fitted constant part of the time to first token [s]."""
ALL_REDUCES = 2
"""All-reduces of a layer: after attention and after the feed-forward block."""
EXCHANGED_BYTES = 3
"""Bytes per element that a token sends to an expert in 8 bits and gets back in 16."""
HALF_STEP = 0.6
"""Decode steps that a prompt waits for on average: half of one, which chunks of other prompts lengthen by a fifth."""
OVERLAP = 0.8
"""Share of the time of prompts that decode does not overlap."""
DRAFT_LAYERS = 1.5
"""Layers whose time a drafted token takes: a module of one layer, and the output projection."""
CONSTANT = "constant"
OWN_STEPS = ("sglang",)
"""Engines that process prompts in steps of their own; others mix them into decode steps."""
NARROW = 0.1
"""Standard deviation of lengths over their mean up to which requests start in waves, as those before them end."""
WAITED = 0.1
"""Share of the prompts of others that is processed before the first token of a request in a wave."""


class ServedWork(NamedTuple, Generic[Number]):
    """The work of a served model."""

    layers: Number
    expert_layers: Number
    latent_layers: Number
    """Layers with latent attention."""
    linear_layers: Number
    """Layers with linear attention or Mamba."""
    hidden: Number
    weights: Number
    """Multiply-adds per token with weights that every token passes."""
    head: Number
    """Multiply-adds of the output projection."""
    weights_size: Number
    """Size of these weights, output projection included, shared out to the GPUs of a tensor group."""
    repeated_size: Number
    """Size of weights that each GPU of a tensor group holds a copy of."""
    expert_weights: Number
    """Multiply-adds per token with routed experts."""
    experts_size: Number
    """Size of all routed experts."""
    experts: Number
    """Experts of a layer; 1 for a dense model, as for `topk`."""
    topk: Number
    prompt: Number
    """Prompt tokens that are processed; those in the prefix cache are not."""
    prompt_products: Number
    """Multiply-adds of attention of a prompt."""
    decode_products: Number
    """Multiply-adds of attention per output token at its mean length."""
    cache_size: Number
    """Size of what a step reads of the KV cache of a request at its mean length, on a GPU."""
    held_adapters: Number
    """Adapters that requests may have; 1 where there are none."""
    adapter_size: Number
    """Size of an adapter on a GPU; 0 where there are none."""


class ServingMachine(NamedTuple, Generic[Number]):
    """The line rates of a GPU that serves a model, and of its links."""

    peak: Number
    """Dense, for the weights that every token passes [FLOP/s]."""
    expert_peak: Number
    """Dense, for routed experts [FLOP/s]."""
    plain_peak: Number
    """Dense, at 16 bits, for attention [FLOP/s]."""
    memory_bandwidth: Number
    """Memory bandwidth [bytes/s]."""
    scale_up: Number
    """Scale-up bandwidth to the GPUs of the domain, one way [bytes/s]."""
    network: Number
    """Bandwidth of the NICs of a GPU, one way [bytes/s]."""
    domain: Number
    """GPUs that scale-up links connect."""


class ReplicaSplit(NamedTuple, Generic[Number]):
    """The split of a replica over GPUs, and the requests in flight on it."""

    width: Number
    """GPUs that share the attention of a request: tensor parallelism."""
    ranks: Number
    """Groups of such GPUs that attend to separate requests."""
    doublings: Number
    """See `doublings`."""
    exchanges: Number
    """1: tokens are exchanged with experts on other GPUs; else 0, where all-reduces do it."""
    pipeline: Number
    verified: Number
    """Tokens of a request that a step processes: 1, and those that were drafted."""
    in_flight: Number


class ServingTerms(NamedTuple, Generic[Number]):
    """Seconds of each kind of work: of a decode step, then of a prompt."""

    weights: Number
    experts: Number
    cache: Number
    adapters: Number
    arithmetic: Number
    expert_arithmetic: Number
    attention: Number
    starts: Number
    reduce_starts: Number
    reduces: Number
    exchange_starts: Number
    exchanges: Number
    requests: Number
    step: Number
    prompt_arithmetic: Number
    prompt_experts: Number
    prompt_attention: Number
    prompt_reduces: Number
    prompt_exchanges: Number
    prompt_weights: Number
    prompt_starts: Number


DECODE = ServingTerms._fields[: ServingTerms._fields.index("prompt_arithmetic")]
PROMPT = ServingTerms._fields[len(DECODE) :]
CHUNKED = ("prompt_weights", "prompt_starts")
"""Terms of a prompt that several short ones share."""
READING = ("weights", "experts", "cache", "adapters")
COEFFICIENTS = {
    **dict.fromkeys(READING, "memory"),
    **dict.fromkeys(("arithmetic", "attention"), "arithmetic"),
    **dict.fromkeys(("expert_arithmetic", "prompt_experts"), "expert_arithmetic"),
    "starts": "starts",
    "requests": "requests",
    **dict.fromkeys(("reduces", "prompt_reduces"), "reduces"),
    **dict.fromkeys(("prompt_arithmetic", "prompt_attention"), "prompt_arithmetic"),
    "prompt_starts": "prompt_starts",
}
"""The fitted inverse efficiency of each term that has one."""
AT_LEAST_ONE = ("memory", "arithmetic", "expert_arithmetic", "reduces", "prompt_arithmetic")
"""Inverse efficiencies of bytes and FLOPs, which are never below 1."""


def inverse_efficiency(name: str, logarithm: float) -> float:
    """Return an inverse efficiency from the sum of the logs that the fit found for it."""
    return exp(logarithm) + (name in AT_LEAST_ONE)


def doublings(width: float, domain: float) -> float:
    """Return how often GPUs double on the way to `width`; over the network the latency of a hop counts as more."""
    inside = min(width, domain)
    return log2(inside) + NETWORK_HOP_S / LINK_HOP_S * log2(width / inside)


def _share_reached(topk: float, experts: float, tokens: float) -> Any:
    return 1 - (1 - topk / experts) ** tokens


def line_rate_terms(work: ServedWork[Any], machine: ServingMachine[Any], split: ReplicaSplit[Any]) -> ServingTerms[Any]:
    """Return the terms of a decode step and of a prompt at line rate [s]."""
    w, m, s = work, machine, split
    gpus = step("gpus", "GPUs", s.width * s.ranks, "GPUs of a pipeline stage.")
    together = step("together", "tokens", s.in_flight / s.pipeline * s.verified, "Tokens of a step in a stage.")
    requests = step("requests", "requests", s.in_flight / s.pipeline / s.ranks, "Requests of a rank in a step.")
    tokens = step("tokens", "tokens", together / s.ranks, "Tokens of an attention rank in a step.")
    chunks = step("chunks", "chunks", greatest(1.0, w.prompt / CHUNK), "Chunks of a prompt that is processed alone.")
    held = step("held", "bytes", w.weights_size / s.width + w.repeated_size, "Weights on a GPU without routed experts.")
    ring = ring_bandwidth(m, s.width)
    domain = step("inside", "share", least(1.0, m.domain / gpus), "Share of the experts in a scale-up domain.")
    crossings = least(w.topk, greatest(1.0, gpus / m.domain)) / w.topk
    exchange = step(
        *("exchange_rate", "bytes/s", 1 / (domain / m.scale_up + (1 - domain) * crossings / m.network)),
        "Bandwidth of an exchange with experts; a token crosses the network once per domain.",
        "DeepSeek-AI 2024, arXiv 2412.19437, section 3.2.2",
    )
    others = step("others", "share", (gpus - 1) / gpus * s.exchanges, "Share of the experts that are on other GPUs.")

    def seconds(value: Any, why: str) -> Any:
        return step("seconds", "s", value, why)

    def multiply(products: Any, count: Any, over: Any, peak: Any, why: str) -> Any:
        return seconds(2 * products * count / over / peak, why)

    def reduce_all(count: Any, why: str) -> Any:
        return seconds(ALL_REDUCES * w.layers * 2 * (s.width - 1) / s.width * BYTES * w.hidden * count / ring, why)

    def exchange_all(count: Any, inverse: float, why: str) -> Any:
        sent = EXCHANGED_BYTES * w.expert_layers * w.hidden * w.topk * count / s.width * others
        return seconds(inverse * sent / exchange, why)

    read = step(
        *("adapters_read", "count", w.held_adapters * applied(_share_reached, 1.0, w.held_adapters, requests)),
        "Adapters that the requests of a step have, 1 - (1 - 1 / A)^B of them.",
    )
    special = SPECIAL_STARTS * (w.latent_layers + w.linear_layers)
    return ServingTerms(
        weights=seconds(held / m.memory_bandwidth, "Weights that every token passes, over the memory bandwidth."),
        experts=seconds(
            w.experts_size * applied(_share_reached, w.topk, w.experts, together) / gpus / m.memory_bandwidth,
            "Routed experts that the tokens of a step reach, 1 - (1 - k / E)^B of them, over the memory bandwidth.",
        ),
        cache=seconds(w.cache_size * requests / m.memory_bandwidth, "KV cache over the memory bandwidth."),
        adapters=seconds(w.adapter_size * read / m.memory_bandwidth, "Adapters over the memory bandwidth."),
        arithmetic=multiply(w.weights + w.head, tokens, s.width, m.peak, "FLOPs of weights over the peak."),
        expert_arithmetic=multiply(w.expert_weights, together, gpus, m.expert_peak, "FLOPs of experts over the peak."),
        attention=multiply(w.decode_products, tokens, s.width, m.plain_peak, "FLOPs of attention over the peak."),
        starts=seconds(START_S * (w.layers + w.expert_layers + special), "Unit of the time to start kernels."),
        reduce_starts=seconds(REDUCE_S * w.layers * s.doublings, "Latency of all-reduces."),
        reduces=reduce_all(tokens, "All-reduces over the bandwidth of the links, each with two rounds of the ring."),
        exchange_starts=seconds(EXCHANGE_S * w.expert_layers * s.exchanges, "Latency of exchanges with experts."),
        exchanges=exchange_all(tokens, EXCHANGE, "Exchanges with experts over the bandwidth of the links."),
        requests=seconds(REQUEST_S * requests, "Unit of the time to schedule requests."),
        step=seconds(STEP_S, "Constant time of a step."),
        prompt_arithmetic=multiply(w.weights, w.prompt, s.width, m.peak, "FLOPs of weights over the peak."),
        prompt_experts=multiply(w.expert_weights, w.prompt, s.width, m.expert_peak, "FLOPs of experts over the peak."),
        prompt_attention=seconds(2 * w.prompt_products / s.width / m.plain_peak, "FLOPs of attention over the peak."),
        prompt_reduces=reduce_all(w.prompt, "All-reduces over the bandwidth of the links."),
        prompt_exchanges=exchange_all(w.prompt, PROMPT_EXCHANGE, "Exchanges with experts over the links."),
        prompt_weights=seconds(
            CHUNK_READING * (held + w.experts_size / gpus) * chunks / m.memory_bandwidth,
            "All weights, once per chunk, over the memory bandwidth.",
        ),
        prompt_starts=seconds(
            START_S * (w.layers + w.expert_layers) * chunks, "Unit of the time to start kernels, per chunk."
        ),
    )


class Parts(NamedTuple, Generic[Number]):
    """The parts of the times of a replica [s]."""

    step: Number
    """A decode step."""
    prompt: Number
    """Processing of a prompt alone, without what its chunks read and start."""
    chunked: Number
    """Reading and starts of the chunks of a prompt alone."""
    constant: Number
    """Constant part of the time to the first token."""


class Load(NamedTuple, Generic[Number]):
    """The load of a replica, besides its prompts and the requests in flight."""

    output: Number
    """Output tokens, at least 1."""
    shared_gpus: Number
    """1: prompts share the GPUs with decode; else 0."""
    drafting: Number
    """Steps per output token: 1, fewer where drafted tokens are accepted."""
    apart: Number
    """1: a chunk holds the prompts that arrive in one step alone; else 0, as many as fill it."""
    waited: Number
    """Share of the prompts of others that is processed before the first token: 0, in a wave `WAITED`."""


class Times(NamedTuple, Generic[Number]):
    """The times of a replica with a fixed number of requests in flight [s]."""

    step: Number
    decode: Number
    """Time per output token without prompts of others."""
    prompt: Number
    """Processing of a prompt alone."""
    shared: Number
    """Processing of a prompt among others, which share its chunks."""
    tpot: Number
    """Time per output token."""
    undisturbed: Number
    """Time to the first token without prompts of others."""
    ttft: Number
    batch: Number
    """Time of a batch of requests that all start together."""


def times_of_load(parts: Parts[Any], work: ServedWork[Any], split: ReplicaSplit[Any], load: Load[Any]) -> Times[Any]:
    """Return the times of a fixed number of requests in flight: each sees the prompts of all others once."""
    p, s, n = parts, split, load
    chunks = step("chunks", "chunks", work.prompt / CHUNK, "Chunks of a prompt; several short prompts share one.")
    # A request starts once in `output` steps: 1 / chunks of them, whose prompts fill a chunk, start in as many.
    filled = step("filled", "chunks", chunks * greatest(1.0, n.apart * n.shared_gpus * n.output), "Chunks per prompt.")
    alone = step("prompt_alone", "s", p.prompt + p.chunked, "Processing of a prompt alone.")
    shared = step("shared", "s", p.prompt + p.chunked * least(1.0, filled), "Processing of a prompt among others.")
    ahead = step(
        *("others", "requests", greatest(0.0, s.in_flight / s.ranks - 1) / s.pipeline * n.shared_gpus),
        "Prompts of other requests in flight that the same GPUs process.",
    )
    waiting = step("waiting", "s", OVERLAP * ahead * shared, "Time of these prompts that decode does not overlap.")
    together = step("together", "requests", s.in_flight / s.ranks / s.pipeline, "Prompts that a rank processes.")
    undisturbed = step(
        *("undisturbed", "s", p.constant + alone + HALF_STEP * p.step),
        "Time to the first token without prompts of others.",
    )
    batch = p.prompt * together + p.chunked * greatest(1.0, together * chunks) / greatest(1.0, chunks)
    return Times(
        step=p.step,
        decode=step("decode", "s", p.step * n.drafting, "Time per output token without prompts of others."),
        prompt=alone,
        shared=shared,
        tpot=step(
            *("tpot", "s", p.step * n.drafting + (1 - n.waited) * waiting / n.output),
            "Time per output token: the decode step, and the rest of the prompts of others, once per request.",
        ),
        undisturbed=undisturbed,
        ttft=step("ttft", "s", undisturbed + n.waited * waiting, "Time to the first token."),
        batch=step(
            *("batch_seconds", "s", p.constant + batch + p.step * n.drafting * (n.output - 1)),
            "Time of a batch of requests that start together.",
        ),
    )


class LeastTimes(NamedTuple, Generic[Number]):
    """Times that no replica is below [s]."""

    tpot: Number
    ttft: Number


def least_times(terms: ServingTerms[Any], load: Load[Any]) -> LeastTimes[Any]:
    """Return the times in which memory is read, or arithmetic is done, at line rate."""
    t = terms
    reading = t.weights + t.experts + t.cache + t.adapters
    arithmetic = t.arithmetic + t.expert_arithmetic + t.attention
    prompt = t.prompt_arithmetic + t.prompt_experts + t.prompt_attention
    return LeastTimes(
        step("floor", "s", greatest(reading, arithmetic) * load.drafting, "A step at line rate, per output token."),
        step("floor", "s", prompt, "Arithmetic of a prompt at line rate."),
    )


def steps_of_token(drafted: Any, accepted: Any, layers: Any) -> Any:
    """Return the decode steps per output token where tokens are drafted, verified and in part accepted."""
    return (1 + DRAFT_LAYERS * drafted / layers) / (1 + accepted)


SIXTEEN_BITS = ("bf16", "fp16")
FOUR_BITS = ("fp4", "nvfp4", "mxfp4", "int4", "awq", "gptq")
WEIGHT_ONLY = ("int4", "awq", "gptq")
"""Formats in which weights are only stored: they are unpacked to 16 bits for arithmetic."""
PEAKS = {"nvfp4": "fp4", "mxfp4": "fp4", "w8a8": "int8"}
"""The peak of a GPU that a format uses, where it has another name."""
FORMAT_FAMILIES = {
    "bf16": "bf16",
    "fp16": "bf16",
    **dict.fromkeys(("fp8", "int8", "w8a8"), "fp8"),
    **dict.fromkeys(FOUR_BITS, "fp4"),
}
"""Family of a format of weights in the measurements."""
DOWN_PROJECTIONS = ("q_a_proj", "kv_a_proj_with_mqa")
"""Matrices of latent attention that each GPU of a tensor group holds a copy of."""


def peak_of_format(gpu: Gpu, precision: str) -> Figure | None:
    """Return the dense peak of a GPU for weights in a format [FLOP/s]; None: unknown.

    Weights in a format that the GPU has no arithmetic for, or that are only stored, are unpacked to 16 bits.
    """
    names = (*(() if precision in WEIGHT_ONLY else (PEAKS.get(precision, precision),)), *SIXTEEN_BITS)
    peak = next((gpu.dense[name] for name in names if name in gpu.dense), None)
    return None if peak is None else peak_flops(peak)


def served_work(
    model: Model,
    formats: tuple[str, str],
    prompt: Figure,
    output: Figure,
    width: Figure,
    cached: Figure = ZERO,
    adapters: ServedAdapters | None = None,
) -> ServedWork[Figure] | None:
    """Return the work of a model served to requests of mean prompt and output length [tokens]; None: shape unknown.

    `formats` are the number formats of weights and KV cache; `width` is the number of GPUs that share the attention of
    a request; `cached` the share of prompt tokens in the prefix cache. The arithmetic of adapters is that of further
    weights.
    """
    shape, held = model.shape, kv_cache.cache(model, formats[1])
    if held is None or "hidden" not in shape:
        return None
    length = mean_length(prompt, output)
    decoded = products_of_token(model, CONVENTIONS["full"], length)
    prefilled = products_of_token(model, CONVENTIONS["causal"], prompt)
    if model.mla and decoded is not None:
        widths = (shape[key] for key in ("kv_lora_rank", "rope_head_dim", "head_dim", "v_head_dim"))
        decoded = absorbed_products(decoded, *widths)
    plain, narrow = bytes_of_rest(model, formats[0]), VALUE_BYTES[formats[0]]
    weights = _weights(model, width)
    return ServedWork(
        layers=shape["layers"],
        expert_layers=weights.expert_layers,
        latent_layers=model_matrices.attention_layers(model) if model.mla else ZERO,
        linear_layers=shape.get("linear_layers", ZERO),
        hidden=shape["hidden"],
        weights=add_counts(weights.passed, adapter_parameters(model, adapters)) if adapters else weights.passed,
        head=weights.head,
        weights_size=bytes_shared(weights.passed, weights.repeated, plain, weights.head, VALUE_BYTES["bf16"]),
        repeated_size=bytes_of_weights(weights.repeated, plain),
        expert_weights=weights.routed,
        experts_size=bytes_of_weights(weights.all_routed, narrow),
        experts=weights.experts,
        topk=weights.topk,
        prompt=uncached_tokens(prompt, cached),
        prompt_products=products_of_prompt(prefilled, prompt, cached) if prefilled else ZERO,
        decode_products=decoded or ZERO,
        cache_size=kv_cache.bytes_read_per_gpu(held, length, width, ONE),
        held_adapters=adapters.held if adapters else ONE,
        adapter_size=adapter_bytes_of_gpu(model, adapters, width) if adapters else ZERO,
    )


class _Weights(NamedTuple):
    """The weights of a model by how a step uses them."""

    passed: Figure
    """Weights that every token passes, without the output projection."""
    head: Figure
    repeated: Figure
    """Those of the passed ones that each GPU of a tensor group holds a copy of."""
    routed: Figure
    """Weights of routed experts that a token passes."""
    all_routed: Figure
    expert_layers: Figure
    experts: Figure
    topk: Figure


def _weights(model: Model, width: Figure) -> _Weights:
    """Return the weights of a model: by its matrices, or where these are unknown by its parameters alone."""
    all_matrices, shape = model_matrices.matrices(model), model.shape
    if not all_matrices or not {"vocab", "heads"} <= shape.keys():
        if not model.moe:
            return _Weights(model.parameters, ZERO, ZERO, ZERO, ZERO, ZERO, ONE, ONE)
        idle = idle_parameters(model.parameters, model.active_parameters)
        share = model.parameters, model.active_parameters
        return _Weights(model.active_parameters, ZERO, ZERO, ZERO, idle, shape["layers"], *share)
    shared, routed = shared_and_routed(all_matrices)
    return _Weights(
        passed=total_weights(shared),
        head=weights_of_head(shape["hidden"], shape["vocab"]),
        repeated=_repeated(model, shared, width),
        routed=total_weights(routed),
        all_routed=total_weights(routed, idle=True),
        expert_layers=model_matrices.layers_with_experts(model) if routed else ZERO,
        experts=shape["experts"] if routed else ONE,
        topk=shape["topk"] if routed else ONE,
    )


def _repeated(model: Model, shared: Iterable[Matrix], width: Figure) -> Figure:
    """Return the weights that each GPU of a tensor group holds a copy of."""
    copied = [
        weights_of_matrix(matrix.inputs, matrix.outputs, matrix.active)
        for matrix in shared
        if matrix.name in DOWN_PROJECTIONS
    ]
    kv_heads = model_matrices.kv_heads(model)
    if kv_heads is not None and not model.mla:
        copied += [
            weights_of_repeated_heads(matrix.inputs, matrix.outputs, matrix.active, kv_heads, width)
            for matrix in shared
            if matrix.name in KEY_VALUES
        ]
    return add_figures(copied)


@formula("tokens")
def mean_length(prompt: Fraction, output: Fraction) -> Fraction:
    """Mean length of a request while its answer grows."""
    return prompt + Fraction(output) / 2


@formula("tokens")
def uncached_tokens(prompt: Fraction, cached: Fraction) -> Fraction:
    """Prompt tokens that are processed; the others are in the prefix cache."""
    return prompt * (1 - Fraction(cached))


@formula("multiply-adds")
def products_of_prompt(products_per_token: Fraction, prompt: Fraction, cached: Fraction) -> Fraction:
    """Multiply-adds of attention of a prompt; those among cached tokens are saved."""
    return products_per_token * prompt * (1 - Fraction(cached) ** 2)


@formula("multiply-adds", "DeepSeek-V2, arXiv 2405.04434, section 2.1.2: decode works on latent vectors")
def absorbed_products(
    products: Fraction, kv_lora_rank: int, rope_head_dim: int, head_dim: int, v_head_dim: int
) -> Fraction:
    """Multiply-adds of attention to latent vectors, whose heads are as wide as the latent."""
    return products * Fraction(2 * kv_lora_rank + rope_head_dim, head_dim + v_head_dim)


@formula("count", "vLLM: heads of keys and values are repeated where there are fewer than GPUs")
def weights_of_repeated_heads(inputs: int, outputs: int, copies: int, kv_heads: int, tensor: int) -> Fraction:
    """Weights of keys or values that a GPU holds beyond its share."""
    return Fraction(inputs * outputs * copies) * max(Fraction(0), Fraction(1, kv_heads) - Fraction(1, tensor))


idle_parameters = difference("idle_parameters", "count", "parameters", "active_parameters")
"""Parameters that a token does not pass: of experts, where no more is known."""


@formula("bytes")
def bytes_shared(weights: int, repeated: Fraction, value_bytes: Fraction, head: int, head_value: int) -> Fraction:
    """Size of the weights that the GPUs of a tensor group share out, output projection included."""
    return (weights - repeated) * Fraction(value_bytes) + head * head_value


bytes_of_weights = product("bytes_of_weights", "bytes", "weights", "value_bytes")
"""Size of weights."""

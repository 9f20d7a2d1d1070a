"""The terms of serving and the work that they time: weights that a step reads, arithmetic and KV cache.

A term is the seconds of one kind of work of a decode step or of a prompt, at line rate.
A decode step reads the weights once for all requests of a replica, and the KV cache of each; a prompt is processed in
chunks that decode steps of other requests wait for. As in training, each term is multiplied by an inverse efficiency
that is fitted to published measurements. `docs/serving.md` describes the terms.

The formulas work on numbers, on NumPy arrays and on figures alike, as those of `terms`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Generic, NamedTuple

from bomgen.catalog import model_matrices
from bomgen.catalog.model_matrices import Matrix
from bomgen.catalog.parts import Gpu, Model
from bomgen.core.provenance import Figure, difference, formula, product
from bomgen.sizing.model_work import (
    CONVENTIONS,
    ONE,
    ZERO,
    add_counts,
    add_figures,
    products_of_token,
    weights_of_head,
    weights_of_matrix,
)
from bomgen.sizing.prediction.predict import flops_of_peak
from bomgen.sizing.prediction.terms import BYTES, Apply, Number, bandwidth_of_neighbours, greater, lesser
from bomgen.sizing.serving import kv_cache
from bomgen.sizing.serving.gpu_memory import bytes_of_rest
from bomgen.sizing.serving.kv_cache import VALUE_BYTES

CHUNK = 8192
"""Tokens of prompts that a step processes at most, the default of the engines."""
START_S = 30e-6
"""Unit of the fitted time to start the kernels of a layer [s]."""
REDUCE_S = 12.8e-6
"""Unit of the fitted latency of the all-reduces of a layer, per doubling of GPUs [s]."""
EXCHANGE_S = 30e-6
"""Unit of the fitted latency of the two exchanges with experts of a layer [s]."""
REQUEST_S = 8e-6
"""Unit of the fitted time per request and step, for scheduling and sampling [s]."""
STEP_S = 160e-6
"""Unit of the fitted constant time per step [s]."""
TOKEN_S = 1e-6
"""Unit of the fitted time per prompt token, for tokenising and scheduling [s]."""
CONSTANT_S = 0.02
"""Unit of the fitted constant part of the time to first token [s]."""
ALL_REDUCES = 2
"""All-reduces of a layer: after attention and after the feed-forward block."""
EXCHANGED_BYTES = 3
"""Bytes per element that a token sends to an expert in 8 bits and gets back in 16."""
HALF_STEP = 0.6
"""Decode steps that a prompt waits for on average: half of one, which chunks of other prompts lengthen by a fifth."""


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
    """Logarithm of `width` to base 2."""
    exchanges: Number
    """1: tokens are exchanged with experts on other GPUs; else 0, where all-reduces do it."""
    pipeline: Number
    in_flight: Number


class ServingTerms(NamedTuple, Generic[Number]):
    """Seconds of each kind of work: of a decode step, then of a prompt."""

    weights: Number
    experts: Number
    cache: Number
    arithmetic: Number
    expert_arithmetic: Number
    attention: Number
    layer_starts: Number
    expert_starts: Number
    latent_starts: Number
    linear_starts: Number
    reduce_starts: Number
    reduces: Number
    exchange_starts: Number
    exchanges: Number
    exchanges_network: Number
    requests: Number
    step: Number
    prompt_arithmetic: Number
    prompt_experts: Number
    prompt_attention: Number
    prompt_reduces: Number
    prompt_exchanges: Number
    prompt_exchanges_network: Number
    prompt_weights: Number
    prompt_starts: Number
    prompt_tokens: Number


DECODE = ServingTerms._fields[: ServingTerms._fields.index("prompt_arithmetic")]
PROMPT = ServingTerms._fields[len(DECODE) :]


@formula("requests")
def requests_of_rank(in_flight: float, pipeline: float, ranks: float) -> float:
    """Requests that an attention rank processes in a step of a pipeline stage."""
    return in_flight / pipeline / ranks


@formula("requests")
def requests_of_stage(in_flight: float, pipeline: float) -> float:
    """Requests that a pipeline stage processes in a step."""
    return in_flight / pipeline


@formula("GPUs")
def gpus_of_stage(width: float, ranks: float) -> float:
    """GPUs of a pipeline stage."""
    return width * ranks


@formula("s")
def weights_seconds(weights_size: float, repeated_size: float, width: float, memory_bandwidth: float) -> float:
    """Reading of the weights that every token passes."""
    return (weights_size / width + repeated_size) / memory_bandwidth


@formula("s", "A token passes k of E experts: B tokens together reach 1 - (1 - k / E)^B of them in the mean")
def experts_seconds(
    experts_size: float, experts: float, topk: float, requests: float, gpus: float, memory_bandwidth: float
) -> Any:
    """Reading of the routed experts that the requests of a step reach."""
    return experts_size * (1 - (1 - topk / experts) ** requests) / gpus / memory_bandwidth


@formula("s")
def cache_seconds(cache_size: float, requests: float, memory_bandwidth: float) -> float:
    """Reading of the KV cache."""
    return cache_size * requests / memory_bandwidth


@formula("s")
def arithmetic_seconds(multiply_adds: float, tokens: float, gpus: float, peak: float) -> float:
    """Multiply-adds of tokens, shared out to GPUs."""
    return 2 * multiply_adds * tokens / gpus / peak


@formula("s")
def start_seconds(layers: float) -> float:
    """Unit of the fitted time to start the kernels of layers."""
    return START_S * layers


@formula("s")
def reduce_start_seconds(layers: float, doublings: float) -> float:
    """Unit of the fitted latency of all-reduces."""
    return REDUCE_S * layers * doublings


@formula("s")
def reduce_seconds(layers: float, hidden: float, tokens: float, width: float, link_bandwidth: float) -> float:
    """All-reduces of tensor parallelism, each with two rounds of the ring."""
    return ALL_REDUCES * layers * 2 * (width - 1) / width * BYTES * hidden * tokens / link_bandwidth


@formula("s")
def exchange_start_seconds(expert_layers: float, exchanges: float) -> float:
    """Unit of the fitted latency of exchanges with experts."""
    return EXCHANGE_S * expert_layers * exchanges


@formula("bytes")
def exchanged_bytes(
    expert_layers: float, hidden: float, topk: float, tokens: float, gpus: float, width: float, exchanges: float
) -> float:
    """Bytes that a GPU sends to experts on other GPUs and gets back."""
    return EXCHANGED_BYTES * expert_layers * hidden * topk * tokens / width * (gpus - 1) / gpus * exchanges


@formula("s")
def exchange_inside(exchanged: float, expert: float, domain: float, scale_up: float) -> float:
    """Expert all-to-all inside a scale-up domain."""
    return exchanged * lesser(1.0, domain / expert) / scale_up


@formula("s", "DeepSeek-AI 2024, arXiv 2412.19437, section 3.2.2: a token crosses the network once per domain")
def exchange_outside(exchanged: float, topk: float, expert: float, domain: float, network: float) -> float:
    """Expert all-to-all between scale-up domains."""
    return exchanged * (1 - lesser(1.0, domain / expert)) * lesser(topk, greater(1.0, expert / domain)) / topk / network


@formula("s")
def request_seconds(requests: float) -> float:
    """Unit of the fitted time per request and step."""
    return REQUEST_S * requests


@formula("s")
def step_seconds() -> float:
    """Unit of the fitted constant time per step."""
    return STEP_S


@formula("chunks")
def chunks_of_prompt(prompt: float) -> float:
    """Chunks in which a prompt is processed; several short prompts share one."""
    return prompt / CHUNK


@formula("s")
def prompt_weights_seconds(
    weights_size: float,
    repeated_size: float,
    experts_size: float,
    width: float,
    gpus: float,
    chunks: float,
    memory_bandwidth: float,
) -> float:
    """Reading of all weights for each chunk of a prompt."""
    return (weights_size / width + repeated_size + experts_size / gpus) * chunks / memory_bandwidth


@formula("s")
def prompt_start_seconds(layers: float, chunks: float) -> float:
    """Unit of the fitted time to start the kernels of layers for each chunk, at least one."""
    return START_S * layers * ((chunks > 1) * chunks + (chunks <= 1))


@formula("s")
def token_seconds(prompt: float) -> float:
    """Unit of the fitted time per prompt token."""
    return TOKEN_S * prompt


def line_rate_terms(
    apply: Apply, work: ServedWork[Any], machine: ServingMachine[Any], split: ReplicaSplit[Any]
) -> ServingTerms[Any]:
    """Return the terms of a decode step and of a prompt at line rate [s].

    On numbers and arrays with `Formula.plain`, on figures with `Formula.__call__`.
    """
    w, m, s = work, machine, split
    links = (m.scale_up, m.network, m.domain)
    gpus = apply(gpus_of_stage, s.width, s.ranks)
    turn = apply(requests_of_stage, s.in_flight, s.pipeline)
    requests = apply(requests_of_rank, s.in_flight, s.pipeline, s.ranks)
    ring = apply(bandwidth_of_neighbours, s.width, *links)
    prompt, chunks = w.prompt, apply(chunks_of_prompt, w.prompt)
    sent = (w.expert_layers, w.hidden, w.topk)
    exchanged = apply(exchanged_bytes, *sent, requests, gpus, s.width, s.exchanges)
    prompt_exchanged = apply(exchanged_bytes, *sent, prompt, gpus, s.width, s.exchanges)
    return ServingTerms(
        weights=apply(weights_seconds, w.weights_size, w.repeated_size, s.width, m.memory_bandwidth),
        experts=apply(experts_seconds, w.experts_size, w.experts, w.topk, turn, gpus, m.memory_bandwidth),
        cache=apply(cache_seconds, w.cache_size, requests, m.memory_bandwidth),
        arithmetic=apply(arithmetic_seconds, apply(add_counts, w.weights, w.head), requests, s.width, m.peak),
        expert_arithmetic=apply(arithmetic_seconds, w.expert_weights, turn, gpus, m.expert_peak),
        attention=apply(arithmetic_seconds, w.decode_products, requests, s.width, m.plain_peak),
        layer_starts=apply(start_seconds, w.layers),
        expert_starts=apply(start_seconds, w.expert_layers),
        latent_starts=apply(start_seconds, w.latent_layers),
        linear_starts=apply(start_seconds, w.linear_layers),
        reduce_starts=apply(reduce_start_seconds, w.layers, s.doublings),
        reduces=apply(reduce_seconds, w.layers, w.hidden, requests, s.width, ring),
        exchange_starts=apply(exchange_start_seconds, w.expert_layers, s.exchanges),
        exchanges=apply(exchange_inside, exchanged, gpus, m.domain, m.scale_up),
        exchanges_network=apply(exchange_outside, exchanged, w.topk, gpus, m.domain, m.network),
        requests=apply(request_seconds, requests),
        step=apply(step_seconds),
        prompt_arithmetic=apply(arithmetic_seconds, w.weights, prompt, s.width, m.peak),
        prompt_experts=apply(arithmetic_seconds, w.expert_weights, prompt, s.width, m.expert_peak),
        prompt_attention=apply(prompt_attention_seconds, w.prompt_products, s.width, m.plain_peak),
        prompt_reduces=apply(reduce_seconds, w.layers, w.hidden, prompt, s.width, ring),
        prompt_exchanges=apply(exchange_inside, prompt_exchanged, gpus, m.domain, m.scale_up),
        prompt_exchanges_network=apply(exchange_outside, prompt_exchanged, w.topk, gpus, m.domain, m.network),
        prompt_weights=apply(
            prompt_weights_seconds,
            w.weights_size,
            w.repeated_size,
            w.experts_size,
            s.width,
            gpus,
            chunks,
            m.memory_bandwidth,
        ),
        prompt_starts=apply(prompt_start_seconds, w.layers, chunks),
        prompt_tokens=apply(token_seconds, prompt),
    )


@formula("s")
def prompt_attention_seconds(products: float, width: float, peak: float) -> float:
    """Attention scores of a prompt and their product with the values."""
    return 2 * products / width / peak


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
KV_PROJECTIONS = ("k_proj", "v_proj")


def peak_of_format(gpu: Gpu, precision: str) -> Figure | None:
    """Return the dense peak of a GPU for weights in a format [FLOP/s]; None: unknown.

    Weights in a format that the GPU has no arithmetic for, or that are only stored, are unpacked to 16 bits.
    """
    names = (*(() if precision in WEIGHT_ONLY else (PEAKS.get(precision, precision),)), *SIXTEEN_BITS)
    peak = next((gpu.dense[name] for name in names if name in gpu.dense), None)
    return None if peak is None else flops_of_peak(peak)


def served_work(
    model: Model,
    formats: tuple[str, str],
    prompt: Figure,
    output: Figure,
    width: Figure,
    cached: Figure = ZERO,
) -> ServedWork[Figure] | None:
    """Return the work of a model served to requests of mean prompt and output length [tokens]; None: shape unknown.

    `formats` are the number formats of weights and KV cache; `width` is the number of GPUs that share the attention of
    a request; `cached` the share of prompt tokens in the prefix cache.
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
        weights=weights.passed,
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
    routed = [matrix for matrix in all_matrices if matrix.count.value > matrix.active.value]
    shared = [matrix for matrix in all_matrices if matrix.count.value == matrix.active.value]
    passed = add_figures(weights_of_matrix(each.inputs, each.outputs, each.active) for each in shared)
    head = weights_of_head(shape["hidden"], shape["vocab"])
    if not routed:
        return _Weights(passed, head, _repeated(model, shared, width), ZERO, ZERO, ZERO, ONE, ONE)
    return _Weights(
        passed,
        head,
        _repeated(model, shared, width),
        add_figures(weights_of_matrix(each.inputs, each.outputs, each.active) for each in routed),
        add_figures(weights_of_matrix(each.inputs, each.outputs, each.count) for each in routed),
        model_matrices.layers_with_experts(model),
        shape["experts"],
        shape["topk"],
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
            if matrix.name in KV_PROJECTIONS
        ]
    return add_figures(copied) if copied else ZERO


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

"""The work of a served model: weights that a step reads, arithmetic and KV cache, from its shape in the catalogue."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from bomgen.catalog.model_parameters import matrices
from bomgen.catalog.model_parameters.matrices import Matrix
from bomgen.catalog.parts import Gpu, Model
from bomgen.core.provenance import Figure, difference, formula, product
from bomgen.sizing.attention import CONVENTIONS, products_of_token
from bomgen.sizing.prediction.predict import flops_of_peak
from bomgen.sizing.prediction.serving_terms import ServedWork
from bomgen.sizing.prediction.work import NONE, ONE, add_counts, weights_of_head, weights_of_matrix
from bomgen.sizing.serving import kv_cache
from bomgen.sizing.serving.kv_cache import BYTES
from bomgen.sizing.serving.weights import bytes_of_rest

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
    found = next((gpu.dense[name] for name in names if name in gpu.dense), None)
    return None if found is None else flops_of_peak(found)


def served_work(
    model: Model,
    formats: tuple[str, str],
    prompt: Figure,
    output: Figure,
    width: Figure,
    cached: Figure = NONE,
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
    plain, narrow = bytes_of_rest(model, formats[0]), BYTES[formats[0]]
    weights = _weights(model, width)
    return ServedWork(
        layers=shape["layers"],
        expert_layers=weights.expert_layers,
        latent_layers=matrices.attention_layers(model) if model.mla else NONE,
        linear_layers=shape.get("linear_layers", NONE),
        hidden=shape["hidden"],
        weights=weights.passed,
        head=weights.head,
        weights_size=bytes_shared(weights.passed, weights.repeated, plain, weights.head, BYTES["bf16"]),
        repeated_size=bytes_of_weights(weights.repeated, plain),
        expert_weights=weights.routed,
        experts_size=bytes_of_weights(weights.all_routed, narrow),
        experts=weights.experts,
        topk=weights.topk,
        prompt=uncached_tokens(prompt, cached),
        prompt_products=products_of_prompt(prefilled, prompt, cached) if prefilled else NONE,
        decode_products=decoded or NONE,
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
    found, shape = matrices.matrices(model), model.shape
    if not found or not {"vocab", "heads"} <= shape.keys():
        if not model.moe:
            return _Weights(model.parameters, NONE, NONE, NONE, NONE, NONE, ONE, ONE)
        idle = idle_parameters(model.parameters, model.active_parameters)
        share = model.parameters, model.active_parameters
        return _Weights(model.active_parameters, NONE, NONE, NONE, idle, shape["layers"], *share)
    routed = [matrix for matrix in found if matrix.count.value > matrix.active.value]
    others = [matrix for matrix in found if matrix.count.value == matrix.active.value]
    passed = _sum(weights_of_matrix(each.inputs, each.outputs, each.active) for each in others)
    head = weights_of_head(shape["hidden"], shape["vocab"])
    if not routed:
        return _Weights(passed, head, _repeated(model, others, width), NONE, NONE, NONE, ONE, ONE)
    return _Weights(
        passed,
        head,
        _repeated(model, others, width),
        _sum(weights_of_matrix(each.inputs, each.outputs, each.active) for each in routed),
        _sum(weights_of_matrix(each.inputs, each.outputs, each.count) for each in routed),
        matrices.layers_with_experts(model),
        shape["experts"],
        shape["topk"],
    )


def _repeated(model: Model, others: Iterable[Matrix], width: Figure) -> Figure:
    """Return the weights that each GPU of a tensor group holds a copy of."""
    copied = [
        weights_of_matrix(each.inputs, each.outputs, each.active) for each in others if each.name in DOWN_PROJECTIONS
    ]
    kv_heads = matrices.kv_heads(model)
    if kv_heads is not None and not model.mla:
        copied += [
            weights_of_repeated_heads(each.inputs, each.outputs, each.active, kv_heads, width)
            for each in others
            if each.name in KV_PROJECTIONS
        ]
    return _sum(copied) if copied else NONE


def _sum(figures: Iterable[Figure]) -> Figure:
    return reduce(add_counts, figures)


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

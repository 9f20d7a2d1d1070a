"""Memory of a served model: weights by number format, and the KV cache of its attention.

Keys and values of every layer are kept for every token of a request: of all heads (MHA), of the groups that share them
(GQA, MQA), or compressed to one latent vector (MLA). Layers with a sliding window keep at most the tokens of the
window. Not counted: the scales of block formats (NF4 with double quantisation has 4.127 bits per value, MXFP4 4.25) and
the memory of the serving program itself; `memory_share` leaves room for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.catalog.model_parameters import matrices
from bomgen.catalog.parts import Model
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Number, Reference, formula
from bomgen.plan.types import Inference
from bomgen.sizing.training.states import DOUBLE, SINGLE

_IEEE = Reference(
    "IEEE 754-2019, Standard for Floating-Point Arithmetic", "https://doi.org/10.1109/IEEESTD.2019.8766229"
)
_BF16 = Reference(
    "Kalamkar et al. 2019, A Study of BFLOAT16 for Deep Learning Training", "https://arxiv.org/abs/1905.12322"
)
_MX = Reference(
    "Intel Neural Compressor documentation, Microscaling Quantization: element bits of the OCP MX formats",
    "https://intel.github.io/neural-compressor/latest/docs/source/3x/PT_MXQuant.html",
    "2026",
)
_PLANNING = Reference(
    '"GPU算力理解和规划" (no author or date): 8-bit 1 GB a billion parameters, 4-bit half, fp16 double', read="2026"
)
_DEEPSEEK = "DeepSeek-V2 report, arXiv 2405.04434, section 2.1.2 and table 1"
_KWON = "Kwon et al. 2023, PagedAttention, arXiv 2309.06180, section 3; MQA and GQA keep fewer heads"
_VLLM = "vLLM documentation, context parallel deployment: the KV cache is duplicated tp_size / H times"


def _value(size: Number, name: str, *references: Reference) -> Figure:
    return Figure(size, "bytes", Cited(name, references, "high"))


BYTES: Mapping[str, Figure] = {
    "fp64": DOUBLE,
    "fp32": SINGLE,
    "tf32": SINGLE,
    "bf16": _value(2, message("value-of-format", format="bf16"), _BF16, _PLANNING),
    "fp16": _value(2, message("value-of-format", format="fp16"), _IEEE, _PLANNING),
    "fp8": _value(1, message("value-of-format", format="fp8"), _MX, _PLANNING),
    "int8": _value(1, message("value-of-format", format="int8"), _MX, _PLANNING),
    "fp6": _value(Fraction(3, 4), message("value-of-format", format="fp6"), _MX),
    "fp4": _value(Fraction(1, 2), message("value-of-format", format="fp4"), _MX, _PLANNING),
    "int4": _value(Fraction(1, 2), message("value-of-format", format="int4"), _PLANNING),
}
"""Bytes of a value by number format."""


class Cache(NamedTuple):
    """The KV cache of a model [bytes]."""

    model: Model
    token: Figure
    """Per token, in all layers, before any window drops it."""
    kv_heads: Figure | None
    """None: one latent vector serves all heads (MLA)."""


def cache(inference: Inference) -> Cache | None:
    """The KV cache of a served model; None when its shape is not known."""
    model = inference.model
    value = BYTES[str(inference.kv_precision.value)]
    layers, latent = model.shape.get("layers"), model.shape.get("kv_lora_rank")
    if layers is None:
        return None
    if latent is not None:
        rotary = model.shape.get("rope_head_dim")
        token = None if rotary is None else latent_bytes_per_token(layers, latent, rotary, value)
        return None if token is None else Cache(model, token, None)
    if model.mla:
        return None
    kv_heads, width = matrices.kv_heads(model), matrices.head_dim(model)
    if kv_heads is None or width is None:
        return None
    return Cache(model, kv_bytes_per_token(layers, kv_heads, width, value), kv_heads)


def request_bytes(held: Cache, tokens: Figure) -> Figure:
    """The KV cache of a request of `tokens` tokens [bytes]."""
    layers, window = held.model.shape.get("layers"), held.model.shape.get("window")
    if layers is None or window is None:
        return kv_bytes_of_request(held.token, tokens)
    windowed = held.model.shape.get("window_layers", layers)
    return kv_bytes_of_request(held.token, tokens_kept(tokens, layers, windowed, window))


def request_bytes_per_gpu(held: Cache, request: Figure, tensor: Figure, stages: Figure) -> Figure:
    """A request's KV cache on a GPU of the fullest stage [bytes]; `stages` are counted as full as that one."""
    if held.kv_heads is None:
        return latent_bytes_of_gpu(request, stages)
    return kv_bytes_of_gpu(request, stages, held.kv_heads, tensor)


@formula("bytes")
def weights(parameters: int, value_bytes: Fraction) -> Fraction:
    """Weights of a model [bytes], including those of idle experts."""
    return parameters * Fraction(value_bytes)


@formula("bytes")
def weights_of_gpu(weights: Fraction, tensor: int, stages: Fraction) -> Fraction:
    """Weights on a GPU of the fullest stage [bytes]."""
    return Fraction(weights) / (tensor * stages)


@formula("bytes", _KWON)
def kv_bytes_per_token(layers: int, kv_heads: int, head_dim: int, value_bytes: Fraction) -> Fraction:
    """Keys and values of a token in all layers."""
    return 2 * layers * kv_heads * head_dim * Fraction(value_bytes)


@formula("bytes", _DEEPSEEK)
def latent_bytes_per_token(layers: int, kv_lora_rank: int, rope_head_dim: int, value_bytes: Fraction) -> Fraction:
    """The latent vector and the rotary key of a token in all layers."""
    return (kv_lora_rank + rope_head_dim) * layers * Fraction(value_bytes)


@formula("tokens", "Gemma 2, arXiv 2408.00118, section 2: local sliding window and global attention")
def tokens_kept(tokens: int, layers: int, window_layers: int, window: int) -> Fraction:
    """Tokens kept per layer, averaged over layers with and without a sliding window."""
    return Fraction((layers - window_layers) * tokens + window_layers * min(tokens, window), layers)


@formula("bytes")
def kv_bytes_of_request(kv_bytes_per_token: Fraction, tokens: Fraction) -> Fraction:
    """The KV cache of a request."""
    return Fraction(kv_bytes_per_token) * tokens


@formula("bytes", _VLLM)
def kv_bytes_of_gpu(kv_of_request: Fraction, stages: Fraction, kv_heads: int, tensor: int) -> Fraction:
    """A request's KV cache on a GPU of the fullest stage: whole heads, replicated over more GPUs than heads."""
    return Fraction(kv_of_request) / stages * ceil(Fraction(kv_heads, tensor)) / kv_heads


@formula("bytes", _VLLM)
def latent_bytes_of_gpu(kv_of_request: Fraction, stages: Fraction) -> Fraction:
    """A request's KV cache on a GPU of the fullest stage; latent vectors are replicated on tensor-parallel GPUs."""
    return Fraction(kv_of_request) / stages

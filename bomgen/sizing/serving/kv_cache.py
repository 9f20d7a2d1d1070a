"""The KV cache of a served model by the kinds of its attention, and the bytes of a value by number format.

Keys and values of every layer are kept for every token of a request: of all heads (MHA), of the groups that share them
(GQA, MQA), or compressed to one latent vector (MLA). Layers with a window keep at most its tokens; sparse attention
keeps all tokens and the keys of an indexer, but reads only selected ones; linear attention and Mamba keep a state of
fixed size, in the 32 bits that configurations specify, and the last inputs of a convolution. Values of 4-bit formats
include the scales of their blocks; FP8 of sparse latent attention has scales, and 16 bits for the rotary part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import NamedTuple

from bomgen.catalog import model_matrices
from bomgen.catalog.parts import EIGHT_BITS, Gpu, Model
from bomgen.core.diagnostics import Infeasible
from bomgen.core.messages import message
from bomgen.core.provenance import (
    Cited,
    Figure,
    Formula,
    Number,
    Reference,
    difference,
    formula,
    product,
    quotient,
    sum_of,
)
from bomgen.plan.types import Inference
from bomgen.sizing.model_work import Layers, layers_by_attention
from bomgen.sizing.servers import bytes_of_network
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
_NVFP4 = Reference(
    "NVIDIA, Introducing NVFP4: 4 bits a value, an FP8 scale for every 16 values",
    "https://developer.nvidia.com/blog/introducing-nvfp4-for-efficient-and-accurate-low-precision-inference/",
)
_OCP = Reference(
    "Open Compute Project, Microscaling Formats (MX) Specification 1.0: MXFP4 has an 8-bit scale for every 32 values",
    "https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf",
)
_AWQ = Reference(
    "AutoAWQ documentation and quantization_config of Qwen's AWQ and GPTQ checkpoints: 4 bits a value, a 16-bit scale "
    "and a 4-bit zero point for every 128 values",
    "https://github.com/casper-hansen/AutoAWQ",
    "2026-11-28",
)
_W4A16 = Reference(
    "LLM Compressor and compressed-tensors documentation, W4A16: 4 bits a value, a 16-bit scale for every 128 values",
    "https://github.com/vllm-project/compressed-tensors",
    "2026-11-28",
)
_DEEPSEEK = "DeepSeek-V2 report, arXiv 2405.04434, section 2.1.2 and table 1"
_KWON = "Kwon et al. 2023, PagedAttention, arXiv 2309.06180, section 3; MQA and GQA keep fewer heads"
_DEEPSEEK_V32 = "Hugging Face Transformers, modular_deepseek_v32.py"
_DEEPSEEK_V4 = "Hugging Face Transformers, modular_deepseek_v4.py"
_GEMMA = "Gemma 2, arXiv 2408.00118, section 2: local sliding window and global attention"
_VLLM_STATES = "vLLM documentation, vllm.model_executor.layers.mamba.mamba_utils: shapes of states"
_STATES = Reference(
    "Qwen3.5 and Nemotron 3, config.json, mamba_ssm_dtype and mamba_ssm_cache_dtype: float32",
    "https://github.com/ai-dynamo/aiconfigurator",
    "2026-11-23",
)
_FLASH_MLA = Reference(
    "FlashMLA, README, and vLLM, v1/attention/backends/mla: sparse attention in FP8 keeps 64 rotary values in bf16, 16 "
    "bytes of scales beside 512 other values, 8 beside 448 of DeepSeek-V4, 4 beside 128 of an index key",
    "https://github.com/deepseek-ai/FlashMLA",
    "2026-11-29",
)
_SGLANG_POOLS = "SGLang documentation, hybrid model memory: --mamba-full-memory-ratio 0.9, five states a request"
STATE_POOL = Fraction("0.9")
"""Memory that SGLang keeps for states over that for the KV cache of other layers."""
STATE_SLOTS = 5
"""States that a request in flight holds in SGLang: its own, and those of its prefixes in the cache."""
BY_REQUESTS = "SGLang documentation, data parallelism attention: requests are dealt out, experts are spread"
_VLLM = "vLLM documentation, context parallel deployment: the KV cache is duplicated tp_size / H times"


def _value(size: Number, name: str, *references: Reference) -> Figure:
    return Figure(size, "bytes", Cited(name, references, "high"))


VALUE_BYTES: Mapping[str, Figure] = {
    "fp64": DOUBLE,
    "fp32": SINGLE,
    "tf32": SINGLE,
    "bf16": _value(2, message("value-of-format", format="bf16"), _BF16, _PLANNING),
    "fp16": _value(2, message("value-of-format", format="fp16"), _IEEE, _PLANNING),
    **{name: _value(1, message("value-of-format", format=name), _MX, _PLANNING) for name in ("fp8", "int8", "w8a8")},
    "fp6": _value(Fraction(3, 4), message("value-of-format", format="fp6"), _MX),
    **{name: _value(Fraction(9, 16), message("value-of-format", format=name), _NVFP4) for name in ("fp4", "nvfp4")},
    "mxfp4": _value(Fraction(17, 32), message("value-of-format", format="mxfp4"), _OCP),
    "int4": _value(Fraction(33, 64), message("value-of-format", format="int4"), _W4A16),
    **{name: _value(Fraction(133, 256), message("value-of-format", format=name), _AWQ) for name in ("awq", "gptq")},
}
"""Bytes of a value by number format."""
LATENT_VALUE, ENTRY_VALUE, KEY_VALUE = (
    _value(size, message("value-with-scales"), _FLASH_MLA)
    for size in (Fraction(656, 576), Fraction(584, 512), Fraction(132, 128))
)
"""Mean bytes of a value in FP8 where attention is sparse: of latent vectors, DeepSeek-V4's entries and index keys."""
STATE_VALUE = _value(4, message("state-value"), _STATES)


class Kept(NamedTuple):
    """The content that layers of one kind keep of a request."""

    token: Figure
    """Size of a token in all these layers, before any window drops it [bytes]."""
    kv_heads: Figure | None
    """KV heads; None: one vector serves all heads."""
    add: Formula
    """The formula that adds it to the cache of other layers."""
    window: Figure | None = None
    """Maximum tokens kept; None: all."""
    chosen: Figure | None = None
    """Maximum tokens read per step; None: all that are kept."""


class Cache(NamedTuple):
    """The KV cache of a model [bytes]."""

    token: Figure
    """Size per token, in all layers, before any window drops it; excluding windows with compressed entries."""
    layers: tuple[Kept, ...]
    state: Figure | None
    """Size per request, independent of its length; None: no layers with a state."""
    state_heads: Figure | None

    @property
    def kv_heads(self) -> Figure | None:
        """Heads of the first kind of layers; None: one latent vector serves all heads (MLA)."""
        return self.layers[0].kv_heads


def cache(model: Model, precision: str) -> Cache | None:
    """Return the KV cache of a model in a number format; None when its shape is unknown."""
    value = VALUE_BYTES[precision]
    vector = key = value
    if precision == EIGHT_BITS and "index_head_dim" in model.shape and (model.mla or model_matrices.compressed(model)):
        vector, key = ENTRY_VALUE if model_matrices.compressed(model) else LATENT_VALUE, KEY_VALUE
    kept = [_kept(model, kind, vector) for kind in layers_by_attention(model)]
    layers = [kind for kind in kept if kind is not None]
    if not layers or len(layers) < len(kept):
        return None
    if (index := _index_keys(model, key)) is not None:
        layers.insert(1, index)
    growing = [layer for layer in layers if layer.window is None] if model_matrices.compressed(model) else layers
    token = _sum([(kind.add, kind.token) for kind in growing])
    return Cache(token, tuple(layers), _state(model), model.shape.get("linear_value_heads"))


def request_bytes(held: Cache, tokens: Figure) -> Figure:
    """Return the KV cache of a request of `tokens` tokens [bytes]."""
    parts = [(layer.add, _kept_of_request(layer, tokens)) for layer in held.layers]
    return _sum([*parts, (add_state, held.state)] if held.state else parts)


def request_bytes_per_gpu(held: Cache, tokens: Figure, tensor: Figure, stages: Figure) -> Figure:
    """Return a request's KV cache on a GPU of the fullest stage [bytes]; `stages` are counted as full as that one."""
    return _sum_per_gpu(held, [_kept_of_request(layer, tokens) for layer in held.layers], tensor, stages)


def state_bytes_per_gpu(held: Cache, tensor: Figure, stages: Figure) -> Figure | None:
    """Return the states of a request on a GPU of the fullest stage [bytes]; None: the model has none."""
    if held.state is None or held.state_heads is None:
        return None
    return kv_bytes_of_gpu(held.state, stages, held.state_heads, tensor)


def bytes_read_per_gpu(held: Cache, tokens: Figure, tensor: Figure, stages: Figure) -> Figure:
    """Return the bytes that a step of a request reads of its KV cache on a GPU of the fullest stage."""
    read = [
        kv_bytes_of_most(layer.token, tokens, layer.chosen) if layer.chosen else _kept_of_request(layer, tokens)
        for layer in held.layers
    ]
    return _sum_per_gpu(held, read, tensor, stages)


def _kept(model: Model, layers: Layers, value: Figure) -> Kept | None:
    """Return the cache of layers with the same attention; None when their heads are unknown."""
    latent, rotary = model.shape.get("kv_lora_rank"), model.shape.get("rope_head_dim")
    kv_heads, width, add = layers.kv_heads, layers.width, add_windows if layers.window else add_layers
    if latent is not None or model.mla:
        if latent is None or rotary is None:
            return None
        token = latent_bytes_per_token(layers.number, latent, rotary, value)
        return Kept(token, None, add, layers.window, layers.chosen)
    if kv_heads is None or width is None:
        return None
    if layers.joined:
        token = bytes_of_entries(shared_bytes_per_token(layers.number, kv_heads, width, value), layers.joined)
    elif model_matrices.compressed(model):
        token = shared_bytes_per_token(layers.number, kv_heads, width, value)
    elif values := model.shape.get("v_head_dim"):
        token = kv_bytes_of_widths(layers.number, kv_heads, width, values, value)
    else:
        token = kv_bytes_per_token(layers.number, kv_heads, width, value)
    return Kept(token, kv_heads, add, layers.window, layers.chosen)


def _index_keys(model: Model, value: Figure) -> Kept | None:
    layers, width = model_matrices.index_layers(model), model.shape.get("index_head_dim")
    if layers is None or width is None:
        return None
    keys = index_bytes_per_token(layers, width, value)
    if model_matrices.compressed(model):
        keys = bytes_of_entries(keys, model.shape["compress_rate_csa"])
    return Kept(keys, None, add_index)


def _state(model: Model) -> Figure | None:
    """Return the state of all layers with linear attention or Mamba."""
    shape = model.shape
    if "linear_layers" not in shape:
        return None
    heads, keys, values = (shape[f"linear_{key}"] for key in ("value_heads", "key_head_dim", "value_head_dim"))
    state = state_bytes(shape["linear_layers"], heads, keys, values, STATE_VALUE)
    if "linear_conv_kernel" not in shape:
        return state
    mixed = model_matrices.width_of_convolution(model)
    return add_convolution(state, shape["linear_layers"], shape["linear_conv_kernel"], mixed, VALUE_BYTES["bf16"])


def _kept_of_request(kept: Kept, tokens: Figure) -> Figure:
    return kv_bytes_of_most(kept.token, tokens, kept.window) if kept.window else kv_bytes_of_request(kept.token, tokens)


def _sum_per_gpu(held: Cache, parts: list[Figure], tensor: Figure, stages: Figure) -> Figure:
    """Return the size of the layers' cache, or of the part read, and the state, on a GPU of the fullest stage."""
    terms = []
    for kind, part in zip(held.layers, parts, strict=True):
        of_gpu = (
            kv_bytes_of_gpu(part, stages, kind.kv_heads, tensor) if kind.kv_heads else latent_bytes_of_gpu(part, stages)
        )
        terms.append((kind.add, of_gpu))
    if state := state_bytes_per_gpu(held, tensor, stages):
        terms.append((add_state, state))
    return _sum(terms)


def _sum(parts: list[tuple[Formula, Figure]]) -> Figure:
    """Return the sum of the caches of several kinds of layers, each added by its formula."""
    (_, total), *more = parts
    for add, part in more:
        total = add(total, part)
    return total


kv_bytes_by_requests = quotient("kv_bytes_by_requests", "bytes", "kv_of_request", "tensor", source=BY_REQUESTS)
"""KV cache of a request, averaged over GPUs that each hold whole requests."""


@formula("bytes", _KWON)
def kv_bytes_per_token(layers: int, kv_heads: int, head_dim: int, value_bytes: Fraction) -> Fraction:
    """Keys and values of a token in all layers."""
    return 2 * layers * kv_heads * head_dim * Fraction(value_bytes)


@formula("bytes", _KWON)
def kv_bytes_of_widths(layers: int, kv_heads: int, head_dim: int, v_head_dim: int, value_bytes: Fraction) -> Fraction:
    """Keys and values of a token in all layers, where they differ in width."""
    return layers * kv_heads * (head_dim + v_head_dim) * Fraction(value_bytes)


@formula("bytes", _DEEPSEEK)
def latent_bytes_per_token(layers: int, kv_lora_rank: int, rope_head_dim: int, value_bytes: Fraction) -> Fraction:
    """The latent vector and the rotary key of a token in all layers."""
    return (kv_lora_rank + rope_head_dim) * layers * Fraction(value_bytes)


shared_bytes_per_token = product(
    "shared_bytes_per_token", "bytes", "layers", "kv_heads", "head_dim", "value_bytes", source=_DEEPSEEK_V4
)
"""Vectors of a token that serve as key and value."""
index_bytes_per_token = product(
    "index_bytes_per_token",
    "bytes",
    "index_layers",
    "index_head_dim",
    "value_bytes",
    source=f"{_DEEPSEEK_V32}: one key serves all heads of the indexer",
)
"""Keys of the indexers per token."""
bytes_of_entries = quotient("bytes_of_entries", "bytes", "kv_bytes_per_token", "compress_rate", source=_DEEPSEEK_V4)
"""Compressed entries per token: keys of the indexers, or vectors that serve as key and value."""
state_bytes = product(
    "state_bytes",
    "bytes",
    "linear_layers",
    "value_heads",
    "key_head_dim",
    "value_head_dim",
    "value_bytes",
    source=_VLLM_STATES,
)
"""States of a request: one matrix per head and layer."""


@formula("bytes", _VLLM_STATES)
def add_convolution(states: int, linear_layers: int, linear_conv_kernel: int, width: int, value_bytes: int) -> int:
    """States of a request, including the last inputs of the convolution of each layer."""
    return states + linear_layers * (linear_conv_kernel - 1) * width * value_bytes


kv_bytes_of_request = product("kv_bytes_of_request", "bytes", "kv_bytes_per_token", "tokens")
"""KV cache of a request in layers that keep all tokens."""


@formula("bytes", _GEMMA)
def kv_bytes_of_most(kv_bytes_per_token: Fraction, tokens: Fraction, most: int) -> Fraction:
    """KV cache of a request in layers that keep the tokens of a window, or that a step reads of those it chooses."""
    return Fraction(kv_bytes_per_token) * min(tokens, Fraction(most))


@formula("requests", _SGLANG_POOLS)
def requests_of_pools(room: Fraction, token_bytes: Fraction, state_bytes: Fraction) -> int:
    """Requests that two pools of memory hold: one of states, of which a request takes several, one of other layers."""
    return max(0, int(room / (1 + STATE_POOL) * min(STATE_POOL / (STATE_SLOTS * state_bytes), 1 / token_bytes)))


kv_without_state = difference("kv_without_state", "bytes", "kv_of_request", "state")
"""KV cache of a request in layers without a state."""
add_layers = sum_of("add_layers", "bytes", "kv_cache", "more_layers")
"""KV cache, including further layers that keep all tokens."""
add_windows = sum_of("add_windows", "bytes", "full_attention", "windows")
"""KV cache of layers that keep all tokens and of layers with a window."""
add_index = sum_of("add_index", "bytes", "kv_cache", "index_keys")
"""KV cache, including the keys of the indexers."""
add_state = sum_of("add_state", "bytes", "kv_cache", "state")
"""KV cache, including the state of layers with linear attention or Mamba."""


@formula("bytes", _VLLM)
def kv_bytes_of_gpu(kv_of_request: Fraction, stages: Fraction, kv_heads: int, tensor: int) -> Fraction:
    """A request's KV cache on a GPU of the fullest stage: whole heads, replicated over more GPUs than heads."""
    return Fraction(kv_of_request) / stages * ceil(Fraction(kv_heads, tensor)) / kv_heads


latent_bytes_of_gpu = quotient("latent_bytes_of_gpu", "bytes", "kv_of_request", "stages", source=_VLLM)
"""A request's KV cache on a GPU of the fullest stage; latent vectors are replicated on tensor-parallel GPUs."""


# caches outside of the GPU -------------------------------------------------------------------------------------------
# Tokens of a prompt that are found in host memory or on NVMe are loaded, not processed.
#
# Loading is asynchronous in the engines (vLLM's offloading connector, LMCache): it delays the first token of its
# request, and computes nothing. Each GPU of a replica loads its part.


def cached_share(inference: Inference) -> Figure | None:
    """Return the share of prompt tokens that are in any cache; None: none."""
    tiers = (inference.host_cache, inference.nvme_cache)
    shares = [inference.prefix_cache, *(tier.share for tier in tiers if tier)]
    known = [share for share in shares if share]
    return reduce(add_shares, known) if known else None


def loading_of_prompt(inference: Inference, gpu: Gpu, tensor: Figure, stages: Figure) -> Figure | None:
    """Return the time to load what of a prompt is cached outside of the GPU [s]; None: nothing is.

    Raises Infeasible where the bandwidth of host memory is neither given nor known.
    """
    held = cache(inference.model, str(inference.kv_precision.value))
    if held is None or inference.prompt_tokens is None:
        return None
    size = request_bytes_per_gpu(held, inference.prompt_tokens, tensor, stages)
    loads = [seconds_to_load(size, share, bandwidth) for share, bandwidth in _tiers(inference, gpu)]
    return reduce(add_loading, loads) if loads else None


def _tiers(inference: Inference, gpu: Gpu) -> Iterator[tuple[Figure, Figure]]:
    """Yield the share of each tier and its bandwidth per GPU [bytes/s]."""
    if host := inference.host_cache:
        bandwidth = host.bandwidth or (bytes_of_network(gpu.pcie_gbps) if gpu.pcie_gbps else None)
        if bandwidth is None:
            message = f"the PCIe rate of {gpu.identity.name} is not known; set `cache_tiers.host.bandwidth`"
            raise Infeasible(message, because=host.share, rule="missing-key")
        yield host.share, bandwidth
    if (nvme := inference.nvme_cache) and nvme.bandwidth:
        yield nvme.share, nvme.bandwidth


add_shares = sum_of("add_shares", "share", "share", "more")
"""Share of prompt tokens in several caches."""
add_loading = sum_of("add_loading", "s", "seconds", "more")
"""Time to load from several tiers."""


@formula("s")
def seconds_to_load(kv_of_request: Fraction, share: Fraction, bandwidth: Fraction) -> float:
    """Time in which a GPU loads its part of the cached KV cache of a prompt."""
    return float(kv_of_request * Fraction(share) / Fraction(bandwidth))

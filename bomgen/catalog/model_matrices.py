"""The weight matrices of a transformer by name, size and number, and missing or contradictory keys of a shape.

A model is assumed to be of the Llama family unless its record says otherwise: gated feed-forward blocks, an RMS norm
before each block and one at the end, no biases, rotary positions, a separate output embedding. Matrices have the names
of the target modules of adapters (Hugging Face PEFT). A mixture of experts has gate_proj, up_proj and down_proj twice
when some of its layers are dense: in those layers, and in the experts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bomgen.catalog.parts import Model
from bomgen.core.provenance import Figure, difference, floor_div, formula, product, require

GATED, PLAIN = "gated", "plain"
NO_BIAS = "none"
DEEPSEEK_V2 = "DeepSeek-AI 2024, DeepSeek-V2, section 2.1"
_DEEPSEEK_V4 = "Hugging Face Transformers, modular_deepseek_v4.py"
_QWEN3_NEXT = "Hugging Face Transformers, modular_qwen3_next.py"
_STATE = ("linear_key_heads", "linear_key_head_dim", "linear_value_heads", "linear_value_head_dim")
_INDEXER = ("index_heads", "index_head_dim")
_COMPRESSED = ("window", "q_lora_rank", "o_lora_rank", "o_groups")
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "global_kv_heads": ("window_layers",),
    "global_head_dim": ("window_layers",),
    "linear_layers": _STATE,
    "linear_conv_kernel": ("linear_layers",),
    "linear_gate_rank": ("linear_layers",),
    "index_topk": _INDEXER,
    "index_layers": ("index_topk",),
    "sparse_layers": ("index_topk",),
    "csa_layers": ("compress_rate_csa", "index_topk", *_COMPRESSED),
    "hca_layers": ("compress_rate_hca", *_COMPRESSED),
    "ffn_shared": ("shared",),
    "moe_latent": ("experts",),
}
"""Further keys that a shape with a key must give."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A weight matrix of which a model has many copies."""

    name: str
    inputs: Figure
    outputs: Figure
    count: Figure
    """Copies in the whole model."""
    active: Figure
    """Copies that a token passes."""


def matrices(model: Model) -> tuple[Matrix, ...] | None:
    """Return the weight matrices of a model's layers; None when its shape is not known well enough."""
    if set(missing(model)) - {"vocab"}:
        return None
    router: tuple[Matrix, ...] = ()
    if model.moe:
        router = (_each("router", model.shape["hidden"], model.shape["experts"], layers_with_experts(model)),)
    return (
        *(*attention(model), *further_attention(model)),
        *(*feed_forward(model), *experts(model), *beside_experts(model), *router),
    )


def missing(model: Model) -> tuple[str, ...]:
    """Return the keys of the shape that a parameter count needs and that the model's record lacks."""
    wanted = ["layers", "hidden", "heads", "vocab"]
    if model.mla:
        wanted += ["head_dim", "v_head_dim", "kv_lora_rank", "rope_head_dim"]
    if model.moe:
        wanted += ["experts", "topk", "ffn_expert"]
        wanted += ["ffn_dense"] if _has_dense_layers(model) else []
    else:
        wanted += ["ffn"]
    return tuple(key for key in wanted if key not in model.shape)


def wrong(model: Model) -> Iterator[tuple[str, str]]:
    """Yield the keys of a shape that contradict its other keys, each with the remedy."""
    for key, most in (
        *(("topk", "experts"), ("dense_layers", "layers"), ("kv_heads", "heads")),
        *(("window_layers", "layers"), ("rope_head_dim", "head_dim"), ("linear_layers", "layers")),
        *(("ffn_layers", "layers"), ("sparse_layers", "layers"), ("index_layers", "layers")),
        *(("csa_layers", "layers"), ("hca_layers", "layers")),
    ):
        if {key, most} <= model.shape.keys() and model.shape[key].value > model.shape[most].value:
            yield key, f"{key} is {model.shape[key].value}; at most as many as {most}: {model.shape[most].value}"
    hidden, heads = model.shape.get("hidden"), model.shape.get("heads")
    if hidden and heads and "head_dim" not in model.shape and hidden.value % heads.value:
        yield "heads", f"{heads.value} heads do not divide a hidden size of {hidden.value} evenly; set `head_dim`"
    if "window_layers" in model.shape and "window" not in model.shape:
        yield "window_layers", "window_layers without a window; set `window`, in tokens"
    for key, needed in _NEEDED.items():
        lacking = [f"`{name}`" for name in needed if name not in model.shape]
        if key in model.shape and lacking:
            yield key, f"{key} without {', '.join(lacking)}; add what is missing"
    for kinds in (("linear_layers", "ffn_layers", "window_layers"), ("csa_layers", "hca_layers")):
        keys = [key for key in kinds if key in model.shape]
        total = sum(model.shape[key].value for key in keys)
        if len(keys) > 1 and "layers" in model.shape and total > model.shape["layers"].value:
            most = model.shape["layers"].value
            yield keys[-1], f"{' and '.join(keys)} are {total} together; at most as many as layers: {most}"
    if "index_topk" in model.shape and "window" in model.shape and not compressed(model):
        yield "index_topk", "index_topk with a window; only compressed attention (`csa_layers`) has both"
    if model.mla and model.bias != NO_BIAS:
        yield "bias", f"latent attention with bias: {model.bias}; write bias: {NO_BIAS}"


# the blocks of a model ----------------------------------------------------------------------------------------------


def attention_layers(model: Model) -> Figure:
    """Return the number of layers with attention to single tokens: all but those with only a state or a block."""
    layers = mixing_layers(model)
    return layers_without_state(layers, model.shape["linear_layers"]) if "linear_layers" in model.shape else layers


def mixing_layers(model: Model) -> Figure:
    """Return the number of layers with attention or a state: all but those that are only a feed-forward block."""
    layers = model.shape["layers"]
    return layers_without_block(layers, model.shape["ffn_layers"]) if "ffn_layers" in model.shape else layers


def ffn_layers(model: Model) -> Figure:
    """Return the number of layers with a feed-forward block or experts."""
    return model.shape.get("ffn_layers") or model.shape["layers"]


def compressed(model: Model) -> bool:
    """Return whether layers keep one compressed entry for several tokens, as in DeepSeek-V4."""
    return "csa_layers" in model.shape or "hca_layers" in model.shape


def differing_layers(model: Model) -> tuple[Figure, Figure] | None:
    """Return the layers with a window and those with full attention, where their heads differ; None otherwise."""
    differ = model.values_are_keys or {"global_head_dim", "global_kv_heads"} & model.shape.keys()
    if "window_layers" not in model.shape or not differ:
        return None
    windows = model.shape["window_layers"]
    return windows, layers_without_window(attention_layers(model), windows)


def global_head_dim(model: Model) -> Figure:
    """Return the width of a head in layers with full attention."""
    return model.shape.get("global_head_dim") or width_of_head(model)


def global_kv_heads(model: Model) -> Figure | None:
    """Return the number of heads whose keys and values are kept in layers with full attention."""
    return model.shape.get("global_kv_heads") or kv_heads(model)


def head_dim(model: Model) -> Figure | None:
    """Return the width of a head: as recorded, else the hidden size over the heads; None when neither is known."""
    derivable = {"hidden", "heads"} <= model.shape.keys()
    return width_of_head(model) if derivable else model.shape.get("head_dim")


def width_of_head(model: Model) -> Figure:
    """Return `head_dim` of a model whose hidden size and heads are known."""
    shape = model.shape
    return shape.get("head_dim") or head_width(shape["hidden"], shape["heads"])


def kv_heads(model: Model) -> Figure | None:
    """Return the number of heads whose keys and values are kept: as recorded, else all; None when neither is known."""
    return model.shape.get("kv_heads") or model.shape.get("heads")


def attention(model: Model) -> tuple[Matrix, ...]:
    """Return the matrices of attention, the output projection last; none for compressed attention."""
    if compressed(model):
        return ()
    shape, differing = model.shape, differing_layers(model)
    if model.mla:
        return _latent_attention(model, heads_width(shape["heads"], width_of_head(model)))
    layers = differing[0] if differing else attention_layers(model)
    return tuple(_heads(model, layers, width_of_head(model), kv_heads(model) or shape["heads"]))


def _heads(model: Model, layers: Figure, width: Figure, kv_heads: Figure, full: bool = False) -> Iterator[Matrix]:
    """Yield the matrices of queries, keys, values and output of layers with heads of a width.

    The widths of values and outputs may differ. `full`: in layers beside those with a window.
    """
    shape, hidden, queries = model.shape, model.shape["hidden"], heads_width(model.shape["heads"], width)
    values = keys = queries if kv_heads is shape["heads"] else heads_width(kv_heads, width)
    outputs, value_width = queries, shape.get("v_head_dim")
    if value_width:
        values, outputs = heads_width(kv_heads, value_width), heads_width(shape["heads"], value_width)
    yield _each("q_proj", hidden, queries, layers)
    yield _each("k_proj", hidden, keys, layers)
    if not (full and model.values_are_keys):
        yield _each("v_proj", hidden, values, layers)
    if model.relative_positions and not full:
        yield _each("r_net", hidden, queries, layers)
    yield _each("o_proj", outputs, hidden, layers)


def _latent_attention(model: Model, queries: Figure) -> tuple[Matrix, ...]:
    shape, hidden, layers = model.shape, model.shape["hidden"], attention_layers(model)
    rank, rotary, values = shape["kv_lora_rank"], shape["rope_head_dim"], shape["v_head_dim"]
    if "q_lora_rank" in shape:
        down = _each("q_a_proj", hidden, shape["q_lora_rank"], layers)
        first: tuple[Matrix, ...] = (down, _each("q_b_proj", shape["q_lora_rank"], queries, layers))
    else:
        first = (_each("q_proj", hidden, queries, layers),)
    expanded = expanded_width(shape["heads"], shape["head_dim"], rotary, values)
    return (
        *first,
        _each("kv_a_proj_with_mqa", hidden, compressed_width(rank, rotary), layers),
        _each("kv_b_proj", rank, expanded, layers),
        _each("o_proj", heads_width(shape["heads"], values), hidden, layers),
    )


def further_attention(model: Model) -> tuple[Matrix, ...]:
    """Return the matrices that layers have in addition to or instead of those of `attention`.

    Excluded, below a thousandth of the parameters: norms, biases of positions and decays of single heads.
    """
    return (*further_token_attention(model), *linear_attention(model))


def further_token_attention(model: Model) -> Iterator[Matrix]:
    """Yield those of `further_attention` in layers with attention to tokens."""
    if differing := differing_layers(model):
        kv_heads = require(global_kv_heads(model), "a shape has heads")
        yield from _heads(model, differing[1], global_head_dim(model), kv_heads, full=True)
    if model.output_gate:
        width = model.shape.get("v_head_dim") or width_of_head(model)
        values = heads_width(model.shape["heads"], width)
        yield _each("g_proj", model.shape["hidden"], values, attention_layers(model))
    yield from _compressed(model)
    yield from _index(model)


def _compressed(model: Model) -> Iterator[Matrix]:
    """Yield the matrices of DeepSeek-V4's attention: shared keys and values, a grouped output, and the compressors."""
    if not compressed(model):
        return
    shape, hidden, layers = model.shape, model.shape["hidden"], model.shape["layers"]
    width, queries = width_of_head(model), heads_width(shape["heads"], width_of_head(model))
    yield _each("q_a_proj", hidden, shape["q_lora_rank"], layers)
    yield _each("q_b_proj", shape["q_lora_rank"], queries, layers)
    yield _each("kv_proj", hidden, width, layers)
    yield _each("o_a_proj", queries, shape["o_lora_rank"], layers)
    yield _each("o_b_proj", grouped_width(shape["o_groups"], shape["o_lora_rank"]), hidden, layers)
    if "csa_layers" in shape:
        yield _each("compressor", hidden, overlapping_compressor_width(width), shape["csa_layers"])
    if "hca_layers" in shape:
        yield _each("compressor", hidden, compressor_width(width), shape["hca_layers"])


def _index(model: Model) -> Iterator[Matrix]:
    """Yield the indexer that chooses which tokens, or which compressed entries, attention sees."""
    shape = model.shape
    layers = index_layers(model)
    if layers is None:
        return
    hidden, width = shape["hidden"], shape["index_head_dim"]
    keys = overlapping_compressor_width(width) if compressed(model) else width
    yield _each("indexer.wq_b", shape.get("q_lora_rank", hidden), heads_width(shape["index_heads"], width), layers)
    yield _each("indexer.wk", hidden, keys, layers)
    yield _each("indexer.weights_proj", hidden, shape["index_heads"], layers)


def sparse_layers(model: Model) -> Figure | None:
    """Return the number of layers that attend to selected tokens or entries only; None for other models."""
    if "index_topk" not in model.shape:
        return None
    return model.shape.get("sparse_layers") or model.shape.get("csa_layers") or attention_layers(model)


def index_layers(model: Model) -> Figure | None:
    """Return the number of layers that have an indexer; None for other models."""
    return model.shape.get("index_layers") or sparse_layers(model)


def linear_attention(model: Model) -> Iterator[Matrix]:
    """Yield the matrices of layers with a state: queries, keys, values, head gates, output gate, output projection."""
    shape = model.shape
    layers = shape.get("linear_layers")
    if layers is None:
        return
    hidden, values = shape["hidden"], heads_width(shape["linear_value_heads"], shape["linear_value_head_dim"])
    mixed = width_of_convolution(model)
    yield _each("in_proj_qkv", hidden, mixed, layers)
    yield _each("in_proj_ba", hidden, gates_width(shape["linear_value_heads"]), layers)
    if "linear_gate_rank" in shape:
        yield _each("g_a_proj", hidden, shape["linear_gate_rank"], layers)
        yield _each("g_b_proj", shape["linear_gate_rank"], values, layers)
    else:
        yield _each("in_proj_z", hidden, values, layers)
    if "linear_conv_kernel" in shape:
        yield _each("conv1d", shape["linear_conv_kernel"], mixed, layers)
    yield _each("out_proj", values, hidden, layers)


def width_of_convolution(model: Model) -> Figure:
    """Return the width of the queries, keys and values of a layer with a state, side by side."""
    shape = model.shape
    keys = heads_width(shape["linear_key_heads"], shape["linear_key_head_dim"])
    return convolved_width(keys, heads_width(shape["linear_value_heads"], shape["linear_value_head_dim"]))


def _each(name: str, inputs: Figure, outputs: Figure, layers: Figure) -> Matrix:
    """Return a matrix of which each of these layers has one and which every token passes."""
    return Matrix(name, inputs, outputs, layers, layers)


def _has_dense_layers(model: Model) -> bool:
    """Return whether a mixture of experts has layers without them."""
    return "dense_layers" in model.shape and model.shape["dense_layers"].value > 0


def feed_forward(model: Model) -> tuple[Matrix, ...]:
    """Return the matrices of feed-forward blocks that every token passes; none when all layers have experts."""
    if not model.moe:
        return _block(model, model.shape["ffn"], ffn_layers(model), ffn_layers(model))
    if not _has_dense_layers(model):
        return ()
    return _block(model, model.shape["ffn_dense"], model.shape["dense_layers"], model.shape["dense_layers"])


def experts(model: Model) -> tuple[Matrix, ...]:
    """Return the matrices of all experts, routed and equal shared ones; none when the model has no experts."""
    if not model.moe:
        return ()
    shape, layers = model.shape, layers_with_experts(model)
    if "moe_latent" in shape:
        held, used = experts_of_layers(layers, shape["experts"]), experts_of_layers(layers, shape["topk"])
        return _block(model, shape["ffn_expert"], held, used, shape["moe_latent"])
    if "shared" in shape and "ffn_shared" not in shape:
        held = experts_with_shared(layers, shape["experts"], shape["shared"])
        used = experts_with_shared(layers, shape["topk"], shape["shared"])
    else:
        held, used = experts_of_layers(layers, shape["experts"]), experts_of_layers(layers, shape["topk"])
    return _block(model, shape["ffn_expert"], held, used)


def shared_experts(model: Model) -> tuple[Matrix, ...]:
    """Return the matrices of shared experts of the size of a routed one, which `experts` counts among these."""
    shape = model.shape
    equal = model.moe and "shared" in shape and not {"ffn_shared", "moe_latent"} & shape.keys()
    if not equal or not shape["shared"].value:
        return ()
    copies = experts_of_layers(layers_with_experts(model), shape["shared"])
    return _block(model, shape["ffn_expert"], copies, copies)


def beside_experts(model: Model) -> tuple[Matrix, ...]:
    """Return the matrices of shared experts of another size, and those to and from the routed experts' latent width."""
    shape = model.shape
    if not model.moe or not {"ffn_shared", "moe_latent"} & shape.keys():
        return ()
    hidden, layers, beside = shape["hidden"], layers_with_experts(model), []
    if "moe_latent" in shape:
        beside += [_each("fc1_latent_proj", hidden, shape["moe_latent"], layers)]
        beside += [_each("fc2_latent_proj", shape["moe_latent"], hidden, layers)]
    if "shared" in shape and shape["shared"].value:
        copies = experts_of_layers(layers, shape["shared"])
        beside += _block(model, shape.get("ffn_shared") or shape["ffn_expert"], copies, copies)
    return tuple(beside)


def layers_with_experts(model: Model) -> Figure:
    """Return the number of layers with experts."""
    return moe_layers(ffn_layers(model), model.shape["dense_layers"]) if _has_dense_layers(model) else ffn_layers(model)


def _block(
    model: Model, width: Figure, count: Figure, active: Figure, hidden: Figure | None = None
) -> tuple[Matrix, ...]:
    """Return the matrices of equal feed-forward blocks; `hidden` is their input and output width, if not the usual."""
    hidden = hidden or model.shape["hidden"]
    gate = [] if model.mlp == PLAIN else [Matrix("gate_proj", hidden, width, count, active)]
    up, down = Matrix("up_proj", hidden, width, count, active), Matrix("down_proj", width, hidden, count, active)
    return (*gate, up, down)


# widths and copies ---------------------------------------------------------------------------------------------------


head_width = floor_div("head_width", "count", "hidden", "heads")
"""Width of an attention head if the model does not specify one: the hidden size divided by the heads."""
heads_width = product("heads_width", "count", "heads", "head_dim")
"""Width of all heads together."""


@formula("count", f"{DEEPSEEK_V2}: the latent vector and the rotary part of the key")
def compressed_width(kv_lora_rank: int, rope_head_dim: int) -> int:
    """Width of the vector that latent attention caches per token and layer."""
    return kv_lora_rank + rope_head_dim


@formula("count", f"{DEEPSEEK_V2}: keys without their rotary part, and values")
def expanded_width(heads: int, head_dim: int, rope_head_dim: int, v_head_dim: int) -> int:
    """Width of the keys and values that latent attention expands from the latent vector."""
    return heads * (head_dim - rope_head_dim + v_head_dim)


moe_layers = difference("moe_layers", "count", "layers", "dense_layers")
"""Layers with experts."""
experts_of_layers = product("experts_of_layers", "count", "layers", "experts")
"""Experts of all layers: all of them, or the active ones."""


@formula("count")
def experts_with_shared(layers: int, experts: int, shared: int) -> int:
    """Routed and shared experts of all layers: all of them, or the active ones."""
    return layers * (experts + shared)


layers_without_state = difference("layers_without_state", "layers", "layers", "linear_layers")
"""Layers without linear attention or Mamba."""
layers_without_block = difference("layers_without_block", "layers", "layers", "ffn_layers")
"""Layers other than those that consist of a feed-forward block alone."""
layers_without_window = difference("layers_without_window", "layers", "layers", "window_layers")
"""Layers with full attention."""


@formula("count", f"{_DEEPSEEK_V4}: the output projection by groups of heads")
def grouped_width(o_groups: int, o_lora_rank: int) -> int:
    """Width of the compressed outputs of all groups of heads."""
    return o_groups * o_lora_rank


@formula("count", f"{_DEEPSEEK_V4}: entries and their gates")
def compressor_width(head_dim: int) -> int:
    """Width of a token's projection in heavily compressed attention, before tokens are merged into entries."""
    return 2 * head_dim


@formula("count", f"{_DEEPSEEK_V4}: entries and their gates, each for two overlapping windows")
def overlapping_compressor_width(head_dim: int) -> int:
    """Width of a token's projection in compressed sparse attention, before tokens are merged into entries."""
    return 2 * 2 * head_dim


@formula("count", f"{_QWEN3_NEXT}: queries and keys are equally wide")
def convolved_width(keys: int, values: int) -> int:
    """Width of the convolution of a linear-attention layer: queries, keys and values."""
    return 2 * keys + values


@formula("count", f"{_QWEN3_NEXT}: b and a of every head of the values")
def gates_width(linear_value_heads: int) -> int:
    """Gates of a linear-attention layer: write strength and decay of the state, per value head."""
    return 2 * linear_value_heads

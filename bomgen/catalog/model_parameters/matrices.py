"""The weight matrices of a transformer by name, size and number, and what a shape lacks or cannot have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bomgen.catalog.parts import Model
from bomgen.core.provenance import Figure, formula

GATED, PLAIN = "gated", "plain"
NO_BIAS = "none"
DEEPSEEK_V2 = "DeepSeek-AI 2024, DeepSeek-V2, section 2.1"


@dataclass(frozen=True, slots=True)
class Matrix:
    """A weight matrix that a model has many copies of."""

    name: str
    inputs: Figure
    outputs: Figure
    count: Figure
    """Copies in the whole model."""
    active: Figure
    """Copies that work on a token."""


def matrices(model: Model) -> tuple[Matrix, ...] | None:
    """The weight matrices of a model's layers; None when its shape is not known well enough."""
    if set(missing(model)) - {"vocab"}:
        return None
    return (*attention(model), *feed_forward(model), *experts(model), *_router(model))


def missing(model: Model) -> tuple[str, ...]:
    """The keys of the shape that a parameter count needs and the model's record does not give."""
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
    """The keys of a shape that no model can have together with its others, each with what would be right."""
    for key, most in (
        *(("topk", "experts"), ("dense_layers", "layers"), ("kv_heads", "heads")),
        *(("window_layers", "layers"), ("rope_head_dim", "head_dim")),
    ):
        if {key, most} <= model.shape.keys() and model.shape[key].value > model.shape[most].value:
            yield key, f"{key} is {model.shape[key].value}; at most as many as {most}: {model.shape[most].value}"
    hidden, heads = model.shape.get("hidden"), model.shape.get("heads")
    if hidden and heads and "head_dim" not in model.shape and hidden.value % heads.value:
        yield "heads", f"{heads.value} heads do not share a hidden size of {hidden.value} evenly; give `head_dim`"
    if "window_layers" in model.shape and "window" not in model.shape:
        yield "window_layers", "window_layers without a window; give `window`, in tokens"
    if model.mla and model.bias != NO_BIAS:
        yield "bias", f"latent attention with bias: {model.bias}; write bias: {NO_BIAS}"


# the blocks of a model ----------------------------------------------------------------------------------------------


def head_dim(model: Model) -> Figure | None:
    """Width of a head: as the record says, else the heads share the hidden size; None when neither is known."""
    known = {"hidden", "heads"} <= model.shape.keys()
    return width_of_head(model) if known else model.shape.get("head_dim")


def width_of_head(model: Model) -> Figure:
    """As `head_dim`, for a model whose hidden size and heads are known."""
    shape = model.shape
    return shape.get("head_dim") or head_width(shape["hidden"], shape["heads"])


def kv_heads(model: Model) -> Figure | None:
    """Heads whose keys and values are kept: as the record says, else all; None when neither is known."""
    return model.shape.get("kv_heads") or model.shape.get("heads")


def attention(model: Model) -> tuple[Matrix, ...]:
    """The matrices of attention, the one back to the hidden state last."""
    shape, hidden, layers = model.shape, model.shape["hidden"], model.shape["layers"]
    queries = heads_width(shape["heads"], width_of_head(model))
    if model.mla:
        return _latent_attention(model, queries)
    keys = heads_width(shape["kv_heads"], width_of_head(model)) if "kv_heads" in shape else queries
    positions = [_each("r_net", hidden, queries, layers)] if model.relative_positions else []
    return (
        _each("q_proj", hidden, queries, layers),
        _each("k_proj", hidden, keys, layers),
        _each("v_proj", hidden, keys, layers),
        *positions,
        _each("o_proj", queries, hidden, layers),
    )


def _latent_attention(model: Model, queries: Figure) -> tuple[Matrix, ...]:
    shape, hidden, layers = model.shape, model.shape["hidden"], model.shape["layers"]
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


def _each(name: str, inputs: Figure, outputs: Figure, layers: Figure) -> Matrix:
    """A matrix that these layers have once each and every token passes."""
    return Matrix(name, inputs, outputs, layers, layers)


def _has_dense_layers(model: Model) -> bool:
    """Whether a mixture of experts has layers without them."""
    return "dense_layers" in model.shape and model.shape["dense_layers"].value > 0


def feed_forward(model: Model) -> tuple[Matrix, ...]:
    """The matrices of feed-forward blocks that every token passes; none when all layers have experts."""
    if not model.moe:
        return _block(model, model.shape["ffn"], model.shape["layers"], model.shape["layers"])
    if not _has_dense_layers(model):
        return ()
    return _block(model, model.shape["ffn_dense"], model.shape["dense_layers"], model.shape["dense_layers"])


def experts(model: Model) -> tuple[Matrix, ...]:
    """The matrices of all experts, routed and shared; none when the model has no experts."""
    if not model.moe:
        return ()
    shape, layers = model.shape, layers_with_experts(model)
    if "shared" in shape:
        held = experts_with_shared(layers, shape["experts"], shape["shared"])
        used = experts_with_shared(layers, shape["topk"], shape["shared"])
    else:
        held, used = experts_of_layers(layers, shape["experts"]), experts_of_layers(layers, shape["topk"])
    return _block(model, shape["ffn_expert"], held, used)


def layers_with_experts(model: Model) -> Figure:
    """How many layers of a mixture have experts."""
    if not _has_dense_layers(model):
        return model.shape["layers"]
    return moe_layers(model.shape["layers"], model.shape["dense_layers"])


def _block(model: Model, width: Figure, count: Figure, active: Figure) -> tuple[Matrix, ...]:
    """The matrices of equal feed-forward blocks."""
    hidden = model.shape["hidden"]
    gate = [] if model.mlp == PLAIN else [Matrix("gate_proj", hidden, width, count, active)]
    up, down = Matrix("up_proj", hidden, width, count, active), Matrix("down_proj", width, hidden, count, active)
    return (*gate, up, down)


def _router(model: Model) -> tuple[Matrix, ...]:
    if not model.moe:
        return ()
    return (_each("router", model.shape["hidden"], model.shape["experts"], layers_with_experts(model)),)


# widths and copies ---------------------------------------------------------------------------------------------------


@formula("count")
def head_width(hidden: int, heads: int) -> int:
    """Width of an attention head where the model does not say: the heads share the hidden size."""
    return hidden // heads


@formula("count")
def heads_width(heads: int, head_dim: int) -> int:
    """Width of all heads side by side."""
    return heads * head_dim


@formula("count", f"{DEEPSEEK_V2}: the latent vector and the rotary part of the key")
def compressed_width(kv_lora_rank: int, rope_head_dim: int) -> int:
    """What latent attention keeps of a token in a layer."""
    return kv_lora_rank + rope_head_dim


@formula("count", f"{DEEPSEEK_V2}: keys without their rotary part, and values")
def expanded_width(heads: int, head_dim: int, rope_head_dim: int, v_head_dim: int) -> int:
    """Width of the keys and values that latent attention makes of the latent vector."""
    return heads * (head_dim - rope_head_dim + v_head_dim)


@formula("count")
def moe_layers(layers: int, dense_layers: int) -> int:
    """Layers with experts."""
    return layers - dense_layers


@formula("count")
def experts_of_layers(layers: int, experts: int) -> int:
    """Experts of all layers, or those of them that work on a token."""
    return layers * experts


@formula("count")
def experts_with_shared(layers: int, experts: int, shared: int) -> int:
    """Experts of all layers, or those of them that work on a token: the routed and the shared ones."""
    return layers * (experts + shared)

"""The layers of a model by what their tokens attend to: all tokens, those of a window, chosen or compressed ones."""

from __future__ import annotations

from typing import NamedTuple

from bomgen.catalog.model_parameters import matrices
from bomgen.catalog.parts import Model
from bomgen.core.provenance import Figure, difference, formula

_DEEPSEEK_V4 = "Hugging Face Transformers, modular_deepseek_v4.py"


class Layers(NamedTuple):
    """Layers whose attention is alike."""

    number: Figure
    kv_heads: Figure | None
    """None: not known; latent attention has none."""
    width: Figure | None
    """Width of a head; None: not known."""
    window: Figure | None = None
    """Tokens that are kept at most, and attended to; None: all."""
    chosen: Figure | None = None
    """Tokens of those kept that are attended to at most; None: all."""
    joined: Figure | None = None
    """Tokens that share one entry; None: each has its own."""


def layers_by_attention(model: Model) -> tuple[Layers, ...]:
    """The layers of a model by attention, those that keep all tokens first; none when their number is not known."""
    if "layers" not in model.shape:
        return ()
    kv_heads, width = matrices.kv_heads(model), matrices.head_dim(model)
    if matrices.compressed(model):
        found = _compressed(model, kv_heads, width)
    elif "window" in model.shape:
        found = _with_windows(model, kv_heads, width)
    else:
        found = _sparse(model, kv_heads, width)
    return tuple(each for each in found if each.number.value) or tuple(found[:1])


def _compressed(model: Model, kv_heads: Figure | None, width: Figure | None) -> list[Layers]:
    shape, found = model.shape, []
    if "csa_layers" in shape:
        chosen = tokens_of_entries(shape["index_topk"], shape["compress_rate_csa"])
        joined = shape["compress_rate_csa"]
        found += [Layers(shape["csa_layers"], kv_heads, width, chosen=chosen, joined=joined)]
    if "hca_layers" in shape:
        found += [Layers(shape["hca_layers"], kv_heads, width, joined=shape["compress_rate_hca"])]
    return [*found, Layers(shape["layers"], kv_heads, width, window=shape["window"])]


def _with_windows(model: Model, kv_heads: Figure | None, width: Figure | None) -> list[Layers]:
    window, layers = model.shape["window"], matrices.attention_layers(model)
    if "window_layers" not in model.shape:
        return [Layers(layers, kv_heads, width, window)]
    windows = model.shape["window_layers"]
    full = matrices.layers_without_window(layers, windows)
    wide = model.shape.get("global_head_dim", width)
    return [
        Layers(full, matrices.global_kv_heads(model), wide),
        Layers(windows, kv_heads, width, window),
    ]


def _sparse(model: Model, kv_heads: Figure | None, width: Figure | None) -> list[Layers]:
    layers, sparse = matrices.attention_layers(model), matrices.sparse_layers(model)
    if sparse is None:
        return [Layers(layers, kv_heads, width)]
    chosen = Layers(sparse, kv_heads, width, chosen=model.shape["index_topk"])
    if "sparse_layers" not in model.shape:
        return [chosen]
    return [Layers(layers_with_all_tokens(layers, sparse), kv_heads, width), chosen]


@formula("tokens", f"{_DEEPSEEK_V4}: the indexer chooses compressed entries")
def tokens_of_entries(index_topk: int, compress_rate_csa: int) -> int:
    """Tokens that the entries chosen for a token stand for."""
    return index_topk * compress_rate_csa


layers_with_all_tokens = difference("layers_with_all_tokens", "layers", "layers", "sparse_layers")
"""Layers with attention to all tokens, beside those with sparse attention."""

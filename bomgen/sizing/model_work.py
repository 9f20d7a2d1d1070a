"""The work of a model for a token: its attention by the tokens it attends to, the FLOPs of it, and its matrices."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import NamedTuple

from bomgen.catalog import model_matrices
from bomgen.catalog.model_matrices import Matrix
from bomgen.catalog.parts import Model
from bomgen.core.diagnostics import Infeasible
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Given, Reference, difference, formula, product, quotient, sum_of
from bomgen.plan.types import Training
from bomgen.sizing.prediction.terms import Work
from bomgen.sizing.training import states

_DEEPSEEK_V4 = "Hugging Face Transformers, modular_deepseek_v4.py"


class Layers(NamedTuple):
    """Layers with the same kind of attention."""

    number: Figure
    kv_heads: Figure | None
    """KV heads; None if unknown; latent attention has none."""
    width: Figure | None
    """Width of a head; None if unknown."""
    window: Figure | None = None
    """Maximum tokens kept and attended to; None: all."""
    chosen: Figure | None = None
    """Maximum tokens attended to of those kept; None: all."""
    joined: Figure | None = None
    """Tokens that share one entry; None: each has a separate one."""


def layers_by_attention(model: Model) -> tuple[Layers, ...]:
    """Return the layers of a model by attention, those that keep all tokens first; none if their number is unknown."""
    if "layers" not in model.shape:
        return ()
    kv_heads, width = model_matrices.kv_heads(model), model_matrices.head_dim(model)
    if model_matrices.compressed(model):
        layers_by_kind = _compressed(model, kv_heads, width)
    elif "window" in model.shape:
        layers_by_kind = _with_windows(model, kv_heads, width)
    else:
        layers_by_kind = _sparse(model, kv_heads, width)
    return tuple(layers for layers in layers_by_kind if layers.number.value) or tuple(layers_by_kind[:1])


def _compressed(model: Model, kv_heads: Figure | None, width: Figure | None) -> list[Layers]:
    shape, layers = model.shape, []
    if "csa_layers" in shape:
        chosen = tokens_of_entries(shape["index_topk"], shape["compress_rate_csa"])
        joined = shape["compress_rate_csa"]
        layers += [Layers(shape["csa_layers"], kv_heads, width, chosen=chosen, joined=joined)]
    if "hca_layers" in shape:
        layers += [Layers(shape["hca_layers"], kv_heads, width, joined=shape["compress_rate_hca"])]
    return [*layers, Layers(shape["layers"], kv_heads, width, window=shape["window"])]


def _with_windows(model: Model, kv_heads: Figure | None, width: Figure | None) -> list[Layers]:
    window, layers = model.shape["window"], model_matrices.attention_layers(model)
    if "window_layers" not in model.shape:
        return [Layers(layers, kv_heads, width, window)]
    windows = model.shape["window_layers"]
    full = model_matrices.layers_without_window(layers, windows)
    wide = model.shape.get("global_head_dim", width)
    return [Layers(full, model_matrices.global_kv_heads(model), wide), Layers(windows, kv_heads, width, window)]


def _sparse(model: Model, kv_heads: Figure | None, width: Figure | None) -> list[Layers]:
    layers, sparse = model_matrices.attention_layers(model), model_matrices.sparse_layers(model)
    if sparse is None:
        return [Layers(layers, kv_heads, width)]
    chosen = Layers(sparse, kv_heads, width, chosen=model.shape["index_topk"])
    if "sparse_layers" not in model.shape:
        return [chosen]
    return [Layers(layers_with_all_tokens(layers, sparse), kv_heads, width), chosen]


tokens_of_entries = product(
    "tokens_of_entries",
    "tokens",
    "index_topk",
    "compress_rate_csa",
    source=f"{_DEEPSEEK_V4}: the indexer chooses compressed entries",
)
"""Tokens that the entries selected for a token represent."""
layers_with_all_tokens = difference("layers_with_all_tokens", "layers", "layers", "sparse_layers")
"""Layers with attention to all tokens, without those with sparse attention."""


# attention flops ----------------------------------------------------------------------------------------------------
# FLOPs of attention: of the scores and of their product with the values, which 6 N D leaves out.
#
# Published utilisations differ by 4 to 21 % in whether they count them, and whether half of them under a causal mask.

NONE = "none"
_KORTHIKANTI = Reference(
    "Korthikanti et al. 2022, Reducing Activation Recomputation in Large Transformer Models, section 5",
    "https://arxiv.org/abs/2205.05198",
    "2026",
)
_DAO = Reference("Dao 2023, FlashAttention-2, section 4.1", "https://arxiv.org/abs/2307.08691", "2026")
_PALM = Reference("Chowdhery et al. 2022, PaLM, appendix B", "https://arxiv.org/abs/2204.02311", "2026")
CAUSAL_SHARE = Fraction(1, 2)
"""Half of the score matrix is computed under a causal mask."""
ATTENTION_SHARES = {"causal": CAUSAL_SHARE, "full": Fraction(1)}
PASS_FLOPS = Figure(
    6,
    "FLOPs",
    Cited(message("attention-training-flops"), (_PALM,), "high", "12 for both together where they are equally wide"),
)
FORWARD_SHARE = Figure(Fraction(1, 3), "share", Cited(message("attention-forward-share"), (_KORTHIKANTI,), "high"))
KERNEL_SHARE = Figure(
    Fraction(1, 6),
    "share",
    Cited(message("attention-recomputed-share"), (_DAO,), "high", "1 of 6 products"),
)


CONVENTIONS = {
    name: Figure(name, "word", Cited(message("attention-convention"), (_PALM,), "high"))
    for name in (NONE, *ATTENTION_SHARES)
}


def products_of_token(model: Model, convention: Figure, sequence: Figure) -> Figure | None:
    """Return the multiply-adds of attention per token of a sequence, in all layers; None when the shape is unknown."""
    by_kind = [_products(model, layers, convention, sequence) for layers in layers_by_attention(model)]
    products = [part for part in (*by_kind, _index(model, convention, sequence), _state(model)) if part is not None]
    if not by_kind or None in by_kind:
        return None
    return reduce(add_products, products)


def _products(model: Model, layers: Layers, convention: Figure, sequence: Figure) -> Figure | None:
    heads, width = model.shape.get("heads"), layers.width
    if heads is None or width is None:
        return None
    return products(_positions(model, layers, convention, sequence), heads, width, model.shape.get("v_head_dim", width))


def _positions(model: Model, layers: Layers, convention: Figure, sequence: Figure) -> Figure:
    """Return the positions that a token of a sequence attends to, summed over equal layers."""
    if layers.window and model.chunked:
        return positions_in_chunks(convention, layers.number, sequence, layers.window)
    if most := layers.window or layers.chosen:
        positions = positions_of_most(convention, layers.number, sequence, most)
    else:
        positions = positions_met(convention, layers.number, sequence)
    return entries_met(positions, layers.joined) if layers.joined else positions


def _index(model: Model, convention: Figure, sequence: Figure) -> Figure | None:
    """Return the multiply-adds of the indexers, which score every token or entry; None: no sparse attention."""
    layers = model_matrices.index_layers(model)
    if layers is None:
        return None
    met = positions_met(convention, layers, sequence)
    met = entries_met(met, model.shape["compress_rate_csa"]) if model_matrices.compressed(model) else met
    return index_products(met, model.shape["index_heads"], model.shape["index_head_dim"])


def _state(model: Model) -> Figure | None:
    """Return the multiply-adds of layers with a state; None: no such layers."""
    return state_products(*_states(model)) if "linear_layers" in model.shape else None


def _states(model: Model) -> list[Figure]:
    """Return the layers with a state, and the three dimensions of the state of one."""
    keys = ("linear_layers", "linear_value_heads", "linear_key_head_dim", "linear_value_head_dim")
    return [model.shape[key] for key in keys]


@formula("positions")
def positions_met(attention: str, layers: int, sequence: int) -> Fraction:
    """Positions that a token attends to, summed over layers that attend to all tokens."""
    return ATTENTION_SHARES[attention] * layers * sequence


@formula("positions")
def positions_of_most(attention: str, layers: int, sequence: int, most: int) -> Fraction:
    """Positions that a token attends to, summed over layers limited to a window or a selection of tokens."""
    return layers * (min(most, sequence) - (attention == "causal") * Fraction(min(most, sequence) ** 2, 2 * sequence))


@formula("positions", "Llama 4, config.json: attention_chunk_size")
def positions_in_chunks(attention: str, layers: int, sequence: int, chunk: int) -> Fraction:
    """Positions that a token attends to, summed over layers whose attention is limited to chunks."""
    return (
        ATTENTION_SHARES[attention]
        * layers
        * Fraction(sequence // chunk * chunk**2 + (sequence % chunk) ** 2, sequence)
    )


entries_met = quotient("entries_met", "positions", "positions", "joined")
"""Compressed entries for a number of positions."""


@formula("multiply-adds", source="Chowdhery et al. 2022, arXiv 2204.02311, appendix B: 12 L H Q T a token")
def products(positions: Fraction, heads: int, head_dim: int, value_dim: int) -> Fraction:
    """Multiply-adds of a token's attention scores and of their product with the values."""
    return heads * (head_dim + value_dim) * positions


_DEEPSEEK_V32 = "Hugging Face Transformers, modular_deepseek_v32.py: the indexer"
index_products = product(
    "index_products", "multiply-adds", "positions", "index_heads", "index_head_dim", source=_DEEPSEEK_V32
)
"""Multiply-adds of a token's scores in the indexers of sparse attention."""


@formula("multiply-adds")
def state_products(linear_layers: int, value_heads: int, key_head_dim: int, value_head_dim: int) -> int:
    """Multiply-adds per token to update and read the states of layers with linear attention."""
    return 2 * linear_layers * value_heads * key_head_dim * value_head_dim


add_products = sum_of("add_products", "multiply-adds", "products", "more")
"""Multiply-adds of layers of several kinds."""


@formula("FLOPs", source="Chowdhery et al. 2022, arXiv 2204.02311, appendix B: 12 L H Q T a token")
def attention_flops(products: Fraction, pass_per_unit: int, tokens: int, epochs: int) -> int:
    """Forward and backward FLOPs of the attention scores and of their product with the values."""
    return ceil(pass_per_unit * products * tokens * epochs)


recomputed_share = product("recomputed_share", "FLOPs", "attention_part", "share")
"""Attention FLOPs that are recomputed, by recomputation of activations or by the kernel."""
sum_of_shares = sum_of("sum_of_shares", "share", "forward", "kernel")
"""Share of attention FLOPs that recomputation and FlashAttention recompute."""


@formula("share")
def mfu_of_convention(mfu: Fraction, model_flops: int, flops_of_convention: int) -> Fraction:
    """The same speed as a share of the peak, with model FLOPs counted by another convention."""
    return Fraction(mfu) * flops_of_convention / model_flops


def recomputed_attention(training: Training, attention_part: Figure) -> Figure | None:
    """Return the attention FLOPs that a run recomputes; None: none.

    Both modes of recomputation repeat the forward pass of attention; the backward pass of FlashAttention repeats the
    scores.
    """
    again = training.recompute.value != NONE
    if training.flash_attention.value == "yes":
        share = sum_of_shares(FORWARD_SHARE, KERNEL_SHARE) if again else KERNEL_SHARE
    elif again:
        share = FORWARD_SHARE
    else:
        return None
    return recomputed_share(attention_part, share)


def can_count_attention(training: Training) -> bool:
    """Return whether attention FLOPs can be counted for a sequence length that the plan sets."""
    sequence = training.sequence
    if sequence is None or not isinstance(sequence.origin, Given):
        return False
    return products_of_token(training.model, CONVENTIONS["causal"], sequence) is not None


def attention_flops_of_run(training: Training, convention: Figure) -> Figure:
    """Return the attention FLOPs of a run by a convention: causal or full.

    Raises Infeasible when the model's shape or the sequence is unknown.
    """
    sequence = training.sequence
    products = None if sequence is None else products_of_token(training.model, convention, sequence)
    if products is None:
        message = (
            f"attention FLOPs of {training.model.identity.name} need layers, heads, head_dim and `sequence`; "
            "set them, specify a catalogue model, or keep `attention: none`"
        )
        raise Infeasible(message, because=training.attention, rule="unknown-shape")
    return attention_flops(products, PASS_FLOPS, training.tokens, training.epochs)


ZERO = Figure(0, "count", Cited(message("prediction-dense"), (), "high"))
ONE = Figure(1, "count", Cited(message("prediction-dense"), (), "high"))
"""Experts of a dense model, where a term divides by their number or width."""
ADAPTER_TRAFFIC = 2
"""Reads and writes per pass of an adapter's input and output.

Forward it reads its input, and writes its output that is added to that of the matrix, four accesses of the output;
backward it reads two gradients of the output and its input, and its gradient of the input is added to that of the
matrix: six accesses of each over three passes.
"""
ALL = Figure(1, "share", Cited(message("prediction-all-trained"), (), "high"))
NOT_ADAPTED = Figure(0, "count", Cited(message("prediction-all-trained"), (), "high"))


class Adapters(NamedTuple):
    """The adapters that a run trains instead of the weights."""

    rank: Figure
    modules: tuple[str, ...] | None
    """The matrices that get an adapter; None: all of attention and feed-forward."""
    quantised: bool
    """Whether the frozen weights are stored in four bits."""


def work_of_model(model: Model, sequence: Figure) -> Work[Figure] | None:
    """Return the work per token of a sequence; None when the shape is unknown."""
    all_matrices = model_matrices.matrices(model)
    shape = model.shape
    if not all_matrices or not {"vocab", "heads"} <= shape.keys():
        return None
    causal = products_of_token(model, CONVENTIONS["causal"], sequence)
    if causal is None:
        return None
    shared, routed = shared_and_routed(all_matrices)
    attention_layers, hidden = model_matrices.attention_layers(model), shape["hidden"]
    width, kv_heads = model_matrices.width_of_head(model), model_matrices.kv_heads(model) or shape["heads"]
    stored = total_weights(routed, idle=True)
    return Work(
        layers=shape["layers"],
        blocks=add_counts(model_matrices.mixing_layers(model), model_matrices.ffn_layers(model)),
        hidden=hidden,
        sequence=sequence,
        weights=total_weights(shared),
        split_width=add_figures(
            # The side of a matrix that is not the hidden state.
            elements_of_matrix(m.outputs if m.inputs.value == hidden.value else m.inputs, m.active)
            for m in all_matrices
        ),
        products=causal,
        scores=score_elements(attention_layers, shape["heads"], sequence),
        states=state_elements(*_states(model)) if "linear_layers" in shape else ZERO,
        kv_width=key_value_elements(attention_layers, kv_heads, width),
        head=weights_of_head(hidden, shape["vocab"]),
        parameters=parameters_beside_experts(model.parameters, stored),
        expert_weights=total_weights(routed),
        expert_parameters=stored,
        expert_width=shape["ffn_expert"] if routed else ONE,
        expert_input=(shape.get("moe_latent") or hidden) if routed else ZERO,
        expert_layers=model_matrices.layers_with_experts(model) if routed else ZERO,
        experts=shape["experts"] if routed else ONE,
        topk=shape["topk"] if routed else ONE,
        trained=ALL,
        adapted=NOT_ADAPTED,
        stored_weight=states.HALF,
    )


def work_with_adapters(work: Work[Figure], model: Model, adapters: Adapters) -> Work[Figure]:
    """Return the work of a model whose weights are frozen, with its adapters: they count as further weights."""
    adapted = [
        matrix
        for matrix in model_matrices.matrices(model) or ()
        if matrix.name not in states.LEFT_ALONE and (adapters.modules is None or matrix.name in adapters.modules)
    ]
    shared, routed = shared_and_routed(adapted)

    def more(count: Figure, parts: Iterable[Figure]) -> Figure:
        return reduce(add_counts, parts, count)

    def weights(matrix: Matrix, copies: Figure) -> Figure:
        return states.adapter(adapters.rank, matrix.inputs, matrix.outputs, copies)

    parameters = more(work.parameters, (weights(matrix, matrix.count) for matrix in shared))
    expert_parameters = more(work.expert_parameters, (weights(matrix, matrix.count) for matrix in routed))
    return work._replace(
        weights=more(work.weights, (weights(matrix, matrix.active) for matrix in shared)),
        expert_weights=more(work.expert_weights, (weights(matrix, matrix.active) for matrix in routed)),
        split_width=more(
            work.split_width, (elements_of_adapter(matrix.inputs, matrix.outputs, matrix.active) for matrix in adapted)
        ),
        parameters=parameters,
        expert_parameters=expert_parameters,
        trained=trained_share(
            add_figures(weights(matrix, matrix.count) for matrix in adapted), parameters, expert_parameters
        ),
        adapted=add_figures([*(matrix.active for matrix in shared), *(work.expert_layers for _ in routed)]),
        stored_weight=states.quantised_bytes(
            states.NF4_BITS, states.SCALE_BITS, states.BLOCK, states.GROUP_BITS, states.GROUP
        )
        if adapters.quantised
        else states.HALF,
    )


def shared_and_routed(matrices: Iterable[Matrix]) -> tuple[list[Matrix], list[Matrix]]:
    """Return the matrices that every token passes, and those of routed experts."""
    kinds: tuple[list[Matrix], list[Matrix]] = [], []
    for matrix in matrices:
        kinds[matrix.count.value > matrix.active.value].append(matrix)
    return kinds


def total_weights(matrices: Iterable[Matrix], idle: bool = False) -> Figure:
    """Return the weights of matrices that a token passes, or with idle experts all of them."""
    return add_figures(weights_of_matrix(m.inputs, m.outputs, m.count if idle else m.active) for m in matrices)


def add_figures(figures: Iterable[Figure]) -> Figure:
    """Return the sum of counts; 0 of none."""
    counts = list(figures)
    return reduce(add_counts, counts) if counts else ZERO


weights_of_matrix = product("weights_of_matrix", "count", "inputs", "outputs", "copies")
"""Weights of the copies of a matrix."""
elements_of_matrix = product("elements_of_matrix", "count", "width", "copies")
"""Elements per token that the copies of a matrix read or write."""
add_counts = sum_of("add_counts", "count", "count", "more")
"""Sum of two counts."""
score_elements = product("score_elements", "count", "layers", "heads", "sequence")
"""Elements of the score matrices per token."""


state_elements = product("state_elements", "count", "linear_layers", "value_heads", "key_head_dim", "value_head_dim")
"""Elements of the states of all layers with one."""


@formula("count")
def key_value_elements(layers: int, kv_heads: int, head_dim: int) -> int:
    """Elements of keys and values per token."""
    return 2 * layers * kv_heads * head_dim


@formula("count")
def elements_of_adapter(inputs: int, outputs: int, copies: int) -> int:
    """Elements per token that adapters read or write beside their matrices."""
    return ADAPTER_TRAFFIC * (inputs + outputs) * copies


@formula("share")
def trained_share(adapters: int, parameters: int, expert_parameters: int) -> float:
    """Share of the weights that is trained: that of the adapters."""
    return adapters / (parameters + expert_parameters)


weights_of_head = product("weights_of_head", "count", "hidden", "vocab")
"""Weights of the output projection."""
parameters_beside_experts = difference("parameters_beside_experts", "count", "parameters", "expert_parameters")
"""Weights without those of routed experts."""

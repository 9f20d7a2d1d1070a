"""The work of a model for a token of a sequence, from the shape in the catalogue."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

from bomgen.catalog.model_parameters import matrices
from bomgen.catalog.model_parameters.matrices import Matrix
from bomgen.catalog.parts import Model
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, difference, formula, product, sum_of
from bomgen.sizing.attention import CONVENTIONS, products_of_token
from bomgen.sizing.prediction.terms import Work
from bomgen.sizing.training import states

NONE = Figure(0, "count", Cited(message("prediction-dense"), (), "high"))
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
    """Return the work per token of a sequence; None when the shape is unknown, or the model has layers with a state."""
    all_matrices = matrices.matrices(model)
    shape = model.shape
    if not all_matrices or not {"vocab", "heads"} <= shape.keys() or "linear_layers" in shape:
        return None
    causal = products_of_token(model, CONVENTIONS["causal"], sequence)
    if causal is None:
        return None
    routed = [matrix for matrix in all_matrices if matrix.count.value > matrix.active.value]
    shared = [matrix for matrix in all_matrices if matrix.count.value == matrix.active.value]
    attention_layers, hidden = matrices.attention_layers(model), shape["hidden"]
    width, kv_heads = matrices.width_of_head(model), matrices.kv_heads(model) or shape["heads"]
    stored = (
        _sum(weights_of_matrix(matrix.inputs, matrix.outputs, matrix.count) for matrix in routed) if routed else NONE
    )
    return Work(
        layers=shape["layers"],
        hidden=hidden,
        sequence=sequence,
        weights=_sum(weights_of_matrix(matrix.inputs, matrix.outputs, matrix.active) for matrix in shared),
        split_width=_sum(_width_between(matrix, hidden) for matrix in all_matrices),
        products=causal,
        scores=score_elements(attention_layers, shape["heads"], sequence),
        kv_width=key_value_elements(attention_layers, kv_heads, width),
        head=weights_of_head(hidden, shape["vocab"]),
        parameters=parameters_beside_experts(model.parameters, stored),
        expert_weights=_sum(weights_of_matrix(e.inputs, e.outputs, e.active) for e in routed) if routed else NONE,
        expert_parameters=stored,
        expert_width=shape["ffn_expert"] if routed else ONE,
        expert_layers=matrices.layers_with_experts(model) if routed else NONE,
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
        for matrix in matrices.matrices(model) or ()
        if matrix.name not in states.LEFT_ALONE and (adapters.modules is None or matrix.name in adapters.modules)
    ]
    routed = [matrix for matrix in adapted if matrix.count.value > matrix.active.value]
    shared = [matrix for matrix in adapted if matrix.count.value == matrix.active.value]

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
            _sum([weights(matrix, matrix.count) for matrix in adapted] or [NONE]), parameters, expert_parameters
        ),
        adapted=_sum([*(matrix.active for matrix in shared), *(work.expert_layers for _ in routed)] or [NONE]),
        stored_weight=states.quantised_bytes(
            states.NF4_BITS, states.SCALE_BITS, states.BLOCK, states.GROUP_BITS, states.GROUP
        )
        if adapters.quantised
        else states.HALF,
    )


def _sum(figures: Iterable[Figure]) -> Figure:
    return reduce(add_counts, figures)


def _width_between(matrix: Matrix, hidden: Figure) -> Figure:
    """Return the elements per token on the side of a matrix that is not the hidden state."""
    inner = matrix.outputs if matrix.inputs.value == hidden.value else matrix.inputs
    return elements_of_matrix(inner, matrix.active)


weights_of_matrix = product("weights_of_matrix", "count", "inputs", "outputs", "copies")
"""Weights of the copies of a matrix."""
elements_of_matrix = product("elements_of_matrix", "count", "width", "copies")
"""Elements per token that the copies of a matrix read or write."""
add_counts = sum_of("add_counts", "count", "count", "more")
"""Sum of two counts."""
score_elements = product("score_elements", "count", "layers", "heads", "sequence")
"""Elements of the score matrices per token."""


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

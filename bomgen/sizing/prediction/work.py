"""The work of a model for a token of a sequence, from the shape in the catalogue."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from bomgen.catalog.model_parameters import matrices
from bomgen.catalog.model_parameters.matrices import Matrix
from bomgen.catalog.parts import Model
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, difference, formula, product, sum_of
from bomgen.sizing.attention import CONVENTIONS, products_of_token
from bomgen.sizing.prediction.terms import Work

NONE = Figure(0, "count", Cited(message("prediction-dense"), (), "high"))
ONE = Figure(1, "count", Cited(message("prediction-dense"), (), "high"))
"""Experts of a dense model, where a term divides by their number or width."""


def work_of_model(model: Model, sequence: Figure) -> Work[Figure] | None:
    """Return the work per token of a sequence; None when the shape is unknown, or the model has layers with a state."""
    found = matrices.matrices(model)
    shape = model.shape
    if not found or not {"vocab", "heads"} <= shape.keys() or "linear_layers" in shape:
        return None
    causal = products_of_token(model, CONVENTIONS["causal"], sequence)
    if causal is None:
        return None
    routed = [matrix for matrix in found if matrix.count.value > matrix.active.value]
    others = [matrix for matrix in found if matrix.count.value == matrix.active.value]
    attention_layers, hidden = matrices.attention_layers(model), shape["hidden"]
    width, kv_heads = matrices.width_of_head(model), matrices.kv_heads(model) or shape["heads"]
    stored = (
        _sum(weights_of_matrix(matrix.inputs, matrix.outputs, matrix.count) for matrix in routed) if routed else NONE
    )
    return Work(
        layers=shape["layers"],
        hidden=hidden,
        sequence=sequence,
        weights=_sum(weights_of_matrix(matrix.inputs, matrix.outputs, matrix.active) for matrix in others),
        split_width=_sum(_width_between(matrix, hidden) for matrix in found),
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


weights_of_head = product("weights_of_head", "count", "hidden", "vocab")
"""Weights of the output projection."""
parameters_beside_experts = difference("parameters_beside_experts", "count", "parameters", "expert_parameters")
"""Weights without those of routed experts."""

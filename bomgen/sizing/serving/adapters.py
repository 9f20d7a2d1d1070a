"""Adapters (LoRA) of a served model: their memory on a GPU, and what a step reads of them.

The engine keeps a number of adapters in GPU memory beside the weights, each with two narrow matrices for every matrix
that each token passes; routed experts have none. Requests of any of them share the steps of a replica: a step
multiplies by the weights once for all, and by the adapters of its requests.

With tensor parallelism an adapter follows its matrix, as in vLLM: of a matrix whose outputs are split, each GPU holds
the whole part for the inputs and a share of that for the outputs; of one whose inputs are split, the other way round.
"""

from __future__ import annotations

from functools import reduce

from bomgen.catalog import model_matrices
from bomgen.catalog.model_matrices import Matrix
from bomgen.catalog.parts import Model
from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, formula, product, quotient, sum_of
from bomgen.plan.types import ServedAdapters
from bomgen.sizing.serving.kv_cache import VALUE_BYTES
from bomgen.sizing.training.states import LEFT_ALONE, adapter

ROWS_SPLIT = ("o_proj", "out_proj", "down_proj")
"""Matrices whose inputs tensor parallelism splits."""
ADAPTER_FORMAT = "bf16"
_VLLM_LORA = "vLLM, lora/layers: column- and row-parallel layers with LoRA; adapters in the 16 bits of the model"


def adapted_matrices(model: Model, adapters: ServedAdapters) -> list[Matrix]:
    """Return the matrices that get an adapter. Raises Infeasible where the shape of the model is unknown."""
    adapted = [
        matrix
        for matrix in model_matrices.matrices(model) or ()
        if matrix.count.value == matrix.active.value and matrix.name not in LEFT_ALONE
    ]
    if not adapted:
        message = f"the adapters of {model.identity.name} need its shape; name a model of the catalogue"
        raise Infeasible(message, because=adapters.rank, rule="unknown-shape")
    return adapted


def adapter_parameters(model: Model, adapters: ServedAdapters) -> Figure:
    """Return the parameters of one adapter, which a token passes besides the weights."""
    adapted = adapted_matrices(model, adapters)
    return reduce(add_parameters, (adapter(adapters.rank, m.inputs, m.outputs, m.count) for m in adapted))


def adapter_bytes_of_gpu(model: Model, adapters: ServedAdapters, tensor: Figure) -> Figure:
    """Return the size of one adapter on a GPU of a tensor group, in all layers [bytes]."""
    parts = [
        parameters_of_gpu(adapters.rank, *_whole_and_split(matrix), matrix.count, tensor)
        for matrix in adapted_matrices(model, adapters)
    ]
    return bytes_of_adapter(reduce(add_parameters, parts), VALUE_BYTES[ADAPTER_FORMAT])


def adapters_of_gpu(model: Model, adapters: ServedAdapters, tensor: Figure, stages: Figure) -> Figure:
    """Return the size of all adapters on a GPU of a pipeline stage [bytes]."""
    return adapters_of_stage(bytes_of_adapters(adapter_bytes_of_gpu(model, adapters, tensor), adapters.held), stages)


def _whole_and_split(matrix: Matrix) -> tuple[Figure, Figure]:
    """Return the side of a matrix whose part of the adapter each GPU holds whole, and the side that is split."""
    if matrix.name in ROWS_SPLIT:
        return matrix.outputs, matrix.inputs
    return matrix.inputs, matrix.outputs


@formula("parameters", _VLLM_LORA)
def parameters_of_gpu(rank: int, held_whole: int, held_split: int, copies: int, tensor: int) -> float:
    """Parameters that a GPU holds of the adapters of one kind of matrix."""
    return rank * (held_whole + held_split / tensor) * copies


add_parameters = sum_of("add_parameters", "parameters", "parameters", "more_parameters")
"""Parameters of adapters of several kinds of matrix."""
bytes_of_adapter = product("bytes_of_adapter", "bytes", "adapter_parameters", "value_bytes")
"""Size of an adapter on a GPU."""
bytes_of_adapters = product("bytes_of_adapters", "bytes", "bytes_of_adapter", "held_adapters")
"""Size of all adapters on a GPU, in all layers."""
adapters_of_stage = quotient("adapters_of_stage", "bytes", "bytes_of_adapters", "stages")
"""Size of all adapters on a GPU of a pipeline stage."""
weights_and_adapters = sum_of("weights_and_adapters", "bytes", "weights", "adapters_size")
"""Weights of the model and its adapters on a GPU."""

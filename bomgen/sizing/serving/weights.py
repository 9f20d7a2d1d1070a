"""Weights of a served model: of the whole model, and of a GPU by tensor and expert parallelism.

The size of the published files is used where it is known. Otherwise each part of the model has a number format:
embedding and output head stay in 16 bits, routed experts have the served format with its scales. Attention, layers with
a state, dense layers, shared experts and the output head have the formats of the published checkpoint where its record
gives them (`checkpoint_formats`), and its group of values that share a scale. Otherwise they have the served format
too, except in 4-bit mixtures of experts, whose published checkpoints (gpt-oss, Kimi K2, NVIDIA's NVFP4 models) keep
them in 16 bits, or in 8 where the model was published in FP8 (DeepSeek). AWQ and GPTQ quantise them as well. Where the
size of the files is known, the parts are scaled to it.

A vision tower is in 16 bits beside these parts, and in the published files.

Modules for multi-token prediction are part of the published files of many models, and are loaded only for speculative
decoding. Without them the size of the files is reduced by the modules: a layer each, in DeepSeek-V3 with copies of
embedding and head.

With tensor parallelism every GPU holds a part of each matrix; whole KV heads, so that GPUs beyond their number repeat
keys and values; and all of the matrices that are not split: those to the latent vectors of MLA, indexers and routers.
With attention by requests every GPU holds all weights but the routed experts. Experts that are spread over GPUs are
whole: a GPU has ceil(experts / GPUs) slots, and slots beyond the experts hold copies of the busiest.

Measured differences are in `data/measured/serving-memory.csv`, and `tests/reference/test_serving_memory.py` holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import NamedTuple

from bomgen.catalog.model_parameters import counts, matrices
from bomgen.catalog.model_parameters.matrices import Matrix
from bomgen.catalog.parts import (
    ATTENTION,
    DENSE,
    EIGHT_BITS,
    HEAD,
    LINEAR,
    MODULE,
    OUTPUT,
    SHARED,
    SIXTEEN_BITS,
    CheckpointFormat,
    Model,
)
from bomgen.core.provenance import Figure, formula, product, quotient, sum_of
from bomgen.plan.types import DATA, Inference
from bomgen.sizing.serving.kv_cache import BYTES
from bomgen.sizing.training.states import expert_parameters

_SGLANG = "SGLang documentation, data parallelism attention: requests are dealt out, experts are spread"
_VLLM_LAYERS = "vLLM, model_executor/layers/linear.py: QKVParallelLinear and ReplicatedLinear"
_VLLM_EXPERTS = "vLLM documentation, expert parallel deployment: redundant experts fill equal slots"
_VLLM_VISION = "vLLM, mm_encoder_tp_mode: weights; quantised checkpoints exclude the vision tower"
_NVFP4 = "NVIDIA Model Optimizer and OpenAI gpt-oss model cards: modules excluded from 4-bit quantisation"
_AWQ = "AutoAWQ, AutoGPTQ and compressed-tensors documentation: a scale, and a zero point if asymmetric, of each group"
_DEEPSEEK_V3 = "DeepSeek-V3 Technical Report, arXiv 2412.19437, section 2.2: one module for multi-token prediction"

INTEGER = "int4"
EXPERTS_ONLY = ("fp4", "nvfp4", "mxfp4", INTEGER)
"""Formats in which mixtures of experts are published with routed experts alone quantised."""
GENERAL_FORMAT = {"nvfp4": "fp4", "mxfp4": "fp4", "awq": "int4", "gptq": "int4", "w8a8": "int8"}
"""The key of `weight_files` under which files of a format may also be listed."""
UNSPLIT = ("q_a_proj", "kv_a_proj_with_mqa", "kv_proj", "router")
"""Matrices that every tensor-parallel GPU holds whole, besides those of indexers."""
INDEXER = "indexer."
OUTPUTS = ("o_proj", "out_proj")
AS_ITS_FORMAT = CheckpointFormat({})
KEY_VALUES = ("k_proj", "v_proj")


class KeyValues(NamedTuple):
    """The projections to keys and values in layers with the same number of KV heads."""

    parameters: Figure
    heads: Figure


class Parts(NamedTuple):
    """The parameters of a model by how GPUs split them."""

    embeddings: Figure
    """Embedding and output head."""
    routed: Figure
    """Routed experts."""
    key_values: tuple[KeyValues, ...]
    unsplit: Figure
    """Matrices that tensor-parallel GPUs repeat."""
    rest: Figure
    """All others, which tensor parallelism splits evenly."""


class Formats(NamedTuple):
    """Bytes of a value in the parts of a model."""

    embeddings: Figure
    routed: Figure
    rest: Figure


def weights_of_model(inference: Inference) -> Figure:
    """Return the weights of a served model [bytes]: of its published files, else its parameters as served."""
    parts = _parts(inference.model)
    return _of_files(inference, parts) or _by_rule(inference, parts)


def weights_of_gpu(inference: Inference, tensor: Figure, stages: Figure) -> Figure:
    """Return the weights on a GPU of the fullest stage [bytes]; `stages` are counted as full as that one."""
    parts, formats = _parts(inference.model), formats_of_parts(inference)
    if by_requests(inference):
        repeated = _sum((parts.rest, parts.unsplit, *(projection.parameters for projection in parts.key_values)))
        held = bytes_repeated(parts.embeddings, formats.embeddings, repeated, formats.rest)
    else:
        rest = parts.rest, parts.unsplit, formats.rest
        held = bytes_split(parts.embeddings, formats.embeddings, *rest, tensor)
        for projection in parts.key_values:
            held = add_key_values(held, projection.parameters, formats.rest, projection.heads, tensor)
    if parts.routed.value:
        held = _add_routed(inference, parts.routed, formats.routed, held, tensor)
    if vision := inference.model.vision_parameters:
        value = BYTES[SIXTEEN_BITS]
        held = (
            add_vision(held, vision, value) if by_requests(inference) else add_split_vision(held, vision, value, tensor)
        )
    files = _of_files(inference, parts)
    if files is None:
        return weights_of_stage(held, stages)
    return weights_of_stage_by_files(held, files, _by_rule(inference, parts), stages)


def _add_routed(inference: Inference, routed: Figure, value: Figure, held: Figure, tensor: Figure) -> Figure:
    """Return the bytes of a GPU, including its routed experts."""
    spread, experts = expert_gpus(inference, tensor), inference.model.shape.get("experts")
    if spread is None or experts is None:
        return add_split_experts(held, routed, value, tensor)
    return add_spread_experts(held, routed, value, experts, spread, tensor)


def by_requests(inference: Inference) -> bool:
    """Return whether each GPU of a replica attends to separate requests."""
    return inference.degrees is not None and inference.degrees.attention == DATA


def expert_gpus(inference: Inference, tensor: Figure) -> Figure | None:
    """Return the GPUs over which whole routed experts are spread; None: every expert is split over all GPUs."""
    if inference.degrees is None:
        return None
    return inference.degrees.expert or (tensor if by_requests(inference) else None)


def formats_of_parts(inference: Inference) -> Formats:
    """Return the bytes of a value in each part: embeddings have at least 16 bits."""
    model, precision = inference.model, str(inference.precision.value)
    served, least = bytes_of_value(model, precision, precision), BYTES[SIXTEEN_BITS]
    embeddings = max(served, least, key=lambda size: Fraction(size.value))
    head = _checkpoint(model, precision).parts.get(HEAD)
    if head and not model.tied:
        embeddings = mean_with_head(embeddings, bytes_of_value(model, precision, head))
    return Formats(embeddings, served, bytes_of_rest(model, precision))


def bytes_of_value(model: Model, precision: str, part: str) -> Figure:
    """Return the bytes of a value with its share of a scale, in a part whose format is `part`."""
    stored = _checkpoint(model, precision)
    if stored.group is None or part != precision:
        return BYTES[part]
    return four_bits_of_group(stored.scale_bytes or BYTES[SIXTEEN_BITS], stored.group)


def bytes_of_rest(model: Model, precision: str) -> Figure:
    """Return the bytes of a value in the weights besides embeddings and routed experts; a mean where formats differ."""
    usual, given = format_of_rest(model, precision), _checkpoint(model, precision).parts
    if not given or matrices.matrices(model) is None:
        return bytes_of_value(model, precision, usual)
    attention = (*matrices.attention(model), *matrices.further_token_attention(model))
    parts = {
        OUTPUT: [matrix for matrix in attention if matrix.name in OUTPUTS],
        ATTENTION: [matrix for matrix in attention if matrix.name not in OUTPUTS],
        LINEAR: tuple(matrices.linear_attention(model)),
        SHARED: [*matrices.beside_experts(model), *matrices.shared_experts(model)],
        DENSE: matrices.feed_forward(model),
    }
    formats = {**dict.fromkeys((OUTPUT, LINEAR), given.get(ATTENTION, usual)), **given}
    held = {part: _parameters_of(members, lambda _: True) for part, members in parts.items()}
    sizes = (
        bytes_of_parameters(parameters, bytes_of_value(model, precision, str(formats.get(part, usual))))
        for part, parameters in held.items()
    )
    return mean_value(reduce(add_sizes, sizes), _sum(held.values()))


def _checkpoint(model: Model, precision: str) -> CheckpointFormat:
    """Return what is particular to the published checkpoint of a format, or the parts of that of one as wide.

    GPTQ, AWQ and other integers are made by different tools, which keep different parts.
    """
    if stored := model.checkpoint_formats.get(precision):
        return stored
    general = GENERAL_FORMAT.get(precision, precision)
    if general == INTEGER:
        return AS_ITS_FORMAT
    alike = (stored for name, stored in model.checkpoint_formats.items() if GENERAL_FORMAT.get(name, name) == general)
    return CheckpointFormat(next(alike, AS_ITS_FORMAT).parts)


def format_of_rest(model: Model, precision: str) -> str:
    """Return the number format of the weights of a model besides embeddings and routed experts."""
    if not model.moe or precision not in EXPERTS_ONLY:
        return precision
    return EIGHT_BITS if EIGHT_BITS in model.weight_files or model.eight_bits_rest else SIXTEEN_BITS


def _of_files(inference: Inference, parts: Parts) -> Figure | None:
    """Return the bytes of the published files in the served format that are loaded; None when they are unknown."""
    model, precision = inference.model, str(inference.precision.value)
    files = model.weight_files.get(precision) or model.weight_files.get(GENERAL_FORMAT.get(precision, ""))
    layers = model.shape.get("mtp_layers")
    if files is None or layers is None or inference.drafted is not None:
        return files
    formats, stored = formats_of_parts(inference), _checkpoint(model, precision).parts.get(MODULE)
    value = bytes_of_value(model, precision, stored) if stored else formats.routed
    of_layer = matrices.layers_with_experts(model), model.parameters, value
    copies = parts.embeddings if model.copied_embeddings else counts.ZERO_PARAMETERS
    return files_without_module(files, layers, *of_layer, copies, formats.embeddings)


def _by_rule(inference: Inference, parts: Parts) -> Figure:
    """Return the weights of a model by the formats of its parts [bytes]."""
    formats = formats_of_parts(inference)
    weights = weights_by_format(inference.model.parameters, parts.embeddings, parts.routed, *formats)
    vision = inference.model.vision_parameters
    return weights if vision is None else add_vision(weights, vision, BYTES[SIXTEEN_BITS])


def _parts(model: Model) -> Parts:
    """Return the parameters of a model by part; those of unknown matrices are part of the rest."""
    embeddings = routed = counts.ZERO_PARAMETERS
    if {"vocab", "hidden"} <= model.shape.keys():
        count = counts.tied_embedding if model.tied else counts.embeddings
        embeddings = count(model.shape["vocab"], model.shape["hidden"])
    if experts := expert_parameters(model):
        routed = experts
    key_values = tuple(_key_values(model))
    unsplit = _parameters_of(matrices.matrices(model) or (), is_unsplit)
    taken = _sum((embeddings, routed, unsplit, *(projection.parameters for projection in key_values)))
    return Parts(embeddings, routed, key_values, unsplit, other_parameters(model.parameters, taken))


def is_unsplit(matrix: Matrix) -> bool:
    """Return whether every tensor-parallel GPU holds a matrix whole."""
    return matrix.name in UNSPLIT or matrix.name.startswith(INDEXER)


def _key_values(model: Model) -> Iterator[KeyValues]:
    """Yield the projections to keys and values, for each kind of layers with other KV heads."""
    if matrices.matrices(model) is None:
        return
    for attention, heads in (
        (matrices.attention(model), matrices.kv_heads(model)),
        (matrices.further_attention(model), matrices.global_kv_heads(model)),
    ):
        parameters = _parameters_of(attention, lambda matrix: matrix.name in KEY_VALUES)
        if heads is not None and parameters.value:
            yield KeyValues(parameters, heads)


def _parameters_of(candidates: Iterable[Matrix], belongs: Callable[[Matrix], bool]) -> Figure:
    parameters = counts.ZERO_PARAMETERS
    for matrix in filter(belongs, candidates):
        parameters = counts.add_matrix(parameters, matrix.inputs, matrix.outputs, matrix.count)
    return parameters


def _sum(parts: Iterable[Figure]) -> Figure:
    return reduce(add_parts, parts)


# formulas ------------------------------------------------------------------------------------------------------------


add_parts = sum_of("add_parts", "parameters", "parameters", "more")
"""Parameters of several parts of a model."""


@formula("bytes", _VLLM_VISION)
def add_vision(weights: Fraction, vision_parameters: int, value_bytes: int) -> Fraction:
    """Weights, plus those of the vision tower."""
    return weights + vision_parameters * value_bytes


@formula("bytes", _VLLM_VISION)
def add_split_vision(held: Fraction, vision_parameters: int, value_bytes: int, tensor: int) -> Fraction:
    """Weights of all stages on a GPU, plus its part of the vision tower, which the GPUs of a tensor group split."""
    return held + Fraction(vision_parameters * value_bytes, tensor)


@formula("bytes", _AWQ)
def four_bits_of_group(scale_bytes: Fraction, scale_group: int) -> Fraction:
    """Size of a value in 4 bits, with its share of the scale of a group."""
    return Fraction(1, 2) + Fraction(scale_bytes) / scale_group


@formula("bytes")
def mean_with_head(value_bytes: Fraction, head_value: Fraction) -> Fraction:
    """Mean size of a value of embedding and output head."""
    return (Fraction(value_bytes) + head_value) / 2


bytes_of_parameters = product("bytes_of_parameters", "bytes", "parameters", "value_bytes")
"""Size of weights in one format."""
add_sizes = sum_of("add_sizes", "bytes", "weights", "more")
"""Size of weights in several formats."""
mean_value = quotient("mean_value", "bytes", "weights", "parameters")
"""Mean size of a value of weights in several formats."""


@formula("parameters")
def other_parameters(parameters: int, taken: Fraction) -> Fraction:
    """Parameters of a model other than those of its other parts."""
    return max(Fraction(0), parameters - Fraction(taken))


@formula("bytes", _NVFP4)
def weights_by_format(
    parameters: int,
    embeddings: int,
    routed: Fraction,
    embedding_bytes: Fraction,
    expert_bytes: Fraction,
    other_bytes: Fraction,
) -> Fraction:
    """Weights of a model by the bytes of a value in each of its parts, including those of idle experts."""
    return (
        embeddings * Fraction(embedding_bytes)
        + routed * Fraction(expert_bytes)
        + max(Fraction(0), parameters - embeddings - routed) * other_bytes
    )


@formula("bytes", _DEEPSEEK_V3)
def files_without_module(
    files: int,
    mtp_layers: int,
    expert_layers: int,
    parameters: int,
    value_bytes: Fraction,
    embeddings: int,
    embedding_bytes: Fraction,
) -> Fraction:
    """Weights of the published files without multi-token prediction: layers, and copies of embeddings and heads."""
    return files - mtp_layers * (Fraction(parameters, expert_layers) * value_bytes + embeddings * embedding_bytes)


@formula("bytes", _VLLM_LAYERS)
def bytes_split(
    embeddings: int, embedding_bytes: Fraction, rest: Fraction, unsplit: int, value_bytes: Fraction, tensor: int
) -> Fraction:
    """Weights of all stages on a tensor-parallel GPU, without keys, values and routed experts."""
    return (embeddings * Fraction(embedding_bytes) + rest * Fraction(value_bytes)) / tensor + unsplit * value_bytes


@formula("bytes", _VLLM_LAYERS)
def add_key_values(held: Fraction, key_values: int, value_bytes: Fraction, kv_heads: int, tensor: int) -> Fraction:
    """Weights of all stages on a GPU, plus projections to whole KV heads, repeated over more GPUs than heads."""
    return held + Fraction(key_values) * value_bytes * ceil(Fraction(kv_heads, tensor)) / kv_heads


@formula("bytes", _SGLANG)
def bytes_repeated(embeddings: int, embedding_bytes: Fraction, repeated: Fraction, value_bytes: Fraction) -> Fraction:
    """Weights of all stages that each GPU with its own requests holds whole: all but the routed experts."""
    return embeddings * Fraction(embedding_bytes) + repeated * value_bytes


@formula("bytes", _VLLM_LAYERS)
def add_split_experts(held: Fraction, routed: Fraction, value_bytes: Fraction, tensor: int) -> Fraction:
    """Weights of all stages on a GPU, plus its part of every routed expert."""
    return held + Fraction(routed) * value_bytes / tensor


@formula("bytes", _VLLM_EXPERTS)
def add_spread_experts(
    held: Fraction, routed: Fraction, value_bytes: Fraction, experts: int, expert_gpus: int, tensor: int
) -> Fraction:
    """Weights of all stages on a GPU, plus its slots for routed experts, each split over `tensor / expert_gpus`."""
    return held + Fraction(routed) * value_bytes * ceil(Fraction(experts, expert_gpus)) / experts * expert_gpus / tensor


weights_of_stage = quotient("weights_of_stage", "bytes", "weights", "stages")
"""Weights on a GPU of the fullest stage."""


@formula("bytes")
def weights_of_stage_by_files(weights: Fraction, files: Fraction, by_format: Fraction, stages: Fraction) -> Fraction:
    """Weights on a GPU of the fullest stage, in proportion to the size of the published files."""
    return Fraction(weights) * files / by_format / stages

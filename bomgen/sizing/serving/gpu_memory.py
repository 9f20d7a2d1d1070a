"""Memory of a GPU of a served model: its weights, and what the serving program leaves for them and the KV cache.

The size of the published files is used where it is known, without modules for multi-token prediction unless tokens are
drafted. Otherwise each part of the model has a number format, that of the published checkpoint where its record gives
it (`checkpoint_formats`). With tensor parallelism every GPU holds a part of each matrix, whole KV heads, and all of the
matrices that are not split; with attention by requests, all weights but the routed experts.

CUDA sees more bytes than the GB of a data sheet, which are mostly GiB, and less than those GiB. What the programs
reserve was set on the start-up logs of `data/measured/serving-memory.csv`. `docs/serving.md` describes both, and says
how far they are off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import NamedTuple

from bomgen.catalog import model_matrices, models
from bomgen.catalog.model_matrices import Matrix
from bomgen.catalog.models import GATED_MATRICES
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
    Gpu,
    Model,
)
from bomgen.core.diagnostics import Infeasible
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Figure, Reference, assume, formula, maximum, product, quotient, sum_of
from bomgen.core.units import GIBI
from bomgen.plan.types import DATA, Inference, ServedAdapters
from bomgen.sizing.serving.kv_cache import VALUE_BYTES, cache
from bomgen.sizing.training.states import LEFT_ALONE, adapter, expert_parameters

_VLLM_LAYERS = "vLLM, model_executor/layers/linear.py: QKVParallelLinear and ReplicatedLinear"
_VLLM_EXPERTS = "vLLM documentation, expert parallel deployment: redundant experts fill equal slots"
_VLLM_VISION = "vLLM, mm_encoder_tp_mode: weights; quantised checkpoints exclude the vision tower"
_NVFP4 = "NVIDIA Model Optimizer and OpenAI gpt-oss model cards: modules excluded from 4-bit quantisation"
_AWQ = "AutoAWQ, AutoGPTQ and compressed-tensors documentation: a scale, and a zero point if asymmetric, of each group"
_DEEPSEEK_V3 = "DeepSeek-V3 Technical Report, arXiv 2412.19437, section 2.2: one module for multi-token prediction"

VLLM_PARALLELISM = Reference(
    "vLLM documentation, parallelism and scaling: tensor parallelism within a server, pipeline stages across servers",
    "https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html",
)
WHOLE = Figure(
    1, "count", Assumed(message("degree"), message("whole-requests"), (VLLM_PARALLELISM,), "high", chosen=True)
)
"""Tensor parallelism of a request that one GPU holds."""
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
    rest, width = (parts.rest, parts.unsplit, formats.rest), WHOLE if by_requests(inference) else tensor
    held = bytes_split(parts.embeddings, formats.embeddings, *rest, width)
    for projection in parts.key_values:
        held = add_key_values(held, projection.parameters, formats.rest, projection.heads, width)
    if parts.routed.value:
        spread, experts = expert_gpus(inference, tensor), inference.model.shape.get("experts")
        if spread is None or experts is None:
            held = add_split_experts(held, parts.routed, formats.routed, tensor)
        else:
            held = add_spread_experts(held, parts.routed, formats.routed, experts, spread, tensor)
    if vision := inference.model.vision_parameters:
        held = add_split_vision(held, vision, VALUE_BYTES[SIXTEEN_BITS], width)
    files = _of_files(inference, parts)
    if files is None:
        weights = weights_of_stage(held, stages)
    else:
        weights = weights_of_stage_by_files(held, files, _by_rule(inference, parts), stages)
    size = adapter_memory(inference, tensor, stages)
    return weights if size is None else weights_and_adapters(weights, size)


def adapter_memory(inference: Inference, tensor: Figure, stages: Figure) -> Figure | None:
    """Return the adapters on a GPU of a replica [bytes]; None: there are none."""
    if inference.adapters is None:
        return None
    of_gpu = adapter_bytes_of_gpu(inference.model, inference.adapters, WHOLE if by_requests(inference) else tensor)
    return adapters_of_stage(bytes_of_adapters(of_gpu, inference.adapters.held), stages)


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
    served, least = bytes_of_value(model, precision, precision), VALUE_BYTES[SIXTEEN_BITS]
    embeddings = max(served, least, key=lambda size: Fraction(size.value))
    head = _checkpoint(model, precision).parts.get(HEAD)
    if head and not model.tied:
        embeddings = mean_with_head(embeddings, bytes_of_value(model, precision, head))
    return Formats(embeddings, served, bytes_of_rest(model, precision))


def bytes_of_value(model: Model, precision: str, part: str) -> Figure:
    """Return the bytes of a value with its share of a scale, in a part whose format is `part`."""
    stored = _checkpoint(model, precision)
    if stored.group is None or part != precision:
        return VALUE_BYTES[part]
    return four_bits_of_group(stored.scale_bytes or VALUE_BYTES[SIXTEEN_BITS], stored.group)


def bytes_of_rest(model: Model, precision: str) -> Figure:
    """Return the bytes of a value in the weights besides embeddings and routed experts; a mean where formats differ."""
    usual, by_part = format_of_rest(model, precision), _checkpoint(model, precision).parts
    if not by_part or model_matrices.matrices(model) is None:
        return bytes_of_value(model, precision, usual)
    attention = (*model_matrices.attention(model), *model_matrices.further_token_attention(model))
    parts = {
        OUTPUT: [matrix for matrix in attention if matrix.name in OUTPUTS],
        ATTENTION: [matrix for matrix in attention if matrix.name not in OUTPUTS],
        LINEAR: tuple(model_matrices.linear_attention(model)),
        SHARED: [*model_matrices.beside_experts(model), *model_matrices.shared_experts(model)],
        DENSE: model_matrices.feed_forward(model),
    }
    formats = {**dict.fromkeys((OUTPUT, LINEAR), by_part.get(ATTENTION, usual)), **by_part}
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
    of_layer = model_matrices.layers_with_experts(model), model.parameters, value
    copies = parts.embeddings if model.copied_embeddings else models.ZERO_PARAMETERS
    return files_without_module(files, layers, *of_layer, copies, formats.embeddings)


def _by_rule(inference: Inference, parts: Parts) -> Figure:
    """Return the weights of a model by the formats of its parts [bytes]."""
    formats = formats_of_parts(inference)
    weights = weights_by_format(inference.model.parameters, parts.embeddings, parts.routed, *formats)
    vision = inference.model.vision_parameters
    return weights if vision is None else add_vision(weights, vision, VALUE_BYTES[SIXTEEN_BITS])


def _parts(model: Model) -> Parts:
    """Return the parameters of a model by part; those of unknown matrices are part of the rest."""
    embeddings = routed = models.ZERO_PARAMETERS
    if {"vocab", "hidden"} <= model.shape.keys():
        count = models.tied_embedding if model.tied else models.embeddings
        embeddings = count(model.shape["vocab"], model.shape["hidden"])
    if experts := expert_parameters(model):
        routed = experts
    key_values = tuple(_key_values(model))
    unsplit = _parameters_of(model_matrices.matrices(model) or (), is_unsplit)
    taken = _sum((embeddings, routed, unsplit, *(projection.parameters for projection in key_values)))
    return Parts(embeddings, routed, key_values, unsplit, other_parameters(model.parameters, taken))


def is_unsplit(matrix: Matrix) -> bool:
    """Return whether every tensor-parallel GPU holds a matrix whole."""
    return matrix.name in UNSPLIT or matrix.name.startswith(INDEXER)


def _key_values(model: Model) -> Iterator[KeyValues]:
    """Yield the projections to keys and values, for each kind of layers with other KV heads."""
    if model_matrices.matrices(model) is None:
        return
    for attention, heads in (
        (model_matrices.attention(model), model_matrices.kv_heads(model)),
        (model_matrices.further_attention(model), model_matrices.global_kv_heads(model)),
    ):
        parameters = _parameters_of(attention, lambda matrix: matrix.name in KEY_VALUES)
        if heads is not None and parameters.value:
            yield KeyValues(parameters, heads)


def _parameters_of(candidates: Iterable[Matrix], belongs: Callable[[Matrix], bool]) -> Figure:
    parameters = models.ZERO_PARAMETERS
    for matrix in filter(belongs, candidates):
        parameters = models.add_matrix(parameters, matrix.inputs, matrix.outputs, matrix.count)
    return parameters


def _sum(parts: Iterable[Figure]) -> Figure:
    return reduce(add_parts, parts)


# formulas of weights --------------------------------------------------------------------------------------------------


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


# adapters -------------------------------------------------------------------------------------------------------------
# Adapters (LoRA) of a served model: their memory on a GPU, and what a step reads of them.
#
# The engine keeps a number of adapters in GPU memory beside the weights, each with two narrow matrices for every matrix
# that each token passes; routed experts have none. Requests of any of them share the steps of a replica: a step
# multiplies by the weights once for all, and by the adapters of its requests.
#
# With tensor parallelism an adapter follows its matrix, as in vLLM: of a matrix whose outputs are split, each GPU holds
# the whole part for the inputs and a share of that for the outputs; of one whose inputs are split, the other way round.

ROWS_SPLIT = ("o_proj", "out_proj", "down_proj")
"""Matrices whose inputs tensor parallelism splits."""
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
    return _sum(adapter(adapters.rank, m.inputs, m.outputs, m.count) for m in adapted)


def adapter_bytes_of_gpu(model: Model, adapters: ServedAdapters, tensor: Figure) -> Figure:
    """Return the size of one adapter on a GPU of a tensor group, in all layers [bytes]."""
    parts = []
    for matrix in adapted_matrices(model, adapters):
        whole, split = matrix.inputs, matrix.outputs
        if matrix.name in ROWS_SPLIT:
            whole, split = split, whole
        parts.append(parameters_of_gpu(adapters.rank, whole, split, matrix.count, tensor))
    return bytes_of_adapter(_sum(parts), VALUE_BYTES[SIXTEEN_BITS])


@formula("parameters", _VLLM_LORA)
def parameters_of_gpu(rank: int, held_whole: int, held_split: int, copies: int, tensor: int) -> float:
    """Parameters that a GPU holds of the adapters of one kind of matrix."""
    return rank * (held_whole + held_split / tensor) * copies


bytes_of_adapter = product("bytes_of_adapter", "bytes", "adapter_parameters", "value_bytes")
"""Size of an adapter on a GPU."""
bytes_of_adapters = product("bytes_of_adapters", "bytes", "bytes_of_adapter", "held_adapters")
"""Size of all adapters on a GPU, in all layers."""
adapters_of_stage = quotient("adapters_of_stage", "bytes", "bytes_of_adapters", "stages")
"""Size of all adapters on a GPU of a pipeline stage."""
weights_and_adapters = sum_of("weights_and_adapters", "bytes", "weights", "adapters_size")
"""Weights of the model and its adapters on a GPU."""


# memory of the engine -------------------------------------------------------------------------------------------------

VLLM, SGLANG, TENSORRT = "vllm", "sglang", "tensorrt-llm"
LARGE_GPU_GIB = 70
"""Memory from which vLLM takes more tokens per step [GiB]."""

_ARGUMENTS = Reference(
    "vLLM, vllm/engine/arg_utils.py: default max_num_batched_tokens and max_num_seqs by memory of the GPU",
    "https://github.com/vllm-project/vllm/blob/main/vllm/engine/arg_utils.py",
    "2026-11-27",
)
_PROFILE = Reference(
    "vLLM, pull request 10511: memory profiles of Llama 3 8B on one and two H100-80",
    "https://github.com/vllm-project/vllm/pull/10511",
    "2026-11-24",
)
_SGLANG = Reference(
    "SGLang, documentation, hyperparameter tuning: mem_fraction_static; available memory in start-up logs",
    "https://github.com/sgl-project/sglang/blob/main/docs/advanced_features/hyperparameter_tuning.md",
    "2026-11-27",
)
_CAPACITY = Reference(
    "PyTorch, total capacity in out-of-memory messages: A100-80 79.25 GiB, A100-40 39.5, H100 79.11, RTX 4090 23.64, "
    "RTX 5090 31.37",
    "https://github.com/vllm-project/vllm/issues/27508",
    "2026-11-27",
)
_ENCODER = Reference(
    "vLLM, issue 27992: start of Qwen3-VL-8B with an encoder cache of 153,600 tokens, about 10 GB",
    "https://github.com/vllm-project/vllm/issues/27992",
    "2026-11-29",
)
_COMPRESSOR = Reference(
    "vLLM, models/deepseek_v4: blocks of 4 and of 8 tokens for states, twice of 64 for windows, each as large as 256",
    "https://docs.vllm.ai/en/latest/api/vllm/models/deepseek_v4/compressor/",
    "2026-11-29",
)
_CHUNKS = "vLLM documentation, optimization and tuning: chunked prefill, max_num_batched_tokens"


CUDA_SHARE = assume(message("cuda-share"), message("cuda-share-why"), Fraction("1.05"), "share", _CAPACITY)
"""Memory that CUDA sees over that of the data sheet."""
LIBRARIES = assume(
    message("reserve-libraries"), message("reserve-libraries-why"), Fraction("0.35") * GIBI, "bytes", _PROFILE
)
NCCL = assume(message("reserve-nccl"), message("reserve-nccl-why"), Fraction("1.55") * GIBI, "bytes", _PROFILE)
SGLANG_LIBRARIES = assume(
    message("reserve-libraries"), message("reserve-libraries-why"), Fraction("0.6") * GIBI, "bytes", _SGLANG
)
SGLANG_NCCL = assume(message("reserve-nccl"), message("reserve-nccl-why"), Fraction("0.6") * GIBI, "bytes", _SGLANG)
LOGIT_BYTES = assume(message("logit-bytes"), message("logit-bytes-why"), 16, "bytes", _PROFILE)
EXPERT_COPIES = assume(message("expert-copies"), message("expert-copies-why"), Fraction("1.5"), "ratio", _PROFILE)
ENCODER_COPIES = assume(message("encoder-copies"), message("encoder-copies-why"), 2, "ratio", _ENCODER)
# (1/4 + 1/8 + 2/64) blocks x 256 tokens
STATE_TOKENS = assume(message("state-tokens"), message("state-tokens-why"), 104, "ratio", _COMPRESSOR)
WHOLE_EXPERTS = assume(message("whole-experts"), message("whole-experts-why"), 1, "count", _ARGUMENTS)


class StepSize(NamedTuple):
    """The largest step of vLLM."""

    tokens: Figure
    sequences: Figure


def _step(tokens: int, sequences: int) -> StepSize:
    why = message("step-why")
    return StepSize(
        assume(message("step-tokens"), why, tokens, "tokens", _ARGUMENTS),
        assume(message("step-sequences"), why, sequences, "count", _ARGUMENTS),
    )


LARGE_STEP, SMALL_STEP = _step(8192, 1024), _step(2048, 256)
"""The largest step on GPUs from `LARGE_GPU_GIB` on, and on smaller ones."""


def memory_seen(gpu: Gpu) -> Figure | None:
    """Return the memory of a GPU that CUDA, or its counterpart, sees [bytes]; None when its memory is unknown."""
    if gpu.cuda_memory is not None or gpu.memory_bytes is None:
        return gpu.cuda_memory
    return memory_seen_by_share(gpu.memory_bytes, CUDA_SHARE)


def reserve_of_gpu(inference: Inference, memory: Figure, tensor: Figure, gpus: Figure) -> dict[str, Figure]:
    """Return the parts of a GPU's memory that the serving program keeps for itself [bytes], by name.

    For vLLM they are taken from its share of the memory, for other programs they come before the share.
    """
    if inference.engine.value != VLLM:
        return {"libraries": SGLANG_LIBRARIES} | ({"nccl": SGLANG_NCCL} if gpus.value > 1 else {})
    step = LARGE_STEP if memory.value >= LARGE_GPU_GIB * GIBI else SMALL_STEP
    model, split = inference.model, WHOLE_EXPERTS if by_requests(inference) else tensor
    parts = {"libraries": LIBRARIES} | ({"nccl": NCCL} if gpus.value > 1 else {})
    if working := _working_memory(model, step, split):
        parts["step"] = working
    if model.moe and {"topk", "hidden", "ffn_expert"} <= model.shape.keys():
        widths = model.shape["hidden"], GATED_MATRICES, model.shape["ffn_expert"]
        activations = activations_of_step(step.tokens, VALUE_BYTES[SIXTEEN_BITS], *widths, split)
        parts["experts"] = expert_activations(EXPERT_COPIES, model.shape["topk"], activations)
    if inference.context and {"vision_tokens", "vision_outputs", "hidden"} <= model.shape.keys():
        values = (
            *(model.shape[key] for key in ("vision_tokens", "vision_outputs", "hidden")),
            VALUE_BYTES[SIXTEEN_BITS],
        )
        parts["vision"] = encoder_outputs(ENCODER_COPIES, inference.context, *values)
    kept = cache(model, str(inference.kv_precision.value)) if model_matrices.compressed(model) else None
    if kept is not None:
        parts["states"] = states_of_step(step.tokens, STATE_TOKENS, kept.token)
    return parts


def _working_memory(model: Model, step: StepSize, tensor: Figure) -> Figure | None:
    """Return the larger of the activations and the logits of a step, of those that the shape gives; None: neither."""
    logits = logits_of_step(step.sequences, model.shape["vocab"], LOGIT_BYTES) if "vocab" in model.shape else None
    activations = None
    if {"hidden", "ffn"} <= model.shape.keys():
        widths = model.shape["hidden"], GATED_MATRICES, model.shape["ffn"]
        activations = activations_of_step(step.tokens, VALUE_BYTES[SIXTEEN_BITS], *widths, tensor)
    if logits and activations:
        return working_memory(activations, logits)
    return logits or activations


def room_of_gpu(inference: Inference, memory: Figure, reserve: Mapping[str, Figure], weights: Figure) -> Figure:
    """Return the memory per GPU that weights and KV cache may use [bytes]."""
    kept, share = reduce(add_reserve, reserve.values()), inference.memory_share
    if inference.engine.value == VLLM:
        return room_in_share(memory, share, kept)
    if inference.engine.value == TENSORRT:
        return room_beside_weights(memory, share, kept, weights)
    return room_after_libraries(memory, share, kept)


def memory_needed(inference: Inference, reserve: Mapping[str, Figure], weights: Fraction, cache: Fraction) -> Fraction:
    """Return the memory that a GPU needs for weights and KV cache of these sizes [bytes], as CUDA sees it."""
    kept, share = sum(Fraction(part.value) for part in reserve.values()), Fraction(inference.memory_share.value)
    if inference.engine.value == VLLM:
        return (weights + cache + kept) / share
    if inference.engine.value == TENSORRT:
        return weights + kept + cache / share
    return (weights + cache) / share + kept


# formulas of GPU memory -----------------------------------------------------------------------------------------------


memory_seen_by_share = product("memory_seen_by_share", "bytes", "memory_bytes", "share")
"""Memory that CUDA sees on a GPU without a published value."""
add_reserve = sum_of("add_reserve", "bytes", "reserve", "more")
"""Memory that the serving program keeps for itself."""
logits_of_step = product("logits_of_step", "bytes", "sequences", "vocab", "logit_bytes")
"""Logits of the requests of the largest step."""
working_memory = maximum("working_memory", "bytes", "activations", "logits")
"""Activations or logits of the largest step, which are not needed at the same time."""


@formula("bytes", _CHUNKS)
def activations_of_step(tokens: int, value_bytes: int, hidden: int, matrices: int, width: int, tensor: int) -> Fraction:
    """Activations of the largest step: two of the hidden size, and one of a block's width for each of its matrices."""
    return tokens * value_bytes * (2 * hidden + Fraction(matrices * width, tensor))


expert_activations = product("expert_activations", "bytes", "copies", "topk", "activations")
"""Activations of the largest step, once for each expert that a token activates, and what sorts them by expert."""


@formula("bytes", "vLLM documentation, optimization and tuning: encoder cache")
def encoder_outputs(
    copies: int, context: int, vision_tokens: int, vision_outputs: int, hidden: int, value_bytes: int
) -> int:
    """Outputs of a vision tower for the longest video that the context holds."""
    return copies * min(context, vision_tokens) * vision_outputs * hidden * value_bytes


states_of_step = product("states_of_step", "bytes", "tokens", "state_tokens", "kv_bytes_per_token")
"""Windows and unfinished entries of compressed attention, for all tokens of the largest step."""


@formula("bytes")
def room_in_share(memory: Fraction, memory_share: Fraction, reserve: Fraction) -> Fraction:
    """Memory per GPU for weights and KV cache under vLLM, whose share includes its reserve."""
    return max(Fraction(0), memory * Fraction(memory_share) - reserve)


@formula("bytes")
def room_after_libraries(memory: Fraction, memory_share: Fraction, reserve: Fraction) -> Fraction:
    """Memory per GPU for weights and KV cache under SGLang, whose share is of the memory that libraries leave."""
    return max(Fraction(0), (memory - reserve) * Fraction(memory_share))


@formula("bytes")
def room_beside_weights(memory: Fraction, memory_share: Fraction, reserve: Fraction, weights: Fraction) -> Fraction:
    """Memory per GPU for weights and KV cache under TensorRT-LLM, whose share is of the memory left by the weights."""
    return min(memory - reserve, weights + max(Fraction(0), memory - reserve - weights) * Fraction(memory_share))

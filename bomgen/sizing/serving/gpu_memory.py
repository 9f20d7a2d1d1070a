"""Memory of a GPU that weights and KV cache may use: what CUDA sees, less the reserve of the serving program.

CUDA sees more bytes than the GB of a data sheet, which are mostly GiB, and less than those GiB: error correction and
driver keep 1 to 2 %. The catalogue has the number for common GPUs, others are assumed to have the usual share.

The programs set their memory aside differently. `memory_share` is

- vLLM's gpu_memory_utilization: the share of the GPU for weights, KV cache and the reserve,
- SGLang's mem_fraction_static: the share of the memory left by the libraries for weights and KV cache; activations and
  graphs use the other share,
- TensorRT-LLM's free_gpu_memory_fraction: the share of the memory left by libraries and weights for the KV cache.

The reserve of vLLM is what it measures at its start with a step of the most tokens: libraries and graphs, buffers of
NCCL where a replica has several GPUs, the larger of activations and logits, and copies of the tokens for every expert
that they activate. Its sizes were set on the start-up logs of `data/measured/serving-memory.csv`.
Outputs of a vision tower are kept for the longest video that the context holds, and windows and unfinished entries of
compressed attention for all tokens of a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from bomgen.catalog.model_parameters import matrices
from bomgen.catalog.model_parameters.counts import GATED_MATRICES
from bomgen.catalog.parts import SIXTEEN_BITS, Gpu, Model
from bomgen.core.messages import message
from bomgen.core.provenance import Figure, Reference, assume, formula, maximum, product, sum_of
from bomgen.core.units import GIBI
from bomgen.plan.types import Inference
from bomgen.sizing.serving.kv_cache import BYTES, cache
from bomgen.sizing.serving.weights import by_requests

VLLM, TENSORRT = "vllm", "tensorrt-llm"
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
        widths = model.shape["topk"], model.shape["hidden"], GATED_MATRICES, model.shape["ffn_expert"]
        parts["experts"] = expert_activations(EXPERT_COPIES, step.tokens, BYTES[SIXTEEN_BITS], *widths, split)
    if inference.context and {"vision_tokens", "vision_outputs", "hidden"} <= model.shape.keys():
        values = (*(model.shape[key] for key in ("vision_tokens", "vision_outputs", "hidden")), BYTES[SIXTEEN_BITS])
        parts["vision"] = encoder_outputs(ENCODER_COPIES, inference.context, *values)
    kept = cache(model, str(inference.kv_precision.value)) if matrices.compressed(model) else None
    if kept is not None:
        parts["states"] = states_of_step(step.tokens, STATE_TOKENS, kept.token)
    return parts


def _working_memory(model: Model, step: StepSize, tensor: Figure) -> Figure | None:
    """Return the larger of the activations and the logits of a step, of those that the shape gives; None: neither."""
    logits = logits_of_step(step.sequences, model.shape["vocab"], LOGIT_BYTES) if "vocab" in model.shape else None
    activations = None
    if {"hidden", "ffn"} <= model.shape.keys():
        widths = model.shape["hidden"], GATED_MATRICES, model.shape["ffn"]
        activations = activations_of_step(step.tokens, BYTES[SIXTEEN_BITS], *widths, tensor)
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


# formulas ------------------------------------------------------------------------------------------------------------


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


@formula("bytes", _CHUNKS)
def expert_activations(
    copies: Fraction, tokens: int, value_bytes: int, topk: int, hidden: int, matrices: int, width: int, tensor: int
) -> Fraction:
    """Activations of the largest step, once for each expert that a token activates, and what sorts them by expert."""
    return copies * tokens * value_bytes * topk * (2 * hidden + Fraction(matrices * width, tensor))


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

"""Activations of a training run: bytes per token and layer, and micro-batches in flight.

They follow Korthikanti et al. 2022; the micro-batches in flight follow the schedules of Narayanan et al. 2021.

Where a model's actual widths are known (heads, KV heads, the inside of its MLP, latent attention) they replace those of
a GPT layer; for a GPT layer both are the same. FlashAttention keeps one sum per token and head in place of the scores;
it is on where the accelerator has it, and the published formulas are those without it. A run whose sequence length is
only an assumption is never refused for its activations: they are left out with a warning, because the user did not set
it.

Layers of several kinds count as their mean, as if the stages had equal shares of each. Layers with a window count as
those with full attention, and norms as if every layer had attention and a block: slightly more than is kept.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from bomgen.catalog import model_matrices
from bomgen.catalog.parts import Model
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Cited, Figure, Reference, assume, formula, minimum, product, sum_of
from bomgen.plan.types import Training
from bomgen.sizing.training.states import HALF, WEIGHTS, bytes_of_weight, quantises

NARAYANAN = "Narayanan et al. 2021, Efficient Large-Scale Language Model Training on GPU Clusters"
KORTHIKANTI = "Korthikanti et al. 2022, Reducing Activation Recomputation"
_ACTIVATIONS = Reference(
    "Korthikanti et al. 2022, Reducing Activation Recomputation in Large Transformer Models, sections 4.1 to 4.2",
    "https://arxiv.org/abs/2205.05198",
    "2026",
)
_FLASH = Reference("Dao 2023, FlashAttention-2, section 3.1", "https://arxiv.org/abs/2307.08691", "2026")
_GATED = Reference("Shazeer 2020, GLU Variants Improve Transformer", "https://arxiv.org/abs/2002.05202")


def _cited(value: int, of: str) -> Figure:
    return Figure(value, "bytes", Cited(of, (_ACTIVATIONS,), "high"))


WHOLE = _cited(10, message("activations-whole"))
SCORES = _cited(5, message("activations-scores"))
LOGSUMEXP = Figure(4, "bytes", Cited(message("activations-logsumexp"), (_FLASH,), "high", "in fp32, section 3.1"))
LAYER_INPUT = _cited(2, message("activations-layer-input"))
# Section 4.1: an MLP keeps 19 of the 34 bytes: input 2 and mask 1 whole, the two 4h-wide tensors of GeLU 16 divided.
MLP_WHOLE = _cited(3, message("activations-mlp-whole"))
PLAIN_BLOCK = _cited(16, message("activations-mlp"))
ATTENTION = _cited(8, message("activations-attention"))
NORM_INPUTS = _cited(4, message("activations-norm-inputs"))
ELEMENT = _cited(2, message("activations-element"))
PLAIN_TENSORS = _cited(2, message("activations-mlp-tensors"))
GATED_TENSORS = Figure(3, "count", Assumed(message("gated-tensors"), message("gated-tensors-why"), (_GATED,), "medium"))
_UNFUSED = Reference(
    "Hugging Face Transformers, modeling_llama.py: LlamaRMSNorm in fp32, LlamaMLP; as LitGPT and torchtune",
    "https://github.com/huggingface/transformers/blob/main/src/transformers/models/llama/modeling_llama.py",
    "2026-11-28",
)
_RECOMPUTED = "DeepSeek-AI 2024, DeepSeek-V3 Technical Report, section 3.2.3"
_DEEPSEEK = Reference(
    f"{_RECOMPUTED}; Megatron Core, recompute_modules: mla_up_proj, layernorm, moe_act",
    "https://arxiv.org/abs/2412.19437",
    "2026-11-28",
)
_TRANSFORMER_ENGINE = "NVIDIA, Transformer Engine, module/linear.py: quantised inputs are saved for the backward pass"
_NARROW = Reference(
    _TRANSFORMER_ENGINE,
    "https://github.com/NVIDIA/TransformerEngine/blob/main/transformer_engine/pytorch/module/linear.py",
    "2026-11-28",
)
_FOUR_BIT = Reference(
    "bitsandbytes, pull request 1270: inputs of 4-bit products are kept up to version 0.43.1",
    "https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1270",
    "2026-11-28",
)


NORMS_FP32 = assume(message("norms-fp32"), message("norms-fp32-why"), 4, "bytes", _UNFUSED)
UNFUSED_TENSORS = assume(message("unfused-tensors"), message("unfused-tensors-why"), 1, "count", _UNFUSED)
INPUTS_KEPT = assume(message("inputs-kept"), message("inputs-kept-why"), 4, "bytes", _FOUR_BIT)
TENSORS_KEPT = assume(message("tensors-kept"), message("tensors-kept-why"), 1, "count", _FOUR_BIT)
RECOMPUTED_TENSORS = assume(message("recomputed-tensors"), message("recomputed-tensors-why"), 2, "count", _DEEPSEEK)
NARROW_INPUT = assume(message("narrow-input"), message("narrow-input-why"), 1, "bytes", _NARROW)
AUTO, NONE, SELECTIVE, FULL = "auto", "none", "selective", "full"
LEAST_FIRST = (NONE, SELECTIVE, FULL)
"""Recomputations in ascending order; AUTO is the fastest of them that fits, where steps are not predicted the first."""


def bytes_of_token(training: Training, tensor: Figure, sequence_parallel: bool) -> Figure | None:
    """Return the activations of a token in one layer on one GPU [bytes]; None when the shape is unknown."""
    hidden = training.model.shape.get("hidden")
    if hidden is None:
        return None
    kept: Figure | None
    if training.recompute.value == FULL:
        divided = sequence_parallel and tensor.value > 1
        kept = part_of_input(hidden, LAYER_INPUT, tensor) if divided else input_of_layer(hidden, LAYER_INPUT)
    else:
        kept = _kept_in_layer(training, tensor, sequence_parallel, hidden)
    weight = bytes_of_weight(training)
    return kept if kept is None or weight.value == HALF.value else widen_bytes(kept, weight, HALF)


def _kept_in_layer(training: Training, tensor: Figure, sequence_parallel: bool, hidden: Figure) -> Figure | None:
    heads = training.model.shape.get("heads")
    factors = _layer_bytes(training, hidden)
    if heads is None or training.sequence is None or factors is None:
        return None
    whole, divided = factors
    scores = _mean_of_attention(training.model, _scores(training, heads, training.sequence))
    if sequence_parallel:
        return layer_with_sequence_parallel(hidden, whole, divided, scores, tensor)
    return layer_with_tensor_parallel(hidden, whole, divided, scores, tensor)


def _scores(training: Training, heads: Figure, sequence: Figure) -> Figure:
    """Return the attention scores of a token kept in one layer [bytes]."""
    if training.recompute.value == SELECTIVE:
        return ZERO_SCORES
    if training.flash_attention.value == "yes":
        return sums_kept(heads, LOGSUMEXP)
    return scores_kept(heads, sequence, SCORES)


def _layer_bytes(training: Training, hidden: Figure) -> tuple[Figure, Figure] | None:
    """Return the activations of a token in a layer [bytes]: per hidden unit on every GPU, and in total over all GPUs.

    The paper's layer has heads as wide as the hidden size and an MLP four times as wide; the model's actual widths are
    used where they are known. In a mixture of experts every layer counts as one with experts, because the stages
    without the few dense layers are fuller. Expert parallelism changes nothing: with a balanced load each GPU receives
    as many tokens as it sends. The total is over tensor-parallel GPUs.
    """
    model = training.model
    has_latents = {"kv_lora_rank", "rope_head_dim", "v_head_dim"} <= model.shape.keys()
    # There, selective recomputation covers up-projections, norms and experts' activation, not scores alone.
    recomputed = model.moe and has_latents and training.recompute.value == SELECTIVE
    of_layer = _latent_bytes(model) if recomputed else _attention_bytes(training, hidden)
    attention = _mean_of_attention(model, of_layer)
    if {"layers", "linear_layers"} <= model.shape.keys():
        values = model_matrices.heads_width(model.shape["linear_value_heads"], model.shape["linear_value_head_dim"])
        kept = linear_attention_bytes(model_matrices.width_of_convolution(model), values, ELEMENT)
        attention = add_states(attention, mean_of_layers(kept, model.shape["linear_layers"], model.shape["layers"]))
    whole = _whole_bytes(training)
    if not model.moe:
        if ffn := model.shape.get("ffn"):
            block = _inside_block(training, ffn, _tensors(training, model.mlp == model_matrices.GATED))
        else:
            block = bytes_per_hidden_unit(hidden, PLAIN_BLOCK)
        return whole, divided_bytes(attention, _mean_of_blocks(model, block))
    topk, width = model.shape.get("topk"), model.shape.get("ffn_expert")
    if topk is None or width is None:
        return None
    active = active_experts(topk, model.shape["shared"]) if "shared" in model.shape else topk
    tensors = RECOMPUTED_TENSORS if recomputed else _tensors(training, gated=True)
    inside = _mean_of_blocks(model, expert_bytes(_inside_block(training, width, tensors), active))
    if recomputed:
        sent = NARROW_INPUT if _is_narrow(training) else ELEMENT
        return whole_bytes_recomputed(NORM_INPUTS, sent, topk), divided_bytes(attention, inside)
    of_expert = narrow_mlp_bytes(MLP_WHOLE, ELEMENT, NARROW_INPUT) if _is_narrow(training) else MLP_WHOLE
    return whole_bytes_with_experts(whole, of_expert, active), divided_bytes(attention, inside)


def _is_narrow(training: Training) -> bool:
    """Return whether matrix products are in a format narrower than 16 bits."""
    return str(training.precision.value) not in WEIGHTS


def _mean_of_attention(model: Model, of_layer: Figure) -> Figure:
    """Return the activations of layers with attention, as a mean over all layers [bytes]."""
    if "layers" not in model.shape or not {"linear_layers", "ffn_layers"} & model.shape.keys():
        return of_layer
    return mean_of_layers(of_layer, model_matrices.attention_layers(model), model.shape["layers"])


def _mean_of_blocks(model: Model, of_layer: Figure) -> Figure:
    """Return the activations of feed-forward blocks or experts, as a mean over all layers [bytes]."""
    if not {"layers", "ffn_layers"} <= model.shape.keys():
        return of_layer
    return mean_of_layers(of_layer, model.shape["ffn_layers"], model.shape["layers"])


def _attention_bytes(training: Training, hidden: Figure) -> Figure:
    """Return queries, keys, values and attention output of a token in a layer [bytes]."""
    model = training.model
    heads, width, kv_heads = model.shape.get("heads"), model_matrices.head_dim(model), model_matrices.kv_heads(model)
    if heads is None or width is None or kv_heads is None:
        return bytes_per_hidden_unit(hidden, ATTENTION)
    value_width, kept = width, attention_bytes(heads, kv_heads, width, ELEMENT)
    if model.mla and "v_head_dim" in model.shape:
        value_width = model.shape["v_head_dim"]
        kept = latent_attention_bytes(heads, width, value_width, ELEMENT)
    return with_narrow_output(kept, heads, value_width, NARROW_INPUT) if _is_narrow(training) else kept


def _latent_bytes(model: Model) -> Figure:
    """Return what latent attention keeps of a token in a layer if it expands its latents again [bytes]."""
    shape = model.shape
    latents = model_matrices.compressed_width(shape["kv_lora_rank"], shape["rope_head_dim"])
    if "q_lora_rank" in shape:
        latents = add_queries(latents, shape["q_lora_rank"])
    return recomputed_attention_bytes(latents, shape["heads"], shape["v_head_dim"], ELEMENT)


def _inside_block(training: Training, width: Figure, tensors: Figure) -> Figure:
    """Return the activations of a token between the projections of an MLP of a width [bytes]."""
    kept = block_bytes(width, tensors, ELEMENT)
    narrow = _is_narrow(training) and tensors is not RECOMPUTED_TENSORS
    return narrow_block_bytes(kept, width, ELEMENT, NARROW_INPUT) if narrow else kept


def _whole_bytes(training: Training) -> Figure:
    """Return the activations per hidden unit that every GPU keeps in a layer [bytes]."""
    whole = narrow_whole_bytes(WHOLE, ELEMENT, NARROW_INPUT) if _is_narrow(training) else WHOLE
    if training.tuning is None or fuses_kernels(training):
        return whole
    whole = more_bytes(whole, NORMS_FP32)
    return more_bytes(whole, INPUTS_KEPT) if quantises(training) else whole


def fuses_kernels(training: Training) -> bool:
    """Return whether the kernels of norms and activation functions are fused."""
    return training.activation_fusion is None or training.activation_fusion.value == "yes"


def _tensors(training: Training, gated: bool) -> Figure:
    """Return the number of tensors that are kept inside an MLP."""
    tensors = GATED_TENSORS if gated else PLAIN_TENSORS
    if gated and not fuses_kernels(training):
        tensors = more_tensors(tensors, UNFUSED_TENSORS)
    return more_tensors(tensors, TENSORS_KEPT) if quantises(training) else tensors


bytes_per_hidden_unit = product("bytes_per_hidden_unit", "bytes", "hidden", "unit_bytes")
"""Bytes per token and layer, where the model's own widths are not known."""


@formula("bytes", f"{KORTHIKANTI}, section 4.1: queries, keys, values and output; keys and values of their own heads")
def attention_bytes(heads: int, kv_heads: int, head_dim: int, element_bytes: int) -> int:
    """Bytes of attention per token and layer, for the model's heads."""
    return 2 * (heads + kv_heads) * head_dim * element_bytes


@formula("bytes", f"{KORTHIKANTI}, section 4.1; queries and keys of one width, values and output of another")
def latent_attention_bytes(heads: int, head_dim: int, value_dim: int, element_bytes: int) -> int:
    """Bytes of latent attention per token and layer; keys and values are expanded for every head."""
    return 2 * heads * (head_dim + value_dim) * element_bytes


@formula("bytes", _TRANSFORMER_ENGINE)
def with_narrow_output(attention: int, heads: int, head_dim: int, narrow_bytes: int) -> int:
    """Bytes of attention per token and layer, and the narrow copy of its output for the projection."""
    return attention + heads * head_dim * narrow_bytes


add_queries = sum_of("add_queries", "count", "latents", "q_lora_rank")
"""Width of the latent vectors of keys, values and queries."""


@formula("bytes", f"{_RECOMPUTED}: up-projections are computed again")
def recomputed_attention_bytes(latents: int, heads: int, value_dim: int, element_bytes: int) -> int:
    """Bytes of latent attention per token and layer with selective recomputation: latent vectors and output."""
    return (latents + heads * value_dim) * element_bytes


@formula("bytes", "Hugging Face Transformers, modular_qwen3_next.py; what kernels compute again is left out")
def linear_attention_bytes(mixed: int, values: int, element_bytes: int) -> int:
    """Bytes of linear attention or Mamba per token and layer: queries, keys and values, gate, output."""
    return (mixed + 2 * values) * element_bytes


add_states = sum_of("add_states", "bytes", "attention", "states")
"""Activations per token and layer, averaged over layers with attention and layers with a state."""


@formula("bytes")
def mean_of_layers(kept: Fraction, layers_that_keep: int, layers: int) -> Fraction:
    """Activations of some layers, averaged over all layers."""
    return Fraction(kept * layers_that_keep, layers)


block_bytes = product("block_bytes", "bytes", "width", "tensors", "element_bytes")
"""Bytes inside an MLP per token and layer: the tensors between the projections."""


@formula("bytes", _TRANSFORMER_ENGINE)
def narrow_block_bytes(kept: int, width: int, element_bytes: int, narrow_bytes: int) -> int:
    """Bytes inside an MLP per token and layer, the input of the second projection in a narrow format."""
    return kept - width * (element_bytes - narrow_bytes)


@formula("bytes", _TRANSFORMER_ENGINE)
def narrow_whole_bytes(whole_bytes: int, element_bytes: int, narrow_bytes: int) -> int:
    """Bytes per token and hidden unit on every GPU, the inputs of attention and MLP in a narrow format."""
    return whole_bytes - 2 * (element_bytes - narrow_bytes)


@formula("bytes", _TRANSFORMER_ENGINE)
def narrow_mlp_bytes(mlp_bytes: int, element_bytes: int, narrow_bytes: int) -> int:
    """Input and mask of an MLP per token and hidden unit [bytes], the input in a narrow format."""
    return mlp_bytes - (element_bytes - narrow_bytes)


more_bytes = sum_of("more_bytes", "bytes", "whole_bytes", "further_bytes")
"""Bytes per token and hidden unit on every GPU, with those that programs of fine-tuning keep."""
more_tensors = sum_of("more_tensors", "count", "tensors", "further_tensors")
"""Tensors kept inside an MLP, with those that kernels keep which do not recompute them."""
active_experts = sum_of("active_experts", "count", "topk", "shared")
"""Experts that process a token: routed and shared ones."""
expert_bytes = product("expert_bytes", "bytes", "inside", "active")
"""Bytes inside all active experts per token and layer."""
divided_bytes = sum_of("divided_bytes", "bytes", "attention", "block")
"""Bytes per token and layer that are divided over tensor-parallel GPUs."""


@formula("bytes")
def whole_bytes_with_experts(whole_bytes: int, mlp_bytes: int, active: int) -> int:
    """Bytes per token and hidden unit on every GPU: 10 as in eq. 2, and input and mask of each further expert's MLP."""
    return whole_bytes - mlp_bytes + mlp_bytes * active


@formula("bytes", f"{_RECOMPUTED}: norms are computed again")
def whole_bytes_recomputed(norm_bytes: int, input_bytes: int, topk: int) -> int:
    """Bytes per token and hidden unit with selective recomputation: inputs of both norms and of the routed experts."""
    return norm_bytes + input_bytes * topk


scores_kept = product("scores_kept", "bytes", "heads", "sequence", "score_bytes", source=f"{KORTHIKANTI}, eq. 1")
"""Attention scores of a token in one layer [bytes]."""
sums_kept = product("sums_kept", "bytes", "heads", "logsumexp_bytes", source="Dao 2023, FlashAttention-2, section 3.1")
"""Statistics that FlashAttention keeps per token in one layer [bytes]: one logsumexp per head."""


@formula("bytes", f"{KORTHIKANTI}, section 5")
def zero_scores() -> int:
    """Attention scores kept with selective recomputation: none."""
    return 0


ZERO_SCORES = zero_scores()


@formula("bytes", f"{KORTHIKANTI}, eq. 2 and table 2: s b h (10 + 24 / t + 5 a s / (h t))")
def layer_with_tensor_parallel(
    hidden: int, whole_bytes: int, parted: Fraction, scores: Fraction, tensor: int
) -> Fraction:
    """Activations of a token in one layer on one GPU [bytes]; eq. 1 without tensor parallelism."""
    return hidden * whole_bytes + Fraction(parted + scores, tensor)


@formula("bytes", f"{KORTHIKANTI}, eq. 4 and table 2: s b h / t (34 + 5 a s / h)")
def layer_with_sequence_parallel(
    hidden: int, whole_bytes: int, parted: Fraction, scores: Fraction, tensor: int
) -> Fraction:
    """Activations of a token in one layer on one GPU [bytes], all divided by sequence parallelism."""
    return Fraction(hidden * whole_bytes + parted + scores, tensor)


input_of_layer = product("input_of_layer", "bytes", "hidden", "input_bytes", source=f"{KORTHIKANTI}, table 2: 2 s b h")
"""Activations of a token in one layer on one GPU [bytes] with full recomputation: the layer's input."""


# Megatron Core refuses distribute_saved_activations with sequence parallelism, because the input is divided already.
@formula("bytes", f"{KORTHIKANTI}, section 4.2.2; Megatron Core, transformer_config.py: distribute_saved_activations")
def part_of_input(hidden: int, input_bytes: int, tensor: int) -> Fraction:
    """Activations of a token in one layer on one GPU [bytes] with full recomputation and sequence parallelism."""
    return Fraction(hidden * input_bytes, tensor)


@formula("bytes")
def widen_bytes(token_bytes: Fraction, weight_bytes: int, half_bytes: int) -> Fraction:
    """Activations [bytes] in a format wider than the paper's 16 bits; its one-byte masks are scaled too."""
    return token_bytes * Fraction(weight_bytes, half_bytes)


@formula("bytes", f"{KORTHIKANTI}, eq. 5")
def activations_of_gpu(
    token_bytes: Fraction, sequence: int, micro_batch: int, context: int, layers: int, stages: Fraction, held: Fraction
) -> int:
    """Activations on a GPU of the first stage [bytes]: its tokens, layers and micro-batches in flight."""
    return ceil(token_bytes * Fraction(sequence * micro_batch, context) * (layers / Fraction(stages)) * held)


@formula("bytes", "NVIDIA, Megatron Core, fine-grained activation offloading; MaxText, rematerialization: offload")
def activations_beside_host(
    token_bytes: Fraction,
    sequence: int,
    micro_batch: int,
    context: int,
    layers: int,
    stages: Fraction,
    held: Fraction,
    layers_kept: int,
) -> int:
    """Activations that stay on a GPU of the first stage [bytes] while those of other layers are in host memory."""
    return ceil(
        token_bytes
        * Fraction(sequence * micro_batch, context)
        * min(layers / Fraction(stages) * held, Fraction(layers_kept))
    )


@formula("bytes")
def activations_of_replica(
    token_bytes: Fraction, tensor: int, sequence: int, micro_batch: int, layers: int, pipeline: int, held: Fraction
) -> int:
    """Activations on all GPUs of a replica [bytes]; `held` is the sum of micro-batches in flight over all stages."""
    return ceil(token_bytes * tensor * sequence * micro_batch * Fraction(layers, pipeline) * held)


@formula("micro-batches")
def micro_batches(batch_tokens: int, sequence: int, micro_batch: int, data: int) -> int:
    """Micro-batches of a replica per optimizer step."""
    return max(1, ceil(Fraction(batch_tokens, sequence * micro_batch * data)))


held_by_first = minimum(
    "held_by_first", "micro-batches", "pipeline", "micro_batches", source=f"{KORTHIKANTI}, section 4.2.3"
)
"""Micro-batches in flight on the first stage."""


@formula("micro-batches", f"{KORTHIKANTI}, section 4.2.3: 1 + (p - 1) / (p m)")
def held_by_first_interleaved(pipeline: int, interleave: int, micro_batches: int) -> Fraction:
    """Micro-batches in flight on the first stage with an interleaved schedule."""
    return min(pipeline * (1 + Fraction(pipeline - 1, pipeline * interleave)), Fraction(micro_batches))


@formula("micro-batches", f"{NARAYANAN}, section 2.2.1")
def held_by_all(pipeline: int, micro_batches: int) -> int:
    """Micro-batches in flight on all stages together; each stage has one fewer than the one before."""
    return sum(min(pipeline - stage, micro_batches) for stage in range(pipeline))


# Stage i warms up with (m - 1) p + 2 (p - 1 - i) chunks and works on one more; i = 0 is the paper's p m + p - 1.
@formula("micro-batches", f"{NARAYANAN}, section 2.2.2")
def held_by_all_interleaved(pipeline: int, interleave: int, micro_batches: int) -> Fraction:
    """Micro-batches in flight on all stages together with an interleaved schedule."""
    return sum(
        (
            min(pipeline + Fraction(pipeline - 2 * stage - 1, interleave), Fraction(micro_batches))
            for stage in range(pipeline)
        ),
        Fraction(0),
    )

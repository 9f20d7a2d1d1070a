"""Activations of a training run: what a token keeps in a layer, and the micro-batches that are held at a time.

They follow Korthikanti et al. 2022; how long a stage holds a micro-batch is the schedule of Narayanan et al. 2021.

Where a model's own widths are known (heads, KV heads, the inside of its MLP, latent attention) they replace those of a
GPT layer; for a GPT layer both are the same. FlashAttention keeps one sum per token and head in place of the scores; it
is off unless the plan turns it on, as in the formula. A run whose sequence length is only the model's default context
is never refused for its activations: they are left out with a warning, because nobody asked for that length.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from bomgen.catalog.model_parameters import matrices
from bomgen.catalog.parts import Model
from bomgen.core.provenance import Assumed, Cited, Figure, Reference, formula
from bomgen.plan.types import Training
from bomgen.sizing.training.states import HALF, bytes_of_weight

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


WHOLE = _cited(10, "eq. 2: kept whole on every tensor-parallel GPU, a token and hidden unit")
SCORES = _cited(5, "eq. 1: softmax, its dropout and mask, a pair of tokens and head")
LOGSUMEXP = Figure(
    4,
    "bytes",
    Cited("FlashAttention keeps a logsumexp, a token and head", (_FLASH,), "high", "in fp32, section 3.1"),
)
LAYER_INPUT = _cited(2, "table 2: input of a layer, a token and hidden unit")
# Section 4.1: an MLP keeps 19 of the 34 bytes: input 2 and mask 1 whole, the two 4h-wide tensors of GeLU 16 divided.
MLP_WHOLE = _cited(3, "section 4.1: input and mask of an MLP, a token and hidden unit")
PLAIN_BLOCK = _cited(16, "section 4.1: inside an MLP of width 4h, a token and hidden unit")
ATTENTION = _cited(8, "section 4.1: queries, keys, values and output of attention, a token and hidden unit")
ELEMENT = _cited(2, "section 4.1: element of a 16-bit tensor that is kept")
PLAIN_TENSORS = _cited(2, "section 4.1: tensors inside an MLP, input and output of GeLU")
GATED_TENSORS = Figure(
    3,
    "count",
    Assumed(
        "Tensors kept inside a gated MLP",
        "Gate, up-projection and their product; the activation function is worked out again from the gate.",
        (_GATED,),
        "medium",
    ),
)
FULL = "full"
SELECTIVE = "selective"


def bytes_of_token(training: Training, tensor: Figure, sequence_parallel: bool) -> Figure | None:
    """Bytes that a token keeps in one layer on one GPU; None where the shape is not known."""
    hidden = training.model.shape.get("hidden")
    if hidden is None:
        return None
    if training.recompute.value == FULL:
        kept: Figure | None = input_of_layer(hidden, LAYER_INPUT)
    else:
        kept = _kept_in_layer(training, tensor, sequence_parallel, hidden)
    weight = bytes_of_weight(training)
    return kept if kept is None or weight.value == HALF.value else widened(kept, weight, HALF)


def _kept_in_layer(training: Training, tensor: Figure, sequence_parallel: bool, hidden: Figure) -> Figure | None:
    heads = training.model.shape.get("heads")
    factors = _layer_bytes(training, hidden)
    if heads is None or training.sequence is None or factors is None:
        return None
    whole, divided = factors
    scores = _scores(training, heads, training.sequence)
    if sequence_parallel:
        return layer_with_sequence_parallel(hidden, whole, divided, scores, tensor)
    return layer_with_tensor_parallel(hidden, whole, divided, scores, tensor)


def _scores(training: Training, heads: Figure, sequence: Figure) -> Figure:
    """What a token keeps of its attention scores in one layer."""
    if training.recompute.value == SELECTIVE:
        return no_scores()
    if training.flash_attention.value == "yes":
        return sums_kept(heads, LOGSUMEXP)
    return scores_kept(heads, sequence, SCORES)


def _layer_bytes(training: Training, hidden: Figure) -> tuple[Figure, Figure] | None:
    """Bytes that a token keeps in a layer: whole, a hidden unit, and in all those divided by the tensor-parallel GPUs.

    The paper's layer has heads as wide as the hidden size and an MLP four times as wide; where the model's own widths
    are known they count. In a mixture of experts every layer counts as one of experts: the stages without its few
    dense ones are fuller. Expert parallelism changes nothing, as each GPU gets as many tokens as it sends away when
    the load is balanced.
    """
    model = training.model
    of_attention = _attention_bytes(model, hidden)
    if not model.moe:
        return WHOLE, parted(of_attention, _block_bytes(model, hidden))
    topk, width = model.shape.get("topk"), model.shape.get("ffn_expert")
    if topk is None or width is None:
        return None
    active = active_experts(topk, model.shape["shared"]) if "shared" in model.shape else topk
    inside = inside_experts(inside_block(width, GATED_TENSORS, ELEMENT), active)
    return whole_with_experts(WHOLE, MLP_WHOLE, active), parted(of_attention, inside)


def _attention_bytes(model: Model, hidden: Figure) -> Figure:
    """Bytes of queries, keys, values and output of attention that a token keeps in a layer."""
    heads, width, kv_heads = model.shape.get("heads"), matrices.head_dim(model), matrices.kv_heads(model)
    if heads is None or width is None or kv_heads is None:
        return of_hidden(hidden, ATTENTION)
    if model.mla and "v_head_dim" in model.shape:
        return in_latent_attention(heads, width, model.shape["v_head_dim"], ELEMENT)
    return in_attention(heads, kv_heads, width, ELEMENT)


def _block_bytes(model: Model, hidden: Figure) -> Figure:
    """Bytes inside the MLP that a token keeps in a layer."""
    width = model.shape.get("ffn")
    if width is None:
        return of_hidden(hidden, PLAIN_BLOCK)
    return inside_block(width, GATED_TENSORS if model.mlp == matrices.GATED else PLAIN_TENSORS, ELEMENT)


@formula("bytes")
def of_hidden(hidden: int, unit_bytes: int) -> int:
    """Bytes a token and layer, where the model's own widths are not known."""
    return hidden * unit_bytes


@formula("bytes", f"{KORTHIKANTI}, section 4.1: queries, keys, values and output; keys and values of their own heads")
def in_attention(heads: int, kv_heads: int, head_dim: int, element_bytes: int) -> int:
    """Bytes a token and layer of attention, as wide as the heads are."""
    return 2 * (heads + kv_heads) * head_dim * element_bytes


@formula("bytes", f"{KORTHIKANTI}, section 4.1; queries and keys of one width, values and output of another")
def in_latent_attention(heads: int, head_dim: int, value_dim: int, element_bytes: int) -> int:
    """Bytes a token and layer of latent attention, whose keys and values are unpacked for every head."""
    return 2 * heads * (head_dim + value_dim) * element_bytes


@formula("bytes")
def inside_block(width: int, tensors: int, element_bytes: int) -> int:
    """Bytes a token and layer inside an MLP: its tensors between the projections."""
    return width * tensors * element_bytes


@formula("count")
def active_experts(topk: int, shared: int) -> int:
    """Experts that work on a token: those routed to and those shared."""
    return topk + shared


@formula("bytes")
def inside_experts(inside: int, active: int) -> int:
    """Bytes a token and layer inside all experts that work on it."""
    return inside * active


@formula("bytes")
def parted(attention: int, block: int) -> int:
    """Bytes a token and layer that tensor-parallel GPUs divide among them."""
    return attention + block


@formula("bytes")
def whole_with_experts(whole_bytes: int, mlp_bytes: int, active: int) -> int:
    """As eq. 2's 10, with the input and mask of an MLP once for each active expert; 10 for one expert."""
    return whole_bytes - mlp_bytes + mlp_bytes * active


@formula("bytes", f"{KORTHIKANTI}, eq. 1")
def scores_kept(heads: int, sequence: int, score_bytes: int) -> int:
    """Attention scores that a token keeps in one layer [bytes]."""
    return score_bytes * heads * sequence


@formula("bytes", "Dao 2023, FlashAttention-2, section 3.1")
def sums_kept(heads: int, logsumexp_bytes: int) -> int:
    """What FlashAttention keeps of the scores of a token in one layer [bytes]: one sum a head."""
    return logsumexp_bytes * heads


@formula("bytes", f"{KORTHIKANTI}, section 5")
def no_scores() -> int:
    """Selective recomputation keeps no scores."""
    return 0


@formula("bytes", f"{KORTHIKANTI}, eq. 2 and table 2: s b h (10 + 24 / t + 5 a s / (h t))")
def layer_with_tensor_parallel(hidden: int, whole_bytes: int, parted: int, scores: int, tensor: int) -> Fraction:
    """What a token keeps in one layer on one GPU [bytes]; eq. 1 without tensor parallelism."""
    return hidden * whole_bytes + Fraction(parted + scores, tensor)


@formula("bytes", f"{KORTHIKANTI}, eq. 4 and table 2: s b h / t (34 + 5 a s / h)")
def layer_with_sequence_parallel(hidden: int, whole_bytes: int, parted: int, scores: int, tensor: int) -> Fraction:
    """What a token keeps in one layer on one GPU [bytes], all of it divided by sequence parallelism."""
    return Fraction(hidden * whole_bytes + parted + scores, tensor)


@formula("bytes", f"{KORTHIKANTI}, table 2: 2 s b h")
def input_of_layer(hidden: int, input_bytes: int) -> int:
    """What a token keeps in one layer on one GPU [bytes] under full recomputation: the input of the layer."""
    return hidden * input_bytes


@formula("bytes")
def widened(token_bytes: Fraction, weight_bytes: int, half_bytes: int) -> Fraction:
    """Activations of a format wider than the 16 bits of the paper; its one-byte masks count as wide, too."""
    return token_bytes * Fraction(weight_bytes, half_bytes)


@formula("bytes", f"{KORTHIKANTI}, eq. 5")
def activations_of_gpu(
    token_bytes: Fraction, sequence: int, micro_batch: int, context: int, layers: int, stages: Fraction, held: Fraction
) -> int:
    """Activations on a GPU of the first stage [bytes]: its tokens, its layers, the micro-batches it holds."""
    return ceil(token_bytes * Fraction(sequence * micro_batch, context) * (layers / Fraction(stages)) * held)


@formula("bytes")
def activations_of_replica(
    token_bytes: Fraction, tensor: int, sequence: int, micro_batch: int, layers: int, pipeline: int, held: Fraction
) -> int:
    """Activations on all GPUs of a replica [bytes]; `held` micro-batches are the sum over the stages."""
    return ceil(token_bytes * tensor * sequence * micro_batch * Fraction(layers, pipeline) * held)


@formula("micro-batches")
def enough_micro_batches(pipeline: int) -> int:
    """More micro-batches than any stage holds at a time, for a plan that bounds no batch."""
    return 2 * pipeline


@formula("micro-batches")
def micro_batches(batch_tokens: int, sequence: int, micro_batch: int, data: int) -> int:
    """Micro-batches that a replica works through in one optimizer step."""
    return max(1, ceil(Fraction(batch_tokens, sequence * micro_batch * data)))


@formula("micro-batches", f"{KORTHIKANTI}, section 4.2.3")
def held_by_first(pipeline: int, micro_batches: int) -> int:
    """Micro-batches that the first stage holds before the first of them returns."""
    return min(pipeline, micro_batches)


@formula("micro-batches", f"{KORTHIKANTI}, section 4.2.3: 1 + (p - 1) / (p m)")
def held_by_first_interleaved(pipeline: int, interleave: int, micro_batches: int) -> Fraction:
    """Micro-batches that the first stage holds when its layers are interleaved in chunks."""
    return min(pipeline * (1 + Fraction(pipeline - 1, pipeline * interleave)), Fraction(micro_batches))


@formula("micro-batches", f"{NARAYANAN}, section 2.2.1")
def held_by_all(pipeline: int, micro_batches: int) -> int:
    """Micro-batches that all stages hold together: each stage one fewer than the one before."""
    return sum(min(pipeline - stage, micro_batches) for stage in range(pipeline))


# Stage i warms up with (m - 1) p + 2 (p - 1 - i) chunks and works on one more; i = 0 is the paper's p m + p - 1.
@formula("micro-batches", f"{NARAYANAN}, section 2.2.2")
def held_by_all_interleaved(pipeline: int, interleave: int, micro_batches: int) -> Fraction:
    """Micro-batches that all stages hold together when their layers are interleaved in chunks."""
    return sum(
        (
            min(pipeline + Fraction(pipeline - 2 * stage - 1, interleave), Fraction(micro_batches))
            for stage in range(pipeline)
        ),
        Fraction(0),
    )

"""Memory of a training run: weights, gradients, optimizer states and activations, of a replica and of its fullest GPU.

States follow Rajbhandari et al. 2019 [1], activations Korthikanti et al. 2022 [2]. The fullest GPU is one of the first
pipeline stage. Not counted, as in [2]: embeddings and logits apart from their parameters, buffers of the libraries,
fragmentation, and the one layer that full recomputation restores at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.figures import Assumed, Cited, Figure, Number, Reference, formula
from bomgen.plan import Training

ZERO = "Rajbhandari et al. 2019, ZeRO"
NARAYANAN = "Narayanan et al. 2021, Efficient Large-Scale Language Model Training on GPU Clusters"
KORTHIKANTI = "Korthikanti et al. 2022, Reducing Activation Recomputation"

_ZERO = Reference(
    "Rajbhandari et al. 2019, ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, section 3.1",
    "https://arxiv.org/abs/1910.02054",
    "2026",
)
_DISTRIBUTED = Reference(
    "NVIDIA, Megatron Core user guide, Distributed Optimizer",
    "https://docs.nvidia.com/megatron-core/developer-guide/latest/distrib_optimizer.html",
    "2026",
)
_EIGHT_BIT = Reference(
    "Dettmers et al. 2021, 8-bit Optimizers via Block-wise Quantization", "https://arxiv.org/abs/2110.02861", "2026"
)
_ADAFACTOR = Reference(
    "Shazeer and Stern 2018, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost",
    "https://arxiv.org/abs/1804.04235",
    "2026",
)
_LOW_PRECISION = Reference(
    "NVIDIA, Transformer Engine, introduction to low precision training",
    "https://nvidia.github.io/TransformerEngine/features/low_precision_training/introduction/introduction.html",
)
_IEEE = Reference(
    "IEEE 754-2019, Standard for Floating-Point Arithmetic", "https://doi.org/10.1109/IEEESTD.2019.8766229"
)
_ACTIVATIONS = Reference(
    "Korthikanti et al. 2022, Reducing Activation Recomputation in Large Transformer Models, sections 4.1 to 4.2",
    "https://arxiv.org/abs/2205.05198",
    "2026",
)
_GATED = Reference("Shazeer 2020, GLU Variants Improve Transformer", "https://arxiv.org/abs/2002.05202")


def _cited(value: Number, unit: str, of: str, *references: Reference, note: str | None = None) -> Figure:
    return Figure(value, unit, Cited(of, references, "high", note))


HALF = _cited(2, "bytes", "weight kept in 16 bits", _ZERO, _DISTRIBUTED)
HALF_FOR_NARROW = Figure(
    HALF.value,
    "bytes",
    Assumed(
        "Bytes of a weight trained in fp8 or narrower",
        "Narrow formats are cast from weights kept in 16 bits, which stay beside their fp32 master copy.",
        (_LOW_PRECISION,),
        "medium",
    ),
)
SINGLE = _cited(4, "bytes", "fp32 value; tf32 is stored as fp32", _IEEE)
DOUBLE = _cited(8, "bytes", "fp64 value", _IEEE)
MASTER = _cited(4, "bytes", "fp32 master copy of a weight", _ZERO, _DISTRIBUTED)
GRADIENT_FP32 = _cited(4, "bytes", "gradient kept in fp32", _DISTRIBUTED)
GRADIENT_BF16 = _cited(2, "bytes", "gradient kept in 16 bits", _ZERO)
ADAM = _cited(8, "bytes", "Adam: momentum and variance in fp32", _ZERO)
ADAM_8BIT = _cited(2, "bytes", "8-bit Adam: momentum and variance in one byte each", _EIGHT_BIT)
SGD = _cited(4, "bytes", "SGD: momentum in fp32", _EIGHT_BIT)
ADAFACTOR = _cited(
    0, "bytes", "Adafactor: no momentum", _ADAFACTOR, note="Row and column sums of the second moment: below 0.1 %."
)
WHOLE = _cited(10, "bytes", "eq. 2: kept whole on every tensor-parallel GPU, a token and hidden unit", _ACTIVATIONS)
PARTED = _cited(24, "bytes", "eq. 2: divided among tensor-parallel GPUs, a token and hidden unit", _ACTIVATIONS)
SCORES = _cited(5, "bytes", "eq. 1: softmax, its dropout and mask, a pair of tokens and head", _ACTIVATIONS)
LAYER_INPUT = _cited(2, "bytes", "table 2: input of a layer, a token and hidden unit", _ACTIVATIONS)
# Section 4.1: an MLP keeps 19 of the 34 bytes: input 2 and mask 1 whole, the two 4h-wide tensors of GeLU 16 divided.
MLP_WHOLE = _cited(3, "bytes", "section 4.1: input and mask of an MLP, a token and hidden unit", _ACTIVATIONS)
MLP_PARTED = _cited(16, "bytes", "section 4.1: inside an MLP, a token and hidden unit", _ACTIVATIONS)
# Gated, its three tensors of 2 bytes and width 8h/3 make the same 16h bytes, with as many weights as 4h ungated.
GATED_WIDTH = Figure(
    Fraction(8, 3),
    "ratio",
    Assumed(
        "Width of a gated MLP",
        "Experts are gated: 8/3 of the hidden size holds as many weights and activations as an ungated MLP of 4.",
        (_GATED,),
        "medium",
    ),
)
FULL = "full"
KEPT_AS_THEY_ARE = ("bf16", "fp16", "fp32", "tf32", "fp64")


class Split(NamedTuple):
    """How a run is cut up; `data` is the number of replicas."""

    tensor: Figure
    pipeline: Figure
    interleave: Figure
    context: Figure
    expert: Figure
    data: Figure
    sequence_parallel: bool


class Memory(NamedTuple):
    """What a run keeps [bytes]."""

    weights: Figure
    gradients: Figure
    optimizer: Figure
    activations: Figure | None
    """None: the model's shape or the sequence is not known."""
    total: Figure
    """Of what is known."""


def replica(training: Training, split: Split) -> Memory:
    """What one replica of the model keeps on all its GPUs, its states counted once."""
    weight, gradient, optimizer = _state_bytes(training)
    parameters = training.model.parameters
    states = (weights(parameters, weight), gradients(parameters, gradient), optimizer_states(parameters, optimizer))
    return _memory(states, _activations(training, split, _of_replica))


def per_gpu(training: Training, split: Split) -> Memory:
    """What the fullest GPU of a run keeps: one of the first pipeline stage."""
    weight, gradient, optimizer = _state_bytes(training)
    parameters = training.model.parameters
    stages = _stages(training, split)
    experts = expert_parameters(training)
    if experts is None:
        local = parameters_of_gpu(parameters, split.tensor, stages)
    else:
        local = parameters_of_gpu_with_experts(parameters, experts, split.tensor, stages, split.expert)
    share = parameters_of_gpu_by_zero(parameters, split.tensor, stages, split.data)
    states = (
        weights_of_gpu(local, share, training.zero, weight),
        gradients_of_gpu(local, share, training.zero, gradient),
        optimizer_states_of_gpu(local, share, training.zero, optimizer),
    )
    return _memory(states, _activations(training, split, _of_first_stage))


def _memory(states: tuple[Figure, Figure, Figure], activations: Figure | None) -> Memory:
    sum_ = total_of_states(*states) if activations is None else total(*states, activations)
    return Memory(*states, activations, sum_)


def _state_bytes(training: Training) -> tuple[Figure, Figure, Figure]:
    """Bytes of weight, gradient and optimizer states a parameter."""
    weight = _weight_bytes(training)
    gradient = gradient_bytes(training.gradient_precision, GRADIENT_FP32, GRADIENT_BF16)
    moments = moment_bytes(training.optimizer, ADAM, ADAM_8BIT, SGD, ADAFACTOR)
    return weight, gradient, optimizer_bytes(master_bytes(weight, MASTER), moments)


def _weight_bytes(training: Training) -> Figure:
    half = HALF if training.precision.value in KEPT_AS_THEY_ARE else HALF_FOR_NARROW
    return weight_bytes(training.precision, half, SINGLE, DOUBLE)


@formula("bytes")
def weight_bytes(precision: str, half_bytes: int, single_bytes: int, double_bytes: int) -> int:
    """Bytes of a weight by the format of the matrix products; all formats of 16 bits and fewer keep 16 bits."""
    return {"fp64": double_bytes, "fp32": single_bytes, "tf32": single_bytes}.get(precision, half_bytes)


@formula("bytes")
def gradient_bytes(gradient_precision: str, fp32_bytes: int, bf16_bytes: int) -> int:
    """Bytes of a gradient by the format it is kept in."""
    return fp32_bytes if gradient_precision == "fp32" else bf16_bytes


@formula("bytes", f"{ZERO}, section 3.1")
def master_bytes(weight_bytes: int, fp32_bytes: int) -> int:
    """Bytes of the fp32 master copy of a weight; weights of fp32 or wider need none."""
    return fp32_bytes if weight_bytes < fp32_bytes else 0


@formula("bytes")
def moment_bytes(optimizer: str, adam_bytes: int, adam_8bit_bytes: int, sgd_bytes: int, adafactor_bytes: int) -> int:
    """Bytes a parameter of what an optimizer remembers between steps."""
    return {"adam": adam_bytes, "adam-8bit": adam_8bit_bytes, "sgd": sgd_bytes, "adafactor": adafactor_bytes}[optimizer]


@formula("bytes", f"{ZERO}, section 3.1: K")
def optimizer_bytes(master_bytes: int, moment_bytes: int) -> int:
    """Bytes a parameter of optimizer states: master copy and moments; 12 with Adam in mixed precision."""
    return master_bytes + moment_bytes


@formula("bytes")
def weights(parameters: int, weight_bytes: int) -> int:
    """Weights of a model [bytes]."""
    return parameters * weight_bytes


@formula("bytes")
def gradients(parameters: int, gradient_bytes: int) -> int:
    """Gradients of a model [bytes]."""
    return parameters * gradient_bytes


@formula("bytes")
def optimizer_states(parameters: int, optimizer_bytes: int) -> int:
    """Optimizer states of a model [bytes]."""
    return parameters * optimizer_bytes


@formula("bytes")
def total_of_states(weights: int, gradients: int, optimizer: int) -> int:
    """Weights, gradients and optimizer states [bytes]; activations are not known."""
    return weights + gradients + optimizer


@formula("bytes")
def total(weights: int, gradients: int, optimizer: int, activations: int) -> int:
    """All that a run keeps [bytes]."""
    return weights + gradients + optimizer + activations


def _stages(training: Training, split: Split) -> Figure:
    """The pipeline stages, counted in stages as full as the fullest where the layers do not divide evenly."""
    layers = training.model.shape.get("layers")
    if layers is None or layers.value % split.pipeline.value == 0:
        return split.pipeline
    return full_stages(layers, split.pipeline)


@formula("stages")
def full_stages(layers: int, pipeline: int) -> Fraction:
    """Stages as full as the fullest, which holds ceil(layers / pipeline) layers, that the model would fill."""
    return Fraction(layers, ceil(Fraction(layers, pipeline)))


def expert_parameters(training: Training) -> Figure | None:
    """The parameters of the routed experts, which expert parallelism divides; None: the model has none."""
    model = training.model
    if not model.moe:
        return None
    experts, topk = model.shape.get("experts"), model.shape.get("topk")
    if experts is None or topk is None or experts.value <= topk.value:
        return idle_parameters(model.parameters, model.active_parameters)
    return routed_parameters(model.parameters, model.active_parameters, experts, topk)


@formula("parameters")
def idle_parameters(parameters: int, active_parameters: int) -> int:
    """Parameters of the experts that a token leaves out: the least that routed experts have."""
    return parameters - active_parameters


@formula("parameters")
def routed_parameters(parameters: int, active_parameters: int, experts: int, topk: int) -> Fraction:
    """Parameters of all routed experts: a token leaves experts - topk of them out."""
    return min(Fraction((parameters - active_parameters) * experts, experts - topk), Fraction(parameters))


@formula("parameters")
def parameters_of_gpu(parameters: int, tensor: int, stages: Fraction) -> Fraction:
    """Parameters that a GPU of the fullest stage holds."""
    return Fraction(parameters) / (tensor * stages)


@formula("parameters")
def parameters_of_gpu_with_experts(
    parameters: int, expert_parameters: int, tensor: int, stages: Fraction, expert: int
) -> Fraction:
    """Parameters that a GPU of the fullest stage holds, its experts divided once more."""
    return (parameters - expert_parameters + Fraction(expert_parameters, expert)) / (tensor * stages)


@formula("parameters", f"{ZERO}, section 5")
def parameters_of_gpu_by_zero(parameters: int, tensor: int, stages: Fraction, data: int) -> Fraction:
    """Parameters whose sharded states fall to a GPU; experts have fewer replicas, just as many fewer on a GPU."""
    return Fraction(parameters) / (tensor * stages * data)


@formula("bytes", f"{ZERO}, section 5.3: stage 3")
def weights_of_gpu(local: Fraction, share: Fraction, zero: int, weight_bytes: int) -> int:
    """Weights on a GPU [bytes], divided among the replicas from stage 3."""
    return ceil((share if zero > 2 else local) * weight_bytes)


@formula("bytes", f"{ZERO}, section 5.2: stage 2")
def gradients_of_gpu(local: Fraction, share: Fraction, zero: int, gradient_bytes: int) -> int:
    """Gradients on a GPU [bytes], divided among the replicas from stage 2."""
    return ceil((share if zero >= 2 else local) * gradient_bytes)


@formula("bytes", f"{ZERO}, section 5.1: stage 1")
def optimizer_states_of_gpu(local: Fraction, share: Fraction, zero: int, optimizer_bytes: int) -> int:
    """Optimizer states on a GPU [bytes], divided among the replicas from stage 1."""
    return ceil((share if zero >= 1 else local) * optimizer_bytes)


class _Kept(NamedTuple):
    """What activations are worked out from, once all of it is known."""

    token: Figure
    """Bytes that a token keeps in one layer on one GPU."""
    sequence: Figure
    layers: Figure
    micro_batches: Figure


_Place = Callable[[Training, Split, _Kept], Figure]


def _activations(training: Training, split: Split, place: _Place) -> Figure | None:
    """The activations at a place of the run; None where sequence or shape is not known."""
    layers = training.model.shape.get("layers")
    token = _token_bytes(training, split)
    if training.sequence is None or layers is None or token is None:
        return None
    if training.batch_tokens is None:
        count = enough_micro_batches(split.pipeline)
    else:
        count = micro_batches(training.batch_tokens, training.sequence, training.micro_batch, split.data)
    return place(training, split, _Kept(token, training.sequence, layers, count))


def _of_first_stage(training: Training, split: Split, kept: _Kept) -> Figure:
    if split.interleave.value > 1:
        held = held_by_first_interleaved(split.pipeline, split.interleave, kept.micro_batches)
    else:
        held = held_by_first(split.pipeline, kept.micro_batches)
    stages = _stages(training, split)
    return activations_of_gpu(kept.token, kept.sequence, training.micro_batch, split.context, kept.layers, stages, held)


def _of_replica(training: Training, split: Split, kept: _Kept) -> Figure:
    if split.interleave.value > 1:
        held = held_by_all_interleaved(split.pipeline, split.interleave, kept.micro_batches)
    else:
        held = held_by_all(split.pipeline, kept.micro_batches)
    return activations_of_replica(
        kept.token, split.tensor, kept.sequence, training.micro_batch, kept.layers, split.pipeline, held
    )


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


def _token_bytes(training: Training, split: Split) -> Figure | None:
    """Bytes that a token keeps in one layer on one GPU; None where the shape is not known."""
    hidden = training.model.shape.get("hidden")
    if hidden is None:
        return None
    if training.recompute.value == FULL:
        kept: Figure | None = input_of_layer(hidden, LAYER_INPUT)
    else:
        kept = _kept_in_layer(training, split, hidden)
    weight = _weight_bytes(training)
    return kept if kept is None or weight.value == HALF.value else widened(kept, weight, HALF)


def _kept_in_layer(training: Training, split: Split, hidden: Figure) -> Figure | None:
    heads = training.model.shape.get("heads")
    factors = _layer_bytes(training, hidden)
    if heads is None or training.sequence is None or factors is None:
        return None
    whole, parted = factors
    scores = scores_kept(training.recompute, heads, training.sequence, SCORES)
    if split.sequence_parallel:
        return layer_with_sequence_parallel(hidden, whole, parted, scores, split.tensor)
    return layer_with_tensor_parallel(hidden, whole, parted, scores, split.tensor)


def _layer_bytes(training: Training, hidden: Figure) -> tuple[Figure, Figure] | None:
    """Bytes a token and hidden unit that a layer keeps whole, and divided by the tensor-parallel GPUs.

    In a mixture of experts every layer counts as one of experts: the stages without its few dense ones are fuller.
    Expert parallelism changes nothing, as each GPU gets as many tokens as it sends away when the load is balanced.
    """
    if not training.model.moe:
        return WHOLE, PARTED
    shape = training.model.shape
    topk, width = shape.get("topk"), shape.get("ffn_expert")
    if topk is None or width is None:
        return None
    active = active_experts(topk, shape["shared"]) if "shared" in shape else topk
    return whole_with_experts(WHOLE, MLP_WHOLE, active), parted_with_experts(
        PARTED, MLP_PARTED, active, width, hidden, GATED_WIDTH
    )


@formula("count")
def active_experts(topk: int, shared: int) -> int:
    """Experts that work on a token: those routed to and those shared."""
    return topk + shared


@formula("bytes")
def whole_with_experts(whole_bytes: int, mlp_bytes: int, active: int) -> int:
    """As eq. 2's 10, with the input and mask of an MLP once for each active expert; 10 for one expert."""
    return whole_bytes - mlp_bytes + mlp_bytes * active


@formula("bytes")
def parted_with_experts(
    parted_bytes: int, mlp_bytes: int, active: int, expert_width: int, hidden: int, gated_width: Fraction
) -> Fraction:
    """As eq. 2's 24, with the inside of an MLP scaled to the width of the active experts; 24 for one of 8h/3."""
    return parted_bytes - mlp_bytes + mlp_bytes * active * Fraction(expert_width) / (gated_width * hidden)


@formula("bytes", f"{KORTHIKANTI}, eq. 1 and section 5")
def scores_kept(recompute: str, heads: int, sequence: int, score_bytes: int) -> int:
    """Attention scores that a token keeps in one layer [bytes]; selective recomputation keeps none."""
    return 0 if recompute == "selective" else score_bytes * heads * sequence


@formula("bytes", f"{KORTHIKANTI}, eq. 2 and table 2: s b h (10 + 24 / t + 5 a s / (h t))")
def layer_with_tensor_parallel(
    hidden: int, whole_bytes: int, parted_bytes: Fraction, scores: int, tensor: int
) -> Fraction:
    """What a token keeps in one layer on one GPU [bytes]; eq. 1 without tensor parallelism."""
    return hidden * whole_bytes + Fraction(hidden * parted_bytes + scores, tensor)


@formula("bytes", f"{KORTHIKANTI}, eq. 4 and table 2: s b h / t (34 + 5 a s / h)")
def layer_with_sequence_parallel(
    hidden: int, whole_bytes: int, parted_bytes: Fraction, scores: int, tensor: int
) -> Fraction:
    """What a token keeps in one layer on one GPU [bytes], all of it divided by sequence parallelism."""
    return Fraction(hidden * (whole_bytes + parted_bytes) + scores, tensor)


@formula("bytes", f"{KORTHIKANTI}, table 2: 2 s b h")
def input_of_layer(hidden: int, input_bytes: int) -> int:
    """What a token keeps in one layer on one GPU [bytes] under full recomputation: the input of the layer."""
    return hidden * input_bytes


@formula("bytes")
def widened(token_bytes: Fraction, weight_bytes: int, half_bytes: int) -> Fraction:
    """Activations of a format wider than the 16 bits of the paper; its one-byte masks count as wide, too."""
    return token_bytes * Fraction(weight_bytes, half_bytes)

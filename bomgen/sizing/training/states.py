"""Model states of a training run: weights, gradients and optimizer states, and the adapters of fine-tuning.

They follow Rajbhandari et al. 2019 (ZeRO), whose stages 1 to 3 shard one kind of state after the other over replicas,
and over the GPUs of context parallelism, which hold the same weights.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import NamedTuple

from bomgen.catalog import models
from bomgen.catalog.model_matrices import Matrix, matrices, missing
from bomgen.catalog.parts import Model
from bomgen.core.diagnostics import Infeasible, error_at
from bomgen.core.messages import message, suggestion
from bomgen.core.provenance import (
    Assumed,
    Cited,
    Figure,
    Number,
    Reference,
    difference,
    formula,
    product,
    quotient,
    require,
    sum_of,
)
from bomgen.core.units import BITS_A_BYTE
from bomgen.plan.types import Training, Tuning

# fine tuning --------------------------------------------------------------------------------------------------------
# Fine-tuning with adapters: low-rank matrices added to frozen weights (LoRA), which QLoRA keeps in four bits.
#
# Adapters take 4 FLOPs per frozen parameter and token, and 6 per adapter parameter. Their states are divided like the
# weights that they belong to, which neglects that some halves of adapters are kept by every tensor-parallel GPU.

LORA = "Hu et al. 2021, LoRA, section 4"
QLORA = "Dettmers et al. 2023, QLoRA, section 3"
FULL = "full"
QUANTISED = "qlora"
LEFT_ALONE = ("router", "conv1d")
"""The router of tokens to experts, and the convolution before a state; they are neither adapted nor quantised."""
_QLORA = Reference(
    "Dettmers et al. 2023, QLoRA: Efficient Finetuning of Quantized LLMs, section 3",
    "https://arxiv.org/abs/2305.14314",
    "2026",
)


def _cited_adapter(value: Number, unit: str, of: str) -> Figure:
    return Figure(value, unit, Cited(of, (_QLORA,), "high"))


NF4_BITS = _cited_adapter(4, "bits", message("nf4-bits"))
BLOCK = _cited_adapter(64, "count", message("nf4-block"))
SCALE_BITS = _cited_adapter(8, "bits", message("double-quantisation-scale"))
GROUP = _cited_adapter(256, "count", message("double-quantisation-group"))
GROUP_BITS = _cited_adapter(32, "bits", message("double-quantisation-group-bits"))


@formula("parameters", f"{LORA}: r (inputs + outputs) a matrix")
def adapter(rank: int, inputs: int, outputs: int, copies: int) -> int:
    """Parameters of the adapters of one kind of matrix."""
    return rank * (inputs + outputs) * copies


sum_of_parameters = sum_of("sum_of_parameters", "parameters", "parameters", "more_parameters")
"""Parameters of several kinds of matrix."""
matrix_parameters = product("matrix_parameters", "parameters", "inputs", "outputs", "copies")
"""Parameters of one kind of matrix."""


parameters_of_matrix = product("parameters_of_matrix", "parameters", "inputs", "outputs")
"""Parameters of one matrix."""


@formula("bytes", f"{QLORA}: 4 + 8 / 64 + 32 / (64 x 256) bits")
def quantised_bytes(weight_bits: int, scale_bits: int, block: int, group_bits: int, group: int) -> Fraction:
    """Bytes of a weight in NF4 with double quantisation."""
    return (weight_bits + Fraction(scale_bits, block) + Fraction(group_bits, block * group)) / BITS_A_BYTE


@formula("bytes")
def frozen_and_adapters(parameters: int, adapters: int, weight_bytes: int) -> int:
    """Weights of a model and of its adapters [bytes]."""
    return (parameters + adapters) * weight_bytes


@formula("bytes", QLORA)
def quantised_and_adapters(
    parameters: int, quantised: int, adapters: int, weight_bytes: int, quantised_bytes: Fraction
) -> int:
    """Weights of a model whose matrices are quantised [bytes]; embeddings, norms and adapters keep 16 bits."""
    return ceil(quantised * quantised_bytes) + (parameters - quantised + adapters) * weight_bytes


@formula("FLOPs", f"{LORA}; forward pass and gradient of the inputs of frozen weights, all three of adapters")
def adapted_flops(
    frozen_per_parameter_token: int,
    active_parameters: int,
    flops_per_parameter_token: int,
    active_adapters: int,
    tokens: int,
    epochs: int,
) -> int:
    """Forward and backward FLOPs of a run that trains adapters."""
    return (
        (frozen_per_parameter_token * active_parameters + flops_per_parameter_token * active_adapters) * tokens * epochs
    )


def adapts(training: Training) -> bool:
    """Return whether the run trains adapters and leaves weights frozen."""
    return training.tuning is not None and training.tuning.method.value != FULL


def quantises(training: Training) -> bool:
    """Return whether the run keeps the matrices of its model in four bits."""
    return training.tuning is not None and training.tuning.method.value == QUANTISED


def widest_matrix(training: Training) -> Figure:
    """Return the parameters of the largest matrix. Raises Infeasible when the model's shape is unknown."""
    largest = max(_matrices(training), key=lambda matrix: matrix.inputs.value * matrix.outputs.value)
    return parameters_of_matrix(largest.inputs, largest.outputs)


def adapters(training: Training) -> Figure:
    """Return the parameters of all adapters of a run.

    Raises Infeasible when the model's shape is unknown, PlanErrors for modules that it does not have.
    """
    rank = _tuning(training).rank
    return _sum(adapter(rank, matrix.inputs, matrix.outputs, matrix.count) for matrix in _adapted(training))


def active_adapters(training: Training) -> Figure:
    """Return the parameters of the adapters that process a token: no idle experts. Raises as `adapters` does."""
    rank = _tuning(training).rank
    return _sum(adapter(rank, matrix.inputs, matrix.outputs, matrix.active) for matrix in _adapted(training))


def adapter_weights(training: Training, weight_bytes: Figure) -> Figure:
    """Return the memory of frozen weights and adapters [bytes]. Raises as `adapters` does."""
    parameters, extra = training.model.parameters, adapters(training)
    if not quantises(training):
        return frozen_and_adapters(parameters, extra, weight_bytes)
    narrow = quantised_bytes(NF4_BITS, SCALE_BITS, BLOCK, GROUP_BITS, GROUP)
    quantised = _sum(matrix_parameters(matrix.inputs, matrix.outputs, matrix.count) for matrix in _matrices(training))
    if quantised.value > parameters.value:
        message = (
            f"{parameters.value} parameters are fewer than the {quantised.value} of the matrices of the shape; leave "
            "`parameters` out, or fix the shape"
        )
        raise Infeasible(message, because=parameters, rule="shape")
    return quantised_and_adapters(parameters, quantised, extra, weight_bytes, narrow)


def _tuning(training: Training) -> Tuning:
    return require(training.tuning, "nothing is fine-tuned")


def _matrices(training: Training) -> tuple[Matrix, ...]:
    matrices_of_model = matrices(training.model)
    if matrices_of_model is None:
        message = (
            f"the adapters of {training.model.identity.name} need its shape; name a catalogue model, or give "
            f"{', '.join(missing(training.model))}"
        )
        raise Infeasible(message, because=_tuning(training).method, rule="unknown-shape")
    return tuple(matrix for matrix in matrices_of_model if matrix.name not in LEFT_ALONE)


def _adapted(training: Training) -> tuple[Matrix, ...]:
    tuning, all_ = _tuning(training), _matrices(training)
    if tuning.modules is None:
        return all_
    names = tuple(dict.fromkeys(matrix.name for matrix in all_))
    for wanted in tuning.modules:
        if wanted not in names:
            hint = suggestion(wanted, names, f"it has {', '.join(names)}")
            message = f"{training.model.identity.name} has no matrix '{wanted}'; {hint}"
            path = "workload.fine_tuning.target_modules"
            raise error_at(tuning.modules_mark, message, "unknown-module", path)
    return tuple(matrix for matrix in all_ if matrix.name in tuning.modules)


def _sum(figures: Iterable[Figure]) -> Figure:
    return reduce(sum_of_parameters, figures)


# states -------------------------------------------------------------------------------------------------------------

ZERO = "Rajbhandari et al. 2019, ZeRO"
SHARDED_OVER = "Megatron Core, distributed optimizer: data-parallel ranks with those of context parallelism"
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
_LION = Reference(
    "Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, section 3", "https://arxiv.org/abs/2302.06675"
)
_MUON = Reference(
    "Liu et al. 2025, Muon is Scalable for LLM Training, sections 2.1 and 2.3", "https://arxiv.org/abs/2502.16982"
)
_ADAFACTOR = Reference(
    "Shazeer and Stern 2018, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost",
    "https://arxiv.org/abs/1804.04235",
    "2026",
)
_IN_BACKWARD = Reference(
    "PyTorch tutorials, How to save memory by fusing an optimizer step into the backward pass",
    "https://docs.pytorch.org/tutorials/intermediate/optimizer_step_in_backward_tutorial.html",
)
_LOW_PRECISION = Reference(
    "NVIDIA, Transformer Engine, introduction to low precision training",
    "https://nvidia.github.io/TransformerEngine/features/low_precision_training/introduction/introduction.html",
)
_IEEE = Reference(
    "IEEE 754-2019, Standard for Floating-Point Arithmetic", "https://doi.org/10.1109/IEEESTD.2019.8766229"
)


def _cited(value: Number, unit: str, of: str, *references: Reference, note: str | None = None) -> Figure:
    return Figure(value, unit, Cited(of, references, "high", note))


HALF = _cited(2, "bytes", message("weight-16-bit"), _ZERO, _DISTRIBUTED)
HALF_FOR_NARROW = Figure(
    HALF.value, "bytes", Assumed(message("narrow-weight"), message("narrow-weight-why"), (_LOW_PRECISION,), "medium")
)
SINGLE = _cited(4, "bytes", message("value-fp32"), _IEEE)
DOUBLE = _cited(8, "bytes", message("value-fp64"), _IEEE)
MASTER = _cited(4, "bytes", message("master-copy"), _ZERO, _DISTRIBUTED)
GRADIENT_FP32 = _cited(4, "bytes", message("gradient-fp32"), _DISTRIBUTED)
GRADIENT_BF16 = _cited(2, "bytes", message("gradient-16-bit"), _ZERO)
NO_GRADIENT = _cited(0, "bytes", message("gradient-none"), _IN_BACKWARD)
ADAM = _cited(8, "bytes", message("adam-states"), _ZERO)
ADAM_8BIT = _cited(
    2,
    "bytes",
    message("adam-8-bit-states"),
    _EIGHT_BIT,
    note="Two fp32 constants per block of 2048 values, section 2.2, or 256 (bitsandbytes): at most 0.03 bytes more.",
)
SGD = _cited(4, "bytes", message("sgd-states"), _EIGHT_BIT)
LION = _cited(4, "bytes", message("lion-states"), _LION)
MUON = _cited(4, "bytes", message("muon-states"), _MUON)
ADAFACTOR = _cited(
    0, "bytes", message("adafactor-states"), _ADAFACTOR, note="Row and column sums of the second moment: below 0.1 %."
)
WEIGHTS = {"bf16": HALF, "fp16": HALF, "fp32": SINGLE, "tf32": SINGLE, "fp64": DOUBLE}
"""Bytes of a weight by the format of matrix products; narrower formats keep 16 bits."""
GRADIENTS = {"fp32": GRADIENT_FP32, "bf16": GRADIENT_BF16, "none": NO_GRADIENT}
MOMENTS = {"adam": ADAM, "adam-8bit": ADAM_8BIT, "muon": MUON, "lion": LION, "sgd": SGD, "adafactor": ADAFACTOR}
"""Bytes per parameter that an optimizer keeps between steps beside fp32 master weights."""


class ParallelSplit(NamedTuple):
    """The split of a run over GPUs; `data` is the number of replicas."""

    tensor: Figure
    pipeline: Figure
    data: Figure
    context: Figure
    expert: Figure
    interleave: Figure
    sequence_parallel: bool


def states_of_model(training: Training) -> tuple[Figure, Figure, Figure]:
    """Return weights, gradients and optimizer states of a model [bytes], counted once."""
    weight, gradient, optimizer = state_bytes(training)
    trained = trainable_parameters(training)
    all_ = adapter_weights(training, weight) if adapts(training) else weights(trained, weight)
    return all_, gradients(trained, gradient), optimizer_states(trained, optimizer)


def trainable_parameters(training: Training) -> Figure:
    """Return the parameters that a run trains: all, or those of its adapters."""
    return adapters(training) if adapts(training) else training.model.parameters


def states_of_gpu(
    training: Training, tensor: Figure, pipeline: Figure, stages: Figure, expert: Figure, data: Figure, context: Figure
) -> tuple[Figure, Figure, Figure]:
    """Return weights, gradients and optimizer states of the fullest GPU [bytes]; `stages` count as full as its own."""
    weight, gradient, optimizer = state_bytes(training)
    parameters = training.model.parameters
    if adapts(training):
        # Adapters are split like the weights they belong to: both count on average over all parameters.
        weight, gradient, optimizer = (bytes_per_parameter(total, parameters) for total in states_of_model(training))
    if pipeline.value > 1:
        parameters = _full_stage_parameters(training.model, pipeline, stages)
    local = _local_parameters(training.model, parameters, tensor, stages, expert)
    share = parameters_of_gpu_by_zero(parameters, tensor, stages, data, context)
    return (
        weights_of_gpu(local, share, training.zero, weight),
        gradients_of_gpu(local, share, training.zero, gradient),
        optimizer_states_of_gpu(local, share, training.zero, optimizer),
    )


def parameters_of_layer(model: Model, tensor: Figure, layers: Figure, expert: Figure) -> Figure:
    """Return the parameters of a layer on a GPU; with its share of the embedding where that is unknown."""
    embeddings, parameters = _embeddings(model), model.parameters
    if embeddings and has_room_for_parts(model):
        parameters = parameters_in_layers(parameters, embeddings[0])
    return _local_parameters(model, parameters, tensor, layers, expert)


def _local_parameters(model: Model, parameters: Figure, tensor: Figure, stages: Figure, expert: Figure) -> Figure:
    experts = expert_parameters(model)
    if experts is None:
        return parameters_of_gpu(parameters, tensor, stages)
    return parameters_of_gpu_with_experts(parameters, experts, tensor, stages, expert)


def _full_stage_parameters(model: Model, pipeline: Figure, stages: Figure) -> Figure:
    """Return the parameters if all stages were as full as the fullest; all where the embedding is unknown."""
    layers, embeddings = model.shape.get("layers"), _embeddings(model)
    if layers is None or embeddings is None:
        return model.parameters
    all_, one = embeddings
    return parameters_of_full_stages(model.parameters, all_, one, layers, pipeline, stages)


def _embeddings(model: Model) -> tuple[Figure, Figure] | None:
    """Return the parameters of all embeddings of a model, and of one; None when their size is unknown."""
    vocab, hidden = model.shape.get("vocab"), model.shape.get("hidden")
    if vocab is None or hidden is None:
        return None
    one = models.tied_embedding(vocab, hidden)
    return one if model.tied else models.embeddings(vocab, hidden), one


def has_room_for_parts(model: Model) -> bool:
    """Return whether routed experts and embeddings fit in the parameters; a plan may give fewer parameters."""
    experts, embeddings = expert_parameters(model), _embeddings(model)
    parts = (experts.value if experts else 0) + (embeddings[0].value if embeddings else 0)
    return bool(parts <= model.parameters.value)


def state_bytes(training: Training) -> tuple[Figure, Figure, Figure]:
    """Return bytes of weight, gradient and optimizer states per parameter."""
    weight = bytes_of_weight(training)
    gradient = GRADIENTS[str(training.gradient_precision.value)]
    moments, embeddings = MOMENTS[str(training.optimizer.value)], _embeddings(training.model)
    if moments is MUON and embeddings and not adapts(training):
        moments = mean_moments(moments, ADAM, embeddings[0], training.model.parameters)
    if has_master_weights(training):
        return weight, gradient, optimizer_bytes(master_bytes(weight, MASTER), moments)
    return weight, gradient, moments if moments is ADAM_8BIT else moments_like_weights(moments, weight, SINGLE)


def has_master_weights(training: Training) -> bool:
    """Return whether the optimizer keeps fp32 master weights, in a run of narrower ones."""
    return training.master_weights is None or training.master_weights.value == "yes"


def bytes_of_weight(training: Training) -> Figure:
    """Return bytes of a weight of a run."""
    return WEIGHTS.get(str(training.precision.value), HALF_FOR_NARROW)


@formula("bytes", f"{ZERO}, section 3.1")
def master_bytes(weight_bytes: int, fp32_bytes: int) -> int:
    """Bytes of the fp32 master copy of a weight; weights of fp32 or wider need none."""
    return fp32_bytes if weight_bytes < fp32_bytes else 0


@formula("bytes", "Liu et al. 2025, section 2.2: embeddings and output matrix are updated by AdamW")
def mean_moments(moments: int, adam_moments: int, embeddings: int, parameters: int) -> Fraction:
    """Bytes of moments per parameter with Muon, averaged over matrices and embeddings."""
    return moments + Fraction((adam_moments - moments) * embeddings, parameters)


@formula("bytes", "PyTorch, torch/optim/adamw.py: states have the format of the parameters")
def moments_like_weights(moments: Fraction, weight_bytes: int, fp32_bytes: int) -> Fraction:
    """Bytes of moments per parameter without fp32 master weights."""
    return Fraction(moments * weight_bytes, fp32_bytes)


optimizer_bytes = sum_of("optimizer_bytes", "bytes", "master_bytes", "moment_bytes", source=f"{ZERO}, section 3.1: K")
"""Bytes of optimizer states per parameter: master copy and moments; 12 with Adam in mixed precision."""
bytes_per_parameter = quotient("bytes_per_parameter", "bytes", "in_all_planes", "parameters")
"""Average bytes per parameter of states that differ between parameters."""
weights = product("weights", "bytes", "parameters", "weight_bytes")
"""Weights of a model [bytes]."""
gradients = product("gradients", "bytes", "parameters", "gradient_bytes")
"""Gradients of a model [bytes]."""
optimizer_states = product("optimizer_states", "bytes", "parameters", "optimizer_bytes")
"""Optimizer states of a model [bytes]."""


def expert_parameters(model: Model) -> Figure | None:
    """Return the parameters of the routed experts, which expert parallelism divides; None: no experts."""
    if not model.moe:
        return None
    experts, topk = model.shape.get("experts"), model.shape.get("topk")
    if experts is None or topk is None or experts.value <= topk.value:
        return idle_parameters(model.parameters, model.active_parameters)
    return routed_parameters(model.parameters, model.active_parameters, experts, topk)


parameters_in_layers = difference("parameters_in_layers", "parameters", "parameters", "embeddings")
"""Parameters of all layers."""
idle_parameters = difference("idle_parameters", "parameters", "parameters", "active_parameters")
"""Parameters of the experts that a token skips: a lower bound for those of all routed experts."""


@formula("parameters")
def routed_parameters(parameters: int, active_parameters: int, experts: int, topk: int) -> Fraction:
    """Parameters of all routed experts: a token skips experts - topk of them."""
    return min(Fraction((parameters - active_parameters) * experts, experts - topk), Fraction(parameters))


@formula("parameters")
def parameters_of_gpu(parameters: int, tensor: int, stages: Fraction) -> Fraction:
    """Parameters on a GPU of the fullest stage."""
    return Fraction(parameters) / (tensor * stages)


@formula("parameters")
def parameters_of_full_stages(
    parameters: int, embeddings: int, embedding: int, layers: int, pipeline: int, stages: Fraction
) -> Fraction:
    """Parameters of `stages` stages as full as the fullest: one with most layers, or one with an embedding.

    The stages with an embedding have the fewest layers that leave all others at most one more.
    """
    return Fraction(stages) * max(
        Fraction(parameters - embeddings, layers) * ceil(Fraction(layers, pipeline)),
        Fraction(parameters - embeddings, layers) * ((layers + embeddings // embedding - 1) // pipeline) + embedding,
    )


@formula("parameters")
def parameters_of_gpu_with_experts(
    parameters: int, expert_parameters: int, tensor: int, stages: Fraction, expert: int
) -> Fraction:
    """Parameters on a GPU of the fullest stage, whose experts are also divided by expert parallelism."""
    return (parameters - expert_parameters + Fraction(expert_parameters, expert)) / (tensor * stages)


@formula("parameters", f"{ZERO}, section 5; {SHARDED_OVER}")
def parameters_of_gpu_by_zero(parameters: int, tensor: int, stages: Fraction, data: int, context: int) -> Fraction:
    """Parameters whose sharded states a GPU holds; experts have fewer replicas and as many fewer per GPU."""
    return Fraction(parameters) / (tensor * stages * data * context)


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

"""States of a training run: weights, gradients and optimizer states, of a model and of the fullest GPU.

They follow Rajbhandari et al. 2019 (ZeRO): its stages 1 to 3 divide one kind after the other among the replicas.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from bomgen.figures import Assumed, Cited, Figure, Number, Reference, formula
from bomgen.plan import Training

ZERO = "Rajbhandari et al. 2019, ZeRO"
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
KEPT_AS_THEY_ARE = ("bf16", "fp16", "fp32", "tf32", "fp64")


def states_of_model(training: Training) -> tuple[Figure, Figure, Figure]:
    """Weights, gradients and optimizer states of a model, counted once."""
    weight, gradient, optimizer = _state_bytes(training)
    parameters = training.model.parameters
    return weights(parameters, weight), gradients(parameters, gradient), optimizer_states(parameters, optimizer)


def states_of_gpu(
    training: Training, tensor: Figure, stages: Figure, expert: Figure, data: Figure
) -> tuple[Figure, Figure, Figure]:
    """Weights, gradients and optimizer states of a GPU of the fullest stage; `stages` are as full as that one."""
    weight, gradient, optimizer = _state_bytes(training)
    parameters = training.model.parameters
    experts = expert_parameters(training)
    if experts is None:
        local = parameters_of_gpu(parameters, tensor, stages)
    else:
        local = parameters_of_gpu_with_experts(parameters, experts, tensor, stages, expert)
    share = parameters_of_gpu_by_zero(parameters, tensor, stages, data)
    return (
        weights_of_gpu(local, share, training.zero, weight),
        gradients_of_gpu(local, share, training.zero, gradient),
        optimizer_states_of_gpu(local, share, training.zero, optimizer),
    )


def _state_bytes(training: Training) -> tuple[Figure, Figure, Figure]:
    """Bytes of weight, gradient and optimizer states a parameter."""
    weight = bytes_of_weight(training)
    gradient = gradient_bytes(training.gradient_precision, GRADIENT_FP32, GRADIENT_BF16)
    moments = moment_bytes(training.optimizer, ADAM, ADAM_8BIT, SGD, ADAFACTOR)
    return weight, gradient, optimizer_bytes(master_bytes(weight, MASTER), moments)


def bytes_of_weight(training: Training) -> Figure:
    """Bytes of a weight of a run."""
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

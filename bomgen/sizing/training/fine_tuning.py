"""Fine-tuning with adapters: low-rank matrices added to frozen weights (LoRA), which QLoRA keeps in four bits.

Adapters take 4 FLOPs per frozen parameter and token, and 6 per adapter parameter. Their states are divided like the
weights that they belong to, which leaves out that some halves of adapters are kept by every tensor-parallel GPU.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil

from bomgen.catalog.model_parameters.matrices import Matrix, matrices, missing
from bomgen.core.diagnostics import Infeasible, PlanErrors, Problem, suggestion
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Number, Reference, formula, product, require, sum_of
from bomgen.plan.types import Training, Tuning

LORA = "Hu et al. 2021, LoRA, section 4"
QLORA = "Dettmers et al. 2023, QLoRA, section 3"
FULL = "full"
QUANTISED = "qlora"
LEFT_ALONE = ("router", "conv1d")
"""What routes tokens to experts, and the convolution before a state; they are neither adapted nor quantised."""
BITS_A_BYTE = 8
_QLORA = Reference(
    "Dettmers et al. 2023, QLoRA: Efficient Finetuning of Quantized LLMs, section 3",
    "https://arxiv.org/abs/2305.14314",
    "2026",
)


def _cited(value: Number, unit: str, of: str) -> Figure:
    return Figure(value, unit, Cited(of, (_QLORA,), "high"))


NF4_BITS = _cited(4, "bits", message("nf4-bits"))
BLOCK = _cited(64, "count", message("nf4-block"))
SCALE_BITS = _cited(8, "bits", message("double-quantisation-scale"))
GROUP = _cited(256, "count", message("double-quantisation-group"))
GROUP_BITS = _cited(32, "bits", message("double-quantisation-group-bits"))


@formula("parameters", f"{LORA}: r (inputs + outputs) a matrix")
def adapter(rank: int, inputs: int, outputs: int, copies: int) -> int:
    """Parameters of the adapters of one kind of matrix."""
    return rank * (inputs + outputs) * copies


sum_of_parameters = sum_of("sum_of_parameters", "parameters", "parameters", "more_parameters")
"""Parameters of several kinds of matrix."""
matrix_parameters = product("matrix_parameters", "parameters", "inputs", "outputs", "copies")
"""Parameters of one kind of matrix."""


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
    """Whether the run trains adapters and leaves weights frozen."""
    return training.tuning is not None and training.tuning.method.value != FULL


def adapters(training: Training) -> Figure:
    """The parameters of all adapters of a run.

    Raises Infeasible when the model's shape is not known, PlanErrors for modules that it does not have.
    """
    tuning = _tuning(training)
    return _sum(adapter(tuning.rank, each.inputs, each.outputs, each.count) for each in _adapted(training))


def active_adapters(training: Training) -> Figure:
    """The parameters of the adapters that process a token, without those of idle experts. Raises as `adapters`."""
    tuning = _tuning(training)
    return _sum(adapter(tuning.rank, each.inputs, each.outputs, each.active) for each in _adapted(training))


def weights(training: Training, weight_bytes: Figure) -> Figure:
    """Memory of frozen weights and adapters [bytes]. Raises as `adapters`."""
    parameters, extra = training.model.parameters, adapters(training)
    if _tuning(training).method.value != QUANTISED:
        return frozen_and_adapters(parameters, extra, weight_bytes)
    narrow = quantised_bytes(NF4_BITS, SCALE_BITS, BLOCK, GROUP_BITS, GROUP)
    quantised = _sum(matrix_parameters(each.inputs, each.outputs, each.count) for each in _matrices(training))
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
    found = matrices(training.model)
    if found is None:
        message = (
            f"the adapters of {training.model.identity.name} need its shape; name a catalogue model, or give "
            f"{', '.join(missing(training.model))}"
        )
        raise Infeasible(message, because=_tuning(training).method, rule="unknown-shape")
    return tuple(each for each in found if each.name not in LEFT_ALONE)


def _adapted(training: Training) -> tuple[Matrix, ...]:
    tuning, all_ = _tuning(training), _matrices(training)
    if tuning.modules is None:
        return all_
    names = tuple(dict.fromkeys(each.name for each in all_))
    for wanted in tuning.modules:
        if wanted not in names:
            hint = suggestion(wanted, names, f"it has {', '.join(names)}")
            message = f"{training.model.identity.name} has no matrix '{wanted}'; {hint}"
            path = "workload.fine_tuning.target_modules"
            raise PlanErrors([Problem(tuning.modules_mark, "error", message, "unknown-module", path)])
    return tuple(each for each in all_ if each.name in tuning.modules)


def _sum(figures: Iterable[Figure]) -> Figure:
    total: Figure | None = None
    for figure in figures:
        total = figure if total is None else sum_of_parameters(total, figure)
    return require(total, "a model has matrices")

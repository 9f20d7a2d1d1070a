"""Memory of a training run: of a replica, of its fullest GPU, and of the splits that a search may choose.

Model states follow Rajbhandari et al. 2019 [1], activations Korthikanti et al. 2022 [2]. The fullest GPU is in the
first pipeline stage. Not counted for pre-training, as in [2]: activations of embeddings and logits, buffers of
libraries, fragmentation, and the layer that full recomputation restores at a time. Fine-tuning has a reserve for them.

The reserve of fine-tuning is for libraries and for the working memory of a step, which has two peaks. The loss needs
the logits; with `gradient_precision: none` the gradient of the output matrix is held beside them. Then the backward
pass restores one layer at a time where activations are recomputed, gathers two where weights are sharded, and unpacks a
matrix that is kept in four bits. Until then the gradients of the step do not exist, so that its working memory counts
as far as it exceeds them, unless they are accumulated over micro-batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache, reduce
from math import ceil, gcd
from types import MappingProxyType
from typing import NamedTuple

from bomgen.catalog.parts import Gpu, Model
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Figure, Reference, assume, difference, formula, sum_of
from bomgen.fabric.clos.shape import divisors
from bomgen.plan.types import ACTIVATIONS, OPTIMIZER, Training
from bomgen.sizing.training import states
from bomgen.sizing.training.activations import (
    FULL,
    NONE,
    activations_beside_host,
    activations_of_gpu,
    activations_of_replica,
    bytes_of_token,
    held_by_all,
    held_by_all_interleaved,
    held_by_first,
    held_by_first_interleaved,
    micro_batches,
)
from bomgen.sizing.training.states import ParallelSplit, states_of_gpu, states_of_model

_CONTEXT = Reference(
    "PyTorch, issue 28113: 200 to 700 MB beside what PyTorch allocates, the context of CUDA",
    "https://github.com/pytorch/pytorch/issues/28113",
    "2026-11-28",
)
_NCCL = Reference(
    "NVIDIA, NCCL, issue 964: 688 MB for a group of more than two A100 with NVLink",
    "https://github.com/NVIDIA/nccl/issues/964",
    "2026-11-28",
)
_CHUNKED = Reference(
    "torchtune, LinearCrossEntropyLoss: num_output_chunks 8",
    "https://github.com/pytorch/torchtune/blob/main/torchtune/modules/loss/cross_entropy_loss.py",
    "2026-11-28",
)
_FSDP = Reference(
    "PyTorch, FSDP2 (fully_shard): the next layer is gathered while one is processed",
    "https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html",
    "2026-11-28",
)


CONTEXT = assume(message("cuda-context"), message("cuda-context-why"), 500_000_000, "bytes", _CONTEXT)
BUFFERS = assume(message("training-buffers"), message("training-buffers-why"), 688_000_000, "bytes", _NCCL)
CHUNKS = assume(message("loss-chunks"), message("loss-chunks-why"), 8, "count", _CHUNKED)
LOGIT_BYTES = assume(message("training-logits"), message("training-logits-why"), 10, "bytes", _CHUNKED)
LAYERS_GATHERED = assume(message("layers-gathered"), message("layers-gathered-why"), 2, "layers", _FSDP)


def reserve_of_gpu(training: Training, split: states.ParallelSplit, gradients: Figure) -> dict[str, Figure]:
    """Return the parts of the reserve of a fine-tuning run on a GPU [bytes], by name; none for pre-training."""
    if training.tuning is None:
        return {}
    buffers = communication_buffers(BUFFERS, split.tensor, split.pipeline, split.data, split.context)
    parts = {"libraries": CONTEXT, "nccl": buffers}
    loss, layer = _loss(training, split), _layer(training, split)
    if loss and layer and training.sequence:
        count = micro_batches(training.batch_tokens, training.sequence, training.micro_batch, split.data)
        parts["step"] = working_memory(loss, layer, gradients, count)
    return parts


def _loss(training: Training, split: states.ParallelSplit) -> Figure | None:
    """Return the working memory of the loss [bytes]; None where the vocabulary is unknown."""
    vocab, hidden, sequence = training.model.shape.get("vocab"), training.model.shape.get("hidden"), training.sequence
    if vocab is None or hidden is None or sequence is None:
        return None
    logits = logits_of_chunk(vocab, LOGIT_BYTES, sequence, training.micro_batch, split.context, CHUNKS, split.tensor)
    if training.gradient_precision.value != NONE or states.adapts(training):
        return logits
    return loss_and_gradient(logits, vocab, hidden, states.bytes_of_weight(training), split.tensor)


def _layer(training: Training, split: states.ParallelSplit) -> Figure | None:
    """Return the working memory of a layer in the backward pass [bytes]; None where the shape is unknown."""
    layers, tensor = training.model.shape.get("layers"), split.tensor
    if layers is None:
        return None
    parameters = states.parameters_of_layer(training.model, tensor, layers, split.expert)
    average = states.bytes_per_parameter(states.states_of_model(training)[0], training.model.parameters)
    bytes_held = gathered_layers(parameters, average, training.zero, split.data, split.context, LAYERS_GATHERED)
    if states.quantises(training):
        bytes_held = add_unpacked(bytes_held, states.widest_matrix(training), states.HALF, tensor)
    if training.recompute.value == FULL and training.sequence:
        whole = training._replace(recompute=Figure(NONE, "word", training.recompute.origin))
        if token := bytes_of_token(whole, tensor, split.sequence_parallel):
            bytes_held = add_restored(bytes_held, token, training.sequence, training.micro_batch, split.context)
    return bytes_held


@formula("bytes")
def communication_buffers(buffers: int, tensor: int, pipeline: int, data: int, context: int) -> int:
    """Buffers of NCCL on a GPU [bytes]; none for a run on one GPU."""
    return buffers if tensor * pipeline * data * context > 1 else 0


@formula("bytes")
def logits_of_chunk(
    vocab: int, logit_bytes: int, sequence: int, micro_batch: int, context: int, chunks: int, tensor: int
) -> Fraction:
    """Logits and their gradients of the tokens whose loss is worked out at a time [bytes]."""
    return Fraction(vocab * logit_bytes * sequence * micro_batch, context * chunks * tensor)


@formula("bytes")
def loss_and_gradient(logits: Fraction, vocab: int, hidden: int, weight_bytes: int, tensor: int) -> Fraction:
    """Logits, and the gradient of the output matrix, which is freed with the update of its weights [bytes]."""
    return logits + Fraction(vocab * hidden * weight_bytes, tensor)


@formula("bytes")
def gathered_layers(
    layer_parameters: Fraction, parameter_bytes: Fraction, zero: int, data: int, context: int, layers: int
) -> Fraction:
    """Weights of the layers that are gathered at a time [bytes], from ZeRO stage 3."""
    return layer_parameters * parameter_bytes * layers if zero > 2 and data * context > 1 else Fraction(0)


@formula("bytes", f"{states.QLORA}: weights are dequantised for each product")
def add_unpacked(gathered: Fraction, parameters: int, weight_bytes: int, tensor: int) -> Fraction:
    """Working memory of a layer with the 16-bit copy of its widest matrix [bytes]."""
    return gathered + Fraction(parameters * weight_bytes, tensor)


@formula("bytes")
def add_restored(gathered: Fraction, token_bytes: Fraction, sequence: int, micro_batch: int, context: int) -> Fraction:
    """Working memory of a layer with its activations, which are recomputed [bytes]."""
    return gathered + token_bytes * Fraction(sequence * micro_batch, context)


@formula("bytes")
def working_memory(loss: Fraction, layer: Fraction, gradients: int, micro_batches: int) -> int:
    """Working memory of a step [bytes], beyond the room of gradients that a step of one micro-batch has yet to make."""
    return ceil(max(loss, layer) if micro_batches > 1 else max(loss - gradients, layer - gradients, Fraction(0)))


OFFLOAD = "Ren et al. 2021, ZeRO-Offload, arXiv 2101.06840, section 4: optimizer states and its work on the CPU"
_CPU_OFFLOAD = Reference(
    "NVIDIA, Transformer Engine, transformer_engine/pytorch/cpu_offload.py: double buffering",
    "https://github.com/NVIDIA/TransformerEngine/blob/main/transformer_engine/pytorch/cpu_offload.py",
)
LAYERS_KEPT = Figure(
    2, "layers", Assumed(message("layers-kept"), message("layers-kept-why"), (_CPU_OFFLOAD,), "medium")
)


class Memory(NamedTuple):
    """Memory of a run [bytes]."""

    weights: Figure
    gradients: Figure
    optimizer: Figure
    activations: Figure | None
    """Activations; None: the model's shape or the sequence is unknown."""
    total: Figure
    """Sum of the known parts, and of the reserve."""
    host: Figure | None = None
    """Host memory per GPU [bytes]; None: the plan moves nothing there."""
    reserve: Mapping[str, Figure] = MappingProxyType({})
    """Memory beside these by purpose [bytes]; empty for pre-training, and for a whole replica."""


def replica(training: Training, split: ParallelSplit) -> Memory:
    """Return the memory of one replica of the model on all its GPUs, model states counted once."""
    kept = _kept_of_token(training, split)
    if kept is None:
        return _memory(states_of_model(training), None)
    if split.interleave.value > 1:
        held = held_by_all_interleaved(split.pipeline, split.interleave, kept.micro_batches)
    else:
        held = held_by_all(split.pipeline, kept.micro_batches)
    activations = activations_of_replica(
        kept.token, split.tensor, kept.sequence, training.micro_batch, kept.layers, split.pipeline, held
    )
    return _memory(states_of_model(training), activations)


def per_gpu(training: Training, split: ParallelSplit) -> Memory:
    """Return the memory of the fullest GPU of a run, which is in the first pipeline stage."""
    stages = equivalent_stages(training.model, split.pipeline)
    shared_by = (split.expert, split.data, split.context)
    weights, gradients, optimizer = states_of_gpu(training, split.tensor, split.pipeline, stages, *shared_by)
    kept, activations, host = _kept_of_token(training, split), None, None
    if kept:
        first_stage = _first_stage(training, split, kept)
        activations = activations_of_gpu(*first_stage)
        if ACTIVATIONS in training.offload:
            on_gpu = activations_beside_host(*first_stage, LAYERS_KEPT)
            activations, host = on_gpu, moved_activations(activations, on_gpu)
    if OPTIMIZER in training.offload:
        host = moved_states(optimizer, host) if host else optimizer
        optimizer = optimizer_beside_host()
    need = _memory((weights, gradients, optimizer), activations)._replace(host=host)
    reserve = reserve_of_gpu(training, split, gradients)
    if reserve:
        need = need._replace(total=total_with_reserve(need.total, reduce(sum_of_reserve, reserve.values())))
    return need._replace(reserve=reserve)


def _memory(states: tuple[Figure, Figure, Figure], activations: Figure | None) -> Memory:
    sum_ = total_of_states(*states) if activations is None else total(*states, activations)
    return Memory(*states, activations, sum_)


@formula("bytes", OFFLOAD)
def optimizer_beside_host() -> int:
    """Optimizer states on a GPU [bytes] if the optimizer runs in host memory: none."""
    return 0


moved_activations = difference("moved_activations", "bytes", "activations", "kept")
"""Activations of a GPU in host memory [bytes]."""


moved_states = sum_of("moved_states", "bytes", "optimizer", "activations", source=OFFLOAD)
"""Optimizer states and activations of a GPU in host memory [bytes]."""
total_of_states = sum_of("total_of_states", "bytes", "weights", "gradients", "optimizer")
"""Weights, gradients and optimizer states [bytes], where activations are not known."""
total = sum_of("total", "bytes", "weights", "gradients", "optimizer", "activations")
"""Weights, gradients, optimizer states and activations [bytes]."""
sum_of_reserve = sum_of("sum_of_reserve", "bytes", "reserve_part", "more_reserve")
"""Parts of the reserve [bytes]."""
total_with_reserve = sum_of("total_with_reserve", "bytes", "without_reserve", "reserve_part")
"""Model states, activations and reserve [bytes]."""


def equivalent_stages(model: Model, pipeline: Figure) -> Figure:
    """Return the pipeline stages, counted as full as the fullest when layers do not divide evenly."""
    layers = model.shape.get("layers")
    if layers is None or layers.value % pipeline.value == 0:
        return pipeline
    return full_stages(layers, pipeline)


@formula("stages")
def full_stages(layers: int, pipeline: int) -> Fraction:
    """The number of stages that the model fills when each has ceil(layers / pipeline) layers."""
    return Fraction(layers, ceil(Fraction(layers, pipeline)))


class _Kept(NamedTuple):
    """The inputs of activations, all of them known."""

    token: Figure
    """Activations of a token in one layer on one GPU [bytes]."""
    sequence: Figure
    layers: Figure
    micro_batches: Figure


def _kept_of_token(training: Training, split: ParallelSplit) -> _Kept | None:
    """Return the inputs of activations; None when sequence or shape is unknown."""
    layers = training.model.shape.get("layers")
    token = bytes_of_token(training, split.tensor, split.sequence_parallel)
    if training.sequence is None or layers is None or token is None:
        return None
    count = micro_batches(training.batch_tokens, training.sequence, training.micro_batch, split.data)
    return _Kept(token, training.sequence, layers, count)


def _first_stage(training: Training, split: ParallelSplit, kept: _Kept) -> tuple[Figure, ...]:
    if split.interleave.value > 1:
        held = held_by_first_interleaved(split.pipeline, split.interleave, kept.micro_batches)
    else:
        held = held_by_first(split.pipeline, kept.micro_batches)
    stages = equivalent_stages(training.model, split.pipeline)
    return kept.token, kept.sequence, training.micro_batch, split.context, kept.layers, stages, held


# candidates ---------------------------------------------------------------------------------------------------------
# Splits of a run over GPUs that a search may choose, and the memory of each.

NARAYANAN = Reference(
    "Narayanan et al. 2021, Efficient Large-Scale Language Model Training on GPU Clusters, sections 3.2 and 3.3",
    "https://arxiv.org/abs/2104.04473",
    "2026",
)


class ModelSplit(NamedTuple):
    """A split of the model that a search may choose."""

    tensor: int
    pipeline: int
    context: int
    expert: int
    interleave: int = 1

    @property
    def size(self) -> int:
        """GPUs of a replica."""
        return self.tensor * self.pipeline * self.context

    def __str__(self) -> str:
        text = message("split-of", tensor=self.tensor, pipeline=self.pipeline)
        if self.context > 1:
            text = message("split-with-context", split=text, ways=self.context)
        if self.interleave > 1:
            text = message("split-with-interleave", split=text, ways=self.interleave)
        return message("split-with-experts", split=text, ways=self.expert) if self.expert > 1 else text


def degrees_of(split: ParallelSplit) -> ModelSplit:
    """Return the degrees of a split as plain numbers."""
    degrees = (split.tensor, split.pipeline, split.context, split.expert, split.interleave)
    return ModelSplit(*(int(degree.value) for degree in degrees))


class TimedSplit(NamedTuple):
    """A split and its predicted step."""

    seconds: float
    candidate: ModelSplit
    gpus: int
    """GPUs of all replicas."""
    recompute: str
    """The recomputation of the run."""


class FastestSplits(NamedTuple):
    """The result of a search for the fastest split."""

    fitting: list[TimedSplit]
    """The fastest of those that fit, the fastest first."""
    too_large: list[ModelSplit]
    """Faster ones that do not fit, those nearest in speed first."""


@formula("count")
def data_parallel(gpus: int, tensor: int, pipeline: int, context: int) -> int:
    """Replicas of the model on the GPUs."""
    return gpus // (tensor * pipeline * context)


def tensor_degrees(training: Training, gpus: int) -> list[int]:
    """Return the degrees that divide GPUs and attention heads."""
    heads = training.model.shape.get("heads")
    return divisors(gcd(gpus, heads.value) if heads is not None else gpus)


def expert_degrees(training: Training, ranks: int) -> list[int]:
    """Return the numbers of GPUs over which experts can be spread; 1 for a model without experts."""
    experts = training.model.shape.get("experts")
    if experts is None:
        return [1]
    return [degree for degree in divisors(experts.value) if ranks % degree == 0]


def memory_needed(training: Training, candidate: ModelSplit, gpus: Figure) -> Memory:
    """Return the memory of the fullest GPU of a split."""
    return per_gpu(training, split_of(candidate, gpus))


def split_of(candidate: ModelSplit, gpus: Figure, fastest: bool = False) -> ParallelSplit:
    """Return a candidate as a split of all GPUs, chosen as the fastest or for its size."""
    degrees = zip(candidate, _origins_of_degrees(fastest), strict=True)
    tensor, pipeline, context, expert, interleave = (Figure(degree, "count", origin) for degree, origin in degrees)
    return ParallelSplit(
        tensor=tensor,
        pipeline=pipeline,
        interleave=interleave,
        context=context,
        expert=expert,
        data=data_parallel(gpus, tensor, pipeline, context),
        sequence_parallel=candidate.tensor > 1,
    )


@cache
def _origins_of_degrees(fastest: bool) -> tuple[Assumed, ...]:
    """Return the origins of the degrees of a `ModelSplit`, cached for thousands of candidates."""
    why, expert_why = ("fastest-why", "fastest-why") if fastest else ("split-why", "expert-why")
    reasons = {"tensor-degree": why, "pipeline-stages": why, "context-degree": why, "expert-degree": expert_why}
    reasons["degree"] = why if fastest else "degree-why"
    return tuple(
        Assumed(message(name), message(reason), (NARAYANAN,), "medium", chosen=True) for name, reason in reasons.items()
    )


def fits_gpu(need: Memory, gpu: Gpu) -> bool | None:
    """Return whether the memory needed fits a GPU and its share of host memory, if known; None when unknown."""
    if exceeds_host(need, gpu):
        return False
    if gpu.memory_bytes is None:
        return None
    if need.total.value > gpu.memory_bytes.value:
        return False
    return None if need.activations is None else True


def exceeds_host(need: Memory, gpu: Gpu) -> bool:
    """Return whether the data moved to host memory exceeds the share of a GPU."""
    return bool(need.host and gpu.host_memory and need.host.value > gpu.host_memory.value)

"""The reserve of a fine-tuned GPU, beside model states and activations: libraries and the working memory of a step.

A step has two peaks. The loss needs the logits; with `gradient_precision: none` the gradient of the output matrix is
held beside them. Then the backward pass restores one layer at a time where activations are recomputed, gathers two
where weights are sharded, and unpacks a matrix that is kept in four bits. Until then the gradients of the step do not
exist, so that its working memory counts as far as it exceeds them, unless they are accumulated over micro-batches.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from bomgen.core.messages import message
from bomgen.core.provenance import Figure, Reference, assume, formula
from bomgen.plan.types import Training
from bomgen.sizing.training import states
from bomgen.sizing.training.activations import FULL, NONE, bytes_of_token, micro_batches

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
    found = gathered_layers(parameters, average, training.zero, split.data, split.context, LAYERS_GATHERED)
    if states.quantises(training):
        found = add_unpacked(found, states.widest_matrix(training), states.HALF, tensor)
    if training.recompute.value == FULL and training.sequence:
        whole = training._replace(recompute=Figure(NONE, "word", training.recompute.origin))
        if token := bytes_of_token(whole, tensor, split.sequence_parallel):
            found = add_restored(found, token, training.sequence, training.micro_batch, split.context)
    return found


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

"""Replicas of a served model: the one that the plan specifies, or those that hold the model.

Tensor parallelism is tried in degrees that divide heads and server, then pipeline stages of the largest of them, and
for mixtures of experts attention by requests. Layers with a window or a state are assumed to be spread evenly over the
stages, as in published models, which alternate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from heapq import merge
from itertools import takewhile
from math import lcm
from types import MappingProxyType
from typing import NamedTuple

from bomgen.catalog.parts import Gpu, Model
from bomgen.core.diagnostics import Infeasible, error_at
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Assumed, Figure, Mark, difference, first_given, formula, product, require
from bomgen.core.units import GIGA
from bomgen.fabric.clos.shape import divisors
from bomgen.plan.types import DATA, Degrees, Inference
from bomgen.sizing.serving import kv_cache
from bomgen.sizing.serving.gpu_memory import (
    SGLANG,
    VLLM,
    VLLM_PARALLELISM,
    WHOLE,
    memory_needed,
    memory_seen,
    reserve_of_gpu,
    room_of_gpu,
    weights_of_gpu,
)
from bomgen.sizing.serving.gpu_memory import by_requests as by_requests
from bomgen.sizing.serving.kv_cache import VALUE_BYTES
from bomgen.sizing.training.memory import equivalent_stages
from bomgen.sizing.training.parallelism import MAX_REASONS, SERVER_GPUS, join_alternatives, nearest_divisors

MOST_STAGES = 16
"""Maximum stages of a replica larger than necessary; the deepest published pipelines, in training, have 16."""
SERVERS_OF_EXPERTS = (2, 3, 4, 6, 8)
"""Servers over which a search spreads the experts of a replica; DeepSeek and LMSYS ran 4 to 18."""
MOST_SHARE = Fraction("0.95")
"""The largest `memory_share` that is advised; the rest is for what fragments and other programs take."""
MAX_STAGES = 128
"""Pipeline stages to try for a model whose layers are unknown; most published models have fewer layers."""
PATH = "workload.inference"

ONE_GPU = (WHOLE, WHOLE, WHOLE)
"""The degrees of a replica of one GPU."""


class Shortage(NamedTuple):
    """The reason why a replica does not hold the model; sizes are of the fullest GPU [bytes]."""

    tensor: int
    pipeline: int
    weights: Fraction
    """Weights of the model."""
    cache: Fraction | None
    """KV cache of one request; None if unknown."""
    room: Fraction
    memory: Fraction
    """Memory that CUDA sees."""
    enough: Fraction
    """A sufficient memory, by the GB of data sheets."""
    remedy: str | None
    """A sufficient change of the plan; None: no single change is."""

    @property
    def needed(self) -> Fraction:
        """Memory needed on one GPU."""
        return self.weights + (self.cache or 0)

    @property
    def message(self) -> Message:
        """The shortage, and the remedy."""
        sizes = {
            "weights": _gb(self.weights),
            "memory": _gb(self.memory),
            "room": _gb(self.room),
            "missing": _gb(self.needed - self.room),
            "change": self.remedy or message("larger-gpu", memory=_gb(self.enough)),
        }
        if self.cache is None:
            shortage = message("replica-overfull", **sizes)
        else:
            shortage = message("replica-overfull-cache", cache=_gb(self.cache), **sizes)
        split = message("split-of", tensor=self.tensor, pipeline=self.pipeline)
        return message("split-does-not-fit", split=split, shortage=shortage)


class Replica(NamedTuple):
    """GPUs that hold the model once."""

    tensor: Figure
    pipeline: Figure
    gpus: Figure
    stages: Figure
    """Pipeline stages, counted as full as the fullest."""
    weights: Figure
    """Weights on the fullest GPU [bytes]."""
    request: Figure | None
    """KV cache of a request on the fullest GPU [bytes]; None if unknown."""
    room: Figure | None
    """Memory for weights and KV cache [bytes]; None: the GPU's memory is unknown."""
    held: Figure | None
    """Maximum requests held; None if unknown."""
    reserve: Mapping[str, Figure] = MappingProxyType({})
    """Parts of the memory that the serving program keeps for itself [bytes]; none when the memory is unknown."""
    by_requests: bool = False
    """Whether each GPU of a stage attends to separate requests."""

    def __str__(self) -> str:
        split = f"-dp {self.tensor.value} -ep" if self.by_requests else f"tensor {self.tensor.value}"
        return split + (f", pipeline {self.pipeline.value}" if self.pipeline.value > 1 else "")

    @property
    def degrees(self) -> tuple[Figure, Figure, Figure]:
        """GPUs that share the attention of a request, groups of these in a stage, and pipeline stages."""
        return (WHOLE, self.tensor, self.pipeline) if self.by_requests else (self.tensor, WHOLE, self.pipeline)

    @property
    def holds(self) -> int | None:
        """Requests held, at least one; None when unknown."""
        return max(1, int(self.held.value)) if self.held else None

    @property
    def fits(self) -> bool | None:
        """Whether it holds weights and one request; None when unknown."""
        if self.room is None:
            return None
        if self.held is not None:
            return bool(self.held.value > 0)
        return None if self.weights.value <= self.room.value else False


class ReplicaChoice(NamedTuple):
    """The replica that the plan specifies, or the smallest that holds the model."""

    replica: Replica
    reasons: tuple[Shortage, ...]
    """The reasons against smaller ones, the largest first."""
    shortage: Shortage | None
    """The shortage of a given replica that is too small; None otherwise."""


def choose(inference: Inference, gpu: Gpu, gpus_per_server: Figure | None) -> ReplicaChoice:
    """Return the replica that the plan specifies, else the smallest that holds weights and a request.

    Raises Infeasible for degrees that do not divide what they split, PlanErrors when no replica holds the model.
    """
    if inference.degrees:
        return _check_given(inference, inference.degrees, gpu)
    refused: list[Replica] = []
    for candidate in _candidates(inference, gpu, gpus_per_server):
        if candidate.fits is not False:
            reasons = tuple(_shortage(inference, gpu, one) for one in refused[: -MAX_REASONS - 1 : -1])
            return ReplicaChoice(candidate, reasons, None)
        refused.append(candidate)
    mark = plan_mark(inference, inference.model.parameters, inference.context, inference.precision)
    shortage = f"no replica holds the model: {_shortage(inference, gpu, refused[-1]).message}"
    raise error_at(mark, shortage, "infeasible", PATH)


def all_replicas(inference: Inference, gpu: Gpu, gpus_per_server: Figure | None) -> Iterator[Replica]:
    """Yield the replica of the plan, else those that a search may choose, fewest GPUs first."""
    if inference.degrees:
        yield replica(inference, gpu, inference.degrees.tensor, inference.degrees.pipeline)
        return
    whole = takewhile(lambda one: one.pipeline.value <= MOST_STAGES, _candidates(inference, gpu, gpus_per_server))
    yield from merge(whole, _by_requests(inference, gpu, gpus_per_server), key=lambda one: one.gpus.value)


def _by_requests(inference: Inference, gpu: Gpu, gpus_per_server: Figure | None) -> Iterator[Replica]:
    """Yield replicas of a mixture of experts with attention by requests, within a server and over several."""
    if not inference.model.moe:
        return
    server = (gpus_per_server or SERVER_GPUS).value
    sizes = [*(size for size in divisors(server) if size > 1), *(server * count for count in SERVERS_OF_EXPERTS)]
    for size in sizes:
        tensor, pipeline = _chosen(message("tensor-degree"), size), _chosen(message("pipeline-stages"), 1)
        degrees = Degrees(tensor=tensor, pipeline=pipeline, mark=inference.mark, attention=DATA)
        yield replica(inference._replace(degrees=degrees), gpu, tensor, pipeline)


def replica(inference: Inference, gpu: Gpu, tensor: Figure, pipeline: Figure) -> Replica:
    """Return a replica with these degrees, and its memory."""
    stages, gpus = equivalent_stages(inference.model, pipeline), gpus_of_replica(tensor, pipeline)
    weights, memory = weights_of_gpu(inference, tensor, stages), memory_seen(gpu)
    held = kv_cache.cache(inference.model, str(inference.kv_precision.value))
    request = room = most = None
    reserve: Mapping[str, Figure] = MappingProxyType({})
    if held is not None and inference.context is not None:
        of_gpu = partial(kv_cache.request_bytes_per_gpu, held, inference.context)
        request = kv_of_gpu(by_requests(inference), tensor, of_gpu, stages)
    if memory is not None:
        reserve = reserve_of_gpu(inference, memory, tensor, gpus)
        room = room_of_gpu(inference, memory, reserve, weights)
        state = kv_cache.state_bytes_per_gpu(held, tensor, stages) if held else None
        if request and state and inference.engine.value == SGLANG and not by_requests(inference):
            tokens = kv_cache.kv_without_state(request, state)
            most = kv_cache.requests_of_pools(memory_beside_weights(room, weights), tokens, state)
        else:
            most = requests_held(room, weights, request) if request else None
    return Replica(tensor, pipeline, gpus, stages, weights, request, room, most, reserve, by_requests(inference))


def engine_command(inference: Inference, replica: Replica) -> str:
    """Return the command that starts a replica with its engine."""
    model, gpus, stages = inference.model.identity.id, replica.tensor.value, replica.pipeline.value
    spread = replica.by_requests or (inference.degrees is not None and inference.degrees.expert is not None)
    lora = inference.adapters
    if inference.engine.value == VLLM:
        words = ["vllm serve", model, f"-dp {gpus}" if replica.by_requests else f"--tensor-parallel-size {gpus}"]
        words += [f"--pipeline-parallel-size {stages}"] if stages > 1 else []
        words += ["--enable-expert-parallel"] if spread else []
        words += [f"--enable-lora --max-loras {lora.held.value} --max-lora-rank {lora.rank.value}"] if lora else []
    elif inference.engine.value == SGLANG:
        words = ["python -m sglang.launch_server --model-path", model, f"--tp-size {gpus}"]
        words += [f"--pp-size {stages}"] if stages > 1 else []
        words += [f"--ep-size {gpus}"] if spread else []
        words += [f"--dp-size {gpus} --enable-dp-attention"] if replica.by_requests else []
        words += [f"--enable-lora --max-loras-per-batch {lora.held.value}"] if lora else []
    else:
        words = ["trtllm-serve", model, f"--tp_size {gpus}"]
        words += [f"--pp_size {stages}"] if stages > 1 else []
        words += [f"--ep_size {gpus}"] if spread else []
        words += ["--extra_llm_api_options <(echo 'enable_attention_dp: true')"] if replica.by_requests else []
    return " ".join(words)


def kv_of_gpu(by_requests: bool, tensor: Figure, of_gpu: Callable[[Figure, Figure], Figure], stages: Figure) -> Figure:
    """Return `of_gpu` for tensor parallelism and stages; the mean where GPUs hold separate requests."""
    if not by_requests:
        return of_gpu(tensor, stages)
    return kv_cache.kv_bytes_by_requests(of_gpu(WHOLE, stages), tensor)


gpus_of_replica = product("gpus_of_replica", "GPUs", "tensor", "pipeline")
"""GPUs per replica of the model."""


@formula("requests")
def requests_held(room: Fraction, weights: Fraction, kv_of_request: Fraction) -> int:
    """Requests whose KV cache fits the fullest GPU in addition to the weights."""
    return max(0, int((room - weights) // kv_of_request))


memory_beside_weights = difference("memory_beside_weights", "bytes", "room", "weights")
"""Memory for the KV cache and states."""


def _gb(amount: Fraction | int) -> str:
    return f"{float(Fraction(amount) / GIGA):.2f} GB"


def plan_mark(inference: Inference, *figures: Figure | None) -> Mark:
    """Return the place in the plan of the first figure that depends on it, else of the inference block."""
    marks = [first_given(figure) for figure in figures if figure is not None]
    return next((mark for mark in marks if mark is not None), inference.mark)


def _check_given(inference: Inference, degrees: Degrees, gpu: Gpu) -> ReplicaChoice:
    tensor, pipeline = degrees.tensor, degrees.pipeline
    heads, layers = inference.model.shape.get("heads"), inference.model.shape.get("layers")
    if heads is not None and heads.value % tensor.value and not by_requests(inference):
        near = join_alternatives(nearest_divisors(heads.value, tensor.value))
        message = f"tensor {tensor.value} does not divide the {heads.value} attention heads; {near} does"
        raise Infeasible(message, because=tensor)
    if degrees.expert is not None and tensor.value % degrees.expert.value:
        near = join_alternatives(nearest_divisors(tensor.value, degrees.expert.value))
        message = f"expert {degrees.expert.value} does not divide tensor {tensor.value}; {near} does"
        raise Infeasible(message, because=degrees.expert)
    if layers is not None and pipeline.value > layers.value:
        message = (
            f"pipeline {pipeline.value} splits {layers.value} layers into more stages than there are layers; at most "
            f"{layers.value}"
        )
        raise Infeasible(message, because=pipeline)
    specified = replica(inference, gpu, tensor, pipeline)
    return ReplicaChoice(specified, (), _shortage(inference, gpu, specified) if specified.fits is False else None)


def _candidates(inference: Inference, gpu: Gpu, gpus_per_server: Figure | None) -> Iterator[Replica]:
    """Yield the replicas with tensor and pipeline parallelism that a search may choose, fewest GPUs first."""
    for tensor, pipeline in _degrees(inference.model, gpus_per_server or SERVER_GPUS):
        degrees = _chosen(message("tensor-degree"), tensor), _chosen(message("pipeline-stages"), pipeline)
        yield replica(inference, gpu, *degrees)


def _degrees(model: Model, gpus_per_server: Figure) -> Iterator[tuple[int, int]]:
    """Yield tensor and pipeline degrees, fewest GPUs first: within a server, then stages of whole servers."""
    heads, layers = model.shape.get("heads"), model.shape.get("layers")
    tensors = [one for one in divisors(gpus_per_server.value) if heads is None or heads.value % one == 0]
    yield from ((tensor, 1) for tensor in tensors)
    most = layers.value if layers is not None else MAX_STAGES
    yield from ((tensors[-1], pipeline) for pipeline in range(2, most + 1))


def _chosen(name: str, degree: int) -> Figure:
    return Figure(degree, "count", Assumed(name, message("replica-why"), (VLLM_PARALLELISM,), "medium", chosen=True))


def _shortage(inference: Inference, gpu: Gpu, refused: Replica) -> Shortage:
    unknown = f"the memory of {gpu.identity.name} is unknown; nothing is too large for it"
    seen, of_sheet = require(memory_seen(gpu), unknown).value, require(gpu.memory_bytes, unknown).value
    weights, cache = Fraction(refused.weights.value), Fraction(refused.request.value) if refused.request else None
    needed = memory_needed(inference, refused.reserve, weights, cache or Fraction(0))
    smaller = (
        (change, replica(changed, gpu, refused.tensor, refused.pipeline))
        for change, changed in _changes(inference, gpu)
    )
    return Shortage(
        tensor=refused.tensor.value,
        pipeline=refused.pipeline.value,
        weights=weights,
        cache=cache,
        room=Fraction(require(refused.room, unknown).value),
        memory=Fraction(seen),
        enough=needed * of_sheet / seen,
        remedy=next((change for change, changed in smaller if changed.fits is not False), None),
    )


def _changes(inference: Inference, gpu: Gpu) -> Iterator[tuple[str, Inference]]:
    """Yield changes that make room: a larger share of the GPU, a narrower KV cache, narrower weights, fewer tokens.

    Weights in 8 bits, and in 4-bit integers, run on every GPU, with arithmetic in 16 bits where it has no other.
    """
    cache, weight = VALUE_BYTES[str(inference.kv_precision.value)], VALUE_BYTES[str(inference.precision.value)]
    if inference.memory_share.value < MOST_SHARE:
        share = replace(inference.memory_share, value=MOST_SHARE)
        yield f"`memory_share: {float(MOST_SHARE):.0%}`", inference._replace(memory_share=share)
    held = kv_cache.cache(inference.model, str(inference.kv_precision.value))
    for name in ("fp8", "int4"):
        if held is not None and VALUE_BYTES[name].value < cache.value:
            narrow = replace(inference.kv_precision, value=name)
            yield f"`kv_precision: {name}`", inference._replace(kv_precision=narrow)
    for name in ("fp8", *(["fp4"] if "fp4" in gpu.dense else []), "int4"):
        if VALUE_BYTES[name].value < weight.value:
            narrow = replace(inference.precision, value=name)
            yield f"`precision: {name}`", inference._replace(precision=narrow)
    if inference.context is None:
        return
    tokens, least = inference.context.value // 2, inference.output_tokens.value if inference.output_tokens else 0
    while tokens > least:
        yield f"`context: {tokens}`", inference._replace(context=replace(inference.context, value=tokens))
        tokens //= 2


def check_whole(replica: Replica, gpus: Figure, unit: int) -> None:
    """Raise Infeasible when a cluster's GPUs are not a whole number of the given replicas.

    The message names numbers that are, and that are multiples of `unit`, as the plan requires.
    """
    size = replica.gpus.value
    if gpus.value % size:
        step = lcm(size, unit)
        below = gpus.value // step
        works = join_alternatives([count * step for count in (below, below + 1) if count])
        message = (
            f"{gpus.value} GPUs are not a whole number of replicas of tensor {replica.tensor.value} x pipeline "
            f"{replica.pipeline.value} = {size} GPUs; {works} GPUs are"
        )
        because = next((one for one in (replica.tensor, replica.pipeline) if first_given(one)), gpus)
        raise Infeasible(message, because=because)

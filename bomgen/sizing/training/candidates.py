"""Splits of a run over GPUs that a search may choose, and the memory that each needs."""

from __future__ import annotations

from functools import cache
from math import gcd
from typing import NamedTuple

from bomgen.catalog.parts import Gpu
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Assumed, Figure, Reference, formula
from bomgen.fabric.clos.shape import divisors
from bomgen.plan.types import Training
from bomgen.sizing.training import memory
from bomgen.sizing.training.memory import Memory, ParallelSplit

NARAYANAN = Reference(
    "Narayanan et al. 2021, Efficient Large-Scale Language Model Training on GPU Clusters, sections 3.2 and 3.3",
    "https://arxiv.org/abs/2104.04473",
    "2026",
)


class Candidate(NamedTuple):
    """A split of the model that a search may choose."""

    tensor: int
    pipeline: int
    context: int
    expert: int

    @property
    def size(self) -> int:
        """GPUs of a replica."""
        return self.tensor * self.pipeline * self.context

    def __str__(self) -> str:
        text = message("split-of", tensor=self.tensor, pipeline=self.pipeline)
        if self.context > 1:
            text = message("split-with-context", split=text, ways=self.context)
        return message("split-with-experts", split=text, ways=self.expert) if self.expert > 1 else text


class TimedSplit(NamedTuple):
    """A split and its predicted step."""

    seconds: float
    candidate: Candidate
    gpus: int
    """Of all replicas."""
    recompute: str
    """What the run recomputes."""


class FastestSplits(NamedTuple):
    """What a search for the fastest split found."""

    fitting: list[TimedSplit]
    """The fastest of those that fit, the fastest first."""
    too_large: list[Candidate]
    """Faster ones that do not fit, those nearest in speed first."""


@formula("count")
def data_parallel(gpus: int, tensor: int, pipeline: int, context: int) -> int:
    """Replicas of the model on the GPUs."""
    return gpus // (tensor * pipeline * context)


def tensor_degrees(training: Training, gpus: int) -> list[int]:
    """The degrees that divide GPUs and attention heads."""
    heads = training.model.shape.get("heads")
    return divisors(gcd(gpus, heads.value) if heads is not None else gpus)


def expert_degrees(training: Training, ranks: int) -> list[int]:
    """The numbers of GPUs that experts can be spread over; 1 for a model without experts."""
    experts = training.model.shape.get("experts")
    if experts is None:
        return [1]
    return [degree for degree in divisors(experts.value) if ranks % degree == 0]


def memory_needed(training: Training, candidate: Candidate, gpus: Figure) -> Memory:
    """Memory of the fullest GPU of a split."""
    return memory.per_gpu(training, split_of(candidate, gpus))


def split_of(candidate: Candidate, gpus: Figure, fastest: bool = False) -> ParallelSplit:
    """A candidate as a split of all GPUs, chosen as the fastest or for its size."""
    degree, degree_why, tensor_name, pipeline_name, context_name, expert_name = _names_of_degrees()
    why, expert_why = _reasons_of_degrees(fastest)
    one = _chosen(degree, 1, degree_why)
    tensor = _chosen(tensor_name, candidate.tensor, why)
    pipeline = _chosen(pipeline_name, candidate.pipeline, why)
    context = _chosen(context_name, candidate.context, why)
    expert = _chosen(expert_name, candidate.expert, expert_why)
    return ParallelSplit(
        tensor=tensor,
        pipeline=pipeline,
        interleave=one,
        context=context,
        expert=expert,
        data=data_parallel(gpus, tensor, pipeline, context),
        sequence_parallel=candidate.tensor > 1,
    )


@cache
def _names_of_degrees() -> tuple[Message, ...]:
    """What the degrees of a split are called: the same for each of thousands of candidates."""
    codes = ("degree", "degree-why", "tensor-degree", "pipeline-stages", "context-degree", "expert-degree")
    return tuple(message(code) for code in codes)


@cache
def _reasons_of_degrees(fastest: bool) -> tuple[Message, Message]:
    """Why the degrees are so, and that of experts."""
    if fastest:
        return message("fastest-why"), message("fastest-why")
    return message("split-why"), message("expert-why")


def _chosen(name: str, degree: int, why: str) -> Figure:
    return Figure(degree, "count", Assumed(name, why, (NARAYANAN,), "medium", chosen=True))


def fits_gpu(need: Memory, gpu: Gpu) -> bool | None:
    """Whether the memory needed fits a GPU and its share of host memory; None when it is not known.

    Host memory that is not known is no limit.
    """
    if exceeds_host(need, gpu):
        return False
    if gpu.memory_bytes is None:
        return None
    if need.total.value > gpu.memory_bytes.value:
        return False
    return None if need.activations is None else True


def exceeds_host(need: Memory, gpu: Gpu) -> bool:
    """Whether what is moved to host memory is more than falls to a GPU."""
    return bool(need.host and gpu.host_memory and need.host.value > gpu.host_memory.value)

"""Parallelism of a training run that fits: as the plan sets it, or with the fewest GPUs per replica.

The order of the search follows Narayanan et al. 2021: tensor parallelism up to the GPUs of a server, then pipeline
stages, then parts of the sequence, and all other GPUs for replicas. Tensor parallelism beyond a server comes last. For
a pair of tensor and pipeline degrees no context degree needs less memory than that of all remaining GPUs, so a pair
that does not fit with it is pruned. Experts of a mixture are spread over the GPUs of data and context parallelism as
far as necessary, as Megatron Core folds their groups.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import ceil, gcd, lcm, prod
from typing import Any, NamedTuple

from bomgen.catalog.parts import Gpu
from bomgen.core.diagnostics import Infeasible
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Assumed, Figure, Reference, first_given, formula, product, require
from bomgen.core.units import GIGA
from bomgen.fabric.clos.shape import divisors
from bomgen.plan.types import OPTIMIZER, Parallelism, Training
from bomgen.sizing.training import memory
from bomgen.sizing.training.activations import AUTO, FULL, LEAST_FIRST
from bomgen.sizing.training.memory import (
    NARAYANAN,
    FastestSplits,
    Memory,
    ModelSplit,
    TimedSplit,
    data_parallel,
    exceeds_host,
    expert_degrees,
    fits_gpu,
    memory_needed,
    split_of,
    tensor_degrees,
)
from bomgen.sizing.training.states import ParallelSplit

MAX_REASONS = 3
ENDS = 2
"""The embedding and the output projection, each in place of a layer of a pipeline.

So Llama 3.1 405B, 126 layers, runs in 16 stages of 8 chunks (Megatron-Bridge, docs/performance-summary.md, 26.04).
"""
ZERO_STAGES = (1, 2, 3)

_KORTHIKANTI = Reference(
    "Korthikanti et al. 2022, Reducing Activation Recomputation in Large Transformer Models, section 5",
    "https://arxiv.org/abs/2205.05198",
    "2026",
)
_RECOMPUTATION = Assumed(message("recompute-degree"), message("recompute-why"), (_KORTHIKANTI,), "high", chosen=True)
SERVER_GPUS = Figure(8, "count", Assumed(message("server-gpus"), message("server-gpus-why"), (NARAYANAN,), "medium"))


class MemoryFit(NamedTuple):
    """The split of a run over GPUs, and whether it fits the fullest GPU."""

    split: ParallelSplit
    replica: Memory
    per_gpu: Memory
    gpu_memory: Figure | None
    """Memory of the GPU [bytes]."""
    host_memory: Figure | None
    """Host memory per GPU [bytes]; None: unknown, or the plan moves nothing there."""
    fits: bool | None
    """Whether it fits; None: activations (the states alone fit) or the GPU's memory are unknown."""
    reasons: tuple[Message, ...] = ()
    """For a split found by search: why smaller ones do not fit, the largest first, and what was turned on."""
    warning: Message | None = None
    """For a given split: that it exceeds the GPU's memory, or that its stages are unequal."""
    recompute: Figure | None = None
    """Word: the recomputation, where the program chose it."""
    fastest: TimedSplit | None = None
    """The split with its predicted step, where it is the fastest that fits.

    None: it is given, or it is the one with the fewest GPUs per replica.
    """


def fit(
    training: Training,
    gpu: Gpu,
    gpus: Figure,
    gpus_per_server: Figure | None,
    fastest: FastestSplits | None = None,
    unit: int = 1,
) -> MemoryFit:
    """Return the split of a run: as the plan sets it, else the fastest, else the one with the fewest GPUs per replica.

    `unit` is the factor of a cluster's GPUs: whole servers or racks. Raises Infeasible when given degrees do not divide
    what they split, and when nothing fits.
    """
    if training.parallelism is not None:
        return _check_given(training, training.parallelism, gpu, gpus, unit)
    if fastest:
        return _fit_of_fastest(training, fastest, gpu, gpus)
    return _search(training, gpu, gpus, gpus_per_server or SERVER_GPUS)


def add_recomputation(
    memory_fit: MemoryFit, recompute: Figure, refused: tuple[str, str] | None, slower: TimedSplit | None
) -> MemoryFit:
    """Return a split with the recomputation of the run, and why less is not chosen, where the program chose it.

    `refused` is a lower recomputation and its shortage, `slower` the fastest split with a lower one.
    """
    if not isinstance(recompute.origin, Assumed):
        return memory_fit
    reasons, asked = memory_fit.reasons, f"`recompute: {recompute.value}`"
    if slower:
        less, split = f"`recompute: {slower.recompute}`", str(slower.candidate)
        seconds = seconds_text(slower.seconds)
        faster = message("recomputation-faster", recompute=asked, less=less, split=split, seconds=seconds)
        reasons = (*reasons, faster)
    elif refused and memory_fit.fits is not False:
        less, shortage = refused
        chosen = message("recomputation-chosen", recompute=asked, less=f"`recompute: {less}`", shortage=shortage)
        reasons = (*reasons, chosen)
    return memory_fit._replace(recompute=recompute, reasons=reasons)


def with_recomputation(training: Training) -> tuple[Training, ...]:
    """Return the run with its recomputation: as given, else every choice, the lowest first."""
    if training.recompute.value != AUTO:
        return (training,)
    return tuple(training._replace(recompute=Figure(word, "word", _RECOMPUTATION)) for word in LEAST_FIRST)


replica_size = product("replica_size", "GPUs", "tensor", "pipeline", "context")
"""GPUs of a replica of the model."""


@formula("GPUs")
def whole_replicas(gpus: int, gpus_per_replica: int, gpus_per_server: int) -> int:
    """GPUs rounded up to whole replicas on whole servers."""
    return ceil(Fraction(gpus, lcm(gpus_per_replica, gpus_per_server))) * lcm(gpus_per_replica, gpus_per_server)


def _check_given(training: Training, parallelism: Parallelism, gpu: Gpu, gpus: Figure, unit: int) -> MemoryFit:
    check_degrees(training, parallelism, gpus, unit)
    memory_fit = _fit_of_split(training, given_split(parallelism, gpus), gpu)
    warnings = [] if memory_fit.fits is not False else [_shortage(training, memory_fit.split, memory_fit.per_gpu, gpu)]
    warnings += _unequal_stages(training, parallelism.pipeline.value * parallelism.interleave.value)
    if warnings[1:]:
        return memory_fit._replace(warning=message("two-sentences", first=warnings[0], second=warnings[1]))
    return memory_fit._replace(warning=warnings[0]) if warnings else memory_fit


def _fit_of_split(training: Training, split: ParallelSplit, gpu: Gpu) -> MemoryFit:
    need = memory.per_gpu(training, split)
    return MemoryFit(
        split=split,
        replica=memory.replica(training, split),
        per_gpu=need,
        gpu_memory=gpu.memory_bytes,
        host_memory=gpu.host_memory if need.host else None,
        fits=fits_gpu(need, gpu),
    )


def given_split(parallelism: Parallelism, gpus: Figure) -> ParallelSplit:
    """Return the split of all GPUs by given degrees."""
    return ParallelSplit(
        tensor=parallelism.tensor,
        pipeline=parallelism.pipeline,
        interleave=parallelism.interleave,
        context=parallelism.context,
        expert=parallelism.expert,
        data=data_parallel(gpus, parallelism.tensor, parallelism.pipeline, parallelism.context),
        sequence_parallel=parallelism.splits_sequence,
    )


def whole_gpus(parallelism: Parallelism) -> int:
    """Return the factor of the numbers of GPUs that given degrees can split, in replicas and in experts."""
    stages = parallelism.tensor.value * parallelism.pipeline.value
    return lcm(stages * parallelism.context.value, stages * parallelism.expert.value)


def check_degrees(training: Training, parallelism: Parallelism, gpus: Figure, unit: int = 1) -> None:
    """Raise Infeasible for the first degree that does not divide what it splits.

    The GPUs alone must be a multiple of `whole_gpus`; the message names numbers that are also multiples of `unit`.
    """
    heads, layers = training.model.shape.get("heads"), training.model.shape.get("layers")
    experts = training.model.shape.get("experts")
    if heads is not None:
        stages = parallelism.pipeline.value * parallelism.context.value
        whole = gcd(heads.value, gpus.value // stages) if gpus.value % stages == 0 else heads.value
        _must_divide("tensor", parallelism.tensor, "attention heads", heads.value, whole)
    most = None if layers is None else layers.value + ENDS
    if most is not None and parallelism.pipeline.value * parallelism.interleave.value > most:
        message = (
            f"pipeline {parallelism.pipeline.value} with {parallelism.interleave.value} "
            f"chunks a stage cuts {most} layers, embedding and output projection included, "
            f"into more pieces than there are; at most {most}"
        )
        raise Infeasible(message, because=_first_given(parallelism.pipeline, parallelism.interleave))
    _check_gpus(parallelism, gpus, unit)
    if parallelism.expert.value > 1:
        if not training.model.moe:
            message = f"expert {parallelism.expert.value} on a model that has no experts; remove it"
            raise Infeasible(message, because=parallelism.expert)
        ranks = gpus.value // (parallelism.tensor.value * parallelism.pipeline.value)
        both = gcd(ranks, experts.value) if experts is not None else ranks
        _must_divide("expert", parallelism.expert, "GPUs of data x context parallelism", ranks, both)
        if experts is not None:
            _must_divide("expert", parallelism.expert, "experts", experts.value, both)


def _check_gpus(parallelism: Parallelism, gpus: Figure, unit: int) -> None:
    size = parallelism.tensor.value * parallelism.pipeline.value * parallelism.context.value
    if gpus.value % size:
        step = lcm(whole_gpus(parallelism), unit)
        below = gpus.value // step
        works = join_alternatives([count * step for count in (below, below + 1) if count])
        message = (
            f"{gpus.value} GPUs are not a whole number of replicas of tensor {parallelism.tensor.value} x pipeline "
            f"{parallelism.pipeline.value} x context {parallelism.context.value} = {size} GPUs; {works} GPUs are"
        )
        raise Infeasible(
            message, because=_first_given(parallelism.pipeline, parallelism.tensor, parallelism.context, gpus)
        )


def _must_divide(name: str, degree: Figure, things: str, count: int, whole: int) -> None:
    """Raise Infeasible for a degree that does not divide things; divisors of `whole` also suit the rest."""
    if count % degree.value:
        works = join_alternatives(nearest_divisors(whole, degree.value))
        raise Infeasible(f"{name} {degree.value} does not divide the {count} {things}; {works} does", because=degree)


def _unequal_stages(training: Training, pieces: int) -> list[Message]:
    """Return a sentence where stages or their chunks are unequal, as in Llama 3 405B: 126 layers in 16 stages."""
    layers = training.model.shape.get("layers")
    if layers is None or layers.value % pieces == 0:
        return []
    fullest = ceil(layers.value / pieces)
    return [message("unequal-stages", layers=layers.value, pieces=pieces, fullest=fullest)]


def _search(training: Training, gpu: Gpu, gpus: Figure, gpus_per_server: Figure) -> MemoryFit:
    """Return the split with the fewest GPUs per replica that fits.

    Tensor parallelism within a server comes before wider, and equal stages and parts of a sequence before unequal ones.
    """
    refused: list[ModelSplit] = []
    for wide, even in itertools.product((False, True), (True, False)):
        tensors = [one for one in tensor_degrees(training, gpus.value) if (gpus_per_server.value % one != 0) is wide]
        chosen: ModelSplit | None = None
        for tensor, pipeline in _pairs(training, gpus.value, tensors, even):
            if chosen and (tensor * pipeline, 1) >= (chosen.size, chosen.context):
                break
            candidate = _narrowest_context(training, gpu, gpus, (tensor, pipeline), even, refused)
            if candidate and (chosen is None or (candidate.size, candidate.context) < (chosen.size, chosen.context)):
                chosen = candidate
        if chosen:
            degrees = expert_degrees(training, gpus.value // (chosen.tensor * chosen.pipeline))
            narrower = (chosen._replace(expert=expert) for expert in degrees)
            chosen = next(one for one in narrower if fits_gpu(memory_needed(training, one, gpus), gpu) is not False)
            return _fit_of(training, chosen, refused, gpu, gpus)
    raise _nothing_fits(training, refused, gpu, gpus, gpus_per_server)


def _fit_of_fastest(training: Training, fastest: FastestSplits, gpu: Gpu, gpus: Figure) -> MemoryFit:
    """Return the fastest split that fits, how much slower the next ones are, and why faster ones do not fit."""
    chosen, *slower_splits = fastest.fitting
    reasons = [message("split-fastest", split=str(chosen.candidate), seconds=seconds_text(chosen.seconds))]
    for split in slower_splits[:MAX_REASONS]:
        slower = f"{split.seconds / chosen.seconds - 1:.1%}"
        reasons.append(
            message("split-runner-up", split=str(split.candidate), seconds=seconds_text(split.seconds), slower=slower)
        )
    reasons += [_reason(training, candidate, gpu, gpus) for candidate in fastest.too_large[:MAX_REASONS]]
    memory_fit = _fit_of(training, chosen.candidate, [], gpu, gpus, fastest=True)
    return memory_fit._replace(reasons=(*reasons, *memory_fit.reasons), fastest=chosen)


def _fit_of(
    training: Training, chosen: ModelSplit, refused: list[ModelSplit], gpu: Gpu, gpus: Figure, fastest: bool = False
) -> MemoryFit:
    memory_fit = _fit_of_split(training, split_of(chosen, gpus, fastest), gpu)
    alike = (one for one in refused if one.size <= chosen.size and (one.context == 1 or chosen.context > 1))
    smaller = sorted(alike, key=lambda one: one.size, reverse=True)
    reasons = [_reason(training, candidate, gpu, gpus) for candidate in smaller[:MAX_REASONS]]
    if memory_fit.split.sequence_parallel:
        reasons.append(message("sequence-parallelism-on"))
    reasons += _unequal_stages(training, chosen.pipeline)
    return memory_fit._replace(reasons=tuple(reasons))


def _pairs(training: Training, gpus: int, tensors: Iterable[int], even: bool) -> list[tuple[int, int]]:
    """Return tensor and pipeline degrees, fewest GPUs first, tensor before pipeline; with `even` stages are equal."""
    layers = training.model.shape.get("layers")
    pairs = [(tensor, pipeline) for tensor in tensors for pipeline in divisors(gpus // tensor)]
    if layers is not None:
        pairs = [pair for pair in pairs if pair[1] <= layers.value and (not even or layers.value % pair[1] == 0)]
    return sorted(pairs, key=lambda pair: (pair[0] * pair[1], -pair[0]))


def _narrowest_context(
    training: Training, gpu: Gpu, gpus: Figure, pair: tuple[int, int], even: bool, refused: list[ModelSplit]
) -> ModelSplit | None:
    """Return the candidate with the fewest parts of a sequence that fits; others are added to `refused`."""
    ranks = gpus.value // prod(pair)
    widest = ModelSplit(*pair, ranks, expert_degrees(training, ranks)[-1])
    sequence = training.sequence.value if training.sequence is not None else 1
    contexts = [ways for ways in divisors(ranks) if ways <= sequence and not (even and sequence % ways)]
    if fits_gpu(memory_needed(training, widest, gpus), gpu) is False:
        contexts = sorted({contexts[0], contexts[-1]})
    for context in contexts:
        candidate = widest._replace(context=context)
        if fits_gpu(memory_needed(training, candidate, gpus), gpu) is not False:
            return candidate
        if candidate not in refused:
            refused.append(candidate)
    return None


def _reason(training: Training, candidate: ModelSplit, gpu: Gpu, gpus: Figure) -> Message:
    split = split_of(candidate, gpus)
    shortage = _shortage(training, split, memory.per_gpu(training, split), gpu)
    return message("split-does-not-fit", split=str(candidate), shortage=shortage)


def _shortage(training: Training, split: ParallelSplit, need: Memory, gpu: Gpu) -> Message:
    """Return how much memory is missing, what takes most of it, and the smallest sufficient change."""
    if need.host and gpu.host_memory and exceeds_host(need, gpu):
        return message("host-overfull", needed=_gb(need.host.value), memory=_gb(gpu.host_memory.value))
    limit = require(gpu.memory_bytes, f"the memory of {gpu.identity.name} is unknown; nothing is too large for it")
    term, most = _largest(need)
    sizes = {
        "needed": _gb(need.total.value),
        "memory": _gb(limit.value),
        "missing": _gb(need.total.value - limit.value),
        "most": _gb(most.value),
    }
    change = _remedy(training, split, need, limit)
    if change is None:
        return message("gpu-overfull-anyway", term=term, **sizes)
    return message("gpu-overfull", term=term, change=change, **sizes)


def _largest(need: Memory) -> tuple[Message, Figure]:
    terms = {"weights": need.weights, "gradients": need.gradients, "optimizer-states": need.optimizer}
    if need.activations is not None:
        terms["activations"] = need.activations
    if "step" in need.reserve:
        terms["working-memory"] = need.reserve["step"]
    code, figure = max(terms.items(), key=lambda term: term[1].value)
    return message(code), figure


def _remedy(training: Training, split: ParallelSplit, need: Memory, limit: Figure) -> str | None:
    """Return the cheapest change of the plan that makes a split fit; None when no single change does."""
    states = need.total.value - (need.activations.value if need.activations else 0)
    changes = _changes(training, split) if states <= limit.value else _smaller_states(training, split)
    for text, changed, changed_split in changes:
        if memory.per_gpu(changed, changed_split).total.value <= limit.value:
            return text
    return None


def _changes(training: Training, split: ParallelSplit) -> Iterator[tuple[str, Training, ParallelSplit]]:
    """Yield changes that save memory, those that cost least time first."""
    if split.tensor.value > 1 and not split.sequence_parallel:
        yield "`sequence_parallel: true`", training, split._replace(sequence_parallel=True)
    if training.recompute.value == "none" and training.flash_attention.value == "no":
        yield "`flash_attention: true`", _replace_value(training, "flash_attention", "yes"), split
    if training.recompute.value == "none":
        yield "`recompute: selective`", _replace_value(training, "recompute", "selective"), split
    yield from _smaller_states(training, split)
    if training.micro_batch.value > 1:
        yield "`micro_batch: 1`", _replace_value(training, "micro_batch", 1), split
    if training.recompute.value != FULL:
        yield f"`recompute: {FULL}`", _replace_value(training, "recompute", FULL), split
    if training.sequence is not None:
        yield from _shorter_sequences(training, split, int(training.sequence.value))


def _smaller_states(training: Training, split: ParallelSplit) -> Iterator[tuple[str, Training, ParallelSplit]]:
    """Yield higher stages of ZeRO, which shard more of weights, gradients and optimizer states."""
    for stage in ZERO_STAGES[training.zero.value :]:
        yield f"`zero: {stage}`", _replace_value(training, "zero", stage), split
    if OPTIMIZER not in training.offload:
        yield f"`offload: [{OPTIMIZER}]`", training._replace(offload=(*training.offload, OPTIMIZER)), split


def _shorter_sequences(
    training: Training, split: ParallelSplit, sequence: int
) -> Iterator[tuple[str, Training, ParallelSplit]]:
    """Yield sequences of half, a quarter and so on, with selective recomputation where the plan has none."""
    selective = training.recompute.value == "none"
    kept = _replace_value(training, "recompute", "selective") if selective else training
    while sequence > 1:
        sequence //= 2
        text = f"`sequence: {sequence}`"
        yield (
            message("selective-with", sequence=text) if selective else text,
            _replace_value(kept, "sequence", sequence),
            split,
        )


def _replace_value(training: Training, key: str, value: int | str) -> Training:
    changed: dict[str, Any] = {key: replace(getattr(training, key), value=value)}
    return training._replace(**changed)


def _nothing_fits(
    training: Training, refused: list[ModelSplit], gpu: Gpu, gpus: Figure, gpus_per_server: Figure
) -> Infeasible:
    server = gpus_per_server.value
    within = [candidate for candidate in refused if server % candidate.tensor == 0] or refused
    best = min(within, key=lambda candidate: (memory_needed(training, candidate, gpus).total.value, candidate.size))
    reason = _reason(training, best, gpu, gpus)
    text = message("no-split-fits", gpus=gpus.value, reason=reason)
    model = training.model
    if memory.per_gpu(training, split_of(best, gpus)).activations is None:
        broke = _first_given(model.parameters, gpus, training.tokens)
    else:
        term, _ = _largest(memory_needed(training, best, gpus))
        activations = (training.sequence or training.micro_batch, training.micro_batch)
        first = activations if term == "activations" else (model.parameters,)
        broke = _first_given(*first, gpus, training.tokens)
    return Infeasible(text, because=broke)


def _first_given(*figures: Figure) -> Figure:
    """Return the first of some figures that depends on the plan, else the first."""
    return next((figure for figure in figures if first_given(figure) is not None), figures[0])


def nearest_divisors(count: int, wanted: int) -> list[int]:
    """Return the divisors of `count` next below and next above `wanted`."""
    below = [value for value in divisors(count) if value < wanted]
    above = [value for value in divisors(count) if value > wanted]
    return below[-1:] + above[:1]


def join_alternatives(values: Iterable[int]) -> str:
    """Return values as text, joined by "or"."""
    return " or ".join(str(value) for value in values)


def describe_faster(memory_fit: MemoryFit, faster: TimedSplit, gpus: int) -> Message | None:
    """Return that a run is faster on fewer GPUs or with another recomputation; None where rounding would hide it."""
    told: dict[str, str | int] = {"split": str(faster.candidate), "seconds": seconds_text(faster.seconds), "gpus": gpus}
    if memory_fit.fastest is None:
        return message("faster-split-predicted", used=faster.gpus, **told)
    less = f"{1 - faster.seconds / memory_fit.fastest.seconds:.1%}"
    if less == f"{0:.1%}":
        return None
    told["less"] = less
    if faster.recompute == memory_fit.fastest.recompute:
        return message("faster-on-fewer-gpus", used=faster.gpus, **told)
    return message("faster-recomputing", used=faster.gpus, recompute=faster.recompute, **told)


def seconds_text(seconds: float) -> str:
    """Return seconds as text, with four digits."""
    return f"{seconds:.4g} s"


def _gb(amount: int | Fraction) -> str:
    return f"{float(Fraction(amount) / GIGA):.1f} GB"

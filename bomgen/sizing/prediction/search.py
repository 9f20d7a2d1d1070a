"""The search for the fastest splits of a run that fit, by their predicted steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import islice
from math import gcd
from typing import Any, NamedTuple

from bomgen.catalog.parts import Gpu
from bomgen.core.provenance import Figure, require
from bomgen.fabric.clos.shape import divisors
from bomgen.plan.types import Training
from bomgen.sizing.prediction import terms
from bomgen.sizing.prediction.coefficients import inverse_efficiencies
from bomgen.sizing.prediction.predict import predict_steps, prepare, settings
from bomgen.sizing.prediction.terms import Machine, Split, Terms, Work
from bomgen.sizing.servers import GpuLinks
from bomgen.sizing.training.memory import (
    FastestSplits,
    ModelSplit,
    TimedSplit,
    expert_degrees,
    fits_gpu,
    memory_needed,
    tensor_degrees,
)

BYTES_OF_WEIGHT = 2
CHANGED_BY_EXPERTS = (
    *("short", "weights", "update", "data", "data_overlapped", "gathers", "gathers_overlapped"),
    *("exchange", "exchange_network", "exchange_overlapped"),
)
"""Terms that depend on the number of GPUs over which the experts are spread."""
BOUNDED, BOUNDED_CLOSELY, PREDICTED = range(3)
"""Levels of knowledge of a split's step in the search."""
ALL_SHARDED = 3
"""The stage of ZeRO that shards weights, too."""


class Predictor(NamedTuple):
    """Prediction of a run's steps for any split, as a number or as NumPy arrays."""

    training: Training
    work: Work[float]
    machine: Machine[float]
    inverse: Terms[float]
    fixed: dict[str, float]
    batch: float
    """Sequences of a step."""
    micro_batch: float

    def tensor_degrees(self, gpus: int) -> list[int]:
        """Return the degrees that divide GPUs, heads and a scale-up domain."""
        return [
            tensor_degree
            for tensor_degree in tensor_degrees(self.training, gpus)
            if self.machine.domain % tensor_degree == 0
        ]

    def seconds(self, tensor: Any, pipeline: Any, context: Any, expert: Any, interleave: Any, data: Any) -> Any:
        """Return the step of a split [s], whether or not its micro-batches can be interleaved."""
        degrees = self.training.parallelism
        split = Split(
            batch=self.batch,
            micro_batch=self.micro_batch,
            tensor=tensor,
            pipeline=pipeline,
            interleave=interleave,
            data=data,
            context=context,
            expert=expert * tensor if self.work.expert_weights else expert,
            sequence_parallel=float(degrees.splits_sequence) if degrees else (tensor > 1) * 1.0,
            **self.fixed,
        )
        return predict_steps(self.work, self.machine, split, self.inverse)

    def chunks(self, pipeline: int) -> list[int]:
        """Return the numbers of stages that a GPU may have, all of equally many layers."""
        layers = int(self.work.layers)
        return divisors(layers // pipeline) if pipeline > 1 and layers % pipeline == 0 else [1]

    def interleaves(self, pipeline: Any, interleave: Any, data: Any) -> Any:
        """Return whether the schedule can interleave stages: by the plan, or micro-batches fill them in rounds."""
        count = terms.count_micro_batches(self.batch, data, self.micro_batch)
        return (interleave == 1) | (count % pipeline == 0) | (self.training.parallelism is not None)

    def least_seconds(self, tensor: Any, pipeline: Any, context: Any, slots: Any) -> Any:
        """Return the matrix products of a step [s], a lower bound of any split, to prune with."""
        work, machine, inverse = self.work, self.machine, self.inverse
        tokens = terms.tokens_of_gpu(self.micro_batch, work.sequence, context)
        share = terms.share_of_stage(work.layers, pipeline)
        passes = terms.matrix_passes(self.fixed["recompute"], work.trained)
        rest = (tokens, share, passes, slots, tensor, machine.peak)
        weights = terms.matrix_seconds(work.weights, *rest) * inverse.matrix
        return weights + terms.matrix_seconds(work.expert_weights, *rest) * inverse.experts


def predictor(training: Training, gpu: Gpu, links: GpuLinks) -> Predictor | None:
    """Return the predictor of a run's steps; None where the model or the accelerator is not known enough."""
    ready = prepare(training, gpu, links)
    if ready is None or gpu.memory_bytes is None:
        return None
    work, machine = Work(*map(_number, ready.work)), Machine(*map(_number, ready.machine))
    return Predictor(
        training,
        work,
        machine,
        inverse_efficiencies(ready.members),
        {name: _number(figure) for name, figure in settings(training, ready.stack).items()},
        _number(training.batch_tokens) / work.sequence,
        _number(training.micro_batch),
    )


def fastest_splits(predict: Predictor, gpu: Gpu, gpus: Figure, count: int, below: float) -> FastestSplits | None:
    """Return the fastest splits over all GPUs, at most `count` that fit.

    None where none is known to fit, or none that steps in less than `below` seconds.
    """
    splits = classify_splits(predict.training, gpu, gpus, _by_speed(predict, gpus.value))
    too_large: list[ModelSplit] = []
    for split, fits in splits:
        if split.seconds >= below:
            return None
        if fits:
            slower = (slow for slow, fits in splits if fits)
            return FastestSplits([split, *islice(slower, count - 1)], too_large[::-1])
        too_large.append(split.candidate)
    return None


def classify_splits(
    training: Training, gpu: Gpu, gpus: Figure, splits: Iterable[TimedSplit]
) -> Iterator[tuple[TimedSplit, bool]]:
    """Yield whether each split is known to fit; splits ruled out by ones that do not fit are pruned.

    A split that does not fit rules out others of the same tensor and pipeline degrees: those of no more GPUs, with
    fewer parts of a sequence, of which whole ones make one of its parts, experts on no more GPUs, and as many
    micro-batches in flight: one stage per GPU has the fewest, then many stages before few.
    """
    refused: defaultdict[tuple[int, int], list[TimedSplit]] = defaultdict(list)
    for split in splits:
        one = split.candidate
        too_large = refused[one.tensor, one.pipeline]
        if any(
            split.gpus <= larger.gpus
            and larger.candidate.context % one.context == 0
            and one.expert <= larger.candidate.expert
            and (larger.candidate.interleave == 1 or 1 < one.interleave <= larger.candidate.interleave)
            for larger in too_large
        ):
            continue
        count = replace(gpus, value=split.gpus)
        if _weights_fit(training, one, gpu) and fits_gpu(memory_needed(training, one, count), gpu):
            yield split, True
        else:
            too_large.append(split)
            yield split, False


def _by_speed(predict: Predictor, gpus: int) -> Iterator[TimedSplit]:
    """Yield the splits over all GPUs, the fastest first; each is predicted when no other can be faster.

    A waiting split has a lower bound of its step: first the matrix products, then all terms that do not depend on the
    expert degree, finally the step itself.
    """
    recompute = str(predict.training.recompute.value)
    dense = predict._replace(inverse=predict.inverse._replace(**dict.fromkeys(CHANGED_BY_EXPERTS, 0.0)))
    waiting: list[tuple[float, int, ModelSplit]] = []
    for candidate in _candidates(predict, gpus):
        tensor, pipeline, context, _, interleave = map(float, candidate)
        count = terms.count_micro_batches(predict.batch, gpus // candidate.size, predict.micro_batch)
        slots = terms.duration_in_slots(count, pipeline, interleave)
        waiting.append((predict.least_seconds(tensor, pipeline, context, slots), BOUNDED, candidate))
    heapify(waiting)
    while waiting:
        seconds, stage, candidate = heappop(waiting)
        if stage == PREDICTED:
            yield TimedSplit(seconds, candidate, gpus, recompute)
            continue
        one = [float(degree) for degree in (*candidate, gpus // candidate.size)]
        degrees = expert_degrees(predict.training, gpus // (candidate.tensor * candidate.pipeline))
        if stage == BOUNDED and len(degrees) > 1:
            least = float(dense.seconds(*one))
            for expert in degrees:
                heappush(waiting, (least, BOUNDED_CLOSELY, candidate._replace(expert=expert)))
        else:
            heappush(waiting, (float(predict.seconds(*one)), PREDICTED, candidate))


def _candidates(predict: Predictor, gpus: int) -> Iterator[ModelSplit]:
    """Yield every split of all GPUs within scale-up domains, equal parts of a sequence and all experts on each GPU.

    Stages are interleaved where they are equal and the schedule can be.
    """
    length = int(predict.work.sequence)
    for tensor in predict.tensor_degrees(gpus):
        for pipeline in divisors(gpus // tensor):
            if pipeline <= predict.work.layers:
                for context in divisors(gcd(gpus // (tensor * pipeline), length)):
                    data = gpus // (tensor * pipeline * context)
                    for interleave in predict.chunks(pipeline):
                        if predict.interleaves(pipeline, interleave, data):
                            yield ModelSplit(tensor, pipeline, context, 1, interleave)


def _weights_fit(training: Training, candidate: ModelSplit, gpu: Gpu) -> bool:
    """Return whether the weights alone could fit, divided equally over the GPUs of the replica: a quick first check."""
    if training.zero.value >= ALL_SHARDED:
        return True
    memory = require(gpu.memory_bytes, "steps are predicted").value
    spread = candidate.tensor * candidate.pipeline * candidate.expert
    return bool(training.model.parameters.value * BYTES_OF_WEIGHT <= memory * spread)


def _number(figure: Figure) -> float:
    return float(figure.value)

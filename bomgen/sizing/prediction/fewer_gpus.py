"""Whether a run would be faster on fewer of its GPUs, or with another recomputation.

A count of GPUs with few divisors leaves only awkward splits, and a step has only so many micro-batches to share. Splits
that leave servers idle are predicted all at once, as arrays; those that fit are looked for from the fastest on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import lcm
from typing import Any

import numpy as np

from bomgen.catalog.parts import Gpu
from bomgen.core.provenance import Figure
from bomgen.fabric.clos.shape import divisors
from bomgen.sizing.prediction.search import Predictor, classify_splits
from bomgen.sizing.training.candidates import Candidate, TimedSplit, expert_degrees

MORE_MICRO_BATCHES = 8
"""A replica is tried with up to so many micro-batches above the fewest: beyond, fewer GPUs gain nothing."""


def find_faster_split(
    predictors: Iterable[Predictor], gpu: Gpu, gpus: Figure, gpus_per_server: int, seconds: float
) -> TimedSplit | None:
    """The fastest split that fits on at most all GPUs, in whole servers, of those faster than `seconds`; None: none.

    `predictors` has one for each recomputation that the run may take.
    """
    best = None
    for predict in predictors:
        splits = _faster_splits(predict, int(gpus.value), gpus_per_server, best.seconds if best else seconds)
        found = (split for split, fits in classify_splits(predict.training, gpu, gpus, splits) if fits)
        if (fastest := next(found, None)) is not None:
            best = _drop_replicas(predict, gpu, gpus, gpus_per_server, fastest)
    return best


def _drop_replicas(predict: Predictor, gpu: Gpu, gpus: Figure, gpus_per_server: int, split: TimedSplit) -> TimedSplit:
    """The split with fewer replicas, as long as each step down is faster and fits."""
    one = split.candidate
    ranks = lcm(one.context, one.expert)
    unit = lcm(one.tensor * one.pipeline * ranks, gpus_per_server)
    for count in range(split.gpus - unit, 0, -unit):
        degrees = [float(each) for each in (*one, count // one.size)]
        fewer = split._replace(seconds=float(predict.seconds(*degrees)), gpus=count)
        if fewer.seconds >= split.seconds or not all(
            fits for _, fits in classify_splits(predict.training, gpu, gpus, [fewer])
        ):
            break
        split = fewer
    return split


def _faster_splits(predict: Predictor, gpus: int, gpus_per_server: int, seconds: float) -> Iterator[TimedSplit]:
    """Splits over whole servers, idle ones left over or none, predicted to be faster than `seconds`, fastest first."""
    degrees = degrees_of_splits(predict, gpus)
    unit = unit_of_replicas(degrees, gpus_per_server)
    most = gpus // degrees[:3].prod(axis=0) // unit * unit
    kept = most > 0
    kept[kept] = _may_be_faster(predict, degrees[:, kept], most[kept], seconds)
    degrees, unit, most = degrees[:, kept], unit[kept], most[kept]
    tried = list(_data_degrees(predict, degrees, unit, most))
    splits = np.vstack([np.tile(degrees, len(tried)), np.concatenate(tried)])
    splits = splits[:, _may_be_faster(predict, splits[:-1], splits[-1], seconds)]
    steps = predict.seconds(*splits.astype(float))
    recompute = str(predict.training.recompute.value)
    for place in np.argsort(steps, kind="stable")[: int((steps < seconds).sum())]:
        *found, data = map(int, splits[:, place])
        candidate = Candidate(*found)
        yield TimedSplit(float(steps[place]), candidate, candidate.size * data, recompute)


def _data_degrees(predict: Predictor, degrees: Any, unit: Any, most: Any) -> Iterator[Any]:
    """Numbers of replicas that a fastest split may have, multiples of `unit` up to `most`.

    For a number of micro-batches the time of a step rises or falls with the replicas as long as their ring stays in the
    scale-up domain or outside: the fewest or the most that need so many, or those that the domain holds.
    """
    tensor, pipeline, context, _ = degrees
    sequences = predict.batch / predict.micro_batch
    fewest = np.ceil(sequences / most)
    yield from (unit, most)
    for more in range(MORE_MICRO_BATCHES):
        count = fewest + more
        yield np.clip(np.ceil(np.ceil(sequences / count) / unit) * unit, unit, most).astype(int)
        beyond = np.ceil(sequences / np.maximum(count - 1, 1)) - 1
        yield np.clip(beyond // unit * unit, unit, most).astype(int)
    domain = int(predict.machine.domain)
    for within in (domain // (tensor * context), domain // (tensor * pipeline * context)):
        yield np.clip(within // unit * unit, unit, most)


def _may_be_faster(predict: Predictor, degrees: Any, data: Any, seconds: float) -> Any:
    """Whether the matrix products alone are faster than `seconds`."""
    tensor, pipeline, context, _ = degrees.astype(float)
    slots = np.ceil(predict.batch / (data * predict.micro_batch)) + pipeline - 1
    return predict.least_seconds(tensor, pipeline, context, slots) < seconds


def unit_of_replicas(degrees: Any, gpus_per_server: int) -> Any:
    """Return what the replicas of splits are a multiple of: they fill whole servers, and hold whole sets of experts."""
    tensor, pipeline, context, expert = degrees
    inner = tensor * pipeline * context
    return np.lcm(expert // np.gcd(expert, context), gpus_per_server // np.gcd(gpus_per_server, inner))


def degrees_of_splits(predict: Predictor, gpus: int) -> Any:
    """Return tensor, pipeline, context and expert degrees of all replicas of at most so many GPUs."""
    if (given := predict.training.parallelism) is not None:
        return np.array([[given.tensor.value], [given.pipeline.value], [given.context.value], [given.expert.value]])
    experts = int(predict.work.experts)
    heads = int(predict.training.model.shape["heads"].value)
    ranges = (
        predict.tensor_degrees(heads),
        range(1, min(int(predict.work.layers), gpus) + 1),
        divisors(int(predict.work.sequence)),
        expert_degrees(predict.training, experts),
    )
    grid = np.array(np.meshgrid(*map(np.array, map(list, ranges)), indexing="ij")).reshape(len(ranges), -1)
    return grid[:, grid[:3].prod(axis=0) <= gpus]

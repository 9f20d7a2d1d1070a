"""Numbers of GPUs that a training run fits, among many: the results of `parallelism.fit` without a search for each.

The memory of a split falls with its replicas, and with its parts of a sequence where the replicas stay the same. So the
fewest replicas that fit are found once per split, by the memory of `memory.per_gpu` itself; what remains for a number
of GPUs is whether it divides into the split, and a comparison.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import islice
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bomgen.catalog.parts import Gpu
from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, function_of
from bomgen.fabric.clos.shape import divisors
from bomgen.plan.types import Parallelism, Training
from bomgen.sizing.training import memory
from bomgen.sizing.training.activations import FULL
from bomgen.sizing.training.memory import ModelSplit, split_of
from bomgen.sizing.training.parallelism import check_degrees, fit, given_split, whole_gpus
from bomgen.sizing.training.states import has_room_for_parts

Counts = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

FIRST_TRIED = 64
"""Numbers of GPUs tried at once at first; then twice as many each time. Most runs fit one of the first."""
MOST_TRIED = 2**14
"""Numbers tried for one run: a split of 61 stages and 8 parts of the experts fits every 488th server or more."""


class Fitting(NamedTuple):
    """The results of a run on each of many numbers of GPUs."""

    possible: Truths
    """Whether there is a split at all: with degrees set by the plan, whether or not it fits."""
    fits: Truths
    """Whether the run fits, or may fit as far as is known."""


def fitting(training: Training, gpu: Gpu, gpus: Figure, counts: Counts) -> Fitting | None:
    """Return the numbers of GPUs that a run fits; `gpus` is the figure that takes them as its value.

    None where only a search for each number can tell: the model's shape is known in part, or contradicts its
    parameters, or host memory limits the run, too.
    """
    if training.offload and gpu.host_memory:
        return None
    if training.tuning and counts.min() == 1:
        # A single GPU has no buffers for communication: it may fit where two do not.
        return None
    most = int(counts.max())
    gpus = replace(gpus, value=most)
    if training.parallelism is not None:
        return _given(training, training.parallelism, gpu, gpus, counts)
    if gpu.memory_bytes is None:
        fits = np.ones(len(counts), np.bool_)
        return Fitting(fits, fits)
    if not has_room_for_parts(training.model):
        # A stage would hold fewer parameters than its experts, and a wider degree would need more.
        return None
    limit, shape = gpu.memory_bytes.value, training.model.shape
    heads, layers = shape.get("heads"), shape.get("layers")
    if heads is not None and layers is not None:
        fits = _searched(training, limit, gpus, counts)
        return Fitting(fits, fits)
    # Nothing limits the unknown degrees: a replica of all GPUs holds the least of the model's states.
    whole = ModelSplit(1, most, 1, 1) if layers is None else ModelSplit(most, 1, 1, 1)
    split = split_of(whole, gpus)
    need = memory.per_gpu(training, split)
    if need.activations is not None:
        return None
    total = function_of(need.total, (split.tensor if layers is not None else split.pipeline, gpus))
    least = _least(lambda count: bool(total(count, count) <= limit), most)
    fits = counts >= least
    return Fitting(fits, fits)


def first_fitting(
    training: Training, gpu: Gpu, gpus: Figure, gpus_per_server: Figure | None, counts: Iterable[int]
) -> int | None:
    """Return the first of ascending numbers of GPUs with a split of a run that fits; None: there is none.

    Degrees set by the plan only have to divide it. `gpus` is the figure that takes the numbers as its value. Where only
    a search for each number can tell, at most `FIRST_TRIED` are tried.
    """
    waiting, chunk, tried = iter(counts), FIRST_TRIED, 0
    while tried < MOST_TRIED and (numbers := [*islice(waiting, chunk)]):
        found = fitting(training, gpu, gpus, np.array(numbers, np.int64))
        if found is None:
            return next((count for count in numbers if _has_split(training, gpu, gpus, gpus_per_server, count)), None)
        rows = np.flatnonzero(found.possible if training.parallelism else found.fits)
        if rows.size:
            return numbers[int(rows[0])]
        tried, chunk = tried + chunk, 2 * chunk
    return None


def _has_split(training: Training, gpu: Gpu, gpus: Figure, gpus_per_server: Figure | None, count: int) -> bool:
    try:
        fit(training, gpu, replace(gpus, value=count), gpus_per_server)
    except Infeasible:
        return False
    return True


def _given(training: Training, parallelism: Parallelism, gpu: Gpu, gpus: Figure, counts: Counts) -> Fitting:
    """Return the numbers of GPUs that given degrees can split, and those on which their split fits."""
    step, none = whole_gpus(parallelism), np.zeros(len(counts), np.bool_)
    try:
        check_degrees(training, parallelism, replace(gpus, value=step))
    except Infeasible:
        return Fitting(none, none)
    possible = counts % step == 0
    if gpu.memory_bytes is None or not possible.any():
        return Fitting(possible, possible)
    need = memory.per_gpu(training, given_split(parallelism, gpus))
    if need.activations is None:
        # A shortage of states alone is no reason for more recomputation.
        return Fitting(possible, possible)
    total, limit = function_of(need.total, (gpus,)), gpu.memory_bytes.value
    least = _least(lambda steps: bool(total(steps * step) <= limit), int(counts.max()) // step)
    return Fitting(possible, possible & (counts >= least * step))


def _searched(training: Training, limit: int, gpus: Figure, counts: Counts) -> Truths:
    """Return the numbers of GPUs on which some split fits, of all that `parallelism` searches.

    With the same stages, parts of a sequence and replicas a wider tensor degree needs no more. Where it divides the
    activations, too, the widest that divides the GPUs needs the least of all: a narrower one gains no more by the
    replicas, parts of a sequence or GPUs for experts that it leaves.
    """
    widest_alone = training.recompute.value != FULL
    shape, fits = training.model.shape, np.zeros(len(counts), np.bool_)
    most, heads, experts = int(counts.max()), shape["heads"].value, shape["experts"].value if "experts" in shape else 1
    longest = int(training.sequence.value) if training.sequence is not None else 1
    for pipeline in range(1, min(shape["layers"].value, most) + 1):
        waiting = np.flatnonzero(~fits & (counts % pipeline == 0))
        widest = np.gcd(counts[waiting] // pipeline, heads)
        for tensor in reversed(divisors(heads)):
            rows = waiting[widest == tensor if widest_alone else (widest % tensor == 0) & ~fits[waiting]]
            if not rows.size:
                continue
            fit, contexts = _fit_of_pair(training, limit, gpus, (tensor, pipeline), longest)
            if not fit(experts, min(contexts, most), most):
                # However wide everything else is, a narrower one does not fit either.
                break
            ranks = counts[rows] // (tensor * pipeline)
            degrees = np.gcd(ranks, experts)
            for degree in set(degrees.tolist()):
                alike = degrees == degree
                fits[rows[alike]] = _ranks_that_fit(partial(fit, degree), ranks[alike], contexts)
    return fits


def _fit_of_pair(
    training: Training, limit: int, gpus: Figure, pair: tuple[int, int], longest: int
) -> tuple[Callable[[int, int, int], bool], int]:
    """Return the test whether a pair of tensor and pipeline degrees fits, and the most parts of a sequence.

    The test takes expert and context degrees and replicas; without activations, parts count like replicas.
    """
    split = split_of(ModelSplit(*pair, 1, 1), gpus)
    need = memory.per_gpu(training, split)
    total = function_of(need.total, (split.expert, split.context, gpus))
    contexts = longest if need.activations is not None else int(gpus.value)
    return lambda expert, context, data: total(expert, context, prod(pair) * context * data) <= limit, contexts


def _ranks_that_fit(fit: Callable[[int, int], bool], ranks: Counts, longest: int) -> Truths:
    """Return which numbers of GPUs of data and context parallelism fit by some context degree up to `longest`.

    `fit` tells whether a context degree fits with a number of replicas; more of either never need more memory. All GPUs
    as parts of one sequence need no more than fewer parts and more replicas: each replica works on at least a whole
    micro-batch.
    """
    short = ranks <= longest
    fits = short & (ranks >= _least(lambda context: fit(context, 1), min(longest, int(ranks.max()))))
    if not short.all():
        fits[~short] = _many_ranks_that_fit(fit, ranks[~short], longest)
    return fits


def _many_ranks_that_fit(fit: Callable[[int, int], bool], ranks: Counts, longest: int) -> Truths:
    """Return the same for more GPUs than a sequence has parts: each context degree fits from some replicas on."""
    most, start = int(ranks.max()), 1
    fits = np.zeros(len(ranks), np.bool_)
    while not fits.all() and start <= longest:
        end = min(2 * start - 1, longest)
        if fit(end, most // start):
            for context in range(start, end + 1):
                divided = ~fits & (ranks % context == 0)
                if not divided.any():
                    continue
                least = _least(partial(fit, context), most // context)
                if least == 1:
                    return fits | _have_divisor(ranks, context, longest)
                fits |= divided & (ranks >= least * context)
        start = end + 1
    return fits


def _have_divisor(numbers: Counts, low: int, high: int) -> Truths:
    have = [any(low <= divisor <= high for divisor in divisors(number)) for number in numbers.tolist()]
    return np.array(have, np.bool_)


def _least(fit: Callable[[int], bool], most: int) -> int:
    """Return the smallest number from 1 that fits, as all larger ones do; `most` + 1 where none does."""
    return 1 + bisect_left(range(1, most), True, key=fit) if fit(most) else most + 1

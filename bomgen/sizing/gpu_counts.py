"""Searches over many numbers of GPUs as arrays: those that a run fits, and those on which it is fast enough.

The memory of a split falls with its replicas, and with its parts of a sequence where the replicas stay the same. So the
fewest replicas that fit are found once per split, by the memory of `memory.per_gpu` itself; what remains for a number
of GPUs is whether it divides into the split, and a comparison.

The step time does not fall steadily with the GPUs: a number with few divisors has only inefficient splits. So ranges of
numbers are halved, from the smallest on, and a range is pruned if a lower bound on its step times is too long. The
remaining short ranges are predicted as arrays.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from math import lcm, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bomgen.catalog.parts import Gpu
from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, function_of
from bomgen.fabric.clos.shape import divisors
from bomgen.plan.types import Parallelism, Training
from bomgen.sizing.prediction import terms
from bomgen.sizing.prediction.predict import Predictor, classify_splits
from bomgen.sizing.training import memory
from bomgen.sizing.training.activations import FULL
from bomgen.sizing.training.memory import ModelSplit, TimedSplit, expert_degrees, split_of
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


# fewer gpus ---------------------------------------------------------------------------------------------------------
# Whether a run would be faster on fewer of its GPUs, or with another recomputation.
#
# A count of GPUs with few divisors leaves only awkward splits, and a step has a limited number of micro-batches to
# share. Splits that leave servers idle are predicted all at once, as arrays; those that fit are searched from the
# fastest on.

MORE_MICRO_BATCHES = 8
"""Micro-batches of a replica to try above the fewest: beyond, fewer GPUs gain nothing."""


def find_faster_split(
    predictors: Iterable[Predictor], gpu: Gpu, gpus: Figure, gpus_per_server: int, seconds: float
) -> TimedSplit | None:
    """Return the fastest split below `seconds` that fits on at most all GPUs, in whole servers; None: none.

    `predictors` has one for each possible recomputation of the run.
    """
    best = None
    for predictor in predictors:
        splits = _faster_splits(predictor, int(gpus.value), gpus_per_server, best.seconds if best else seconds)
        fitting = (split for split, fits in classify_splits(predictor.training, gpu, gpus, splits) if fits)
        if (fastest := next(fitting, None)) is not None:
            best = _drop_replicas(predictor, gpu, gpus, gpus_per_server, fastest)
    return best


def _drop_replicas(predict: Predictor, gpu: Gpu, gpus: Figure, gpus_per_server: int, split: TimedSplit) -> TimedSplit:
    """Return the split with fewer replicas, as long as each step down is faster and fits."""
    one = split.candidate
    ranks = lcm(one.context, one.expert)
    unit = lcm(one.tensor * one.pipeline * ranks, gpus_per_server)
    for count in range(split.gpus - unit, 0, -unit):
        degrees = [float(degree) for degree in (*one, count // one.size)]
        fewer = split._replace(seconds=float(predict.seconds(*degrees)), gpus=count)
        regular = predict.interleaves(one.pipeline, one.interleave, count // one.size)
        if (
            fewer.seconds >= split.seconds
            or not regular
            or not all(fits for _, fits in classify_splits(predict.training, gpu, gpus, [fewer]))
        ):
            break
        split = fewer
    return split


def _faster_splits(predict: Predictor, gpus: int, gpus_per_server: int, seconds: float) -> Iterator[TimedSplit]:
    """Yield the splits over whole servers, with or without idle ones, predicted below `seconds`, fastest first."""
    degrees = degrees_of_splits(predict, gpus)
    unit = unit_of_replicas(degrees, gpus_per_server)
    most = gpus // degrees[:3].prod(axis=0) // unit * unit
    kept = most > 0
    kept[kept] = _may_be_faster(predict, degrees[:, kept], most[kept], seconds)
    degrees, unit, most = degrees[:, kept], unit[kept], most[kept]
    tried = list(_data_degrees(predict, degrees, unit, most))
    splits = np.vstack([np.tile(degrees, len(tried)), np.concatenate(tried)])
    splits = splits[:, _may_be_faster(predict, splits[:-1], splits[-1], seconds)]
    splits = splits[:, predict.interleaves(splits[1], splits[4], splits[-1])]
    steps = predict.seconds(*splits.astype(float))
    recompute = str(predict.training.recompute.value)
    for column in np.argsort(steps, kind="stable")[: int((steps < seconds).sum())]:
        *split, data = map(int, splits[:, column])
        candidate = ModelSplit(*split)
        yield TimedSplit(float(steps[column]), candidate, candidate.size * data, recompute)


def _data_degrees(predict: Predictor, degrees: Any, unit: Any, most: Any) -> Iterator[Any]:
    """Yield the possible numbers of replicas of a fastest split, multiples of `unit` up to `most`.

    For a number of micro-batches the time of a step rises or falls with the replicas as long as their ring stays inside
    or outside the scale-up domain: the candidates are the fewest or the most with that number, or those that the domain
    holds.
    """
    tensor, pipeline, context, *_ = degrees
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
    tensor, pipeline, context, _, interleave = degrees.astype(float)
    slots = terms.duration_in_slots(np.ceil(predict.batch / (data * predict.micro_batch)), pipeline, interleave)
    return predict.least_seconds(tensor, pipeline, context, slots) < seconds


def unit_of_replicas(degrees: Any, gpus_per_server: int) -> Any:
    """Return the factor of the replicas of splits: they fill whole servers, and hold whole sets of experts."""
    tensor, pipeline, context, expert, _ = degrees
    inner = tensor * pipeline * context
    return np.lcm(expert // np.gcd(expert, context), gpus_per_server // np.gcd(gpus_per_server, inner))


def degrees_of_splits(predict: Predictor, gpus: int) -> Any:
    """Return tensor, pipeline, context, expert and interleave of all replicas with at most this many GPUs."""
    if (fixed := predict.training.parallelism) is not None:
        degrees = (fixed.tensor, fixed.pipeline, fixed.context, fixed.expert, fixed.interleave)
        return np.array([[degree.value] for degree in degrees])
    experts = int(predict.work.experts)
    heads = int(predict.training.model.shape["heads"].value)
    pipelines = range(1, min(int(predict.work.layers), gpus) + 1)
    stages = np.array([(pipeline, chunks) for pipeline in pipelines for chunks in predict.chunks(pipeline)])
    ranges = (
        predict.tensor_degrees(heads),
        range(len(stages)),
        divisors(int(predict.work.sequence)),
        expert_degrees(predict.training, experts),
    )
    grid = np.array(np.meshgrid(*map(np.array, map(list, ranges)), indexing="ij")).reshape(len(ranges), -1)
    tensor, row, context, expert = grid
    grid = np.stack([tensor, stages[row, 0], context, expert, stages[row, 1]])
    return grid[:, grid[:3].prod(axis=0) <= gpus]


# fewest gpus --------------------------------------------------------------------------------------------------------

SHORT = 64
"""The size of a range that is not halved further."""
ROUNDING = 1e-9
"""Relative tolerance of a step: the caller compares the days of a run, which are exact."""
RISING = ("data", "data_overlapped", "constant_network")
"""Terms that never fall with the replicas; all others never rise with them, except those with neither property."""
NEITHER = ("gathers", "gathers_overlapped", "pipeline")


class _Splits(NamedTuple):
    """Degrees of a predictor's splits that may be fast enough, after pruning."""

    predict: Predictor
    degrees: Counts
    """Rows of tensor, pipeline, context and expert degrees, and of interleave."""


class GpusOfRun(NamedTuple):
    """The accelerators whose number is searched."""

    gpu: Gpu
    unit: int
    """The factor of their number."""
    first: Figure
    """The first upper limit of the search."""
    most: int


def counts_in_time(predictors: Sequence[Predictor], gpus: GpusOfRun, seconds: float) -> Iterator[tuple[int, float]]:
    """Yield ascending numbers of GPUs with a split that fits and is predicted to step in `seconds`, with the step.

    `predictors` has one for each recomputation of the run that is possible: a run takes the fastest that fits.
    """
    above, upto = 0, int(gpus.first.value)
    while above < gpus.most:
        fits = _Fits(gpus, upto, predictors[-1])
        splits = [_Splits(predict, degrees_of_splits(predict, upto)) for predict in predictors]
        yield from _counts_of_range(splits, gpus, fits, seconds * (1 + ROUNDING), above // gpus.unit, upto // gpus.unit)
        above, upto = upto, min(2 * upto, gpus.most)


class _Fits:
    """The test whether splits fit. One that does not fit on the most GPUs of a range fits nowhere in it."""

    def __init__(self, gpus: GpusOfRun, upto: int, most_recomputation: Predictor) -> None:
        self.gpus, self.upto, self.at_most = gpus, upto, dict[tuple[str, ModelSplit], bool]()
        self.last, self.given = most_recomputation, dict[str, Fitting | None]()

    def __call__(self, predict: Predictor, candidate: ModelSplit, count: int) -> bool:
        """Return whether a split fits on a number of GPUs; the plan's split passes with the last recomputation."""
        if predict.training.parallelism is not None:
            return predict is self.last or self._fits_given(predict, count)
        recompute = str(predict.training.recompute.value)
        if (recompute, candidate) not in self.at_most:
            whole = self.upto // candidate.size * candidate.size
            self.at_most[recompute, candidate] = self._fits(predict, candidate, whole)
        return self.at_most[recompute, candidate] and self._fits(predict, candidate, count)

    def _fits_given(self, predict: Predictor, count: int) -> bool:
        recompute, unit = str(predict.training.recompute.value), self.gpus.unit
        if recompute not in self.given:
            counts = np.arange(unit, self.upto + 1, unit)
            self.given[recompute] = fitting(predict.training, self.gpus.gpu, self.gpus.first, counts)
        by_count = self.given[recompute]
        return by_count is not None and bool(by_count.fits[count // unit - 1])

    def _fits(self, predict: Predictor, candidate: ModelSplit, count: int) -> bool:
        split = TimedSplit(0.0, candidate, count, str(predict.training.recompute.value))
        return any(fits for _, fits in classify_splits(predict.training, self.gpus.gpu, self.gpus.first, [split]))


def _counts_of_range(
    splits: Sequence[_Splits], gpus: GpusOfRun, fits: _Fits, seconds: float, above: int, upto: int
) -> Iterator[tuple[int, float]]:
    """Yield the numbers of a range, in units of the numbers of GPUs: more than `above`, up to `upto`."""
    left = [_may_be_fast(split, gpus.unit, seconds, above, upto) for split in splits]
    if not any(split.degrees.size for split in left):
        return
    if upto - above <= SHORT:
        yield from _counts_of_short_range(left, gpus, fits, seconds, np.arange(above + 1, upto + 1) * gpus.unit)
        return
    middle = (above + upto) // 2
    yield from _counts_of_range(left, gpus, fits, seconds, above, middle)
    yield from _counts_of_range(left, gpus, fits, seconds, middle, upto)


def _may_be_fast(splits: _Splits, unit: int, seconds: float, above: int, upto: int) -> _Splits:
    """Prune the splits without a number of replicas in a range whose step may be within `seconds`."""
    predict, degrees = splits
    inner, step = degrees[:3].prod(axis=0), unit_of_replicas(degrees, unit)
    least, most = (above * unit // inner // step + 1) * step, upto * unit // inner // step * step
    kept = least <= most
    degrees, least, most = degrees[:, kept], least[kept], most[kept]
    if not degrees.size:
        return _Splits(predict, degrees)
    inverse = predict.inverse
    falling = predict._replace(inverse=inverse._replace(**dict.fromkeys((*RISING, *NEITHER), 0.0)))
    rising = predict._replace(inverse=inverse._replace(**{name: 0.0 for name in inverse._fields if name not in RISING}))
    bound = falling.seconds(*np.vstack([degrees, most]).astype(float))
    bound += rising.seconds(*np.vstack([degrees, least]).astype(float))
    return _Splits(predict, degrees[:, bound <= seconds])


def _counts_of_short_range(
    splits: Sequence[_Splits], gpus: GpusOfRun, fits: _Fits, seconds: float, counts: Counts
) -> Iterator[tuple[int, float]]:
    """Yield those numbers of GPUs for which a split that fits steps in `seconds`."""
    fast: dict[int, list[tuple[float, int, ModelSplit]]] = {}
    for index, split in enumerate(splits):
        for candidate, seconds_of_counts in _steps(split, gpus.unit, counts):
            for row in np.flatnonzero(seconds_of_counts <= seconds).tolist():
                fast.setdefault(int(counts[row]), []).append((float(seconds_of_counts[row]), index, candidate))
    predictors = [split.predict for split in splits]
    for count in sorted(fast):
        steps_that_fit = (step for step, index, split in sorted(fast[count]) if fits(predictors[index], split, count))
        if (step := next(steps_that_fit, None)) is not None:
            yield count, step


def _steps(splits: _Splits, unit: int, counts: Counts) -> Iterator[tuple[ModelSplit, Any]]:
    """Yield the steps of each split over some numbers of GPUs [s]; infinite where it does not divide them."""
    predict, degrees = splits
    whole = degrees[:3].prod(axis=0) * unit_of_replicas(degrees, unit)
    rows, places = np.nonzero(counts[:, None] % whole == 0)
    seconds = np.full((len(counts), degrees.shape[1]), np.inf)
    if rows.size:
        replicas = counts[rows] / degrees[:3, places].prod(axis=0)
        chosen = np.vstack([degrees[:, places], replicas])
        regular = predict.interleaves(chosen[1], chosen[4], replicas)
        seconds[rows, places] = np.where(regular, predict.seconds(*chosen), np.inf)
    for column in np.unique(places).tolist():
        yield ModelSplit(*map(int, degrees[:, column])), seconds[:, column]

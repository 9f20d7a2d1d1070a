"""How many GPUs a predicted run needs, or would better leave idle: searched as arrays of splits.

The step time does not fall steadily with the GPUs: a number with few divisors has only inefficient splits. So
ranges of numbers are halved, from the smallest on, and a range is pruned if a lower bound on its step times is too
long. What is left of a short range is predicted as arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bomgen.catalog.parts import Gpu
from bomgen.core.provenance import Figure
from bomgen.sizing.prediction.fewer_gpus import degrees_of_splits, unit_of_replicas
from bomgen.sizing.prediction.search import Predictor, classify_splits
from bomgen.sizing.training.candidates import Candidate, TimedSplit
from bomgen.sizing.training.fitting_counts import Fitting, fitting

Numbers = npt.NDArray[np.int64]

SHORT = 64
"""The size of a range that is not halved further."""
ROUNDING = 1e-9
"""A step may be longer than asked for by this share: the caller compares the days of a run, which are exact."""
RISING = ("data", "data_overlapped", "constant_network")
"""Terms that never fall with the replicas; all others never rise with them, but for those of neither."""
NEITHER = ("gathers", "gathers_overlapped", "pipeline")


class _Splits(NamedTuple):
    """Degrees of a predictor's splits that may be fast enough."""

    predict: Predictor
    degrees: Numbers
    """Rows of tensor, pipeline, context and expert degrees."""


class GpusOfRun(NamedTuple):
    """The accelerators whose number is searched."""

    gpu: Gpu
    unit: int
    """What their number is a multiple of."""
    first: Figure
    """The first upper limit of the search."""
    most: int


def counts_in_time(predictors: Sequence[Predictor], gpus: GpusOfRun, seconds: float) -> Iterator[tuple[int, float]]:
    """Yield ascending numbers of GPUs over which a split that fits is predicted to step in `seconds`, with the step.

    `predictors` has one for each recomputation that the run may take, the least first: a run takes the least that fits.
    """
    above, upto = 0, int(gpus.first.value)
    while above < gpus.most:
        fits = _Fits(gpus, upto, predictors[-1])
        splits = [_Splits(predict, degrees_of_splits(predict, upto)) for predict in predictors]
        yield from _counts_of_range(splits, gpus, fits, seconds * (1 + ROUNDING), above // gpus.unit, upto // gpus.unit)
        above, upto = upto, min(2 * upto, gpus.most)


class _Fits:
    """Tells whether splits fit. One that does not fit on the most GPUs of a range fits on none of it."""

    def __init__(self, gpus: GpusOfRun, upto: int, most_recomputation: Predictor) -> None:
        self.gpus, self.upto, self.at_most = gpus, upto, dict[tuple[str, Candidate], bool]()
        self.last, self.given = most_recomputation, dict[str, Fitting | None]()

    def __call__(self, predict: Predictor, candidate: Candidate, count: int) -> bool:
        """Whether a split fits on a number of GPUs; what the plan gives need not with the most recomputation."""
        if predict.training.parallelism is not None:
            return predict is self.last or self.fits_given(predict, count)
        recompute = str(predict.training.recompute.value)
        if (recompute, candidate) not in self.at_most:
            whole = self.upto // candidate.size * candidate.size
            self.at_most[recompute, candidate] = self._fits(predict, candidate, whole)
        return self.at_most[recompute, candidate] and self._fits(predict, candidate, count)

    def fits_given(self, predict: Predictor, count: int) -> bool:
        """Whether the split that the plan gives fits on a number of GPUs."""
        recompute, unit = str(predict.training.recompute.value), self.gpus.unit
        if recompute not in self.given:
            counts = np.arange(unit, self.upto + 1, unit)
            self.given[recompute] = _fitting(predict, self.gpus, counts)
        found = self.given[recompute]
        return found is not None and bool(found.fits[count // unit - 1])

    def _fits(self, predict: Predictor, candidate: Candidate, count: int) -> bool:
        split = TimedSplit(0.0, candidate, count, str(predict.training.recompute.value))
        return any(fits for _, fits in classify_splits(predict.training, self.gpus.gpu, self.gpus.first, [split]))


def _counts_of_range(
    splits: Sequence[_Splits], gpus: GpusOfRun, fits: _Fits, seconds: float, above: int, upto: int
) -> Iterator[tuple[int, float]]:
    """The numbers of a range, in units of the numbers of GPUs: more than `above`, up to `upto`."""
    left = [_may_be_fast(each, gpus.unit, seconds, above, upto) for each in splits]
    if not any(each.degrees.size for each in left):
        return
    if upto - above <= SHORT:
        yield from _counts_of_short_range(left, gpus, fits, seconds, np.arange(above + 1, upto + 1) * gpus.unit)
        return
    middle = (above + upto) // 2
    yield from _counts_of_range(left, gpus, fits, seconds, above, middle)
    yield from _counts_of_range(left, gpus, fits, seconds, middle, upto)


def _may_be_fast(splits: _Splits, unit: int, seconds: float, above: int, upto: int) -> _Splits:
    """Those splits with a number of replicas in a range whose step is not certainly longer than `seconds`."""
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
    tensor, pipeline, context, expert = degrees.astype(float)
    bound = falling.seconds(tensor, pipeline, context, expert, most.astype(float))
    bound += rising.seconds(tensor, pipeline, context, expert, least.astype(float))
    return _Splits(predict, degrees[:, bound <= seconds])


def _counts_of_short_range(
    splits: Sequence[_Splits], gpus: GpusOfRun, fits: _Fits, seconds: float, counts: Numbers
) -> Iterator[tuple[int, float]]:
    """Those of some numbers of GPUs over which a split that fits steps in `seconds`."""
    fast: dict[int, list[tuple[float, int, Candidate]]] = {}
    for place, each in enumerate(splits):
        for candidate, seconds_of_counts in _steps(each, gpus.unit, counts):
            for row in np.flatnonzero(seconds_of_counts <= seconds).tolist():
                fast.setdefault(int(counts[row]), []).append((float(seconds_of_counts[row]), place, candidate))
    predictors = [each.predict for each in splits]
    for count in sorted(fast):
        fitting_splits = (each for each in sorted(fast[count]) if fits(predictors[each[1]], each[2], count))
        for step, place, _ in fitting_splits:
            if not any(_fits_with(each, gpus, fits, count) for each in predictors[:place]):
                yield count, step
                break


def _steps(splits: _Splits, unit: int, counts: Numbers) -> Iterator[tuple[Candidate, Any]]:
    """The steps of each split over some numbers of GPUs [s]; endless where it does not divide them."""
    predict, degrees = splits
    whole = degrees[:3].prod(axis=0) * unit_of_replicas(degrees, unit)
    rows, places = np.nonzero(counts[:, None] % whole == 0)
    found = np.full((len(counts), degrees.shape[1]), np.inf)
    if rows.size:
        tensor, pipeline, context, expert = degrees[:, places].astype(float)
        replicas = counts[rows] / (tensor * pipeline * context)
        found[rows, places] = predict.seconds(tensor, pipeline, context, expert, replicas)
    for place in np.unique(places).tolist():
        yield Candidate(*map(int, degrees[:, place])), found[:, place]


def _fits_with(predict: Predictor, gpus: GpusOfRun, fits: _Fits, count: int) -> bool:
    """Whether a run is known to fit a number of GPUs with a recomputation."""
    if predict.training.parallelism is not None:
        return fits.fits_given(predict, count)
    found = _fitting(predict, gpus, np.array([count], np.int64))
    return found is not None and bool(found.fits.all())


def _fitting(predict: Predictor, gpus: GpusOfRun, counts: Numbers) -> Fitting | None:
    return fitting(predict.training, gpus.gpu, gpus.first, counts)

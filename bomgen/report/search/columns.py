"""What the designs of an index range come to, as columns of numbers: what a front is found in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bomgen.core.money import MONEY, minor_unit
from bomgen.plan.search_space import MEASURES
from bomgen.report.search.candidates import Candidate, Measured

WHOLE = (MONEY, "count")
"""Units of measures that are whole numbers in columns: money in minor units of its currency, and counts."""
Columned = int | float


class Columns(NamedTuple):
    """What the designs of an index range of a search space come to, a row a design."""

    start: int
    """Place of the first row's design in the space."""
    measures: Mapping[str, NDArray[Any]]
    """By name (plan/search_space.py), as `column_value` has them: int64 or float64, whose order and equality are those
    of the exact values. Where a measure is not known the row has any value."""
    known: Mapping[str, NDArray[np.bool_]]
    """Whether the measure is known; all False where the design cannot be built."""
    refused: NDArray[np.int32]
    """0: the design can be built, else 1 + index into `reasons`."""
    unpriced: NDArray[np.int32]
    """0: every line has a price, else 1 + index into `unpriced_parts`."""
    reasons: Sequence[str]
    """Why designs cannot be built."""
    unpriced_parts: Sequence[tuple[str, ...]]
    """Parts without a price that designs have."""


class Evaluator(Protocol):
    """Who works designs out as columns."""

    @property
    def size(self) -> int:
        """How many designs the space has."""

    @property
    def chunk(self) -> int:
        """How many designs are best asked for at a time."""

    def columns(self, start: int, stop: int) -> Columns:
        """What the designs from place `start` up to and without `stop` come to.

        Raises PlanErrors for a search whose designs cannot be compared, BrokenResult when a check on a result fails.
        """


def column_value(name: str, value: Measured | float, currency: str) -> Columned:
    """A measure as columns have it; 0 for one that is not known.

    Raises OverflowError where no column holds it.
    """
    if MEASURES[name] not in WHOLE:
        return float(value or 0)
    whole = int(Fraction(value or 0) / Fraction(minor_unit(currency))) if MEASURES[name] == MONEY else int(value or 0)
    if abs(whole) > np.iinfo(np.int64).max:
        raise OverflowError(f"{name} {value}")
    return whole


def column_type(name: str) -> type[np.int64] | type[np.float64]:
    """The type of a measure's column."""
    return np.int64 if MEASURES[name] in WHOLE else np.float64


def columns_of(start: int, candidates: Iterable[Candidate], currency: str) -> Columns:
    """Columns of designs that were worked out whole, in the order of the space.

    Raises OverflowError as `column_value`.
    """
    found = list(candidates)
    reasons, parts = dict[str, int](), dict[tuple[str, ...], int]()
    refused = [reasons.setdefault(each.problem.message, len(reasons) + 1) if each.problem else 0 for each in found]
    unpriced = [parts.setdefault(each.unpriced, len(parts) + 1) if each.unpriced else 0 for each in found]
    values = {name: [each.measures.get(name) for each in found] for name in MEASURES}
    return Columns(
        start,
        {
            name: np.array([column_value(name, value, currency) for value in column], column_type(name))
            for name, column in values.items()
        },
        {name: np.array([value is not None for value in column], np.bool_) for name, column in values.items()},
        np.array(refused, np.int32),
        np.array(unpriced, np.int32),
        tuple(reasons),
        tuple(parts),
    )

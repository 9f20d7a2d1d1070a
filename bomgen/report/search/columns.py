"""What the designs of an index range come to, as columns of numbers: what a front is found in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bomgen.core.columns import Column
from bomgen.core.money import MONEY, from_minor_units, minor_unit
from bomgen.plan.search_space import MEASURES
from bomgen.report.search.candidates import ESTIMATED, RANGED, Candidate, Measured

ENDS = {f"{name}_{end}": MEASURES[name] for name in RANGED for end in ("low", "high")}
"""The ends of the ranges of measures, with their unit."""
UNITS = {**MEASURES, **ENDS}
"""Every column that designs have, with its unit."""
WHOLE = (MONEY, "count")
"""Units of measures that are whole numbers in columns: money in minor units of its currency, and counts."""
Columned = int | float


class Columns(NamedTuple):
    """What the designs of an index range of a search space come to, a row a design."""

    start: int
    """Place of the first row's design in the space."""
    measures: Mapping[str, NDArray[Any]]
    """By name (`UNITS`), as `column_value` has them: int64 or float64, whose order and equality are those
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

    def columns(self, start: int, stop: int, names: Collection[str] = UNITS) -> Columns:
        """What the designs from place `start` up to and without `stop` come to, of some columns.

        Raises PlanErrors for a search whose designs cannot be compared, BrokenResult when a check on a result fails.
        """


def column_value(name: str, value: Measured | Column, currency: str) -> Any:
    """Return a measure as columns have it, for each row of a column; 0 for one that is not known.

    Raises OverflowError where no column holds it.
    """
    unit = Fraction(minor_unit(currency)) if UNITS[name] == MONEY else 1
    if UNITS[name] not in WHOLE:
        return value.numerators / value.denominator if isinstance(value, Column) else float(value or 0)
    whole: Any = (value / unit).integers() if isinstance(value, Column) else int(Fraction(value or 0) / unit)
    most = int(np.max(np.abs(whole)))
    if most > np.iinfo(np.int64).max:
        raise OverflowError(f"{name} {from_minor_units(most, currency) if UNITS[name] == MONEY else most}")
    return whole


def column_type(name: str) -> type[np.int64] | type[np.float64]:
    """The type of a measure's column."""
    return np.int64 if UNITS[name] in WHOLE else np.float64


def values_of(found: Candidate) -> dict[str, Measured]:
    """Return what a design comes to, by the names of columns; one that cannot be built has no measures."""
    measures = (found.measures.get(name) for name in MEASURES)
    ends = (end for name in RANGED for end in found.ends.get(name, (None, None)))
    return dict(zip(UNITS, (*measures, *ends), strict=True))


def candidate_at(columns: Columns, row: int, currency: str) -> Candidate:
    """Return the design of a row. What is no whole number is the shortest decimal that the row stands for."""
    values = dict[str, Any]()
    for name, column in columns.measures.items():
        value = column[row].item()
        if not columns.known[name][row]:
            values[name] = None
        elif UNITS[name] in WHOLE:
            values[name] = from_minor_units(value, currency) if UNITS[name] == MONEY else value
        else:
            values[name] = Fraction(str(value))
    ends = {name: (values.pop(f"{name}_low"), values.pop(f"{name}_high")) for name in RANGED}
    ranges = {name: ends[name] for name in ESTIMATED if ends[name] != (None, None)}
    parts = columns.unpriced_parts[columns.unpriced[row] - 1] if columns.unpriced[row] else ()
    days = None if ends["days"] == (None, None) else ends["days"]
    return Candidate(columns.start + row, values, currency, *ends["cost"], parts, ranges, days)


def columns_of(start: int, candidates: Iterable[Candidate], currency: str) -> Columns:
    """Columns of designs that were worked out whole, in the order of the space.

    Raises OverflowError as `column_value`.
    """
    found = list(candidates)
    reasons, parts = dict[str, int](), dict[tuple[str, ...], int]()
    refused = [reasons.setdefault(each.problem.message, len(reasons) + 1) if each.problem else 0 for each in found]
    unpriced = [parts.setdefault(each.unpriced, len(parts) + 1) if each.unpriced else 0 for each in found]
    rows = [values_of(each) for each in found]
    values = {name: [row[name] for row in rows] for name in UNITS}
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

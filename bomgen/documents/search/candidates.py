"""What designs of a search come to: one as measures, an index range as columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bomgen.core.diagnostics import Problem
from bomgen.core.exact_vectors import ExactVector
from bomgen.core.money import MONEY, from_minor_units, minor_unit
from bomgen.core.provenance import Figure
from bomgen.design.assembly import Design
from bomgen.plan.search_space import MEASURES
from bomgen.plan.types import Plan
from bomgen.pricing.quote import Quote
from bomgen.results.result import Report
from bomgen.sizing.cluster_size import Sizing
from bomgen.sizing.prediction.predict import COVERAGES

Measured = int | Fraction | Decimal | None
Ends = tuple[Measured, Measured]
POWER = "power_w"
ESTIMATED = ("power", "racks")
"""Measures that rest on an estimate where the maximum power of a part is not published."""
RANGED = ("cost", "days", *ESTIMATED)
"""Measures that may have a range."""
SLOWEST, FASTEST = 0, 1
"""The ends of the interval of a prediction."""
WIDEST = max(COVERAGES)
"""Percent of the interval that is shown where no confidence is asked for."""


class SearchedDesign(NamedTuple):
    """One design of a search."""

    place: int
    """In the search space, from 0 on."""
    measures: Mapping[str, Measured]
    """By name (plan/search_space.py); None is what nobody knows: a cost where a line has no price."""
    currency: str = ""
    unpriced: tuple[str, ...] = ()
    """Parts without a price."""
    ends: Mapping[str, Ends] = {}
    """The least and the most of each measure that has a range, by name (`RANGED`): the cost at the lowest and at the
    highest prices, the interval of days that are predicted, what is an estimate."""
    problem: Problem | None = None
    """Why it cannot be built; then it has no measures."""

    @property
    def ranges(self) -> Mapping[str, Ends]:
        """The range of each measure that is an estimate, by name (`ESTIMATED`)."""
        return {name: self.ends[name] for name in ESTIMATED if name in self.ends}


def candidate(place: int, report: Report, confidence: int | None = None) -> SearchedDesign:
    """What a design comes to, by its whole result. A power that leaves something out is none.

    With a confidence in percent, predicted days are those at the upper end of the interval of so many percent.
    """
    designs = [cluster.design for cluster in report.each_cluster]
    hardware = measure_hardware(designs, report.quote)
    days, ends = days_of_runs([(design.plan, design.sizing) for design in designs], confidence)
    ranges = {**hardware.ends, "days": ends} if ends else hardware.ends
    return hardware._replace(place=place, measures={**hardware.measures, "days": days}, ends=ranges)


def measure_hardware(designs: Sequence[Design], quote: Quote) -> SearchedDesign:
    """Return what designs come to without time. Where their counts are columns, so are its measures."""
    figures, totals = _built_figures(designs), quote.totals
    unpriced = [line.line for line in quote.lines if line.amount is None]
    return SearchedDesign(
        0,
        {
            "cost": totals.amount if totals.complete else None,
            "days": None,
            **{name: _sum(summed) for name, summed in figures.items()},
        },
        totals.currency,
        tuple(dict.fromkeys(line.part or line.description for line in unpriced)),
        {"cost": (totals.low, totals.high)} | {name: ends for name in ESTIMATED if (ends := _ends(figures[name]))},
    )


def _built_figures(designs: Sequence[Design]) -> dict[str, list[Figure | None]]:
    """The figures whose sum is what designs come to, by the name of the measure."""
    fabrics = [built for design in designs for built in design.fabrics]
    sites = [design.facility for design in designs]
    return {
        "power": [None if POWER in site.lower_bounds else site.power_w for site in sites],
        "gpus": [design.sizing.gpus for design in designs],
        "servers": [design.sizing.servers for design in designs],
        "switches": [built.fabric.switches for built in fabrics],
        "modules": [use.quantity for built in fabrics for use in built.interconnect.modules],
        "racks": [site.racks for site in sites],
    }


def days_of_runs(runs: Sequence[tuple[Plan, Sizing]], confidence: int | None) -> tuple[Measured, Ends | None]:
    """Return the days of the slowest of several runs, and the ends of their interval where any is predicted.

    With a confidence in percent, predicted days are those at the upper end of the interval of so many percent.
    """
    fewest, most = (_slowest([_end(*run, confidence or WIDEST, end) for run in runs]) for end in (FASTEST, SLOWEST))
    days = most if confidence else _slowest([sizing.days for _, sizing in runs])
    return days, (fewest, most) if any(_is_predicted(*run) for run in runs) else None


def _is_predicted(plan: Plan, sizing: Sizing) -> bool:
    """Whether the days of a run are those of its predicted utilisation, not of one that is given or assumed."""
    return bool(plan.training and plan.training.predicted is not None and sizing.predicted)


def _end(plan: Plan, sizing: Sizing, coverage: int, end: int) -> Figure | None:
    """The days of a run at an end of the interval of its prediction; its days where they are not predicted."""
    return (
        sizing.predicted.ends[coverage][end].days if sizing.predicted and _is_predicted(plan, sizing) else sizing.days
    )


def _slowest(figures: Sequence[Figure | None]) -> Measured:
    """The days of the slowest of several clusters; None where those of one are not known."""
    return max((figure.value for figure in figures if figure), default=None) if all(figures) else None


def _sum(figures: Sequence[Figure | None]) -> Measured:
    """The sum of figures; None where one of them is not known."""
    known = [figure.value for figure in figures if figure]
    return sum(known) if len(known) == len(figures) else None


def _ends(figures: Sequence[Figure | None]) -> Ends | None:
    """The ends of the range of a sum of figures; None where it is not known, or no estimate."""
    known = [figure for figure in figures if figure]
    if len(known) < len(figures) or not any(figure.bounds for figure in known):
        return None
    low, high = (sum(figure.bounds[end] if figure.bounds else figure.value for figure in known) for end in (0, 1))
    return low, high


# columns ------------------------------------------------------------------------------------------------------------
# What the designs of an index range come to, as columns of numbers: what a front is found in.

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


def column_value(name: str, value: Measured | ExactVector, currency: str) -> Any:
    """Return a measure as columns have it, for each row of a column; 0 for one that is not known.

    Raises OverflowError where no column holds it.
    """
    unit = Fraction(minor_unit(currency)) if UNITS[name] == MONEY else 1
    if UNITS[name] not in WHOLE:
        return value.numerators / value.denominator if isinstance(value, ExactVector) else float(value or 0)
    whole: Any = (value / unit).integers() if isinstance(value, ExactVector) else int(Fraction(value or 0) / unit)
    most = int(np.max(np.abs(whole)))
    if most > np.iinfo(np.int64).max:
        raise OverflowError(f"{name} {from_minor_units(most, currency) if UNITS[name] == MONEY else most}")
    return whole


def column_type(name: str) -> type[np.int64] | type[np.float64]:
    """The type of a measure's column."""
    return np.int64 if UNITS[name] in WHOLE else np.float64


def values_of(searched_design: SearchedDesign) -> dict[str, Measured]:
    """Return what a design comes to, by the names of columns; one that cannot be built has no measures."""
    measures = (searched_design.measures.get(name) for name in MEASURES)
    ends = (end for name in RANGED for end in searched_design.ends.get(name, (None, None)))
    return dict(zip(UNITS, (*measures, *ends), strict=True))


def candidate_at(columns: Columns, row: int, currency: str) -> SearchedDesign:
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
    parts = columns.unpriced_parts[columns.unpriced[row] - 1] if columns.unpriced[row] else ()
    ends = {name: found for name, found in ends.items() if found != (None, None)}
    return SearchedDesign(columns.start + row, values, currency, parts, ends)


def columns_of(start: int, candidates: Iterable[SearchedDesign], currency: str) -> Columns:
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

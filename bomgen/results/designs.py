"""Measures of a search's designs: of one design as values, of an index range as columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bomgen.core.diagnostics import Problem
from bomgen.core.exact_vectors import ExactVector
from bomgen.core.provenance import Figure
from bomgen.core.units import MONEY, from_minor_units, minor_unit
from bomgen.design.assembly import Design
from bomgen.plan.search_space import LARGER_IS_BETTER, MEASURES, SERVING
from bomgen.plan.types import Plan
from bomgen.pricing.quote import Quote
from bomgen.results.result import Report, numbers_of
from bomgen.sizing.cluster_size import Sizing
from bomgen.sizing.prediction.predict import COVERAGES

Measured = int | Fraction | Decimal | None
Ends = tuple[Measured, Measured]
POWER = "power_w"
ESTIMATED = ("power", "racks")
"""Measures that are estimates if the maximum power of a part is not published."""
RANGED = ("cost", "days", *ESTIMATED)
"""Measures that may have a range."""
WIDEST = max(COVERAGES)
"""Coverage in percent of the interval shown if no confidence is requested."""


class SearchedDesign(NamedTuple):
    """One design of a search."""

    place: int
    """Index in the search space, from 0."""
    measures: Mapping[str, Measured]
    """Measures by name (plan/search_space.py); None if unknown, such as the cost if a line has no price."""
    currency: str = ""
    unpriced: tuple[str, ...] = ()
    """Parts without a price."""
    ends: Mapping[str, Ends] = {}
    """Range of each measure in `RANGED` that has one, by name: the cost at the lowest and highest prices, the
    prediction interval of days, the range of an estimate."""
    problem: Problem | None = None
    """Why it cannot be built; it then has no measures."""

    @property
    def ranges(self) -> Mapping[str, Ends]:
        """Return the range of each measure that is an estimate, by name (`ESTIMATED`)."""
        return {name: self.ends[name] for name in ESTIMATED if name in self.ends}


def candidate(place: int, report: Report, confidence: int | None = None, serves: bool = False) -> SearchedDesign:
    """Return the measures of a design from its report; a power that is only a lower bound is unknown.

    With a confidence in percent, predicted days are the upper end of the interval with that coverage. Measures of
    serving are there if `serves`.
    """
    designs = [cluster.design for cluster in report.each_cluster]
    hardware = measure_hardware(designs, report.quote)
    days, ends = days_of_runs([(design.plan, design.sizing) for design in designs], confidence)
    ranges = {**hardware.ends, "days": ends} if ends else hardware.ends
    numbers = numbers_of(report) if serves else {}
    serving = {name: numbers[path].value if path in numbers else None for name, (path, _) in SERVING.items()}
    if hardware.measures["cost"] is None:
        serving["tokens_cost"] = None
    return hardware._replace(place=place, measures={**hardware.measures, "days": days, **serving}, ends=ranges)


def measure_hardware(designs: Sequence[Design], quote: Quote) -> SearchedDesign:
    """Return the measures of designs except days. If counts are exact vectors, so are the measures."""
    fabrics, totals = [built for design in designs for built in design.fabrics], quote.totals
    sites = [design.facility for design in designs]
    figures: dict[str, list[Figure | None]] = {
        "power": [None if POWER in site.lower_bounds else site.power_w for site in sites],
        "gpus": [design.sizing.gpus for design in designs],
        "servers": [design.sizing.servers for design in designs],
        "switches": [built.fabric.switches for built in fabrics],
        "modules": [use.quantity for built in fabrics for use in built.interconnect.modules],
        "racks": [site.racks for site in sites],
    }
    measures: dict[str, Measured] = {"cost": totals.amount if totals.complete else None, "days": None}
    ends: dict[str, Ends] = {"cost": (totals.low, totals.high)}
    for name, summands in figures.items():
        known = [figure for figure in summands if figure]
        complete = len(known) == len(summands)
        measures[name] = sum(figure.value for figure in known) if complete else None
        if complete and name in ESTIMATED and any(figure.bounds for figure in known):
            low, high = (
                sum(figure.bounds[end] if figure.bounds else figure.value for figure in known) for end in (0, 1)
            )
            ends[name] = low, high
    unpriced = [line.line.part or line.line.description for line in quote.lines if line.amount is None]
    return SearchedDesign(0, measures, totals.currency, tuple(dict.fromkeys(unpriced)), ends)


def days_of_runs(runs: Sequence[tuple[Plan, Sizing]], confidence: int | None) -> tuple[Measured, Ends | None]:
    """Return the days of the slowest of several runs, and the ends of their interval if any is predicted.

    With a confidence in percent, predicted days are the upper end of the interval with that coverage.
    """
    days, fewest, most, ranged = list[Figure | None](), list[Figure | None](), list[Figure | None](), False
    for plan, sizing in runs:
        days.append(sizing.days)
        slow = fast = sizing.days
        if plan.training and plan.training.predicted is not None and sizing.predicted:
            # the days of others come from a given or assumed utilisation
            slow, fast = (outlook.days for outlook in sizing.predicted.ends[confidence or WIDEST])
            ranged = True
        fewest.append(fast)
        most.append(slow)
    ends = _slowest(fewest), _slowest(most)
    return ends[1] if confidence else _slowest(days), ends if ranged else None


def _slowest(figures: Sequence[Figure | None]) -> Measured:
    return max((figure.value for figure in figures if figure), default=None) if all(figures) else None


# columns ------------------------------------------------------------------------------------------------------------
# The designs of an index range as columns of numbers, the input of the Pareto front.

ENDS = {f"{name}_{end}": MEASURES[name] for name in RANGED for end in ("low", "high")}
"""The ends of the ranges of measures, with their units."""
UNITS = {**MEASURES, **ENDS}
"""All columns of designs, with their units."""
WHOLE = (MONEY, "count")
"""Units of integer columns: amounts in minor units of the currency, and counts."""


class Columns(NamedTuple):
    """The measures of designs in an index range of a search space, a row per design."""

    start: int
    """Index of the first row's design in the space."""
    measures: Mapping[str, NDArray[Any]]
    """Columns by name (`UNITS`), as `column_value` returns them: int64 or float64, whose order and equality match those
    of the exact values. Rows with an unknown measure have an arbitrary value."""
    known: Mapping[str, NDArray[np.bool_]]
    """Whether the measure is known; all False if the design cannot be built."""
    refused: NDArray[np.int32]
    """0 if the design can be built, else 1 + index into `reasons`."""
    unpriced: NDArray[np.int32]
    """0 if every line is priced, else 1 + index into `unpriced_parts`."""
    reasons: Sequence[str]
    """Reasons why designs cannot be built."""
    unpriced_parts: Sequence[tuple[str, ...]]
    """Unpriced parts of designs."""


class Evaluator(Protocol):
    """Calculates designs of a search space as columns."""

    @property
    def size(self) -> int:
        """Return the number of designs in the space."""

    @property
    def chunk(self) -> int:
        """Return the preferred number of designs per call."""

    def columns(self, start: int, stop: int, names: Collection[str] = UNITS) -> Columns:
        """Return some columns of designs `start` to `stop` - 1.

        Raises PlanErrors for a search whose designs cannot be compared, BrokenResult if a check on a result fails.
        """


def column_value(name: str, value: Measured | ExactVector, currency: str) -> Any:
    """Return a measure as columns store it, for each row of a vector; 0 if unknown, negative where more is better.

    Raises OverflowError for a value too large for a column.
    """
    unit = Fraction(minor_unit(currency)) if UNITS[name] == MONEY else 1
    if UNITS[name] not in WHOLE:
        stored = value.numerators / value.denominator if isinstance(value, ExactVector) else float(value or 0)
        return -stored if name in LARGER_IS_BETTER else stored
    whole: Any = (value / unit).integers() if isinstance(value, ExactVector) else int(Fraction(value or 0) / unit)
    most = int(np.max(np.abs(whole)))
    if most > np.iinfo(np.int64).max:
        raise OverflowError(f"{name} {from_minor_units(most, currency) if UNITS[name] == MONEY else most}")
    return whole


def column_type(name: str) -> type[np.int64] | type[np.float64]:
    """Return the data type of a measure's column."""
    return np.int64 if UNITS[name] in WHOLE else np.float64


def values_of(searched_design: SearchedDesign) -> dict[str, Measured]:
    """Return the measures of a design and their ends by column name; all None if it cannot be built."""
    measures = (searched_design.measures.get(name) for name in MEASURES)
    ends = (end for name in RANGED for end in searched_design.ends.get(name, (None, None)))
    return dict(zip(UNITS, (*measures, *ends), strict=True))


def candidate_at(columns: Columns, row: int, currency: str) -> SearchedDesign:
    """Return the design of a row. A fractional value becomes the shortest decimal that equals the stored float."""
    values = dict[str, Any]()
    for name, column in columns.measures.items():
        value = column[row].item()
        if not columns.known[name][row]:
            values[name] = None
        elif UNITS[name] in WHOLE:
            values[name] = from_minor_units(value, currency) if UNITS[name] == MONEY else value
        else:
            values[name] = Fraction(str(-value if name in LARGER_IS_BETTER else value))
    ends = {name: (values.pop(f"{name}_low"), values.pop(f"{name}_high")) for name in RANGED}
    parts = columns.unpriced_parts[columns.unpriced[row] - 1] if columns.unpriced[row] else ()
    ends = {name: both for name, both in ends.items() if both != (None, None)}
    return SearchedDesign(columns.start + row, values, currency, parts, ends)


def columns_of(start: int, candidates: Iterable[SearchedDesign], currency: str) -> Columns:
    """Return the columns of fully calculated designs, in the order of the space.

    Raises OverflowError as `column_value`.
    """
    reasons, parts = dict[str, int](), dict[tuple[str, ...], int]()
    refused, unpriced, rows = [], [], []
    for design in candidates:
        refused.append(reasons.setdefault(design.problem.message, len(reasons) + 1) if design.problem else 0)
        unpriced.append(parts.setdefault(design.unpriced, len(parts) + 1) if design.unpriced else 0)
        rows.append(values_of(design))
    return Columns(
        start,
        {
            name: np.array([column_value(name, row[name], currency) for row in rows], column_type(name))
            for name in UNITS
        },
        {name: np.array([row[name] is not None for row in rows], np.bool_) for name in UNITS},
        np.array(refused, np.int32),
        np.array(unpriced, np.int32),
        tuple(reasons),
        tuple(parts),
    )

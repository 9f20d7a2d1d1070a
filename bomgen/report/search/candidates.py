"""What a design of a search comes to: the measures that designs are compared by, or why it cannot be built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.diagnostics import Problem
from bomgen.core.provenance import Figure
from bomgen.design.assembly import Design
from bomgen.plan.types import Plan
from bomgen.pricing.quote import Quote
from bomgen.report.result import Report
from bomgen.sizing.cluster_size import Sizing
from bomgen.sizing.prediction.predict import COVERAGES

Measured = int | Fraction | Decimal | None
POWER = "power_w"
ESTIMATED = ("power", "racks")
"""Measures that rest on an estimate where the maximum power of a part is not published."""
RANGED = ("cost", "days", *ESTIMATED)
"""Measures that may have a range."""
SLOWEST, FASTEST = 0, 1
"""The ends of the interval of a prediction."""
WIDEST = max(COVERAGES)
"""Percent of the interval that is shown where no confidence is asked for."""


class Candidate(NamedTuple):
    """One design of a search."""

    place: int
    """In the search space, from 0 on."""
    measures: Mapping[str, Measured]
    """By name (plan/search_space.py); None is what nobody knows: a cost where a line has no price."""
    currency: str = ""
    low: Decimal | None = None
    high: Decimal | None = None
    """What it costs at the lowest and at the highest prices."""
    unpriced: tuple[str, ...] = ()
    """Parts without a price."""
    ranges: Mapping[str, tuple[Measured, Measured]] = {}
    """The ends of the range of each measure that is an estimate, by name (`ESTIMATED`)."""
    days: tuple[Measured, Measured] | None = None
    """The ends of the interval of the days where they are predicted, the fewest first; None where they are not."""
    problem: Problem | None = None
    """Why it cannot be built; then it has no measures."""

    @property
    def ends(self) -> Mapping[str, tuple[Measured, Measured]]:
        """The ends of the range of each measure that has one, by name (`RANGED`)."""
        return {"cost": (self.low, self.high), **({"days": self.days} if self.days else {}), **self.ranges}


def candidate(place: int, report: Report, confidence: int | None = None) -> Candidate:
    """What a design comes to, by its whole result. A power that leaves something out is none.

    With a confidence in percent, predicted days are those at the upper end of the interval of so many percent.
    """
    designs = [each.design for each in report.each_cluster]
    hardware = measure_hardware(designs, report.quote)
    days, ends = days_of_runs([(design.plan, design.sizing) for design in designs], confidence)
    return hardware._replace(place=place, measures={**hardware.measures, "days": days}, days=ends)


def measure_hardware(designs: Sequence[Design], quote: Quote) -> Candidate:
    """Return what designs come to without time. Where their counts are columns, so are its measures."""
    figures, totals = _built_figures(designs), quote.totals
    unpriced = [each.line for each in quote.lines if each.amount is None]
    return Candidate(
        0,
        {
            "cost": totals.amount if totals.complete else None,
            "days": None,
            **{name: _sum(summed) for name, summed in figures.items()},
        },
        totals.currency,
        totals.low,
        totals.high,
        tuple(dict.fromkeys(line.part or line.description for line in unpriced)),
        {name: ends for name in ESTIMATED if (ends := _ends(figures[name]))},
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


def days_of_runs(
    runs: Sequence[tuple[Plan, Sizing]], confidence: int | None
) -> tuple[Measured, tuple[Measured, Measured] | None]:
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
    return max((each.value for each in figures if each), default=None) if all(figures) else None


def _sum(figures: Sequence[Figure | None]) -> Measured:
    """The sum of figures; None where one of them is not known."""
    known = [figure.value for figure in figures if figure]
    return sum(known) if len(known) == len(figures) else None


def _ends(figures: Sequence[Figure | None]) -> tuple[Measured, Measured] | None:
    """The ends of the range of a sum of figures; None where it is not known, or no estimate."""
    known = [figure for figure in figures if figure]
    if len(known) < len(figures) or not any(figure.bounds for figure in known):
        return None
    low, high = (sum(figure.bounds[end] if figure.bounds else figure.value for figure in known) for end in (0, 1))
    return low, high

"""What a design of a search comes to: the measures that designs are compared by, or why it cannot be built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from bomgen.sizing.prediction.fitted import COVERAGES

Measured = int | Fraction | Decimal | None
POWER = "power_w"
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
    days: tuple[Measured, Measured] | None = None
    """The ends of the interval of the days where they are predicted, the fewest first; None where they are not."""
    problem: Problem | None = None
    """Why it cannot be built; then it has no measures."""


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
    fabrics = [built for design in designs for built in design.fabrics]
    sites = [design.facility for design in designs]
    partial = any(POWER in site.lower_bounds for site in sites)
    totals = quote.totals
    unpriced = [each.line for each in quote.lines if each.amount is None]
    return Candidate(
        0,
        {
            "cost": totals.amount if totals.complete else None,
            "days": None,
            "power": None if partial else _sum(site.power_w for site in sites),
            "gpus": _sum(design.sizing.gpus for design in designs),
            "servers": _sum(design.sizing.servers for design in designs),
            "switches": _sum(built.fabric.switches for built in fabrics),
            "modules": _sum(use.quantity for built in fabrics for use in built.interconnect.modules),
            "racks": _sum(site.racks for site in sites),
        },
        totals.currency,
        totals.low,
        totals.high,
        tuple(dict.fromkeys(line.part or line.description for line in unpriced)),
    )


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


def _sum(figures: Iterable[Figure | None]) -> Measured:
    """The sum of figures; None where one of them is not known."""
    known = list(figures)
    return None if any(each is None for each in known) else sum(figure.value for figure in known if figure)

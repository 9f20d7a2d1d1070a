"""What a design of a search comes to: the measures that designs are compared by, or why it cannot be built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.diagnostics import Problem
from bomgen.core.provenance import Figure
from bomgen.design.assembly import Design
from bomgen.report.result import Report
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
    totals = report.quote.totals
    days = _days([design.sizing.days for design in designs])
    fewest, most = (_days([_end(each, confidence or WIDEST, end) for each in designs]) for end in (FASTEST, SLOWEST))
    predicted = any(_is_predicted(design) for design in designs)
    unpriced = [each.line for each in report.quote.lines if each.amount is None]
    return Candidate(
        place,
        {
            "cost": totals.amount if totals.complete else None,
            "days": most if predicted and confidence else days,
            **built_measures(designs),
        },
        totals.currency,
        totals.low,
        totals.high,
        tuple(dict.fromkeys(line.part or line.description for line in unpriced)),
        (fewest, most) if predicted else None,
    )


def built_measures(designs: Sequence[Design]) -> dict[str, Measured]:
    """What designs come to without money and time, by name."""
    fabrics = [built for design in designs for built in design.fabrics]
    sites = [design.facility for design in designs]
    partial = any(POWER in site.lower_bounds for site in sites)
    return {
        "power": None if partial else _sum(site.power_w for site in sites),
        "gpus": _sum(design.sizing.gpus for design in designs),
        "servers": _sum(design.sizing.servers for design in designs),
        "switches": _sum(built.fabric.switches for built in fabrics),
        "modules": _sum(use.quantity for built in fabrics for use in built.interconnect.modules),
        "racks": _sum(site.racks for site in sites),
    }


def _is_predicted(design: Design) -> bool:
    """Whether the days of a run are those of its predicted utilisation, not of one that is given or assumed."""
    training = design.plan.training
    return bool(training and training.predicted is not None and design.sizing.predicted)


def _end(design: Design, coverage: int, end: int) -> Figure | None:
    """The days of a cluster at an end of the interval of its prediction; its days where they are not predicted."""
    predicted = design.sizing.predicted
    return predicted.ends[coverage][end].days if predicted and _is_predicted(design) else design.sizing.days


def _days(figures: Sequence[Figure | None]) -> Measured:
    """The days of the slowest of several clusters; None where those of one are not known."""
    return max((each.value for each in figures if each), default=None) if all(figures) else None


def _sum(figures: Iterable[Figure | None]) -> Measured:
    """The sum of figures; None where one of them is not known."""
    known = list(figures)
    return None if any(each is None for each in known) else sum(figure.value for figure in known if figure)

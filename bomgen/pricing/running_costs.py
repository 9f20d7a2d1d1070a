"""Running costs of the cluster over its life: purchase, energy, cooling, space; and the cost per GPU-hour.

They are figures with derivations like all others; the purchase enters as the net amount.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from types import MappingProxyType
from typing import NamedTuple

from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Reference, difference, formula, product, sum_of
from bomgen.core.units import HOURS_A_DAY, MONEY, MONTHS_A_YEAR, SECONDS_AN_HOUR
from bomgen.design.assembly import Design
from bomgen.plan.clusters import together
from bomgen.plan.commercial_terms import Operation
from bomgen.pricing.quote import Quote
from bomgen.site.power import DAYS_A_YEAR, cost_of_energy
from bomgen.sizing.serving.service import tokens_asked

SUMMED = Reference(message("source-totals"))


MILLION = 10**6
PARTS = ("purchase", "energy_cost", "cooling_cost", "space_cost")
"""Components of the total cost."""


class Running(NamedTuple):
    """The running-cost figures by name; those that exclude unknown costs are lower bounds."""

    figures: Mapping[str, Figure]
    lower_bounds: frozenset[str]
    per_million_tokens: Mapping[str, Figure] = MappingProxyType({})
    """Cost per million output tokens of a served model, as far as known: `typical`, `low` and `high` at the busiest
    minute, and `mean` at the mean requests per minute of a plan that has a peak."""


energy_over = product("energy_over", "kWh", "energy_kwh_per_year", "load", "years")
"""Energy of the facility over the years, at a mean power that is a share of the maximum."""


@formula(MONEY)
def machines_part(facility_energy_cost: Fraction, pue: Fraction) -> Fraction:
    """Cost of the energy that the equipment itself uses."""
    return facility_energy_cost / Fraction(pue)


cooling_part = difference("cooling_part", MONEY, "facility_energy_cost", "machines_cost")
"""Cost of the energy used for cooling and losses."""


@formula(MONEY)
def rent_of(racks: int, rack_cost: Fraction, years: Fraction) -> Fraction:
    """Cost of the space of all racks, charged per month."""
    return racks * rack_cost * MONTHS_A_YEAR * years


sum_of_costs = sum_of("sum_of_costs", MONEY, "cost", "more_cost")
"""Sum of costs."""


@formula(MONEY)
def cost_per_gpu(cost: Fraction, gpus: int) -> Fraction:
    """Cost per GPU."""
    return Fraction(cost, gpus)


@formula("GPU-hours")
def gpu_hours(gpus: int, years: Fraction, use: Fraction) -> Fraction:
    """GPU-hours in use over the years."""
    return gpus * years * DAYS_A_YEAR * HOURS_A_DAY * use


@formula(MONEY)
def cost_per_hour(cost: Fraction, gpu_hours: Fraction) -> Fraction:
    """Cost per GPU-hour."""
    return Fraction(cost) / Fraction(gpu_hours)


@formula(MONEY)
def run_cost(cost_per_gpu_hour: Fraction, gpus: int, run_days: Fraction) -> Fraction:
    """Cost of a run on all GPUs."""
    return cost_per_gpu_hour * gpus * run_days * HOURS_A_DAY


@formula(MONEY)
def token_cost(cost_per_gpu_hour: Fraction, gpus: int, tokens_per_second: float) -> Fraction:
    """Cost per million output tokens, of GPU-hours in use at this load."""
    return Fraction(cost_per_gpu_hour) * gpus * MILLION / Fraction(tokens_per_second * SECONDS_AN_HOUR)


def running(designs: Sequence[Design], quote: Quote) -> Running:
    """Return the running costs of the clusters of a plan; empty if the plan does not request them.

    Amounts are in the currency of the quote, before tax. Costs without a price are excluded, and the sums are then
    lower bounds.
    """
    asked, gpus = designs[0].plan.operation, together([design.sizing.gpus for design in designs])
    if asked is None or gpus is None:
        return Running({}, frozenset())
    figures: dict[str, Figure] = {"years": asked.years}
    purchase = _purchase(quote)
    if purchase:
        figures["purchase"] = purchase
        figures["cost_per_gpu"] = cost_per_gpu(purchase, gpus)
    energy, partly = [_energy(design, asked) for design in designs], set[str]()
    for name in ("energy_kwh", "energy_cost", "cooling_cost"):
        of_clusters = [of_cluster.get(name) for of_cluster in energy]
        if figure := together(of_clusters):
            figures[name] = figure
            partly |= {name} if None in of_clusters else set()
    of_racks = [design.facility.racks for design in designs]
    if asked.rack_cost and (racks := together(of_racks)):
        figures["space_cost"] = rent_of(racks, asked.rack_cost, asked.years)
        partly |= {"space_cost"} if None in of_racks else set()
    costs = [figures[name] for name in PARTS if name in figures]
    least = partly | ({"purchase", "cost_per_gpu"} if not quote.totals.complete else set())
    unpowered = any(design.facility.lower_bounds & {"power_w", "energy_kwh_per_year"} for design in designs)
    least |= {"energy_kwh", "energy_cost", "cooling_cost"} if unpowered else set()
    if costs:
        figures["total_cost"] = reduce(sum_of_costs, costs)
        figures["gpu_hours"] = gpu_hours(gpus, asked.years, asked.use)
        figures["cost_per_gpu_hour"] = cost_per_hour(figures["total_cost"], figures["gpu_hours"])
        if len(designs) == 1 and (days := designs[0].sizing.days):
            figures["cost_per_run"] = run_cost(figures["cost_per_gpu_hour"], gpus, days)
        if least or len(costs) < len(PARTS):
            least |= {
                "total_cost",
                "cost_per_gpu_hour",
                "cost_per_run",
                "cost_per_million_tokens",
                "cost_per_million_tokens_at_mean",
            }
    return Running(figures, frozenset(least), _per_million_tokens(designs, figures, gpus))


def _per_million_tokens(designs: Sequence[Design], figures: Mapping[str, Figure], gpus: Figure) -> dict[str, Figure]:
    """Return the cost per million output tokens at the ends of the predicted throughput, typical, and at the mean."""
    inference = designs[0].plan.inference
    served, hourly = designs[0].sizing.serving, figures.get("cost_per_gpu_hour")
    if len(designs) > 1 or inference is None or served is None or hourly is None or served.tokens_per_second is None:
        return {}
    costs = {"typical": token_cost(hourly, gpus, served.tokens_per_second)}
    if served.tokens_range and served.tokens_range.low and served.tokens_range.high:
        costs["low"] = token_cost(hourly, gpus, served.tokens_range.high)
        costs["high"] = token_cost(hourly, gpus, served.tokens_range.low)
    asked, output, peak = inference.requests_per_minute, inference.output_tokens, inference.peak
    if asked and output and output.value and peak and peak.value > 1:
        costs["mean"] = token_cost(hourly, gpus, tokens_asked(asked, output))
    return costs


def _energy(design: Design, asked: Operation) -> dict[str, Figure]:
    site, figures = design.plan.site, dict[str, Figure]()
    if design.facility.energy_kwh_per_year:
        figures["energy_kwh"] = energy_over(design.facility.energy_kwh_per_year, asked.load, asked.years)
    if site and site.electricity and "energy_kwh" in figures:
        cost = cost_of_energy(figures["energy_kwh"], site.electricity)
        figures["energy_cost"] = machines_part(cost, site.pue) if site.pue else cost
        if site.pue:
            figures["cooling_cost"] = cooling_part(cost, figures["energy_cost"])
    return figures


def _purchase(quote: Quote) -> Figure | None:
    """Return the purchase, after discount and before tax; None if nothing is priced."""
    totals = quote.totals
    if not totals.priced_lines:
        return None
    return Figure(Fraction(totals.net), MONEY, Cited(message("purchase"), (SUMMED,), "high"))

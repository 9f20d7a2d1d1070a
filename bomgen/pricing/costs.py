"""Costs: of running the cluster, for the customer, and of its parts, for the seller, with the margin.

Running costs over the life of the cluster (purchase, energy, cooling, space) and the cost per GPU-hour are figures with
derivations like all others; the purchase enters as the net amount.

The margin is the net amounts of a quote against the cost of its parts; it is never part of a customer document. A line
without a cost or a price is marked and never counted as 0: sums that exclude one are bounds. A build reads cost books
only to sell by margin, and keeps nothing of them but prices: price books of which no cost can be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from types import MappingProxyType
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Reference, difference, formula, product, quotient, sum_of
from bomgen.core.units import HOURS_A_DAY, MONEY, MONTHS_A_YEAR, SECONDS_AN_HOUR, minor_unit, rounded
from bomgen.design.assembly import Design
from bomgen.plan.commercial_terms import Operation, QuotePlan, Sell
from bomgen.plan.schema import together
from bomgen.pricing.bill_line import CATEGORIES
from bomgen.pricing.price_book import (
    Price,
    PriceBook,
    Unit,
    at_margin,
    converted,
    missing_rates,
    pieces_of_parts,
    unit_for,
)
from bomgen.pricing.quote import Quote, QuoteLine, warnings_of_ages
from bomgen.site.racks import DAYS_A_YEAR, cost_of_energy
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


cost_per_gpu = quotient("cost_per_gpu", MONEY, "cost", "gpus")
"""Cost per GPU."""


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
    totals = quote.totals
    net = Figure(Fraction(totals.net), MONEY, Cited(message("purchase"), (SUMMED,), "high"))
    purchase = net if totals.priced_lines else None
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


PRICE, COST = "price", "cost"
EXACT, AT_MOST, AT_LEAST, UNKNOWN = "exact", "at most", "at least", "unknown"
TOTAL = "total"


class Earned(NamedTuple):
    """A charged line: the customer's net amount before tax, and the seller's cost."""

    priced: QuoteLine
    unit: Unit
    """Unit cost in the currency of the quote."""
    cost: Decimal | None

    @property
    def missing(self) -> tuple[str, ...]:
        """Return what is unknown about the line: its price, its cost."""
        amounts = {PRICE: self.priced.amount, COST: self.cost}
        return tuple(name for name, amount in amounts.items() if amount is None)

    @property
    def margin(self) -> Decimal | None:
        """Return the net amount less cost; None if either is unknown."""
        if self.priced.amount is None or self.cost is None:
            return None
        return self.priced.amount - self.cost

    @property
    def share(self) -> Fraction | None:
        """Return the margin as a share of the net amount; None if unknown, or if the net amount is 0."""
        return _share(self.margin, self.priced.amount)


class MarginTotal(NamedTuple):
    """The sum of several lines. Net amount and cost exclude unknown ones, and are then lower bounds.

    They are None if none is known.
    """

    name: str
    lines: int
    amount: Decimal | None
    without_price: int
    cost: Decimal | None
    without_cost: int

    @property
    def bound(self) -> str:
        """Return whether the margin is exact, a bound of the true one, or unknown."""
        if (self.without_price and self.without_cost) or self.amount is None or self.cost is None:
            return UNKNOWN
        return AT_LEAST if self.without_price else AT_MOST if self.without_cost else EXACT

    @property
    def margin(self) -> Decimal | None:
        """Return net amount less cost; None if it does not bound the true margin."""
        if self.bound == UNKNOWN or self.amount is None or self.cost is None:
            return None
        return self.amount - self.cost

    @property
    def share(self) -> Fraction | None:
        """Return the margin as a share of the net amount, a bound in the same direction."""
        return _share(self.margin, self.amount)


class Margin(NamedTuple):
    """The margins of a quote."""

    currency: str
    lines: tuple[Earned, ...]
    categories: tuple[MarginTotal, ...]
    total: MarginTotal
    problems: tuple[Problem, ...]
    """Warnings about old or expired costs."""


def margin(lines: Sequence[QuoteLine], plan: QuotePlan, books: Sequence[PriceBook]) -> Margin:
    """Return the margins of the charged lines by the plan's cost books; the last book that has a part applies.

    The cost of a charge is its own, or found by its part or the id of its line.

    Raises PlanErrors for a cost in a currency without an exchange rate in the plan.
    """
    if wrong := missing_rates(plan, books):
        raise PlanErrors(wrong)
    charged = [line for line in lines if not line.line.in_stock]
    pieces = pieces_of_parts([line.line for line in charged])
    earned = []
    for priced in charged:
        line = priced.line
        unit = unit_for([*line.names, line.id.lower()], line.category, pieces[line.part or line.id], plan, books)
        if line.charge and line.charge.cost is not None:
            own_cost = converted(line.charge.cost, line.charge.currency or plan.currency, plan)
            unit = Unit(own_cost, own_cost, own_cost)
        cost = None if unit.amount is None else rounded(line.pieces * Fraction(unit.amount), plan.currency)
        earned.append(Earned(priced, unit, cost))
    by_category = {
        category: [line for line in earned if line.priced.line.category == category] for category in CATEGORIES
    }
    return Margin(
        currency=plan.currency,
        lines=tuple(earned),
        categories=tuple(_sum(name, members, plan) for name, members in by_category.items() if members),
        total=_sum(TOTAL, earned, plan),
        problems=warnings_of_ages([line.unit for line in earned], [line.priced.line for line in earned], plan),
    )


def _sum(name: str, lines: Sequence[Earned], plan: QuotePlan) -> MarginTotal:
    amounts = [line.priced.amount for line in lines if line.priced.amount is not None]
    costs = [line.cost for line in lines if line.cost is not None]
    nothing = Decimal(0) * minor_unit(plan.currency)
    return MarginTotal(
        name=name,
        lines=len(lines),
        amount=sum(amounts, nothing) if amounts else None,
        without_price=len(lines) - len(amounts),
        cost=sum(costs, nothing) if costs else None,
        without_cost=len(lines) - len(costs),
    )


def _share(margin: Decimal | None, amount: Decimal | None) -> Fraction | None:
    return None if margin is None or not amount else Fraction(margin) / Fraction(amount)


# selling prices -------------------------------------------------------------------------------------------------------
# They are in the currency of the quote, without the names, places and sources of the cost books, and come before the
# plan's own price books, which take precedence.

NAME = "quote.sell"
"""The key of the plan, and the name of the books by which prices made of it are known."""


def selling_books(costs: Sequence[PriceBook], plan: QuotePlan) -> list[PriceBook]:
    """Return the prices that the plan sells at, from cost books: a book for all categories of each margin.

    Raises KeyError if the plan has no exchange rate for the currency of a cost.
    """
    sell, books = plan.sell, list[PriceBook]()
    if sell is None:
        return books
    rest = frozenset(CATEGORIES).difference(sell.by)
    margins = {NAME: (sell.margin, rest)}
    margins |= {f"{NAME}.by.{category}": (margin, frozenset({category})) for category, margin in sell.by.items()}
    for at, book in enumerate(costs):
        for name, (margin, categories) in margins.items():
            prices = tuple(_sold(price, margin, plan, sell) for price in book.prices)
            book_name = name if len(costs) == 1 else f"{name}.{at + 1}"
            sold_in = ((plan.currency, sell.mark),)
            books.append(PriceBook(book_name, book_name, prices, sold_in, categories=categories))
    return books


def _sold(cost: Price, margin: Figure, plan: QuotePlan, sell: Sell) -> Price:
    amount, low, high = (
        None if end is None else at_margin(converted(end, cost.currency, plan), margin, plan)
        for end in (cost.amount, cost.low, cost.high)
    )
    return cost._replace(amount=amount, low=low, high=high, currency=plan.currency, source=NAME, mark=sell.mark)

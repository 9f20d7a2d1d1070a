"""The largest cluster within a power of the site or a budget, and which of these bounds it.

Each size that is tried is designed, billed and priced like any plan, because racks, switches and cables are counted in
whole pieces. The next size follows from the share of a bound that the last one takes, until a size fits and the next
one does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import ceil
from typing import NamedTuple

from bomgen.core.diagnostics import Infeasible, PlanErrors, error_at
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Assumed, Figure, first_given, require
from bomgen.core.units import decimal, rounded
from bomgen.design.assembly import Design
from bomgen.plan.types import Plan
from bomgen.pricing.price_book import converted
from bomgen.pricing.quote import Quote, unpriced_gpus
from bomgen.site.racks import watts_in_words
from bomgen.sizing.servers import MAX_GPUS

TOO_LARGE = Fraction(2)
"""The share of a bound that a cluster counts as if it cannot be built."""


class _Bound(NamedTuple):
    figure: Figure
    """As given in the plan."""
    limit: Fraction
    measure: Callable[[Design, Quote], Fraction]
    """Returns what a cluster takes of it."""
    words: Callable[[Fraction], Message]

    def share(self, taken: Fraction) -> Fraction:
        return taken / self.limit


def size_within_bounds(plan: Plan, design: Callable[[Plan], Design], price: Callable[[Design], Quote]) -> Plan:
    """Return the plan with the largest number of servers within its power and its budget; without these as it is.

    `design` and `price` work out a size that is tried, as if its cluster were the only one.

    Raises PlanErrors if not even the smallest cluster fits, or if nothing prices the GPUs for a budget.
    """
    bounds = list(_bounds(plan))
    if not bounds:
        return plan
    server = plan.cluster.server
    unit = int(server.trays.value) if server and server.trays else 1
    trials, refusals = dict[int, list[Fraction]](), dict[int, Exception]()
    fits, too_large, count = 0, MAX_GPUS, 1
    while too_large - fits > 1:
        share = TOO_LARGE
        try:
            designed = design(_with_size(plan, count * unit, message("largest-cluster-tried")))
            priced = price(designed)
            trials[count] = [bound.measure(designed, priced) for bound in bounds]
            share = max(bound.share(taken) for bound, taken in zip(bounds, trials[count], strict=True))
        except (PlanErrors, Infeasible) as error:
            refusals[count] = error
        fits, too_large = (count, too_large) if share <= 1 else (fits, count)
        count = max(fits + 1, min(too_large - 1, int(count / share)))
    if too_large not in trials:
        if not fits:
            raise refusals[too_large]
        return _with_size(plan, fits * unit, message("largest-cluster-built", count=too_large * unit))
    bound, over = max(zip(bounds, trials[too_large], strict=True), key=lambda pair: pair[0].share(pair[1]))
    limit, more = bound.words(bound.limit), bound.words(over)
    if not fits:
        text = f"the smallest cluster takes {more}, more than {limit}; raise the bound, or specify a smaller server"
        raise _refusal(bound.figure, text)
    taken = bound.words(trials[fits][bounds.index(bound)])
    why = message("largest-cluster-why", limit=limit, taken=taken, count=too_large * unit, more=more)
    return _with_size(plan, fits * unit, why)


def _with_size(plan: Plan, count: int, why: Message) -> Plan:
    size = Figure(count, "count", Assumed(message("largest-cluster"), why, (), "high", chosen=True))
    cluster = plan.cluster
    return plan._replace(cluster=cluster._replace(servers=size) if cluster.server else cluster._replace(gpus=size))


def _bounds(plan: Plan) -> Iterator[_Bound]:
    power, budget, terms = plan.cluster.power, plan.cluster.budget, plan.quote
    if power:
        yield _Bound(power, Fraction(power.value), _facility_power, lambda watts: watts_in_words(ceil(watts)))
    if budget:
        try:
            limit = converted(decimal(budget.amount.value), budget.currency or terms.currency, terms)
        except KeyError:
            remedy = "pin a rate under `quote.exchange`"
            text = f"the budget is in {budget.currency}, the quote is in {terms.currency}; {remedy}"
            raise _refusal(budget.amount, text, "currency") from None
        yield _Bound(budget.amount, Fraction(limit), _total, partial(_money, terms.currency))


def _money(currency: str, amount: Fraction) -> Message:
    return message("amount-in", amount=rounded(amount, currency), currency=currency)


def _refusal(figure: Figure, text: str, rule: str = "bound") -> PlanErrors:
    mark = require(first_given(figure), "bounds are given")
    return error_at(mark, text, rule, "cluster")


def _facility_power(design: Design, _: Quote) -> Fraction:
    """Return the maximum power with PUE [W]. Raises PlanErrors if it is unknown."""
    power, cluster = design.facility.facility_power_w, design.plan.cluster
    if power is None:
        text = f"the power of {cluster.gpu.identity.name} is unknown; set `power` of the server"
        raise _refusal(require(cluster.power, "it is a bound"), text)
    return Fraction(power.value)


def _total(design: Design, priced: Quote) -> Fraction:
    if unpriced_gpus(priced.lines):
        text = "no price of the GPUs or their servers is known; set one in `quote.price_book`, or remove `budget`"
        raise _refusal(require(design.plan.cluster.budget, "it is a bound").amount, text)
    return Fraction(priced.totals.amount)

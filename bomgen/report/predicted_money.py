"""What a predicted run takes in machines and money, at the point and the ends of its interval."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.money import rounded
from bomgen.core.provenance import Figure
from bomgen.pricing.running_costs import cost_per_gpu, run_cost
from bomgen.report.result import Report
from bomgen.site.power import cost_of_energy, energy_of_run
from bomgen.sizing.prediction.run import Outlook
from bomgen.sizing.servers import gpus_of_servers, servers_for_gpus, whole_racks


class MoneyOfRun(NamedTuple):
    """What a run takes at one utilisation; None: not known, or the plan does not ask."""

    servers: Figure | None
    """Whole servers, or trays of whole racks, for the target days."""
    purchase: Decimal | None
    """Of those servers, in proportion to the plan's purchase."""
    energy_kwh: Figure | None
    """Of the run on the GPUs of the cluster, as all that follows."""
    energy_cost: Decimal | None
    cost: Decimal | None
    """Of the GPU-hours of the run."""


def money_of_run(report: Report, outlook: Outlook) -> MoneyOfRun:
    """What a run at one utilisation takes. Amounts are in the currency of the quote, before tax."""
    design, currency = report.design, report.quote.totals.currency
    server, facility, site = report.plan.cluster.server, design.facility, report.plan.site
    servers = None
    if server and outlook.gpus_required:
        servers = whole_racks(server, servers_for_gpus(outlook.gpus_required, server.gpus))
    purchase = None
    if server and servers:
        purchase = purchase_of_gpus(report, int(gpus_of_servers.plain(servers.value, server.gpus.value)))
    drawn = facility.facility_power_w or facility.power_w
    energy = energy_of_run(drawn, outlook.days) if drawn else None
    energy_cost = cost_of_energy(energy, site.electricity) if energy and site and site.electricity else None
    hourly = None if report.plan.cluster_name else report.running.figures.get("cost_per_gpu_hour")
    cost = run_cost(hourly, design.sizing.gpus, outlook.days) if hourly else None
    amounts = (rounded(Fraction(each.value), currency) if each else None for each in (energy_cost, cost))
    return MoneyOfRun(servers, purchase, energy, *amounts)


def purchase_of_gpus(report: Report, gpus: int) -> Decimal | None:
    """What so many GPUs cost at the plan's purchase a GPU; None where nothing has a price, or clusters share it.

    Where prices are missing it is a lower bound, as the total is.
    """
    totals = report.quote.totals
    if not totals.priced_lines or report.plan.cluster_name:
        return None
    planned = int(report.design.sizing.gpus.value)
    each = cost_per_gpu.plain(Fraction(totals.list - totals.discount), planned)
    return rounded(each * gpus, totals.currency)

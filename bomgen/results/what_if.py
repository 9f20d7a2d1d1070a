"""Alternatives to a design, and a predicted run, in pieces and amounts.

Both designs are calculated with the cable lengths of the plan, even if a floor layout makes them longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.core.diagnostics import Infeasible, PlanErrors
from bomgen.core.provenance import Figure, constant, formula
from bomgen.core.units import rounded
from bomgen.design.assembly import BuiltFabric, rebuild_fabric
from bomgen.fabric.clos.occupancy import Occupancy
from bomgen.fabric.types import Fabric
from bomgen.plan.types import FabricPlan
from bomgen.pricing.bill import Bill, lines_of_fabric
from bomgen.pricing.costs import cost_per_gpu, run_cost
from bomgen.pricing.quote import quote
from bomgen.results.result import Report
from bomgen.site.racks import cost_of_energy, energy_of_run
from bomgen.sizing.prediction.predict import Outlook
from bomgen.sizing.servers import gpus_of_servers, servers_for_gpus, whole_racks

MODULES, CABLES = "transceiver", "cable"
"""Categories of the bill."""


@formula("word")
def everything() -> str:
    """Build-out with switches, links and modules as if the last leaf or scalable unit were full."""
    return "full"


half_the_bandwidth_up = constant("half_the_bandwidth_up", "ratio", 2)
"""Oversubscription of the first alternative: uplinks with half the bandwidth of downlinks."""


class OtherDesign(NamedTuple):
    """Another design of a fabric, as differences to this one in pieces; fewer pieces are negative."""

    fabric: Fabric
    switches: int
    links: int
    """Between switches."""
    modules: int
    cables: int
    amount: Decimal | None
    """Difference of the amount; None if a part of either is not priced."""

    @property
    def pieces(self) -> dict[str, int]:
        """Return the differences by kind of piece."""
        return {"switches": self.switches, "links": self.links, "modules": self.modules, "cables": self.cables}

    @property
    def is_equal(self) -> bool:
        """Return whether both have the same quantity of each kind of piece."""
        return not any(self.pieces.values())


def full_build_out(report: Report, built: BuiltFabric) -> OtherDesign | None:
    """Return the difference of a full build-out; None if the fabric has one, or there is none."""
    if built.plan.build_out.value == everything().value or built.plan.switchless:
        return None
    return compare_design(report, built, built.plan._replace(build_out=everything()))


def with_split_servers(report: Report, built: BuiltFabric) -> OtherDesign | None:
    """Return the difference of a fat tree whose servers may span leaves, if it has fewer switches."""
    if built.plan.split_servers is not None or not built.plan.declared.searched or built.plan.declared.has_rails:
        return None
    design = compare_design(report, built, built.plan._replace(split_servers=True))
    return design if design and design.switches < 0 else None


def with_oversubscription(report: Report, built: BuiltFabric) -> OtherDesign | None:
    """Return the difference of leaves oversubscribed 2:1; None if they are, or if there is no tier above."""
    if not built.plan.declared.searched or len(built.fabric.tiers) == 1 or built.plan.oversubscription.value > 1:
        return None
    return compare_design(report, built, built.plan._replace(oversubscription=half_the_bandwidth_up()))


def compare_design(report: Report, built: BuiltFabric, wanted: FabricPlan) -> OtherDesign | None:
    """Return the difference of a fabric designed by another fabric plan.

    None if it cannot be built, or has no known parts for links that have known parts now.
    """
    [found] = compare_designs(report, built, [wanted])
    return found


def compare_designs(report: Report, built: BuiltFabric, plans: Iterable[FabricPlan]) -> Iterator[OtherDesign | None]:
    """Yield the difference of a fabric designed by each of several fabric plans, as `compare_design` returns it."""
    before = _rebuilt(report, built, built.plan)
    now = _take(report, before) if before else None
    for plan in plans:
        after = _rebuilt(report, built, plan) if before else None
        if before is None or now is None or after is None or after.kinds_without_part - before.kinds_without_part:
            yield None
            continue
        (pieces, amount), (old, old_amount) = _take(report, after), now
        switches, links, modules, cables = (int(new - each) for new, each in zip(pieces, old, strict=True))
        more = None if amount is None or old_amount is None else amount - old_amount
        yield OtherDesign(after.fabric, switches, links, modules, cables, more)


def _rebuilt(report: Report, built: BuiltFabric, plan: FabricPlan) -> BuiltFabric | None:
    with suppress(Infeasible, PlanErrors):
        return rebuild_fabric(report.design, built, plan)
    return None


def _take(report: Report, built: BuiltFabric) -> tuple[tuple[int, ...], Decimal | None]:
    lines = tuple(lines_of_fabric(built))
    totals = quote(Bill(lines), report.plan.quote, report.books).totals
    modules, cables = (sum(line.pieces for line in lines if line.category == kind) for kind in (MODULES, CABLES))
    links = sum(int(link.count.value) for link in built.fabric.links[1:])
    pieces = (int(built.fabric.switches.value), links, modules, cables)
    return pieces, totals.amount if totals.complete else None


# predicted money ----------------------------------------------------------------------------------------------------
# Servers and cost of a predicted run, at the point prediction and at the ends of its interval.


class MoneyOfRun(NamedTuple):
    """Cost of a run at one utilisation; None if unknown or not requested."""

    servers: Figure | None
    """Whole servers, or trays of whole racks, for the target days."""
    purchase: Decimal | None
    """Purchase of those servers, in proportion to the plan's purchase."""
    energy_kwh: Figure | None
    """Energy of the run on the GPUs of the cluster, as for all following fields."""
    energy_cost: Decimal | None
    cost: Decimal | None
    """Cost of the GPU-hours of the run."""


def money_of_run(report: Report, outlook: Outlook) -> MoneyOfRun:
    """Return the cost of a run at one utilisation. Amounts are in the currency of the quote, before tax."""
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
    """Return the cost of GPUs at the plan's purchase per GPU; None if nothing is priced, or clusters share it.

    If prices are missing it is a lower bound, as the total is.
    """
    totals = report.quote.totals
    if not totals.priced_lines or report.plan.cluster_name:
        return None
    planned = int(report.design.sizing.gpus.value)
    each = cost_per_gpu.plain(Fraction(totals.net), planned)
    return rounded(each * gpus, totals.currency)


# failures -----------------------------------------------------------------------------------------------------------
# What the loss of one switch costs: the endpoints without a link, and the share of the bandwidth that is gone.
#
# Of Clos fabrics, whose leaves are all connected to the spines of their pod; other topologies have no such formula.

LEAF, SPINE = "leaf", "spine"


@formula("endpoints")
def endpoints_of_leaf(seats: Occupancy) -> int:
    """Endpoints on the leaf with the most of them, which lose their link with it."""
    return max(group.nic_ports + group.host_ports for group in seats.groups())


@formula("share")
def share_of_endpoints(leaf_endpoints: int, endpoints: int) -> Fraction:
    """Share of all endpoints that lose their link with one leaf."""
    return Fraction(leaf_endpoints, endpoints)


@formula("ports")
def ports_on_leaf(rails_per_leaf: int, seats: Occupancy) -> int:
    """Ports of a server on one leaf, with several ports per rail."""
    return rails_per_leaf * seats.ports_of_rail


@formula("share")
def share_of_server(leaf_ports: int, ports_per_server: int) -> Fraction:
    """Share of the links of a server that it loses with one leaf."""
    return Fraction(leaf_ports, ports_per_server)


@formula("switches")
def spines_of_leaf(spines: int, pods: int) -> int:
    """Spines that a leaf is connected to, where there are pods."""
    return spines // pods


@formula("share")
def share_through_spine(uplinks: int, spines: int) -> Fraction:
    """Share of the uplinks of a fully equipped leaf that end at one spine."""
    return Fraction(ceil(uplinks / spines), uplinks)


@formula("share")
def share_of_planes(share_of_plane: Fraction, planes: int) -> Fraction:
    """Share of the bandwidth over all planes."""
    return share_of_plane / planes


def losses(fabric: Fabric) -> Iterator[tuple[str, Figure]]:
    """Yield what one leaf and one spine cost, by name: endpoints of a leaf, and shares of endpoints and bandwidth."""
    plane, seats = fabric.plane or fabric, (fabric.plane or fabric).seats
    leaf, spine = plane.tier(LEAF), plane.tier(SPINE)
    if leaf is None or seats is None or any(links.within_tier for links in plane.links):
        return
    endpoints = endpoints_of_leaf(seats)
    if not endpoints.value:
        return
    yield "leaf-endpoints", endpoints
    yield "leaf-share", share_of_endpoints(endpoints, fabric.endpoints)
    if fabric.ports_per_server.value:
        yield "leaf-server", share_of_server(_ports_of_server(plane, seats), fabric.ports_per_server)
    if spine and leaf.up and leaf.up.value and any(links.ends == (LEAF, SPINE) for links in plane.links):
        spines = spines_of_leaf(spine.count, plane.pods) if plane.pods else spine.count
        share = share_through_spine(leaf.up, spines)
        yield "spine-share", share_of_planes(share, fabric.planes) if fabric.planes else share


def _ports_of_server(plane: Fabric, seats: Figure) -> Figure:
    """Return the ports of a server on one leaf: at most all on its plane."""
    if plane.rails_per_leaf is None:
        return plane.ports_per_server
    return plane.rails_per_leaf if seats.value.ports_of_rail == 1 else ports_on_leaf(plane.rails_per_leaf, seats)

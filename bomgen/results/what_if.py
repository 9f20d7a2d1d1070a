"""What would be otherwise: another design of a fabric, another utilisation, a lost switch, a changed part.

Both designs are calculated with the cable lengths of the plan, even if a floor layout makes them longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from bomgen.catalog.files import Catalog, Record
from bomgen.catalog.part_file_checks import in_unit_of_field
from bomgen.core.diagnostics import Infeasible, PlanErrors, Problem
from bomgen.core.messages import ENGLISH, Message, message, read_language
from bomgen.core.provenance import Figure, constant, floor_div, formula, quotient
from bomgen.core.units import rounded
from bomgen.design.assembly import BuiltFabric, Design, parts_lookup, rebuild_fabric
from bomgen.fabric.occupancy import Occupancy
from bomgen.fabric.types import Fabric
from bomgen.optics.compatibility import (
    LinkChoice,
    LinkSpec,
    Medium,
    MediumOption,
    PartsLookup,
    Span,
    Unbuildable,
    cable_reason,
    module_reason,
)
from bomgen.optics.selection import choose
from bomgen.plan.types import FabricPlan
from bomgen.pricing.bill import Bill, lines_of_fabric
from bomgen.pricing.costs import cost_per_gpu, run_cost
from bomgen.pricing.price_book import PriceBook, part_price
from bomgen.pricing.quote import quote
from bomgen.results.result import Report
from bomgen.site.racks import cost_of_energy, energy_of_run
from bomgen.sizing.servers import gpus_of_servers, servers_for_gpus, whole_racks

if TYPE_CHECKING:
    from bomgen.sizing.prediction.predict import Outlook

MODULES, CABLES = "transceiver", "cable"
"""Categories of the bill, and kinds of parts that are selected by their figures."""


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


share_of_endpoints = quotient("share_of_endpoints", "share", "leaf_endpoints", "endpoints")
"""Share of all endpoints that lose their link with one leaf."""


@formula("ports")
def ports_on_leaf(rails_per_leaf: int, seats: Occupancy) -> int:
    """Ports of a server on one leaf, with several ports per rail."""
    return rails_per_leaf * seats.ports_of_rail


share_of_server = quotient("share_of_server", "share", "leaf_ports", "ports_per_server")
"""Share of the links of a server that it loses with one leaf."""
spines_of_leaf = floor_div("spines_of_leaf", "switches", "spines", "pods")
"""Spines that a leaf is connected to, where there are pods."""


@formula("share")
def share_through_spine(uplinks: int, spines: int) -> Fraction:
    """Share of the uplinks of a fully equipped leaf that end at one spine."""
    return Fraction(ceil(uplinks / spines), uplinks)


share_of_planes = quotient("share_of_planes", "share", "share_of_plane", "planes")
"""Share of the bandwidth over all planes."""


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
        ports = plane.rails_per_leaf or plane.ports_per_server  # at most all on its plane
        if plane.rails_per_leaf and seats.value.ports_of_rail > 1:
            ports = ports_on_leaf(plane.rails_per_leaf, seats)
        yield "leaf-server", share_of_server(ports, fabric.ports_per_server)
    if spine and leaf.up and leaf.up.value and any(links.ends == (LEAF, SPINE) for links in plane.links):
        spines = spines_of_leaf(spine.count, plane.pods) if plane.pods else spine.count
        share = share_through_spine(leaf.up, spines)
        yield "spine-share", share_of_planes(share, fabric.planes) if fabric.planes else share


# changed parts --------------------------------------------------------------------------------------------------------
# Part files that change built-in parts: the changes, and links that lose their part to them.


def changed_parts(catalog: Catalog, designs: Sequence[Design], books: Sequence[PriceBook]) -> Iterator[Problem]:
    """Yield warnings about user files that change fields of built-in parts in use, at the first changed field."""
    for record in catalog.read():
        if changes := record.changes:
            mark = record.source.key_mark((next(iter(changes)),))
            fields = [_changed_field(record.kind, key, *values) for key, values in changes.items()]
            text = message("changed-part", kind=record.kind, id=record.id, fields=fields)
            yield Problem(mark, "warning", text, "changed-part", record.kind)
            if record.kind in (MODULES, CABLES):
                for text in _lost_links(record, catalog, designs, books):
                    yield Problem(mark, "warning", text, "changed-part", record.kind)


def _changed_field(kind: str, key: str, *values: Any) -> Message | str:
    if any(isinstance(value, dict | list) for value in values):
        return key
    before, now = ("–" if value is None else in_unit_of_field(kind, key, value) for value in values)
    if values[0] is None:
        return message("field-from-unknown", key=key, now=now)
    return message("changed-field", key=key, before=before, now=now)


def _lost_links(
    record: Record, catalog: Catalog, designs: Sequence[Design], books: Sequence[PriceBook]
) -> Iterator[Message]:
    places = dict[tuple[str, str], list[str]]()
    for designed in designs:
        price = part_price(designed.plan.quote, books)
        prefer = str(designed.plan.optics.value)
        before, now = (
            parts_lookup(each)._replace(price=price, prefer=prefer)
            for each in (catalog.without_change(record), catalog)
        )
        for built in designed.fabrics:
            for group in built.interconnect.link_groups:
                spec, span = built.plan.links[group.kind], group.span
                if span and (lost := _lost(record.id, spec, span, before, now)):
                    found = places.setdefault(lost, [])
                    found.append(message("links-of-fabric", fabric=built.plan.name, kind=group.kind))
    for (instead, reason), links in places.items():
        yield message("changed-part-lost", id=record.id, links=dict.fromkeys(links), instead=instead, reason=reason)


def _lost(id: str, spec: LinkSpec, span: Span, before: PartsLookup, now: PartsLookup) -> tuple[str, str] | None:
    """Return the part that replaces one no longer selected, and the reason; None if the link still uses it."""
    with suppress(Unbuildable, LookupError, PlanErrors):
        was, choice = choose(spec, span, before).medium, choose(spec, span, now)
        has = choice.medium.part_ids if choice.medium else ()
        if was and id in was.part_ids and id not in has:
            instead = has[min(was.part_ids.index(id), len(has) - 1)] if has else message("no-part")
            return instead, _why_lost(id, was, span, choice, now)
    return None


def _why_lost(id: str, was: Medium, span: Span, choice: LinkChoice, now: PartsLookup) -> str:
    """Return why a part of a medium is no longer selected: it does not fit, or its option is rejected."""
    rules = now.rules()
    if was.modules:
        ends = ((was.lower, span.lower), (was.upper, span.upper))
        cages = [cage for module, cage in ends if module and module.identity.id == id]
        refused = [module_reason(now.module(id), cage, span.gbps, rules) for cage in cages]
    else:
        refused = [cable_reason(now.cable(id), span.lower, span.upper, span.gbps, rules)]
    reasons = [reason.message for reason in refused if reason]
    reasons += [rejection(option) for option in choice.others if option.name == was.option]
    return reasons[0] if reasons else message("another-preferred")


def rejection(option: MediumOption) -> Message:
    """Return why an option for a kind of link was rejected."""
    code = f"rejected-{option.reason}"
    return message(code if code in read_language(ENGLISH)["messages"] else "rejected-rule", detail=option.detail)

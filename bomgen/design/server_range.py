"""The design of a plan for many numbers of servers at once: counts are vectors, everything else is as built.

Numbers of servers whose fabrics have the same tiers and the same parts differ in counts alone. One of them is built;
for the others its counts become vectors (`core/exact_vectors.py`), from which bill, money and power follow by the same
formulas. Cases that are not covered are left to `design`: machines other than servers, reserved ports, fixed numbers of
switches or links, chassis, and positions on a floor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.catalog.parts import Server
from bomgen.core.diagnostics import Infeasible, PlanErrors
from bomgen.core.exact_vectors import ExactVector, RowsDiffer, integer_vector
from bomgen.core.provenance import Figure, require
from bomgen.design.assembly import (
    BuiltFabric,
    Design,
    FabricContext,
    at_rates,
    build_at_rates,
    facility_of,
    faster_rates,
    is_better,
    list_equipment,
    power_of_servers,
    raise_errors,
    server_cage,
)
from bomgen.fabric.clos.many import ClosCounts, Kinds, count_clos, is_covered
from bomgen.fabric.clos.ports_in_use import LEAF_SPINE, LINK_KINDS, SPINE_CORE, TIERS
from bomgen.fabric.declaration import SERVER_LEAF
from bomgen.fabric.planes import demand_of_one_plane
from bomgen.fabric.topologies.rail_only import one_rail
from bomgen.fabric.types import SERVER, Demand
from bomgen.optics.cages import FIXED_FORMS, cage_of, plug_at
from bomgen.optics.compatibility import Cage, cable_reason, joins_two_cages
from bomgen.optics.counting.columns import PieceCounter, TierLinks
from bomgen.optics.counting.connect import CAGES
from bomgen.optics.counting.uses import AdapterUse, CableUse, ModuleUse
from bomgen.optics.types import AOC, COPPER, COPPER_PAIRS, Medium, PartsLookup
from bomgen.plan import fabric_demand
from bomgen.plan.attachment import Attachment
from bomgen.plan.types import OUT_OF_BAND, FabricPlan, Plan, Site
from bomgen.site.facility import Facility, at_ends, count_racks, sum_of_all_power, with_rack_ranges
from bomgen.site.power import Equipment, power_of
from bomgen.site.rack_count import count_other_racks
from bomgen.site.racks import pdus_of_racks, servers_of_rack, sum_of_racks
from bomgen.site.weight_and_heat import SiteContents
from bomgen.sizing.cluster_size import Sizing
from bomgen.sizing.servers import gpus_of_servers

Integers = NDArray[np.int64]
Rows = NDArray[np.int64]
MEDIA = (*COPPER, AOC, COPPER_PAIRS)
"""Media of cables with fixed ends."""


class DesignRange(NamedTuple):
    """Designs of a plan that differ in counts alone."""

    rows: Rows
    """Their indices among the requested numbers of servers."""
    plan: Plan
    servers: Integers
    fabrics: tuple[FabricRange, ...]
    parts: PartsLookup

    def take(self, chosen: NDArray[np.bool_]) -> DesignRange:
        """Return some of the designs."""
        fabrics = tuple(fabric.take(chosen) for fabric in self.fabrics)
        return self._replace(rows=self.rows[chosen], servers=self.servers[chosen], fabrics=fabrics)

    def with_vectors(self) -> Design:
        """Return one design whose counts are vectors; its facility has power, racks and PDUs."""
        plan, server = self.plan, require(self.plan.cluster.server, "a covered plan has a server")
        servers = Figure(
            integer_vector(self.servers), "servers", require(plan.cluster.servers, "they are given").origin
        )
        sizing = Sizing(gpus_of_servers(servers, server.gpus), servers)
        power = power_of_servers(plan, sizing)
        built = tuple(fabric.with_vectors() for fabric in self.fabrics)
        one = sizing._replace(servers=plan.cluster.servers)
        facility = facility_of(plan, one, tuple(fabric.built for fabric in self.fabrics))
        server_in_rack, in_racks, machines = list_equipment(plan, sizing, built)
        gpu = plan.cluster.gpu.power_w
        drawn = sum_of_all_power(power or (gpu and power_of(sizing.gpus, gpu)), machines)
        facility = facility._replace(power_w=drawn)
        if plan.site:
            facility = _with_racks(facility, plan.site, server_in_rack, in_racks, machines)
        return Design(plan, sizing, built, None, power, facility, self.parts)


def _with_racks(
    facility: Facility, site: Site, server: Server | None, servers: Figure | None, machines: Sequence[Equipment]
) -> Facility:
    contents = _count_racks(site, server, servers, machines)
    ends = [_count_racks(site, at, servers, others) for at, others in at_ends(server, machines)]
    contents = with_rack_ranges(contents, ends)
    compute, management = contents.compute_racks, contents.management_racks
    return facility._replace(
        racks=sum_of_racks(compute, management) if compute and management else compute or management,
        compute_racks=compute,
        management_racks=management,
        compute_pdus=contents.compute_pdus,
        management_pdus=contents.management_pdus,
    )


def _count_racks(
    site: Site, server: Server | None, servers: Figure | None, machines: Sequence[Equipment]
) -> SiteContents:
    contents = count_racks(site, server, servers, (), [])
    if contents.management_racks is None and (management := _pack_racks(site, contents, machines)):
        pdus = pdus_of_racks(management, site.management_pdus)
        return contents._replace(management_racks=management, management_pdus=pdus)
    return contents


def _pack_racks(site: Site, contents: SiteContents, machines: Sequence[Equipment]) -> Figure | None:
    """Return the racks of everything but servers, packed for each row of their counts.

    Only where the racks of the servers are so few that other machines may share them, their numbers matter as well.
    """
    servers, racks = contents.servers, contents.compute_racks
    counts = [machine.count.value for machine in machines]
    few = [figure.value if figure else 0 for figure in (racks, servers)]
    rows = next((len(count) for count in (*counts, *few) if isinstance(count, ExactVector)), None)
    if rows is None:
        return count_other_racks(site, contents, machines, [])
    vectors = [_integers(count, rows) for count in counts]
    most = site.shared_racks.value if site.shared_racks else 0
    shared = [np.where(_integers(few[0], rows) <= most, _integers(count, rows), 0) for count in few]
    unique, inverse = np.unique(np.stack([*shared, *vectors]), axis=1, return_inverse=True)
    packed = []
    for racks_of_row, servers_of_row, *counts_of_row in unique.T.tolist():
        pieces = zip(machines, counts_of_row, strict=True)
        of_row = [replace(each, count=replace(each.count, value=count)) for each, count in pieces]
        at = contents._replace(
            servers=replace(servers, value=servers_of_row) if servers and racks_of_row else None,
            compute_racks=replace(racks, value=racks_of_row) if racks and racks_of_row else None,
        )
        packed.append(count_other_racks(site, at, of_row, []))
    numbers = [each.value if each else 0 for each in packed]
    first = next((each for each in packed if each), None)
    return first and Figure(integer_vector(np.array(numbers)[inverse.ravel()]), first.unit, first.origin)


def _integers(count: ExactVector | int, rows: int) -> Integers:
    return count.integers() if isinstance(count, ExactVector) else np.full(rows, count)


class FabricRange(NamedTuple):
    """A fabric for several numbers of servers: as built for one of them, and the counts for all."""

    rows: Rows
    built: BuiltFabric
    counts: tuple[Integers, ...]
    """The counts for each of `_counted_figures`."""

    def take(self, chosen: NDArray[np.bool_]) -> FabricRange:
        """Return the fabric for some of the rows."""
        return FabricRange(self.rows[chosen], self.built, tuple(count[chosen] for count in self.counts))

    def with_vectors(self) -> BuiltFabric:
        """Return the fabric with vectors in place of counts."""
        built, connected = self.built, self.built.interconnect
        nics, *counts = (
            Figure(integer_vector(counts), figure.unit, figure.origin)
            for figure, counts in zip(_counted_figures(built), self.counts, strict=True)
        )
        left = iter(counts)
        tiers = [replace(tier, count=next(left)) for tier in built.fabric.tiers]
        switches = replace(built.fabric.switches, value=sum(tier.count.value for tier in tiers))
        modules = tuple(use._replace(quantity=next(left)) for use in connected.modules)
        adapters = tuple(use._replace(quantity=next(left)) for use in connected.adapters)
        cables = tuple(use._replace(quantity=next(left)) for use in connected.cables)
        return built._replace(
            fabric=built.fabric._replace(tiers=tuple(tiers), switches=switches),
            interconnect=connected._replace(modules=modules, adapters=adapters, cables=cables),
            nics=nics,
        )


def _counted_figures(built: BuiltFabric) -> list[Figure]:
    connected = built.interconnect
    uses: Sequence[ModuleUse | AdapterUse | CableUse] = (*connected.modules, *connected.adapters, *connected.cables)
    return [built.nics, *(tier.count for tier in built.fabric.tiers), *(use.quantity for use in uses)]


class DesignRanges(NamedTuple):
    """Designs of a plan for many numbers of servers. Rows in neither field are not covered."""

    covered: tuple[DesignRange, ...]
    refused: Rows
    """Rows for which `design` raises Infeasible: no fabric has the ports."""


NOTHING = np.empty(0, np.int64)


class _RangeContext(NamedTuple):
    plan: Plan
    servers: Integers
    parts: PartsLookup
    attached: Attachment


def design_range(plan: Plan, servers: Integers, parts: PartsLookup, attached: Mapping[str, Attachment]) -> DesignRanges:
    """Return the designs of a plan with a given number of servers, for each of these numbers instead."""
    if not _is_covered(plan):
        return DesignRanges((), NOTHING)
    everything = np.flatnonzero(servers > _servers_of_one_rack(plan))
    if not len(everything):
        return DesignRanges((), NOTHING)
    ranges: list[tuple[Rows, tuple[FabricRange, ...]]] = [(everything, ())]
    refused = NOTHING
    for fabric in plan.fabrics:
        context = _RangeContext(plan, servers, parts, attached[fabric.name])
        at_planned_rates, unknown = _range_at_rates(fabric, context, everything)
        built = [each.rows for each in at_planned_rates]
        refused = np.union1d(refused, np.setdiff1d(everything, np.concatenate([unknown, *built])))
        best = [faster for each in at_planned_rates for faster in _with_faster_rates(each, context)]
        ranges = [joined for rows, others in ranges for each in best for joined in _join(rows, others, each)]
    covered = (DesignRange(rows, plan, servers[rows], built, parts) for rows, built in ranges)
    return DesignRanges(tuple(covered), refused)


def _join(
    rows: Rows, built: tuple[FabricRange, ...], more: FabricRange
) -> Iterator[tuple[Rows, tuple[FabricRange, ...]]]:
    shared = np.intersect1d(rows, more.rows)
    if len(shared):
        yield shared, tuple(each.take(np.isin(each.rows, shared)) for each in (*built, more))


def _is_covered(plan: Plan) -> bool:
    """Return whether the counts of a plan depend on servers and switches alone."""
    server = plan.cluster.server
    plain = all(
        not fabric.switchless
        and fabric.role != OUT_OF_BAND
        and not fabric.hosts
        and not fabric.uplink
        and (fabric.declared.searched or fabric.declared.isolated_rails)
        and not any(spec.panels for spec in fabric.links.values())
        for fabric in plan.fabrics
    )
    site = plan.site
    on_floor = site is not None and (site.layout.given or site.racks)
    shared = site is not None and site.management_racks is not None and not site.management_racks.value
    filled_by_hand = site is not None and (site.servers_per_rack or (site.rack and site.rack.load_kg))
    plain = plain and not on_floor and not shared and not filled_by_hand
    return plain and server is not None and not plan.storage.servers


def _servers_of_one_rack(plan: Plan) -> int:
    """Return the most servers that stand in one rack, where cable lengths follow positions and are not covered."""
    found = servers_of_rack(plan.site, plan.cluster.server, None, []) if plan.site and plan.cluster.server else None
    return int(found.value) if found else 0


def _with_faster_rates(fabric_range: FabricRange, context: _RangeContext) -> Iterator[FabricRange]:
    """Yield a fabric at its rates, or faster between switches, as `design` decides for each row."""
    fabric, best = fabric_range.built.plan, [fabric_range]
    for rates in faster_rates(fabric_range.built):
        others, unknown = _range_at_rates(at_rates(fabric, rates), context, fabric_range.rows)
        best = [one.take(~np.isin(one.rows, unknown)) for one in best]
        for other in others:
            best = [each for one in best for each in _better_of(one, other, rates, context.parts) if len(each.rows)]
    yield from (each for each in best if len(each.rows))


def _better_of(
    one: FabricRange, other: FabricRange, rates: Mapping[str, Figure], parts: PartsLookup
) -> Iterator[FabricRange]:
    """Yield a fabric for the rows where another at these rates is no better, and the other for the rest."""
    shared = np.isin(one.rows, other.rows)
    other = other.take(np.isin(other.rows, one.rows))
    better = np.zeros(len(one.rows), np.bool_)
    if shared.any():
        better[shared] = _where(partial(_is_better, rates, parts), other, one.take(shared))
        yield other.take(better[shared])
    yield one.take(~better)


def _is_better(rates: Mapping[str, Figure], parts: PartsLookup, one: FabricRange, two: FabricRange) -> bool:
    return is_better(one.with_vectors(), two.with_vectors(), rates, parts)


def _where(ask: Callable[[FabricRange, FabricRange], bool], one: FabricRange, two: FabricRange) -> NDArray[np.bool_]:
    """Return where a question about two fabrics of the same rows is answered yes."""
    try:
        return np.full(len(one.rows), bool(ask(one, two)))
    except RowsDiffer as parting:
        found = np.zeros(len(one.rows), np.bool_)
        for some in (parting.rows, ~parting.rows):
            found[some] = _where(ask, one.take(some), two.take(some))
        return found


def _range_at_rates(fabric: FabricPlan, context: _RangeContext, rows: Rows) -> tuple[list[FabricRange], Rows]:
    """Return a fabric at given rates for some rows, and the rows not covered; the other rows cannot be built."""
    found, unknown, counters = list[FabricRange](), list[Rows](), Counters()
    for planes in _count_planes(fabric, context, rows):
        if planes is None:
            return [], rows
        for same_part in _same_parts(planes, fabric, context):
            ranged = _connect(same_part, fabric, context, counters)
            if ranged is None:
                unknown.append(same_part.rows)
            else:
                found.append(ranged[0])
                unknown.append(ranged[1])
    return found, np.concatenate([NOTHING, *unknown])


class _Planes(NamedTuple):
    rows: Rows
    counts: ClosCounts
    demand: Demand
    planes: int

    def take(self, chosen: NDArray[np.bool_]) -> _Planes:
        return self._replace(rows=self.rows[chosen], counts=self.counts.take(chosen))


def _count_planes(fabric: FabricPlan, context: _RangeContext, rows: Rows) -> Iterator[_Planes | None]:
    """Yield the planes of a fabric for some rows, dual-homed or not; None where they are not covered."""
    first = Figure(int(context.servers[rows[0]]), "servers", fabric.oversubscription.origin)
    as_asked = fabric.homing_asked or fabric.homing.value == fabric_demand.SINGLE
    try:
        whole = fabric_demand.demand(fabric, context.attached, first)
        single = whole if as_asked else whole._replace(homing=fabric_demand.homed_on_one_leaf())
        one, two = _planes(fabric, single, context, rows), None
    except Infeasible:  # at any number of servers
        return
    if as_asked:
        yield one
        return
    if one and one.planes == 1:
        with suppress(Infeasible):
            two = _planes(fabric, whole, context, rows)
    if one is None or two is None:
        yield one
        return
    same = np.logical_and.reduce([one.counts.switches[tier] == two.counts.switches[tier] for tier in TIERS])
    dual = same & (two.counts.tiers > 1) & (one.counts.switches["leaf"] > 1)
    for planes, chosen in ((two, dual), (one, ~dual)):
        if chosen.any():
            yield planes.take(chosen)


def _planes(fabric: FabricPlan, whole: Demand, context: _RangeContext, rows: Rows) -> _Planes | None:
    planes, declared = int(fabric.planes.value), fabric.declared
    demand = whole if planes == 1 else demand_of_one_plane(whole, fabric.planes, context.attached.ports_per_plane)
    rails: Figure | None = None
    if declared.deal_ports:
        demand, rails = declared.deal_ports(demand)
    else:
        planes *= int(demand.ports_per_server.value)
        demand = demand_of_one_plane(demand, demand.ports_per_server, one_rail())
    if not is_covered(demand):
        return None
    counts = count_clos(demand, rails, context.servers[rows])
    if rails and not declared.has_rails:
        counts = counts._replace(tiers=np.where(counts.tiers == 1, 0, counts.tiers))
    return _Planes(rows, counts, demand, planes)


def _same_parts(planes: _Planes, fabric: FabricPlan, context: _RangeContext) -> Iterator[_Planes]:
    """Yield the planes split into those with the same parts for links: by tiers and by parallel links."""
    counts, together = planes.counts, _links_together(planes, context.attached, fabric)
    divided = [
        np.gcd(together[ends.kind], _links_of_cables(ends, context.parts)) for ends in _list_ends(planes, context)
    ]
    keys = np.stack([counts.tiers, *divided])
    for key in np.unique(keys, axis=1).T:
        chosen = (keys == key[:, None]).all(axis=0)
        if key[0]:
            yield planes.take(chosen)


class _Ends(NamedTuple):
    kind: str
    lower: Cage
    upper: Cage
    rate: Figure


def _list_ends(planes: _Planes, context: _RangeContext) -> Iterator[_Ends]:
    """Yield the ends of the kinds of link of a fabric, as far as its switches have ports for them."""
    demand = planes.demand
    switches = {"leaf": demand.leaf.switch, "spine": demand.spine.switch, "core": demand.core.switch}
    for kind in LINK_KINDS[: int(planes.counts.tiers.max())]:
        rate = demand.rates[kind.name]
        lower, upper = (
            server_cage(context.plan, context.attached) if end == SERVER else cage_of(switches[end], end, rate)
            for end in kind.ends
        )
        yield _Ends(kind.name, lower, upper, rate)


def _links_of_cables(ends: _Ends, parts: PartsLookup) -> int:
    """Return the divisor of the links of every cable between two cages: more parallel links make no difference."""
    rules, rate = parts.rules(), int(ends.rate.value)
    links = (
        int(cable.links.value)
        for medium in MEDIA
        for cable in parts.cables(medium)
        if joins_two_cages(cable) and cable_reason(cable, ends.lower, ends.upper, rate, rules) is None
    )
    return lcm(*links)


def _links_together(planes: _Planes, attached: Attachment, fabric: FabricPlan) -> dict[str, Integers]:
    """Return the links that always run between the same two devices, by kind; the actual number is a multiple."""
    counts = planes.counts
    down, ports = counts.down["leaf"], int(attached.ports_per_server.value)
    one_row = counts.rows * planes.planes == 1
    if fabric.declared.isolated_rails:
        one_row = np.full(len(down), ports == 1)
    leaves, spines = counts.kinds["leaf"], counts.kinds["spine"]
    return {
        SERVER_LEAF.name: np.where(one_row, np.gcd(down, ports), 1),
        LEAF_SPINE.name: _parallel(leaves, counts.switches["spine"] // counts.pods),
        SPINE_CORE.name: _parallel(spines, counts.switches["core"]),
    }


def _parallel(kinds: Kinds, above: Integers) -> Integers:
    """Return the links between a switch of a tier and each of `above` switches above it."""
    above = np.maximum(above, 1)
    each = np.where(kinds.up % above == 0, kinds.up // above, 1)
    found: Integers = np.gcd.reduce(np.where(kinds.switches > 0, each, 0), axis=0)
    return np.maximum(found, 1)


class _Link(NamedTuple):
    ends: _Ends
    medium: Medium | None
    """The medium; None if no part is known."""


def _connect(
    planes: _Planes, fabric: FabricPlan, context: _RangeContext, known: Counters
) -> tuple[FabricRange, Rows] | None:
    """Return a fabric with parts for rows whose links are built alike, and the rows without enough cages.

    None where it is not covered: where it cannot be built, or only with parts that share cages.
    """
    plan, servers, parts, attached = context
    first = Figure(int(servers[planes.rows[0]]), "servers", require(plan.cluster.servers, "given").origin)
    try:
        built = build_at_rates(fabric, FabricContext(plan, first, parts, attached))
        raise_errors(built.interconnect)
    except (Infeasible, PlanErrors):
        return None
    connected = built.interconnect
    if any(option.reason == CAGES for choice in connected.choices for option in choice.others):
        return None
    media = {group.kind: group.medium for group in connected.link_groups}
    links = [_Link(end, media[end.kind]) for end in _list_ends(planes, context)]
    counters, counts = _piece_counters(planes, links, known), planes.counts
    suffice = np.logical_and.reduce(
        [counter.has_cages(counts.down[tier], counts.up[tier]) for tier, counter in counters.items()]
    )
    unknown, planes = planes.rows[~suffice], planes.take(suffice)
    modules, cables = _count_parts(planes, links, counters, servers[planes.rows], attached)
    counted = (
        servers[planes.rows] * int(attached.nics_per_server.value),
        *(planes.counts.switches[tier.name] * planes.planes for tier in built.fabric.tiers),
        *(modules[use.kind, use.device] for use in connected.modules),
        *(modules[use.kind, use.device] for use in connected.adapters),
        *(cables[use.kind] for use in connected.cables),
    )
    whole, first_row = (
        [figure.value for figure in _counted_figures(built)],
        [int(each[0]) for each in counted],
    )
    if whole != first_row:
        raise AssertionError(f"{fabric.name}: the vectors have {first_row}, the design {whole}")
    return FabricRange(planes.rows, built, counted), unknown


Counters = dict[tuple[str, TierLinks], PieceCounter]
"""Counters of pieces in the switches of a fabric at given rates, by tier and by the parts of its links in the cages."""


def _piece_counters(planes: _Planes, links: Sequence[_Link], counters: Counters) -> dict[str, PieceCounter]:
    """Return the counters of pieces in the switches of each tier; extend `counters`, those of other rows."""
    demand, found = planes.demand, {}
    for tier, choice in zip(TIERS, (demand.leaf, demand.spine, demand.core), strict=True):
        ends = [(each, plug_at(medium, each.upper, True)) for each, medium in links if each.upper.device == tier]
        ends += [(each, plug_at(medium, each.lower, False)) for each, medium in links if each.lower.device == tier]
        if ends:
            kinds, rates, plugs = zip(*((each.kind, each.rate, plug) for each, plug in ends), strict=True)
            of_tier = TierLinks(kinds, rates, plugs)
            found[tier] = counters.setdefault((tier, of_tier), PieceCounter(choice.switch, of_tier))
    return found


def _count_parts(
    planes: _Planes,
    links: Sequence[_Link],
    counters: Mapping[str, PieceCounter],
    servers: Integers,
    attached: Attachment,
) -> tuple[dict[tuple[str, str], Integers], dict[str, Integers]]:
    counts, ports = planes.counts, int(attached.ports_per_server.value)

    def in_tier(tier: str, up: int, links_per_piece: Figure) -> Integers:
        counted = counters[tier].count(
            up, int(links_per_piece.value), counts.down[tier], counts.up[tier], counts.kinds[tier]
        )
        return counted * planes.planes

    modules, cables = dict[tuple[str, str], Integers](), dict[str, Integers]()
    for (kind, lower, upper, _), medium in links:
        of_servers = lower.device == SERVER
        if medium and medium.lower and lower.form not in FIXED_FORMS:
            each = medium.lower.ports
            pieces = servers * -(-ports // int(each.value)) if of_servers else in_tier(lower.device, 1, each)
            modules[kind, lower.device] = pieces
        if medium and medium.upper and upper.form not in FIXED_FORMS:
            modules[kind, upper.device] = in_tier(upper.device, 0, medium.upper.ports)
        cable = medium and medium.cable
        if medium is None or cable is None or cable.links.value == 1:
            cables[kind] = servers * ports if of_servers else counts.links[lower.device] * planes.planes
        elif medium.splits_at_lower_end:
            many = int(cable.links.value)
            cables[kind] = servers * -(-ports // many) if of_servers else in_tier(lower.device, 1, cable.links)
        else:
            cables[kind] = in_tier(upper.device, 0, cable.links)
    return modules, cables

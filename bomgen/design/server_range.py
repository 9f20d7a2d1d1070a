"""The design of a plan for many numbers of servers at once: counts are vectors, everything else is as built.

Numbers of servers whose fabrics have the same tiers and the same parts differ in counts alone. One of them is built;
for the others its switches, modules and cables are counted in plain numbers, and become vectors
(`core/exact_vectors.py`), from which bill, money and power follow by the same formulas. Cases that are not covered are
left to `design`: machines other than servers, reserved ports, fixed numbers of switches or links, chassis, and
positions on a floor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from math import gcd, lcm
from typing import NamedTuple, TypeVar

from bomgen.catalog.parts import Server, Switch
from bomgen.core.diagnostics import Infeasible, PlanErrors
from bomgen.core.exact_vectors import ExactVector, RowsDiffer, integer_vector
from bomgen.core.provenance import Figure, Given, require
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
from bomgen.fabric.clos.build import ClosCounts, TierCount, clos_counter, has_counter
from bomgen.fabric.occupancy import demand_of_one_plane
from bomgen.fabric.topologies.rail_only import one_rail
from bomgen.fabric.types import LINK_KINDS, SERVER, TIERS, Demand
from bomgen.optics.cages import (
    FIXED_FORMS,
    CagePlug,
    PortDemand,
    PortMap,
    TooFewCages,
    cage_of,
    filled_places,
    map_ports,
    plug_at,
)
from bomgen.optics.compatibility import (
    AOC,
    COPPER,
    COPPER_PAIRS,
    Cage,
    Medium,
    PartsLookup,
    cable_reason,
    joins_two_cages,
)
from bomgen.optics.connect import CAGES
from bomgen.optics.uses import AdapterUse, CableUse, ModuleUse
from bomgen.plan import fabric_demand
from bomgen.plan.fabric_demand import Attachment
from bomgen.plan.types import OUT_OF_BAND, PAIR, FabricPlan, Plan, Site
from bomgen.site.facility import Facility, at_ends, count_other_racks, count_racks, sum_of_all_power, with_rack_ranges
from bomgen.site.rack_loads import SiteContents
from bomgen.site.racks import Equipment, Warnings, power_of, servers_of_rack, sum_of_racks
from bomgen.sizing.cluster_size import Sizing
from bomgen.sizing.servers import gpus_of_servers

Count = TypeVar("Count")
MEDIA = (*COPPER, AOC, COPPER_PAIRS)
"""Media of cables with fixed ends."""


class DesignRange(NamedTuple):
    """Designs of a plan that differ in counts alone."""

    plan: Plan
    servers: Mapping[int, int]
    """Servers by row: the index of the design among those requested."""
    fabrics: tuple[FabricRange, ...]
    parts: PartsLookup

    @property
    def rows(self) -> list[int]:
        """Return the rows in the order of the vectors."""
        return [*self.servers]

    def take(self, rows: Collection[int]) -> DesignRange:
        """Return some of the designs."""
        fabrics = tuple(fabric.take(rows) for fabric in self.fabrics)
        return self._replace(servers=_take(self.servers, rows), fabrics=fabrics)

    def with_vectors(self) -> Design:
        """Return one design whose counts are vectors; its facility has power, racks and PDUs."""
        plan, server = self.plan, require(self.plan.cluster.server, "a covered plan has a server")
        given = require(plan.cluster.servers, "they are given")
        servers = replace(given, value=integer_vector([*self.servers.values()]))
        sizing = Sizing(gpus_of_servers(servers, server.gpus), servers)
        power = power_of_servers(plan, sizing)
        built = tuple(fabric.with_vectors() for fabric in self.fabrics)
        facility = facility_of(plan, sizing._replace(servers=given), tuple(fabric.built for fabric in self.fabrics))
        server_in_rack, in_racks, machines = list_equipment(plan, sizing, built)
        gpu = plan.cluster.gpu.power_w
        drawn = sum_of_all_power(power or (gpu and power_of(sizing.gpus, gpu)), machines)
        facility = facility._replace(power_w=drawn)
        if plan.site:
            facility = _with_racks(facility, plan.site, server_in_rack, in_racks, machines)
        return Design(plan, sizing, built, None, power, facility, self.parts)


def _take(counts: Mapping[int, Count], rows: Collection[int]) -> dict[int, Count]:
    return {row: count for row, count in counts.items() if row in rows}


def _with_racks(
    facility: Facility, site: Site, server: Server | None, servers: Figure | None, machines: Sequence[Equipment]
) -> Facility:
    """Return a facility with racks and PDUs, of which only the racks of servers follow from vectors by formulas."""
    ends = [(server, machines), *at_ends(server, machines)]
    contents, *at_end = (count_racks(site, one, servers, others, [], _pack_racks) for one, others in ends)
    contents = with_rack_ranges(contents, at_end)
    compute, management = contents.compute_racks, contents.management_racks
    return facility._replace(
        racks=sum_of_racks(compute, management) if compute and management else compute or management,
        compute_racks=compute,
        management_racks=management,
        compute_pdus=contents.compute_pdus,
        management_pdus=contents.management_pdus,
    )


def _pack_racks(site: Site, contents: SiteContents, machines: Sequence[Equipment], warnings: Warnings) -> Figure | None:
    """Return the racks of everything but servers, packed for each row of their counts; add no warnings.

    Only where the racks of the servers are so few that other machines may share them, their numbers matter as well.
    """
    servers, racks = contents.servers, contents.compute_racks
    counts = [figure.value if figure else 0 for figure in (racks, servers, *(machine.count for machine in machines))]
    rows = next((len(count) for count in counts if isinstance(count, ExactVector)), None)
    if rows is None:
        return count_other_racks(site, contents, machines, warnings)

    @cache
    def pack(racks_of_row: int, servers_of_row: int, *counts_of_row: int) -> Figure | None:
        pieces = zip(machines, counts_of_row, strict=True)
        of_row = [replace(each, count=replace(each.count, value=count)) for each, count in pieces]
        at = contents._replace(
            servers=replace(servers, value=servers_of_row) if servers and racks_of_row else None,
            compute_racks=replace(racks, value=racks_of_row) if racks and racks_of_row else None,
        )
        return count_other_racks(site, at, of_row, [])

    most = site.shared_racks.value if site.shared_racks else 0
    columns = (each.integers().tolist() if isinstance(each, ExactVector) else [each] * rows for each in counts)
    packed = [pack(*(of_row if of_row[0] <= most else (0, 0, *of_row[2:]))) for of_row in zip(*columns, strict=True)]
    first = next((each for each in packed if each), None)
    return first and Figure(integer_vector([each.value if each else 0 for each in packed]), first.unit, first.origin)


class FabricRange(NamedTuple):
    """A fabric for several numbers of servers: as built for one of them, and the counts for all."""

    built: BuiltFabric
    counts: Mapping[int, tuple[int, ...]]
    """By row: the value of each of `_counted_figures`."""

    def take(self, rows: Collection[int]) -> FabricRange:
        """Return the fabric for some of the rows."""
        return FabricRange(self.built, _take(self.counts, rows))

    def with_vectors(self) -> BuiltFabric:
        """Return the fabric with vectors in place of counts."""
        built, connected = self.built, self.built.interconnect
        nics, *counts = (
            Figure(integer_vector(counts), figure.unit, figure.origin)
            for figure, counts in zip(_counted_figures(built), zip(*self.counts.values(), strict=True), strict=True)
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


class _RangeContext(NamedTuple):
    plan: Plan
    servers: Mapping[int, int]
    parts: PartsLookup
    attached: Attachment


def design_range(
    plan: Plan, servers: Mapping[int, int], parts: PartsLookup, attached: Mapping[str, Attachment]
) -> tuple[list[DesignRange], list[int]]:
    """Return the designs of a plan with a given number of servers, for each of these numbers by row instead.

    Also returns the rows for which `design` raises Infeasible: no fabric has the ports. Others are not covered.
    """
    special = (fabric.special_servers for fabric in plan.fabrics)
    few = max(_servers_of_one_rack(plan), PAIR if plan.pair else 0, *special)
    servers = {row: count for row, count in servers.items() if count > few}
    if not servers or not _is_covered(plan):
        return [], []
    ranges, refused = [DesignRange(plan, servers, (), parts)], set[int]()
    for fabric in plan.fabrics:
        context = _RangeContext(plan, servers, parts, attached[fabric.name])
        at_planned_rates, unknown = _range_at_rates(fabric, context, servers)
        refused |= servers.keys() - unknown.union(*(each.counts for each in at_planned_rates))
        best = [faster for each in at_planned_rates for faster in _with_faster_rates(each, context)]
        ranges = [joined for one in ranges for each in best if (joined := _join(one, each)).servers]
    return ranges, sorted(refused)


def _join(designs: DesignRange, fabric: FabricRange) -> DesignRange:
    found = designs.take(fabric.counts.keys())
    return found._replace(fabrics=(*found.fabrics, fabric.take(found.servers)))


def _is_covered(plan: Plan) -> bool:
    """Return whether the counts of a plan depend on servers and switches alone."""
    server = plan.cluster.server
    plain = all(
        not fabric.switchless
        and fabric.role != OUT_OF_BAND
        and not fabric.hosts
        and not fabric.uplink
        and (fabric.otherwise is None or fabric.otherwise_up_to is not None)
        and (fabric.declared.searched or fabric.declared.isolated_rails)
        and not any(spec.panels for spec in fabric.links.values())
        for fabric in plan.fabrics
    )
    site = plan.site
    lengths = [spec.length_m for fabric in plan.fabrics for spec in fabric.links.values()]
    placed = site is not None and not all(isinstance(length.origin, Given) for length in lengths)
    on_floor = plan.laid_out or (site is not None and (placed or site.racks))
    shared = site is not None and site.management_racks is not None and not site.management_racks.value
    filled_by_hand = site is not None and (site.servers_per_rack or (site.rack and site.rack.load_kg))
    plain = plain and not on_floor and not shared and not filled_by_hand
    return plain and server is not None and not plan.storage.servers


def _servers_of_one_rack(plan: Plan) -> int:
    """Return the most servers that stand in one rack, where cable lengths follow positions and are not covered."""
    found = servers_of_rack(plan.site, plan.cluster.server, None, []) if plan.site and plan.cluster.server else None
    return int(found.value) if found else 0


def _with_faster_rates(fabric_range: FabricRange, context: _RangeContext) -> list[FabricRange]:
    """Return a fabric at its rates, or faster between switches, as `design` decides for each row."""
    fabric, best = fabric_range.built.plan, [fabric_range]
    for rates in faster_rates(fabric_range.built):
        others, unknown = _range_at_rates(at_rates(fabric, rates), context, fabric_range.counts)
        best = [one.take(one.counts.keys() - unknown) for one in best]
        for other in others:
            best = [each for one in best for each in _better_of(one, other, rates, context.parts)]
    return [each for each in best if each.counts]


def _better_of(
    one: FabricRange, other: FabricRange, rates: Mapping[str, Figure], parts: PartsLookup
) -> Iterator[FabricRange]:
    """Yield a fabric for the rows where another at these rates is no better, and the other for the rest."""
    shared = one.counts.keys() & other.counts.keys()
    better = _better_rows(other.take(shared), one.take(shared), rates, parts) if shared else set[int]()
    yield other.take(better)
    yield one.take(one.counts.keys() - better)


def _better_rows(
    one: FabricRange, than: FabricRange, rates: Mapping[str, Figure], parts: PartsLookup
) -> Collection[int]:
    """Return the rows where a fabric at these rates is better than another; both have the same rows."""
    try:
        return one.counts if is_better(one.with_vectors(), than.with_vectors(), rates, parts) else ()
    except RowsDiffer as parting:
        some = parting.divide(one.counts)
        return {row for rows in some for row in _better_rows(one.take(rows), than.take(rows), rates, parts)}


def _range_at_rates(
    fabric: FabricPlan, context: _RangeContext, rows: Collection[int]
) -> tuple[list[FabricRange], set[int]]:
    """Return a fabric at given rates for some rows, and the rows not covered; the other rows cannot be built."""
    found, unknown, contents = list[FabricRange](), set[int](), _Contents()
    for planes in _count_planes(fabric, context, rows):
        if planes is None:
            return [], {*rows}
        for alike in _same_parts(planes, fabric, context):
            ranged = _connect(alike, fabric, context, contents)
            unknown |= alike.counts.keys()
            if ranged:
                unknown -= ranged.counts.keys()
                found.append(ranged)
    return found, unknown


class _Planes(NamedTuple):
    counts: Mapping[int, ClosCounts]
    """By row, without those that cannot be built."""
    demand: Demand
    planes: int


def _count_planes(fabric: FabricPlan, context: _RangeContext, rows: Collection[int]) -> Iterator[_Planes | None]:
    """Yield the planes of a fabric for some rows, dual-homed or not; None where they are not covered."""
    first = Figure(context.servers[next(iter(rows))], "servers", fabric.oversubscription.origin)
    as_asked = fabric.homing_asked or fabric.homing.value == fabric_demand.SINGLE
    try:
        whole = fabric_demand.demand(fabric, context.attached, first)
        single = whole if as_asked else whole._replace(homing=fabric_demand.homed_on_one_leaf())
        one, two = _planes(fabric, single, context, rows), None
    except Infeasible:  # at any number of servers
        return
    if one and one.planes == 1 and not as_asked:
        with suppress(Infeasible):
            two = _planes(fabric, whole, context, rows)
    if one is None or two is None:
        yield one
        return
    dual = {row: counts for row, counts in two.counts.items() if _is_as_small(counts, one.counts.get(row))}
    yield two._replace(counts=dual)
    yield one._replace(counts=_take(one.counts, one.counts.keys() - dual))


def _is_as_small(dual: ClosCounts, single: ClosCounts | None) -> bool:
    """Return whether a dual-homed fabric has the switches of one that is not, on more than one leaf."""
    if single is None or len(dual.tiers) == 1 or single.tiers[0].switches == 1:
        return False
    return [tier.switches for tier in dual.tiers] == [tier.switches for tier in single.tiers]


def _planes(fabric: FabricPlan, whole: Demand, context: _RangeContext, rows: Collection[int]) -> _Planes | None:
    planes, declared = int(fabric.planes.value), fabric.declared
    demand = whole if planes == 1 else demand_of_one_plane(whole, fabric.planes, context.attached.ports_per_plane)
    rails: Figure | None = None
    if declared.deal_ports:
        demand, rails = declared.deal_ports(demand)
    else:
        planes *= int(demand.ports_per_server.value)
        demand = demand_of_one_plane(demand, demand.ports_per_server, one_rail())
    if not has_counter(demand):
        return None
    count = clos_counter(demand, rails)
    found = {row: counts for row in rows if (counts := count(context.servers[row]))}
    if rails and not declared.has_rails:
        found = {row: counts for row, counts in found.items() if len(counts.tiers) > 1}
    return _Planes(found, demand, planes)


def _same_parts(planes: _Planes, fabric: FabricPlan, context: _RangeContext) -> Iterator[_Planes]:
    """Yield the planes split into those with the same parts for links: by tiers and by parallel links."""
    links = {ends.kind: _links_of_cables(ends, context.parts) for ends in _list_ends(planes, context)}
    alike = dict[tuple[int, ...], dict[int, ClosCounts]]()
    for row, counts in planes.counts.items():
        together = _links_together(counts, planes, context.attached, fabric)
        key = tuple(gcd(each, links[kind.name]) for kind, each in zip(LINK_KINDS, together, strict=False))
        alike.setdefault(key, {})[row] = counts
    yield from (planes._replace(counts=counts) for counts in alike.values())


class _Ends(NamedTuple):
    kind: str
    lower: Cage
    upper: Cage
    rate: Figure


def _list_ends(planes: _Planes, context: _RangeContext) -> Iterator[_Ends]:
    """Yield the ends of the kinds of link of a fabric, as far as its switches have ports for them."""
    demand = planes.demand
    switches = {"leaf": demand.leaf.switch, "spine": demand.spine.switch, "core": demand.core.switch}
    for kind in LINK_KINDS[: max((len(counts.tiers) for counts in planes.counts.values()), default=0)]:
        rate = demand.rates[kind.name]
        lower, upper = (
            server_cage(context.plan, context.attached, switches["leaf"].protocol)
            if end == SERVER
            else cage_of(switches[end], end, rate)
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


def _links_together(counts: ClosCounts, planes: _Planes, attached: Attachment, fabric: FabricPlan) -> Iterator[int]:
    """Yield the links that always run between the same two devices, by kind; the actual number is a multiple."""
    ports, leaf = int(attached.ports_per_server.value), counts.tiers[0]
    one_row = ports == 1 if fabric.declared.isolated_rails else counts.rows * planes.planes == 1
    yield gcd(leaf.down, ports) if one_row else 1
    for tier in counts.tiers[:-1]:
        yield gcd(*(up // tier.above if up % tier.above == 0 else 1 for (_, up), _ in tier.kinds)) or 1


_Link = tuple[_Ends, Medium | None]
"""The ends of a kind of link and its medium; None if no part is known."""


def _connect(planes: _Planes, fabric: FabricPlan, context: _RangeContext, contents: _Contents) -> FabricRange | None:
    """Return a fabric with parts for rows whose links are built alike, without those that lack cages.

    None where it is not covered: where it cannot be built, or only with parts that share cages.
    """
    plan, servers, parts, attached = context
    first = Figure(servers[next(iter(planes.counts))], "servers", require(plan.cluster.servers, "given").origin)
    try:
        built = build_at_rates(fabric, FabricContext(plan, first, parts, attached))
        raise_errors(built.interconnect)
    except (Infeasible, PlanErrors):
        return None
    connected = built.interconnect
    if any(option.reason == CAGES for choice in connected.choices for option in choice.others):
        return None
    media = {group.kind: group.medium for group in connected.link_groups}
    links = [(end, media[end.kind]) for end in _list_ends(planes, context)]
    of_tiers, found = _contents_of_tiers(planes.demand, links, contents), dict[int, tuple[int, ...]]()
    for row, counts in planes.counts.items():
        tiers = dict(zip(TIERS, zip(of_tiers, counts.tiers, strict=True), strict=False))
        if any(content.maps(tier.down, tier.up) is None for content, tier in tiers.values()):
            continue
        modules, cables = _count_parts(links, tiers, planes.planes, servers[row], attached)
        found[row] = (
            servers[row] * int(attached.nics_per_server.value),
            *(tier.switches * planes.planes for tier in counts.tiers),
            *(modules[use.kind, use.device] for use in connected.modules),
            *(modules[use.kind, use.device] for use in connected.adapters),
            *(cables[use.kind] for use in connected.cables),
        )
    expected, first_row = [figure.value for figure in _counted_figures(built)], [*next(iter(found.values()))]
    if expected != first_row:
        raise AssertionError(f"{fabric.name}: the vectors have {first_row}, the design {expected}")
    return FabricRange(built, found)


class _Content:
    """The cages of the switches of a tier by the parts of their links: downlinks, and uplinks where there are any.

    What a switch contains follows from its ports in use; each such question is answered once for all fabrics.
    """

    def __init__(self, switch: Switch, links: Sequence[tuple[str, Figure, CagePlug]]) -> None:
        self._switch, self._links = switch, links
        self.maps, self.pieces = cache(self._maps), cache(self._pieces)

    def _maps(self, down: int, up: int) -> list[PortMap] | None:
        """Return the ports of a fully connected switch; None where its links fill more cages than it has."""
        ports = zip(self._links, (down, up), strict=False)
        wanted = [PortDemand(kind, count, rate, plug, bool(at)) for at, ((kind, rate, plug), count) in enumerate(ports)]
        try:
            return [*map_ports(self._switch, wanted).values()]
        except TooFewCages:
            return None

    def _pieces(self, up: int, links_per_piece: int, full: tuple[int, int], used: tuple[int, int]) -> int:
        """Return the pieces of the downlinks (0) or uplinks (1) on a switch with some of its ports in use."""
        if links_per_piece == 1:
            return used[up]
        maps = require(self.maps(*full), "only switches with enough cages are counted")
        found = filled_places(maps[up], used[up], links_per_piece)
        if up and self._links[0][-1] == self._links[1][-1]:
            found -= filled_places(maps[0], used[0], links_per_piece)
        return len(found)


_Contents = dict[tuple[str, tuple[tuple[str, Figure, CagePlug], ...]], _Content]
"""By tier and the parts of its links in the cages: the contents of its switches at given rates."""


def _contents_of_tiers(demand: Demand, links: Sequence[_Link], contents: _Contents) -> list[_Content]:
    """Return the contents of the switches of each tier; extend `contents`, those of other rows."""
    found = []
    for name, tier in zip(TIERS, (demand.leaf, demand.spine, demand.core), strict=True):
        of_tier = [(each, plug_at(medium, each.upper, True)) for each, medium in links if each.upper.device == name]
        of_tier += [(each, plug_at(medium, each.lower, False)) for each, medium in links if each.lower.device == name]
        if of_tier:
            key = name, tuple((each.kind, each.rate, plug) for each, plug in of_tier)
            found.append(contents.setdefault(key, _Content(tier.switch, key[1])))
    return found


def _count_parts(
    links: Sequence[_Link],
    tiers: Mapping[str, tuple[_Content, TierCount]],
    planes: int,
    servers: int,
    attached: Attachment,
) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
    """Return the modules by kind of link and device, and the cables by kind of link."""
    ports = int(attached.ports_per_server.value)

    def in_tier(name: str, up: int, links_per_piece: Figure) -> int:
        content, tier = tiers[name]
        each, full = int(links_per_piece.value), (tier.down, tier.up)
        return planes * sum(count * content.pieces(up, each, full, used) for used, count in tier.kinds)

    modules, cables = dict[tuple[str, str], int](), dict[str, int]()
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
            cables[kind] = servers * ports if of_servers else tiers[lower.device][1].links_up * planes
        elif medium.splits_at_lower_end:
            many = int(cable.links.value)
            cables[kind] = servers * -(-ports // many) if of_servers else in_tier(lower.device, 1, cable.links)
        else:
            cables[kind] = in_tier(upper.device, 0, cable.links)
    return modules, cables

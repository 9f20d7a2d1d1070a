"""Assembly of a design from sizing, fabrics, interconnects and facility: everything that is built, without money.

Racks, PDUs and the management ports of both depend on each other in a cycle, which is repeated until nothing changes;
that takes two or three rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from bomgen.catalog import part_records, parts
from bomgen.catalog.files import Catalog, named_length
from bomgen.catalog.parts import ANY, Cable, GpuBandwidth, Module, Nic, Server
from bomgen.core.diagnostics import Infeasible, PlanErrors, error_at
from bomgen.core.jobs import OF_FABRIC, OF_HOST, OF_LINK_PART, spend
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Figure, ceil_div, constant, first_given, formula, product, sum_of
from bomgen.fabric.occupancy import Occupancy, count_islands
from bomgen.fabric.ports import FittedTier, count_free_ports_on_cards, fit_line_cards, largest_group, links_per_cage
from bomgen.fabric.types import SERVER, SERVER_LEAF, Fabric, Tier
from bomgen.optics.compatibility import AOC, RJ45, Cage, LinkSpec, PartsLookup, rules
from bomgen.optics.connect import CAGES, NO_PART, PartsRequest, count_parts, has_problem
from bomgen.optics.uses import AttachedHosts, Interconnect
from bomgen.plan import fabric_demand
from bomgen.plan.fabric_demand import ADDED, ETHERNET, USUAL, Attachment, compute_protocols
from bomgen.plan.types import COMPUTE, OUT_OF_BAND, PDUS, STORAGE, SWITCHES, FabricPlan, Hosts, Plan, Plug, switches_of
from bomgen.site import facility
from bomgen.site.facility import Facility
from bomgen.site.racks import (
    Equipment,
    bought_servers,
    cards_of_rack,
    power_of,
    power_with_cards,
    sum_of_racks,
    trays_of_racks,
    units_bought,
)
from bomgen.sizing.cluster_size import Sizing
from bomgen.sizing.servers import through_slot
from bomgen.sizing.storage import StoredUnits

MAX_ROUNDS = 10
"""Racks, PDUs and management ports depend on each other in a cycle, which settles in two or three rounds."""
DOUBLE = 2
"""The factor from a rate of links to the next."""
ENDS_OF_AOC = 2
RACK_DEVICES = "NVLink switches and power shelves"
"""Devices of a rack-scale system with separate management ports."""


def count_separate_parts(fabric: Fabric) -> int:
    """Return the parts of a fabric that no switch connects, over all rails and planes; 1: all machines share a path."""
    plane = fabric.plane or fabric
    linked = plane.tier("core") or any(links.within_tier for links in plane.links)
    if plane.pods is None or plane.seats is None or linked:
        return 1
    return count_islands(plane.seats.value, int(plane.pods.value))


class BuiltFabric(NamedTuple):
    """A fabric of the plan as built."""

    plan: FabricPlan
    attachment: Attachment | None
    """The attachment of the servers; None: nodes are linked directly, without NICs to count."""
    fabric: Fabric
    interconnect: Interconnect
    nics: Figure
    """NICs of all servers on this fabric."""
    hosts: tuple[Hosts, ...]
    """The other machines attached to it."""
    chassis: tuple[FittedTier, ...]
    """The line cards of its modular switches, by tier."""
    per_gpu: GpuBandwidth | None
    """Bandwidth of one GPU to others; None unless the fabric has role compute."""

    @property
    def kinds_without_part(self) -> frozenset[str]:
        """Kinds of link with links for which no module or cable is known."""
        return frozenset(group.kind for group in self.interconnect.link_groups if group.medium is None)

    @property
    def assumes_cages(self) -> bool:
        """Whether other machines are assumed to have the servers' cages; RJ45 ports need no such assumption."""
        known = self.attachment is None or self.attachment.cage in (ANY, RJ45)
        return not known and any(hosts.plug is None and not hosts.customers for hosts in self.hosts)

    @property
    def bought_nic(self) -> Nic | None:
        """The NIC that is bought for the fabric; None: it comes with the servers."""
        return self.attachment.bought if self.attachment else None

    @property
    def added_nic(self) -> Nic | None:
        """The NIC that is bought in addition to those of the server's own configuration."""
        return self.attachment.bought if self.attachment and self.attachment.supply in (USUAL, ADDED) else None


class FabricContext(NamedTuple):
    """What a fabric is built for and from, besides its own plan."""

    plan: Plan
    servers: Figure
    parts: PartsLookup
    attached: Attachment
    hosts: tuple[Hosts, ...] = ()
    uplink_gbps: Figure | None = None
    """Rate of its uplinks into another fabric; None: it has none."""


class Design(NamedTuple):
    """A cluster as built: sizing, fabrics and facility."""

    plan: Plan
    sizing: Sizing
    fabrics: tuple[BuiltFabric, ...]
    nics: Figure | None
    """NICs of all fabrics of role compute."""
    power_w: Figure | None
    """Maximum power of the servers."""
    facility: Facility
    parts: PartsLookup
    """The parts from which its links were chosen."""

    @property
    def routed(self) -> bool:
        """Whether cable lengths follow the routes: over the floor of the plan, or within the only rack."""
        return self.plan.laid_out or (self.plan.site is not None and self.facility.in_one_rack)


boxes = ceil_div("boxes", "boxes", "switches", "switches_per_unit")
"""Chassis to buy where one chassis contains several switches."""
sum_of_boxes = sum_of("sum_of_boxes", "boxes", "boxes", "more_boxes")
"""Switches of several tiers and fabrics."""


def boxes_of(tier: Tier) -> Figure:
    """Return the units bought and racked for a tier: its switches, or boxes that hold several switches each."""
    shared = tier.switch.switches_per_unit
    return boxes(tier.count, shared) if shared.value > 1 else tier.count


nics_of_servers = product("nics_of_servers", "NICs", "servers", "nics_per_server")
"""NICs of all servers."""


zero_nics = constant("zero_nics", "NICs", 0)
"""NICs of nodes that are connected directly."""


sum_of_nics = sum_of("sum_of_nics", "NICs", "nics", "more_nics")
"""NICs of several fabrics."""


@formula("Gb/s", source="Ethernet and InfiniBand double their rates: 100, 200, 400, 800 Gb/s")
def next_rate(link_gbps: int, port_gbps: int) -> int:
    """Rate of the links to the next tier: twice the rate below, at most the port rate."""
    return min(link_gbps * DOUBLE, port_gbps)


@formula("rows")
def rows_of_leaves(occupancy: Occupancy, planes: int) -> int:
    """Rows of leaves over which the ports of every machine are distributed, in all planes."""
    return len(occupancy.rails) * planes


sum_of_pdus = sum_of("sum_of_pdus", "pieces", "pdus", "more_pdus")
"""PDUs of the server racks and of all other racks."""


def parts_lookup(catalog: Catalog) -> PartsLookup:
    """Return the parts of a catalogue; each record is read once, when it is first looked up."""
    replaced_modules, replaced_cables = (catalog.substituted_ids(kind) for kind in ("transceiver", "cable"))

    def load_module(id: str) -> Module:
        spend(OF_LINK_PART)
        found = part_records.module(catalog.find("transceiver", id), catalog)
        return found._replace(stands_for=replaced_modules.get(found.identity.id))

    def load_cable(id: str) -> Cable:
        spend(OF_LINK_PART)
        record = catalog.find("cable", id)
        length, stands_for = named_length(record.id, id), replaced_cables.get(record.id)
        return part_records.cable(record, catalog)._replace(named_length_m=length, stands_for=stands_for)

    module, cable = cache(load_module), cache(load_cable)
    return PartsLookup(
        module=module,
        cable=cable,
        modules=cache(
            lambda plug, gbps: [
                module(record.id) for record in catalog.records_where("transceiver", "cage", plug, "rate_gbps", gbps)
            ]
        ),
        cables=cache(lambda medium: [cable(record.id) for record in catalog.records_where("cable", "kind", medium)]),
        rules=cache(lambda: rules(catalog)),
        panel=lambda id: catalog.build_part("panel", id, part_records.panel),
        panels=lambda: [catalog.build_part("panel", id, part_records.panel) for id in catalog.ids("panel")],
    )


def design(plan: Plan, sizing: Sizing, parts: PartsLookup, attached: Mapping[str, Attachment]) -> Design:
    """Return the design of a plan: its fabrics with their interconnects, its NICs and its facility.

    `attached` has the attachment of servers by fabric name. Raises PlanErrors for parts that do not fit together and
    Infeasible for fabrics that cannot be built. Where cables have known routes, whether parts fit depends on their
    lengths, and is checked then.
    """
    built: tuple[BuiltFabric, ...] = ()
    for _ in range(MAX_ROUNDS):
        before, built = built, _build_all(plan, sizing, parts, attached, built)
        interdependent = any(fabric.role == OUT_OF_BAND or fabric.uplink for fabric in plan.fabrics)
        if not interdependent or _fabric_counts(before) == _fabric_counts(built):
            break
    else:
        message = "the uplinks between the fabrics form a loop; leave out an `uplink:`"
        raise Infeasible(message, because=sizing.gpus, rule="uplink")
    nics: Figure | None = None
    for each in built:
        if each.plan.role == COMPUTE:
            nics = each.nics if nics is None else sum_of_nics(nics, each.nics)
    power, facility = power_of_servers(plan, sizing), facility_of(plan, sizing, built)
    designed = Design(plan, sizing, built, nics, power, facility, parts)
    if not designed.routed:
        raise_errors(*(each.interconnect for each in built))
    return designed


def _fabric_counts(built: tuple[BuiltFabric, ...]) -> list[list[int]]:
    """Return the endpoints and switches per tier of every fabric; the design has settled when these stay the same."""
    return [[each.fabric.endpoints.value, *(tier.count.value for tier in each.fabric.tiers)] for each in built]


def _count_pdus(plan: Plan, sizing: Sizing, built: Iterable[BuiltFabric]) -> Figure | None:
    racks = facility.count_racks(plan.site, *list_equipment(plan, sizing, built), warnings=[])
    if racks.compute_pdus and racks.management_pdus:
        return sum_of_pdus(racks.compute_pdus, racks.management_pdus)
    return racks.compute_pdus or racks.management_pdus


def power_of_servers(plan: Plan, sizing: Sizing) -> Figure | None:
    """Return the maximum power of the servers; None when it is unknown."""
    servers, server = sizing.servers, plan.cluster.server
    if servers is None or server is None or server.power_w is None:
        return None
    return power_of(units_bought(servers, server), server.power_w)


def facility_of(plan: Plan, sizing: Sizing, built: tuple[BuiltFabric, ...]) -> Facility:
    """Return the facility of a design."""
    server, servers, machines = list_equipment(plan, sizing, built)
    gpu, power = plan.cluster.gpu, power_of_servers(plan, sizing)
    gpus = Equipment(gpu.identity.name, sizing.gpus, gpu.power_w, None, in_server=True)
    return facility.size_facility(plan.site, server, servers, power, machines, sizing.days, gpus)


def list_equipment(
    plan: Plan, sizing: Sizing, built: Iterable[BuiltFabric]
) -> tuple[Server | None, Figure | None, tuple[Equipment, ...]]:
    """Return the server with its purchased cards, the servers in racks, spares included, and all other equipment."""
    built, servers, server = list(built), sizing.servers, plan.cluster.server
    cards = tuple(
        Equipment(each.added_nic.identity.name, each.nics, each.added_nic.power_w, None, in_server=True)
        for each in built
        if each.added_nic
    )
    appliances = tuple(_appliance_equipment(hosts) for each in built for hosts in each.plan.hosts if hosts.part)
    switches = tuple(
        Equipment(
            tier.switch.identity.name,
            boxes_of(tier),
            tier.switch.power_w,
            tier.switch.rack_units,
            weight_kg=tier.switch.weight_kg,
            supplies=tier.switch.supplies,
            kind=switches_of(each.plan.name, tier.name),
        )
        for each in built
        for tier in each.fabric.tiers
    )
    machines = cards + switches + appliances + _storage_equipment(sizing)
    in_racks, spare = servers, plan.cluster.spare_servers
    if servers and spare:
        in_racks = bought_servers(servers, spare)
        if server and server.trays:
            whole = sum_of_racks(units_bought(servers, server), units_bought(spare, server))
            in_racks = trays_of_racks(whole, server.trays)
    for each in built:
        server = server and _add_cards(server, each)
    return server, in_racks, machines


def _add_cards(server: Server, built: BuiltFabric) -> Server:
    card, attached = built.added_nic, built.attachment
    if card is None or attached is None or card.power_w is None or server.power_w is None:
        return server
    cards = cards_of_rack(attached.nics_per_server, server.trays) if server.trays else attached.nics_per_server
    return server._replace(power_w=power_with_cards(server.power_w, cards, card.power_w))


# attached hosts -------------------------------------------------------------------------------------------------------
# Machines on a fabric that the plan does not list: storage servers, management ports, leaves of other fabrics.
#
# Storage servers are on the storage fabric, leaves of topology `access` on the fabric that they are linked into, and
# management ports of switches, PDUs and machines on the out-of-band fabric. Switches of an out-of-band fabric are
# managed in-band.


def hosts_on_fabric(
    fabric: FabricPlan, plan: Plan, sizing: Sizing, others: Sequence[BuiltFabric], pdus: Figure | None
) -> Iterator[Hosts]:
    """Yield the machines on a fabric other than its servers and the hosts that the plan lists, kind by kind."""
    units = sizing.stored.units if sizing.stored else ()
    for part in units if fabric.role == STORAGE else ():
        if part.of.ports:
            yield Hosts(part.of.identity.name, part.number, part.of.ports, plug=part.of.plug)
    for other in others:
        if other.plan.uplink and other.plan.uplink.fabric == fabric.name:
            leaf = other.fabric.tiers[-1]
            ports = leaf.up or other.plan.uplink.ports
            # Uplinks take the cages of the fastest ports.
            fastest = max(leaf.switch.groups, key=lambda group: group.port_gbps.value)
            plug = None if fastest.cage == ANY else Plug(fastest.cage, fastest.ports_per_cage, fastest.port_gbps)
            yield Hosts(f"{other.plan.name} leaf", leaf.count, ports, None, plug, leaves_of=other.plan.name)
    if fabric.role == OUT_OF_BAND:
        yield from _management_hosts(fabric, units, others, pdus)
        server = plan.cluster.server
        if server and server.rack_bmc_ports and sizing.servers:
            yield Hosts(RACK_DEVICES, units_bought(sizing.servers, server), server.rack_bmc_ports)


def _management_hosts(
    fabric: FabricPlan, units: Sequence[StoredUnits], others: Sequence[BuiltFabric], pdus: Figure | None
) -> Iterator[Hosts]:
    switches: Figure | None = None
    for other in others:
        for tier in other.fabric.tiers if other.plan.role != OUT_OF_BAND else ():
            switches = boxes_of(tier) if switches is None else sum_of_boxes(switches, boxes_of(tier))
    if switches and fabric.switch_ports:
        yield Hosts(SWITCHES, switches, fabric.switch_ports, managed=SWITCHES)
    if pdus and fabric.pdu_ports:
        yield Hosts(PDUS, pdus, fabric.pdu_ports, managed=PDUS)
    listed = {hosts.name: hosts for other in others for hosts in other.plan.hosts if not hosts.customers}
    for name in {hosts.name for hosts in fabric.hosts} & listed.keys():
        del listed[name]
    if fabric.machine_ports is None:
        return
    for hosts in listed.values():
        yield Hosts(hosts.name, hosts.pieces, fabric.machine_ports)
    for part in units:
        ports = fabric.switch_ports if part.of.switch_ports else part.of.bmc_ports or fabric.machine_ports
        if ports:
            yield Hosts(part.of.identity.name, part.number, ports)


# fabrics --------------------------------------------------------------------------------------------------------------


def _build_all(
    plan: Plan,
    sizing: Sizing,
    parts: PartsLookup,
    attached: Mapping[str, Attachment],
    before: tuple[BuiltFabric, ...],
) -> tuple[BuiltFabric, ...]:
    """Build every fabric once, with the machines attached to it.

    A fabric with uplinks from others comes after them; out-of-band fabrics, which connect the switches of all others
    and the PDUs of their racks, come last. Fabrics not built yet are taken from `before`, the previous round.
    """
    known = {each.plan.name: each for each in before}
    order = sorted(plan.fabrics, key=lambda fabric: (fabric.role == OUT_OF_BAND, _uplink_depth(plan, fabric.name)))
    for fabric in order:
        others = [built for name, built in known.items() if name != fabric.name]
        spend(OF_FABRIC + OF_HOST * len(fabric.hosts))
        managed = fabric.role == OUT_OF_BAND and fabric.pdu_ports
        pdus = _count_pdus(plan, sizing, known.values()) if managed else None
        hosts, built = tuple(hosts_on_fabric(fabric, plan, sizing, others, pdus)), known.get(fabric.name)
        if built and _count_hosts(hosts) == _count_hosts(built.hosts[len(built.plan.hosts) :]):
            continue
        try:
            known[fabric.name] = _build_fabric(fabric, plan, sizing, parts, attached, hosts)
        except Infeasible as error:
            if first_given(error.because):
                raise
            place = f"fabrics.{fabric.name}"
            raise error_at(fabric.mark, error.message, error.rule, place) from error
    return tuple(known[fabric.name] for fabric in plan.fabrics)


def _count_hosts(hosts: tuple[Hosts, ...]) -> list[tuple[str, int, int]]:
    """Return the values that decide whether a fabric is rebuilt: the rest of its plan stays the same."""
    return [(host.name, host.pieces.value, host.ports.value) for host in hosts]


def _uplink_depth(plan: Plan, name: str) -> int:
    """Return the length of the longest chain of uplinks that ends in this fabric."""
    linked = (fabric for fabric in plan.fabrics if fabric.uplink and fabric.uplink.fabric == name)
    return max((1 + _uplink_depth(plan, fabric.name) for fabric in linked), default=0)


def _build_fabric(
    fabric: FabricPlan,
    plan: Plan,
    sizing: Sizing,
    parts: PartsLookup,
    attached: Mapping[str, Attachment],
    hosts: tuple[Hosts, ...],
) -> BuiltFabric:
    """Build a fabric over the servers; one without switches over the servers or over the chips of pods.

    Where it has other forms, each takes the place of those before it if it is for this number of servers, or if it
    needs fewer switches, unless its links alone lack parts. `hosts` are attached beside those that its form has.
    """
    cluster = plan.cluster
    nodes = sizing.gpus if fabric.switchless and cluster.gpu.pod_chips else sizing.servers
    if nodes is None:
        message = f"no server is known for the GPU {cluster.gpu.identity.id}; describe one with `cluster.server:`"
        raise error_at(cluster.mark, message, "unknown-server", "cluster.server")
    if fabric.switchless:
        return _build_direct(fabric, plan, nodes, parts, attached.get(fabric.name))
    above = next((other for other in plan.fabrics if fabric.uplink and other.name == fabric.uplink.fabric), None)
    uplink_gbps = fabric_demand.rates(above, attached[above.name])[SERVER_LEAF.name] if above else None
    context = FabricContext(plan, nodes, parts, attached[fabric.name], (*fabric.hosts, *hosts), uplink_gbps)
    found, form = _build_with_cages(fabric, context), fabric
    while form.otherwise:
        most, form = form.otherwise_up_to, form.otherwise
        if most is not None and nodes.value + plan.servers_of_groups(fabric.name) > most:
            continue
        if form.switchless and context.hosts:
            continue
        with suppress(Infeasible, PlanErrors):
            other = _build_form(form, context._replace(hosts=(*form.hosts, *hosts)), _build_with_cages)
            raise_errors(other.interconnect)
            if has_problem(other.interconnect, NO_PART) and not has_problem(found.interconnect, NO_PART):
                continue
            if most or other.fabric.switches.value < found.fabric.switches.value:
                found = other._replace(plan=other.plan._replace(otherwise=fabric._replace(otherwise=None)))
    return found


def _build_direct(
    fabric: FabricPlan, plan: Plan, nodes: Figure, parts: PartsLookup, attached: Attachment | None
) -> BuiltFabric:
    direct = fabric_demand.build_direct(fabric, plan.cluster, nodes, attached)
    if attached is None:
        return BuiltFabric(fabric, None, direct, Interconnect((), (), ()), zero_nics(), (), (), None)
    connected = _connect(direct, fabric, (), FabricContext(plan, nodes, parts, attached))
    nics, per_gpu = nics_of_servers(nodes, attached.nics_per_server), _gpu_links(fabric, plan, attached, direct)
    return BuiltFabric(fabric, attached, direct, connected, nics, (), (), per_gpu)


def _build_form(
    form: FabricPlan, context: FabricContext, build: Callable[[FabricPlan, FabricContext], BuiltFabric]
) -> BuiltFabric:
    """Return a fabric in one of its forms, of which one may have no switches; `build` is for those with switches."""
    if form.switchless:
        return _build_direct(form, context.plan, context.servers, context.parts, context.attached)
    return build(form, context)


def _build_with_cages(fabric: FabricPlan, context: FabricContext) -> BuiltFabric:
    """Return a fabric whose leaves have a cage for each part, if the plan leaves their downlinks open.

    The search for the lowest switch count counts ports. Machines other than servers may need different parts, each kind
    in separate cages: then numbers of downlinks close to that of the lowest switch count are tried, the closest first.
    """
    found, leaf = _build_at_best_rates(fabric, context), fabric.tier_plans["leaf"]
    if not has_problem(found.interconnect, CAGES) or leaf.downlinks or leaf.servers or fabric.declared.endpoints_option:
        return found
    rate = fabric_demand.rates(fabric, context.attached)[SERVER_LEAF.name]
    of_cage = links_per_cage(largest_group(leaf.switch, rate), rate)
    down, best = found.fabric.tiers[0].down.value, None
    tried = range(max(down - (1 + len(context.hosts)) * of_cage, 1), down + of_cage + 1)
    for ports in sorted(tried, key=lambda ports: abs(ports - down)):
        origin = Assumed(message("chosen-downlinks"), message("chosen-downlinks-why"), (), "high", chosen=True)
        chosen = replace(leaf, downlinks=Figure(ports, "count", origin))
        try:
            other = _build_at_best_rates(fabric._replace(tier_plans={**fabric.tier_plans, "leaf": chosen}), context)
            raise_errors(other.interconnect)
        except (Infeasible, PlanErrors):
            continue
        if best is None or other.fabric.switches.value < best.fabric.switches.value:
            best = other
        if best.fabric.switches.value <= found.fabric.switches.value:
            break
    return best or found


def _build_at_best_rates(fabric: FabricPlan, context: FabricContext) -> BuiltFabric:
    """Return a fabric at the rates of the plan, or faster between switches where that is better."""
    best = found = build_at_rates(fabric, context)
    for rates in faster_rates(found):
        try:
            other = build_at_rates(at_rates(fabric, rates), context)
            raise_errors(other.interconnect)
        except (Infeasible, PlanErrors):
            continue
        if is_better(other, best, rates, context.parts):
            best = other
    return best


def at_rates(fabric: FabricPlan, rates: Mapping[str, Figure]) -> FabricPlan:
    """Return the plan of a fabric with the rates of some kinds of link replaced."""
    links = {kind: spec._replace(rate_gbps=rates.get(kind, spec.rate_gbps)) for kind, spec in fabric.links.items()}
    return fabric._replace(links=links)


def is_better(built: BuiltFabric, than: BuiltFabric, rates: Mapping[str, Figure], parts: PartsLookup) -> bool:
    """Return whether links between switches at these rates replace those of another fabric.

    They do where parts are known that the other lacks. Otherwise a compute fabric whose `link:` is open uses the
    cheaper; any other uses the lower switch count, then the cheaper.
    """
    if (than.kinds_without_part - built.kinds_without_part) & rates.keys():
        return True
    if built.kinds_without_part - than.kinds_without_part:
        return False
    switches, others = built.fabric.switches.value, than.fabric.switches.value
    if built.plan.role != COMPUTE and switches != others:
        return bool(switches < others)
    return not built.plan.link_gbps and costs_less(built, than, parts)


def faster_rates(built: BuiltFabric) -> Iterator[dict[str, Figure]]:
    """Yield rates to try for links between switches whose ports carry at least twice the planned rate [Gb/s].

    These are all steps up to the rate of the ports where no part is known for a kind of link, and in fabrics for other
    traffic than that of GPUs; otherwise only that of the ports, and none where the plan sets the rate of the fabric's
    links.
    """
    slow = dict[str, tuple[Figure, Figure]]()
    for links in built.fabric.links:
        tiers = [tier for tier in (built.fabric.tier(end) for end in links.ends) if tier]
        if len(tiers) < len(links.ends) or built.plan.links[links.kind].rate_gbps:
            continue
        ports = [max((group.port_gbps for group in tier.switch.groups), key=lambda rate: rate.value) for tier in tiers]
        slower = min(ports, key=lambda rate: rate.value)
        if slower.value >= links.rate_gbps.value * DOUBLE:
            slow[links.kind] = links.rate_gbps, slower
    all_steps = built.plan.role != COMPUTE or bool(built.kinds_without_part & slow.keys())
    if built.plan.link_gbps and not all_steps:
        return
    while any(rate.value < ports.value for rate, ports in slow.values()):
        slow = {kind: (next_rate(rate, ports), ports) for kind, (rate, ports) in slow.items()}
        if all_steps or all(rate.value == ports.value for rate, ports in slow.values()):
            yield {kind: rate for kind, (rate, _) in slow.items()}


def costs_less(built: BuiltFabric, than: BuiltFabric, parts: PartsLookup) -> bool:
    """Return whether a fabric costs less: by the prices of all its parts where they are known.

    Otherwise a lower switch count, and no more modules and cables, are cheaper at any price. An AOC has two modules in
    one piece.
    """
    cost, other_cost = _cost(built, parts), _cost(than, parts)
    if cost is not None and other_cost is not None:
        return cost < other_cost
    pieces, others = (_modules_and_cables(each.interconnect) for each in (built, than))
    fewer = built.fabric.switches.value < than.fabric.switches.value
    return fewer and all(count <= other for count, other in zip(pieces, others, strict=True))


def _modules_and_cables(interconnect: Interconnect) -> tuple[int, int]:
    """Return the modules, including the two ends of each AOC, and the cables."""
    modules = sum(use.quantity.value for use in interconnect.modules)
    optical = sum(use.quantity.value for use in interconnect.cables if use.cable and use.cable.medium == AOC)
    return modules + ENDS_OF_AOC * optical, sum(use.quantity.value for use in interconnect.cables)


def _cost(built: BuiltFabric, parts: PartsLookup) -> Fraction | None:
    found = [
        *((parts.price(tier.switch, None), boxes_of(tier)) for tier in built.fabric.tiers),
        *((parts.price(use.module, None), use.quantity) for use in built.interconnect.modules),
        *(
            (parts.price(use.cable, use.length_m) if use.cable else None, use.quantity)
            for use in built.interconnect.cables
        ),
    ]
    amounts = [price * pieces.value for price, pieces in found if price is not None]
    return sum(amounts, Fraction(0)) if len(amounts) == len(found) else None


def build_at_rates(fabric: FabricPlan, context: FabricContext) -> BuiltFabric:
    """Return a fabric at the rates of its plan. Raises Infeasible when no switches carry it."""
    plan, servers, _, attached, hosts, uplink_gbps = context
    built = fabric_demand.build_planes(fabric, attached, servers, hosts, uplink_gbps)
    if not fabric.allow_islands and (pods := count_separate_parts(built)) > 1:
        message = (
            f"server 1 and server {servers.value} share no path: nothing connects the {pods} pods; leave out "
            "`tiers: 2`, give larger pods, or write `allow_islands: true`"
        )
        raise Infeasible(message, because=fabric.pod_leaves or servers, rule="unreachable")
    fitted = fit_line_cards(built, fabric.tier_plans)
    return BuiltFabric(
        fabric,
        attached,
        count_free_ports_on_cards(built, fitted),
        _connect(built, fabric, fitted, context),
        nics_of_servers(servers, attached.nics_per_server),
        hosts,
        fitted,
        _gpu_links(fabric, plan, attached, built),
    )


def _connect(built: Fabric, fabric: FabricPlan, fitted: tuple[FittedTier, ...], context: FabricContext) -> Interconnect:
    attached = context.attached
    rows = attached.ports_per_server if fabric.declared.has_rails else fabric.planes
    if built.seats and not fabric.declared.isolated_rails:
        rows = rows_of_leaves(built.seats, fabric.planes)
    request = PartsRequest(
        built,
        context.servers,
        server_cage(context.plan, attached, protocol_of(fabric, context.plan)),
        [_attached_hosts(host) for host in context.hosts],
        rows,
        fitted,
        context.parts,
        populate_all=not fabric.populate_used_ports_only,
    )
    return count_parts(request, fabric.links)


def protocol_of(fabric: FabricPlan, plan: Plan) -> str | None:
    """Return the protocol of the links of servers: that of the leaves, else that which the servers usually speak."""
    leaf = fabric.tier_plans.get("leaf")
    return leaf.switch.protocol if leaf else next(iter(compute_protocols(plan.cluster)), ETHERNET)


def server_cage(plan: Plan, attached: Attachment, protocol: str | None) -> Cage:
    """Return the cage of a server, or of the NIC that is bought for it, with the protocol of its links."""
    holder = attached.bought or plan.cluster.server or plan.cluster.gpu
    vendor, links = attached.bought.identity.vendor if attached.bought else None, int(attached.ports_per_cage.value)
    return Cage(SERVER, attached.cage, links, protocol, holder.identity.name, vendor=vendor)


def rebuild_fabric(designed: Design, built: BuiltFabric, wanted: FabricPlan) -> BuiltFabric | None:
    """Return a fabric of a design with changed plan values, and cable lengths by them; None without switches.

    Raises Infeasible and PlanErrors as `design` does.
    """
    context = _context_of(designed, built)
    if context is None:
        return None
    rebuilt = _build_form(wanted, context, build_at_rates)
    raise_errors(rebuilt.interconnect)
    return rebuilt


def rebuild_links(
    designed: Design, built: BuiltFabric, specs: Mapping[str, LinkSpec], parts: PartsLookup
) -> BuiltFabric:
    """Return a fabric of a design with its links rebuilt for other specs, such as other lengths.

    Raises PlanErrors for parts that do not fit together.
    """
    context, wanted = _context_of(designed, built), built.plan._replace(links=specs)
    if context is None:
        return built
    connected = _connect(built.fabric, wanted, built.chassis, context._replace(parts=parts))
    raise_errors(connected)
    return built._replace(plan=wanted, interconnect=connected)


def _context_of(designed: Design, built: BuiltFabric) -> FabricContext | None:
    servers, attached = designed.sizing.servers, built.attachment
    if attached is None or servers is None:
        return None
    return FabricContext(designed.plan, servers, designed.parts, attached, built.hosts, built.fabric.uplink_gbps)


def raise_errors(*connected: Interconnect) -> None:
    """Raise PlanErrors with all errors of some interconnects, if there are any."""
    errors = [problem for each in connected for problem in each.problems if problem.severity == "error"]
    if errors:
        raise PlanErrors(errors)


def _attached_hosts(hosts: Hosts) -> AttachedHosts:
    plug = hosts.plug
    cage = Cage(SERVER, plug.cage, int(plug.ports_per_cage.value), None, hosts.name) if plug else None
    name = hosts.name if hosts.customers else ""
    rate = plug.port_gbps if plug else None
    return AttachedHosts(hosts.pieces, hosts.ports, cage, rate, hosts.link, name, hosts.modules_offered)


def _gpu_links(fabric: FabricPlan, plan: Plan, attached: Attachment, built: Fabric) -> GpuBandwidth | None:
    server = plan.cluster.server
    if server is None or fabric.role != COMPUTE:
        return None
    rate = through_slot(plan.cluster, attached, built.links[0].rate_gbps)
    return parts.bandwidth_per_gpu(plan.cluster.gpu, server.gpus, attached.ports_per_server, rate)


def _appliance_equipment(hosts: Hosts) -> Equipment:
    part = hosts.part
    if part is None:
        raise ValueError(f"nothing is bought for {hosts.name}")
    name, weight, of_storage = part.identity.name, part.weight_kg, part.identity.kind == STORAGE
    found = Equipment(name, hosts.pieces, part.power_w, part.rack_units, of_storage=of_storage)
    return replace(found, weight_kg=weight, supplies=part.supplies, kind=hosts.name)


def _storage_equipment(sizing: Sizing) -> tuple[Equipment, ...]:
    return tuple(
        Equipment(
            part.of.identity.name,
            part.number,
            part.of.power_w,
            part.of.rack_units,
            of_storage=True,
            weight_kg=part.of.weight_kg,
            supplies=part.of.supplies,
            kind=part.of.identity.name,
        )
        for part in (sizing.stored.units if sizing.stored else ())
    )

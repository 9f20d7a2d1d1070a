"""One design out of sizing, fabrics, interconnect and facility: everything that is built, without money."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import ceil
from typing import NamedTuple

from bomgen import facility, interconnect, network, records
from bomgen.catalog import Catalog, length_of
from bomgen.fabric.model import Fabric, Tier
from bomgen.facility import Facility
from bomgen.figures import Figure, formula
from bomgen.interconnect import Interconnect
from bomgen.medium import SERVER, Cage, Stock
from bomgen.network import Attachment
from bomgen.parts import Cable, Nic
from bomgen.plan import FabricPlan, Plan
from bomgen.problems import PlanErrors, Problem
from bomgen.sizing import Sizing


class BuiltFabric(NamedTuple):
    """A fabric of the plan, built."""

    plan: FabricPlan
    attachment: Attachment | None
    """None: nodes are linked directly, without NICs that would be counted."""
    fabric: Fabric
    interconnect: Interconnect
    nics: Figure
    """NICs of all servers on this fabric."""

    @property
    def bought_nic(self) -> Nic | None:
        """The NIC that is bought for it."""
        return self.attachment.bought if self.attachment else None


class Design(NamedTuple):
    """The cluster that is proposed."""

    plan: Plan
    sizing: Sizing
    fabrics: tuple[BuiltFabric, ...]
    nics: Figure | None
    """NICs of all fabrics of role compute."""
    power_w: Figure | None
    """Servers at maximum."""
    facility: Facility


@formula("NICs")
def nics_of_servers(servers: int, nics_per_server: int) -> int:
    """NICs of all servers."""
    return servers * nics_per_server


@formula("NICs")
def no_nics() -> int:
    """Links of their own take no NICs."""
    return 0


@formula("NICs")
def sum_of_nics(nics: int, more_nics: int) -> int:
    """NICs of several fabrics."""
    return nics + more_nics


@formula("boxes")
def boxes(switches: int, switches_per_unit: int) -> int:
    """Boxes that are bought, where several switches share one."""
    return ceil(switches / switches_per_unit)


def _cable(catalog: Catalog, name: str) -> Cable:
    record = catalog.find("cable", name)
    return records.cable(record)._replace(named_length_m=length_of(record.id, name))


def boxes_of(tier: Tier) -> Figure:
    """What is bought and racked for a tier: its switches, or the boxes that hold several each."""
    shared = tier.switch.switches_per_unit
    return boxes(tier.count, shared) if shared.value > 1 else tier.count


def stock(catalog: Catalog) -> Stock:
    """The catalogue's modules and cables, each record turned into data once, when it is asked for."""
    module = cache(lambda id: records.module(catalog.find("transceiver", id)))
    cable = cache(lambda id: _cable(catalog, id))
    return Stock(
        module=module,
        cable=cable,
        modules=cache(
            lambda plug, gbps: [
                module(record.id) for record in catalog.naming("transceiver", "cage", plug, "rate_gbps", gbps)
            ]
        ),
        cables=cache(lambda medium: [cable(record.id) for record in catalog.naming("cable", "kind", medium)]),
    )


def design(plan: Plan, sizing: Sizing, parts: Stock, attached: Mapping[str, Attachment]) -> Design:
    """Everything that is built for a plan of that size.

    Raises PlanErrors for parts that do not fit together and Infeasible for fabrics that cannot be built.
    """
    servers, server = sizing.servers, plan.cluster.server
    built = tuple(_built(fabric, plan, sizing, parts, attached) for fabric in plan.fabrics)
    errors = [problem for each in built for problem in each.interconnect.problems if problem.severity == "error"]
    if errors:
        raise PlanErrors(errors)
    nics: Figure | None = None
    for each in built:
        if each.plan.role == network.COMPUTE:
            nics = each.nics if nics is None else sum_of_nics(nics, each.nics)
    power = None
    if servers and server and server.power_w:
        power = facility.power_of(facility.units_bought(servers, server), server.power_w)
    cards = tuple(
        facility.Machines(each.bought_nic.identity.name, each.nics, each.bought_nic.power_w, None, in_server=True)
        for each in built
        if each.bought_nic
    )
    machines = cards + tuple(_switches(tier) for each in built for tier in each.fabric.tiers) + _storage(plan, sizing)
    in_racks, spare = servers, plan.cluster.spare_servers
    if servers and spare:
        in_racks = facility.bought_servers(servers, spare)
        if server and server.trays:
            whole = facility.sum_of_racks(facility.units_bought(servers, server), facility.units_bought(spare, server))
            in_racks = facility.trays_of_racks(whole, server.trays)
    gpu = plan.cluster.gpu
    gpus = facility.Machines(gpu.identity.name, sizing.gpus, gpu.power_w, None, in_server=True)
    installed = facility.install(plan.site, server, in_racks, power, machines, sizing.days, gpus)
    return Design(plan, sizing, built, nics, power, installed)


def _built(
    fabric: FabricPlan, plan: Plan, sizing: Sizing, parts: Stock, attached: Mapping[str, Attachment]
) -> BuiltFabric:
    """A fabric over the servers, or, without switches, over them or the chips of pods."""
    cluster = plan.cluster
    nodes = sizing.gpus if fabric.switchless and cluster.gpu.pod_chips else sizing.servers
    if nodes is None:
        message = f"no server is known for the GPU {cluster.gpu.identity.id}; describe one with `cluster.server:`"
        raise PlanErrors([Problem(cluster.mark, "error", message, "unknown-server", "cluster.server")])
    if fabric.switchless:
        direct = network.build_direct(fabric, cluster, nodes)
        return BuiltFabric(fabric, None, direct, Interconnect((), (), ()), no_nics())
    return _build(fabric, plan, nodes, parts, attached[fabric.name])


def _build(fabric: FabricPlan, plan: Plan, servers: Figure, parts: Stock, attached: Attachment) -> BuiltFabric:
    built = network.build(fabric, attached, servers)
    name = attached.bought.identity.name if attached.bought else _server_name(plan)
    cage = Cage(SERVER, attached.cage, int(attached.ports_per_cage.value), None, name)
    connected = interconnect.connect(built, servers, cage, fabric.links, parts)
    return BuiltFabric(fabric, attached, built, connected, nics_of_servers(servers, attached.nics_per_server))


def _switches(tier: Tier) -> facility.Machines:
    """The boxes of a tier; their typical power where no maximum is published."""
    switch = tier.switch
    power = switch.power_w or switch.typical_power_w
    return facility.Machines(
        switch.identity.name, boxes_of(tier), power, switch.rack_units, typical=switch.power_w is None
    )


def _storage(plan: Plan, sizing: Sizing) -> tuple[facility.Machines, ...]:
    """The storage servers, where the plan names any."""
    named = plan.storage.servers
    if named is None or sizing.stored is None or sizing.stored.servers is None:
        return ()
    count, name = sizing.stored.servers, named.identity.name
    return (facility.Machines(name, count, named.power_w, named.rack_units, of_storage=True),)


def _server_name(plan: Plan) -> str:
    return plan.cluster.server.identity.name if plan.cluster.server else plan.cluster.gpu.identity.name

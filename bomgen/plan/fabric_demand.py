"""The demand on a fabric's topology, from the plan: NIC ports, rates and the fixed values of each tier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, formula, minimum, product
from bomgen.fabric.clos.build import most_ports_of_leaf, numbers_figure
from bomgen.fabric.clos.shape import search_figures
from bomgen.fabric.ports import limit_to_lanes, sum_of_ports
from bomgen.fabric.requirements import combine_planes, demand_of_one_plane
from bomgen.fabric.types import SERVER_LEAF, Demand, DirectDemand, Fabric, build_fabric, link_kinds
from bomgen.plan.attachment import Attachment, own_port_gbps, refusal
from bomgen.plan.types import COMPUTE, Cluster, FabricPlan, Hosts

TWO_TIERS = 2
"""Switch tiers of a fabric whose leaves have downlinks and uplinks."""
SINGLE = "single"
"""The homing of a machine whose ports all connect to one leaf."""
MAX_GBPS = 10**6
"""Plausible maximum rate of links whose ports are unknown [Gb/s]."""
UPLINK = "uplink"
"""The kind of links into another fabric in `rates`; they run at the rate of the fastest ports."""


ports_of_hosts = product("ports_of_hosts", "ports", "hosts", "ports")
"""Ports of equal hosts."""


@formula("ports")
def one_of_each_port() -> int:
    """Ports per server and rail."""
    return 1


@formula("rails")
def one_rail_for_redundancy() -> int:
    """Rails of a fabric whose hosts must survive a leaf failure with ports on separate leaves."""
    return 1


@formula("word")
def homed_on_one_leaf() -> str:
    """Homing if two leaves would require other switches: all ports of a host connect to one leaf."""
    return SINGLE


slower_end = minimum("slower_end", "Gb/s", "nic_gbps", "switch_gbps")
"""Rate of a link: that of its slower end."""


@formula("servers")
def servers_of_a_leaf(down: int, ports_per_server: int) -> int:
    """Whole servers whose ports fill the downlink ports of a leaf."""
    return max(down // ports_per_server, 1)


def rates(fabric: FabricPlan, attached: Attachment) -> dict[str, Figure]:
    """Return the rate of each kind of link [Gb/s].

    Raises Infeasible when the plan sets links faster than one of their ends.
    """
    leaf = fabric.tier_plans["leaf"].switch
    fastest = max((group.port_gbps for group in leaf.groups), key=lambda rate: rate.value)
    slower = slower_end(attached.port_gbps, fastest)
    asked = fabric.links[SERVER_LEAF.name].rate_gbps or fabric.link_gbps
    if asked and asked.value > slower.value:
        message = (
            f"links of {asked.value} Gb/s; the NIC port carries {attached.port_gbps.value} and the switch port "
            f"{fastest.value} Gb/s: at most {slower.value}"
        )
        raise Infeasible(message, because=asked, rule="rate")
    usual = fabric.link_gbps or slower
    return {kind: fabric.links[kind].rate_gbps or usual for kind in link_kinds()} | {UPLINK: fastest}


def demand(
    fabric: FabricPlan,
    attached: Attachment,
    servers: Figure,
    hosts: Sequence[Hosts] = (),
    uplink_gbps: Figure | None = None,
) -> Demand:
    """Return the demand on all planes of the fabric, for a number of servers and the other machines attached to it.

    `uplink_gbps` is the rate of the links of the fabric that it is linked into, or None. Its links into that one have
    the same rate, or that of its fastest ports.
    """
    tiers, carried = fabric.tier_plans, rates(fabric, attached)
    leaf = tiers["leaf"]
    if uplink_gbps and uplink_gbps.value < carried[UPLINK].value:
        carried |= {UPLINK: uplink_gbps}
    return Demand(
        servers=servers,
        ports_per_server=attached.ports_per_server,
        host_ports=host_ports(hosts),
        reserved_ports=fabric.reserved_ports,
        rates=carried,
        tiers=fabric.tiers,
        oversubscription=fabric.oversubscription,
        spine_oversubscription=fabric.spine_oversubscription,
        leaf=replace(leaf, switch=limit_to_lanes(leaf.switch, attached.cage, carried[SERVER_LEAF.name])),
        spine=tiers["spine"],
        core=tiers["core"],
        pod_leaves=fabric.pod_leaves,
        pod_rails=fabric.pod_rails if fabric.declared.scalable_units else None,
        uplinks=fabric.uplink.ports if fabric.uplink else None,
        unit=fabric.scalable_unit,
        options=fabric.options,
        populate_used_ports_only=fabric.populate_used_ports_only,
        rails_per_leaf=_rails_per_leaf(fabric),
        split_servers=fabric.split_servers,
        homing=fabric.homing,
        peer_links=fabric.peer_links,
    )


def _rails_per_leaf(fabric: FabricPlan) -> Figure | None:
    """Return the rails per leaf as given; one where rails are redundancy, or None where the switch count decides."""
    if fabric.rails_per_leaf is None and fabric.declared.has_rails and fabric.role != COMPUTE:
        return one_rail_for_redundancy()
    return fabric.rails_per_leaf


def host_ports(hosts: Sequence[Hosts]) -> Figure | None:
    """Return the ports of all other machines on a fabric, over all planes; None when there are none."""
    ports = [ports_of_hosts(host.pieces, host.ports) for host in hosts]
    return reduce(sum_of_ports, ports) if ports else None


def build_planes(
    fabric: FabricPlan,
    attached: Attachment,
    servers: Figure,
    hosts: Sequence[Hosts] = (),
    uplink_gbps: Figure | None = None,
) -> Fabric:
    """Return the fabric of the plan's topology for a number of servers, over all planes.

    Raises Infeasible when there is none.
    """
    whole = demand(fabric, attached, servers, hosts, uplink_gbps)
    if fabric.homing_asked or fabric.homing.value == SINGLE:
        return _build_planes(fabric, attached, whole)
    on_one = _build_planes(fabric, attached, whole._replace(homing=homed_on_one_leaf()))
    on_two = build_on_two_leaves(fabric, attached, whole) if on_one.tiers[0].count.value > 1 else None
    return on_two if on_two and _count_by_tier(on_two) == _count_by_tier(on_one) else on_one


def build_on_two_leaves(fabric: FabricPlan, attached: Attachment, whole: Demand) -> Fabric | None:
    """Return the fabric with dual-homed machines; None where their ports, planes or switches do not allow it."""
    try:
        return _build_planes(fabric, attached, whole) if fabric.planes.value == 1 else None
    except Infeasible:
        return None


def _count_by_tier(fabric: Fabric) -> list[int]:
    return [tier.count.value for tier in fabric.tiers]


def _build_planes(fabric: FabricPlan, attached: Attachment, whole: Demand) -> Fabric:
    topology, planes = str(fabric.topology.value), fabric.planes
    if planes.value == 1:
        return build_fabric(topology, whole)
    of_plane = demand_of_one_plane(whole, planes, attached.ports_per_plane)
    return combine_planes(build_fabric(topology, of_plane), planes, whole)


def build_direct(fabric: FabricPlan, cluster: Cluster, nodes: Figure) -> Fabric:
    """Return the fabric of a topology without switches.

    Raises Infeasible when there is none, or its links are faster than their ends, and PlanErrors without a rate.
    """
    gpu = cluster.gpu
    rate = fabric.link_gbps or gpu.pod_link_gbps
    if rate is None:
        message = f"the link rate of the {fabric.topology.value} is unknown; set `link:`, for example 400G"
        raise refusal(fabric, message, "unknown-rate")
    port = fabric.nic.port_gbps if fabric.nic else gpu.pod_link_gbps or own_port_gbps(cluster)
    most = port.value if port else MAX_GBPS
    if rate.value > most:
        carries = f"a port at their ends carries {most}" if port else f"no port is faster than {most}"
        raise Infeasible(f"links of {rate.value} Gb/s; {carries} Gb/s: at most {most}", because=rate, rule="rate")
    demand = DirectDemand(nodes, rate, gpu.pod_chips, gpu.pod_dimensions, fabric.options)
    return build_fabric(str(fabric.topology.value), demand)


def leaf_servers(fabric: FabricPlan, attached: Attachment, servers: Figure) -> Figure:
    """Return the servers that fill a leaf's downlinks at the oversubscription ratio, in the fabric for `servers`.

    A leaf that serves one rail has one port of each server. Raises Infeasible when there is no such fabric.
    """
    stated = fabric.tier_plans["leaf"].servers
    if stated:
        return stated
    of_rail = fabric.declared.has_rails
    if of_rail and fabric.scalable_unit:
        return fabric.scalable_unit
    built = build_planes(fabric, attached, servers, fabric.hosts)
    plane, down = built.plane or built, built.tiers[0].down
    if fabric.declared.searched:
        whole = demand(fabric, attached, servers, fabric.hosts)
        wanted = demand_of_one_plane(whole, fabric.planes, attached.ports_per_plane)
        most = most_ports_of_leaf(numbers_figure(search_figures(wanted, TWO_TIERS)))
        down = down if down.value == most.value else most
    together = plane.rails_per_leaf or (one_of_each_port() if of_rail else attached.ports_per_plane)
    return servers_of_a_leaf(down, together)

"""From a fabric of the plan to what its topology must carry: NIC ports, rates and what is fixed of each tier."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from bomgen import fabric as topologies
from bomgen.fabric.clos import endpoints_with_reserved, nic_endpoints, with_hosts
from bomgen.fabric.model import Demand, DirectDemand, Fabric
from bomgen.fabric.parallel import ports_of_one, side_by_side
from bomgen.figures import Figure, formula
from bomgen.parts import ANY, Nic, ServerPorts
from bomgen.plan import LINK_KINDS, RAILS, Cluster, FabricPlan, Hosts, Plan
from bomgen.problems import Infeasible, PlanErrors, Problem

COMPUTE = "compute"
STORAGE = "storage"
IN_BAND = "in_band"
OUT_OF_BAND = "out_of_band"
_RJ45 = "rj45"
UPLINK = "uplink"
"""The kind of links into another fabric, as `rates` names it; they run at the rate of the fastest ports."""


class Attachment(NamedTuple):
    """How a server hangs on a fabric."""

    ports_per_server: Figure
    """Endpoints, over all planes."""
    ports_per_plane: Figure
    """Endpoints on each plane."""
    nics_per_server: Figure
    port_gbps: Figure
    cage: str
    ports_per_cage: Figure
    bought: Nic | None
    """The NIC that is bought for it; None: the server's own."""


@formula("NICs")
def nics_of_a_server(gpus: int, gpus_per_nic: int) -> int:
    """NICs of a server whose GPUs share them."""
    return ceil(gpus / gpus_per_nic)


@formula("NICs")
def cards_for_ports(ports: int, ports_per_nic: int) -> int:
    """Cards that give a server so many ports."""
    return ceil(ports / ports_per_nic)


@formula("ports")
def ports_of_nics(nics: int, ports_per_nic: int) -> int:
    """NIC ports of a server."""
    return nics * ports_per_nic


@formula("ports")
def ports_on_a_plane(ports: int, planes: int) -> int:
    """Ports of a server on each of several equal planes."""
    return ports // planes


@formula("ports")
def ports_on_a_nic(ports: int, nics: int) -> int:
    """Ports of one NIC."""
    return ports // nics


@formula("ports")
def ports_when_split(ports: int, pieces: int) -> int:
    """Ports of a server, or of a cage, whose every port is split, a piece to every plane."""
    return ports * pieces


@formula("count")
def pieces_of_port(planes: int, ports_per_nic: int) -> int:
    """Pieces of a NIC port when a NIC has fewer ports than there are planes."""
    return planes // ports_per_nic


@formula("Gb/s")
def rate_of_piece(port_gbps: int, pieces: int) -> int:
    """Rate of a piece of a port."""
    return port_gbps // pieces


@formula("ports")
def ports_of_hosts(hosts: int, ports: int) -> int:
    """Ports of equal machines."""
    return hosts * ports


@formula("ports")
def sum_of_ports(ports: int, more_ports: int) -> int:
    """Ports of machines of several kinds."""
    return ports + more_ports


@formula("ports")
def one_of_each_port() -> int:
    """Ports of a server that belong to one rail."""
    return 1


@formula("ports")
def one_port_a_cage() -> int:
    """Ports outside the compute network sit in cages of their own."""
    return 1


@formula("Gb/s")
def slower_end(nic_gbps: int, switch_gbps: int) -> int:
    """A link runs at the rate of its slower end."""
    return min(nic_gbps, switch_gbps)


@formula("servers")
def servers_of_a_leaf(down: int, ports_per_server: int) -> int:
    """Whole servers whose ports fill the down ports of a leaf."""
    return max(down // ports_per_server, 1)


def _refuse(fabric: FabricPlan, message: str, rule: str) -> PlanErrors:
    return PlanErrors([Problem(fabric.mark, "error", message, rule, f"fabrics.{fabric.name}")])


def attachments(plan: Plan, bmc_gbps: Figure) -> dict[str, Attachment]:
    """How the servers hang on each fabric of a plan, by its name; `bmc_gbps` is the rate of a management port.

    Raises PlanErrors when neither plan nor catalogue say how many ports of which rate there are.
    """
    attached = {
        fabric.name: _on_planes(fabric, _attachment(fabric, plan.cluster, bmc_gbps))
        for fabric in plan.fabrics
        if not fabric.switchless
    }
    _check_own_ports(plan, attached)
    return attached


def _check_own_ports(plan: Plan, attached: dict[str, Attachment]) -> None:
    """Raise PlanErrors when fabrics use more of a server's own storage and in-band ports than it has."""
    server = plan.cluster.server
    if server is None or server.storage is None:
        return
    sharing = [
        fabric
        for fabric in plan.fabrics
        if fabric.role in (STORAGE, IN_BAND) and fabric.nic is None and not fabric.switchless
    ]
    used = sum(attached[fabric.name].ports_per_server.value for fabric in sharing)
    if used > server.storage.count.value:
        message = (
            f"the fabrics {' and '.join(fabric.name for fabric in sharing)} use {used} ports a server; "
            f"{server.identity.name} has {server.storage.count.value}: give `ports_per_server:` or name a `nic:`"
        )
        raise _refuse(sharing[-1], message, "ports")


def _attachment(fabric: FabricPlan, cluster: Cluster, bmc_gbps: Figure) -> Attachment:
    server = cluster.server
    if server is None:
        message = f"no server is known for the GPU {cluster.gpu.identity.id}; describe one with `cluster.server:`"
        raise PlanErrors([Problem(cluster.mark, "error", message, "unknown-server", "cluster.server")])
    if fabric.role == COMPUTE:
        return _compute_attachment(fabric, cluster)
    if fabric.role == OUT_OF_BAND:
        ports = fabric.ports_per_server or server.bmc_ports
        if ports is None:
            raise _refuse(fabric, _silent(server.identity.name, "management ports"), "unknown-ports")
        return _side_attachment(fabric, ports, bmc_gbps, _RJ45)
    own = server.storage
    ports = fabric.ports_per_server or (own.count if own else None)
    gbps = fabric.nic.port_gbps if fabric.nic else own.gbps if own else fabric.link_gbps
    if ports is None or gbps is None:
        raise _refuse(fabric, _silent(server.identity.name, "storage and in-band ports"), "unknown-ports")
    return _side_attachment(fabric, ports, gbps, own.cage if own else ANY)


def _on_planes(fabric: FabricPlan, attached: Attachment) -> Attachment:
    """The same with every NIC on every plane: with a port, or with a piece of one.

    Raises PlanErrors when the ports of a NIC neither divide evenly over the planes nor split evenly.
    """
    planes, ports = fabric.planes, attached.ports_per_server
    if planes.value == 1:
        return attached
    by_nic = fabric.role == COMPUTE or fabric.nic is not None
    of_nic = ports.value // attached.nics_per_server.value if by_nic else ports.value
    if of_nic % planes.value == 0:
        return attached._replace(ports_per_plane=ports_on_a_plane(ports, planes))
    if planes.value % of_nic:
        nics = "a NIC" if by_nic else "a server"
        message = (
            f"{of_nic} ports of {nics} do not spread over {planes.value} planes; as many planes as ports, a divisor "
            "or a multiple of them"
        )
        raise _refuse(fabric, message, "planes")
    pieces = pieces_of_port(planes, ports_on_a_nic(ports, attached.nics_per_server) if by_nic else ports)
    if attached.port_gbps.value % pieces.value:
        message = f"a port of {attached.port_gbps.value} Gb/s does not split into {pieces.value} equal pieces"
        raise _refuse(fabric, message, "planes")
    split = ports_when_split(ports, pieces)
    return attached._replace(
        ports_per_server=split,
        ports_per_plane=ports_on_a_plane(split, planes),
        port_gbps=rate_of_piece(attached.port_gbps, pieces),
        ports_per_cage=ports_when_split(attached.ports_per_cage, pieces),
    )


def _silent(server: str, ports: str) -> str:
    return f"the catalogue knows no {ports} of {server}; give `ports_per_server:` and `nic:` or `link:`"


def _side_attachment(fabric: FabricPlan, ports: Figure, gbps: Figure, cage: str) -> Attachment:
    if fabric.gpus_per_nic:
        raise _refuse(fabric, f"gpus_per_nic belongs to compute; give ports_per_server for {fabric.role}", "role")
    nic = fabric.nic
    if nic:
        cards = cards_for_ports(ports, nic.ports)
        return Attachment(ports, ports, cards, nic.port_gbps, nic.cage, nic.ports_per_cage, nic)
    return Attachment(ports, ports, ports, gbps, cage, one_port_a_cage(), None)


def _compute_attachment(fabric: FabricPlan, cluster: Cluster) -> Attachment:
    server, nic = cluster.server, fabric.nic
    if server is None:
        raise ValueError("a compute fabric needs a server")
    if fabric.ports_per_server:
        raise _refuse(fabric, "ports_per_server is for the other roles; give gpus_per_nic for compute", "role")
    own = server.compute
    if fabric.gpus_per_nic:
        nics = nics_of_a_server(server.gpus, fabric.gpus_per_nic)
    elif own:
        nics = own.count
    else:
        message = f"{server.identity.name} names no NICs; give `gpus_per_nic:` and `nic:`"
        raise _refuse(fabric, message, "unknown-ports")
    same = nic is None or nic.identity.id == server.nic
    if same and own is not None and nics.value <= own.count.value:
        return _own_attachment(fabric, own, nics, cluster.server_nic)
    nic = nic or cluster.server_nic
    if nic is None:
        message = f"{nics.value} NICs a server are more than {server.identity.name} has; name a `nic:` to buy"
        raise _refuse(fabric, message, "unknown-ports")
    ports = ports_of_nics(nics, nic.ports)
    return Attachment(ports, ports, nics, nic.port_gbps, nic.cage, nic.ports_per_cage, nic)


def _own_attachment(fabric: FabricPlan, own: ServerPorts, nics: Figure, card: Nic | None) -> Attachment:
    """The server's own NICs: its cages as the server describes them, ports and rate as the NIC does where it must."""
    gbps = own.gbps or (card.port_gbps if card else None)
    if gbps is None:
        raise _refuse(fabric, "the rate of the server's NICs is not known; give `port_gbps:`", "unknown-ports")
    cage = card.cage if card and own.cage == ANY else own.cage
    ports = ports_of_nics(nics, card.ports) if card else nics
    return Attachment(ports, ports, nics, gbps, cage, own.ports_per_cage, None)


def rates(fabric: FabricPlan, attached: Attachment) -> dict[str, Figure]:
    """The rate of each kind of link [Gb/s].

    Raises Infeasible when the plan asks for links faster than one of their ends.
    """
    leaf = fabric.tier_plans["leaf"].switch
    fastest = max((group.port_gbps for group in leaf.groups), key=lambda rate: rate.value)
    slower = slower_end(attached.port_gbps, fastest)
    asked = fabric.links["server-leaf"].rate_gbps or fabric.link_gbps
    if asked and asked.value > slower.value:
        message = (
            f"links of {asked.value} Gb/s; the NIC port carries {attached.port_gbps.value} and the switch port "
            f"{fastest.value} Gb/s: at most {slower.value}"
        )
        raise Infeasible(message, because=asked, rule="rate")
    usual = fabric.link_gbps or slower
    return {kind: fabric.links[kind].rate_gbps or usual for kind in LINK_KINDS} | {UPLINK: fastest}


def demand(fabric: FabricPlan, attached: Attachment, servers: Figure, hosts: Sequence[Hosts] = ()) -> Demand:
    """What one plane of the fabric's topology must carry for so many servers, with other machines beside them."""
    tiers, planes = fabric.tier_plans, fabric.planes
    reserved, others = fabric.reserved_ports, host_ports(hosts)
    return Demand(
        servers=servers,
        ports_per_server=attached.ports_per_plane,
        host_ports=ports_of_one(others, planes) if others and planes.value > 1 else others,
        reserved_ports=ports_of_one(reserved, planes) if reserved and planes.value > 1 else reserved,
        rates=rates(fabric, attached),
        tiers=fabric.tiers,
        oversubscription=fabric.oversubscription,
        spine_oversubscription=fabric.spine_oversubscription,
        leaf=tiers["leaf"],
        spine=tiers.get("spine", tiers["leaf"]),
        core=tiers.get("core", tiers["leaf"]),
        pod_leaves=fabric.pod_leaves,
        uplinks=fabric.uplink.ports if fabric.uplink else None,
        unit=fabric.scalable_unit,
        options=fabric.options,
        exact=fabric.build_out.value == "exact",
    )


def host_ports(hosts: Sequence[Hosts]) -> Figure | None:
    """Ports of all other machines on a fabric, over all planes; None when there are none."""
    found: Figure | None = None
    for each in hosts:
        ports = ports_of_hosts(each.pieces, each.ports)
        found = ports if found is None else sum_of_ports(found, ports)
    return found


def build(fabric: FabricPlan, attached: Attachment, servers: Figure, hosts: Sequence[Hosts] = ()) -> Fabric:
    """The fabric of the plan's topology for so many servers, all planes of it. Raises Infeasible when there is none."""
    plane = topologies.build(str(fabric.topology.value), demand(fabric, attached, servers, hosts))
    if fabric.planes.value == 1:
        return plane
    machines = nic_endpoints(servers, attached.ports_per_server)
    others = host_ports(hosts)
    if others:
        machines = with_hosts(machines, others)
    reserved = fabric.reserved_ports
    endpoints = endpoints_with_reserved(machines, reserved) if reserved else machines
    return side_by_side(plane, fabric.planes, attached.ports_per_server, endpoints, machines)


def build_direct(fabric: FabricPlan, cluster: Cluster, nodes: Figure) -> Fabric:
    """The fabric of a topology without switches. Raises Infeasible when there is none, PlanErrors without a rate."""
    gpu = cluster.gpu
    rate = fabric.link_gbps or gpu.pod_link_gbps
    if rate is None:
        message = f"nothing says how fast the links of the {fabric.topology.value} are; give `link:`, for example 400G"
        raise _refuse(fabric, message, "unknown-rate")
    demand = DirectDemand(nodes, rate, gpu.pod_chips, gpu.pod_dimensions, fabric.options)
    return topologies.build(str(fabric.topology.value), demand)


def leaf_servers(fabric: FabricPlan, attached: Attachment, servers: Figure) -> Figure:
    """Servers that fill the down ports of a leaf of the fabric that so many servers would get.

    A leaf that serves one rail has one port of each server. Raises Infeasible when there is no such fabric.
    """
    given = fabric.tier_plans["leaf"].servers
    if given:
        return given
    of_rail = str(fabric.topology.value) in RAILS
    if of_rail and fabric.scalable_unit:
        return fabric.scalable_unit
    leaf = build(fabric, attached, servers, fabric.hosts).tiers[0]
    return servers_of_a_leaf(leaf.down, one_of_each_port() if of_rail else attached.ports_per_plane)

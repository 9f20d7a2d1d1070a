"""From a fabric of the plan to what its topology must carry: NIC ports, rates and what is fixed of each tier."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from bomgen import fabric as topologies
from bomgen.fabric.model import Demand, DirectDemand, Fabric
from bomgen.figures import Figure, formula
from bomgen.parts import ANY, Nic, ServerPorts
from bomgen.plan import LINK_KINDS, Cluster, FabricPlan, Plan
from bomgen.problems import Infeasible, PlanErrors, Problem

COMPUTE = "compute"
STORAGE = "storage"
IN_BAND = "in_band"
OUT_OF_BAND = "out_of_band"
_RJ45 = "rj45"


class Attachment(NamedTuple):
    """How a server hangs on a fabric."""

    ports_per_server: Figure
    """Endpoints."""
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
        fabric.name: _attachment(fabric, plan.cluster, bmc_gbps) for fabric in plan.fabrics if not fabric.switchless
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


def _silent(server: str, ports: str) -> str:
    return f"the catalogue knows no {ports} of {server}; give `ports_per_server:` and `nic:` or `link:`"


def _side_attachment(fabric: FabricPlan, ports: Figure, gbps: Figure, cage: str) -> Attachment:
    if fabric.gpus_per_nic:
        raise _refuse(fabric, f"gpus_per_nic belongs to compute; give ports_per_server for {fabric.role}", "role")
    nic = fabric.nic
    if nic:
        cards = cards_for_ports(ports, nic.ports)
        return Attachment(ports, cards, nic.port_gbps, nic.cage, nic.ports_per_cage, nic)
    return Attachment(ports, ports, gbps, cage, one_port_a_cage(), None)


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
    return Attachment(ports_of_nics(nics, nic.ports), nics, nic.port_gbps, nic.cage, nic.ports_per_cage, nic)


def _own_attachment(fabric: FabricPlan, own: ServerPorts, nics: Figure, card: Nic | None) -> Attachment:
    """The server's own NICs: its cages as the server describes them, ports and rate as the NIC does where it must."""
    gbps = own.gbps or (card.port_gbps if card else None)
    if gbps is None:
        raise _refuse(fabric, "the rate of the server's NICs is not known; give `port_gbps:`", "unknown-ports")
    cage = card.cage if card and own.cage == ANY else own.cage
    ports = ports_of_nics(nics, card.ports) if card else nics
    return Attachment(ports, nics, gbps, cage, own.ports_per_cage, None)


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
    return {kind: fabric.links[kind].rate_gbps or usual for kind in LINK_KINDS}


def demand(fabric: FabricPlan, attached: Attachment, servers: Figure) -> Demand:
    """What the fabric's topology must carry for so many servers."""
    tiers = fabric.tier_plans
    return Demand(
        servers=servers,
        ports_per_server=attached.ports_per_server,
        host_ports=None,
        reserved_ports=fabric.reserved_ports,
        rates=rates(fabric, attached),
        tiers=fabric.tiers,
        oversubscription=fabric.oversubscription,
        spine_oversubscription=fabric.spine_oversubscription,
        leaf=tiers["leaf"],
        spine=tiers.get("spine", tiers["leaf"]),
        core=tiers.get("core", tiers["leaf"]),
        pod_leaves=fabric.pod_leaves,
        unit=fabric.scalable_unit,
        options=fabric.options,
        exact=fabric.build_out.value == "exact",
    )


def build(fabric: FabricPlan, attached: Attachment, servers: Figure) -> Fabric:
    """The fabric of the plan's topology for so many servers. Raises Infeasible when there is none."""
    return topologies.build(str(fabric.topology.value), demand(fabric, attached, servers))


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

    Raises Infeasible when there is no such fabric.
    """
    given = fabric.tier_plans["leaf"].servers
    if given:
        return given
    leaf = build(fabric, attached, servers).tiers[0]
    return servers_of_a_leaf(leaf.down, attached.ports_per_server)

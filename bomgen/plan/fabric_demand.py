"""The demand on each fabric: which ports of which NICs attach the servers, link rates, fixed values of the tiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import NamedTuple

from bomgen.catalog.estimates import usual_management_ports
from bomgen.catalog.parts import ANY, Nic, Server, ServerPorts
from bomgen.core.diagnostics import Infeasible, PlanErrors, error_at
from bomgen.core.provenance import Assumed, Figure, ceil_div, constant, floor_div, formula, minimum, product, sum_of
from bomgen.fabric.clos.build import most_ports_of_leaf, numbers_figure
from bomgen.fabric.clos.shape import search_figures
from bomgen.fabric.occupancy import combine_planes, demand_of_one_plane
from bomgen.fabric.ports import limit_to_lanes, sum_of_ports
from bomgen.fabric.types import SERVER_LEAF, Demand, DirectDemand, Fabric, build_fabric, link_kinds
from bomgen.optics.compatibility import RJ45
from bomgen.plan.types import COMPUTE, IN_BAND, OUT_OF_BAND, STORAGE, Cluster, FabricPlan, Hosts, Plan, UsualNic

ETHERNET = "ethernet"
"""The protocol of management ports."""
INCLUDED, CONFIGURED, USUAL, ADDED = "included", "configured", "usual", "added"
"""Supply of the NICs that connect a server to a fabric: with the server, selected with its order, assumed because the
server has no known ones, or named by the fabric."""


class Attachment(NamedTuple):
    """The attachment of a server to a fabric."""

    ports_per_server: Figure
    """Endpoints, over all planes."""
    ports_per_plane: Figure
    """Endpoints on each plane."""
    nics_per_server: Figure
    port_gbps: Figure
    cage: str
    ports_per_cage: Figure
    bought: Nic | None
    """The NIC bought for the fabric; None: it comes with the server."""
    supply: str = INCLUDED


nics_of_a_server = ceil_div("nics_of_a_server", "NICs", "gpus", "gpus_per_nic")
"""NICs per server whose GPUs share NICs."""
cards_for_ports = ceil_div("cards_for_ports", "NICs", "ports", "ports_per_nic")
"""NICs per server for a number of ports."""
ports_of_nics = product("ports_of_nics", "ports", "nics", "ports_per_nic")
"""NIC ports per server."""
ports_on_a_plane = floor_div("ports_on_a_plane", "ports", "ports", "planes")
"""Ports per server on each of several equal planes."""
ports_on_a_nic = floor_div("ports_on_a_nic", "ports", "ports", "nics")
"""Ports per NIC."""
ports_when_split = product("ports_when_split", "ports", "ports", "pieces")
"""Ports of a server or a cage whose ports are all broken out, one link per plane."""
pieces_of_port = floor_div("pieces_of_port", "count", "planes", "ports_per_nic")
"""Links per NIC port if a NIC has fewer ports than there are planes."""
rate_of_piece = floor_div("rate_of_piece", "Gb/s", "port_gbps", "pieces")
"""Rate of one link of a broken-out port."""


@formula("NICs")
def cards_for_more_ports(ports: int, more_ports: int, ports_per_nic: int) -> int:
    """NICs per server for more ports, which first take those that are free on the NICs of `ports`."""
    return ceil(Fraction(ports + more_ports, ports_per_nic)) - ceil(Fraction(ports, ports_per_nic))


@formula("NICs")
def usual_cards(ports: int, ports_per_nic: int, nic: str) -> int:  # noqa: ARG001 - the assumption behind the count
    """NICs of the usual kind per server for a number of ports."""
    return ceil(Fraction(ports, ports_per_nic))


sum_of_server_ports = sum_of("sum_of_server_ports", "ports", "ports", "more_ports")
"""Ports of a server on several fabrics."""


one_port_a_cage = constant("one_port_a_cage", "ports", 1)
"""Ports per cage outside the compute network."""


def refusal(fabric: FabricPlan, message: str, rule: str) -> PlanErrors:
    """Return the error that a fabric cannot be connected as the plan specifies, at its place."""
    return error_at(fabric.mark, message, rule, f"fabrics.{fabric.name}")


def attachments(plan: Plan, bmc_gbps: Figure) -> dict[str, Attachment]:
    """Return the attachment of servers to each fabric of a plan, by fabric name.

    `bmc_gbps` is the rate of a management port. Raises PlanErrors when neither plan nor catalogue gives the number and
    rate of ports.
    """
    to_servers = (fabric for fabric in plan.fabrics if fabric.attaches_servers)
    attached = {fabric.name: attach(fabric, plan.cluster, bmc_gbps) for fabric in to_servers}
    _check_own_ports(plan, attached)
    used: Figure | None = None
    for fabric in plan.fabrics:  # fabrics for storage and in-band share NICs of several ports
        attachment = attached.get(fabric.name)
        if attachment is None or attachment.supply != CONFIGURED or attachment.bought is None or fabric.role == COMPUTE:
            continue
        ports = attachment.ports_per_server
        if used is not None:
            cards = cards_for_more_ports(used, ports, attachment.bought.ports)
            attached[fabric.name] = attachment._replace(nics_per_server=cards)
        used = ports if used is None else sum_of_server_ports(used, ports)
    return attached


def attach(fabric: FabricPlan, cluster: Cluster, bmc_gbps: Figure) -> Attachment:
    """Return the attachment of the servers of a cluster to a fabric with switches.

    Every NIC is on every plane, with a port or with a piece of one. Raises PlanErrors when the ports of a NIC neither
    divide evenly over the planes nor split evenly, and as `attachments` does.
    """
    attached = _attachment(fabric, cluster, bmc_gbps)
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
            f"{of_nic} ports of {nics} do not spread over {planes.value} planes; set as many planes as ports, "
            "a divisor or a multiple of them"
        )
        raise refusal(fabric, message, "planes")
    pieces = pieces_of_port(planes, ports_on_a_nic(ports, attached.nics_per_server) if by_nic else ports)
    if attached.port_gbps.value % pieces.value:
        port = f"a port of {attached.port_gbps.value} Gb/s"
        message = f"{port} does not split into {pieces.value} equal parts; set a number of `planes:` that divides it"
        raise refusal(fabric, message, "planes")
    split = ports_when_split(ports, pieces)
    return attached._replace(
        ports_per_server=split,
        ports_per_plane=ports_on_a_plane(split, planes),
        port_gbps=rate_of_piece(attached.port_gbps, pieces),
        ports_per_cage=ports_when_split(attached.ports_per_cage, pieces),
    )


def _check_own_ports(plan: Plan, attached: dict[str, Attachment]) -> None:
    """Raise PlanErrors when fabrics use more built-in ports of a server than it has."""
    server = plan.cluster.server
    if server is None:
        return
    switched = [fabric for fabric in plan.fabrics if fabric.name in attached]
    if server.storage is not None and server.storage_nics_included:
        sharing = [fabric for fabric in switched if fabric.role in (STORAGE, IN_BAND) and fabric.nic is None]
        used = sum(attached[fabric.name].ports_per_server.value for fabric in sharing)
        if used > server.storage.count.value:
            silent = next((fabric for fabric in sharing if fabric.ports_per_server is None), sharing[-1])
            message = (
                f"the fabrics {' and '.join(fabric.name for fabric in sharing)} use {used} ports per server; "
                f"{server.identity.name} has {server.storage.count.value}; set `ports_per_server:`, or specify a NIC, "
                f"for example `nic: {_usual_nic(silent, plan.cluster).nic.identity.id}`"
            )
            raise refusal(silent, message, "ports")
    built_in = [fabric for fabric in switched if fabric.role == COMPUTE and attached[fabric.name].bought is None]
    used = sum(attached[fabric.name].nics_per_server.value for fabric in built_in)
    if server.compute is not None and used > server.compute.count.value:
        message = (
            f"the fabrics {' and '.join(fabric.name for fabric in built_in)} use {used} NICs per server; "
            f"{server.identity.name} has {server.compute.count.value}: name a `nic:` to buy, or give `gpus_per_nic:`"
        )
        raise refusal(built_in[-1], message, "ports")


def _attachment(fabric: FabricPlan, cluster: Cluster, bmc_gbps: Figure) -> Attachment:
    server = cluster.server
    if server is None:
        message = f"no server is known for the GPU {cluster.gpu.identity.id}; describe one with `cluster.server:`"
        raise error_at(cluster.mark, message, "unknown-server", "cluster.server")
    if fabric.role == COMPUTE:
        return _compute_attachment(fabric, cluster, server)
    if fabric.role == OUT_OF_BAND:
        stated = fabric.ports_per_server
        assumed = stated is None or isinstance(stated.origin, Assumed)
        ports = (server.bmc_ports or stated or usual_management_ports(server)) if assumed else stated
        if ports is None:
            raise refusal(fabric, _silent(server.identity.name, "management ports"), "unknown-ports")
        return _side_attachment(fabric, ports, bmc_gbps, RJ45)
    built_in = server.storage
    if built_in is None and fabric.nic is None:
        if fabric.gpus_per_nic:
            raise _not_compute(fabric)
        usual = _usual_nic(fabric, cluster)
        nic, ports = usual.nic, fabric.ports_per_server or usual.nic.ports
        cards = usual_cards(ports, nic.ports, usual.assumed)
        return Attachment(ports, ports, cards, nic.port_gbps, nic.cage, nic.ports_per_cage, nic, USUAL)
    ports = fabric.ports_per_server or (built_in.count if built_in else fabric.nic.ports if fabric.nic else None)
    of_server = cluster.storage_nic.port_gbps if cluster.storage_nic else fabric.link_gbps
    gbps = fabric.nic.port_gbps if fabric.nic else (built_in.gbps if built_in else None) or of_server
    if ports is None or gbps is None:
        raise refusal(fabric, _silent(server.identity.name, "storage and in-band ports"), "unknown-ports")
    attachment = _side_attachment(fabric, ports, gbps, built_in.cage if built_in else ANY)
    if fabric.nic or server.storage_nics_included or cluster.storage_nic is None:
        return attachment
    card = cluster.storage_nic
    return attachment._replace(nics_per_server=cards_for_ports(ports, card.ports), bought=card, supply=CONFIGURED)


def _usual_nic(fabric: FabricPlan, cluster: Cluster) -> UsualNic:
    """Return the slowest usual NIC whose ports carry the links of a fabric, else the fastest."""
    usual, rate = cluster.usual_nics(), fabric.link_gbps
    fitting = (candidate for candidate in usual if rate is None or rate.value <= candidate.nic.port_gbps.value)
    return next(fitting, usual[-1])


def _silent(server: str, ports: str) -> str:
    return f"the catalogue has no data on the {ports} of {server}; set `ports_per_server:` and `nic:` or `link:`"


def _side_attachment(fabric: FabricPlan, ports: Figure, gbps: Figure, cage: str) -> Attachment:
    if fabric.gpus_per_nic:
        raise _not_compute(fabric)
    if nic := fabric.nic:
        cards = cards_for_ports(ports, nic.ports)
        return Attachment(ports, ports, cards, nic.port_gbps, nic.cage, nic.ports_per_cage, nic, ADDED)
    return Attachment(ports, ports, ports, gbps, cage, one_port_a_cage(), None)


def _not_compute(fabric: FabricPlan) -> PlanErrors:
    return refusal(fabric, f"gpus_per_nic is for the role compute; set ports_per_server for {fabric.role}", "role")


def _compute_attachment(fabric: FabricPlan, cluster: Cluster, server: Server) -> Attachment:
    nic = fabric.nic
    if fabric.ports_per_server:
        raise refusal(fabric, "ports_per_server is for other roles than compute; set gpus_per_nic", "role")
    built_in = server.compute
    if fabric.gpus_per_nic:
        nics = nics_of_a_server(server.gpus, fabric.gpus_per_nic)
    elif built_in:
        nics = built_in.count
    else:
        message = f"{server.identity.name} has no known NICs; set `gpus_per_nic:` and `nic:`"
        raise refusal(fabric, message, "unknown-ports")
    same = nic is None or nic.identity.id == server.nic
    if same and built_in is not None and nics.value <= built_in.count.value:
        return _own_attachment(cluster, built_in, nics)
    nic = nic or cluster.server_nic
    if nic is None:
        message = f"{nics.value} NICs per server exceed those of {server.identity.name}; specify a `nic:` to purchase"
        raise refusal(fabric, message, "unknown-ports")
    ports = ports_of_nics(nics, nic.ports)
    return Attachment(ports, ports, nics, nic.port_gbps, nic.cage, nic.ports_per_cage, nic, ADDED)


def own_port_gbps(cluster: Cluster) -> Figure | None:
    """Return the rate of a port of the server's built-in compute NICs [Gb/s]; None where it is unknown."""
    built_in = cluster.server.compute if cluster.server else None
    return (built_in.gbps if built_in else None) or (cluster.server_nic.port_gbps if cluster.server_nic else None)


def compute_protocols(cluster: Cluster) -> tuple[str, ...]:
    """Return the protocols of the server's built-in compute ports, the usual one first; none where they are unknown."""
    of_server = cluster.server.protocols if cluster.server else ()
    return of_server or (cluster.server_nic.protocols if cluster.server_nic else ())


def protocols_of_servers(cluster: Cluster, role: str) -> tuple[str, ...]:
    """Return the protocols of the servers' own ports for fabrics of a role; none where they are unknown."""
    if role == COMPUTE:
        return compute_protocols(cluster)
    if role == OUT_OF_BAND:
        return (ETHERNET,)
    return cluster.storage_nic.protocols if cluster.storage_nic else ()


def _own_attachment(cluster: Cluster, server_ports: ServerPorts, nics: Figure) -> Attachment:
    """Return the attachment by built-in NICs: cages as the server gives them, ports and rate from the NIC if needed."""
    card, gbps = cluster.server_nic, own_port_gbps(cluster)
    if gbps is None:
        raise ValueError("a server says the rate of its NICs, or which NIC they are")
    ordered = card if cluster.server and not cluster.server.nics_included else None
    cage = card.cage if card and server_ports.cage == ANY else server_ports.cage
    ports = ports_of_nics(nics, card.ports) if card else nics
    supply = CONFIGURED if ordered else INCLUDED
    return Attachment(ports, ports, nics, gbps, cage, server_ports.ports_per_cage, ordered, supply)


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


one_of_each_port = constant("one_of_each_port", "ports", 1)
"""Ports per server and rail."""


one_rail_for_redundancy = constant("one_rail_for_redundancy", "rails", 1)
"""Rails of a fabric whose hosts must survive a leaf failure with ports on separate leaves."""


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
    tiers, carried, rails_per_leaf = fabric.tier_plans, rates(fabric, attached), fabric.rails_per_leaf
    if rails_per_leaf is None and fabric.declared.has_rails and fabric.role != COMPUTE:
        rails_per_leaf = one_rail_for_redundancy()
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
        rails_per_leaf=rails_per_leaf,
        split_servers=fabric.split_servers,
        homing=fabric.homing,
        peer_links=fabric.peer_links,
    )


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


def build_direct(fabric: FabricPlan, cluster: Cluster, nodes: Figure, attached: Attachment | None) -> Fabric:
    """Return the fabric of a topology without switches.

    Raises Infeasible when there is none, or its links are faster than their ends, and PlanErrors without a rate.
    """
    gpu = cluster.gpu
    stated = (fabric.links[kind.name].rate_gbps for kind in fabric.declared.link_kinds if kind.name in fabric.links)
    rate = next(filter(None, stated), fabric.link_gbps) or (attached.port_gbps if attached else gpu.pod_link_gbps)
    if rate is None:
        message = f"the link rate of the {fabric.topology.value} is unknown; set `link:`, for example 400G"
        raise refusal(fabric, message, "unknown-rate")
    of_nic = attached or fabric.nic
    port = of_nic.port_gbps if of_nic else gpu.pod_link_gbps or own_port_gbps(cluster)
    most = port.value if port else MAX_GBPS
    if rate.value > most:
        carries = f"a port at their ends carries {most}" if port else f"no port is faster than {most}"
        raise Infeasible(f"links of {rate.value} Gb/s; {carries} Gb/s: at most {most}", because=rate, rule="rate")
    ports = attached.ports_per_server if attached else None
    demand = DirectDemand(nodes, rate, gpu.pod_chips, gpu.pod_dimensions, fabric.options, ports)
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

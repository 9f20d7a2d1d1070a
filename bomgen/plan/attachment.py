"""Attachment of the servers to each fabric: which ports, of which NICs, on how many planes."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.catalog.estimates import usual_management_ports
from bomgen.catalog.parts import ANY, Nic, Server, ServerPorts
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Assumed, Figure, ceil_div, floor_div, formula, product, sum_of
from bomgen.optics.compatibility import RJ45
from bomgen.plan.types import COMPUTE, IN_BAND, OUT_OF_BAND, STORAGE, Cluster, FabricPlan, Plan, UsualNic

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


@formula("ports")
def one_port_a_cage() -> int:
    """Ports per cage outside the compute network."""
    return 1


def refusal(fabric: FabricPlan, message: str, rule: str) -> PlanErrors:
    """Return the error that a fabric cannot be connected as the plan specifies, at its place."""
    return PlanErrors([Problem(fabric.mark, "error", message, rule, f"fabrics.{fabric.name}")])


def attachments(plan: Plan, bmc_gbps: Figure) -> dict[str, Attachment]:
    """Return the attachment of servers to each fabric of a plan, by fabric name.

    `bmc_gbps` is the rate of a management port. Raises PlanErrors when neither plan nor catalogue gives the number and
    rate of ports.
    """
    attached = {
        fabric.name: attach(fabric, plan.cluster, bmc_gbps) for fabric in plan.fabrics if fabric.attaches_servers
    }
    _check_own_ports(plan, attached)
    return _with_shared_cards(plan, attached)


def attach(fabric: FabricPlan, cluster: Cluster, bmc_gbps: Figure) -> Attachment:
    """Return the attachment of the servers of a cluster to a fabric with switches. Raises PlanErrors."""
    return _on_planes(fabric, _attachment(fabric, cluster, bmc_gbps))


def _with_shared_cards(plan: Plan, attached: dict[str, Attachment]) -> dict[str, Attachment]:
    """Return the attachments with NICs of several ports shared by the fabrics for storage and in-band."""
    used: Figure | None = None
    shared = dict(attached)
    for fabric in plan.fabrics:
        attachment = attached.get(fabric.name)
        if attachment is None or attachment.supply != CONFIGURED or attachment.bought is None or fabric.role == COMPUTE:
            continue
        if used is not None:
            cards = cards_for_more_ports(used, attachment.ports_per_server, attachment.bought.ports)
            shared[fabric.name] = attachment._replace(nics_per_server=cards)
        used = attachment.ports_per_server if used is None else sum_of_server_ports(used, attachment.ports_per_server)
    return shared


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
        raise PlanErrors([Problem(cluster.mark, "error", message, "unknown-server", "cluster.server")])
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
        return _usual_attachment(fabric, cluster)
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


def _usual_attachment(fabric: FabricPlan, cluster: Cluster) -> Attachment:
    """Return the attachment by NICs of the usual kind, for a server whose storage and in-band ports are unknown."""
    if fabric.gpus_per_nic:
        raise _not_compute(fabric)
    usual = _usual_nic(fabric, cluster)
    nic, ports = usual.nic, fabric.ports_per_server or usual.nic.ports
    cards = usual_cards(ports, nic.ports, usual.assumed)
    return Attachment(ports, ports, cards, nic.port_gbps, nic.cage, nic.ports_per_cage, nic, USUAL)


def _usual_nic(fabric: FabricPlan, cluster: Cluster) -> UsualNic:
    """Return the slowest usual NIC whose ports carry the links of a fabric, else the fastest."""
    usual, rate = cluster.usual_nics(), fabric.link_gbps
    fitting = (candidate for candidate in usual if rate is None or rate.value <= candidate.nic.port_gbps.value)
    return next(fitting, usual[-1])


def _on_planes(fabric: FabricPlan, attached: Attachment) -> Attachment:
    """Return the attachment with every NIC on every plane: with a port, or with a piece of one.

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
    own = cluster.server.protocols if cluster.server else ()
    return own or (cluster.server_nic.protocols if cluster.server_nic else ())


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

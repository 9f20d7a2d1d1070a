"""A full mesh of a few switches: the pair of a small cluster, or a collapsed core.

Peer links carry the traffic between switches: at the oversubscription ratio, every two switches have as many as the
others' share of a switch's downlinks. NVIDIA's DGX BasePOD connects four or eight systems over such a pair (RA-11127),
and so do the Open Compute Project's pods of 64 and 128 GPUs.

`homing` sets the distribution of the ports of a machine: all to one switch (`single`), in equal shares to two (`dual`)
or to all (`rails`). The bisection is the smallest cut of the complete graph, exact for equal peer links.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, applied, divided_up, greatest, least, require, step, trace, values_of
from bomgen.fabric.occupancy import (
    UNSET,
    all_endpoints,
    attached_ports,
    fit_switches,
    group_thousands,
    kinds_of_leaves,
    max_flow_over_peers,
    ratio_built,
    seat_in_order,
)
from bomgen.fabric.ports import SharedCages, ports_left_down, radix, shared_cages
from bomgen.fabric.types import SERVER_LEAF, Connections, Demand, Fabric, LinkKind, Links, SwitchGroups, Tier, Topology

NAME = "mesh"
LIMITS = "as many endpoints as switch ports without the peer links; a pair of P-port switches at 1:1 has P"
DRAWING = """\
    leaf ======= leaf      peer links: as many between every two switches
    | | |        | | |
     servers and hosts     homing dual or rails: every machine has ports on several switches
"""
PEER = LinkKind(
    *("leaf-leaf", ("leaf", "leaf"), "PL", "Peer links"),
    "Topology mesh: links between each pair of switches.",
    {"medium": "dac", "length": "2 m"},
)
SWITCHES = "switches"
"""The option, and the dimension of the fabric."""
AT_MOST = "at_most"
MOST_SWITCHES = 64
OPTIONS = {
    "title": "Mesh",
    "description": "Topology mesh: the number of switches, or its maximum. Default: 2.",
    "type": "object",
    "properties": {
        SWITCHES: {
            "title": "Switches",
            "description": "Switches, each linked to every other. Default: 2.",
            "type": "integer",
            "minimum": 2,
            "maximum": MOST_SWITCHES,
            "x-unit": "count",
            "examples": [2, 4],
        },
        AT_MOST: {
            "title": "Maximum switches",
            "description": "The fewest switches that hold the endpoints, at least two and at most this number.",
            "type": "integer",
            "minimum": 2,
            "maximum": MOST_SWITCHES,
            "x-unit": "count",
            "examples": [4],
        },
    },
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": False,
    "examples": [{SWITCHES: 2}, {SWITCHES: 4}],
}


HOMES = {"single": 1, "dual": 2}
"""Switches that the ports of a machine are dealt out to, by homing; for others all."""
FEWEST = "the fewest with a port for every endpoint in addition to the peer links"
CUT = "smallest cut of the complete graph (Ford and Fulkerson 1956)"


class MeshDemand(NamedTuple):
    """What the counts depend on, as figures or numbers; None: the plan leaves it open."""

    servers: Any
    ports_per_server: Any
    endpoints: Any
    attached: Any
    switches: Any
    at_most: Any
    down: Any
    peer_links: Any
    radix: Any
    peer_radix: Any
    cages: Any
    down_gbps: Any
    peer_gbps: Any
    oversubscription: Any
    homing: str

    @property
    def ports(self) -> tuple[Any, Any, Any]:
        """The ports of a switch down and to its peers, and the cages that they share."""
        return self.radix, self.peer_radix, self.cages


class MeshShape(NamedTuple):
    """The numbers of a mesh."""

    switches: Any
    homes: Any
    """Switches of a machine."""
    on_switch: Any
    """Ports of a server on each of them."""
    wanted: Any
    """Downlinks that the fullest switch needs."""
    down: Any
    peer_links: Any
    """Links of each pair of switches."""
    peers: Any
    """Ports of a switch to its peers."""
    most: Any
    """The most downlinks of a switch that its peer links carry."""
    left: Any
    """Ports left by peer links."""


def choose_shape(d: MeshDemand) -> MeshShape:
    """Return the numbers of a mesh: those of the plan, and what follows for the others."""
    switches = d.switches
    if d.at_most:
        smallest = applied(fewest_switches, *d)
        switches = step("switches", "switches", smallest, "The fewest that hold the endpoints.", FEWEST)
    switches = switches or step("switches", "switches", 2, "A pair, if the plan sets no number.", "the smallest mesh")
    homes = step("homes", "switches", HOMES.get(d.homing, switches), "Over which the ports of a host are distributed.")
    wanted = count_down(d, switches, homes)
    down = d.down or wanted
    of_all = divided_up(down * d.down_gbps, d.oversubscription * d.peer_gbps)
    links = d.peer_links or step("peer_links", "links", divided_up(of_all, switches - 1), "That meet the ratio.")
    peers = step("peers", "ports", links * (switches - 1), "Ports per switch for links to the other switches.")
    most = applied(most_ports_down, switches, *d.ports, d.down_gbps, d.peer_gbps, d.oversubscription)
    return MeshShape(
        *(switches, homes, step("ports_on_switch", "ports", d.ports_per_server // homes), wanted, down, links, peers),
        most=step("most_down", "ports", most, "With the peer links that the ratio requires."),
        left=step("left", "ports", applied(ports_left_down, peers, *d.ports), "Ports left by peer links."),
    )


def count_down(d: MeshDemand, switches: Any, homes: Any) -> Any:
    """Return the downlinks in use on the fullest switch, with servers and other machines spread evenly."""
    of_servers = d.ports_per_server // homes * divided_up(d.servers * homes, switches)
    return step("down", "ports", greatest(of_servers, divided_up(d.endpoints, switches)), "On the fullest switch.")


def fewest_switches(*demand: Any) -> int:
    """Return the fewest switches with enough ports for machines in addition to the peer links, up to a maximum.

    Machines that are homed on two switches take whole pairs of them.
    """
    d = MeshDemand(*demand)
    for switches in range(2, d.at_most):
        homes = HOMES.get(d.homing, switches)
        most = most_ports_down(switches, *d.ports, d.down_gbps, d.peer_gbps, d.oversubscription)
        if switches % homes == 0 and count_down(d, switches, homes) <= most:
            return switches
    return int(d.at_most)


def most_ports_down(
    switches: int,
    radix: int,
    peer_radix: int,
    cages: int | SharedCages,
    down_gbps: int,
    peer_gbps: int,
    oversubscription: Fraction,
) -> int:
    """Return the most downlinks of a switch with the peer links that the oversubscription limit requires."""
    return max(
        min(
            ports_left_down(links * (switches - 1), radix, peer_radix, cages),
            int(oversubscription * links * (switches - 1) * peer_gbps / down_gbps),
        )
        for links in range(peer_radix // (switches - 1) + 1)
    )


def build(demand: Demand) -> Fabric:
    """Return the mesh that serves every endpoint. Raises Infeasible, with a remedy, when its switches have no room."""
    switch, (down_gbps, peer_gbps) = demand.leaf.switch, (demand.rates[kind.name] for kind in (SERVER_LEAF, PEER))
    homing = require(demand.homing, "a plan says how its machines are homed, or an assumption does")
    given, at_most = (demand.options.get(key) for key in (SWITCHES, AT_MOST))
    fixed = given, at_most, demand.leaf.downlinks, demand.peer_links
    ports = radix(switch, down_gbps), radix(switch, peer_gbps), shared_cages(switch, down_gbps, peer_gbps) or UNSET
    endpoints = all_endpoints(demand), attached_ports(demand)
    rates = down_gbps, peer_gbps, demand.oversubscription
    d = MeshDemand._make((demand.servers, demand.ports_per_server, *endpoints, *fixed, *ports, *rates, homing.value))
    plain = values_of(d)
    shape = choose_shape(plain)
    _check_homing(demand, homing, shape)
    others = shape.switches - 1
    room_beside = [ports_left_down(links * others, *plain.ports) for links in range(plain.peer_radix // others + 1)]
    _check_fixed_ports(demand, shape.wanted, shape.left, shape.most, room_beside)
    if shape.wanted > min(shape.down, shape.left):
        fits = min(shape.left if demand.peer_links else shape.most, shape.down)
        raise _explain_refusal(demand, plain, shape, fits)
    return trace(_count, demand, d)


def _count(demand: Demand, d: MeshDemand) -> Fabric:
    c = choose_shape(d)
    unit = step("unit", "ports", c.on_switch * divided_up(d.servers * c.homes, c.switches), "Of servers on a switch.")
    seats = seat_in_order(demand, c.switches, c.down, c.peers, c.homes, unit)
    links = step("links", "links", c.peer_links * c.switches * (c.switches - 1) // 2, "Between all pairs of switches.")
    growing = d.down or c.left
    if not d.down and not d.peer_links:
        carried = applied(int, d.oversubscription * c.peers * d.peer_gbps / d.down_gbps)
        growing = step("carried", "ports", least(c.left, carried), "That the peer links carry at the ratio.")
    flow = applied(max_flow_over_peers, seats, d.down_gbps, c.peer_links * d.peer_gbps)
    fitted = tuple(fit_switches(applied(kinds_of_leaves, seats), has_up=True))
    built = ratio_built(c.down, d.down_gbps, c.peers, d.peer_gbps)
    return Fabric(
        topology=NAME,
        endpoints=d.endpoints,
        ports_per_server=d.ports_per_server,
        tier_count=step("tiers", "tiers", 1, "Switches side by side."),
        tiers=(Tier("leaf", demand.leaf.switch, c.switches, d.radix, c.down, c.peers, fitted, built),),
        links=(
            Links(SERVER_LEAF.name, d.endpoints, d.attached, d.down_gbps, SERVER_LEAF.ends),
            Links(PEER.name, links, links, d.peer_gbps, PEER.ends, c.peers, c.peer_links),
        ),
        switches=c.switches,
        bisection_gbps=step("bisection_gbps", "Gb/s", flow, "Between the halves of the endpoints.", CUT),
        hops=step("hops", "switches", 2, "Every switch is linked to every other."),
        largest=step("endpoints", "endpoints", c.most * c.switches, "Of a mesh of as many switches."),
        free_ports={"leaf": step("free_ports", "ports", c.switches * c.left - d.endpoints, "Unused ports.")},
        growth=step("growth", "ports", c.switches * growing - d.endpoints, "Free ports whose traffic is carried."),
        homing=demand.homing,
        dimensions={SWITCHES: c.switches, "peer_links": c.peer_links},
        seats=seats,
    )


def _check_homing(demand: Demand, homing: Figure, shape: MeshShape) -> None:
    ports, homes, switches = demand.ports_per_server, shape.homes, shape.switches
    if ports.value % homes:
        message = (
            f"homing: {homing.value} divides the ports of a server equally between {homes} switches, but "
            f"it has {ports.value} here; set a multiple, or set `homing: single`"
        )
        raise Infeasible(message, because=ports, rule="homing")
    if switches % homes:
        message = (
            f"homing: {homing.value} needs pairs of switches, but the mesh has {switches}; set an even "
            "number, or write `homing: rails`"
        )
        asked = demand.options.get(SWITCHES) or demand.options.get(AT_MOST)
        raise Infeasible(message, because=asked if isinstance(asked, Figure) else homing, rule="homing")


def _check_fixed_ports(demand: Demand, wanted: int, room: int, most: int, room_beside: Sequence[int]) -> None:
    """Raise Infeasible when the peer links or downlinks set by the plan leave too few ports for the others."""
    # `room` is the downlinks left by the peer links, `most` those at the ratio, and `room_beside` those for each number
    # of peer links.
    name, peer_links, down = demand.leaf.switch.identity.name, demand.peer_links, demand.leaf.downlinks
    fits = max((links for links, left in enumerate(room_beside) if left >= wanted), default=0)
    if peer_links and wanted > room and fits:
        message = f"{wanted} downlink ports per switch; {peer_links.value} peer links leave {room} on {name}"
        raise Infeasible(f"{message}: at most `peer_links: {fits}`", because=peer_links, rule="ports")
    most = room if peer_links else most
    if down and down.value > room and wanted <= most:
        message = f"{down.value} downlink ports and their peer links exceed the ports of {name}"
        raise Infeasible(f"{message}: at most `leaf: {{downlinks: {most}}}`", because=down, rule="ports")


def _explain_refusal(demand: Demand, d: MeshDemand, shape: MeshShape, most: int) -> Infeasible:
    others = d.endpoints - d.servers * d.ports_per_server

    def needed(servers: int) -> int:
        machines = d._replace(servers=servers, endpoints=servers * d.ports_per_server + others)
        return int(count_down(machines, shape.switches, shape.homes))

    reached = max(bisect_right(range(d.servers), most, key=needed) - 1, 0)
    name = demand.leaf.switch.identity.name
    message = (
        f"{group_thousands(shape.wanted)} downlink ports per switch; with its peer links {name} has {most}: at most "
        f"{reached} servers, or more switches under `mesh: {{switches: ...}}`; fat-tree reaches more"
    )
    return Infeasible(message, because=demand.peer_links or demand.leaf.downlinks or all_endpoints(demand))


def connect(plane: Fabric, _: object) -> Iterator[tuple[LinkKind, Connections]]:
    """Yield equal numbers of links between every two switches."""
    from bomgen.fabric.links import connect_peers

    yield PEER, connect_peers(*(plane.dimension(name) for name in (SWITCHES, "peer_links")))


TOPOLOGY = Topology(
    name=NAME,
    limits=LIMITS,
    drawing=DRAWING,
    tiers=("leaf",),
    link_kinds=(SERVER_LEAF, PEER),
    build=build,
    connect=connect,
    arrangement=SwitchGroups(inside=PEER.name, group_size=SWITCHES),
    options=OPTIONS,
    homings=("single", "dual", "rails"),
    has_peers=True,
)

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
from math import ceil
from typing import Any

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, floor_div, formula, product, require
from bomgen.fabric.clos import shape
from bomgen.fabric.clos.build import ports_left_in_cages
from bomgen.fabric.clos.occupancy import Occupancy, assign_leaves, fit_switches, kinds_of_leaves, max_flow_over_peers
from bomgen.fabric.declaration import SERVER_LEAF, Connections, LinkKind, SwitchGroups, Topology
from bomgen.fabric.ports import SharedCages, ports_left_down, radix, shared_cages
from bomgen.fabric.requirements import UNSET, all_endpoints, attached_ports, group_thousands, one_tier
from bomgen.fabric.types import Demand, Fabric, Links, Tier

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


@formula("switches", source="the smallest mesh")
def two_switches() -> int:
    """Switches of a mesh if the plan sets no number: a pair."""
    return 2


@formula("switches")
def switches_of_machine(switches: int, homing: str) -> int:
    """Switches over which the ports of a host are distributed."""
    return {"single": 1, "dual": 2, "rails": switches}[homing]


@formula("switches", source="the fewest with a port for every endpoint in addition to the peer links")
def fewest_switches(
    at_most: int,
    servers: int,
    ports_per_server: int,
    endpoints: int,
    homing: str,
    radix: int,
    peer_radix: int,
    cages: int | SharedCages,
    down_gbps: int,
    peer_gbps: int,
    oversubscription: Fraction,
) -> int:
    """Fewest switches that hold the endpoints, at least two; the maximum if none do."""
    return find_fewest(
        at_most,
        (servers, ports_per_server, endpoints, homing),
        (radix, peer_radix, cages, down_gbps, peer_gbps, oversubscription),
    )


def find_fewest(at_most: int, machines: tuple[int, int, int, str], ports: tuple[Any, ...]) -> int:
    """Return the fewest switches with enough ports for machines in addition to the peer links, up to a maximum.

    Machines that are homed on two switches take whole pairs of them.
    """
    servers, ports_per_server, endpoints, homing = machines
    for switches in range(2, at_most):
        homes = int(switches_of_machine.plain(switches, homing))
        wanted = int(ports_down.plain(servers, ports_per_server // homes, endpoints, switches, homes))
        if switches % homes == 0 and wanted <= int(most_ports_down.plain(switches, *ports)):
            return switches
    return at_most


ports_on_switch = floor_div("ports_on_switch", "ports", "ports_per_server", "homes")
"""Ports of a server on each of its switches."""


@formula("ports")
def ports_of_whole_servers(servers: int, ports_on_switch: int, switches: int, homes: int) -> int:
    """Server ports on the fullest switch, with whole servers spread evenly."""
    return ports_on_switch * ceil(servers * homes / switches)


@formula("ports")
def ports_down(servers: int, ports_on_switch: int, endpoints: int, switches: int, homes: int) -> int:
    """Downlink ports in use on the fullest switch, with servers and other hosts spread evenly."""
    return max(ports_on_switch * ceil(servers * homes / switches), ceil(endpoints / switches))


@formula("links")
def peer_links_for(down: int, down_gbps: int, peer_gbps: int, oversubscription: Fraction, switches: int) -> int:
    """Links between each pair of switches that meet the requested oversubscription."""
    return ceil(ceil(Fraction(down * down_gbps) / (oversubscription * peer_gbps)) / (switches - 1))


@formula("ports")
def peer_ports(peer_links: int, switches: int) -> int:
    """Ports per switch for links to the other switches."""
    return peer_links * (switches - 1)


@formula("links")
def all_peer_links(peer_links: int, switches: int) -> int:
    """Links between all pairs of switches."""
    return peer_links * switches * (switches - 1) // 2


@formula("occupancy")
def seats_on_mesh(
    nic_ports: int,
    host_ports: int,
    reserved_ports: int,
    homes: int,
    unit: int,
    down: int,
    peers: int,
    switches: int,
    ports_on_switch: int,
) -> Occupancy:
    """Distribution of endpoints over switches; the ports of a multi-homed host connect to several switches."""
    return assign_leaves(
        nic_ports, host_ports, reserved_ports, homes, unit, down, peers, switches, ports_on_switch, down
    )


@formula("ports")
def most_ports_down(
    switches: int,
    radix: int,
    peer_radix: int,
    cages: int | SharedCages,
    down_gbps: int,
    peer_gbps: int,
    oversubscription: Fraction,
) -> int:
    """Most downlink ports per switch with the peer links that the oversubscription limit requires."""
    return max(
        min(
            ports_left_down(links * (switches - 1), radix, peer_radix, cages),
            int(oversubscription * links * (switches - 1) * peer_gbps / down_gbps),
        )
        for links in range(peer_radix // (switches - 1) + 1)
    )


@formula("ports")
def ports_carried(left: int, peers: int, peer_gbps: int, down_gbps: int, oversubscription: Fraction) -> int:
    """Downlinks per switch that its peer links support at the requested oversubscription."""
    return min(left, int(oversubscription * peers * peer_gbps / down_gbps))


largest_mesh = product("largest_mesh", "endpoints", "most_down", "switches")
"""Endpoints of a full mesh with the same number of switches."""


@formula("Gb/s", source="smallest cut of the complete graph (Ford and Fulkerson 1956)")
def bisection(occupancy: Occupancy, down_gbps: int, peer_links: int, peer_gbps: int) -> int:
    """Maximum flow between the first and the second half of the endpoints."""
    return max_flow_over_peers(occupancy, down_gbps, peer_links * peer_gbps)


def build(demand: Demand) -> Fabric:
    """Return the mesh that serves every endpoint. Raises Infeasible, with a remedy, when its switches have no room."""
    switch, rates = demand.leaf.switch, demand.rates
    down_gbps, peer_gbps = rates[SERVER_LEAF.name], rates[PEER.name]
    homing = require(demand.homing, "a plan says how its machines are homed, or an assumption does")
    endpoints, attached, ratio = all_endpoints(demand), attached_ports(demand), demand.oversubscription
    ports, peer_radix = radix(switch, down_gbps), radix(switch, peer_gbps)
    cages = shared_cages(switch, down_gbps, peer_gbps) or UNSET
    given, at_most = (demand.options.get(key) for key in (SWITCHES, AT_MOST))
    switches = given if isinstance(given, Figure) else two_switches()
    if isinstance(at_most, Figure):
        machines = (demand.servers, demand.ports_per_server, endpoints, homing)
        switches = fewest_switches(at_most, *machines, ports, peer_radix, cages, down_gbps, peer_gbps, ratio)
    homes = switches_of_machine(switches, homing)
    _check_homing(demand.ports_per_server, homing, switches, homes)
    of_switch = ports_on_switch(demand.ports_per_server, homes)
    down = demand.leaf.downlinks or ports_down(demand.servers, of_switch, endpoints, switches, homes)
    peer_links = demand.peer_links or peer_links_for(down, down_gbps, peer_gbps, ratio, switches)
    peers = peer_ports(peer_links, switches)
    most = most_ports_down(switches, ports, peer_radix, cages, down_gbps, peer_gbps, ratio)
    room = ports_left_down(peers.value, ports.value, peer_radix.value, cages.value)
    others = switches.value - 1
    room_beside = [
        ports_left_down(links * others, ports.value, peer_radix.value, cages.value)
        for links in range(peer_radix.value // others + 1)
    ]
    wanted = ports_down(demand.servers, of_switch, endpoints, switches, homes)
    _check_fixed_ports(demand, wanted.value, room, most.value, room_beside)
    if wanted.value > min(down.value, room):
        fits = min(room if demand.peer_links else most.value, down.value)
        raise _explain_refusal(demand, switches, of_switch, homes, wanted, fits)
    seats = seats_on_mesh(
        shape.nic_endpoints(demand.servers, demand.ports_per_server),
        demand.host_ports or UNSET,
        demand.reserved_ports or UNSET,
        *(homes, ports_of_whole_servers(demand.servers, of_switch, switches, homes), down, peers, switches, of_switch),
    )
    links = all_peer_links(peer_links, switches)
    left = ports_left_in_cages(peers, ports, peer_radix, cages)
    growing = demand.leaf.downlinks or left
    if not demand.leaf.downlinks and not demand.peer_links:
        growing = ports_carried(left, peers, peer_gbps, down_gbps, ratio)
    return Fabric(
        topology=NAME,
        endpoints=endpoints,
        ports_per_server=demand.ports_per_server,
        tier_count=one_tier(),
        tiers=(
            Tier(
                *("leaf", switch, switches, ports, down, peers),
                tuple(fit_switches(kinds_of_leaves(seats), has_up=True)),
                shape.ratio_built(down, down_gbps, peers, peer_gbps),
            ),
        ),
        links=(
            Links(SERVER_LEAF.name, endpoints, attached, down_gbps, SERVER_LEAF.ends),
            Links(PEER.name, links, links, peer_gbps, PEER.ends, peers, peer_links),
        ),
        switches=switches,
        bisection_gbps=bisection(seats, down_gbps, peer_links, peer_gbps),
        hops=two_switches(),
        largest=largest_mesh(most, switches),
        free_ports={"leaf": shape.free_ports(switches, left, endpoints)},
        growth=shape.free_ports(switches, growing, endpoints),
        homing=homing,
        dimensions={SWITCHES: switches, "peer_links": peer_links},
        seats=seats,
    )


def _check_homing(ports: Figure, homing: Figure, switches: Figure, homes: Figure) -> None:
    if ports.value % homes.value:
        message = (
            f"homing: {homing.value} divides the ports of a server equally between {homes.value} switches, but "
            f"it has {ports.value} here; set a multiple, or set `homing: single`"
        )
        raise Infeasible(message, because=ports, rule="homing")
    if switches.value % homes.value:
        message = (
            f"homing: {homing.value} needs pairs of switches, but the mesh has {switches.value}; set an even "
            "number, or write `homing: rails`"
        )
        raise Infeasible(message, because=switches, rule="homing")


def _check_fixed_ports(demand: Demand, wanted: int, room: int, most: int, room_beside: Sequence[int]) -> None:
    """Raise Infeasible when the peer links or downlinks set by the plan leave too few ports for the others.

    `room` is the downlinks left by the peer links, `most` those at the ratio, and `room_beside` those for each number
    of peer links.
    """
    name, peer_links, down = demand.leaf.switch.identity.name, demand.peer_links, demand.leaf.downlinks
    fits = max((links for links, left in enumerate(room_beside) if left >= wanted), default=0)
    if peer_links and wanted > room and fits:
        message = f"{wanted} downlink ports per switch; {peer_links.value} peer links leave {room} on {name}"
        raise Infeasible(f"{message}: at most `peer_links: {fits}`", because=peer_links, rule="ports")
    most = room if peer_links else most
    if down and down.value > room and wanted <= most:
        message = f"{down.value} downlink ports and their peer links exceed the ports of {name}"
        raise Infeasible(f"{message}: at most `leaf: {{downlinks: {most}}}`", because=down, rule="ports")


def _explain_refusal(
    demand: Demand, switches: Figure, of_switch: Figure, homes: Figure, wanted: Figure, most: int
) -> Infeasible:
    each = demand.ports_per_server.value
    others = all_endpoints(demand).value - demand.servers.value * each

    def count_down(servers: int) -> int:
        endpoints = servers * each + others
        return int(ports_down.function(servers, of_switch.value, endpoints, switches.value, homes.value))

    reached = max(bisect_right(range(demand.servers.value), most, key=count_down) - 1, 0)
    name = demand.leaf.switch.identity.name
    message = (
        f"{group_thousands(wanted.value)} downlink ports per switch; with its peer links {name} has {most}: at most "
        f"{reached} servers, or more switches under `mesh: {{switches: ...}}`; fat-tree reaches more"
    )
    return Infeasible(message, because=demand.peer_links or demand.leaf.downlinks or all_endpoints(demand))


def connect(plane: Fabric, _: object) -> Iterator[tuple[LinkKind, Connections]]:
    """Yield equal numbers of links between every two switches."""
    from bomgen.fabric.links.patterns import connect_peers

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

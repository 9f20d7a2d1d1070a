"""Port to port: two servers, with a cable from every port of one to the same port of the other, without a switch."""

from __future__ import annotations

from collections.abc import Iterator

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, constant, product, require, sum_of
from bomgen.fabric.types import SERVER, Connections, DirectDemand, Fabric, LinkKind, Links, NodeGrid, Topology

NAME = "port-to-port"
PAIR = 2
NODES = "x"
"""The dimension with the number of servers."""
LIMITS = "two servers; every port of one is cabled to the same port of the other"

DRAWING = """\
   server [ ]  [ ] server
           |====|          one cable for each port
"""

SERVER_SERVER = LinkKind(
    *("server-server", (SERVER, SERVER), "SS", "Server to server"),
    "Topology port-to-port: links between the same ports of two servers.",
    {"medium": "dac"},
)

bisection_of_pair = product("bisection_of_pair", "Gb/s", "ports", "link_gbps")
"""Bandwidth between the two servers."""
links_of_pair = sum_of("links_of_pair", "links", "ports")
"""Links between two servers: one per port of each."""
one_hop = constant("one_hop", "links", 1)
"""Links between two servers that are joined directly."""
no_tiers = constant("no_tiers", "tiers", 0)
"""Tiers of two servers that are joined directly."""
no_switches = constant("no_switches", "switches", 0)
"""Switches between two servers that are joined directly."""


def build(demand: DirectDemand) -> Fabric:
    """Return the links between two servers. Raises Infeasible for another number of servers."""
    if demand.nodes.value != PAIR:
        text = f"port to port joins two servers, not {demand.nodes.value}; use a topology with switches"
        raise Infeasible(text, because=demand.nodes, rule="port-to-port")
    ports: Figure = require(demand.ports, "servers have ports")
    links = links_of_pair(ports)
    return Fabric(
        topology=NAME,
        endpoints=demand.nodes,
        ports_per_server=ports,
        tier_count=no_tiers(),
        tiers=(),
        links=(Links(SERVER_SERVER.name, links, links, demand.rate, SERVER_SERVER.ends, ports, ports),),
        switches=no_switches(),
        bisection_gbps=bisection_of_pair(ports, demand.rate),
        hops=one_hop(),
        largest=None,
        free_ports={},
        dimensions={NODES: demand.nodes},
    )


def connect(pair: Fabric, _: object) -> Iterator[tuple[LinkKind, Connections]]:
    """Yield a link between the same ports of both servers."""
    ports = range(int(pair.ports_per_server.value))
    yield SERVER_SERVER, ([0] * len(ports), ports, [1] * len(ports), ports)


TOPOLOGY = Topology(
    name=NAME,
    limits=LIMITS,
    drawing=DRAWING,
    tiers=(),
    link_kinds=(SERVER_SERVER,),
    build=build,
    connect=connect,
    arrangement=NodeGrid((NODES,)),
    switchless=True,
    cabled=True,
)

"""A full mesh: every leaf is linked to every other one. A topology with a kind of link of its own, for a test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import ceil

from bomgen.core.provenance import formula
from bomgen.fabric.declaration import SERVER_LEAF, Connections, LinkKind, SwitchGroups, Topology
from bomgen.fabric.ports import radix
from bomgen.fabric.requirements import all_endpoints, attached_ports, seat_in_order
from bomgen.fabric.types import Demand, Fabric, Fitted, Links, Tier

NAME = "full-mesh"
PEER = LinkKind("peer", ("leaf", "leaf"), "PE", "Peer", "Topology full-mesh: links between every two leaves.")


@formula("tiers")
def one_tier() -> int:
    """All switches are leaves."""
    return 1


@formula("switches")
def leaves(endpoints: int, radix: int) -> int:
    """The fewest leaves whose ports hold the endpoints, and a link to every other leaf."""
    return next(count for count in range(1, radix + 1) if count * (radix - (count - 1)) >= endpoints)


@formula("ports")
def ports_down(endpoints: int, leaves: int) -> int:
    """Endpoints of a leaf, spread evenly."""
    return ceil(endpoints / leaves)


@formula("ports")
def ports_to_others(leaves: int) -> int:
    """A link to every other leaf."""
    return leaves - 1


@formula("links")
def peer_links(leaves: int) -> int:
    """A link between every two leaves."""
    return leaves * (leaves - 1) // 2


@formula("Gb/s")
def bisection(attached: int, leaves: int, link_gbps: int) -> int:
    """Direct links between the leaves of the two halves; a leaf in the middle is left out."""
    return min(attached // 2, (leaves // 2) ** 2) * link_gbps


@formula("switches")
def hops(leaves: int) -> int:
    """Switches between two endpoints of different leaves."""
    return min(leaves, 2)


def build(demand: Demand) -> Fabric:
    """As many leaves as hold the endpoints."""
    rate, endpoints, attached = demand.rates[SERVER_LEAF.name], all_endpoints(demand), attached_ports(demand)
    ports = radix(demand.leaf.switch, rate)
    count = leaves(endpoints, ports)
    down, up = ports_down(endpoints, count), ports_to_others(count)
    links = (
        Links(SERVER_LEAF.name, endpoints, attached, rate, SERVER_LEAF.ends),
        Links(PEER.name, peer_links(count), peer_links(count), demand.rates[PEER.name], PEER.ends, up),
    )
    return Fabric(
        topology=NAME,
        endpoints=endpoints,
        ports_per_server=demand.ports_per_server,
        tier_count=one_tier(),
        tiers=(Tier("leaf", demand.leaf.switch, count, ports, down, up, (Fitted(count, down, up),), None),),
        links=links,
        switches=count,
        bisection_gbps=bisection(attached, count, demand.rates[PEER.name]),
        hops=hops(count),
        largest=None,
        free_ports={},
        seats=seat_in_order(demand, count, down, up),
        exact_bisection=False,
    )


def connect(plane: Fabric, _: object) -> Iterator[tuple[LinkKind, Connections]]:
    """Every leaf with every other one: port 0 of a leaf leads to the first of the others, and so on."""
    pairs = list(combinations(range(int(plane.switches.value)), 2))
    if pairs:
        lower, upper = zip(*pairs, strict=True)
        yield PEER, (lower, [far - 1 for far in upper], upper, lower)


TOPOLOGY = Topology(
    name=NAME,
    limits="as many endpoints as ports are left when every switch is linked to every other one",
    drawing="   leaf --- leaf\n",
    tiers=("leaf",),
    link_kinds=(SERVER_LEAF, PEER),
    build=build,
    connect=connect,
    arrangement=SwitchGroups(inside=PEER.name),
)

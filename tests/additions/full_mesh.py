"""A full mesh: every leaf is linked to every other one. A topology with a kind of link of its own, for a test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from bomgen.core.provenance import applied, divided_up, least, named, step, trace
from bomgen.fabric.occupancy import all_endpoints, attached_ports, seat_in_order
from bomgen.fabric.ports import radix
from bomgen.fabric.types import (
    SERVER_LEAF,
    Connections,
    Demand,
    Fabric,
    Fitted,
    LinkKind,
    Links,
    SwitchGroups,
    Tier,
    Topology,
)

NAME = "full-mesh"
PEER = LinkKind("peer", ("leaf", "leaf"), "PE", "Peer", "Topology full-mesh: links between every two leaves.")


def fewest_leaves(endpoints: int, radix: int) -> int:
    """The fewest leaves whose ports hold the endpoints, and a link to every other leaf."""
    return next(count for count in range(1, radix + 1) if count * (radix - (count - 1)) >= endpoints)


def build(demand: Demand) -> Fabric:
    """As many leaves as hold the endpoints."""

    def count(d: Any) -> Fabric:
        rate, peer_gbps = (named("link_gbps", demand.rates[kind.name]) for kind in (SERVER_LEAF, PEER))
        endpoints, attached = named("endpoints", all_endpoints(demand)), named("attached", attached_ports(demand))
        ports = named("radix", radix(demand.leaf.switch, demand.rates[SERVER_LEAF.name]))
        leaves = step("leaves", "switches", applied(fewest_leaves, endpoints, ports), "The fewest with enough ports.")
        down = step("down", "ports", divided_up(endpoints, leaves), "Endpoints of a leaf, spread evenly.")
        up = step("up", "ports", leaves - 1, "A link to every other leaf.")
        peers = step("peer_links", "links", leaves * (leaves - 1) // 2, "A link between every two leaves.")
        half = leaves // 2
        cut = least(attached // 2, half * half) * peer_gbps
        return Fabric(
            topology=NAME,
            endpoints=endpoints,
            ports_per_server=d.ports_per_server,
            tier_count=step("tiers", "tiers", 1, "All switches are leaves."),
            tiers=(Tier("leaf", demand.leaf.switch, leaves, ports, down, up, (Fitted(leaves, down, up),), None),),
            links=(
                Links(SERVER_LEAF.name, endpoints, attached, rate, SERVER_LEAF.ends),
                Links(PEER.name, peers, peers, peer_gbps, PEER.ends, up),
            ),
            switches=leaves,
            bisection_gbps=step("bisection_gbps", "Gb/s", cut, "Direct links; a leaf in the middle is left out."),
            hops=step("hops", "switches", least(leaves, 2), "Between two endpoints of different leaves."),
            largest=None,
            free_ports={},
            seats=seat_in_order(d, leaves, down, up),
            exact_bisection=False,
        )

    return trace(count, demand)


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

"""The endpoints and seats of a demand, the fabric of a single switch, and equal fabrics side by side.

Equal fabrics are planes, and rails that meet only inside the servers. Ports of other machines and reserved ports are
given for all planes and distributed in turn; each plane is built for the most that one gets. Free ports and room to
grow refer to the actual endpoints.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import (
    Figure,
    applied,
    ceil_div,
    constant,
    divided_up,
    greatest,
    named,
    product,
    step,
    sum_of,
    trace,
)
from bomgen.fabric.clos.occupancy import assign_leaves
from bomgen.fabric.ports import radix
from bomgen.fabric.types import SERVER, SERVER_LEAF, Demand, Fabric, Fitted, Links, Tier

unset = constant("unset", "count", 0)
"""A value that the plan does not set, or a count of 0."""
UNSET = unset()
nic_endpoints = product("nic_endpoints", "endpoints", "servers", "ports_per_server")
"""NIC ports of the servers."""
nic_and_host_endpoints = sum_of("nic_and_host_endpoints", "endpoints", "nic_ports", "host_ports")
"""NIC ports of the servers and ports of other hosts."""
endpoints_with_reserved = sum_of("endpoints_with_reserved", "endpoints", "attached", "reserved_ports")
"""Endpoints, including ports reserved for later use."""


def group_thousands(number: int) -> str:
    """Return a number as messages write it, with a space between thousands."""
    return f"{number:,}".replace(",", " ")


def attached_ports(demand: Demand) -> Figure:
    """Return the ports of the machines on a plane: NIC ports of the servers, and ports of other machines."""
    nic_ports = nic_endpoints(demand.servers, demand.ports_per_server)
    return nic_and_host_endpoints(nic_ports, demand.host_ports) if demand.host_ports else nic_ports


def all_endpoints(demand: Demand) -> Figure:
    """Return the ports of the machines on a plane, and reserved ports."""
    attached = attached_ports(demand)
    return endpoints_with_reserved(attached, demand.reserved_ports) if demand.reserved_ports else attached


def servers_among(demand: Demand, endpoints: int) -> int:
    """Return the whole servers among a number of endpoints, without hosts and reserved ports."""
    others = sum(figure.value for figure in (demand.host_ports, demand.reserved_ports) if figure)
    return max(int((endpoints - others) // demand.ports_per_server.value), 0)


def seat_in_order(demand: Any, leaves: Any, down: Any, up: Any, homes: Any = 1, unit: Any = None) -> Any:
    """Return the seats of endpoints that fill leaf after leaf, other machines after the servers, in a calculation.

    The ports of a machine are dealt out to `homes` leaves; `unit` are the server ports on a full leaf.
    """
    ports, of_leaf = demand.ports_per_server, demand.ports_per_server // homes if unit else demand.ports_per_server
    others = demand.host_ports or 0, demand.reserved_ports or 0
    seats = applied(
        assign_leaves, demand.servers * ports, *others, homes, unit or down, down, up, leaves, of_leaf, down
    )
    return step("occupancy", "occupancy", seats, "Endpoints and uplinks of each leaf.")


def build_one_switch(demand: Demand, topology: str) -> Fabric:
    """Return the fabric with all endpoints on one leaf. Raises Infeasible when it has too few ports."""
    switch, rate = demand.leaf.switch, demand.rates[SERVER_LEAF.name]
    ports, endpoints = radix(switch, rate), all_endpoints(demand)
    if endpoints.value > ports.value:
        message = (
            f"{group_thousands(endpoints.value)} endpoints; one {switch.identity.name} has "
            f"{group_thousands(ports.value)} ports at {rate.value} Gb/s, so at most "
            f"{servers_among(demand, ports.value)} servers; fat-tree reaches more"
        )
        raise Infeasible(message, because=endpoints)

    def count(d: Demand) -> Fabric:
        endpoints, attached = named("endpoints", all_endpoints(demand)), named("attached", attached_ports(demand))
        radix_of_leaf, gbps = named("radix", ports), named("link_gbps", rate)
        leaves = step("leaves", "switches", divided_up(endpoints, radix_of_leaf), "One if all endpoints fit.")
        populated = endpoints if demand.populate_used_ports_only else radix_of_leaf
        fitted = (Fitted(leaves, populated, None),)
        free = step("free_ports", "ports", leaves * radix_of_leaf - endpoints, "Ports without an endpoint.")
        flow = "Each endpoint of the smaller half sends at full rate."
        tiers = step("tiers", "tiers", leaves, "Tiers of a fabric of a single switch.")
        return Fabric(
            topology=topology,
            endpoints=endpoints,
            ports_per_server=d.ports_per_server,
            tier_count=tiers,
            tiers=(Tier("leaf", switch, leaves, radix_of_leaf, radix_of_leaf, None, fitted, None),),
            links=(Links(SERVER_LEAF.name, endpoints, attached, gbps, SERVER_LEAF.ends),),
            switches=leaves,
            bisection_gbps=step("bisection_gbps", "Gb/s", attached // 2 * gbps, flow),
            hops=count_hops(tiers),
            largest=radix_of_leaf,
            free_ports={"leaf": free},
            growth=free,
            seats=seat_in_order(d, leaves, radix_of_leaf, 0),
        )

    return trace(count, demand)


def count_hops(tiers: Any) -> Any:
    """Return the switches between the farthest endpoints of a folded Clos, in a calculation."""
    return step("hops", "switches", 2 * tiers - 1, "Between the farthest endpoints: each tier twice, except the top.")


def ratio_built(down: Any, down_gbps: Any, up: Any, up_gbps: Any) -> Any:
    """Return the bandwidth below over that above of a fully connected switch, in a calculation."""
    ratio = applied(Fraction, down * down_gbps) / (up * up_gbps)
    return step("ratio", "ratio", ratio, "Downlink bandwidth over uplink bandwidth of a fully connected switch.")


# equal fabrics ------------------------------------------------------------------------------------------------------

ports_of_one = ceil_div("ports_of_one", "ports", "ports", "planes")
"""Ports of the fullest plane, with ports spread evenly over all planes."""


def demand_of_one_plane(whole: Demand, planes: Figure, ports_per_server: Figure) -> Demand:
    """Return the demand on one of several equal fabrics, each with `ports_per_server` ports of a server."""
    hosts, reserved = whole.host_ports, whole.reserved_ports
    return whole._replace(
        ports_per_server=ports_per_server,
        host_ports=ports_of_one(hosts, planes) if hosts else None,
        reserved_ports=ports_of_one(reserved, planes) if reserved else None,
    )


def combine_planes(plane: Fabric, planes: Figure, whole: Demand) -> Fabric:
    """Return equal fabrics as one that carries the whole demand.

    Ports of other machines need not be a multiple of the planes. Each plane is built for the most that one gets; room
    and free ports refer to the actual endpoints.
    """

    def count(d: Demand) -> Fabric:
        number = named("planes", planes)
        endpoints, attached = (named("endpoints", ports(whole)) for ports in (all_endpoints, attached_ports))

        def in_all(figure: Figure, name: str = "switches", more: Any = 0) -> Any:
            of_all = named("of_one", figure) * number
            return step(name, figure.unit, of_all + more if more else of_all, "Of all planes, which are equal.")

        too_many = step("too_many", "ports", named("of_one", plane.endpoints) * number - endpoints, "More than needed.")
        above = above_all = None
        if plane.reserved_above:
            above = named("above_of_one", plane.reserved_above)
            left = greatest(above * number - too_many, 0)
            above_all = step("above", "ports", left, "Reserved ports on spines, less those by which planes differ.")

        def free_of(tier: str, figure: Figure) -> Any:
            """Return the free ports of a tier in all planes, or the room on the leaves."""
            on_spines = above * number - above_all if too_many and above else 0
            more = {"leaf": too_many - on_spines if on_spines else too_many, "spine": on_spines}.get(tier, 0)
            return in_all(figure, "free_ports", more if too_many else 0)

        tiers = tuple(
            replace(
                tier,
                count=in_all(tier.count),
                fitted=tuple(Fitted(in_all(alike.count), alike.down, alike.up) for alike in tier.fitted),
            )
            for tier in plane.tiers
        )
        links = tuple(
            replace(link, count=endpoints, cabled=attached)
            if link.ends[0] == SERVER and plane.tiers
            else replace(link, count=in_all(link.count, "links"), cabled=in_all(link.cabled, "links"))
            for link in plane.links
        )
        return plane._replace(
            endpoints=endpoints,
            ports_per_server=d.ports_per_server,
            tiers=tiers,
            links=links,
            switches=in_all(plane.switches),
            bisection_gbps=in_all(plane.bisection_gbps, "bisection_gbps"),
            largest=step(
                "endpoints", "endpoints", named("of_one", plane.largest) * number - too_many, "Of the largest."
            )
            if plane.largest
            else None,
            free_ports={tier: free_of(tier, ports) for tier, ports in plane.free_ports.items()},
            growth=free_of("leaf", plane.growth) if plane.growth else None,
            pods=in_all(plane.pods, "pods") if plane.pods else None,
            reserved_above=above_all,
            plane=plane.plane or plane,
            planes=in_all(plane.planes, "planes") if plane.planes else planes,
        )

    return trace(count, whole)

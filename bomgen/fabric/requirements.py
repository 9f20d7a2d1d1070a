"""The demand on a folded Clos, as figures and as numbers; and the smallest one, a single switch."""

from __future__ import annotations

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, ceil_div, constant, formula
from bomgen.fabric.clos import occupancy, shape
from bomgen.fabric.clos.search import MAX_TIERS
from bomgen.fabric.clos.shape import SPLIT, WHOLE, PlainDemand
from bomgen.fabric.declaration import LINK_KINDS, SERVER_LEAF
from bomgen.fabric.ports import largest_group, radix, shared_cages
from bomgen.fabric.types import Demand, Fabric, Fitted, Links, Tier

unset = constant("unset", "count", 0)
"""A value that the plan does not set, or a count of 0."""


one_rail_for_all = constant("one_rail_for_all", "rails", 1)
"""One rail: leaves are filled one after the other, regardless of the rail of a port."""


ALL_RAILS = "all"
"""The word for pods that hold leaves of every rail."""
UNSET, ONE_RAIL = unset(), one_rail_for_all()
"""The figures of both, shared by every fabric."""


ports_may_idle = constant("ports_may_idle", "count", 1)
"""Build-out without unused links: ports of switches may remain unused."""


@formula("count")
def whole_servers() -> int:
    """The ports of a server connect to one leaf."""
    return WHOLE


@formula("count")
def divided_servers() -> int:
    """The ports of a server may connect to several leaves."""
    return SPLIT


@formula("count")
def pods_of_all_rails(pod_rails: str) -> int:
    """Whether a pod contains leaves of every rail, so that rails are connected below the core."""
    return 1 if pod_rails == ALL_RAILS else 0


one_tier = constant("one_tier", "tiers", 1)
"""Tiers of a fabric of unconnected leaves."""


two_tiers = constant("two_tiers", "tiers", 2)
"""Tiers of leaves and spines."""


@formula("tiers")
def three_tiers() -> int:
    """Tiers of leaves, spines and cores."""
    return MAX_TIERS


def search_figures(demand: Demand, tiers: int, rails: Figure | None = None) -> dict[str, Figure]:
    """Return the demand as the figures whose values are `Numbers`.

    `rails` are the ports of a server on separate leaves; None: leaves are filled one after the other.
    """
    down_gbps, up_gbps, core_gbps = (demand.rates[kind.name] for kind in LINK_KINDS)
    leaf, spine, core = demand.leaf, demand.spine, demand.core
    leaf_down, unit = leaf.downlinks, demand.unit if rails else None
    exact = demand.populate_used_ports_only
    if rails:
        unit = unit or leaf.servers
        if unit and not leaf_down and not exact:
            given = demand.rails_per_leaf
            leaf_down = shape.ports_of_servers(unit, given) if given else unit
    elif leaf.servers:
        leaf_down = shape.ports_of_servers(leaf.servers, demand.ports_per_server)
    three = tiers == MAX_TIERS
    found = {
        "tiers": demand.tiers or (two_tiers() if tiers == 2 else three_tiers()),
        "nic_ports": shape.nic_endpoints(demand.servers, demand.ports_per_server),
        "host_ports": demand.host_ports,
        "reserved_ports": demand.reserved_ports,
        "rails": rails or ONE_RAIL,
        "unit": unit,
        "down_gbps": down_gbps,
        "up_gbps": up_gbps,
        "core_gbps": core_gbps,
        "oversubscription": demand.oversubscription,
        "spine_oversubscription": demand.spine_oversubscription,
        "radix": radix(leaf.switch, down_gbps),
        "up_radix": radix(leaf.switch, up_gbps),
        "cages": shared_cages(leaf.switch, down_gbps, up_gbps),
        "spine_radix": radix(spine.switch, up_gbps),
        "spine_up_radix": radix(spine.switch, core_gbps) if three else None,
        "spine_cages": shared_cages(spine.switch, up_gbps, core_gbps) if three else None,
        "core_radix": radix(core.switch, core_gbps) if three else None,
        "leaf_down": leaf_down,
        "leaf_up": leaf.uplinks,
        "pod_leaves": demand.pod_leaves,
        "spine_count": spine.count,
        "spines_per_pod": spine.per_pod,
        "spine_down": spine.downlinks,
        "spine_up": spine.uplinks,
        "core_count": core.count,
    }
    found |= {
        "ports_per_server": demand.ports_per_server,
        "exact": ports_may_idle() if exact else None,
        "ports_per_cage": largest_group(leaf.switch, down_gbps).ports_per_cage
        if down_gbps.value == up_gbps.value
        else ONE_RAIL,
        "rails_per_leaf": demand.rails_per_leaf,
        "pods_hold_all_rails": pods_of_all_rails(demand.pod_rails) if demand.pod_rails and rails else None,
        "split_servers": {None: None, True: divided_servers(), False: whole_servers()}[demand.split_servers],
    }
    return {name: figure if figure is not None else UNSET for name, figure in found.items()}


def search_numbers(figures: dict[str, Figure]) -> PlainDemand:
    """Return the values of `search_figures`, as the search takes them."""
    return PlainDemand(**{name: figure.value for name, figure in figures.items()})


def group_thousands(number: int) -> str:
    """Return a number as messages write it, with a space between thousands."""
    return f"{number:,}".replace(",", " ")


def attached_ports(demand: Demand) -> Figure:
    """Return the ports of the machines on a plane: NIC ports of the servers, and ports of other machines."""
    nic_ports = shape.nic_endpoints(demand.servers, demand.ports_per_server)
    return shape.nic_and_host_endpoints(nic_ports, demand.host_ports) if demand.host_ports else nic_ports


def all_endpoints(demand: Demand) -> Figure:
    """Return the ports of the machines on a plane, and reserved ports."""
    attached = attached_ports(demand)
    return shape.endpoints_with_reserved(attached, demand.reserved_ports) if demand.reserved_ports else attached


def servers_among(demand: Demand, endpoints: int) -> int:
    """Return the whole servers among a number of endpoints, without hosts and reserved ports."""
    others = sum(figure.value for figure in (demand.host_ports, demand.reserved_ports) if figure)
    return max(int((endpoints - others) // demand.ports_per_server.value), 0)


def seat_in_order(demand: Demand, leaves: Figure, down: Figure, up: Figure) -> Figure:
    """Return the seats of endpoints that fill leaf after leaf, other machines after the servers."""
    nic_ports = shape.nic_endpoints(demand.servers, demand.ports_per_server)
    others = (demand.host_ports or UNSET, demand.reserved_ports or UNSET)
    places = (nic_ports, *others, ONE_RAIL, down, down, up, leaves)
    return occupancy.all_links_up(*places, demand.ports_per_server, down)


def build_one_switch(demand: Demand, topology: str) -> Fabric:
    """Return the fabric with all endpoints on one leaf. Raises Infeasible when it has too few ports."""
    rate = demand.rates[SERVER_LEAF.name]
    ports = radix(demand.leaf.switch, rate)
    attached, endpoints = attached_ports(demand), all_endpoints(demand)
    if endpoints.value > ports.value:
        servers = servers_among(demand, ports.value)
        message = (
            f"{group_thousands(endpoints.value)} endpoints; one {demand.leaf.switch.identity.name} has "
            f"{group_thousands(ports.value)} ports at {rate.value} Gb/s, so at most {servers} servers; "
            "fat-tree reaches more"
        )
        raise Infeasible(message, because=endpoints)
    count = leaves_of_one_switch(endpoints, ports)
    populated = endpoints if demand.populate_used_ports_only else ports
    tier = Tier("leaf", demand.leaf.switch, count, ports, ports, None, (Fitted(count, populated, None),), None)
    free = shape.free_of_endpoints(count, ports, endpoints)
    return Fabric(
        topology=topology,
        endpoints=endpoints,
        ports_per_server=demand.ports_per_server,
        tier_count=tier_count(count),
        tiers=(tier,),
        links=(Links(SERVER_LEAF.name, endpoints, attached, rate, SERVER_LEAF.ends),),
        switches=count,
        bisection_gbps=shape.bisection_of_switch(attached, rate),
        hops=shape.switches_on_the_way(tier_count(count)),
        largest=ports,
        free_ports={"leaf": free},
        growth=free,
        seats=seat_in_order(demand, count, ports, UNSET),
    )


leaves_of_one_switch = ceil_div("leaves_of_one_switch", "switches", "endpoints", "radix")
"""Switches of a single-tier fabric: one if all endpoints fit."""


@formula("tiers")
def tier_count(leaves: int) -> int:
    """Tiers of a fabric of a single switch."""
    return leaves

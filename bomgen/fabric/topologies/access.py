"""Leaves without spines, each linked into another fabric: the edge of an out-of-band network."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Assumed, ceil_div, formula, require
from bomgen.fabric.clos import shape
from bomgen.fabric.clos.build import ports_left_in_cages
from bomgen.fabric.declaration import SERVER_LEAF, Topology, connect_nothing
from bomgen.fabric.ports import SharedCages, ports_left_down, radix, shared_cages
from bomgen.fabric.requirements import UNSET, all_endpoints, attached_ports, one_tier, seat_in_order
from bomgen.fabric.types import Demand, Fabric, Fitted, Links, Tier

NAME = "access"
LIMITS = "as many leaves as the endpoints need; the fabric above carries the traffic between them"
DRAWING = """\
   in-band   =====+=======+=======+=====  the fabric named under `uplink`
                  |       |       |
   leaf          [ ]     [ ]     [ ]      no spines: each leaf has links of its own into the other fabric
                 |||     |||     |||
   server        ooo     ooo     ooo      management ports of servers, switches and PDUs
"""


@formula("ports")
def uplinks_for(
    least: int,
    radix: int,
    up_radix: int,
    cages: int | SharedCages,
    down_gbps: int,
    up_gbps: int,
    oversubscription: Fraction,
) -> int:
    """Fewest uplinks per leaf, at least two for redundancy, that meet the oversubscription limit."""
    return next(
        up
        for up in range(least, up_radix + 1)
        if ports_left_down(up, radix, up_radix, cages) * down_gbps <= oversubscription * up * up_gbps
    )


leaves = ceil_div("leaves", "switches", "endpoints", "down")
"""Leaves for endpoints and reserved ports, filled one after the other."""


@formula("ports")
def ports_beside_servers(down: int, endpoints: int, servers: int, servers_of_leaf: int) -> int:
    """Downlinks in use per leaf where each serves a number of servers at most, with all endpoints spread evenly."""
    return ceil(Fraction(endpoints, max(ceil(Fraction(endpoints, down)), ceil(Fraction(servers, servers_of_leaf)))))


@formula("Gb/s", source="max-flow where the fabric above carries all that the leaves send")
def bisection(attached: int, down: int, down_gbps: int, up: int, up_gbps: int) -> int:
    """Maximum flow between the first and the second half of the endpoints, if the fabric above is non-blocking."""
    return flow_between_halves(attached, down, down_gbps, up * up_gbps)


def flow_between_halves(attached: int, down: int, down_gbps: int, leaf_gbps: int) -> int:
    """Return the max-flow between the halves of endpoints that fill leaves in order; the fabric above carries all."""
    middle = attached // 2
    shared = middle % down
    beside = min(down - shared, attached - middle) if shared else 0
    inside = min(shared, beside)
    total = inside * down_gbps
    first = middle // down * min(down * down_gbps, leaf_gbps) + min((shared - inside) * down_gbps, leaf_gbps)
    rest = attached - middle - beside
    second = rest // down * min(down * down_gbps, leaf_gbps) + min(rest % down * down_gbps, leaf_gbps)
    second += min((beside - inside) * down_gbps, leaf_gbps)
    return total + min(first, second)


def build(demand: Demand) -> Fabric:
    """Return the lowest leaf count for the endpoints. Raises Infeasible when the uplinks leave no port."""
    switch, rates = demand.leaf.switch, demand.rates
    uplinks = require(demand.uplinks, "binding lets no access leaves without an uplink pass")
    down_gbps, up_gbps = rates[SERVER_LEAF.name], rates["uplink"]
    ports, up_ports = radix(switch, down_gbps), radix(switch, up_gbps)
    cages = shared_cages(switch, down_gbps, up_gbps) or UNSET
    if isinstance(uplinks.origin, Assumed) and not demand.leaf.downlinks:
        try:
            uplinks = uplinks_for(uplinks, ports, up_ports, cages, down_gbps, up_gbps, demand.oversubscription)
        except StopIteration:
            message = (
                f"no uplink configuration of {switch.identity.name} meets the oversubscription limit; "
                "set `uplink: {ports: ...}`"
            )
            raise Infeasible(message, because=demand.oversubscription, rule="ports") from None
    down = demand.leaf.downlinks or ports_left_in_cages(uplinks, ports, up_ports, cages)
    most = ports_left_down(uplinks.value, ports.value, up_ports.value, cages.value)
    if not 1 <= down.value <= most:
        message = f"{uplinks.value} uplinks leave {most} downlink ports on {switch.identity.name}; reduce the uplinks"
        raise Infeasible(message, because=demand.leaf.downlinks or uplinks, rule="ports")
    endpoints, attached = all_endpoints(demand), attached_ports(demand)
    room = down
    if demand.leaf.servers:
        down = ports_beside_servers(down, endpoints, demand.servers, demand.leaf.servers)
    count = leaves(endpoints, down)
    built = shape.ratio_built(down, down_gbps, uplinks, up_gbps)
    tier = Tier("leaf", switch, count, ports, down, uplinks, (Fitted(count, down, uplinks),), built)
    free = shape.free_ports(count, room, endpoints)
    return Fabric(
        topology=NAME,
        endpoints=endpoints,
        ports_per_server=demand.ports_per_server,
        tier_count=one_tier(),
        tiers=(tier,),
        links=(Links(SERVER_LEAF.name, endpoints, attached, down_gbps, SERVER_LEAF.ends),),
        switches=count,
        bisection_gbps=bisection(attached, down, down_gbps, uplinks, up_gbps),
        hops=None,
        largest=None,
        free_ports={"leaf": free},
        growth=free,
        uplink_gbps=up_gbps,
        seats=seat_in_order(demand, count, down, uplinks),
    )


TOPOLOGY = Topology(
    name=NAME,
    limits=LIMITS,
    drawing=DRAWING,
    tiers=("leaf",),
    link_kinds=(SERVER_LEAF,),
    build=build,
    connect=connect_nothing,
    uplinked=True,
)

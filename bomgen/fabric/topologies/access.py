"""Leaves without spines, each linked into another fabric: the edge of an out-of-band network."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Assumed, applied, divided_up, greatest, named, require, step, trace
from bomgen.fabric.occupancy import UNSET, all_endpoints, attached_ports, ratio_built, seat_in_order
from bomgen.fabric.ports import SharedCages, ports_left_down, radix, shared_cages
from bomgen.fabric.types import SERVER_LEAF, Demand, Fabric, Fitted, Links, Tier, Topology, connect_nothing

NAME = "access"
LIMITS = "as many leaves as the endpoints need; the fabric above carries the traffic between them"
DRAWING = """\
   in-band   =====+=======+=======+=====  the fabric named under `uplink`
                  |       |       |
   leaf          [ ]     [ ]     [ ]      no spines: each leaf has links of its own into the other fabric
                 |||     |||     |||
   server        ooo     ooo     ooo      management ports of servers, switches and PDUs
"""


ABOVE_CARRIES_ALL = "max-flow where the fabric above carries all that the leaves send"


def fewest_uplinks(
    least: int,
    radix: int,
    up_radix: int,
    cages: int | SharedCages,
    down_gbps: int,
    up_gbps: int,
    oversubscription: Fraction,
) -> int:
    """Return the fewest uplinks of a leaf that meet the oversubscription limit; 0 when none do."""
    fitting = (
        up
        for up in range(least, up_radix + 1)
        if ports_left_down(up, radix, up_radix, cages) * down_gbps <= oversubscription * up * up_gbps
    )
    return next(fitting, 0)


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
    switch, fixed, ratio = demand.leaf.switch, demand.leaf.downlinks, demand.oversubscription
    uplinks = require(demand.uplinks, "binding lets no access leaves without an uplink pass")
    down_gbps, up_gbps = demand.rates[SERVER_LEAF.name], demand.rates["uplink"]
    ports = radix(switch, down_gbps), radix(switch, up_gbps), shared_cages(switch, down_gbps, up_gbps) or UNSET
    searched = isinstance(uplinks.origin, Assumed) and not fixed
    asked = (uplinks, *ports, down_gbps, up_gbps, ratio)
    up = fewest_uplinks(*(figure.value for figure in asked)) if searched else uplinks.value
    if not up:
        message = f"no uplink configuration of {switch.identity.name} meets the oversubscription limit; "
        raise Infeasible(f"{message}set `uplink: {{ports: ...}}`", because=ratio, rule="ports")
    most = ports_left_down(up, *(figure.value for figure in ports))
    if not 1 <= (fixed.value if fixed else most) <= most:
        message = f"{up} uplinks leave {most} downlink ports on {switch.identity.name}; reduce the uplinks"
        raise Infeasible(message, because=fixed or uplinks, rule="ports")

    def count(d: Any) -> Fabric:
        names = ("least", "radix", "up_radix", "cages", "down_gbps", "up_gbps", "oversubscription")
        given = [named(name, figure) for name, figure in zip(names, asked, strict=True)]
        up, leaf, below, above = given[0], given[1:4], *given[4:6]
        if searched:
            up = step("uplinks", "ports", applied(fewest_uplinks, *given), "The fewest that meet the limit.")
        endpoints, attached = named("endpoints", all_endpoints(demand)), named("attached", attached_ports(demand))
        left = step("down", "ports", applied(ports_left_down, up, *leaf), "Ports left by uplinks.")
        down = room = named("down", fixed) if fixed else left
        if demand.leaf.servers:
            of_leaf = named("servers_of_leaf", demand.leaf.servers)
            leaves = greatest(divided_up(endpoints, room), divided_up(d.servers, of_leaf))
            spread = divided_up(endpoints, leaves)
            down = step("down", "ports", spread, "Where each serves a number of servers, with endpoints spread evenly.")
        leaves = step("leaves", "switches", divided_up(endpoints, down), "Filled one after the other.")
        flow = applied(flow_between_halves, attached, down, below, up * above)
        built = ratio_built(down, below, up, above)
        free = step("free_ports", "ports", leaves * room - endpoints, "Ports without an endpoint.")
        why = "Between the halves of the endpoints, if the fabric above is non-blocking."
        return Fabric(
            topology=NAME,
            endpoints=endpoints,
            ports_per_server=d.ports_per_server,
            tier_count=step("tiers", "tiers", 1, "Unconnected leaves."),
            tiers=(Tier("leaf", switch, leaves, leaf[0], down, up, (Fitted(leaves, down, up),), built),),
            links=(Links(SERVER_LEAF.name, endpoints, attached, below, SERVER_LEAF.ends),),
            switches=leaves,
            bisection_gbps=step("bisection_gbps", "Gb/s", flow, why, ABOVE_CARRIES_ALL),
            hops=None,
            largest=None,
            free_ports={"leaf": free},
            growth=free,
            uplink_gbps=above,
            seats=seat_in_order(d, leaves, down, up),
        )

    return trace(count, demand)


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

"""The folded Clos: endpoints fill leaf after leaf, spines and cores follow by even spread.

Of all divisions of a leaf's ports that keep the oversubscription ratio, the one whose fabric has the lowest switch
count, then the fewest servers split over leaves, then the fewest links is built; ports may be idle. With three tiers
the leaves are in pods that have separate spines. Dual-homed machines connect to two leaves, as two rails of one fabric.
"""

from __future__ import annotations

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, formula
from bomgen.fabric.clos.build import connect_tiers, folded_clos
from bomgen.fabric.types import LINK_KINDS, TIERS, Demand, Fabric, Topology

NAME = "fat-tree"
LIMITS = "one to three tiers; P^2 / 2 endpoints in two and P^3 / 4 in three tiers of P-port switches at 1:1"
DRAWING = """\
   core       [ ]     [ ]     [ ]         three tiers: cores join the pods
             /   \\   /   \\   /   \\
   spine   [ ] [ ] | [ ] [ ] | ...        a leaf has as many links to each spine of its pod
            | X |  |  | X |
   leaf    [ ] [ ] | [ ] [ ] | ...        endpoints fill leaf after leaf
           ||| ||| | ||| |||
   server  ooo ooo   ooo ooo
"""


HOMES = 2
"""Leaves that a dual-homed machine connects to."""


@formula("ports")
def half_of_ports(ports_per_server: int) -> int:
    """Ports of a dual-homed server on each of its two leaves."""
    return ports_per_server // HOMES


def deal_ports(demand: Demand) -> tuple[Demand, Figure | None]:
    """Return the demand with half of a dual-homed machine's ports per leaf, and its ports; else unchanged and None.

    Raises Infeasible for an odd number of ports.
    """
    homing, ports = demand.homing, demand.ports_per_server
    if homing is None or homing.value != "dual":
        return demand, None
    if ports.value % HOMES:
        message = (
            f"homing: dual divides the ports of a server equally between {HOMES} leaves, but it has {ports.value} "
            "here; set an even `ports_per_server:`, or set `homing: single`"
        )
        raise Infeasible(message, because=ports, rule="homing")
    return demand._replace(rails_per_leaf=half_of_ports(ports)), ports


def build(demand: Demand) -> Fabric:
    """Return the smallest folded Clos that serves every endpoint.

    With `homing: dual` the ports of a machine connect to two leaves, as two rails that share all spines. Raises
    Infeasible, with the largest demand that would fit, when there is none.
    """
    dealt, rails = deal_ports(demand)
    built = folded_clos(NAME, dealt, rails)
    if rails and demand.homing and built.tiers[0].count.value < HOMES:
        message = (
            f"homing: dual connects a machine to {HOMES} leaves, but one tier is a single switch; set "
            "`tiers: 2`, or write `homing: single`"
        )
        raise Infeasible(message, because=demand.homing, rule="homing")
    return built._replace(homing=demand.homing)


TOPOLOGY = Topology(
    name=NAME,
    limits=LIMITS,
    drawing=DRAWING,
    tiers=TIERS,
    link_kinds=LINK_KINDS,
    build=build,
    connect=connect_tiers,
    homings=("single", "dual"),
    deal_ports=deal_ports,
)

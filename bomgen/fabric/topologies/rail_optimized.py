"""Rails: port r of every server of a scalable unit connects to the unit's leaf for rail r, so a rail is one hop wide.

A leaf serves as many rails of a unit as give the lowest switch count, unless the plan sets the number.

One layer of spines connects all leaves while it can reach them; beyond that, each rail's leaves are in groups with
separate spines, and cores connect the groups. With `pod: {rails: all}` a group holds whole units instead, the leaves of
all their rails, so that rails meet below the core.
"""

from __future__ import annotations

from bomgen.core.provenance import Figure
from bomgen.fabric.clos.build import connect_tiers, folded_clos
from bomgen.fabric.types import LINK_KINDS, TIERS, Demand, Fabric, TierRows, Topology

NAME = "rail-optimized"
LIMITS = "two or three tiers; a scalable unit has at most as many servers as a leaf has downlink ports"
DRAWING = """\
   spine     [ ]   [ ]   [ ]   [ ]        a leaf has as many links to each spine
              | \\ / | \\ / | \\ / |
   leaf      [r0]  [r1]  ...   [r7]       one leaf a rail and scalable unit
              |     |           |
   server 0   o-----o---- ... --o         port r of every server of the unit goes to its leaf r
   server 1   o-----o---- ... --o
"""


def deal_ports(demand: Demand) -> tuple[Demand, Figure | None]:
    """Return the demand, and the ports of a server: each is a rail."""
    return demand, demand.ports_per_server


def build(demand: Demand) -> Fabric:
    """Return the smallest fabric whose leaves serve rails of one scalable unit each.

    Raises Infeasible, with the largest demand that would fit, when there is none.
    """
    return folded_clos(NAME, *deal_ports(demand))


TOPOLOGY = Topology(
    name=NAME,
    limits=LIMITS,
    drawing=DRAWING,
    tiers=TIERS,
    link_kinds=LINK_KINDS,
    build=build,
    connect=connect_tiers,
    arrangement=TierRows(pod="rail-group", pod_of_rails="pod"),
    has_rails=True,
    scalable_units=True,
    deal_ports=deal_ports,
)

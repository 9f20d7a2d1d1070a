"""Separate rails, each a fat tree over that rail's endpoints; rails meet only inside the servers.

Wang et al. 2024, "Rail-only: A Low-Cost High-Performance Network for Training LLMs with Trillion Parameters", arXiv
2307.12169; the multi-plane fat tree of DeepSeek-V3 (arXiv 2505.09343, section 5) is the same.
"""

from __future__ import annotations

from bomgen.core.provenance import constant
from bomgen.fabric.clos.build import connect_tiers, folded_clos
from bomgen.fabric.occupancy import combine_planes, demand_of_one_plane
from bomgen.fabric.types import LINK_KINDS, TIERS, Demand, Fabric, Topology

NAME = "rail-only"
LIMITS = "one fat tree per rail of a server; as many servers as one tree has endpoints, P^2 / 2 or P^3 / 4 at 1:1"
DRAWING = """\
   rail 0          rail 1              rail 7
   [ ]  [ ]        [ ]  [ ]            [ ]  [ ]      a fat tree a rail, no link between rails
    | \\/ |          | \\/ |     ...      | \\/ |
   [ ]  [ ]        [ ]  [ ]            [ ]  [ ]
    |    |          |    |              |    |
    o    o          o    o              o    o       servers 0 and 1: port r in rail r
"""


one_rail = constant("one_rail", "ports", 1)
"""Ports per server on a rail."""


def build(demand: Demand) -> Fabric:
    """Return one fat tree per port of a server. Raises Infeasible when one rail's endpoints fit no tree."""
    rails = demand.ports_per_server
    return combine_planes(folded_clos(NAME, demand_of_one_plane(demand, rails, one_rail())), rails, demand)


TOPOLOGY = Topology(
    name=NAME,
    limits=LIMITS,
    drawing=DRAWING,
    tiers=TIERS,
    link_kinds=LINK_KINDS,
    build=build,
    connect=connect_tiers,
    has_rails=True,
    isolated_rails=True,
)

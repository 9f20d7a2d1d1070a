"""All endpoints on one switch."""

from __future__ import annotations

from bomgen.fabric.occupancy import build_one_switch
from bomgen.fabric.types import SERVER_LEAF, Demand, Fabric, Topology, connect_nothing

NAME = "single-switch"
LIMITS = "as many endpoints as the switch has ports at the link rate"

DRAWING = """\
        leaf
     /  |  |  \\
       servers
"""


def build(demand: Demand) -> Fabric:
    """Return one leaf with every endpoint. Raises Infeasible when it has too few ports."""
    return build_one_switch(demand, NAME)


TOPOLOGY = Topology(
    name=NAME,
    limits=LIMITS,
    drawing=DRAWING,
    tiers=("leaf",),
    link_kinds=(SERVER_LEAF,),
    build=build,
    connect=connect_nothing,
    one_switch=True,
)

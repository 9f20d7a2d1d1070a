"""The folded Clos: endpoints fill leaf after leaf, spines and cores follow by even spread.

Of all ways to divide all ports of a leaf that keep the ratio asked, the one whose fabric has the fewest switches, then
the fewest links, then the fewest up-links is built. With three tiers the leaves stand in pods with spines of their own.
"""

from __future__ import annotations

from bomgen.fabric.clos.link_kinds import LINK_KINDS, TIERS, connect
from bomgen.fabric.clos.smallest import folded_clos
from bomgen.fabric.declaration import Topology
from bomgen.fabric.types import Demand, Fabric

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


def build(demand: Demand) -> Fabric:
    """The smallest folded Clos that serves every endpoint.

    Raises Infeasible, with the largest demand that would fit, when none does.
    """
    return folded_clos(NAME, demand)


TOPOLOGY = Topology(
    name=NAME,
    limits=LIMITS,
    drawing=DRAWING,
    tiers=TIERS,
    link_kinds=LINK_KINDS,
    build=build,
    connect=connect,
    searched=True,
)

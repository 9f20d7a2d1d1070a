"""The folded Clos: endpoints fill leaf after leaf, spines and cores follow by even spread.

Of all ways to divide a leaf's ports that keep the ratio asked, the one whose fabric has the fewest switches, then the
fewest links, then the fewest up-links is built. With three tiers the leaves stand in pods with spines of their own.
"""

from __future__ import annotations

from bomgen.fabric import clos
from bomgen.fabric.folded import Builder, endpoints_of, figures_of, numbers_of, one_switch, spaced
from bomgen.fabric.model import Demand, Fabric
from bomgen.fabric.search import MAX_TIERS, best, most_servers
from bomgen.problems import Infeasible

NAME = "fat-tree"


LIMITS = "one to three tiers; P^2 / 2 endpoints in two and P^3 / 4 in three tiers of P-port switches at 1:1"


DRAWING = """\
    spine   spine        (core, above pods of leaves and spines)
    |  \\   /  |
    |   \\ /   |
    |    X    |
    |   / \\   |
    leaf    leaf
    | | |   | | |
    servers  servers
"""


_WORDS = {1: "one tier", 2: "two tiers", MAX_TIERS: "three tiers"}


def build(demand: Demand) -> Fabric:
    """The smallest folded Clos that serves every endpoint.

    Raises Infeasible, with the largest demand that would fit, when none does.
    """
    _check_fixed_ports(demand)
    asked = [int(demand.tiers.value)] if demand.tiers else range(_fewest_tiers(demand), MAX_TIERS + 1)
    for tiers in asked:
        if tiers == 1:
            if endpoints_of(demand).value <= clos.radix(demand.leaf.switch, demand.rates["server-leaf"]).value:
                return one_switch(demand, NAME)
            continue
        figures = figures_of(demand, tiers)
        shape = best(numbers_of(figures))
        if shape is not None:
            return Builder(NAME, demand, figures, shape).fabric()
    raise _refusal(demand, asked[-1])


def _check_fixed_ports(demand: Demand) -> None:
    """Raise Infeasible when the plan fixes more ports of a switch than it has."""
    for choice, kinds in ((demand.leaf, ("server-leaf", "leaf-spine")), (demand.spine, ("leaf-spine", "spine-core"))):
        for fixed, kind in zip((choice.downlinks, choice.uplinks), kinds, strict=True):
            if fixed:
                radix = clos.radix(choice.switch, demand.rates[kind])
                if fixed.value > radix.value:
                    name = choice.switch.identity.name
                    message = f"{fixed.value} ports; a {name} has {radix.value} at {demand.rates[kind].value} Gb/s"
                    raise Infeasible(message, because=fixed, rule="ports")


def _fewest_tiers(demand: Demand) -> int:
    """The fewest tiers that hold everything the plan fixes."""
    leaf, spine = demand.leaf, demand.spine
    if demand.pod_leaves or demand.core.count or spine.uplinks:
        return MAX_TIERS
    fixed = (leaf.servers, leaf.uplinks, leaf.downlinks, spine.count, spine.per_pod, spine.downlinks)
    return 2 if any(fixed) else 1


def _refusal(demand: Demand, tiers: int) -> Infeasible:
    """Why no fabric fits: too many endpoints, or numbers fixed by the plan that do not spread evenly."""
    because = endpoints_of(demand)
    choices = (demand.leaf, demand.spine, demand.core)[:tiers]
    switches = " and ".join(dict.fromkeys(choice.switch.identity.name for choice in choices))
    numbers = numbers_of(figures_of(demand, tiers)) if tiers > 1 else None
    wanted, servers = spaced(because.value), demand.servers.value
    if numbers and best(numbers._replace(spine_count=0, spines_per_pod=0, core_count=0, leaf_up=0, spine_up=0)):
        message = (
            f"{wanted} endpoints; with the ports and counts that the plan fixes, up-links do not spread evenly over "
            f"{_WORDS[tiers]} of {switches}; leave some of leaf, spine, core and pod to the rules"
        )
        spine, core = demand.spine, demand.core
        fixed = (spine.count, spine.per_pod, core.count, demand.leaf.uplinks, spine.uplinks)
        return Infeasible(message, next((figure for figure in fixed if figure), because), rule="uneven")
    per_server = demand.ports_per_server.value
    reserved = demand.reserved_ports.value if demand.reserved_ports else 0
    if numbers:
        reached = most_servers(numbers, servers, per_server)
    else:
        reached = (clos.radix(demand.leaf.switch, demand.rates["server-leaf"]).value - reserved) // per_server
    endpoints = spaced(reached * per_server + reserved)
    message = f"{wanted} endpoints; {_WORDS[tiers]} of {switches} reach {endpoints}: at most {reached} servers"
    more = tiers + 1
    if demand.tiers and more <= MAX_TIERS and best(numbers_of(figures_of(demand, more))):
        message += f", or `tiers: {more}`"
    return Infeasible(message, because)

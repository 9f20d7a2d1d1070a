"""The arithmetic of a dragonfly+, after Shpiner, Haramaty, Eliad, Zdornov, Gafni and Zahavi, HiPINEB 2017."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from bomgen.core.provenance import formula, product, sum_of
from bomgen.fabric.clos.occupancy import Kinds, Occupancy, split_into_pods
from bomgen.fabric.dragonfly.flow import flow_at_least
from bomgen.fabric.dragonfly.plus_search import SwitchPorts, best_balanced, capacity, most_balanced
from bomgen.fabric.ports import SharedCages

SOURCE = "Shpiner et al., Dragonfly+: Low Cost Topology for Scaling Datacenters, HiPINEB 2017"
BALANCED = f"{SOURCE}: leaves and spines have half their ports on either side"
BETWEEN_GROUPS = 4
"""Switches between the farthest endpoints of two groups: a leaf and a spine of each."""


@formula("links", source=BALANCED)
def smallest_balanced(
    endpoints: int,
    groups: int,
    leaf_down: int,
    leaf_up: int,
    leaf_cages: int | SharedCages,
    spine_down: int,
    spine_global: int,
    spine_cages: int | SharedCages,
) -> int:
    """The number p = a = s = h of the balanced dragonfly+ with the fewest switches; `groups`: those the plan fixes."""
    return best_balanced(
        endpoints, groups, SwitchPorts(leaf_down, leaf_up, leaf_cages, spine_down, spine_global, spine_cages)
    )


@formula("endpoints", source=BALANCED)
def largest_balanced(
    leaf_down: int,
    leaf_up: int,
    leaf_cages: int | SharedCages,
    spine_down: int,
    spine_global: int,
    spine_cages: int | SharedCages,
) -> int:
    """Endpoints of the largest balanced dragonfly+ of the switches."""
    return capacity(most_balanced(SwitchPorts(leaf_down, leaf_up, leaf_cages, spine_down, spine_global, spine_cages)))


@formula("endpoints", source=SOURCE)
def largest_of(p: int, a: int, s: int, h: int) -> int:
    """Endpoints when every global port of a group leads to another group."""
    return a * p * (s * h + 1)


@formula("links", source=BALANCED)
def as_many(given: int) -> int:
    """What the plan leaves open is equal to the first of s, a, h and p that it gives."""
    return given


switches_of_tier = product("switches_of_tier", "switches", "per_group", "g")
"""Switches of a tier in all groups."""


@formula("links")
def links_to_group(spines: int, other_s: int, h: int, g: int) -> int:
    """Global links between two groups with different numbers of spines: those of the smaller one."""
    return min(spines, other_s) * h // (g - 1)


@formula("links")
def one_link() -> int:
    """Links between a leaf and a spine: one by default."""
    return 1


@formula("links")
def links_in_common(parallel: int, other_parallel: int) -> int:
    """The largest common divisor of the links of both kinds of groups."""
    return gcd(parallel, other_parallel)


ports_of_parallel = product("ports_of_parallel", "ports", "switches", "parallel")
"""Ports of a switch with equal links to each of several others."""


@formula("occupancy")
def seats_of_groups(occupancy: Occupancy, leaves: int, up: int, other_up: int) -> Occupancy:
    """The same seats, where the first leaves and those of the last groups have links up of their own."""
    return link_up_groups(occupancy, leaves, up, other_up)


def link_up_groups(occupancy: Occupancy, leaves: int, up: int, other_up: int) -> Occupancy:
    """Return the seats of leaves of which the first have other links up than the rest."""
    [row] = occupancy.rails
    first, last = split_into_pods(row, [leaves, sum(group.leaves for group in row) - leaves])
    first, last = ([group._replace(up=links) for group in part] for part, links in ((first, up), (last, other_up)))
    return occupancy._replace(rails=((*first, *last),))


@formula("kinds of leaves")
def kinds_in_order(occupancy: Occupancy) -> Kinds:
    """Leaves by their ports in use down and up, in their order."""
    return tuple(((group.filled, group.up), group.leaves) for group in occupancy.groups())


all_switches = sum_of("all_switches", "switches", "leaves", "spines")
"""Leaves and spines."""
links_inside = product("links_inside", "links", "a", "s", "g")
"""Links inside all groups: one from every leaf to every spine of its group."""


@formula("switches")
def switches_on_the_way(a: int, g: int) -> int:
    """Switches of the longest minimal route: leaf, spine, spine of the other group, leaf."""
    return BETWEEN_GROUPS if g > 1 else min(a, 2) * 2 - 1


@formula("ports")
def free_on_spines(spines: int, left: int, a: int) -> int:
    """Ports of spines that nothing is plugged into, as links to leaves."""
    return spines * (left - a)


@formula("ratio")
def ratio_of_leaf(p: int, endpoint_gbps: int, s: int, up_gbps: int) -> Fraction:
    """Bandwidth of the endpoints of a full leaf over that of its links to spines."""
    return Fraction(p * endpoint_gbps) / (s * up_gbps)


@formula(
    "Gb/s", source="a flow that every even attachment of the global links carries; leaves share out what they send"
)
def bisection_at_least(
    nic_ports: int,
    p: int,
    a: int,
    s: int,
    global_ports: int,
    links_between: int,
    endpoint_gbps: int,
    up_gbps: int,
    global_gbps: int,
) -> Fraction:
    """A bound from below on the max-flow between the first and the second half of the NIC ports.

    It holds for every way to attach the global links of a group to its spines.
    """
    return flow_at_least(nic_ports, p, a, global_ports, links_between, endpoint_gbps, up_gbps, global_gbps, s)

"""The dragonfly+: its dimensions and its formulas."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from math import ceil, gcd
from typing import NamedTuple

from bomgen.core.provenance import constant, formula, product, sum_of
from bomgen.fabric.clos.occupancy import Kinds, Occupancy, split_into_pods
from bomgen.fabric.dragonfly.dragonfly import flow_at_least, nearest_that_fits
from bomgen.fabric.ports import SharedCages, ports_left_down

LETTERS = ("p", "a", "s", "h", "g")
FIRST_GIVEN = ("s", "a", "h", "p")
"""Numbers that the plan leaves open equal the first of these that it sets."""


class SwitchPorts(NamedTuple):
    """The ports of a leaf and of a spine at the rates of their links, and the cages shared by links of two rates."""

    leaf_down: int
    leaf_up: int
    leaf_cages: int | SharedCages
    spine_down: int
    spine_global: int
    spine_cages: int | SharedCages
    parallel: int = 1
    """Links between a leaf and a spine of its group."""

    def left_on_leaf(self, s: int) -> int:
        """Return the ports of a leaf left for endpoints by its links to each spine of its group."""
        up = s * self.parallel
        return ports_left_down(up, self.leaf_down, self.leaf_up, self.leaf_cages) if up <= self.leaf_up else 0

    def left_on_spine(self, h: int) -> int:
        """Return the leaves that the ports of a spine left by its global links can connect."""
        left = ports_left_down(h, self.spine_down, self.spine_global, self.spine_cages) if h <= self.spine_global else 0
        return left // self.parallel


def most_balanced(ports: SwitchPorts) -> int:
    """Return p = a = s = h of the largest balanced dragonfly+ that the switches allow; 0 when there is none."""
    size = 0
    while size + 1 <= min(ports.left_on_leaf(size + 1), ports.left_on_spine(size + 1)):
        size += 1
    return size


def capacity(size: int, groups: int = 0) -> int:
    """Return the endpoints of a balanced dragonfly+ of a size; `groups` 0: the maximum."""
    of_group = size * size
    return of_group * (groups or of_group + 1) if groups <= of_group + 1 else 0


def best_balanced(endpoints: int, groups: int, ports: SwitchPorts) -> int:
    """Return p = a = s = h of the balanced dragonfly+ with the lowest switch count; 0 when all are too small.

    At equal switch counts the smaller number has fewer links.
    """
    found = (
        (2 * size * (groups or ceil(endpoints / (size * size))), size)
        for size in range(1, most_balanced(ports) + 1)
        if capacity(size, groups) >= endpoints
    )
    return min(found, default=(0, 0))[1]


def fill_in_numbers(given: Mapping[str, int], endpoints: int) -> dict[str, int]:
    """Return p, a, s, h and g from those of them that are given, one of p, a, s and h at least."""
    first = next(given[letter] for letter in FIRST_GIVEN if letter in given)
    numbers = {letter: given.get(letter, first) for letter in LETTERS[:-1]}
    return numbers | {"g": given.get("g") or ceil(endpoints / (numbers["a"] * numbers["p"]))}


def is_feasible(given: Mapping[str, int], endpoints: int, ports: SwitchPorts) -> bool:
    """Return whether a dragonfly+ with these numbers fits its switches and holds the endpoints."""
    p, a, s, h, g = fill_in_numbers(given, endpoints).values()
    fits = p <= ports.left_on_leaf(s) and a <= ports.left_on_spine(h)
    return fits and g <= s * h + 1 and endpoints <= a * p * g


def nearest_feasible(given: Mapping[str, int], broke: str, endpoints: int, ports: SwitchPorts) -> str:
    """Return the nearest value of a number, first of the violated one, that works with the others given."""
    numbers = fill_in_numbers(given, endpoints)
    groups = (ceil(endpoints / (numbers["a"] * numbers["p"])), numbers["s"] * numbers["h"] + 1)
    values = range(1, max(ports.leaf_down, ports.spine_down) + 1)
    candidates = {letter: groups if letter == "g" else values for letter in given}
    fits = partial(is_feasible, endpoints=endpoints, ports=ports)
    return nearest_that_fits(given, broke, candidates, fits) or "remove p, a, s, h and g"


# plus formulas ------------------------------------------------------------------------------------------------------
# The arithmetic of a dragonfly+, after Shpiner, Haramaty, Eliad, Zdornov, Gafni and Zahavi, HiPINEB 2017.

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
    """The number p = a = s = h of the balanced dragonfly+ with the fewest switches; `groups` as set in the plan."""
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
    """Endpoints of the largest balanced dragonfly+ of the switch models."""
    return capacity(most_balanced(SwitchPorts(leaf_down, leaf_up, leaf_cages, spine_down, spine_global, spine_cages)))


@formula("endpoints", source=SOURCE)
def largest_of(p: int, a: int, s: int, h: int) -> int:
    """Endpoints when every global port of a group connects to a different group."""
    return a * p * (s * h + 1)


@formula("links", source=BALANCED)
def as_many(given: int) -> int:
    """Default of a dimension that the plan leaves open: the first of s, a, h and p that it sets."""
    return given


switches_of_tier = product("switches_of_tier", "switches", "per_group", "g")
"""Switches of a tier in all groups."""


@formula("links")
def links_to_group(spines: int, other_s: int, h: int, g: int) -> int:
    """Global links between two groups with different numbers of spines, limited by the group with fewer."""
    return min(spines, other_s) * h // (g - 1)


one_link = constant("one_link", "links", 1)
"""Links between a leaf and a spine by default."""


@formula("links")
def links_in_common(parallel: int, other_parallel: int) -> int:
    """Greatest common divisor of the parallel links of both group sizes."""
    return gcd(parallel, other_parallel)


ports_of_parallel = product("ports_of_parallel", "ports", "switches", "parallel")
"""Ports of a switch with parallel links to each of several others."""


@formula("occupancy")
def seats_of_groups(occupancy: Occupancy, leaves: int, up: int, other_up: int) -> Occupancy:
    """The same distribution of endpoints, with the uplinks of the first and of the last groups."""
    return link_up_groups(occupancy, leaves, up, other_up)


def link_up_groups(occupancy: Occupancy, leaves: int, up: int, other_up: int) -> Occupancy:
    """Return the seats of leaves of which the first have other uplinks than the rest."""
    [row] = occupancy.rails
    first, last = split_into_pods(row, [leaves, sum(group.leaves for group in row) - leaves])
    first, last = ([group._replace(up=links) for group in part] for part, links in ((first, up), (last, other_up)))
    return occupancy._replace(rails=((*first, *last),))


@formula("kinds of leaves")
def kinds_in_order(occupancy: Occupancy) -> Kinds:
    """Leaves grouped by downlink and uplink ports in use, in their order."""
    return tuple(((group.filled, group.up), group.leaves) for group in occupancy.groups())


all_switches = sum_of("all_switches", "switches", "leaves", "spines")
"""Leaves and spines together."""
links_inside = product("links_inside", "links", "a", "s", "g")
"""Links inside all groups, one between each leaf and each spine of a group."""


@formula("switches")
def switches_on_the_way(a: int, g: int) -> int:
    """Switches on the longest minimal route: leaf, spine, spine of the other group, leaf."""
    return BETWEEN_GROUPS if g > 1 else min(a, 2) * 2 - 1


@formula("ports")
def free_on_spines(spines: int, left: int, a: int) -> int:
    """Unused spine ports, counted as links to leaves."""
    return spines * (left - a)


@formula("ratio")
def ratio_of_leaf(p: int, endpoint_gbps: int, s: int, up_gbps: int) -> Fraction:
    """Endpoint bandwidth of a full leaf divided by the bandwidth of its links to spines."""
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
    """Lower bound on the maximum flow between the first and the second half of the NIC ports.

    It holds for every way to attach the global links of a group to its spines.
    """
    return flow_at_least(nic_ports, p, a, global_ports, links_between, endpoint_gbps, up_gbps, global_gbps, s)

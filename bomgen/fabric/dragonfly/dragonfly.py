"""The dragonfly: its dimensions, its formulas and its bisection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any

from bomgen.core.provenance import ceil_div, constant, difference, floor_div, formula, maximum, minimum, product, sum_of
from bomgen.fabric.ports import links_in_cage

SHARES = 4
"""The number of shares of a local link that the bound on the bisection tries for each of its uses."""


def flow_at_least(
    nic_ports: int,
    p: int,
    a: int,
    outer: int,
    between: int,
    endpoint_gbps: int,
    local_gbps: int,
    global_gbps: int,
    spines: int = 0,
) -> Fraction:
    """Return a flow between the halves of endpoints that fill routers of `p` and groups of `a` routers in order [Gb/s].

    Groups before the middle send to groups behind it over the links between them; the group in the middle, if there is
    one, sends to itself, to the groups behind, and receives from those before. Inside a group everything is shared in
    proportion: the traffic of a router's global links comes from all routers alike. A router has at most `outer` global
    links, so a local link then carries at most `outer / (routers that share)` of the traffic of a global link, wherever
    the global links are attached. In the middle group three uses share the local links; quarters of them are tried.

    With `spines` the routers are the leaves of a dragonfly+: each has a local link to every spine of its group, and the
    spines have the global links. Endpoints in the same group communicate over its spines, and uplinks and downlinks are
    shared separately.
    """
    size, middle = a * p, nic_ports // 2
    before, first = divmod(middle, size)
    second = min(nic_ports, (before + 1) * size) - middle if first else 0
    behind = nic_ports - middle - second
    full, last = divmod(behind, size)
    split = first % p
    met = min(split, p - split, second) if split else 0
    first, second = first - met, second - met
    ways = outer or 1

    def passed(endpoints: int, share: Fraction) -> Fraction:
        """Return the traffic per global link that a share of the local links of these endpoints' routers carries."""
        return min(Fraction(global_gbps), share * local_gbps * max(Fraction(endpoints, p), Fraction(1)) / ways)

    whole = Fraction(1)
    into_full, into_last = passed(size, whole), passed(last, whole)
    best = Fraction(0)
    for meeting, leaving, coming in _shares_of_directions() if spines else _shares_of_links():
        routers_first, routers_second = (max(Fraction(part, p), Fraction(1)) for part in (first, second))
        pairs = spines * min(routers_first, routers_second) if spines else routers_first * routers_second
        outward, inward = passed(first, leaving), passed(second, coming)
        of_before = (
            before * between * inward if second else Fraction(0),
            before * full * between * into_full,
            before * between * into_last,
        )
        of_middle = (
            meeting * local_gbps * pairs,
            full * between * outward,
            between * min(outward, into_last),
        )
        supply = [Fraction(count * endpoint_gbps) for count in (before * size, first)]
        need = [Fraction(count * endpoint_gbps) for count in (second, full * size, last)]
        best = max(best, _transport_flow(supply, need, (of_before, of_middle)))
    return best + met * endpoint_gbps


def _shares_of_links() -> Iterator[tuple[Fraction, Fraction, Fraction]]:
    for one in range(SHARES + 1):
        for other in range(SHARES + 1 - one):
            yield Fraction(one, SHARES), Fraction(other, SHARES), Fraction(SHARES - one - other, SHARES)


def _shares_of_directions() -> Iterator[tuple[Fraction, Fraction, Fraction]]:
    for one in range(SHARES + 1):
        others = Fraction(SHARES - one, SHARES)
        yield Fraction(one, SHARES), others, others


def _transport_flow(
    supply: list[Fraction], need: list[Fraction], ways: tuple[tuple[Fraction, ...], tuple[Fraction, ...]]
) -> Fraction:
    """Return the max-flow from two sources straight to several sinks, as the smallest of its cuts."""
    cuts = []
    for kept in ((), (0,), (1,), (0, 1)):
        left = sum((supply[source] for source in (0, 1) if source not in kept), Fraction(0))
        cut = (
            min(wanted, sum((ways[source][sink] for source in kept), Fraction(0))) for sink, wanted in enumerate(need)
        )
        cuts.append(left + sum(cut, Fraction(0)))
    return min(cuts)


# search -------------------------------------------------------------------------------------------------------------
# The search for the numbers of a dragonfly: the smallest balanced one, values left open, and nearby values that work.

LETTERS = ("p", "a", "h", "g")


def option(title: str, description: str, *examples: int) -> dict[str, Any]:
    """Return the JSON Schema of an option that is a number of things, at least 1."""
    text = {"title": title, "description": description, "type": "integer"}
    return text | {"minimum": 1, "x-unit": "count", "examples": list(examples)}


def ports_left_for_endpoints(
    radix: int, local_radix: int, global_radix: int, cages: int, local: int, outer: int
) -> int:
    """Return the links to servers on a router with local and global ones; `cages` hold all, 0: all have one rate.

    A cage holds links of one rate; where a switch has fewer ports at a rate than cages, a link takes several of them.
    """
    if not cages:
        return radix - local - outer
    ports = {radix: 0, local_radix: 0, global_radix: 0}
    ports[local_radix] += local
    ports[global_radix] += outer
    beside = ports.pop(radix)
    filled = sum(ceil(used / links_in_cage(at_rate, cages)) for at_rate, used in ports.items())
    return int((cages - filled) * links_in_cage(radix, cages)) - beside


def most_balanced(radix: int, local_radix: int, global_radix: int, cages: int) -> int:
    """Return the endpoints per router of the largest balanced dragonfly for a switch; 0 when there is none."""
    size = 0
    while size + 1 <= ports_left_for_endpoints(radix, local_radix, global_radix, cages, 2 * (size + 1) - 1, size + 1):
        size += 1
    return size


def capacity(size: int, groups: int = 0) -> int:
    """Return the endpoints of a balanced dragonfly with `size` endpoints per router; `groups` 0: the maximum."""
    of_group = 2 * size * size
    return of_group * (groups or of_group + 1) if groups <= of_group + 1 else 0


def best_balanced(endpoints: int, groups: int, radix: int, local_radix: int, global_radix: int, cages: int) -> int:
    """Return the endpoints per router of the balanced dragonfly with the lowest switch count; 0 when all are too small.

    At equal switch counts the smaller routers have fewer links.
    """
    sizes = range(1, most_balanced(radix, local_radix, global_radix, cages) + 1)
    found = (
        (2 * size * (groups or ceil(endpoints / (2 * size * size))), size)
        for size in sizes
        if capacity(size, groups) >= endpoints
    )
    return min(found, default=(0, 0))[1]


def fill_in_numbers(numbers: Mapping[str, int], endpoints: int) -> tuple[int, int, int, int]:
    """Return p, a, h and g from those of them that are given, one of p, a and h at least."""
    p, a, h, g = (numbers.get(letter, 0) for letter in LETTERS)
    h = h or (max(a // 2, 1) if a else p)
    p = p or h
    a = a or 2 * max(p, h)
    return p, a, h, g or ceil(endpoints / (a * p))


def is_feasible(numbers: Mapping[str, int], endpoints: int, ports: tuple[int, int, int, int]) -> bool:
    """Return whether a dragonfly with these numbers fits its routers and holds the endpoints."""
    p, a, h, g = fill_in_numbers(numbers, endpoints)
    return p <= ports_left_for_endpoints(*ports, a - 1, h) and g <= a * h + 1 and endpoints <= a * p * g


def nearest_feasible(given: Mapping[str, int], broke: str, endpoints: int, ports: tuple[int, int, int, int]) -> str:
    """Return the nearest value of a number, first of the violated one, that works with the others given."""
    candidates = {letter: candidate_values(given, letter, endpoints, ports) for letter in given}
    fits = partial(is_feasible, endpoints=endpoints, ports=ports)
    return nearest_that_fits(given, broke, candidates, fits) or "remove p, a, h and g"


def nearest_that_fits(
    given: Mapping[str, int], broke: str, candidates: Mapping[str, Iterable[int]], fits: Callable[..., bool]
) -> str | None:
    """Return the nearest value, first of the violated number, that fits with the others given; None without any."""
    for letter in (broke, *(letter for letter in given if letter != broke)):
        value = given[letter]
        fitting = [number for number in candidates[letter] if number != value and fits({**given, letter: number})]
        if fitting:
            return f"`{letter}: {min(fitting, key=lambda number: (abs(number - value), number))}` works"
    return None


def candidate_values(
    given: Mapping[str, int], letter: str, endpoints: int, ports: tuple[int, int, int, int]
) -> Iterable[int]:
    """Return the possible values of a number: within the ports of a router; groups from the demand to the maximum.

    The fewest and the most groups represent all between them.
    """
    if letter != "g":
        return range(1, ports[0] + 1)
    p, a, h, _ = fill_in_numbers(given, endpoints)
    return ceil(endpoints / (a * p)), a * h + 1


# formulas -----------------------------------------------------------------------------------------------------------
# The arithmetic of a dragonfly, after Kim, Dally, Scott and Abts, ISCA 2008.

SOURCE = "Kim, Dally, Scott and Abts, ISCA 2008, section 3.1: balanced is a = 2p = 2h"


@formula("endpoints", source=SOURCE)
def smallest_balanced(endpoints: int, groups: int, radix: int, local_radix: int, global_radix: int, cages: int) -> int:
    """Endpoints per router of the balanced dragonfly with the fewest routers; `groups` as set in the plan."""
    return best_balanced(endpoints, groups, radix, local_radix, global_radix, cages)


@formula("links", source=SOURCE)
def global_of_group(a: int) -> int:
    """Global links per router, from the routers per group: a = 2h."""
    return max(a // 2, 1)


@formula("links", source=SOURCE)
def global_of_endpoints(p: int) -> int:
    """Global links per router, from its endpoints: p = h."""
    return p


@formula("endpoints", source=SOURCE)
def endpoints_of_global(h: int) -> int:
    """Endpoints per router, from its global links: p = h."""
    return h


@formula("switches", source=SOURCE)
def routers_of_group(p: int, h: int) -> int:
    """Routers per group: a = 2p = 2h."""
    return 2 * max(p, h)


@formula("groups")
def groups_for(endpoints: int, a: int, p: int) -> int:
    """Groups needed for the endpoints."""
    return ceil(endpoints / (a * p))


@formula("links")
def links_between(a: int, h: int, g: int) -> int:
    """Global links between each pair of groups, the same whole number for every pair."""
    return a * h // (g - 1) if g > 1 else 0


large_groups = difference("large_groups", "groups", "g", "small_groups")
"""Number of large groups."""


@formula("links")
def links_between_large(a: int, h: int, large: int, small_groups: int, to_small: int) -> int:
    """Global links between each pair of large groups: the same whole number, after the links to small groups."""
    return (a * h - small_groups * to_small) // (large - 1) if large > 1 else 0


@formula("ports")
def global_ports_of_large(links_between: int, large: int, to_small: int, small_groups: int) -> int:
    """Global ports in use per large group."""
    return links_between * (large - 1) + to_small * small_groups


@formula("links")
def links_of_small(to_small: int, small_groups: int, large: int) -> int:
    """Global links between small groups, and from small to large groups."""
    return to_small * (small_groups * (small_groups - 1) // 2 + small_groups * large)


all_routers = sum_of("all_routers", "switches", "routers", "more_routers")
"""Routers of large and small groups."""
all_links = sum_of("all_links", "links", "links", "more_links")
"""Links of large and small groups."""
most_ports = maximum("most_ports", "ports", "ports", "other_ports")
"""Ports in use on the router with the most."""
endpoints_held = minimum("endpoints_held", "endpoints", "endpoints", "room")
"""Endpoints in the large groups, which are filled first."""
endpoints_left = difference("endpoints_left", "endpoints", "endpoints", "held")
"""Endpoints in the small groups."""


unknown_bound = constant("unknown_bound", "Gb/s", 0)
"""Bisection bound of a dragonfly with groups of unequal size, for which none is known."""


@formula("ports")
def global_ports_of_group(links_between: int, g: int) -> int:
    """Global ports in use per group."""
    return links_between * (g - 1)


global_ports = ceil_div("global_ports", "ports", "group_ports", "a")
"""Most global ports in use on a router of a group."""
fewer_global_ports = floor_div("fewer_global_ports", "ports", "group_ports", "a")
"""Global ports in use on the other routers of a group."""


@formula("switches")
def routers_with_more(group_ports: int, a: int) -> int:
    """Routers of a group with one global link more than the others; all routers if they are equal."""
    return group_ports % a or a


@formula("ports")
def local_ports(a: int) -> int:
    """Links per router to the other routers of its group."""
    return a - 1


ports_to_routers = sum_of("ports_to_routers", "ports", "local_ports", "global_ports")
"""Links per router to other routers, local and global."""
routers = product("routers", "switches", "a", "g")
"""Routers of all groups."""


@formula("links")
def local_links(a: int, g: int) -> int:
    """Links inside all groups, one between each pair of routers of a group."""
    return a * (a - 1) // 2 * g


@formula("links")
def global_links(links_between: int, g: int) -> int:
    """Links between groups, the same number for each pair."""
    return links_between * (g * (g - 1) // 2)


@formula("switches")
def routers_in_row(first: int, last: int, a: int, longer: int) -> int:
    """Routers numbered `first` to `last` - 1 that are among the first `longer` routers of their group."""
    return last // a * longer + min(last % a, longer) - first // a * longer - min(first % a, longer)


@formula("switches")
def others_in_row(first: int, last: int, more: int) -> int:
    """Remaining routers in that range."""
    return last - first - more


full_routers = floor_div("full_routers", "switches", "endpoints", "p")
"""Routers with all endpoint ports in use."""
routers_in_use = ceil_div("routers_in_use", "switches", "endpoints", "p")
"""Routers with an endpoint."""


zero = constant("zero", "switches", 0)
"""Index of the first router."""


@formula("ports")
def rest_of_endpoints(endpoints: int, p: int) -> int:
    """Endpoints of the partly filled router."""
    return endpoints % p


zero_endpoints = constant("zero_endpoints", "ports", 0)
"""Endpoints of a router without endpoints."""


@formula("switches")
def switches_on_the_way(a: int, g: int) -> int:
    """Switches on the longest minimal route: source, exit of its group, entry to the other group, destination."""
    return min(a, 2) * min(g, 2)


@formula("endpoints", source="Kim, Dally, Scott and Abts, ISCA 2008, section 3.1: N = a p (a h + 1)")
def largest_of(p: int, a: int, h: int) -> int:
    """Endpoints when every global port connects to a different group."""
    return a * p * (a * h + 1)


@formula("endpoints", source="Kim, Dally, Scott and Abts, ISCA 2008, section 3.1: N = a p (a h + 1)")
def largest_balanced(radix: int, local_radix: int, global_radix: int, cages: int) -> int:
    """Endpoints of the largest balanced dragonfly of a switch model."""
    return capacity(most_balanced(radix, local_radix, global_radix, cages))


@formula("ports")
def ports_for_endpoints(
    radix: int, local_radix: int, global_radix: int, cages: int, local_ports: int, global_ports: int
) -> int:
    """Endpoint ports per router: those not used for links to other routers."""
    return ports_left_for_endpoints(radix, local_radix, global_radix, cages, local_ports, global_ports)


ports_of_routers = product("ports_of_routers", "ports", "switches", "ports")
"""Endpoint ports of equal routers."""
ports_of_all = sum_of("ports_of_all", "ports", "ports", "more_ports")
"""Endpoint ports of routers with different numbers of links to other routers."""
free_ports = difference("free_ports", "ports", "ports", "endpoints")
"""Unused endpoint ports."""


@formula("ports")
def room_to_grow(switches: int, p: int, endpoints: int) -> int:
    """Unused endpoint ports of all routers."""
    return switches * p - endpoints


@formula("ratio")
def ratio_of_group(a: int, p: int, endpoint_gbps: int, group_ports: int, global_gbps: int) -> Fraction:
    """Endpoint bandwidth of a full group divided by the bandwidth of its global links."""
    return Fraction(a * p * endpoint_gbps) / (group_ports * global_gbps)


@formula(
    "Gb/s", source="a flow that every even attachment of the global links carries; routers share out what they pass on"
)
def bisection_at_least(
    nic_ports: int,
    p: int,
    a: int,
    global_ports: int,
    links_between: int,
    endpoint_gbps: int,
    local_gbps: int,
    global_gbps: int,
) -> Fraction:
    """Lower bound on the maximum flow between the first and the second half of the NIC ports.

    It holds for every way to attach the global links of a group to its routers. It is exact if the halves consist of
    whole, full groups and the local links of a router carry the traffic of its global links (a * local >= h * global).
    """
    return flow_at_least(nic_ports, p, a, global_ports, links_between, endpoint_gbps, local_gbps, global_gbps)

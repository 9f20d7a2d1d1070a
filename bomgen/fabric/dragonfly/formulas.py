"""The arithmetic of a dragonfly, after Kim, Dally, Scott and Abts, ISCA 2008."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from bomgen.core.provenance import formula
from bomgen.fabric.dragonfly.flow import flow_at_least
from bomgen.fabric.dragonfly.search import best_balanced, capacity, most_balanced, ports_left_for_endpoints

SOURCE = "Kim, Dally, Scott and Abts, ISCA 2008, section 3.1: balanced is a = 2p = 2h"


@formula("endpoints", source=SOURCE)
def smallest_balanced(endpoints: int, groups: int, radix: int, local_radix: int, global_radix: int, cages: int) -> int:
    """Endpoints a router of the balanced dragonfly with the fewest routers; `groups` are those the plan fixes."""
    return best_balanced(endpoints, groups, radix, local_radix, global_radix, cages)


@formula("links", source=SOURCE)
def global_of_group(a: int) -> int:
    """Global links a router, from the routers of a group: a = 2h."""
    return max(a // 2, 1)


@formula("links", source=SOURCE)
def global_of_endpoints(p: int) -> int:
    """Global links a router, from its endpoints: p = h."""
    return p


@formula("endpoints", source=SOURCE)
def endpoints_of_global(h: int) -> int:
    """Endpoints a router, from its global links: p = h."""
    return h


@formula("switches", source=SOURCE)
def routers_of_group(p: int, h: int) -> int:
    """Routers a group: a = 2p = 2h."""
    return 2 * max(p, h)


@formula("groups")
def groups_for(endpoints: int, a: int, p: int) -> int:
    """Groups that hold the endpoints."""
    return ceil(endpoints / (a * p))


@formula("links")
def links_between(a: int, h: int, g: int) -> int:
    """Global links between two groups: the same whole number for every pair."""
    return a * h // (g - 1) if g > 1 else 0


@formula("groups")
def large_groups(g: int, small_groups: int) -> int:
    """The groups before the small ones."""
    return g - small_groups


@formula("links")
def links_between_large(a: int, h: int, large: int, small_groups: int, to_small: int) -> int:
    """Global links between two large groups: the same whole number for every pair, of what the small ones leave."""
    return (a * h - small_groups * to_small) // (large - 1) if large > 1 else 0


@formula("ports")
def global_ports_of_large(links_between: int, large: int, to_small: int, small_groups: int) -> int:
    """Global ports that a large group uses."""
    return links_between * (large - 1) + to_small * small_groups


@formula("links")
def links_of_small(to_small: int, small_groups: int, large: int) -> int:
    """Global links of the small groups, with each other and with all others."""
    return to_small * (small_groups * (small_groups - 1) // 2 + small_groups * large)


@formula("switches")
def all_routers(routers: int, more_routers: int) -> int:
    """Routers of large and of small groups."""
    return routers + more_routers


@formula("links")
def all_links(links: int, more_links: int) -> int:
    """Links of large and of small groups."""
    return links + more_links


@formula("ports")
def most_ports(ports: int, other_ports: int) -> int:
    """Ports of the router that has most of them."""
    return max(ports, other_ports)


@formula("endpoints")
def endpoints_held(endpoints: int, room: int) -> int:
    """Endpoints on the large groups, which are filled first."""
    return min(endpoints, room)


@formula("endpoints")
def endpoints_left(endpoints: int, held: int) -> int:
    """Endpoints on the small groups."""
    return endpoints - held


@formula("Gb/s")
def unknown_bound() -> int:
    """No bound is known where servers are on groups of unequal size."""
    return 0


@formula("ports")
def global_ports_of_group(links_between: int, g: int) -> int:
    """Global ports that a group uses."""
    return links_between * (g - 1)


@formula("ports")
def global_ports(group_ports: int, a: int) -> int:
    """Global ports in use on the router of a group that has most of them."""
    return ceil(group_ports / a)


@formula("ports")
def fewer_global_ports(group_ports: int, a: int) -> int:
    """Global ports in use on the other routers of a group."""
    return group_ports // a


@formula("switches")
def routers_with_more(group_ports: int, a: int) -> int:
    """Routers of a group with one global link more than the others; all when they do not differ."""
    return group_ports % a or a


@formula("ports")
def local_ports(a: int) -> int:
    """Links of a router to the others of its group."""
    return a - 1


@formula("ports")
def ports_to_routers(local_ports: int, global_ports: int) -> int:
    """Links of a router to others, inside its group and outside."""
    return local_ports + global_ports


@formula("switches")
def routers(a: int, g: int) -> int:
    """Routers of all groups."""
    return a * g


@formula("links")
def local_links(a: int, g: int) -> int:
    """Links inside all groups: one between every two routers of a group."""
    return a * (a - 1) // 2 * g


@formula("links")
def global_links(links_between: int, g: int) -> int:
    """Links between groups: as many for every pair."""
    return links_between * (g * (g - 1) // 2)


@formula("switches")
def routers_in_row(first: int, last: int, a: int, longer: int) -> int:
    """Of the routers from `first` to before `last`, in order, those among the first `longer` of their group."""
    return last // a * longer + min(last % a, longer) - first // a * longer - min(first % a, longer)


@formula("switches")
def others_in_row(first: int, last: int, more: int) -> int:
    """The other routers of that row."""
    return last - first - more


@formula("switches")
def full_routers(endpoints: int, p: int) -> int:
    """Routers whose every port for an endpoint is in use."""
    return endpoints // p


@formula("switches")
def routers_in_use(endpoints: int, p: int) -> int:
    """Routers with an endpoint."""
    return ceil(endpoints / p)


@formula("switches")
def zero() -> int:
    """The first of all routers."""
    return 0


@formula("ports")
def rest_of_endpoints(endpoints: int, p: int) -> int:
    """Endpoints of the router that is partly filled."""
    return endpoints % p


@formula("ports")
def zero_endpoints() -> int:
    """Endpoints of a router that nobody is plugged into."""
    return 0


@formula("switches")
def switches_on_the_way(a: int, g: int) -> int:
    """Switches of the longest minimal route: source, exit of its group, entry into the other, destination."""
    return min(a, 2) * min(g, 2)


@formula("endpoints", source="Kim, Dally, Scott and Abts, ISCA 2008, section 3.1: N = a p (a h + 1)")
def largest_of(p: int, a: int, h: int) -> int:
    """Endpoints when every global port leads to a group of its own."""
    return a * p * (a * h + 1)


@formula("endpoints", source="Kim, Dally, Scott and Abts, ISCA 2008, section 3.1: N = a p (a h + 1)")
def largest_balanced(radix: int, local_radix: int, global_radix: int, cages: int) -> int:
    """Endpoints of the largest balanced dragonfly of a switch."""
    return capacity(most_balanced(radix, local_radix, global_radix, cages))


@formula("ports")
def ports_for_endpoints(
    radix: int, local_radix: int, global_radix: int, cages: int, local_ports: int, global_ports: int
) -> int:
    """Ports of a router that its links to other routers leave to endpoints."""
    return ports_left_for_endpoints(radix, local_radix, global_radix, cages, local_ports, global_ports)


@formula("ports")
def ports_of_routers(switches: int, ports: int) -> int:
    """Ports of equal routers that endpoints may have."""
    return switches * ports


@formula("ports")
def ports_of_all(ports: int, more_ports: int) -> int:
    """Ports that endpoints may have of routers with unequal links between them."""
    return ports + more_ports


@formula("ports")
def free_ports(ports: int, endpoints: int) -> int:
    """Ports that endpoints may have and that none is plugged into."""
    return ports - endpoints


@formula("ports")
def room_to_grow(switches: int, p: int, endpoints: int) -> int:
    """Endpoint ports of all routers that no endpoint is plugged into."""
    return switches * p - endpoints


@formula("ratio")
def ratio_of_group(a: int, p: int, endpoint_gbps: int, group_ports: int, global_gbps: int) -> Fraction:
    """Bandwidth of the endpoints of a full group over that of its global links."""
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
    """A bound from below on the max-flow between the first and the second half of the NIC ports.

    It holds for every way to attach the global links of a group to its routers. Where the halves are whole, full groups
    and the local links of a router carry what its global ones do (a local >= h global), it is the max-flow itself.
    """
    return flow_at_least(nic_ports, p, a, global_ports, links_between, endpoint_gbps, local_gbps, global_gbps)

"""The arithmetic of folded Clos fabrics: ports, even spread, pods and bisection.

Even spread: the switches above n switches of u uplinks each are the smallest divisor s of u with n (u / s) of their
ports facing down, so that every switch has the same whole number of links to each switch above it. With two and three
tiers of one switch at 1:1 this gives the fat trees of Leiserson 1985 and Al-Fares et al. 2008 (P^2 / 2 and P^3 / 4
endpoints), and the odd numbers of published reference designs.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import ceil, isqrt

from bomgen.figures import Figure, formula
from bomgen.parts import PortGroup, Switch
from bomgen.problems import Infeasible

MAX_LANES = 8
"""A port is split into at most eight links: the lanes of the widest cages (OSFP, QSFP-DD)."""


def serves(group: PortGroup, rate: Figure) -> bool:
    """Whether ports of a group can carry links of a rate, whole or split."""
    return bool(rate.value <= group.port_gbps.value <= rate.value * MAX_LANES)


def radix(switch: Switch, rate: Figure) -> Figure:
    """The ports that a switch has at a link rate.

    Raises Infeasible when it has none.
    """
    found: Figure | None = None
    for group in switch.groups:
        if serves(group, rate):
            ports = group_radix(group, rate)
            found = ports if found is None else sum_of_ports(found, ports)
    if found is None:
        fastest = max(group.port_gbps.value for group in switch.groups)
        message = f"{switch.identity.name} has no port for links of {rate.value} Gb/s; its fastest carry {fastest} Gb/s"
        raise Infeasible(message, because=rate, rule="no-port")
    return found


def group_radix(group: PortGroup, rate: Figure) -> Figure:
    """The links that the ports of one group carry at a rate."""
    mode = group.modes.get(int(rate.value))
    if mode is not None:
        return mode
    if group.split.value == 1 or group.port_gbps.value == rate.value:
        return group.ports
    return ports_when_split(group.ports, group.split, group.port_gbps, rate)


def links_per_cage(group: PortGroup, rate: Figure) -> int:
    """The links of a rate that one cage of a group carries."""
    cages = Fraction(group.ports.value, group.ports_per_cage.value)
    return int(group_radix(group, rate).value / cages)


@formula("ports")
def ports_when_split(ports: int, split: int, port_gbps: int, link_gbps: int) -> int:
    """Links of a switch whose ports are split as far as the rate allows."""
    return ports * min(split, port_gbps // link_gbps)


@formula("ports")
def sum_of_ports(ports: int, more_ports: int) -> int:
    """Ports of two groups of a switch."""
    return ports + more_ports


def shared_cages(switch: Switch, down_gbps: Figure, up_gbps: Figure) -> Figure | None:
    """The cages whose ports carry links down or up as wanted; None when each kind has ports of its own.

    Where only some groups of a switch carry both, the kinds are kept apart: fewer ports, but never too many.
    """
    shared = [group for group in switch.groups if serves(group, down_gbps) and serves(group, up_gbps)]
    if not shared:
        return None
    group = shared[0]
    return cages_of(group.ports, group.ports_per_cage)


@formula("cages")
def cages_of(ports: int, ports_per_cage: int) -> int:
    """Cages of a switch."""
    return ports // ports_per_cage


@formula("ports")
def ports_left(radix: int, up: int) -> int:
    """Ports that face down when the others face up."""
    return radix - up


@formula("ports")
def up_ports(radix: int, oversubscription: Fraction) -> int:
    """The fewest ports facing up that keep the ratio when all others face down."""
    return ceil(radix / (1 + oversubscription))


@formula("ports")
def up_ports_for(down: int, down_gbps: int, up_gbps: int, oversubscription: Fraction) -> int:
    """The fewest links up whose bandwidth keeps the ratio to the links down."""
    return ceil(Fraction(down * down_gbps) / (oversubscription * up_gbps))


@formula("endpoints")
def nic_endpoints(servers: int, ports_per_server: int) -> int:
    """NIC ports of the servers."""
    return servers * ports_per_server


@formula("endpoints")
def endpoints_with_reserved(nic_ports: int, reserved_ports: int) -> int:
    """NIC ports and the ports kept free for others."""
    return nic_ports + reserved_ports


@formula("ports")
def ports_of_servers(servers: int, ports_per_server: int) -> int:
    """Ports facing down of a leaf that serves a fixed number of servers."""
    return servers * ports_per_server


@formula("switches")
def leaves(nic_ports: int, down: int) -> int:
    """Endpoints fill leaf after leaf."""
    return ceil(nic_ports / down)


@formula("switches")
def leaves_with_reserved(nic_ports: int, down: int, reserved_ports: int) -> int:
    """Leaves for NIC ports and reserved ports, where spines have no free port for the reserved ones either."""
    return ceil((nic_ports + reserved_ports) / down)


@formula("switches", source="even spread: smallest divisor of the uplinks that reaches every switch below")
def even_spread(below: int, uplinks: int, ports: int) -> int:
    """The fewest switches above `below` switches of `uplinks` each, with `ports` of their own facing down."""
    return smallest_spread(below, uplinks, ports)


def smallest_spread(below: int, uplinks: int, ports: int) -> int:
    """The smallest divisor s of `uplinks` with below (uplinks / s) <= ports; 0 when there is none."""
    return next((s for s in divisors(uplinks) if below * (uplinks // s) <= ports), 0)


@cache
def divisors(number: int) -> list[int]:
    """The divisors of a positive number, ascending."""
    small = [d for d in range(1, isqrt(number) + 1) if number % d == 0]
    return small + [number // d for d in reversed(small) if d * d != number]


@formula("links")
def links_up(switches: int, up: int) -> int:
    """Links of a tier to the tier above."""
    return switches * up


@formula("ports")
def ports_down(below: int, up: int, switches: int) -> int:
    """Ports that each switch uses towards the switches below it."""
    return below * up // switches


@formula("pods")
def pods(leaves: int, pod_leaves: int) -> int:
    """Groups of leaves with spines of their own, none larger than their spines can reach."""
    return ceil(leaves / pod_leaves)


@formula("switches")
def leaves_of_largest_pod(leaves: int, pods: int) -> int:
    """Leaves of a pod when all pods are as equal as can be."""
    return ceil(leaves / pods)


@formula("ports")
def half(radix: int) -> int:
    """Ports of a spine that face down in three tiers."""
    return radix // 2


@formula("switches")
def switches_of_pods(pods: int, per_pod: int) -> int:
    """Switches of a tier over all pods."""
    return pods * per_pod


@formula("links")
def uplinks_of_pod(per_pod: int, up: int) -> int:
    """Links from a pod to the core."""
    return per_pod * up


@formula("switches")
def switches_on_the_way(tiers: int) -> int:
    """Switches between the farthest endpoints: up through all tiers and down again, the topmost once."""
    return 2 * tiers - 1


@formula("switches")
def sum_of_switches(switches: int, more_switches: int) -> int:
    """Switches of all tiers."""
    return switches + more_switches


@formula("ratio")
def ratio_built(down: int, down_gbps: int, up: int, up_gbps: int) -> Fraction:
    """Bandwidth below over bandwidth above on a fully connected switch."""
    return Fraction(down * down_gbps) / (up * up_gbps)


@formula("Gb/s", source="max-flow of the tree that even spread makes of the fabric")
def bisection_of_leaves(
    nic_ports: int, leaves: int, down: int, down_gbps: int, up: int, last_up: int, up_gbps: int
) -> Fraction:
    """Max-flow between the first and the second half of the NIC ports: switched in a shared leaf, else over spines."""
    return flow_between_halves(nic_ports, leaves, down, down_gbps, up * up_gbps, last_up * up_gbps)


@formula("Gb/s", source="max-flow of the tree that even spread makes of the fabric")
def bisection_of_pods(
    nic_ports: int,
    leaves: int,
    down: int,
    down_gbps: int,
    up: int,
    last_up: int,
    up_gbps: int,
    pods: int,
    pod_gbps: int,
) -> Fraction:
    """Max-flow between the two halves of the NIC ports: in a leaf, in a pod, else over the core."""
    return flow_between_halves(
        nic_ports, leaves, down, down_gbps, up * up_gbps, last_up * up_gbps, pod_sizes(leaves, pods), pod_gbps
    )


@formula("Gb/s")
def bandwidth(links: int, link_gbps: int) -> int:
    """Bandwidth of equal links."""
    return links * link_gbps


@formula("Gb/s")
def bisection_of_switch(nic_ports: int, link_gbps: int) -> int:
    """One switch: every endpoint of the smaller half sends at full rate."""
    return nic_ports // 2 * link_gbps


@formula("Gb/s")
def no_bisection() -> int:
    """Pods without a core reach nobody outside."""
    return 0


def pod_sizes(leaves: int, pods: int) -> list[int]:
    """Leaves of each pod, as equal as can be, larger ones first."""
    size, larger = divmod(leaves, pods)
    return [size + 1] * larger + [size] * (pods - larger)


def flow_between_halves(
    nic_ports: int,
    leaves: int,
    down: int,
    down_gbps: int,
    leaf_gbps: int,
    last_leaf_gbps: int,
    sizes: list[int] | None = None,
    pod_gbps: int | None = None,
) -> Fraction:
    """Max-flow between the first and second half of endpoints that fill leaves of `down` ports in order [Gb/s].

    Even spread loads all paths between two switches alike, so that the fabric carries what a tree with a leaf's and a
    pod's summed up-links carries; in a tree, what can meet lower down does.
    """
    middle = nic_ports // 2
    count = ceil(nic_ports / down)
    total = Fraction(0)
    first_up = second_up = Fraction(0)
    position = 0
    for size in sizes or [count]:
        pod_first = pod_second = Fraction(0)
        for leaf in range(position, min(position + size, count)):
            start, end = leaf * down, min((leaf + 1) * down, nic_ports)
            first = Fraction(max(min(end, middle) - start, 0) * down_gbps)
            second = Fraction(max(end - max(start, middle), 0) * down_gbps)
            inside = min(first, second)
            total += inside
            above = Fraction(leaf_gbps if leaf < leaves - 1 else last_leaf_gbps)
            pod_first += min(first - inside, above)
            pod_second += min(second - inside, above)
        position += size
        if pod_gbps is None:
            first_up, second_up = pod_first, pod_second
        else:
            met = min(pod_first, pod_second)
            total += met
            first_up += min(pod_first - met, Fraction(pod_gbps))
            second_up += min(pod_second - met, Fraction(pod_gbps))
    return total + min(first_up, second_up)

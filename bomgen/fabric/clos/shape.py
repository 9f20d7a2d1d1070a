"""A demand and the shape of a folded Clos in plain numbers, and their arithmetic."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import cache
from math import isqrt
from typing import NamedTuple

from bomgen.core.messages import message
from bomgen.core.provenance import constant, formula, product, sum_of
from bomgen.fabric.ports import SharedCages

AUTO, WHOLE, SPLIT = 0, 1, 2
"""Whether the ports of a server may connect to several leaves: by the number of its ports, no, or yes."""


class PlainDemand(NamedTuple):
    """A demand in plain numbers, for the search for the smallest fabric; 0 means not fixed."""

    tiers: int
    nic_ports: int
    host_ports: int
    reserved_ports: int
    rails: int
    """Ports of a server on separate leaves; 1 where leaves are filled one after the other."""
    unit: int
    """Ports of servers on a leaf of a full unit; 0: as many as its downlinks."""
    down_gbps: int
    up_gbps: int
    core_gbps: int
    oversubscription: Fraction
    spine_oversubscription: Fraction
    radix: int
    up_radix: int
    cages: int | SharedCages
    """Cages shared by downlinks and uplinks; 0 when each kind has separate ports."""
    spine_radix: int
    spine_up_radix: int
    spine_cages: int | SharedCages
    core_radix: int
    leaf_down: int
    leaf_up: int
    pod_leaves: int
    spine_count: int
    spines_per_pod: int
    spine_down: int
    spine_up: int
    core_count: int
    ports_per_server: int = 1
    exact: int = 0
    """1: ports may be idle, and there are as many uplinks as the ports in use need."""
    ports_per_cage: int = 1
    """Ports per cage of a leaf, at the rate of its links; 1 where downlinks and uplinks share no cage."""
    rails_per_leaf: int = 0
    """Rails per leaf; 0: as many as give the lowest switch count."""
    split_servers: int = 0
    """Whether the ports of a server may connect to several leaves: AUTO, WHOLE or SPLIT."""
    pods_hold_all_rails: int = 0
    """1: a pod has leaves of every rail; 0: of one."""

    def __str__(self) -> str:
        endpoints = self.nic_ports + self.host_ports + self.reserved_ports
        if self.rails > 1:
            return message("endpoints-in-rails", endpoints=endpoints, tiers=self.tiers, rails=self.rails)
        return message("endpoints-in-tiers", endpoints=endpoints, tiers=self.tiers)

    def rows_of_pod(self, rails_per_leaf: int) -> int:
        """Return the rows of leaves that are in a pod together, for a number of rails per leaf."""
        return self.rails // rails_per_leaf if self.pods_hold_all_rails else 1


class ClosShape(NamedTuple):
    """A candidate in plain numbers; spines and their uplinks are those of one pod, pods those of all rails."""

    down: int
    up: int
    leaves: int
    pods: int
    spines: int
    spine_up: int
    cores: int
    rails_per_leaf: int = 1

    def __str__(self) -> str:
        counts = {"leaves": self.leaves, "down": self.down, "up": self.up, "spines": self.pods * self.spines}
        return message("clos-three", cores=self.cores, **counts) if self.cores else message("clos-two", **counts)

    @property
    def switches(self) -> int:
        """Switch count: leaves, spines and cores."""
        return self.leaves + self.pods * self.spines + self.cores

    @property
    def links(self) -> int:
        """Links between switches."""
        return self.leaves * self.up + self.pods * self.spines * self.spine_up


class Steps:
    """The limited steps of one search, which ends with the best shape found when they are used up."""

    def __init__(self, most: int) -> None:
        self.most, self.done = most, 0

    def over(self) -> bool:
        """Count one step; return whether none is left."""
        self.done += 1
        return self.done > self.most


# formulas -----------------------------------------------------------------------------------------------------------
# The arithmetic of folded Clos fabrics beside their counts: free ports, links and bisection.

nic_endpoints = product("nic_endpoints", "endpoints", "servers", "ports_per_server")
"""NIC ports of the servers."""
nic_and_host_endpoints = sum_of("nic_and_host_endpoints", "endpoints", "nic_ports", "host_ports")
"""NIC ports of the servers and ports of other hosts."""
endpoints_with_reserved = sum_of("endpoints_with_reserved", "endpoints", "attached", "reserved_ports")
"""Endpoints, including ports reserved for later use."""
ports_of_servers = product("ports_of_servers", "ports", "servers", "ports_per_server")
"""Downlink ports of a leaf that serves a fixed number of servers."""


@formula("ports")
def free_ports(switches: int, ports: int, used: int) -> int:
    """Unused ports of all switches of a tier."""
    return switches * ports - used


@formula("ports")
def free_of_links(switches: int, ports: int, links: int) -> int:
    """Ports of a tier that are not connected to the tier below."""
    return switches * ports - links


@formula("ports")
def free_ports_less_reserved(switches: int, ports: int, links: int, reserved_above: int) -> int:
    """Ports of a tier that are neither connected to the tier below nor reserved."""
    return switches * ports - links - reserved_above


@formula("ports")
def free_of_endpoints(switches: int, radix: int, endpoints: int) -> int:
    """Ports of a single-tier fabric without an endpoint."""
    return switches * radix - endpoints


def round_up_to_divisor(quotient: int | Fraction, number: int) -> int:
    """Return the smallest divisor of `number` that is at least `quotient`; 0 when there is none."""
    found = divisors(number)
    place = bisect_left(found, quotient)
    return found[place] if place < len(found) else 0


@cache
def divisors(number: int) -> list[int]:
    """Return the divisors of a positive number, ascending."""
    small = [d for d in range(1, isqrt(number) + 1) if number % d == 0]
    return small + [number // d for d in reversed(small) if d * d != number]


links_up = product("links_up", "links", "switches", "up")
"""Uplinks of a tier."""


@formula("ports")
def ports_down(below: int, up: int, switches: int) -> int:
    """Downlink ports in use per switch."""
    return below * up // switches


@formula("switches")
def switches_on_the_way(tiers: int) -> int:
    """Switches between the farthest endpoints: each tier twice, except the topmost."""
    return 2 * tiers - 1


sum_of_switches = sum_of("sum_of_switches", "switches", "switches", "more_switches")
"""Switches of all tiers."""


@formula("ratio")
def ratio_built(down: int, down_gbps: int, up: int, up_gbps: int) -> Fraction:
    """Downlink bandwidth divided by uplink bandwidth of a fully connected switch."""
    return Fraction(down * down_gbps) / (up * up_gbps)


bandwidth = product("bandwidth", "Gb/s", "links", "link_gbps")
"""Total bandwidth of equal links."""


@formula("Gb/s")
def bisection_of_switch(nic_ports: int, link_gbps: int) -> int:
    """Bisection bandwidth of a single switch: each endpoint of the smaller half sends at full rate."""
    return nic_ports // 2 * link_gbps


zero_bisection = constant("zero_bisection", "Gb/s", 0)
"""Bisection bandwidth of pods without a core, which are not connected to each other."""

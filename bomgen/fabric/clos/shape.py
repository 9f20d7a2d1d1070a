"""The demand on the search for a folded Clos, in figures and in plain numbers, and the shape that it finds."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import cache
from math import isqrt
from typing import Any, NamedTuple

from bomgen.core.messages import message
from bomgen.core.provenance import Figure, constant, formula, product
from bomgen.fabric.occupancy import UNSET, nic_endpoints
from bomgen.fabric.ports import SharedCages, largest_group, radix, shared_cages
from bomgen.fabric.types import LINK_KINDS, Demand

MAX_TIERS = 3
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


# demands ------------------------------------------------------------------------------------------------------------
# A demand as the input of the search.

one_rail_for_all = constant("one_rail_for_all", "rails", 1)
"""One rail: leaves are filled one after the other, regardless of the rail of a port."""
ports_may_idle = constant("ports_may_idle", "count", 1)
"""Build-out without unused links: ports of switches may remain unused."""
divided_servers = constant("divided_servers", "count", SPLIT)
"""The ports of a server may connect to several leaves."""
whole_servers = constant("whole_servers", "count", WHOLE)
"""The ports of a server connect to one leaf."""
two_tiers = constant("two_tiers", "tiers", 2)
"""Tiers of leaves and spines."""
three_tiers = constant("three_tiers", "tiers", MAX_TIERS)
"""Tiers of leaves, spines and cores."""
ONE_RAIL = one_rail_for_all()
ALL_RAILS = "all"
"""The word for pods that hold leaves of every rail."""
ports_of_servers = product("ports_of_servers", "ports", "servers", "ports_per_server")
"""Downlink ports of a leaf that serves a fixed number of servers."""


@formula("count")
def pods_of_all_rails(pod_rails: str) -> int:
    """Whether a pod contains leaves of every rail, so that rails are connected below the core."""
    return 1 if pod_rails == ALL_RAILS else 0


def search_figures(demand: Demand, tiers: int, rails: Figure | None = None) -> PlainDemand:
    """Return the demand of the search as figures; `values_of` gives its numbers.

    `rails` are the ports of a server on separate leaves; None: leaves are filled one after the other.
    """
    down_gbps, up_gbps, core_gbps = (demand.rates[kind.name] for kind in LINK_KINDS)
    leaf, spine, core = demand.leaf, demand.spine, demand.core
    leaf_down, unit = leaf.downlinks, demand.unit if rails else None
    exact = demand.populate_used_ports_only
    if rails:
        unit = unit or leaf.servers
        if unit and not leaf_down and not exact:
            given = demand.rails_per_leaf
            leaf_down = ports_of_servers(unit, given) if given else unit
    elif leaf.servers:
        leaf_down = ports_of_servers(leaf.servers, demand.ports_per_server)
    three = tiers == MAX_TIERS
    found = {
        "tiers": demand.tiers or (two_tiers() if tiers == 2 else three_tiers()),
        "nic_ports": nic_endpoints(demand.servers, demand.ports_per_server),
        "host_ports": demand.host_ports,
        "reserved_ports": demand.reserved_ports,
        "rails": rails or ONE_RAIL,
        "unit": unit,
        "down_gbps": down_gbps,
        "up_gbps": up_gbps,
        "core_gbps": core_gbps,
        "oversubscription": demand.oversubscription,
        "spine_oversubscription": demand.spine_oversubscription,
        "radix": radix(leaf.switch, down_gbps),
        "up_radix": radix(leaf.switch, up_gbps),
        "cages": shared_cages(leaf.switch, down_gbps, up_gbps),
        "spine_radix": radix(spine.switch, up_gbps),
        "spine_up_radix": radix(spine.switch, core_gbps) if three else None,
        "spine_cages": shared_cages(spine.switch, up_gbps, core_gbps) if three else None,
        "core_radix": radix(core.switch, core_gbps) if three else None,
        "leaf_down": leaf_down,
        "leaf_up": leaf.uplinks,
        "pod_leaves": demand.pod_leaves,
        "spine_count": spine.count,
        "spines_per_pod": spine.per_pod,
        "spine_down": spine.downlinks,
        "spine_up": spine.uplinks,
        "core_count": core.count,
        "ports_per_server": demand.ports_per_server,
        "exact": ports_may_idle() if exact else None,
        "ports_per_cage": largest_group(leaf.switch, down_gbps).ports_per_cage
        if down_gbps.value == up_gbps.value
        else ONE_RAIL,
        "rails_per_leaf": demand.rails_per_leaf,
        "pods_hold_all_rails": pods_of_all_rails(demand.pod_rails) if demand.pod_rails and rails else None,
        "split_servers": {None: None, True: divided_servers(), False: whole_servers()}[demand.split_servers],
    }
    figures: dict[str, Any] = {name: UNSET if figure is None else figure for name, figure in found.items()}
    return PlainDemand(**figures)

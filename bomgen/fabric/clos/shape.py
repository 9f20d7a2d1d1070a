"""A demand and the shape of a folded Clos in plain numbers, and their arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from bomgen.core.messages import message
from bomgen.fabric.ports import SharedCages

AUTO, WHOLE, SPLIT = 0, 1, 2
"""Whether the ports of a server may end on several leaves: by the number of its ports, no, or yes."""


class Numbers(NamedTuple):
    """A demand in plain numbers, as the search for the smallest fabric wants it; 0 stands for what is not fixed."""

    tiers: int
    nic_ports: int
    host_ports: int
    reserved_ports: int
    rails: int
    """Ports of a server that have leaves of their own; 1 where leaves are filled one after the other."""
    unit: int
    """Ports of servers on a leaf of a full unit; 0: as many as it has ports down."""
    down_gbps: int
    up_gbps: int
    core_gbps: int
    oversubscription: Fraction
    spine_oversubscription: Fraction
    radix: int
    up_radix: int
    cages: int | SharedCages
    """Cages that links down and up share; 0 when each kind has ports of its own."""
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
    """1: ports may idle, and links up are as many as the ports in use ask."""
    ports_per_cage: int = 1
    """Of a leaf, at the rate of its links; 1 where links down and up share no cage."""
    rails_per_leaf: int = 0
    """Rails that a leaf serves; 0: as many as need the fewest switches."""
    split_servers: int = 0
    """Whether the ports of a server may end on several leaves: AUTO, WHOLE or SPLIT."""
    pods_hold_all_rails: int = 0
    """1: a pod has leaves of every rail; 0: of one."""

    def __str__(self) -> str:
        endpoints = self.nic_ports + self.host_ports + self.reserved_ports
        if self.rails > 1:
            return message("endpoints-in-rails", endpoints=endpoints, tiers=self.tiers, rails=self.rails)
        return message("endpoints-in-tiers", endpoints=endpoints, tiers=self.tiers)

    def rows_of_pod(self, rails_per_leaf: int) -> int:
        """Return the rows of leaves that are in a pod together, where each serves so many rails."""
        return self.rails // rails_per_leaf if self.pods_hold_all_rails else 1


class ClosShape(NamedTuple):
    """A candidate in plain numbers; spines and their up-links are those of one pod, pods those of all rails."""

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
        """Leaves, spines and cores."""
        return self.leaves + self.pods * self.spines + self.cores

    @property
    def links(self) -> int:
        """Links between switches."""
        return self.leaves * self.up + self.pods * self.spines * self.spine_up


class Steps:
    """The steps of one search, of which there are only so many: then what was found is the result."""

    def __init__(self, most: int) -> None:
        self.most, self.done = most, 0

    def over(self) -> bool:
        """Do one more; whether there is none left."""
        self.done += 1
        return self.done > self.most

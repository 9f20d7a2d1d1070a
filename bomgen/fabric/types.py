"""Demands on a topology and the resulting fabrics, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bomgen.catalog.parts import Switch
from bomgen.core.provenance import Figure, require

SERVER = "server"
"""The device at the lower end of the links of endpoints: a server, or without switches a node."""


@dataclass(frozen=True, slots=True)
class TierChoice:
    """The switch of a tier and its values fixed by the plan; None is left to the rules."""

    switch: Switch
    servers: Figure | None = None
    per_pod: Figure | None = None
    count: Figure | None = None
    downlinks: Figure | None = None
    uplinks: Figure | None = None


class Demand(NamedTuple):
    """The demand on one plane of a fabric, and its parts."""

    servers: Figure
    ports_per_server: Figure
    """Endpoints of a server on the plane; in a rail-optimized fabric its rails."""
    host_ports: Figure | None
    """Ports of other attached machines."""
    reserved_ports: Figure | None
    rates: Mapping[str, Figure]
    """Rate of each kind of link that any topology declares [Gb/s], by its name."""
    tiers: Figure | None
    """Switch tiers; None: as few as fit."""
    oversubscription: Figure
    spine_oversubscription: Figure
    leaf: TierChoice
    spine: TierChoice
    core: TierChoice
    pod_leaves: Figure | None
    uplinks: Figure | None
    """Links of each topmost switch into another fabric, at the rate `uplink`."""
    unit: Figure | None
    """Servers whose rails share one set of leaves; None: as many as a leaf has downlinks."""
    populate_used_ports_only: bool
    """Whether only used ports are built out."""
    options: Mapping[str, Figure | tuple[Figure, ...]]
    """The options in the plan under the name of the topology, by the keys of its `OPTIONS`."""
    rails_per_leaf: Figure | None = None
    """Rails per leaf; None: as many as give the lowest switch count."""
    pod_rails: Figure | None = None
    """A word: whether a pod holds the leaves of one rail or of all; None where leaves belong to no rails."""
    split_servers: bool | None = None
    """Whether the ports of a server may connect to several leaves; None: only if it has too many for one in eight."""
    homing: Figure | None = None
    """A word: the distribution of a machine's ports over the switches."""
    peer_links: Figure | None = None
    """Links per pair of switches of a mesh; None: as many as the ratio needs."""


class DirectDemand(NamedTuple):
    """The demand on a topology without switches: nodes that are linked to each other."""

    nodes: Figure
    """Servers, or the chips of pods."""
    rate: Figure
    """Rate of a link, in each direction [Gb/s]."""
    pod: Figure | None
    """Chips of a whole pod; None: the nodes do not come in pods."""
    pod_dimensions: tuple[Figure, ...]
    """Dimensions of a whole pod, where published."""
    options: Mapping[str, Figure | tuple[Figure, ...]]
    """The options in the plan under the name of the topology, by the keys of its `OPTIONS`."""
    ports: Figure | None = None
    """Ports of a server that is cabled to others; None: the links are part of the nodes."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Equal switches of a tier: how many, and the ports populated on each."""

    count: Figure
    down: Figure
    up: Figure | None
    """Ports to other switches: of the tier above, or, for switches linked side by side, of the same tier."""
    local: Figure | None = None
    """Ports inside the group, for switches linked side by side; None: as for all switches with this kind of link."""


@dataclass(frozen=True, slots=True)
class Tier:
    """A tier of equal switches. `down` and `up` are the ports used on a fully connected one."""

    name: str
    switch: Switch
    count: Figure
    radix: Figure
    down: Figure
    up: Figure | None
    fitted: tuple[Fitted, ...]
    oversubscription: Figure | None
    """Bandwidth below over bandwidth above, as built on the fullest switch; None at the top."""


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one kind. `cabled` are those with a cable; reserved ports have none."""

    kind: str
    count: Figure
    cabled: Figure
    rate_gbps: Figure
    ends: tuple[str, str]
    """The devices at its ends, lower end first: `server`, `leaf`, `spine` or `core`; twice the same side by side."""
    ports: Figure | None = None
    """Ports of this kind on a fully connected device, for links between devices of one kind."""
    parallel: Figure | None = None
    """Links between every two connected devices, where the counts of the tiers do not determine it."""

    @property
    def within_tier(self) -> bool:
        """Whether they connect devices of one kind."""
        return self.ends[0] == self.ends[1]


def ports_of(tier: Tier, links: Links) -> int:
    """Return the ports of a kind of link on a fully connected switch of a tier at one of its ends."""
    ports = links.ports if links.within_tier else tier.down if links.ends[1] == tier.name else tier.up
    return int(require(ports, f"{links.kind} links end at a {tier.name}").value)


class Fabric(NamedTuple):
    """A fabric as counts per tier; over all planes, where there are several."""

    topology: str
    endpoints: Figure
    ports_per_server: Figure
    tier_count: Figure
    tiers: tuple[Tier, ...]
    links: tuple[Links, ...]
    switches: Figure
    bisection_gbps: Figure
    hops: Figure | None
    """Switches, or links of a torus, on the shortest path between the farthest endpoints.

    None: the endpoints meet in another fabric.
    """
    largest: Figure | None
    """Endpoints of the largest fabric of as many tiers of the same switches; None: unlimited."""
    free_ports: Mapping[str, Figure]
    """Unused ports by tier, as links to the tier below; also of a core and a top spine."""
    growth: Figure | None = None
    """Endpoints that can be added on the leaves, at the ratio built."""
    homing: Figure | None = None
    """A word: the distribution of a machine's ports over the switches; None: the topology determines it."""
    rails_per_leaf: Figure | None = None
    """Rails per leaf, or ports of a dual-homed machine on it; None: leaves belong to no rails."""
    pods: Figure | None = None
    reserved_above: Figure | None = None
    """Reserved ports on spines because the leaves are full."""
    dimensions: Mapping[str, Figure] = {}
    """Further dimensions of the topology, by name."""
    circuits: Mapping[str, Figure] = {}
    """Optical circuit switches that join blocks: their number (`switches`), ports in use and ends.

    `ports` is the number of ports in use, `ends` that of the optical ends at the blocks.
    """
    uplink_gbps: Figure | None = None
    """Rate of the links of its topmost switches into another fabric; None: there are none."""
    plane: Fabric | None = None
    """One of the equal fabrics side by side; None: there is only this one."""
    planes: Figure | None = None
    """The number of equal fabrics."""
    seats: Figure | None = None
    """The occupancy of one of the equal fabrics: endpoints by leaf; None: there are no switches."""
    exact_bisection: bool = True
    """Whether the bisection is exact; otherwise it is a lower bound."""

    @property
    def pods_hold_all_rails(self) -> bool:
        """Whether a pod has leaves of several rails."""
        return self.seats is not None and self.seats.value.rows_of_pod > 1

    def dimension(self, name: str) -> int:
        """Return the value of a dimension; 0 where the fabric does not have it."""
        return int(self.dimensions[name].value) if name in self.dimensions else 0

    def tier(self, name: str) -> Tier | None:
        """Return the tier with a name, or None."""
        return next((tier for tier in self.tiers if tier.name == name), None)

    def links_of(self, kind: str) -> Links | None:
        """Return the links of a kind, or None."""
        return next((links for links in self.links if links.kind == kind), None)


def tiers_in_words(fabric: Fabric) -> str:
    """Return the switches of every tier: `4 + 2`."""
    return " + ".join(str(tier.count.value) for tier in fabric.tiers)

"""What a topology is asked for and what it answers, as data."""

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
    """The switch of a tier and what the plan fixes of it; None is left to the rules."""

    switch: Switch
    servers: Figure | None = None
    per_pod: Figure | None = None
    count: Figure | None = None
    downlinks: Figure | None = None
    uplinks: Figure | None = None


class Demand(NamedTuple):
    """What one plane of a fabric must carry, and with what."""

    servers: Figure
    ports_per_server: Figure
    """Endpoints of a server on the plane; of a rail-optimized fabric its rails."""
    host_ports: Figure | None
    """Ports of other machines that are attached."""
    reserved_ports: Figure | None
    rates: Mapping[str, Figure]
    """Rate of each kind of link that any topology declares [Gb/s], by its name."""
    tiers: Figure | None
    """None: as few as fit."""
    oversubscription: Figure
    spine_oversubscription: Figure
    leaf: TierChoice
    spine: TierChoice
    core: TierChoice
    pod_leaves: Figure | None
    uplinks: Figure | None
    """Links of each topmost switch into another fabric, at the rate `uplink`."""
    unit: Figure | None
    """Servers whose rails share one set of leaves; None: as many as a leaf has ports down."""
    populate_used_ports_only: bool
    """Build out only what serves somebody."""
    options: Mapping[str, Figure | tuple[Figure, ...]]
    """What the plan says under the name of the topology, by the keys of its `OPTIONS`."""
    rails_per_leaf: Figure | None = None
    """Rails that a leaf serves; None: as many as need the fewest switches."""
    pod_rails: Figure | None = None
    """A word: whether a pod holds the leaves of one rail or of all; None where leaves belong to no rails."""
    split_servers: bool | None = None
    """Whether the ports of a server may end on several leaves; None: where it has too many for one in eight."""
    homing: Figure | None = None
    """A word: how the ports of a machine are dealt out to the switches."""
    peer_links: Figure | None = None
    """Of each pair of switches of a mesh; None: as many as the ratio asks."""


class DirectDemand(NamedTuple):
    """What a topology without switches must join: nodes that are linked to each other."""

    nodes: Figure
    """Servers, or the chips of pods."""
    rate: Figure
    """Of a link, in each direction [Gb/s]."""
    pod: Figure | None
    """Chips of a whole pod; None: the nodes do not come in pods."""
    pod_dimensions: tuple[Figure, ...]
    """Of a whole pod, where they are published."""
    options: Mapping[str, Figure | tuple[Figure, ...]]
    """What the plan says under the name of the topology, by the keys of its `OPTIONS`."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Switches of a tier that are alike: how many, and the ports populated on each."""

    count: Figure
    down: Figure
    up: Figure | None
    """Ports to other switches: of the tier above, or, of switches that are linked side by side, of the same tier."""
    local: Figure | None = None
    """Of those linked side by side: ports inside their group; None: as the kind of link has on all."""


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
    """The devices that they join, lower end first: `server`, `leaf`, `spine` or `core`; twice the same side by side."""
    ports: Figure | None = None
    """Of links between devices of one kind: ports of this kind on a fully connected one."""
    parallel: Figure | None = None
    """How many join every two devices that they join, where that is not what the counts of all tiers say."""

    @property
    def within_tier(self) -> bool:
        """Whether they join devices of one kind with each other."""
        return self.ends[0] == self.ends[1]


def ports_of(tier: Tier, links: Links) -> int:
    """Ports that a kind of link has on a fully connected switch of a tier at one of its ends."""
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
    """Switches, or links of a torus, between the farthest two endpoints on their shortest path; None: they meet in
    another fabric."""
    largest: Figure | None
    """Endpoints of the largest fabric of as many tiers of the same switches; None: nothing limits it."""
    free_ports: Mapping[str, Figure]
    """Ports that nothing is plugged into, by tier, as links to the tier below; of a core and a top spine likewise."""
    growth: Figure | None = None
    """Endpoints that the leaves have room for beside those there are, at the ratio built."""
    homing: Figure | None = None
    """A word: how the ports of a machine are dealt out to the switches; None: its topology says so."""
    rails_per_leaf: Figure | None = None
    """Rails that a leaf serves, or ports of a dual-homed machine on it; None: leaves belong to no rails."""
    pods: Figure | None = None
    reserved_above: Figure | None = None
    """Reserved ports that stand on spines because the leaves are full."""
    dimensions: Mapping[str, Figure] = {}
    """What else describes the shape of the topology, by name."""
    circuits: Mapping[str, Figure] = {}
    """Of a fabric whose blocks are joined by optical circuit switches: these (`switches`), their ports in use (`ports`)
    and the optical ends at the blocks (`ends`)."""
    uplink_gbps: Figure | None = None
    """Rate of the links of its topmost switches into another fabric; None: there are none."""
    plane: Fabric | None = None
    """One of the equal fabrics that stand side by side; None: there is only this one."""
    planes: Figure | None = None
    """How many of them there are."""
    seats: Figure | None = None
    """Which endpoint is on which leaf of one of the equal fabrics (an occupancy); None: there are no switches."""
    exact_bisection: bool = True
    """False: the bisection stated is a bound from below."""

    @property
    def pods_hold_all_rails(self) -> bool:
        """Whether a pod has leaves of several rails."""
        return self.seats is not None and self.seats.value.rows_of_pod > 1

    def tier(self, name: str) -> Tier | None:
        """The tier of that name, or None."""
        return next((tier for tier in self.tiers if tier.name == name), None)

    def links_of(self, kind: str) -> Links | None:
        """The links of that kind, or None."""
        return next((links for links in self.links if links.kind == kind), None)


def tiers_in_words(fabric: Fabric) -> str:
    """The switches of every tier: `4 + 2`."""
    return " + ".join(str(tier.count.value) for tier in fabric.tiers)

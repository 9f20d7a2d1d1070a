"""Demands on a topology, the resulting fabrics, and the declarations of topologies with their registry.

A topology is one module of `topologies/` with a `TOPOLOGY`, a record of this module. All other code takes tiers and
kinds of link from these records: the keys of `links:` in the schema of plans, rates, labels of cables, the enumeration
of links, drawings. No other module refers to a topology or to a kind of link of one topology by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

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


# declarations -------------------------------------------------------------------------------------------------------
# What a topology declares.

Connections = tuple[Collection[int], Collection[int], Collection[int], Collection[int]]
"""Links of one kind in four columns: lower device, lower port, upper device, upper port; one link per row.

Devices are numbered from 0 within their tier and plane, ports from 0 within a switch and kind of link.
"""


@dataclass(frozen=True, slots=True)
class LinkKind:
    """A kind of link: every link of it connects the same two kinds of device at one rate."""

    name: str
    """The name in plans under `links:`, and in results."""
    ends: tuple[str, str]
    """Kinds of device at the lower and the upper end: `server` or a tier."""
    code: str
    """The code in the labels of cables, such as LS."""
    title: str
    """Name in the schema of plans."""
    description: str
    """One sentence for the schema of plans."""
    example: Mapping[str, object] = field(default_factory=lambda: {"medium": "transceiver"})
    """An example of its settings, for the schema of plans."""
    in_every_result: bool = False
    """Whether results list it for every fabric, with 0 where the fabric has none."""


SERVER_LEAF = LinkKind(
    *("server-leaf", (SERVER, "leaf"), "SL", "Server to leaf"),
    "Links from servers and other hosts to the leaf switches.",
    {"medium": "aoc"},
    in_every_result=True,
)
"""The links of endpoints, which every topology with switches has."""


class TierRows(NamedTuple):
    """A drawing as tiers one above the other, with pods as frames where the fabric has pods."""

    pod: str = "pod"
    """The name of a pod: the stem of the words `ui-POD` and `ui-PODs` of the language files."""
    pod_of_rails: str = ""
    """The name of a pod that holds the leaves of all rails, where others hold those of one."""
    last_pods: str = ""
    """The dimension with the number of last pods of another size, where there may be such."""
    links_to_last: str = ""
    """The dimension with the number of links between one of them and any other pod."""
    sizes: Mapping[str, tuple[str, str]] = {}
    """By tier, the dimensions with the switches of a pod and of one of the last."""


TIER_ROWS = TierRows()


class SwitchGroups(NamedTuple):
    """A drawing as groups of switches side by side: all switches of a group are linked, and all groups."""

    inside: str
    """The kind of link inside a group; other kinds between switches connect groups."""
    groups: str | None = None
    """The dimension with the number of groups; None: there is one."""
    group_size: str | None = None
    """The dimension with the number of switches of a group."""
    small_groups: str | None = None
    """The dimension with the number of groups, the last ones, with fewer switches; None: there are none."""
    small_size: str | None = None
    """The dimension with the number of switches of one of those."""


class NodeGrid(NamedTuple):
    """A drawing as a grid of nodes without switches."""

    axes: tuple[str, ...]
    """The dimensions with the nodes along each axis."""


@dataclass(frozen=True, slots=True)
class Topology:
    """A topology as declared by its module."""

    name: str
    """The name in plans: the name of the module with hyphens, and `+` for `_plus`."""
    limits: str
    """The maximum size, in one sentence."""
    drawing: str
    """A few lines of characters for `bomgen catalog topology`."""
    tiers: tuple[str, ...]
    """Possible tiers of switches, lowest first: of leaf, spine and core, the tiers of a plan."""
    link_kinds: tuple[LinkKind, ...]
    """Every possible kind of link."""
    build: Callable[[Any], Fabric]
    """A function from a Demand, or without switches a DirectDemand, to the smallest fabric. Raises Infeasible."""
    connect: Callable[[Fabric, Any], Iterator[tuple[LinkKind, Connections]]]
    """The connections of ports: the links between switches (or nodes) of one plane, by kind.

    The links of endpoints are enumerated from the seats for all topologies alike.
    """
    arrangement: TierRows | SwitchGroups | NodeGrid = TIER_ROWS
    """The arrangement in a drawing."""
    options: Mapping[str, Any] | None = None
    """The JSON Schema of the options under its name; None: it has none."""
    endpoints_option: str | None = None
    """The option with the number of endpoints of a leaf; None: plans set it at `leaf.downlinks`."""
    switchless: bool = False
    """Whether it connects nodes directly, for a DirectDemand."""
    cabled: bool = False
    """Whether these are servers, whose NICs are joined by cables that are bought."""
    one_switch: bool = False
    """Whether it never has more than one switch."""
    has_rails: bool = False
    """Whether each leaf serves one port of every server."""
    isolated_rails: bool = False
    """Whether every rail is a separate fabric: rails meet only inside the servers."""
    scalable_units: bool = False
    """Whether the servers of a scalable unit share a set of leaves."""
    homings: tuple[str, ...] = ()
    """Possible distributions of a machine's ports over switches, under `homing:` in plans."""
    has_peers: bool = False
    """Whether its switches are linked with each other, under `peer_links:` in plans."""
    uplinked: bool = False
    """Whether its leaves are linked into another fabric, under `uplink:` in plans."""
    deal_ports: Callable[[Demand], tuple[Demand, Figure | None]] | None = None
    """The demand on the search for the smallest folded Clos, and the ports of a machine on separate leaves.

    For topologies whose shape that search finds. None for the ports: leaves are filled one after the other. Raises
    Infeasible.
    """

    @property
    def searched(self) -> bool:
        """Whether its shape is the smallest folded Clos found by the search over all divisions of ports."""
        return self.deal_ports is not None


def connect_nothing(_plane: Fabric, _seats: object) -> Iterator[tuple[LinkKind, Connections]]:
    """Yield no connections, for a topology whose switches are not linked to each other."""
    yield from ()


def mismatch(topology: Topology, fabric: Fabric) -> str | None:
    """Return a property of a fabric that its topology does not declare; None when all are declared."""
    for tier in fabric.tiers:
        if tier.name not in topology.tiers:
            return f"the topology {topology.name} declares no tier {tier.name}"
    ends = {kind.name: kind.ends for kind in topology.link_kinds}
    for links in fabric.links:
        if ends.get(links.kind) != links.ends:
            return f"the topology {topology.name} declares no {links.kind} links from {' to '.join(links.ends)}"
    return None


# registry -----------------------------------------------------------------------------------------------------------
# The registry of topologies: the folder `topologies/`.
#
# Each module of that folder declares a `TOPOLOGY` that plans can name, without registration.


@cache
def topologies() -> dict[str, str]:
    """Return the module of each topology, by its name in plans."""
    return {
        path.stem.replace("_plus", "+").replace("_", "-"): f"bomgen.fabric.topologies.{path.stem}"
        for path in sorted((Path(__file__).parent / "topologies").glob("*.py"))
        if path.stem != "__init__"
    }


def topology(name: str) -> Topology:
    """Return the declaration of a topology by name. Raises KeyError when there is none."""
    found: Topology = import_module(topologies()[name]).TOPOLOGY
    return found


def describe_topologies() -> Iterator[Topology]:
    """Yield the declaration of every topology, by name."""
    return (topology(name) for name in topologies())


def defines_own_links(fabric: Fabric) -> bool:
    """Return whether the links of a fabric, or the uplinks of its leaves, follow rules of its topology alone."""
    declared = topology(fabric.topology)
    return declared.uplinked or declared.connect.__module__ in topologies().values()


@cache
def link_kinds() -> dict[str, LinkKind]:
    """Return every kind of link between switches and to them, by name; those of most topologies first.

    Raises ValueError when two topologies declare a kind of the same name differently.
    """
    found: dict[str, LinkKind] = {}
    topologies_of = Counter[str]()
    for each in describe_topologies():
        for kind in () if each.switchless and not each.cabled else each.link_kinds:
            if found.setdefault(kind.name, kind) != kind:
                raise ValueError(f"the topology {each.name} declares {kind.name} links unlike another one")
            topologies_of[kind.name] += 1
    return {name: found[name] for name, _ in topologies_of.most_common()}


def build_fabric(name: str, demand: Demand | DirectDemand) -> Fabric:
    """Return the smallest fabric of a topology that meets a demand.

    Raises Infeasible when there is none, KeyError for a topology that is not built, and ValueError when the fabric has
    a tier or a kind of link that the topology does not declare.
    """
    declared = topology(name)
    fabric = declared.build(demand)
    if undeclared := mismatch(declared, fabric):
        raise ValueError(undeclared)
    return fabric


# folded Clos --------------------------------------------------------------------------------------------------------
# The tiers and kinds of link of the folded Clos topologies.

TIERS = ("leaf", "spine", "core")
LEAF_SPINE = LinkKind(
    *("leaf-spine", ("leaf", "spine"), "LS", "Leaf to spine", "Links from the leaf to the spine switches."),
    {"medium": "transceiver", "module": "generic-400g", "length": "30 m"},
    in_every_result=True,
)
SPINE_CORE = LinkKind(
    *("spine-core", ("spine", "core"), "SC", "Spine to core"),
    "Links from the spine to the core switches of a three-tier fabric.",
    {"medium": "transceiver", "rate": "800G"},
    in_every_result=True,
)
LINK_KINDS = (SERVER_LEAF, LEAF_SPINE, SPINE_CORE)

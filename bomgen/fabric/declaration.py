"""Declarations of topologies, and their registry, the folder `topologies/`.

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
from typing import TYPE_CHECKING, Any, NamedTuple

from bomgen.core.provenance import Figure
from bomgen.fabric.types import SERVER, Demand, DirectDemand, Fabric

if TYPE_CHECKING:
    from bomgen.fabric.links.patterns import Seats

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
    connect: Callable[[Fabric, Seats | None], Iterator[tuple[LinkKind, Connections]]]
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
    return declared.uplinked or declared.connect.__module__ != __name__


@cache
def link_kinds() -> dict[str, LinkKind]:
    """Return every kind of link between switches and to them, by name; those of most topologies first.

    Raises ValueError when two topologies declare a kind of the same name differently.
    """
    found: dict[str, LinkKind] = {}
    topologies_of = Counter[str]()
    for each in describe_topologies():
        for kind in () if each.switchless else each.link_kinds:
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
# The common parts of the folded Clos topologies: tiers, kinds of link, and the connection of ports.

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


def connect_tiers(plane: Fabric, seats: Seats | None) -> Iterator[tuple[LinkKind, Connections]]:
    """Yield the links of leaves to the spines of their pod, and of spines to cores, spread evenly.

    Raises ValueError when links do not spread evenly, or the fabric has no seats.
    """
    from bomgen.fabric.links.patterns import connect_cores, connect_spines

    if plane.tier("spine") is not None:
        yield LEAF_SPINE, connect_spines(plane, seats)
    if plane.tier("core") is not None:
        yield SPINE_CORE, connect_cores(plane)

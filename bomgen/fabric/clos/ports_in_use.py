"""Tiers and kinds of link of the folded Clos family, and the ports that they use on leaves and spines."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from bomgen.core.provenance import Figure, formula
from bomgen.fabric.clos.occupancy import (
    Kinds,
    Occupancy,
    SeatingPlan,
    Shrinking,
    count_links_up,
    count_spine_kinds,
    max_flow_between_halves,
    seat_endpoints,
)
from bomgen.fabric.declaration import SERVER_LEAF, Connections, LinkKind
from bomgen.fabric.ports import SharedCages, ports_left_down
from bomgen.fabric.types import Fabric, Fitted

if TYPE_CHECKING:
    from bomgen.fabric.links.patterns import Seats

SERVERS_IN_ORDER = "max-flow of the tree that even spread makes of the fabric"


def assign_leaves(
    nic_ports: int,
    host_ports: int,
    reserved_ports: int,
    rails: int,
    unit: int,
    down: int,
    up: int,
    leaves: int,
    ports_of_rail: int,
    reserved_down: int,
    spines: int = 1,
    ratio: Fraction | None = None,
) -> Occupancy:
    """Return the assignment of NIC ports, hosts and reserved ports to leaves with downlinks and uplinks.

    With a `ratio` of uplinks to downlinks, a leaf that is not full has only the uplinks that keep it.
    """
    seats = SeatingPlan(nic_ports, host_ports, reserved_ports, rails, unit, down, up, leaves, reserved_down)
    found = seat_endpoints(seats, None if ratio is None else Shrinking(ratio, spines))
    return found._replace(ports_of_rail=ports_of_rail)


@formula("occupancy")
def all_links_up(
    nic_ports: int,
    host_ports: int,
    reserved_ports: int,
    rails: int,
    unit: int,
    down: int,
    up: int,
    leaves: int,
    ports_of_rail: int,
    most_down: int,
) -> Occupancy:
    """Distribution of endpoints over leaves, each with all of its uplinks."""
    return assign_leaves(nic_ports, host_ports, reserved_ports, rails, unit, down, up, leaves, ports_of_rail, most_down)


@formula("links")
def links_of_leaves(occupancy: Occupancy) -> int:
    """Uplinks of all leaves, including partly filled ones."""
    return count_links_up(occupancy)


@formula("ports")
def free_ports_of_leaves(occupancy: Occupancy, radix: int, up_radix: int, cages: int | SharedCages) -> int:
    """Unused ports of all leaves, where partly filled leaves have fewer uplinks."""
    return sum(
        group.leaves * (ports_left_down(group.up, radix, up_radix, cages) - group.filled)
        for group in occupancy.groups()
    )


@formula("kinds of leaves")
def kinds_of_leaves(occupancy: Occupancy) -> Kinds:
    """Leaves grouped by downlink and uplink ports in use, the fullest first."""
    return occupancy.kinds()


@formula("kinds of spines")
def kinds_of_spines(occupancy: Occupancy, pods: int, per_pod: int, up: int) -> Kinds:
    """Spines grouped by downlink and uplink ports in use, the fullest first."""
    return tuple(((down, up), count) for down, count in count_spine_kinds(occupancy, pods, per_pod))


@formula("<kinds>")
def without_fullest_kind(kinds: Kinds) -> Kinds:
    """All groups except the fullest."""
    return kinds[1:]


@formula("switches")
def switches_of_kind(kinds: Kinds) -> int:
    """Switches in the fullest group."""
    return kinds[0][1]


@formula("ports")
def ports_down_of_kind(kinds: Kinds) -> int:
    """Downlink ports in use per switch of the fullest group."""
    return kinds[0][0][0]


@formula("ports")
def ports_up_of_kind(kinds: Kinds) -> int:
    """Uplink ports in use per switch of the fullest group."""
    return kinds[0][0][1]


def fit_switches(kinds: Figure, has_up: bool) -> Iterator[Fitted]:
    """Yield the groups of equal switches."""
    while kinds.value:
        yield Fitted(switches_of_kind(kinds), ports_down_of_kind(kinds), ports_up_of_kind(kinds) if has_up else None)
        kinds = without_fullest_kind(kinds)


@formula("Gb/s", source=SERVERS_IN_ORDER)
def bisection_of_leaves(occupancy: Occupancy, down_gbps: int, up_gbps: int) -> int:
    """Maximum flow between the first and the second half of the endpoints, through shared leaves and spines."""
    return max_flow_between_halves(occupancy, down_gbps, up_gbps)


@formula("Gb/s", source=SERVERS_IN_ORDER)
def bisection_of_pods(occupancy: Occupancy, down_gbps: int, up_gbps: int, pods: int, pod_gbps: int) -> int:
    """Maximum flow between the two halves of the endpoints, through shared leaves, pods and the core."""
    return max_flow_between_halves(occupancy, down_gbps, up_gbps, pods, pod_gbps)


# link kinds ---------------------------------------------------------------------------------------------------------
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


def connect(plane: Fabric, seats: Seats | None) -> Iterator[tuple[LinkKind, Connections]]:
    """Yield the links of leaves to the spines of their pod, and of spines to cores, spread evenly.

    Raises ValueError when links do not spread evenly, or the fabric has no seats.
    """
    from bomgen.fabric.links.patterns import connect_cores, connect_spines

    if plane.tier("spine") is not None:
        yield LEAF_SPINE, connect_spines(plane, seats)
    if plane.tier("core") is not None:
        yield SPINE_CORE, connect_cores(plane)

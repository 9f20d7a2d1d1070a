"""What the loss of one switch costs: the endpoints without a link, and the share of the bandwidth that is gone.

Of Clos fabrics, whose leaves are all connected to the spines of their pod; other topologies have no such formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from bomgen.core.provenance import Figure, formula
from bomgen.fabric.clos.occupancy import Occupancy
from bomgen.fabric.types import Fabric

LEAF, SPINE = "leaf", "spine"


@formula("endpoints")
def endpoints_of_leaf(seats: Occupancy) -> int:
    """Endpoints on the leaf with the most of them, which lose their link with it."""
    return max(group.nic_ports + group.host_ports for group in seats.groups())


@formula("share")
def share_of_endpoints(leaf_endpoints: int, endpoints: int) -> Fraction:
    """Share of all endpoints that lose their link with one leaf."""
    return Fraction(leaf_endpoints, endpoints)


@formula("ports")
def ports_on_leaf(rails_per_leaf: int, seats: Occupancy) -> int:
    """Ports of a server on one leaf, with several ports per rail."""
    return rails_per_leaf * seats.ports_of_rail


@formula("share")
def share_of_server(leaf_ports: int, ports_per_server: int) -> Fraction:
    """Share of the links of a server that it loses with one leaf."""
    return Fraction(leaf_ports, ports_per_server)


@formula("switches")
def spines_of_leaf(spines: int, pods: int) -> int:
    """Spines that a leaf is connected to, where there are pods."""
    return spines // pods


@formula("share")
def share_through_spine(uplinks: int, spines: int) -> Fraction:
    """Share of the uplinks of a fully equipped leaf that end at one spine."""
    return Fraction(ceil(uplinks / spines), uplinks)


@formula("share")
def share_of_planes(share_of_plane: Fraction, planes: int) -> Fraction:
    """Share of the bandwidth over all planes."""
    return share_of_plane / planes


def losses(fabric: Fabric) -> Iterator[tuple[str, Figure]]:
    """Yield what one leaf and one spine cost, by name: endpoints of a leaf, and shares of endpoints and bandwidth."""
    plane, seats = fabric.plane or fabric, (fabric.plane or fabric).seats
    leaf, spine = plane.tier(LEAF), plane.tier(SPINE)
    if leaf is None or seats is None or any(links.within_tier for links in plane.links):
        return
    endpoints = endpoints_of_leaf(seats)
    if not endpoints.value:
        return
    yield "leaf-endpoints", endpoints
    yield "leaf-share", share_of_endpoints(endpoints, fabric.endpoints)
    if fabric.ports_per_server.value:
        yield "leaf-server", share_of_server(_ports_of_server(plane, seats), fabric.ports_per_server)
    if spine and leaf.up and leaf.up.value and any(links.ends == (LEAF, SPINE) for links in plane.links):
        spines = spines_of_leaf(spine.count, plane.pods) if plane.pods else spine.count
        share = share_through_spine(leaf.up, spines)
        yield "spine-share", share_of_planes(share, fabric.planes) if fabric.planes else share


def _ports_of_server(plane: Fabric, seats: Figure) -> Figure:
    """Return the ports of a server on one leaf: at most all on its plane."""
    if plane.rails_per_leaf is None:
        return plane.ports_per_server
    return plane.rails_per_leaf if seats.value.ports_of_rail == 1 else ports_on_leaf(plane.rails_per_leaf, seats)

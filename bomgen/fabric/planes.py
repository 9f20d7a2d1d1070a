"""Equal fabrics side by side: planes, and rails that meet only inside the servers.

Ports of other machines and reserved ports are given for all planes and distributed in turn; each plane is built for the
most that one gets. Free ports and room to grow refer to the actual endpoints.
"""

from __future__ import annotations

from dataclasses import replace

from bomgen.core.provenance import Figure, ceil_div, formula, product
from bomgen.fabric.requirements import all_endpoints, attached_ports
from bomgen.fabric.types import Demand, Fabric, Fitted, Tier

times_planes = product("times_planes", "<of_one>", "of_one", "planes")
"""Total of all planes, which are equal."""
ports_of_one = ceil_div("ports_of_one", "ports", "ports", "planes")
"""Ports of the fullest plane, with ports spread evenly over all planes."""


@formula("ports")
def ports_too_many(of_one: int, planes: int, endpoints: int) -> int:
    """Ports beyond the endpoints that equal planes provide, because ports do not divide evenly."""
    return of_one * planes - endpoints


@formula("endpoints")
def largest_of_all(of_one: int, planes: int, too_many: int) -> int:
    """Endpoints of the largest such planes, with the same ports of other hosts and reserved ports."""
    return of_one * planes - too_many


@formula("ports")
def reserved_above_in_all(of_one: int, planes: int, too_many: int) -> int:
    """Reserved ports on the spines of all planes, less the ports by which planes differ."""
    return max(of_one * planes - too_many, 0)


@formula("ports")
def free_ports_in_all(of_one: int, planes: int, too_many: int) -> int:
    """Unused ports of all planes, plus the ports by which planes differ."""
    return of_one * planes + too_many


@formula("ports")
def free_ports_on_leaves(of_one: int, planes: int, too_many: int, above_of_one: int, above: int) -> int:
    """Unused ports of all planes, where some of the ports by which planes differ are on spines."""
    return of_one * planes + too_many - (above_of_one * planes - above)


@formula("ports")
def free_ports_on_spines(of_one: int, planes: int, above_of_one: int, above: int) -> int:
    """Unused spine ports of all planes."""
    return of_one * planes + (above_of_one * planes - above)


planes_and_rails = product("planes_and_rails", "planes", "planes", "rails")
"""Equal fabrics if every plane has one fabric per rail."""


def demand_of_one_plane(whole: Demand, planes: Figure, ports_per_server: Figure) -> Demand:
    """Return the demand on one of several equal fabrics, each with `ports_per_server` ports of a server."""
    hosts, reserved = whole.host_ports, whole.reserved_ports
    return whole._replace(
        ports_per_server=ports_per_server,
        host_ports=ports_of_one(hosts, planes) if hosts else None,
        reserved_ports=ports_of_one(reserved, planes) if reserved else None,
    )


def combine_planes(plane: Fabric, planes: Figure, whole: Demand) -> Fabric:
    """Return equal fabrics as one that carries the whole demand.

    Ports of other machines need not be a multiple of the planes. Each plane is built for the most that one gets; room
    and free ports refer to the actual endpoints.
    """
    endpoints, attached = all_endpoints(whole), attached_ports(whole)

    def in_all_planes(figure: Figure) -> Figure:
        return times_planes(figure, planes)

    too_many = ports_too_many(plane.endpoints, planes, endpoints)
    above = plane.reserved_above
    above_all = reserved_above_in_all(above, planes, too_many) if above else None

    def free_of(tier: str, figure: Figure) -> Figure:
        """Return the free ports of a tier in all planes, or the room on the leaves."""
        if not too_many.value or tier not in ("leaf", "spine"):
            return in_all_planes(figure)
        if above and above_all and above.value:
            if tier == "spine":
                return free_ports_on_spines(figure, planes, above, above_all)
            return free_ports_on_leaves(figure, planes, too_many, above, above_all)
        return free_ports_in_all(figure, planes, too_many) if tier == "leaf" else in_all_planes(figure)

    links = tuple(
        replace(
            link,
            count=endpoints if link.ends[0] == "server" and plane.tiers else in_all_planes(link.count),
            cabled=attached if link.ends[0] == "server" and plane.tiers else in_all_planes(link.cabled),
        )
        for link in plane.links
    )
    return plane._replace(
        endpoints=endpoints,
        ports_per_server=whole.ports_per_server,
        tiers=tuple(_tier(tier, planes) for tier in plane.tiers),
        links=links,
        switches=in_all_planes(plane.switches),
        bisection_gbps=in_all_planes(plane.bisection_gbps),
        largest=largest_of_all(plane.largest, planes, too_many) if plane.largest else None,
        free_ports={tier: free_of(tier, ports) for tier, ports in plane.free_ports.items()},
        growth=free_of("leaf", plane.growth) if plane.growth else None,
        pods=in_all_planes(plane.pods) if plane.pods else None,
        reserved_above=above_all,
        plane=plane.plane or plane,
        planes=planes_and_rails(planes, plane.planes) if plane.planes else planes,
    )


def _tier(tier: Tier, planes: Figure) -> Tier:
    fitted = tuple(Fitted(times_planes(each.count, planes), each.down, each.up) for each in tier.fitted)
    return replace(tier, count=times_planes(tier.count, planes), fitted=fitted)

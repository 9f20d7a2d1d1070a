"""Equal fabrics side by side: planes, and rails that meet only inside the servers."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from bomgen.fabric.model import Fabric, Fitted, Tier
from bomgen.figures import Figure, formula


@formula("<of_one>")
def in_all(of_one: int, planes: int) -> int:
    """Of all planes: they are equal."""
    return of_one * planes


@formula("ports")
def ports_of_one(ports: int, planes: int) -> int:
    """Ports of one plane when they are dealt out over all: no plane has more than one above another."""
    return ceil(ports / planes)


@formula("planes")
def product(planes: int, rails: int) -> int:
    """Equal fabrics when every plane has one a rail."""
    return planes * rails


def side_by_side(
    plane: Fabric, planes: Figure, ports_per_server: Figure, endpoints: Figure, attached: Figure
) -> Fabric:
    """So many equal fabrics as one.

    `endpoints` and `attached` (endpoints without reserved ports) are those of all planes: ports of other machines need
    not be a multiple of the planes.
    """

    def of_all(figure: Figure) -> Figure:
        return in_all(figure, planes)

    links = tuple(
        replace(
            each,
            count=endpoints if each.ends[0] == "server" and plane.tiers else of_all(each.count),
            cabled=attached if each.ends[0] == "server" and plane.tiers else of_all(each.cabled),
        )
        for each in plane.links
    )
    return plane._replace(
        endpoints=endpoints,
        ports_per_server=ports_per_server,
        tiers=tuple(_tier(tier, planes) for tier in plane.tiers),
        links=links,
        switches=of_all(plane.switches),
        bisection_gbps=of_all(plane.bisection_gbps),
        largest=of_all(plane.largest) if plane.largest else None,
        free_ports={tier: of_all(ports) for tier, ports in plane.free_ports.items()},
        growth=of_all(plane.growth) if plane.growth else None,
        pods=of_all(plane.pods) if plane.pods else None,
        reserved_above=of_all(plane.reserved_above) if plane.reserved_above else None,
        plane=plane.plane or plane,
        planes=product(planes, plane.planes) if plane.planes else planes,
    )


def _tier(tier: Tier, planes: Figure) -> Tier:
    fitted = tuple(Fitted(in_all(each.count, planes), each.down, each.up) for each in tier.fitted)
    return replace(tier, count=in_all(tier.count, planes), fitted=fitted)

"""Parts of links between machines that the customer has: their NICs, modules and cables exist, and are not offered.

Where a part of the machines at an end exists, as many links do as both ends can have: each existing server has its
ports, and a switch its share of the links of its tier. Parts are rounded so that none that is needed is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from bomgen.catalog.identity import slug
from bomgen.core.provenance import Figure, formula, minimum, product, sum_of
from bomgen.design.assembly import BuiltFabric, Design
from bomgen.design.attached_hosts import boxes_of
from bomgen.fabric.types import SERVER
from bomgen.plan.types import SWITCHES
from bomgen.pricing.bill_line import Line, rest_of, sum_of_quantities

NIC = "nic"
"""The category of NICs, which exist with the links of their servers."""
sum_of_ports = sum_of("sum_of_ports", "ports", "ports", "more_ports")
"""Ports of a switch in both directions."""
ports_in_use = product("ports_in_use", "links", "pieces", "ports_per_piece")
"""Links of machines that exist."""
fewer_links = minimum("fewer_links", "links", "links", "other_links")
"""Links whose ends both exist."""


@formula("links")
def links_of_tier(links: int, pieces: int, in_use: int) -> int:
    """Links of those machines of a tier that exist."""
    return links * in_use // pieces


@formula("links")
def free_ports(pieces: int, down: int, up: int, uplinks: int) -> int:
    """Ports of existing switches beside their uplinks that exist."""
    return pieces * (down + up) - uplinks


@formula("pieces")
def pieces_of_links(pieces: int, links: int, links_in_use: int) -> int:
    """Pieces in links that exist, rounded down."""
    return pieces * min(links, links_in_use) // links


def subtract_links_in_use(
    design: Design, bought: Sequence[Line], existing: Sequence[Line]
) -> tuple[list[Line], list[Line]]:
    """Return the lines less the parts of links between existing machines, and lines of these parts.

    Categories that the scope of the plan names are offered all the same: somebody orders optics for what exists.
    """
    counted: dict[str, Figure] = {}
    for line in existing:
        counted[line.id] = sum_of_quantities(counted[line.id], line.quantity) if line.id in counted else line.quantity
    if not counted:
        return list(bought), []
    links = {
        (built.plan.name, kind): found for built in design.fabrics for kind, found in _links(design, built, counted)
    }
    rest, in_use = list[Line](), list[Line]()
    for line in bought:
        kind = NIC if line.category == NIC else (line.role or "").partition("/")[0]
        found = links.get((line.fabric or "", kind))
        if found and not (design.plan.scope and line.category in design.plan.scope):
            known = counted.get(line.id)
            total = sum_of_quantities(line.quantity, known) if known else line.quantity
            taken = pieces_of_links(total, *found)
            taken = rest_of(taken, known) if known else taken
            if taken.value > 0:
                in_use.append(line._replace(quantity=taken, spare=None))
                line = line._replace(quantity=rest_of(line.quantity, taken))
        rest += [line] if line.pieces else []
    return rest, in_use


def _links(
    design: Design, built: BuiltFabric, counted: Mapping[str, Figure]
) -> Iterator[tuple[str, tuple[Figure, Figure]]]:
    """Yield the links of each kind, and those of them whose ends both exist, from the top of a fabric down."""
    uplinks: dict[str, Figure] = {}
    for links in reversed(built.fabric.links):
        lower, upper = links.ends
        tier, switches = built.fabric.tier(upper), counted.get(f"{built.plan.name}.switch.{upper}")
        if tier is None or switches is None:
            continue
        below: Figure | None
        if lower == SERVER:
            below, above = _ports(design, built, counted), ports_in_use(switches, tier.down)
            if tier.up and upper in uplinks:
                above = free_ports(switches, tier.down, tier.up, uplinks[upper])
            elif tier.up:
                above = ports_in_use(switches, sum_of_ports(tier.down, tier.up))
        else:
            leaves, of_tier = counted.get(f"{built.plan.name}.switch.{lower}"), built.fabric.tier(lower)
            below = links_of_tier(links.cabled, boxes_of(of_tier), leaves) if leaves and of_tier else None
            above = links_of_tier(links.cabled, boxes_of(tier), switches)
        if below:
            uplinks[lower] = fewer_links(below, above)
            yield links.kind, (links.cabled, uplinks[lower])
            servers = counted.get("server")
            if lower == SERVER and servers and built.attachment and design.sizing.servers:
                every = ports_in_use(design.sizing.servers, built.attachment.ports_per_server)
                yield NIC, (every, uplinks[lower])


def _ports(design: Design, built: BuiltFabric, counted: Mapping[str, Figure]) -> Figure | None:
    """Return the ports of existing servers and other machines on a fabric; None if there are none."""
    servers, ports = counted.get("server"), list[Figure]()
    server = design.plan.cluster.server
    if servers and built.attachment:
        if server and server.trays:
            servers = ports_in_use(servers, server.trays)
        ports.append(ports_in_use(servers, built.attachment.ports_per_server))
    for hosts in built.hosts:
        bought = f".management.{slug(hosts.name)}"
        pieces = next((figure for id, figure in counted.items() if id.endswith(bought)), None)
        if hosts.managed == SWITCHES:
            known = [
                figure for id, figure in counted.items() if ".switch." in id and id.split(".")[0] != built.plan.name
            ]
            pieces = reduce(sum_of_quantities, known) if known else None
        if pieces:
            ports.append(ports_in_use(pieces, hosts.ports))
    return reduce(sum_of_quantities, ports) if ports else None

"""Cables as long as their ways over the floor, where the plan has a layout.

The fabrics are built with the lengths that their links say; the ways between the devices, which do not depend on what
they are joined with, then take the place of those lengths, and the media are chosen once more by the longest of each
kind of link.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from bomgen.design import BuiltFabric, Design, reconnected
from bomgen.figures import Cited, Figure, Given, Reference
from bomgen.interconnect import CableUse
from bomgen.layout import Floor
from bomgen.medium import FIBRE, Stock, Wish
from bomgen.parts import Cable
from bomgen.plan import Site
from bomgen.wiring import wire
from bomgen.wiring.columns import Wiring
from bomgen.wiring.lengths import ends_of, floor_figures, longest, none_shorter, pieces_up_to, routes_of
from bomgen.wiring.places import ground

LISTED = Reference("both ends of every cable, as `bomgen wiring` lists them")
SOLD = Reference("lengths sold, as `bomgen catalog cable` lists them")


def laid(design: Design, parts: Stock) -> Design:
    """The design with its cables as long as their ways, where the plan has a layout and racks are known.

    A length that the plan gives for a kind of link stands. Raises PlanErrors for a named part that does not reach,
    ValueError when the rows of the plan have too few racks.
    """
    site, racks = design.plan.site, ground(design)
    if site is None or racks is None or not site.layout.given:
        return design
    before = wire(design)
    fabrics = []
    for built in design.fabrics:
        wishes = {kind: _wished(before, built, kind, wish, site, racks) for kind, wish in built.plan.links.items()}
        fabrics.append(reconnected(design, built, wishes, parts))
    chosen = design._replace(fabrics=tuple(fabrics))
    after = wire(chosen)
    return chosen._replace(fabrics=tuple(_cut(built, after, site, racks) for built in chosen.fabrics))


def _wished(wiring: Wiring, built: BuiltFabric, kind: str, wish: Wish, site: Site, racks: Floor) -> Wish:
    """What the plan wants of a kind of link, with the longest way as its length."""
    if isinstance(wish.length_m.origin, Given):
        return wish
    ways = _ways(wiring, built.plan.name, kind, None, site, racks)
    return wish._replace(length_m=longest(ways)) if ways else wish


def _ways(wiring: Wiring, fabric: str, kind: str, cable: Cable | None, site: Site, racks: Floor) -> Figure | None:
    """The ways of the cables of a kind of link, or of those built with one cable; None where they are not known."""
    numbers = [
        number
        for number, way in enumerate(wiring.ways)
        if (way.fabric, way.kind) == (fabric, kind)
        and (cable is None or (way.medium and way.medium.cable and way.medium.cable.identity.id == cable.identity.id))
    ]
    rows = np.flatnonzero(np.isin(wiring.way, numbers))
    ends = ends_of(wiring, rows, site, racks) if len(rows) else None
    if ends is None:
        return None
    return routes_of(Figure(ends, "ways", Cited(f"{fabric} {kind}", (LISTED,), "high")), *floor_figures(site))


def _cut(built: BuiltFabric, wiring: Wiring, site: Site, racks: Floor) -> BuiltFabric:
    """A fabric with its cables in the lengths that are sold and needed."""
    connected, wishes = built.interconnect, built.plan.links
    cables: list[CableUse] = []
    for use in connected.cables:
        ways = None
        if use.cable and _is_cut(use.cable, wishes[use.kind]):
            ways = _ways(wiring, built.plan.name, use.kind, use.cable, site, racks)
        cables += _lengths(use, use.cable, ways) if ways and use.cable else [use]
    found = tuple(
        each._replace(
            by_route=bool(each.medium and each.medium.cable and _is_cut(each.medium.cable, wishes[each.kind]))
        )
        for each in connected.alike
    )
    return built._replace(interconnect=connected._replace(cables=tuple(cables), alike=found))


def _is_cut(cable: Cable, wish: Wish) -> bool:
    """Whether every cable is as long as its way: unless its length is named, or one length of fibre is asked for."""
    alike = cable.named_length_m is not None or (wish.one_fibre_length and cable.medium == FIBRE)
    return bool(cable.lengths_m) and _by_route(wish) and not alike


def _by_route(wish: Wish) -> bool:
    """Whether the length of a wish was measured on the floor."""
    return any(name == "ways" for name, _ in wish.length_m.inputs)


def _lengths(use: CableUse, cable: Cable, ways: Figure) -> Iterator[CableUse]:
    """The cables of one kind by the lengths that are sold."""
    below = none_shorter()
    for metres in sorted(cable.lengths_m):
        length = Figure(Fraction(str(metres)), "m", Cited(cable.identity.name, (SOLD,), "high"))
        pieces = pieces_up_to(ways, below, length)
        if pieces.value:
            yield CableUse(use.kind, cable, length.value, pieces, by_route=True)
        below = length

"""How long every cable is: the way between its ends, rounded up to what is sold."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen import layout
from bomgen.figures import Figure, formula
from bomgen.interconnect import JUMPER, TRUNKED
from bomgen.layout import Floor, Route
from bomgen.plan import Site
from bomgen.wiring.columns import Column, Wiring

CENTIMETRES = 100
"""Ways are told apart to the centimetre, rounded up."""


class Ends(NamedTuple):
    """The ends of cables on the floor."""

    route: Route
    piece: Column
    """Number of the cable of each way, ascending: those of a cable of several links are neighbours."""

    def __str__(self) -> str:
        return str(self.route)


class Routes(NamedTuple):
    """How many cables have a way of which length, shortest first."""

    centimetres: tuple[tuple[int, int], ...]
    """Length and cables."""

    def no_longer_than(self, metres: Fraction) -> int:
        """Cables whose way is so long at most."""
        return sum(count for way, count in self.centimetres if way <= metres * CENTIMETRES)

    def __str__(self) -> str:
        shortest, longest = (self.centimetres[place][0] / CENTIMETRES for place in (0, -1))
        return f"{sum(count for _, count in self.centimetres)} ways of {shortest:g} to {longest:g} m"


@formula("ways")
def routes_of(
    ends: Ends, unit_m: Fraction, rack_pitch_m: Fraction, row_pitch_m: Fraction, tray_m: Fraction, slack_m: Fraction
) -> Routes:
    """The ways of cables: inside a rack, through the side into the next, or up, over the trays and down again."""
    return measured(ends, (unit_m, rack_pitch_m, row_pitch_m, tray_m, slack_m))


@formula("m")
def longest(ways: Routes) -> Fraction:
    """The longest way."""
    return Fraction(ways.centimetres[-1][0], CENTIMETRES)


@formula("m")
def longest_spliced(ways: Routes) -> Fraction:
    """The longest jumper, trunk and jumper together, as they are sold."""
    return Fraction(ways.centimetres[-1][0], CENTIMETRES)


@formula("pieces")
def pieces_up_to(ways: Routes, over_m: Fraction, up_to_m: Fraction) -> int:
    """Cables whose way is longer than the next shorter one that is sold, and no longer than this one."""
    return ways.no_longer_than(up_to_m) - ways.no_longer_than(over_m)


@formula("m")
def none_shorter() -> int:
    """No shorter cable is sold, or needed."""
    return 0


def measured(ends: Ends, floor: tuple[Fraction, ...]) -> Routes:
    """The ways as lengths: of a cable with several, the longest."""
    of_pieces = _of_pieces(centimetres(ends.route, floor), ends.piece)
    return Routes(tuple(sorted(Counter(of_pieces.tolist()).items())))


def centimetres(route: Route, floor: tuple[Fraction, ...]) -> Column:
    """The length of every way, rounded up; a cable of no way at all, where pitch and slack are nought, is still one."""
    exact = [Fraction(each) * CENTIMETRES for each in floor]
    shared = 1
    for each in exact:
        shared = shared * each.denominator // np.gcd(shared, each.denominator)
    unit, rack, row, tray, slack = (int(each * int(shared)) for each in exact)
    found = route.units * unit + route.racks_apart * rack + route.rows_apart * row
    found = found + route.over_trays * (2 * tray) + 2 * slack
    rounded: Column = np.maximum(-(-found // int(shared)), 1)
    return rounded


def _of_pieces(length: Column, piece: Column) -> Column:
    """The longest way of every cable."""
    begins = np.flatnonzero(np.diff(piece, prepend=-1))
    return np.maximum.reduceat(length, begins) if len(begins) else length


def spliced(wiring: Wiring, table: Wiring, fabric: str, kind: str) -> Routes:
    """The lengths of jumper, trunk and jumper together, as they are sold, of the links of a kind over panels.

    Links share a port number at both ends of their trunk's leg, so ports of panels tell which cables belong together.
    """
    name = len(table.ports)
    of_role = {
        role: [n for n, way in enumerate(table.ways) if (way.fabric, way.kind, way.role) == (fabric, kind, role)]
        for role in (JUMPER, TRUNKED)
    }
    trunks, jumpers = (np.flatnonzero(np.isin(table.way, of_role[role])) for role in (TRUNKED, JUMPER))
    if not len(trunks):
        return Routes(())
    first = wiring.kinds[-1].start + wiring.kinds[-1].number
    below = table.a_device[jumpers] < first
    panel = np.where(below, table.b_device[jumpers], table.a_device[jumpers])
    place = panel * name + np.where(below, table.b_cage[jumpers], table.a_cage[jumpers])
    order = np.argsort(place)
    found = table.length_m[trunks]
    for device, port in ((table.a_device, table.a_cage), (table.b_device, table.b_cage)):
        at = np.searchsorted(place[order], device[trunks] * name + port[trunks])
        found = found + table.length_m[jumpers][order][at]
    lengths, counts = np.unique(np.round(found * CENTIMETRES).astype(np.int64), return_counts=True)
    return Routes(tuple(zip(lengths.tolist(), counts.tolist(), strict=True)))


def floor_figures(site: Site) -> tuple[Figure, ...]:
    """What the lengths of ways rest on, in the order of `routes_of`."""
    drawn = site.layout
    return (drawn.unit_m, drawn.rack_pitch_m, drawn.row_pitch_m, drawn.tray_m, drawn.slack_m)


def ends_of(wiring: Wiring, rows: Column, site: Site, racks: Floor) -> Ends | None:
    """Where the cables of some rows end; None when nobody knows where a device stands."""
    places = wiring.places
    if places is None:
        return None
    a, b = wiring.a_device[rows], wiring.b_device[rows]
    a_rack, b_rack = places.rack[a] - 1, places.rack[b] - 1
    if np.any(a_rack < 0) or np.any(b_rack < 0):
        return None
    units = ceil(site.rack_units.value)
    return Ends(layout.routes(racks, units, a_rack, places.unit[a], b_rack, places.unit[b]), wiring.piece[rows])


def cut(wiring: Wiring, site: Site, racks: Floor) -> Wiring:
    """The wiring with every cable in the length that is sold for its way, where ways count."""
    length = wiring.length_m.copy()
    for number, way in enumerate(wiring.ways):
        if not way.by_route or way.medium is None or way.medium.cable is None or not way.medium.cable.lengths_m:
            continue
        rows = np.flatnonzero(wiring.way == number)
        ends = ends_of(wiring, rows, site, racks)
        if ends is not None:
            floor = tuple(figure.value for figure in floor_figures(site))
            length[rows] = sold(centimetres(ends.route, floor), ends.piece, way.medium.cable.lengths_m)
    return replace(wiring, length_m=length)


def sold(ways: Column, piece: Column, lengths_m: tuple[float, ...]) -> NDArray[np.float64]:
    """The length sold that each cable needs for its way [cm], a row a link; the way where none is long enough."""
    begins = np.diff(piece, prepend=-1) != 0
    of_pieces = _of_pieces(ways, piece)
    steps = np.array(sorted(lengths_m), dtype=np.float64)
    place = np.searchsorted(np.round(steps * CENTIMETRES), of_pieces)
    known = place < len(steps)
    found = of_pieces / CENTIMETRES
    found[known] = steps[place[known]]
    each: NDArray[np.float64] = found[np.cumsum(begins) - 1]
    return each

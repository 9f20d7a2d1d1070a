"""Lengths of cables: the route between the ends, rounded up to a stock length."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.cabling.types import NOWHERE, Column, Wiring
from bomgen.core.messages import message
from bomgen.core.provenance import Figure, formula
from bomgen.optics.counting.uses import JUMPER, TRUNKED
from bomgen.plan.types import Site
from bomgen.site import floor_plan
from bomgen.site.floor_plan import Floor, Route

CENTIMETRES = 100
"""Routes are measured in whole centimetres, rounded up."""
BEYOND_M = 10
"""Cables longer than any stock length are ordered in multiples of ten metres."""


class CableEnds(NamedTuple):
    """The ends of cables on the floor."""

    route: Route
    piece: Column
    """Number of the cable of each route, ascending: those of a cable of several links are adjacent."""
    known: NDArray[np.bool_]
    """Whether both ends are in a known rack."""

    @property
    def unplaced(self) -> int:
        """Number of cables with an end at an unknown position."""
        return len(np.unique(self.piece[~self.known]))

    def __str__(self) -> str:
        route = str(self.route)
        return message("routes-and-unknown", routes=route, unplaced=self.unplaced) if self.unplaced else route


class Routes(NamedTuple):
    """Numbers of cables by the length of their route, shortest first."""

    centimetres: tuple[tuple[int, int], ...]
    """Pairs of length and number of cables."""

    def count_up_to(self, metres: Fraction) -> int:
        """Return the number of cables with routes up to a length."""
        most = floor(metres * CENTIMETRES)
        return sum(count for length, count in self.centimetres if length <= most)

    def __str__(self) -> str:
        shortest, longest = (f"{self.centimetres[end][0] / CENTIMETRES:g}" for end in (0, -1))
        ways = sum(count for _, count in self.centimetres)
        return message("ways-of-length", ways=ways, shortest=shortest, longest=longest)


@formula(
    "ways",
    source="units x unit + racks apart x rack pitch + rows apart x row pitch + 2 x slack, over the trays + 2 x tray",
)
def cable_routes(
    ends: CableEnds,
    unit_m: Fraction,
    rack_pitch_m: Fraction,
    row_pitch_m: Fraction,
    tray_m: Fraction,
    slack_m: Fraction,
    fallback_length_m: Fraction,
) -> Routes:
    """Return the routes of cables, in centimetres, from their ends and the dimensions of the floor.

    A route inside a rack is the rack units between its ends times their height. A route to the next rack or over the
    trays is added up from rack units to the top of both racks, racks and rows times their pitch, twice the height of
    the tray if it crosses the trays, and slack at both ends. A cable with an end that is not placed in a rack is
    assumed to be `fallback_length_m` long.
    """
    return route_lengths(ends, (unit_m, rack_pitch_m, row_pitch_m, tray_m, slack_m), fallback_length_m)


@formula("m")
def longest(ways: Routes) -> Fraction:
    """Length of the longest route."""
    return Fraction(ways.centimetres[-1][0], CENTIMETRES)


@formula("pieces")
def pieces_up_to(ways: Routes, over_m: Fraction, up_to_m: Fraction) -> int:
    """Cables whose route is longer than the next shorter stock length and no longer than this one."""
    return ways.count_up_to(up_to_m) - ways.count_up_to(over_m)


@formula("m")
def zero_length() -> int:
    """Lower end of the range of the shortest stock length."""
    return 0


def route_lengths(ends: CableEnds, floor: tuple[Fraction, ...], fallback_length_m: Fraction) -> Routes:
    """Return the lengths of the routes; for a cable with several, of the longest."""
    of_pieces = _longest_per_piece(measure_routes(ends, floor, fallback_length_m), ends.piece)
    return Routes(tuple(sorted(Counter(of_pieces.tolist()).items())))


def measure_routes(ends: CableEnds, floor: tuple[Fraction, ...], fallback_length_m: Fraction) -> Column:
    """Return the length of every route [cm]: over the floor where both ends are known."""
    lengths: Column = np.where(ends.known, centimetres(ends.route, floor), ceil(fallback_length_m * CENTIMETRES))
    return lengths


def centimetres(route: Route, floor: tuple[Fraction, ...]) -> Column:
    """Return the length of every route, rounded up; 1 cm for a cable of length 0, where pitch and slack are 0."""
    exact = [Fraction(figure) * CENTIMETRES for figure in floor]
    shared = 1
    for length in exact:
        shared = shared * length.denominator // np.gcd(shared, length.denominator)
    unit, rack, row, tray, slack = (int(length * int(shared)) for length in exact)
    total = route.units * unit + route.racks_apart * rack + route.rows_apart * row
    total = total + route.over_trays * (2 * tray) + 2 * slack
    rounded: Column = np.maximum(-(-total // int(shared)), 1)
    return rounded


def _longest_per_piece(length: Column, piece: Column) -> Column:
    begins = np.flatnonzero(np.diff(piece, prepend=-1))
    return np.maximum.reduceat(length, begins) if len(begins) else length


def total_patched_length(wiring: Wiring, table: Wiring, fabric: str, kind: str) -> Routes:
    """Return the stock lengths of jumper, trunk and jumper together, of the links of a kind over panels.

    Links share a port number at both ends of their trunk's leg, so ports of panels show which cables belong together.
    """
    name = len(table.ports)
    of_role = {
        role: [
            n
            for n, cable_type in enumerate(table.cable_types)
            if (cable_type.fabric, cable_type.kind, cable_type.role) == (fabric, kind, role)
        ]
        for role in (JUMPER, TRUNKED)
    }
    trunks, jumpers = (np.flatnonzero(np.isin(table.cable_type, of_role[role])) for role in (TRUNKED, JUMPER))
    if not len(trunks):
        return Routes(())
    first = wiring.kinds[-1].start + wiring.kinds[-1].number
    below = table.a_device[jumpers] < first
    panel = np.where(below, table.b_device[jumpers], table.a_device[jumpers])
    panel_port = panel * name + np.where(below, table.b_cage[jumpers], table.a_cage[jumpers])
    order = np.argsort(panel_port)
    total = table.length_m[trunks]
    for device, port in ((table.a_device, table.a_cage), (table.b_device, table.b_cage)):
        at = np.searchsorted(panel_port[order], device[trunks] * name + port[trunks])
        total = total + table.length_m[jumpers][order][at]
    lengths, counts = np.unique(np.round(total * CENTIMETRES).astype(np.int64), return_counts=True)
    return Routes(tuple(zip(lengths.tolist(), counts.tolist(), strict=True)))


def floor_figures(site: Site) -> tuple[Figure, ...]:
    """Return the figures that determine the lengths of routes, in the order of `cable_routes`."""
    drawn = site.layout
    return (drawn.unit_m, drawn.rack_pitch_m, drawn.row_pitch_m, drawn.tray_m, drawn.slack_m)


def locate_ends(wiring: Wiring, rows: Column, site: Site, racks: Floor) -> CableEnds | None:
    """Return the ends of the cables of some rows; None when no positions are known."""
    positions = wiring.places
    if positions is None:
        return None
    a, b = wiring.a_device[rows], wiring.b_device[rows]
    both_known = (positions.rack[a] != NOWHERE) & (positions.rack[b] != NOWHERE)
    a_rack, b_rack = (np.maximum(positions.rack[end] - 1, 0) for end in (a, b))
    units = ceil(site.rack_units.value)
    route = floor_plan.routes(racks, units, a_rack, positions.unit[a], b_rack, positions.unit[b])
    return CableEnds(route, wiring.piece[rows], both_known)


def round_to_stock_length(wiring: Wiring, site: Site, racks: Floor) -> Wiring:
    """Return the wiring with every cable in the stock length for its route, where routes count."""
    length = wiring.length_m.copy()
    for number, cable_type in enumerate(wiring.cable_types):
        if (
            not cable_type.measured
            or cable_type.medium is None
            or cable_type.medium.cable is None
            or not cable_type.medium.cable.lengths_m
        ):
            continue
        rows = np.flatnonzero(wiring.cable_type == number)
        ends = locate_ends(wiring, rows, site, racks)
        if ends is not None:
            floor = tuple(figure.value for figure in floor_figures(site))
            length[rows] = stock_lengths(
                measure_routes(ends, floor, cable_type.fallback_length_m), ends.piece, cable_type.medium.cable.lengths_m
            )
    return replace(wiring, length_m=length)


def stock_lengths(ways: Column, piece: Column, lengths_m: tuple[float, ...]) -> NDArray[np.float64]:
    """Return the length of each cable for its route [cm], one row per link."""
    of_pieces = _longest_per_piece(ways, piece)
    steps = stock_lengths_up_to(lengths_m, Fraction(int(of_pieces.max(initial=0)), CENTIMETRES))
    bounds = np.array([int(step * CENTIMETRES) for step in steps], dtype=np.int64)
    of_piece = np.array([float(step) for step in steps])[np.searchsorted(bounds, of_pieces)]
    of_rows: NDArray[np.float64] = of_piece[np.cumsum(np.diff(piece, prepend=-1) != 0) - 1]
    return of_rows


def stock_lengths_up_to(lengths_m: tuple[float, ...], longest_m: Fraction) -> list[Fraction]:
    """Return the lengths of cables, ascending: stock lengths, and beyond them steps of made-to-measure ones."""
    steps = sorted(Fraction(str(metres)) for metres in lengths_m)
    step = (steps[-1] // BEYOND_M + 1) * BEYOND_M
    while steps[-1] < longest_m:
        steps.append(Fraction(step))
        step += BEYOND_M
    return steps

"""Packing machines into racks: item by item in the order given, next-fit.

A machine goes into the rack opened last if its height and its power are free there, else into a new one. Equal machines
are counted together, so that 200 000 machines of three kinds take as long as three. A machine that exceeds an empty
rack still gets one of its own; the caller warns about it.

Which kind comes first follows from the plan: switches fabric by fabric, appliances, storage. The packing never returns
to an earlier rack, so that the order on the floor is that of the plan; the price is one more rack where kinds of little
height meet kinds of high power. Servers per rack follow from height, power and cooling. PDUs that lie in a rack take
height from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from bomgen.core.provenance import Figure, Number, formula, sum_of


class RackRun(NamedTuple):
    """Consecutive racks that each hold the same number of machines of one kind."""

    first: int
    """Number of the first rack, from 0."""
    racks: int
    machines: int
    """Per rack."""


class RackItem(NamedTuple):
    """Equal machines to be packed into racks."""

    height_u: Figure
    power_w: Figure
    """0 where it is not known."""
    pieces: Figure


class RackCapacity(NamedTuple):
    """What an empty rack offers, or what is left of one."""

    units: Figure
    power_w: Figure


def machines_that_fit(
    free_units: Number, free_power_w: Number, height_u: Number, power_w: Number, machines: int
) -> int:
    """How many of the machines fit, by height [U] and by power [W]; a machine of 0 U or 0 W needs none of it."""
    by_height = free_units // height_u if height_u else machines
    by_power = free_power_w // power_w if power_w else machines
    return max(0, min(machines, int(by_height), int(by_power)))


def pack_racks(
    items: Sequence[tuple[Number, Number, int]], rack_units: Number, rack_power_w: Number
) -> tuple[tuple[RackRun, ...], ...]:
    """The racks of each item (height [U], power [W], count); all racks are equal.

    An item has at most three runs: what fits into the open rack, full racks, and the last one.
    """
    opened = 0
    units: Number = 0
    power: Number = 0
    found = []
    for height_u, power_w, count in items:
        runs = []
        first = machines_that_fit(units, power, height_u, power_w, count) if opened else 0
        if first:
            runs.append(RackRun(opened - 1, 1, first))
            units, power = units - first * height_u, power - first * power_w
        if rest := count - first:
            per_rack = max(1, machines_that_fit(rack_units, rack_power_w, height_u, power_w, rest))
            full, last = divmod(rest, per_rack)
            if full:
                runs.append(RackRun(opened, full, per_rack))
            if last:
                runs.append(RackRun(opened + full, 1, last))
            opened += full + (last > 0)
            held = last or per_rack
            units, power = rack_units - held * height_u, rack_power_w - held * power_w
        found.append(tuple(runs))
    return tuple(found)


@formula("machines", decides=True)
def machines_in_open_rack(
    free_units: Number, free_power_w: Number, height_u: Number, power_w: Number, machines: int
) -> int:
    """Machines of a kind that fit into the open rack: the one that the kind before it started last."""
    return machines_that_fit(free_units, free_power_w, height_u, power_w, machines)


@formula("machines", decides=True)
def machines_of_rack(rack_units: Number, rack_power_w: Number, height_u: Number, power_w: Number, machines: int) -> int:
    """Machines of a kind in an empty rack: at least one, even where it exceeds the rack."""
    return max(1, machines_that_fit(rack_units, rack_power_w, height_u, power_w, machines))


@formula("racks")
def racks_opened(machines: int, in_begun_rack: int, of_rack: int) -> int:
    """Further racks that the machines of a kind need beyond the open one."""
    return ceil((machines - in_begun_rack) / of_rack)


@formula("machines")
def machines_in_last_rack(machines: int, in_begun_rack: int, of_rack: int, racks: int) -> int:
    """Machines of a kind in the last rack that they open, or in the open rack if they need no further one."""
    return machines - in_begun_rack - (racks - 1) * of_rack if racks else in_begun_rack


@formula("U")
def units_left(rack_units: Number, machines: int, height_u: Number) -> Number:
    """Height left free in a rack."""
    return rack_units - machines * height_u


@formula("W")
def power_left(rack_power_w: Number, machines: int, power_w: Number) -> Number:
    """Power left in a rack."""
    return rack_power_w - machines * power_w


@formula("machines")
def empty_rack() -> int:
    """Machines in the open rack where there is none yet."""
    return 0


EMPTY = empty_rack()


sum_of_racks_opened = sum_of("sum_of_racks_opened", "racks", "racks", "more_racks")
"""Racks that several kinds open one after the other."""


def count_racks(items: Sequence[RackItem], rack: RackCapacity) -> Figure | None:
    """The number of racks that `pack_racks` fills, as a figure that explains itself item by item.

    None when there are no machines.
    """
    racks: Figure | None = None
    left: RackCapacity | None = None
    for item in items:
        if not item.pieces.value:
            continue
        wanted = (item.height_u, item.power_w, item.pieces)
        first = machines_in_open_rack(*left, *wanted) if left else EMPTY
        per_rack = machines_of_rack(*rack, *wanted)
        more = racks_opened(item.pieces, first, per_rack)
        last = machines_in_last_rack(item.pieces, first, per_rack, more)
        free = rack if more.value or left is None else left
        left = RackCapacity(units_left(free.units, last, item.height_u), power_left(free.power_w, last, item.power_w))
        if more.value:
            racks = more if racks is None else sum_of_racks_opened(racks, more)
    return racks

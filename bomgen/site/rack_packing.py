"""Machines dealt out to racks, none of them cut: kind by kind in the order given, into the last rack that was begun.

Next-fit: a machine goes into the rack begun last if its height and its power are free there, else into a new one. What
is equal is counted together, so that 200 000 machines of three kinds take as long as three. A machine that is too much
for an empty rack still gets one, of its own: whoever asks says so.

Which kind comes first follows from the plan: switches fabric by fabric, appliances, storage. The packing never returns
to an earlier rack, so that the order on the floor is that of the plan; the price is one more rack where kinds of little
height meet kinds of high power. Servers per rack follow from height, power and cooling. PDUs that lie in a rack take
height from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from bomgen.core.provenance import Figure, Number, formula


class Run(NamedTuple):
    """Equal racks in a row that hold equally many machines of one kind."""

    first: int
    """Number of the first rack, from 0."""
    racks: int
    machines: int
    """In each of them."""


class Kind(NamedTuple):
    """Equal machines that stand in racks."""

    height_u: Figure
    power_w: Figure
    """Nought where it is not known."""
    pieces: Figure


class Room(NamedTuple):
    """What an empty rack offers, or what is left of one."""

    units: Figure
    power_w: Figure


def fit(free_units: Number, free_power_w: Number, height_u: Number, power_w: Number, machines: int) -> int:
    """So many of the machines as find room, by height and by power; 0 of either asks for none of it."""
    by_height = free_units // height_u if height_u else machines
    by_power = free_power_w // power_w if power_w else machines
    return max(0, min(machines, int(by_height), int(by_power)))


def packed(
    items: Sequence[tuple[Number, Number, int]], rack_units: Number, rack_power_w: Number
) -> tuple[tuple[Run, ...], ...]:
    """The racks of each kind of machine (height [U], power [W], count), all racks alike.

    A kind has three runs at most: what finds room in the rack begun before it, full racks, and the last one.
    """
    begun = 0
    units: Number = 0
    power: Number = 0
    found = []
    for height_u, power_w, count in items:
        runs = []
        first = fit(units, power, height_u, power_w, count) if begun else 0
        if first:
            runs.append(Run(begun - 1, 1, first))
            units, power = units - first * height_u, power - first * power_w
        if rest := count - first:
            of_rack = max(1, fit(rack_units, rack_power_w, height_u, power_w, rest))
            full, last = divmod(rest, of_rack)
            if full:
                runs.append(Run(begun, full, of_rack))
            if last:
                runs.append(Run(begun + full, 1, last))
            begun += full + (last > 0)
            held = last or of_rack
            units, power = rack_units - held * height_u, rack_power_w - held * power_w
        found.append(tuple(runs))
    return tuple(found)


@formula("machines")
def in_begun_rack(free_units: Number, free_power_w: Number, height_u: Number, power_w: Number, machines: int) -> int:
    """Machines of a kind that find room in the rack begun before it."""
    return fit(free_units, free_power_w, height_u, power_w, machines)


@formula("machines")
def machines_of_rack(rack_units: Number, rack_power_w: Number, height_u: Number, power_w: Number, machines: int) -> int:
    """Machines of a kind in a rack of their own; one that is too much for it still gets one."""
    return max(1, fit(rack_units, rack_power_w, height_u, power_w, machines))


@formula("racks")
def racks_begun(machines: int, in_begun_rack: int, of_rack: int) -> int:
    """Further racks that the machines of a kind begin: no machine is cut."""
    return ceil((machines - in_begun_rack) / of_rack)


@formula("machines")
def in_last_rack(machines: int, in_begun_rack: int, of_rack: int, racks: int) -> int:
    """Machines of a kind in the last rack that they begin, or in the one begun before them if that is all."""
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
def none_before() -> int:
    """No rack is begun yet."""
    return 0


@formula("racks")
def sum_of_begun(racks: int, more_racks: int) -> int:
    """Racks that several kinds begin one after the other."""
    return racks + more_racks


def racks_of(kinds: Sequence[Kind], rack: Room) -> Figure | None:
    """The racks that `packed` fills, as a figure that explains itself kind by kind; None without machines."""
    racks: Figure | None = None
    left: Room | None = None
    for kind in kinds:
        if not kind.pieces.value:
            continue
        asked = (kind.height_u, kind.power_w, kind.pieces)
        first = in_begun_rack(*left, *asked) if left else none_before()
        of_rack = machines_of_rack(*rack, *asked)
        more = racks_begun(kind.pieces, first, of_rack)
        last = in_last_rack(kind.pieces, first, of_rack, more)
        free = rack if more.value or left is None else left
        left = Room(units_left(free.units, last, kind.height_u), power_left(free.power_w, last, kind.power_w))
        if more.value:
            racks = more if racks is None else sum_of_begun(racks, more)
    return racks

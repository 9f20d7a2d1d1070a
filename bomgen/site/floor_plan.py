"""The floor: which rack of which row every device stands in, at which height, and how far it is from one to another.

Servers fill their racks in order, other machines are packed into racks of their own. Where the plan draws no rows, the
racks of switches stand in the middle of the servers' racks, which keeps the longest cables short, and the row is cut
where it is full. Cables run inside a rack, through the side into the next one, or up, over the trays and down again.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.core.messages import message
from bomgen.plan.types import RACK_KINDS, Site
from bomgen.site.rack_packing import Run, packed

Column = NDArray[np.int64]
NOWHERE = -1
COMPUTE, MANAGEMENT = RACK_KINDS


class Standing(NamedTuple):
    """Equal machines that stand in racks: how many, the height [U] and power [W] of one."""

    pieces: int
    height_u: int
    power_w: int


class Place(NamedTuple):
    """Where machines stand, a row a machine: the number of the rack over all rows, and the lowest unit, from 1."""

    rack: Column
    unit: Column


class Floor(NamedTuple):
    """The racks on the floor, a row a rack in the order of the rows."""

    row: Column
    """From 1."""
    position: Column
    """In the row, from 0."""
    compute: Column
    """The racks of servers, in the order that they are filled."""
    management: Column
    """The racks of everything else."""


def floor(site: Site, compute_racks: int, management_racks: int) -> Floor:
    """The racks of a plan on its floor. Raises ValueError when its rows have room for fewer."""
    rows = site.layout.rows
    if rows is None:
        of_row = int(site.layout.racks_per_row.value)
        before = compute_racks // 2
        kinds = [COMPUTE] * before + [MANAGEMENT] * management_racks + [COMPUTE] * (compute_racks - before)
        drawn = [kinds[start : start + of_row] for start in range(0, len(kinds), of_row)]
    else:
        drawn = [[kind for kind, racks in row for _ in range(int(racks.value))] for row in rows]
    flat = [kind for row in drawn for kind in row]
    wanted = {COMPUTE: compute_racks, MANAGEMENT: management_racks}
    for kind, racks in wanted.items():
        if flat.count(kind) < racks:
            raise ValueError(f"the rows have {flat.count(kind)} {kind} racks; {racks} are needed")
    number = np.array([kind == COMPUTE for kind in flat], dtype=bool)
    return Floor(
        row=np.repeat(np.arange(1, len(drawn) + 1, dtype=np.int64), [len(row) for row in drawn]),
        position=np.array([place for row in drawn for place in range(len(row))], dtype=np.int64),
        compute=np.flatnonzero(number)[:compute_racks],
        management=np.flatnonzero(~number)[:management_racks],
    )


def in_order(racks: Column, machines: int, of_rack: int, height_u: int | None) -> Place:
    """Machines that fill racks one after the other, from the bottom; without a unit where their height is not known."""
    number = np.arange(machines, dtype=np.int64)
    unit = number % of_rack * height_u + 1 if height_u else np.full(machines, NOWHERE, dtype=np.int64)
    return Place(racks[number // of_rack], unit)


def stacked(racks: Column, kinds: Sequence[Standing], units: int, power_w: int) -> list[Place]:
    """Machines of several kinds packed into racks, each kind from where the one before it ends.

    Where there are more racks than they need, every rack is filled less high. Machines that find no rack are nowhere.
    """
    runs = _packed(kinds, units, power_w, len(racks))
    used = np.zeros(max((run.first + run.racks for of_kind in runs for run in of_kind), default=0), dtype=np.int64)
    places = []
    for kind, of_kind in zip(kinds, runs, strict=True):
        rack = _column([np.repeat(np.arange(run.first, run.first + run.racks), run.machines) for run in of_kind])
        turn = _column([np.tile(np.arange(run.machines), run.racks) for run in of_kind])
        unit = used[rack] + turn * kind.height_u + 1
        for run in of_kind:
            used[run.first : run.first + run.racks] += run.machines * kind.height_u
        inside = rack < len(racks)
        found = np.full(len(rack), NOWHERE, dtype=np.int64)
        found[inside] = racks[rack[inside]]
        places.append(Place(found, np.where(inside, unit, NOWHERE)))
    return places


def _packed(kinds: Sequence[Standing], units: int, power_w: int, racks: int) -> tuple[tuple[Run, ...], ...]:
    """The lowest filling of racks that are all there, or what does not fit them."""
    items = [(kind.height_u, kind.power_w, kind.pieces) for kind in kinds]
    height = sum(kind.height_u * kind.pieces for kind in kinds)
    lowest = max([ceil(height / racks) if racks else units, *(kind.height_u for kind in kinds)], default=units)
    for limit in range(min(lowest, units), units + 1):
        found = packed(items, limit, power_w)
        if _racks(found) <= racks:
            return found
    return packed(items, units, power_w)


def racks_needed(kinds: Sequence[Standing], units: int, power_w: int) -> int:
    """The racks of so many units and so much power that machines of several kinds fill."""
    return _racks(packed([(kind.height_u, kind.power_w, kind.pieces) for kind in kinds], units, power_w))


def _racks(runs: Sequence[Sequence[Run]]) -> int:
    return max((run.first + run.racks for of_kind in runs for run in of_kind), default=0)


def _column(parts: Sequence[NDArray[np.int64]]) -> Column:
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)


class Route(NamedTuple):
    """The ways between the ends of cables, a row a cable: what their lengths are worked out from."""

    racks_apart: Column
    """Places between them along the row; over rows, from one column of racks to the other."""
    rows_apart: Column
    units: Column
    """Between them where they stand in one rack or in neighbours; else up to the top of both racks."""
    over_trays: NDArray[np.bool_]

    def __str__(self) -> str:
        within = int(np.count_nonzero((self.racks_apart == 0) & ~self.over_trays))
        beside = int(np.count_nonzero((self.racks_apart == 1) & ~self.over_trays))
        return message("routes", within=within, beside=beside, over=int(np.count_nonzero(self.over_trays)))


def routes(ground: Floor, units: int, a_rack: Column, a_unit: Column, b_rack: Column, b_unit: Column) -> Route:
    """The ways between places. A machine of which only the rack is known counts from the middle of it."""
    a_unit, b_unit = (np.where(unit == NOWHERE, units // 2, unit) for unit in (a_unit, b_unit))
    rows = np.abs(ground.row[a_rack] - ground.row[b_rack])
    along = np.abs(ground.position[a_rack] - ground.position[b_rack])
    over = (rows > 0) | (along > 1)
    height = np.where(over, 2 * units - a_unit - b_unit, np.abs(a_unit - b_unit))
    return Route(along, rows, height, over)

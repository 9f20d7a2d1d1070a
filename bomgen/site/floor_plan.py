"""The floor plan: row, rack and height of every machine, and the routes between machines.

Servers fill their racks in order, other machines are packed into separate racks. Where the plan gives no rows, the
management racks are in the middle of the servers' racks, which keeps the longest cables short, and a new row begins
where one is full. Cables run inside a rack, through the side into the next rack, or up, over the trays and down again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.core.document import group_by
from bomgen.core.messages import message
from bomgen.plan.types import FREE_RACK, RACK_KINDS, Installed, Site
from bomgen.site.racks import COMPUTE, MANAGEMENT, RackRun, pack_racks

Column = NDArray[np.int64]
NOWHERE = -1


class MachineGroup(NamedTuple):
    """Equal machines in racks: how many, and the height [U] and power [W] of one."""

    pieces: int
    height_u: int
    power_w: int

    @property
    def item(self) -> tuple[int, int, int]:
        """The machines as the packing takes them: height, power, count."""
        return self.height_u, self.power_w, self.pieces


class FloorPositions(NamedTuple):
    """Positions, one entry per machine: rack number over all rows, and lowest unit, from 1."""

    rack: Column
    unit: Column


class Floor(NamedTuple):
    """The racks on the floor, one entry per rack, row by row."""

    row: Column
    """Row of each rack, from 1."""
    position: Column
    """Position in the row, from 0."""
    compute: Column
    """Numbers of the racks for servers, in the order they are filled."""
    management: Column
    """Numbers of the racks for everything else."""


def arrange_floor(site: Site, compute_racks: int, management_racks: int) -> Floor:
    """Arrange racks in the rows of a plan. Raises ValueError when the rows have too few racks of a kind."""
    rows, installed = site.layout.rows, site.installed
    if rows is None and installed:
        drawn = [[kind for kind, racks in row for _ in range(racks)] for row in installed.rows]
        needed = ((COMPUTE, compute_racks), (MANAGEMENT, management_racks))
        for new in [kind for kind, racks in needed for _ in range(racks - installed.count(kind))]:
            if len(drawn[-1]) >= int(site.layout.racks_per_row.value):
                drawn.append([])
            drawn[-1].append(new)
    elif rows is None:
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
    of_kind = {kind: np.flatnonzero(np.array([rack == kind for rack in flat], dtype=bool)) for kind in RACK_KINDS}
    ground = Floor(
        row=np.repeat(np.arange(1, len(drawn) + 1, dtype=np.int64), [len(row) for row in drawn]),
        position=np.array([position for row in drawn for position in range(len(row))], dtype=np.int64),
        compute=of_kind[COMPUTE][:compute_racks],
        management=of_kind[MANAGEMENT][:management_racks],
    )
    if installed:
        _require_racks(installed, ground)
    return ground


def list_rows(ground: Floor) -> tuple[tuple[tuple[str, int], ...], ...]:
    """Return the kinds of the racks of every row, and how many of a kind are next to each other."""
    kinds = np.full(len(ground.row), FREE_RACK, dtype=object)
    kinds[ground.compute], kinds[ground.management] = COMPUTE, MANAGEMENT
    rows = group_by(zip(ground.row.tolist(), kinds.tolist(), strict=True), lambda rack: rack[0])
    return tuple(
        tuple((kind, len(list(racks))) for kind, racks in groupby(kind for _, kind in row)) for row in rows.values()
    )


def _require_racks(installed: Installed, ground: Floor) -> None:
    planned = Installed(list_rows(ground), {}).racks
    for number, rack in enumerate(installed.racks, start=1):
        row, position, kind = rack
        if kind != FREE_RACK and rack not in planned[number - 1 : number]:
            raise ValueError(
                f"{kind} rack {number} is installed at place {position + 1} of row {row}, where the plan has none; add "
                "racks at the end of the last row, or in new rows"
            )


def place_in_order(racks: Column, machines: int, per_rack: int, height_u: int | None) -> FloorPositions:
    """Place machines rack by rack, from the bottom up; without a unit when their height is unknown."""
    number = np.arange(machines, dtype=np.int64)
    unit = number % per_rack * height_u + 1 if height_u else np.full(machines, NOWHERE, dtype=np.int64)
    return FloorPositions(racks[number // per_rack], unit)


def stack_machines(racks: Column, kinds: Sequence[MachineGroup], units: int, power_w: int) -> list[FloorPositions]:
    """Pack machines of several kinds into racks; each kind continues where the one before it ends.

    Where there are more racks than needed, all racks are filled to a lower height. Machines without a rack are at
    NOWHERE.
    """
    runs = _pack_lowest(kinds, units, power_w, len(racks))
    used = np.zeros(_count_racks(runs), dtype=np.int64)
    places = []
    for kind, of_kind in zip(kinds, runs, strict=True):
        rack = _column([np.repeat(np.arange(run.first, run.first + run.racks), run.machines) for run in of_kind])
        turn = _column([np.tile(np.arange(run.machines), run.racks) for run in of_kind])
        unit = used[rack] + turn * kind.height_u + 1
        for run in of_kind:
            used[run.first : run.first + run.racks] += run.machines * kind.height_u
        inside = rack < len(racks)
        rack_of_machine = np.full(len(rack), NOWHERE, dtype=np.int64)
        rack_of_machine[inside] = racks[rack[inside]]
        places.append(FloorPositions(rack_of_machine, np.where(inside, unit, NOWHERE)))
    return places


def no_positions(machines: int) -> FloorPositions:
    """Return the positions of machines without a rack."""
    return FloorPositions(*(np.full(machines, NOWHERE, dtype=np.int64) for _ in range(2)))


def stack_above(
    racks: Column, kinds: Sequence[MachineGroup], counts: Sequence[Sequence[int]], used: Sequence[int]
) -> list[FloorPositions]:
    """Stack machines of several kinds, with a count per rack each, above the units in use of the racks.

    Machines beyond these counts are at NOWHERE.
    """
    top = np.array(used, dtype=np.int64)
    places = []
    for kind, of_racks in zip(kinds, counts, strict=True):
        held = np.array(of_racks, dtype=np.int64)
        number = np.repeat(np.arange(len(held)), held)
        turn = _column([np.arange(count) for count in of_racks])
        positions, placed = no_positions(kind.pieces), len(number)
        positions.rack[:placed], positions.unit[:placed] = racks[number], top[number] + turn * kind.height_u + 1
        top += held * kind.height_u
        places.append(positions)
    return places


def _pack_lowest(
    kinds: Sequence[MachineGroup], units: int, power_w: int, racks: int
) -> tuple[tuple[RackRun, ...], ...]:
    """Return the packing of lowest height into the given racks; if none fits, into as many racks as needed."""
    items = [kind.item for kind in kinds]
    height = sum(kind.height_u * kind.pieces for kind in kinds)
    lowest = max([ceil(height / racks) if racks else units, *(kind.height_u for kind in kinds)], default=units)
    for limit in range(min(lowest, units), units + 1):
        packing = pack_racks(items, limit, power_w)
        if _count_racks(packing) <= racks:
            return packing
    return pack_racks(items, units, power_w)


def racks_needed(kinds: Sequence[MachineGroup], units: int, power_w: int) -> int:
    """Return the number of racks of `units` and `power_w` that machines of several kinds fill."""
    return _count_racks(pack_racks([kind.item for kind in kinds], units, power_w))


def _count_racks(runs: Sequence[Sequence[RackRun]]) -> int:
    return max((run.first + run.racks for of_kind in runs for run in of_kind), default=0)


def _column(parts: Sequence[NDArray[np.int64]]) -> Column:
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)


class Route(NamedTuple):
    """The routes of cables, one entry per cable, from which their lengths are calculated."""

    racks_apart: Column
    """Rack positions between both ends along the row."""
    rows_apart: Column
    units: Column
    """Units between both ends within a rack or between neighbours; else up to the top of both racks."""
    over_trays: NDArray[np.bool_]

    def __str__(self) -> str:
        within = int(np.count_nonzero((self.racks_apart == 0) & ~self.over_trays))
        beside = int(np.count_nonzero((self.racks_apart == 1) & ~self.over_trays))
        return message("routes", within=within, beside=beside, over=int(np.count_nonzero(self.over_trays)))


def routes(ground: Floor, units: int, a_rack: Column, a_unit: Column, b_rack: Column, b_unit: Column) -> Route:
    """Return the routes between places a and b. A machine of unknown unit counts from the middle of its rack."""
    a_unit, b_unit = (np.where(unit == NOWHERE, units // 2, unit) for unit in (a_unit, b_unit))
    rows = np.abs(ground.row[a_rack] - ground.row[b_rack])
    along = np.abs(ground.position[a_rack] - ground.position[b_rack])
    over = (rows > 0) | (along > 1)
    height = np.where(over, 2 * units - a_unit - b_unit, np.abs(a_unit - b_unit))
    return Route(along, rows, height, over)

"""Machines around those that are installed: what is there stays, and new machines take the free space beside it.

New machines go into racks of their kind, the lowest number first and from the bottom up, then into new racks. Where a
rack is gone, too low or has too little power now, its machines are like new ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bomgen.plan.types import RACK_KINDS, Installed, Place

COMPUTE, MANAGEMENT = RACK_KINDS


class RackSpace(NamedTuple):
    """What an empty rack of a kind has for machines."""

    units: int
    power_w: int


class Machines(NamedTuple):
    """Equal machines to stand in racks, some of which are installed."""

    pieces: int
    height_u: int
    """Height of one; 0 if it is unknown."""
    power_w: int
    installed: Mapping[int, Place]
    """Their places by number, from 0."""


class RackPlace(NamedTuple):
    """Where a machine stands."""

    kind: str
    rack: int
    """The number of the rack among those of its kind, from 0."""
    unit: int
    """The lowest unit; 0 if it is unknown."""


@dataclass(slots=True)
class FilledRack:
    """A rack with machines in it."""

    kind: str
    number: int
    """Among the racks of its kind, from 0."""
    units: int
    free_w: int
    taken: int = 0
    """Units in use, a bit per unit."""
    servers: int = 0

    def find_unit(self, height_u: int) -> int | None:
        """Return the lowest unit above which a height is free; None where there is none."""
        wanted = (1 << height_u) - 1
        return next((unit for unit in range(1, self.units - height_u + 2) if not self.taken & (wanted << unit)), None)

    def add(self, machines: Machines, unit: int) -> RackPlace:
        """Put a machine at a unit, and return its place."""
        self.taken |= ((1 << machines.height_u) - 1) << unit
        self.free_w -= machines.power_w
        return RackPlace(self.kind, self.number, unit if machines.height_u else 0)


class Hall:
    """The racks of a site that grows, as machines are put into them."""

    def __init__(self, installed: Installed, spaces: Mapping[str, RackSpace], per_rack: int, overload: bool) -> None:
        self.spaces, self.per_rack, self.overload = spaces, per_rack, overload
        self.racks: dict[str, list[FilledRack]] = {kind: [] for kind in RACK_KINDS}
        self.by_number: dict[int, FilledRack] = {}
        for number, (_, _, kind) in enumerate(installed.racks, start=1):
            if kind in self.racks:
                self.by_number[number] = self._open(kind)

    def stand(
        self, servers: Sequence[Machines], others: Sequence[Machines], shared: bool
    ) -> list[list[RackPlace | None]]:
        """Return the places of servers, then those of other machines; `shared`: these stand in the servers' racks.

        A machine without a place is one for which shared racks have no room.
        """
        groups = (*servers, *others)
        places = [self._keep(machines, number < len(servers)) for number, machines in enumerate(groups)]
        for number, (machines, kept) in enumerate(zip(groups, places, strict=True)):
            missing = [index for index, place in enumerate(kept) if place is None]
            new = self._find_room(machines, number < len(servers), shared, len(missing))
            for index, place in zip(missing, new, strict=False):
                kept[index] = place
        return places

    def _open(self, kind: str) -> FilledRack:
        rack = FilledRack(kind, len(self.racks[kind]), *self.spaces[kind])
        self.racks[kind].append(rack)
        return rack

    def _keep(self, machines: Machines, of_servers: bool) -> list[RackPlace | None]:
        places: list[RackPlace | None] = [None] * machines.pieces
        for index, (number, unit) in sorted(machines.installed.items()):
            rack = self.by_number.get(number)
            if rack is None or index >= machines.pieces or (of_servers and rack.kind != COMPUTE):
                continue
            high = unit + machines.height_u - 1 > rack.units
            overlaps = rack.taken & (((1 << machines.height_u) - 1) << unit) or bool(machines.height_u) != bool(unit)
            overloads = high or machines.power_w > rack.free_w
            if overlaps or (overloads and not self.overload):
                continue
            places[index] = rack.add(machines, unit)
            rack.servers += of_servers
        return places

    def _find_room(self, machines: Machines, of_servers: bool, shared: bool, pieces: int) -> list[RackPlace]:
        kind = COMPUTE if of_servers or shared else MANAGEMENT
        places = list[RackPlace]()
        for rack in self.racks[kind]:
            self._fill(rack, machines, of_servers, pieces, places)
        while len(places) < pieces and (of_servers or not shared):
            rack = self._open(kind)
            self._fill(rack, machines, of_servers, pieces, places)
            if not rack.taken and not rack.servers:  # one even where it does not fit, as in any rack
                places.append(self._add(rack, machines, 1, of_servers))
        return places

    def _fill(
        self, rack: FilledRack, machines: Machines, of_servers: bool, pieces: int, places: list[RackPlace]
    ) -> None:
        while len(places) < pieces and (unit := self._find_unit(rack, machines, of_servers)) is not None:
            places.append(self._add(rack, machines, unit, of_servers))

    def _find_unit(self, rack: FilledRack, machines: Machines, of_servers: bool) -> int | None:
        if of_servers and rack.servers >= self.per_rack:
            return None
        if machines.power_w > rack.free_w and not (of_servers and self.overload):
            return None
        return rack.find_unit(machines.height_u)

    def _add(self, rack: FilledRack, machines: Machines, unit: int, of_servers: bool) -> RackPlace:
        rack.servers += of_servers
        return rack.add(machines, unit)

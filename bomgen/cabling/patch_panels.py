"""Patch panels: the jumpers, trunks and panels that replace the fibres between racks.

A trunk connects two racks and serves no others; each of its legs takes a port through a panel at both ends. Panels are
at the top of their rack. All data are columns: nothing here loops over single links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.cabling.types import COLUMNS, NOWHERE, PANEL, CableType, Column, DeviceKind, Places, Wiring
from bomgen.catalog.parts import Panel
from bomgen.core.messages import message
from bomgen.core.provenance import formula
from bomgen.optics.compatibility import Medium, Patch
from bomgen.optics.uses import JUMPER, TRUNKED
from bomgen.plan.types import Site
from bomgen.site import floor_plan
from bomgen.site.floor_plan import Floor
from bomgen.site.racks import compute_capacity, management_capacity

CENTIMETRES = 100


class RackPair(NamedTuple):
    """The cables from one rack to another, or within one rack."""

    first: int
    second: int
    lengths: tuple[tuple[float, int], ...]
    """Each stock length [m] with its number of cables, the shortest first."""

    @property
    def cables(self) -> int:
        """Return the number of cables."""
        return sum(number for _, number in self.lengths)


def cables_by_racks(wiring: Wiring) -> list[RackPair]:
    """Return the cables between each pair of racks in floor order; empty if the plan places no device in a rack.

    A cable with several ends counts once, with the first of them.
    """
    if wiring.places is None or not len(wiring):
        return []
    links = np.flatnonzero(np.diff(wiring.piece, prepend=-1))
    ends = np.stack([wiring.places.rack[device[links]] for device in (wiring.a_device, wiring.b_device)])
    lengths = np.rint(wiring.length_m[links] * CENTIMETRES).astype(np.int64)
    rows = np.vstack([ends.min(axis=0), ends.max(axis=0), lengths])[:, (ends != NOWHERE).all(axis=0)]
    by_racks: dict[tuple[int, int], Counter[float]] = {}
    distinct, numbers = np.unique(rows, axis=1, return_counts=True)
    for (first, second, length), number in zip(distinct.T.tolist(), numbers.tolist(), strict=True):
        by_racks.setdefault((first, second), Counter())[length / CENTIMETRES] = number
    return [RackPair(*racks, tuple(sorted(of.items()))) for racks, of in by_racks.items()]


RACK_DIGITS, PANEL_DIGITS = 3, 2
"""Minimum digits of a rack and of a panel in it, in the name of a panel."""
Columns = dict[str, NDArray[Any]]


class _Trunks(NamedTuple):
    """The links over panels, one per row, those of a trunk adjacent, and the trunks that carry them."""

    rows: Column
    """Rows of the wiring."""
    kind: Column
    """Number of the kind of link."""
    trunk: Column
    leg: Column
    a_is_first: NDArray[np.bool_]
    """Whether the lower end of the link is where the trunk begins: in the rack with the smaller number."""
    racks: NDArray[np.int64]
    """The two racks of every trunk, from 0, one row per end."""
    group: Column
    """The group of every trunk, which determines its parts."""


class _Group(NamedTuple):
    """Trunks of one part for one kind of link."""

    fabric: str
    kind: str
    patch: Patch


class _Stands(NamedTuple):
    """The panels of one kind in one rack, one row per such pair, by rack."""

    rack: Column
    bank: Column
    ports: Column
    panels: Column
    first: Column
    """The number of the first panel in its rack, from 0."""
    device: Column
    """The number of the first device."""


class _Bank(NamedTuple):
    fabric: str
    panel: Panel


def route_over_panels(wiring: Wiring, site: Site, racks: Floor) -> Wiring:
    """Return the wiring with a row for every jumper and every trunk of links that go over panels.

    Raises ValueError when the rack of such a link is unknown.
    """
    groups: dict[tuple[str, str, str, str], int] = {}
    named: list[_Group] = []
    of_type = np.full(len(wiring.cable_types), NOWHERE, dtype=np.int64)
    for number, cable_type in enumerate(wiring.cable_types):
        if cable_type.patch:
            key = (
                cable_type.fabric,
                cable_type.kind,
                cable_type.patch.trunk.identity.id,
                cable_type.patch.panel.identity.id,
            )
            if key not in groups:
                named.append(_Group(cable_type.fabric, cable_type.kind, cable_type.patch))
            of_type[number] = groups.setdefault(key, len(groups))
    rows = _leaving(wiring, of_type, site, racks)
    if not len(rows):
        return wiring
    trunks = _trunks(wiring, rows, of_type, named)
    banks = list(dict.fromkeys(_Bank(group.fabric, group.patch.panel) for group in named))
    bank_of = np.array([banks.index(_Bank(group.fabric, group.patch.panel)) for group in named], dtype=np.int64)
    legs = np.array([int(group.patch.trunk.links.value) for group in named], dtype=np.int64)
    stands, stand, port = _ports(trunks, bank_of, legs, banks, wiring.kinds[-1].start + wiring.kinds[-1].number)
    per_panel = np.array([int(bank.panel.ports.value) for bank in banks], dtype=np.int64)
    at = port[:, trunks.trunk] + trunks.leg
    held = per_panel[stands.bank[stand[:, trunks.trunk]]]
    ends = np.stack((stands.device[stand[:, trunks.trunk]] + at // held, at % held))
    kinds = (*wiring.kinds, *_kinds(banks, stands))
    ports = int(per_panel.max())
    names = [f"{side}{number + 1}" for side in "fr" for number in range(ports)]
    return replace(
        wiring,
        kinds=kinds,
        ports=(*wiring.ports, *names),
        places=_places(wiring, stands, banks, site, racks),
        **_assembled(wiring, trunks, ends, named, of_type, ports),
    )


class PortsOfRacks(NamedTuple):
    """Ports through panels that are in use, lit or not."""

    racks: tuple[tuple[int, int], ...]
    """Pairs of ports and the number of racks with that many."""

    def __str__(self) -> str:
        ports = sum(ports * racks for ports, racks in self.racks)
        return message("ports-in-racks", ports=ports, racks=sum(racks for _, racks in self.racks))


@formula("pieces")
def panels_of_racks(ports: PortsOfRacks, ports_per_panel: int) -> int:
    """Patch panels of all racks, rounded up per rack."""
    return sum(racks * ceil(used / ports_per_panel) for used, racks in ports.racks)


def ports_of_racks(wiring: Wiring, fabric: str, panel: Panel) -> PortsOfRacks:
    """Return the ports through a kind of panel of a fabric that trunks take, rack by rack."""
    table = wiring.each_cable
    if table.places is None:
        return PortsOfRacks(())
    ports_by_rack = np.zeros(int(table.places.rack.max()) + 1, dtype=np.int64)
    for number, cable_type in enumerate(table.cable_types):
        if (
            cable_type.role != TRUNKED
            or cable_type.fabric != fabric
            or cable_type.medium is None
            or cable_type.medium.cable is None
        ):
            continue
        if cable_type.patch is None or cable_type.patch.panel.identity.id != panel.identity.id:
            continue
        rows = np.flatnonzero(table.cable_type == number)
        first = rows[np.flatnonzero(np.diff(table.piece[rows], prepend=NOWHERE))]
        for device in (table.a_device, table.b_device):
            np.add.at(ports_by_rack, table.places.rack[device[first]], int(cable_type.medium.cable.links.value))
    ports, racks = np.unique(ports_by_rack[ports_by_rack > 0], return_counts=True)
    return PortsOfRacks(tuple(zip(ports.tolist(), racks.tolist(), strict=True)))


def _leaving(wiring: Wiring, of_type: Column, site: Site, racks: Floor) -> Column:
    """Return the links that go over panels: those with panels whose cable would lie in a tray."""
    rows = np.flatnonzero(of_type[wiring.cable_type] != NOWHERE)
    if not len(rows) or wiring.places is None:
        return rows[:0]
    a, b = (wiring.places.rack[device[rows]] - 1 for device in (wiring.a_device, wiring.b_device))
    unknown = np.flatnonzero((a < 0) | (b < 0))
    if len(unknown):
        first = wiring.cable_types[wiring.cable_type[rows[unknown[0]]]]
        raise ValueError(
            f"panels need a rack at both ends of every link, and {len(unknown)} {first.kind} links of {first.fabric} "
            "end at devices without a rack; set `rack_units` for servers, a `part:` with a height for others"
        )
    somewhere = np.ones(len(rows), dtype=np.int64)
    units = ceil(site.rack_units.value)
    return rows[floor_plan.routes(racks, units, a, somewhere, b, somewhere).over_trays]


def _trunks(wiring: Wiring, rows: Column, of_type: Column, named: Sequence[_Group]) -> _Trunks:
    """Return the links over panels distributed over trunks, pair of racks by pair of racks."""
    if wiring.places is None:
        raise ValueError("panels stand in racks, and no place is known")
    a, b = (wiring.places.rack[device[rows]] - 1 for device in (wiring.a_device, wiring.b_device))
    group = of_type[wiring.cable_type[rows]]
    low, high = np.minimum(a, b), np.maximum(a, b)
    order = np.lexsort((rows, high, low, group))
    rows, group, low, high, a = (column[order] for column in (rows, group, low, high, a))
    pair = np.stack((group, low, high))
    new = np.concatenate(([True], np.any(pair[:, 1:] != pair[:, :-1], axis=0)))
    start = np.maximum.accumulate(np.where(new, np.arange(len(rows)), 0))
    position = np.arange(len(rows)) - start
    legs = np.array([int(entry.patch.trunk.links.value) for entry in named], dtype=np.int64)[group]
    leg = position % legs
    begins = np.flatnonzero(leg == 0)
    trunk = np.cumsum(leg == 0) - 1
    kinds = list(dict.fromkeys((entry.fabric, entry.kind) for entry in named))
    kind = np.array([kinds.index((entry.fabric, entry.kind)) for entry in named], dtype=np.int64)[group]
    return _Trunks(rows, kind, trunk, leg, a == low, np.stack((low[begins], high[begins])), group[begins])


def _ports(
    trunks: _Trunks, bank_of: Column, legs: Column, banks: Sequence[_Bank], start: int
) -> tuple[_Stands, NDArray[np.int64], NDArray[np.int64]]:
    """Return the panels, and for either end of every trunk their row and its first port in a rack."""
    count = len(trunks.group)
    rack = trunks.racks.ravel()
    bank, taken = (np.tile(column[trunks.group], 2) for column in (bank_of, legs))
    order = np.lexsort((np.tile(np.arange(count), 2), bank, rack))
    rack, bank, taken = rack[order], bank[order], taken[order]
    new = np.concatenate(([True], (rack[1:] != rack[:-1]) | (bank[1:] != bank[:-1])))
    before = np.cumsum(taken) - taken
    begins = np.flatnonzero(new)
    number = np.cumsum(new) - 1
    first_port, stand = np.empty(2 * count, dtype=np.int64), np.empty(2 * count, dtype=np.int64)
    first_port[order], stand[order] = before - before[begins][number], number
    ports = np.add.reduceat(taken, begins)
    rack, bank = rack[begins], bank[begins]
    panels = -(-ports // np.array([int(bank.panel.ports.value) for bank in banks], dtype=np.int64)[bank])
    by_pool = np.lexsort((rack, bank))
    device = np.empty(len(rack), dtype=np.int64)
    device[by_pool] = start + np.cumsum(panels[by_pool]) - panels[by_pool]
    stands = _Stands(rack, bank, ports, panels, _before(panels, rack), device)
    return stands, stand.reshape(2, count), first_port.reshape(2, count)


def _before(counts: Column, rack: Column) -> Column:
    """Return the sum of a rack's counts before each of them; the counts of a rack are adjacent."""
    sums = np.cumsum(counts) - counts
    start = np.maximum.accumulate(np.where(np.diff(rack, prepend=NOWHERE) != 0, np.arange(len(rack)), 0))
    earlier: Column = sums - sums[start]
    return earlier


def _kinds(banks: Sequence[_Bank], stands: _Stands) -> Iterator[DeviceKind]:
    """Yield the kinds of panel, numbered after all other devices, rack by rack."""
    digits = max(RACK_DIGITS, len(str(int(stands.rack.max()) + 1)))
    for number, bank in enumerate(banks):
        rows = np.flatnonzero(stands.bank == number)
        if not len(rows):
            continue
        rack = np.repeat(stands.rack[rows] + 1, stands.panels[rows])
        turn = _turns(stands.panels[rows]) + np.repeat(stands.first[rows], stands.panels[rows]) + 1
        names = [
            f"panel-R{at:0{digits}}-{panel_number:0{PANEL_DIGITS}}"
            for at, panel_number in zip(rack.tolist(), turn.tolist(), strict=True)
        ]
        panel = bank.panel
        yield DeviceKind(
            device=PANEL,
            fabric=bank.fabric,
            start=int(stands.device[rows].min()),
            number=len(names),
            identity=panel.identity,
            name=names.__getitem__,
            height_u=panel.rack_units,
            power_w=None,
            weight_kg=panel.weight_kg,
        )


def _turns(counts: Column) -> Column:
    ends = np.cumsum(counts)
    turns: Column = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)
    return turns


def _places(wiring: Wiring, stands: _Stands, banks: Sequence[_Bank], site: Site, racks: Floor) -> Places | None:
    if wiring.places is None:
        return None
    top, free_from = _room(wiring, site, racks)
    height = np.array([ceil(bank.panel.rack_units.value) for bank in banks], dtype=np.int64)
    rack = np.repeat(stands.rack, stands.panels)
    high = np.repeat(height[stands.bank], stands.panels)
    device = np.repeat(stands.device, stands.panels) + _turns(stands.panels)
    unit = top[rack] - _before(high, rack) - high + 1
    unit = np.where(unit >= free_from[rack], unit, NOWHERE)
    order = np.argsort(device)
    rack, unit = rack[order], unit[order]
    before = wiring.places
    return before._replace(
        row=np.concatenate((before.row, racks.row[rack])),
        rack=np.concatenate((before.rack, rack + 1)),
        unit=np.concatenate((before.unit, unit)),
    )


def _room(wiring: Wiring, site: Site, racks: Floor) -> tuple[Column, Column]:
    """Return the topmost unit of every rack below horizontal PDUs, and the lowest that is free up to there."""
    # A rack with a device at an unknown height has no known room; upright PDUs take none.
    units = ceil(site.rack_units.value)
    top = np.full(len(racks.row), units, dtype=np.int64)
    top[racks.compute] = ceil(compute_capacity(site).units.value)
    top[racks.management] = ceil(management_capacity(site).units.value)
    free_from = np.ones(len(racks.row), dtype=np.int64)
    if wiring.places is None:
        return top, free_from
    height = np.array([ceil(kind.height_u.value) if kind.height_u else 0 for kind in wiring.kinds], dtype=np.int64)
    upright = np.array([kind.identity is None and not kind.height_u for kind in wiring.kinds], dtype=bool)
    kind = wiring.kind_numbers
    standing = np.flatnonzero((wiring.places.rack != NOWHERE) & ~upright[kind])
    rack, unit = wiring.places.rack[standing] - 1, wiring.places.unit[standing]
    above = np.where(unit == NOWHERE, units + 1, unit + height[kind[standing]])
    below_pdus = (unit == NOWHERE) | (unit <= top[rack])
    np.maximum.at(free_from, rack[below_pdus], above[below_pdus])
    return top, free_from


def _assembled(
    wiring: Wiring, trunks: _Trunks, ends: NDArray[np.int64], named: Sequence[_Group], of_type: Column, ports: int
) -> dict[str, Any]:
    """Return cable types and columns by kind of link: direct fibres, lower jumpers, trunks, upper jumpers."""
    # `ends` has device and port of the panels where the trunks begin and where they end, by link.
    cable_types = list(wiring.cable_types)
    lower = _add_panel_types(cable_types, wiring.cable_types, JUMPER, below=True)
    upper = _add_panel_types(cable_types, wiring.cable_types, JUMPER, below=False)
    of_trunks = np.empty(len(named), dtype=np.int64)
    for number, group in enumerate(named):
        cable_type = wiring.cable_types[int(np.flatnonzero(of_type == number)[0])]
        medium = Medium(None, None, group.patch.trunk, Fraction(0))
        of_trunks[number] = len(cable_types)
        cable_types.append(_panel_cable_type(cable_type, medium, (1, 1), TRUNKED))
    direct = np.ones(len(wiring), dtype=bool)
    direct[trunks.rows] = False
    kinds = list(dict.fromkeys((cable_type.fabric, cable_type.kind) for cable_type in wiring.cable_types))
    of_row = np.array(
        [kinds.index((cable_type.fabric, cable_type.kind)) for cable_type in wiring.cable_types], dtype=np.int64
    )
    patched = list(dict.fromkeys((group.fabric, group.kind) for group in named))
    rear = len(wiring.ports) + ports
    blocks: list[Columns] = []
    for number, kind in enumerate(kinds):
        direct_rows = np.flatnonzero((of_row[wiring.cable_type] == number) & direct)
        blocks.append({name: getattr(wiring, name)[direct_rows] for name in COLUMNS})
        if kind not in patched:
            continue
        links = np.flatnonzero(trunks.kind == patched.index(kind))
        by_row = links[np.argsort(trunks.rows[links])]
        rows, first = trunks.rows[by_row], trunks.a_is_first[by_row]
        below, above = (np.where(side, ends[:, 0, by_row], ends[:, 1, by_row]) for side in (first, ~first))
        of_link = wiring.cable_type[rows]
        one_each = np.arange(len(rows), dtype=np.int64)
        device = {name: getattr(wiring, name)[rows] for name in COLUMNS if name[:2] in ("a_", "b_")}
        a, b = ({name: column for name, column in device.items() if name[:2] == end} for end in ("a_", "b_"))
        blocks.append(a | _end("b_", below, len(wiring.ports)) | {"cable_type": lower[of_link], "piece": one_each})
        begin, end = _end("a_", ends[:, 0, links], rear), _end("b_", ends[:, 1, links], rear)
        of_group = of_trunks[trunks.group[trunks.trunk[links]]]
        blocks.append(begin | end | {"cable_type": of_group, "piece": trunks.trunk[links]})
        blocks.append(_end("a_", above, len(wiring.ports)) | b | {"cable_type": upper[of_link], "piece": one_each})
    for block in blocks:
        block.setdefault("length_m", np.zeros(len(block["cable_type"]), dtype=np.float64))
    columns = {name: np.concatenate([block[name] for block in blocks]) for name in COLUMNS if name != "piece"}
    columns["cable_type"] = columns["cable_type"].astype(np.int16)
    new = [np.diff(block["piece"], prepend=NOWHERE) != 0 for block in blocks]
    columns["piece"] = np.cumsum(np.concatenate(new)).astype(np.int64) - 1
    return {**columns, "cable_types": tuple(cable_types)}


def _end(side: str, ends: NDArray[np.int64], first: int) -> Columns:
    device, port = ends
    return {
        f"{side}device": device,
        f"{side}port": port + first,
        f"{side}cage": port,
        f"{side}lane": np.zeros(len(port), dtype=np.int64),
    }


def _add_panel_types(cable_types: list[CableType], end_to_end: Sequence[CableType], role: str, below: bool) -> Column:
    """Return the numbers of the cable types of lower, or upper, jumpers; -1 for types without panels."""
    numbers = np.full(len(end_to_end), NOWHERE, dtype=np.int64)
    for number, cable_type in enumerate(end_to_end):
        if cable_type.patch is None or cable_type.medium is None:
            continue
        numbers[number] = len(cable_types)
        medium = Medium(
            cable_type.medium.lower if below else None,
            None if below else cable_type.medium.upper,
            cable_type.patch.jumper,
            Fraction(0),
        )
        per_cage = (cable_type.links_per_cage[0], 1) if below else (1, cable_type.links_per_cage[1])
        cable_types.append(_panel_cable_type(cable_type, medium, per_cage, role))
    return numbers


def _panel_cable_type(cable_type: CableType, medium: Medium, per_cage: tuple[int, int], role: str) -> CableType:
    """Return a cable type with other parts, its length measured along its route over the floor."""
    return cable_type._replace(medium=medium, links_per_cage=per_cage, role=role, measured=True)

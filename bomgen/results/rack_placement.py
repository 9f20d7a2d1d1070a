"""Groups of equal racks, from the positions of all devices.

Positions are NumPy columns: thirty thousand racks are grouped by content before any device is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.cabling.devices import (
    SERVERS,
    DeviceTable,
    build_floor,
    locate_devices,
    number_devices,
    pdu_units,
    stack_of_machines,
)
from bomgen.cabling.types import NOWHERE, PANEL, Column, DeviceKind, Places
from bomgen.cabling.wiring import wire
from bomgen.core.messages import message
from bomgen.design.assembly import Design
from bomgen.plan.types import PDUS, Site
from bomgen.results.elevations import (
    MOST_NAMED,
    NO_HEIGHT,
    NO_ROOM,
    TRAY,
    Elevation,
    Elevations,
    HungPdu,
    RackBlock,
    Slot,
    Span,
    Unplaced,
    doubts,
    spans_text,
    sums_of,
)
from bomgen.site import floor_plan
from bomgen.site.floor_plan import Floor
from bomgen.site.rack_loads import feed_letter
from bomgen.site.racks import COMPUTE, MANAGEMENT, watts_in_words


class RackedDevices(NamedTuple):
    """All devices in racks, sorted by rack, unit and number."""

    device: Column
    kind: Column
    unit: Column
    start: Column
    """First row of every rack on the floor, followed by the total number of rows."""


class RackStack(NamedTuple):
    """Devices stacked in every rack of a group."""

    kind: DeviceKind
    unit: int
    boxes: tuple[tuple[int, int], ...]
    """Rows of each device within those of its rack."""


def elevations(design: Design) -> Elevations | None:
    """Return the rack elevations of a design; None if the plan has no site, or no rack is counted.

    Raises ValueError if the rows of the floor plan have too few racks; for links over panels, as `wire`.
    """
    site, floor = design.plan.site, build_floor(design)
    if site is None or floor is None:
        return None
    found = number_devices(design)
    placed = locate_devices(design, found, site, floor)
    if any(link_group.patch for built in design.fabrics for link_group in built.interconnect.link_groups):
        table = wire(design).each_cable
        found, placed = found._replace(kinds=table.kinds), table.places or placed
    rows = _rows(found, placed, len(floor.row))
    groups = tuple(_group(design, site, floor, found, rows, kind, racks) for kind, racks in _alike(floor, rows))
    return Elevations(
        units=ceil(site.rack_units.value),
        groups=groups,
        rows=tuple(_drawn(floor)),
        unplaced=tuple(_unplaced(found.kinds, placed)),
        warnings=(*_doubts(design, site, found, placed), *doubts(site, design.facility.supply.feeds, groups)),
    )


# Equal racks


def _rows(device_table: DeviceTable, placed: Places, racks: int) -> RackedDevices:
    device = np.flatnonzero(placed.rack != NOWHERE).astype(np.int64)
    kinds = np.repeat(np.arange(len(device_table.kinds), dtype=np.int64), [kind.number for kind in device_table.kinds])
    kind, unit, rack = kinds[device], placed.unit[device], placed.rack[device]
    order = np.lexsort((device, unit, rack))
    start = np.searchsorted(rack[order], np.arange(1, racks + 2)).astype(np.int64)
    return RackedDevices(device[order], kind[order], unit[order], start)


def _alike(floor: Floor, rows: RackedDevices) -> list[tuple[str, list[int]]]:
    """Return groups of racks of a kind with the same kinds of device at the same units, by their first rack, from 0."""
    scale = int(rows.unit.max(initial=0)) + 2
    what = rows.kind * scale + rows.unit + 1
    groups: dict[tuple[str, bytes], list[int]] = {}
    start = rows.start.tolist()
    for kind, numbers in ((COMPUTE, floor.compute), (MANAGEMENT, floor.management)):
        for rack in numbers.tolist():
            groups.setdefault((kind, what[start[rack] : start[rack + 1]].tobytes()), []).append(rack)
    found = [(kind, racks) for (kind, _), racks in groups.items()]
    return sorted(found, key=lambda group: group[1][0])


def _group(
    design: Design,
    site: Site,
    floor: Floor,
    device_table: DeviceTable,
    rows: RackedDevices,
    kind: str,
    racks: list[int],
) -> Elevation:
    numbers = np.array(racks, dtype=np.int64)
    held = rows.start[racks[0] + 1] - rows.start[racks[0]]
    devices = rows.device[rows.start[numbers][:, None] + np.arange(held)]
    first = slice(rows.start[racks[0]], rows.start[racks[0] + 1])
    of_pdus = device_table.hosts.get(PDUS)
    is_pdu = _are(rows.device[first], of_pdus)
    server = design.facility.server
    scale = server is not None and server.rack_scale
    is_spare = _are(rows.device[first], device_table.spare)
    slots = tuple(
        _slot(standing, devices, scale and standing.kind.device == SERVERS, bool(is_spare[standing.boxes[0][0]]))
        for standing in _standing(device_table, rows.kind[first], rows.unit[first], np.flatnonzero(~is_pdu))
    )
    pdus = _pdus(design, site, kind, of_pdus, devices[:, is_pdu])
    return Elevation(
        kind=kind,
        racks=_spans(numbers + 1),
        rows=_spans(np.unique(floor.row[numbers])),
        number=len(racks),
        units=ceil(site.rack_units.value),
        slots=slots,
        pdus=pdus,
        sums=sums_of(site, kind, server, slots, pdus),
    )


def _are(devices: Column, kind: DeviceKind | None) -> NDArray[np.bool_]:
    """Return which devices are of a kind, by number; several descriptions may refer to the same devices."""
    start, number = (kind.start, kind.number) if kind else (0, 0)
    return (devices >= start) & (devices < start + number)


def _standing(device_table: DeviceTable, kind: Column, unit: Column, rows: Column) -> Iterator[RackStack]:
    """Yield stacks from the rows of a rack, whose rows are first joined to devices."""
    below: RackStack | None = None
    for row in rows.tolist():
        of, at = device_table.kinds[int(kind[row])], int(unit[row])
        same = below is not None and below.kind is of
        if below and same and at != NOWHERE and at == below.unit + (len(below.boxes) - 1) * _height(of):
            first, _ = below.boxes[-1]
            below = below._replace(boxes=(*below.boxes[:-1], (first, row)))
        elif below and same and at in (NOWHERE, below.unit + len(below.boxes) * _height(of)):
            below = below._replace(boxes=(*below.boxes, (row, row)))
        else:
            if below:
                yield below
            below = RackStack(of, at, ((row, row),))
    if below:
        yield below


def _slot(standing: RackStack, devices: NDArray[np.int64], trays: bool, spare: bool) -> Slot:
    """Return equal devices of equal racks; `devices` has a row per rack."""
    kind, boxes = standing.kind, standing.boxes
    inside = devices[:, boxes[0][0] : boxes[-1][1] + 1] - kind.start
    shift, numbers = boxes[0][0], np.sort(inside, axis=None)
    plane = numbers // max(kind.per_plane, 1)
    runs = _runs((np.diff(numbers) != 1) | (np.diff(plane) != 0))
    return Slot(
        device=TRAY if trays else kind.device,
        identity=kind.identity,
        unit=None if standing.unit == NOWHERE else standing.unit,
        height_u=_height(kind) or None,
        pieces=len(boxes),
        names=tuple((kind.name(int(numbers[first])), kind.name(int(numbers[last]))) for first, last in runs),
        boxes=tuple((kind.name(int(inside[0, a - shift])), kind.name(int(inside[-1, b - shift]))) for a, b in boxes),
        power_w=kind.power_w,
        weight_kg=kind.weight_kg,
        supplies=kind.supplies,
        spare=spare,
    )


def _pdus(
    design: Design, site: Site, kind: str, of_pdus: DeviceKind | None, devices: NDArray[np.int64]
) -> tuple[HungPdu, ...]:
    """Return the PDUs of equal racks with their feeds; `devices` has a row per rack, empty if PDUs have no names."""
    part, pdus = (site.pdu, site.pdus_per_rack) if kind == COMPUTE else (site.management_pdu, site.management_pdus)
    supply = design.facility.supply
    feeds = supply.feeds if kind == MANAGEMENT or supply.compute_rack_feeds else None
    racks = devices.shape[0]
    found = []
    for number, unit in enumerate(pdu_units(site, part, pdus).tolist()):
        name = second = None
        if of_pdus and number < devices.shape[1]:
            names = [of_pdus.name(int(devices[rack, number]) - of_pdus.start) for rack in (0, min(1, racks - 1), -1)]
            name, second = (names[0], names[-1]), names[1] if racks > 1 else None
        lies = unit != NOWHERE
        height = ceil(part.rack_units.value) if part and part.rack_units and lies else 0
        found.append(HungPdu(name, second, feed_letter(number, feeds), unit if lies else None, height))
    return tuple(found)


def _height(kind: DeviceKind) -> int:
    return ceil(kind.height_u.value) if kind.height_u else 0


def _spans(numbers: Column) -> tuple[Span, ...]:
    return tuple((int(numbers[first]), int(numbers[last])) for first, last in _runs(np.diff(numbers) != 1))


def _runs(breaks: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of each run; `breaks` says whether a run ends at each index but the last."""
    ends = np.flatnonzero(breaks)
    yield from zip([0, *(ends + 1).tolist()], [*ends.tolist(), len(breaks)], strict=True)


# The floor


def _drawn(floor: Floor) -> Iterator[tuple[RackBlock, ...]]:
    first = 1
    for row in floor_plan.list_rows(floor):
        *starts, first = accumulate((racks for _, racks in row), initial=first)
        yield tuple(RackBlock(kind, start, racks) for (kind, racks), start in zip(row, starts, strict=True))


# Devices without a rack


def _unplaced(kinds: Iterable[DeviceKind], placed: Places) -> Iterator[Unplaced]:
    """Yield the devices without a rack per part, except devices without a part, which are not supplied."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for kind in kinds:
        nowhere = int(np.count_nonzero(placed.rack[kind.start : kind.start + kind.number] == NOWHERE))
        if kind.identity:
            part = (kind.identity.name, NO_ROOM if kind.height_u else NO_HEIGHT)
            missing, boxes = found.get(part, (0, 0))
            found[part] = (missing + ceil(nowhere / kind.of_box), boxes + ceil(kind.number / kind.of_box))
    for (name, why), (missing, boxes) in found.items():
        if missing:
            yield Unplaced(name, missing, boxes, why)


def _doubts(design: Design, site: Site, device_table: DeviceTable, placed: Places) -> Iterator[tuple[str, str]]:
    panels = [kind for kind in device_table.kinds if kind.device == PANEL]
    numbers = np.concatenate([np.arange(kind.start, kind.start + kind.number) for kind in panels] or [np.zeros(0, int)])
    high = numbers[placed.unit[numbers] == NOWHERE]
    if len(high):
        named = spans_text(_spans(np.unique(placed.rack[high])), MOST_NAMED)
        yield message("panels-without-room", panels=len(high), all=len(numbers), racks=named), "rack-units"
    given, packed = design.facility.management_racks, stack_of_machines(design, device_table, site)
    full = list(_unplaced(packed.kinds, placed))
    if not full:
        return
    needed = floor_plan.racks_needed(packed.standing, packed.units, packed.power_w)
    names = [message("some-of-machines", number=each.number, all=each.of, machine=each.name) for each in full]
    text = message(
        "management-racks-full",
        racks=int(given.value) if given else 0,
        units=packed.units,
        power=watts_in_words(packed.power_w),
        names=names,
        needed=needed,
    )
    yield text, "rack-units"

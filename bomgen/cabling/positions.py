"""Where the devices of a design stand."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

import numpy as np

from bomgen.cabling.devices import DeviceTable
from bomgen.cabling.types import NOWHERE, Column, DeviceKind, Places
from bomgen.catalog.parts import Pdu
from bomgen.core.provenance import Figure
from bomgen.design.assembly import Design
from bomgen.plan.types import PDUS, Site
from bomgen.site import floor_plan
from bomgen.site.floor_plan import Floor, MachineGroup, Place
from bomgen.site.racks import management_capacity


def build_floor(design: Design) -> Floor | None:
    """The racks on the floor; None where the plan describes no site, or no racks are known.

    Raises ValueError when the rows that the plan draws have room for fewer.
    """
    site, installed = design.plan.site, design.facility
    if site is None or (installed.compute_racks is None and installed.management_racks is None):
        return None
    return floor_plan.arrange_floor(site, _whole(installed.compute_racks), _whole(installed.management_racks))


def locate_devices(design: Design, machines: DeviceTable, site: Site, racks: Floor) -> Places:
    """Row, rack and unit of every device, as far as they are known."""
    count = machines.kinds[-1].start + machines.kinds[-1].number
    rack, unit = (np.full(count, NOWHERE, dtype=np.int64) for _ in range(2))
    found = (*_servers(design, machines, racks), *_others(design, machines, site, racks), *_pdus(site, machines, racks))
    for kind, place in found:
        rows = slice(kind.start, kind.start + kind.number)
        rack[rows], unit[rows] = place
    row = np.where(rack == NOWHERE, NOWHERE, racks.row[np.maximum(rack, 0)])
    numbers = np.where(rack == NOWHERE, NOWHERE, rack + 1)
    return Places(row, numbers, unit, len(racks.row), _whole(site.rack_units), site.rack)


def _servers(design: Design, machines: DeviceTable, racks: Floor) -> Iterator[tuple[DeviceKind, Place]]:
    server, kind = design.plan.cluster.server, machines.servers
    of_rack = server.trays if server and server.trays else design.facility.servers_per_rack
    if server is None or of_rack is None or not len(racks.compute):
        return
    height = _whole(kind.height_u) or None
    spare, each = machines.spare, int(of_rack.value)
    before = ceil(kind.number / each) * each if server.trays else kind.number
    filled = floor_plan.place_in_order(racks.compute, before + (spare.number if spare else 0), each, height)
    yield kind, Place(filled.rack[: kind.number], filled.unit[: kind.number])
    if spare:
        yield spare, Place(filled.rack[before:], filled.unit[before:])


class Stack(NamedTuple):
    """What is packed into the racks of everything but servers, and what one of these racks offers."""

    kinds: tuple[DeviceKind, ...]
    standing: tuple[MachineGroup, ...]
    units: int
    power_w: int


def stack_of_machines(design: Design, machines: DeviceTable, site: Site) -> Stack:
    """Switches and other machines whose height is known, in the order in which their racks were counted."""
    stored = design.plan.storage.servers
    last = stored.identity.name if stored else None
    hosts = sorted(machines.hosts.items(), key=lambda named: (named[1].identity is None, named[0] == last))
    of_hosts = (kind for _, kind in hosts)
    kinds = tuple(kind for kind in (*machines.tiers.values(), *of_hosts) if kind.height_u and kind.number)
    standing = tuple(
        MachineGroup(ceil(kind.number / kind.of_box), _whole(kind.height_u), _whole(kind.power_w)) for kind in kinds
    )
    offered = management_capacity(site)
    return Stack(kinds, standing, _whole(offered.units), int(offered.power_w.value))


def _others(design: Design, machines: DeviceTable, site: Site, racks: Floor) -> Iterator[tuple[DeviceKind, Place]]:
    packed = stack_of_machines(design, machines, site)
    found = floor_plan.stack_machines(racks.management, packed.standing, packed.units, packed.power_w)
    for kind, place in zip(packed.kinds, found, strict=True):
        box = np.arange(kind.number, dtype=np.int64) // kind.of_box
        yield kind, Place(place.rack[box], place.unit[box])


def _pdus(site: Site, machines: DeviceTable, racks: Floor) -> Iterator[tuple[DeviceKind, Place]]:
    """PDUs, those of servers' racks first: upright beside the units, or lying in the topmost ones."""
    kind = machines.hosts.get(PDUS)
    if kind is None:
        return
    each = (
        (racks.compute, site.pdus_per_rack, site.pdu),
        (racks.management, site.management_pdus, site.management_pdu),
    )
    rack = np.concatenate([np.repeat(column, int(pdus.value)) for column, pdus, _ in each])[: kind.number]
    unit = np.concatenate([np.tile(pdu_units(site, pdu, pdus), len(column)) for column, pdus, pdu in each])[
        : kind.number
    ]
    if len(rack) == kind.number:
        yield kind, Place(rack, unit)


def pdu_units(site: Site, pdu: Pdu | None, pdus: Figure) -> Column:
    """The lowest unit of each PDU of a rack; nowhere where they stand upright."""
    height = _whole(pdu.rack_units) if pdu else 0
    first = _whole(site.rack_units) - int(pdus.value) * height + 1
    if not height or first < 1:
        return np.full(int(pdus.value), NOWHERE, dtype=np.int64)
    return np.arange(int(pdus.value), dtype=np.int64) * height + first


def _whole(figure: Figure | None) -> int:
    return ceil(figure.value) if figure else 0

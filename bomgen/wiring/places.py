"""Where the devices of a design stand."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import numpy as np

from bomgen import layout
from bomgen.design import Design
from bomgen.figures import Figure
from bomgen.layout import Floor, Place, Standing
from bomgen.plan import PDUS, Site
from bomgen.wiring.columns import NOWHERE, DeviceKind, Places
from bomgen.wiring.machines import Machines


def ground(design: Design) -> Floor | None:
    """The racks on the floor; None where the plan describes no site, or no racks are known.

    Raises ValueError when the rows that the plan draws have room for fewer.
    """
    site, installed = design.plan.site, design.facility
    if site is None or (installed.compute_racks is None and installed.management_racks is None):
        return None
    return layout.floor(site, _number(installed.compute_racks), _number(installed.management_racks))


def places(design: Design, machines: Machines, site: Site, racks: Floor) -> Places:
    """Row, rack and unit of every device, as far as they are known."""
    count = machines.kinds[-1].start + machines.kinds[-1].number
    rack, unit = (np.full(count, NOWHERE, dtype=np.int64) for _ in range(2))
    found = (*_servers(design, machines, racks), *_others(machines, site, racks), *_pdus(site, machines, racks))
    for kind, place in found:
        rows = slice(kind.start, kind.start + kind.number)
        rack[rows], unit[rows] = place
    row = np.where(rack == NOWHERE, NOWHERE, racks.row[np.maximum(rack, 0)])
    return Places(row, np.where(rack == NOWHERE, NOWHERE, rack + 1), unit)


def _servers(design: Design, machines: Machines, racks: Floor) -> Iterator[tuple[DeviceKind, Place]]:
    server, kind = design.plan.cluster.server, machines.servers
    of_rack = server.trays if server and server.trays else design.facility.servers_per_rack
    if server is None or of_rack is None or not len(racks.compute):
        return
    height = _number(kind.height_u) or None
    yield kind, layout.in_order(racks.compute, kind.number, int(of_rack.value), height)


def _others(machines: Machines, site: Site, racks: Floor) -> Iterator[tuple[DeviceKind, Place]]:
    """Switches and other machines, in the order in which their racks were counted."""
    switches = list(machines.tiers.values())
    bought = sorted(machines.hosts.values(), key=lambda kind: kind.identity is None)
    standing = [kind for kind in (*switches, *bought) if kind.height_u and kind.number]
    kinds = [
        Standing(ceil(kind.number / kind.of_box), _number(kind.height_u), _number(kind.power_w)) for kind in standing
    ]
    found = layout.stacked(racks.management, kinds, _number(site.rack_units), _number(site.rack_power_w))
    for kind, place in zip(standing, found, strict=True):
        box = np.arange(kind.number, dtype=np.int64) // kind.of_box
        yield kind, Place(place.rack[box], place.unit[box])


def _pdus(site: Site, machines: Machines, racks: Floor) -> Iterator[tuple[DeviceKind, Place]]:
    """PDUs, which hang upright beside the units: those of servers' racks first."""
    kind = machines.hosts.get(PDUS)
    if kind is None:
        return
    each = ((racks.compute, site.pdus_per_rack), (racks.management, site.management_pdus))
    rack = np.concatenate([np.repeat(column, int(pdus.value)) for column, pdus in each])[: kind.number]
    if len(rack) == kind.number:
        yield kind, Place(rack, np.full(kind.number, NOWHERE, dtype=np.int64))


def _number(figure: Figure | None) -> int:
    return ceil(figure.value) if figure else 0

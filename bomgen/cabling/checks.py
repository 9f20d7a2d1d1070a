"""What must hold of every cable before it is plugged in.

No port has two cables, no cage two kinds of part, no switch more cages filled than it has, and links and pieces are as
many as the closed forms count.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bomgen.cabling.types import Column, Wiring
from bomgen.design.assembly import Design


def broken_rules(wiring: Wiring, design: Design) -> list[str]:
    """The rules that the wiring breaks, in words; empty when all hold."""
    tables = [wiring, wiring.over_panels] if wiring.over_panels else [wiring]
    of_tables = [each for table in tables for rule in _OF_TABLES for each in rule(table)]
    return [*of_tables, *_counts(wiring, design), *_over_panels(wiring)]


def _ports_used_twice(wiring: Wiring) -> Iterator[str]:
    """Both ends of every cable are owned ports, and no port has two."""
    port = np.concatenate((wiring.a_port, wiring.b_port))
    device = np.concatenate((wiring.a_device, wiring.b_device))
    if len(device) and (int(device.min()) < 0 or int(device.max()) >= wiring.kinds[-1].start + wiring.kinds[-1].number):
        yield "a cable ends at no device"
    used = np.sort(device * np.int64(len(wiring.ports) + 1) + port)
    twice = np.flatnonzero(used[1:] == used[:-1])
    for place in twice[:3]:
        at, name = divmod(int(used[place]), len(wiring.ports) + 1)
        yield f"port {wiring.ports[name]} of {wiring.names[at]} has two cables"


def _beyond_cages(wiring: Wiring) -> Iterator[str]:
    """No switch has more cages filled than there are."""
    most = np.array([kind.cages for kind in wiring.kinds], dtype=np.int64)
    for cage, device in ((wiring.a_cage, wiring.a_device), (wiring.b_cage, wiring.b_device)):
        if not len(device):
            continue
        kind = wiring.kind_numbers[device]
        highest = np.full(len(most), -1, dtype=np.int64)
        np.maximum.at(highest, kind, cage)
        for number in np.flatnonzero((most > 0) & (highest >= most)):
            named = wiring.kinds[int(number)]
            yield f"{named.name(0)} has {named.cages} cages; links fill {int(highest[number]) + 1}"


def _mixed_cages(wiring: Wiring) -> Iterator[str]:
    """A cage holds one part: links built otherwise do not share it."""
    if not len(wiring):
        return
    parts = plugged_parts(wiring)
    device = np.concatenate((wiring.a_device, wiring.b_device))
    cage = np.concatenate((wiring.a_cage, wiring.b_cage))
    part = np.concatenate((parts[wiring.cable_type, 0], parts[wiring.cable_type, 1]))
    known, cages = part >= 0, int(cage.max()) + 1
    place = device[known] * np.int64(cages) + cage[known]
    order = np.argsort(place, kind="stable")
    place, part = place[order], part[known][order]
    differ = np.flatnonzero((place[1:] == place[:-1]) & (part[1:] != part[:-1]))
    for index in differ[:3]:
        at, number = divmod(int(place[index]), cages)
        yield f"cage {number + 1} of {wiring.names[at]} holds two parts"


def plugged_parts(wiring: Wiring) -> Column:
    """A number for what is plugged in at either end of each way; -1 for parts that take a port each."""
    numbers: dict[str, int] = {}
    found = np.full((len(wiring.cable_types), 2), -1, dtype=np.int64)
    for index, cable_type in enumerate(wiring.cable_types):
        medium = cable_type.medium
        for end, module in enumerate((medium.lower, medium.upper) if medium else ()):
            if cable_type.links_per_cage[end] == 1 or medium is None:
                continue
            if module is not None and module.ports.value > 1:
                found[index, end] = numbers.setdefault(module.identity.id, len(numbers))
            elif module is None and medium.cable and not medium.cable.identity.generic:
                found[index, end] = numbers.setdefault(medium.cable.identity.id, len(numbers))
    return found


def _counts(wiring: Wiring, design: Design) -> Iterator[str]:
    """The cables listed are those counted: links less reserved ports, and pieces as on the bill."""
    cable_types = wiring.cable_types
    of_type = (
        np.bincount(wiring.cable_type, minlength=len(cable_types))
        if len(wiring)
        else np.zeros(len(cable_types), dtype=np.int64)
    )
    for built in design.fabrics:
        if built.plan.switchless:
            continue
        for links in built.fabric.links:
            listed = sum(
                int(of_type[index])
                for index, cable_type in enumerate(cable_types)
                if (cable_type.fabric, cable_type.kind) == (built.plan.name, links.kind)
            )
            if listed != links.cabled.value:
                yield f"{listed} {links.kind} links of {built.plan.name} listed, {links.cabled.value} counted"
    billed = sum(int(use.quantity.value) for built in design.fabrics for use in built.interconnect.cables)
    listed = wiring.each_cable.pieces
    if billed != listed:
        yield f"{listed} cables listed, {billed} billed"


def _loops(wiring: Wiring) -> Iterator[str]:
    """No cable leads back to its own device."""
    if np.any(wiring.a_device == wiring.b_device):
        yield "a cable connects a device with itself"


def _over_panels(wiring: Wiring) -> Iterator[str]:
    """Links over panels end where they would without, and in front of each leg of a trunk in use is a jumper."""
    table = wiring.over_panels
    if table is None:
        return
    first = wiring.kinds[-1].start + wiring.kinds[-1].number
    scale = len(table.ports) + 1
    for device, port, own, own_port in (
        (table.a_device, table.a_port, wiring.a_device, wiring.a_port),
        (table.b_device, table.b_port, wiring.b_device, wiring.b_port),
    ):
        ends = device * scale + port
        if not np.array_equal(np.sort(ends[device < first]), np.sort(own * scale + own_port)):
            yield "links over panels end at other ports than the links they stand for"
    trunks = (table.a_device >= first) & (table.b_device >= first)
    behind = np.concatenate([(d * scale + c)[trunks] for d, c in _places(table)])
    before = np.concatenate([(d * scale + c)[(d >= first) & ~trunks] for d, c in _places(table)])
    if not np.array_equal(np.sort(behind), np.sort(before)):
        yield "a leg of a trunk has no jumper, or a jumper no leg"


def _places(table: Wiring) -> tuple[tuple[Column, Column], tuple[Column, Column]]:
    """Device and cage of both ends; of a panel the cage is the port through it."""
    return (table.a_device, table.a_cage), (table.b_device, table.b_cage)


_OF_TABLES = (_ports_used_twice, _beyond_cages, _mixed_cages, _loops)

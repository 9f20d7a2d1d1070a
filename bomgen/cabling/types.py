"""The wiring as data, and the checks of every cable.

NumPy columns with one row per link hold it: a million GPUs have more than three million cables, which as objects would
take gigabytes. Words are looked up when a format needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.catalog.parts import Identity, PowerSupplies, Rack
from bomgen.core.provenance import Figure
from bomgen.design.assembly import Design
from bomgen.optics.compatibility import Medium, Patch
from bomgen.site import floor_plan

Column = NDArray[np.int64]
COLUMNS = (
    *(
        "cable_type",
        "a_device",
        "a_port",
        "a_cage",
        "a_lane",
        "b_device",
        "b_port",
        "b_cage",
        "b_lane",
        "piece",
        "length_m",
    ),
)
"""The columns of a wiring, with one row per link."""
LINK = "link"
"""A cable from device to device; others are jumpers and trunks, which end at panels."""
PANEL = "panel"
"""The kind of device of patch panels."""
GONE = -1
"""A device, port or cable that the other network does not have."""
NOWHERE = floor_plan.NOWHERE
"""An unknown position in a column."""
INFINIBAND_LANES = 4
"""Lanes of an InfiniBand link (InfiniBand Architecture Specification, volume 2)."""


class Places(NamedTuple):
    """The positions of devices, one per row, NOWHERE if unknown; and the racks of the floor, all alike."""

    row: Column
    rack: Column
    """Rack numbers over all rows."""
    unit: Column
    """The lowest rack unit of the device, from 1."""
    racks: int
    """Racks on the floor, including empty ones."""
    rack_units: int
    """Height of each rack."""
    rack_part: Rack | None
    """The rack; None: any rack of that height."""


class DeviceKind(NamedTuple):
    """Equal devices with consecutive numbers."""

    device: str
    """server, leaf, spine, core, panel, or `host` for other machines."""
    fabric: str | None
    """The fabric of a switch."""
    start: int
    """The number of the first device."""
    number: int
    """The number of devices."""
    identity: Identity | None
    """The part; None if unknown."""
    name: Callable[[int], str]
    """The name of each device, by its index."""
    height_u: Figure | None
    power_w: Figure | None
    cages: int = 0
    """Cages of each switch."""
    planes: int = 1
    of_box: int = 1
    """Switches that share a box in a rack."""
    weight_kg: Figure | None = None
    """Weight of one, where it is bought singly."""
    supplies: PowerSupplies | None = None
    code: str = ""
    """The prefix of switch names: the fabric, in lower case and hyphens."""
    modules: Mapping[str, int] = {}
    """Pieces bought for the cages of all switches of the kind, by module id."""
    stem: str = ""
    """The beginning of names, without plane and number."""
    digits: int = 0
    """Minimum digits of the number in a name."""

    @property
    def part(self) -> str | None:
        """The id of the part; None if unknown."""
        return self.identity.id if self.identity else None

    @property
    def per_plane(self) -> int:
        """Devices per equal fabric."""
        return self.number // self.planes


class CableType(NamedTuple):
    """The common properties of cables that are built alike."""

    fabric: str
    kind: str
    """The kind of link."""
    medium: Medium | None
    """The medium; None if no part is known."""
    rate_gbps: int
    links_per_cage: tuple[int, int]
    """Links per cage at the lower and the upper end."""
    protocol: str | None
    """The protocol of the switch at the upper end."""
    measured: bool = False
    """Whether each cable has the length of its route over the floor."""
    fallback_length_m: Fraction = Fraction(0)
    """The length of cables without a known route."""
    patch: Patch | None = None
    """The parts between racks that replace a fibre; None: each link is one cable."""
    role: str = LINK
    others: tuple[int, ...] | None = None
    """Indices of the attached hosts that the links belong to; None: the servers."""
    fixed_length: bool = False
    """Whether the length is that of these hosts alone, whatever the routes of other links are."""


class CableChanges(NamedTuple):
    """The changes from an old wiring to a new one, one row per cable of the new."""

    old: Wiring
    origin: Column
    """The cable of the old wiring; GONE if the cable is added."""
    stays: NDArray[np.bool_]
    """Whether both ends stay in their ports."""
    same_cable: NDArray[np.bool_]
    """Whether the existing part can be used."""
    same_length: NDArray[np.bool_]
    """Whether its length also matches."""
    order: Column
    """The cables that move, in an order in which each port is free when a cable is plugged into it."""
    unplugged: NDArray[np.bool_]
    """Whether a cable of `order` is only unplugged; it occurs again where it is plugged in."""

    def select(self, fabrics: Collection[str], cables: Column) -> CableChanges:
        """Return the changes of some fabrics; `cables` are their cables in the new wiring."""
        kept = self.old.cables_of(fabrics)
        numbers = np.full(self.old.pieces + 1, GONE, dtype=np.int64)
        numbers[kept] = np.arange(len(kept), dtype=np.int64)
        here = np.isin(self.order, cables)
        return CableChanges(
            self.old.select_fabrics(fabrics),
            origin=numbers[self.origin[cables]],
            stays=self.stays[cables],
            same_cable=self.same_cable[cables],
            same_length=self.same_length[cables],
            order=np.searchsorted(cables, self.order[here]).astype(np.int64),
            unplugged=self.unplugged[here],
        )


@dataclass(frozen=True)
class Wiring:
    """Every link that gets a cable, one per row; links of one cable have the same piece number."""

    site: str
    kinds: tuple[DeviceKind, ...]
    ports: tuple[str, ...]
    """Names of ports; columns refer to them by number."""
    cable_types: tuple[CableType, ...]
    cable_type: NDArray[np.int16]
    a_device: Column
    """The lower end: a server, another machine, or the switch nearer to them."""
    a_port: Column
    a_cage: Column
    a_lane: Column
    b_device: Column
    b_port: Column
    b_cage: Column
    b_lane: Column
    piece: Column
    """Number of the cable."""
    length_m: NDArray[np.float64]
    """The stock length."""
    places: Places | None
    """Positions by device; None: the plan describes no site."""
    over_panels: Wiring | None = None
    """The wiring with the jumpers and trunks of links over patch panels; None: there are no such links."""
    language: str = "en"
    """The language of texts for readers."""
    changes: CableChanges | None = None
    """Changes from the existing wiring; None: there is none."""
    labels: tuple[str, ...] | None = None
    """The label of each cable; None: fabric, kind of link and number."""

    def __len__(self) -> int:
        return len(self.cable_type)

    @property
    def each_cable(self) -> Wiring:
        """Return the wiring that lists every cable bought: jumpers and trunks in place of the links over panels."""
        return self.over_panels or self

    @property
    def pieces(self) -> int:
        """Return the number of cables."""
        return int(self.piece[-1]) + 1 if len(self) else 0

    @cached_property
    def names(self) -> list[str]:
        """Return the name of every device."""
        return [kind.name(number) for kind in self.kinds for number in range(kind.number)]

    @property
    def used(self) -> list[CableType]:
        """Return the cable types with at least one cable."""
        return [self.cable_types[number] for number in np.unique(self.cable_type)]

    def cables_of(self, fabrics: Collection[str]) -> Column:
        """Return the numbers of the cables of some fabrics, ascending."""
        wanted = np.array([cable_type.fabric in fabrics for cable_type in self.cable_types], dtype=bool)
        return np.unique(self.piece[wanted[self.cable_type]]) if len(self) else np.zeros(0, dtype=np.int64)

    def select_fabrics(self, fabrics: Collection[str]) -> Wiring:
        """Return the cables of some fabrics, with their changes."""
        cables = self.cables_of(fabrics)
        below = self.over_panels.select_fabrics(fabrics) if self.over_panels else None
        changes = self.changes.select(fabrics, cables) if self.changes else None
        return replace(self.take_cables(cables), over_panels=below, changes=changes)

    def take_cables(self, cables: Column) -> Wiring:
        """Return the cables with these numbers, in this order; repeated numbers repeat the cable."""
        first = np.flatnonzero(np.diff(self.piece, prepend=-1))
        links = np.diff(np.append(first, len(self)))[cables]
        number = np.repeat(np.arange(len(cables), dtype=np.int64), links)
        within = np.arange(len(number), dtype=np.int64) - (np.cumsum(links) - links)[number]
        rows = first[cables][number] + within
        columns = {name: getattr(self, name)[rows] for name in COLUMNS} | {"piece": number}
        labels = tuple(self.labels[cable] for cable in cables.tolist()) if self.labels else None
        return replace(self, **columns, over_panels=None, labels=labels)

    def kind_of(self, device: int) -> DeviceKind:
        """Return the kind of a device."""
        return next(kind for kind in self.kinds if kind.start <= device < kind.start + kind.number)

    @property
    def kind_numbers(self) -> Column:
        """Return the index of every device's kind in `kinds`."""
        return np.repeat(np.arange(len(self.kinds), dtype=np.int64), [kind.number for kind in self.kinds])


def lanes_per_cage(wiring: Wiring) -> Column:
    """Return the ports per cage of each kind of device: as many as the most divided cage of its model."""
    most: dict[str, int] = {}
    models = [kind.identity.id if kind.identity else kind.name(0) for kind in wiring.kinds]
    for device, lane in ((wiring.a_device, wiring.a_lane), (wiring.b_device, wiring.b_lane)):
        highest = np.zeros(len(models), dtype=np.int64)
        np.maximum.at(highest, wiring.kind_numbers[device], lane + 1)
        for model, lane_count in zip(models, highest.tolist(), strict=True):
            most[model] = max(most.get(model, 1), lane_count)
    for number in np.unique(wiring.cable_type):
        first = int(np.argmax(wiring.cable_type == number))
        ends = (wiring.a_device[first], wiring.b_device[first])
        for end, of_cage in zip(ends, wiring.cable_types[number].links_per_cage, strict=True):
            model = models[int(wiring.kind_numbers[end])]
            most[model] = max(most[model], of_cage)
    return np.array([most.get(model, 1) for model in models], dtype=np.int64)


# checks -------------------------------------------------------------------------------------------------------------
# Checks of every cable.
#
# No port has two cables, no cage two kinds of part, no switch more filled cages than it has, and the numbers of links
# and pieces are those that the closed forms count.


def broken_rules(wiring: Wiring, design: Design) -> list[str]:
    """Return the rules that the wiring violates, in words; empty when there are none."""
    tables = [wiring, wiring.over_panels] if wiring.over_panels else [wiring]
    of_tables = [text for table in tables for rule in _OF_TABLES for text in rule(table)]
    return [*of_tables, *_counts(wiring, design), *_over_panels(wiring)]


def _ports_used_twice(wiring: Wiring) -> Iterator[str]:
    port = np.concatenate((wiring.a_port, wiring.b_port))
    device = np.concatenate((wiring.a_device, wiring.b_device))
    if len(device) and (int(device.min()) < 0 or int(device.max()) >= wiring.kinds[-1].start + wiring.kinds[-1].number):
        yield "a cable ends at no device"
    used = np.sort(device * np.int64(len(wiring.ports) + 1) + port)
    twice = np.flatnonzero(used[1:] == used[:-1])
    for index in twice[:3]:
        at, name = divmod(int(used[index]), len(wiring.ports) + 1)
        yield f"port {wiring.ports[name]} of {wiring.names[at]} has two cables"


def _beyond_cages(wiring: Wiring) -> Iterator[str]:
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
    """Report cages with more than one part: links built differently do not share one."""
    if not len(wiring):
        return
    parts = plugged_parts(wiring)
    device = np.concatenate((wiring.a_device, wiring.b_device))
    cage = np.concatenate((wiring.a_cage, wiring.b_cage))
    part = np.concatenate((parts[wiring.cable_type, 0], parts[wiring.cable_type, 1]))
    has_part, cages = part >= 0, int(cage.max()) + 1
    socket = device[has_part] * np.int64(cages) + cage[has_part]
    order = np.argsort(socket, kind="stable")
    socket, part = socket[order], part[has_part][order]
    differ = np.flatnonzero((socket[1:] == socket[:-1]) & (part[1:] != part[:-1]))
    for index in differ[:3]:
        at, number = divmod(int(socket[index]), cages)
        yield f"cage {number + 1} of {wiring.names[at]} holds two parts"


def plugged_parts(wiring: Wiring) -> Column:
    """Return a number for the part plugged in at either end of each cable type; -1 for parts that take a port each."""
    numbers: dict[str, int] = {}
    part_numbers = np.full((len(wiring.cable_types), 2), -1, dtype=np.int64)
    for index, cable_type in enumerate(wiring.cable_types):
        medium = cable_type.medium
        for end, module in enumerate((medium.lower, medium.upper) if medium else ()):
            if cable_type.links_per_cage[end] == 1 or medium is None:
                continue
            if module is not None and module.ports.value > 1:
                part_numbers[index, end] = numbers.setdefault(module.identity.id, len(numbers))
            elif module is None and medium.cable and not medium.cable.identity.generic:
                part_numbers[index, end] = numbers.setdefault(medium.cable.identity.id, len(numbers))
    return part_numbers


def _counts(wiring: Wiring, design: Design) -> Iterator[str]:
    """Report differences from the counts: links without reserved ports, and pieces on the bill."""
    cable_types = wiring.cable_types
    of_type = (
        np.bincount(wiring.cable_type, minlength=len(cable_types))
        if len(wiring)
        else np.zeros(len(cable_types), dtype=np.int64)
    )
    for built in design.fabrics:
        if built.attachment is None:
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
    from_device_to_device = wiring.changes and any(cable_type.patch for cable_type in wiring.used)
    if billed != listed and not from_device_to_device:
        yield f"{listed} cables listed, {billed} billed"


def _loops(wiring: Wiring) -> Iterator[str]:
    if np.any(wiring.a_device == wiring.b_device):
        yield "a cable connects a device with itself"


def _over_panels(wiring: Wiring) -> Iterator[str]:
    table = wiring.over_panels
    if table is None:
        return
    first = wiring.kinds[-1].start + wiring.kinds[-1].number
    scale = len(table.ports) + 1
    for device, port, link_device, link_port in (
        (table.a_device, table.a_port, wiring.a_device, wiring.a_port),
        (table.b_device, table.b_port, wiring.b_device, wiring.b_port),
    ):
        ends = device * scale + port
        if not np.array_equal(np.sort(ends[device < first]), np.sort(link_device * scale + link_port)):
            yield "links over panels end at other ports than the links they stand for"
    trunks = (table.a_device >= first) & (table.b_device >= first)
    behind = np.concatenate([(d * scale + c)[trunks] for d, c in _places(table)])
    before = np.concatenate([(d * scale + c)[(d >= first) & ~trunks] for d, c in _places(table)])
    if not np.array_equal(np.sort(behind), np.sort(before)):
        yield "a leg of a trunk has no jumper, or a jumper no leg"


def _places(table: Wiring) -> tuple[tuple[Column, Column], tuple[Column, Column]]:
    return (table.a_device, table.a_cage), (table.b_device, table.b_cage)


_OF_TABLES = (_ports_used_twice, _beyond_cages, _mixed_cages, _loops)

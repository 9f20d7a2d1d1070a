"""Names of what was seen: the planned device of each built one, and the planned ports of its port names.

A device whose name is not in the plan is named by its cables: each votes for the planned device that the plan has at
the far port, and the clearest device is named first, because its name lets its neighbours' cables vote. While nothing
is named, the ports of a cable are enough: few planned switches have a cable between two ports of these numbers.

NICs have names of their operating system (`mlx5_4`, `ens77np0`). What most servers agree on is learnt.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from bomgen.cabling.types import Wiring, lanes_per_cage
from bomgen.verify.reading import MAC, NAMELESS, SeenPort, short_name

Key = tuple[int, ...] | str
"""The numbers of a port name, or the name if it has none."""
MOST_ALIKE = 16
"""Planned switches with a cable between the same two ports up to which these ports say something of a switch."""
OWN_PORT_TOO = 3
"""Votes of a cable that has both ends in the planned ports; one with the far end in its port has one."""
LEAST_VOTES = 2
"""Servers that must agree on the name of a NIC: a name that only one has, such as a MAC address, is not learnt."""
LANES = {"qsfp-dd": 8, "qsfp": 4, "sfp": 1}
"""Electrical lanes of a cage, by which SONiC numbers ports; SFF-8665 and SFF-8431, and 8 for OSFP and others."""
MOST_LANES = 8
MANAGEMENT = re.compile(
    r"eth\d+|(?:mgmt|management|ma|em|fxp|me|vme|oob|bmc|meth|mge|m-gigabitethernet)[\d/]*", re.IGNORECASE
)
"""Management ports of switches and servers."""
NO_PORT = -1
"""A port that the plan does not have on the device."""
_SONIC = re.compile(r"Ethernet(\d{1,4})", re.IGNORECASE)
_SPEED = re.compile(r"^\d+ge(?=\d)", re.IGNORECASE)
"""The rate in front of a port's numbers, such as `400GE1/0/1`."""
_SUBINTERFACE = re.compile(r"(?<=\d)\.\d+$")
_DIGITS = re.compile(r"\d{1,6}")
_LETTERS = re.compile(r"\d+")


def port_key(name: str) -> Key:
    """Return what identifies a port on its device, however its interface type is written."""
    if MAC.fullmatch(name):
        return name.lower()
    plain = _SUBINTERFACE.sub("", _SPEED.sub("", name)) if not name.isdigit() else name
    return tuple(map(int, _DIGITS.findall(plain))) or name.lower()


class PlannedLinks:
    """The links of the plan, found by either end; devices and ports have the numbers of the wiring."""

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.names = wiring.names
        self.numbers = {name.lower(): number for number, name in enumerate(wiring.names)}
        self.kind = wiring.kind_numbers.tolist()
        self.is_switch = [kind.fabric is not None for kind in wiring.kinds]
        columns = (wiring.a_device, wiring.a_port, wiring.b_device, wiring.b_port)
        self.ends = [((a, p), (b, q)) for a, p, b, q in zip(*(column.tolist() for column in columns), strict=True)]
        self.link_at = {end: row for row, ends in enumerate(self.ends) for end in ends}
        self._ports = self._name_ports()

    def is_host(self, device: int) -> bool:
        """Return whether a device is no switch."""
        return not self.is_switch[self.kind[device]]

    def far_end(self, end: tuple[int | None, int | None]) -> tuple[int, int] | None:
        """Return the other end of the link at a port; None if the plan has none there."""
        row = self.link_at.get(end)
        return None if row is None else self.ends[row][self.ends[row][0] == end]

    def port(self, device: int, name: str, nics: Mapping[tuple[int, Key], int]) -> int | None:
        """Return the port that a name means on a device; `nics` are the learnt names by kind of device."""
        kind = self.kind[device]
        exact = self._ports.get((kind, name.lower()))
        if exact is not None:
            return exact
        if not self.is_switch[kind]:
            return nics.get((kind, port_key(name)))
        sonic = _SONIC.fullmatch(name)
        if sonic and (port := self._ports.get((kind, f"lane {int(sonic[1])}"))) is not None:
            return port
        return self._ports.get((kind, port_key(name)))

    def _name_ports(self) -> dict[tuple[int, Key], int]:
        """Return ports by kind of device and name: the name, its numbers, and those of InfiniBand and SONiC."""
        wiring, ports = self.wiring, dict[tuple[int, Key], int]()
        lanes = lanes_per_cage(wiring)
        sides = (
            (wiring.a_device, wiring.a_port, wiring.a_cage, wiring.a_lane),
            (wiring.b_device, wiring.b_port, wiring.b_cage, wiring.b_lane),
        )
        for side, (device, port, cage, lane) in enumerate(sides):
            rows = np.stack((wiring.kind_numbers[device], port, cage, lane, wiring.cable_type.astype(np.int64)), axis=1)
            for kind, number, in_cage, part, cable_type in np.unique(rows, axis=0).tolist() if len(rows) else ():
                name = wiring.ports[number]
                ports[kind, name.lower()] = number
                if not self.is_switch[kind]:
                    continue
                ports.setdefault((kind, port_key(name)), number)
                ports.setdefault((kind, (in_cage * int(lanes[kind]) + part + 1,)), number)
                if not _LETTERS.split(name)[0].lower().startswith("eth"):
                    electrical = _electrical_lanes(wiring, cable_type, side)
                    parts = wiring.cable_types[cable_type].links_per_cage[side]
                    first = in_cage * electrical + part * electrical // parts
                    ports.setdefault((kind, f"lane {first}"), number)
        return ports

    @cached_property
    def neighbours(self) -> Mapping[int, list[tuple[int, int]]]:
        """Return the far ends of the links of each device."""
        neighbours = defaultdict[int, list[tuple[int, int]]](list)
        for first, second in self.ends:
            neighbours[first[0]].append(second)
            neighbours[second[0]].append(first)
        return neighbours

    @cached_property
    def alike(self) -> Mapping[tuple[int, int, int | None, int | None], list[int]]:
        """Return the devices with a cable between two ports, by both kinds and ports, of switches and their hosts."""
        alike = defaultdict[tuple[int, int, int | None, int | None], list[int]](list)
        for ends in self.ends:
            for (device, port), (far, far_port) in (ends, ends[::-1]):
                alike[self.kind[device], self.kind[far], port, far_port].append(device)
        return alike


def _electrical_lanes(wiring: Wiring, cable_type: int, side: int) -> int:
    medium = wiring.cable_types[cable_type].medium
    module = (medium.lower, medium.upper)[side] if medium else None
    cable = medium.cable if medium else None
    end = (cable.a, cable.b)[side] if cable else None
    cage = module.cage if module else end.cage if end else ""
    return next((lanes for form, lanes in LANES.items() if cage.startswith(form)), MOST_LANES)


class SeenEnd(NamedTuple):
    """One end of a built cable: the device as it was seen, its port, and what identifies the port."""

    device: str
    port: str
    key: Key


class SeenLink(NamedTuple):
    """A built cable, from one or both ends."""

    ends: tuple[SeenEnd, SeenEnd]
    rows: tuple[SeenPort, ...]
    """What was stated of it, first at its first end."""


class Names(NamedTuple):
    """The planned devices and ports of what was seen."""

    devices: Mapping[str, int]
    votes: Mapping[str, tuple[int, int]]
    """Of a device that its cables name: those that vote for it, and all."""
    unnamed: tuple[str, ...]
    nics: Mapping[tuple[int, Key], int]
    agreeing: Mapping[tuple[int, Key], tuple[str, int, int]]
    """Of a learnt name: the name as seen, the servers that agree, and those that have it."""
    exchanged: tuple[tuple[int, int], ...]
    """Devices that have each other's cables; `devices` has them by their cables."""

    def end(self, end: SeenEnd, planned: PlannedLinks) -> tuple[int | None, int | None]:
        """Return the planned device and port of an end; None where they are not known, NO_PORT for one not planned."""
        device = self.devices.get(end.device)
        if device is None:
            return None, None
        port = planned.port(device, end.port, self.nics)
        is_stated = end.port and not planned.is_host(device) and not MAC.fullmatch(end.port)
        return device, NO_PORT if port is None and is_stated else port


def pair_ports(ports: Iterable[SeenPort], planned: PlannedLinks) -> list[SeenLink]:
    """Return the built cables: two ports that have each other as neighbours are one."""
    links = dict[tuple[tuple[str, Key], tuple[str, Key]], SeenLink]()

    def end(device: str, port: str) -> SeenEnd:
        return SeenEnd(short_name(device, planned.numbers.__contains__), port, port_key(port))

    for row in ports:
        if not row.far_device or row.is_down:
            continue
        ends = (end(row.device, row.port), end(row.far_device, row.far_port))
        key, turned = ((first[::2], second[::2]) for first, second in (ends, ends[::-1]))
        link = links.get(turned) or links.get(key)
        links[turned if turned in links else key] = (
            link._replace(rows=(*link.rows, row)) if link else SeenLink(ends, (row,))
        )
    return list(links.values())


def name_devices(links: Sequence[SeenLink], planned: PlannedLinks, given: Mapping[str, str]) -> Names:
    """Return the planned devices of built ones: as `given`, by name, then by their cables."""
    of_device = defaultdict[str, list[tuple[SeenEnd, SeenEnd]]](list)
    for link in links:
        for near, far in (link.ends, link.ends[::-1]):
            if near.device != NAMELESS:
                of_device[near.device].append((near, far))
    numbers = {device: planned.numbers.get(given.get(device, device)) for device in of_device}
    named = {device: number for device, number in numbers.items() if number is not None}
    stated = tuple(named)
    _elect_devices(of_device, planned, named)
    # How many cables of a device the plan has at each planned device, by their far ends.
    claims = {
        device: Counter(number for _, number, _ in _planned_neighbours(cables, planned, named))
        for device, cables in of_device.items()
    }
    exchanged = _find_exchanged(stated, claims, named)
    for device in stated:
        for pair in exchanged:
            if named[device] in pair:
                named[device] = pair[named[device] == pair[0]]
                break
    nics, agreeing = _learn_nics(links, planned, named)
    votes = {
        device: (claims[device][number], claims[device].total())
        for device, number in named.items()
        if device not in stated
    }
    unnamed = tuple(device for device in of_device if device not in named)
    return Names(named, votes, unnamed, nics, agreeing, exchanged)


def _planned_neighbours(
    cables: Iterable[tuple[SeenEnd, SeenEnd]], planned: PlannedLinks, named: Mapping[str, int]
) -> Iterator[tuple[SeenEnd, int, int]]:
    """Yield the near end of cables with the device and port that the plan has at their far ends."""
    for near, far in cables:
        device = named.get(far.device)
        port = None if device is None else planned.port(device, far.port, {})
        if device is not None and port is not None and (end := planned.far_end((device, port))):
            yield near, *end


def _find_exchanged(
    stated: Iterable[str], claims: Mapping[str, Counter[int]], named: Mapping[str, int]
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of named devices of which each has most of its cables where the plan has those of the other."""
    claimed = dict[int, int]()
    for device in stated:
        for other, votes in claims[device].most_common(1):
            if other != named[device] and votes >= LEAST_VOTES and votes * 2 > claims[device].total():
                claimed[named[device]] = other
    return tuple(
        (device, other) for device, other in claimed.items() if device < other and claimed.get(other) == device
    )


def _elect_devices(
    of_device: Mapping[str, Sequence[tuple[SeenEnd, SeenEnd]]], planned: PlannedLinks, named: dict[str, int]
) -> None:
    """Add the devices without a planned name to `named`, the clearest of each round, until no cable tells more."""
    counts = {device: _count_port_pairs(cables, planned) for device, cables in of_device.items() if device not in named}
    taken, elected, is_first = set(named.values()), list(named), True
    while elected or is_first:
        is_first = False
        for device in elected:
            for near, far in of_device[device]:
                if far.device in counts:
                    counts[far.device].update(_list_votes(far, near, planned, named))
        leads = sorted(((*_lead(count, taken), device) for device, count in counts.items()), reverse=True)
        elected = []
        for lead, number, device in leads:
            if lead and lead * 2 > leads[0][0] and number not in taken:
                named[device] = number
                taken.add(number)
                elected.append(device)
                del counts[device]


def _lead(count: Counter[int], taken: Collection[int]) -> tuple[int, int]:
    """Return by how many votes which planned device leads; 0 for a tie."""
    ranked = sorted(((votes, number) for number, votes in count.items() if number not in taken), reverse=True)
    (votes, number), (next_votes, _), *_ = [*ranked, (0, 0), (0, 0)]
    return votes - next_votes, number


def _list_votes(near: SeenEnd, far: SeenEnd, planned: PlannedLinks, named: Mapping[str, int]) -> Iterator[int]:
    """Yield the planned devices for which a cable with a named far device votes; of a host, by the near port alone."""
    for _, elected, port in _planned_neighbours(((near, far),), planned, named):
        yield from [elected] * (OWN_PORT_TOO if planned.port(elected, near.port, {}) == port else 1)
    if planned.is_host(named[far.device]):
        for elected, port in planned.neighbours[named[far.device]]:
            if planned.port(elected, near.port, {}) == port:
                yield elected


def _count_port_pairs(cables: Iterable[tuple[SeenEnd, SeenEnd]], planned: PlannedLinks) -> Counter[int]:
    """Return how many of the cables the plan has at each device between the same ports, if few devices have them."""
    count = Counter[int]()
    switches = [kind.start for kind in planned.wiring.kinds if kind.fabric is not None and kind.number]
    for near, far in cables:
        for own, other in product(switches, switches):
            port, far_port = planned.port(own, near.port, {}), planned.port(other, far.port, {})
            alike = planned.alike.get((planned.kind[own], planned.kind[other], port, far_port), ())
            count.update(alike if len(alike) <= MOST_ALIKE else ())
    return count


def _learn_nics(
    links: Sequence[SeenLink], planned: PlannedLinks, named: Mapping[str, int]
) -> tuple[dict[tuple[int, Key], int], dict[tuple[int, Key], tuple[str, int, int]]]:
    """Return the ports that most servers of a kind have under a name, and how many agree."""
    votes, shown = defaultdict[tuple[int, Key], Counter[int]](Counter), dict[tuple[int, Key], str]()
    for link in links:
        for near, far in (link.ends, link.ends[::-1]):
            for _, elected, port in _planned_neighbours(((near, far),), planned, named):
                if named.get(near.device) == elected and planned.port(elected, near.port, {}) is None:
                    name = planned.kind[elected], near.key
                    votes[name][port] += 1
                    shown.setdefault(name, near.port)
    nics, agreeing = dict[tuple[int, Key], int](), dict[tuple[int, Key], tuple[str, int, int]]()
    for name, ports in votes.items():
        port, agree = ports.most_common(1)[0]
        if agree >= LEAST_VOTES and agree > ports.total() - agree and name[1] != ():
            nics[name] = port
            agreeing[name] = (shown[name], agree, ports.total())
    return nics, agreeing

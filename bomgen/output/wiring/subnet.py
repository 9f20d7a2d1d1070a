"""One InfiniBand fabric as its subnet manager sees it: switches and channel adapters with numbered ports.

Every NIC is a separate adapter; a subnet knows a server only by its NICs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bomgen.cabling.types import Column, DeviceKind, Wiring
from bomgen.output.registry import Unsuitable

INFINIBAND = "infiniband"
MOST_PORTS = 254
"""Maximum number of ports of a switch: port numbers have eight bits, of which 0 and 255 are reserved (InfiniBand
Architecture Specification, volume 1, NodeInfo)."""
OF_NIC = "/"
"""Separator between the name of a NIC and a port number."""


class SubnetNode(NamedTuple):
    """A switch, or one channel adapter of a server or other host."""

    device: int
    adapter: str | None
    """Name of the adapter on its host; None for a switch."""
    ports: int
    links: tuple[Link, ...]


class Link(NamedTuple):
    """A cable as seen by one node."""

    port: int
    """Port on the node itself, from 1."""
    peer: int
    """Index of the node at the other end."""
    peer_port: int
    cable_type: int
    name: int
    """Name of the port on the device, as a number."""
    peer_name: int


class Subnet:
    """The nodes of an InfiniBand fabric, numbered from 0, hosts before switches."""

    def __init__(self, wiring: Wiring) -> None:
        """Number nodes and ports.

        Raises Unsuitable if the cables do not belong to one InfiniBand fabric.
        """
        _check(wiring)
        self.wiring = wiring
        self.lanes = _lanes(wiring)
        stems, self.stem, self.number = _adapters(wiring.ports)
        self.stems = stems
        self.switches = np.array([kind.fabric is not None for kind in wiring.kinds], dtype=bool)
        a, b = (self._keys(*end) for end in ((wiring.a_device, wiring.a_port), (wiring.b_device, wiring.b_port)))
        self.keys, numbers = np.unique(np.concatenate((a, b)), return_inverse=True)
        self.a_node, self.b_node = np.split(numbers.ravel(), 2)
        self.a_number = self._ports(wiring.a_device, wiring.a_port, wiring.a_cage, wiring.a_lane)
        self.b_number = self._ports(wiring.b_device, wiring.b_port, wiring.b_cage, wiring.b_lane)

    def __len__(self) -> int:
        return len(self.keys)

    def _keys(self, device: Column, port: Column) -> Column:
        """Return a number for each node, in the order of devices and adapter names."""
        adapter = np.where(self._is_switch(device), 0, self.stem[port] + 1)
        return device * np.int64(len(self.stems) + 1) + adapter

    def _is_switch(self, device: Column) -> Column:
        found: Column = self.switches[self.wiring.kind_numbers[device]]
        return found

    def _ports(self, device: Column, port: Column, cage: Column, lane: Column) -> Column:
        """Return port numbers on their nodes: by cage and lane on a switch, by name on an adapter."""
        lanes = self.lanes[self.wiring.kind_numbers[device]]
        return np.where(self._is_switch(device), cage * lanes + lane + 1, self.number[port])

    def kind(self, device: int) -> DeviceKind:
        """Return the kind of a device."""
        return self.wiring.kinds[int(self.wiring.kind_numbers[device])]

    def radix(self, device: int) -> int:
        """Return the number of ports of a switch."""
        number = int(self.wiring.kind_numbers[device])
        return self.wiring.kinds[number].cages * int(self.lanes[number])

    def node(self, number: int) -> tuple[int, str | None]:
        """Return the device of a node, and the name of its adapter if it is one."""
        device, adapter = divmod(int(self.keys[number]), len(self.stems) + 1)
        return device, self.stems[adapter - 1] if adapter else None

    def nodes(self) -> Iterator[SubnetNode]:
        """Yield every node with its links by port."""
        wiring = self.wiring
        own = np.concatenate((self.a_node, self.b_node))
        columns = np.stack(
            (
                np.concatenate((self.a_number, self.b_number)),
                np.concatenate((self.b_node, self.a_node)),
                np.concatenate((self.b_number, self.a_number)),
                np.concatenate((wiring.cable_type, wiring.cable_type)).astype(np.int64),
                np.concatenate((wiring.a_port, wiring.b_port)),
                np.concatenate((wiring.b_port, wiring.a_port)),
            ),
            axis=1,
        )
        order = np.lexsort((columns[:, 0], own))
        bounds = np.concatenate(([0], np.cumsum(np.bincount(own, minlength=len(self)))))
        most = np.ones(len(self.stems), dtype=np.int64)
        np.maximum.at(most, self.stem, self.number)
        ports_of = dict(zip(self.stems, most.tolist(), strict=True))
        for number, (start, stop) in enumerate(pairwise(bounds.tolist())):
            device, adapter = self.node(number)
            links = tuple(Link(*row) for row in columns[order[start:stop]].tolist())
            ports = self.radix(device) if adapter is None else ports_of[adapter]
            yield SubnetNode(device, adapter, ports, links)


def _check(wiring: Wiring) -> None:
    """Raise Unsuitable unless the cables belong to one InfiniBand fabric."""
    used = wiring.used
    fabrics = list(dict.fromkeys(cable_type.fabric for cable_type in used))
    if not fabrics:
        raise Unsuitable("no InfiniBand fabric: there is no switch that a cable leads to")
    if len(fabrics) > 1:
        raise Unsuitable(f"one subnet a file; name one of {', '.join(fabrics)} with --fabric")
    protocols = {cable_type.protocol for cable_type in used}
    if protocols - {INFINIBAND, None}:
        raise Unsuitable(f"the switches of the fabric {fabrics[0]} are Ethernet, no InfiniBand subnet")


def _lanes(wiring: Wiring) -> Column:
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
    lanes = np.array([most.get(model, 1) for model in models], dtype=np.int64)
    for number in np.unique(wiring.kind_numbers[wiring.b_device]):
        kind = wiring.kinds[number]
        if kind.cages * lanes[number] > MOST_PORTS:
            name = kind.identity.name if kind.identity else kind.name(0)
            raise Unsuitable(
                f"{kind.cages * lanes[number]} ports of a {name} in one switch; an InfiniBand switch has at most "
                f"{MOST_PORTS}"
            )
    return lanes


def _adapters(ports: tuple[str, ...]) -> tuple[list[str], Column, Column]:
    """Return the adapter names, and for every port name its adapter and its number there."""
    stems: dict[str, int] = {}
    stem, number = list[int](), list[int]()
    for port in ports:
        name, _, place = port.partition(OF_NIC)
        stem.append(stems.setdefault(name, len(stems)))
        number.append(int(place) if place.isdigit() else 1)
    return list(stems), np.array(stem, dtype=np.int64), np.array(number, dtype=np.int64)

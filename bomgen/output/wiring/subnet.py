"""One InfiniBand fabric as its subnet manager sees it, and the formats of its tools: for ibsim, for ibdiagnet and ibdm.

Every NIC is a separate adapter; a subnet knows a server only by its NICs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from bomgen.cabling.types import INFINIBAND_LANES, Column, DeviceKind, Wiring, lanes_per_cage
from bomgen.catalog.identity import ascii_slug
from bomgen.output.registry import Progress, Unsuitable

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
    """Return the ports per cage of each kind of device. Raises Unsuitable for more ports than a switch can have."""
    lanes = lanes_per_cage(wiring)
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


# ibnet --------------------------------------------------------------------------------------------------------------
# An InfiniBand fabric in the format that `ibnetdiscover` prints and `ibsim` reads.
#
# Every NIC of a server is a separate channel adapter, named after server and NIC. GUIDs are generated: numbered in node
# order, in the locally administered range.

SPEEDS = {200: "HDR", 100: "EDR", 56: "FDR", 40: "QDR", 20: "DDR"}
"""Speed names of four lanes by rate [Gb/s], fastest first, as known to ibsim 0.10."""
SLOWEST = "SDR"
FASTEST_GBPS = max(SPEEDS)
GUIDS = 0x0200_0000_0000_0000
"""First GUID: the second bit of the first byte marks local administration (IEEE 802)."""
GUID_BITS = 8
"""Bits between the GUIDs of two nodes, for one GUID per port."""
MOST_LETTERS = 63
"""Maximum length of a node name; ibsim has 64 bytes including the terminator."""
BATCH = 1024
"""Nodes written at a time."""


def write_ibnet(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every node with its cabled ports. Raises Unsuitable if the wiring is not a single subnet."""
    subnet = Subnet(wiring)
    nodes = map(subnet.node, range(len(subnet)))
    names = [f"{wiring.names[device]} {adapter}" if adapter else wiring.names[device] for device, adapter in nodes]
    longest = max(names, key=len)
    if len(longest) > MOST_LETTERS:
        raise Unsuitable(
            f"'{longest}' is too long for a node name, at most {MOST_LETTERS} letters; shorten the name of the plan"
        )
    out.write("".join(_header(subnet)).encode())
    waiting: list[str] = []
    for number, node in enumerate(subnet.nodes()):
        waiting.append("".join(_node_lines(subnet, number, node, names)))
        if len(waiting) == BATCH:
            out.write("".join(waiting).encode())
            waiting.clear()
        progress(sum(link.peer > number for link in node.links))
    out.write("".join(waiting).encode())


def _header(subnet: Subnet) -> Iterator[str]:
    wiring = subnet.wiring
    used = wiring.used
    yield f"# Fabric {used[0].fabric} of {wiring.site}: {len(subnet)} nodes, {len(wiring)} links\n"
    if fast := sorted({cable_type.rate_gbps for cable_type in used if cable_type.rate_gbps > FASTEST_GBPS}):
        rates = " and ".join(f"{rate} Gb/s" for rate in fast)
        yield f"# Links of {rates} are written 4x{SPEEDS[FASTEST_GBPS]}, the fastest that ibsim 0.10 knows\n"
    yield "\n"


def _node_lines(subnet: Subnet, number: int, node: SubnetNode, names: list[str]) -> Iterator[str]:
    """Yield a node and its ports, and the empty line that ibsim requires after it."""
    name, guid = names[number], GUIDS + ((number + 1) << GUID_BITS)
    if node.adapter is None:
        yield f'switchguid=0x{guid:x}\nSwitch\t{node.ports} "{name}"\t\t# "{name}" base port 0 lid 0 lmc 0\n'
    else:
        yield f'caguid=0x{guid:x}\nCa\t{node.ports} "{name}"\t\t# "{name}"\n'
    own = "" if node.adapter is None else "lid 0 lmc 0 "
    for link in node.links:
        peer, gbps = names[link.peer], subnet.wiring.cable_types[link.cable_type].rate_gbps
        speed = next((word for rate, word in SPEEDS.items() if rate <= gbps), SLOWEST)
        yield f'[{link.port}]\t"{peer}"[{link.peer_port}]\t\t# {own}"{peer}" lid 0 4x{speed}\n'
    yield "\n"


# topo ---------------------------------------------------------------------------------------------------------------
# An InfiniBand fabric as a topology file of ibdiagnet and ibdm, with a system definition per model.
#
# A server is one system with its NICs as nodes. Port names are the usual ones, with a P before a digit. Links have the
# speed of their lanes; definitions of systems have the highest that ibdm 1.5.7 supports.

WIDTH_AND_SPEED = f"-{INFINIBAND_LANES}x-10G->"
"""Fastest port of a system that ibdm 1.5.7 supports."""
SWITCH_NODE = "U1"
SYSTEM_FILE = "{name}.ibnl"
BEFORE_DIGIT = "P"
"""Prefix for names that do not begin with a letter."""

System = dict[str, tuple[str, int, dict[int, str]]]
"""Nodes of a system: type (CA or SW), number of ports, and port names by number."""


def write_topo(wiring: Wiring, out: Path, progress: Progress) -> None:
    """Write the topology to `out` and the systems next to it. Raises Unsuitable if it is not a single subnet."""
    subnet = Subnet(wiring)
    # The name of a device model in a topology is also its file name.
    kinds = [
        _word(kind.identity.id if kind.identity else f"generic-{kind.name(0).rpartition('-')[0]}")
        for kind in wiring.kinds
    ]
    names, ports = ([_start_with_letter(name) for name in given] for given in (wiring.names, wiring.ports))
    systems: dict[str, System] = {}
    with out.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(f"# Fabric {wiring.used[0].fabric} of {wiring.site}; IBDM_IBNL_PATH names this folder\n")
        numbered = enumerate(subnet.nodes())
        for device, nodes in groupby(numbered, key=lambda pair: pair[1].device):
            system = kinds[int(wiring.kind_numbers[device])]
            stream.write(f"\n{system} {names[device]}\n")
            for number, node in nodes:
                _learn(systems.setdefault(system, {}), node, ports)
                stream.writelines(_system_lines(subnet, node, kinds, names, ports))
                progress(sum(link.peer > number for link in node.links))
    for name, known in systems.items():
        content = "".join(_definition(name, known))
        (out.parent / SYSTEM_FILE.format(name=name)).write_text(content, encoding="utf-8", newline="\n")


def _word(name: str) -> str:
    """Return a name that ibdm can read; a hyphen before a digit would begin a number."""
    return _start_with_letter("".join(letter if letter.isalnum() else "_" for letter in ascii_slug(name)).upper())


def _start_with_letter(name: str) -> str:
    return name if name[:1].isalpha() else f"{BEFORE_DIGIT}{name}"


def _system_lines(
    subnet: Subnet, node: SubnetNode, kinds: list[str], names: list[str], ports: list[str]
) -> Iterator[str]:
    for link in node.links:
        device, _ = subnet.node(link.peer)
        system = kinds[int(subnet.wiring.kind_numbers[device])]
        port, peer_port = ports[link.name], ports[link.peer_name]
        speed = subnet.wiring.cable_types[link.cable_type].rate_gbps / INFINIBAND_LANES
        yield f"   {port} -{INFINIBAND_LANES}x-{speed:g}G-> {system} {names[device]} {peer_port}\n"


def _learn(system: System, node: SubnetNode, ports: list[str]) -> None:
    name = node.adapter or SWITCH_NODE
    _, count, named = system.get(name, ("", 0, {}))
    named |= {link.port: ports[link.name] for link in node.links}
    system[name] = ("CA" if node.adapter else "SW", max(count, node.ports), named)


def _definition(name: str, system: System) -> Iterator[str]:
    """Yield the definition of a model: its cabled ports by number and name."""
    yield f"TOPSYSTEM {name}\n"
    for node, (kind, ports, named) in sorted(system.items()):
        yield f"\nNODE {kind} {ports} {name} {node}\n"
        yield from (f"  {number} {WIDTH_AND_SPEED} {port}\n" for number, port in sorted(named.items()))

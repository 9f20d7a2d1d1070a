"""An InfiniBand fabric as `ibnetdiscover` prints it and `ibsim` reads it.

Every NIC of a server is a channel adapter of its own, called after server and NIC. GUIDs are made up: numbered in the
order of the nodes, in the range that belongs to no vendor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from bomgen.cabling.types import Wiring
from bomgen.output.cables.subnet import Subnet, SubnetNode
from bomgen.output.registry import Progress, Unsuitable

SPEEDS = {200: "HDR", 100: "EDR", 56: "FDR", 40: "QDR", 20: "DDR"}
"""What four lanes of a rate [Gb/s] are called, fastest first: those that ibsim 0.10 knows."""
SLOWEST = "SDR"
FASTEST_GBPS = max(SPEEDS)
GUIDS = 0x0200_0000_0000_0000
"""Where GUIDs begin: the second bit of the first byte says that they are administered locally (IEEE 802)."""
GUID_BITS = 8
"""Between the GUIDs of two nodes: room for one a port."""
MOST_LETTERS = 63
"""Of a node's name: ibsim keeps 64 bytes with the one that ends it."""
BATCH = 1024
"""Nodes written at a time."""


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every node with its cabled ports. Raises Unsuitable where this is no single subnet."""
    subnet = Subnet(wiring)
    names = [_name(subnet, number) for number in range(len(subnet))]
    longest = max(names, key=len)
    if len(longest) > MOST_LETTERS:
        raise Unsuitable(
            f"'{longest}' is too long a name for a node: at most {MOST_LETTERS} letters; shorten the plan's"
        )
    out.write("".join(_header(subnet)).encode())
    waiting: list[str] = []
    for number, node in enumerate(subnet.nodes()):
        waiting.append("".join(_lines(subnet, number, node, names)))
        if len(waiting) == BATCH:
            out.write("".join(waiting).encode())
            waiting.clear()
        progress(sum(link.peer > number for link in node.links))
    out.write("".join(waiting).encode())


def _name(subnet: Subnet, number: int) -> str:
    device, adapter = subnet.node(number)
    name = subnet.wiring.names[device]
    return name if adapter is None else f"{name} {adapter}"


def _header(subnet: Subnet) -> Iterator[str]:
    wiring = subnet.wiring
    used = wiring.used
    yield f"# Fabric {used[0].fabric} of {wiring.site}: {len(subnet)} nodes, {len(wiring)} links\n"
    if fast := sorted({cable_type.rate_gbps for cable_type in used if cable_type.rate_gbps > FASTEST_GBPS}):
        rates = " and ".join(f"{rate} Gb/s" for rate in fast)
        yield f"# Links of {rates} are written 4x{SPEEDS[FASTEST_GBPS]}, the fastest that ibsim 0.10 knows\n"
    yield "\n"


def _lines(subnet: Subnet, number: int, node: SubnetNode, names: list[str]) -> Iterator[str]:
    """A node and its ports, and the empty line that ends it: ibsim takes the next line for a port otherwise."""
    name, guid = names[number], GUIDS + ((number + 1) << GUID_BITS)
    if node.adapter is None:
        yield f'switchguid=0x{guid:x}\nSwitch\t{node.ports} "{name}"\t\t# "{name}" base port 0 lid 0 lmc 0\n'
    else:
        yield f'caguid=0x{guid:x}\nCa\t{node.ports} "{name}"\t\t# "{name}"\n'
    own = "" if node.adapter is None else "lid 0 lmc 0 "
    for link in node.links:
        peer, speed = names[link.peer], speed_of(subnet.wiring.cable_types[link.cable_type].rate_gbps)
        yield f'[{link.port}]\t"{peer}"[{link.peer_port}]\t\t# {own}"{peer}" lid 0 4x{speed}\n'
    yield "\n"


def speed_of(rate_gbps: int) -> str:
    """The fastest speed that a link of a rate reaches, in the words of ibsim."""
    return next((word for rate, word in SPEEDS.items() if rate <= rate_gbps), SLOWEST)

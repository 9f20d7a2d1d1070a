"""An InfiniBand fabric in the format that `ibnetdiscover` prints and `ibsim` reads.

Every NIC of a server is a separate channel adapter, named after server and NIC. GUIDs are generated: numbered in node
order, in the locally administered range.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from bomgen.cabling.types import Wiring
from bomgen.output.registry import Progress, Unsuitable
from bomgen.output.wiring.subnet import Subnet, SubnetNode

ABOUT = "InfiniBand fabric for ibsim, as ibnetdiscover prints it."
SUFFIXES = (".net",)
BINARY = False
SEVERAL_FILES = False
ONE_FABRIC = True
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


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every node with its cabled ports. Raises Unsuitable if the wiring is not a single subnet."""
    subnet = Subnet(wiring)
    names = [_name(subnet, number) for number in range(len(subnet))]
    longest = max(names, key=len)
    if len(longest) > MOST_LETTERS:
        raise Unsuitable(
            f"'{longest}' is too long for a node name, at most {MOST_LETTERS} letters; shorten the name of the plan"
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
    """Yield a node and its ports, and the empty line that ibsim requires after it."""
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
    """Return the fastest speed that a link rate reaches, by its ibsim name."""
    return next((word for rate, word in SPEEDS.items() if rate <= rate_gbps), SLOWEST)

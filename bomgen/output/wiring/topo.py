"""An InfiniBand fabric as a topology file of ibdiagnet and ibdm, with a system definition per model.

A server is one system with its NICs as nodes. Port names are the usual ones, with a P before a digit. Widths and speeds
are those of the oldest links, the only ones that the format supports.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from bomgen.cabling.types import DeviceKind, Wiring
from bomgen.catalog.identity import ascii_slug
from bomgen.output.registry import Progress
from bomgen.output.wiring.subnet import Subnet, SubnetNode

ABOUT = "Topology file of ibdiagnet and ibdm, with a .ibnl file for each system."
BINARY = False
SEVERAL_FILES = True
ONE_FABRIC = True
WIDTH_AND_SPEED = "-4x-10G->"
"""Fastest link that ibdm 1.5.7 supports."""
SWITCH_NODE = "U1"
SYSTEM_FILE = "{name}.ibnl"
BEFORE_DIGIT = "P"
"""Prefix for names that do not begin with a letter."""

System = dict[str, tuple[str, int, dict[int, str]]]
"""Nodes of a system: type (CA or SW), number of ports, and port names by number."""


def write(wiring: Wiring, out: Path, progress: Progress) -> None:
    """Write the topology to `out` and the systems next to it. Raises Unsuitable if it is not a single subnet."""
    subnet = Subnet(wiring)
    kinds = [system_name(kind) for kind in wiring.kinds]
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


def system_name(kind: DeviceKind) -> str:
    """Return the name of a device model in a topology, which is also its file name."""
    if kind.identity:
        return _word(kind.identity.id)
    return _word(f"generic-{kind.name(0).rpartition('-')[0]}")


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
        yield f"   {port} {WIDTH_AND_SPEED} {system} {names[device]} {peer_port}\n"


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

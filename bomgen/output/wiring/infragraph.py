"""The wiring as an InfraGraph infrastructure (JSON): devices with ports, instances, and an edge per link.

A device is its ports around one central component. Instance names are device names without the number, and the index is
that number less one: `compute-leaf-07` is `compute-leaf[6]`. InfraGraph names have no slash, dot or colon, so port
`17/1` is component `17_1`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from bomgen.cabling.types import CableType, DeviceKind, Wiring
from bomgen.output.registry import Progress

ABOUT = "Infrastructure of InfraGraph, for simulators of traffic and failures."
SUFFIXES = (".json",)
BINARY = False
SEVERAL_FILES = False
ONE_FABRIC = False
SWITCH, MACHINE = ("asic", "switch"), ("host", "cpu")
"""Name and type of the central component of a device."""
INSIDE = "internal"
"""The link between the central component and the ports."""
REPLACED = str.maketrans("/.:", "___")
BATCH = 4096
"""Edges written at a time."""


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write the infrastructure, one edge per line."""
    places = _places(wiring)
    head = {
        "name": wiring.site,
        "description": f"{wiring.pieces} cables of {wiring.site}",
        "devices": list(_devices(wiring)),
        "links": [_link(number, cable_type) for number, cable_type in _used(wiring)],
        "instances": list(_instances(wiring)),
    }
    text = json.dumps(head, indent=1)
    out.write(f'{text[: text.rindex("}")].rstrip()},\n "edges": ['.encode())
    ports = [f"{name.translate(REPLACED)}[0]" for name in wiring.ports]
    names = {number: _link_name(number, cable_type) for number, cable_type in _used(wiring)}
    columns = (wiring.cable_type, wiring.a_device, wiring.a_port, wiring.b_device, wiring.b_port)
    for start in range(0, len(wiring), BATCH):
        lines = []
        for cable_type, a, a_port, b, b_port in zip(
            *(column[start : start + BATCH].tolist() for column in columns), strict=True
        ):
            edge = {
                "scheme": "one2one",
                "link": names[cable_type],
                "ep1": {"instance": places[a], "component": ports[a_port]},
                "ep2": {"instance": places[b], "component": ports[b_port]},
            }
            lines.append(f"  {json.dumps(edge)}")
        out.write(((",\n" if start else "\n") + ",\n".join(lines)).encode())
        progress(len(np.unique(wiring.piece[start : start + BATCH])))
    out.write(b"\n ]\n}\n")


def _used(wiring: Wiring) -> list[tuple[int, CableType]]:
    return [(int(number), wiring.cable_types[number]) for number in np.unique(wiring.cable_type)]


def _kinds(wiring: Wiring) -> list[tuple[int, DeviceKind]]:
    used = np.unique(wiring.kind_numbers[np.concatenate((wiring.a_device, wiring.b_device))])
    return [(int(number), wiring.kinds[number]) for number in used]


def _stem(name: str) -> str:
    """Return the name of a device without its number."""
    return name.rpartition("-")[0].translate(REPLACED)


def _places(wiring: Wiring) -> list[str]:
    """Return every device as an instance with its index."""
    found, counts = list[str](), dict[str, int]()
    for name in wiring.names:
        stem = _stem(name)
        counts[stem] = counts.get(stem, -1) + 1
        found.append(f"{stem}[{counts[stem]}]")
    return found


def _devices(wiring: Wiring) -> Iterator[dict[str, Any]]:
    port = np.concatenate((wiring.a_port, wiring.b_port))
    kind_of = wiring.kind_numbers[np.concatenate((wiring.a_device, wiring.b_device))]
    for number, kind in _kinds(wiring):
        middle, type_of_middle = SWITCH if kind.fabric else MACHINE
        ports = [wiring.ports[each] for each in np.unique(port[kind_of == number])]
        component = "port" if kind.fabric else "nic"
        named = [{"name": name.translate(REPLACED), "description": f"port {name}", "count": 1} for name in ports]
        yield {
            "name": _stem(kind.name(0)),
            "description": kind.identity.name if kind.identity else kind.device,
            "components": [
                {"name": middle, "count": 1, "choice": type_of_middle, type_of_middle: {}},
                *({**each, "choice": component, component: {}} for each in named),
            ],
            "links": [{"name": INSIDE}],
            "edges": [
                {
                    "scheme": "one2one",
                    "link": INSIDE,
                    "ep1": {"component": f"{each['name']}[0]"},
                    "ep2": {"component": f"{middle}[0]"},
                }
                for each in named
            ],
        }


def _instances(wiring: Wiring) -> Iterator[dict[str, Any]]:
    """Yield the devices of every kind, separately for each plane."""
    for _, kind in _kinds(wiring):
        stems = [_stem(kind.name(number)) for number in range(kind.number)]
        for stem in dict.fromkeys(stems):
            yield {"name": stem, "device": stems[0], "count": stems.count(stem)}


def _link_name(number: int, cable_type: CableType) -> str:
    return f"{cable_type.fabric}-{cable_type.kind}-{number + 1}"


def _link(number: int, cable_type: CableType) -> dict[str, Any]:
    cable = cable_type.medium.cable if cable_type.medium else None
    return {
        "name": _link_name(number, cable_type),
        "description": cable.identity.name if cable else cable_type.kind,
        "physical": {"bandwidth": {"choice": "gigabits_per_second", "gigabits_per_second": cable_type.rate_gbps}},
    }

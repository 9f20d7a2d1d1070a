"""The wiring as graphs: for Graphviz, for InfraGraph, and for PTM of Cumulus Linux and SONiC."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from bomgen.cabling.types import Column, DeviceKind, Wiring
from bomgen.output.registry import Progress
from bomgen.output.wiring.columns import batches

# Graphviz -----------------------------------------------------------------------------------------------------------
# Every device, and an edge with a count for the cables between two of them. Hosts are omitted if there are too many
# devices to read; switches are always drawn.

MOST_DEVICES = 512
"""Devices above which only switches are drawn: `dot` takes five seconds for 2000 nodes."""
MOST_LABELS = 2048
"""Edges above which counts are tooltips: `dot` takes minutes to position the labels."""
LAYOUT = "splines=line nslimit=1 nslimit1=1"
"""Straight edges and no optimal node positions, which would take minutes as well."""
_FONT = "Helvetica,Arial,sans-serif"
_CENTRED, _LEFT = "\\n", "\\l"
"""Line ends that set the alignment."""


def quote(lines: Sequence[str], end: str = _CENTRED) -> str:
    """Return a quoted string of one or several lines, without escape sequences, entities or quotes of their own."""
    text = end.join(line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines)
    return f'"{text}"'.replace("\n", " ")


def write_dot(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every device, and an edge for the cables between two of them, whose upper end comes first."""
    devices = np.unique(np.concatenate((wiring.a_device, wiring.b_device)))
    drawn, title = devices, [f"{wiring.site}: {wiring.pieces} cables"]
    if len(devices) > MOST_DEVICES:
        switches = np.array([kind.fabric is not None for kind in wiring.kinds], dtype=bool)
        drawn = devices[switches[wiring.kind_numbers[devices]]]
        title.append(f"{len(devices) - len(drawn)} machines are not drawn, nor their cables")
    place = f'labelloc=t labeljust=l fontsize=13 fontname="{_FONT}" bgcolor=white nodesep=0.5 ranksep=1'
    box = 'shape=box style="rounded,filled" fillcolor="#f1f3f5" color="#57606a"'
    statements = [
        f"graph [label={quote([*title, ''], _LEFT)} {place}]",
        f'node [fontsize=11 fontname="{_FONT}" {box}]',
        f'edge [fontsize=10 fontname="{_FONT}" color="#8c959f"]',
        f"graph [{LAYOUT}]",
    ]
    for device in drawn.tolist():
        kind, name = wiring.kind_of(device), wiring.names[device]
        model = [kind.identity.name] if kind.identity else []
        statements.append(f"{quote([name])} [label={quote([name, *model])}]")
    bundles = list(_bundles(wiring, drawn))
    for upper, lower, text in bundles:
        shown = f"label={quote([f' {text} '])}" if len(bundles) <= MOST_LABELS else f"tooltip={quote([text])}"
        statements.append(f"{quote([wiring.names[upper]])} -- {quote([wiring.names[lower]])} [{shown}]")
    lines = "".join(f"  {statement};\n" for statement in statements)
    out.write(f"graph {quote([wiring.site])} {{\n{lines}}}\n".encode())
    progress(wiring.pieces)


def _bundles(wiring: Wiring, drawn: Column) -> Iterator[tuple[int, int, str]]:
    """Yield pairs of drawn devices, the upper first, with a text of cables, links and rate."""
    rows = np.flatnonzero(np.isin(wiring.a_device, drawn) & np.isin(wiring.b_device, drawn))
    of_link = (
        wiring.b_device[rows],
        wiring.a_device[rows],
        wiring.cable_type[rows].astype(np.int64),
        wiring.piece[rows],
    )
    cables, links = np.unique(np.stack(of_link, axis=1), axis=0, return_counts=True)
    found, first, counts = np.unique(cables[:, :-1], axis=0, return_index=True, return_counts=True)
    links = np.add.reduceat(links, first) if len(first) else links
    labels: dict[tuple[int, int], list[str]] = {}
    for (upper, lower, cable_type), count, carried in zip(found.tolist(), counts.tolist(), links.tolist(), strict=True):
        text = f"{carried} × {wiring.cable_types[cable_type].rate_gbps} Gb/s"
        labels.setdefault((upper, lower), []).append(text if carried == count else f"{count}: {text}")
    for (upper, lower), texts in labels.items():
        yield upper, lower, ", ".join(texts)


# InfraGraph ---------------------------------------------------------------------------------------------------------
# An infrastructure (JSON): devices with ports, instances, and an edge per link.
#
# A device is its ports around one central component. Instance names are device names without the number, and the index
# is that number less one: `compute-leaf-07` is `compute-leaf[6]`. InfraGraph names have no slash, dot or colon, so port
# `17/1` is component `17_1`.

SWITCH, MACHINE = ("asic", "switch"), ("host", "cpu")
"""Name and type of the central component of a device."""
INSIDE = "internal"
"""The link between the central component and the ports."""
REPLACED = str.maketrans("/.:", "___")
BATCH = 4096
"""Edges written at a time."""


def write_infragraph(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write the infrastructure, one edge per line."""
    places, used = _places(wiring), [(int(at), wiring.cable_types[at]) for at in np.unique(wiring.cable_type)]
    names = {number: f"{kind.fabric}-{kind.kind}-{number + 1}" for number, kind in used}
    head = {
        "name": wiring.site,
        "description": f"{wiring.pieces} cables of {wiring.site}",
        "devices": list(_devices(wiring)),
        "links": [
            {
                "name": names[number],
                "description": cable_type.medium.cable.identity.name
                if cable_type.medium and cable_type.medium.cable
                else cable_type.kind,
                "physical": {
                    "bandwidth": {"choice": "gigabits_per_second", "gigabits_per_second": cable_type.rate_gbps}
                },
            }
            for number, cable_type in used
        ],
        "instances": [
            {"name": stem, "device": next(iter(counts)), "count": count}
            for counts in (Counter(_stem(kind.name(at)) for at in range(kind.number)) for _, kind in _kinds(wiring))
            for stem, count in counts.items()  # a plane each
        ],
    }
    text = json.dumps(head, indent=1)
    out.write(f'{text[: text.rindex("}")].rstrip()},\n "edges": ['.encode())
    ports = [f"{name.translate(REPLACED)}[0]" for name in wiring.ports]
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


def _kinds(wiring: Wiring) -> list[tuple[int, DeviceKind]]:
    used = np.unique(wiring.kind_numbers[np.concatenate((wiring.a_device, wiring.b_device))])
    return [(int(number), wiring.kinds[number]) for number in used]


def _stem(name: str) -> str:
    return name.rpartition("-")[0].translate(REPLACED)


def _places(wiring: Wiring) -> list[str]:
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


# PTM ----------------------------------------------------------------------------------------------------------------
# A topology file of the Prescriptive Topology Manager of Cumulus Linux and SONiC: a line a link.

_ENDS = ("a_device", "a_port", "b_device", "b_port")


def write_ptm(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every link."""
    out.write(f"graph {quote([wiring.site])} {{\n".encode())
    for _, table in batches(wiring):
        ends = zip(*(table[name].tolist() for name in _ENDS), strict=True)
        lines = ("{}:{} -- {}:{};".format(*(quote([text]) for text in link)) for link in ends)
        out.write(("\n".join(lines) + "\n").encode())
        progress(len(table["label"]))
    out.write(b"}\n")

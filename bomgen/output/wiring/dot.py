"""The wiring as a Graphviz graph: every device, and an edge with a count for the cables between two of them.

Hosts are omitted if there are too many devices to read; switches are always drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np

from bomgen.cabling.types import Column, Wiring
from bomgen.output.registry import Progress

ABOUT = "Graphviz graph of devices and the cables between them; only the switches of large fabrics."
SUFFIXES = (".gv",)
BINARY = False
SEVERAL_FILES = False
ONE_FABRIC = False
MOST_DEVICES = 512
"""Devices above which only switches are drawn: `dot` takes five seconds for 2000 nodes."""
MOST_LABELS = 2048
"""Edges above which counts are tooltips: `dot` takes minutes to position the labels."""
LAYOUT = "splines=line nslimit=1 nslimit1=1"
"""Straight edges and no optimal node positions, which would take minutes as well."""
_FONT = "Helvetica,Arial,sans-serif"
_SPACE = "bgcolor=white nodesep=0.5 ranksep=1"
_BOX = 'shape=box style="rounded,filled" fillcolor="#f1f3f5" color="#57606a"'
_INDENT = "  "
_CENTRED, _LEFT = "\\n", "\\l"
"""Line ends that set the alignment."""


class Graph:
    """Collector of the statements of one undirected graph; upper ends of edges come first."""

    def __init__(self, name: str, title: Sequence[str]) -> None:
        """Begin a graph with a title."""
        self.lines = [f"graph {quote([name])} {{"]
        label = quote([*title, ""], _LEFT)
        self._add(f'graph [label={label} labelloc=t labeljust=l fontsize=13 fontname="{_FONT}" {_SPACE}]')
        self._add(f'node [fontsize=11 fontname="{_FONT}" {_BOX}]')
        self._add(f'edge [fontsize=10 fontname="{_FONT}" color="#8c959f"]')

    def text(self) -> str:
        """Return the whole graph."""
        return "\n".join([*self.lines, "}", ""])

    def _add(self, line: str) -> None:
        self.lines.append(f"{_INDENT}{line};")

    def look(self, attributes: str) -> None:
        """Set attributes of the whole graph."""
        self._add(f"graph [{attributes}]")

    def node(self, name: str, label: Sequence[str], look: str = "") -> None:
        """Add a node with its label."""
        self._add(f"{quote([name])} [label={quote(label)}{look and ' '}{look}]")

    def edge(self, upper: str, lower: str, label: Sequence[str], look: str = "") -> None:
        """Add an edge with its label, which is placed at a distance."""
        words = quote([f" {line} " for line in label])
        self._add(f"{quote([upper])} -- {quote([lower])} [label={words}{look and ' '}{look}]")

    def plain_edge(self, upper: str, lower: str, look: str) -> None:
        """Add an edge without a label."""
        self._add(f"{quote([upper])} -- {quote([lower])} [{look}]")


def escape(text: str) -> str:
    """Return text for a quoted string, without escape sequences, entities or quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;").replace("\n", " ")


def quote(lines: Sequence[str], end: str = _CENTRED) -> str:
    """Return a quoted string of one or several lines."""
    return '"' + end.join(map(escape, lines)) + '"'


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write the graph."""
    drawn = _drawn(wiring)
    left_out = len(np.unique(np.concatenate((wiring.a_device, wiring.b_device)))) - len(drawn)
    title = [f"{wiring.site}: {wiring.pieces} cables"]
    if left_out:
        title.append(f"{left_out} machines are not drawn, nor their cables")
    graph = Graph(wiring.site, title)
    graph.look(LAYOUT)
    for device in drawn.tolist():
        kind = wiring.kind_of(device)
        model = [kind.identity.name] if kind.identity else []
        graph.node(wiring.names[device], [wiring.names[device], *model])
    bundles = list(_bundles(wiring, drawn))
    for upper, lower, text in bundles:
        ends = wiring.names[upper], wiring.names[lower]
        if len(bundles) <= MOST_LABELS:
            graph.edge(*ends, [text])
        else:
            graph.plain_edge(*ends, f"tooltip={quote([text])}")
    out.write(graph.text().encode())
    progress(wiring.pieces)


def _drawn(wiring: Wiring) -> Column:
    """Return the devices to draw: all with cables, or only switches."""
    devices = np.unique(np.concatenate((wiring.a_device, wiring.b_device)))
    if len(devices) <= MOST_DEVICES:
        return devices
    switches = np.array([kind.fabric is not None for kind in wiring.kinds], dtype=bool)
    drawn: Column = devices[switches[wiring.kind_numbers[devices]]]
    return drawn


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

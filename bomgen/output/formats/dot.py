"""fabric-NAME.dot: each fabric as a Graphviz graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bomgen.output.source import DocumentInputs

ABOUT = "Each fabric as a Graphviz graph; deprecated."
FILE = "fabric-{name}.dot"
BINARY = False
DEPRECATED = "svg draws each fabric, and bomgen wiring -f dot has every device"


def write(source: DocumentInputs) -> dict[str, bytes]:
    """Return the graphs by fabric name."""
    from bomgen.output.drawing.graphviz import fabric_dot

    return {
        fabric.name: fabric_dot(fabric.fabric, fabric.name, source.language, fabric.servers).encode()
        for fabric in source.fabrics
    }

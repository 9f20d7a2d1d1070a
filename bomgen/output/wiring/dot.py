"""The wiring as a Graphviz graph: every device, and an edge with a count for the cables between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

    from bomgen.cabling.types import Wiring
    from bomgen.output.registry import Progress

ABOUT = "Graphviz graph of devices and the cables between them; only the switches of large fabrics."
BINARY = False
SEVERAL_FILES = False
ONE_FABRIC = False


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write the graph."""
    from bomgen.output.cables import dot

    dot.write(wiring, out, progress)

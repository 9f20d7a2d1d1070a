"""The wiring as an InfraGraph infrastructure (JSON): devices with ports, instances, and an edge per link."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

    from bomgen.cabling.types import Wiring
    from bomgen.output.registry import Progress

ABOUT = "Infrastructure of InfraGraph, for simulators of traffic and failures."
BINARY = False
SEVERAL_FILES = False
ONE_FABRIC = False


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write the infrastructure, one edge per line."""
    from bomgen.output.cables import infragraph

    infragraph.write(wiring, out, progress)

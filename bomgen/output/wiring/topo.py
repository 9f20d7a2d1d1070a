"""An InfiniBand fabric as a topology file of ibdiagnet and ibdm, with a definition per model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bomgen.cabling.types import Wiring
    from bomgen.output.registry import Progress

ABOUT = "Topology file of ibdiagnet and ibdm, with a .ibnl file for each system."
BINARY = False
SEVERAL_FILES = True
ONE_FABRIC = True


def write(wiring: Wiring, out: Path, progress: Progress) -> None:
    """Write the topology to `out` and the systems next to it. Raises Unsuitable if it is not a single subnet."""
    from bomgen.output.cables import topo

    topo.write(wiring, out, progress)

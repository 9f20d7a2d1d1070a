"""The wiring as the CSV files that NetBox's bulk import takes: cables, and beside them all that they need first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bomgen.cabling.types import Wiring
    from bomgen.output.registry import Progress

ABOUT = "CSV files for NetBox's bulk import: cables, and beside them devices, interfaces and what these need."
BINARY = False
SEVERAL_FILES = True
ONE_FABRIC = False


def write(wiring: Wiring, out: Path, progress: Progress) -> None:
    """Write the cables to `out`, and beside it a file for each thing of `ORDER`."""
    from bomgen.output.cables import netbox

    netbox.write(wiring, out, progress)

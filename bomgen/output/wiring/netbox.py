"""The wiring as CSV files for NetBox's bulk import: cables, and everything that must be imported before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bomgen.cabling.types import Wiring
    from bomgen.output.registry import Progress

ABOUT = "CSV files for NetBox's bulk import: cables, devices, interfaces and their dependencies."
BINARY = False
SEVERAL_FILES = True
ONE_FABRIC = False


def write(wiring: Wiring, out: Path, progress: Progress) -> None:
    """Write the cables to `out`, and a file next to it for each object of `ORDER`."""
    from bomgen.output.cables import netbox

    netbox.write(wiring, out, progress)

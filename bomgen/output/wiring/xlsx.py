"""The wiring as the point-to-point workbook that installers work from: a sheet a fabric, a row a cable, and a cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

    from bomgen.cabling.types import Wiring
    from bomgen.output.registry import Progress

ABOUT = "Point-to-point sheet for installers: one row per cable, with its label texts."
BINARY = True
SEVERAL_FILES = False
ONE_FABRIC = False


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write the workbook. Raises Unsuitable when it would be too large to open."""
    from bomgen.output.cables import xlsx

    xlsx.write(wiring, out, progress)

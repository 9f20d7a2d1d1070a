"""The wiring as CSV: a row per cable."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

    from bomgen.cabling.types import Wiring
    from bomgen.output.registry import Progress

ABOUT = "One row per cable, for spreadsheets and scripts."
BINARY = False
SEVERAL_FILES = False
ONE_FABRIC = False


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every cable; all texts are quoted if any needs quotes."""
    from bomgen.output.cables import csv

    csv.write(wiring, out, progress)

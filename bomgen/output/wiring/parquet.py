"""The wiring as Parquet: the columns of the CSV, for notebooks and databases. Requires the extra `bomgen[parquet]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

    from bomgen.cabling.types import Wiring
    from bomgen.output.registry import Progress

ABOUT = "The columns of the CSV, for notebooks and databases."
BINARY = True
SEVERAL_FILES = False
ONE_FABRIC = False


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every cable, a row group per batch. Raises Unsuitable if pyarrow is not installed."""
    from bomgen.output.cables import parquet

    parquet.write(wiring, out, progress)

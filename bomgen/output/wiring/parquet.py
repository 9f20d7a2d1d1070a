"""The wiring as Parquet: the columns of the CSV, for notebooks and databases."""

from __future__ import annotations

from typing import BinaryIO

import pyarrow.parquet

from bomgen.cabling.types import Wiring
from bomgen.output.wiring.columns import schema_of, tables
from bomgen.output.wiring.formats import Progress

ABOUT = "The columns of the CSV, for notebooks and databases."
BINARY = True
SEVERAL_FILES = False
ONE_FABRIC = False


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every cable, a row group a batch."""
    with pyarrow.parquet.ParquetWriter(out, schema_of(wiring.each_cable), compression="zstd") as writer:
        for table in tables(wiring.each_cable):
            writer.write_table(table)
            progress(table.num_rows)

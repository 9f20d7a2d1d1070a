"""The wiring as Parquet: the columns of the CSV, for notebooks and databases. Requires the extra `bomgen[parquet]`."""

from __future__ import annotations

from typing import Any, BinaryIO

from bomgen.cabling.types import Wiring
from bomgen.output.registry import Progress, Unsuitable
from bomgen.output.wiring.columns import NUMBERED, column_names, has_joined_ends, tables

ABOUT = "The columns of the CSV, for notebooks and databases."
BINARY = True
SEVERAL_FILES = False
ONE_FABRIC = False
PACKAGE = "pyarrow"


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every cable, a row group per batch. Raises Unsuitable if pyarrow is not installed."""
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise Unsuitable("pyarrow is not installed; pip install pyarrow, or take csv") from None
    wiring = wiring.each_cable
    names = column_names(wiring)
    numbers = () if has_joined_ends(wiring) else NUMBERED
    types: dict[str, Any] = dict.fromkeys(names, pa.string()) | dict.fromkeys(("rate_gbps", *numbers), pa.int64())
    schema = pa.schema(types | {"length_m": pa.float64()})
    with ParquetWriter(out, schema, compression="zstd") as writer:
        for table in tables(wiring):
            writer.write_table(pa.table([pa.array(table[name], schema.field(name).type) for name in names], schema))
            progress(len(table["fabric"]))

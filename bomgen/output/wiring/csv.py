"""The wiring as CSV: a row a cable."""

from __future__ import annotations

from typing import BinaryIO

import pyarrow.csv

from bomgen.cabling.types import Wiring
from bomgen.output.wiring.columns import NAMES, schema_of, tables, words_of
from bomgen.output.wiring.formats import Progress

ABOUT = "A row a cable, for spreadsheets and scripts."
BINARY = False
SEVERAL_FILES = False
ONE_FABRIC = False
SPECIAL = set('",\r\n')
"""What a value without quotes may not hold."""


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every cable, all values in quotes if a single one needs them."""
    wiring = wiring.each_cable
    out.write((",".join(NAMES) + "\n").encode())
    style = "needed" if any(SPECIAL & set(word) for word in words_of(wiring)) else "none"
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style=style)
    with pyarrow.csv.CSVWriter(
        pyarrow.PythonFile(out, mode="w"), schema_of(wiring.each_cable), write_options=options
    ) as writer:
        for table in tables(wiring):
            writer.write_table(table)
            progress(table.num_rows)

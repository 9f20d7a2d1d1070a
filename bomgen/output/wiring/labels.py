"""The labels of cables as CSV for label printers: a row per cable end, the near end first."""

from __future__ import annotations

import csv
from io import StringIO
from typing import BinaryIO

from bomgen.cabling.types import Wiring
from bomgen.core.safety import escape_formula
from bomgen.output.registry import Progress
from bomgen.output.wiring.columns import describe_ends, tables

ABOUT = "Texts of the labels for label printers: one row per end of a cable."
SUFFIXES = (".csv",)
BINARY = False
SEVERAL_FILES = False
ONE_FABRIC = False
COLUMNS = ("label", "near", "far", "length_m", "sku")


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write two labels per cable."""
    out.write((",".join(COLUMNS) + "\n").encode())
    for table in tables(wiring.each_cable):
        text = StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        cables = (table["label"], describe_ends(table, "a"), describe_ends(table, "b"), table["length_m"], table["sku"])
        for label, a, b, length_m, sku in zip(*cables, strict=True):
            for near, far in ((a, b), (b, a)):
                writer.writerow(map(escape_formula, (label, near, far, f"{length_m:g}", sku or "")))
        out.write(text.getvalue().encode())
        progress(len(table["label"]))

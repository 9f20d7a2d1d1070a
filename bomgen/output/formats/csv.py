"""bom.csv: the lines of the bill for programs and spreadsheets."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bomgen.output.registry import DocumentInputs

ABOUT = "The bill, one row per line."
FILE = "bom.csv"
BINARY = False


def write(source: DocumentInputs) -> bytes:
    """Return the lines as CSV (RFC 4180) with a header row, the keys of `lines[]` in their order.

    Text that a spreadsheet would run as a formula gets a leading apostrophe.
    """
    from bomgen.core.safety import escape_formula
    from bomgen.results.result import lines_data

    stream = io.StringIO()
    rows = lines_data(source.report)
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(rows[0] if rows else ())
    for row in rows:
        writer.writerow([escape_formula(value) for value in row.values()])
    return stream.getvalue().encode()

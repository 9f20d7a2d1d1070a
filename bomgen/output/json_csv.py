"""bom.json and bom.csv: the result for programs."""

from __future__ import annotations

import csv
import io
import json

from bomgen.core.csv_fields import kept_text
from bomgen.report.result import Report, lines_data, result


def bom_json(report: Report) -> bytes:
    """The result as JSON, UTF-8, in a fixed order."""
    return (json.dumps(result(report), ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def bom_csv(report: Report) -> bytes:
    """The lines as CSV (RFC 4180) with a header row, the keys of `lines[]` in their order.

    Text that a spreadsheet would run as a formula is kept text by a leading apostrophe.
    """
    stream = io.StringIO()
    rows = lines_data(report)
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(rows[0] if rows else ())
    for row in rows:
        writer.writerow([kept_text(value) for value in row.values()])
    return stream.getvalue().encode()

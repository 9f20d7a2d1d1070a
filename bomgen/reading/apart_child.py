"""The child process that reads a file: standard input is the file, standard output its tables."""

from __future__ import annotations

import sys

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.jobs import within_limits
from bomgen.reading.apart import LIMITS, PDF, written
from bomgen.reading.cells import RawTable


def main() -> None:
    """Read a file of the kind given by the first argument."""
    [kind] = sys.argv[1:]
    with within_limits(LIMITS, sealed=False):  # the library loads the character maps that a PDF names
        try:
            answer = written(_read(kind, sys.stdin.buffer.read()), [])
        except PlanErrors as errors:
            answer = written((), errors.problems)
        sys.stdout.buffer.write(answer)


def _read(kind: str, content: bytes) -> tuple[RawTable, ...]:
    if kind == PDF:
        from bomgen.reading.tables import extract_tables

        return extract_tables(content, "")
    from bomgen.reading.workbooks import read_workbook_97

    return read_workbook_97(content, "")

"""The program of the process that reads a file apart: standard input is the file, standard output its tables."""

from __future__ import annotations

import sys

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.process_limits import lower_limit
from bomgen.reading.apart import LIMITS, OUT_OF_MEMORY, PDF, written
from bomgen.reading.cells import RawTable


def main() -> None:
    """Read the file of the kind that the first argument names."""
    [kind] = sys.argv[1:]
    # At the soft limit of time the signal says why the process ends.
    lower_limit("RLIMIT_CPU", LIMITS.cpu_seconds, LIMITS.cpu_seconds + 1)
    for limit, most in (("RLIMIT_AS", LIMITS.memory_bytes), ("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0)):
        lower_limit(limit, most, most)
    try:
        answer = written(_read(kind, sys.stdin.buffer.read()), [])
    except PlanErrors as errors:
        answer = written((), errors.problems)
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    sys.stdout.buffer.write(answer)


def _read(kind: str, content: bytes) -> tuple[RawTable, ...]:
    if kind == PDF:
        from bomgen.reading.pdf_tables import extract_tables

        return extract_tables(content, "")
    from bomgen.reading.workbooks_97 import read_workbook_97

    return read_workbook_97(content, "")

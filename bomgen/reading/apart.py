"""Files whose reading cannot be bounded from outside, read in a process of their own: PDFs, workbooks of Excel 97.

What a PDF unpacks to, draws and refers to is known only to the library that reads it, and so is where the records of a
compound file lead. The process, whose program is `apart_child.py`, has neither an environment nor files. It may take as
much processor time and memory as `LIMITS` say: the system ends it, or the clock where the system counts neither
(Windows; macOS does not count memory). However it ends, only the file is refused: for its limits, or because reading it
fails.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NamedTuple

from bomgen.core.children import TimedOut, bare_environment, read_answer, start_python
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.core.signals import held_back
from bomgen.reading.cells import Area, Broken, Cell, RawTable, Value


class Limits(NamedTuple):
    """What the process may take."""

    cpu_seconds: int
    wall_seconds: int
    memory_bytes: int


LIMITS = Limits(cpu_seconds=10, wall_seconds=60, memory_bytes=768 << 20)
"""A PDF of 100 pages with 30 lines each takes 8 s and 50 MiB. A command has 20 s and 1 GiB in all; what it does with a
bill of 5000 lines takes another 8 s."""
PDF, XLS = "pdf", "xls"
"""The kinds of files that are read so."""
OUT_OF_MEMORY = 10
"""The exit code of a process that had no more memory."""
_OVER_LIMIT = {
    OUT_OF_MEMORY,
    *(-getattr(signal, name) for name in ("SIGXCPU", "SIGKILL", "SIGABRT") if hasattr(signal, name)),
}
"""How a process ends that takes too much time or memory; calamine, which is written in Rust, aborts without memory."""
_MEBI = 20
_KINDS: Mapping[str, Callable[[str], Value]] = {
    "broken": Broken,
    "number": Decimal,
    "day": date.fromisoformat,
    "moment": datetime.fromisoformat,
    "time": time.fromisoformat,
}
"""What values that JSON does not have are read with, by what they are called there."""


def read_apart(kind: str, content: bytes, file: str) -> tuple[RawTable, ...]:
    """Return the tables of a file of one of the kinds.

    Raises PlanErrors for a file that is wrong, for one that takes more time or memory than it may, and for one on which
    the program that reads it fails.
    """
    with held_back() as let_through, TemporaryDirectory(prefix="bomgen-") as empty, TemporaryFile() as given:
        given.write(content)
        given.seek(0)
        module, environment = "bomgen.reading.apart_child", bare_environment()
        process = start_python(module, "main", (kind,), stdin=given, folder=empty, environment=environment)
        try:
            with let_through():
                answer = read_answer(process, LIMITS.wall_seconds)
        except TimedOut:
            raise _over_limit(file) from None
        finally:
            process.kill()
    code = process.returncode
    if code in _OVER_LIMIT:
        raise _over_limit(file)
    if code:
        ended = f"exit code {code}" if code > 0 else f"signal {-code}"
        message = f"the program that reads the file failed ({ended}); save its tables alone, as .xlsx or .csv"
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "read-failure")])
    said = json.loads(answer)
    if problems := [
        Problem(Mark(file, line, column), "error", message, rule) for line, column, message, rule in said["problems"]
    ]:
        raise PlanErrors(problems)
    return tuple(_table(table, file) for table in said["tables"])


def _over_limit(file: str) -> PlanErrors:
    most = f"{LIMITS.cpu_seconds} s or {LIMITS.memory_bytes >> _MEBI} MiB of memory"
    message = f"reading the file takes more than {most}; save its tables alone, as .xlsx or .csv"
    return PlanErrors([Problem(Mark(file, 1, 1), "error", message, "read-limit")])


def written(tables: tuple[RawTable, ...], problems: Sequence[Problem]) -> bytes:
    """Return the answer of the process: tables, or what is wrong with the file."""
    shown = [(problem.mark.line, problem.mark.column, problem.message, problem.rule) for problem in problems]
    return json.dumps({"tables": [_plain(table) for table in tables], "problems": shown}).encode()


def _plain(table: RawTable) -> dict[str, Any]:
    """A table as JSON; the place of a cell is its row and column."""
    rows = [[_plain_value(cell.value) for cell in row] for row in table.rows]
    hidden = {"hidden_rows": [*table.hidden_rows], "hidden_columns": [*table.hidden_columns]}
    return {"name": table.name, "rows": rows, "hidden": table.hidden, "merged": table.merged, **hidden}


def _plain_value(value: Value) -> Any:
    if isinstance(value, Broken):
        return {"broken": value.message}
    if isinstance(value, Decimal):
        return {"number": str(value)}
    if isinstance(value, date | time):
        return {
            "moment" if isinstance(value, datetime) else "day" if isinstance(value, date) else "time": value.isoformat()
        }
    return value


def _table(said: Mapping[str, Any], file: str) -> RawTable:
    """A table out of JSON."""
    return RawTable(
        name=said["name"],
        rows=tuple(
            tuple(Cell(_value(value), Mark(file, line, column)) for column, value in enumerate(row, 1))
            for line, row in enumerate(said["rows"], 1)
        ),
        hidden=said["hidden"],
        merged=tuple(Area(*area) for area in said["merged"]),
        hidden_rows=frozenset(said["hidden_rows"]),
        hidden_columns=frozenset(said["hidden_columns"]),
    )


def _value(said: Any) -> Value:
    if not isinstance(said, dict):
        value: Value = said
        return value
    [(kind, text)] = said.items()
    return _KINDS[kind](text)

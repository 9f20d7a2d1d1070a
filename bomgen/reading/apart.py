"""Files read in a separate process, because their cost cannot be bounded in advance: PDFs, Excel 97 workbooks.

Only the library that reads a PDF knows what it unpacks to, draws and refers to, and likewise where the records of a
compound file lead. `apart_child.py` reads them in a restricted child; however it ends, only the file is rejected.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.jobs import Limits, run_limited
from bomgen.core.provenance import Mark
from bomgen.reading.cells import Area, Broken, RawTable, TableCell, Value

LIMITS = Limits(cpu_seconds=10, wall_seconds=60, memory_bytes=768 << 20, output_bytes=256 << 20)
"""A PDF of 100 pages with 30 lines each takes 8 s and 50 MiB. A command has 20 s and 1 GiB in total; processing a bill
of 5000 lines takes several more seconds."""
PDF, XLS = "pdf", "xls"
"""Kinds of files read in a separate process."""
_MEBI = 20
_KINDS: Mapping[str, Callable[[str], Value]] = {
    "broken": Broken,
    "number": Decimal,
    "day": date.fromisoformat,
    "moment": datetime.fromisoformat,
    "time": time.fromisoformat,
}


def read_apart(kind: str, content: bytes, file: str) -> tuple[RawTable, ...]:
    """Return the tables of a file. Raises PlanErrors for an invalid one, beyond the limits, and if its reader fails."""
    ended = run_limited("bomgen.reading.apart_child", (kind,), content, LIMITS)
    if ended.failed:
        message = f"the program that reads the file failed: {ended.reason}; save its tables alone, as .xlsx or .csv"
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "read-failure")])
    if ended.reason:
        most = f"{LIMITS.cpu_seconds} s or {LIMITS.memory_bytes >> _MEBI} MiB of memory"
        message = f"reading the file takes more than {most}; save its tables alone, as .xlsx or .csv"
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "read-limit")])
    said = json.loads(ended.answer)
    if said["problems"]:
        marked = ((Mark(file, line, column), message, rule) for line, column, message, rule in said["problems"])
        raise PlanErrors([Problem(mark, "error", message, rule) for mark, message, rule in marked])
    return tuple(_table(table, file) for table in said["tables"])


def written(tables: tuple[RawTable, ...], problems: Sequence[Problem]) -> bytes:
    """Return the output of the process: tables, or the problems of the file."""
    shown = [(problem.mark.line, problem.mark.column, problem.message, problem.rule) for problem in problems]
    return json.dumps({"tables": [_plain(table) for table in tables], "problems": shown}).encode()


def _plain(table: RawTable) -> dict[str, Any]:
    rows = [[_plain_value(cell.value) for cell in row] for row in table.rows]
    hidden = {"hidden_rows": [*table.hidden_rows], "hidden_columns": [*table.hidden_columns]}
    return {"name": table.name, "rows": rows, "hidden": table.hidden, "merged": table.merged, **hidden}


def _plain_value(value: Value) -> Any:
    if isinstance(value, Broken):
        return {"broken": value.message}
    if isinstance(value, Decimal):
        return {"number": str(value)}
    if isinstance(value, date | time):
        kind = "moment" if isinstance(value, datetime) else "day" if isinstance(value, date) else "time"
        return {kind: value.isoformat()}
    return value


def _table(said: Mapping[str, Any], file: str) -> RawTable:
    return RawTable(
        name=said["name"],
        rows=tuple(
            tuple(TableCell(_value(value), Mark(file, line, column)) for column, value in enumerate(row, 1))
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

"""A trace of requests as somebody recorded it: a table with the arrival, prompt tokens and output tokens of each.

Headings are those of this program, and those that public traces have: Azure's (TIMESTAMP, ContextTokens,
GeneratedTokens) and BurstGPT's (Timestamp, Request tokens, Response tokens).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from math import isfinite

from bomgen.core.diagnostics import error_at
from bomgen.core.provenance import Mark
from bomgen.reading.cells import TableCell
from bomgen.reading.tables import read_tables
from bomgen.sizing.serving.simulation import REQUESTS_ALLOWED, TracedRequest

ARRIVAL, PROMPT, OUTPUT = "arrival", "prompt_tokens", "output_tokens"
HEADINGS = {
    ARRIVAL: ("arrival", "arrivaltime", "timestamp", "time"),
    PROMPT: ("prompttokens", "contexttokens", "requesttokens", "inputtokens", "inputlength", "promptlength"),
    OUTPUT: ("outputtokens", "generatedtokens", "responsetokens", "completiontokens", "outputlength"),
}
"""Headings of each column, in small letters and without anything else."""
MOST_TOKENS = 10**8
"""Tokens above which a prompt or an output is a mistake."""
RULE = "trace"


def read_trace(content: bytes, file: str) -> list[TracedRequest]:
    """Return the requests of a trace by arrival, the first at 0 s; `file` is its name in messages.

    Arrivals are seconds, or dates with times. Raises PlanErrors for a file that is no table, a missing column, a cell
    without a valid value, too few requests, and requests that all arrive at once.
    """
    rows = [row for row in read_tables(content, file)[0].rows if any(cell.filled for cell in row)]
    if not rows:
        raise error_at(file, f"an empty table; a trace has the columns {_names()}", RULE)
    columns = _columns(rows[0], file)
    requests = sorted(
        TracedRequest(
            _seconds(_cell(row, columns[ARRIVAL])),
            _tokens(_cell(row, columns[PROMPT]), PROMPT),
            _tokens(_cell(row, columns[OUTPUT]), OUTPUT),
        )
        for row in rows[1:]
    )
    if len(requests) > 1 and requests[0].arrival == requests[-1].arrival:
        raise error_at(
            rows[1][columns[ARRIVAL]].mark, "all requests arrive at once; arrivals are seconds or times", RULE
        )
    if len(requests) < REQUESTS_ALLOWED[0]:
        text = f"{len(requests)} requests have no percentiles; use a trace of at least {REQUESTS_ALLOWED[0]}"
        raise error_at(rows[0][0].mark, text, RULE)
    first = requests[0].arrival
    return [request._replace(arrival=request.arrival - first) for request in requests]


def _columns(header: Sequence[TableCell], file: str) -> dict[str, int]:
    """Return the column of each value. Raises PlanErrors for one that no heading names."""
    headings = ["".join(letter for letter in str(cell.value).lower() if letter.isalpha()) for cell in header]
    columns = {
        name: next((headings.index(heading) for heading in known if heading in headings), None)
        for name, known in HEADINGS.items()
    }
    lacking = [f"`{name}`" for name, column in columns.items() if column is None]
    if lacking:
        mark = header[0].mark if header else Mark(file, 1, 1)
        raise error_at(mark, f"no column {', '.join(lacking)}; the first row of a trace names {_names()}", RULE)
    return {name: column for name, column in columns.items() if column is not None}


def _names() -> str:
    return ", ".join(f"`{name}`" for name in HEADINGS)


def _cell(row: Sequence[TableCell], column: int) -> TableCell:
    """Return a cell of a row, an empty one where the row ends before."""
    return row[column] if column < len(row) else row[-1]._replace(value=None)


def _seconds(cell: TableCell) -> float:
    """Return an arrival [s]. Raises PlanErrors."""
    value = cell.value
    if isinstance(value, datetime):
        return value.timestamp()
    number = _number(cell)
    if number is not None:
        return number
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError):
        text = f"'{_short(cell)}' is not a valid arrival; write seconds, or a date and time such as 2026-11-29 12:00:00"
        raise error_at(cell.mark, text, RULE) from None


def _tokens(cell: TableCell, name: str) -> float:
    """Return a number of tokens. Raises PlanErrors."""
    number = _number(cell)
    if number is None or not 0 <= number <= MOST_TOKENS:
        text = f"'{_short(cell)}' is not a valid number of tokens ({name}); write a number from 0 to {MOST_TOKENS}"
        raise error_at(cell.mark, text, RULE)
    return number


def _number(cell: TableCell) -> float | None:
    """Return the number of a cell; None where it is none."""
    if not isinstance(cell.value, str | Decimal):
        return None
    try:
        number = float(Decimal(cell.value))
    except (InvalidOperation, OverflowError):
        return None
    return number if isfinite(number) else None


SHOWN = 40
"""Characters of a wrong cell that a message repeats."""


def _short(cell: TableCell) -> str:
    return "" if cell.value is None else str(cell.value)[:SHOWN]

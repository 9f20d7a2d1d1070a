"""Tables of one known content, as others record it: the cables of a network, and the requests that arrive.

A point-to-point sheet has a row a cable, with device and port at either end, as installers and `bomgen wiring` write.
It is read twice: as the list of its cables, and as the table of a bill, with the switches, modules and cables that its
rows count. A trace has a row a request; its headings are those of this program, and those that public traces have:
Azure's (TIMESTAMP, ContextTokens, GeneratedTokens) and BurstGPT's (Timestamp, Request tokens, Response tokens).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import NamedTuple

from bomgen.core.diagnostics import error_at
from bomgen.core.provenance import Mark
from bomgen.reading.cells import RawTable, TableCell
from bomgen.reading.part_numbers import words_of
from bomgen.reading.tables import read_tables
from bomgen.sizing.serving.simulation import REQUESTS_ALLOWED, TracedRequest

MAX_HEADER = 40
SIDES = ("a", "b")
ENDS = ("device", "port", "module", "cage")
"""What a column holds of one end."""
TIERS = ("server", "leaf", "spine", "core")
"""Tiers of devices from below; a device whose name has none of the others is a server."""
HEADINGS = ("Part", "Description", "Quantity", "Fabric", "Role")
_NOTHING = re.compile(r"(n/?a|none|tbd|-+|–)?", re.IGNORECASE)
_LENGTH = re.compile(r"(\d{1,5}(?:\.\d{1,3})?) ?(?:m|米)?")
_RAIL = re.compile(r"[a-z]*?(\d+)")


class CableEnd(NamedTuple):
    """An end of a cable as a row states it; empty texts for what it lacks."""

    device: str
    port: str
    module: str
    cage: str

    @property
    def tier(self) -> str:
        """Return the tier of the device by its name."""
        name = self.device.lower()
        return next((tier for tier in reversed(TIERS) if tier in name), TIERS[0])

    @property
    def rail(self) -> str:
        """Return the number of the NIC that a port of a server names first; empty without one."""
        match = _RAIL.match(self.port.lower())
        return match[1] if match and self.tier == TIERS[0] else ""


class SheetCable(NamedTuple):
    """A row of a point-to-point sheet."""

    mark: Mark
    fabric: str
    a: CableEnd
    b: CableEnd
    part: str
    length_m: float | None = None

    @property
    def links(self) -> str:
        """Return the kind of its links by the tiers of its ends."""
        return "-".join(sorted((self.a.tier, self.b.tier), key=TIERS.index))


def read_cables(table: RawTable) -> list[SheetCable]:
    """Return the cables of a sheet with a device and a port at both ends of each row; empty for other tables."""
    for at, row in enumerate(table.rows[:MAX_HEADER]):
        columns = _end_columns([str(cell.value or "") for cell in row])
        if all((side, name) in columns for side in SIDES for name in ENDS[:2]):
            below = (row for row in table.rows[at + 1 :] if any(cell.filled for cell in row))
            return [_cable(row, columns, table.name) for row in below]
    return []


def count_cables(cables: Sequence[SheetCable], sheet: str) -> RawTable:
    """Return the table of a bill: devices by tier, modules by end, cables by kind of link, each at its first row."""
    first: dict[tuple[str, ...], Mark] = {}
    pieces = Counter[tuple[str, ...]]()

    def add(mark: Mark, part: str, description: str, fabric: str, role: str) -> None:
        key = (part, description, fabric, role)
        first.setdefault(key, mark)
        pieces[key] += 1

    seen = set[tuple[str, ...]]()
    for cable in cables:
        for end in (cable.a, cable.b):
            if end.device and (end.device,) not in seen:
                seen.add((end.device,))
                if end.tier == TIERS[0]:
                    add(cable.mark, "", "server", "", "")
                else:
                    add(cable.mark, "", f"{end.tier} switch", cable.fabric, end.tier)
            cage = (end.device, end.cage or end.port, end.module)
            if end.module and cage not in seen:
                seen.add(cage)
                add(cable.mark, end.module, "module", cable.fabric, f"{cable.links}/{end.tier}")
        if cable.part:
            add(cable.mark, cable.part, "cable", cable.fabric, cable.links)
    header = tuple(TableCell(text, Mark(cables[0].mark.file, 1, at)) for at, text in enumerate(HEADINGS, 1))
    rows = (
        tuple(TableCell(text or None, first[key]) for text in (*key[:2], str(count), *key[2:]))
        for key, count in pieces.items()
    )
    return RawTable(sheet, (header, *rows))


def _cable(row: Sequence[TableCell], columns: Mapping[tuple[str, str], int], sheet: str) -> SheetCable:
    def text(side: str, name: str) -> str:
        at = columns.get((side, name), len(row))
        value = str(row[at].value or "").strip() if at < len(row) else ""
        return "" if _NOTHING.fullmatch(value) else value

    a, b = (CableEnd(*(text(side, name) for name in ENDS)) for side in SIDES)
    mark = next(cell.mark for cell in row if cell.filled)._replace(sheet=sheet)
    length = _LENGTH.fullmatch(text("", "length"))
    return SheetCable(mark, text("", "fabric"), a, b, text("", "cable"), float(length[1]) if length else None)


def _end_columns(headings: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return the columns by end and meaning; of two headings alike the first is of one end, the second of the other."""
    columns: dict[tuple[str, str], int] = {}
    for at, heading in enumerate(headings):
        for name in _named(heading.lower().replace("_", " "), "sheet_columns"):
            if name not in ENDS:
                columns.setdefault(("", name), at)
                continue
            sides = [*_named(heading.lower().replace("_", " "), "sheet_sides")]
            side = sides[0] if sides else "b" if ("a", name) in columns else "a"
            columns.setdefault((side, name), at)
            break
    return columns


def _named(heading: str, group: str) -> Iterator[str]:
    return (name for name, words in words_of(group).items() if any(word.search(heading) for word in words))


# request traces -------------------------------------------------------------------------------------------------------

ARRIVAL, PROMPT, OUTPUT = "arrival", "prompt_tokens", "output_tokens"
TRACE_HEADINGS = {
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
        for name, known in TRACE_HEADINGS.items()
    }
    lacking = [f"`{name}`" for name, column in columns.items() if column is None]
    if lacking:
        mark = header[0].mark if header else Mark(file, 1, 1)
        raise error_at(mark, f"no column {', '.join(lacking)}; the first row of a trace names {_names()}", RULE)
    return {name: column for name, column in columns.items() if column is not None}


def _names() -> str:
    return ", ".join(f"`{name}`" for name in TRACE_HEADINGS)


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

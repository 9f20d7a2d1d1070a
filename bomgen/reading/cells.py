"""Tables as received: rows of cells, each with its place."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark

MAX_COLUMNS = 50
"""Maximum number of columns of a price list or a bill; more suggest another table, or an attack."""
MAX_CELLS = 10**6
"""Maximum number of cells up to the last of each row, over all sheets: 20,000 rows of 50 columns."""
MAX_ACROSS = 1000
"""Maximum number of horizontal merges considered, which are headers and section titles."""
LONGEST = 1000
"""Maximum length of a cell searched for parts, dates and currencies; longer ones are terms and conditions."""


class Broken(NamedTuple):
    """A cell without a usable value: a formula without one, an error."""

    message: str


Value = str | Decimal | bool | date | time | Broken | None


class TableCell(NamedTuple):
    """A value of a table and its place; None for an empty cell."""

    value: Value
    mark: Mark
    formula: str = ""
    """The formula of the value, in the form of `relative_formula`, if requested."""

    @property
    def filled(self) -> bool:
        """Return whether the cell has a value."""
        return self.value is not None


class Area(NamedTuple):
    """Merged cells, from the first row and column to the last, from 1."""

    top: int
    left: int
    bottom: int
    right: int


class RawTable(NamedTuple):
    """A sheet of a workbook, or the only table of a delimited text."""

    name: str
    """Title of the sheet; empty for text."""
    rows: tuple[tuple[TableCell, ...], ...]
    """All rows, in a workbook up to the last cell with a value: row n is `rows[n - 1]`, and an empty one is `()`. Rows
    of text are consecutive, wherever their lines begin."""
    hidden: bool = False
    merged: tuple[Area, ...] = ()
    """Merged cells; only the first cell has their value."""
    hidden_rows: frozenset[int] = frozenset()
    hidden_columns: frozenset[int] = frozenset()
    """Hidden columns, from 1."""


def fill_merged(table: RawTable) -> RawTable:
    """Return the table with the value of vertically merged cells in each row. Raises PlanErrors for too many cells."""
    tall = [area for area in table.merged if area.bottom > area.top and area.left == area.right]
    across = [area for area in table.merged if area.bottom == area.top and area.left < area.right]
    rows = [list(row) for row in table.rows] if tall else []
    left = MAX_CELLS - sum(map(len, rows))
    below: dict[int, int] = {}
    """The row below the last area of each column; areas do not overlap, except in manipulated files."""
    for area in sorted(tall):
        first = cell_at(table, area.top, area.left)
        if first is None or not first.filled:
            continue
        start, below[area.left] = max(area.top + 1, below.get(area.left, 0)), area.bottom + 1
        lines = range(start, min(area.bottom, len(rows)) + 1)
        left -= sum(max(area.left - len(rows[line - 1]), 0) for line in lines)
        if left < 0:
            raise too_many_cells(Mark(first.mark.file, area.top, area.left))
        for line in lines:
            row = rows[line - 1]
            row += [TableCell(None, Mark(first.mark.file, line, at)) for at in range(len(row) + 1, area.left + 1)]
            if not row[area.left - 1].filled:
                row[area.left - 1] = TableCell(first.value, row[area.left - 1].mark)
    filled = tuple(map(tuple, rows)) if tall else table.rows
    return table._replace(rows=filled, merged=tuple(sorted(across)[:MAX_ACROSS]))


def too_many_cells(mark: Mark) -> PlanErrors:
    """Return an error for a table with too many cells."""
    message = f"more than {MAX_CELLS} cells; at most so many are read, save the rows with prices alone"
    return PlanErrors([Problem(mark, "error", message, "table-limit")])


def shorten_texts(table: RawTable) -> RawTable:
    """Return the table with its longest texts truncated, marked by `…`."""
    if not any(isinstance(cell.value, str) and len(cell.value) > LONGEST for row in table.rows for cell in row):
        return table
    return table._replace(rows=tuple(tuple(map(_shorten, row)) for row in table.rows))


def _shorten(cell: TableCell) -> TableCell:
    is_long = isinstance(cell.value, str) and len(cell.value) > LONGEST
    return TableCell(f"{str(cell.value)[:LONGEST]}…", cell.mark) if is_long else cell


def cell_at(table: RawTable, line: int, column: int) -> TableCell | None:
    """Return the cell at a line and column of a sheet, both from 1; None beyond the last one of its row."""
    row = table.rows[line - 1] if line <= len(table.rows) else ()
    return row[column - 1] if column <= len(row) else None

"""A table as somebody sent it: rows of cells, each with its place."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark

MAX_COLUMNS = 50
"""What a price list or a bill needs at most; more is another table, or an attack."""
MAX_CELLS = 10**6
"""Cells of a table, up to the last of each row, and of all sheets together: 20 000 rows of 50 columns."""
MAX_ACROSS = 1000
"""Cells merged across columns that are looked at: headers and titles of sections."""
LONGEST = 1000
"""Characters of a cell that are searched for parts, dates and currencies: longer ones are terms and conditions."""


class Broken(NamedTuple):
    """What stands in a cell and is no value: a formula without one, an error."""

    message: str


Value = str | Decimal | bool | date | time | Broken | None


class TableCell(NamedTuple):
    """A value of a table and its place; an empty cell has None."""

    value: Value
    mark: Mark
    formula: str = ""
    """What computes the value, in the form of `relative_formula`, where somebody asked for it."""

    @property
    def filled(self) -> bool:
        """Whether anything stands in it."""
        return self.value is not None


class Area(NamedTuple):
    """Cells that were merged into one, from the first row and column to the last; they count from 1."""

    top: int
    left: int
    bottom: int
    right: int


class RawTable(NamedTuple):
    """A sheet of a workbook, or the one table of a text with separators."""

    name: str
    """The title of the sheet; empty for text."""
    rows: tuple[tuple[TableCell, ...], ...]
    """Every row from the first on, in a workbook up to its last cell with a value: the row of line n is `rows[n - 1]`,
    and an empty one is `()`. Rows of text follow each other, wherever their lines begin."""
    hidden: bool = False
    """Whether whoever opens the workbook does not see the sheet."""
    merged: tuple[Area, ...] = ()
    """Merged cells; their value stands in the first cell alone."""
    hidden_rows: frozenset[int] = frozenset()
    hidden_columns: frozenset[int] = frozenset()
    """Those that whoever opens the workbook does not see; they count from 1."""


def fill_merged(table: RawTable) -> RawTable:
    """The table with the value of cells that were merged down a column in every row of them.

    Cells that were merged across columns are titles, whose value stays where it is; the first of these are kept.

    Raises PlanErrors for more cells than are read, those that are filled among them.
    """
    tall = [area for area in table.merged if area.bottom > area.top and area.left == area.right]
    across = [area for area in table.merged if area.bottom == area.top and area.left < area.right]
    rows = [list(row) for row in table.rows] if tall else []
    left = MAX_CELLS - sum(map(len, rows))
    below: dict[int, int] = {}
    """The row below the last area of each column: areas do not overlap, unless somebody wants them to."""
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
    return table._replace(
        rows=tuple(map(tuple, rows)) if tall else table.rows, merged=tuple(sorted(across)[:MAX_ACROSS])
    )


def too_many_cells(mark: Mark) -> PlanErrors:
    """Return the error of a table with more cells than are read."""
    message = f"more than {MAX_CELLS} cells; at most so many are read, save the rows with prices alone"
    return PlanErrors([Problem(mark, "error", message, "table-limit")])


def shorten_texts(table: RawTable) -> RawTable:
    """The table with its longest texts cut, which shows as `…`: more is searched for nothing that a table has."""
    if not any(isinstance(cell.value, str) and len(cell.value) > LONGEST for row in table.rows for cell in row):
        return table
    return table._replace(rows=tuple(tuple(map(_shorten, row)) for row in table.rows))


def _shorten(cell: TableCell) -> TableCell:
    is_long = isinstance(cell.value, str) and len(cell.value) > LONGEST
    return TableCell(f"{str(cell.value)[:LONGEST]}…", cell.mark) if is_long else cell


def cell_at(table: RawTable, line: int, column: int) -> TableCell | None:
    """The cell at a line and column of a sheet, both from 1; None beyond the last one of its row."""
    row = table.rows[line - 1] if line <= len(table.rows) else ()
    return row[column - 1] if column <= len(row) else None

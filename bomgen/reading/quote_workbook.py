"""A customer's workbook as it came back: by what it is recognised, the lines of its bill, and every other cell.

The bill and its columns are found by the ids that stand out of sight: sheets may have been renamed, rows sorted,
hidden, added and deleted, columns moved. Values are those that were computed last; what a program saved without
computing it is `Broken`, and only its formula says whether it is still what bomgen wrote.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.reading.cells import Broken, RawTable, TableCell
from bomgen.reading.sheet_scan import NO_VALUE, column_letters
from bomgen.reading.tables import PACKAGE, read_tables
from bomgen.reading.workbook_formulas import Formulas, NamedArea, read_formulas
from bomgen.reading.workbooks import UNREADABLE, unpack

ID = "id"
"""The key of the column of ids, and its title."""
RULE = "apply-workbook"
_QUOTE_ID = re.compile(r"([a-z0-9][a-z0-9-]*) ([0-9a-f]{64})")


class ReturnedLine(NamedTuple):
    """A row of the bill: its cells by the keys of their columns."""

    id: str
    """The id of the line; empty where the reader added the row."""
    cells: Mapping[str, TableCell]

    @property
    def pieces(self) -> tuple[Decimal, Decimal]:
        """Installed and spare pieces; 0 for what is no number."""
        quantity, spare = (self.cells[key].value for key in ("quantity", "spare"))
        return (
            quantity if isinstance(quantity, Decimal) else Decimal(0),
            spare if isinstance(spare, Decimal) else Decimal(0),
        )


class ReturnedQuote(NamedTuple):
    """What stands in the workbook."""

    plan: str
    """The name of the plan that it was written from."""
    fingerprint: str
    """Of what it said then."""
    bill: str
    """The title of the sheet of the bill."""
    mark: Mark
    """The place of the id."""
    lines: tuple[ReturnedLine, ...]
    """The rows of the bill that have an id, in their order."""
    added: tuple[ReturnedLine, ...]
    """Rows that have something in a column of the bill and no id; the amount of an empty one may be 0."""
    below: tuple[tuple[TableCell, TableCell], ...]
    """The totals below the bill and the rates among them: label and value."""
    beside: tuple[TableCell, ...]
    """Everything else on the sheet of the bill: above its header, and in columns that are not asked for."""
    header: Mapping[int, str]
    """The titles of all columns of the bill, by their numbers."""
    header_line: int
    """The line that they stand in."""
    sheets: Mapping[str, tuple[tuple[TableCell, ...], ...]]
    """The rows of the other sheets, by their titles."""
    names: Mapping[str, NamedArea | None]
    """The defined names of the workbook; none where its format has none, or a program dropped all of them."""
    formulas: int
    """How many formulas stand in it: some programs keep values alone."""


def is_uncomputed(cell: TableCell) -> bool:
    """Whether a cell has a formula whose value no program has saved."""
    return cell.value == NO_VALUE and bool(cell.formula)


def read_quote(content: bytes, file: str, titles: Mapping[str, str]) -> ReturnedQuote:
    """The quote in a workbook; `titles` are those of the columns of its bill by their keys.

    Raises PlanErrors for what is no workbook, for one without the ids, and for one whose bill lacks a column.
    """
    tables = read_tables(content, file)
    try:
        formulas = read_formulas(unpack(content, file)) if content.startswith(PACKAGE) else None
    except (ValueError, KeyError) as error:
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", UNREADABLE, RULE)]) from error
    if formulas:
        tables = tuple(_with_formulas(table, formulas) for table in tables)
    found = next(((table, cell) for table in tables for cell in _marked(table)), None)
    if found is None:
        message = (
            "not a quote of bomgen: the column with its ids, which is out of sight behind the bill, is not there; "
            "give the quote.xlsx that `bomgen build` wrote, as it came back"
        )
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, RULE)])
    table, mark = found
    if not table.name:
        message = "a text holds one sheet of a quote; save the whole workbook as .xlsx"
        raise PlanErrors([Problem(mark.mark, "error", message, RULE)])
    header, columns = _columns(table, titles, mark.mark)
    name, fingerprint = _QUOTE_ID.fullmatch(str(mark.value)).groups()  # type: ignore[union-attr]
    lines, added = list[ReturnedLine](), list[ReturnedLine]()
    below = list[tuple[TableCell, TableCell]]()
    for number, row in enumerate(table.rows[header:], header + 1):
        cells = {key: _at(row, column, file, number) for key, column in columns.items()}
        line_id = cells[ID].value
        if line_id is not None:
            text = line_id.message if isinstance(line_id, Broken) else str(line_id)
            lines.append(ReturnedLine(text, cells))
        elif _is_below(cells):
            below.append((cells["discount"], cells["amount"]))
        elif any(cell.value for cell in cells.values()):
            added.append(ReturnedLine("", cells))
    computed = {line.cells["amount"].formula for line in lines} | {""}
    added = [line for line in added if not _is_empty(line, computed)]
    beside = [cell for row in table.rows[: header - 1] for cell in row if cell.filled and cell != mark]
    known = set(columns.values())
    beside += [cell for row in table.rows[header:] for cell in row if cell.filled and cell.mark.column not in known]
    others = {each.name: each.rows for each in tables if each is not table}
    return ReturnedQuote(
        plan=name,
        fingerprint=fingerprint,
        bill=table.name,
        mark=mark.mark,
        lines=tuple(lines),
        added=tuple(added),
        below=tuple(below),
        beside=tuple(beside),
        header={cell.mark.column: str(cell.value) for cell in table.rows[header - 1] if cell.filled},
        header_line=header,
        sheets=others,
        names=formulas.names if formulas else {},
        formulas=sum(map(len, formulas.cells.values())) if formulas else 0,
    )


def _with_formulas(table: RawTable, formulas: Formulas) -> RawTable:
    """Return a sheet whose cells know their formulas."""
    known = formulas.cells.get(table.name, {})
    rows = (
        tuple(cell._replace(formula=known.get((line, at), "")) for at, cell in enumerate(row, 1))
        for line, row in enumerate(table.rows, 1)
    )
    return table._replace(rows=tuple(rows)) if known else table


def _is_empty(line: ReturnedLine, computed: Collection[str]) -> bool:
    """Whether a row has nothing but an amount that nobody has computed, by one of the formulas of the lines."""
    others = (cell.value for key, cell in line.cells.items() if key != "amount")
    amount = line.cells["amount"]
    return not any(others) and amount.value == NO_VALUE and amount.formula in computed


def _is_below(cells: Mapping[str, TableCell]) -> bool:
    """Whether a row is one of the totals: a label, or the formula of one, and a number or a formula behind it."""
    others = (cell for key, cell in cells.items() if key not in ("discount", "amount"))
    return isinstance(cells["discount"].value, str | Broken) and not any(cell.filled for cell in others)


def name_cell(sheet: str, mark: Mark) -> str:
    """What spreadsheet programs call a cell, behind the title of its sheet."""
    return f"{sheet}!{column_letters(mark.column)}{mark.line}"


def _marked(table: RawTable) -> Iterator[TableCell]:
    return (
        cell for row in table.rows for cell in row if isinstance(cell.value, str) and _QUOTE_ID.fullmatch(cell.value)
    )


def _columns(table: RawTable, titles: Mapping[str, str], mark: Mark) -> tuple[int, dict[str, int]]:
    """The line of the header of the bill, and the columns by their keys. Raises PlanErrors where one is missing."""
    for number, row in enumerate(table.rows[mark.line :], mark.line + 1):
        if len(row) >= mark.column and row[mark.column - 1].value == ID:
            named = {str(cell.value): cell.mark.column for cell in reversed(row)}
            missing = [title for title in titles.values() if title not in named]
            if not missing:
                return number, {key: named[title] for key, title in titles.items()} | {ID: mark.column}
            listed = ", ".join(f"'{title}'" for title in missing)
            message = f"the bill has no column {listed}; give its columns their titles again"
            raise PlanErrors([Problem(Mark(mark.file, number, 1), "error", message, RULE)])
    message = "the header of the bill is not there; put it back above the lines"
    raise PlanErrors([Problem(mark, "error", message, RULE)])


def _at(row: tuple[TableCell, ...], column: int, file: str, line: int) -> TableCell:
    return row[column - 1] if column <= len(row) else TableCell(None, Mark(file, line, column))

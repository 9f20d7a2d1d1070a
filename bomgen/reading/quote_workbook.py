"""A customer's workbook as returned: its identity, the lines of its bill, and every other cell.

The bill and its columns are found by hidden ids: sheets may have been renamed, rows sorted, hidden, added and deleted,
columns moved. Values are those computed last; a value that a program saved without computing it is `Broken`, and only
its formula shows whether it is still what bomgen wrote.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Literal, NamedTuple

from bomgen.core.diagnostics import error_at
from bomgen.core.provenance import Mark
from bomgen.core.yaml_source import Path
from bomgen.reading.cells import Broken, RawTable, TableCell
from bomgen.reading.scans import NO_VALUE, Formulas, NamedArea, column_letters, read_formulas
from bomgen.reading.tables import PACKAGE, read_tables
from bomgen.reading.workbooks import UNREADABLE, unpack

# bill ---------------------------------------------------------------------------------------------------------------
# The columns of the bill, by the keys that the document, the workbook and the lines read from it share; that of ids is
# out of sight, and its title is `id`.

INCLUSIVE = ("inclusive_price", "inclusive_amount")
"""The columns with tax, which take the place of price and amount on a page; a workbook adds tax below the lines."""
NUMBERS = ("quantity", "spare", "unit_price", "discount")
"""The columns whose numbers the reader may change."""
SHOWN_ONLY = ("number", "vendor", "details", "piece")
"""Columns that only inform the reader: older workbooks lack them."""

# cells --------------------------------------------------------------------------------------------------------------

CellKind = Literal["text", "date", "validity", "party", "term", "share", "shown", "difference"]
CHARGES: Path = ("quote", "charges")
TERMS: Path = ("quote", "terms")
TAX: Path = ("quote", "tax")


class QuoteCell(NamedTuple):
    """A cell outside the lines of the bill: how its content is read, and the key of the plan that it changes."""

    kind: CellKind
    path: Path = ()
    """Empty for a formula of which only the kind is of interest."""

    @property
    def key(self) -> str:
        """Return the path as messages write it."""
        return ".".join(map(str, self.path))


CELLS: Mapping[str, QuoteCell] = {
    "title": QuoteCell("text", ("title",)),
    "party-vendor": QuoteCell("party", ("quote", "vendor")),
    "fact-customer": QuoteCell("party", ("quote", "customer")),
    "fact-number": QuoteCell("text", ("quote", "number")),
    "fact-revision": QuoteCell("text", ("quote", "revision")),
    "fact-payment": QuoteCell("text", ("quote", "payment")),
    "fact-date": QuoteCell("date", ("quote", "date")),
    "fact-valid-until": QuoteCell("validity", ("quote", "valid_days")),
    "fact-valid": QuoteCell("validity", ("quote", "valid_days")),
    "xlsx-rate": QuoteCell("share", TAX),
    "xlsx-share-of-hardware": QuoteCell("share", CHARGES),
    "xlsx-shown": QuoteCell("shown"),
    "xlsx-difference": QuoteCell("difference"),
    "term": QuoteCell("term", TERMS),
}
"""By the keys of the words that label them. A charge follows its path by its id, a term by its position."""

CellPlace = tuple[str, int, int]
"""The title of a sheet, and the line and column of a cell, both from 1."""
QuoteCells = Mapping[CellPlace, QuoteCell]


# workbook -------------------------------------------------------------------------------------------------------------

RULE = "apply-workbook"
_QUOTE_ID = re.compile(r"([a-z0-9][a-z0-9-]*) ([0-9a-f]{64})")


class ReturnedLine(NamedTuple):
    """A row of the bill: its cells by column key."""

    id: str
    """Id of the line; empty if the reader added the row."""
    cells: Mapping[str, TableCell]

    @property
    def pieces(self) -> tuple[Decimal, Decimal]:
        """Return installed and spare pieces; 0 for values other than numbers."""
        values = (self.cells[key].value for key in ("quantity", "spare"))
        quantity, spare = (value if isinstance(value, Decimal) else Decimal(0) for value in values)
        return quantity, spare


class ReturnedQuote(NamedTuple):
    """The contents of the workbook."""

    plan: str
    """Name of the plan it was written from."""
    fingerprint: str
    """Fingerprint of its original contents."""
    bill: str
    mark: Mark
    """Place of the id."""
    lines: tuple[ReturnedLine, ...]
    """Bill rows with an id, in their order."""
    added: tuple[ReturnedLine, ...]
    """Bill rows without an id that are not empty; the amount of an empty one may be 0."""
    below: tuple[tuple[TableCell, TableCell], ...]
    """Totals below the bill, including rates: label and value."""
    beside: tuple[TableCell, ...]
    """All other cells on the bill's sheet: above its header, and in other columns."""
    header: Mapping[int, str]
    """Titles of all columns of the bill, by column number."""
    header_line: int
    """Line of the header."""
    sheets: Mapping[str, tuple[tuple[TableCell, ...], ...]]
    """Rows of the other sheets, by title."""
    names: Mapping[str, NamedArea | None]
    """Defined names of the workbook; none if its format lacks them, or a program dropped them."""
    formulas: int
    """Number of formulas; some programs keep values only."""


def is_uncomputed(cell: TableCell) -> bool:
    """Return whether a cell has a formula without a saved value."""
    return cell.value == NO_VALUE and bool(cell.formula)


def read_quote(content: bytes, file: str, titles: Mapping[str, str]) -> ReturnedQuote:
    """Return the quote in a workbook; `titles` are its columns' by key. Raises PlanErrors without ids or columns."""
    tables = read_tables(content, file)
    try:
        formulas = read_formulas(unpack(content, file)) if content.startswith(PACKAGE) else None
    except (ValueError, KeyError) as error:
        raise error_at(file, UNREADABLE, RULE) from error
    if formulas:
        tables = tuple(_with_formulas(table, formulas) for table in tables)
    cells_of_tables = ((table, cell) for table in tables for row in table.rows for cell in row)
    ids = (pair for pair in cells_of_tables if isinstance(text := pair[1].value, str) and _QUOTE_ID.fullmatch(text))
    identified = next(ids, None)
    if identified is None:
        message = (
            "not a bomgen quote: the hidden id column after the bill is missing; "
            "use the quote.xlsx written by `bomgen build`, as it was returned"
        )
        raise error_at(file, message, RULE)
    table, mark = identified
    if not table.name:
        message = "a text file contains only one sheet of a quote; save the whole workbook as .xlsx"
        raise error_at(mark.mark, message, RULE)
    header, columns = _columns(table, titles, mark.mark)
    name, fingerprint = _QUOTE_ID.fullmatch(str(mark.value)).groups()  # type: ignore[union-attr]
    lines, added = list[ReturnedLine](), list[ReturnedLine]()
    below = list[tuple[TableCell, TableCell]]()
    for number, row in enumerate(table.rows[header:], header + 1):
        cells = {
            key: row[column - 1] if column <= len(row) else TableCell(None, Mark(file, number, column))
            for key, column in columns.items()
        }
        line_id = cells["id"].value
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
    listed = set(columns.values())
    beside += [cell for row in table.rows[header:] for cell in row if cell.filled and cell.mark.column not in listed]
    sheets = {sheet.name: sheet.rows for sheet in tables if sheet is not table}
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
        sheets=sheets,
        names=formulas.names if formulas else {},
        formulas=sum(map(len, formulas.cells.values())) if formulas else 0,
    )


def _with_formulas(table: RawTable, formulas: Formulas) -> RawTable:
    sheet_formulas = formulas.cells.get(table.name, {})
    rows = (
        tuple(cell._replace(formula=sheet_formulas.get((line, at), "")) for at, cell in enumerate(row, 1))
        for line, row in enumerate(table.rows, 1)
    )
    return table._replace(rows=tuple(rows)) if sheet_formulas else table


def _is_empty(line: ReturnedLine, computed: Collection[str]) -> bool:
    """Return whether a row has only an uncomputed amount with the formula of one of the lines."""
    values = (cell.value for key, cell in line.cells.items() if key != "amount")
    amount = line.cells["amount"]
    return not any(values) and amount.value == NO_VALUE and amount.formula in computed


def _is_below(cells: Mapping[str, TableCell]) -> bool:
    """Return whether a row is a total: a label, or its formula, followed by a number or formula."""
    rest = (cell for key, cell in cells.items() if key not in ("discount", "amount"))
    return isinstance(cells["discount"].value, str | Broken) and not any(cell.filled for cell in rest)


def name_cell(sheet: str, mark: Mark) -> str:
    """Return the address of a cell in spreadsheet notation, with its sheet."""
    return f"{sheet}!{column_letters(mark.column)}{mark.line}"


def _columns(table: RawTable, titles: Mapping[str, str], mark: Mark) -> tuple[int, dict[str, int]]:
    for number, row in enumerate(table.rows[mark.line :], mark.line + 1):
        if len(row) >= mark.column and row[mark.column - 1].value == "id":
            named = {str(cell.value): cell.mark.column for cell in reversed(row)}
            missing = [title for key, title in titles.items() if title not in named and key not in SHOWN_ONLY]
            if not missing:
                there = {key: named[title] for key, title in titles.items() if title in named}
                return number, there | {"id": mark.column}
            listed = ", ".join(f"'{title}'" for title in missing)
            message = f"the bill has no column {listed}; restore the column titles"
            raise error_at(Mark(mark.file, number, 1), message, RULE)
    raise error_at(mark, "the header of the bill is missing; restore it above the lines", RULE)

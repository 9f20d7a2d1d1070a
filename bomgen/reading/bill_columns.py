"""The columns of a bill: where its blocks begin, and which columns they have.

If no column is recognised for quantities or parts, or several are possible, the result is a question with the
candidates, and the answer that `bomgen xray --columns` takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice, pairwise
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors, error_at
from bomgen.core.messages import message
from bomgen.reading.cells import MAX_COLUMNS, Heading, RawTable, TableCell, Value, has_tax, read_heading
from bomgen.reading.columns import (
    DIGIT,
    JUDGED,
    NOTHING,
    PRICES,
    HeadedRows,
    RequestedColumns,
    find_column,
    is_number,
    read_headings,
)

MAX_HEADER = 40
LEAST_COLUMNS = 2
ROLES = (
    *("part", "description", "quantity", "spare", "price", "list_price", "net_price", "discount", "amount", "currency"),
    *("category", "fabric", "role", "cluster"),
)
SHARED = {
    **{
        role: role
        for role in ("part", "description", "quantity", "price", "discount", "amount", "currency", "vendor", "line")
    },
    **{"list_price": "price", "net_price": "price", "taxed_price": "price", "discount_or_paid": "discount"},
}
"""Bill roles of price list columns."""
ROLES_READ = frozenset((*SHARED, "maybe_part", *ROLES))
"""Roles of headings of bills."""
_TEXTS = frozenset(("part", "maybe_part", "description"))
"""Roles of columns that name the part of a line."""
_STEPS = (1, 10)
"""Differences between running numbers."""
_LINE = re.compile(r"[0-9]+(?:[.-][0-9]+)*[.)]?")
SHOWN_LINES = 2
"""Lines of a bill that show how a column would be read."""
_UNIT = r"(?:pcs\.?|pieces|ea\.?|units?|台|个|根|条|套|块|只)"
_PASTED = (
    re.compile(rf"\W*(?P<pieces>[1-9][0-9,]*)\s*(?:[x×*](?!\s?\d+\s?[gt]\b)|{_UNIT})\s*(?P<name>\S.*)", re.IGNORECASE),
    re.compile(
        rf"\W*(?P<name>\S.*?)\s*(?:[x×*:]|qty\.?:?|数量[:：]?)\s*(?P<pieces>[1-9][0-9,]*)\s*{_UNIT}?\W*", re.IGNORECASE
    ),
    re.compile(
        rf"\s*(?:\d+[.)]?\s{{2,}})?(?P<name>\S.*?)\s{{2,}}(?P<pieces>[1-9][0-9,]*)\s*{_UNIT}?\s*", re.IGNORECASE
    ),
)
"""Lines of a text: pieces before the name of a part, or behind it, or as the last of columns. `2x400G` is a rate."""
_WHOLE = re.compile(r"[1-9][0-9]*|[1-9][0-9]{0,2}(,[0-9]{3})+")

Columns = dict[str, list[int]]
"""Column indices, from 0, by role."""


class BillTable(NamedTuple):
    """Rows of a sheet below a header."""

    table: RawTable
    start: int
    end: int
    """First row below the header, and end of the block (exclusive), from 0."""
    columns: Columns
    headings: Mapping[str, str]
    """Heading of the first column of each role."""
    continues: bool = False
    """Whether the previous block has the same header, as on the next page."""


def find_blocks(table: RawTable, file: str, asked: RequestedColumns = NOTHING) -> Iterator[BillTable]:
    """Yield the blocks of a sheet below their headers. Raises PlanErrors with a question if columns are ambiguous."""
    headers = _find_headers(table, asked)
    if not headers and "quantity" in asked.columns and _TEXTS & asked.columns.keys():
        column = find_column(asked.columns["quantity"], (), MAX_COLUMNS)
        cells = ((at, row[column]) for at, row in enumerate(table.rows) if column is not None and column < len(row))
        headers = [at - 1 for at, cell in cells if is_number(cell.value)][:1]
    before: dict[str, list[int]] | None = None
    for at, end in zip(headers, [*headers[1:], len(table.rows)], strict=False):
        headed = _bill_columns(table, at, end, file, asked)
        block = _block_of(headed, table, at, end)
        yield block._replace(continues=headed.by_role == before)
        before = headed.by_role


def find_counted_rows(table: RawTable, file: str, asked: RequestedColumns = NOTHING) -> Iterator[BillTable]:
    """Yield the rows of a table without a heading for quantities, whose only column of pieces they are.

    Raises PlanErrors with a question, and what either answer would mean, if several columns may be the quantities.
    """
    first = next((at for at, row in enumerate(table.rows) if _has_number(row) and _count_filled(row) > 1), None)
    if first is None:
        return
    at = next((above for above in range(first - 1, -1, -1) if _count_filled(table.rows[above]) > 1), -1)
    headed = _bill_columns(table, at, len(table.rows), file, asked)
    roles = headed.by_role
    taken = {column for name, indices in roles.items() if name not in _TEXTS for column in indices}
    free = [column for column in range(max(map(len, headed.rows))) if column not in taken]
    counted = [column for column in free if headed.are_most(column, _pieces_of)]
    counted = [column for column in counted if not _is_running(headed, column)] or counted
    if not _TEXTS & roles.keys():
        roles["description"] = [at for at in free if at not in counted and not headed.is_numeric(at)]
    if not any(roles.get(name) for name in _TEXTS):
        return
    if "quantity" not in roles:
        if len(counted) > 1:
            readings = {column: _read_as_pieces(headed, column) for column in counted}
            raise headed.question("quantity", counted, readings=readings)
        roles["quantity"] = counted
    if roles["quantity"]:
        yield _block_of(headed, table, at, len(table.rows))


def read_pasted(table: RawTable) -> RawTable:
    """Return the lines of a text that name pieces, as in a mail, as rows of pieces and text: `32x SN5600`."""
    rows = list[tuple[TableCell, ...]]()
    for row in table.rows:
        cells = [cell for cell in row if cell.filled]
        text = " ".join(str(cell.value) for cell in cells)
        match = next((match for pattern in _PASTED if (match := pattern.fullmatch(text))), None)
        if match:
            pieces, name = (match["pieces"].replace(",", ""), match["name"])
            rows.append((TableCell(pieces, cells[0].mark), TableCell(name, cells[0].mark)))
    return table._replace(rows=tuple(rows))


def ask(tables: Iterable[RawTable], file: str, asked: RequestedColumns) -> PlanErrors:
    """Return a question for files without a recognised bill: which column has the quantities or the parts."""
    best: HeadedRows | None = None
    for table in tables:
        for at, row in enumerate(table.rows[:MAX_HEADER]):
            if _has_number(row) or _count_filled(row) < LEAST_COLUMNS:
                continue
            headed = _bill_columns(table, at, len(table.rows), file, NOTHING)
            named = {*_TEXTS, "quantity"} & headed.by_role.keys()
            if named and (best is None or len(headed.by_role) > len(best.by_role)):
                best = headed
    if best is None:
        wrong = (
            "no bill is found in it; a row must name its columns: a quantity, and a part number or a description; "
            f"or specify them: bomgen xray {file} --columns part=A,quantity=C"
        )
        return error_at(file, wrong, "no-bill")
    best.asked = asked
    try:
        best.requested()
    except PlanErrors as errors:
        return errors
    role = "part" if "quantity" in best.by_role else "quantity"
    taken = {at for name in ("part", "description", "price") for at in best.by_role.get(name, ())}
    columns = [at for at in range(len(best.header)) if at not in taken and best.is_numeric(at) == (role == "quantity")]
    if role == "quantity":
        columns = [at for at in columns if not _is_running(best, at)]
    return best.question(role, columns, message("ask-no-quantities" if role == "quantity" else "ask-no-parts"))


def _bill_columns(table: RawTable, at: int, end: int, file: str, asked: RequestedColumns) -> HeadedRows:
    """Return the rows below a header, which is that of a bill, with the requested columns in place of others."""
    rows = table.rows[at + 1 : min(end, at + 1 + JUDGED)]
    header = table.rows[at] if at >= 0 else ()
    headed = HeadedRows(file, _headings_of(table, at), rows, asked, header, "xray", table.name)
    requested = headed.requested()
    replaced = {role for name in requested for role in (PRICES if name in PRICES else (name,))}
    left = {
        role: [at for at in indices if at not in requested.values()]
        for role, indices in headed.by_role.items()
        if role not in replaced
    }
    headed.by_role = {role: indices for role, indices in left.items() if indices}
    headed.by_role |= {role: [at] for role, at in requested.items()}
    return headed


def _headings_of(table: RawTable, at: int) -> list[Heading]:
    """Return the headings of a row of a bill, each with at most one role."""
    headings = read_headings(table, at, bill=True) if at >= 0 else []
    roles = ([role for role in heading.roles if role in ROLES_READ] for heading in headings)
    return [heading._replace(roles=tuple(of_bill[:1])) for heading, of_bill in zip(headings, roles, strict=True)]


def _find_headers(table: RawTable, asked: RequestedColumns) -> list[int]:
    """Return the header rows; the first is the one near the top with the most columns."""
    headers, sizes = list[int](), dict[int, int]()
    for at, row in enumerate(table.rows):
        if asked.header is not None and not headers:
            if any(cell.filled and cell.mark.line == asked.header for cell in row):
                headers.append(at)
        elif not _has_number(row):
            headings = _headings_of(table, at)
            roles = {role for heading in headings for role in heading.roles}
            texts = [heading.text for heading in headings]
            columns = {role for role, name in asked.columns.items() if find_column(name, texts, len(row)) is not None}
            if roles and "quantity" in roles | columns and _TEXTS & (roles | columns):
                headers.append(at)
                sizes[at] = len(roles)
    top = [at for at in headers if at < MAX_HEADER and asked.header is None]
    best = max(top, key=lambda at: (sizes[at], -at), default=0)
    return [at for at in headers if at >= best]


def _has_number(row: Sequence[TableCell]) -> bool:
    """Return whether a row has a number, unlike a header, except in headings such as "Qty 1"."""
    values = (cell.value for cell in row if is_number(cell.value))
    return any(not isinstance(value, str) or not ROLES_READ & {*read_heading(value, True).roles} for value in values)


def _block_of(headed: HeadedRows, table: RawTable, at: int, end: int) -> BillTable:
    """Return a block with its columns by role. Raises PlanErrors with a question for quantities and prices."""
    roles, texts = headed.by_role, [heading.text for heading in headed.headings]
    # Prices including tax do not enter amounts without tax.
    if not roles.keys().isdisjoint(PRICES) or any(has_tax(texts[index]) is False for index in roles.get("amount", ())):
        roles.pop("taxed_price", None)
    for role in ("quantity", *PRICES, "taxed_price"):
        candidates = _distinct(headed, roles.get(role, ()))
        if len(candidates) > 1:
            raise headed.question(role, candidates)
        if candidates:
            roles[role] = candidates
    # "Item" is a description, or a line number.
    described = [at for at in roles.get("description", ()) if not headed.are_most(at, _is_line)]
    if described or {"part", "maybe_part"} & roles.keys():
        roles["description"] = described
    maybe = roles.pop("maybe_part", None)
    if maybe and "part" not in roles:
        roles["part"] = maybe
    named = any(headed.are_most(at, lambda value: DIGIT.search(str(value))) for at in described)
    unnumbered = (headed.are_most(at, lambda value: not DIGIT.search(str(value))) for at in roles.get("part", ()))
    if named and all(unnumbered):  # `Switch` beside the description of one, which is no number
        roles.setdefault("category", []).extend(roles.pop("part", ()))
    columns: Columns = {}
    for column, role in sorted((index, role) for role, indices in roles.items() for index in indices):
        columns.setdefault(SHARED.get(role, role), []).append(column)
        if role == "net_price":
            columns.setdefault("net", []).append(column)
    shown = {"net_price" if name == "net" else name: indices[0] for name, indices in columns.items()}
    if shown.get("net_price") == shown.get("price"):
        shown.pop("net_price", None)
    headings = {name: texts[index] if index < len(texts) else "" for name, index in shown.items()}
    return BillTable(table, at + 1, end, columns, headings)


def _distinct(headed: HeadedRows, columns: Sequence[int]) -> list[int]:
    """Return the columns with numbers, and of those with equal values the first."""
    if len(columns) < LEAST_COLUMNS:
        return [*columns]
    values = {column: [row[column].value if column < len(row) else None for row in headed.rows] for column in columns}
    numeric = [column for column in columns if headed.is_numeric(column)] or [columns[0]]
    return [column for at, column in enumerate(numeric) if values[column] not in [values[one] for one in numeric[:at]]]


def _pieces_of(value: Value) -> int | None:
    """Return a whole number above 0, written without leading zeros; None for other values."""
    text = f"{value:f}" if isinstance(value, Decimal) else str(value)
    return int(text.replace(",", "")) if _WHOLE.fullmatch(text) else None


def _is_running(headed: HeadedRows, column: int) -> bool:
    """Return whether a column counts the rows, as 1, 2, 3 or 10, 20, 30 do."""
    pieces = [_pieces_of(value) or 0 for value in headed.values(column)]
    steps = {after - before for before, after in pairwise(pieces)}
    return len(steps) == 1 and steps < {*_STEPS}


def _read_as_pieces(headed: HeadedRows, column: int) -> str:
    """Return the first lines of a bill whose quantities are in a column: `32 x SN5600, 200 x MMA4Z00-NS`."""
    named = next((at for name in ("part", "maybe_part", "description") for at in headed.by_role.get(name, ())), 0)
    lines = (row for row in headed.rows if max(named, column) < len(row) and row[named].filled and row[column].filled)
    return ", ".join(f"{row[column].value} x {row[named].value}" for row in islice(lines, SHOWN_LINES))


def _count_filled(row: Sequence[TableCell]) -> int:
    return sum(cell.filled for cell in row)


def _is_line(value: Value) -> bool:
    """Return whether a value is a line number, such as 10 or 1.1."""
    return bool(_LINE.fullmatch(str(value)))

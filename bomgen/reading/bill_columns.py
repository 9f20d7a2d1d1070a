"""The columns of a bill, and of a point-to-point sheet: recognised by headings or values, or as requested.

If no column is recognised for quantities or parts, or several are possible, the result is a question with the
candidates, and the answer that `bomgen xray --columns` takes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors, error_at
from bomgen.core.messages import message
from bomgen.core.provenance import Mark
from bomgen.reading.cells import KEPT, MAX_COLUMNS, RawTable, TableCell, has_tax, read_amount, read_heading
from bomgen.reading.list_columns import (
    JUDGED,
    NO_COLUMN,
    NOTHING,
    PRICES,
    RequestedColumns,
    column_question,
    find_column,
    lacks_column,
    name_role,
)
from bomgen.reading.part_numbers import words_of

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
_TEXTS = frozenset(("part", "maybe_part", "description"))
"""Roles of columns that name the part of a line."""
_STEPS = (1, 10)
"""Differences between running numbers."""
_LINE = re.compile(r"[0-9]+(?:[.-][0-9]+)*[.)]?")
NO_READINGS: Mapping[int, str] = {}
SHOWN_LINES = 2
"""Lines of a bill that show how a column would be read."""
_UNIT = r"(?:pcs\.?|pieces|ea\.?|units?|台|个|根|条|套|块|只)"
_PASTED = (
    re.compile(rf"\W*(?P<pieces>[1-9][0-9,]*)\s*(?:[x×*](?!\s?\d+\s?[gt]\b)|{_UNIT})\s*(?P<name>\S.*)", re.IGNORECASE),
    re.compile(
        rf"\W*(?P<name>\S.*?)\s*(?:[x×*:]|qty\.?:?|数量[:：]?)\s*(?P<pieces>[1-9][0-9,]*)\s*{_UNIT}?\W*", re.IGNORECASE
    ),
)
"""Lines of a text: pieces before the name of a part, or behind it. `2x400G` is a rate."""
_WHOLE = re.compile(r"[1-9][0-9]*|[1-9][0-9]{0,2}(,[0-9]{3})+")
_BRACKETED = re.compile(r"\s*[(\[（].*$")

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
    headers = _headers(table, asked)
    if not headers and (top := _first_line(table, asked)) is not None:
        headers = [(top - 1, {})]
    ends = [*(at for at, _ in headers[1:]), len(table.rows)] if headers else []
    before: dict[str, list[int]] | None = None
    for (at, roles), end in zip(headers, ends, strict=True):
        roles = _as_asked(roles, table, at, file, asked)
        rows = table.rows[at + 1 : min(end, at + 1 + JUDGED)]
        columns = _choose(roles, rows, table, at, file)
        texts = dict(enumerate(_headings_of(table, at)))
        headings = {
            "net_price" if name == "net" else name: texts.get(indices[0], "") for name, indices in columns.items()
        }
        if columns.get("net") and columns["net"][0] == columns["price"][0]:
            del headings["net_price"]
        yield BillTable(table, at + 1, end, columns, headings, continues=roles == before)
        before = roles


def find_counted_rows(table: RawTable, file: str, asked: RequestedColumns = NOTHING) -> Iterator[BillTable]:
    """Yield the rows of a table without a heading for quantities, whose only column of pieces they are.

    Raises PlanErrors with a question, and what either answer would mean, if several columns may be the quantities.
    """
    first = next((at for at, row in enumerate(table.rows) if _has_number(row) and _count_filled(row) > 1), None)
    if first is None:
        return
    at = next((above for above in range(first - 1, -1, -1) if _count_filled(table.rows[above]) > 1), -1)
    roles = _as_asked(_roles(table.rows[at]) if at >= 0 else {}, table, at, file, asked)
    rows = table.rows[at + 1 : at + 1 + JUDGED]
    taken = {column for name, indices in roles.items() if name not in _TEXTS for column in indices}
    free = [column for column in range(max(map(len, rows))) if column not in taken]
    counted = [column for column in free if _are_most(_filled(rows, column), _pieces_of)]
    counted = [column for column in counted if not _is_running(rows, column)] or counted
    texts = [column for column in free if column not in counted and not _are_most(_filled(rows, column), _is_number)]
    if not _TEXTS & roles.keys():
        roles["description"] = texts
    if not _TEXTS & {name for name, columns in roles.items() if columns}:
        return
    if "quantity" not in roles:
        if len(counted) > 1:
            what = message("ask-which", count=len(counted), role=name_role("quantity"))
            readings = {column: _read_as_pieces(rows, roles, column) for column in counted}
            raise _question("quantity", counted, table, at, file, what, readings)
        roles["quantity"] = counted
    if roles["quantity"]:
        columns = _choose(roles, rows, table, at, file)
        headings = dict(enumerate(_headings_of(table, at)))
        used = {name: headings.get(indices[0], "") for name, indices in columns.items()}
        yield BillTable(table, at + 1, len(table.rows), columns, used)


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
    best: tuple[int, RawTable, int, dict[str, list[int]]] | None = None
    for table in tables:
        for at, row in enumerate(table.rows[:MAX_HEADER]):
            roles = {} if _has_number(row) else _roles(row)
            named = {*_TEXTS, "quantity"} & roles.keys()
            enough = named and sum(cell.filled for cell in row) >= LEAST_COLUMNS
            if enough and (best is None or len(roles) > best[0]):
                best = len(roles), table, at, roles
    if best is None:
        wrong = (
            "no bill is found in it; a row must name its columns: a quantity, and a part number or a description; "
            f"or specify them: bomgen xray {file} --columns part=A,quantity=C"
        )
        return error_at(file, wrong, "no-bill")
    _, table, at, roles = best
    headings = _headings_of(table, at)
    for role, name in asked.columns.items():
        if name != NO_COLUMN and find_column(name, headings, len(headings)) is None:
            return _lacks(name, role, table, at, file)
    role = "part" if "quantity" in roles else "quantity"
    width, rows = len(table.rows[at]), table.rows[at + 1 : at + 1 + JUDGED]
    taken = {index for name, indices in roles.items() if name in ("part", "description", "price") for index in indices}
    columns = [
        index
        for index in range(width)
        if index not in taken and _are_most(_filled(rows, index), _is_number) == (role == "quantity")
    ]
    if role == "quantity":
        columns = [index for index in columns if not _is_running(rows, index)]
    what = message("ask-no-quantities" if role == "quantity" else "ask-no-parts")
    return _question(role, columns, table, at, file, what)


def _headers(table: RawTable, asked: RequestedColumns) -> list[tuple[int, dict[str, list[int]]]]:
    """Return the header rows with their columns; the first is the one near the top with the most."""
    headers = list[tuple[int, dict[str, list[int]]]]()
    for at, row in enumerate(table.rows):
        if asked.header is not None and not headers:
            if any(cell.filled and cell.mark.line == asked.header for cell in row):
                headers.append((at, _roles(row)))
        elif not _has_number(row):
            roles = _roles(row)
            texts = [str(cell.value or "") for cell in row]
            columns = {role: find_column(name, texts, len(row)) for role, name in asked.columns.items()}
            named = {*roles, *(role for role, column in columns.items() if column is not None)}
            if roles and _has_both(named):
                headers.append((at, roles))
    top = [header for header in headers if header[0] < MAX_HEADER and asked.header is None]
    best = max(top, key=lambda header: (len(header[1]), -header[0]), default=None)
    return [header for header in headers if best is None or header[0] >= best[0]]


def _has_both(roles: Collection[str]) -> bool:
    return "quantity" in roles and bool(_TEXTS & {*roles})


def _first_line(table: RawTable, asked: RequestedColumns) -> int | None:
    if not _has_both(asked.columns):
        return None
    column = find_column(asked.columns["quantity"], (), MAX_COLUMNS)
    rows = enumerate(table.rows)
    return next((at for at, row in rows if column is not None and column < len(row) and _is_number(row[column])), None)


def _has_number(row: Sequence[TableCell]) -> bool:
    """Return whether a row has a number, unlike a header, except in headings such as "Qty 1"."""
    return any(_is_number(cell) and not (isinstance(cell.value, str) and _role(cell.value)) for cell in row)


def _is_number(cell: TableCell) -> bool:
    return cell.filled and (not isinstance(cell.value, str) or read_amount(cell.value) is not None)


def _roles(row: Sequence[TableCell]) -> dict[str, list[int]]:
    columns: dict[str, list[int]] = {}
    for at, cell in enumerate(row):
        if isinstance(cell.value, str) and (role := _role(cell.value)):
            columns.setdefault(role, []).append(at)
    return columns


@lru_cache(maxsize=KEPT)
def _role(text: str) -> str | None:
    text = " ".join(text.split())
    bare = _BRACKETED.sub("", text.lower()).rstrip(": ")
    named = (role for role, words in words_of("columns").items() if any(word.fullmatch(bare) for word in words))
    bill_role = next(named, None)
    roles = read_heading(text).roles if bare and not bill_role else ()
    if roles[:1] == ("maybe_part",):
        return "maybe_part"
    return bill_role or next((role for role in roles if role in SHARED), None)


def _as_asked(
    roles: Mapping[str, list[int]], table: RawTable, at: int, file: str, asked: RequestedColumns
) -> dict[str, list[int]]:
    if not asked.columns:
        return {role: [*indices] for role, indices in roles.items()}
    replaced = {role for asked_for in asked.columns for role in (PRICES if asked_for in PRICES else (asked_for,))}
    columns = {role: [*indices] for role, indices in roles.items() if role not in replaced}
    headings = _headings_of(table, at)
    width = max((len(row) for row in table.rows), default=0)
    for role, name in asked.columns.items():
        if name == NO_COLUMN:
            continue
        column = find_column(name, headings, width)
        if column is None:
            raise _lacks(name, role, table, at, file)
        columns = {kept: [index for index in indices if index != column] for kept, indices in columns.items()}
        columns[role] = [column]
    return {role: indices for role, indices in columns.items() if indices}


def _choose(
    roles: dict[str, list[int]], rows: Sequence[Sequence[TableCell]], table: RawTable, at: int, file: str
) -> Columns:
    texts = _headings_of(table, at)
    # Prices including tax do not enter amounts without tax.
    if not roles.keys().isdisjoint(PRICES) or any(has_tax(texts[index]) is False for index in roles.get("amount", ())):
        roles.pop("taxed_price", None)
    for role in ("quantity", *PRICES, "taxed_price"):
        candidates = _distinct(roles.get(role, ()), rows)
        if len(candidates) > 1:
            what = message("ask-which", count=len(candidates), role=name_role(role))
            raise _question(role, candidates, table, at, file, what)
        if candidates:
            roles[role] = candidates
    # "Item" is a description, or a line number.
    described = [index for index in roles.get("description", ()) if not _are_most(_filled(rows, index), _is_line)]
    if described or {"part", "maybe_part"} & roles.keys():
        roles["description"] = described
    maybe = roles.pop("maybe_part", None)
    if maybe and "part" not in roles:
        roles["part"] = maybe
    columns: Columns = {}
    for column, role in sorted((index, role) for role, indices in roles.items() for index in indices):
        columns.setdefault(SHARED.get(role, role), []).append(column)
        if role == "net_price":
            columns.setdefault("net", []).append(column)
    return columns


def _distinct(columns: Sequence[int], rows: Sequence[Sequence[TableCell]]) -> list[int]:
    """Return the columns with numbers, and of those with equal values the first."""
    if len(columns) < LEAST_COLUMNS:
        return [*columns]
    values = {column: [row[column].value if column < len(row) else None for row in rows] for column in columns}
    numeric = [column for column in columns if _are_most(_filled(rows, column), _is_number)] or [columns[0]]
    return [column for at, column in enumerate(numeric) if values[column] not in [values[one] for one in numeric[:at]]]


def _filled(rows: Iterable[Sequence[TableCell]], column: int) -> list[TableCell]:
    return [row[column] for row in rows if column < len(row) and row[column].filled]


def _are_most(cells: Sequence[TableCell], test: Callable[[TableCell], object]) -> bool:
    return 2 * sum(bool(test(cell)) for cell in cells) > len(cells)


def _pieces_of(cell: TableCell) -> int | None:
    """Return a whole number above 0, written without leading zeros; None for other values."""
    text = f"{cell.value:f}" if isinstance(cell.value, Decimal) else str(cell.value)
    return int(text.replace(",", "")) if _WHOLE.fullmatch(text) else None


def _is_running(rows: Sequence[Sequence[TableCell]], column: int) -> bool:
    """Return whether a column counts the rows, as 1, 2, 3 or 10, 20, 30 do."""
    pieces = [_pieces_of(cell) or 0 for cell in _filled(rows, column)]
    steps = {after - before for before, after in pairwise(pieces)}
    return len(steps) == 1 and steps < {*_STEPS}


def _read_as_pieces(rows: Sequence[Sequence[TableCell]], roles: Mapping[str, Sequence[int]], column: int) -> str:
    """Return the first lines of a bill whose quantities are in a column: `32 x SN5600, 200 x MMA4Z00-NS`."""
    named = next((index for name in ("part", "maybe_part", "description") for index in roles.get(name, ())), 0)
    lines = (row for row in rows if max(named, column) < len(row) and row[named].filled and row[column].filled)
    return ", ".join(f"{row[column].value} x {row[named].value}" for row in islice(lines, SHOWN_LINES))


def _count_filled(row: Sequence[TableCell]) -> int:
    return sum(cell.filled for cell in row)


def _is_line(cell: TableCell) -> bool:
    """Return whether a value is a line number, such as 10 or 1.1."""
    return bool(_LINE.fullmatch(str(cell.value)))


def _headings_of(table: RawTable, at: int) -> list[str]:
    cells = table.rows[at] if at >= 0 else ()
    return [" ".join(str(cell.value).split()) if cell.filled else "" for cell in cells]


def _mark(table: RawTable, at: int, column: int, file: str) -> Mark:
    row = table.rows[at] if at >= 0 else ()
    return row[column].mark if column < len(row) else Mark(file, 1, 1)


def _lacks(name: str, role: str, table: RawTable, at: int, file: str) -> PlanErrors:
    wrong = lacks_column(name, role, _headings_of(table, at))
    return error_at(_mark(table, at, 0, file), wrong, "columns")


def _question(
    role: str,
    columns: Sequence[int],
    table: RawTable,
    at: int,
    file: str,
    what: str,
    readings: Mapping[int, str] = NO_READINGS,
) -> PlanErrors:
    headings = _headings_of(table, at) or [""] * (max(columns, default=0) + 1)
    columns = [column for column in columns if column < len(headings)]
    for column, reading in readings.items():
        headings[column] = f"{headings[column]}: {reading}".removeprefix(": ")
    if table.name:
        what = message("ask-in-sheet", what=what, key=table.name)
    mark = _mark(table, at, min(columns, default=0), file)
    return column_question(mark, role, what, headings, columns, f"bomgen xray {file}")


# point-to-point sheets ------------------------------------------------------------------------------------------------
# A row a cable, with device and port at either end, as installers and `bomgen wiring` write. A sheet is read twice: as
# the list of its cables, and as the table of a bill, with the switches, modules and cables that its rows count.

SIDES = ("a", "b")
ENDS = ("device", "port", "module", "cage")
"""What a column holds of one end."""
TIERS = ("server", "leaf", "spine", "core")
"""Tiers of devices from below; a device whose name has none of the others is a server."""
HEADINGS = ("Part", "Description", "Quantity", "Fabric", "Role")
_NOTHING = re.compile(r"(n/?a|none|tbd|-+|–)?", re.IGNORECASE)
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

    @property
    def links(self) -> str:
        """Return the kind of its links by the tiers of its ends."""
        return "-".join(sorted((self.a.tier, self.b.tier), key=TIERS.index))


def read_cables(table: RawTable) -> list[SheetCable]:
    """Return the cables of a sheet with a device and a port at both ends of each row; empty for other tables."""
    for at, row in enumerate(table.rows[:MAX_HEADER]):
        columns = _columns_of([str(cell.value or "") for cell in row])
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
    return SheetCable(mark, text("", "fabric"), a, b, text("", "cable"))


def _columns_of(headings: Sequence[str]) -> dict[tuple[str, str], int]:
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

"""Point-to-point sheets: a row a cable, with device and port at either end, as installers and `bomgen wiring` write.

A sheet is read twice: as the list of its cables, and as the table of a bill, with the switches, modules and cables
that its rows count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bomgen.catalog.link_words import TWIN
from bomgen.core.provenance import Mark
from bomgen.reading.cells import RawTable, TableCell
from bomgen.reading.part_numbers import PartIndex, words_of

MAX_HEADER = 40
SIDES = ("a", "b")
ENDS = ("device", "port", "module", "cage")
"""What a column holds of one end."""
TIERS = ("server", "leaf", "spine", "core")
"""Tiers of devices from below; a device whose name has none of the others is a server."""
HEADINGS = ("Part", "Description", "Quantity", "Fabric", "Role")
_NOTHING = re.compile(r"(n/?a|none|tbd|-+|–)?", re.IGNORECASE)
_LENGTH = re.compile(r"(\d{1,5}(?:\.\d{1,3})?) ?(?:m|米)?")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
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
    above: Sequence[TableCell] = ()
    for at, row in enumerate(table.rows[:MAX_HEADER]):
        columns = _end_columns(row, above)
        above = row
        if all((side, name) in columns for side in SIDES for name in ENDS[:2]):
            below = (row for row in table.rows[at + 1 :] if any(cell.filled for cell in row))
            return [_cable(row, columns, table.name) for row in below]
    return []


def count_cables(cables: Sequence[SheetCable], sheet: str, index: PartIndex) -> RawTable:
    """Return the table of a bill: devices by tier, modules by end, cables by kind of link, each at its first row.

    A twin-port module has the ports `1/1` and `1/2` of a switch.
    """
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
            named = index.find(end.module)
            is_twin = bool(named and index.catalog.find_original(named.kind, named.id).value("ports") == TWIN)
            port = end.port.rpartition("/")[0] if is_twin else ""
            cage = (end.device, end.cage or port or end.port, end.module)
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


def _end_columns(row: Sequence[TableCell], above: Sequence[TableCell]) -> dict[tuple[str, str], int]:
    """Return the columns by end and meaning; the row above may name the ends, once over all their columns.

    Of two headings alike the first is of one end, the second of the other. A column without a meaning has that of the
    other end's column at the same place, as of `rack, name, port` beside `rack, nae, port`.
    """
    columns: dict[tuple[str, str], int] = {}
    tops = {at: next(_named(_heading(cell), "sheet_sides"), "") for at, cell in enumerate(above) if cell.filled}
    is_divided, over = any(tops.values()), ""
    for at, cell in enumerate(row):
        over = tops.get(at, over)
        words = _heading(cell)
        for name in _named(words, "sheet_columns"):
            if name not in ENDS:
                columns.setdefault(("", name), at)
                continue
            side = next(_named(words, "sheet_sides"), over)
            if side or not is_divided:
                columns.setdefault((side or ("b" if ("a", name) in columns else "a"), name), at)
            break
    for name in ENDS:
        apart = {columns["b", of] - at for (side, of), at in columns.items() if side == "a" and ("b", of) in columns}
        if len(apart) == 1 and ("a", name) in columns and ("b", name) not in columns:
            columns["b", name] = columns["a", name] + apart.pop()
    return columns


def _heading(cell: TableCell) -> str:
    """Return a heading in lower case, with a space between the words of `SourceHostname`."""
    return _CAPITAL.sub(" ", str(cell.value or "")).lower().replace("_", " ")


def _named(heading: str, group: str) -> Iterator[str]:
    return (name for name, words in words_of(group).items() if any(word.search(heading) for word in words))

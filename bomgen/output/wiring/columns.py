"""The wiring as tables with a row per cable, batch by batch, and its formats that are tables: CSV, labels, Parquet.

Columns are NumPy arrays: of numbers, or of the texts that numbers refer to. Texts are looked up for a whole batch at a
time, which is many times as fast as an object per row.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from io import StringIO
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bomgen.cabling.types import NOWHERE, CableChanges, Column, Wiring
from bomgen.catalog.parts import Module
from bomgen.core.safety import escape_formula
from bomgen.fabric.types import link_kinds
from bomgen.optics.compatibility import TRANSCEIVER, Medium
from bomgen.output.registry import Progress, Unsuitable
from bomgen.pricing.bill_line import cable_id, cable_sku

BATCH = 131_072
"""Links per batch."""
PLACED = ("site", "row", "rack", "unit")
"""Columns of a device's location."""
SEVERAL = ";"
"""Separator between the ends of a cable with several links."""

NAMES = (
    *("fabric", "kind", "a_device", "a_port", "a_module", "b_device", "b_port", "b_module", "medium", "sku"),
    *("length_m", "label", "a_site", "a_row", "a_rack", "a_unit", "b_site", "b_row", "b_rack", "b_unit"),
    *("rate_gbps", "a_cage", "b_cage"),
)
OF_ENDS = tuple(name for name in NAMES if name[:2] in ("a_", "b_") and not name.endswith("_site"))
"""Columns with a value per link of a cable with several links."""
PORTS = ("a_port", "b_port")
"""Columns that always list all links."""
NUMBERED = tuple(name for name in OF_ENDS if name.endswith(("_row", "_rack", "_unit", "_cage")))
"""Columns of ends that are integers unless values are joined."""
ACTION = "action"
"""Column of a work order: the action on a cable."""
REMOVE, UNPLUG, MOVE, ADD, KEEP = "remove", "unplug", "move", "add", "keep"
ON_FLAG = ("_rack", "_unit", "_device", "_port")
"""Columns of an end that its label states."""
TODAY_PREFIX = "today_"
TODAY = tuple(f"{TODAY_PREFIX}{end}_{what}" for end in ("a", "b") for what in ("device", "port"))
"""Columns of a work order: the existing ends of a cable."""

Table = Mapping[str, NDArray[Any]]
"""A batch of the wiring: the columns `NAMES`, of equal length. Columns with text or empty values (None) hold objects.
"""


class _Labels:
    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.devices = _objects(wiring.names)
        self.ports = _objects(wiring.ports)
        cable_types = wiring.cable_types
        self.fabric = _objects([cable_type.fabric for cable_type in cable_types])
        self.kind = _objects([cable_type.kind for cable_type in cable_types])
        self.medium = _objects([_name_medium(cable_type.medium) for cable_type in cable_types])
        self.rate = np.array([cable_type.rate_gbps for cable_type in cable_types], dtype=np.int64)
        media = [cable_type.medium for cable_type in cable_types]
        self.modules = {
            "a": _objects([_module(medium.lower if medium else None) for medium in media]),
            "b": _objects([_module(medium.upper if medium else None) for medium in media]),
        }
        self.first, self.stems, self.digits = self._labels()

    def _labels(self) -> tuple[Column, list[str], Column]:
        """Return the first piece, the label prefix and the number of digits of every kind of link of a fabric.

        All numbers of a fabric have the same number of digits, independent of other fabrics.
        """
        wiring = self.wiring
        codes = {kind.fabric: kind.code for kind in wiring.kinds if kind.fabric}
        firsts, stems, fabrics = list[int](), list[str](), list[str]()
        for place in np.flatnonzero(np.diff(wiring.cable_type, prepend=-1)):
            cable_type = wiring.cable_types[wiring.cable_type[place]]
            stem = f"{codes.get(cable_type.fabric, cable_type.fabric)}-{link_kinds()[cable_type.kind].code}-"
            if not stems or stems[-1] != stem:
                firsts.append(int(wiring.piece[place]))
                stems.append(stem)
                fabrics.append(cable_type.fabric)
        most: dict[str, int] = {}
        for fabric, first, end in zip(fabrics, firsts, [*firsts[1:], wiring.pieces], strict=False):
            most[fabric] = max(most.get(fabric, 0), end - first)
        digits = [len(str(most[fabric])) for fabric in fabrics]
        return np.array(firsts, dtype=np.int64), stems, np.array(digits, dtype=np.int64)

    def labels(self, piece: Column) -> NDArray[Any]:
        if self.wiring.labels is not None:
            return _objects([self.wiring.labels[number] for number in piece.tolist()])
        group = np.searchsorted(self.first, piece, side="right") - 1
        numbers = (piece - self.first[group] + 1).tolist()
        stems, digits = self.stems, self.digits.tolist()
        return _objects(
            [f"{stems[of]}{number:0{digits[of]}}" for of, number in zip(group.tolist(), numbers, strict=True)]
        )

    def table(self, rows: slice | Column) -> dict[str, NDArray[Any]]:
        """Return links, a row per link."""
        wiring = self.wiring
        cable_type, lengths = wiring.cable_type[rows], wiring.length_m[rows]
        columns: dict[str, NDArray[Any]] = {
            "fabric": self.fabric[cable_type],
            "kind": self.kind[cable_type],
            "medium": self.medium[cable_type],
            "rate_gbps": self.rate[cable_type],
            "label": self.labels(wiring.piece[rows]),
            "length_m": lengths,
            "sku": self._skus(cable_type, lengths),
        }
        for end, device, port, cage in (
            ("a", wiring.a_device, wiring.a_port, wiring.a_cage),
            ("b", wiring.b_device, wiring.b_port, wiring.b_cage),
        ):
            numbers = device[rows]
            columns[f"{end}_device"] = self.devices[numbers]
            columns[f"{end}_port"] = self.ports[port[rows]]
            columns[f"{end}_module"] = self.modules[end][cable_type]
            columns[f"{end}_cage"] = cage[rows] + 1
            columns |= self._place(end, numbers)
        return {name: columns[name] for name in NAMES}

    def _skus(self, cable_type: NDArray[np.int16], lengths: NDArray[np.float64]) -> NDArray[Any]:
        """Return the part numbers of cables at their lengths; the id of a part without one."""
        pairs, found = np.unique(np.stack((cable_type.astype(np.float64), lengths)), axis=1, return_inverse=True)
        words = []
        for number, length in pairs.T:
            medium = self.wiring.cable_types[int(number)].medium
            cable = medium.cable if medium else None
            metres = Fraction(str(length))
            words.append((cable_sku(cable, metres) or cable_id(cable, metres)) if cable else None)
        return _objects(words)[found.ravel()]

    def _place(self, end: str, device: Column) -> dict[str, NDArray[Any]]:
        """Return site, row, rack and unit of devices; None if unknown."""
        places = self.wiring.places
        if places is None:
            return dict.fromkeys((f"{end}_{what}" for what in PLACED), np.full(len(device), None))
        found = {f"{end}_site": np.full(len(device), self.wiring.site, dtype=object)}
        for name in PLACED[1:]:
            numbers = getattr(places, name)[device]
            known = numbers != NOWHERE
            if not known.all():
                numbers = numbers.astype(object)
                numbers[~known] = None
            found[f"{end}_{name}"] = numbers
        return found


def _objects(values: Sequence[str | None]) -> NDArray[Any]:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _name_medium(medium: Medium | None) -> str | None:
    if medium is None:
        return None
    return TRANSCEIVER if medium.lower or medium.upper else medium.cable.medium if medium.cable else None


def _module(module: Module | None) -> str | None:
    return module.identity.part_number or module.identity.id if module else None


def words_of(wiring: Wiring) -> Iterator[str]:
    """Yield every text that a table may contain."""
    if wiring.changes:
        yield from words_of(wiring.changes.old)
    words = _Labels(wiring)
    yield from (wiring.site, *wiring.names, *wiring.ports, *words.stems)
    for column in (words.fabric, words.kind, words.medium, *words.modules.values()):
        yield from (word for word in column if word)
    for cable_type in wiring.cable_types:
        if cable_type.medium and cable_type.medium.cable:
            identity = cable_type.medium.cable.identity
            yield from (
                word for word in (identity.id, identity.sku, *cable_type.medium.cable.ordering_numbers.values()) if word
            )


def has_joined_ends(wiring: Wiring) -> bool:
    """Return whether some cable has several links, so that all columns of its ends are text."""
    return len(wiring) > wiring.pieces or (wiring.changes is not None and has_joined_ends(wiring.changes.old))


def batches(wiring: Wiring) -> Iterator[tuple[slice, Table]]:
    """Yield tables with a row per link, and the range of links of each; no cable is split over two."""
    words = _Labels(wiring)
    start = 0
    while start < len(wiring):
        stop = min(start + BATCH, len(wiring))
        while stop < len(wiring) and wiring.piece[stop] == wiring.piece[stop - 1]:
            stop += 1
        yield slice(start, stop), words.table(slice(start, stop))
        start = stop


def list_links(wiring: Wiring, device: int) -> tuple[Column, Table]:
    """Return the numbers of the links of a device, and their table."""
    rows = np.flatnonzero((wiring.a_device == device) | (wiring.b_device == device))
    return rows, _Labels(wiring).table(rows)


def column_names(wiring: Wiring) -> tuple[str, ...]:
    """Return the columns of a wiring's tables, with the action and the existing ends for a work order."""
    return (ACTION, *NAMES, *TODAY) if wiring.changes else NAMES


def tables(wiring: Wiring) -> Iterator[Table]:
    """Yield tables with a row per cable; the ends of a cable with several links are joined."""
    if wiring.changes:
        yield from _list_work(wiring, wiring.changes)
        return
    yield from _tables(wiring, has_joined_ends(wiring))


def _tables(wiring: Wiring, joined: bool) -> Iterator[Table]:
    for rows, table in batches(wiring):
        yield _join_ends(table, wiring.piece[rows]) if joined else table


def _list_work(wiring: Wiring, changes: CableChanges) -> Iterator[Table]:
    """Yield the action on each cable: remove, move, add or keep."""
    before, after = changes.old, replace(wiring, changes=None)
    serves = changes.same_length
    removed = np.ones(before.pieces, dtype=bool)
    removed[changes.origin[serves]] = False
    today, joined = _name_ends(before), has_joined_ends(wiring)

    def work(action: str, cables: Column) -> Iterator[Table]:
        """Yield the rows of cables: existing ends for those removed, planned ends for others."""
        pulled = action in (REMOVE, UNPLUG)
        plugged = cables if pulled else changes.origin[cables]
        start = 0
        for table in _tables((before if pulled else after).take_cables(cables), joined):
            size = len(table["fabric"])
            rows = plugged[start : start + size]
            start += size
            ends = {name: _blank(size) if action == ADD else column[rows] for name, column in today.items()}
            yield {ACTION: _objects([action] * size), **table, **ends}

    yield from work(REMOVE, _by_fabric(before, np.flatnonzero(removed)))
    moved = _together(list(work(MOVE, changes.order[~changes.unplugged])))
    unplugged = _together(list(work(UNPLUG, changes.origin[changes.order[changes.unplugged]])))
    yield from _merge(moved, unplugged, changes.unplugged)
    yield from work(ADD, _by_fabric(after, np.flatnonzero(~serves)))
    yield from work(KEEP, _by_fabric(after, np.flatnonzero(serves & changes.stays)))


def _together(parts: Sequence[Table]) -> Table:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}


def _merge(moved: Table, unplugged: Table, turns: NDArray[np.bool_]) -> Iterator[Table]:
    """Yield tables with the rows of two tables merged; `turns` says whether the next row is from the second."""
    if not unplugged:
        yield from [moved] if moved else []
        return
    second = np.cumsum(turns) - 1
    rows = np.where(turns, second + len(moved[ACTION]), np.arange(len(turns)) - second - 1)
    yield {name: column[rows] for name, column in _together((moved, unplugged)).items()}


def _blank(size: int) -> NDArray[Any]:
    return np.full(size, None, dtype=object)


def _by_fabric(wiring: Wiring, cables: Column) -> Column:
    numbers = {
        name: at for at, name in enumerate(dict.fromkeys(cable_type.fabric for cable_type in wiring.cable_types))
    }
    fabric = np.array([numbers[cable_type.fabric] for cable_type in wiring.cable_types], dtype=np.int64)
    first = np.flatnonzero(np.diff(wiring.piece, prepend=-1))[cables]
    return cables[np.argsort(fabric[wiring.cable_type[first]], kind="stable")] if len(cables) else cables


def _name_ends(wiring: Wiring) -> dict[str, NDArray[Any]]:
    parts = [[table[name.removeprefix(TODAY_PREFIX)] for name in TODAY] for table in tables(wiring)]
    return {name: np.concatenate([_blank(0), *(part[number] for part in parts)]) for number, name in enumerate(TODAY)}


def list_labels(wiring: Wiring) -> list[str]:
    """Return the label of every cable."""
    labels: list[str] = _Labels(wiring).labels(np.arange(wiring.pieces, dtype=np.int64)).tolist()
    return labels


def label_cables(wiring: Wiring, changes: CableChanges) -> Wiring:
    """Return a grown wiring with labels: existing cables keep theirs, new ones are numbered after them."""
    old = changes.old
    words, before = _Labels(replace(wiring, changes=None)), list_labels(old)
    used, digits = dict[str, int](), dict[str, int]()
    for label in before:
        number = label[label.rindex("-") + 1 :]
        stem = label.removesuffix(number)
        used[stem], digits[stem] = max(used.get(stem, 0), int(number)), max(digits.get(stem, 0), len(number))
    labels = list[str]()
    group = np.searchsorted(words.first, np.arange(wiring.pieces, dtype=np.int64), side="right") - 1
    for place, origin, serves in zip(
        group.tolist(), changes.origin.tolist(), changes.same_length.tolist(), strict=True
    ):
        if serves:
            labels.append(before[origin])
            continue
        stem = words.stems[place]
        used[stem] = used.get(stem, 0) + 1
        labels.append(f"{stem}{used[stem]:0{digits.get(stem, int(words.digits[place]))}}")
    changes = changes._replace(old=replace(old, over_panels=None, labels=tuple(before)))
    return replace(wiring, changes=changes, labels=tuple(labels))


def _join_ends(table: Table, piece: Column) -> Table:
    """Return a row per cable, with the values of its ends joined in the order of the links.

    A value shared by all links appears once; ports are always listed. An unknown end is an empty value.
    """
    begins = np.flatnonzero(np.diff(piece, prepend=-1))
    first, ends = begins.tolist(), [*begins[1:].tolist(), len(piece)]
    columns = {}
    for name, column in table.items():
        if name not in OF_ENDS:
            columns[name] = column[begins]
            continue
        values = [None if value is None else str(value) for value in column.tolist()]
        columns[name] = _objects(
            [
                values[start]
                if stop - start == 1 and (name not in PORTS or values[start] is not None)
                else _joined(values[start:stop], once=name not in PORTS)
                for start, stop in zip(first, ends, strict=True)
            ]
        )
    return columns


def _joined(values: Sequence[str | None], once: bool) -> str | None:
    """Return the values of a cable's links as one; with `once` a value shared by all appears once."""
    if once and all(value == values[0] for value in values):
        return values[0]
    return SEVERAL.join(value or "" for value in values)


def describe_ends(table: Table, end: str) -> Iterator[str]:
    """Yield what the label of each cable states of one end: rack and unit where they are known, device and port."""
    columns = ([_state_once(value) for value in table[f"{end}{name}"].tolist()] for name in ON_FLAG)
    for rack, unit, device, port in zip(*columns, strict=True):
        place = "-".join(text for text in (rack, unit) if text)
        yield " ".join(text for text in (place, device, port) if text)


def _state_once(value: str | int | None) -> str:
    """Return a value as a label has it: once, where all links of a cable share it."""
    text = "" if value is None else str(value)
    values = text.split(SEVERAL)
    return values[0] if len(set(values)) == 1 else text


# formats ------------------------------------------------------------------------------------------------------------

_QUOTE = '"'
_QUOTED = {_QUOTE, ",", "\r", "\n"}
"""Characters that require quotes."""
LABEL_COLUMNS = ("label", "near", "far", "length_m", "sku")


def write_csv(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every cable; all texts are quoted if any needs quotes."""
    wiring = wiring.each_cable
    out.write((",".join(column_names(wiring)) + "\n").encode())
    quoted = any(_QUOTED & set(word) for word in words_of(wiring))
    for table in tables(wiring):
        fields = [_fields(column, quoted) for column in table.values()]
        out.write(("\n".join(map(",".join, zip(*fields, strict=True))) + "\n").encode())
        progress(len(fields[0]))


def _fields(column: NDArray[Any], quoted: bool) -> list[str]:
    """Return the values of a column for CSV: integers without a decimal point, empty for None."""
    if column.dtype != object:  # each distinct number is formatted once
        different, found = np.unique(column, return_inverse=True)
        texts = np.array([f"{number:.15g}" for number in different.tolist()], dtype=object)
        return list(texts[found])
    values: list[Any] = column.tolist()
    if not quoted and None not in values:
        return values
    texts_of = {
        value: f'"{value.replace(_QUOTE, _QUOTE * 2)}"' for value in {*values} if quoted and isinstance(value, str)
    }
    return ["" if value is None else texts_of.get(value, str(value)) for value in values]


def write_labels(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write two labels per cable."""
    out.write((",".join(LABEL_COLUMNS) + "\n").encode())
    for table in tables(wiring.each_cable):
        text = StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        cables = (table["label"], describe_ends(table, "a"), describe_ends(table, "b"), table["length_m"], table["sku"])
        for label, a, b, length_m, sku in zip(*cables, strict=True):
            for near, far in ((a, b), (b, a)):
                writer.writerow(map(escape_formula, (label, near, far, f"{length_m:g}", sku or "")))
        out.write(text.getvalue().encode())
        progress(len(table["label"]))


def write_parquet(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every cable, a row group per batch. Raises Unsuitable if pyarrow is not installed."""
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise Unsuitable("pyarrow is not installed; pip install pyarrow, or take csv") from None
    wiring = wiring.each_cable
    names = column_names(wiring)
    numbers = () if has_joined_ends(wiring) else NUMBERED
    types: dict[str, Any] = dict.fromkeys(names, pa.string()) | dict.fromkeys(("rate_gbps", *numbers), pa.int64())
    schema = pa.schema(types | {"length_m": pa.float64()})
    with ParquetWriter(out, schema, compression="zstd") as writer:
        for table in tables(wiring):
            writer.write_table(pa.table([pa.array(table[name], schema.field(name).type) for name in names], schema))
            progress(len(table["fabric"]))

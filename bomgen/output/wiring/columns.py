"""The wiring as a table with a row a cable, in the columns of the wiring file, batch by batch.

Arrow writes them: its CSV and Parquet writers work on columns, a hundred times as fast as rows of objects would be.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bomgen.cabling.types import NOWHERE, Column, Wiring
from bomgen.catalog.parts import Module
from bomgen.fabric.registry import link_kinds
from bomgen.optics.selection import TRANSCEIVER, Medium
from bomgen.pricing.bill import cable_id, cable_sku

BATCH = 131_072
"""Links turned into words at a time."""
PLACED = ("site", "row", "rack", "unit")
"""What is known of a device's place."""
SEVERAL = ";"
"""Between the ends of a cable that has several."""

NAMES = (
    *("fabric", "kind", "a_device", "a_port", "a_module", "b_device", "b_port", "b_module", "medium", "sku"),
    *("length_m", "label", "a_site", "a_row", "a_rack", "a_unit", "b_site", "b_row", "b_rack", "b_unit"),
    *("rate_gbps", "a_cage", "b_cage"),
)
OF_ENDS = tuple(name for name in NAMES if name[:2] in ("a_", "b_") and not name.endswith("_site"))
"""Columns of a cable of several links that have a value a link."""
PORTS = ("a_port", "b_port")
"""What stands link by link in any case."""
NUMBERED = tuple(name for name in OF_ENDS if name.endswith(("_row", "_rack", "_unit", "_cage")))
"""Those of them that are whole numbers as long as they are not joined."""


def schema(joined: bool) -> pa.Schema:
    """The columns with their types; joined: some cable has several links, so that numbers of ends are texts."""
    types = dict.fromkeys(NAMES, pa.string()) | {"length_m": pa.float64(), "rate_gbps": pa.int64()}
    return pa.schema(types | dict.fromkeys(() if joined else NUMBERED, pa.int64()))


LINKS = schema(joined=False)
"""Of tables with a row a link."""


def schema_of(wiring: Wiring) -> pa.Schema:
    """The columns of the tables of a wiring with a row a cable."""
    return schema(joined=len(wiring) > wiring.pieces)


class _Words:
    """The words that columns of numbers stand for."""

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.devices = pa.array(wiring.names, pa.string())
        self.ports = pa.array(wiring.ports, pa.string())
        ways = wiring.ways
        self.fabric = _texts([way.fabric for way in ways])
        self.kind = _texts([way.kind for way in ways])
        self.medium = _texts([_medium(way.medium) for way in ways])
        self.rate = pa.array([way.rate_gbps for way in ways], pa.int64())
        self.modules = {
            "a": _texts([_module(way.medium.lower if way.medium else None) for way in ways]),
            "b": _texts([_module(way.medium.upper if way.medium else None) for way in ways]),
        }
        self.first, self.stems, self.digits = self._labels()

    def _labels(self) -> tuple[Column, list[str], Column]:
        """The first piece of every kind of link of a fabric, what their labels begin with, and digits of a number.

        All numbers of a fabric have equally many digits, whichever other fabrics there are.
        """
        wiring = self.wiring
        codes = {kind.fabric: kind.code for kind in wiring.kinds if kind.fabric}
        firsts, stems, fabrics = list[int](), list[str](), list[str]()
        for place in np.flatnonzero(np.diff(wiring.way, prepend=-1)):
            way = wiring.ways[wiring.way[place]]
            stem = f"{codes[way.fabric]}-{link_kinds()[way.kind].code}-"
            if not stems or stems[-1] != stem:
                firsts.append(int(wiring.piece[place]))
                stems.append(stem)
                fabrics.append(way.fabric)
        most: dict[str, int] = {}
        for fabric, first, end in zip(fabrics, firsts, [*firsts[1:], wiring.pieces], strict=False):
            most[fabric] = max(most.get(fabric, 0), end - first)
        digits = [len(str(most[fabric])) for fabric in fabrics]
        return np.array(firsts, dtype=np.int64), stems, np.array(digits, dtype=np.int64)

    def labels(self, piece: Column) -> pa.Array:
        """Labels of pieces."""
        group = np.searchsorted(self.first, piece, side="right") - 1
        numbers = pc.cast(pa.array(piece - self.first[group] + 1), pa.string())
        padded = numbers
        for digits in np.unique(self.digits[group]).tolist():
            padded = pc.if_else(pa.array(self.digits[group] == digits), pc.utf8_lpad(numbers, digits, "0"), padded)
        return pc.binary_join_element_wise(pc.take(pa.array(self.stems, pa.string()), pa.array(group)), padded, "")

    def table(self, start: int, stop: int) -> pa.Table:
        """Links of a range, a row a link."""
        wiring, rows = self.wiring, slice(start, stop)
        way = pa.array(wiring.way[rows])
        columns: dict[str, pa.Array] = {
            "fabric": pc.take(self.fabric, way),
            "kind": pc.take(self.kind, way),
            "medium": pc.take(self.medium, way),
            "rate_gbps": pc.take(self.rate, way),
            "label": self.labels(wiring.piece[rows]),
        }
        lengths = wiring.length_m[rows]
        columns["length_m"] = pa.array(lengths)
        columns["sku"] = self._skus(wiring.way[rows], lengths)
        for end, device, port, cage in (
            ("a", wiring.a_device, wiring.a_port, wiring.a_cage),
            ("b", wiring.b_device, wiring.b_port, wiring.b_cage),
        ):
            numbers = device[rows]
            columns[f"{end}_device"] = pc.take(self.devices, pa.array(numbers))
            columns[f"{end}_port"] = pc.take(self.ports, pa.array(port[rows]))
            columns[f"{end}_module"] = pc.take(self.modules[end], way)
            columns[f"{end}_cage"] = pa.array(cage[rows] + 1)
            columns |= self._place(end, numbers)
        return pa.table([columns[name] for name in NAMES], schema=LINKS)

    def _skus(self, way: NDArray[np.int16], lengths: NDArray[np.float64]) -> pa.Array:
        """The part numbers of cables at their lengths; the id of a part without one."""
        pairs, found = np.unique(np.stack((way.astype(np.float64), lengths)), axis=1, return_inverse=True)
        words = []
        for number, length in pairs.T:
            medium = self.wiring.ways[int(number)].medium
            cable = medium.cable if medium else None
            metres = Fraction(str(length))
            words.append((cable_sku(cable, metres) or cable_id(cable, metres)) if cable else None)
        return pc.take(pa.array(words, pa.string()), pa.array(found.ravel()))

    def _place(self, end: str, device: Column) -> dict[str, pa.Array]:
        """Site, row, rack and unit of devices; empty where nobody knows."""
        places = self.wiring.places
        if places is None:
            return {
                name: pa.nulls(len(device), LINKS.field(name).type) for name in (f"{end}_{what}" for what in PLACED)
            }
        site = pa.array([self.wiring.site]).take(pa.array(np.zeros(len(device), dtype=np.int64)))
        found = {f"{end}_site": site}
        for name in PLACED[1:]:
            numbers = getattr(places, name)[device]
            found[f"{end}_{name}"] = pa.array(numbers, mask=numbers == NOWHERE)
        return found


def _texts(values: list[str | None]) -> pa.Array:
    return pa.array(values, pa.string())


def _medium(medium: Medium | None) -> str | None:
    """What a link is built of: modules, or the medium of a cable with both ends."""
    if medium is None:
        return None
    return TRANSCEIVER if medium.lower or medium.upper else medium.cable.medium if medium.cable else None


def _module(module: Module | None) -> str | None:
    return module.identity.part_number or module.identity.id if module else None


def words_of(wiring: Wiring) -> Iterator[str]:
    """Every word that a table may hold."""
    words = _Words(wiring)
    yield from (wiring.site, *wiring.names, *wiring.ports, *words.stems)
    for array in (words.fabric, words.kind, words.medium, *words.modules.values()):
        yield from (word for word in array.to_pylist() if word)
    for way in wiring.ways:
        if way.medium and way.medium.cable:
            identity = way.medium.cable.identity
            yield from (
                word for word in (identity.id, identity.sku, *way.medium.cable.ordering_numbers.values()) if word
            )


def batches(wiring: Wiring) -> Iterator[tuple[slice, pa.Table]]:
    """The links as tables of a row a link, one after the other, each with the rows it stands for; no cable is cut."""
    words = _Words(wiring)
    start = 0
    while start < len(wiring):
        stop = min(start + BATCH, len(wiring))
        while stop < len(wiring) and wiring.piece[stop] == wiring.piece[stop - 1]:
            stop += 1
        yield slice(start, stop), words.table(start, stop)
        start = stop


def tables(wiring: Wiring) -> Iterator[pa.Table]:
    """The wiring as tables of a row a cable, one after the other; the ends of a cable that has several are joined."""
    wanted = schema_of(wiring)
    for rows, table in batches(wiring):
        piece = wiring.piece[rows]
        yield table.cast(wanted) if piece[-1] - piece[0] + 1 == len(piece) else _joined(table, piece, wanted)


def _joined(table: pa.Table, piece: Column, wanted: pa.Schema) -> pa.Table:
    """A row a cable: the values of its ends are joined, one a link in the order of the links.

    What all links share stands once, ports always one by one. An end that is not known has an empty place.
    """
    begins = np.flatnonzero(np.diff(piece, prepend=-1))
    first, offsets = pa.array(begins), pa.array(np.append(begins, len(piece)), pa.int32())
    columns = {}
    for name in NAMES:
        column = table[name].combine_chunks()
        if name not in OF_ENDS:
            columns[name] = pc.take(column, first)
            continue
        words = pc.cast(column, pa.string())
        links = pc.binary_join(pa.ListArray.from_arrays(offsets, pc.fill_null(words, "")), SEVERAL)
        if name not in PORTS:
            number = pc.dictionary_encode(words, null_encoding="encode").indices.to_numpy()
            alike = np.minimum.reduceat(number, begins) == np.maximum.reduceat(number, begins)
            links = pc.if_else(pa.array(alike), pc.take(words, first), links)
        columns[name] = links
    return pa.table(columns, schema=wanted)

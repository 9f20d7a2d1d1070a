"""What part files are checked against and completed from: plausible ranges, shared documents, order numbers.

Figures have plausible ranges: a server of 2.2 W most likely has 2.2 kW. They are data, `data/plausible-ranges.yaml`, by
kind of part and field, and apply to the user's part files and to mappings in a plan; `{value: ..., confirmed: true}`
keeps a correct figure outside its range.

A record describes a document under its `sources:`, or names one of `data/sources.csv`, where those that several files
name are described once: id, title, address, licence and the day on which it was read.

A part may extend a built-in one of its kind, such as the same box round another board: it has the fields of that
one that its own file does not state, but for those that name, price or date a part. `null` leaves a field out.

`data/numbers.csv` has what makers and resellers print for a part besides what its own file says, a line a number: the
number, who prints it, the part by kind and id, its variant and the source. The variant of a cable begins with its
length: `30 m, edition F`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from bomgen.core.diagnostics import Problem, nearest
from bomgen.core.resources import folder, text
from bomgen.core.safety import quote
from bomgen.core.units import Exact, parse, with_another_unit
from bomgen.core.yaml_source import Path, Source, own, read_data

SUGGESTED = ("W", "bytes", "bytes/s")
"""Units for which the message proposes another multiple; other figures are plain numbers."""
COUNT = "count"
NESTED = "port_groups"
"""The list of a switch whose entries have figures."""


class PlausibleRange(NamedTuple):
    """The plausible range of a figure, ends included."""

    unit: str
    least: Exact
    most: Exact
    written: str
    """The range as text: `200 W to 2 MW`."""


@cache
def plausible_ranges(kind: str) -> dict[str, PlausibleRange]:
    """Return the plausible ranges of a kind of part by field; empty for a kind without ranges."""
    ranges = read_data("plausible-ranges.yaml").get(kind, {})
    return {field: _range(str(data["unit"]), data["least"], data["most"]) for field, data in ranges.items()}


def _range(unit: str, least: Any, most: Any) -> PlausibleRange:
    return PlausibleRange(
        unit, parse(least, unit), parse(most, unit), f"{_written(least, unit)} to {_written(most, unit)}"
    )


def implausible_figures(kind: str, source: Source, steps: Path = ()) -> list[Problem]:
    """Return a problem for each implausible figure of the part described at `steps` of a source."""
    data = source.data
    for step in steps:
        data = data[step]
    places: list[tuple[Path, Any]] = [(steps, data)]
    if isinstance(data, dict) and isinstance(groups := data.get(NESTED), list):
        places += [((*steps, NESTED, number), group) for number, group in enumerate(groups)]
    problems, ranges = list[Problem](), plausible_ranges(kind)
    mappings = ((at, mapping) for at, mapping in places if isinstance(mapping, dict))
    for at, mapping, field, plausible in ((*place, *named) for place in mappings for named in ranges.items()):
        value = mapping.get(field)
        path: Path = (*at, field)
        if isinstance(value, dict):
            if value.get("confirmed"):
                continue
            path, value = (*path, "value"), value["value"]
        try:
            number = None if value is None else parse(value, plausible.unit)
        except ValueError:
            continue  # a value in another unit is reported where it is read
        if number is None or plausible.least <= number <= plausible.most:
            continue
        problems.append(Problem(source.mark(path), "error", _message(kind, field, value, plausible), "plausible"))
    return problems


def _message(kind: str, field: str, value: Any, plausible: PlausibleRange) -> str:
    unit = plausible.unit
    meant = with_another_unit(value, unit, plausible.least, plausible.most) if unit in SUGGESTED else None
    asked = f"did you mean {meant}?" if meant else "check its unit."
    said = f"a `{field}` of {_written(value, unit)} is not plausible for a {kind} ({plausible.written})"
    return f"{said}; {asked} To keep it, write {{value: ..., confirmed: true}}"


def in_unit_of_field(kind: str, field: str, value: Any) -> str:
    """Return the value of a field of a kind of part as text, a number with its unit where the field has one."""
    if isinstance(value, bool | str):
        return str(value)
    plausible = plausible_ranges(kind).get(field)
    return _written(value, plausible.unit if plausible else COUNT)


def _written(value: Any, unit: str) -> str:
    if isinstance(value, str):
        return value
    return f"{float(value):g}" if unit == COUNT else f"{float(value):g} {unit}"


EXTENDS = "extends"
"""The key that names the built-in part whose fields a part has besides its own."""
OF_ONE_PART = (
    *("name", "aliases", "part_number", "part_numbers", "ordering_number", "ordering_numbers", "default", "replaces"),
    *("price_indications", "availability", "availability_date", "availability_note", "successor"),
)
"""Fields that no other part has from the one it extends."""
SOURCES = "sources"
"""The key that describes the documents of a file by name."""
UNVERIFIED = "unverified"
MAX_QUOTED = 100
"""Characters of a name that a message repeats: the maximum length of an id."""
_NAMING = ("source", "ports_source", "lengths_source")
"""The keys that name documents."""


@cache
def shared_sources() -> Mapping[str, Mapping[str, str]]:
    """Return the documents that several files name, by id."""
    rows = csv.DictReader(text(folder("data") / "sources.csv").splitlines())
    return {row.pop("id"): {key: value for key, value in row.items() if value} for row in rows}


def number_sources(ids: Iterable[str]) -> dict[str, Mapping[str, str]]:
    """Return the documents with these ids, each with its title and address; an id that is an address is both."""
    return {id: shared_sources().get(id, {"title": id, "url": id}) for id in ids}


def with_base(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a part with the fields, and their documents, of the built-in part that it extends."""
    if EXTENDS not in data:
        return data
    base = with_base(kind, own(folder("data") / kind / f"{data[EXTENDS]}.yaml", data[EXTENDS]).data)
    fields = {key: value for key, value in base.items() if key not in OF_ONE_PART} | data
    described = base.get(SOURCES, {}) | data.get(SOURCES, {})
    merged = {key: value for key, value in fields.items() if value is not None and key not in (EXTENDS, SOURCES)}
    used = {name for _, name in _names(merged)}
    sources = {name: document for name, document in described.items() if name in used}
    return merged | {SOURCES: sources} if sources else merged


def with_shared_sources(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a record with a description of each shared document that it names."""
    described, shared = data.get(SOURCES, {}), shared_sources()
    named = dict.fromkeys(name for _, name in _names(data) if name in shared and name not in described)
    return data | {SOURCES: {name: shared[name] for name in named} | described} if named else data


def undescribed_sources(source: Source, described: Collection[str]) -> list[Problem]:
    """Return a problem for each source name in a part file that is not described."""
    problems = []
    for path, name in _names(source.data):
        if name not in {*described, UNVERIFIED}:
            close = nearest(name, described)
            meant = f"did you mean '{close[0]}'?" if close else f"add it under `{SOURCES}:`, or write `{UNVERIFIED}`"
            text = f"the source {quote(name, MAX_QUOTED)} is not described in this file; {meant}"
            problems.append(Problem(source.mark(path), "error", text, "source"))
    return problems


def _names(data: Any, at: Path = ()) -> Iterator[tuple[Path, str]]:
    if isinstance(data, list):
        for number, item in enumerate(data):
            yield from _names(item, (*at, number))
    elif isinstance(data, dict):
        for key, value in data.items():
            if key in _NAMING:
                listed = isinstance(value, list)
                for number, name in enumerate(value if listed else [value]):
                    yield (*at, key, number) if listed else (*at, key), str(name)
            elif key != SOURCES:
                yield from _names(value, (*at, key))


# order numbers --------------------------------------------------------------------------------------------------------

NUMBERS = "numbers.csv"
_LENGTH = re.compile(r"([0-9.]+) m\b")


class OrderNumber(NamedTuple):
    """A number that someone prints for a part."""

    number: str
    vendor: str
    part: str
    """Kind and id, as in `switch/qm9700`."""
    variant: str
    source: str

    @property
    def length(self) -> str | None:
        """The length of a cable [m], which its variant begins with; None for other parts."""
        match = _LENGTH.match(self.variant)
        return match and match[1]


@cache
def order_numbers() -> Mapping[str, tuple[OrderNumber, ...]]:
    """Return the numbers of the table by part."""
    rows = [OrderNumber(**row) for row in csv.DictReader(text(folder("data") / NUMBERS).splitlines())]
    by_part: dict[str, tuple[OrderNumber, ...]] = {}
    for row in rows:
        by_part[row.part] = (*by_part.get(row.part, ()), row)
    return by_part


def numbers_by_length(part: str, vendor: str) -> dict[str, str]:
    """Return the maker's own order number of each length [m] of a cable: the first of the table."""
    by_length: dict[str, str] = {}
    for row in order_numbers().get(part, ()):
        if row.vendor == vendor and row.length:
            by_length.setdefault(row.length, row.number)
    return by_length

"""Checks of users' part files: words of the trade, and plausible figures.

Words such as `QSFP-DD`, `SMF` or `MPO-12/APC` become the value that the schema has, so that nothing else compares
spellings; other words of a field are data, `data/trade-words.yaml`.

Figures have plausible ranges: a server of 2.2 W most likely has 2.2 kW. They are data, `data/plausible-ranges.yaml`, by
kind of part and field, and apply to the user's part files and to mappings in a plan; `{value: ..., confirmed: true}`
keeps a correct figure outside its range.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from bomgen.catalog.link_words import TWIN, read_link_words
from bomgen.core.diagnostics import Problem
from bomgen.core.resources import folder
from bomgen.core.units import Exact, parse, with_another_unit
from bomgen.core.yaml_source import Path, Source, own

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
    path = folder("data") / "plausible-ranges.yaml"
    ranges = own(path, path.name).data.get(kind, {})
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
    return [
        problem
        for at, mapping in places
        if isinstance(mapping, dict)
        for problem in _outside(kind, source, at, mapping)
    ]


def _outside(kind: str, source: Source, steps: Path, data: dict[str, Any]) -> Iterator[Problem]:
    for field, plausible in plausible_ranges(kind).items():
        value = data.get(field)
        path: Path = (*steps, field)
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
        yield Problem(source.mark(path), "error", _message(kind, field, value, plausible), "plausible")


def _message(kind: str, field: str, value: Any, plausible: PlausibleRange) -> str:
    meant = None
    if plausible.unit in SUGGESTED:
        meant = with_another_unit(value, plausible.unit, plausible.least, plausible.most)
    asked = f"did you mean {meant}?" if meant else "check its unit."
    said = f"a `{field}` of {_written(value, plausible.unit)} is not plausible for a {kind} ({plausible.written})"
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


FILE = "trade-words.yaml"
_LOCAL = "#/$defs/"
_IGNORED = re.compile(r"[\W_]+")


def with_canonical_words(source: Source, schema: Mapping[str, Any]) -> Source:
    """Return the source of a part file with the values of its schema in place of other words for them."""
    return source._replace(data=_canonical(source.data, schema, schema.get("$defs", {}), ""))


def _canonical(data: Any, schema: Mapping[str, Any], defs: Mapping[str, Any], field: str) -> Any:
    if "$ref" in schema:
        schema = defs.get(str(schema["$ref"]).removeprefix(_LOCAL), {})
    if isinstance(data, dict):
        below, data = schema.get("properties", {}), _divide_optic(data)
        return {key: _canonical(value, below.get(key, {}), defs, str(key)) for key, value in data.items()}
    if isinstance(data, list):
        return [_canonical(item, schema.get("items", {}), defs, field) for item in data]
    if isinstance(data, str) and data not in schema.get("enum", (data,)):
        return _word(data, tuple(schema["enum"]), field)
    return data


def _divide_optic(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a module whose optic is written with its engines, such as 2xDR4, with both by themselves."""
    optic = read_link_words(f"{data.get('rate_gbps', '')}G {data['optic']} module") if "optic" in data else None
    if optic is None or optic.ports < TWIN or _form(str(data["optic"])) == _form(optic.optic):
        return data
    ports = data.get("ports", optic.ports)
    return {**data, "optic": optic.optic, "ports": ports} if ports == optic.ports else data


def _word(written: str, values: tuple[Any, ...], field: str) -> str:
    """Return the value that a word means in a field; the word itself if it means none, which the schema refuses."""
    form = _form(written)
    spelled = next((value for value in values if isinstance(value, str) and _form(value) == form), None)
    meant = spelled or _meanings(field).get(form, written)
    return meant if meant in values else written


def _form(word: str) -> str:
    """Return a word without case, spaces and punctuation; a plus sign tells SFP+ from SFP."""
    return _IGNORED.sub("", word.lower().replace("+", "plus"))


@cache
def _meanings(field: str) -> Mapping[str, str]:
    groups: Mapping[str, Any] = own(folder("data") / FILE, FILE).data
    words = groups.get("connector" if field == "far_connector" else field, {})
    return {_form(word): value for value, synonyms in words.items() for word in synonyms}

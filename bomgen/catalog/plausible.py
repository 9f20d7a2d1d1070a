"""Plausible ranges of the figures of parts: a server of 2.2 W most likely has 2.2 kW.

The ranges are data, `data/plausible-ranges.yaml`, by kind of part and field. They apply to the user's part files and to
mappings in a plan; `{value: ..., confirmed: true}` keeps a correct figure outside its range.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

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
    found = own(path, path.name).data.get(kind, {})
    return {field: _range(str(data["unit"]), data["least"], data["most"]) for field, data in found.items()}


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
    known = plausible_ranges(kind).get(field)
    return _written(value, known.unit if known else COUNT)


def _written(value: Any, unit: str) -> str:
    if isinstance(value, str):
        return value
    return f"{float(value):g}" if unit == COUNT else f"{float(value):g} {unit}"

"""The documents that records and order numbers name.

A record describes a document under its `sources:`, or names one of `data/sources.csv`, where those that several files
name are described once: id, title, address, licence and the day on which it was read.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from bomgen.core.diagnostics import Problem, nearest
from bomgen.core.resources import folder, text
from bomgen.core.safety import quote
from bomgen.core.yaml_source import Path, Source

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


def with_shared_sources(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a record with a description of each shared document that it names."""
    described, shared = data.get(SOURCES, {}), shared_sources()
    named = dict.fromkeys(name for _, name in _names(data) if name in shared and name not in described)
    return data | {SOURCES: {name: shared[name] for name in named} | described} if named else data


def undescribed_sources(source: Source, described: Collection[str]) -> list[Problem]:
    """Return a problem for each source name in a part file that is not described."""
    described_names = {*described, UNVERIFIED}
    return [
        Problem(source.mark(path), "error", _undescribed(name, described), "source")
        for path, name in _names(source.data)
        if name not in described_names
    ]


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


def _undescribed(name: str, described: Collection[str]) -> str:
    close = nearest(name, described)
    meant = f"did you mean '{close[0]}'?" if close else f"add it under `{SOURCES}:`, or write `{UNVERIFIED}`"
    return f"the source {quote(name, MAX_QUOTED)} is not described in this file; {meant}"

"""Names of sources in part files: each is described under `sources:` of its file, or is `unverified`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from bomgen.core.diagnostics import Problem, nearest
from bomgen.core.safety import quote
from bomgen.core.yaml_source import Path, Source

SOURCES = "sources"
"""The key that describes the documents of a file by name."""
UNVERIFIED = "unverified"
MAX_QUOTED = 100
"""Characters of a name that a message repeats: the maximum length of an id."""
_NAMING = ("source", "ports_source", "lengths_source")
"""The keys that name documents."""


def undescribed_sources(source: Source, described: Collection[str]) -> list[Problem]:
    """Return a problem for each source name in a part file that is not described."""
    known = {*described, UNVERIFIED}
    return [
        Problem(source.mark(path), "error", _message(name, described), "source")
        for path, name in _names(source.data)
        if name not in known
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


def _message(name: str, described: Collection[str]) -> str:
    close = nearest(name, described)
    meant = f"did you mean '{close[0]}'?" if close else f"add it under `{SOURCES}:`, or write `{UNVERIFIED}`"
    return f"the source {quote(name, MAX_QUOTED)} is not described in this file; {meant}"

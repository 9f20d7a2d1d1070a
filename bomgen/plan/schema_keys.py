"""The keys and values that the plan schema permits at a place of a plan, which shells and editors propose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bomgen.core.resources import IDS, folder, unfold
from bomgen.plan.schema import PLAN, document

Schema = dict[str, Any]

_REST = re.compile(r" \((?:bare|default)\b|[.:;] |\.$")
"""Ends the first words of a description."""


def schemas_at(steps: Sequence[str | None]) -> list[Schema]:
    """Return the schemas of the value at a path of keys, None for the items of a list; none at a path to nowhere."""
    found: list[Schema] = [document(PLAN)]
    for step in steps:
        found = [below for each in found for below in _below(each, step)]
    return found


def keys_of(schemas: Iterable[Schema]) -> list[tuple[str, Schema]]:
    """Return the keys of mappings, each with its schema."""
    parts = (part for each in schemas for part in unfold(document(PLAN), each))
    return [pair for part in parts for pair in part.get("properties", {}).items()]


def values_of(schemas: Iterable[Schema]) -> Iterator[str]:
    """Yield permitted words, and the ids of the catalogue where one is expected."""
    for schema in schemas:
        for each in unfold(document(PLAN), schema):
            yield from (str(word) for word in each.get("enum", ()))
            if each.get("type") == "boolean":
                yield from ("true", "false")
            for kind in each.get(IDS, ()):
                yield from catalog_ids(kind)


def title_of(schemas: Iterable[Schema]) -> str:
    """Return the title of a value; empty without one."""
    return next((str(schema["title"]) for schema in schemas if "title" in schema), "")


def comment_of(schemas: Iterable[Schema]) -> str:
    """Return what a value is in a few words, for a comment: the beginning of its description, or its title."""
    schemas = [*schemas]
    described = next((str(schema["description"]) for schema in schemas if "description" in schema), "")
    begun = _REST.split(described)[0]
    return begun if begun[:1].isupper() else title_of(schemas)


def kinds_of(schemas: Iterable[Schema]) -> list[str]:
    """Return the kinds of the catalogue whose ids are expected."""
    parts = (part for each in schemas for part in unfold(document(PLAN), each))
    return list(dict.fromkeys(kind for part in parts for kind in part.get(IDS, ())))


def catalog_ids(kind: str) -> list[str]:
    """Return the ids of a kind of the built-in catalogue, from its file names."""
    return sorted(path.stem for path in (folder("data") / kind).glob("*.yaml"))


def has_keys(schema: Schema) -> bool:
    """Return whether keys follow: in a mapping, except of a part or model, which is usually given by name."""
    laid = unfold(document(PLAN), schema)
    if any(IDS in each for each in laid):
        return False
    return not schema or any(
        "properties" in each or isinstance(each.get("additionalProperties"), dict) for each in laid
    )


def _below(schema: Schema, step: str | None) -> Iterator[Schema]:
    for each in unfold(document(PLAN), schema):
        below = each.get("items")
        if step is not None:
            below = each.get("properties", {}).get(step, each.get("additionalProperties"))
        if isinstance(below, dict):
            yield below

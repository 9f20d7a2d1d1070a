"""What is read out of a JSON Schema beside judging by it; importing it does not import the library that judges."""

from __future__ import annotations

from typing import Any

IDS = "x-catalog"
"""The keyword at a value, or at keys, that are ids of the catalogue: a list of kinds."""


def unfold(whole: dict[str, Any], schema: Any) -> list[dict[str, Any]]:
    """A schema of a document, with those that it refers to there; none for what is no mapping."""
    if not isinstance(schema, dict):
        return []
    found = [schema]
    if "$ref" in schema:
        target: Any = whole
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        found += unfold(whole, target)
    return found + unfold(whole, schema.get("then"))

"""The schema of plans, completed by the topologies and languages that there are."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

from bomgen.core import schema as schemas
from bomgen.core.diagnostics import Problem
from bomgen.core.resources import languages
from bomgen.core.yaml_source import Source
from bomgen.fabric.registry import described, topologies

PLAN, BASE = "plan", "base"
"""Plans, and the files that they extend, which need not have all keys of a plan."""


@cache
def document(name: str) -> dict[str, Any]:
    """The schema `name` (`plan`, `base`, `bom`, ...): its file; of plans with all topologies and languages.

    Raises FileNotFoundError for another name.
    """
    if name not in (PLAN, BASE):
        return schemas.document(name)
    schema = deepcopy(schemas.document(PLAN))
    _add_topologies(schema["$defs"]["fabric"]["properties"])
    schema["properties"]["quote"]["properties"]["language"]["enum"] = list(languages())
    if name == BASE:
        schema = {key: value for key, value in schema.items() if key not in ("required", "if", "else", "examples")}
        schema["title"] = "Parts that bomgen plans share"
    return schema


def check(source: Source, name: str) -> list[Problem]:
    """What is wrong with a source by the schema `name`, in the order of the file; of very much only the first."""
    return schemas.check(source, name, document)


def _add_topologies(fabric: dict[str, Any]) -> None:
    """Put the names of all topologies, and what a plan may say of each, into the schema of a fabric."""
    fabric["topology"]["enum"] = list(topologies())
    for each in described():
        if each.options:
            fabric[each.name] = each.options

"""The schema of plans, completed by the topologies, their kinds of link, and the languages that there are."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

from bomgen.core import schema as schemas
from bomgen.core.diagnostics import Problem
from bomgen.core.resources import languages
from bomgen.core.yaml_source import Source
from bomgen.fabric.declaration import LinkKind
from bomgen.fabric.registry import described, link_kinds, topologies
from bomgen.fabric.types import SERVER

PLAN, BASE = "plan", "base"
"""Plans, and the files that they extend, which need not have all keys of a plan."""
_DEVICES = {SERVER: "server or host"}
_CHOSEN = "Default: chosen by rate, cage and length."
_EXAMPLE = "generic-400g"


@cache
def document(name: str) -> dict[str, Any]:
    """The schema `name` (`plan`, `base`, `bom`, ...): its file; of plans with all topologies and languages.

    Raises FileNotFoundError for another name.
    """
    if name not in (PLAN, BASE):
        return schemas.document(name)
    schema = deepcopy(schemas.document(PLAN))
    fabric, link = schema["$defs"]["fabric"]["properties"], schema["$defs"].pop("link")
    _add_topologies(fabric)
    fabric["links"]["properties"] = {kind.name: _links_of(kind, link) for kind in link_kinds().values()}
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


def _links_of(kind: LinkKind, link: dict[str, Any]) -> dict[str, Any]:
    """The schema of the links of a kind: that of any link, where a module may be named for each of two unlike ends."""
    found = deepcopy(link) | {"title": kind.title, "description": kind.description, "examples": [dict(kind.example)]}
    lower, upper = kind.ends
    if lower != upper:
        module = found["properties"]["module"]
        own = {key: value for key, value in module.items() if key not in ("title", "description", "type")}
        ends = {
            end: {
                "title": f"Module at the {end}",
                "description": f"Catalogue id of the module at the {_DEVICES.get(end, end)} end. {_CHOSEN}",
                "type": "string",
                **own,
            }
            for end in kind.ends
        }
        found["properties"]["module"] = module | {
            "description": "Transceiver plugged in at both ends: a catalogue id, or a mapping "
            f"{{{lower}: id, {upper}: id}} when the ends differ. {_CHOSEN}",
            "type": ["string", "object"],
            "minProperties": len((lower,)),
            "properties": ends,
            "additionalProperties": False,
            "examples": [_EXAMPLE, dict.fromkeys(kind.ends, _EXAMPLE)],
        }
    return found

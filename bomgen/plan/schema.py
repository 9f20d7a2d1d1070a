"""The schema of plans, and names in a plan that no part of the catalogue has."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from bomgen.core import schema as schemas
from bomgen.core.diagnostics import Problem
from bomgen.core.resources import languages
from bomgen.core.yaml_source import Source
from bomgen.fabric.declaration import LinkKind, described, link_kinds, topologies
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
    plan = schemas.document(PLAN)
    link, fabric, quote = plan["$defs"]["link"], plan["$defs"]["fabric"], plan["properties"]["quote"]
    properties, terms = fabric["properties"], quote["properties"]
    fabric = fabric | {"properties": properties | _topology_properties(properties) | _link_properties(properties, link)}
    quote = quote | {"properties": terms | {"language": terms["language"] | {"enum": list(languages())}}}
    definitions = {key: value for key, value in plan["$defs"].items() if value is not link}
    schema = plan | {"$defs": definitions | {"fabric": fabric}, "properties": plan["properties"] | {"quote": quote}}
    if name == BASE:
        schema = {key: value for key, value in schema.items() if key not in ("required", "if", "else", "examples")}
        schema["title"] = "Parts that bomgen plans share"
    return schema


def check(source: Source, name: str) -> list[Problem]:
    """What is wrong with a source by the schema `name`, in the order of the file; of very much only the first."""
    return schemas.check(source, name, document)


def _topology_properties(fabric: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of a fabric that name all topologies, and say what a plan may say of each."""
    named = {"topology": fabric["topology"] | {"enum": list(topologies())}}
    return named | {each.name: each.options for each in described() if each.options}


def _link_properties(fabric: Mapping[str, Any], link: dict[str, Any]) -> dict[str, Any]:
    kinds = {kind.name: _links_of(kind, link) for kind in link_kinds().values()}
    return {"links": fabric["links"] | {"properties": kinds}}


def _links_of(kind: LinkKind, link: dict[str, Any]) -> dict[str, Any]:
    """The schema of the links of a kind: that of any link, where a module may be named for each of two unlike ends."""
    found = link | {"title": kind.title, "description": kind.description, "examples": [dict(kind.example)]}
    lower, upper = kind.ends
    if lower != upper:
        module = link["properties"]["module"]
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
        named = module | {
            "description": "Transceiver plugged in at both ends: a catalogue id, or a mapping "
            f"{{{lower}: id, {upper}: id}} when the ends differ. {_CHOSEN}",
            "type": ["string", "object"],
            "minProperties": len((lower,)),
            "properties": ends,
            "additionalProperties": False,
            "examples": [_EXAMPLE, dict.fromkeys(kind.ends, _EXAMPLE)],
        }
        found["properties"] = link["properties"] | {"module": named}
    return found

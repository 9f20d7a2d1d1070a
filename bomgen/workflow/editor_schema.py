"""The schema of plans with the ids of a catalogue, for editors: they complete an id, say what it is, underline others.

`x-catalog` in the schema names the kinds of which a value, or a key, is an id. For a value the ids are offered, each
with what it is, and a text must be a name that finds a part: an id, a part number, an alias. A key may be any text:
price books and stock have parts that no catalogue has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from bomgen.catalog.files import ANY_LENGTH, LENGTH_CODE, Catalog, Record
from bomgen.core.resources import IDS
from bomgen.plan.schema import PLAN, document
from bomgen.workflow.catalog_listing import described

KEYS = "propertyNames"
EXAMPLES = "examples"
_SYNTAX = re.compile(r"[$()*+./?\[\\\]^{|}]")
"""Characters that patterns in JavaScript may have a backslash before, and must."""
A_LENGTH = "030"
"""A length in the id of a cable: 30 m."""
DEFINITION = "catalog-"
"""What the names of the definitions begin with that hold the ids of kinds."""


def plan_schema(catalog: Catalog, name: str = PLAN) -> dict[str, Any]:
    """The schema of plans, or of what they extend, which offers the ids of a catalogue wherever one may stand.

    Raises PlanErrors for a part file of the user's own that is wrong.
    """
    schema: dict[str, Any] = _without_mapping_examples(deepcopy(document(name)))
    places = list(_places(schema))
    wanted = {tuple(place[IDS]) for _, place in places}
    for key, place in places:
        kinds = place.pop(IDS)
        if key == KEYS:
            ids = dict.fromkeys(id for kind in kinds for id in catalog.ids(kind))
            place["anyOf"] = [{"enum": list(ids)}, {"type": "string"}]
        else:
            place["allOf"] = [*place.get("allOf", ()), {"$ref": f"#/$defs/{DEFINITION}{'-'.join(kinds)}"}]
    for kinds in sorted(wanted):
        schema["$defs"][DEFINITION + "-".join(kinds)] = _ids(catalog, kinds)
    return schema


def _places(data: Any, key: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(data, dict):
        if IDS in data:
            yield key, data
        for name, below in data.items():
            yield from _places(below, name)
    elif isinstance(data, list):
        for below in data:
            yield from _places(below, key)


def _without_mapping_examples(data: Any) -> Any:
    """A schema without examples that are mappings: as a proposal yaml-language-server writes them `[object Object]`."""
    if isinstance(data, list):
        return [_without_mapping_examples(each) for each in data]
    if not isinstance(data, dict):
        return data
    found = {key: _without_mapping_examples(value) for key, value in data.items() if key != EXAMPLES}
    examples = data.get(EXAMPLES, [])
    if isinstance(examples, dict):  # a key of plans by that name, not the keyword
        return found | {EXAMPLES: _without_mapping_examples(examples)}
    kept = [each for each in examples if not isinstance(each, dict)]
    return found | {EXAMPLES: kept} if kept else found


def _ids(catalog: Catalog, kinds: Sequence[str]) -> dict[str, Any]:
    """Any id of some kinds with what it is, any other name of a part, or what is no text at all."""
    records = [record for kind in kinds for record in catalog.all(kind)]
    found = [
        {"const": record.id, "title": str(record.value("name")), "description": described(record)} for record in records
    ]
    several = " or ".join(kinds)
    other = {"type": "string", "title": f"{several[:1].upper()}{several[1:]} by another name"}
    text = {"type": "string"}
    named = {
        "pattern": _pattern(records),
        "patternErrorMessage": f"no {several} of this name is in the catalogue that this schema was written for",
    }
    return {"anyOf": [*found, other, {"not": text}], "if": text, "then": text | named}


def _pattern(records: Sequence[Record]) -> str:
    """A pattern of all names that find one of some records; JSON Schema has no flag for letters of either case."""
    return f"^(?:{'|'.join(sorted({_form(name) for record in records for name in record.names}))})$"


def _form(name: str) -> str:
    """A name as a pattern, that of a cable family at any length too."""
    start, family, end = name.rpartition(ANY_LENGTH)
    if family and LENGTH_CODE.search(f"{start}{A_LENGTH}{end}"):
        return f"{_either_case(start)}(?:{_either_case(family)}|[0-9]{{2}}[0-9aA]){_either_case(end)}"
    return _either_case(name)


def _either_case(text: str) -> str:
    return "".join(
        f"[{each}{each.upper()}]" if each.isascii() and each.isalpha() else _SYNTAX.sub(r"\\\g<0>", each)
        for each in text
    )

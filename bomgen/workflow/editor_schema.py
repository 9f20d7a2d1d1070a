"""The schema of plans with the ids of a catalogue, for editors: they complete an id and say what it is.

`x-catalog` in the schema names the kinds of which a value, or a key, is an id. An id stands there as one of several
alternatives of which the last takes anything, because part numbers, aliases and parts of other folders are right too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from bomgen.catalog.files import Catalog
from bomgen.plan.schema import PLAN, document
from bomgen.workflow.catalog_listing import described

PLACE = "x-catalog"
"""The keyword at each place of an id: a list of kinds."""
KEYS = "propertyNames"
DEFINITION = "catalog-"
"""What the names of the definitions begin with that hold the ids of kinds."""


def plan_schema(catalog: Catalog, name: str = PLAN) -> dict[str, Any]:
    """The schema of plans, or of what they extend, which offers the ids of a catalogue wherever one may stand.

    Raises PlanErrors for a part file of the user's own that is wrong.
    """
    schema = deepcopy(document(name))
    places = list(_places(schema))
    wanted = {tuple(place[PLACE]) for _, place in places}
    for key, place in places:
        kinds = place.pop(PLACE)
        if key == KEYS:
            ids = dict.fromkeys(id for kind in kinds for id in catalog.ids(kind))
            place["anyOf"] = [{"enum": list(ids)}, {"type": "string"}]
        else:
            place["allOf"] = [*place.get("allOf", ()), {"$ref": f"#/$defs/{DEFINITION}{'-'.join(kinds)}"}]
    for kinds in sorted(wanted):
        schema["$defs"][DEFINITION + "-".join(kinds)] = _ids(catalog, kinds)
    return schema


def _places(data: Any, key: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The places of ids, each with the key that it stands at."""
    if isinstance(data, dict):
        if PLACE in data:
            yield key, data
        for name, below in data.items():
            yield from _places(below, name)
    elif isinstance(data, list):
        for below in data:
            yield from _places(below, key)


def _ids(catalog: Catalog, kinds: Sequence[str]) -> dict[str, Any]:
    """Any id of some kinds with what it is, any other text, or what is no text at all."""
    records = (record for kind in kinds for record in catalog.all(kind))
    found = [
        {"const": record.id, "title": str(record.value("name")), "description": described(record)} for record in records
    ]
    several = " or ".join(kinds)
    other = {"type": "string", "title": f"{several[:1].upper()}{several[1:]} by another name"}
    return {"anyOf": [*found, other, {"not": {"type": "string"}}]}

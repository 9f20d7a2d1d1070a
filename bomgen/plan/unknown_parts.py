"""Names in a plan that no part of the catalogue has, found without binding the plan, which may be wrong otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from bomgen.catalog.files import Catalog, UnknownPart
from bomgen.core.diagnostics import MAX_PROBLEMS, Problem, suggestion
from bomgen.core.resources import IDS, unfold
from bomgen.core.yaml_source import Path, Source
from bomgen.plan.schema import PLAN, document


def unknown_parts(source: Source, catalog: Catalog) -> list[Problem]:
    """The values of a plan's data that the schema takes for ids and that find no part; of very many only the first.

    Raises PlanErrors for a part file of the user's own that is wrong.
    """
    schema = document(PLAN)
    problems = (
        Problem(source.mark(path), "error", message, "unknown-part", ".".join(map(str, path)))
        for path, kinds, name in _names(schema, schema, source.data, ())
        if (message := unknown_part(catalog, kinds, name))
    )
    return list(islice(dict.fromkeys(problems), MAX_PROBLEMS))


def unknown_part(catalog: Catalog, kinds: Sequence[str], name: str) -> str | None:
    """What is wrong with the name of a part of one of some kinds; None when there is one."""
    refused: UnknownPart | None = None
    for kind in kinds:
        try:
            catalog.find(kind, name)
        except UnknownPart as error:
            refused = error
        else:
            return None
    if len(kinds) == 1:
        return str(refused)
    names = [id for kind in kinds for id in catalog.ids(kind)]
    hint = suggestion(name.lower(), names, "`bomgen catalog transceiver` and `cable` list what there is")
    return f"no module or cable '{name}'; {hint}"


def _names(
    whole: dict[str, Any], schema: dict[str, Any], data: Any, path: Path
) -> Iterator[tuple[Path, Sequence[str], str]]:
    """Where a plan's data name parts, with the kinds that these may be of, and the names."""
    for each in unfold(whole, schema):
        if isinstance(data, str) and data and IDS in each:
            yield path, each[IDS], data
        below = list[tuple[str | int, Any, Any]]()
        if isinstance(data, dict):
            keys = each.get("properties", {})
            below = [(key, value, keys.get(key, each.get("additionalProperties"))) for key, value in data.items()]
        elif isinstance(data, list):
            below = [(place, value, each.get("items")) for place, value in enumerate(data)]
        for step, value, described in below:
            if isinstance(described, dict):
                yield from _names(whole, described, value, (*path, step))

"""Searches of the page: what may vary and be compared, and the designs of the front."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bomgen.core.language import Language
from bomgen.plan.schema_keys import schemas_at, title_of, values_of
from bomgen.plan.search_space import DEFAULT_MINIMISE, KEY, MEASURES
from bomgen.serve.calls import language_of, plan_of
from bomgen.serve.form import OF_SUPPORT, QUESTIONS, QUOTE, WORKLOAD, data_of, value_at, without
from bomgen.serve.workspace import Data, Request, Workspace
from bomgen.workflow.inputs import source_of

MEASURE = "search-{name}"
"""The word for a measure."""
SEARCHED = tuple(("fabrics", "compute", key) for key in ("oversubscription", "tiers", "gpus_per_nic", "planes"))
"""Keys that are proposed beside those of the form and of the plan."""
NAMES, APART = ("bomgen", "name", "title", "catalog", "extends"), ("quote", KEY)
"""Keys of a plan that no design depends on, and blocks of such keys."""


def space(_workspace: Workspace, request: Request) -> Data:
    """Return what a search of a plan may vary and compare, and its own search: the keys of the form and of the plan.

    A key has its value in the plan, and choices if it takes words.
    """
    words, data = language_of(request), data_of(request["text"])
    asked = (question.path for question in QUESTIONS if question.group != QUOTE and question not in OF_SUPPORT)
    keys = dict.fromkeys([*asked, *SEARCHED, *_scalars(data)])
    workload = data.get(WORKLOAD)
    workload = workload if isinstance(workload, dict) else {}
    return {
        "keys": [
            _key(data, path) for path in keys if (path[0] != WORKLOAD or path[1] in workload) and _has_place(data, path)
        ],
        "measures": [_measure(name, words) for name in MEASURES],
        "minimise": [*DEFAULT_MINIMISE],
        "own": json.loads(json.dumps(data.get(KEY) or {}, default=float)),
    }


def _has_place(data: Data, path: tuple[str, ...]) -> bool:
    """Return whether a key can be set: not below a plain value, such as a fabric that is `default`."""
    return all(isinstance(value_at(data, path[:depth]), dict | None) for depth in range(1, len(path)))


def _key(data: Data, path: tuple[str, ...]) -> Data:
    schemas, value = schemas_at(path), value_at(data, path)
    return {
        "key": ".".join(path),
        "title": title_of(schemas),
        "value": None if isinstance(value, dict | list) else value if isinstance(value, int | None) else str(value),
        "choices": [*dict.fromkeys(values_of(schemas))],
    }


def _scalars(data: Data, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of plain values that may matter to a design."""
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _scalars(value, (*above, key))
        elif not isinstance(value, list) and (above or key not in NAMES) and (*above, key)[0] not in APART:
            yield (*above, key)


def _measure(name: str, words: Language) -> Data:
    return {"name": name, "label": words.word(MEASURE.format(name=name)), "unit": MEASURES[name]}


def search(workspace: Workspace, request: Request) -> Data:
    """Return the Pareto-optimal designs; one that is stopped, those among the designs that were tried.

    `over` has a list of values or a range such as 8..512 by key, `within` the most of a measure. Without `over` the
    search is that of the plan.
    """
    from bomgen.output.search_results import render_search  # which load NumPy
    from bomgen.workflow.design_search import find_front, open_search

    words, text = language_of(request), request["text"]
    file = plan_of(workspace, {**request, "text": without(text, (KEY,)) if request.get("over") else text})
    over, within, minimise = request.get("over") or {}, request.get("within") or {}, request.get("minimise") or ()
    space = open_search(
        file,
        (),
        [f"{key}={_listed(values)}" for key, values in over.items()],
        [minimise] if isinstance(minimise, str) else minimise,
        [f"{name}={most}" for name, most in within.items()],
    )
    front, stopped = find_front(file, (), space)
    name = str(source_of(file).data["name"])
    found = json.loads(render_search(front, name, words, "json"))
    return {
        "points": found.pop("front"),
        "measures": [_measure(name, words) for name in front.minimised],
        "stopped": stopped is not None,
        "search": found,
    }


def _listed(values: Any) -> str:
    """Return values, or a range, as `--over` has them."""
    listed = values if isinstance(values, list) else [values]
    return ",".join(value if isinstance(value, str) else json.dumps(value) for value in listed)

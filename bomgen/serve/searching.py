"""Searches of the page, and what is taken from them into the plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bomgen.core.yaml_edit import NotEditable, set_value
from bomgen.core.yaml_source import read
from bomgen.documents.search.candidates import UNITS
from bomgen.output.search_results import render_search
from bomgen.serve.engine import language_of, plan_of, text_of
from bomgen.serve.workspace import Refused, Workspace
from bomgen.workflow.design_search import find_front, open_search
from bomgen.workflow.inputs import source_of

Data = dict[str, Any]
MEASURE = "search-{name}"
"""The word for a measure."""


def search(workspace: Workspace, request: Mapping[str, Any]) -> Data:
    """Return the Pareto-optimal designs; one that is stopped, those among the designs that were tried.

    `over` has a list of values or a range such as 8..512 by key, `within` the most of a measure. Without them the
    search is that of the plan.
    """
    file, words = plan_of(workspace, request), language_of(request)
    over, within = _mapping(request, "over"), _mapping(request, "within")
    minimise = request.get("minimise") or ()
    space = open_search(
        file,
        (),
        [f"{key}={_listed(values)}" for key, values in over.items()],
        [str(name) for name in ([minimise] if isinstance(minimise, str) else minimise)],
        [f"{name}={most}" for name, most in within.items()],
    )
    front, stopped = find_front(file, (), space)
    name = str(source_of(file).data["name"])
    found = json.loads(render_search(front, name, words, "json"))
    points = found.pop("front")
    return {
        "points": points,
        "front": list(range(len(points))),
        "measures": [
            {"name": name, "label": words.word(MEASURE.format(name=name)), "unit": UNITS.get(name, "")}
            for name in front.minimised
        ],
        "stopped": stopped is not None,
        "search": found,
        "html": render_search(front, name, words, "html").decode("utf-8"),
    }


def set_values(_workspace: Workspace, request: Mapping[str, Any]) -> Data:
    """Return the text of a plan with values set by dotted key, such as those of a design that was picked.

    Comments and all other keys stay as they are. A value that is text is read as YAML.
    """
    return {"text": with_values(text_of(request, "text"), _mapping(request, "set"))}


def with_values(text: str, values: Mapping[str, Any]) -> str:
    """Return the text of a plan with values by dotted key. Raises Refused where one cannot be set alone."""
    for key, value in values.items():
        data = read(f"[{value}]", key).data[0] if isinstance(value, str) else value
        try:
            text = set_value(text, tuple(key.split(".")), data)
        except NotEditable as error:
            raise Refused(f"{error}; edit it by hand") from None
    return text


def _listed(values: Any) -> str:
    """Return values, or a range, as `--over` has them."""
    listed = values if isinstance(values, list) else [values]
    return ",".join(value if isinstance(value, str) else json.dumps(value) for value in listed)


def _mapping(request: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = request.get(key) or {}
    if not isinstance(found, Mapping):
        raise Refused(f"`{key}` must be an object")
    return found

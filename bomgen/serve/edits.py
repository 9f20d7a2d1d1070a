"""Edits of a plan's text by the keys of its data; comments and all other keys stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.messages import message
from bomgen.core.yaml_edit import NotEditable, remove_item, set_value
from bomgen.core.yaml_source import read
from bomgen.serve.workspace import Refused, Request, Workspace

Data = dict[str, Any]
INVALID = "refused-no-yaml"
"""The message about text that cannot be read."""


def set_values(_workspace: Workspace, request: Request) -> Data:
    """Return the text of a plan with values set by dotted key, such as those of a design that was picked.

    Comments and all other keys stay as they are. A value that is text is read as YAML.
    """
    return {"text": with_values(request["text"], request["set"])}


def with_values(text: str, values: Mapping[str, Any]) -> str:
    """Return the text of a plan with values by dotted key. Raises Refused where one cannot be set alone."""
    for key, value in values.items():
        try:
            data = read(f"[{value}]", key).data[0] if isinstance(value, str) else value
            text = set_value(text, tuple(int(step) if step.isdecimal() else step for step in key.split(".")), data)
        except NotEditable as error:
            raise Refused(f"{error}; edit it by hand") from None
        except (LookupError, ValueError):
            raise Refused(message("refused-value", key=key)) from None
    return text


def without(text: str, path: tuple[str, ...]) -> str:
    """Return the text without a key, and without the mapping that would be empty without it."""
    data = read(text, "").data
    holder = value_at(data, path[:-1])
    if not isinstance(holder, dict) or path[-1] not in holder:
        return text
    while len(path) > 1 and len(value_at(data, path[:-1])) == 1:
        path = path[:-1]
    return remove_item(text, path)


def data_of(text: str) -> Data:
    """Return the data of a plan; none if it is not a mapping. Raises Refused for invalid YAML."""
    try:
        data = read(text, "plan").data
    except PlanErrors:
        raise Refused(message(INVALID)) from None
    return data if isinstance(data, dict) else {}


def value_at(data: Any, path: tuple[str, ...]) -> Any:
    """Return the value at a path of a plan's data; None where there is none."""
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data

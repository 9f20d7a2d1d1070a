"""The designs that bomgen carries, as what a new plan can start from."""

from __future__ import annotations

from functools import cache
from typing import Any

from bomgen.core.yaml_source import own
from bomgen.serve.workspace import Refused
from bomgen.workflow.starters import designs, nearest_designs, started_from

NAME = "my-{design}"
"""The name of a plan that starts from a design."""


@cache
def gallery() -> list[dict[str, Any]]:
    """Return name and title of each design, and the picture that the page has of it."""
    return [
        {"name": name, "title": str(own(path, path.name).data.get("title", name)), "picture": f"gallery/{name}.svg"}
        for name, path in designs().items()
    ]


def open_design(name: str) -> dict[str, Any]:
    """Return a new plan that starts from a design. Raises Refused for an unknown one."""
    if name not in designs():
        raise Refused(f"no design '{name}'; did you mean {' or '.join(nearest_designs(name)) or 'another'}?")
    plan = NAME.format(design=name)
    return {"path": f"{plan}.yaml", "text": started_from(name, plan), "version": ""}

"""The designs that bomgen carries, as what a new plan can start from, each with a drawing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from bomgen.core.document import Drawing
from bomgen.core.yaml_source import own
from bomgen.output.source import DocumentInputs
from bomgen.serve.engine import language_of, text_of
from bomgen.serve.workspace import Refused, Workspace
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.starters import designs, nearest_designs, started_from

NAME = "my-{design}"
"""The name of a plan that starts from a design."""
DRAWN, KINDS = ("network", "racks", "serving", "sizing"), ("drawing", "racks")
"""The chapters that may have a drawing of a design, and the kinds that are shown rather than a chart."""


@cache
def gallery() -> list[dict[str, Any]]:
    """Return name and title of each design."""
    return [
        {"name": name, "title": str(own(path, path.name).data.get("title", name))} for name, path in designs().items()
    ]


def open_design(name: str) -> dict[str, Any]:
    """Return a new plan that starts from a design. Raises Refused for an unknown one."""
    if name not in designs():
        raise Refused(f"no design '{name}'; did you mean {' or '.join(nearest_designs(name)) or 'another'}?")
    plan = NAME.format(design=name.lower())
    return {"path": f"{plan}.yaml", "text": started_from(name, plan), "version": ""}


def picture(workspace: Workspace, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the drawing of a design as the report has it: of its network, else of a rack, else its first chart."""
    opened, words = open_design(text_of(request, "name")), language_of(request)
    report = work_out(workspace.plan_file(opened["path"], opened["text"]))
    sections = DocumentInputs(report, (), words).chapters(DRAWN).sections
    drawings = [drawing for section in sections for drawing in section.drawings]
    return {"svg": min(drawings, key=_place).svg if drawings else ""}


def _place(drawing: Drawing) -> int:
    kind = drawing.id.partition("-")[0]
    return KINDS.index(kind) if kind in KINDS else len(KINDS)

"""What a request asks about: its plan, and the language of the answer."""

from __future__ import annotations

from bomgen.core.language import Language, language
from bomgen.core.messages import ENGLISH
from bomgen.core.resources import languages
from bomgen.serve.workspace import Refused, Request, Workspace, text_of
from bomgen.workflow.plan_files import PlanFile


def plan_of(workspace: Workspace, request: Request) -> PlanFile:
    """Return the plan of a request. Raises Refused, and PlanErrors for text that no file can hold."""
    return workspace.plan_file(text_of(request, "path"), text_of(request, "text"))


def language_of(request: Request, otherwise: str = ENGLISH) -> Language:
    """Return the language of a request. Raises Refused for an unknown one."""
    code = request.get("language") or otherwise
    if code not in languages():
        raise Refused(f"no language '{code}'; there are {', '.join(languages())}")
    return language(code)

"""bomgen: bills of materials for AI clusters from a short YAML plan.

`from bomgen import build` is the way in for notebooks and services; docs/library.md describes it. What it needs is
imported when it is first used, so that `import bomgen` costs nothing.
"""

from importlib import import_module
from sys import modules
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bomgen.core.diagnostics import OutputError, PlanErrors, Problem
    from bomgen.core.jobs import Stopped
    from bomgen.workflow.library import Result, build, check, diff, find_parts, search
    from bomgen.xray.contents import inspect_bill

__all__ = [
    "OutputError",
    "PlanErrors",
    "Problem",
    "Result",
    "Stopped",
    "__version__",
    "build",
    "check",
    "diff",
    "find_parts",
    "inspect_bill",
    "search",
]

__version__ = "0.1.0"

_MODULES = {
    **dict.fromkeys(("Result", "build", "check", "diff", "find_parts", "search"), "workflow.library"),
    "inspect_bill": "xray.contents",
    "OutputError": "core.diagnostics",
    "PlanErrors": "core.diagnostics",
    "Problem": "core.diagnostics",
    "Stopped": "core.jobs",
}
"""The module of each name that others may rely on."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'bomgen' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(f"bomgen.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


class _Interrupts(ModuleType):
    """The module that `Stopped` had in version 0.1; `from bomgen.interrupts import Stopped` goes on working."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("bomgen.core.jobs"), name)


modules["bomgen.interrupts"] = _Interrupts("bomgen.interrupts")

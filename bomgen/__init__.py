"""bomgen: bills of materials for AI clusters from a short YAML plan.

`from bomgen import build` is the way in for notebooks and services; docs/library.md describes it. What it needs is
imported when it is first used, so that `import bomgen` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bomgen.library import Result, build, check
    from bomgen.outputs import OutputError
    from bomgen.problems import PlanErrors, Problem

__all__ = ["OutputError", "PlanErrors", "Problem", "Result", "__version__", "build", "check"]

__version__ = "0.1.0"

_ROOMS = {
    "build": "library",
    "check": "library",
    "Result": "library",
    "OutputError": "outputs",
    "PlanErrors": "problems",
    "Problem": "problems",
}
"""The room of each name that others may rely on."""


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'bomgen' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module(f"bomgen.{_ROOMS[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})

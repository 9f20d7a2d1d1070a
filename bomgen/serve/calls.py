"""The calls of the page by name: what answers each, and whether it is one that takes long."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from bomgen.serve.problems import failure

if TYPE_CHECKING:
    from bomgen.serve.workspace import Workspace

CANCELLED_STATUS = 499
"""Status of a call that a newer one has ended; HTTP has none, and this is the one that servers use."""
CANCELLED = failure(CANCELLED_STATUS, "cancelled", "ended before there was an answer")
INTERNAL = "internal"
"""The error of a call that ended the process."""
OUT_OF_MEMORY = "out-of-memory"
"""The error of a call that needs more memory than is left."""


class Call(NamedTuple):
    """A call of the page, whose module is loaded with the first one: most pages only build."""

    module: str
    name: str
    long: bool = False
    """Whether it may take long: it has a process of its own, and its progress is reported."""

    def __call__(self, workspace: Workspace, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of the call."""
        found: dict[str, Any] = getattr(import_module(f"bomgen.serve.{self.module}"), self.name)(workspace, request)
        return found


CALLS = {
    "check": Call("engine", "check"),
    "build": Call("engine", "build"),
    "complete": Call("completion", "complete"),
    "formats": Call("downloads", "formats"),
    "form": Call("form", "form"),
    "space": Call("searching", "space"),
    "set": Call("edits", "set_values"),
    "picture": Call("tabs", "picture", long=True),
    "prices": Call("received", "prices", long=True),
    "xray": Call("received", "xray", long=True),
    "apply": Call("received", "apply", long=True),
    "search": Call("searching", "search", long=True),
    "download": Call("downloads", "download", long=True),
    "compare": Call("tabs", "compare_plans", long=True),
    "share": Call("downloads", "share", long=True),
}
"""The calls that work on plans; those that only read or write a file need no process (server.py)."""

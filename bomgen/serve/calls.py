"""The calls of the page by name: what answers each, what is sent with it, and whether it is one that takes long."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from bomgen.serve import requests
from bomgen.serve.problems import failure
from bomgen.serve.workspace import Request, Workspace

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
    sent: type[requests.Sent]
    """The fields of its request."""
    long: bool = False
    """Whether it may take long: it has a process of its own, and its progress is reported."""

    def __call__(self, workspace: Workspace, request: Request) -> dict[str, Any]:
        """Return the result of the call."""
        found: dict[str, Any] = getattr(import_module(f"bomgen.serve.{self.module}"), self.name)(workspace, request)
        return found


CALLS = {
    "check": Call("engine", "check", requests.Plan),
    "build": Call("engine", "build", requests.Build),
    "complete": Call("completion", "complete", requests.Complete),
    "formats": Call("downloads", "formats", requests.Plan),
    "form": Call("form", "form", requests.Form),
    "space": Call("searching", "space", requests.Space),
    "set": Call("edits", "set_values", requests.Set),
    "picture": Call("tabs", "picture", requests.Picture, long=True),
    "prices": Call("received", "prices", requests.Prices, long=True),
    "xray": Call("received", "xray", requests.Bill, long=True),
    "apply": Call("received", "apply", requests.Apply, long=True),
    "search": Call("searching", "search", requests.Search, long=True),
    "download": Call("downloads", "download", requests.Download, long=True),
    "compare": Call("tabs", "compare_plans", requests.Compare, long=True),
    "share": Call("downloads", "share", requests.Plan, long=True),
}
"""The calls that work on plans; those that only read or write a file need no process (server.py)."""

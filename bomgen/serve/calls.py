"""The calls of the page by name: what answers each, and whether it is one that takes long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bomgen.serve import engine
from bomgen.serve.completion import complete
from bomgen.serve.workspace import Workspace


class Call(NamedTuple):
    """A call of the page."""

    function: Callable[[Workspace, Mapping[str, Any]], dict[str, Any]]
    long: bool = False
    """Whether it may take long: it has a process of its own, and its progress is reported."""


CALLS = {
    "check": Call(engine.check),
    "build": Call(engine.build),
    "complete": Call(complete),
    "formats": Call(engine.formats),
    "download": Call(engine.download, long=True),
    "compare": Call(engine.compare_plans, long=True),
    "share": Call(engine.share, long=True),
}
"""The calls that work on plans; those that only read or write a file need no process (server.py)."""

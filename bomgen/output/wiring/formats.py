"""The wiring in formats that other programs read: one module a format, found by its name.

A module has `ABOUT`, what it is in a few words; `BINARY`, whether a terminal cannot show it; `SEVERAL_FILES`;
`ONE_FABRIC`, whether it holds a single fabric; and `write(wiring, out, progress)`, where `out` is a binary stream, or
for several files the path of the one that is named, beside which the others are laid.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

Progress = Callable[[int], None]
"""Told how many cables were written since the last time."""

HELPERS = ("columns", "formats", "subnet")
"""Modules of this folder that are no format."""


class Unsuitable(Exception):
    """A format cannot say what it is given; the message says what would be right."""


def formats() -> list[str]:
    """The names of all formats."""
    return sorted(module.name for module in iter_modules([str(Path(__file__).parent)]) if module.name not in HELPERS)


def format_of(name: str) -> Any:
    """The module of a format. Raises KeyError when there is none."""
    if name not in formats():
        raise KeyError(name)
    return import_module(f"bomgen.output.wiring.{name}")


def about(name: str) -> str:
    """What a format is in a few words, read from its source: its module loads libraries that help need not wait for."""
    spec = find_spec(f"bomgen.output.wiring.{name}")
    if spec is None or spec.origin is None:
        raise KeyError(name)
    for statement in ast.parse(Path(spec.origin).read_text("utf-8")).body:
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", None) == "ABOUT":
            return str(ast.literal_eval(statement.value))
    raise KeyError(name)

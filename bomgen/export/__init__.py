"""The wiring in formats that other programs read: one module a format, found by its name.

A module has `ABOUT`, what it is in a few words; `BINARY`, whether a terminal cannot show it; `SEVERAL_FILES`; and
`write(wiring, out, progress)`, where `out` is a binary stream, or for several files the path of the one that is named,
beside which the others are laid.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

Progress = Callable[[int], None]
"""Told how many cables were written since the last time."""

HELPERS = ("columns",)
"""Modules of this folder that are no format."""


def formats() -> list[str]:
    """The names of all formats."""
    return sorted(module.name for module in iter_modules(__path__) if module.name not in HELPERS)


def format_of(name: str) -> Any:
    """The module of a format. Raises KeyError when there is none."""
    if name not in formats():
        raise KeyError(name)
    return import_module(f"bomgen.export.{name}")

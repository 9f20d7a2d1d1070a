"""The wiring in formats that other programs read: one module a format, found by its name (output/registry.py).

A module has `ABOUT`, what it is in a few words; `BINARY`, whether a terminal cannot show it; `SEVERAL_FILES`;
`ONE_FABRIC`, whether it holds a single fabric; and `write(wiring, out, progress)`, where `out` is a binary stream, or
for several files the path of the one that is named, beside which the others are laid.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int], None]
"""Told how many cables were written since the last time."""


class Unsuitable(Exception):
    """A format cannot say what it is given; the message says what would be right."""

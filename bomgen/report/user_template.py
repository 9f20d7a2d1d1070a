"""A template of the user's own, as data."""

from __future__ import annotations

from typing import NamedTuple

from bomgen.core.provenance import Mark


class Template(NamedTuple):
    """A template that was read: the name of the file it writes, what messages call it, and its text."""

    name: str
    file: str
    text: str
    mark: Mark
    """Where the plan, or the command line, names it."""

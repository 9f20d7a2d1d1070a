"""A plan file, and the paths in it."""

from __future__ import annotations

import errno
import os
from pathlib import Path as FilePath
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import FileName, Mark
from bomgen.core.readable_files import read_sent, refuse_git_files
from bomgen.core.yaml_source import SUFFIXES

LOCK, LOCK_KEY = ".lock", "bomgen_lock"
"""Suffix of a lock, and the key that says its version and that it is one."""
NO_FILE = "<"
"""The beginning of names of plans that are no files, such as <stdin>."""
MAX_PATH = 1000
"""Characters of a path in a plan; file systems take about four times as many."""


class PlanFile(NamedTuple):
    """The text of a plan, what messages call it, and where the paths in it start and end."""

    name: str
    content: bytes
    folder: FilePath
    root: FilePath
    lock: tuple[str, bytes] | None = None
    """Name and bytes of its lock; None where there is none."""
    revision: str = ""
    """What its name begins with where it is of a git revision, such as `main:`."""
    unwritten: tuple[tuple[FilePath, bytes], ...] = ()
    """Files that are to be written beside it: they stand for those on the disk."""

    @property
    def recorded(self) -> str:
        """What results call the plan: its path from the root; what is no file has its name."""
        if self.name.startswith(NO_FILE):
            return self.name
        place = self.folder / FilePath(self.name.removeprefix(self.revision)).name
        return place.relative_to(self.root).as_posix() if place.is_relative_to(self.root) else place.name

    def shown(self, path: str) -> FileName:
        """Return what messages and results call a file, by its path from the plan's folder."""
        folder = os.path.dirname(self.name.removeprefix(self.revision))
        recorded = os.path.normpath(os.path.join(os.path.dirname(self.recorded), path)).replace(os.sep, "/")
        return FileName(self.revision + os.path.normpath(os.path.join(folder, path)), recorded)

    def given(self, shown: str) -> str:
        """The path from the plan's folder of a file that messages call so."""
        folder = os.path.dirname(self.name.removeprefix(self.revision))
        return os.path.relpath(shown.removeprefix(self.revision), folder or ".")


def lock_name(path: str) -> str:
    """The path of the lock of a plan: beside it, `plan.lock` for `plan.yaml`."""
    place = FilePath(path)
    return str(place.with_suffix(LOCK) if place.suffix in SUFFIXES else place.with_name(place.name + LOCK))


def real(place: FilePath) -> FilePath:
    """Where links lead to; of links in a circle, which `resolve` fails on, one of them."""
    return FilePath(os.path.realpath(place))


def content_of(place: FilePath) -> bytes:
    """The bytes of a file that a plan names.

    Raises OSError for what cannot be read, or is git's own, or never ends, as a pipe, or is larger than is of use.
    """
    refuse_git_files(place)
    if place.exists() and not place.is_file() and not place.is_dir():
        raise OSError(errno.EINVAL, "No regular file", str(place))
    return read_sent(place)


def inside(file: PlanFile, given: str, mark: Mark, path: str) -> FilePath:
    """A path of the plan as a real one. Raises PlanErrors when it leads out of the plan's root."""
    if "\0" in given or len(given) > MAX_PATH:
        message = "not a path; give one relative to the plan"
        raise PlanErrors([Problem(mark, "error", message, "no-file", path)])
    place = real(file.folder / given)
    if not place.is_relative_to(file.root):
        message = f"'{given}' leads out of the plan's folder tree; move it below, or widen it with --root"
        raise PlanErrors([Problem(mark, "error", message, "outside-root", path)])
    return place

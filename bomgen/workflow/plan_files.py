"""A plan file, the paths in it, and the plans that it extends."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path as FilePath
from typing import NamedTuple

from bomgen.core import progress
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import FileName, Mark
from bomgen.core.safety import read_sent, refuse_git_files
from bomgen.core.yaml_source import MAX_BYTES, SUFFIXES

LOCK, LOCK_KEY = ".lock", "bomgen_lock"
"""Suffix of a lock, and the key that says its version and that it is one."""
STANDARD_INPUT, STANDARD_INPUT_NAME = "-", "<stdin>"
NO_FILE = "<"
"""The beginning of names of plans that are no files, such as <stdin>."""
MAX_PATH = 1000
"""Characters of a path in a plan; file systems take about four times as many."""

Contents = dict[FilePath, bytes | OSError]
"""What files hold, by their real paths, or why they cannot be read."""


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


def open_plan(path: str, root: str | None) -> PlanFile:
    """The plan at a path, `-` for standard input.

    Raises OSError, with its name, when it or its lock cannot be read.
    """
    if path == STANDARD_INPUT:
        folder = FilePath.cwd()
        if sys.stdin is None:
            raise OSError(errno.EBADF, "standard input is closed")
        content = progress.read(STANDARD_INPUT_NAME, sys.stdin.buffer.read(MAX_BYTES + 1))
        return PlanFile(STANDARD_INPUT_NAME, content, folder, FilePath(root).resolve() if root else folder)
    place = FilePath(path)
    content = progress.read(path, _limited(place))
    folder = place.resolve().parent
    widest = FilePath(root).resolve() if root else _checkout(folder)
    _refuse_outside(place, FilePath(root).resolve() if root else _checkout(place.parent.resolve()))
    pinned = FilePath(lock_name(path))
    _refuse_outside(pinned, widest)
    lock = (str(pinned), progress.read(str(pinned), _limited(pinned))) if pinned.is_file() else None
    return PlanFile(path, content, folder, widest, lock)


def _refuse_outside(place: FilePath, tree: FilePath) -> None:
    """Raise OSError for a link that leads out of a folder tree."""
    if place.is_symlink() and not real(place).is_relative_to(tree):
        raise OSError(errno.EXDEV, "The link leads out of the plan's folder tree", str(place))


def _limited(place: FilePath) -> bytes:
    """The bytes of a plan or lock, of a larger file than is read a little more than is: its size is refused there."""
    refuse_git_files(place)
    with place.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _checkout(folder: FilePath) -> FilePath:
    """The git checkout that a folder is in, else the folder itself."""
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)


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


def read_once(contents: Contents, place: FilePath, shown: str) -> bytes:
    """Return the bytes of a file, which is opened where `contents` lacks it. Raises OSError as `content_of`."""
    if place not in contents:
        try:
            contents[place] = progress.read(shown, content_of(place))
        except OSError as error:
            contents[place] = error
    found = contents[place]
    if isinstance(found, OSError):
        raise found
    return found


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

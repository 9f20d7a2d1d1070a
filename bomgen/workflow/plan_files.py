"""A plan file, the paths in it, and the plans that it extends."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from bomgen.core import progress
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import FileName, Mark
from bomgen.core.safety import read_sent, refuse_git_files
from bomgen.core.yaml_source import MAX_BYTES, SUFFIXES, Path, Source, decoded, merged, override, read
from bomgen.pricing.alternatives import ALTERNATIVES

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
    file_path = FilePath(path)
    content = progress.read(path, _limited(file_path))
    folder = file_path.resolve().parent
    widest = FilePath(root).resolve() if root else _checkout(folder)
    _refuse_outside(file_path, FilePath(root).resolve() if root else _checkout(file_path.parent.resolve()))
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
    file_path = FilePath(path)
    return str(
        file_path.with_suffix(LOCK) if file_path.suffix in SUFFIXES else file_path.with_name(file_path.name + LOCK)
    )


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


# base plans ---------------------------------------------------------------------------------------------------------
# Plans that share parts: `extends` names files whose values hold where the plan says nothing.
#
# The files are merged before anything else looks at the plan, and every value keeps its mark, so that no later stage
# knows of files. For the same reason the paths of a base are rewritten relative to the plan here.

KEY = "extends"
MAX_BASES = 20
"""Files that a plan may take values from, by way of others too."""
BOOKS: Path = ("quote", "price_book")
COST_BOOKS: Path = ("quote", "cost_book")
LOGO: Path = ("quote", "vendor", "logo")
TEMPLATES: Path = ("templates",)
PATHS: tuple[Path, ...] = (("catalog",), BOOKS, COST_BOOKS, LOGO, TEMPLATES)
"""The keys whose values are paths of files: one, or a list."""


def extended(file: PlanFile, settings: Sequence[str], contents: Contents) -> Source:
    """The data of a plan laid over that of the files it extends.

    Paths in these are relative to the file that they stand in; here they are made relative to the plan. A setting of
    `extends` itself decides which files these are; no other setting is looked at. Their bytes are put into `contents`.

    Raises PlanErrors when the plan or one of these files is no mapping, cannot be read, or extends itself.
    """
    name = FileName(file.name, file.recorded)
    source = _mapping(file.content, name, "a mapping with `bomgen: 1`, `name:` and `cluster:` must stand here")
    chosen = [setting for setting in settings if setting.partition("=")[0] == KEY]
    if chosen:
        source = override(source, chosen)
    own = (file.folder / FilePath(file.name).name).resolve()
    return _over_bases(file, source, PurePosixPath("."), {own: name}, contents)


def _over_bases(
    file: PlanFile, source: Source, folder: PurePosixPath, above: dict[FilePath, str], contents: Contents
) -> Source:
    """A source over the files that it extends; `folder` is its own relative to the plan, `above` who asked for it."""
    under: Source | None = None
    for path, given in _named(source):
        mark = source.mark(path)
        place = inside(file, str(folder / given), mark, KEY)
        shown = file.shown(str(folder / given))
        if place in above:
            message = f"'{given}' extends itself, by way of {', '.join(above.values())}; remove one of them"
            raise PlanErrors([Problem(mark, "error", message, KEY, KEY)])
        try:
            content = read_once(contents, place, shown)
        except OSError as error:
            message = f"the plan '{given}' cannot be read ({error.strerror}); give its path relative to this file"
            raise PlanErrors([Problem(mark, "error", message, "no-file", KEY)]) from None
        base = _mapping(content, shown, "a mapping of keys that plans have must stand here")
        at = PurePosixPath(os.path.normpath(folder / given))
        base = _over_bases(file, base, at.parent, above | {place: shown}, contents)
        base = _relative(base, at.parent)._replace(files=(*base.files, (str(at), content)))
        if len(base.files) > MAX_BASES or (under and len(under.files) + len(base.files) > MAX_BASES):
            message = f"values from more than {MAX_BASES} files; put some of them together"
            raise PlanErrors([Problem(mark, "error", message, KEY, KEY)])
        under = merged(under, base) if under else base
    return merged(under, source) if under else source


def _named(source: Source) -> Iterator[tuple[Path, str]]:
    """The files that a source extends, each with its place; what is no text is left to the schema."""
    named: Any = source.data.get(KEY)
    if isinstance(named, str):
        yield (KEY,), named
    elif isinstance(named, list):
        yield from (((KEY, at), given) for at, given in enumerate(named) if isinstance(given, str))


def _mapping(content: bytes, name: str, wanted: str) -> Source:
    source = read(decoded(content, name), name)
    if not isinstance(source.data, dict):
        raise PlanErrors([Problem(source.mark(()), "error", f"no plan: {wanted}", "type")])
    return source


def _relative(base: Source, folder: PurePosixPath) -> Source:
    """A base whose own paths, relative to its folder, are made relative to the plan; those of its bases already are."""
    if str(folder) == ".":
        return base
    own = base.values[()].file
    for path in PATHS:
        holder: Any = base.data
        for step in path[:-1]:
            holder = holder.get(step) if isinstance(holder, dict) else None
        value = holder.get(path[-1]) if isinstance(holder, dict) else None
        if value is None or base.mark(path).file != own:
            continue
        holder[path[-1]] = _all_moved(value, folder)
    if base.mark(ALTERNATIVES).file == own:
        for settings in _settings_of(base.data):
            for key in settings:
                if any(tuple(key.split("."))[: len(path)] == path for path in PATHS):
                    settings[key] = _all_moved(settings[key], folder)
    return base


def _settings_of(data: Any) -> Iterator[dict[str, Any]]:
    """What the alternatives of a plan set; what is none is left to the schema."""
    quoted = data.get(ALTERNATIVES[0])
    given = quoted.get(ALTERNATIVES[1]) if isinstance(quoted, dict) else None
    for alternative in given if isinstance(given, list) else ():
        settings = alternative.get("set") if isinstance(alternative, dict) else None
        if isinstance(settings, dict):
            yield settings


def _all_moved(given: Any, folder: PurePosixPath) -> Any:
    return [_moved(each, folder) for each in given] if isinstance(given, list) else _moved(given, folder)


def _moved(given: Any, folder: PurePosixPath) -> Any:
    """A path relative to a folder, from where the folder itself is named."""
    return os.path.normpath(folder / given) if isinstance(given, str) and given else given

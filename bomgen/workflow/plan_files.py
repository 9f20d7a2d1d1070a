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
from bomgen.pricing.price_book import INDICATIVE

LOCK, LOCK_KEY = ".lock", "bomgen_lock"
"""Suffix of a lock file, and the key with its format version."""
STANDARD_INPUT, STANDARD_INPUT_NAME = "-", "<stdin>"
NO_FILE = "<"
"""Prefix of the names of plans that are not files, such as <stdin>."""
MAX_PATH = 1000
"""Maximum length of a path in a plan; file systems allow about four times as much."""
MOST_FOLDERS = 10_000
"""Folders that are searched for plans."""

Contents = dict[FilePath, bytes | OSError]
"""Contents of files by resolved path, or the reason why one cannot be read."""


class PlanFile(NamedTuple):
    """The text of a plan, its name in messages, and the folders that bound its relative paths."""

    name: str
    content: bytes
    folder: FilePath
    root: FilePath
    lock: tuple[str, bytes] | None = None
    """Name and contents of its lock; None if there is none."""
    revision: str = ""
    """Prefix of its name if it comes from a git revision, such as `main:`."""
    unwritten: tuple[tuple[FilePath, bytes], ...] = ()
    """Files about to be written next to it, which replace those on disk."""

    @property
    def recorded(self) -> str:
        """Return the plan's path in results: from the root, or its name if it is not a file."""
        if self.name.startswith(NO_FILE):
            return self.name
        path = self.folder / FilePath(self.name.removeprefix(self.revision)).name
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name

    def shown(self, path: str) -> FileName:
        """Return the name of a file in messages and results, from its path relative to the plan."""
        folder = os.path.dirname(self.name.removeprefix(self.revision))
        recorded = os.path.normpath(os.path.join(os.path.dirname(self.recorded), path)).replace(os.sep, "/")
        return FileName(self.revision + os.path.normpath(os.path.join(folder, path)), recorded)

    def relative(self, shown: str) -> str:
        """Return the path relative to the plan of a file, from its name in messages."""
        folder = os.path.dirname(self.name.removeprefix(self.revision))
        return os.path.relpath(shown.removeprefix(self.revision), folder or ".")


def open_plan(path: str, root: str | None) -> PlanFile:
    """Return the plan at a path, or from standard input for `-`.

    Raises OSError, with the file name, if the plan or its lock cannot be read.
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
    widest = FilePath(root).resolve() if root else checkout(folder)
    _refuse_outside(file_path, FilePath(root).resolve() if root else checkout(file_path.parent.resolve()))
    pinned = FilePath(lock_name(path))
    _refuse_outside(pinned, widest)
    lock = (str(pinned), progress.read(str(pinned), _limited(pinned))) if pinned.is_file() else None
    return PlanFile(path, content, folder, widest, lock)


def _refuse_outside(path: FilePath, tree: FilePath) -> None:
    """Raise OSError for a link that leads out of the root."""
    if path.is_symlink() and not real(path).is_relative_to(tree):
        raise OSError(errno.EXDEV, "The link leads out of the plan's folder tree", str(path))


def _limited(path: FilePath) -> bytes:
    """Return the bytes of a plan or lock, of an oversized file just enough for the reader to reject its size."""
    refuse_git_files(path)
    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def checkout(folder: FilePath) -> FilePath:
    """Return the git checkout that contains a folder, or the folder itself."""
    return next((path for path in (folder, *folder.parents) if (path / ".git").exists()), folder)


def lock_name(path: str) -> str:
    """Return the path of a plan's lock: `plan.lock` next to `plan.yaml`."""
    file_path = FilePath(path)
    return str(
        file_path.with_suffix(LOCK) if file_path.suffix in SUFFIXES else file_path.with_name(file_path.name + LOCK)
    )


def real(path: FilePath) -> FilePath:
    """Return a path with links resolved; for circular links, one of them."""
    return FilePath(os.path.realpath(path))


def content_of(path: FilePath) -> bytes:
    """Return the bytes of a file that a plan names.

    Raises OSError for a file that cannot be read, belongs to git, is not a regular file, or is too large.
    """
    refuse_git_files(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "No regular file", str(path))
    return read_sent(path)


def find_yaml_files(folder: FilePath) -> tuple[list[FilePath], bool]:
    """Return the YAML files below a folder, without hidden ones, and whether every folder was searched."""
    paths = list[FilePath]()
    for number, (above, folders, names) in enumerate(os.walk(folder)):
        if number >= MOST_FOLDERS:
            return paths, False
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths += (FilePath(above, name) for name in names if name.endswith(SUFFIXES) and not name.startswith("."))
    return paths, True


def read_once(contents: Contents, path: FilePath, shown: str) -> bytes:
    """Return the bytes of a file, read only if `contents` lacks it. Raises OSError as `content_of`."""
    if path not in contents:
        try:
            contents[path] = progress.read(shown, content_of(path))
        except OSError as error:
            contents[path] = error
    content = contents[path]
    if isinstance(content, OSError):
        raise content
    return content


def inside(file: PlanFile, name: str, mark: Mark, path: str) -> FilePath:
    """Return the resolved form of a path in the plan. Raises PlanErrors if it leads out of the plan's root."""
    if "\0" in name or len(name) > MAX_PATH:
        message = "not a path; give one relative to the plan"
        raise PlanErrors([Problem(mark, "error", message, "no-file", path)])
    target = real(file.folder / name)
    if not target.is_relative_to(file.root):
        message = f"'{name}' leads out of the plan's folder tree; move it below, or widen it with --root"
        raise PlanErrors([Problem(mark, "error", message, "outside-root", path)])
    return target


# base plans ---------------------------------------------------------------------------------------------------------
# Plans with common parts: `extends` names files whose values apply unless the plan sets them.
#
# The files are merged before anything else reads the plan, and every value keeps its mark, so that later stages need
# not know about files. For the same reason the paths of a base are rewritten relative to the plan here.

KEY = "extends"
MAX_BASES = 20
"""Maximum number of files that a plan extends, directly or indirectly."""
BOOKS: Path = ("quote", "price_book")
COST_BOOKS: Path = ("quote", "cost_book")
CURRENCY: Path = ("quote", "currency")
SELL: Path = ("quote", "sell")
LOGO: Path = ("quote", "vendor", "logo")
TEMPLATES: Path = ("templates",)
PATHS: tuple[Path, ...] = (("catalog",), BOOKS, COST_BOOKS, LOGO, TEMPLATES)
"""Keys whose values are file paths: one, or a list."""


def extended(file: PlanFile, settings: Sequence[str], contents: Contents) -> Source:
    """Return the data of a plan merged over that of the files it extends.

    Paths in those files are relative to them and are made relative to the plan. Of the settings, only `extends` is
    applied, because it selects these files. Their bytes are added to `contents`.

    Raises PlanErrors if the plan or one of these files is not a mapping, cannot be read, or extends itself.
    """
    name = FileName(file.name, file.recorded)
    source = _mapping(file.content, name, "a mapping with `bomgen: 1`, `name:` and `cluster:`")
    chosen = [setting for setting in settings if setting.partition("=")[0] == KEY]
    if chosen:
        source = override(source, chosen)
    plan_path = (file.folder / FilePath(file.name).name).resolve()
    return _over_bases(file, source, PurePosixPath("."), {plan_path: name}, contents)


def set_charge_currencies(under: Source, assumed: str | None = None) -> None:
    """Set the currency of a plan's charges before its quote gets another one; `assumed` if the quote states none."""
    quote = under.data.get("quote")
    quote = quote if isinstance(quote, dict) else {}
    currency, charges = quote.get("currency", assumed), quote.get("charges")
    for at, charge in enumerate(charges if currency and isinstance(charges, list) else ()):
        if isinstance(charge, dict) and "price" in charge and "currency" not in charge:
            path: Path = ("quote", "charges", at, "currency")
            charge["currency"], under.values[path] = currency, under.mark(path)


def _over_bases(
    file: PlanFile, source: Source, folder: PurePosixPath, above: dict[FilePath, str], contents: Contents
) -> Source:
    """Return a source merged over its bases; `folder` is relative to the plan, `above` are the files extending it."""
    under: Source | None = None
    for path, name in _named(source):
        mark = source.mark(path)
        target = inside(file, str(folder / name), mark, KEY)
        shown = file.shown(str(folder / name))
        if target in above:
            message = f"'{name}' extends itself, by way of {', '.join(above.values())}; remove one of them"
            raise PlanErrors([Problem(mark, "error", message, KEY, KEY)])
        try:
            content = read_once(contents, target, shown)
        except OSError as error:
            message = f"the plan '{name}' cannot be read ({error.strerror}); give its path relative to this file"
            raise PlanErrors([Problem(mark, "error", message, "no-file", KEY)]) from None
        base = _mapping(content, shown, "a mapping of keys of a plan")
        at = PurePosixPath(os.path.normpath(folder / name))
        base = _over_bases(file, base, at.parent, above | {target: shown}, contents)
        base = _relative(base, at.parent)._replace(files=(*base.files, (str(at), content)))
        if len(base.files) > MAX_BASES or (under and len(under.files) + len(base.files) > MAX_BASES):
            message = f"values from more than {MAX_BASES} files; put some of them together"
            raise PlanErrors([Problem(mark, "error", message, KEY, KEY)])
        if under and CURRENCY in base.values:
            set_charge_currencies(under)
        under = merged(under, base) if under else base
    if under is None:
        return source
    if CURRENCY in source.values:
        set_charge_currencies(under)
    return merged(under, source)


def _named(source: Source) -> Iterator[tuple[Path, str]]:
    """Yield the files that a source extends, each with its place; values other than text are left to the schema."""
    named: Any = source.data.get(KEY)
    if isinstance(named, str):
        yield (KEY,), named
    elif isinstance(named, list):
        yield from (((KEY, at), name) for at, name in enumerate(named) if isinstance(name, str))


def _mapping(content: bytes, name: str, wanted: str) -> Source:
    source = read(decoded(content, name), name)
    if not isinstance(source.data, dict):
        raise PlanErrors([Problem(source.mark(()), "error", f"no plan; write {wanted}", "type")])
    return source


def _relative(base: Source, folder: PurePosixPath) -> Source:
    """Return a base whose own paths are made relative to the plan; those of its bases already are."""
    if str(folder) == ".":
        return base
    file = base.values[()].file
    for path in PATHS:
        holder: Any = base.data
        for step in path[:-1]:
            holder = holder.get(step) if isinstance(holder, dict) else None
        value = holder.get(path[-1]) if isinstance(holder, dict) else None
        if value is None or base.mark(path).file != file:
            continue
        holder[path[-1]] = _all_moved(value, folder)
    if base.mark(ALTERNATIVES).file == file:
        for settings in _settings_of(base.data):
            for key in settings:
                if any(tuple(key.split("."))[: len(path)] == path for path in PATHS):
                    settings[key] = _all_moved(settings[key], folder)
    return base


def _settings_of(data: Any) -> Iterator[dict[str, Any]]:
    """Yield the settings of a plan's alternatives; invalid ones are left to the schema."""
    quoted = data.get(ALTERNATIVES[0])
    alternatives = quoted.get(ALTERNATIVES[1]) if isinstance(quoted, dict) else None
    for alternative in alternatives if isinstance(alternatives, list) else ():
        settings = alternative.get("set") if isinstance(alternative, dict) else None
        if isinstance(settings, dict):
            yield settings


def _all_moved(value: Any, folder: PurePosixPath) -> Any:
    return [_moved(item, folder) for item in value] if isinstance(value, list) else _moved(value, folder)


def _moved(value: Any, folder: PurePosixPath) -> Any:
    """Return a path in `folder` as a path relative to the plan; other values unchanged."""
    is_path = isinstance(value, str) and value and value != INDICATIVE
    return os.path.normpath(folder / value) if is_path else value

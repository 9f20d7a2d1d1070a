"""A plan file, the paths in it, and the plans that it extends: as they are, or at a git revision, `REV:PATH`.

The files of a revision are read from git; nothing is checked out and the checkout does not change. The files that the
plan names are written into an empty folder at the paths that they have in the checkout, so that the usual readers find
them.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from bomgen.core.diagnostics import PlanErrors, error_at
from bomgen.core.jobs import TimedOut, report_read, run_program
from bomgen.core.messages import suggestion
from bomgen.core.provenance import FileName, Mark
from bomgen.core.safety import read_sent, refuse_git_files
from bomgen.core.yaml_source import MAX_BYTES, SUFFIXES, Path, Source, decoded, merged, override, read, value_at
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
        content = report_read(STANDARD_INPUT_NAME, sys.stdin.buffer.read(MAX_BYTES + 1))
        return PlanFile(STANDARD_INPUT_NAME, content, folder, FilePath(root).resolve() if root else folder)
    file_path = FilePath(path)
    content = report_read(path, _limited(file_path))
    folder = file_path.resolve().parent
    widest = FilePath(root).resolve() if root else checkout(folder)
    _refuse_outside(file_path, FilePath(root).resolve() if root else checkout(file_path.parent.resolve()))
    pinned = FilePath(lock_name(path))
    _refuse_outside(pinned, widest)
    lock = (str(pinned), report_read(str(pinned), _limited(pinned))) if pinned.is_file() else None
    return PlanFile(path, content, folder, widest, lock)


def _refuse_outside(path: FilePath, tree: FilePath) -> None:
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
            contents[path] = report_read(shown, content_of(path))
        except OSError as error:
            contents[path] = error
    content = contents[path]
    if isinstance(content, OSError):
        raise content
    return content


def inside(file: PlanFile, name: str, mark: Mark, path: str) -> FilePath:
    """Return the resolved form of a path in the plan. Raises PlanErrors if it leads out of the plan's root."""
    if "\0" in name or len(name) > MAX_PATH:
        raise error_at(mark, "not a path; give one relative to the plan", "no-file", path)
    target = real(file.folder / name)
    if not target.is_relative_to(file.root):
        message = f"'{name}' leads out of the plan's folder tree; move it below, or widen it with --root"
        raise error_at(mark, message, "outside-root", path)
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
            raise error_at(mark, message, KEY, KEY)
        try:
            content = read_once(contents, target, shown)
        except OSError as error:
            message = f"the plan '{name}' cannot be read ({error.strerror}); give its path relative to this file"
            raise error_at(mark, message, "no-file", KEY) from None
        base = _mapping(content, shown, "a mapping of keys of a plan")
        at = PurePosixPath(os.path.normpath(folder / name))
        base = _over_bases(file, base, at.parent, above | {target: shown}, contents)
        base = _relative(base, at.parent)._replace(files=(*base.files, (str(at), content)))
        if len(base.files) > MAX_BASES or (under and len(under.files) + len(base.files) > MAX_BASES):
            raise error_at(mark, f"values from more than {MAX_BASES} files; put some of them together", KEY, KEY)
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
        raise error_at(source.mark(()), f"no plan; write {wanted}", "type")
    return source


def _relative(base: Source, folder: PurePosixPath) -> Source:
    """Return a base whose own paths are made relative to the plan; those of its bases already are."""
    if str(folder) == ".":
        return base
    file = base.values[()].file
    for path in PATHS:
        value = value_at(base.data, path)
        if value is not None and base.mark(path).file == file:
            value_at(base.data, path[:-1])[path[-1]] = _moved(value, folder)
    if base.mark(ALTERNATIVES).file == file:
        alternatives = value_at(base.data, ALTERNATIVES)  # invalid ones are left to the schema
        for alternative in alternatives if isinstance(alternatives, list) else ():
            settings = value_at(alternative, ("set",))
            for key in settings if isinstance(settings, dict) else ():
                if any(tuple(key.split("."))[: len(path)] == path for path in PATHS):
                    settings[key] = _moved(settings[key], folder)
    return base


def _moved(value: Any, folder: PurePosixPath) -> Any:
    """Return a path in `folder`, or a list of them, relative to the plan; other values unchanged."""
    if isinstance(value, list):
        return [_moved(item, folder) for item in value]
    is_path = isinstance(value, str) and value and value != INDICATIVE
    return os.path.normpath(folder / value) if is_path else value


MAX_REVISION_BYTES = 1 << 28
"""Maximum size of all files of a revision that are read for one plan."""
MAX_ROUNDS = 50
"""Maximum depth of files that name further files."""
SECONDS = 120
LINK = "120000"
_REVISION = re.compile(r"((?:[^:{]|\{[^}]*\})+):(.+)", re.DOTALL)
_SEPARATOR = re.compile(r"[/\\]")
_NO_NAMES = {".", "..", ".git"}
"""Names that no file or folder of a revision may have."""
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
"""Prefix of a Windows path with a drive letter."""
_CONFIGURED = ("core.quotePath=false", "core.fsmonitor=false", f"core.hooksPath={os.devnull}")
_OPTIONS = ("--no-pager", *(word for setting in _CONFIGURED for word in ("-c", setting)))
_VARIABLES = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
"""Environment for git; an untrusted checkout's configuration must not run programs or fetch missing files."""


class NoRevision(Exception):
    """A revision, or a file in it, does not exist; the message suggests what does."""


class Entry(NamedTuple):
    """A file of a revision."""

    mode: str
    id: str
    size: int


class Revision(NamedTuple):
    """The files of a commit, by their path from the root of the checkout."""

    name: str
    """Its name as the user wrote it."""
    folder: FilePath
    """The folder in which git runs."""
    prefix: str
    """Path of the current folder from the root of the checkout, with a trailing slash; empty in the root."""
    top: FilePath | None
    """The root of the checkout; None for a checkout without files."""
    files: dict[str, Entry]
    folders: frozenset[str]


def split_revision(text: str) -> tuple[str, str] | None:
    """Return the revision and the path of `REV:PATH`, or None for any other text."""
    match = None if _DRIVE.match(text) else _REVISION.fullmatch(text)
    return (match[1], match[2]) if match else None


def open_revision(name: str, folder: FilePath) -> Revision:
    """Return the files of a revision of the checkout that contains a folder.

    Raises NoRevision if there is no checkout, no such revision, or no git.
    """
    try:
        prefix = ask_git(folder, "rev-parse", "--show-prefix").decode().rstrip("\n")
        tops = ask_git(folder, "rev-parse", "--show-toplevel", fails=True).decode().rstrip("\n")
    except GitFailed:
        raise NoRevision(f"{folder} is in no git checkout, and there is no file of that name") from None
    try:
        commit = ask_git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        listed = ask_git(folder, "ls-tree", "-r", "-l", "-z", "--full-tree", commit.decode().strip())
    except GitFailed:
        refs = ask_git(folder, "for-each-ref", "--format=%(refname:short)", fails=True).decode().split()
        hint = suggestion(name, refs, "fetch it, or name another")
        raise NoRevision(f"there is no revision '{name}' in this checkout; {hint}") from None
    files = dict(_entries(listed))
    folders = {"", *(str(parent) for path in files for parent in list(PurePosixPath(path).parents)[:-1])}
    if unsafe := _unsafe(files, folders):
        raise NoRevision(f"revision '{name}' has a path that git does not check out, '{unsafe}'; name another")
    return Revision(name, folder, prefix, FilePath(tops) if tops else None, files, frozenset(folders))


def path_in(revision: Revision, name: str) -> str:
    """Return a path from the root of the checkout; `name` is tried from there first, then from the current folder.

    Raises NoRevision for a path that is not in the revision.
    """
    text = name if "\\" not in name or name in revision.files else name.replace("\\", "/")
    relative = posixpath.normpath(posixpath.join(revision.prefix, text))
    tried = [relative] if text.startswith(("./", "../")) else [posixpath.normpath(text), relative]
    if revision.top and FilePath(text).is_absolute() and FilePath(text).is_relative_to(revision.top):
        tried.append(FilePath(text).relative_to(revision.top).as_posix())
    for path in tried:
        if path in revision.files:
            return path
    if any(path in revision.folders for path in tried):
        raise NoRevision(f"'{name}' is a folder at {revision.name}; name a file in it")
    files = [path for path in revision.files if path.endswith((*SUFFIXES, ".json"))]
    hint = suggestion(text, files, "give its path from the root of the checkout")
    raise NoRevision(f"there is no file '{name}' at {revision.name}; {hint}")


def plan_file(
    revision: Revision, path: str, shown: str, folder: FilePath, settings: Sequence[str], root: str | None
) -> PlanFile:
    """Write a plan of a revision and the files that it names into an empty folder; `shown` is its name in messages.

    `settings` may name files too. Raises NoRevision if git does not return the files.
    """
    contents = dict(_read(revision, path, settings))
    folder = folder.resolve()
    texts = (*_texts(contents[path]), *_texts_of(settings))
    folders = {name for text in texts for name in _places(posixpath.dirname(path), text) if name in revision.folders}
    for name in folders:  # also those in which no file is read
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if revision.files[name].mode == LINK:
            target.symlink_to(content.decode("utf-8", "surrogateescape"))
        else:
            target.write_bytes(content)
    real = (folder / path).resolve()
    if not real.is_relative_to(folder) or not real.is_file():
        raise NoRevision(f"'{path}' at {revision.name} is a link to nothing in the checkout; name the file itself")
    file = PlanFile(shown, real.read_bytes(), real.parent, _root(revision, folder, root), revision=f"{revision.name}:")
    pinned = folder / lock_name(path)
    if not pinned.is_file() or not pinned.resolve().is_relative_to(folder):
        return file
    return file._replace(lock=(file.shown(pinned.name), pinned.read_bytes()))


def files_read(revision: Revision, path: str) -> set[str]:
    """Return the files of a revision that a plan may read: itself, its lock, and all files named, directly or not.

    Every text that is the path of a file counts. Raises NoRevision if git does not return the files.
    """
    return {name for name, _ in _read(revision, path, ())}


def _root(revision: Revision, folder: FilePath, root: str | None) -> FilePath:
    """Return the folder of the checkout that `--root` selects, or the whole checkout."""
    if root is None or revision.top is None:
        return folder
    wanted, top = FilePath(root).resolve(), revision.top.resolve()
    return folder / wanted.relative_to(top) if wanted.is_relative_to(top) else folder


def _read(revision: Revision, path: str, settings: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    folder = posixpath.dirname(path)
    wanted = {path, lock_name(path)} & revision.files.keys()
    for text in _texts_of(settings):
        wanted |= set(_files_at(revision, folder, text))
    done, total = set[str](), 0
    for _ in range(MAX_ROUNDS):
        fresh = sorted(wanted - done)
        if not fresh:
            return
        total += sum(revision.files[name].size for name in fresh)
        if total > MAX_REVISION_BYTES:
            raise NoRevision(f"the files that the plan names at {revision.name} have over {MAX_REVISION_BYTES} bytes")
        for name, content in read_contents(revision, fresh):
            yield name, content
            done.add(name)
            if revision.files[name].mode == LINK:
                target = content.decode("utf-8", "surrogateescape")
                wanted |= set(_files_at(revision, posixpath.dirname(name), target))
            elif name.endswith(SUFFIXES) or name == path:
                for text in _texts(content):
                    for base in {folder, posixpath.dirname(name)}:
                        wanted |= set(_files_at(revision, base, text))


def _files_at(revision: Revision, base: str, text: str) -> Iterator[str]:
    for path in _places(base, text):
        for name in (path, *(f"{path}{suffix}" for suffix in SUFFIXES)):
            if name in revision.files:
                yield name
        if path in revision.folders:
            below = f"{path}/" if path else ""
            yield from (name for name in revision.files if name.startswith(below) and name.endswith(SUFFIXES))


def _places(base: str, text: str) -> Iterator[str]:
    """Yield the paths from the root of the checkout that a text may stand for."""
    if "\0" in text or "\n" in text or not text.strip():
        return
    path = posixpath.normpath(posixpath.join(base, text))
    if not path.startswith(("../", "/")) and path != "..":
        yield "" if path == "." else path


def _texts_of(settings: Sequence[str]) -> Iterator[str]:
    for setting in settings:
        yield from _texts(setting.partition("=")[2].encode())


def _texts(content: bytes) -> Iterator[str]:
    """Yield every text in a YAML file; nothing if it is invalid, which its reader reports."""
    try:
        yield from _below(read(content.decode("utf-8"), "").data)
    except (PlanErrors, UnicodeDecodeError):
        return


def _below(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for value in data.values() if isinstance(data, dict) else data:
            yield from _below(value)


def read_contents(revision: Revision, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield files with their contents as stored by git, without filters or Git LFS.

    Raises NoRevision for a file that git does not have.
    """
    asked = "".join(f"{revision.files[name].id}\n" for name in names).encode()
    output = ask_git(revision.folder, "cat-file", "--batch", stdin=asked)
    for name in names:
        head, _, output = output.partition(b"\n")
        words = head.split()
        if len(words) <= 2 or not words[2].isdigit():
            raise NoRevision(f"git does not have '{name}' at {revision.name}; fetch it")
        size = int(words[2])
        yield name, output[:size]
        output = output[size + 1 :]


def _entries(listed: bytes) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of a git listing: mode, type, id, size and path; BAD for the size of a missing object."""
    for line in listed.split(b"\0"):
        about, tab, path = line.partition(b"\t")
        words = about.decode().split()
        if tab and words[1] == "blob":
            size = int(words[-1]) if words[-1].isdigit() else 0
            yield path.decode("utf-8", "surrogateescape"), Entry(words[0], words[2], size)


def _unsafe(files: dict[str, Entry], folders: set[str]) -> str | None:
    """Return a path outside the revision's folder, which git would refuse to check out; None if there is none.

    A manipulated tree may have names such as `..`, or a link with the name of a folder.
    """
    shared = {folder.casefold() for folder in folders}
    for path, entry in files.items():
        named_so = _NO_NAMES & set(_SEPARATOR.split(path.casefold()))
        if named_so or path in folders or (entry.mode == LINK and path.casefold() in shared):
            return path
    return None


class GitFailed(Exception):
    """git failed; the message is git's."""


def ask_git(folder: FilePath, *arguments: str, stdin: bytes | None = None, fails: bool = False) -> bytes:
    """Return the output of git, run in a folder; empty output if it fails and `fails` allows that.

    Raises GitFailed, and NoRevision if git is missing or does not answer.
    """
    try:
        done = run_program("git", (*_OPTIONS, *arguments), folder, SECONDS, stdin, _VARIABLES)
    except FileNotFoundError:
        raise NoRevision("git is not installed, and there is no file of that name") from None
    except TimedOut:
        raise NoRevision(f"git does not answer within {SECONDS} s") from None
    if done.code:
        if fails:
            return b""
        raise GitFailed(done.errors.decode("utf-8", "replace").strip())
    return done.output

"""Plans and results at a git revision, `REV:PATH`, with the files that a plan names as they were then.

The files are read from git; nothing is checked out and the checkout does not change. The files that the plan names are
written into an empty folder at the paths that they have in the checkout, so that the usual readers find them.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bomgen.core.diagnostics import PlanErrors, suggestion
from bomgen.core.processes import TimedOut, run_program
from bomgen.core.yaml_source import SUFFIXES, read
from bomgen.workflow.plan_files import PlanFile, lock_name

MAX_BYTES = 1 << 28
"""Maximum size of all files of a revision that are read for one plan."""
MAX_ROUNDS = 50
"""Maximum depth of files that name further files."""
SECONDS = 120
"""Time limit for git to answer."""
LINK = "120000"
"""Git file mode of a symbolic link."""
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
    folder: Path
    """The folder in which git runs."""
    prefix: str
    """Path of the current folder from the root of the checkout, with a trailing slash; empty in the root."""
    top: Path | None
    """The root of the checkout; None for a checkout without files."""
    files: dict[str, Entry]
    folders: frozenset[str]


def split_revision(text: str) -> tuple[str, str] | None:
    """Return the revision and the path of `REV:PATH`, or None for any other text."""
    match = None if _DRIVE.match(text) else _REVISION.fullmatch(text)
    return (match[1], match[2]) if match else None


def open_revision(name: str, folder: Path) -> Revision:
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
    folders = {"", *(parent for path in files for parent in _parents(path))}
    if unsafe := _unsafe(files, folders):
        raise NoRevision(f"revision '{name}' has a path that git does not check out, '{unsafe}'; name another")
    return Revision(name, folder, prefix, Path(tops) if tops else None, files, frozenset(folders))


def path_in(revision: Revision, name: str) -> str:
    """Return a path from the root of the checkout; `name` is tried from there first, then from the current folder.

    Raises NoRevision for a path that is not in the revision.
    """
    text = name if "\\" not in name or name in revision.files else name.replace("\\", "/")
    relative = posixpath.normpath(posixpath.join(revision.prefix, text))
    tried = [relative] if text.startswith(("./", "../")) else [posixpath.normpath(text), relative]
    if revision.top and Path(text).is_absolute() and Path(text).is_relative_to(revision.top):
        tried.append(Path(text).relative_to(revision.top).as_posix())
    for path in tried:
        if path in revision.files:
            return path
    if any(path in revision.folders for path in tried):
        raise NoRevision(f"'{name}' is a folder at {revision.name}; name a file in it")
    files = [path for path in revision.files if path.endswith((*SUFFIXES, ".json"))]
    hint = suggestion(text, files, "give its path from the root of the checkout")
    raise NoRevision(f"there is no file '{name}' at {revision.name}; {hint}")


def plan_file(
    revision: Revision, path: str, shown: str, folder: Path, settings: Sequence[str], root: str | None
) -> PlanFile:
    """Write a plan of a revision and the files that it names into an empty folder; `shown` is its name in messages.

    `settings` may name files too. Raises NoRevision if git does not return the files.
    """
    contents = dict(_read(revision, path, settings))
    folder = folder.resolve()
    for name in _named_folders(revision, path, contents[path], settings):
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


def _root(revision: Revision, folder: Path, root: str | None) -> Path:
    """Return the folder of the checkout that `--root` selects, or the whole checkout."""
    if root is None or revision.top is None:
        return folder
    wanted, top = Path(root).resolve(), revision.top.resolve()
    return folder / wanted.relative_to(top) if wanted.is_relative_to(top) else folder


def _named_folders(revision: Revision, path: str, content: bytes, settings: Sequence[str]) -> set[str]:
    """Return folders that the plan names, even if no file in them is read."""
    texts = (*_texts(content), *_settings(settings))
    return {where for text in texts for where in _places(posixpath.dirname(path), text) if where in revision.folders}


def _read(revision: Revision, path: str, settings: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    folder = posixpath.dirname(path)
    wanted = {path, lock_name(path)} & revision.files.keys()
    for text in _settings(settings):
        wanted |= set(_files_at(revision, folder, text))
    done, total = set[str](), 0
    for _ in range(MAX_ROUNDS):
        fresh = sorted(wanted - done)
        if not fresh:
            return
        total += sum(revision.files[name].size for name in fresh)
        if total > MAX_BYTES:
            raise NoRevision(f"the files that the plan names at {revision.name} have over {MAX_BYTES} bytes")
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
    """Yield the files that a text names: one file, or the part files below a folder."""
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


def _settings(settings: Sequence[str]) -> Iterator[str]:
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


def _parents(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path


class GitFailed(Exception):
    """git failed; the message is git's."""


def ask_git(folder: Path, *arguments: str, stdin: bytes | None = None, fails: bool = False) -> bytes:
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

"""Where plans of the page come from: files below the folder that was named, designs that bomgen carries, and links.

A version, the SHA-256 of its content, goes with each file that is read. A file is saved only if it still has the
version that was read: what someone else has written meanwhile is never overwritten.
"""

from __future__ import annotations

import errno
import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from bomgen.core.language import language
from bomgen.core.messages import message
from bomgen.core.resources import languages
from bomgen.core.safety import DEVICES, find_invisible, quote
from bomgen.core.yaml_source import MAX_BYTES, SUFFIXES, encoded, own
from bomgen.output.writer import replace, write_new
from bomgen.workflow.plan_files import PlanFile, checkout, content_of, find_yaml_files, lock_name, real
from bomgen.workflow.starters import designs, nearest_designs, started_from

Request = Mapping[str, Any]
Data = dict[str, Any]
"""What the page sends with a call, as JSON has it."""

MOST_FILES = 2_000
"""YAML files that are read to list the plans among them."""
DESIGN_COPY = "my-{design}"
"""The name of a plan that starts from a design."""
NO_VERSION = ""
"""The version of a file that does not exist."""
_PLAN = re.compile(r"^bomgen:", re.MULTILINE)
_CLUSTER = re.compile(r"^clusters?:", re.MULTILINE)
_TITLES = tuple(re.compile(rf"^{key}: *(.+)$", re.MULTILINE) for key in ("title", "name"))
_QUOTE = re.compile(r"^quote:.*(?:\n(?: .*)?)*", re.MULTILINE)
_QUOTED = {key: re.compile(rf"\b{key}: *(?:\{{ *name: *)?([^,{{}}\n]+)") for key in ("number", "customer", "date")}
"""Plans are listed by their text: a folder may have thousands of files."""


class Refused(Exception):
    """A request that is not carried out; its text says why."""

    def said(self, request: Request) -> str:
        """Return why, in the language of the request where it has a sentence for it."""
        code = request.get("language")
        [why] = self.args
        return language(code).message(why) if code in languages() else str(why)


class FileChanged(Exception):
    """A file that someone else has written since it was read; its text is None where it is not UTF-8."""

    def __init__(self, text: str | None, version: str) -> None:
        super().__init__("the file has changed on disk")
        self.text, self.version = text, version


class Workspace:
    """The plans below a folder. Files that a plan names stay below `root`, by default the checkout of the folder."""

    def __init__(self, folder: Path, root: Path | None = None) -> None:
        self.folder = real(folder)
        self.root = real(root) if root else checkout(self.folder)
        self._saving = Lock()

    def plans(self) -> tuple[list[dict[str, str]], bool]:
        """Return path, title, version, and number, customer and date of its quote of each plan below the folder.

        The second value is whether these are all plans there.
        """
        files, whole = find_yaml_files(self.folder)
        paths = sorted(file.relative_to(self.folder).as_posix() for file in files)
        plans = list[dict[str, str]]()
        for path in paths[:MOST_FILES]:
            try:
                text, version = self.read(path)
            except (OSError, Refused):
                continue
            if _PLAN.search(text) and _CLUSTER.search(text):
                plans.append({"path": path, "title": _title(text), "version": version, **_quoted(text)})
        return plans, whole and len(paths) <= MOST_FILES

    def locate(self, path: str) -> Path:
        """Return the path of a plan. Raises Refused for a path that leads out of the folder or names no YAML file."""
        parts = path.split("/")
        devices = any(part.partition(".")[0].casefold() in DEVICES for part in parts)
        if devices or not path.isprintable() or find_invisible(path) is not None:
            raise Refused(f"{quote(path, len(path))} has characters or names that not every system allows")
        if not path or "\0" in path or "\\" in path or ":" in path or any(part.startswith(".") for part in parts):
            raise Refused(message("refused-path", path=path))
        if not path.endswith(SUFFIXES):
            raise Refused(message("refused-name", path=path))
        try:
            target = real(self.folder / path)
        except OSError as error:
            raise Refused(f"'{path}': {error.strerror}") from None
        if not target.is_relative_to(self.folder):
            raise Refused(message("refused-outside", path=path))
        if any(part.startswith(".") for part in target.relative_to(self.folder).parts) or target.suffix not in SUFFIXES:
            raise Refused(f"'{path}' is a link to a file that is not a plan")
        return target

    def read(self, path: str) -> tuple[str, str]:
        """Return the text and the version of a file. Raises Refused, and OSError for an unreadable file."""
        content = self._content(self.locate(path))
        if (text := _text_of(content)) is None:
            raise Refused(f"'{path}' is not UTF-8")
        return text, version_of(content)

    def save(self, path: str, text: str, version: str) -> str:
        """Write a file in place and return its new version; `version` is the one read, empty for a new file.

        Raises FileChanged if it has another version on disk and not this text, Refused, and OutputError if it cannot be
        written.
        """
        target, content = self.locate(path), text.encode("utf-8")
        if len(content) > MAX_BYTES:
            raise Refused(f"a plan has at most {MAX_BYTES} bytes")
        with self._saving:
            now = self._content(target) if target.exists() else None
            if now == content:
                return version_of(now)
            if now is not None and version_of(now) != version:
                raise FileChanged(_text_of(now), version_of(now))
            if now is None and version != NO_VERSION:
                raise FileChanged("", NO_VERSION)
            if now is None:
                if not target.parent.is_dir():
                    raise Refused(message("refused-no-folder", path=path))
                write_new(content, target)
            else:
                replace({target.name: content}, target.parent)
        return version_of(content)

    def plan_file(self, path: str, text: str) -> PlanFile:
        """Return a plan with the text of an editor, and the lock beside it. Raises Refused and PlanErrors."""
        target = self.locate(path)
        pinned, name = Path(lock_name(str(target))), lock_name(path)
        lock = None
        if pinned.is_file() and real(pinned).is_relative_to(self.root):
            try:
                lock = name, self._content(pinned)
            except OSError:
                lock = None
        return PlanFile(path, encoded(text, path), target.parent, self.root, lock)

    def _content(self, path: Path) -> bytes:
        content = content_of(path)
        if len(content) > MAX_BYTES:
            raise OSError(errno.EFBIG, f"larger than the {MAX_BYTES} bytes that a plan may have", str(path))
        return content


def _title(text: str) -> str:
    name = next((line[1] for title in _TITLES if (line := title.search(text))), "")
    return name.partition(" #")[0].strip().strip("\"'")


def _quoted(text: str) -> dict[str, str]:
    """Return number, customer and date of the quote of a plan; empty where it has none."""
    block = _QUOTE.search(text)
    found = ((key, pattern.search(block[0]) if block else None) for key, pattern in _QUOTED.items())
    return {key: line[1].partition(" #")[0].strip().strip("\"'") if line else "" for key, line in found}


def _text_of(content: bytes) -> str | None:
    """Return the text of a file; None if it has bytes that a conflict could not give back."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def version_of(content: bytes) -> str:
    """Return the version of a file."""
    return sha256(content).hexdigest()


# designs ------------------------------------------------------------------------------------------------------------


@cache
def gallery() -> list[dict[str, Any]]:
    """Return name and title of each design."""
    return [
        {"name": name, "title": str(own(path, path.name).data.get("title", name))} for name, path in designs().items()
    ]


def open_design(name: str) -> dict[str, Any]:
    """Return a new plan that starts from a design. Raises Refused for an unknown one."""
    if name not in designs():
        raise Refused(f"no design '{name}'; did you mean {' or '.join(nearest_designs(name)) or 'another'}?")
    plan = DESIGN_COPY.format(design=name.lower())
    return {"path": f"{plan}.yaml", "text": started_from(name, plan), "version": NO_VERSION}


# links --------------------------------------------------------------------------------------------------------------
# A plan in the fragment of a link, which no server ever sees.


def pack(text: str) -> str:
    """Return a text compressed, in characters that an address may hold."""
    return urlsafe_b64encode(zlib.compress(text.encode("utf-8"), zlib.Z_BEST_COMPRESSION)).decode("ascii").rstrip("=")


def unpack(packed: str) -> str:
    """Return a text from `pack`. Raises Refused for other text, and for one that is longer than a plan may be."""
    try:
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(urlsafe_b64decode(f"{packed}=="), MAX_BYTES)
        if not unpacking.eof:
            raise Refused(message("refused-cut-link"))
        return content.decode("utf-8")
    except (ValueError, zlib.error):
        raise Refused(message("refused-link")) from None

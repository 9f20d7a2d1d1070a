"""The calls of the page: the function that each is dispatched to, the fields of its request, and where plans come from.

A call names the fields of its request. `read_request` compares them with what came, whoever sent it, before a call
reads any of them. A field that may be missing may also be null; fields that the call does not have are ignored.

Plans are files below the folder that was named, designs that bomgen carries, and links. A version, the SHA-256 of its
content, goes with each file that is read. A file is saved only if it still has the version that was read: what someone
else has written meanwhile is never overwritten.
"""

from __future__ import annotations

import errno
import os
import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import cache, reduce
from hashlib import sha256
from importlib import import_module
from math import isfinite
from operator import getitem
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from bomgen.core.diagnostics import LINE_END, MAX_PROBLEMS, PlanErrors, Problem, nearest
from bomgen.core.language import Language, language
from bomgen.core.messages import ENGLISH, message, unknown
from bomgen.core.resources import languages
from bomgen.core.safety import DEVICES, find_invisible, quote
from bomgen.core.yaml_source import MAX_BYTES, SUFFIXES, encoded, own, read
from bomgen.output.writer import replace, write_new
from bomgen.workflow.inputs import PRICE_LIST, known_as
from bomgen.workflow.plan_files import PlanFile, checkout, content_of, find_yaml_files, lock_name, real
from bomgen.workflow.starters import designs, started_from

Request = Mapping[str, Any]
Data = dict[str, Any]
"""What the page sends with a call, as JSON has it."""

MOST_BOOKS = 100
"""Files of a folder that may be price books."""
MOST_FILES = 2_000
"""YAML files that are read to list the plans among them."""
DESIGN_COPY = "my-{design}"
"""The name of a plan that starts from a design."""
MOST_FIXES = 2
"""Words that are proposed in place of a wrong one."""
NO_VERSION = ""
"""The version of a file that does not exist."""
FIRST_NUMBER = "000"
"""What the numbers of a year's quotes begin after."""
_NUMBERED, _YEAR = re.compile(r"(.*?)([0-9]{1,9})"), re.compile(r"\b20[0-9]{2}\b")
_PLAN = re.compile(r"^bomgen:", re.MULTILINE)
_CLUSTER = re.compile(r"^clusters?:", re.MULTILINE)
_TITLE, _NAME = (re.compile(rf"^{key}: *(.+)$", re.MULTILINE) for key in ("title", "name"))
_QUOTE = re.compile(r"^quote:.*(?:\n(?: .*)?)*", re.MULTILINE)
_QUOTED = {
    key: re.compile(rf"\b{key}: *(?:\{{ *name: *)?([^,{{}}\n]+)")
    for key in ("number", "customer", "date", "valid_days", "state")
}
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
        """Return path, title, version, and what is listed of its quote, of each plan below the folder.

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
                plans.append({"path": path, "version": version, **_listed(text)})
        return plans, whole and len(paths) <= MOST_FILES

    def next_number(self) -> str:
        """Return the number after the last quote's, such as Q-2026-014, in the folder's usual scheme and this year."""
        year, schemes = f"{date.today():%Y}", dict[str, list[str]]()
        for plan in self.plans()[0]:
            if match := _NUMBERED.fullmatch(plan["number"]):
                scheme = _YEAR.sub(year, match[1])
                schemes.setdefault(scheme, []).append(match[2] if scheme == match[1] else FIRST_NUMBER)
        scheme = max(schemes, key=lambda name: len(schemes[name]), default=f"Q-{year}-")
        last = max(schemes.get(scheme, ()), key=int, default=FIRST_NUMBER)
        return f"{scheme}{int(last) + 1:0{len(last)}}"

    def price_books(self, path: str) -> list[str]:
        """Return the price books beside a plan and in folders `prices` beside it and above, relative to the plan."""
        here = self.locate(path).parent
        paths = []
        for folder in (here, here / "prices", here.parent / "prices"):
            if folder.is_dir() and folder.is_relative_to(self.root):
                files = sorted(file for file in folder.iterdir() if file.suffix in SUFFIXES)[:MOST_BOOKS]
                books = (file for file in files if known_as(file) == PRICE_LIST)
                paths += [os.path.relpath(book, here).replace(os.sep, "/") for book in books]
        return paths

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


def _listed(text: str) -> dict[str, str]:
    """Return what is listed of a plan and of its quote, by key; empty where it says nothing."""
    block = _QUOTE.search(text)
    lines = {key: pattern.search(block[0]) if block else None for key, pattern in _QUOTED.items()}
    lines["title"] = _TITLE.search(text) or _NAME.search(text)
    return {key: line[1].partition(" #")[0].strip().strip("\"'") if line else "" for key, line in lines.items()}


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
        raise Refused(unknown("design", name, designs()))
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


_WORD = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s,\[\]{}#]+(?: [^\s,\[\]{}#:]+)*")
"""What stands at a place: a quoted text, or words up to the end of a key or value."""


def failure(status: int, error: str, message: str, **more: Any) -> Data:
    """Return the answer to a call that failed: the status of HTTP that fits, and the error."""
    return {"status": status, "error": error_data(error, message, **more)}


def error_data(error: str, message: str, **more: Any) -> Data:
    """Return an error: a code for the page, and a message for its user."""
    return {"error": error, "message": message, **more}


def problems_data(problems: Iterable[Problem], path: str, text: str, say: Callable[[str], str] = str) -> list[Data]:
    """Return problems with their places in the text of a plan, in characters from 1 on; `say` translates messages.

    A problem in another file, such as a price book, has that `file`, and stands at the start of the plan. One at a key
    of the plan has that `key`, and `fixes`: the words that are closest to one that the key does not take.
    """
    lines, shown = LINE_END.split(text), [*problems][:MAX_PROBLEMS]
    keys = _keys_of(text) if shown else {}
    return [_texts_of(problem, say) | _place_of(problem, path, lines, keys) for problem in shown]


def _keys_of(text: str) -> Mapping[tuple[int, int], tuple[tuple[str | int, ...], Any]]:
    try:
        source = read(text, "plan")
    except PlanErrors:
        return {}
    places = [*source.keys.items(), *source.values.items()]
    return {(mark.line, mark.column): (path, reduce(getitem, path, source.data)) for path, mark in places}


def texts_of(problems: Iterable[Problem], say: Callable[[str], str] = str) -> list[Data]:
    """Return what problems say, without their places, as for a file that the page does not show.

    A problem with questions has them in place of its remedy, which is an option of a command.
    """
    return [_texts_of(problem, say) for problem in [*problems][:MAX_PROBLEMS]]


def _texts_of(problem: Problem, say: Callable[[str], str]) -> Data:
    said = problem._replace(message=say(problem.message))
    asked = questions_data(problem, say)
    return {
        "severity": problem.severity,
        "message": said.fault,
        "remedy": "" if asked else said.remedy,
        "rule": problem.rule,
        "questions": asked,
    }


def questions_data(problem: Problem, say: Callable[[str], str] = str, first: str = "") -> list[Data]:
    """Return what a problem leaves to the user, with the answers to choose from; the setting `first` comes first."""
    return [
        {
            "key": question.key,
            "message": say(question.text),
            "choices": [
                {"value": choice.setting, "label": say(choice.label)}
                for choice in sorted(dict.fromkeys(question.choices), key=lambda choice: choice.setting != first)
            ],
        }
        for question in problem.questions
    ]


def _place_of(problem: Problem, path: str, lines: list[str], keys: Mapping[tuple[int, int], Any]) -> Data:
    in_plan = str(problem.file) == path and 1 <= problem.line <= len(lines)
    line, column = (problem.line, problem.column) if in_plan else (1, 1)
    word = _WORD.match(lines[line - 1], column - 1) if in_plan else None
    position = {"line": line, "column": column, "end_line": line, "end_column": word.end() + 1 if word else column}
    if not in_plan:
        return {**position, "file": str(problem.file), "file_line": problem.line}
    from bomgen.plan.schema import declaration_at  # the server itself reads no schema

    steps, value = keys.get((line, column), ((), None))
    words = declaration_at(tuple(step if isinstance(step, str) else None for step in steps)).words
    near = nearest(str(value), words, MOST_FIXES) if words and str(value) not in words else []
    fixes = [*problem.fixes] or near
    return {**position, "key": ".".join(map(str, steps)), "fixes": fixes}


# requests -------------------------------------------------------------------------------------------------------------
# A kind is str, int, float or bool; [kind] is a list; a tuple has alternatives; {str: kind} is a mapping with any keys;
# any other mapping has the kind of each field, and `?` at the end of the names of those that may be missing.

SCALAR = (str, int, float, bool, type(None))
WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
MOST_NAME = 64
SENT = {"page?": str, "language?": str, "turn?": int}
"""Fields of any request: the page that sends it, its language, and its turn, which ends older calls of the page."""
PLAN = {"path": str, "text": str}
"""A plan: its path below the folder, and its text in the editor."""
DROPPED = {"name": str, "base64": str}
BILL = {**DROPPED, "answers?": {str: str}}
"""A bill or a price list, and answers to the questions about its columns."""


def read_request(fields: Mapping[str, Any], data: Any) -> dict[str, Any]:
    """Return the fields that came with a request. Raises Refused if one is missing or of another kind."""
    fields = {**SENT, **fields}
    if wrong := _wrong(fields, data, ""):
        raise Refused(wrong)
    names = [name.removesuffix("?") for name in fields]
    request = {name: data[name] for name in names if data.get(name) is not None}
    if len(request.get("page", "")) > MOST_NAME or request.get("turn", 0) < 0:
        raise Refused(f"`page` has at most {MOST_NAME} characters, and `turn` is not negative")
    return request


def _wrong(kind: Any, value: Any, path: str) -> str:
    """Return what is wrong with a value at a path of a request; empty if it is of this kind."""
    if isinstance(kind, tuple):
        kind = next((option for option in kind if type(value) is _type_of(option)), kind)
    if type(value) is not _type_of(kind) or (kind is float and not isfinite(value)):
        return f"`{path.removeprefix('.')}` must be {_named(kind)}" if path else f"a request is {_named(kind)}"
    inner: Iterable[tuple[Any, Any, str]] = ()
    if isinstance(kind, list):
        inner = ((kind[0], item, f"{path}.{at}") for at, item in enumerate(value))
    elif isinstance(kind, dict) and str in kind:
        inner = ((kind[str], item, f"{path}.{key}") for key, item in value.items())
    elif isinstance(kind, dict):
        fields = ((field.removesuffix("?"), of_field, field.endswith("?")) for field, of_field in kind.items())
        inner = (
            (of_field, value.get(name), f"{path}.{name}")
            for name, of_field, optional in fields
            if not (optional and value.get(name) is None)
        )
    return next(filter(None, (_wrong(*below) for below in inner)), "")


def _type_of(kind: Any) -> Any:
    return type(kind) if isinstance(kind, list | dict | tuple) else kind


def _named(kind: Any) -> str:
    if isinstance(kind, tuple):
        return "a plain value" if kind == SCALAR else " or ".join(map(_named, kind))
    if isinstance(kind, list):
        return f"a list of {_named(kind[0])}"
    return "an object" if isinstance(kind, dict) else WORDS[kind]


def plan_of(workspace: Workspace, request: Request) -> PlanFile:
    """Return the plan of a request. Raises Refused, and PlanErrors for text that no file can hold."""
    return workspace.plan_file(request["path"], request["text"])


def language_of(request: Request, otherwise: str = ENGLISH) -> Language:
    """Return the language of a request. Raises Refused for an unknown one."""
    code = request.get("language") or otherwise
    if code not in languages():
        raise Refused(unknown("language", code, languages()))
    return language(code)


# calls ----------------------------------------------------------------------------------------------------------------

CANCELLED_STATUS = 499
"""Status of a call that a newer one has ended; HTTP has none, and this is the one that servers use."""
CANCELLED = failure(CANCELLED_STATUS, "cancelled", "ended before there was an answer")
INTERNAL = "internal"
"""The error of a call that ended the process."""
OUT_OF_MEMORY = "out-of-memory"
"""The error of a call that needs more memory than is left."""


class Call(NamedTuple):
    """A call of the page, whose module is loaded with the first one: most pages only build."""

    module: str
    name: str
    fields: Mapping[str, Any]
    """The kinds of the fields of its request."""
    long: bool = False
    """Whether it may take long: it has a process of its own, and its progress is reported."""

    def __call__(self, workspace: Workspace, request: Request) -> dict[str, Any]:
        """Return the result of the call."""
        result: dict[str, Any] = getattr(import_module(f"bomgen.serve.{self.module}"), self.name)(workspace, request)
        return result


CALLS = {
    "check": Call("engine", "check", PLAN),
    # `base` is the text as it was last saved, `tabs` and the `phase` are those that are shown
    "build": Call("engine", "build", {**PLAN, "base?": str, "tabs?": [str], "phase?": str}),
    "device": Call("engine", "device", {**PLAN, "device": str}),
    "complete": Call("engine", "complete", {**PLAN, "line": int, "column": int}),
    "formats": Call("engine", "formats", PLAN),
    # answers by the keys of the questions; the path names a plan that they begin, a goal asks only its own questions
    "form": Call("form", "form", {"path?": str, "text": str, "answers?": {str: SCALAR}, "goal?": str}),
    "space": Call("form", "space", {"text": str}),
    "set": Call("form", "set_values", {"text": str, "set": {str: SCALAR}}),
    "offers": Call("form", "offers", PLAN, long=True),
    "picture": Call("engine", "picture", {"name": str}, long=True),
    # with the plan that the prices are for, and whether they were entered on the page instead of read from a file
    "prices": Call("received", "prices", {**BILL, "path?": str, "text?": str, "entered?": bool}, long=True),
    "xray": Call("received", "xray", {**BILL, "plan?": PLAN}, long=True),
    "verify": Call("received", "verify", {**PLAN, "files": [DROPPED]}, long=True),
    "apply": Call("received", "apply", {**DROPPED, **PLAN, "choices?": {str: str}}, long=True),
    "search": Call(
        "form",
        "search",
        {
            **PLAN,
            "over?": {str: ([SCALAR], str, int, float)},
            "minimise?": ([str], str),
            "within?": {str: (str, int, float)},
        },
        long=True,
    ),
    "download": Call("engine", "download", {**PLAN, "format": str}, long=True),
    "compare": Call("engine", "compare_plans", {"plans": [{**SENT, **PLAN}]}, long=True),
    "share": Call("engine", "share", PLAN, long=True),
}
"""The calls that work on plans; those that only read or write a file need no process (server.py)."""

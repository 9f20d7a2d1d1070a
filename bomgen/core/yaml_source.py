"""YAML text to plain data with a mark for every key and value.

Scalars follow the core schema of YAML 1.2 (`15e12` is a number, `012` is 12, `on` is a string); a float becomes the
exact fraction that was written, an integral one an integer. Duplicate keys, tags and whatever only makes sense in an
attack (deep nesting, exploding aliases, numbers of a thousand digits) are refused with line and column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path as FilePath
from typing import Any, ClassVar, NamedTuple

import yaml

from bomgen.core.diagnostics import MAX_PROBLEMS, PlanErrors, Problem, error_at
from bomgen.core.provenance import Mark
from bomgen.core.resources import BrokenInstallation, folder, text
from bomgen.core.safety import describe_invisible, find_invisible

Path = tuple[str | int, ...]
"""The position of a value in plain data: keys and list positions from the root."""

SUFFIXES = (".yaml", ".yml")
"""Suffixes of YAML files."""
MAX_CHARACTERS = 1 << 20
"""Maximum characters of a file; the longest bundled plan has 4000."""
MAX_BYTES = 4 * MAX_CHARACTERS
"""Maximum bytes of a file, for as many characters in UTF-8; larger files are not read further."""
MAX_DEPTH = 50
MAX_NODES = 100_000
MAX_KEY = 200
"""Maximum characters of a key; part ids have at most 100, keys of an alternative have dots between several."""
MAX_TEXT = 32_000
"""Maximum characters of a text; a cell of a sheet holds 32 767 (Excel's specifications and limits)."""
MAX_DIGITS = 40
MAX_EXPONENT = 60
SIGN = "sign"
"""The rule of invisible characters."""
OVERRIDES = "<set>"
"""The file name in the marks of `--set` values; the line is the number of the option."""

_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""Line ends of YAML 1.1, as the parser counts them: three more than in other text.

They are refused before parsing, except behind bytes that are not UTF-8.
"""
_NULL = re.compile(r"null|Null|NULL|~|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TAGS: dict[type[yaml.Node], str] = {
    yaml.ScalarNode: "tag:yaml.org,2002:str",
    yaml.MappingNode: "tag:yaml.org,2002:map",
    yaml.SequenceNode: "tag:yaml.org,2002:seq",
}
_DEFAULT_TAGS = set(_TAGS.values())


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A loader without YAML 1.1's implicit types: every plain scalar stays text for `_scalar`."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def resolve(self, kind: type[yaml.Node], _value: Any, _implicit: Any) -> str:
        """Return the tag of a node, that of its kind."""
        return _TAGS[kind]


class Source(NamedTuple):
    """A YAML file as plain data, with the marks of all its keys and values."""

    file: str
    text: str
    data: Any
    keys: dict[Path, Mark]
    """The mark of each mapping key, by the path of its value."""
    values: dict[Path, Mark]
    """The mark of each value; the root's is the empty path."""
    files: tuple[tuple[str, bytes], ...] = ()
    """Other files that data were read from, each with its name and bytes."""

    def mark(self, path: Path) -> Mark:
        """Return the mark of the value at a path, or of the nearest enclosing value."""
        while path not in self.values:
            path = path[:-1]
        return self.values[path]

    def key_mark(self, path: Path) -> Mark:
        """Return the mark of the key at a path, or of its value when it has no key."""
        return self.keys.get(path) or self.mark(path)


def read(text: str, file: str, trusted: bool = False) -> Source:
    """Return the data and marks of YAML text; `file` is its name in marks.

    Trusted text, the program's own data, skips the checks against attacks and has no mark but that of its root.

    Raises PlanErrors when the text is not YAML 1.2, or not data that a plan can hold.
    """
    text = text.removeprefix("\ufeff")
    try:
        if not trusted:
            _check_limits(text, file)
        node = yaml.compose(text, Loader=Loader)
    except yaml.YAMLError as error:
        raise PlanErrors([_syntax_problem(error, text, file)]) from None
    if trusted and node is not None:
        return Source(file, text, _plain(node), {}, {(): Mark(file, 1, 1)})
    builder = _NodeReader(file, text)
    data = None if node is None else builder.build(node, (), 0)
    if builder.problems:
        raise PlanErrors(builder.problems)
    return Source(file, text, data, builder.keys, builder.values or {(): Mark(file, 1, 1)})


def own(path: FilePath, shown: str) -> Source:
    """Return a YAML file of the installation, a mapping. Raises BrokenInstallation when it is not one."""
    try:
        source = read(text(path), shown, trusted=True)
    except PlanErrors as errors:
        raise BrokenInstallation(f"{path}: {errors.problems[0].message}") from None
    if not isinstance(source.data, dict):
        raise BrokenInstallation(f"{path} holds nothing that can be used")
    return source


@cache
def read_data(name: str) -> Mapping[str, Any]:
    """Return the content of a file of the folder `data`, read once. Raises BrokenInstallation as `own` does."""
    content: Mapping[str, Any] = own(folder("data") / name, name).data
    return content


def value_at(data: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path of keys and positions in plain data; None where there is none."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def below(source: Source, path: Path) -> Source:
    """Return the value at a path of a source as a source."""
    data, depth = source.data, len(path)
    for step in path:
        data = data[step]
    keys, values = (
        {at[depth:]: mark for at, mark in marks.items() if at[:depth] == path} for marks in (source.keys, source.values)
    )
    return Source(source.file, source.text, data, keys, values)


def decoded(content: bytes, file: str) -> str:
    """Return the text of a file's bytes. Raises PlanErrors for too many, and at the first byte that is not UTF-8."""
    if len(content) > MAX_BYTES:
        message = f"over {MAX_BYTES} bytes; a file of at most {MAX_CHARACTERS} characters is read"
        raise error_at(file, message, "yaml-limit")
    if (
        b"\0" in content[:2]
    ):  # as YAML detects encodings without a byte order mark: the first character of a file is ASCII
        raise error_at(file, "not UTF-8: two or four bytes a character; save the file as UTF-8", "encoding")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        mark = _behind(content[: error.start].decode("utf-8"), file)
        message = f"not UTF-8: byte {content[error.start]:#04x}; save the file as UTF-8"
        raise error_at(mark, message, "encoding") from None


def encoded(text: str, file: str, first: int = 1) -> bytes:
    """Return the UTF-8 bytes of a text, whose lines count from `first` on.

    Raises PlanErrors at the first lone surrogate.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        mark = _behind(text[: error.start], file)
        mark = mark._replace(line=first - 1 + mark.line)
        message = f"not valid text: an unpaired surrogate, U+{ord(text[error.start]):04X}; remove it"
        raise error_at(mark, message, "encoding") from None


def _mark(position: Any, text: str, file: str) -> Mark:
    """Return a place of the parser as a mark; the parser ends the last line and continues after it."""
    return Mark(file, position.line + 1, position.column + 1) if position.index < len(text) else _behind(text, file)


def _behind(text: str, file: str) -> Mark:
    lines = _LINE_END.split(text)
    return Mark(file, len(lines), len(lines[-1]) + 1)


def override(source: Source, settings: Sequence[str]) -> Source:
    """Return the source with `KEY=VALUE` settings applied: dotted keys, YAML values, marks in the file `<set>`.

    A value of `null` removes a key.

    Raises PlanErrors for a setting without `=`, with a value that is not YAML, with a key below a plain value, or that
    is not text.
    """
    data = _copy(source.data)
    keys, values = dict(source.keys), dict(source.values)
    for number, setting in enumerate(settings, start=1):
        mark = Mark(OVERRIDES, number, 1)
        encoded(setting, OVERRIDES, number)
        key, equals, text = setting.partition("=")
        if not equals or not all(key.split(".")):
            raise error_at(mark, f"'{setting}' is not a setting; write KEY=VALUE, with dots between the keys", "set")
        _lay(data, keys, values, key, _read_setting(text, number, len(key) + 1), mark)
    return source._replace(data=data, keys=keys, values=values)


def assign(source: Source, key: str, value: int, mark: Mark) -> Source:
    """Return the source with a number at a dotted key, whose mark is given. Raises PlanErrors as `overlay` does."""
    laid = source._replace(data=_copy(source.data), keys=dict(source.keys), values=dict(source.values))
    _lay(laid.data, laid.keys, laid.values, key, Source(mark.file, "", value, {}, {(): mark}), mark)
    return laid


def keys_of(settings: Sequence[str]) -> tuple[str, ...]:
    """Return the dotted keys of `KEY=VALUE` settings."""
    return tuple(setting.partition("=")[0] for setting in settings)


def merged(under: Source, over: Source) -> Source:
    """Return a source merged over another: mappings key by key, other values as a whole; no key is removed.

    Every value keeps the mark of its file. Keys are in the order of `under`.
    """
    keys, values = dict[Path, Mark](), dict[Path, Mark]()

    def take(source: Source, data: Any, path: Path) -> Any:
        values[path] = source.values[path]
        if path in source.keys:
            keys[path] = source.keys[path]
        inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
        for step, value in inside:
            take(source, value, (*path, step))
        return data

    def lay(first: Any, above: Any, path: Path) -> Any:
        if not isinstance(first, dict) or not isinstance(above, dict):
            return take(over, above, path)
        values[path] = over.values[path]
        if path in over.keys:
            keys[path] = over.keys[path]
        data = {}
        for key in (*first, *(key for key in above if key not in first)):
            at = (*path, key)
            if key not in above:
                data[key] = take(under, first[key], at)
            elif key not in first:
                data[key] = take(over, above[key], at)
            elif above[key] is not None:
                data[key] = lay(first[key], above[key], at)
        return data

    data = lay(under.data, over.data, ())
    return over._replace(data=data, keys=keys, values=values, files=(*under.files, *over.files))


def overlay(source: Source, path: Path) -> Source:
    """Return the source with the mapping at one of its paths applied to it: dotted keys, any values, their marks.

    Raises PlanErrors for a key below a plain value.
    """
    data = _copy(source.data)
    keys, values = dict(source.keys), dict(source.values)
    settings: Any = source.data
    for step in path:
        settings = settings[step]
    for key, value in settings.items():
        at = (*path, key)
        laid = below(source, at)
        inner = {path_below: mark for path_below, mark in laid.keys.items() if path_below}
        _lay(data, keys, values, key, laid._replace(data=_copy(value), keys=inner), source.key_mark(at))
    return source._replace(data=data, keys=keys, values=values)


def _lay(data: Any, keys: dict[Path, Mark], values: dict[Path, Mark], key: str, value: Source, mark: Mark) -> None:
    """Set a value at a dotted key of data, and its marks. Raises PlanErrors as `override` does."""
    if not all(key.split(".")):
        raise error_at(mark, f"'{key}' is not a key; write names with dots between them", "set")
    path: Path = ()
    parent = data
    *above, last = key.split(".")
    for step in above:
        position = _position(parent, step, mark, step)
        if isinstance(parent, dict) and parent.get(step) is None:
            parent[step] = {}
        parent, path = parent[position], (*path, position)
        keys.setdefault(path, mark)
        values.setdefault(path, mark)
    position = _position(parent, last, mark, key)
    if value.data is None and isinstance(parent, dict):  # as in a file that extends another
        parent.pop(position, None)
    else:
        parent[position] = value.data
    path = (*path, position)
    for covered in [covered for covered in values if covered[: len(path)] == path]:
        del values[covered]
        keys.pop(covered, None)
    keys[path] = mark
    values.update({path + below: at for below, at in value.values.items()})
    keys.update({path + below: at for below, at in value.keys.items()})


def _read_setting(text: str, number: int, offset: int) -> Source:
    """Return the value of a setting, its marks moved to its position in the option."""

    def moved(mark: Mark) -> Mark:
        return Mark(OVERRIDES, number, mark.column + offset)

    try:
        value = read(text, OVERRIDES)
    except PlanErrors as errors:
        raise PlanErrors([problem._replace(mark=moved(problem.mark)) for problem in errors.problems]) from None
    return value._replace(
        keys={path: moved(mark) for path, mark in value.keys.items()},
        values={path: moved(mark) for path, mark in value.values.items()},
    )


def _copy(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _copy(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_copy(value) for value in data]
    return data


def _position(parent: Any, step: str, mark: Mark, key: str) -> str | int:
    if isinstance(parent, dict):
        return step
    if isinstance(parent, list) and step.isdecimal() and int(step) < len(parent):
        return int(step)
    if isinstance(parent, list):
        raise error_at(mark, f"'{key}': the list has {len(parent)}, counted from 0; use one of their numbers", "set")
    raise error_at(mark, f"'{key}': a plain value has no keys to set; set the whole mapping", "set")


class _NodeReader:
    """The conversion of composed nodes to data, which notes marks and problems."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.keys: dict[Path, Mark] = {}
        self.values: dict[Path, Mark] = {}
        self.problems: list[Problem] = []

    def build(self, node: yaml.Node, path: Path, depth: int) -> Any:
        mark = self.mark(node)
        self.values[path] = mark
        if depth > MAX_DEPTH or len(self.values) > MAX_NODES:
            message = f"too much data: over {MAX_NODES} values or {MAX_DEPTH} levels once aliases are written out"
            raise error_at(mark, message, "yaml-limit")
        self.tag(node)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index), depth + 1) for index, item in enumerate(node.value)]
        if not isinstance(node, yaml.ScalarNode):
            return node.value
        self.is_valid_text(node, MAX_TEXT, "text")
        if node.style:
            return node.value
        try:
            return _scalar(node.value)
        except ValueError as error:
            self.problem(node, str(error), "number")
            return None

    def mapping(self, node: yaml.MappingNode, path: Path, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.problem(key, "a list or mapping as key; keys are plain words", "yaml-key")
                continue
            self.tag(key)
            name = str(key.value)
            if not self.is_valid_text(key, MAX_KEY, "key"):
                continue
            if name in data:
                first = self.keys[(*path, name)].line
                self.problem(key, f"the key '{name}' is duplicated, first on line {first}; keep one", "duplicate-key")
                continue
            self.keys[(*path, name)] = self.mark(key)
            data[name] = self.build(value, (*path, name), depth + 1)
        return data

    def tag(self, node: yaml.Node) -> None:
        if node.tag not in _DEFAULT_TAGS:
            self.problem(node, f"the tag {node.tag}; plans are plain data without tags", "yaml-tag")

    def mark(self, node: yaml.Node) -> Mark:
        return _mark(node.start_mark, self.text, self.file)

    def is_valid_text(self, node: yaml.ScalarNode, most: int, what: str) -> bool:
        """Return whether a text is short enough and has no invisible characters, which escapes may have written."""
        if len(node.value) > most:
            self.problem(node, f"a {what} of {len(node.value)} characters; at most {most} are read", "yaml-limit")
            return False
        at = find_invisible(node.value)
        if at is not None:
            self.problem(node, describe_invisible(node.value[at]), SIGN)
        return at is None

    def problem(self, node: yaml.Node, message: str, rule: str) -> None:
        self.problems.append(Problem(self.mark(node), "error", message, rule))
        if len(self.problems) == MAX_PROBLEMS:
            raise PlanErrors(self.problems)


def _plain(node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        data = {str(key.value): _plain(value) for key, value in node.value}
        if len(data) < len(node.value):
            keys = [str(key.value) for key, _ in node.value]
            twice = dict.fromkeys(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"after line {node.start_mark.line} keys are duplicated: {', '.join(twice)}")
        return data
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item) for item in node.value]
    return node.value if not isinstance(node, yaml.ScalarNode) or node.style else _scalar(node.value)


def _scalar(text: str) -> Any:
    """Return the value of a plain scalar in YAML 1.2's core schema. Raises ValueError for absurd numbers."""
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text):
        return True
    if _FALSE.fullmatch(text):
        return False
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text}; a finite number is needed")
    if _FLOAT.fullmatch(text):
        return exact_number(text)
    if _OCTAL.fullmatch(text) or _HEXADECIMAL.fullmatch(text):
        _check_digits(text)
        return int(text, 0)
    return text


def exact_number(text: str) -> int | Fraction:
    """Return a decimal number exactly as written: an integer when it is one, else a fraction.

    Raises ValueError when it has more digits or a larger exponent than any quantity needs.
    """
    _check_digits(text)
    mantissa, _, exponent = text.lower().partition("e")
    if exponent and abs(int(exponent)) > MAX_EXPONENT:
        raise ValueError(f"{text}; the exponent must be at most {MAX_EXPONENT}")
    if _INTEGER.fullmatch(text):
        return int(text)
    value = Fraction(Decimal(f"{mantissa}e{exponent or 0}"))
    return value.numerator if value.denominator == 1 else value


def _check_digits(text: str) -> None:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} characters; at most {MAX_DIGITS} are read")


def _check_limits(text: str, file: str) -> None:
    if len(text) > MAX_CHARACTERS:
        raise error_at(file, f"{len(text)} characters; a file of at most {MAX_CHARACTERS} is read", "yaml-limit")
    at = find_invisible(text)
    if at is not None:
        raise error_at(_behind(text[:at], file), describe_invisible(text[at]), SIGN)
    depth = 0
    for event in yaml.parse(text, Loader=Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            start = event.start_mark
            mark = _mark(start, text, file) if start else Mark(file, 1, 1)
            raise error_at(mark, f"nested too deep; at most {MAX_DEPTH} levels are read", "yaml-limit")


def _syntax_problem(error: yaml.YAMLError, text: str, file: str) -> Problem:
    """Return a YAML error as a problem at its place, in words for readers who do not know the parser."""
    stated = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if stated is None:
        position = min(int(getattr(error, "position", 0) or 0), len(text))
        mark = _behind(text[:position], file)
        return Problem(mark, "error", "a character that YAML does not allow; remove it", "yaml-syntax")
    mark = _mark(stated, text, file)
    if text[stated.index : stated.index + 1] == "\t":
        return Problem(mark, "error", "a tab; YAML is indented with spaces", "yaml-tab")
    message = " ".join(str(part) for part in (getattr(error, "context", None), getattr(error, "problem", None)) if part)
    hint = "check quotes, brackets and indentation up to here"
    return Problem(mark, "error", f"not valid YAML: {message}; {hint}", "yaml-syntax")

"""Edits of YAML text that preserve comments, order, quotes and every other byte.

An edit replaces the characters of one value, or inserts a key or an item in the surrounding style: in a flow mapping
after its last value, in a block on a new line, or in place of a line where the key is commented out. A mapping that is
inserted into a block with comments is a block, too, set apart by a blank line where the file has such lines. Each
result is parsed again and compared with the expected data, so that an edit that would change something else, such as a
value repeated by aliases, is refused and never half right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from decimal import Decimal
from typing import Any

import yaml

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.yaml_source import Loader, Path, read

BOM = "\ufeff"
_PROPERTIES = re.compile(r"&\S+\s+")
"""An anchor before its value."""
_ALIAS = re.compile(r"[ \t]*:[ \t]+(\*[^\s,\]}]+)")
"""An alias after its key."""
_TRAILING_COMMA = re.compile(r"\s*,")
_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_NOTE = re.compile(r"(?:\r\n|\n|\r)([ \t]*)#[^\r\n]*")
"""A line that holds a comment alone, with the line break before it."""
_GAP = re.compile(r"(?:\r\n|\n|\r)[ \t]*(?=\r|\n)")
"""A blank line, with the line break before it."""
_LAST_GAP = re.compile(r"(\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)\Z")
"""The blank line that sets a block apart from what stands before it."""
_SHORT, _LONG = 0xFF, 0xFFFF
"""The last characters whose escapes have two and four digits."""


CommentOn = Callable[[Path], str]
"""Returns the comment on a key at a path, empty for none."""


class NotEditable(ValueError):
    """A place of a file that cannot be edited alone; its text tells which, and why."""


def set_value(text: str, path: Path, value: Any, comment_on: CommentOn | None = None) -> str:
    """Return the text with a value set at a path of keys and list positions; missing keys are added.

    `value` is a text, a number, true or false, or a list or mapping of these. `comment_on` returns the comment on a
    path; with it a mapping that is added to a block is written as a block, with comments. Raises NotEditable where the
    edit would change something else, or where the path leads through a value that is not a mapping.
    """
    return _edit(
        text, path, lambda data: _put(data, path, value), lambda body, root: _set(body, root, path, value, comment_on)
    )


def append_item(text: str, path: Path, value: Any) -> str:
    """Return the text with an item appended to the list at a path. Raises NotEditable as `set_value` does."""

    def append(data: Any) -> None:
        _find(data, path).append(value)

    return _edit(text, path, append, lambda body, root: _insert(body, _node(root, path), None, value))


def remove_item(text: str, path: Path) -> str:
    """Return the text without the list item or key at a path; in a block its lines go too. Raises NotEditable."""

    def remove(data: Any) -> None:
        del _find(data, path[:-1])[path[-1]]

    return _edit(text, path, remove, lambda body, root: _remove(body, root, path))


def write_scalar(value: Any, flow: bool = True, quote: str = "") -> str:
    """Return a value as YAML on one line; `flow`: between brackets. `quote` is the previous quotation mark."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{write_scalar(key)}: {write_scalar(item)}" for key, item in value.items()) + "}"
    if not isinstance(value, str):
        return "[" + ", ".join(map(write_scalar, value)) + "]"
    if quote == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return value if not quote and _is_plain(value, flow) else quote_double(value)


def write_block(tree: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a block of YAML; a value is YAML on one line, a mapping, or a list of either."""
    for key, value in tree.items():
        if isinstance(value, str):
            yield f"{key}: {value}"
        elif not value:
            yield f"{key}: {'{}' if isinstance(value, Mapping) else '[]'}"
        else:
            yield f"{key}:"
            if isinstance(value, Mapping):
                yield from (f"  {line}" for line in write_block(value))
                continue
            for item in value:
                first, *rest = [item] if isinstance(item, str) else write_block(item)
                yield f"  - {first}"
                yield from (f"    {line}" for line in rest)


def quote_double(text: str) -> str:
    """Return a text in double quotes."""
    return f'"{"".join(map(_escape, text))}"'


def _escape(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code <= _SHORT else f"\\u{code:04x}" if code <= _LONG else f"\\U{code:08x}"


def _is_plain(text: str, flow: bool) -> bool:
    if not text.isprintable():
        return False
    try:
        return bool(read(f"[{text}]" if flow else f"- {text}", "").data == [text])
    except PlanErrors:
        return False


def _edit(text: str, path: Path, change: Callable[[Any], None], write: Callable[[str, yaml.Node], str]) -> str:
    """Return the text that `write` makes, if its data are those that `change` makes of the current data."""
    body = text.removeprefix(BOM)
    dotted = ".".join(map(str, path))
    try:
        wanted = deepcopy(read(body, "").data)
        change(wanted)
        root = yaml.compose(body, Loader=Loader)
        edited = write(body, root) if root else body
        same = read(edited, "").data == deepcopy(_exact(wanted))
    except PlanErrors as errors:
        raise NotEditable(f"`{dotted}` cannot be written: {errors.problems[0].message}") from errors
    except (LookupError, AttributeError, TypeError) as error:
        raise NotEditable(f"`{dotted}` leads through a value that has no keys") from error
    if not same:
        raise NotEditable(f"`{dotted}` cannot be edited alone: an alias repeats its value, or its anchor holds others")
    return text[: len(text) - len(body)] + edited


def _exact(data: Any) -> Any:
    """Return data as they are read: decimals are exact numbers."""
    if isinstance(data, Mapping):
        return {key: _exact(value) for key, value in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [_exact(value) for value in data]
    return read(f"{data:f}", "").data if isinstance(data, Decimal) else data


def _find(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


def _put(data: Any, path: Path, value: Any) -> None:
    for step, following in zip(path, (*path[1:], None), strict=True):
        if following is None:
            data[step] = value
        elif isinstance(data, dict) and data.get(step) is None:
            data[step] = {}
        data = data[step]


# nodes --------------------------------------------------------------------------------------------------------------


def _child(node: yaml.Node, step: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    items = node.value if isinstance(node, yaml.SequenceNode) else ()
    return items[step] if isinstance(step, int) and step < len(items) else None


def _node(root: yaml.Node, path: Path) -> yaml.Node:
    """Return the node at a path. Raises KeyError where there is none."""
    node: yaml.Node | None = root
    for step in path:
        node = _child(node, step) if node else None
    if node is None:
        raise KeyError(path)
    return node


def _set(text: str, root: yaml.Node, path: Path, value: Any, comment_on: CommentOn | None) -> str:
    """Return the text with the value at the path replaced, or with the missing part of the path added."""
    node = root
    for depth, step in enumerate(path):
        child = _child(node, step)
        if child is None:
            if not isinstance(node, yaml.MappingNode):
                return _replace(text, root, path[:depth], _nested(path[depth:], value))
            added = _nested(path[depth + 1 :], value)
            if comment_on and isinstance(added, Mapping) and added and not node.flow_style:
                return _insert_lines(text, node, _block(path[: depth + 1], added, comment_on), str(step), True)
            return _insert(text, node, str(step), added)
        node = child
    return _replace(text, root, path, value)


def _nested(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = {str(step): value}
    return value


def _replace(text: str, root: yaml.Node, path: Path, value: Any) -> str:
    node = _node(root, path)
    start, end = _span(text, root, path)
    quote = node.style if isinstance(node, yaml.ScalarNode) and node.style in ("'", '"') else ""
    in_flow = any(getattr(_node(root, path[:depth]), "flow_style", False) for depth in range(len(path)))
    written = write_scalar(value, in_flow, quote if isinstance(value, str) else "")
    blank = " " if start == end and text[start - 1 : start] not in ("", " ", "\n") else ""
    return f"{text[:start]}{blank}{written}{text[end:]}"


def _span(text: str, root: yaml.Node, path: Path) -> tuple[int, int]:
    """Return the span of the value at a path, without its anchor; for an alias, of the alias."""
    node = _node(root, path)
    if path and isinstance(holder := _node(root, path[:-1]), yaml.MappingNode):
        key = next(key for key, value in holder.value if value is node and key.value == path[-1])
        if alias := _ALIAS.match(text, key.end_mark.index):
            return alias.span(1)
    start = node.start_mark.index
    if anchor := _PROPERTIES.match(text, start):
        start = anchor.end()
    return start, max(_end(text, node), start)


def _end(text: str, node: yaml.Node) -> int:
    """Return the end of a node. A block ends with its last value, whatever blanks and comments follow."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        if not isinstance(last, tuple):
            return _end(text, last)
        key, value = last
        alias = _ALIAS.match(text, key.end_mark.index)
        return alias.end() if alias else max(_end(text, value), key.end_mark.index)
    start = int(node.start_mark.index)
    return start + len(text[start : node.end_mark.index].rstrip())


def _insert(text: str, node: yaml.Node, key: str | None, value: Any) -> str:
    """Return the text with a key added to a mapping, or an item to a list, at its end."""
    if not isinstance(node, yaml.CollectionNode):
        raise TypeError("nothing can be inserted into a plain value")
    if node.flow_style:
        written = write_scalar(value) if key is None else f"{write_scalar(key)}: {write_scalar(value)}"
        return _insert_in_flow(text, node, written)
    written = write_scalar(value, flow=False)
    written = f"- {written}" if key is None else f"{write_scalar(key, flow=False)}: {written}"
    return _insert_lines(text, node, [written], key)


def _insert_lines(
    text: str, node: yaml.CollectionNode, lines: Sequence[str], key: str | None, apart: bool = False
) -> str:
    """Return the text with lines added at the end of a block, or where their key is commented out.

    `apart`: below a blank line, if others are.
    """
    first = node.value[0][0] if isinstance(node, yaml.MappingNode) else node
    column, start = first.start_mark.column, first.start_mark.index
    line_break = match.group() if (match := _LINE_BREAK.search(text)) else "\n"
    line_end = _LINE_BREAK.search(text, _end(text, node))
    at = line_end.start() if line_end else len(text)
    while (note := _NOTE.match(text, at)) and len(note[1]) > column:  # what is commented out in the last value
        at = note.end()
    written = "".join(f"{line_break}{' ' * column}{line}" for line in lines)
    # At the start of lines, all comments of the file may be keys that are commented out.
    if column == 0:
        start, last = 0, len(text)
    else:
        last = at
        while note := _NOTE.match(text, last):
            last = note.end()
    for note in _NOTE.finditer(text, start, last) if key is not None else ():
        following = _NOTE.match(text, note.end())
        is_block = following and following[0].lstrip().startswith("#  ")
        if len(note[1]) == column and note[0].lstrip().startswith(f"#{key}:") and not is_block:
            return f"{text[: note.start()]}{written}{text[note.end() :]}"
    gap = line_break if apart and column == 0 and _GAP.search(text.rstrip()) else ""
    return f"{text[:at]}{gap}{written}{text[at:]}"


def _block(path: Path, value: Any, comment_on: CommentOn) -> list[str]:
    """Return the lines of a key and its value, mappings as blocks, with the comments in one column."""
    lines = [*_commented(path, value, comment_on)]
    column = max(len(line) for line, _ in lines) + 2
    return [f"{line:{column}}# {comment}" if comment else line for line, comment in lines]


def _commented(path: Path, value: Any, comment_on: CommentOn) -> Iterator[tuple[str, str]]:
    key = f"{write_scalar(path[-1], flow=False)}:"
    if isinstance(value, Mapping) and value:
        yield key, comment_on(path)
        for below, item in value.items():
            yield from ((f"  {line}", comment) for line, comment in _commented((*path, below), item, comment_on))
    else:
        yield f"{key} {write_scalar(value, flow=False)}", comment_on(path)


def _insert_in_flow(text: str, node: yaml.CollectionNode, written: str) -> str:
    """Return the text with an entry added before the closing bracket of a flow collection."""
    close = node.end_mark.index - 1
    if not node.value:
        return f"{text[: node.start_mark.index + 1]}{written}{text[close:]}"
    last = node.value[-1][1] if isinstance(node.value[-1], tuple) else node.value[-1]
    at = last.end_mark.index
    if not node.start_mark.index < at <= close or text[at:close].strip(" \t\r\n,"):
        at = len(text[:close].rstrip())  # after an alias, whose value is elsewhere
    comma = _TRAILING_COMMA.match(text, at)
    if comma:
        return f"{text[: comma.end()]} {written}{text[comma.end() :]}"
    return f"{text[:at]}, {written}{text[at:]}"


def _remove(text: str, root: yaml.Node, path: Path) -> str:
    holder, last = _node(root, path[:-1]), path[-1]
    if not isinstance(holder, yaml.CollectionNode):
        raise TypeError("only items of lists and keys of mappings are removed")
    named = isinstance(holder, yaml.MappingNode)
    steps = [key.value for key, _ in holder.value] if named else [*range(len(holder.value))]
    starts = [(entry[0] if named else entry).start_mark.index for entry in holder.value]
    at = steps.index(last)
    start, end = starts[at], _span(text, root, path)[1]
    if holder.flow_style:
        if at + 1 < len(steps):
            return text[:start] + text[starts[at + 1] :]
        before = _span(text, root, (*path[:-1], steps[at - 1]))[1] if at else start
        return text[:before] + text[end:]
    line_start = text.rfind("\n", 0, start) + 1
    line_end = _LINE_BREAK.search(text, end)
    before, after = text[:line_start], text[line_end.end() :] if line_end else ""
    if starts[at] == line_start and (not after.strip() or _LINE_BREAK.match(after)):
        before = _LAST_GAP.sub(r"\1", before)
    return before + after

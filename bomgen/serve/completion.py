"""What may be typed at a place of a plan: keys, permitted words, and parts and models of the catalogue.

The text is that of an editor and rarely complete, so its place is found by indentation and brackets, not by parsing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from bomgen.catalog.files import Catalog
from bomgen.core.diagnostics import LINE_END
from bomgen.plan.schema import declaration_at
from bomgen.serve.workspace import Request, Workspace
from bomgen.workflow.catalog_listing import describe_part

Step = str | None
"""A key, or None for an item of a list."""

MOST_LINE = 2_000
"""Characters of a line in which brackets are read."""
_LINE = re.compile(r"( *)((?:- +)*)(.*)", re.DOTALL)
_KEY = re.compile(r"([\w.-]+|\"[^\"]*\"|'[^']*'):(?=\s|$)")
_WORD = re.compile(r"[\w.+-]*\Z")


class Place(NamedTuple):
    """The place of a cursor."""

    steps: tuple[Step, ...]
    """The path of the mapping, or with `value` that of the value."""
    value: bool
    word: str
    """What was typed of the word so far."""


def complete(_workspace: Workspace, request: Request) -> dict[str, Any]:
    """Return what may be typed at a line and column, both from 1 on, and the column from which it replaces text."""
    line, column = request["line"], request["column"]
    cursor = place_at(request["text"], line, column)
    if cursor is None:
        return {"from": column, "options": []}
    return {"from": column - len(cursor.word), "options": [*_options(cursor)]}


def _options(cursor: Place) -> Iterable[dict[str, str]]:
    declared = declaration_at(cursor.steps)
    if not cursor.value:
        keys = {name: declared.at(name) for name in declared.keys}
        return [
            {**_option(name, key.title, key.description, "key"), "opens": "yes" if key.has_keys else ""}
            for name, key in keys.items()
        ]
    parts = {id: named for kind in declared.kinds for id, named in _parts(kind).items()}
    return [
        _option(word, *parts[word], "part") if word in parts else _option(word, "", "", "value")
        for word in declared.words
    ]


def _option(label: str, detail: str, info: str, kind: str) -> dict[str, str]:
    return {"label": label, "detail": detail, "info": info, "type": kind}


@cache
def _parts(kind: str) -> dict[str, tuple[str, str]]:
    """Return the name and the description of each part of a kind in the built-in catalogue."""
    return {record.id: (str(record.value("name")), describe_part(record)) for record in Catalog().all(kind)}


# place --------------------------------------------------------------------------------------------------------------


def place_at(text: str, line: int, column: int) -> Place | None:
    """Return the place of a cursor; None in a comment, and outside the text."""
    lines = LINE_END.split(text)
    if not 1 <= line <= len(lines):
        return None
    above, current = lines[: line - 1], lines[line - 1][: column - 1]
    opened = _opened_at([*above, current])
    if opened is None:
        return None
    start = line - 1 if opened < 0 else opened
    match = _LINE.match("\n".join([*lines[start : line - 1], current]))
    if match is None:
        return None
    indent, dashes, rest = match.groups()
    steps = _block_steps(lines[:start], len(indent), dashes)
    return _inner(steps, rest)


def _opened_at(lines: Sequence[str]) -> int | None:
    """Return the line of the outermost bracket that is open at the end, -1 without one, None if in a comment."""
    open_at, quote = list[int](), ""
    for number, line in enumerate(lines):
        quote, before, last = "", " ", ""
        for sign in line:
            if quote:
                quote = "" if sign == quote else quote
            elif sign == "#" and before.isspace():
                if number == len(lines) - 1:
                    return None
                break
            elif sign in "\"'" and (before.isspace() or before in "[{,"):
                quote = sign
            elif sign in "[{" and (open_at or last in ("", ":", "-")):
                open_at.append(number)
            elif sign in "]}" and open_at:
                open_at.pop()
            before, last = sign, last if sign.isspace() else sign
    return open_at[0] if open_at else -1


def _block_steps(above: Sequence[str], indent: int, dashes: str) -> list[Step]:
    """Return the path of a line from the lines above it, by their indentation."""
    steps: list[Step] = [None] * dashes.count("-")
    bound, dash_bound = (indent + 1, indent) if dashes else (indent, indent)
    for line in reversed(above):
        match = _LINE.match(line)
        if match is None or not match[3].strip() or match[3].startswith("#"):
            continue
        margin, items = len(match[1]), len(match[2])
        key = _KEY.match(match[3])
        if key and margin + items < bound:
            steps.insert(0, key[1].strip("\"'"))
            bound = dash_bound = margin + items
        if items and margin < dash_bound:
            steps[:0] = [None] * match[2].count("-")
            bound, dash_bound = margin + 1, margin
        if bound <= 0:
            break
    return steps


def _inner(steps: list[Step], rest: str) -> Place:
    """Return the place at the end of a line, which may have brackets; only the end of a long line is read."""
    path, start = list(steps), 0
    rest = rest[-MOST_LINE:]
    opened = list[tuple[str | None, str]]()
    """The open brackets, each with the key whose value it is."""
    current: str | None = None
    at = 0
    while at < len(rest):
        if match := _KEY.match(rest, at) if not rest[start:at].strip() and current is None else None:
            current, at = match[1].strip("\"'"), match.end()
            start = at
            continue
        sign = rest[at]
        if sign in "\"'" and not rest[start:at].strip():
            end = rest.find(sign, at + 1)
            at = len(rest) if end < 0 else end
        elif sign in "{[" and not rest[start:at].strip():
            opened.append((current, sign))
            if current is not None:
                path.append(current)
            if sign == "[":
                path.append(None)
            current, start = None, at + 1
        elif sign in "}]" and opened:
            current, bracket = opened.pop()
            if bracket == "[":
                path.pop()
            if current is not None:
                path.pop()
            start = at + 1
            rest = rest[: at + 1] + "x" + rest[at + 1 :] if at + 1 == len(rest) else rest
        elif sign == "," and opened:
            current, start = None, at + 1
        at += 1
    typed = _WORD.search(rest[start:])
    word = typed[0] if typed else ""
    if current is not None:
        return Place((*path, current), True, word)
    return Place(tuple(path), bool(opened) and opened[-1][1] == "[", word)

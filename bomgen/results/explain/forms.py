"""Explanations as text, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from bomgen.core.provenance import Mark, Reference
from bomgen.results.explain.tree import Explanation, Node
from bomgen.results.reasons.types import Reason

NAME, VALUE, ORIGIN, NOTE, PLAIN = "name", "value", "origin", "note", "plain"
"""Kinds of text pieces."""
BY = {
    "plan": "set in the plan",
    "default": "a default",
    "rule": "by rule",
    "search": "found by a search",
}


class Piece(NamedTuple):
    """A piece of a text line and its kind, which determines its colour."""

    kind: str
    text: str


Line = tuple[Piece, ...]


class Branches(NamedTuple):
    """Tree characters: before an input, before the last one, and below each."""

    input: str
    last: str
    below: str
    below_last: str


DRAWN = Branches("├── ", "└── ", "│   ", "    ")
INDENTED = Branches("  ", "  ", "  ", "  ")
"""Plain indentation, for terminals that cannot draw trees."""


def explanation_lines(explanation: Explanation, branches: Branches = DRAWN) -> Iterator[Line]:
    """Yield the lines of an explanation: a tree per number, then the reasons."""
    seen: set[Reference] = set()
    several = len(explanation.trees) > 1
    for position, (path, node) in enumerate(explanation.trees.items()):
        if several:
            if position:
                yield ()
            yield (Piece(NAME, f"{path}:"),)
        yield from _tree(node, branches, "  " if several else "", "", seen)
    for position, reason in enumerate(explanation.reasons):
        if explanation.trees or position:
            yield ()
        yield from _reason(reason, branches)


def _tree(node: Node, branches: Branches, lead: str, branch: str, seen: set[Reference]) -> Iterator[Line]:
    drawn = Piece(PLAIN, lead + branch)
    yield (
        drawn,
        Piece(NAME, node.name),
        Piece(PLAIN, " = "),
        Piece(VALUE, node.shown),
        Piece(ORIGIN, f"    {_origin(node)}"),
    )
    below = lead + (branches.below_last if branch == branches.last else branches.below if branch else "")
    inputs = node.inputs if node.see is None else ()
    beside = branches.below if inputs else branches.below_last
    for note in _notes(node, seen):
        yield Piece(PLAIN, below + beside), Piece(NOTE, note)
    for position, each in enumerate(inputs, 1):
        yield from _tree(each, branches, below, branches.last if position == len(inputs) else branches.input, seen)


def _origin(node: Node) -> str:
    if node.see is not None:
        return f"(explained above: {node.see})"
    if node.left_out:
        return f"{node.origin}    ({node.left_out} more below)"
    return node.origin


def _notes(node: Node, seen: set[Reference]) -> Iterator[str]:
    """Yield the notes below a number: its rule, remarks, and each document on its first occurrence."""
    if node.see is not None:
        return
    if node.rests_on:
        yield f"rests on: {node.rests_on}"
    yield from node.notes
    for document in node.documents:
        if document not in seen and (document.url or document.read):
            seen.add(document)
            yield _document(document)


def _document(document: Reference) -> str:
    read = f" (read {document.read})" if document.read else ""
    url = f": {document.url}" if document.url else ""
    return f"{document.title}{url}{read}"


def _reason(reason: Reason, branches: Branches) -> Iterator[Line]:
    place = f" ({reason.place})" if reason.place else ""
    yield Piece(NAME, f"why {reason.subject}:"), Piece(VALUE, f" {reason.chosen}")
    yield Piece(PLAIN, "  "), Piece(ORIGIN, f"{BY[reason.by]}{place}: {reason.because}")
    for position, other in enumerate(reason.others, 1):
        branch = branches.last if position == len(reason.others) else branches.input
        yield Piece(PLAIN, f"  {branch}not "), Piece(NAME, other.name), Piece(ORIGIN, f": {other.reason}")


def below_branch(lead: str) -> str:
    """Return the tree characters below those of a line, for the rest of its text."""
    below = lead.replace(DRAWN.input, DRAWN.below).replace(DRAWN.last, DRAWN.below_last)
    return below + DRAWN.below_last


def text(explanation: Explanation) -> str:
    """Return an explanation as text without colours."""
    return "".join("".join(piece.text for piece in line).rstrip() + "\n" for line in explanation_lines(explanation))


def markdown(explanation: Explanation) -> str:
    """Return an explanation as Markdown with nested lists."""
    seen: set[Reference] = set()
    written: list[str] = []
    for path, node in explanation.trees.items():
        written += ["", f"## {_escaped(path)}", "", *_items(node, "", seen)]
    for reason in explanation.reasons:
        place = f" ({_code(str(reason.place))})" if reason.place else ""
        written += ["", f"## Why {_escaped(reason.subject)}", ""]
        written.append(f"**{_escaped(reason.chosen)}**, {BY[reason.by]}{place}: {_escaped(reason.because)}")
        if reason.others:
            written += ["", *(f"- not **{_escaped(each.name)}**: {_escaped(each.reason)}" for each in reason.others)]
    return "\n".join(written[1:]) + "\n"


def _items(node: Node, lead: str, seen: set[Reference]) -> Iterator[str]:
    origin = _origin(node)
    said = _code(origin) if node.kind in ("derived", "given") and node.see is None else _escaped(origin)
    yield f"{lead}- **{_escaped(node.name)}** = {_escaped(node.shown)}: {said}"
    for note in _notes(node, seen):
        yield f"{lead}  - *{_escaped(note)}*"
    for each in node.inputs if node.see is None else ():
        yield from _items(each, f"{lead}  ", seen)


def _code(text: str) -> str:
    return f"`{text}`"


def _escaped(text: str) -> str:
    for sign in "\\`*_[]<>#|":
        text = text.replace(sign, f"\\{sign}")
    return text


def to_data(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as plain data."""
    return {
        "explained": {path: _node_data(node) for path, node in explanation.trees.items()},
        "why": [_reason_data(reason) for reason in explanation.reasons],
    }


def data(explanation: Explanation) -> str:
    """Return an explanation as JSON."""
    return json.dumps(to_data(explanation), ensure_ascii=False, indent=1) + "\n"


def _node_data(node: Node) -> dict[str, Any]:
    return {
        **{key: getattr(node, key) for key in ("name", "value", "unit", "shown", "kind", "origin", "rests_on")},
        "place": _place_data(node.place),
        "documents": [{key: getattr(document, key) for key in ("title", "url", "read")} for document in node.documents],
        "confidence": node.confidence,
        "notes": list(node.notes),
        "explained_at": node.see,
        "inputs_left_out": node.left_out,
        "inputs": [_node_data(step) for step in node.inputs],
    }


def _reason_data(reason: Reason) -> dict[str, Any]:
    return {
        **{key: getattr(reason, key) for key in ("subject", "chosen", "by", "because")},
        "place": _place_data(reason.place),
        "others": [other._asdict() for other in reason.others],
    }


def _place_data(mark: Mark | None) -> dict[str, Any] | None:
    return None if mark is None else {"file": mark.file, "line": mark.line, "column": mark.column}

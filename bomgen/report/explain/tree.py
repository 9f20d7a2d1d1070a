"""A derivation as a tree of plain data: every number with its value, its formula, its place and its documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from bomgen.core.money import MONEY
from bomgen.core.plain_data import plain
from bomgen.core.provenance import Assumed, Cited, Derived, Figure, Given, Mark, Reference, origin_text, telling_inputs


class Node(NamedTuple):
    """A number, where it comes from, and what it was worked out from."""

    name: str
    shown: str
    """Its value with its unit, as a person writes it."""
    value: Any
    """As bom.json holds it."""
    unit: str
    kind: str
    """derived, given, cited, assumed, chosen (by a search of the program) or priced."""
    origin: str
    """Where it comes from, in a line: its formula, place or documents."""
    rests_on: str | None = None
    """The paper, equation or rule of the formula."""
    place: Mark | None = None
    """Where the plan, or a price book, gives it."""
    documents: tuple[Reference, ...] = ()
    confidence: str | None = None
    notes: tuple[str, ...] = ()
    """What else is known: why it is assumed, what a document leaves open, how old a price is."""
    inputs: tuple[Node, ...] = ()
    see: str | None = None
    """The number below which it was explained before; None: it is explained here."""
    left_out: int = 0
    """Inputs that lie deeper than was asked for."""


class Trees:
    """Makes trees, each derivation once: where it comes up again it is only named, with the number that explains it."""

    def __init__(self, show: Callable[[Figure], str], depth: int | None = None, currency: str = MONEY) -> None:
        self.show, self.depth, self.currency = show, depth, currency
        self.explained: dict[int, str] = {}
        """The number below which a derived figure was explained, by the figure's identity."""

    def tree(self, path: str, figure: Figure, name: str | None = None, level: int = 0) -> Node:
        """The tree of a number at a path; `level` is how far below the number asked for it hangs."""
        return self._node(path, name or path.rpartition(".")[2], figure, level, whole=not level)

    def _node(self, path: str, name: str, figure: Figure, level: int, whole: bool = False) -> Node:
        unit = self.currency if figure.unit == MONEY else figure.unit
        node = _origin_node(name, self.show(replace(figure, unit=unit)), figure)._replace(unit=unit)
        if not figure.inputs:
            return node
        before = self.explained.get(id(figure))
        if before is not None and not whole:
            return node._replace(see=before)
        inputs = telling_inputs(figure)
        if self.depth is not None and level >= self.depth:
            return node._replace(left_out=len(inputs))
        self.explained.setdefault(id(figure), path)
        return node._replace(inputs=tuple(self._node(path, key, value, level + 1) for key, value in inputs))


def _origin_node(name: str, shown: str, figure: Figure) -> Node:
    """A figure without its inputs."""
    node = Node(name, shown, plain(figure.value), figure.unit, "", origin_text(figure))
    match figure.origin:
        case Derived(formula=derivation):
            return node._replace(kind="derived", rests_on=derivation.source)
        case Given(mark=mark):
            return node._replace(kind="given", place=mark)
        case Assumed() as assumed:
            return node._replace(
                kind="chosen" if assumed.chosen else "assumed",
                documents=assumed.references,
                confidence=assumed.confidence,
                notes=() if assumed.chosen else (f"{assumed.name}: {assumed.why}",),
            )
        case Cited() as cited:
            return node._replace(
                kind="cited",
                documents=cited.references,
                confidence=cited.confidence,
                notes=(cited.note,) if cited.note else (),
            )


def numbers_below(path: str | None, found: Mapping[str, Figure]) -> dict[str, Figure]:
    """The numbers at a path and below it; all of them without one."""
    return {name: figure for name, figure in found.items() if path is None or is_below(name, path)}


def is_below(name: str, path: str) -> bool:
    """Whether a dotted name is a path, or begins with it."""
    return name == path or name.startswith(f"{path}.")

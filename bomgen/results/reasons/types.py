"""A choice as data: what was taken, by whom, why, and what was not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bomgen.catalog.parts import Identity
from bomgen.core.formula_words import describe_formula
from bomgen.core.language import Language
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Assumed, Derived, Figure, Given, Mark, walk
from bomgen.results.result import Report

PLAN, DEFAULT, RULE, SEARCH = "plan", "default", "rule", "search"
"""Who chose: the plan, a default of the catalogue, a rule, a search of the program."""


class Other(NamedTuple):
    """What was not taken, and why not."""

    name: str
    reason: str


class Reason(NamedTuple):
    """A choice and its reason; texts are messages, which other languages have sentences for, or names."""

    subject: str
    """What was chosen, as a dotted path."""
    title: Message
    """The same in words."""
    chosen: str
    by: str
    """One of `PLAN`, `DEFAULT`, `RULE` and `SEARCH`."""
    because: str
    place: Mark | None
    """Where the plan says it."""
    others: tuple[Other, ...] = ()


class Topic(NamedTuple):
    """Something that was chosen; the reason is worked out when somebody asks."""

    subject: str
    covers: tuple[str, ...]
    """Numbers of bom.json and lines of the bill that rest on the choice, by the start of their path or id."""
    reason: Callable[[], Reason | None]


class ReasonInputs(NamedTuple):
    """What reasons are worked out from."""

    report: Report
    words: Language
    """The language that numbers in the texts are written in."""

    def given(self, *path: str | int) -> Mark | None:
        """The place at which the plan gives a key; None: it does not."""
        data: Any = self.report.source.data
        for step in path:
            if not isinstance(data, Mapping) or step not in data:
                return None
            data = data[step]
        return self.report.source.key_mark(path)

    def value(self, figure: Figure) -> str:
        """A figure as a person writes it."""
        return self.words.shown(figure)


def chosen_by(asked: ReasonInputs, figure: Figure) -> tuple[str, Mark | None, str]:
    """Who gave a figure, where, and what is said for it: the plan, an assumption, a search, or a rule."""
    origin = figure.origin
    if isinstance(origin, Given):
        return PLAN, origin.mark, message("because-plan")
    if isinstance(origin, Assumed):
        return (SEARCH if origin.chosen else DEFAULT), None, origin.why
    searched = any(
        isinstance(node.origin, Derived) and node.origin.formula.unit in ("shape", "demand") for node in walk(figure)
    )
    formula = describe_formula(figure, asked.words, asked.value).text if isinstance(origin, Derived) else ""
    return (SEARCH if searched else RULE), None, formula


def named(identity: Identity) -> str:
    """A part by its id and name."""
    return identity.id if identity.id == identity.name else message("part-by-id", id=identity.id, name=identity.name)

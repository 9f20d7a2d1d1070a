"""Choices as data: what was selected, by whom, why, and what was rejected."""

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
"""Origin of a choice: the plan, a catalogue default, a rule, a search of the program."""


class Other(NamedTuple):
    """A rejected alternative and the reason."""

    name: str
    reason: str


class Reason(NamedTuple):
    """A choice and its reason; texts are translatable messages, or names."""

    subject: str
    """Dotted path of the choice."""
    title: Message
    """Title of the choice."""
    chosen: str
    by: str
    """One of `PLAN`, `DEFAULT`, `RULE` and `SEARCH`."""
    because: str
    place: Mark | None
    """Place in the plan that sets it."""
    others: tuple[Other, ...] = ()


class Topic(NamedTuple):
    """A choice whose reason is calculated on request."""

    subject: str
    covers: tuple[str, ...]
    """Numbers of bom.json and bill lines that depend on the choice, by path or id prefix."""
    reason: Callable[[], Reason | None]


class ReasonInputs(NamedTuple):
    """Inputs for reasons."""

    report: Report
    words: Language
    """Language of the numbers in the texts."""

    def given(self, *path: str | int) -> Mark | None:
        """Return the place at which the plan sets a key; None if it does not."""
        data: Any = self.report.source.data
        for step in path:
            if not isinstance(data, Mapping) or step not in data:
                return None
            data = data[step]
        return self.report.source.key_mark(path)

    def value(self, figure: Figure) -> str:
        """Return a figure as text."""
        return self.words.shown(figure)


def chosen_by(asked: ReasonInputs, figure: Figure) -> tuple[str, Mark | None, str]:
    """Return who set a figure, where, and the reason: the plan, an assumption, a search, or a rule."""
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
    """Return the id and name of a part."""
    return identity.id if identity.id == identity.name else message("part-by-id", id=identity.id, name=identity.name)

"""A mapping of the plan during binding: figures, words and parts, with the problems found."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from bomgen.catalog.files import Catalog, Record, UnknownPart, inline_record
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Figure, Given, Mark, Origin
from bomgen.core.units import parse
from bomgen.core.yaml_source import Path, Source

T = TypeVar("T")


class PlanSection(NamedTuple):
    """A mapping of the plan during binding: reads figures, notes problems, falls back on assumptions."""

    source: Source
    path: Path
    catalog: Catalog
    problems: list[Problem]
    origin: Origin | None = None
    """The origin of everything in a section that is not from a plan, such as a default fabric."""

    @property
    def data(self) -> dict[str, Any]:
        """The section's mapping; empty when there is none."""
        data = self._at(self.path)
        return data if isinstance(data, dict) else {}

    def value(self, key: str | int) -> Any:
        """Return the value of a key, or of a list index; None when it is missing."""
        return self._at((*self.path, key))

    def _at(self, path: Path) -> Any:
        data = self.source.data
        for step in path:
            if isinstance(data, list) and isinstance(step, int):
                data = data[step]
            else:
                data = data.get(step) if isinstance(data, dict) else None
        return data

    @property
    def mark(self) -> Mark:
        """The place of the section."""
        return self.source.key_mark(self.path) if self.path else self.source.mark(())

    def has(self, key: str) -> bool:
        """Return whether the section has a key."""
        return self.data.get(key) is not None

    def below(self, key: str | int) -> PlanSection:
        """Return the section at a key, or at a list index; empty when it is missing."""
        return PlanSection(self.source, (*self.path, key), self.catalog, self.problems, self.origin)

    def items(self, key: str) -> list[PlanSection]:
        """Return the sections of the list at a key; none when it is missing."""
        listed = self.below(key)
        return [listed.below(index) for index in range(len(self.data.get(key) or ()))]

    def value_mark(self, key: str | int) -> Mark:
        """Return the place of the value of a key."""
        return self.source.mark((*self.path, key))

    def problem(self, key: str | int, message: str, rule: str) -> None:
        """Note a problem with the value of a key."""
        dotted = ".".join(str(step) for step in (*self.path, key))
        self.problems.append(Problem(self.value_mark(key), "error", message, rule, dotted))

    def figure(self, key: str, unit: str, assumption: str | None = None, zero: bool = False) -> Figure | None:
        """Return the quantity at a key, else the assumption named, else None; `zero` allows 0."""
        raw = self.data.get(key)
        if raw is None:
            return None if assumption is None else self.catalog.assumption(assumption)
        try:
            number = parse(raw, unit)
        except ValueError as error:
            self.problem(key, str(error), "unit")
            number = 1
        if number < 0 or (number == 0 and not zero):
            self.problem(key, f"{_written(raw)} is too small; {'0 or more' if zero else 'more than 0'}", "range")
            number = 1
        if unit in _WHOLE and isinstance(number, Fraction):
            self.problem(key, f"{_written(raw)} is not a whole number of {unit}; write a whole one", "unit")
            number = 1
        return Figure(number, unit, self._origin_of(key))

    def figures(self, key: str, unit: str) -> tuple[Figure, ...] | None:
        """Return the numbers of a list at a key, each with its place; None when there is none."""
        raw = self.data.get(key)
        if raw is None:
            return None
        marks = (self.source.mark((*self.path, key, place)) for place in range(len(raw)))
        name = ".".join(str(step) for step in (*self.path[1:], key))
        return tuple(
            Figure(int(number), unit, self.origin or Given(mark, name)) for number, mark in zip(raw, marks, strict=True)
        )

    def _origin_of(self, key: str) -> Origin:
        path = ".".join(str(step) for step in (*self.path[1:], key))
        if isinstance(self.origin, Assumed):
            return self.origin._replace(name=message("assumption-at", name=self.origin.name, key=path))
        return self.origin or Given(self.value_mark(key), path)

    def quantity(self, key: str, unit: str, assumption: str, zero: bool = False) -> Figure:
        """Return a quantity as `figure` does, where there always is one."""
        found = self.figure(key, unit, assumption, zero)
        return found if found is not None else self.catalog.assumption(assumption)

    def word(self, key: str, assumption: str) -> Figure:
        """Return the word at a key, else the assumption named, as a figure."""
        raw = self.data.get(key)
        if raw is None:
            return self.catalog.assumption(assumption)
        return Figure(raw, "word", self._origin_of(key))

    def yes_or_no(self, key: str, assumption: str) -> Figure:
        """Return the boolean at a key, else the assumption named, as a word: yes or no."""
        raw = self.data.get(key)
        if raw is None:
            return self.catalog.assumption(assumption)
        return Figure("yes" if raw else "no", "word", self._origin_of(key))

    def text(self, key: str) -> str | None:
        """Return the text at a key."""
        raw = self.data.get(key)
        return None if raw is None else str(raw)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the text at a key, or those of the list there."""
        raw = self.data.get(key) or ()
        return (raw,) if isinstance(raw, str) else tuple(map(str, raw))

    def part(
        self, key: str | int, kind: str, build: Callable[[Record], T], suits: Callable[[Record], bool] | None = None
    ) -> T | None:
        """Return the part at a key, by id or described by a mapping; None when it is missing or wrong.

        Of several parts that share a name, the one that `suits` is meant.
        """
        raw = self.value(key)
        if raw is None:
            return None
        try:
            if isinstance(raw, dict):
                return build(inline_record(kind, self.source, (*self.path, key)))
            return self.catalog.build_part(kind, str(raw), build)
        except UnknownPart as error:
            suitable = [id for id in error.fits if suits and suits(self.catalog.find(kind, id))]
            if len(suitable) == 1:
                return self.catalog.build_part(kind, suitable[0], build)
            self.problem(key, str(error), "unknown-part")
        except PlanErrors as errors:
            self.problems.extend(self._moved(problem, key) for problem in errors.problems)
        return None

    def _moved(self, problem: Problem, key: str | int) -> Problem:
        if problem.mark.file == self.source.file:
            return problem
        return Problem(self.value_mark(key), "error", f"{problem.message} (in {problem.mark})", problem.rule)


_WHOLE = ("count", "requests", "tokens", "parameters", "Gb/s")


def _written(raw: object) -> str:
    return f"{float(raw):g}" if isinstance(raw, Fraction) else str(raw)

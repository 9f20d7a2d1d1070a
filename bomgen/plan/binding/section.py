"""A mapping of the plan during binding: figures, words and parts, with the problems found."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

from bomgen.catalog.files import Catalog, Record, UnknownPart, inline_record
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Figure, Given, Mark, Origin, require
from bomgen.core.units import parse
from bomgen.core.yaml_source import Path, Source
from bomgen.plan.schema import KEY, Declaration

T = TypeVar("T")
AUTO = "auto"
"""The word for a number that the program finds."""
WORD = "word"
"""The unit of words."""


class PlanSection(NamedTuple):
    """A mapping of the plan during binding: reads figures, notes problems, falls back on assumptions."""

    source: Source
    path: Path
    given: Any
    """The value at the path, or None."""
    catalog: Catalog
    problems: list[Problem]
    declared: Declaration
    """What the schema of plans declares of the section."""
    origin: Origin | None = None
    """The origin of everything in a section that is not from a plan, such as a default fabric."""

    @property
    def data(self) -> dict[str, Any]:
        """Return the section's mapping; empty if there is none."""
        return self.given if isinstance(self.given, dict) else {}

    def value(self, key: str | int) -> Any:
        """Return the value of a key, or of a list index; None when it is missing."""
        return self.given[key] if isinstance(key, int) else self.data.get(key)

    @property
    def mark(self) -> Mark:
        """Return the place of the section."""
        return self.source.key_mark(self.path) if self.path else self.source.mark(())

    def has(self, key: str) -> bool:
        """Return whether the section has a key."""
        return self.data.get(key) is not None

    def below(self, key: str | int) -> PlanSection:
        """Return the section at a key, or at a list index; empty when it is missing."""
        path, value, declared = (*self.path, key), self.value(key), self.declared.at(key)
        return PlanSection(self.source, path, value, self.catalog, self.problems, declared, self.origin)

    def items(self, key: str | int) -> list[PlanSection]:
        """Return the sections of the list at a key, or at a list index; none when it is missing."""
        listed = self.below(key)
        return [listed.below(index) for index in range(len(listed.given or ()))]

    def value_mark(self, key: str | int) -> Mark:
        """Return the place of the value of a key."""
        return self.source.mark((*self.path, key))

    def problem(self, key: str | int, message: str, rule: str) -> None:
        """Note a problem with the value of a key."""
        dotted = ".".join(str(step) for step in (*self.path, key))
        self.problems.append(Problem(self.value_mark(key), "error", message, rule, dotted))

    def keys(self, record: type[tuple[Any, ...]]) -> dict[str, Any]:
        """Return the values of the keys that a record takes as they are: its fields of type `Key`."""
        return {key: read(self, key) for key, read in _plain_keys(record).items()}

    def figure(self, key: str, assumption: str | None = None, unit: str | None = None) -> Figure | None:
        """Return the quantity or word at a key, else an assumption, else None; as declared, unless given here."""
        raw, declared = self.data.get(key), self.declared.at(key)
        unit, assumption = unit or declared.unit, assumption or declared.assumption
        if raw is None or (raw == AUTO and unit != WORD):
            return None if assumption is None else self.catalog.assumption(assumption)
        if unit == WORD:
            word = raw if not isinstance(raw, bool) else "yes" if raw else "no"
            return Figure(word, WORD, self._origin_of(key))
        try:
            number = parse(raw, unit)
        except ValueError as error:
            self.problem(key, str(error), "unit")
            number = 1
        if number < 0 or (number == 0 and not declared.zero):
            least = "0 or more" if declared.zero else "more than 0"
            self.problem(key, f"{_written(raw)} is too small; {least}", "range")
            number = 1
        if unit in _WHOLE and isinstance(number, Fraction):
            self.problem(key, f"{_written(raw)} is not a whole number of {unit}; write a whole one", "unit")
            number = 1
        return Figure(number, unit, self._origin_of(key))

    def setting(self, key: str, assumption: str | None = None, unit: str | None = None) -> Figure:
        """Return the quantity or word at a key as `figure` does, where there always is one."""
        return require(self.figure(key, assumption, unit), "the schema asks for it or declares an assumption")

    def figures(self, key: str) -> tuple[Figure, ...] | None:
        """Return the numbers of a list at a key, each with its place; None when there is none."""
        raw = self.data.get(key)
        if raw is None:
            return None
        unit = self.declared.at(key).unit
        marks = (self.source.mark((*self.path, key, index)) for index in range(len(raw)))
        name = ".".join(str(step) for step in (*self.path[1:], key))
        return tuple(
            Figure(int(number), unit, self.origin or Given(mark, name)) for number, mark in zip(raw, marks, strict=True)
        )

    def _origin_of(self, key: str) -> Origin:
        path = ".".join(str(step) for step in (*self.path[1:], key))
        if isinstance(self.origin, Assumed):
            return self.origin._replace(name=message("assumption-at", name=self.origin.name, key=path))
        return self.origin or Given(self.value_mark(key), path)

    def text(self, key: str) -> str | None:
        """Return the text at a key, else the default that is declared."""
        raw = self.data.get(key, self.declared.at(key).default)
        return None if raw is None else str(raw)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the text at a key, or those of the list there."""
        raw = self.data.get(key) or ()
        return (raw,) if isinstance(raw, str) else tuple(map(str, raw))

    def is_set(self, key: str) -> bool:
        """Return whether the boolean at a key is true, else the default that is declared."""
        return bool(self.data.get(key, self.declared.at(key).default))

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


_READERS: dict[Any, Callable[[PlanSection, str], Any]] = {
    Figure: PlanSection.setting,
    Figure | None: PlanSection.figure,
    str: PlanSection.text,
    str | None: PlanSection.text,
    tuple[str, ...]: PlanSection.texts,
    bool: PlanSection.is_set,
}


@cache
def _plain_keys(record: type[tuple[Any, ...]]) -> dict[str, Callable[[PlanSection, str], Any]]:
    hints = get_type_hints(record, include_extras=True).items()
    return {field: _READERS[get_args(hint)[0]] for field, hint in hints if get_args(hint)[1:] == (KEY,)}


_WHOLE = ("count", "requests", "tokens", "parameters", "Gb/s")


def _written(raw: object) -> str:
    return f"{float(raw):g}" if isinstance(raw, Fraction) else str(raw)

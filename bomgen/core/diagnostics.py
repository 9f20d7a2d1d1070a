"""Problems of a plan, as values: collected until the plan is bound, then shown together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from bomgen.core.provenance import Figure, Mark

Severity = Literal["error", "warning"]

MAX_PROBLEMS = 200
"""Most problems of one file that are reported. Printing more would take minutes, and nobody fixes more in one run."""
EXCERPT = 200
"""Characters of a long line that are shown around a problem."""
CLOSE = 0.6
"""Similarity from which a known word is suggested for another (the usual cutoff of difflib)."""
_REMEDY = re.compile("; |；")
"""Separates the remedy from what is wrong, in English and in Chinese."""
LINE_END = re.compile("\r\n|\n|\r")
"""The end of a line in any text that is read: editors, Jinja2 and CSV count alike."""


class Choice(NamedTuple):
    """An answer to a question: a setting as commands take it, such as `price=C`, and what the user is shown for it."""

    setting: str
    label: str


class Question(NamedTuple):
    """What a problem leaves to the user: `key` names what is chosen, such as the column of prices."""

    key: str
    text: str
    choices: tuple[Choice, ...]


class Problem(NamedTuple):
    """One finding at one place. `message` says what is wrong and, after a semicolon, how to fix it."""

    mark: Mark
    severity: Severity
    message: str
    rule: str
    path: str = ""
    """The plan key or bom.json path of the problem, dotted; may be empty."""
    questions: tuple[Question, ...] = ()
    """The answers to choose from, of which `message` names some as options of a command."""
    fixes: tuple[str, ...] = ()
    """Values that would be right at the place of the problem, as they are typed."""

    @property
    def file(self) -> str:
        """The file of the problem."""
        return self.mark.file

    @property
    def line(self) -> int:
        """The line of the problem, from 1 on."""
        return self.mark.line

    @property
    def column(self) -> int:
        """The column of the problem, from 1 on."""
        return self.mark.column

    @property
    def fault(self) -> str:
        """What is wrong, without the remedy."""
        return _REMEDY.split(self.message, maxsplit=1)[0]

    @property
    def remedy(self) -> str:
        """How to fix it; empty if the message does not say."""
        return (*_REMEDY.split(self.message, maxsplit=1), "")[1]

    def __str__(self) -> str:
        return f"{self.mark}: {self.severity}: {self.message} [{self.rule}]"


class OutputError(Exception):
    """A file could not be written."""


class PlanErrors(Exception):
    """A plan that cannot be used, with every problem found in it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)

    @property
    def first_error(self) -> Problem:
        """The first of the problems that is an error."""
        return next(problem for problem in self.problems if problem.severity == "error")

    def __reduce__(self) -> tuple[type[PlanErrors], tuple[Sequence[Problem]]]:
        """Return the constructor and arguments of a copy in another process."""
        return type(self), (self.problems,)


def error_at(place: Mark | str, message: str, rule: str, path: str = "") -> PlanErrors:
    """Return an error at a mark, or at the beginning of a file."""
    return PlanErrors([Problem(Mark(place, 1, 1) if isinstance(place, str) else place, "error", message, rule, path)])


class Infeasible(Exception):
    """A demand that cannot be met; `because` is the figure that failed, traced back to the plan for the user."""

    def __init__(self, message: str, because: Figure, rule: str = "infeasible", fixes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message, self.because, self.rule, self.fixes = message, because, rule, fixes


def excerpt(problem: Problem, text: str) -> list[str]:
    """Return the line of a problem and a caret below its column; empty when the line is not in `text`."""
    if "\0" in text:
        return []
    lines = _lines(text)
    if not 1 <= problem.mark.line <= len(lines):
        return []
    line, column = lines[problem.mark.line - 1].replace("\t", " "), problem.mark.column
    if len(line) > EXCERPT:
        start = max(min(column - 1 - EXCERPT // 2, len(line) - EXCERPT), 0)
        line, column = line[start : start + EXCERPT], column - start
    number = str(problem.mark.line)
    caret = " " * (column - 1) + "^"
    return [f"  {number} | {line}", f"  {' ' * len(number)} | {caret}"]


@lru_cache(maxsize=1)
def _lines(text: str) -> list[str]:
    lines = LINE_END.split(text)
    return lines if lines[-1] else lines[:-1]


def nearest(word: str, known: Iterable[str], count: int = 1) -> list[str]:
    """Return the known words closest to a mistyped one; among equals, those with the same beginning come first.

    Returns none when all are too different.
    """
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=word)
    common = str.maketrans("", "", word)
    scored = []
    for candidate in known:
        # The number of common characters is an upper bound of the similarity that is much cheaper to calculate.
        most = min(len(candidate) - len(candidate.translate(common)), len(word))
        if 2 * most < CLOSE * (len(candidate) + len(word)):
            continue
        matcher.set_seq1(candidate)
        if matcher.quick_ratio() >= CLOSE and matcher.ratio() >= CLOSE:
            alike = next((i for i, (a, b) in enumerate(zip(candidate, word, strict=False)) if a != b), len(word))
            scored.append((-matcher.ratio(), -alike, candidate))
    return [candidate for _, _, candidate in sorted(scored)[:count]]

"""What is wrong, as the page gets it: the problems of plans and files, and the errors of calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from bomgen.core.diagnostics import LINE_END, MAX_PROBLEMS, Problem

Data = dict[str, Any]

_WORD = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s,\[\]{}#]+(?: [^\s,\[\]{}#:]+)*")
"""What stands at a place: a quoted text, or words up to the end of a key or value."""


def failure(status: int, error: str, message: str, **more: Any) -> Data:
    """Return the answer to a call that failed: the status of HTTP that fits, and the error."""
    return {"status": status, "error": error_data(error, message, **more)}


def error_data(error: str, message: str, **more: Any) -> Data:
    """Return an error: a code for the page, and a message for its user."""
    return {"error": error, "message": message, **more}


def problems_data(problems: Iterable[Problem], path: str, text: str, say: Callable[[str], str] = str) -> list[Data]:
    """Return problems with their places in the text of a plan, in characters from 1 on; `say` translates messages.

    A problem in another file, such as a price book, has that `file`, and stands at the start of the plan.
    """
    lines = LINE_END.split(text)
    return [_texts_of(problem, say) | _place_of(problem, path, lines) for problem in [*problems][:MAX_PROBLEMS]]


def texts_of(problems: Iterable[Problem], say: Callable[[str], str] = str) -> list[Data]:
    """Return what problems say, without their places, as for a file that the page does not show.

    A problem with questions has them in place of its remedy, which is an option of a command.
    """
    return [_texts_of(problem, say) for problem in [*problems][:MAX_PROBLEMS]]


def _texts_of(problem: Problem, say: Callable[[str], str]) -> Data:
    said = problem._replace(message=say(problem.message))
    asked = questions_data(problem, say)
    return {
        "severity": problem.severity,
        "message": said.fault,
        "remedy": "" if asked else said.remedy,
        "rule": problem.rule,
        "questions": asked,
    }


def questions_data(problem: Problem, say: Callable[[str], str] = str, first: str = "") -> list[Data]:
    """Return what a problem leaves to the user, with the answers to choose from; the setting `first` comes first."""
    return [
        {
            "key": question.key,
            "message": say(question.text),
            "choices": [
                {"value": choice.setting, "label": say(choice.label)}
                for choice in sorted(dict.fromkeys(question.choices), key=lambda choice: choice.setting != first)
            ],
        }
        for question in problem.questions
    ]


def _place_of(problem: Problem, path: str, lines: list[str]) -> Data:
    own = str(problem.file) == path and 1 <= problem.line <= len(lines)
    line, column = (problem.line, problem.column) if own else (1, 1)
    found = _WORD.match(lines[line - 1], column - 1) if own else None
    place = {"line": line, "column": column, "end_line": line, "end_column": found.end() + 1 if found else column}
    return place if own else {**place, "file": str(problem.file), "file_line": problem.line}

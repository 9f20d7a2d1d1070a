"""Problems of plans, bills and price lists, printed on standard error as a compiler does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from bomgen.cli.messages import QUIET, UNSHOWN, complain, escape_controls, is_set
from bomgen.core.diagnostics import MAX_PROBLEMS, Problem, excerpt
from bomgen.workflow.inputs import text_of
from bomgen.workflow.plan_files import PlanFile


def show(problems: Sequence[Problem], file: PlanFile) -> None:
    """Print problems, each error with its line of the plan or of a related file."""
    print_problems(problems, lambda name: text_of(file, name))


def print_problems(problems: Sequence[Problem], text_of: Callable[[str], str]) -> None:
    """Print problems, each error with its line of the file; if there are many, the first of each severity."""
    told, texts = {"error": 0, "warning": 0}, dict[str, str]()
    for problem in problems:
        if problem.severity != "error" and is_set(QUIET):
            continue
        told[problem.severity] += 1
        if told[problem.severity] > MAX_PROBLEMS:
            continue
        colour = "red" if problem.severity == "error" else "yellow"
        severity, rule = click.style(f"{problem.severity}:", fg=colour, bold=True), click.style(problem.rule, dim=True)
        mark, message = click.style(escape_controls(str(problem.mark)), bold=True), escape_controls(problem.message)
        click.echo(f"{mark}: {severity} {message} [{rule}]", err=True)
        if problem.severity == "error":
            file = problem.mark.file
            texts[file] = texts[file] if file in texts else text_of(file)
            for line in excerpt(problem, texts[file]):
                line = escape_controls(line, UNSHOWN)  # a sign for a sign: the caret stands below its column
                before, caret, _ = line.rpartition("^")
                pointed = caret and not before.partition("|")[2].strip()
                click.echo(before + click.style(caret, fg=colour, bold=True) if pointed else line, err=True)
    for severity, count in told.items():
        if count > MAX_PROBLEMS:
            complain(f"... and {count - MAX_PROBLEMS} more {severity}s")

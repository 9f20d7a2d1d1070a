"""`bomgen check`: what is wrong with plans."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from bomgen.cli.common import WRONG_PLAN, locked_option, opened, plans_argument, progress, root_option, set_option, show

if TYPE_CHECKING:
    from bomgen.problems import Problem


@click.command()
@plans_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    show_default=True,
    help="How problems are written: for people, programs, or annotations of a code host.",
)
@locked_option
@set_option
@root_option
def check(plans: tuple[str, ...], form: str, locked: bool, settings: tuple[str, ...], root: str | None) -> None:
    """Say what is wrong with plans, and whether they can be built; write nothing."""
    from bomgen.pipeline import checked
    from bomgen.problems import PlanErrors

    files, code = opened(plans, root)
    found = list["Problem"]()
    for number, file in enumerate(files, start=1):
        progress(number, len(files), file.name)
        try:
            problems: Sequence[Problem] = checked(file, settings, locked)
        except PlanErrors as errors:
            problems = errors.problems
            code = max(code, WRONG_PLAN)
        if form == "text":
            show(problems, file)
            if not any(problem.severity == "error" for problem in problems):
                click.echo(f"{file.name}: can be built{_count_of(problems)}")
        found += problems
    if form == "json":
        import json

        click.echo(json.dumps([_problem_data(problem) for problem in found], ensure_ascii=False, indent=1))
    elif form == "github":
        for problem in found:
            mark = problem.mark
            text = f"{problem.message} [{problem.rule}]".replace("%", "%25").replace("\n", "%0A")
            click.echo(f"::{problem.severity} file={mark.file},line={mark.line},col={mark.column}::{text}")
    sys.exit(code)


def _count_of(problems: Sequence[Problem]) -> str:
    return f", {len(problems)} warning{'s' if len(problems) > 1 else ''}" if problems else ""


def _problem_data(problem: Problem) -> dict[str, Any]:
    mark = problem.mark
    return {
        "file": mark.file,
        "line": mark.line,
        "column": mark.column,
        "severity": problem.severity,
        "message": problem.message,
        "rule": problem.rule,
        "path": problem.path,
    }

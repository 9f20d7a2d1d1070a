"""What commands share: their options, opening plans, showing problems, writing one file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bomgen.figures import Figure
    from bomgen.inputs import PlanFile
    from bomgen.problems import Problem
    from bomgen.report import Report


WRONG_PLAN, WRONG_USAGE, NOT_WRITTEN, INTERRUPTED = 1, 2, 3, 130

set_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a value of the plan; dots between keys."
)
root_option = click.option(
    "--root",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="Folder that the plan's paths must stay below. [default: its checkout]",
)
locked_option = click.option(
    "--locked", is_flag=True, help="Take it for an error when a plan has no lock, or when its lock is stale."
)
plans_argument = click.argument("plans", nargs=-1, required=True, metavar="PLAN...")


def opened(plans: Sequence[str], root: str | None) -> tuple[list[PlanFile], int]:
    """The plan files that can be read, and the exit code so far: a plan that cannot be read is wrong usage."""
    from bomgen.inputs import open_plan

    files, code = list["PlanFile"](), 0
    for plan in plans:
        try:
            files.append(open_plan(plan, root))
        except OSError as error:
            click.echo(f"Error: cannot read the plan '{plan}': {error.strerror}", err=True)
            code = WRONG_USAGE
    return files, code


def one_opened(plan: str, root: str | None) -> PlanFile:
    """The file of a plan; one that cannot be read ends the command."""
    files, code = opened((plan,), root)
    if code:
        sys.exit(code)
    return files[0]


def check_names(files: Sequence[PlanFile], settings: Sequence[str]) -> None:
    """Two plans of one name would write over each other: wrong usage, before anything is written."""
    from bomgen.inputs import name_of

    names = dict[str, str]()
    for file in files if len(files) > 1 else ():
        name = name_of(file, settings)
        if name in names:
            raise click.UsageError(f"{names[name]} and {file.name} are both named {name}; give one another name")
        if name is not None:
            names[name] = file.name


def worked_out(
    file: PlanFile, settings: Sequence[str], quiet: bool = False, templates: Sequence[str] = (), locked: bool = False
) -> Report | None:
    """The report of a plan; its problems are shown, and None is returned when there is an error among them.

    `locked` makes errors of what keeps the result from resting on a lock.
    """
    from bomgen.pipeline import as_locked, work_out
    from bomgen.problems import PlanErrors

    try:
        report = work_out(file, settings, templates)
        if locked:
            as_locked(file, report)
    except PlanErrors as errors:
        show(errors.problems, file)
        return None
    if not quiet:
        show((*report.problems, *report.stale), file)
    return report


def show(problems: Sequence[Problem], file: PlanFile) -> None:
    """Print problems, each error with the line of the plan, or of the file beside it, that it stands in."""
    from bomgen.inputs import text_of

    print_problems(problems, lambda name: text_of(file, name))


def print_problems(problems: Sequence[Problem], text_of: Callable[[str], str]) -> None:
    """Print problems, each error with its line of the text of its file."""
    from bomgen.problems import excerpt

    for problem in problems:
        click.echo(str(problem), err=True)
        if problem.severity == "error":
            for line in excerpt(problem, text_of(problem.mark.file)):
                click.echo(line, err=True)


def progress(number: int, of: int, name: str) -> None:
    """Say which of several plans is worked on."""
    if of > 1:
        click.echo(f"[{number}/{of}] {name}", err=True)


def not_itself(output: str | None, given: str) -> None:
    """What is read is not written over: wrong usage."""
    if output is not None and Path(output).resolve() == Path(given).resolve():
        raise click.UsageError(f"{output} is what is read; name another file with -o")


def write_out(content: bytes, output: str | None) -> None:
    """Write to a file and say so, or to standard output."""
    from bomgen.outputs import OutputError, write_one

    if output is None:
        click.echo(content, nl=False)
        return
    try:
        write_one(content, Path(output))
    except OutputError as error:
        click.echo(f"bomgen: not written: {error}", err=True)
        sys.exit(NOT_WRITTEN)
    click.echo(output)


def value_text(figure: Figure) -> str:
    """A figure's value with its unit, as a person writes it."""
    from bomgen.language import language

    if isinstance(figure.value, bool | str | tuple):
        return str(figure.value)
    return language("en").value(figure.value, figure.unit)

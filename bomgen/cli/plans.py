"""Plan files for commands, by path or revision: opened, worked out, watched, and their problems shown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bomgen.cli.exit_codes import WRONG_USAGE
from bomgen.cli.messages import complain, show
from bomgen.cli.watch import watched

if TYPE_CHECKING:
    from bomgen.results.result import Report
    from bomgen.workflow.plan_files import PlanFile


def open_plans(plans: Sequence[str], root: str | None) -> tuple[list[PlanFile], int]:
    """The plan files that can be read, and the exit code so far: a plan that cannot be read is wrong usage."""
    from bomgen.workflow.plan_files import open_plan

    files, code = list["PlanFile"](), 0
    for plan in plans:
        try:
            with watched(plan):
                files.append(open_plan(plan, root))
        except OSError as error:
            of_plan = error.filename in (None, str(Path(plan)))
            what = f"plan '{plan}'" if of_plan else f"lock '{error.filename}'"
            complain(f"Error: cannot read the {what}: {error.strerror}")
            code = WRONG_USAGE
    return files, code


def open_one_plan(plan: str, root: str | None) -> PlanFile:
    """The file of a plan; one that cannot be read ends the command."""
    files, code = open_plans((plan,), root)
    if code:
        sys.exit(code)
    return files[0]


def check_names(files: Sequence[PlanFile], settings: Sequence[str]) -> None:
    """Two plans of one name would write over each other: wrong usage, before anything is written."""
    from bomgen.workflow.inputs import name_of

    names = dict[str, str]()
    for file in files if len(files) > 1 else ():
        name = name_of(file, settings)
        if name in names:
            raise click.UsageError(f"{names[name]} and {file.name} are both named {name}; give one another name")
        if name is not None:
            names[name] = file.name


def build_report(
    file: PlanFile,
    settings: Sequence[str],
    quiet: bool = False,
    templates: Sequence[str] = (),
    locked: bool = False,
    place: tuple[int, int] = (1, 1),
) -> Report | None:
    """The report of a plan; its problems are shown, and None is returned when there is an error among them.

    `locked` makes errors of what keeps the result from resting on a lock. `place` is its number among several plans,
    and how many there are.
    """
    from bomgen.core.diagnostics import PlanErrors
    from bomgen.workflow.pipeline import require_lock, work_out

    try:
        with watched(file.name, *place):
            report = work_out(file, settings, templates)
        if locked:
            require_lock(file, report)
    except PlanErrors as errors:
        show(errors.problems, file)
        return None
    if not quiet:
        show((*report.problems, *report.stale), file)
    return report

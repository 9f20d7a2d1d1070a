"""Plan files for commands, by path or revision: opening, building, progress, and problems."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from posixpath import join, normpath
from typing import NamedTuple

import click

from bomgen.cli.command import (
    VERBOSE,
    Outcome,
    Unreadable,
    complain,
    ends_on_errors,
    escape_controls,
    is_set,
    on_terminal,
    print_problems,
)
from bomgen.core.diagnostics import Problem
from bomgen.core.jobs import Listener, heard_by, renew_processor_time
from bomgen.core.safety import read_sent, refuse_git_files
from bomgen.reading.tables import is_bill
from bomgen.results.result import Report
from bomgen.workflow import plan_files
from bomgen.workflow.inputs import name_of, text_of
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile, open_plan

# given plans --------------------------------------------------------------------------------------------------------
# Plans and results that are named by a path, by `REV:PATH` as they were at a git revision, or come from a pipe.

STANDARD_INPUT = "-"


class GivenPlan(NamedTuple):
    """A plan, or a result, by the name that the user gave."""

    name: str
    content: bytes
    file: Callable[[], PlanFile]
    """The plan file; results are read without its dependencies."""
    revision: tuple[str, str] | None
    """The git revision, and the folder of the plan from the root of the checkout; None without a revision."""


def open_given(name: str, settings: Sequence[str], root: str | None, folder: Path) -> GivenPlan:
    """Return the file at a path or REV:PATH. Raises Unreadable."""
    try:
        is_file = name == STANDARD_INPUT or Path(name).exists()
    except (OSError, ValueError):
        is_file = False
    try:
        if not is_file and (opened := _open_revision(name, settings, root, folder)):
            return opened
        if name != STANDARD_INPUT:
            return GivenPlan(name, _read(name), lambda: open_plan(name, root), None)
        file = open_plan(name, root)
        return GivenPlan(file.name, file.content, lambda: file, None)
    except (OSError, ValueError) as error:
        raise Unreadable(f"'{name}'", error) from None


def _read(name: str) -> bytes:
    """Return the bytes of a file. Raises OSError if it is unreadable, and for a bill that is too large."""
    if is_bill(name):
        return read_sent(Path(name))
    refuse_git_files(Path(name))
    return Path(name).read_bytes()


def _open_revision(name: str, settings: Sequence[str], root: str | None, folder: Path) -> GivenPlan | None:
    """Return the file of `REV:PATH`; None for other names. Raises ValueError with the error."""
    if ":" not in name:
        return None
    split = plan_files.split_revision(name)
    if split is None:
        return None
    try:
        revision = plan_files.open_revision(split[0], Path.cwd())
        path = plan_files.path_in(revision, split[1])
        file = plan_files.plan_file(revision, path, name, folder, settings, root)
        return GivenPlan(name, file.content, lambda: file, (split[0], str(PurePosixPath(path).parent)))
    except plan_files.NoRevision as error:
        raise ValueError(str(error)) from None


def show_problems(problems: Sequence[Problem], plan: GivenPlan) -> None:
    """Print problems, those of a revision's files with their names in the revision."""
    names = dict[str, str]()
    moved = []
    for problem in problems:
        file = problem.mark.file
        if plan.revision and file != plan.name and not file.startswith(("<", "-", f"{plan.revision[0]}:")):
            shown = f"{plan.revision[0]}:{normpath(join(plan.revision[1], file))}"
            names[shown] = file
            problem = problem._replace(mark=problem.mark._replace(file=shown))
        moved.append(problem)

    def text(shown: str) -> str:
        name = names.get(shown, shown)
        return "" if name == plan.name and name.endswith(".json") else text_of(plan.file(), name)

    print_problems(moved, text)


# watch --------------------------------------------------------------------------------------------------------------
# What a run says of itself on standard error: with --verbose each file and stage, on a terminal where it is.

ERASE = "\r\x1b[K"
"""Control sequence that moves to the start of the line and clears it."""


class _Watch(Listener):
    """Listener of `bomgen.core.jobs` that shows stages with durations, and files with sizes."""

    def __init__(self, label: str) -> None:
        self._label = escape_controls(label)
        self._verbose = is_set(VERBOSE)
        self._drawn = on_terminal() and not self._verbose
        self._stage, self._since = "", time.perf_counter()
        self._begun = self._since

    def stage(self, name: str) -> None:
        """Show the duration of the previous stage, or the name of the new one."""
        now = time.perf_counter()
        if self._verbose and self._stage:
            complain(f"bomgen: {self._stage} {now - self._since:.3f} s")
        self._stage, self._since = name, now
        if self._drawn and name:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns
            click.echo(f"{ERASE}{f'{self._label}: {name}'[: max(columns - 1, 0)]}", err=True, nl=False, color=True)

    def read(self, name: str, size: int) -> None:
        if self._verbose:
            complain(f"bomgen: read {name}, {size} bytes")

    def over(self) -> None:
        """Show the total duration, or clear the line."""
        staged = bool(self._stage)
        self.stage("")
        if self._drawn and staged:
            click.echo(ERASE, err=True, nl=False, color=True)
        elif self._verbose and staged:
            complain(f"bomgen: {self._label} {time.perf_counter() - self._begun:.3f} s in all")


@contextmanager
def watched(name: str, number: int = 1, of: int = 1) -> Iterator[None]:
    """Show the progress of a plan, one of several; other output waits until the end."""
    watch = _Watch(f"[{number}/{of}] {name}" if of > 1 else name)
    if number > 1:
        renew_processor_time()
    with heard_by(watch):
        try:
            yield
        finally:
            watch.over()


# plans --------------------------------------------------------------------------------------------------------------


def show(problems: Sequence[Problem], file: PlanFile) -> None:
    """Print problems, each error with its line of the plan or of a related file."""
    print_problems(problems, partial(text_of, file))


@contextmanager
def working_on(file: PlanFile) -> Iterator[None]:
    """Show the progress of a plan, whose errors end the command."""
    with ends_on_errors(partial(text_of, file)), watched(file.name):
        yield


def open_plans(plans: Sequence[str], root: str | None, outcome: Outcome) -> list[PlanFile]:
    """Return the readable plan files."""
    files = []
    for plan in plans:
        with outcome.piece():
            files.append(open_one_plan(plan, root))
    return files


def open_one_plan(plan: str, root: str | None) -> PlanFile:
    """Return the file of a plan. Raises Unreadable for it and for its lock."""
    try:
        with watched(plan):
            return open_plan(plan, root)
    except OSError as error:
        of_plan = error.filename in (None, str(Path(plan)))
        raise Unreadable(f"the plan '{plan}'" if of_plan else f"the lock '{error.filename}'", error) from None


def work_out_one(plan: str, root: str | None, settings: Sequence[str], quiet: bool = False) -> tuple[PlanFile, Report]:
    """Return the file and the report of a plan, and show its warnings; what is wrong with it ends the command."""
    file = open_one_plan(plan, root)
    with working_on(file):
        report = work_out(file, settings)
    if not quiet:
        show((*report.problems, *report.stale), file)
    return file, report


def check_names(files: Sequence[PlanFile], settings: Sequence[str]) -> None:
    """Raise UsageError for two plans of one name, whose results would overwrite each other."""
    names = dict[str, str]()
    for file in files if len(files) > 1 else ():
        name = name_of(file, settings)
        if name in names:
            raise click.UsageError(f"{names[name]} and {file.name} are both named {name}; give one another name")
        if name is not None:
            names[name] = file.name

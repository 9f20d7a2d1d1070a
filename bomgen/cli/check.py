"""`bomgen check` and `bomgen lock`: the errors and warnings of plans, and pinned inputs beside them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from bomgen.catalog.files import KINDS
from bomgen.cli.command import (
    QUIET,
    WRONG_PLAN,
    WRONG_USAGE,
    Outcome,
    complain,
    is_set,
    print_problems,
    print_text,
    say,
)
from bomgen.cli.options import (
    Output,
    build_today,
    locked_option,
    open_plans,
    option,
    plan_options,
    plans_argument,
    root_option,
    show,
    talk_options,
    watched,
)
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.output.writer import write_one
from bomgen.workflow.inputs import price_book_in, text_of
from bomgen.workflow.pipeline import check_plan, lock_result
from bomgen.workflow.plan_files import STANDARD_INPUT, lock_name

PROBLEM_FIELDS = ("file", "line", "column", "severity", "message", "rule", "path")
ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
ESCAPES_IN_PROPERTIES = {":": "%3A", ",": "%2C"}
"""Additional escapes in the properties of a workflow command."""


@click.command()
@plans_argument
@option(
    "--format form",
    "Format of the problems; github prints annotations for a pull request.",
    type=click.Choice(["text", "json", "github"]),
    default="text",
)
@locked_option
@plan_options
def check(plans: tuple[str, ...], form: str, locked: bool, settings: tuple[str, ...], root: str | None) -> None:
    """Validate plans and report whether they can be built; write nothing.

    A price book among them, as `bomgen apply` writes one beside a plan, is checked as a price book. A folder is checked
    as a folder of parts: every file of it, whether a plan uses it or not.
    """
    folders = [plan for plan in plans if os.path.isdir(plan)]
    files = open_plans([plan for plan in plans if plan not in folders], root, outcome := Outcome())
    reported = list["Problem"]()
    for folder in folders:
        if not any(os.path.isdir(os.path.join(folder, kind)) for kind in KINDS):
            complain(
                f"Error: '{folder}' has no folder of a kind of part, such as switch; name a plan or a folder of parts"
            )
            outcome.note(WRONG_USAGE)
            continue
        reported += _check_folder(folder, root, form)
        if any(problem.severity == "error" for problem in reported):
            outcome.note(WRONG_PLAN)
    for number, file in enumerate(files, start=1):
        try:
            with watched(file.name, number, len(files)):
                book = price_book_in(file)
                problems: Sequence[Problem] = () if book else check_plan(file, settings, locked)
            verdict = f"a price book of {_counted(len(book.prices), 'price')}" if book else "buildable"
            verdict += f", {_counted(len(problems), 'warning')}" if problems else ""
        except PlanErrors as errors:
            problems = errors.problems
            outcome.note(WRONG_PLAN)
        if form == "text":
            show(problems, file)
            if not any(problem.severity == "error" for problem in problems):
                say(f"{file.name}: {verdict}")
        reported += [problem for problem in problems if problem.severity == "error" or not is_set(QUIET)]
    if form == "json":
        Output().write_data([{field: getattr(problem, field) for field in PROBLEM_FIELDS} for problem in reported])
    elif form == "github":
        print_text("".join(f"{_annotation(problem)}\n" for problem in reported))
    sys.exit(outcome.code)


def _check_folder(folder: str, root: str | None, form: str) -> list[Problem]:
    """Return the problems of a folder of parts, after printing them as text if that is the format."""
    from bomgen.workflow.catalog_listing import CheckedFolder, check_folder

    try:
        with watched(folder):
            checked = check_folder(folder, root)
    except PlanErrors as errors:
        checked = CheckedFolder(errors.problems, 0, {})
    problems = checked.problems
    if form == "text":
        print_problems(problems, lambda name: checked.contents.get(name, b"").decode("utf-8", "replace"))
        if not any(problem.severity == "error" for problem in problems):
            say(f"{folder}: {_counted(checked.files, 'part file')}, {_counted(len(problems), 'warning')}")
    return [problem for problem in problems if problem.severity == "error" or not is_set(QUIET)]


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _annotation(problem: Problem) -> str:
    mark = problem.mark
    text = _escaped(f"{problem.message} [{problem.rule}]", ESCAPES)
    file = _escaped(mark.file, ESCAPES | ESCAPES_IN_PROPERTIES)
    return f"::{problem.severity} file={file},line={mark.line},col={mark.column}::{text}"


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(sign, sign) for sign in text)


# lock ---------------------------------------------------------------------------------------------------------------


@click.command()
@plans_argument
@option("--from old OLD", "Plan that is installed today, or REV:PATH; what stays keeps place, name and label.", "sides")
@option("--allow-moves", "List installed machines that must move; otherwise they are errors.")
@root_option
@talk_options
def lock(plans: tuple[str, ...], old: str | None, allow_moves: bool, root: str | None) -> None:
    """Pin the inputs of each quote: write PLAN.lock with the current prices, exchange rates and catalogue records.

    While the lock exists, `bomgen build` takes prices and rates from it instead of the price books, and `bomgen check`
    reports when it is stale. Run the command again to renew it; remove the file to unlock. Commit it with the plan.
    """
    if STANDARD_INPUT in plans:
        raise click.UsageError("a plan from standard input cannot be locked; name its file")
    if old and len(plans) > 1:
        raise click.UsageError("--from is the network that one plan grows from; lock the others without it")
    existing = build_today(old, root).each_cluster if old else ()
    today = {cluster.plan.cluster_name: cluster for cluster in existing}
    files = open_plans(plans, root, outcome := Outcome())
    named: dict[str, str] = {}
    for plan in (file.name for file in files):
        first = named.setdefault(lock_name(plan), plan)
        if first != plan:
            raise click.UsageError(f"{first} and {plan} have one lock, {lock_name(plan)}; give one another name")
    for number, file in enumerate(files, start=1):
        with outcome.piece(partial(text_of, file)):
            with watched(file.name, number, len(files)):
                text, report = lock_result(file, today, allow_moves)
            show(report.problems, file)
            write_one(text.encode(), Path(lock_name(file.name)))
            say(lock_name(file.name))
    sys.exit(outcome.code)

"""`bomgen search`: the Pareto-optimal designs over many values of a plan."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic

import click

from bomgen.cli.documents import give, write_out
from bomgen.cli.messages import (
    INTERRUPTED,
    NOT_WRITTEN,
    WRONG_PLAN,
    choose_form,
    complain,
    on_terminal,
    refuse_overwriting,
    say,
)
from bomgen.cli.options import named_path, output_options, plan_argument, root_option, set_option, talk_options
from bomgen.cli.plans import ERASE, open_one_plan
from bomgen.cli.problems import show
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import language
from bomgen.core.limits import OutOfTime
from bomgen.core.messages import ENGLISH
from bomgen.core.progress import heard_by
from bomgen.documents.search import search_document
from bomgen.output.search_results import render_search
from bomgen.output.writer import OutputError, write_files
from bomgen.results.front import Front
from bomgen.workflow.design_search import find_front, front_plans, open_search
from bomgen.workflow.inputs import source_of
from bomgen.workflow.plan_files import PlanFile
from bomgen.workflow.search_parts import EngineLost

FORMS = ("text", "md", "html", "xlsx", "csv", "json")
CONFIDENCES = (50, 90)
"""Confidence levels of predictions in percent (sizing/prediction/predict.py, which --help does not import)."""
OFTEN = 0.1
"""Seconds between two updates of the progress line."""
STAGES = {
    "hardware": "{done:,} of {size:,} families of hardware",
    "sizing": "{done:,} of {size:,} families of workloads",
    "search": "{done:,} of {size:,} designs",
    "next": "what is beyond a bound: {done:,} of {size:,} designs",
    "whole": "the front: {done:,} of {size:,} designs",
}


@click.command()
@plan_argument
@click.option(
    "--over",
    multiple=True,
    metavar="KEY=VALUE,...",
    help="A key of the plan with the values to try, or a range such as 8..512. [repeatable]",
)
@click.option(
    "--minimise",
    "--minimize",
    multiple=True,
    metavar="NAME,...",
    help="Measures to minimise. [default: cost,days,power]",
)
@click.option("--within", multiple=True, metavar="NAME=MOST,...", help="Bounds, such as power=5MW,days=30.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Number of processes. [default: 1]")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Search on the Dask cluster of a scheduler, such as tcp://HOST:8786; it can run code on this machine.",
)
@click.option(
    "--confidence",
    type=click.Choice([f"{each}%" for each in CONFIDENCES]),
    help="Use predicted days at the upper end of their interval.",
)
@click.option(
    "--write",
    "folder",
    type=click.Path(file_okay=False),
    callback=named_path,
    metavar="DIR",
    help="Write each design of the front as a plan that extends PLAN.",
)
@output_options(FORMS)
@set_option
@root_option
@talk_options
def search(
    plan: str,
    over: tuple[str, ...],
    minimise: tuple[str, ...],
    within: tuple[str, ...],
    jobs: int,
    scheduler: str | None,
    confidence: str | None,
    folder: str | None,
    form: str | None,
    output: str | None,
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """Evaluate every combination of values and show the Pareto-optimal designs.

    The plan's `search` block sets what is varied, minimised and bounded; the options override it. Ctrl-C shows
    what was found so far.
    """
    refuse_overwriting(output, plan)
    form = choose_form(form, output, FORMS, ("xlsx",))
    file = open_one_plan(plan, root)
    level = int(confidence.rstrip("%")) if confidence else None
    line = _Line(on_terminal())
    try:
        space = open_search(file, settings, over, minimise, within, level)
        with heard_by(line):
            front, stopped = find_front(file, settings, space, jobs, scheduler, whole=folder is not None)
    except PlanErrors as errors:
        line.erase()
        show(errors.problems, file)
        sys.exit(WRONG_PLAN)
    line.erase()
    if isinstance(stopped, EngineLost) and not front.tried:
        raise click.UsageError(str(stopped))
    _show(front, file, settings, form, output)
    if folder and front.rows:
        _write_plans(front, file, settings, folder)
    if isinstance(stopped, EngineLost | OutOfTime):
        complain(f"bomgen: {stopped}; {front.tried} of {space.size} designs were evaluated")
        sys.exit(WRONG_PLAN)
    sys.exit(INTERRUPTED if stopped else 0 if front.rows else WRONG_PLAN)


class _Line:
    def __init__(self, drawn: bool) -> None:
        self._drawn, self._last = drawn, 0.0

    def stage(self, name: str) -> None:
        """Ignore stages of a single design, which are too short to show."""

    def read(self, name: str, size: int) -> None:
        """Ignore files, which every design reads again."""

    def count(self, what: str, done: int, size: int) -> None:
        """Update the line, unless it was just updated."""
        now = monotonic()
        if self._drawn and now - self._last >= OFTEN:
            self._last = now
            click.echo(ERASE + STAGES[what].format(done=done, size=size), err=True, nl=False, color=True)

    def erase(self) -> None:
        if self._drawn:
            click.echo(ERASE, err=True, nl=False, color=True)


def _show(front: Front, file: PlanFile, settings: tuple[str, ...], form: str, output: str | None) -> None:
    """Write what was found, to a file or to standard output."""
    data = source_of(file, settings).data
    words = language((data.get("quote") or {}).get("language", ENGLISH))
    if form == "text":
        give(search_document(front, data["name"], words), words, form, output, every=True)
        return
    try:
        content = render_search(front, data["name"], words, form)
    except OutputError as error:
        raise click.UsageError(str(error)) from None
    write_out(content, output)


def _write_plans(front: Front, file: PlanFile, settings: tuple[str, ...], folder: str) -> None:
    """Write the designs of the front as new plans, without overwriting any."""
    path = Path(folder)
    try:
        plans = front_plans(front, file, settings, path)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if there := next((name for name in plans if (path / name).exists()), None):
        raise click.UsageError(f"{path / there} exists; name an empty folder")
    try:
        write_files(plans, path)
    except OutputError as error:
        complain(f"bomgen: not written: {error}")
        sys.exit(NOT_WRITTEN)
    say(f"{path}: {len(plans)} plans")

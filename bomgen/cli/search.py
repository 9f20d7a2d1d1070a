"""`bomgen search`: the Pareto-optimal designs over many values of a plan."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic

import click

from bomgen.cli.command import INTERRUPTED, WRONG_PLAN, complain, ends_on_errors, on_terminal, say
from bomgen.cli.options import (
    ERASE,
    choose_form,
    give,
    named_path,
    open_one_plan,
    option,
    output_options,
    plan_argument,
    plan_options,
    refuse_overwriting,
    write_out,
)
from bomgen.core.jobs import Listener, OutOfTime, heard_by
from bomgen.core.language import language
from bomgen.core.messages import ENGLISH
from bomgen.documents.search import search_document
from bomgen.output.writer import render_search, write_files
from bomgen.results.front import Front
from bomgen.workflow.design_search import EngineLost, find_front, front_plans, open_search
from bomgen.workflow.inputs import source_of, text_of
from bomgen.workflow.plan_files import PlanFile

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
@option(
    "--over KEY=VALUE,...",
    "A key of the plan with the values to try, or a range such as 8..512. [repeatable]",
    multiple=True,
)
@option("--minimise --minimize NAME,...", "Measures to minimise. [default: cost,days,power]", multiple=True)
@option("--within NAME=MOST,...", "Bounds, such as power=5MW,days=30.", multiple=True)
@option("--jobs N", "Number of processes. [default: 1]", type=click.IntRange(min=1), default=1)
@option(
    "--scheduler ADDRESS",
    "Search on the Dask cluster of a scheduler, such as tcp://HOST:8786; it can run code on this machine.",
)
@option(
    "--confidence",
    "Use predicted days at the upper end of their interval.",
    type=click.Choice([f"{each}%" for each in CONFIDENCES]),
)
@option(
    "--write folder DIR",
    "Write each design of the front as a plan that extends PLAN.",
    type=click.Path(file_okay=False),
    callback=named_path,
)
@output_options(FORMS)
@plan_options
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
    with ends_on_errors(partial(text_of, file)), _progress_line():
        space = open_search(file, settings, over, minimise, within, level)
        front, stopped = find_front(file, settings, space, jobs, scheduler, whole=folder is not None)
    if isinstance(stopped, EngineLost) and not front.tried:
        raise click.UsageError(str(stopped))
    _show(front, file, settings, form, output)
    if folder and front.rows:
        _write_plans(front, file, settings, folder)
    if isinstance(stopped, EngineLost | OutOfTime):
        complain(f"bomgen: {stopped}; {front.tried} of {space.size} designs were evaluated")
        sys.exit(WRONG_PLAN)
    sys.exit(INTERRUPTED if stopped else 0 if front.rows else WRONG_PLAN)


class _Line(Listener):
    def __init__(self) -> None:
        self._last = 0.0

    def count(self, what: str, done: int, size: int) -> None:
        """Update the line, unless it was just updated."""
        now = monotonic()
        if now - self._last >= OFTEN:
            self._last = now
            click.echo(ERASE + STAGES[what].format(done=done, size=size), err=True, nl=False, color=True)


@contextmanager
def _progress_line() -> Iterator[None]:
    """Show progress in a line of the terminal, and erase it at the end."""
    if not on_terminal():
        yield
        return
    try:
        with heard_by(_Line()):
            yield
    finally:
        click.echo(ERASE, err=True, nl=False, color=True)


def _show(front: Front, file: PlanFile, settings: tuple[str, ...], form: str, output: str | None) -> None:
    """Write the front to a file or to standard output."""
    data = source_of(file, settings).data
    words = language((data.get("quote") or {}).get("language", ENGLISH))
    if form == "text":
        give(search_document(front, data["name"], words), words, form, output, every=True)
        return
    write_out(render_search(front, data["name"], words, form), output)


def _write_plans(front: Front, file: PlanFile, settings: tuple[str, ...], folder: str) -> None:
    """Write the designs of the front as new plans, without overwriting any."""
    path = Path(folder)
    try:
        plans = front_plans(front, file, settings, path)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if there := next((name for name in plans if (path / name).exists()), None):
        raise click.UsageError(f"{path / there} exists; name an empty folder")
    write_files(plans, path)
    say(f"{path}: {len(plans)} plans")

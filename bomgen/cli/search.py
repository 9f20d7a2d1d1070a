"""`bomgen search`: the best designs over many values of a plan."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bomgen.cli.exit_codes import INTERRUPTED, NOT_WRITTEN, WRONG_PLAN
from bomgen.cli.messages import complain, on_terminal, say, show
from bomgen.cli.options import output_option, plan_argument, root_option, set_option, talk_options
from bomgen.cli.plans import open_one_plan
from bomgen.cli.watch import ERASE
from bomgen.cli.writing import choose_form, refuse_overwriting, write_out
from bomgen.core.messages import ENGLISH

if TYPE_CHECKING:
    from bomgen.plan.search_space import SearchSpace
    from bomgen.report.search.candidates import Candidate
    from bomgen.report.search.front import Front
    from bomgen.workflow.inputs import PlanFile

FORMATS = ("text", "md", "html", "xlsx", "csv", "parquet", "json")
SUFFIXES = {".txt": "text"} | {f".{form}": form for form in FORMATS[1:]}
ROUND = 20
"""Designs between two changes of the progress line."""


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
    help="What to compare by. [default: cost,days,power]",
)
@click.option("--within", multiple=True, metavar="NAME=MOST,...", help="Bounds, such as power=5MW,days=30.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Processes. [default: 1]")
@click.option(
    "--write",
    "folder",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write each design of the front as a plan that extends PLAN.",
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="[default: by the suffix of FILE, else text]",
)
@output_option
@set_option
@root_option
@talk_options
def search(
    plan: str,
    over: tuple[str, ...],
    minimise: tuple[str, ...],
    within: tuple[str, ...],
    jobs: int,
    folder: str | None,
    form: str | None,
    output: str | None,
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """Work out every combination of values, and show the designs that no other one beats (the Pareto front).

    The plan's `search` block says what to vary, minimise and keep within bounds; the options win over it. Ctrl-C shows
    what was found so far.
    """
    from bomgen.core.diagnostics import PlanErrors
    from bomgen.report.search.front import find_front
    from bomgen.workflow.search import open_search

    refuse_overwriting(output, plan)
    form = choose_form(form, output, SUFFIXES, ("xlsx", "parquet"))
    file = open_one_plan(plan, root)
    try:
        space = open_search(file, settings, over, minimise, within)
    except PlanErrors as errors:
        show(errors.problems, file)
        sys.exit(WRONG_PLAN)
    found = list["Candidate"]()
    code = 0
    try:
        found.extend(_counted(file, settings, space, jobs))
    except KeyboardInterrupt:
        code = INTERRUPTED
    front = find_front(space, found)
    _show(front, file, settings, form, output)
    if folder and front.rows:
        _write_plans(front, file, settings, folder)
    sys.exit(code or (0 if front.rows else WRONG_PLAN))


def _counted(file: PlanFile, settings: tuple[str, ...], space: SearchSpace, jobs: int) -> Iterator[Candidate]:
    """The designs of a space, with a line on a terminal that says how many are done."""
    from bomgen.workflow.search import work_out_designs

    drawn = on_terminal()
    try:
        for number, found in enumerate(work_out_designs(file, settings, space, jobs), 1):
            yield found
            if drawn and number % ROUND == 0:
                click.echo(f"{ERASE}{number} of {space.size} designs", err=True, nl=False, color=True)
    finally:
        if drawn:
            click.echo(ERASE, err=True, nl=False, color=True)


def _show(front: Front, file: PlanFile, settings: tuple[str, ...], form: str, output: str | None) -> None:
    """Write what was found, to a file or to standard output; tables fit a terminal."""
    from bomgen.cli.tables import print_lines, print_table, terminal_width
    from bomgen.core.language import language
    from bomgen.output.search import render_search
    from bomgen.output.terminal import parts
    from bomgen.output.writer import OutputError
    from bomgen.report.search.contents import search_document
    from bomgen.workflow.inputs import source_of

    data = source_of(file, settings).data
    words = language((data.get("quote") or {}).get("language", ENGLISH))
    width = terminal_width() if form == "text" and output is None else None
    if width is None:
        try:
            content = render_search(front, data["name"], words, form)
        except OutputError as error:
            raise click.UsageError(str(error)) from None
        write_out(content, output)
        return
    for part in parts(search_document(front, data["name"], words), words, every=True):
        if isinstance(part, str):
            print_lines([part], width)
        else:
            print_table(part, width)


def _write_plans(front: Front, file: PlanFile, settings: tuple[str, ...], folder: str) -> None:
    """Write the designs of the front as plans; none is written over."""
    from bomgen.output.writer import OutputError, write
    from bomgen.workflow.search import front_plans

    place = Path(folder)
    try:
        plans = front_plans(front, file, settings, place)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if there := next((name for name in plans if (place / name).exists()), None):
        raise click.UsageError(f"{place / there} exists; name an empty folder")
    try:
        write(plans, place)
    except OutputError as error:
        complain(f"bomgen: not written: {error}")
        sys.exit(NOT_WRITTEN)
    say(f"{place}: {len(plans)} plans")

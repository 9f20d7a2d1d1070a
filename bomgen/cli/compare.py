"""`bomgen compare`, `diff` and `search`: plans side by side, what changed between two, and the best of many designs."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic

import click

from bomgen.catalog.files import Catalog
from bomgen.cli.command import INTERRUPTED, PASSED, WRONG_PLAN, Outcome, complain, ends_on_errors, on_terminal, say
from bomgen.cli.options import (
    ERASE,
    TEXT,
    GivenPlan,
    NamedPlan,
    Output,
    language_option,
    named_path,
    open_given,
    option,
    output_options,
    plan_argument,
    plan_options,
    plans_argument,
    proposed,
    read_given,
    root_option,
    set_option,
    show_problems,
    talk_options,
    watched,
)
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.jobs import Listener, OutOfTime, heard_by
from bomgen.core.language import language
from bomgen.core.messages import ENGLISH, message
from bomgen.documents.comparison import compared, data, document
from bomgen.documents.diff.contents import review_document
from bomgen.documents.diff.data import Limit, limit, passed, to_data
from bomgen.documents.diff.difference import Difference, add_moves, add_order
from bomgen.documents.diff.difference import compare as compare_sides
from bomgen.documents.diff.matching import beside_bill, own_names, side_of_bill
from bomgen.documents.diff.side import ComparedResult, bill_in, compared_result_of
from bomgen.documents.search import search_document
from bomgen.output.drawing.charts import comparison_drawing
from bomgen.output.markdown_html import comment
from bomgen.output.writer import render_difference, render_search, write_files
from bomgen.reading.bills import require_whole
from bomgen.reading.tables import is_bill
from bomgen.results.front import Front
from bomgen.results.result import Growth, Report, result
from bomgen.workflow.design_search import EngineLost, find_front, front_plans, open_search
from bomgen.workflow.inputs import read_all, source_of, text_of
from bomgen.workflow.library import compared_result
from bomgen.workflow.pipeline import BrokenResult, count_links, count_moves, is_laid_out, order_growth, work_out
from bomgen.workflow.plan_files import STANDARD_INPUT, PlanFile
from bomgen.xray.contents import open_bill, rebuild_plan

COMPARISON_FORMS = ("text", "md", "html", "xlsx", "json")
DIFFERENCE_FORMS = ("text", "md", "json", "html", "xlsx", "pdf")


@click.command()
@plans_argument
@output_options(COMPARISON_FORMS, binary=("xlsx",))
@option("--all every", "Show all rows, not only those that differ.")
@option("--alternatives", "Show the alternatives of each plan after it.")
@language_option("the first plan's")
@plan_options
def compare(
    plans: tuple[str, ...],
    output: Output,
    every: bool,
    alternatives: bool,
    code: str | None,
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """Show plans side by side: money, workload, networks, power, racks; the best value of a row has a star.

    Rows in which all plans are equal are folded away; use --all to show them in the text.

    A third-party bill (xlsx, csv, ...) is shown as the plan that `bomgen xray` reconstructs, without prices. Unknown
    values are shown as a dash; incomplete values are shown as lower bounds and are never marked best. A plan with
    errors is left out, and its exit code is returned.
    """
    if len(plans) == 1 and not alternatives:
        raise click.UsageError("give two or more plans, or one with --alternatives")
    outcome, reports = Outcome(), []
    files = list["PlanFile"]()
    for plan in plans:
        with outcome.piece():
            bill = read_given(plan, "bill") if is_bill(plan) else None
            files.append(NamedPlan(plan, root).open() if bill is None else rebuild_plan(bill, plan))
    for number, file in enumerate(files, start=1):
        with outcome.piece(partial(text_of, file)), watched(file.name, number, len(files)):
            reports.append(work_out(file, settings))
    if reports:
        words = language(code or reports[0].plan.quote.language)
        comparison = compared(reports, words, alternatives)
        if output.form == "json":
            output.write(data(comparison).encode())
        else:
            chart = comparison_drawing(comparison, words) if output.form == "html" else None
            output.give(document(comparison, words, chart), words, every)
    sys.exit(outcome.code)


# diff ---------------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("old", shell_complete=proposed("sides"))
@click.argument("new", shell_complete=proposed("sides"))
@output_options(DIFFERENCE_FORMS, "For a terminal, a review comment, a document, or programs.", binary=("xlsx", "pdf"))
@option("--all every", "Show all numbers and lines, not only the important ones.")
@option(
    "--max-increase limits LIMIT",
    "Exit with 4 if the total increases by more than LIMIT: 5% of OLD, or 100000 in its currency.",
    multiple=True,
)
@option("--fail-on-change", "Exit with 4 if anything changed.")
@set_option
@option("--set-new KEY=VALUE", "Override a value of NEW only.", "settings", multiple=True)
@root_option
@talk_options
def diff(
    old: str,
    new: str,
    output: Output,
    every: bool,
    limits: tuple[str, ...],
    fail_on_change: bool,
    settings: tuple[str, ...],
    set_new: tuple[str, ...],
    root: str | None,
) -> None:
    """Show what changed from OLD to NEW: the plan, sizing, fabrics, the bill and the money.

    Each is a plan, a bom.json, REV:PATH for either as it was at a git revision (its price books and parts as well), or
    - for standard input; or a vendor's bill (xlsx, csv ...), whose lines are matched by part number. Servers that are
    added read as an order: what to buy, what to plug elsewhere, what is left over; as html, xlsx or pdf it is a quote
    for the customer. --set overrides a value on both sides.

    \b
      bomgen diff main:plans/x.yaml plans/x.yaml
      bomgen diff HEAD~1:plans/x.yaml plans/x.yaml -f md --max-increase 5%
      bomgen diff plans/x.yaml plans/x.yaml --set-new cluster.servers=160 -o expansion.pdf

    Exit codes: 0 done, with or without changes; 4 a threshold was passed, or cannot be judged.
    """  # noqa: D301 - the backslash is click's mark for lines that are not to be filled
    most = [_limit(text) for text in limits]
    if old == new == STANDARD_INPUT:
        raise click.UsageError("only one side can come from standard input")
    with tempfile.TemporaryDirectory(prefix="bomgen-") as folder:
        difference, report = _found((old, new), (settings, (*settings, *set_new)), root, Path(folder))
    reasons = list(passed(difference, most, fail_on_change))
    words = language(report.plan.quote.language if report else ENGLISH)
    if output.form == TEXT:
        output.give(review_document(difference, words), words, every)
    elif output.form == "md":
        output.write(comment(review_document(difference, words, ranked=True), words).encode("utf-8", "replace"))
    elif output.form == "json":
        output.write_data(to_data(difference, reasons))
    else:
        output.write(render_difference(difference, report, output.form))
    for reason in reasons:
        complain(f"bomgen: threshold passed: {reason}")
    if reasons:
        sys.exit(PASSED)


def _limit(text: str) -> Limit:
    threshold = limit(text)
    if threshold is None:
        raise click.UsageError(f"--max-increase {text}: give a share such as 5%, or an amount such as 100000")
    return threshold


def _found(
    sides: Sequence[str], settings: Sequence[Sequence[str]], root: str | None, folder: Path
) -> tuple[Difference, Report | None]:
    opened, outcome = list["GivenPlan"](), Outcome()
    for at, (name, of_side) in enumerate(zip(sides, settings, strict=True)):
        with outcome.piece():
            opened.append(open_given(name, of_side, root, folder / str(at)))
    if outcome.code:
        sys.exit(outcome.code)
    read: list[tuple[ComparedResult, Report | None]] = []
    shown = set[str]()
    for plan, of_side in zip(opened, settings, strict=True):
        try:
            if is_bill(plan.name):
                bill = open_bill(plan.content, plan.name, Catalog())
                read.append((side_of_bill(require_whole(bill)), None))
                continue
            data = bill_in(plan.content, plan.name)
            if data is not None:
                read.append((compared_result_of(data, plan.name), None))
                continue
            file = plan.file()
            with watched(file.name):
                read.append(compared_result(file, of_side))
        except PlanErrors as errors:
            show_problems([problem for problem in errors.problems if str(problem) not in shown], plan)
            shown |= {str(problem) for problem in errors.problems}
    if len(read) < len(opened):
        sys.exit(WRONG_PLAN)
    (old, old_report), (new, new_report) = read
    if any(map(is_bill, sides)):
        return compare_sides(*beside_bill(old, new)), None
    if any(settings) and not (old_report or new_report):
        raise click.UsageError("--set overrides values of plans, and both sides are results")
    difference = compare_sides(old, new)
    if difference.expansion is None:
        return difference, new_report
    if old_report is None or new_report is None:
        return add_moves(difference, None, message("diff-moves-of-bills")), new_report
    existing = {cluster.plan.cluster_name: cluster for cluster in old_report.each_cluster}
    today = {now: existing[name] for name, now in difference.names.clusters.items()}
    with watched(opened[1].name):
        if is_laid_out(old_report):
            new, new_report = compared_result(opened[1].file(), settings[1], today)
            difference = compare_sides(old, new)
        difference = _moved(difference, today, new_report)
        if difference.money:
            growth, bought = Growth(today, difference.moves), old_report.bill.lines
            ordered = order_growth(read_all(opened[1].file(), settings[1]), new_report, growth, bought)
            side = compared_result_of(result(ordered), opened[1].name)
            difference = add_order(difference, side, ordered.bill.left_over)
            new_report = ordered if difference.expansion and difference.expansion.order else new_report
    return difference, new_report


def _moved(difference: Difference, today: Mapping[str, Report], new: Report) -> Difference:
    """Return an expansion with the cables that move."""
    renamed = {now: own_names(difference.names, name) for name, now in difference.names.clusters.items()}
    try:
        moves = count_moves(today, new, renamed)
    except (PlanErrors, BrokenResult) as error:
        return add_moves(difference, None, message("diff-moves-not-listed", error=str(error)))
    if moves is None:
        from bomgen.cabling.recabling import MOST_CABLES  # bills alone need no NumPy

        links = max(count_links(cluster.design) for cluster in new.each_cluster)
        return add_moves(difference, None, message("diff-moves-too-many", links=str(links), most=str(MOST_CABLES)))
    return add_moves(difference, moves)


# search ---------------------------------------------------------------------------------------------------------------

SEARCH_FORMS = ("text", "md", "html", "xlsx", "csv", "json")
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
    type=click.Choice([f"{percent}%" for percent in CONFIDENCES]),
)
@option(
    "--write folder DIR",
    "Write each design of the front as a plan that extends PLAN.",
    type=click.Path(file_okay=False),
    callback=named_path,
)
@output_options(SEARCH_FORMS, binary=("xlsx",))
@plan_options
def search(
    plan: NamedPlan,
    over: tuple[str, ...],
    minimise: tuple[str, ...],
    within: tuple[str, ...],
    jobs: int,
    scheduler: str | None,
    confidence: str | None,
    folder: str | None,
    output: Output,
) -> None:
    """Evaluate every combination of values and show the Pareto-optimal designs.

    The plan's `search` block sets what is varied, minimised and bounded; the options override it. Ctrl-C shows
    what was found so far.
    """
    file, settings = plan.open(), plan.settings
    level = int(confidence.rstrip("%")) if confidence else None
    with ends_on_errors(partial(text_of, file)), _progress_line():
        space = open_search(file, settings, over, minimise, within, level)
        front, stopped = find_front(file, settings, space, jobs, scheduler, whole=folder is not None)
    if isinstance(stopped, EngineLost) and not front.tried:
        raise click.UsageError(str(stopped))
    data = source_of(file, settings).data
    words = language((data.get("quote") or {}).get("language", ENGLISH))
    if output.form == TEXT:
        output.give(search_document(front, data["name"], words), words, every=True)
    else:
        output.write(render_search(front, data["name"], words, output.form))
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
    if not on_terminal():
        yield
        return
    try:
        with heard_by(_Line()):
            yield
    finally:
        click.echo(ERASE, err=True, nl=False, color=True)


def _write_plans(front: Front, file: PlanFile, settings: tuple[str, ...], folder: str) -> None:
    path = Path(folder)
    try:
        plans = front_plans(front, file, settings, path)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if there := next((name for name in plans if (path / name).exists()), None):
        raise click.UsageError(f"{path / there} exists; name an empty folder")
    write_files(plans, path)
    say(f"{path}: {len(plans)} plans")

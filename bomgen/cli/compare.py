"""`bomgen compare` and `bomgen diff`: plans side by side, and what changed between two plans, results or revisions."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from bomgen.catalog.files import Catalog
from bomgen.cli.command import PASSED, WRONG_PLAN, Outcome, complain
from bomgen.cli.options import (
    STANDARD_INPUT,
    GivenPlan,
    choose_form,
    give,
    language_option,
    open_given,
    open_one_plan,
    option,
    output_options,
    plan_options,
    plans_argument,
    proposed,
    read_given,
    refuse_overwriting,
    root_option,
    set_option,
    show_problems,
    talk_options,
    watched,
    write_out,
)
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import language
from bomgen.core.messages import ENGLISH, message
from bomgen.documents.comparison import compared, data, document
from bomgen.documents.diff.contents import review_document
from bomgen.documents.diff.data import Limit, limit, passed, to_data
from bomgen.documents.diff.difference import Difference, add_moves
from bomgen.documents.diff.difference import compare as compare_sides
from bomgen.documents.diff.matching import beside_bill, own_names, side_of_bill
from bomgen.documents.diff.side import ComparedResult, bill_in, compared_result_of
from bomgen.output.drawing.charts import comparison_drawing
from bomgen.output.markdown_html import comment
from bomgen.output.writer import render_difference
from bomgen.reading.bills import require_whole
from bomgen.reading.tables import is_bill
from bomgen.results.result import Report
from bomgen.workflow.inputs import text_of
from bomgen.workflow.library import compared_result
from bomgen.workflow.pipeline import BrokenResult, is_laid_out, list_cables, without_cluster_name, work_out
from bomgen.workflow.plan_files import PlanFile
from bomgen.xray.contents import open_bill, rebuild_plan

COMPARISON_FORMS = ("text", "md", "html", "xlsx", "json")
DIFFERENCE_FORMS = ("text", "md", "json", "html", "xlsx", "pdf")


@click.command()
@plans_argument
@output_options(COMPARISON_FORMS)
@option("--all every", "Show all rows, not only those that differ.")
@option("--alternatives", "Show the alternatives of each plan after it.")
@language_option("the first plan's")
@plan_options
def compare(
    plans: tuple[str, ...],
    form: str | None,
    output: str | None,
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
    for plan in plans:
        refuse_overwriting(output, plan)
    form = choose_form(form, output, COMPARISON_FORMS, ("xlsx",))
    outcome, reports = Outcome(), []
    files = list["PlanFile"]()
    for plan in plans:
        with outcome.piece():
            bill = read_given(plan, "bill") if is_bill(plan) else None
            files.append(open_one_plan(plan, root) if bill is None else rebuild_plan(bill, plan))
    for number, file in enumerate(files, start=1):
        with outcome.piece(partial(text_of, file)), watched(file.name, number, len(files)):
            reports.append(work_out(file, settings))
    if reports:
        words = language(code or reports[0].plan.quote.language)
        comparison = compared(reports, words, alternatives)
        if form == "json":
            write_out(data(comparison).encode(), output)
        else:
            chart = comparison_drawing(comparison, words) if form == "html" else None
            give(document(comparison, words, chart), words, form, output, every)
    sys.exit(outcome.code)


# diff ---------------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("old", shell_complete=proposed("sides"))
@click.argument("new", shell_complete=proposed("sides"))
@output_options(DIFFERENCE_FORMS, "For a terminal, a review comment, a document, or programs.")
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
    form: str | None,
    output: str | None,
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
    for side in (old, new):
        refuse_overwriting(output, side)
    form = choose_form(form, output, DIFFERENCE_FORMS, ("xlsx", "pdf"))
    most = _limits(limits)
    if old == new == STANDARD_INPUT:
        raise click.UsageError("only one side can come from standard input")
    with tempfile.TemporaryDirectory(prefix="bomgen-") as folder:
        difference, report = _found((old, new), (settings, (*settings, *set_new)), root, Path(folder))
    reasons = list(passed(difference, most, fail_on_change))
    _give(difference, report, form, output, every, reasons)
    for reason in reasons:
        complain(f"bomgen: threshold passed: {reason}")
    if reasons:
        sys.exit(PASSED)


def _limits(texts: Sequence[str]) -> list[Limit]:
    thresholds = []
    for text in texts:
        threshold = limit(text)
        if threshold is None:
            raise click.UsageError(f"--max-increase {text}: give a share such as 5%, or an amount such as 100000")
        thresholds.append(threshold)
    return thresholds


def _found(
    sides: Sequence[str], settings: Sequence[Sequence[str]], root: str | None, folder: Path
) -> tuple[Difference, Report | None]:
    """Return the difference, and the result of NEW if that is a plan. Ends the command if a side is invalid."""
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
    if old_report and new_report and is_laid_out(old_report):
        existing = {cluster.plan.cluster_name: cluster for cluster in old_report.each_cluster}
        today = {now: existing[name] for name, now in difference.names.clusters.items()}
        with watched(opened[1].name):
            new, new_report = compared_result(opened[1].file(), settings[1], today)
        difference = compare_sides(old, new)
    return _moved(difference, old_report, new_report), new_report


def _moved(difference: Difference, old: Report | None, new: Report | None) -> Difference:
    """Return an expansion with the cables that move, if both sides are plans."""
    if old is None or new is None:
        return add_moves(difference, None, message("diff-moves-of-bills"))
    from bomgen.cabling.recabling import MOST_CABLES, compare_wirings, sum_moves  # bills alone need no NumPy

    links = max(_links(side) for side in (difference.old, difference.new))
    if links > MOST_CABLES:
        return add_moves(difference, None, message("diff-moves-too-many", links=str(links), most=str(MOST_CABLES)))
    try:
        before, after = (
            {cluster.plan.cluster_name or "": cluster for cluster in side.each_cluster} for side in (old, new)
        )
        of_each = {
            now: compare_wirings(
                list_cables(without_cluster_name(before[name])),
                list_cables(without_cluster_name(after[now])),
                own_names(difference.names, name),
            )
            for name, now in difference.names.clusters.items()
        }
        return add_moves(difference, sum_moves(of_each))
    except (PlanErrors, BrokenResult) as error:
        return add_moves(difference, None, message("diff-moves-not-listed", error=str(error)))


def _links(side: ComparedResult) -> int:
    kind = re.compile(r"(clusters\.[^.]+\.)?fabrics\.[^.]+\.links\.[^.]+")
    return sum(value for path, value in side.numbers.items() if type(value) is int and kind.fullmatch(path))


def _give(
    difference: Difference, report: Report | None, form: str, output: str | None, every: bool, reasons: list[str]
) -> None:
    """Print the difference or write it to a file; `report` is the result of NEW if that is a plan."""
    words = language(report.plan.quote.language if report else ENGLISH)
    if form == "text":
        give(review_document(difference, words), words, form, output, every)
    elif form == "md":
        write_out(comment(review_document(difference, words, ranked=True), words).encode("utf-8", "replace"), output)
    elif form == "json":
        text = json.dumps(to_data(difference, reasons), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        write_out(text.encode("utf-8", "replace"), output)
    else:
        write_out(render_difference(difference, report, form), output)

"""`bomgen check`, `explain`, `simulate` and `lock`: what a plan comes to without the files of a build.

Its errors and warnings, how a number was calculated, how the workload runs at the size, and pinned inputs beside it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from bomgen.catalog.files import KINDS
from bomgen.cli.command import (
    PASSED,
    QUIET,
    WRONG_PLAN,
    WRONG_USAGE,
    Outcome,
    complain,
    escape_controls,
    is_set,
    print_problems,
    print_text,
    say,
)
from bomgen.cli.options import (
    TEXT,
    NamedPlan,
    Output,
    build_today,
    locked_option,
    open_plans,
    option,
    output_options,
    plan_argument,
    plan_options,
    plans_argument,
    proposed,
    read_given,
    root_option,
    show,
    talk_options,
    watched,
)
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.language import language
from bomgen.documents.chapters.evidence import Simulated, simulation_data, simulation_document
from bomgen.output.terminal import LEAST_TEXT, wrap_text
from bomgen.output.writer import write_one
from bomgen.reading.request_trace import read_trace
from bomgen.results.explain import (
    DRAWN,
    INDENTED,
    PLAIN,
    Line,
    NotKnown,
    Piece,
    below_branch,
    data,
    explained,
    explanation_lines,
    markdown,
)
from bomgen.results.reasons import find_reasons
from bomgen.sizing.serving import simulation
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


SIMULATION_FORMS = ("text", "json")
COLOURS = {"name": {"bold": True}, "value": {"fg": "green"}, "origin": {"fg": "cyan"}, "note": {"dim": True}}


@click.command()
@plan_argument
@click.argument("path", required=False, shell_complete=proposed("paths"))
@option("-f --format form", "Output format.", type=click.Choice(["text", "json", "md"]), default="text")
@option("--depth N", "Show N levels of the derivation.", type=click.IntRange(min=0))
@option("--why only_why", "Show only why parts were selected and others rejected.")
@plan_options
def explain(plan: NamedPlan, path: str | None, form: str, depth: int | None, only_why: bool) -> None:
    """Show how a number of bom.json was calculated, down to the plan and the documents; without PATH all of them.

    PATH is dotted, such as fabrics.compute.switches.leaf, the id of a line of the bill, such as compute.switch.leaf, or
    totals.amount; the start of a path explains all below it. The reasons for selecting a part, and for rejecting
    others, follow; --why shows only these, for PATH or for all selected parts.
    """
    _, report = plan.work_out(quiet=True)
    words = language()
    reasons = find_reasons(report, words, path, only_why) if path or only_why else []
    try:
        explanation = explained(report, path, words, depth, reasons, not only_why)
    except NotKnown as error:
        raise click.UsageError(str(error)) from None
    if form != "text":
        print_text((data if form == "json" else markdown)(explanation))
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in explanation_lines(explanation, DRAWN if _can_draw() else INDENTED):
        for part in [line] if width is None else _wrapped(line, width):
            click.echo(_styled(part))


def _can_draw() -> bool:
    try:
        "├└│─".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _styled(line: Line) -> str:
    return "".join(
        click.style(escape_controls(piece.text), **COLOURS.get(piece.kind, {}), reset=piece.kind in COLOURS)  # type: ignore[arg-type]
        for piece in line
    )


def _wrapped(line: Line, width: int) -> Iterator[Line]:
    """Yield a line in parts that fit a width, below the branches of a deep tree at least LEAST_TEXT wide.

    Parts after the first are indented below it, within the tree.
    """
    lead = line[0].text if line and line[0].kind == PLAIN else ""
    pieces = line[1:] if lead else line
    text = "".join(piece.text for piece in pieces)
    room = max(width - len(below_branch(lead)), LEAST_TEXT)
    start = 0
    for number, part in enumerate(wrap_text(text, room)):
        start = text.index(part, start)
        yield Piece(PLAIN, below_branch(lead) if number else lead), *_between(pieces, start, start + len(part))
        start += len(part)


def _between(pieces: Line, start: int, end: int) -> Iterator[Piece]:
    at = 0
    for piece in pieces:
        if text := piece.text[max(start - at, 0) : max(end - at, 0)]:
            yield Piece(piece.kind, text)
        at += len(piece.text)


# simulate -----------------------------------------------------------------------------------------------------------


@click.command()
@plan_argument
@option("--seed", "Seed of the random numbers.", type=int, default=simulation.SEED)
@option(
    "--requests",
    "Number of requests to simulate.",
    type=click.IntRange(*simulation.REQUESTS_ALLOWED),
    default=simulation.REQUESTS,
)
@option("--replicas", "Number of replicas. Default: those that the load requires.", type=click.IntRange(min=1))
@option("--trace FILE", "Requests to simulate instead: a table of arrivals, prompt_tokens and output_tokens.")
@output_options(SIMULATION_FORMS)
@plan_options
def simulate(
    plan: NamedPlan, seed: int, requests: int, replicas: int | None, trace: str | None, output: Output
) -> None:
    """Simulate a served workload at its size, request by request, and compare its latency with the targets.

    The plan needs requests_per_minute. Step and prompt times are those of the prediction; queues, lengths and arrivals
    are simulated, or taken from a trace. Exit codes: 0 all targets hold; 1 the plan or the trace is wrong; 4 a target
    does not hold.
    """
    _, report = plan.work_out(quiet=True)
    served, inference = report.design.sizing.serving, report.plan.inference
    if inference is None or served is None or served.need.demand is None or served.need.speed is None:
        raise click.UsageError("the plan serves no model at a predicted rate; set `requests_per_minute`")
    need, demand = served.need, served.need.demand
    if trace is None:
        arrivals = simulation.requests_of_plan(inference, demand, seed, requests)
    else:
        arrivals = simulation.requests_of_trace(inference, read_trace(read_given(trace, "trace"), trace))
        demand = demand._replace(per_second=arrivals.per_second)
    result = simulation.simulate_service(inference, need, replicas, arrivals)
    simulated = Simulated(
        plan=report.plan.name,
        split=str(need.replica),
        replicas=replicas or int(need.replicas.value),
        demand=demand,
        outcome=result,
        requests=len(arrivals.requests),
        seed=seed,
        trace=trace,
    )
    words = language(report.plan.quote.language)
    if output.form == TEXT:
        output.give(simulation_document(simulated, words), words)
    else:
        output.write_data(simulation_data(simulated))
    if not result.holds(demand):
        sys.exit(PASSED)

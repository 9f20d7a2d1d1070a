"""`bomgen explain` and `bomgen simulate`: how a number was calculated, and how the workload runs at the size."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator

import click

from bomgen.cli.command import PASSED, escape_controls, print_text
from bomgen.cli.options import (
    TEXT,
    NamedPlan,
    Output,
    option,
    output_options,
    plan_argument,
    plan_options,
    proposed,
    read_given,
)
from bomgen.core.language import language
from bomgen.documents.chapters.evidence import Simulated, simulation_data, simulation_document
from bomgen.output.terminal import LEAST_TEXT, wrap_text
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

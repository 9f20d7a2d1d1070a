"""`bomgen simulate`: the event simulation of a served workload at its size."""

from __future__ import annotations

import json
import sys

import click

from bomgen.cli.documents import give, write_out
from bomgen.cli.messages import PASSED, WRONG_PLAN, choose_form, refuse_overwriting
from bomgen.cli.options import output_options, plan_argument, root_option, set_option, talk_options
from bomgen.cli.plans import build_report, open_one_plan
from bomgen.core.language import language
from bomgen.documents.simulation import simulation_data, simulation_document
from bomgen.sizing.serving import simulation

FORMS = ("text", "json")


@click.command()
@plan_argument
@click.option("--seed", type=int, default=simulation.SEED, show_default=True, help="Seed of the random numbers.")
@click.option(
    "--requests",
    type=click.IntRange(*simulation.REQUESTS_ALLOWED),
    default=simulation.REQUESTS,
    show_default=True,
    help="Number of requests to simulate.",
)
@click.option("--replicas", type=click.IntRange(min=1), help="Number of replicas. Default: those of the cluster.")
@output_options(FORMS)
@set_option
@root_option
@talk_options
def simulate(
    plan: str,
    seed: int,
    requests: int,
    replicas: int | None,
    form: str | None,
    output: str | None,
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """Simulate a served workload at its size, request by request, and compare its latency with the targets.

    The plan needs requests_per_minute. Step and prompt times are those of the prediction; queues, lengths and arrivals
    are simulated. Exit codes: 0 all targets hold; 1 the plan is wrong; 4 a target does not hold.
    """
    form = choose_form(form, output, FORMS)
    file = open_one_plan(plan, root)
    refuse_overwriting(output, plan)
    report = build_report(file, settings, quiet=True)
    if report is None:
        sys.exit(WRONG_PLAN)
    served = report.design.sizing.serving
    if served is None or served.need.demand is None or served.need.speed is None:
        raise click.UsageError("the plan serves no model at a predicted rate; set `requests_per_minute`")
    demand, found = served.need.demand, simulation.simulate_service(report.plan, served, replicas, seed, requests)
    count = replicas or int(served.replicas.value)
    words = language(report.plan.quote.language)
    if form == "text":
        give(simulation_document(report.plan, served, demand, found, count, seed, words), words, form, output)
    else:
        data = simulation_data(report.plan, served, demand, found, count, seed)
        write_out((json.dumps(data, indent=2) + "\n").encode(), output)
    if not found.holds(demand):
        sys.exit(PASSED)

"""`bomgen margin`: the seller's margin."""

from __future__ import annotations

import sys

import click

from bomgen.cli.documents import give, write_out
from bomgen.cli.messages import WRONG_PLAN, choose_form, refuse_overwriting
from bomgen.cli.options import output_options, plan_argument, root_option, set_option, talk_options
from bomgen.cli.plans import open_one_plan, watched
from bomgen.cli.problems import show
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import language
from bomgen.output.margin import margin_document, to_csv, to_json
from bomgen.workflow.pipeline import compute_margin

FORMS = ("text", "csv", "json")


@click.command()
@plan_argument
@output_options(FORMS)
@set_option
@root_option
@talk_options
def margin(plan: str, form: str | None, output: str | None, settings: tuple[str, ...], root: str | None) -> None:
    """Show the cost and margin of every line, based on the plan's quote.cost_book.

    Amounts are after discount and before tax. No file of `bomgen build` has any of it.
    """
    form = choose_form(form, output, FORMS)
    file = open_one_plan(plan, root)
    refuse_overwriting(output, plan)
    try:
        with watched(file.name):
            report, found = compute_margin(file, settings)
    except PlanErrors as errors:
        show(errors.problems, file)
        sys.exit(WRONG_PLAN)
    show(tuple(dict.fromkeys((*report.problems, *report.stale, *found.problems))), file)
    if form == "text":
        words = language(report.plan.quote.language)
        give(margin_document(found, words), words, form, output)
    else:
        write_out((to_csv if form == "csv" else to_json)(found).encode(), output)

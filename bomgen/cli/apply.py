"""`bomgen apply`: an edited quote applied to its plan."""

from __future__ import annotations

import sys
from difflib import unified_diff
from pathlib import Path

import click

from bomgen.apply.application import Application, apply_quote
from bomgen.cli.messages import NOT_WRITTEN, PASSED, WRONG_PLAN, complain, say
from bomgen.cli.options import files, plan_argument, root_option, talk_options
from bomgen.cli.plans import open_one_plan
from bomgen.cli.problems import print_problems
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.safety import read_sent
from bomgen.output.writer import OutputError, replace
from bomgen.workflow.inputs import text_of
from bomgen.workflow.plan_files import STANDARD_INPUT


@click.command()
@click.argument("quote", shell_complete=files)
@plan_argument
@click.option(
    "--write",
    "writing",
    is_flag=True,
    help="Write the plan and its price book; without this option, only show the changes.",
)
@click.option("--force", is_flag=True, help="Accept a workbook of another plan, or of an older version of this one.")
@root_option
@talk_options
def apply(quote: str, plan: str, writing: bool, force: bool, root: str | None) -> None:
    """Apply an edited quote.xlsx (QUOTE), as returned by the customer, to its PLAN.

    Prices go to PLAN.prices.yaml, which becomes the last price book of the plan; discounts, tax, charges, terms, texts
    and numbers of servers become edits of the plan that touch nothing else. The difference is printed first. What the
    plan cannot say is a conflict: exit code 4, and nothing is written.
    """
    if plan == STANDARD_INPUT:
        raise click.UsageError("a plan from standard input cannot be edited; name its file")
    try:
        content = read_sent(Path(quote))
    except OSError as error:
        raise click.UsageError(f"cannot read the workbook '{quote}': {error.strerror}") from None
    file = open_one_plan(plan, root)

    def excerpted(name: str) -> str:
        return "" if name == quote else text_of(file, name)

    try:
        found = apply_quote(content, quote, file, force)
    except PlanErrors as errors:
        print_problems(errors.problems, excerpted)
        sys.exit(WRONG_PLAN)
    _tell(found, file.name)
    if found.problems:
        print_problems(found.problems, excerpted)
        complain(f"{len(found.problems)} conflict{'s' * (len(found.problems) > 1)}: nothing is written")
        sys.exit(PASSED)
    if not found.files:
        if found.differences:
            say("The plan already contains all of this: nothing to apply.")
        return
    if not writing:
        say("Nothing is written; --write writes it.")
        return
    try:
        written = replace({name: content for name, _, content in found.files}, file.folder)
    except OutputError as error:
        complain(f"bomgen: not written: {error}")
        sys.exit(NOT_WRITTEN)
    for place in written:
        say(f"{Path(plan).parent / place.name}")


def _tell(application: Application, plan: str) -> None:
    """Print the edits, their consequences, the files and the amounts before and after."""
    if application.passed_over:
        say(f"Ignored, generated text from an older version of the quote: {', '.join(application.passed_over)}")
    if application.applied:
        say("The plan already has all edits of this workbook: nothing to apply.")
        return
    if not application.differences and not application.problems:
        say("The workbook matches the plan: nothing to apply.")
        return
    for line in application.differences:
        say(line)
    if application.follows:
        say("What follows, as calculated by the plan and not by the workbook:")
        for line in application.follows:
            say(f"  {line}")
    if application.problems:
        return
    for name, before, after in application.files:
        shown = str(Path(plan).parent / name)
        old, new = (text.decode("utf-8", "replace").splitlines() for text in (before, after))
        for line in unified_diff(old, new, shown if before else "/dev/null", shown, lineterm=""):
            say(line)
    if (totals := application.after) and (totals.priced_lines or application.before.priced_lines):
        least = "" if totals.complete else ", at least"
        say(f"Total{least}: {application.before.amount:,} -> {totals.amount:,} {totals.currency}")

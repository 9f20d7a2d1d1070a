"""`bomgen compare`: a comparison of plans."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from bomgen.cli.documents import give, write_out
from bomgen.cli.messages import WRONG_PLAN, WRONG_USAGE, choose_form, complain, refuse_overwriting
from bomgen.cli.options import output_options, plans_argument, proposed, root_option, set_option, talk_options
from bomgen.cli.plans import build_report, open_plans
from bomgen.cli.problems import print_problems
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import language
from bomgen.core.resources import languages
from bomgen.core.safety import read_sent
from bomgen.documents.compare import compared, data, document
from bomgen.output.drawing.charts import comparison_drawing
from bomgen.reading.tables import is_bill
from bomgen.workflow.plan_files import PlanFile
from bomgen.xray.files import rebuild_plan

FORMS = ("text", "md", "html", "xlsx", "json")


@click.command()
@plans_argument
@output_options(FORMS)
@click.option("--all", "every", is_flag=True, help="Show all rows, not only those that differ.")
@click.option("--alternatives", is_flag=True, help="Show the alternatives of each plan after it.")
@click.option(
    "--language",
    "code",
    metavar="CODE",
    shell_complete=proposed("languages"),
    help="Language, such as en or zh. [default: the first plan's]",
)
@set_option
@root_option
@talk_options
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
    if code is not None and code not in languages():
        raise click.UsageError(f"no language '{code}'; there are {', '.join(languages())}")
    for plan in plans:
        refuse_overwriting(output, plan)
    form = choose_form(form, output, FORMS, ("xlsx",))
    files, worst = _open(plans, root)
    reports = []
    for number, file in enumerate(files, start=1):
        report = build_report(file, settings, quiet=True, place=(number, len(files)))
        if report is None:
            worst = max(worst, WRONG_PLAN)
        else:
            reports.append(report)
    if reports:
        words = language(code or reports[0].plan.quote.language)
        found = compared(reports, words, alternatives)
        if form == "json":
            write_out(data(found).encode(), output)
        else:
            chart = comparison_drawing(found, words) if form == "html" else None
            give(document(found, words, chart), words, form, output, every)
    sys.exit(worst)


def _open(plans: Sequence[str], root: str | None) -> tuple[list[PlanFile], int]:
    """Return the plans, including those that rebuild bills, and the exit code so far."""
    files, worst = list["PlanFile"](), 0
    for plan in plans:
        if not is_bill(plan):
            opened, code = open_plans((plan,), root)
            files, worst = [*files, *opened], max(worst, code)
            continue
        try:
            files.append(rebuild_plan(read_sent(Path(plan)), plan))
        except OSError as error:
            complain(f"Error: cannot read the bill '{plan}': {error.strerror}")
            worst = max(worst, WRONG_USAGE)
        except PlanErrors as errors:
            print_problems(errors.problems, lambda _: "")
            worst = max(worst, WRONG_PLAN)
    return files, worst

"""`bomgen apply` and `bomgen xray`: an edited quote that comes back, and the bill of a vendor."""

from __future__ import annotations

import json
import sys
from difflib import unified_diff
from pathlib import Path

import click

from bomgen.apply.application import Application, apply_quote
from bomgen.catalog.files import Catalog
from bomgen.cli.command import PASSED, complain, ends_on_errors, print_problems, print_text, say
from bomgen.cli.options import (
    asked_columns,
    choose_form,
    format_option,
    give,
    language_option,
    named_path,
    option,
    plan_argument,
    proposed,
    read_given,
    refuse_overwriting,
    root_option,
    talk_options,
    write_new_file,
)
from bomgen.cli.plans import open_one_plan
from bomgen.core.language import language
from bomgen.output.writer import render_page, replace
from bomgen.reading.bill_columns import ROLES
from bomgen.workflow.inputs import text_of
from bomgen.workflow.plan_files import STANDARD_INPUT
from bomgen.xray.contents import open_bill, plan_name, plan_text, to_data, xray_document
from bomgen.xray.inspection import inspect
from bomgen.xray.types import Xray

FORMS = ("text", "md", "html", "json")
PLANS = (".yaml", ".yml")
"""Suffixes of FILE by which it is a plan, whatever the format of the findings."""
SEVERITIES = ("error", "doubt")


@click.command()
@click.argument("quote", shell_complete=proposed("files"))
@plan_argument
@option("--write writing", "Write the plan and its price book; without this option, only show the changes.")
@option("--force", "Accept a workbook of another plan, or of an older version of this one.")
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
    content = read_given(quote, "workbook")
    file = open_one_plan(plan, root)

    def excerpted(name: str) -> str:
        return "" if name == quote else text_of(file, name)

    with ends_on_errors(excerpted):
        applied = apply_quote(content, quote, file, force)
    _tell(applied, file.name)
    if applied.problems:
        print_problems(applied.problems, excerpted)
        complain(f"{len(applied.problems)} conflict{'s' * (len(applied.problems) > 1)}: nothing is written")
        sys.exit(PASSED)
    if not applied.files:
        if applied.differences:
            say("The plan already contains all of this: nothing to apply.")
        return
    if not writing:
        say("Nothing is written; --write writes it.")
        return
    for path in replace({name: content for name, _, content in applied.files}, file.folder):
        say(f"{Path(plan).parent / path.name}")


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


# xray ---------------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("bill", shell_complete=proposed("files"))
@format_option(FORMS, "Format of the findings.")
@option(
    "-o --output FILE",
    "Write the plan that rebuilds the bill to a .yaml file, or the findings to a file of another format; an "
    "existing file is never overwritten.",
    "files",
    callback=named_path,
)
@option(
    "--columns part=C,quantity=F",
    "Meaning of columns in the bill, by letter or heading; also spare, price, amount and others, currency=USD, "
    "decimal=comma, sheet=NAME, header=LINE; none ignores a column.",
    multiple=True,
)
@option("--fail-on", "Exit with 4 on a finding of this severity or worse.", type=click.Choice(SEVERITIES))
@option("--all every", "Also show how each line was read.")
@language_option("en", default="en")
@talk_options
def xray(
    bill: str,
    form: str | None,
    output: str | None,
    columns: tuple[str, ...],
    fail_on: str | None,
    every: bool,
    code: str,
) -> None:
    """Check a vendor's BILL (xlsx, xls, ods, csv, pdf) and find the fabrics that explain its quantities.

    Parts are recognised by their numbers, lengths and known suffixes; what only words say is "taken as". Plans are
    built and compared with the lines: those that fit equally well are all listed. Errors are incorrect
    under any reading; doubts are inconsistent with the rest of the bill; unknowns are answered by neither the bill nor
    the catalogue.

    \b
      bomgen xray quote.xlsx
      bomgen xray quote.xlsx -o findings.html
      bomgen xray quote.xlsx -o rebuilt.yaml --fail-on error

    Exit codes: 0 done, with or without findings; 1 the bill cannot be read, or no plan explains it; 4 --fail-on.
    """  # noqa: D301 - the backslash is click's mark for lines that are not to be filled
    refuse_overwriting(output, bill)
    if output is not None and Path(output).exists():
        raise click.UsageError(f"{output} exists; name a new file with -o")
    suffix = Path(output or "").suffix.lower()
    plan = output if suffix in PLANS or not (form or suffix) else None
    page = None if plan else output
    form = choose_form(form, page, FORMS, suffixes={"": PLANS})
    asked, catalog = asked_columns(columns, ROLES), Catalog()
    content = read_given(bill, "bill")
    inspection = inspect(open_bill(content, bill, catalog, asked), catalog)
    _show(inspection.found, form, every, code, page)
    if plan is not None:
        write_new_file(plan_text(inspection, plan_name(plan), catalog).encode(), plan)
    if fail_on and any(
        finding.severity in SEVERITIES[: SEVERITIES.index(fail_on) + 1] for finding in inspection.found.findings
    ):
        sys.exit(PASSED)


def _show(findings: Xray, form: str, every: bool, code: str, output: str | None) -> None:
    """Print the findings, or write them to a new file."""
    words = language(code)
    if form == "json":
        text = json.dumps(to_data(findings), ensure_ascii=False, indent=1) + "\n"
        write_new_file(text.encode(), output) if output else print_text(text)
    elif output:
        write_new_file(render_page(xray_document(findings, words), words, form, every), output)
    else:
        give(xray_document(findings, words), words, form, every=every)

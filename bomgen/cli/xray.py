"""`bomgen xray`: the inspection of a received bill."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from bomgen.catalog.files import Catalog
from bomgen.cli.documents import give
from bomgen.cli.messages import (
    NOT_WRITTEN,
    PASSED,
    WRONG_PLAN,
    choose_form,
    complain,
    print_text,
    refuse_overwriting,
    say,
)
from bomgen.cli.options import asked_columns, files, format_option, named_path, proposed, talk_options
from bomgen.cli.problems import print_problems
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import language
from bomgen.core.resources import languages
from bomgen.core.safety import read_sent
from bomgen.output.writer import OutputError, render_page, write_new
from bomgen.reading.bill_columns import ROLES
from bomgen.xray.contents import to_data, xray_document
from bomgen.xray.files import open_bill, plan_name, plan_text
from bomgen.xray.inspection import inspect
from bomgen.xray.types import Xray

FORMS = ("text", "md", "html", "json")
PLANS = (".yaml", ".yml")
"""Suffixes of FILE by which it is a plan, whatever the format of the findings."""
SEVERITIES = ("error", "doubt")


@click.command()
@click.argument("bill", shell_complete=files)
@format_option(FORMS, "Format of the findings.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    callback=named_path,
    shell_complete=files,
    help="Write the plan that rebuilds the bill to a .yaml file, or the findings to a file of another format; an "
    "existing file is never overwritten.",
)
@click.option(
    "--columns",
    metavar="part=C,quantity=F",
    multiple=True,
    help="Meaning of columns in the bill, by letter or heading; also spare, price, amount and others, currency=USD, "
    "decimal=comma, sheet=NAME, header=LINE; none ignores a column.",
)
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit with 4 on a finding of this severity or worse.")
@click.option("--all", "every", is_flag=True, help="Also show how each line was read.")
@click.option(
    "--language",
    "code",
    metavar="CODE",
    default="en",
    shell_complete=proposed("languages"),
    help="Language, such as en or zh. [default: en]",
)
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
    if code not in languages():
        raise click.UsageError(f"no language '{code}'; there are {', '.join(languages())}")
    refuse_overwriting(output, bill)
    if output is not None and Path(output).exists():
        raise click.UsageError(f"{output} exists; name a new file with -o")
    plan = output if output is not None and _is_plan(output, form) else None
    page = None if plan else output
    form = choose_form(form, page, FORMS, suffixes={"": PLANS})
    asked, catalog = asked_columns(columns, ROLES), Catalog()
    try:
        inspection = inspect(open_bill(read_sent(Path(bill)), bill, catalog, asked), catalog)
    except OSError as error:
        raise click.UsageError(f"cannot read '{bill}': {error.strerror}") from None
    except PlanErrors as errors:
        print_problems(errors.problems, lambda _: "")
        sys.exit(WRONG_PLAN)
    _show(inspection.found, form, every, code, page)
    if plan is not None:
        try:
            _write(plan_text(inspection, plan_name(plan), catalog).encode(), plan)
        except PlanErrors as errors:
            print_problems(errors.problems, lambda _: "")
            sys.exit(WRONG_PLAN)
    if fail_on and any(
        finding.severity in SEVERITIES[: SEVERITIES.index(fail_on) + 1] for finding in inspection.found.findings
    ):
        sys.exit(PASSED)


def _is_plan(output: str, form: str | None) -> bool:
    """Return whether the file is for the plan: by its suffix, or if nothing else says what it is for."""
    suffix = Path(output).suffix.lower()
    return suffix in PLANS or not (form or suffix)


def _show(found: Xray, form: str, every: bool, code: str, output: str | None) -> None:
    """Print the findings, or write them to a new file."""
    words = language(code)
    if form == "json":
        text = json.dumps(to_data(found), ensure_ascii=False, indent=1) + "\n"
        _write(text.encode(), output) if output else print_text(text)
    elif output:
        _write(render_page(xray_document(found, words), words, form, every), output)
    else:
        give(xray_document(found, words), words, form, every=every)


def _write(content: bytes, output: str) -> None:
    """Write a new file. Ends the command if it cannot be written."""
    try:
        write_new(content, Path(output))
    except FileExistsError:
        complain(f"bomgen: not written: {output} exists")
        sys.exit(NOT_WRITTEN)
    except OutputError as error:
        complain(f"bomgen: not written: {error}")
        sys.exit(NOT_WRITTEN)
    say(output)

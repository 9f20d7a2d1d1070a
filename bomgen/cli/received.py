"""Files of others: price lists and the seller's margin, an edited quote, the bill of a vendor, outputs of devices."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bomgen.apply.application import Application, apply_quote
from bomgen.catalog.files import Catalog
from bomgen.cli.build import choose_cluster, require_fabrics
from bomgen.cli.command import PASSED, QUIET, complain, ends_on_errors, is_set, print_problems, print_text, say
from bomgen.cli.options import (
    TEXT,
    NamedPlan,
    Output,
    asked_columns,
    choose_form,
    format_option,
    language_option,
    named_path,
    option,
    output_options,
    plan_argument,
    plan_options,
    proposed,
    read_given,
    refuse_overwriting,
    root_option,
    show,
    talk_options,
    working_on,
    write_new_file,
)
from bomgen.core.diagnostics import error_at
from bomgen.core.language import language
from bomgen.core.yaml_source import Source
from bomgen.output.price_lists import PRICE_LISTS, describe, margin_document, to_csv, to_json, use_of, written
from bomgen.output.registry import render_page
from bomgen.output.terminal import render_lines
from bomgen.output.writer import replace
from bomgen.pricing.price_book import OWN_PRICES, collect, entries
from bomgen.reading.bill_columns import ROLES
from bomgen.reading.columns import NOTHING, RequestedColumns
from bomgen.reading.part_numbers import built_in_parts
from bomgen.reading.price_lists import PriceList, own_book, read_list
from bomgen.reading.price_lists import text_of as text_of_list
from bomgen.reading.tables import MAX_BYTES
from bomgen.results.result import Report
from bomgen.workflow.inputs import text_of
from bomgen.workflow.pipeline import compute_margin, list_cables, list_unpriced_parts
from bomgen.workflow.plan_files import STANDARD_INPUT, STANDARD_INPUT_NAME
from bomgen.xray.contents import open_bill, plan_name, plan_text, to_data, xray_document
from bomgen.xray.inspection import Xray, inspect

if TYPE_CHECKING:
    from bomgen.verify.findings import Verification
MARGIN_FORMS = ("text", "csv", "json")


@click.command()
@click.argument("list_", metavar="[LIST]", required=False, shell_complete=proposed("files"))
@option(
    "--for plan PLAN",
    "List the unpriced parts of a plan, to be filled in; with a LIST, the prices that the plan uses.",
    "plans",
)
@option(
    "--columns part=C,price=F",
    "Meaning of columns in a vendor's list, by letter or heading; also currency=USD, decimal=comma, dates=dmy, "
    "scale=0.01, tax=19%, repeated=lowest, sheet=NAME, header=LINE; none ignores a column.",
    multiple=True,
)
@option("--keep", f"Add the prices to {OWN_PRICES}, each with its date; new plans of `bomgen init` ask it first.")
@output_options(
    PRICE_LISTS.names,
    binary=[name for name in PRICE_LISTS.names if PRICE_LISTS.constant(name, "BINARY")],
    suffixes=PRICE_LISTS.suffixes(),
)
@plan_options
def prices(list_: str | None, plan: NamedPlan | None, columns: tuple[str, ...], keep: bool, output: Output) -> None:
    """Show how a vendor's price LIST is understood, write it as a price book, or list what a plan has no prices for.

    A LIST is a workbook (xlsx, xls, ods) or text (csv, tsv) of any layout: what each column was taken for, the first
    prices and what was left out are printed, and with -o or -f it is written as a price book. A price book (YAML, or a
    table with its columns) is turned into another form. Either may stand at a plan's quote.price_book.
    """
    if list_ is None and plan is None:
        raise click.UsageError("name a price list, or a plan with --for PLAN")
    report = None
    if plan:
        _, report = plan.work_out()
        if list_ is None:
            output.write(written(list_unpriced_parts(report), output.form))
    if list_ is not None:
        asked = asked_columns(columns)
        source, price_list = _read(list_, asked)
        if price_list:
            # What a list was taken for is not mixed with the book that a program reads from standard output.
            _describe(price_list, report, aside=output.asked and output.file is None)
        if report and not price_list:
            raise click.UsageError(f"{list_} is a price book; name it at quote.price_book, and leave it out here")
        if keep:
            _keep(source)
        elif output.asked or not price_list:
            output.write(written(entries(source), output.form, source.data.get("name")))


def _keep(source: Source) -> None:
    """Add the prices of a book to the user's own, those without a date as of today."""
    own, today = Path(OWN_PRICES), {"date": date.today().isoformat()}
    with ends_on_errors():
        earlier = own_book(read_given(OWN_PRICES, "price book"), OWN_PRICES) if own.exists() else None
    kept = collect(entries(earlier) if earlier else (), [today | entry for entry in entries(source)])
    for path in replace({OWN_PRICES: written(kept, "yaml", "Own prices")}, own.parent):
        say(str(path))


def _read(name: str, asked: RequestedColumns) -> tuple[Source, PriceList | None]:
    content = read_given(name, "price list")
    with ends_on_errors(lambda _: text_of_list(content, name)):
        if asked == NOTHING and (source := own_book(content, name)):
            return source, None
        price_list = read_list(content, name, asked)
    return price_list.source, price_list


def _describe(price_list: PriceList, report: Report | None, aside: bool) -> None:
    """Print the interpretation of a list and its warnings, on standard error if `aside`."""
    parts = built_in_parts()
    use = use_of(price_list.source.data["prices"], report, parts) if report else None
    document, words = describe(price_list, parts, use), language()
    if not is_set(QUIET) and not aside:
        Output().give(document, words)
    elif not is_set(QUIET):
        for line in render_lines(document, words):
            complain(line.text)
    print_problems(price_list.warnings)


# margin -------------------------------------------------------------------------------------------------------------


@click.command()
@plan_argument
@output_options(MARGIN_FORMS)
@plan_options
def margin(plan: NamedPlan, output: Output) -> None:
    """Show the cost and margin of every line, based on the plan's quote.cost_book.

    Amounts are after discount and before tax. No file of `bomgen build` has any of it.
    """
    file = plan.open()
    with working_on(file):
        report, margins = compute_margin(file, plan.settings)
    show(tuple(dict.fromkeys((*report.problems, *report.stale, *margins.problems))), file)
    if output.form == TEXT:
        words = language(report.plan.quote.language)
        output.give(margin_document(margins, words), words)
    else:
        output.write((to_csv if output.form == "csv" else to_json)(margins).encode())


XRAY_FORMS = ("text", "md", "html", "json")
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
    file = NamedPlan(plan, root).open()

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
@format_option(XRAY_FORMS, "Format of the findings.")
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
@option("--plan PLAN", "Compare the cables of a point-to-point sheet with those of a plan.", "plans")
@option("--fail-on", "Exit with 4 on a finding of this severity or worse.", type=click.Choice(SEVERITIES))
@option("--all every", "Also show how each line was read.")
@language_option("en", default="en")
@plan_options
def xray(
    bill: str,
    plan: NamedPlan | None,
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
    the catalogue. `-` reads pasted text such as "32x SN5600". A sheet with a row a cable is read as a bill, and its
    ports are checked.

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
    rebuilt = output if suffix in PLANS or not (form or suffix) else None
    page = None if rebuilt else output
    form = choose_form(form, page, XRAY_FORMS, suffixes={"": PLANS})
    asked, catalog = asked_columns(columns, ROLES), Catalog()
    is_piped = bill == STANDARD_INPUT
    content = sys.stdin.buffer.read(MAX_BYTES + 1) if is_piped else read_given(bill, "bill")
    name = STANDARD_INPUT_NAME if is_piped else bill
    inspection = inspect(open_bill(content, name, catalog, asked))
    compared: tuple[Verification, str] | None = None
    if plan:
        if not inspection.found.bill.cables:
            raise error_at(name, "no sheet with a device and a port at both ends, to compare with a plan", "as-built")
        _, report = plan.work_out()
        compared = _verify(report, [("", name, content)], is_whole=True), report.plan.name
    _show(inspection.found, compared, form, every, code, page)
    if rebuilt is not None:
        write_new_file(plan_text(inspection, plan_name(rebuilt)).encode(), rebuilt)
    severities: set[str] = {finding.severity for finding in inspection.found.findings}
    if compared and compared[0].has_findings:
        severities.add(SEVERITIES[0])
    if fail_on and severities & {*SEVERITIES[: SEVERITIES.index(fail_on) + 1]}:
        sys.exit(PASSED)


def _show(
    findings: Xray, compared: tuple[Verification, str] | None, form: str, every: bool, code: str, output: str | None
) -> None:
    from bomgen.verify.findings import verification_data, verification_document  # which load NumPy

    words = language(code)
    if form == "json":
        data = to_data(findings) | ({"verification": verification_data(*compared)} if compared else {})
        text = json.dumps(data, ensure_ascii=False, indent=1) + "\n"
        write_new_file(text.encode(), output) if output else print_text(text)
        return
    document = xray_document(findings, words, every, verification_document(*compared, words) if compared else None)
    if output:
        write_new_file(render_page(document, words, form, every), output)
    else:
        Output(form).give(document, words, every=every)


# verify ---------------------------------------------------------------------------------------------------------------

VERIFY_FORMS = ("text", "md", "html", "xlsx", "csv", "json")


@click.command()
@plan_argument
@click.argument("files", nargs=-1, required=True, shell_complete=proposed("files"))
@option("--fabric fabrics NAME", "Compare only the cables of this fabric; repeatable.", "fabrics", multiple=True)
@option("--names FILE", "Table with the built and the planned name of devices, in its first two columns.", "files")
@option(
    "--error-rate RATE", "Report links with a higher bit error rate. [default: 1e-12]", type=click.FloatRange(min=0)
)
@option("--cluster cluster NAME", "Cluster to compare, if the plan has several.", "clusters")
@option("--all every", "Show every row of the list of work and of the names.")
@language_option("that of the quote")
@output_options(VERIFY_FORMS, binary=("xlsx",))
@plan_options
def verify(
    plan: NamedPlan,
    files: tuple[str, ...],
    fabrics: tuple[str, ...],
    names: str | None,
    error_rate: float | None,
    cluster: str | None,
    every: bool,
    code: str | None,
    output: Output,
) -> None:
    """Compare what was built with PLAN: FILES are saved outputs of switches, servers and fabric managers.

    The form of each file is recognised: ibnetdiscover, iblinkinfo, ibdiagnet and UFM topologies, LLDP neighbours of
    Linux, Cumulus, SONiC, EOS, NX-OS, Junos, H3C, Huawei and OS10, ibstat, mlxlink, ethtool -m, and tables with device
    and port at both ends. The name of a file is that of its device, unless HOST=FILE names another. Devices whose
    names are not in the plan are identified by their cables.

    \b
      bomgen verify plan.yaml ibnetdiscover.txt
      bomgen verify plan.yaml lldp/*.json --fabric storage -o work.xlsx

    Exit codes: 0 all as planned, 4 with findings.
    """  # noqa: D301 - the backslash is click's mark for lines that are not to be filled
    hosts = [
        ("", name) if Path(name).exists() else (host, file)
        for name in files
        for host, _, file in [name.rpartition("=")]
    ]
    from bomgen.verify.findings import verification_data, verification_document, work_csv  # which load NumPy
    from bomgen.verify.reading import MOST_BYTES

    _, report = plan.work_out()
    report = choose_cluster(report, cluster)
    require_fabrics(report, fabrics)
    outputs = ((host, file, read_given(file, "output", MOST_BYTES)) for host, file in hosts)
    verification = _verify(report, outputs, fabrics, names, error_rate)
    words = language(code or report.plan.quote.language)
    if output.form == "csv":
        output.write(work_csv(verification))
    elif output.form == "json":
        output.write_data(verification_data(verification, report.plan.name))
    else:
        output.give(verification_document(verification, report.plan.name, words), words, every)
    if verification.has_findings:
        sys.exit(PASSED)


def _verify(
    report: Report,
    outputs: Iterable[tuple[str, str, bytes]],
    fabrics: Sequence[str] = (),
    names: str | None = None,
    error_rate: float | None = None,
    is_whole: bool = False,
) -> Verification:
    """Return the comparison of outputs, as `read_outputs` takes them; if they are whole, what they lack is missing."""
    from bomgen.verify.findings import USUAL_ERROR_RATE, verify
    from bomgen.verify.reading import read_names, read_outputs

    with ends_on_errors():
        as_built = read_outputs(outputs, is_whole)
        built_names = read_names(read_given(names, "table of names"), names) if names else {}
        return verify(as_built, list_cables(report, fabrics), built_names, error_rate or USUAL_ERROR_RATE)

"""`bomgen prices`: price lists as understood, price books in other forms, and unpriced parts."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bomgen.cli.documents import give, write_out
from bomgen.cli.messages import QUIET, WRONG_PLAN, choose_form, complain, is_set, refuse_overwriting
from bomgen.cli.options import asked_columns, files, output_options, proposed, root_option, set_option, talk_options
from bomgen.cli.plans import build_report, open_one_plan
from bomgen.cli.problems import print_problems
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import language
from bomgen.core.messages import ENGLISH
from bomgen.core.safety import read_sent
from bomgen.core.yaml_source import Source
from bomgen.output.price_list_reading import describe, use_of, written
from bomgen.output.registry import PRICE_LISTS
from bomgen.output.terminal import render_lines
from bomgen.pricing.price_book import entries
from bomgen.reading.list_columns import NOTHING, RequestedColumns
from bomgen.reading.part_numbers import built_in_parts
from bomgen.reading.price_lists import PriceList, own_book, read_list, text_of
from bomgen.results.result import Report
from bomgen.workflow.pipeline import list_unpriced_parts


@click.command()
@click.argument("list_", metavar="[LIST]", required=False, shell_complete=files)
@click.option(
    "--for",
    "plan",
    metavar="PLAN",
    shell_complete=proposed("plans"),
    help="List the unpriced parts of a plan, to be filled in; with a LIST, the prices that the plan uses.",
)
@click.option(
    "--columns",
    metavar="part=C,price=F",
    multiple=True,
    help="Meaning of columns in a vendor's list, by letter or heading; also currency=USD, decimal=comma, dates=dmy, "
    "scale=0.01, tax=19%, repeated=lowest, sheet=NAME, header=LINE; none ignores a column.",
)
@output_options(PRICE_LISTS.names)
@set_option
@root_option
@talk_options
def prices(
    list_: str | None,
    plan: str | None,
    columns: tuple[str, ...],
    form: str | None,
    output: str | None,
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """Show how a vendor's price LIST is understood, write it as a price book, or list what a plan has no prices for.

    A LIST is a workbook (xlsx, xls, ods) or text (csv, tsv) of any layout: what each column was taken for, the first
    prices and what was left out are printed, and with -o or -f it is written as a price book. A price book (YAML, or a
    table with its columns) is turned into another form. Either may stand at a plan's quote.price_book.
    """
    if list_ is None and plan is None:
        raise click.UsageError("name a price list, or a plan with --for PLAN")
    binary = [name for name in PRICE_LISTS.names if PRICE_LISTS.constant(name, "BINARY")]
    wanted = choose_form(form, output, PRICE_LISTS.names, binary, PRICE_LISTS.suffixes())
    for given in filter(None, (list_, plan)):
        refuse_overwriting(output, given)
    report = None
    if plan:
        report = build_report(open_one_plan(plan, root), settings)
        if report is None:
            sys.exit(WRONG_PLAN)
        if list_ is None:
            write_out(written(list_unpriced_parts(report), wanted), output)
    if list_ is not None:
        asked = asked_columns(columns)
        source, found = _read(list_, asked)
        if found:
            # What a list was taken for is not mixed with the book that a program reads from standard output.
            _describe(found, report, aside=bool(form and output is None))
        if report and not found:
            raise click.UsageError(f"{list_} is a price book; name it at quote.price_book, and leave it out here")
        if output or form or not found:
            write_out(written(entries(source), wanted, source.data.get("name")), output)


def _read(name: str, asked: RequestedColumns) -> tuple[Source, PriceList | None]:
    """Return the prices of a file, and how a vendor's list was interpreted; an invalid file ends the command."""
    try:
        content = read_sent(Path(name))
    except OSError as error:
        raise click.UsageError(f"cannot read the price list '{name}': {error.strerror}") from None
    try:
        source = own_book(content, name) if asked == NOTHING else None
        if source is not None:
            return source, None
        found = read_list(content, name, asked)
        return found.source, found
    except PlanErrors as errors:
        print_problems(errors.problems, lambda _: text_of(content, name))
        sys.exit(WRONG_PLAN)


def _describe(price_list: PriceList, report: Report | None, aside: bool) -> None:
    """Print the interpretation of a list and its warnings, on standard error if `aside`."""
    parts = built_in_parts()
    use = use_of(price_list.source.data["prices"], report, parts) if report else None
    document, words = describe(price_list, parts, use), language(ENGLISH)
    if not is_set(QUIET) and not aside:
        give(document, words)
    elif not is_set(QUIET):
        for line in render_lines(document, words):
            complain(line.text)
    print_problems(price_list.warnings, lambda _: "")

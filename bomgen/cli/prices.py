"""`bomgen prices` and `bomgen margin`: price lists as understood, price books, unpriced parts, the seller's margin."""

from __future__ import annotations

import click

from bomgen.cli.ending import ends_on_errors
from bomgen.cli.messages import QUIET, complain, is_set, print_problems
from bomgen.cli.options import (
    asked_columns,
    choose_form,
    give,
    option,
    output_options,
    plan_argument,
    plan_options,
    proposed,
    read_given,
    refuse_overwriting,
    write_out,
)
from bomgen.cli.plans import open_one_plan, show, work_out_one, working_on
from bomgen.core.language import language
from bomgen.core.messages import ENGLISH
from bomgen.core.yaml_source import Source
from bomgen.output.price_documents import describe, margin_document, to_csv, to_json, use_of
from bomgen.output.price_lists import PRICE_LISTS, written
from bomgen.output.terminal import render_lines
from bomgen.pricing.price_book import entries
from bomgen.reading.list_columns import NOTHING, RequestedColumns
from bomgen.reading.part_numbers import built_in_parts
from bomgen.reading.price_lists import PriceList, own_book, read_list, text_of
from bomgen.results.result import Report
from bomgen.workflow.pipeline import compute_margin, list_unpriced_parts

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
@output_options(PRICE_LISTS.names)
@plan_options
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
    for path in filter(None, (list_, plan)):
        refuse_overwriting(output, path)
    report = None
    if plan:
        _, report = work_out_one(plan, root, settings)
        if list_ is None:
            write_out(written(list_unpriced_parts(report), wanted), output)
    if list_ is not None:
        asked = asked_columns(columns)
        source, price_list = _read(list_, asked)
        if price_list:
            # What a list was taken for is not mixed with the book that a program reads from standard output.
            _describe(price_list, report, aside=bool(form and output is None))
        if report and not price_list:
            raise click.UsageError(f"{list_} is a price book; name it at quote.price_book, and leave it out here")
        if output or form or not price_list:
            write_out(written(entries(source), wanted, source.data.get("name")), output)


def _read(name: str, asked: RequestedColumns) -> tuple[Source, PriceList | None]:
    """Return the prices of a file, and how a vendor's list was interpreted; an invalid file ends the command."""
    content = read_given(name, "price list")
    with ends_on_errors(lambda _: text_of(content, name)):
        if asked == NOTHING and (source := own_book(content, name)):
            return source, None
        price_list = read_list(content, name, asked)
    return price_list.source, price_list


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
    print_problems(price_list.warnings)


# margin -------------------------------------------------------------------------------------------------------------


@click.command()
@plan_argument
@output_options(MARGIN_FORMS)
@plan_options
def margin(plan: str, form: str | None, output: str | None, settings: tuple[str, ...], root: str | None) -> None:
    """Show the cost and margin of every line, based on the plan's quote.cost_book.

    Amounts are after discount and before tax. No file of `bomgen build` has any of it.
    """
    form = choose_form(form, output, MARGIN_FORMS)
    file = open_one_plan(plan, root)
    refuse_overwriting(output, plan)
    with working_on(file):
        report, margins = compute_margin(file, settings)
    show(tuple(dict.fromkeys((*report.problems, *report.stale, *margins.problems))), file)
    if form == "text":
        words = language(report.plan.quote.language)
        give(margin_document(margins, words), words, form, output)
    else:
        write_out((to_csv if form == "csv" else to_json)(margins).encode(), output)

"""`bomgen prices`: price books in other forms, and what has no price yet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from bomgen.cli.exit_codes import WRONG_PLAN
from bomgen.cli.messages import print_problems
from bomgen.cli.options import files, output_option, proposed, root_option, set_option, talk_options
from bomgen.cli.plans import build_report, open_one_plan
from bomgen.cli.writing import refuse_overwriting, write_out
from bomgen.core.readable_files import refuse_git_files
from bomgen.output.registry import PRICE_LISTS


@click.command()
@click.argument("book", required=False, shell_complete=files)
@click.option(
    "--for",
    "plan",
    metavar="PLAN",
    shell_complete=proposed("plans"),
    help="List the parts of a plan that have no price yet, to be filled in.",
)
@click.option(
    "-f", "--format", "form", type=click.Choice(PRICE_LISTS.names), help="[default: by the suffix of FILE, else csv]"
)
@output_option
@set_option
@root_option
@talk_options
def prices(
    book: str | None,
    plan: str | None,
    form: str | None,
    output: str | None,
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """Turn a price BOOK (YAML, CSV or a sheet) into another form, or list what a plan has no prices for.

    What comes out is a price book again: send the list to a vendor, and name what comes back at quote.price_book.
    """
    from bomgen.output.price_lists.forms import form_of, written

    if (book is None) == (plan is None):
        raise click.UsageError("name a price book, or a plan with --for PLAN")
    by_suffix = form_of(output) if output else None
    if output and form is None and by_suffix is None and Path(output).suffix:
        raise click.UsageError(f"no form of price books has the suffix {Path(output).suffix}; name one with -f")
    wanted = form or by_suffix or PRICE_LISTS.names[0]
    if output is None and PRICE_LISTS.constant(wanted, "BINARY"):
        raise click.UsageError(f"{wanted} goes to a file; name it with -o")
    refuse_overwriting(output, book or plan or "")
    if plan:
        from bomgen.workflow.pipeline import list_unpriced_parts

        report = build_report(open_one_plan(plan, root), settings)
        if report is None:
            sys.exit(WRONG_PLAN)
        write_out(written(list_unpriced_parts(report), wanted), output)
    elif book:
        name, entries = _prices_of(book)
        write_out(written(entries, wanted, name), output)


def _prices_of(book: str) -> tuple[str | None, list[dict[str, Any]]]:
    """The name of a price book and its prices; one that is wrong ends the command."""
    from bomgen.core.diagnostics import PlanErrors
    from bomgen.pricing.books.book import check, entries
    from bomgen.reading.price_lists import is_text, open_book

    try:
        refuse_git_files(Path(book))
        content = Path(book).read_bytes()
    except OSError as error:
        raise click.UsageError(f"cannot read the price book '{book}': {error.strerror}") from None
    try:
        source = open_book(content, book)
        check(source)
    except PlanErrors as errors:
        text = content.decode("utf-8", "replace") if is_text(book) else ""
        print_problems(errors.problems, lambda _: text)
        sys.exit(WRONG_PLAN)
    return source.data.get("name"), entries(source)

"""`bomgen build`: the documents of plans."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bomgen.cli.common import (
    NOT_WRITTEN,
    WRONG_PLAN,
    check_names,
    locked_option,
    opened,
    plans_argument,
    progress,
    root_option,
    set_option,
    show,
    worked_out,
)
from bomgen.cli.summary import summary

DEFAULT_FORMATS = "md,html,xlsx,json,csv"
ALL_FORMATS = f"{DEFAULT_FORMATS},pdf,svg,dot"


@click.command()
@plans_argument
@click.option("-o", "--output", default="dist", show_default=True, metavar="DIR", help="Folder of the results.")
@click.option(
    "-f",
    "--formats",
    default=DEFAULT_FORMATS,
    show_default=True,
    metavar="LIST",
    help="What to write; pdf takes Chromium, svg and dot draw every fabric.",
)
@click.option(
    "--template",
    "templates",
    multiple=True,
    metavar="FILE",
    help="Fill in a template of your own, NAME.j2, and write NAME; can be given again.",
)
@locked_option
@set_option
@root_option
def build(
    plans: tuple[str, ...],
    output: str,
    formats: str,
    templates: tuple[str, ...],
    locked: bool,
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """Write quote.md, quote.html, quote.xlsx, bom.json and bom.csv into DIR/NAME/ for each plan (- is standard input).

    The format pdf writes quote.pdf, which Chromium prints: the one in PATH, or the one that BOMGEN_CHROMIUM names. The
    formats svg and dot (Graphviz) write a drawing of each fabric, fabric-NAME.svg and fabric-NAME.dot.
    Templates of your own, by --template or `templates:` of a plan, are filled in beside them.

    Several plans are built each by itself; the worst exit code is returned.
    """
    from bomgen.outputs import DRAWINGS, FORMATS, PRINTED, OutputError, render, write
    from bomgen.problems import PlanErrors

    wanted = list(dict.fromkeys(part.strip() for part in formats.split(",") if part.strip()))
    unknown = [form for form in wanted if form not in (*FORMATS, *PRINTED, *DRAWINGS)]
    if unknown or not wanted:
        raise click.UsageError(f"no format '{', '.join(unknown)}'; there are {ALL_FORMATS}")
    files, code = opened(plans, root)
    check_names(files, settings)
    for number, file in enumerate(files, start=1):
        progress(number, len(files), file.name)
        report = worked_out(file, settings, templates=templates, locked=locked)
        if report is None:
            code = max(code, WRONG_PLAN)
            continue
        try:
            written = write(render(report, wanted), Path(output) / report.plan.name)
        except PlanErrors as errors:
            show(errors.problems, file)
            code = max(code, WRONG_PLAN)
            continue
        except OutputError as error:
            click.echo(f"bomgen: not written: {error}", err=True)
            code = max(code, NOT_WRITTEN)
            continue
        for line in summary(report):
            click.echo(line)
        for path in written:
            click.echo(f"  {path}")
    sys.exit(code)

"""`bomgen build`: the documents of plans, and their result on a few lines."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bomgen.cli.exit_codes import NOT_WRITTEN, WRONG_PLAN
from bomgen.cli.messages import QUIET, VERBOSE, complain, is_set, say, show
from bomgen.cli.options import (
    STANDARD_OUTPUT,
    FormatsCommand,
    files,
    locked_option,
    named_path,
    plans_argument,
    proposed,
    root_option,
    set_option,
    talk_options,
)
from bomgen.cli.plans import build_report, check_names, open_plans
from bomgen.cli.summary import summary
from bomgen.cli.writing import to_standard_output
from bomgen.output.registry import DEFAULT_DOCUMENTS, DOCUMENTS, choose_documents

DEFAULT_FOLDER = "dist"


def _order_templates() -> list[tuple[str, str]]:
    """The templates that come with bomgen, each with what it writes; read when the help is asked for."""
    from bomgen.output.user_templates.templates import described

    return described()


@click.command(cls=FormatsCommand, formats=DOCUMENTS, templates=_order_templates)
@plans_argument
@click.option(
    "-o",
    "--output",
    default=DEFAULT_FOLDER,
    show_default=True,
    metavar="DIR",
    callback=named_path,
    shell_complete=files,
    help="Folder of the results; - writes one format of one plan to standard output.",
)
@click.option(
    "-f",
    "--formats",
    default=",".join(DEFAULT_DOCUMENTS),
    show_default=True,
    metavar="LIST",
    shell_complete=proposed("documents"),
    help="What to write; see below.",
)
@click.option(
    "--template",
    "templates",
    multiple=True,
    metavar="FILE",
    shell_complete=files,
    help="Render a template of your own, NAME.j2, to NAME, or one that comes with bomgen, by its name; repeatable.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Plans to build at a time, each in a process of its own.",
)
@click.option("--watch", is_flag=True, help="Build again whenever a plan or a file that plans name has changed.")
@locked_option
@set_option
@root_option
@talk_options
def build(
    plans: tuple[str, ...],
    output: str,
    formats: str,
    templates: tuple[str, ...],
    jobs: int,
    watch: bool,
    locked: bool,
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """Write quotes, reports and bills of materials into DIR/NAME/ for each plan (- is standard input).

    A quote is what the customer signs, a report what an engineer checks. -f md writes both, -f quote.md one of them;
    -o - prints the quote.

    Templates of your own, by --template or `templates:` of a plan, are filled in beside them; so are templates for
    order forms that come with bomgen, by their names.

    Several plans are built each by itself; the worst exit code is returned.
    """
    from bomgen.cli.watch import watched
    from bomgen.core.diagnostics import PlanErrors
    from bomgen.output.writer import OutputError, render, write

    wanted = list(dict.fromkeys(part.strip() for part in formats.split(",") if part.strip()))
    try:
        chosen = choose_documents(wanted or [""])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    for form in dict.fromkeys(choice.form for choice in chosen):
        if instead := DOCUMENTS.constant(form, "DEPRECATED"):
            complain(f"bomgen: warning: -f {form} is deprecated; {instead}")
    piped = output == STANDARD_OUTPUT
    if piped and (len(plans) > 1 or len(wanted) > 1 or templates):
        raise click.UsageError("-o - takes one plan and one format, such as -f json")
    if piped:
        wanted = [DOCUMENTS.files(form)[0] if kind and len(chosen) > 1 else wanted[0] for form, kind in chosen[:1]]
    if watch and STANDARD_OUTPUT in (output, *plans):
        raise click.UsageError("--watch takes plans that are files, and writes into a folder")
    found, code = open_plans(plans, root)
    check_names(found, settings)
    if watch or (jobs > 1 and len(found) > 1 and STANDARD_OUTPUT not in plans):
        from bomgen.cli.jobs import run_jobs

        options = [f"--output={output}", f"--formats={formats}", *(["--locked"] if locked else [])]
        options += [f"--template={name}" for name in templates] + [f"--set={setting}" for setting in settings]
        options += [f"--root={root}"] if root else []
        options += [f"--{name}" for name in (QUIET, VERBOSE) if is_set(name)]
        commands = [["build", *options, "--", file.name] for file in found]
        if watch and found:
            from bomgen.cli.rebuild import rebuild

            rebuild(lambda: run_jobs(commands, jobs), [file.root for file in found], Path(output))
        sys.exit(max(code, run_jobs(commands, jobs)))
    for number, file in enumerate(found, start=1):
        place = (number, len(found))
        report = build_report(file, settings, templates=templates, locked=locked, place=place)
        if report is None:
            code = max(code, WRONG_PLAN)
            continue
        try:
            with watched(file.name, *place):
                made = render(report, wanted)
            if piped:
                _to_standard_output(made, chosen[0].form)
                continue
            written = write(made, Path(output) / report.plan.name, Path() if output == DEFAULT_FOLDER else Path(output))
        except PlanErrors as errors:
            show(errors.problems, file)
            code = max(code, WRONG_PLAN)
            continue
        except OutputError as error:
            complain(f"bomgen: not written: {error}")
            code = max(code, NOT_WRITTEN)
            continue
        say(f"{report.plan.name}  {report.plan.title}", bold=True)
        for line in summary(report):
            say(line)
        for path in written:
            say(f"  {path}")
    sys.exit(code)


def _to_standard_output(made: dict[str, bytes], form: str) -> None:
    if len(made) != 1:
        raise click.UsageError(f"{len(made)} files, and -o - takes one; name a folder with -o")
    (content,) = made.values()
    binary = DOCUMENTS.constant(form, "BINARY")
    if binary and sys.stdout.isatty():
        raise click.UsageError(f"{form} goes to a file or a pipe; name a folder with -o")
    to_standard_output(content, binary)

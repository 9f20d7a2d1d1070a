"""What commands share: their options, opening plans, showing problems, writing one file."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from bomgen.core.diagnostics import Problem
    from bomgen.core.provenance import Figure
    from bomgen.output.registry import Formats
    from bomgen.report.result import Report
    from bomgen.workflow.inputs import PlanFile


WRONG_PLAN, WRONG_USAGE, NOT_WRITTEN, INTERRUPTED = 1, 2, 3, 130
QUIET, VERBOSE = "quiet", "verbose"
STANDARD_OUTPUT = "-"
NO_TERMINAL = "dumb"
"""What TERM says of a terminal that knows no control codes."""
CONTROLS = ("Cc", "Cs", "Zl", "Zp")
"""Kinds of sign that a terminal obeys or cannot show: control codes, lone surrogates, ends of lines."""
UNSHOWN = "\N{REPLACEMENT CHARACTER}"

Command = TypeVar("Command", bound=Callable[..., Any])


class FormatsCommand(click.Command):
    """A command that writes the formats of a folder, which its help describes at the end."""

    def __init__(self, *arguments: Any, formats: Formats, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.formats = formats

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Add what every format is."""
        with formatter.section("Formats"):
            formatter.write_dl(self.formats.described())
        super().format_epilog(ctx, formatter)


def proposed(name: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]:
    """What a shell proposes for a parameter: a function of `cli.proposals`, loaded when a shell asks."""

    def propose(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem[str]]:
        from bomgen.cli import proposals

        found: list[CompletionItem[str]] = getattr(proposals, name)(ctx, typed)
        return found

    return propose


def files(_ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem[str]]:
    """What a shell proposes for a file or a folder of any name: its own files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(typed, "file")]


def plain(text: str, instead: str | None = None, kept: str = "") -> str:
    r"""A text of the user's as a terminal may have it: what would control it is written out, as \x1b, or as `instead`.

    `kept` are control characters that stay.
    """
    if text.isprintable():
        return text
    from bomgen.core.unicode_safety import TURNING

    return "".join(
        (instead or ascii(sign)[1:-1])
        if sign not in kept and (sign in TURNING or unicodedata.category(sign) in CONTROLS)
        else sign
        for sign in text
    )


def complain(line: str) -> None:
    """Print a line on standard error."""
    click.echo(plain(line), err=True)


def _note(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Note for the whole command that an option is given."""
    if value:
        ctx.meta[f"bomgen.{parameter.name}"] = True
        if is_set(QUIET) and is_set(VERBOSE):
            raise click.UsageError("--quiet and --verbose contradict each other; leave one out")


def is_set(option: str) -> bool:
    """Whether QUIET or VERBOSE was asked for."""
    ctx = click.get_current_context(silent=True)
    return bool(ctx and ctx.meta.get(f"bomgen.{option}"))


def talk_options(command: Command) -> Command:
    """Give a command --quiet and --verbose, which `show`, `say` and `watching` keep to."""
    flag: dict[str, Any] = {"is_flag": True, "expose_value": False, "callback": _note}
    verbose = click.option("-v", "--verbose", help="Say what is read and how long each stage takes.", **flag)
    quiet = click.option("-q", "--quiet", help="Say only errors: no warnings, summaries or names of files.", **flag)
    return quiet(verbose(command))


def _to_standard_output(_ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    return None if value == STANDARD_OUTPUT else value


set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=proposed("settings"),
    help="Override a value of the plan; dots between keys.",
)
output_option = click.option(
    "-o",
    "--output",
    metavar="FILE",
    callback=_to_standard_output,
    shell_complete=files,
    help="Where to write; - is standard output. [default: standard output]",
)
root_option = click.option(
    "--root",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="Folder that the plan's paths must stay below. [default: its checkout]",
)
locked_option = click.option(
    "--locked", is_flag=True, help="Take it for an error when a plan has no lock, or when its lock is stale."
)
plans_argument = click.argument("plans", nargs=-1, required=True, metavar="PLAN...", shell_complete=proposed("plans"))
plan_argument = click.argument("plan", shell_complete=proposed("plans"))


def opened(plans: Sequence[str], root: str | None) -> tuple[list[PlanFile], int]:
    """The plan files that can be read, and the exit code so far: a plan that cannot be read is wrong usage."""
    from bomgen.cli.watching import watched
    from bomgen.workflow.inputs import open_plan

    files, code = list["PlanFile"](), 0
    for plan in plans:
        try:
            with watched(plan):
                files.append(open_plan(plan, root))
        except OSError as error:
            of_plan = error.filename in (None, str(Path(plan)))
            what = f"plan '{plan}'" if of_plan else f"lock '{error.filename}'"
            complain(f"Error: cannot read the {what}: {error.strerror}")
            code = WRONG_USAGE
    return files, code


def one_opened(plan: str, root: str | None) -> PlanFile:
    """The file of a plan; one that cannot be read ends the command."""
    files, code = opened((plan,), root)
    if code:
        sys.exit(code)
    return files[0]


def check_names(files: Sequence[PlanFile], settings: Sequence[str]) -> None:
    """Two plans of one name would write over each other: wrong usage, before anything is written."""
    from bomgen.workflow.inputs import name_of

    names = dict[str, str]()
    for file in files if len(files) > 1 else ():
        name = name_of(file, settings)
        if name in names:
            raise click.UsageError(f"{names[name]} and {file.name} are both named {name}; give one another name")
        if name is not None:
            names[name] = file.name


def worked_out(
    file: PlanFile,
    settings: Sequence[str],
    quiet: bool = False,
    templates: Sequence[str] = (),
    locked: bool = False,
    place: tuple[int, int] = (1, 1),
) -> Report | None:
    """The report of a plan; its problems are shown, and None is returned when there is an error among them.

    `locked` makes errors of what keeps the result from resting on a lock. `place` is its number among several plans,
    and how many there are.
    """
    from bomgen.cli.watching import watched
    from bomgen.core.diagnostics import PlanErrors
    from bomgen.workflow.pipeline import as_locked, work_out

    try:
        with watched(file.name, *place):
            report = work_out(file, settings, templates)
        if locked:
            as_locked(file, report)
    except PlanErrors as errors:
        show(errors.problems, file)
        return None
    if not quiet:
        show((*report.problems, *report.stale), file)
    return report


def show(problems: Sequence[Problem], file: PlanFile) -> None:
    """Print problems, each error with the line of the plan, or of the file beside it, that it stands in."""
    from bomgen.workflow.inputs import text_of

    print_problems(problems, lambda name: text_of(file, name))


def print_problems(problems: Sequence[Problem], text_of: Callable[[str], str]) -> None:
    """Print problems, each error with its line of the text of its file; of very many the first of each severity."""
    from bomgen.core.diagnostics import MAX_PROBLEMS, excerpt

    told, texts = {"error": 0, "warning": 0}, dict[str, str]()
    for problem in problems:
        if problem.severity != "error" and is_set(QUIET):
            continue
        told[problem.severity] += 1
        if told[problem.severity] > MAX_PROBLEMS:
            continue
        colour = "red" if problem.severity == "error" else "yellow"
        severity, rule = click.style(f"{problem.severity}:", fg=colour, bold=True), click.style(problem.rule, dim=True)
        mark, message = click.style(plain(str(problem.mark)), bold=True), plain(problem.message)
        click.echo(f"{mark}: {severity} {message} [{rule}]", err=True)
        if problem.severity == "error":
            file = problem.mark.file
            texts[file] = texts[file] if file in texts else text_of(file)
            for line in excerpt(problem, texts[file]):
                line = plain(line, UNSHOWN)  # a sign for a sign: the caret stands below its column
                before, caret, _ = line.rpartition("^")
                pointed = caret and not before.partition("|")[2].strip()
                click.echo(before + click.style(caret, fg=colour, bold=True) if pointed else line, err=True)
    for severity, count in told.items():
        if count > MAX_PROBLEMS:
            complain(f"... and {count - MAX_PROBLEMS} more {severity}s")


def say(line: str, bold: bool | None = None) -> None:
    """Print a line that people read and no program needs: not with --quiet."""
    if not is_set(QUIET):
        click.echo(click.style(plain(line), bold=bold) if bold else plain(line))


def on_terminal() -> bool:
    """Whether a bar or a line that is written over can stand on standard error: a terminal, and nobody wants quiet."""
    return sys.stderr.isatty() and os.environ.get("TERM") != NO_TERMINAL and not is_set(QUIET)


def colour() -> bool | None:
    """Whether to write colours wherever that goes, by what the environment says; None: on a terminal alone."""
    wanted = os.environ.get
    if wanted("NO_COLOR"):
        return False
    if any(wanted(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return False if wanted("CLICOLOR") == "0" or wanted("TERM") == NO_TERMINAL else None


def not_itself(output: str | None, given: str, what: str = "what is read") -> None:
    """What is read is not written over: wrong usage."""
    if output is not None and os.path.realpath(output) == os.path.realpath(given):
        raise click.UsageError(f"{output} is {what}; name another file with -o")


def write_out(content: bytes, output: str | None) -> None:
    """Write to a file and say so, or to standard output."""
    from bomgen.output.writer import OutputError, write_one

    if output is None:
        to_standard_output(content)
        return
    try:
        write_one(content, Path(output))
    except OutputError as error:
        complain(f"bomgen: not written: {error}")
        sys.exit(NOT_WRITTEN)
    say(output)


def to_standard_output(content: bytes) -> None:
    """Write a result: to a program as it is, to a terminal without what would control that."""
    if sys.stdout.isatty():
        click.echo(plain(content.decode("utf-8", "replace"), UNSHOWN, "\n\t"), nl=False)
    else:
        click.echo(content, nl=False)


def value_text(figure: Figure) -> str:
    """A figure's value with its unit, as a person writes it."""
    from bomgen.core.language import language

    return language("en").shown(figure)

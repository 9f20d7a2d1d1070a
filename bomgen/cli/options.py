"""Options and arguments shared by several commands, and their shell completion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from bomgen.cli.messages import FORCE, QUIET, VERBOSE, is_set
from bomgen.output.registry import Formats
from bomgen.workflow.inputs import known_as

if TYPE_CHECKING:
    from bomgen.reading.list_columns import RequestedColumns

Command = TypeVar("Command", bound=Callable[..., Any])
STANDARD_OUTPUT = "-"


class FormatsCommand(click.Command):
    """A command that writes the formats of a folder, which its help lists at the end."""

    def __init__(
        self,
        *arguments: Any,
        formats: Formats,
        templates: Callable[[], Sequence[tuple[str, str]]] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self.formats, self.templates = formats, templates

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Add the description of each format."""
        with formatter.section("Formats"):
            formatter.write_dl(self.formats.described())
        if self.templates:
            with formatter.section("Templates that come with bomgen"):
                formatter.write_dl(self.templates())
        super().format_epilog(ctx, formatter)


def proposed(name: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]:
    """Return a completion callback that calls a function of `cli.proposals`, imported on demand."""

    def propose(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem[str]]:
        from bomgen.cli import proposals

        found: list[CompletionItem[str]] = getattr(proposals, name)(ctx, typed)
        return found

    return propose


def files(_ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem[str]]:
    """Return a proposal by which the shell completes file and folder names."""
    return [CompletionItem(typed, "file")]


def asked_columns(columns: Sequence[str], roles: Sequence[str] = ()) -> RequestedColumns:
    """Return the columns requested by `--columns`; `roles` are the permitted ones. Ends the command if invalid."""
    from bomgen.reading.list_columns import read_asked

    try:
        return read_asked(",".join(columns), roles)
    except ValueError as error:
        raise click.UsageError(f"--columns: {error}") from None


def _note(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Record for the whole command that an option is set."""
    if value:
        ctx.meta[f"bomgen.{parameter.name}"] = True
        if is_set(QUIET) and is_set(VERBOSE):
            raise click.UsageError("--quiet and --verbose cannot be combined; remove one")


def talk_options(command: Command) -> Command:
    """Add --quiet and --verbose to a command, which `show`, `say` and `watched` obey."""
    flag: dict[str, Any] = {"is_flag": True, "expose_value": False, "callback": _note}
    verbose = click.option("-v", "--verbose", help="Show the files read and the time of each stage.", **flag)
    quiet = click.option("-q", "--quiet", help="Show only errors; no warnings, summaries or file names.", **flag)
    return quiet(verbose(command))


def named_path(_ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Return the path of an option. Raises BadParameter for an empty one, which would be the current folder."""
    if value == "":
        raise click.BadParameter("the name is empty; name a file or folder")
    return value


def refuse_known_file(output: str) -> None:
    """Raise UsageError for a plan, a lock or a price list, which only --force overwrites."""
    if what := known_as(Path(output)):
        raise click.UsageError(f"{output} is {what}; specify another file with -o, or overwrite it with --force")


def _named_output(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return the output file; None for standard output. Raises UsageError as `refuse_known_file`."""
    if named_path(ctx, parameter, value) in (None, STANDARD_OUTPUT):
        return None
    if value and not is_set(FORCE):
        refuse_known_file(value)
    return value


set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=proposed("settings"),
    help="Override a value of the plan; KEY is dotted.",
)


def format_option(forms: Sequence[str], about: str = "Output format.", **options: Any) -> Callable[[Command], Command]:
    """Return -f; without it `choose_form` follows the suffix of the file."""
    described = f"{about} [default: by the suffix of FILE, else {forms[0]}]"
    return click.option("-f", "--format", "form", help=described, **{"type": click.Choice(forms)} | options)


def output_options(forms: Sequence[str], about: str = "Output format.", **options: Any) -> Callable[[Command], Command]:
    """Return -f, -o and --force."""
    return lambda command: format_option(forms, about, **options)(output_option(command))


def output_option(command: Command) -> Command:
    """Add -o to a command, which refuses to overwrite files that bomgen reads, and --force, which allows it."""
    output = click.option(
        "-o",
        "--output",
        metavar="FILE",
        callback=_named_output,
        shell_complete=files,
        help="Output file; - is standard output. [default: standard output]",
    )
    force = click.option(
        "--force",
        is_flag=True,
        expose_value=False,
        is_eager=True,  # -o asks for it
        callback=_note,
        help="Let -o overwrite a plan, a lock or a price list.",
    )
    return output(force(command))


root_option = click.option(
    "--root",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="Folder that all paths in the plan must stay inside. [default: its checkout]",
)
locked_option = click.option("--locked", is_flag=True, help="Fail if a plan has no lock, or if its lock is stale.")
plans_argument = click.argument("plans", nargs=-1, required=True, metavar="PLAN...", shell_complete=proposed("plans"))
plan_argument = click.argument("plan", shell_complete=proposed("plans"))

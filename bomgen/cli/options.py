"""Options and arguments that several commands have, and what a shell completes for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bomgen.cli.messages import FORCE, QUIET, VERBOSE, is_set

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from bomgen.output.registry import Formats
    from bomgen.reading.list_columns import RequestedColumns

Command = TypeVar("Command", bound=Callable[..., Any])
STANDARD_OUTPUT = "-"


class FormatsCommand(click.Command):
    """A command that writes the formats of a folder, which its help describes at the end."""

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
        """Add what every format is."""
        with formatter.section("Formats"):
            formatter.write_dl(self.formats.described())
        if self.templates:
            with formatter.section("Templates that come with bomgen"):
                formatter.write_dl(self.templates())
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


def asked_columns(columns: Sequence[str], roles: Sequence[str] = ()) -> RequestedColumns:
    """What `--columns` asks for; `roles` are what a column may be. Ends the command where it is wrong."""
    from bomgen.reading.list_columns import read_asked

    try:
        return read_asked(",".join(columns), roles)
    except ValueError as error:
        raise click.UsageError(f"--columns: {error}") from None


def _note(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Note for the whole command that an option is given."""
    if value:
        ctx.meta[f"bomgen.{parameter.name}"] = True
        if is_set(QUIET) and is_set(VERBOSE):
            raise click.UsageError("--quiet and --verbose cannot be combined; remove one")


def talk_options(command: Command) -> Command:
    """Give a command --quiet and --verbose, which `show`, `say` and `watching` keep to."""
    flag: dict[str, Any] = {"is_flag": True, "expose_value": False, "callback": _note}
    verbose = click.option("-v", "--verbose", help="Show what is read and how long each stage takes.", **flag)
    quiet = click.option("-q", "--quiet", help="Show only errors; no warnings, summaries or file names.", **flag)
    return quiet(verbose(command))


def named_path(_ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Return the path that an option names. Raises BadParameter for an empty one, which would be the current folder."""
    if value == "":
        raise click.BadParameter("the name is empty; name a file or folder")
    return value


def _named_output(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return the file to write; None for standard output. Raises UsageError as `refuse_known_file` does."""
    if named_path(ctx, parameter, value) in (None, STANDARD_OUTPUT):
        return None
    if value and not is_set(FORCE):
        from bomgen.cli.messages import refuse_known_file

        refuse_known_file(value)
    return value


set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=proposed("settings"),
    help="Override a value of the plan; dots between keys.",
)


def output_option(command: Command) -> Command:
    """Give a command -o, which refuses to overwrite files that bomgen reads, and --force, which allows it."""
    output = click.option(
        "-o",
        "--output",
        metavar="FILE",
        callback=_named_output,
        shell_complete=files,
        help="Where to write; - is standard output. [default: standard output]",
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
    help="Folder that the plan's paths must stay below. [default: its checkout]",
)
locked_option = click.option("--locked", is_flag=True, help="Fail if a plan has no lock, or if its lock is stale.")
plans_argument = click.argument("plans", nargs=-1, required=True, metavar="PLAN...", shell_complete=proposed("plans"))
plan_argument = click.argument("plan", shell_complete=proposed("plans"))

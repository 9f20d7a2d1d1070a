"""Options and arguments of commands, their shell completion, and the files that commands read and write."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from bomgen.cli.command import FORCE, QUIET, VERBOSE, Unreadable, colour, is_set, print_text, say
from bomgen.core.diagnostics import unknown
from bomgen.core.document import Document
from bomgen.core.language import Language
from bomgen.core.resources import languages
from bomgen.core.safety import read_sent
from bomgen.output.registry import Formats
from bomgen.output.terminal import render_lines
from bomgen.output.writer import render_page, write_new, write_one
from bomgen.workflow.inputs import known_as

if TYPE_CHECKING:
    from bomgen.reading.list_columns import RequestedColumns

Command = TypeVar("Command", bound=Callable[..., Any])
STANDARD_OUTPUT = "-"
FOLDER = click.Path(exists=True, file_okay=False)


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

        items: list[CompletionItem[str]] = getattr(proposals, name)(ctx, typed)
        return items

    return propose


def option(declared: str, help: str, propose: str = "", **settings: Any) -> Callable[[Command], Command]:
    """Declare an option: its names, that of its parameter if it has another, and in capitals what its value stands for.

    Without a value or a type it is a flag. A default is shown unless the help says it, and `propose` is the function
    of `cli.proposals` that completes a value.
    """
    words = declared.split()
    names = [word for word in words if word.startswith("-") or (word.isidentifier() and word.islower())]
    values = [word for word in words if word not in names]
    settings |= {"metavar": values[0]} if values else {} if "type" in settings else {"is_flag": True}
    settings |= {"shell_complete": proposed(propose)} if propose else {}
    return click.option(*names, help=help, show_default="default" in settings and "[default: " not in help, **settings)


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
    flag: dict[str, Any] = {"expose_value": False, "callback": _note}
    verbose = option("-v --verbose", "Show the files read and the time of each stage.", **flag)
    quiet = option("-q --quiet", "Show only errors; no warnings, summaries or file names.", **flag)
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


set_option = option(
    "--set settings KEY=VALUE", "Override a value of the plan; KEY is dotted.", "settings", multiple=True
)


def format_option(forms: Sequence[str], about: str = "Output format.", **settings: Any) -> Callable[[Command], Command]:
    """Return -f; without it `choose_form` follows the suffix of the file."""
    described = f"{about} [default: by the suffix of FILE, else {forms[0]}]"
    return option("-f --format form", described, **{"type": click.Choice(forms)} | settings)


def output_options(
    forms: Sequence[str], about: str = "Output format.", **settings: Any
) -> Callable[[Command], Command]:
    """Return -f, -o and --force."""
    return lambda command: format_option(forms, about, **settings)(output_option(command))


def output_option(command: Command) -> Command:
    """Add -o to a command, which refuses to overwrite files that bomgen reads, and --force, which allows it."""
    output = option(
        "-o --output FILE",
        "Output file; - is standard output. [default: standard output]",
        "files",
        callback=_named_output,
    )
    # -o asks for --force, which therefore comes first.
    force = option(
        "--force", "Let -o overwrite a plan, a lock or a price list.", expose_value=False, is_eager=True, callback=_note
    )
    return output(force(command))


root_option = option(
    "--root DIR",
    "Folder that all paths in the plan must stay inside. [default: its checkout]",
    type=FOLDER,
)
locked_option = option("--locked", "Fail if a plan has no lock, or if its lock is stale.")


def plan_options(command: Command) -> Command:
    """Add --set and --root, and the options of `talk_options`, to a command that works plans out."""
    return set_option(root_option(talk_options(command)))


plans_argument = click.argument("plans", nargs=-1, required=True, metavar="PLAN...", shell_complete=proposed("plans"))
plan_argument = click.argument("plan", shell_complete=proposed("plans"))


def language_option(otherwise: str, **settings: Any) -> Callable[[Command], Command]:
    """Return --language, which `otherwise` takes the place of."""
    about = f"Language, such as en or zh. [default: {otherwise}]"
    return option("--language code CODE", about, "languages", callback=_known_language, **settings)


def _known_language(_ctx: click.Context, _: click.Parameter, code: str | None) -> str | None:
    """Return the language of an option. Raises UsageError for an unknown one."""
    if code is not None and code not in languages():
        raise click.UsageError(unknown("language", code, languages()))
    return code


# files --------------------------------------------------------------------------------------------------------------
# Files that commands read, and results that they write to a file or to standard output.


def read_given(name: str, what: str) -> bytes:
    """Return a file that somebody sent, of a limited size. Raises Unreadable."""
    try:
        return read_sent(Path(name))
    except OSError as error:
        raise Unreadable(f"the {what} '{name}'", error) from None


def refuse_overwriting(output: str | None, source: str, what: str = "what is read") -> None:
    """Raise UsageError for an output file that is also an input."""
    if output is not None and os.path.realpath(output) == os.path.realpath(source):
        raise click.UsageError(f"{output} is {what}; specify another file with -o")


TEXT, TEXT_SUFFIX = "text", ".txt"


def choose_form(
    form: str | None,
    output: str | None,
    forms: Sequence[str],
    binary: Collection[str] = (),
    suffixes: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """Return the requested format, else that of the suffix of the file, else the first one.

    A format has its name as a suffix, and its `suffixes`. Raises UsageError for an unknown suffix, for that of
    another format, and for a `binary` format on standard output.
    """
    of_each = {name: (TEXT_SUFFIX if name == TEXT else f".{name}", *suffixes.get(name, ())) for name in forms}
    suffix = Path(output).suffix.lower() if output else ""
    fits = [name for name, of_form in of_each.items() if suffix in of_form]
    if suffix and not (form or fits):
        allowed = ", ".join(dict.fromkeys(chain(*of_each.values(), suffixes.get("", ()))))
        raise click.UsageError(f"no format has the suffix {suffix}; use {allowed}")
    if form and fits and form not in fits:
        raise click.UsageError(f"the suffix {suffix} is for {fits[0]}, not {form}; omit -f, or specify another file")
    chosen = form or (*fits, *forms)[0]
    if chosen in binary and output is None:
        raise click.UsageError(f"{chosen} goes to a file; name it with -o")
    return chosen


LOOKS: dict[str, dict[str, Any]] = {
    "": {},
    "bold": {"bold": True},
    "+": {"fg": "green"},
    "-": {"fg": "red"},
    "~": {"fg": "yellow"},
}
"""Terminal styles of lines."""


def give(
    document: Document, language: Language, form: str = "text", output: str | None = None, every: bool = False
) -> None:
    """Print a document or write it to a file; text has `every` row or only important ones."""
    if form != "text" or output is not None or not (sys.stdout.isatty() or colour()):
        write_out(render_page(document, language, form, every), output)
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in render_lines(document, language, every, width):
        click.echo(click.style(line.text, **LOOKS[line.style]) if line.style else line.text)


def write_out(content: bytes, output: str | None = None) -> None:
    """Write to a file and report it, or to standard output."""
    if output is None:
        print_text(content.decode("utf-8", "replace"))
        return
    write_one(content, Path(output))
    say(output)


def write_new_file(content: bytes, output: str) -> None:
    """Write a new file and report it. Raises UsageError if it exists."""
    try:
        write_new(content, Path(output))
    except FileExistsError:
        raise click.UsageError(f"{output} already exists; choose another name") from None
    say(output)

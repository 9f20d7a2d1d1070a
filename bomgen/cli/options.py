"""What commands share: options and arguments with completion, plans by path or revision, files read and written."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from itertools import chain
from pathlib import Path, PurePosixPath
from posixpath import join, normpath
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from bomgen.cli.command import (
    FORCE,
    QUIET,
    VERBOSE,
    WRONG_PLAN,
    Outcome,
    Unreadable,
    colour,
    complain,
    ends_on_errors,
    escape_controls,
    is_set,
    on_terminal,
    print_problems,
    print_text,
    say,
)
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.document import Document
from bomgen.core.jobs import Listener, heard_by, renew_processor_time
from bomgen.core.language import Language
from bomgen.core.messages import unknown
from bomgen.core.resources import languages
from bomgen.core.safety import MAX_FILE, read_sent, refuse_git_files
from bomgen.output.registry import Formats, render_page
from bomgen.output.terminal import render_lines
from bomgen.output.writer import write_new, write_one
from bomgen.reading.tables import is_bill
from bomgen.results.result import Report
from bomgen.workflow import plan_files
from bomgen.workflow.inputs import known_as, name_of, read_all, text_of
from bomgen.workflow.plan_files import STANDARD_INPUT, PlanFile, open_plan

if TYPE_CHECKING:
    from bomgen.reading.columns import RequestedColumns

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

        if name in proposals.WORDS:
            return proposals.start_with(typed, proposals.WORDS[name]())
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
    from bomgen.reading.columns import read_asked

    try:
        return read_asked(",".join(columns), roles)
    except ValueError as error:
        raise click.UsageError(f"--columns: {error}") from None


def _note(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
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
    forms: Sequence[str],
    about: str = "Output format.",
    binary: Collection[str] = (),
    suffixes: Mapping[str, Sequence[str]] = MappingProxyType({}),
    **settings: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return -f, -o and --force, which a command takes as its `output`; the file is none that the command names."""

    def declare(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def run(form: str | None, output: str | None, **values: Any) -> Any:
            refuse_overwriting(output, *values.values())
            chosen = choose_form(form, output, forms, binary, suffixes)
            return command(output=Output(chosen, output, bool(form or output)), **values)

        return format_option(forms, about, **settings)(output_option(run))

    return declare


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


def plan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --set and --root, and the options of `talk_options`, to a command that works plans out.

    With a single plan, the command takes all of them as its `plan`.
    """

    @wraps(command)
    def run(settings: tuple[str, ...], root: str | None, **values: Any) -> Any:
        if "plan" not in values:
            return command(settings=settings, root=root, **values)
        return command(**values | {"plan": values["plan"] and NamedPlan(values["plan"], root, settings)})

    return set_option(root_option(talk_options(run)))


plans_argument = click.argument("plans", nargs=-1, required=True, metavar="PLAN...", shell_complete=proposed("plans"))
plan_argument = click.argument("plan", shell_complete=proposed("plans"))


def language_option(otherwise: str, **settings: Any) -> Callable[[Command], Command]:
    """Return --language, which `otherwise` takes the place of."""
    about = f"Language, such as en or zh. [default: {otherwise}]"
    return option("--language code CODE", about, "languages", callback=_known_language, **settings)


def _known_language(_ctx: click.Context, _: click.Parameter, code: str | None) -> str | None:
    if code is not None and code not in languages():
        raise click.UsageError(unknown("language", code, languages()))
    return code


# files --------------------------------------------------------------------------------------------------------------
# Files that commands read, and results that they write to a file or to standard output.


def read_given(name: str, what: str, most: int = MAX_FILE) -> bytes:
    """Return a file that somebody sent, of at most `most` bytes. Raises Unreadable."""
    try:
        return read_sent(Path(name), most)
    except OSError as error:
        raise Unreadable(f"the {what} '{name}'", error) from None


def refuse_overwriting(output: str | None, *named: Any) -> None:
    """Raise UsageError for an output file that is also named as an input; `named` are values of options."""
    for value in named if output is not None else ():
        for text in filter(None, value if isinstance(value, tuple) else (value,)):
            files = (str(text), str(text).rpartition("=")[2])  # HOST=FILE names the device whose output it is
            if os.path.realpath(str(output)) in map(os.path.realpath, files):
                raise click.UsageError(f"{output} is what is read; specify another file with -o")


TEXT, TEXT_SUFFIX = "text", ".txt"


def choose_form(
    form: str | None,
    output: str | None,
    forms: Sequence[str],
    binary: Collection[str] = (),
    suffixes: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """Return the requested format, else that of the suffix of the file, else the first one.

    A format has its name as a suffix, which goes first, and its `suffixes`. Raises UsageError for an unknown suffix,
    for that of another format, and for a `binary` format on standard output.
    """
    if form is not None and form not in forms:
        raise click.UsageError(unknown("format", form, forms))
    of_each = {name: (TEXT_SUFFIX if name == TEXT else f".{name}", *suffixes.get(name, ())) for name in forms}
    suffix = Path(output).suffix.lower() if output else ""
    fits = sorted(
        (name for name, of_form in of_each.items() if suffix in of_form), key=lambda name: suffix != f".{name}"
    )
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


class Output(NamedTuple):
    """The form and the file of what a command gives; without a file it goes to standard output."""

    form: str = TEXT
    file: str | None = None
    asked: bool = False
    """Whether the form or the file was named."""

    def give(self, document: Document, language: Language, every: bool = False) -> None:
        """Print a document or write it to the file; text has `every` row or only important ones."""
        if self.form != TEXT or self.file is not None or not (sys.stdout.isatty() or colour()):
            self.write(render_page(document, language, self.form, every))
            return
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        for line in render_lines(document, language, every, width):
            click.echo(click.style(line.text, **LOOKS[line.style]) if line.style else line.text)

    def write(self, content: bytes) -> None:
        """Write to the file and report it, or to standard output."""
        if self.file is None:
            print_text(content.decode("utf-8", "replace"))
            return
        write_one(content, Path(self.file))
        say(self.file)

    def write_data(self, data: Any) -> None:
        """Write data as JSON."""
        text = json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        self.write(text.encode("utf-8", "replace"))


def write_new_file(content: bytes, output: str) -> None:
    """Write a new file and report it. Raises UsageError if it exists."""
    try:
        write_new(content, Path(output))
    except FileExistsError:
        raise click.UsageError(f"{output} already exists; choose another name") from None
    say(output)


# given plans --------------------------------------------------------------------------------------------------------
# Plans and results that are named by a path, by `REV:PATH` as they were at a git revision, or come from a pipe.


class GivenPlan(NamedTuple):
    """A plan, or a result, by the name that the user gave."""

    name: str
    content: bytes
    file: Callable[[], PlanFile]
    """The plan file; results are read without its dependencies."""
    revision: tuple[str, str] | None
    """The git revision, and the folder of the plan from the root of the checkout; None without a revision."""


def open_given(name: str, settings: Sequence[str], root: str | None, folder: Path) -> GivenPlan:
    """Return the file at a path or REV:PATH. Raises Unreadable."""
    try:
        is_file = name == STANDARD_INPUT or Path(name).exists()
    except (OSError, ValueError):
        is_file = False
    try:
        if not is_file and (opened := _open_revision(name, settings, root, folder)):
            return opened
        if name == STANDARD_INPUT:
            file = open_plan(name, root)
            return GivenPlan(file.name, file.content, lambda: file, None)
        if not is_bill(name):
            refuse_git_files(Path(name))
        content = read_sent(Path(name)) if is_bill(name) else Path(name).read_bytes()
        return GivenPlan(name, content, lambda: open_plan(name, root), None)
    except (OSError, ValueError) as error:
        raise Unreadable(f"'{name}'", error) from None


def _open_revision(name: str, settings: Sequence[str], root: str | None, folder: Path) -> GivenPlan | None:
    """Return the file of `REV:PATH`; None for other names. Raises ValueError with the error."""
    if ":" not in name:
        return None
    split = plan_files.split_revision(name)
    if split is None:
        return None
    try:
        revision = plan_files.open_revision(split[0], Path.cwd())
        path = plan_files.path_in(revision, split[1])
        file = plan_files.plan_file(revision, path, name, folder, settings, root)
        return GivenPlan(name, file.content, lambda: file, (split[0], str(PurePosixPath(path).parent)))
    except plan_files.NoRevision as error:
        raise ValueError(str(error)) from None


def show_problems(problems: Sequence[Problem], plan: GivenPlan) -> None:
    """Print problems, those of a revision's files with their names in the revision."""
    names = dict[str, str]()
    moved = []
    for problem in problems:
        file = problem.mark.file
        if plan.revision and file != plan.name and not file.startswith(("<", "-", f"{plan.revision[0]}:")):
            shown = f"{plan.revision[0]}:{normpath(join(plan.revision[1], file))}"
            names[shown] = file
            problem = problem._replace(mark=problem.mark._replace(file=shown))
        moved.append(problem)

    def text(shown: str) -> str:
        name = names.get(shown, shown)
        return "" if name == plan.name and name.endswith(".json") else text_of(plan.file(), name)

    print_problems(moved, text)


# watch --------------------------------------------------------------------------------------------------------------
# What a run says of itself on standard error: with --verbose each file and stage, on a terminal where it is.

ERASE = "\r\x1b[K"
"""Control sequence that moves to the start of the line and clears it."""


class _Watch(Listener):
    """Listener of `bomgen.core.jobs` that shows stages with durations, and files with sizes."""

    def __init__(self, label: str) -> None:
        self._label = escape_controls(label)
        self._verbose = is_set(VERBOSE)
        self._drawn = on_terminal() and not self._verbose
        self._stage, self._since = "", time.perf_counter()
        self._begun = self._since

    def stage(self, name: str) -> None:
        """Show the duration of the previous stage, or the name of the new one."""
        now = time.perf_counter()
        if self._verbose and self._stage:
            complain(f"bomgen: {self._stage} {now - self._since:.3f} s")
        self._stage, self._since = name, now
        if self._drawn and name:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns
            click.echo(f"{ERASE}{f'{self._label}: {name}'[: max(columns - 1, 0)]}", err=True, nl=False, color=True)

    def read(self, name: str, size: int) -> None:
        if self._verbose:
            complain(f"bomgen: read {name}, {size} bytes")

    def over(self) -> None:
        """Show the total duration, or clear the line."""
        staged = bool(self._stage)
        self.stage("")
        if self._drawn and staged:
            click.echo(ERASE, err=True, nl=False, color=True)
        elif self._verbose and staged:
            complain(f"bomgen: {self._label} {time.perf_counter() - self._begun:.3f} s in all")


@contextmanager
def watched(name: str, number: int = 1, of: int = 1) -> Iterator[None]:
    """Show the progress of a plan, one of several; other output waits until the end."""
    watch = _Watch(f"[{number}/{of}] {name}" if of > 1 else name)
    if number > 1:
        renew_processor_time()
    with heard_by(watch):
        try:
            yield
        finally:
            watch.over()


# plans --------------------------------------------------------------------------------------------------------------


def show(problems: Sequence[Problem], file: PlanFile) -> None:
    """Print problems, each error with its line of the plan or of a related file."""
    print_problems(problems, partial(text_of, file))


@contextmanager
def working_on(file: PlanFile) -> Iterator[None]:
    """Show the progress of a plan, whose errors end the command."""
    with ends_on_errors(partial(text_of, file)), watched(file.name):
        yield


class NamedPlan(NamedTuple):
    """The plan of a command, with the folder that bounds its paths and the values that override its own."""

    path: str
    root: str | None
    settings: tuple[str, ...] = ()

    def open(self) -> PlanFile:
        """Return the file of the plan. Raises Unreadable for it and for its lock."""
        try:
            with watched(self.path):
                return open_plan(self.path, self.root)
        except OSError as error:
            of_plan = error.filename in (None, str(Path(self.path)))
            what = f"the plan '{self.path}'" if of_plan else f"the lock '{error.filename}'"
            raise Unreadable(what, error) from None

    def work_out(
        self, quiet: bool = False, today: Mapping[str, Report] | None = None, allow_moves: bool = False
    ) -> tuple[PlanFile, Report]:
        """Return the file and the report, and show its warnings; what is wrong with the plan ends the command.

        The machines of `today`, reports by cluster, stay where they stand, unless moves are allowed.
        """
        file = self.open()
        with working_on(file):
            from bomgen.workflow.pipeline import work_out_around  # which commands without a plan do not wait for

            report = work_out_around(read_all(file, self.settings), today or {}, allow_moves)
        if not quiet:
            show((*report.problems, *report.stale), file)
        return file, report


def open_plans(plans: Sequence[str], root: str | None, outcome: Outcome) -> list[PlanFile]:
    """Return the readable plan files."""
    files = []
    for plan in plans:
        with outcome.piece():
            files.append(NamedPlan(plan, root).open())
    return files


def build_today(name: str, root: str | None) -> Report:
    """Return the result of the existing plan. Ends the command if it is unreadable or invalid."""
    from bomgen.workflow.pipeline import work_out

    with TemporaryDirectory(prefix="bomgen-") as folder:
        existing = open_given(name, (), root, Path(folder))
        try:
            return work_out(existing.file(), ())
        except PlanErrors as errors:
            show_problems(errors.problems, existing)
            sys.exit(WRONG_PLAN)


def check_names(files: Sequence[PlanFile], settings: Sequence[str]) -> None:
    """Raise UsageError for two plans of one name, whose results would overwrite each other."""
    names = dict[str, str]()
    for file in files if len(files) > 1 else ():
        name = name_of(file, settings)
        if name in names:
            raise click.UsageError(f"{names[name]} and {file.name} are both named {name}; give one another name")
        if name is not None:
            names[name] = file.name

"""The command: its subcommands and help, what it prints, how it ends, and its answers to the completion of shells.

It prints messages, problems as a compiler shows them, and texts; it ends with an exit code, for errors of plans and of
output, signals, and closed and full streams.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete, add_completion_class, split_arg_string

from bomgen import __version__
from bomgen.core.diagnostics import MAX_PROBLEMS, OutputError, PlanErrors, Problem, excerpt
from bomgen.core.jobs import COLLECT_AFTER, OutOfTime, limit_memory, limit_processor_time
from bomgen.core.resources import PACKAGE, BrokenInstallation, folder, is_out_of_memory, text
from bomgen.core.safety import TURNING

WRONG_PLAN, WRONG_USAGE, NOT_WRITTEN, PASSED, INTERRUPTED = 1, 2, 3, 4, 130
"""The exit codes, as the documentation promises them.

PASSED: a threshold was exceeded, findings reach the given severity, what was built differs from its plan, or edits
conflict with theirs.
"""
QUIET, VERBOSE, FORCE = "quiet", "verbose", "force"
NO_TERMINAL = "dumb"
"""Value of TERM for a terminal without control codes."""
CONTROLS = ("Cc", "Cs", "Zl", "Zp")
"""Character categories that control a terminal or are not displayable: control codes, surrogates, line ends."""
UNSHOWN = "\N{REPLACEMENT CHARACTER}"


def is_set(option: str) -> bool:
    """Return whether QUIET, VERBOSE or FORCE is set."""
    ctx = click.get_current_context(silent=True)
    return bool(ctx and ctx.meta.get(f"bomgen.{option}"))


def escape_controls(text: str, instead: str | None = None, kept: str = "") -> str:
    r"""Return a text for a terminal, with control characters escaped, or replaced by `instead`.

    `kept` are control characters that are not escaped.
    """
    if text.isprintable():
        return text
    return "".join(
        (instead or ascii(sign)[1:-1])
        if sign not in kept and (sign in TURNING or unicodedata.category(sign) in CONTROLS)
        else sign
        for sign in text
    )


def complain(line: str) -> None:
    """Print a line on standard error."""
    click.echo(escape_controls(line), err=True)


def say(line: str, bold: bool | None = None) -> None:
    """Print a line for people, unless --quiet is set."""
    if not is_set(QUIET):
        click.echo(click.style(escape_controls(line), bold=bold) if bold else escape_controls(line))


def on_terminal() -> bool:
    """Return whether standard error can show a progress bar: it is a terminal, and --quiet is not set."""
    return sys.stderr.isatty() and os.environ.get("TERM") != NO_TERMINAL and not is_set(QUIET)


def colour() -> bool | None:
    """Return whether the environment requires or forbids colours; None for colours on terminals only."""
    wanted = os.environ.get
    if wanted("NO_COLOR"):
        return False
    if any(wanted(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return False if wanted("CLICOLOR") == "0" or wanted("TERM") == NO_TERMINAL else None


def no_text(_: str) -> str:
    """Return nothing: problems of workbooks and other files that are no text have no lines to show."""
    return ""


def print_problems(problems: Sequence[Problem], text_of: Callable[[str], str] = no_text) -> None:
    """Print problems, each error with its line of the file; if there are many, the first of each severity."""
    told, texts = {"error": 0, "warning": 0}, dict[str, str]()
    for problem in problems:
        if problem.severity != "error" and is_set(QUIET):
            continue
        told[problem.severity] += 1
        if told[problem.severity] > MAX_PROBLEMS:
            continue
        shade = "red" if problem.severity == "error" else "yellow"
        severity, rule = click.style(f"{problem.severity}:", fg=shade, bold=True), click.style(problem.rule, dim=True)
        mark, message = click.style(escape_controls(str(problem.mark)), bold=True), escape_controls(problem.message)
        click.echo(f"{mark}: {severity} {message} [{rule}]", err=True)
        if problem.severity == "error":
            file = problem.mark.file
            texts[file] = texts[file] if file in texts else text_of(file)
            for line in excerpt(problem, texts[file]):
                line = escape_controls(line, UNSHOWN)  # a sign for a sign: the caret stands below its column
                before, caret, _ = line.rpartition("^")
                pointed = caret and not before.partition("|")[2].strip()
                click.echo(before + click.style(caret, fg=shade, bold=True) if pointed else line, err=True)
    for severity, count in told.items():
        if count > MAX_PROBLEMS:
            complain(f"... and {count - MAX_PROBLEMS} more {severity}s")


def print_text(text: str) -> None:
    """Write a text: in UTF-8 to a program, in its encoding to a terminal.

    Control characters are replaced, also for programs, which may pass the text to a terminal.
    """
    safe = "\n".join(map(_plain_line, text.split("\n")))
    click.echo(safe if sys.stdout.isatty() else safe.encode("utf-8", "replace"), nl=False)


def _plain_line(line: str) -> str:
    """Return a line without control characters; a CSV line ends with CR and LF."""
    text = line.removesuffix("\r")
    return escape_controls(text, UNSHOWN, "\t") + line[len(text) :]


BY_SIGNAL = 128
"""Offset that shells add to the number of the signal that ended a program."""
ENDING = ("SIGTERM", "SIGHUP")
"""Signals that ask the program to end, besides Ctrl-C."""
STREAMS = ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY))
"""Standard streams, which may be closed by the caller."""

FAILING = ("strict", "surrogateescape")
"""Python's default handlers for characters missing in an encoding, which end the program."""

_received: list[int] = []
"""Signals that have asked the program to end."""


class ReaderGone(Exception):
    """The reader of standard output has closed it, as `head` does."""


class Interrupted(BaseException):
    """Ctrl-C was pressed."""


class Terminated(BaseException):
    """A signal other than Ctrl-C asked the program to end."""


class Unreadable(click.ClickException):
    """A file that the user names cannot be read; `what` it is, and why."""

    exit_code = WRONG_USAGE

    def __init__(self, what: str, error: OSError | ValueError) -> None:
        reason = error.strerror if isinstance(error, OSError) else error
        super().__init__(escape_controls(f"cannot read {what}: {reason}"))


class Outcome:
    """The exit code of a command: the worst of its pieces, each of which reports its errors and ends at them."""

    def __init__(self) -> None:
        self.code = 0

    def note(self, code: int) -> None:
        """Note the exit code of a piece."""
        self.code = max(self.code, code)

    @contextmanager
    def piece(self, text_of: Callable[[str], str] = no_text) -> Iterator[None]:
        """Report what ends the enclosed code: problems with the lines of their files, or a file not read or written."""
        try:
            yield
        except PlanErrors as errors:
            print_problems(errors.problems, text_of)
            self.note(WRONG_PLAN)
        except OutputError as error:
            self.note(_not_written(str(error)))
        except Unreadable as error:
            error.show()
            self.note(error.exit_code)


@contextmanager
def ends_on_errors(text_of: Callable[[str], str] = no_text) -> Iterator[None]:
    """End the command where the enclosed code does, reported as a piece of an Outcome."""
    outcome = Outcome()
    with outcome.piece(text_of):
        yield
    if outcome.code:
        sys.exit(outcome.code)


@contextmanager
def flush_output() -> Iterator[None]:
    """Flush the output of the enclosed code. Raises ReaderGone if nobody reads it, Interrupted at Ctrl-C."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGone from None
    except KeyboardInterrupt:  # before click sees it, which would print an empty line
        raise Interrupted from None


def run_command(command: Callable[[], object]) -> int:
    """Run the command and return its exit code. An early end is reported in one line."""
    _settle_streams()
    _listen_to_signals()
    _received.clear()
    try:
        return _code_of(command)
    except (Interrupted, KeyboardInterrupt, click.Abort):
        return _end_by(signal.SIGINT)
    except (Terminated, Exception):
        # Libraries may replace the exception of a signal by their own: openpyxl has `except:` around conversions.
        if not _received:
            raise
        return _end_by(_received[0])
    finally:
        _let_end()


def _end_by(number: int) -> int:
    """Return the exit code of a signal; Ctrl-C is said."""
    if number != signal.SIGINT:
        return BY_SIGNAL + number
    _let_end()
    complain("Interrupted")
    return INTERRUPTED


def _code_of(command: Callable[[], object]) -> int:
    if sys.__stdout__ is None:  # a shell has closed it: `>&-`
        return _not_written("standard output is closed")
    try:
        command()
    except ReaderGone:  # programs end by the signal then, which shells show as exit code 141
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    except click.exceptions.Exit as done:
        return done.exit_code
    except SystemExit as done:
        return int(done.code or 0)
    except click.ClickException as error:
        said = io.StringIO()  # the text may contain arbitrary file names from the command line
        error.show(said)
        click.echo(escape_controls(said.getvalue(), kept="\n"), err=True, nl=False)
        return error.exit_code
    except (BrokenInstallation, ImportError) as error:
        if is_out_of_memory(error):
            return _end_early("out of memory")
        complain(f"bomgen: the installation is broken: {error}; install bomgen again")
        return WRONG_PLAN
    except (MemoryError, SystemError) as error:
        if not is_out_of_memory(error):
            raise
        return _end_early("out of memory")
    except OutOfTime as error:
        return _end_early(str(error))
    except OSError as error:
        return _end_early("out of memory") if is_out_of_memory(error) else _end_unwritten(error)
    return 0


def _end_early(reason: str) -> int:
    _discard_quietly()
    complain(f"bomgen: {reason}; nothing was written")
    return WRONG_PLAN


def _not_written(reason: str) -> int:
    complain(f"bomgen: not written: {reason}")
    return NOT_WRITTEN


def _end_unwritten(error: OSError) -> int:
    """Report an unexpected write error, such as on standard output or for temporary files."""
    _discard_quietly()
    about = f"{error.filename}: " if error.filename else ""
    code = _not_written(f"{about}{error.strerror or error}")
    # What standard output still holds would be tried again when Python ends, and change the exit code.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


# streams ------------------------------------------------------------------------------------------------------------


class _Forgiving(io.FileIO):
    """A stream that ignores write errors: a message that cannot be shown does not change the result."""

    def __init__(self, number: int, instead_of: object) -> None:
        super().__init__(number, "w", closefd=False)
        self._instead_of = instead_of  # which closes the stream when it is forgotten

    def write(self, content: Any) -> int:
        """Write as far as possible, and report all of it as written."""
        with suppress(OSError):
            super().write(content)
        return len(memoryview(content))


def _settle_streams() -> None:
    """Open closed streams, so that no file takes their number, and ignore errors of standard error.

    Standard output is buffered even with PYTHONUNBUFFERED, because a partial write by the system would otherwise lose
    output without an error. A character that a console's code page lacks is replaced.
    """
    for number, way in STREAMS:
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, way)  # takes the lowest number that is free: this one
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        if isinstance(out.buffer, io.RawIOBase):
            out = io.TextIOWrapper(io.BufferedWriter(out.buffer), out.encoding, out.errors, line_buffering=True)
            sys.stdout = out
        if out.errors in FAILING:
            out.reconfigure(errors="replace")
    before = sys.stderr
    try:
        number = before.fileno() if before else STREAMS[-1][0]
    except (OSError, ValueError):  # no stream of the system's
        return
    raw = io.BufferedWriter(_Forgiving(number, before))
    encoding = before.encoding if before else None
    sys.stderr = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace", line_buffering=True)


# signals ------------------------------------------------------------------------------------------------------------


def _listen_to_signals() -> None:
    if signal.getsignal(signal.SIGINT) in (signal.SIG_DFL, signal.default_int_handler):
        signal.signal(signal.SIGINT, _end)
    for name in ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    _discard_quietly()
    _received.append(number)
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated


def _discard_quietly() -> None:
    """Discard incomplete output; a workbook that can no longer be completed raises no error."""
    sys.unraisablehook = lambda _: None


def _let_end() -> None:
    for name in ("SIGINT", *ENDING):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is _end:
            signal.signal(number, signal.SIG_DFL)


COMMANDS = {
    "init": "Write a commented plan that builds as it is.",
    "serve": "Open a page to write plans and see their quotes.",
    "build": "Write quotes, reports and bills of materials.",
    "check": "Validate plans and report whether they can be built.",
    "explain": "Show how a number was calculated.",
    "simulate": "Simulate a served workload at its size.",
    "compare": "Show plans side by side.",
    "search": "Find the best designs over many values.",
    "diff": "Show what changed between two plans, results or revisions.",
    "xray": "Check a vendor's bill and find the designs that explain it.",
    "wiring": "List every cable, port to port.",
    "push": "Bring a NetBox up to date with a plan.",
    "verify": "Compare what was built with the plan.",
    "prices": "Read a vendor's price list, or list unpriced parts.",
    "apply": "Apply an edited quote.xlsx to its plan.",
    "margin": "Show the cost and margin of every line.",
    "lock": "Pin prices, rates and catalogue data in a lock file.",
    "catalog": "Show the parts of the catalogue and their sources.",
    "mcp": "Offer the calls of the library to an assistant.",
    "schema": "Print a JSON Schema.",
    "help": "Show a page of the documentation.",
    "completion": "Print a shell completion script.",
}
"""The commands in the order of the help, each with its line there."""
MODULES = {
    **dict.fromkeys(("completion", "help"), "command"),
    **dict.fromkeys(("explain", "lock", "simulate"), "check"),
    "schema": "catalog",
    **dict.fromkeys(("push", "wiring"), "build"),
    **dict.fromkeys(("diff", "search"), "compare"),
    **dict.fromkeys(("init", "mcp", "serve"), "start"),
    **dict.fromkeys(("apply", "margin", "prices", "verify", "xray"), "received"),
}
"""The modules of commands that share one; the others are functions of a module of their name."""
HELP_WIDTH = 100
SECONDS = 60
"""Processor time of a command, for each plan: three times what the steps of work take on a processor of 2023."""
SECONDS_OF = {"search": 3600, "serve": None, "mcp": None}
"""Processor time of a search, per process, which shows what it has found; the calls of a page have their own."""
MEMORY = 1 << 30
"""Memory of a command [bytes]."""
MEMORY_OF = {"search": 2 << 30, **dict.fromkeys(("push", "wiring"), 2 << 30)}
"""Memory of a search, per process, for two tables and a front, and of the cables of a million GPUs [bytes]."""
COMPLETE = "_BOMGEN_COMPLETE"
"""Environment variable with which a completion script requests proposals."""


def subcommand(name: str) -> click.Command:
    """Import and return one of COMMANDS."""
    command: click.Command = getattr(import_module(f"bomgen.cli.{MODULES.get(name, name)}"), name)
    return command


class _Program(click.Group):
    """The command, which imports the module of a subcommand when that is called: help must come at once.

    When the reader of a pipe exits, writing stops without an error message.
    """

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        return subcommand(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        names = (name for name in COMMANDS if name.startswith(incomplete))
        commands = [CompletionItem(name, help=COMMANDS[name]) for name in names]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with flush_output():
            return super().make_context(info_name, args, parent, **{"color": colour(), **extra})

    def invoke(self, ctx: click.Context) -> Any:
        with flush_output(), ends_on_errors():
            return super().invoke(ctx)


def _version() -> str:
    """Return the version, and the commit that a package was built from."""
    commit = PACKAGE / "data" / "commit.txt"
    return f"{__version__} ({commit.read_text('utf-8').strip()})" if commit.is_file() else __version__


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": HELP_WIDTH})
@click.version_option(_version(), prog_name="bomgen")
def main() -> None:
    """Bills of materials for AI clusters from a short YAML plan.

    A plan says which model, how many tokens, how many days, which GPU, which network. bomgen works out GPUs, servers,
    NICs, switches, modules, cables, racks, power and price, and writes quotes with the reason for every number.

    \b
      bomgen init mine                                 write a commented plan, mine.yaml
      bomgen build mine.yaml                           quote and bill into dist/mine/
      bomgen check mine.yaml                           report problems, write nothing
      bomgen explain mine.yaml totals.amount           how a number was calculated
      bomgen init pod --from superpod-h100-4su         start from a published design
      bomgen compare mine.yaml pod.yaml                plans side by side
      bomgen search mine.yaml --over cluster.servers=8..16    the best designs
      bomgen diff mine.yaml mine.yaml --set-new cluster.servers=16
      bomgen xray quote.xlsx                           check a vendor's bill
      bomgen catalog switch qm9700                     the facts about a part, with sources
      bomgen help sellers                              a page of the documentation

    Exit codes: 0 done, 1 the plan is wrong or cannot be built, 2 wrong usage, 3 output could not be written,
    4 a threshold of diff or xray was passed, verify has findings, or edits conflict, 130 interrupted,
    141 the reader of a pipe has gone.
    """  # noqa: D301 - the backslash is click's mark for lines that are not to be filled


@click.command()
@click.argument("topic", required=False)
def help(topic: str | None) -> None:
    """Show a page of the documentation, or list the pages. TOPIC may also be a command that has no page."""
    pages = {page.stem: page for page in sorted(folder("docs").glob("*.md"))}
    if topic is None:
        for name, page in pages.items():
            click.echo(f"{name:20}{text(page).splitlines()[0].removeprefix('# ')}")
    elif topic in pages:
        click.echo(text(pages[topic]), nl=False)
    elif topic in COMMANDS:
        command = subcommand(topic)
        click.echo(command.get_help(click.Context(command, info_name=f"bomgen {topic}", max_content_width=HELP_WIDTH)))
    else:
        from bomgen.core.messages import unknown  # needs YAML, which `bomgen --help` does not

        raise click.UsageError(unknown("topic", topic, dict.fromkeys([*pages, *COMMANDS])))


# completion ---------------------------------------------------------------------------------------------------------
# The scripts for completion in a shell, and the answers to them.

SHELLS = ("bash", "zsh", "fish")
LINE, BREAKS = "BOMGEN_LINE", "BOMGEN_BREAKS"
"""Environment variables of the scripts: the line up to the cursor, and where bash breaks words."""
BETWEEN = "\x1f"
"""Separator of words in the line from a shell."""
KINDS = {"plain": "word", "file": "files", "dir": "folders"}
"""Names in the scripts for kinds of proposals that differ from click's."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script with which a SHELL completes commands, options, plans, parts and paths of numbers.

    \b
      bash: bomgen completion bash > ~/.local/share/bash-completion/completions/bomgen
      zsh:  bomgen completion zsh > a folder of $fpath, as _bomgen
      fish: bomgen completion fish > ~/.config/fish/completions/bomgen.fish
    """  # noqa: D301 - the backslash is click's mark for lines that are not to be filled
    print_text(text(Path(__file__).parent / "shells" / f"bomgen.{shell}"))


class _Shell(ShellComplete):
    """A shell that receives a line per proposal: kind, word and description, separated by tabs."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the one at it, without shell quoting."""
        words = [" ".join(split_arg_string(word)) for word in self.words(os.environ[LINE])][1:]
        return words[:-1], words[-1] if words else ""

    def words(self, line: str) -> list[str]:
        """Return the words of a line from the shell; the last one may be empty."""
        return line.split(BETWEEN)

    def format_completion(self, item: CompletionItem[str]) -> str:
        help = " ".join((item.help or "").split())
        return "\t".join((KINDS.get(item.type, item.type), self.word(str(item.value)), help))

    def word(self, value: str) -> str:
        """Return the whole word for a value; click omits the option after `--option=`."""
        _, typed = self.get_completion_args()
        option, equals, _ = typed.partition("=")
        return f"{option}={value}" if equals and option.startswith("-") and not value.startswith(option) else value


class _Bash(_Shell):
    def words(self, line: str) -> list[str]:
        words = split_arg_string(line)
        return words if line and not line[-1].isspace() else [*words, ""]

    def word(self, value: str) -> str:
        """Return the part of a word that bash replaces: after its last `=` or `:`."""
        whole = super().word(value)
        _, typed = self.get_completion_args()
        breaks = [sign for sign in "=:" if sign in os.environ.get(BREAKS, "")]
        kept = max((typed.rfind(sign) + 1 for sign in breaks), default=0)
        return whole[kept:] if whole.startswith(typed[:kept]) else whole


def run() -> None:
    """Run the command as a program: exit code 130 for an interrupt, 3 if output cannot be written."""
    # A build or a long list makes up to a million small objects and is over in a second: collecting cycles as often as
    # Python does by itself, and once more on the way out, costs a fifth of that.
    gc.set_threshold(COLLECT_AFTER)
    # NumPy's linear algebra, which nothing here uses, would reserve memory for every processor.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if COMPLETE in os.environ:
        for shell in SHELLS:
            add_completion_class(_Bash if shell == "bash" else _Shell, shell)
    command = next(iter(sys.argv[1:]), "")
    limit_processor_time(SECONDS_OF.get(command, SECONDS))
    limit_memory(MEMORY_OF.get(command, MEMORY))
    try:
        sys.exit(run_command(lambda: main(prog_name="bomgen", complete_var=COMPLETE, standalone_mode=False)))
    finally:
        gc.freeze()

"""How a command ends: its exit code, errors of plans and of output, signals, and closed and full streams."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import click

from bomgen.cli.messages import (
    INTERRUPTED,
    NOT_WRITTEN,
    WRONG_PLAN,
    WRONG_USAGE,
    complain,
    escape_controls,
    no_text,
    print_problems,
)
from bomgen.core.diagnostics import OutputError, PlanErrors
from bomgen.core.processes import OutOfTime
from bomgen.core.resources import BrokenInstallation, is_out_of_memory

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
    """A signal asked the program to end; its number."""


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
        return _end_interrupted()
    except Terminated as ended:
        return BY_SIGNAL + int(ended.args[0])
    except Exception:
        # Libraries may replace the exception of a signal by their own: openpyxl has `except:` around conversions.
        if not _received:
            raise
        return _end_interrupted() if _received[0] == signal.SIGINT else BY_SIGNAL + _received[0]
    finally:
        _let_end()


def _end_interrupted() -> int:
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
    except MemoryError:
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
    """Handle signals that end the program, so that incomplete files are removed. Ignored signals stay ignored."""
    if signal.getsignal(signal.SIGINT) in (signal.SIG_DFL, signal.default_int_handler):
        signal.signal(signal.SIGINT, _interrupt)
    for name in ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    _discard_quietly()
    _received.append(number)
    raise KeyboardInterrupt


def _end(number: int, _frame: FrameType | None) -> None:
    _discard_quietly()
    _received.append(number)
    raise Terminated(number)


def _discard_quietly() -> None:
    """Discard incomplete output; a workbook that can no longer be completed raises no error."""
    sys.unraisablehook = lambda _: None


def _let_end() -> None:
    """Restore default signal handling, once everything is done and reported."""
    for name in ("SIGINT", *ENDING):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (_interrupt, _end):
            signal.signal(number, signal.SIG_DFL)

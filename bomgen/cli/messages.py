"""What the command prints for people, to streams and files, and its exit codes."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bomgen.core.diagnostics import Problem
    from bomgen.workflow.plan_files import PlanFile

QUIET, VERBOSE, FORCE = "quiet", "verbose", "force"
NO_TERMINAL = "dumb"
"""What TERM says of a terminal that knows no control codes."""
CONTROLS = ("Cc", "Cs", "Zl", "Zp")
"""Kinds of sign that a terminal obeys or cannot show: control codes, lone surrogates, ends of lines."""
UNSHOWN = "\N{REPLACEMENT CHARACTER}"


def is_set(option: str) -> bool:
    """Whether QUIET, VERBOSE or FORCE was asked for."""
    ctx = click.get_current_context(silent=True)
    return bool(ctx and ctx.meta.get(f"bomgen.{option}"))


def escape_controls(text: str, instead: str | None = None, kept: str = "") -> str:
    r"""A text of the user's as a terminal may have it: what would control it is written out, as \x1b, or as `instead`.

    `kept` are control characters that stay.
    """
    if text.isprintable():
        return text
    from bomgen.core.safety import TURNING

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
    """Print a line that people read and no program needs: not with --quiet."""
    if not is_set(QUIET):
        click.echo(click.style(escape_controls(line), bold=bold) if bold else escape_controls(line))


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
        mark, message = click.style(escape_controls(str(problem.mark)), bold=True), escape_controls(problem.message)
        click.echo(f"{mark}: {severity} {message} [{rule}]", err=True)
        if problem.severity == "error":
            file = problem.mark.file
            texts[file] = texts[file] if file in texts else text_of(file)
            for line in excerpt(problem, texts[file]):
                line = escape_controls(line, UNSHOWN)  # a sign for a sign: the caret stands below its column
                before, caret, _ = line.rpartition("^")
                pointed = caret and not before.partition("|")[2].strip()
                click.echo(before + click.style(caret, fg=colour, bold=True) if pointed else line, err=True)
    for severity, count in told.items():
        if count > MAX_PROBLEMS:
            complain(f"... and {count - MAX_PROBLEMS} more {severity}s")


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


# exit codes ---------------------------------------------------------------------------------------------------------
# The exit codes of the command, as the documentation promises them.

WRONG_PLAN, WRONG_USAGE, NOT_WRITTEN, PASSED, INTERRUPTED = 1, 2, 3, 4, 130
"""PASSED: a threshold was passed, findings are as severe as asked for, or edits conflict with their plan."""


# writing ------------------------------------------------------------------------------------------------------------
# Results to a file or to standard output.


def refuse_overwriting(output: str | None, given: str, what: str = "what is read") -> None:
    """What is read is not written over: wrong usage."""
    if output is not None and os.path.realpath(output) == os.path.realpath(given):
        raise click.UsageError(f"{output} is {what}; name another file with -o")


def refuse_known_file(output: str) -> None:
    """Raise UsageError for a plan, a lock or a price list, which is not written over without --force."""
    from bomgen.workflow.inputs import known_as

    if what := known_as(Path(output)):
        raise click.UsageError(f"{output} is {what}; name another file with -o, or overwrite it with --force")


def choose_form(form: str | None, output: str | None, suffixes: Mapping[str, str], binary: Sequence[str]) -> str:
    """The format that is asked for: by its name, else by the suffix of the file, else the first one.

    Raises UsageError where a suffix names none, and where one of `binary` formats is to go to standard output.
    """
    if form is None and output and (suffix := Path(output).suffix):
        form = suffixes.get(suffix.lower())
        if form is None:
            raise click.UsageError(f"no format has the suffix {suffix}; name one with -f")
    chosen = form or next(iter(suffixes.values()))
    if chosen in binary and output is None:
        raise click.UsageError(f"{chosen} goes to a file; name it with -o")
    return chosen


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


def to_standard_output(content: bytes, binary: bool = False) -> None:
    """Write a result as it is where it is `binary`, else as `print_text` does."""
    if binary:
        click.echo(content, nl=False)
    else:
        print_text(content.decode("utf-8", "replace"))


def print_text(text: str) -> None:
    """Write a text: to a program in UTF-8, to a terminal in its encoding.

    What would control a terminal is replaced, also on the way to a program, which may show it on one.
    """
    safe = "\n".join(map(_plain_line, text.split("\n")))
    click.echo(safe if sys.stdout.isatty() else safe.encode("utf-8", "replace"), nl=False)


def _plain_line(line: str) -> str:
    """Return a line without what would control a terminal; one of CSV ends with CR and LF."""
    text = line.removesuffix("\r")
    return escape_controls(text, UNSHOWN, "\t") + line[len(text) :]

"""What the command prints: messages, problems as a compiler shows them, and texts; and its exit codes."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Sequence

import click

from bomgen.core.diagnostics import MAX_PROBLEMS, Problem, excerpt
from bomgen.core.safety import TURNING

WRONG_PLAN, WRONG_USAGE, NOT_WRITTEN, PASSED, INTERRUPTED = 1, 2, 3, 4, 130
"""The exit codes, as the documentation promises them.

PASSED: a threshold was exceeded, findings reach the given severity, or edits conflict with their plan.
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

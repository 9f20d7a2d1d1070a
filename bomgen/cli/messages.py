"""What the command prints for people, to streams and files, and its exit codes."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Sequence
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


def plain(text: str, instead: str | None = None, kept: str = "") -> str:
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
    click.echo(plain(line), err=True)


def say(line: str, bold: bool | None = None) -> None:
    """Print a line that people read and no program needs: not with --quiet."""
    if not is_set(QUIET):
        click.echo(click.style(plain(line), bold=bold) if bold else plain(line))


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

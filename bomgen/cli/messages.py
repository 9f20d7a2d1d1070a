"""Output of the command for people, for streams and files, and its exit codes."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType

import click

from bomgen.core.safety import TURNING

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


# exit codes ---------------------------------------------------------------------------------------------------------
# The exit codes of the command, as the documentation promises them.

WRONG_PLAN, WRONG_USAGE, NOT_WRITTEN, PASSED, INTERRUPTED = 1, 2, 3, 4, 130
"""PASSED: a threshold was exceeded, findings reach the given severity, or edits conflict with their plan."""


# writing ------------------------------------------------------------------------------------------------------------
# Results to a file or to standard output.


def refuse_overwriting(output: str | None, given: str, what: str = "what is read") -> None:
    """Raise UsageError for an output file that is also an input."""
    if output is not None and os.path.realpath(output) == os.path.realpath(given):
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
    of_each = {each: (TEXT_SUFFIX if each == TEXT else f".{each}", *suffixes.get(each, ())) for each in forms}
    suffix = Path(output).suffix.lower() if output else ""
    fits = [each for each, of_form in of_each.items() if suffix in of_form]
    if suffix and not (form or fits):
        known = ", ".join(dict.fromkeys(chain(*of_each.values(), suffixes.get("", ()))))
        raise click.UsageError(f"no format has the suffix {suffix}; use {known}")
    if form and fits and form not in fits:
        raise click.UsageError(f"the suffix {suffix} is for {fits[0]}, not {form}; omit -f, or specify another file")
    chosen = form or (*fits, *forms)[0]
    if chosen in binary and output is None:
        raise click.UsageError(f"{chosen} goes to a file; name it with -o")
    return chosen


def to_standard_output(content: bytes, binary: bool = False) -> None:
    """Write a result unchanged if it is `binary`, else as `print_text`."""
    if binary:
        click.echo(content, nl=False)
    else:
        print_text(content.decode("utf-8", "replace"))


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

"""Results to a file or to standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from bomgen.cli.exit_codes import NOT_WRITTEN
from bomgen.cli.messages import UNSHOWN, complain, plain, say


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
    return plain(text, UNSHOWN, "\t") + line[len(text) :]

"""Documents as terminal output, as text for a pipe, or as a file in a format."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import click

from bomgen.cli.messages import NOT_WRITTEN, colour, complain, say, to_standard_output
from bomgen.core.document import Document
from bomgen.core.language import Language
from bomgen.output.terminal import render_lines
from bomgen.output.writer import OutputError, render_page, write_one

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
    """Print a document or write it to a file; text has `every` row or only important ones.

    Ends the command if it cannot be written.
    """
    if form == "text" and output is None and (sys.stdout.isatty() or colour()):
        _print(document, language, every)
        return
    try:
        content = render_page(document, language, form, every)
    except OutputError as error:
        complain(f"bomgen: not written: {error}")
        sys.exit(NOT_WRITTEN)
    write_out(content, output)


def write_out(content: bytes, output: str | None) -> None:
    """Write to a file and report it, or to standard output."""
    if output is None:
        to_standard_output(content)
        return
    try:
        write_one(content, Path(output))
    except OutputError as error:
        complain(f"bomgen: not written: {error}")
        sys.exit(NOT_WRITTEN)
    say(output)


def _print(document: Document, language: Language, every: bool) -> None:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in render_lines(document, language, every, width):
        click.echo(click.style(line.text, **LOOKS[line.style]) if line.style else line.text)

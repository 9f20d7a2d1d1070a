"""Documents printed or written: fitted to a terminal and in colours, as text for a pipe, or as a file of a format."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from bomgen.cli.messages import NOT_WRITTEN, colour, complain, write_out

if TYPE_CHECKING:
    from bomgen.core.document import Document
    from bomgen.core.language import Language

LOOKS: dict[str, dict[str, Any]] = {
    "": {},
    "bold": {"bold": True},
    "+": {"fg": "green"},
    "-": {"fg": "red"},
    "~": {"fg": "yellow"},
}
"""How lines look on a terminal, by their style."""


def give(
    document: Document, language: Language, form: str = "text", output: str | None = None, every: bool = False
) -> None:
    """Print a document or write it to a file; `every` row of its tables is in a text, or those that matter.

    Ends the command where it cannot be written.
    """
    from bomgen.output.writer import OutputError, render_page

    if form == "text" and output is None and (sys.stdout.isatty() or colour()):
        _print(document, language, every)
        return
    try:
        content = render_page(document, language, form, every)
    except OutputError as error:
        complain(f"bomgen: not written: {error}")
        sys.exit(NOT_WRITTEN)
    write_out(content, output)


def _print(document: Document, language: Language, every: bool) -> None:
    from bomgen.output.terminal import render_lines

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in render_lines(document, language, every, width):
        click.echo(click.style(line.text, **LOOKS[line.style]) if line.style else line.text)

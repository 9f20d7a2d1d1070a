"""The page of the commands, made of their own help."""

from __future__ import annotations

from collections.abc import Iterator

import click
from text import code, html, table

from bomgen.cli.command import COMMANDS, main, subcommand
from bomgen.cli.options import FormatsCommand

WIDTH = 100


def pages() -> Iterator[tuple[str, str]]:
    """The page, by its path."""
    parts = [
        "# Commands\n\n`-h` or `--help` behind any command shows the same. Results go to standard output, problems to "
        f"standard error. {_exit_codes()}\n"
    ]
    for name in COMMANDS:
        command = subcommand(name)
        context = click.Context(command, info_name=f"bomgen {name}", max_content_width=WIDTH, terminal_width=WIDTH)
        usage = command.get_usage(context).removeprefix("Usage: ")
        said = "\n".join(f"<p>{html(' '.join(each.split()))}</p>" for each in _paragraphs(command.help or ""))
        parts.append(f"## bomgen {name} {{#{name}}}\n\n{code(usage, 'text')}\n{said}\n")
        rows = [
            record for each in command.get_params(context) if (record := each.get_help_record(context)) and record[1]
        ]
        if rows:
            parts.append(table(("Option", "Meaning"), ((f"<code>{html(a)}</code>", html(b)) for a, b in rows)))
        if isinstance(command, FormatsCommand):
            formats = ((f"<code>{html(a)}</code>", html(b)) for a, b in command.formats.described())
            parts.append(table(("Format", "What it is"), formats))
    yield "reference/commands.md", "\n".join(parts)


def _exit_codes() -> str:
    """What the help of bomgen itself says of them."""
    return next(" ".join(each.split()) for each in _paragraphs(main.help or "") if "Exit codes:" in each)


def _paragraphs(text: str) -> Iterator[str]:
    for each in text.replace("\b", "").split("\n\n"):
        if each.strip():
            yield each

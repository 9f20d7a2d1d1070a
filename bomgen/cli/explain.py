"""`bomgen explain`: derivations of numbers, and reasons for choices."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator

import click

from bomgen.cli.messages import WRONG_PLAN, escape_controls, print_text
from bomgen.cli.options import plan_argument, proposed, root_option, set_option, talk_options
from bomgen.cli.plans import build_report, open_one_plan
from bomgen.core.language import language
from bomgen.output.terminal import LEAST_TEXT, wrap_text
from bomgen.results.explain import (
    DRAWN,
    INDENTED,
    PLAIN,
    Line,
    NotKnown,
    Piece,
    below_branch,
    data,
    explained,
    explanation_lines,
    markdown,
)
from bomgen.results.reasons import find_reasons

COLOURS = {"name": {"bold": True}, "value": {"fg": "green"}, "origin": {"fg": "cyan"}, "note": {"dim": True}}
"""Terminal styles of the pieces of a line."""


@click.command()
@plan_argument
@click.argument("path", required=False, shell_complete=proposed("paths"))
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["text", "json", "md"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option("--depth", type=click.IntRange(min=0), metavar="N", help="Show N levels of the derivation.")
@click.option("--why", "only_why", is_flag=True, help="Show only why parts were selected and others rejected.")
@set_option
@root_option
@talk_options
def explain(
    plan: str,
    path: str | None,
    form: str,
    depth: int | None,
    only_why: bool,
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """Show how a number of bom.json was calculated, down to the plan and the documents; without PATH all of them.

    PATH is dotted, such as fabrics.compute.switches.leaf, the id of a line of the bill, such as compute.switch.leaf, or
    totals.amount; the start of a path explains all below it. The reasons for selecting a part, and for rejecting
    others, follow; --why shows only these, for PATH or for all selected parts.
    """
    file = open_one_plan(plan, root)
    report = build_report(file, settings, quiet=True)
    if report is None:
        sys.exit(WRONG_PLAN)
    words = language("en")
    reasons = find_reasons(report, words, path, only_why) if path or only_why else []
    try:
        found = explained(report, path, words, depth, reasons, not only_why)
    except NotKnown as error:
        raise click.UsageError(str(error)) from None
    if form != "text":
        print_text((data if form == "json" else markdown)(found))
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in explanation_lines(found, DRAWN if _can_draw() else INDENTED):
        for part in [line] if width is None else _wrapped(line, width):
            click.echo(_styled(part))


def _can_draw() -> bool:
    """Return whether the output encoding has the characters of a tree."""
    try:
        "├└│─".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _styled(line: Line) -> str:
    return "".join(
        click.style(escape_controls(piece.text), **COLOURS.get(piece.kind, {}), reset=piece.kind in COLOURS)  # type: ignore[arg-type]
        for piece in line
    )


def _wrapped(line: Line, width: int) -> Iterator[Line]:
    """Yield a line in parts that fit a width, below the branches of a deep tree at least LEAST_TEXT wide.

    Parts after the first are indented below it, within the tree.
    """
    lead = line[0].text if line and line[0].kind == PLAIN else ""
    pieces = line[1:] if lead else line
    text = "".join(piece.text for piece in pieces)
    room = max(width - len(below_branch(lead)), LEAST_TEXT)
    start = 0
    for number, part in enumerate(wrap_text(text, room)):
        start = text.index(part, start)
        yield Piece(PLAIN, below_branch(lead) if number else lead), *_between(pieces, start, start + len(part))
        start += len(part)


def _between(pieces: Line, start: int, end: int) -> Iterator[Piece]:
    """Yield the parts of pieces between two positions of their text."""
    at = 0
    for piece in pieces:
        if text := piece.text[max(start - at, 0) : max(end - at, 0)]:
            yield Piece(piece.kind, text)
        at += len(piece.text)

"""`bomgen explain`: how numbers were worked out."""

from __future__ import annotations

import sys

import click

from bomgen.cli.common import (
    WRONG_PLAN,
    one_opened,
    plan_argument,
    proposed,
    root_option,
    set_option,
    talk_options,
    value_text,
    worked_out,
)


@click.command()
@plan_argument
@click.argument("path", required=False, shell_complete=proposed("paths"))
@set_option
@root_option
@talk_options
def explain(plan: str, path: str | None, settings: tuple[str, ...], root: str | None) -> None:
    """Show how a number of bom.json was worked out, down to the plan and the documents; without PATH all of them.

    PATH is dotted, such as fabrics.compute.switches.leaf; the start of a path explains all numbers below it.
    """
    from bomgen.figures import explain as derivation
    from bomgen.numbers import Paths, dotted
    from bomgen.report import numbers_of

    report = worked_out(one_opened(plan, root), settings, quiet=True)
    if report is None:
        sys.exit(WRONG_PLAN)
    found = {dotted(steps): figure for steps, figure in numbers_of(report).items()}
    if path and "#" in path:
        found = Paths(numbers_of(report)).figures
    wanted = {
        name: figure for name, figure in found.items() if path is None or name == path or name.startswith(f"{path}.")
    }
    if not wanted:
        from bomgen.problems import nearest

        close = nearest(path or "", found, count=3)
        raise click.UsageError(f"the result has no number '{path}'; near: {', '.join(close) or ', '.join(found)}")
    for position, (name, figure) in enumerate(wanted.items()):
        if len(wanted) > 1:
            click.echo(("\n" if position else "") + f"{name}:")
        for line in derivation(name.rpartition(".")[2], figure, value_text):
            click.echo(f"  {line}" if len(wanted) > 1 else line)

"""`bomgen init`: a plan to begin with."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bomgen.cli.exit_codes import NOT_WRITTEN
from bomgen.cli.messages import complain, say
from bomgen.cli.options import proposed, talk_options


@click.command()
@click.argument("name", required=False)
@click.option(
    "--from",
    "design",
    metavar="DESIGN",
    shell_complete=proposed("designs"),
    help="Begin with a design that bomgen carries; see --list.",
)
@click.option("--list", "listed", is_flag=True, help="List the designs with their GPUs and titles; write nothing.")
@talk_options
def init(name: str | None, design: str | None, listed: bool) -> None:
    """Write NAME.yaml into the current folder: a commented plan that builds as it is.

    Nothing is asked, and no file is ever written over. Where the schema of plans lies beside it (bomgen schema plan >
    bomgen.schema.json), the first line of the plan leads editors to it.
    """
    if listed:
        _echo_designs()
        return
    from bomgen.output.writer import OutputError, write_new
    from bomgen.workflow.starters import (
        RULE,
        SCHEMA_FILE,
        designs,
        is_name,
        nearest_designs,
        nearest_name,
        started_from,
        starter,
    )

    if name is None:
        raise click.UsageError("name the plan, such as `bomgen init my-cluster`; --list has the designs to begin with")
    if not is_name(name):
        close = nearest_name(name)
        hint = f"; '{close}' is a valid name" if close else ""
        raise click.UsageError(f"'{name}' is not a valid plan name: {RULE}{hint}")
    if design is not None and design not in designs():
        near = nearest_designs(design)
        meant = " or ".join(f"'{each}'" for each in near)
        hint = f"did you mean {meant}?" if near else f"there are {', '.join(designs())}"
        raise click.UsageError(f"no design '{design}'; {hint}")
    beside = Path(SCHEMA_FILE).is_file()
    text = started_from(design, name, beside) if design else starter(name, beside)
    path = Path(f"{name}.yaml")
    try:
        write_new(text.encode(), path)
    except FileExistsError:
        raise click.UsageError(f"{path} already exists; choose another name") from None
    except OutputError as error:
        complain(f"bomgen: not written: {error}")
        sys.exit(NOT_WRITTEN)
    say(f"{path}")


def _echo_designs() -> None:
    """Each design with the GPUs that it has or needs, and its title."""
    from bomgen.cli.tables import print_table, terminal_width
    from bomgen.core.language import language
    from bomgen.core.text_table import TextTable
    from bomgen.workflow.inputs import open_plan
    from bomgen.workflow.pipeline import size_plan
    from bomgen.workflow.starters import designs

    words, rows = language("en"), list[tuple[str, str, str]]()
    for name, path in designs().items():
        clusters = size_plan(open_plan(str(path), str(path.parent)))
        counts = (f"{words.number(sizing.gpus.value)} x {plan.cluster.gpu.identity.name}" for plan, sizing in clusters)
        rows.append((name, ", ".join(counts), clusters[0][0].title))
    columns = terminal_width()
    if columns is not None:
        print_table(TextTable(rows, right=(1,)), columns)
        return
    names, width = (max(len(row[column]) for row in rows) for column in (0, 1))
    for name, gpus, title in rows:
        click.echo(f"{name:{names}}  {gpus:>{width}}  {title}")

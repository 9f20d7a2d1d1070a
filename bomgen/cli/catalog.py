"""`bomgen catalog`: what parts, models and topologies there are."""

from __future__ import annotations

import click

from bomgen.cli.options import proposed


@click.command()
@click.argument("kind", required=False, shell_complete=proposed("kinds"))
@click.argument("id", required=False, shell_complete=proposed("ids"))
def catalog(kind: str | None, id: str | None) -> None:
    """List the kinds of part, the parts of a KIND, or all that is known of one with its sources."""
    from bomgen.catalog.files import KINDS, Catalog, UnknownPart
    from bomgen.cli.tables import print_lines, terminal_width
    from bomgen.workflow.catalog_listing import kinds, part, parts_of

    shelves = Catalog()
    if kind is None:
        print_lines(kinds(shelves), terminal_width())
        return
    if kind == "topology":
        _echo_topologies(id)
        return
    if kind not in KINDS:
        from bomgen.core.diagnostics import suggestion

        hint = suggestion(kind, KINDS, f"there are {', '.join((*KINDS, 'topology'))}")
        raise click.UsageError(f"no kind '{kind}'; {hint}")
    try:
        lines = parts_of(shelves, kind) if id is None else part(shelves, kind, id)
        print_lines(lines, terminal_width())
    except UnknownPart as error:
        raise click.UsageError(str(error)) from None


def _echo_topologies(name: str | None) -> None:
    """Every topology, or all of one."""
    from bomgen.cli.tables import DRAWING, print_lines, terminal_width
    from bomgen.fabric.registry import topologies
    from bomgen.workflow.catalog_listing import topologies_listed, topology

    if name is not None and name not in topologies():
        from bomgen.core.diagnostics import suggestion

        hint = suggestion(name, topologies(), f"there are {', '.join(topologies())}")
        raise click.UsageError(f"no topology '{name}'; {hint}")
    print_lines(topology(name) if name else topologies_listed(), terminal_width(), start=DRAWING)

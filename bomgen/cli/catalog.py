"""`bomgen catalog`: the parts, models and topologies in the catalogue."""

from __future__ import annotations

import click

from bomgen.catalog.files import KINDS, Catalog, UnknownPart
from bomgen.cli.documents import give
from bomgen.cli.options import proposed
from bomgen.core.diagnostics import suggestion
from bomgen.core.language import language
from bomgen.core.messages import ENGLISH
from bomgen.fabric.declaration import topologies
from bomgen.workflow import catalog_listing
from bomgen.workflow.catalog_listing import topologies_listed, topology


@click.command()
@click.argument("kind", required=False, shell_complete=proposed("kinds"))
@click.argument("id", required=False, shell_complete=proposed("ids"))
@click.option("--where", metavar="CONDITIONS", help="List the parts with these values: 'rate=800G fibre=single-mode'.")
@click.option("--audit", is_flag=True, help="List facts that are missing, weakly sourced or outdated.")
def catalog(kind: str | None, id: str | None, where: str | None, audit: bool) -> None:
    """List the kinds of part, the parts of a KIND, or all that is known of one with its sources.

    Instead of a KIND any number that a vendor prints finds its part.
    """
    shelves = Catalog()
    if kind == "topology":
        _echo_topologies(id)
        return
    searched = [kind] if kind in KINDS else list(KINDS)
    try:
        if where:
            found = [catalog_listing.parts_where(shelves, searched, where)]
        elif audit:
            found = [catalog_listing.audit(shelves, searched)]
        elif kind is None:
            found = [catalog_listing.kinds(shelves)]
        elif kind not in KINDS:
            found = catalog_listing.parts_named(shelves, kind)
        else:
            shown = catalog_listing.parts_of(shelves, kind) if id is None else catalog_listing.part(shelves, kind, id)
            found = [shown]
        for document in found:
            give(document, language(ENGLISH))
    except UnknownPart as error:
        raise click.UsageError(str(error) if kind in KINDS else _no_kind(str(kind))) from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _no_kind(name: str) -> str:
    hint = suggestion(name, KINDS, f"there are {', '.join((*KINDS, 'topology'))}")
    return f"no kind of part and no part '{name}'; {hint}"


def _echo_topologies(name: str | None) -> None:
    if name is not None and name not in topologies():
        hint = suggestion(name, topologies(), f"there are {', '.join(topologies())}")
        raise click.UsageError(f"no topology '{name}'; {hint}")
    give(topology(name) if name else topologies_listed(), language(ENGLISH))

"""`bomgen schema`: the JSON Schemas."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from bomgen.catalog.files import Catalog
from bomgen.cli.messages import WRONG_PLAN, print_text
from bomgen.cli.options import proposed
from bomgen.cli.problems import print_problems
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.resources import folder
from bomgen.core.resources import text as own_text
from bomgen.core.schema import as_definition
from bomgen.plan.schema import document, with_defaults
from bomgen.workflow.catalog_listing import plan_schema

SCHEMAS = ("plan", "bom", "part", "prices", "diff", "xray", "base")

OF_PLANS = ("plan", "base")


@click.command()
@click.argument("name", type=click.Choice(SCHEMAS), default="plan")
@click.argument("kind", required=False, shell_complete=proposed("part_kinds"))
@click.option("--with-catalog", is_flag=True, help="Plans: offer the ids of the catalogue, for editors.")
@click.option(
    "--parts",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="Plans: also offer the ids of a part folder; repeatable.",
)
def schema(name: str, kind: str | None, with_catalog: bool, parts: tuple[str, ...]) -> None:
    """Print a JSON Schema: of plans, bom.json, price books, differences, x-rays, or part files (of a KIND, or of all).

    `base` is that of files which plans extend: a plan whose keys may all be missing.
    """
    if (with_catalog or parts) and name not in OF_PLANS:
        raise click.UsageError(f"the schema '{name}' has no ids; --with-catalog and --parts are for those of plans")
    if with_catalog or parts:
        _echo_with_catalog(name, parts)
        return
    schemas = folder("schemas")
    if name in OF_PLANS:
        _print(json.dumps(with_defaults(name), indent=2, ensure_ascii=False))
        return
    if name != "part":
        _print(own_text(schemas / f"{name}.schema.json"))
        return
    kinds = sorted(path.name.removesuffix(".schema.json") for path in (schemas / "part").glob("*.json"))
    if kind is None:
        texts = {part: as_definition(part, document(f"part/{part}")) for part in kinds}
        _print(
            json.dumps(
                {
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    "title": "A part file of any kind",
                    "anyOf": [{"$ref": f"#/$defs/{part}"} for part in kinds],
                    "$defs": texts,
                },
                indent=2,
                ensure_ascii=False,
            )
        )
        return
    if kind not in kinds:
        raise click.UsageError(f"no kind of part '{kind}'; there are {', '.join(kinds)}")
    _print(json.dumps(document(f"part/{kind}"), indent=2, ensure_ascii=False))


def _print(text: str) -> None:
    """Print a schema, with a final newline for programs."""
    print_text(f"{text.rstrip()}\n")


def _echo_with_catalog(name: str, parts: tuple[str, ...]) -> None:
    """Print the schema of plans with ids of catalogue and part folders; an invalid part file ends the command."""
    folders = {Path(part).resolve(): part.rstrip("/") for part in parts}
    try:
        found = plan_schema(Catalog(tuple(folders), folders), name)
    except PlanErrors as errors:
        print_problems(errors.problems, lambda name: Path(name).read_text("utf-8", "replace"))
        sys.exit(WRONG_PLAN)
    _print(json.dumps(found, indent=1, ensure_ascii=False))

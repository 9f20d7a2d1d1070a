"""`bomgen catalog` and `bomgen schema`: the parts, models and topologies in the catalogue, and the JSON Schemas."""

from __future__ import annotations

import json
from pathlib import Path

import click

from bomgen.catalog.files import KINDS, MODEL, Catalog, UnknownPart
from bomgen.cli.command import complain, ends_on_errors, print_problems, print_text
from bomgen.cli.options import (
    FOLDER,
    NamedPlan,
    Output,
    choose_form,
    option,
    output_option,
    proposed,
    read_given,
    refuse_overwriting,
    root_option,
)
from bomgen.core.jobs import TooMuch, budget
from bomgen.core.language import language
from bomgen.core.messages import unknown
from bomgen.core.resources import folder, text
from bomgen.core.schema import as_definition
from bomgen.core.yaml_source import SUFFIXES, decoded
from bomgen.fabric.types import topologies
from bomgen.plan.schema import document, with_defaults
from bomgen.reading.model_config import part_file, read_config, read_model
from bomgen.workflow import catalog_listing

TOPOLOGY = "topology"
"""What `bomgen catalog` lists besides kinds of part."""
SCHEMAS = ("plan", "bom", "part", "prices", "diff", "xray", "base")
OF_PLANS = ("plan", "base")


@click.command()
@click.argument("kind", required=False, shell_complete=proposed("kinds"))
@click.argument("id", required=False, shell_complete=proposed("ids"))
@click.argument("words", nargs=-1)
@option("--where CONDITIONS", "List the parts with these values: 'rate=800G fibre=single-mode'.")
@option(
    "--audit",
    "List facts that are missing, weakly sourced, outdated or contradictory; with --parts or --plan those of the "
    "user's files.",
)
@option("--parts folders DIR", "Include a folder of parts; repeatable.", multiple=True, type=FOLDER)
@option("--plan PLAN", "Include the part folders of a plan.", "plans")
@option(
    "--from config CONFIG", "Write a model part from a checkpoint's config.json, in the form of Hugging Face.", "files"
)
@output_option
@root_option
def catalog(
    kind: str | None,
    id: str | None,
    words: tuple[str, ...],
    where: str | None,
    audit: bool,
    folders: tuple[str, ...],
    plan: str | None,
    config: str | None,
    output: str | None,
    root: str | None,
) -> None:
    """List the kinds of part, the parts of a KIND, or all that is known of one with its sources.

    Instead of a KIND any number that a vendor prints finds its part, and words find the parts that have all of them:
    `CX8`, `800G LPO`, `8xH200`. `bomgen catalog model --from config.json -o parts/model/ID.yaml` writes a part that a
    plan with `catalog: [parts/]` uses.
    """
    if config is not None:
        if kind != MODEL or id or words or where or audit or folders or plan:
            raise click.UsageError("--from writes a model; write `bomgen catalog model --from CONFIG -o FILE`")
        _write_model(config, output)
        return
    if output is not None:
        raise click.UsageError("-o takes the part of `bomgen catalog model --from CONFIG`")
    if kind == TOPOLOGY:
        if id is not None and id not in topologies():
            raise click.UsageError(unknown("topology", id, topologies()))
        Output().give(catalog_listing.topology(id) if id else catalog_listing.topologies_listed(), language())
        return
    shelves = Catalog()
    try:
        with ends_on_errors(lambda name: shelves.inputs.get(name, b"").decode("utf-8", "replace")):
            if folders or plan:
                shelves = _with_folders(folders, plan, root)
            with budget():
                _echo_parts(shelves, kind, id, " ".join(filter(None, (kind, id, *words))), where, audit)
    except TooMuch:
        raise click.UsageError("too many part files; `bomgen check` a part of the folder") from None
    except (UnknownPart, ValueError) as error:
        raise click.UsageError(str(error)) from None


def _with_folders(folders: tuple[str, ...], plan: str | None, root: str | None) -> Catalog:
    from bomgen.workflow.inputs import catalog_of, source_of

    shelves = catalog_listing.open_folders(folders, root)
    if plan:
        file = NamedPlan(plan, root).open()
        shelves = shelves.before(catalog_of(file, source_of(file, ())))
    return shelves


def _echo_parts(shelves: Catalog, kind: str | None, id: str | None, text: str, where: str | None, audit: bool) -> None:
    searched = [kind] if kind in KINDS else list(KINDS)
    if where:
        listing = catalog_listing.parts_where(shelves, searched, where)
    elif audit:
        listing = catalog_listing.audit(shelves, searched)
    elif kind is None:
        listing = catalog_listing.kinds(shelves)
    elif kind in KINDS and text == kind:
        listing = catalog_listing.parts_of(shelves, kind)
    else:
        listing, number = catalog_listing.parts_named(shelves, text, kind, id)
        if number != text:
            complain(f"Read as {number}.")
    Output().give(listing, language())


def _write_model(config: str, output: str | None) -> None:
    refuse_overwriting(output, config)
    choose_form(None, output, ("yaml",), suffixes={"yaml": SUFFIXES})
    content = read_given(config, "configuration")
    with ends_on_errors(lambda _: content.decode("utf-8", "replace")):
        model = read_model(read_config(decoded(content, config), config), Path(output or config).stem)
    print_problems(model.problems)
    Output(file=output).write(part_file(model))


# schema -------------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("name", type=click.Choice(SCHEMAS), default="plan")
@click.argument("kind", required=False, shell_complete=proposed("part_kinds"))
@option("--with-catalog", "Plans: offer the ids of the catalogue, for editors.")
@option("--parts DIR", "Plans: also offer the ids of a part folder; repeatable.", multiple=True, type=FOLDER)
def schema(name: str, kind: str | None, with_catalog: bool, parts: tuple[str, ...]) -> None:
    """Print a JSON Schema: of plans, bom.json, price books, differences, x-rays, or part files (of a KIND, or of all).

    `base` is that of files which plans extend: a plan whose keys may all be missing.
    """
    if (with_catalog or parts) and name not in OF_PLANS:
        raise click.UsageError(f"the schema '{name}' has no ids; --with-catalog and --parts are for those of plans")
    kinds = sorted(path.name.removesuffix(".schema.json") for path in (folder("schemas") / "part").glob("*.json"))
    if kind is not None and name == "part" and kind not in kinds:
        raise click.UsageError(unknown("kind of part", kind, kinds))
    if with_catalog or parts:
        folders = {Path(part).resolve(): part.rstrip("/") for part in parts}
        with ends_on_errors(lambda name: Path(name).read_text("utf-8", "replace")):
            with_ids = catalog_listing.plan_schema(Catalog(tuple(folders), folders), name)
        printed = json.dumps(with_ids, indent=1, ensure_ascii=False)
    elif name in OF_PLANS:
        printed = json.dumps(with_defaults(name), indent=2, ensure_ascii=False)
    elif name == "part":
        any_kind = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "A part file of any kind",
            "anyOf": [{"$ref": f"#/$defs/{part}"} for part in kinds],
            "$defs": {part: as_definition(part, document(f"part/{part}")) for part in kinds if kind is None},
        }
        printed = json.dumps(document(f"part/{kind}") if kind else any_kind, indent=2, ensure_ascii=False)
    else:
        printed = text(folder("schemas") / f"{name}.schema.json")
    print_text(f"{printed.rstrip()}\n")

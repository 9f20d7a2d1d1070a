"""`bomgen catalog`: the parts, models and topologies in the catalogue."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bomgen.catalog.files import KINDS, MODEL, Catalog, UnknownPart
from bomgen.cli.documents import give, write_out
from bomgen.cli.messages import WRONG_PLAN, choose_form, complain, refuse_overwriting
from bomgen.cli.options import files, output_option, proposed, root_option
from bomgen.cli.problems import print_problems
from bomgen.core.diagnostics import PlanErrors, suggestion
from bomgen.core.language import language
from bomgen.core.messages import ENGLISH
from bomgen.core.safety import read_sent
from bomgen.core.work_budget import TooMuch, budget
from bomgen.core.yaml_source import SUFFIXES, decoded
from bomgen.fabric.declaration import topologies
from bomgen.reading.model_config import part_file, read_config, read_model
from bomgen.workflow import catalog_listing
from bomgen.workflow.catalog_listing import topologies_listed, topology


@click.command()
@click.argument("kind", required=False, shell_complete=proposed("kinds"))
@click.argument("id", required=False, shell_complete=proposed("ids"))
@click.option("--where", metavar="CONDITIONS", help="List the parts with these values: 'rate=800G fibre=single-mode'.")
@click.option(
    "--audit",
    is_flag=True,
    help="List facts that are missing, weakly sourced, outdated or contradictory; with --parts or --plan those of the "
    "user's files.",
)
@click.option(
    "--parts",
    "folders",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="Include a folder of parts; repeatable.",
)
@click.option("--plan", metavar="PLAN", shell_complete=proposed("plans"), help="Include the part folders of a plan.")
@click.option(
    "--from",
    "config",
    metavar="CONFIG",
    shell_complete=files,
    help="Write a model part from a checkpoint's config.json, in the form of Hugging Face.",
)
@output_option
@root_option
def catalog(
    kind: str | None,
    id: str | None,
    where: str | None,
    audit: bool,
    folders: tuple[str, ...],
    plan: str | None,
    config: str | None,
    output: str | None,
    root: str | None,
) -> None:
    """List the kinds of part, the parts of a KIND, or all that is known of one with its sources.

    Instead of a KIND any number that a vendor prints finds its part. `bomgen catalog model --from config.json -o
    parts/model/ID.yaml` writes a part that a plan with `catalog: [parts/]` uses.
    """
    if config is not None:
        if kind != MODEL or id or where or audit or folders or plan:
            raise click.UsageError("--from writes a model; write `bomgen catalog model --from CONFIG -o FILE`")
        _write_model(config, output)
        return
    if output is not None:
        raise click.UsageError("-o takes the part of `bomgen catalog model --from CONFIG`")
    if kind == "topology":
        _echo_topologies(id)
        return
    shelves = Catalog()
    try:
        if folders or plan:
            shelves = _with_folders(folders, plan, root)
        with budget():
            _echo_parts(shelves, kind, id, where, audit)
    except PlanErrors as errors:
        print_problems(errors.problems, lambda name: shelves.inputs.get(name, b"").decode("utf-8", "replace"))
        sys.exit(WRONG_PLAN)
    except TooMuch:
        raise click.UsageError("too many part files; `bomgen check` a part of the folder") from None
    except UnknownPart as error:
        raise click.UsageError(str(error) if kind in KINDS else _no_kind(str(kind))) from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _with_folders(folders: tuple[str, ...], plan: str | None, root: str | None) -> Catalog:
    """Return the catalogue with folders of parts, and after them those of a plan."""
    from bomgen.cli.plans import open_one_plan
    from bomgen.workflow.inputs import catalog_of, source_of
    from bomgen.workflow.part_folders import open_folders

    shelves = open_folders(folders, root)
    if plan:
        file = open_one_plan(plan, root)
        shelves = shelves.before(catalog_of(file, source_of(file, ())))
    return shelves


def _echo_parts(shelves: Catalog, kind: str | None, id: str | None, where: str | None, audit: bool) -> None:
    searched = [kind] if kind in KINDS else list(KINDS)
    if where:
        found = catalog_listing.parts_where(shelves, searched, where)
    elif audit:
        found = catalog_listing.audit(shelves, searched)
    elif kind is None:
        found = catalog_listing.kinds(shelves)
    elif kind not in KINDS:
        found, number = catalog_listing.parts_named(shelves, kind)
        if number != kind:
            complain(f"Read as {number}.")
    else:
        found = catalog_listing.parts_of(shelves, kind) if id is None else catalog_listing.part(shelves, kind, id)
    give(found, language(ENGLISH))


def _write_model(config: str, output: str | None) -> None:
    """Write the model part of a configuration. Ends the command if it is unreadable or no configuration."""
    refuse_overwriting(output, config)
    choose_form(None, output, ("yaml",), suffixes={"yaml": SUFFIXES})
    text = ""
    try:
        text = decoded(read_sent(Path(config)), config)
        found = read_model(read_config(text, config), Path(output or config).stem)
    except OSError as error:
        raise click.UsageError(f"cannot read the configuration '{config}': {error.strerror}") from None
    except PlanErrors as errors:
        print_problems(errors.problems, lambda _: text)
        sys.exit(WRONG_PLAN)
    print_problems(found.problems, lambda _: text)
    write_out(part_file(found), output)


def _no_kind(name: str) -> str:
    hint = suggestion(name, KINDS, f"there are {', '.join((*KINDS, 'topology'))}")
    return f"no kind of part and no part '{name}'; {hint}"


def _echo_topologies(name: str | None) -> None:
    if name is not None and name not in topologies():
        hint = suggestion(name, topologies(), f"there are {', '.join(topologies())}")
        raise click.UsageError(f"no topology '{name}'; {hint}")
    give(topology(name) if name else topologies_listed(), language(ENGLISH))

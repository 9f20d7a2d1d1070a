"""`bomgen init`: a new plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from bomgen.cli.command import QUIET, complain, is_set
from bomgen.cli.options import give, option, talk_options, write_new_file
from bomgen.cli.plans import show, working_on
from bomgen.core.document import Column, Document, Row, Section, Table, row_of
from bomgen.core.language import language
from bomgen.pricing.price_book import INDICATIVE
from bomgen.workflow import starters
from bomgen.workflow.pipeline import check_plan, size_plan
from bomgen.workflow.plan_files import PlanFile, open_plan
from bomgen.workflow.starters import (
    RULE,
    SCHEMA_FILE,
    Inquiry,
    designs,
    inquired,
    is_name,
    nearest_designs,
    nearest_name,
    started_from,
    starter,
)

COUNT = click.IntRange(min=1)


@click.command()
@click.argument("name", required=False)
@option("--from design DESIGN", "Start from a built-in design; see --list.", "designs")
@option("--list listed", "List the designs with their GPUs and titles; write nothing.")
@option("--gpu ID", "GPU of the cluster.", "gpus")
@option("--gpus N", "Number of GPUs; or use --servers or --racks.", type=COUNT)
@option("--servers N", "Number of servers.", type=COUNT)
@option("--racks N", "Number of racks of a rack-scale system.", type=COUNT)
@option("--server ID", "Server. [default: the default server for the GPU]", "servers")
@option("--topology NAME", "Topology of the fabric; needs --switch.", "topologies")
@option("--switch ID", "Switch of the compute fabric. [default: the cited default fabric]", "switches")
@option("--oversubscription R", "Oversubscription ratio, R to 1.", type=click.FloatRange(min=0, min_open=True))
@option("--extends FILE", "File that the plan extends, such as seller.yaml.", "files")
@option("--price-book FILE", "Price book. [default: indicative]", "files")
@option("--customer NAME", "Customer named on the quote.")
@option("--seller", "Write seller.yaml, the base of a seller's plans, instead of a plan.")
@talk_options
def init(name: str | None, design: str | None, listed: bool, seller: bool, **asked: Any) -> None:
    """Write NAME.yaml into the current folder: a commented plan that builds as it is.

    With --gpu it is the plan of an inquiry, which is checked before it is written; the server is the default one for
    the GPU, such as a DGX, unless --server names another, such as an HGX. Nothing is asked, and no file is ever
    written over. Where the schema of plans lies beside it (bomgen schema plan > bomgen.schema.json), the first
    line of the plan leads editors to it.
    """
    if listed:
        _echo_designs()
        return
    if seller:
        if name or design or any(value is not None for value in asked.values()):
            raise click.UsageError("--seller writes seller.yaml and no plan; remove the other options")
        write_new_file(starters.seller().encode(), "seller.yaml")
        return
    if name is None:
        raise click.UsageError("name the plan, such as `bomgen init my-cluster`; --list shows designs to start from")
    if not is_name(name):
        close = nearest_name(name)
        hint = f"; '{close}' is a valid name" if close else ""
        raise click.UsageError(f"'{name}' is not a valid plan name: {RULE}{hint}")
    if design is not None and design not in designs():
        near = nearest_designs(design)
        meant = " or ".join(f"'{candidate}'" for candidate in near)
        hint = f"did you mean {meant}?" if near else f"there are {', '.join(designs())}"
        raise click.UsageError(f"no design '{design}'; {hint}")
    beside = Path(SCHEMA_FILE).is_file()
    if any(value is not None for value in asked.values()):
        text = _checked(name, inquired(name, _inquiry(design, asked), beside))
        default, alternatives = starters.server_of(asked["gpu"]) or ("", ())
        if asked["server"] is None and alternatives and not is_set(QUIET):
            complain(f"server: {default}, the default; --server takes another: {', '.join(alternatives)}")
    else:
        text = started_from(design, name, beside) if design else starter(name, beside)
    write_new_file(text.encode(), f"{name}.yaml")


def _inquiry(design: str | None, asked: Mapping[str, Any]) -> Inquiry:
    """Return the inquiry of the options. Raises UsageError for options that contradict each other."""
    if design is not None:
        raise click.UsageError("--from starts from a design, --gpu from an inquiry; choose one")
    if asked["gpu"] is None:
        raise click.UsageError("specify the GPU of the inquiry, such as --gpu h200-sxm; see `bomgen catalog gpu`")
    counts = {key: asked[key] for key in ("gpus", "servers", "racks") if asked[key] is not None}
    if len(counts) != 1:
        raise click.UsageError("specify the size with one of --gpus, --servers and --racks")
    fabric = {key: asked[key] for key in ("topology", "switch", "oversubscription") if asked[key] is not None}
    if fabric and "switch" not in fabric:
        raise click.UsageError("specify the switch of the fabric, such as --switch sn5600; see `bomgen catalog switch`")
    server = {"server": asked["server"]} if asked["server"] else {}
    quote = {key: asked[key] for key in ("customer", "price_book") if asked[key] is not None}
    if not asked["extends"]:  # whose price book would be replaced
        quote.setdefault("price_book", INDICATIVE)
    return Inquiry({"gpu": asked["gpu"], **server, **counts}, fabric, quote, asked["extends"])


def _checked(name: str, text: str) -> str:
    """Return the text of a plan that can be built; otherwise report the problems and end the program."""
    here = Path.cwd()
    file = PlanFile(f"{name}.yaml", text.encode(), here, here)
    with working_on(file):
        problems = check_plan(file)
    show(problems, file)
    return text


def _echo_designs() -> None:
    words, rows = language("en"), list[Row]()
    for name, path in designs().items():
        clusters = size_plan(open_plan(str(path), str(path.parent)))
        counts = (f"{words.number(sizing.gpus.value)} x {plan.cluster.gpu.identity.name}" for plan, sizing in clusters)
        rows.append(row_of(name, ", ".join(counts), clusters[0][0].title))
    columns = (Column("design", "Design"), Column("gpus", "GPUs", "number"), Column("title", "Title"))
    section = Section("designs", "", tables=(Table("designs", "", columns, tuple(rows)),))
    give(Document("", words.code, (section,)), words)

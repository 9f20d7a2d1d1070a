"""New plans: a commented starter, a copy of a design in the package, and the designs that answer an inquiry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial, reduce
from itertools import chain
from math import ceil
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple

from bomgen.catalog.files import Catalog, Record
from bomgen.catalog.identity import identity
from bomgen.catalog.part_records import REFERENCE_PRECISION
from bomgen.catalog.parts import AVAILABLE, GENERIC
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.jobs import report_count
from bomgen.core.language import Language, language
from bomgen.core.messages import message, record_text
from bomgen.core.resources import folder
from bomgen.core.resources import text as own_text
from bomgen.core.safety import DEVICES
from bomgen.core.yaml_edit import CommentOn, set_value, write_scalar
from bomgen.core.yaml_source import Source, own, read
from bomgen.documents.offers import Changes, Offer
from bomgen.plan.schema import declaration_at
from bomgen.results.result import Report
from bomgen.workflow.inputs import Inputs, read_all
from bomgen.workflow.pipeline import work_out_variant
from bomgen.workflow.plan_files import PlanFile, extended

DEFAULT = "default"
KEY = "key"
"""What languages translate the comments on keys of a plan by: `key/site.rack`."""
STARTER_NAME = "my-cluster"
"""The name of the starter in its data and comments."""
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
NAME_LENGTH = 64
"""Maximum length of a plan's name, as in the plan schema."""
DATE = ("quote", "date")
"""The key of a plan that prices are as old by; `build` never takes it from the clock."""
USUAL_GPU = "b300-sxm"
"""The GPU of a new plan until another one is named."""
RULE = (
    f"lower-case letters, digits and hyphens, a letter or digit first, {NAME_LENGTH} characters at most, "
    "and no device of Windows"
)
OUTSIDE: Sequence[tuple[str, ...]] = (("quote", "price_book"), ("quote", "cost_book"), ("templates",))
"""Keys that name a file which a copy of a design does not include."""
OF_QUOTE: Mapping[tuple[str, ...], str] = {
    ("title",): "TITLE",
    ("quote", "customer"): "NAME",
    ("quote", "vendor"): "NAME",
    ("quote", "number"): "NUMBER",
}
"""Keys that say what the design's quote is called and whose it is, and what to write there for a new one."""
NEEDING = ("catalog", "extends")
"""Plan keys that depend on files which a copy would not have."""
SCHEMA_FILE = "bomgen.schema.json"
"""File name of the plan schema next to a plan, for editors."""
MODELINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
"""First line of a YAML file that names its schema for editors."""
_MODELINE = re.compile(r"\A# yaml-language-server:.*\n")


def is_name(name: str) -> bool:
    """Return whether a text is a valid plan name."""
    return bool(NAME.fullmatch(name)) and len(name) <= NAME_LENGTH and name not in DEVICES


def nearest_name(name: str) -> str | None:
    """Return the valid plan name closest to a text or to the end of a path; None if nothing remains."""
    end = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    words = re.findall(r"[a-z0-9]+", re.sub(r"\.ya?ml$", "", end.lower()))
    plan_name = "-".join(words)[:NAME_LENGTH].rstrip("-")
    return plan_name if is_name(plan_name) else None


def designs() -> dict[str, Path]:
    """Return the plans in the package, by name, that need no other files."""
    paths = {}
    for path in sorted(folder("plans").glob("*.yaml")):
        data = own(path, path.name).data
        if not data.keys() & NEEDING:
            paths[path.stem] = path
    return paths


class Inquiry(NamedTuple):
    """A customer inquiry in plan keys: values of the cluster and of its compute fabric."""

    cluster: Mapping[str, str | int]
    fabric: Mapping[str, str | Decimal]
    quote: Mapping[str, Any]
    extends: str | None = None


def inquired(name: str, asked: Inquiry, schema_beside: bool = False, words: Language | None = None) -> str:
    """Return the text of a plan for an inquiry, by default with English comments.

    Without fabric keys its compute fabric is the default one.
    """
    words = words or language()
    lines = [
        f"# {words.message(message('plan-builds', id=name))}",
        f"# {words.message(message('plan-lines'))}",
        "bomgen: 1",
        f"name: {write_scalar(name)}",
        f"#title: {words.message(message('plan-title'))}",
        *([f"extends: {write_scalar(asked.extends)}"] if asked.extends else []),
        "",
        f"cluster: {write_scalar(asked.cluster)}",
        "",
        "fabrics:",
        f"  compute: {write_scalar(asked.fabric) if asked.fabric else DEFAULT}",
        "  #storage: default",
        "  #in_band: default",
        "  #out_of_band: default",
        "",
        "#site: {rack: {units: 48, power: 40 kW}, layout: auto, pue: 1.3}",
    ]
    if asked.quote:
        lines += ["", "quote:", *(f"  {key}: {write_scalar(value)}" for key, value in asked.quote.items())]
    return _headed("\n".join(lines) + "\n", schema_beside, words)


def server_of(gpu: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the default server of a GPU of the catalogue, and the other servers with it; None if it has none."""
    catalog = Catalog()
    named = catalog.find("gpu", gpu).id
    default = catalog.default_server(named)
    if default is None:
        return None
    others = (record.id for record in catalog.records_where("server", "gpu", named))
    return default.id, tuple(sorted(id for id in others if id != default.id))


def seller() -> str:
    """Return the commented base file that all plans of one seller extend."""
    return own_text(folder("templates") / "seller.yaml")


def starter(name: str, schema_beside: bool = False) -> str:
    """Return the commented starter under a name; with `schema_beside` its first line names the schema for editors."""
    text = own_text(folder("templates") / "starter.yaml")
    return _headed(_renamed(text, name).replace(STARTER_NAME, name), schema_beside)


def started_from(design: str, name: str, schema_beside: bool = False) -> str:
    """Return the text of a design under another name, without the files, title, parties and number of its quote.

    Raises KeyError for an unknown design.
    """
    text = own_text(designs()[design])
    return _headed(_renamed(_comment_own(text), name), schema_beside)


def comments_in(words: Language) -> CommentOn:
    """Return what comments on a key of a plan, in a language, from its description in the schema."""
    return lambda path: words.message(record_text(declaration_at(path).comment, KEY, ".".join(map(str, path))))


def _headed(text: str, schema_beside: bool, words: Language | None = None) -> str:
    """Return a text with this schema line in place of an existing one, and today as the date of its quote."""
    text = set_value(text, DATE, date.today().isoformat(), comments_in(words or language()))
    return (MODELINE if schema_beside else "") + _MODELINE.sub("", text)


def _renamed(text: str, name: str) -> str:
    """Return the text of a plan under another name, with its comments unchanged, at their column."""
    source, value = read(text, "plan"), write_scalar(name)
    mark = source.mark(("name",))
    lines = text.splitlines(keepends=True)
    line = lines[mark.line - 1]
    before, old = line[: mark.column - 1], str(source.data["name"])
    rest = line[mark.column - 1 + len(old) :]
    if rest.lstrip(" ").startswith("#"):
        blanks = len(rest) - len(rest.lstrip(" ")) + len(old) - len(value)
        rest = " " * max(blanks, 1) + rest.lstrip(" ")
    lines[mark.line - 1] = before + value + rest
    return "".join(lines)


def _comment_own(text: str) -> str:
    source = read(text, "plan")
    lines = text.splitlines(keepends=True)
    for path in OUTSIDE:
        if path in source.keys:
            _comment_out(lines, source, path, "FILE    # one of your own, relative to this plan")
    for path, wanted in OF_QUOTE.items():
        if path in source.keys:
            _comment_out(lines, source, path, f"{wanted}    # of your quote")
    return "".join(lines)


def _comment_out(lines: list[str], source: Source, path: tuple[str, ...], note: str) -> None:
    mark = source.keys[path]
    line = lines[mark.line - 1]
    indent, key = mark.column - 1, path[-1]
    value = line[indent:].partition(":")[2].strip()
    held = reduce(getitem, path, source.data)
    if isinstance(held, dict):
        value = str(held["name"])
    for at in range(mark.line, len(lines)):
        below = lines[at]
        if below.strip() and len(below) - len(below.lstrip()) <= indent:
            break
        if below.strip():
            lines[at] = ""
    lines[mark.line - 1] = line[:indent] + f"#{key}: {note}; the design had {value}\n"


# inquiries ------------------------------------------------------------------------------------------------------------
# The answer to an inquiry: a few priced designs to choose from, and the other GPUs that meet it.
#
# An inquiry is a plan that may leave the GPU open; then the cheapest GPU that meets it is taken: by the total for a
# workload, for a number of GPUs or a bound by what a FLOPS costs. A GPU competes if it is sold, in a server of a maker,
# and calculates in FP8; those without a price come last. Every design is calculated as `build` does.

GPU, SERVER, SPARE_SERVERS = (f"cluster.{key}" for key in ("gpu", "server", "spare_servers"))
SIZES = frozenset(("gpus", "servers", "racks", "budget", "power"))
"""Keys of the cluster that say how large it is; without one the workload does."""
NEW_FORMAT = "fp8_tflops"
"""A figure of every GPU that is still made: generations without FP8, such as Ampere, are sold from stock or used."""
NO_MARGIN = "0%"
GROWTH = Fraction(3, 2)
"""The load that a design with room to grow carries, as a multiple of what was asked."""
MOST_OFFERS = 3
"""Designs that are put side by side."""


class Answer(NamedTuple):
    """The designs for an inquiry."""

    offers: tuple[Offer, ...]
    recommended: int
    """The index of the offer that is recommended."""
    others: tuple[Offer, ...]
    """A design with each other GPU, the cheapest first."""


def answer_inquiry(file: PlanFile) -> Answer:
    """Return the designs that answer a plan. Raises PlanErrors if it cannot be built."""
    file = file._replace(lock=None)
    data = extended(file, (), {}).data
    cluster: Mapping[str, Any] = data.get("cluster") or {} if isinstance(data, dict) else {}
    is_sized = bool(SIZES & cluster.keys())
    open_gpu = {} if cluster.get("gpu") or cluster.get("server") else {GPU: USUAL_GPU}
    inputs = read_all(file, _settings(open_gpu))
    designed = [*_design(inputs, "gpu", open_gpu)]
    others = [] if cluster.get("server") else [*_with_other_gpus(inputs, [offer.report for offer in designed])]
    cost = partial(_cost, is_sized)
    others.sort(key=cost)
    if open_gpu:
        designed = sorted([*designed, *others], key=cost)
        others = designed[1:]
    if not designed:
        work_out_variant(inputs)  # raises why
    first = designed[0]._replace(kind="asked" if is_sized else "smallest")
    priced = (offer for offer in others if offer.is_priced)
    vendors = (offer._replace(kind="vendor") for offer in priced if offer.gpu_vendor != first.gpu_vendor)
    is_service = first.kind == "smallest" and first.report.plan.inference is not None
    if is_service:  # without the margin for errors of the prediction, then with it
        without_margin = _design(inputs, "smallest", {**first.changes, f"{_workload(inputs)}.margin": NO_MARGIN})
        services = (*without_margin, first._replace(kind="recommended"))
    else:
        services = (first,)
    offers = {_size(offer): offer for offer in services}
    recommended = len(offers) - 1
    is_spared = not is_service and first.report.design.sizing.servers is not None
    spare = _design(inputs, "spare", {**first.changes, SPARE_SERVERS: 1}) if is_spared else ()
    for offer in chain(spare, _grown(inputs, first), vendors):  # each is designed when it is its turn
        offers.setdefault(_size(offer), offer)
        if len(offers) == MOST_OFFERS:
            break
    return Answer(tuple(offers.values()), recommended, tuple(others))


def _settings(changes: Changes) -> tuple[str, ...]:
    return tuple(f"{key}={value}" for key, value in changes.items())


def _design(inputs: Inputs, kind: str, changes: Changes) -> Iterator[Offer]:
    with suppress(PlanErrors):
        yield Offer(kind, changes, work_out_variant(read_all(inputs.file, _settings(changes), earlier=inputs)))


def _size(offer: Offer) -> tuple[object, ...]:
    """Return what two designs share only if they are the same."""
    report = offer.report
    return report.plan.cluster.gpu.identity.id, report.design.sizing.gpus.value, report.quote.totals.amount


def _cost(per_flops: bool, offer: Offer) -> tuple[bool, bool, Fraction]:
    """Return what orders designs: priced GPUs, then complete totals, then the total or what a FLOPS of it costs."""
    report, totals = offer.report, offer.report.quote.totals
    peak = report.plan.cluster.gpu.dense[REFERENCE_PRECISION] if per_flops else None
    shared_by = report.design.sizing.gpus.value * peak.value if peak else 1
    return not offer.is_priced, not totals.complete, Fraction(totals.amount) / shared_by


def _with_other_gpus(inputs: Inputs, designed: Sequence[Report]) -> Iterator[Offer]:
    sold = dict(sold_servers(inputs.catalog))
    for report in designed:
        sold.pop(report.plan.cluster.gpu.identity.id, None)
    for number, (gpu, server) in enumerate(sold.items()):
        report_count("designs", number, len(sold))
        yield from _design(inputs, "gpu", {GPU: gpu, SERVER: server.id})


def sold_servers(catalog: Catalog) -> Iterator[tuple[str, Record]]:
    """Yield each GPU that is sold with a server that has it: its default server, if a maker sells that."""
    for gpu in catalog.all("gpu"):
        if not gpu.value(NEW_FORMAT) or identity(gpu).availability != AVAILABLE:
            continue
        default = catalog.default_server(gpu.id)
        servers = [*([default] if default else []), *catalog.records_where("server", "gpu", gpu.id)]
        named = (server for server in servers if identity(server).vendor not in (None, GENERIC))
        server = next((server for server in named if identity(server).availability == AVAILABLE), None)
        if server:
            yield gpu.id, server


def _grown(inputs: Inputs, first: Offer) -> Iterator[Offer]:
    """Yield the design for a larger load, if the workload has one that determines the size."""
    plan = first.report.plan
    run, served = plan.reinforcement or plan.training, plan.inference
    if first.kind != "smallest":
        return
    if served and served.requests_per_minute:
        changes = {f"{_workload(inputs)}.requests_per_minute": ceil(served.requests_per_minute.value * GROWTH)}
    elif run and run.target_days:
        changes = {f"{_workload(inputs)}.target_days": f"{float(run.target_days.value / GROWTH):.3g}"}
    else:
        return
    yield from _design(inputs, "growth", {**first.changes, **changes})


def _workload(inputs: Inputs) -> str:
    return f"workload.{next(iter(inputs.source.data.get('workload') or ()), '')}"

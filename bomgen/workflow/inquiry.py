"""The answer to an inquiry: a few priced designs to choose from, and the other GPUs that meet it.

An inquiry is a plan that may leave the GPU open; then the cheapest GPU that meets it is taken. A GPU competes if it is
sold, in a server of a maker, has a price, and calculates in FP8. Every design is calculated as `build` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from math import ceil
from typing import Any, NamedTuple

from bomgen.catalog.files import Catalog, Record
from bomgen.catalog.identity import identity
from bomgen.catalog.parts import AVAILABLE, GENERIC
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.jobs import report_count
from bomgen.documents.offers import Changes, Offer
from bomgen.pricing.price_book import net_price
from bomgen.pricing.quote import unpriced_gpus
from bomgen.results.result import Report
from bomgen.workflow.inputs import Inputs, read_all
from bomgen.workflow.pipeline import part_names, work_out_variant
from bomgen.workflow.plan_files import PlanFile, extended
from bomgen.workflow.starters import USUAL_GPU

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
    open_gpu = {} if cluster.get("gpu") else {GPU: USUAL_GPU}
    inputs = read_all(file, _settings(open_gpu))
    designed = [*_design(inputs, "gpu", open_gpu)]
    others = [] if SERVER in cluster else [*_with_other_gpus(inputs, [offer.report for offer in designed])]
    others.sort(key=_cost)
    if open_gpu:
        designed = sorted([*designed, *others], key=_cost)
        others = designed[1:]
    if not designed:
        work_out_variant(inputs)  # raises why
    first = designed[0]._replace(kind="asked" if SIZES & cluster.keys() else "smallest")
    vendors = (offer._replace(kind="vendor") for offer in others if offer.gpu_vendor != first.gpu_vendor)
    is_service = first.kind == "smallest" and first.report.plan.inference is not None
    offers = {_size(offer): offer for offer in (_for_service(inputs, first) if is_service else (first,))}
    recommended = len(offers) - 1
    spare = () if is_service else _with_spare_server(inputs, first)
    for offer in chain(spare, _grown(inputs, first), vendors):  # each is designed when it is its turn
        offers.setdefault(_size(offer), offer)
        if len(offers) == MOST_OFFERS:
            break
    return Answer(tuple(offers.values()), recommended, tuple(others))


def _settings(changes: Changes) -> tuple[str, ...]:
    return tuple(f"{key}={value}" for key, value in changes.items())


def _design(inputs: Inputs, kind: str, changes: Changes) -> Iterator[Offer]:
    """Yield the design with changes of the plan, if it can be built."""
    with suppress(PlanErrors):
        yield Offer(kind, changes, work_out_variant(read_all(inputs.file, _settings(changes), earlier=inputs)))


def _size(offer: Offer) -> tuple[object, ...]:
    """Return what two designs share only if they are the same."""
    report = offer.report
    return report.plan.cluster.gpu.identity.id, report.design.sizing.gpus.value, report.quote.totals.amount


def _cost(offer: Offer) -> tuple[bool, Decimal]:
    totals = offer.report.quote.totals
    return not totals.complete, totals.amount


def _with_other_gpus(inputs: Inputs, designed: Sequence[Report]) -> Iterator[Offer]:
    """Yield a design with each GPU that competes and is in none of those that are designed already."""
    sold = dict(_sold(inputs.catalog))
    for report in designed:
        sold = {gpu: server for gpu, server in sold.items() if _has_price(report, gpu, server)}
        sold.pop(report.plan.cluster.gpu.identity.id, None)
    for number, (gpu, server) in enumerate(sold.items()):
        report_count("designs", number, len(sold))
        for offer in _design(inputs, "gpu", {GPU: gpu, SERVER: server.id}):
            if not unpriced_gpus(offer.report.quote.lines):
                yield offer


def _sold(catalog: Catalog) -> Iterator[tuple[str, Record]]:
    """Yield each GPU that is sold with a server that has it: its default server, if a maker sells that."""
    for gpu in Catalog().all("gpu"):
        if not gpu.value(NEW_FORMAT) or identity(gpu).availability != AVAILABLE:
            continue
        default = catalog.default_server(gpu.id)
        servers = [*([default] if default else []), *catalog.records_where("server", "gpu", gpu.id)]
        named = (server for server in servers if identity(server).vendor not in (None, GENERIC))
        server = next((server for server in named if identity(server).availability == AVAILABLE), None)
        if server:
            yield gpu.id, server


def _has_price(report: Report, gpu: str, server: Record) -> bool:
    """Return whether the price books of a plan have a price of a GPU or of its server."""
    parts = (("gpu", gpu), ("server", server.id))
    quoted, catalog = report.plan.quote, report.catalog
    return any(net_price(part_names(catalog, *part), part[0], 1, quoted, report.books) is not None for part in parts)


def _for_service(inputs: Inputs, first: Offer) -> Iterator[Offer]:
    """Yield a service without the margin for errors of the prediction, then with it."""
    yield from _design(inputs, "smallest", {**first.changes, f"{_workload(inputs)}.margin": NO_MARGIN})
    yield first._replace(kind="recommended")


def _with_spare_server(inputs: Inputs, first: Offer) -> Iterator[Offer]:
    """Yield the design with a server that replaces a failed one."""
    if first.report.design.sizing.servers is not None:
        yield from _design(inputs, "spare", {**first.changes, SPARE_SERVERS: 1})


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
    """Return the dotted key of the workload of a plan."""
    return f"workload.{next(iter(inputs.source.data.get('workload') or ()), '')}"

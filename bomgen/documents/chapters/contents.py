"""The report as a document: chapters and tables, in the language of the quote."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from math import ceil
from types import MappingProxyType

from bomgen import __version__
from bomgen.core.document import Cell, Document, Drawing, Note, Path, Section, group_by
from bomgen.core.language import Language
from bomgen.design.assembly import BuiltFabric
from bomgen.documents.chapters import evidence, money, site, sizing
from bomgen.documents.chapters.sizing import evidence_sentences, margin_sentences, serving_sentences
from bomgen.documents.charts import Chart, charts_of
from bomgen.documents.tables import Writer, sums_of
from bomgen.fabric.types import Fabric
from bomgen.plan.types import COMPUTE
from bomgen.results.result import Report

GPUS, POWER = ("cluster", "gpus"), ("site", "power_w")
OF_WORKLOAD = tuple(("workload", key) for key in ("gpus_required", "days", "requests_per_minute"))
OF_SERVERS = (("cluster", "servers"), ("cluster", "nics"))
SERVER, SWITCH = "server", "switch"
Drawings = Mapping[str, tuple[Drawing, ...]]
"""Drawings by the name of their cluster, which is empty for the only one of a plan."""
EMPTY: Drawings = MappingProxyType({})
"""No drawings."""
Draw = Callable[[Chart, str], Drawing]
"""A function that draws a chart under an id for HTML pages."""
Chapter = Callable[[Writer], Section | None]
"""A function that writes a chapter; None if the report has nothing for it."""
PROTECTED = "protected"
"""The plan's value for a workbook in which only input cells can be edited."""


def document(
    report: Report,
    language: Language,
    drawings: Drawings = EMPTY,
    of_racks: Drawings = EMPTY,
    draw: Draw | None = None,
    only: Collection[str] | None = None,
) -> Document:
    """Return the report for readers in a language.

    `drawings` are those of the fabrics, `of_racks` those of floor and racks; `draw` draws charts, which are omitted
    without it. `only` names the chapters to write.
    """
    writer, customer = Writer(report, language), report.plan.quote.customer
    clusters = writer.cluster_writers()
    chapters = _chapters(writer, clusters, drawings, of_racks)
    sections = [_write(of, chapter, draw) for of, id, chapter in chapters if only is None or id in only]
    return Document(
        title=report.plan.title,
        subtitle=writer.word("subtitle-customer", customer=customer.name) if customer else writer.word("subtitle"),
        language=language.code,
        facts=tuple(money.facts(writer)),
        headline=headline(writer, clusters),
        sections=tuple(section for section in sections if section is not None),
        totals=report.quote.totals,
        sums=sums_of(report.quote.totals, report.quote.lines, report.quote.indications, language),
        footer=language.word("footer", version=__version__, sha=report.sha256),
        parties=money.parties(writer),
        logo=report.logo,
        protected=report.plan.quote.workbook == PROTECTED,
    )


def headline(writer: Writer, clusters: Sequence[Writer]) -> tuple[tuple[str, Cell], ...]:
    """Return the key figures of a plan: those of the whole, if it has several clusters, and of each cluster."""
    known = [path for path in (GPUS, POWER) if writer.report.clusters and path in writer.numbers]
    whole = ((writer.label(path), writer.key_figure(path)) for path in known)
    return (*whole, *(fact for cluster in clusters for fact in _headline(cluster)))


def _headline(writer: Writer) -> Iterator[tuple[str, Cell]]:
    numbers: list[tuple[Path, str]] = [(path, writer.label(path)) for path in (GPUS, *OF_WORKLOAD, *OF_SERVERS)]
    for name in (built.plan.name for built in writer.report.design.fabrics):
        for path in (("fabrics", name, "switches", "total"), ("fabrics", name, "transceivers", "total")):
            numbers.append((path, writer.joined(writer.fabric_name(name), writer.label(path))))
        cables = writer.joined(writer.fabric_name(name), writer.word("headline-cables"))
        numbers.append((("fabrics", name, "cables_total"), cables))
    numbers.append((POWER, writer.label(POWER)))
    yield from ((writer.named(label), writer.key_figure(path)) for path, label in numbers if path in writer.numbers)


def _chapters(
    writer: Writer, clusters: Sequence[Writer], drawings: Drawings, of_racks: Drawings
) -> Iterator[tuple[Writer, str, Chapter]]:
    """Yield the chapters in their order, each with the writer of its plan or cluster."""
    of_plan: dict[str, Chapter] = {
        "summary": lambda writer: summary(writer, clusters),
        "costs": money.costs,
        "bill": money.bill,
        "order": money.order,
        "phases": money.phases,
        "alternatives": money.alternatives,
        "operation": money.operation,
        "terms": money.terms,
    }
    evidence_of_plan: dict[str, Chapter] = {
        "prices": money.prices,
        "assumptions": evidence.assumption_section,
        "checks": evidence.check_section,
        "sources": evidence.source_section,
        "derivations": lambda writer: evidence.derivation_section(writer, clusters),
    }
    yield from ((writer, id, chapter) for id, chapter in of_plan.items())
    for cluster in clusters:
        name = cluster.report.plan.cluster_name
        of_cluster: dict[str, Chapter] = {
            "serving": sizing.serving,
            "reinforcement": sizing.reinforcement,
            "sizing": sizing.sizing,
            "network": partial(site.network, drawings=drawings.get(name, ())),
            "choices": evidence.choices,
            "storage": sizing.storage,
            "site": site.site,
            "racks": partial(site.racks, drawings=of_racks.get(name, ())),
            "installation": site.installation,
            "acceptance": site.acceptance,
        }
        yield from ((cluster, id, chapter) for id, chapter in of_cluster.items())
    yield from ((writer, id, chapter) for id, chapter in evidence_of_plan.items())


def _write(writer: Writer, chapter: Chapter, draw: Draw | None) -> Section | None:
    """Return a chapter with its charts; with several clusters its titles name that of the writer."""
    section, name = chapter(writer), writer.report.plan.cluster_name
    if section is None:
        return None
    if draw:
        charts = charts_of(writer, section.id)
        drawn = (draw(chart, f"{chart.id}.{name}" if name else chart.id) for chart in charts)
        section = replace(section, drawings=(*drawn, *section.drawings))
    if not name:
        return section
    tables = (replace(table, id=f"{table.id}.{name}", title=writer.named(table.title)) for table in section.tables)
    return replace(section, id=f"{section.id}.{name}", title=writer.named(section.title), tables=tuple(tables))


# summary ------------------------------------------------------------------------------------------------------------
# The summary: the proposal in sentences, and every warning.


def summary(writer: Writer, clusters: Sequence[Writer]) -> Section:
    """Return the chapter with the proposal for each cluster of the plan and every warning."""
    notes = tuple(
        Note("warning", writer.language.message(problem.message), problem.mark.recorded)
        for problem in writer.report.problems
    )
    text = tuple(cluster.named(sentence) for cluster in clusters for sentence in sentences(cluster))
    return Section("summary", writer.word("section-summary"), text=text, notes=notes)


def _count_ports(fabric: Fabric) -> int:
    """Return the ports that a fabric connects: its endpoints, or those of its nodes where it has no switches."""
    ports = fabric.ports_per_server.value if fabric.switches.value == 0 else 1
    return int(fabric.endpoints.value * ports)


def summarize_cluster(writer: Writer) -> Iterator[str]:
    """Yield a few sentences about a cluster: bound of its size, sizing target with its margin, networks, storage."""
    yield from _bound(writer)
    yield from islice((*_training(writer), *_target(writer), *serving_sentences(writer)), 1)
    yield from margin_sentences(writer)
    yield from evidence_sentences(writer)
    networks = [
        writer.word(
            "quote-network",
            name=writer.name_network(built.plan),
            topology=writer.language.value(built.fabric.topology, "word"),
            ports=writer.language.value(_count_ports(built.fabric), "ports"),
            gbps=writer.language.number(built.fabric.links[0].rate_gbps.value),
        )
        for built in writer.report.design.fabrics
    ]
    if networks:
        yield writer.word("quote-networks", networks=writer.word("list-semicolon").join(networks))
    yield from _storage(writer)


def sentences(writer: Writer) -> Iterator[str]:
    """Yield the proposal in sentences with its numbers."""
    yield summarize_machines(writer)
    yield from _bound(writer)
    yield from _training(writer)
    yield from _target(writer)
    pods, chips = writer.report.design.sizing.pods, writer.report.plan.cluster.gpu.pod_chips
    if pods and chips:
        number = writer.language.number
        yield writer.word("sentence-pods", pods=number(pods.value), chips=number(chips.value))
    yield from serving_sentences(writer)
    for built in writer.report.design.fabrics:
        yield from _direct(writer, built) if built.plan.switchless else (_fabric(writer, built),)
    yield from _storage(writer)


def _storage(writer: Writer) -> Iterator[str]:
    """Yield a sentence about the storage that is sold: its parts, capacity and bandwidth, and what was requested."""
    stored = writer.report.design.sizing.stored
    if stored is None or not stored.units:
        return
    number, word = writer.language.number, writer.word
    names = [(number(part.number.value), writer.language.message(part.of.identity.name)) for part in stored.units]
    facts = [word("list-comma").join(word("storage-units", count=count, name=name) for count, name in names)]
    capacities = (
        ("storage-usable", stored.sold_capacity_bytes),
        ("storage-requested", stored.capacity_bytes),
    )
    rates = (("storage-read", stored.delivered_read), ("storage-write", stored.delivered_write))
    for group in (capacities, rates):
        known = [word(key, value=writer.shown(figure)) for key, figure in group if figure]
        facts += [word("list-comma").join(known)] if known else []
    yield word("sentence-storage", facts=word("list-semicolon").join(facts))


def summarize_machines(writer: Writer) -> str:
    """Return the sentence about the GPUs and servers of a cluster."""
    sizing, cluster = writer.report.design.sizing, writer.report.plan.cluster
    number = writer.language.number
    values = {"gpus": number(sizing.gpus.value), "gpu": cluster.gpu.identity.name}
    if not (sizing.servers and cluster.server):
        return writer.word("sentence-gpus", **values)
    server = writer.language.message(cluster.server.identity.name)
    if cluster.server.gpu_slots:  # its name ends with its cards, which the sentence has said
        server = re.split("[,（]", server)[0]
    values |= {"servers": number(sizing.servers.value), "server": server}
    if not cluster.server.trays:
        return writer.word("sentence-servers", **values)
    racks = number(ceil(sizing.servers.value / cluster.server.trays.value))
    return writer.word("sentence-racks", racks=racks, **values)


def describe_cluster(writer: Writer) -> str:
    """Return what a cluster is, on one line: servers, compute network, storage, racks.

    Where no servers are offered: the pieces of each category, and the existing network that they are for.
    """
    word, number, design = writer.word, writer.language.number, writer.report.design
    lines = [line for line in writer.report.bill.lines if not line.charge]
    if writer.report.plan.scope is not None or (lines and all(line.category != SERVER for line in lines)):
        parts = word("list-comma").join(count_categories(writer, ((line.category, line.pieces) for line in lines)))
        existing = (line for line in writer.report.bill.existing if line.category in (SERVER, SWITCH))
        names = count_categories(writer, ((line.category, line.pieces) for line in existing))
        return word("quote-headline-existing", offered=parts, existing=word("list-and").join(names)) if names else parts
    said = [summarize_machines(writer).rstrip(".。")]
    if design.plan.left_out or design.plan.no_compute:
        said.append(word("quote-headline-no-fabric"))
    for built in design.fabrics:
        if built.plan.switchless and built.attachment:
            links = built.fabric.links[0]
            counts = {"links": number(links.count.value), "rate": number(links.rate_gbps.value)}
            said.append(word("quote-headline-port-to-port", **counts))
        if built.plan.role == COMPUTE and built.fabric.tiers:
            held = (line for line in writer.report.bill.existing if line.fabric == built.plan.name)
            bought = built.fabric.switches.value - sum(line.pieces for line in held if line.category == SWITCH)
            said.append(
                word(
                    "quote-headline-fabric",
                    rate=number(built.fabric.links[0].rate_gbps.value),
                    topology=writer.language.value(built.fabric.topology, "word"),
                    switches=number(bought or built.fabric.switches.value),
                    switch=writer.language.message(built.fabric.tiers[0].switch.identity.name),
                )
            )
    stored = design.sizing.stored
    if stored and stored.sold_capacity_bytes:
        said.append(word("quote-headline-storage", capacity=writer.shown(stored.sold_capacity_bytes)))
    if design.facility.racks and writer.report.plan.scope is None:
        said.append(writer.shown(design.facility.racks))
    return word("list-semicolon").join(said)


def count_categories(writer: Writer, pieces: Iterable[tuple[str, int | Fraction]]) -> list[str]:
    """Return the sum of the pieces of each category, as it stands within a sentence."""
    names = []
    for category, of_category in group_by(pieces, lambda line: line[0]).items():
        name = writer.word(f"category-{category}")
        name = name if name[:2].isupper() else name[:1].lower() + name[1:]
        count = sum(number for _, number in of_category)
        name = writer.language.one.get(name, name) if count == 1 else name
        names.append(writer.word("quote-headline-pieces", count=writer.language.number(count), name=name))
    return names


def _bound(writer: Writer) -> Iterator[str]:
    for key, sized in (("sentence-groups", False), ("sentence-prefill-servers", True)):
        names = [
            writer.word(
                "quote-required-part", name=server.identity.name, count=writer.language.number(group.servers.value)
            )
            for group in writer.report.plan.groups
            if group.sized is sized and (server := group.cluster.server)
        ]
        if names:
            yield writer.word(key, groups=writer.word("list-comma").join(names))
    if why := writer.report.plan.cluster.why_largest:
        yield writer.language.message(why)


def _training(writer: Writer) -> Iterator[str]:
    sizing, plan, shown, number = writer.report.design.sizing, writer.report.plan, writer.shown, writer.language.number
    training, learning, run, step = plan.training, plan.reinforcement, sizing.run, sizing.reinforced
    if not (training and run and sizing.days):
        return
    days, tokens, tuning = shown(sizing.days), shown(training.tokens), training.tuning
    low, high = (writer.numbers.get(("workload", f"days_{end}")) for end in ("low", "high"))
    if low and high:
        days = writer.word("days-between", days=days, low=shown(low), high=shown(high))
    of_run = {"model": training.model.identity.name, "parameters": shown(run.parameters), "days": days}
    if learning and step:
        yield writer.word(
            "sentence-reinforcement",
            steps=number(learning.steps.value),
            method=writer.language.value(learning.method.value, "word"),
            responses=number(learning.prompts.value * learning.responses.value),
            step=shown(step.step.seconds),
            low=shown(step.step.low),
            high=shown(step.step.high),
            **of_run,
        )
        return
    if training.epochs.value != 1:
        tokens = writer.word("tokens-epochs", tokens=tokens, epochs=number(training.epochs.value))
    yield writer.word(
        "sentence-tuning" if tuning else "sentence-training",
        method=writer.language.value(f"method-{tuning.method.value}", "word") if tuning else "",
        trainable=shown(sizing.trainable_parameters) if sizing.trainable_parameters else "",
        tokens=tokens,
        mfu=shown(run.mfu),
        peak=shown(run.peak_flops_per_gpu),
        precision=writer.language.value(training.precision.value, "word"),
        **of_run,
    )


def _target(writer: Writer) -> Iterator[str]:
    sizing, plan, shown = writer.report.design.sizing, writer.report.plan, writer.shown
    target, reached = sizing.target, sizing.peak_flops
    if target and target.gpu_hours and sizing.days:
        yield writer.word("sentence-gpu-hours", hours=shown(target.gpu_hours), days=shown(sizing.days))
    elif plan.compute and target and target.target_flops and target.peak_flops_per_gpu and reached:
        yield writer.word(
            "sentence-target",
            reached=shown(reached),
            target=shown(target.target_flops),
            peak=shown(target.peak_flops_per_gpu),
            precision=writer.language.value(plan.compute.precision.value, "word"),
            sparsity=writer.language.value(plan.compute.sparsity.value, "word"),
        )


def _fabric(writer: Writer, built: BuiltFabric) -> str:
    planes, number = built.plan.planes.value, writer.language.number
    return writer.word(
        "sentence-fabric-planes" if planes > 1 else "sentence-fabric",
        planes=number(planes),
        name=writer.fabric_title(built.plan.name),
        topology=writer.language.value(built.fabric.topology, "word"),
        endpoints=writer.language.value(built.fabric.endpoints.value, "endpoints"),
        gbps=number(built.fabric.links[0].rate_gbps.value),
        switches=writer.describe_switches(built),
    )


def _direct(writer: Writer, built: BuiltFabric) -> Iterator[str]:
    fabric, number = built.fabric, writer.language.number
    counts = {"links": number(fabric.links[0].count.value), "gbps": number(fabric.links[0].rate_gbps.value)}
    if built.attachment:
        yield writer.word("sentence-port-to-port", name=writer.fabric_title(built.plan.name), **counts)
        return
    shape = " × ".join(number(figure.value) for figure in fabric.dimensions.values())
    yield writer.word(
        "sentence-direct",
        name=writer.fabric_title(built.plan.name),
        topology=writer.language.value(fabric.topology, "word"),
        dimensions=f"{number(fabric.planes.value)} × ({shape})" if fabric.planes else shape,
        endpoints=number(fabric.endpoints.value),
        **counts,
    )
    circuits = {key: number(figure.value) for key, figure in fabric.circuits.items()}
    yield writer.word("sentence-circuits" if circuits else "sentence-no-circuits", **circuits)

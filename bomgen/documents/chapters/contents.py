"""The report as a document: chapters and tables, in the language of the quote."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from math import ceil
from types import MappingProxyType

from bomgen import __version__
from bomgen.core.document import Cell, Document, Drawing, Note, Path, Section
from bomgen.core.language import Language
from bomgen.core.provenance import Figure
from bomgen.design.assembly import BuiltFabric
from bomgen.documents.chapters import acceptance, evidence, money, site, sizing
from bomgen.documents.chapters.sizing import margin_sentences, serving_sentences
from bomgen.documents.chapters.writer import Writer
from bomgen.documents.charts import OF_CLUSTER, OF_PLAN, Chart, Charts, charts_of
from bomgen.documents.tables import sums_of
from bomgen.results.result import Report

GPUS, POWER = ("cluster", "gpus"), ("site", "power_w")
OF_WORKLOAD = tuple(("workload", key) for key in ("gpus_required", "days", "requests_per_minute"))
OF_SERVERS = (("cluster", "servers"), ("cluster", "nics"))
EMPTY: Mapping[str, tuple[Drawing, ...]] = MappingProxyType({})
"""No drawings."""
Draw = Callable[[Chart, str], Drawing]
"""A function that draws a chart under an id for HTML pages."""
Write = Callable[[], Section | None]
Chapter = Callable[[Writer], Section | None]
"""A function that writes a chapter; None if the report has nothing for it."""
PROTECTED = "protected"
"""The plan's value for a workbook in which only input cells can be edited."""


def document(
    report: Report,
    language: Language,
    drawings: Mapping[str, tuple[Drawing, ...]] = EMPTY,
    of_racks: Mapping[str, tuple[Drawing, ...]] = EMPTY,
    draw: Draw | None = None,
    only: Collection[str] | None = None,
) -> Document:
    """Return the report for readers in a language.

    `drawings` are those of the fabrics per cluster name, `of_racks` those of floor and racks; `draw` draws charts,
    which are omitted without it. The name of the only cluster of a plan is empty. `only` names the chapters to write.
    """
    writer, customer = Writer(report, language), report.plan.quote.customer
    clusters = writer.cluster_writers()
    chapters = _chapters(writer, clusters, drawings, of_racks, draw)
    sections = [write() for id, write in chapters if only is None or id in only]
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
    writer: Writer,
    clusters: Sequence[Writer],
    drawings: Mapping[str, tuple[Drawing, ...]],
    of_racks: Mapping[str, tuple[Drawing, ...]],
    draw: Draw | None,
) -> Iterator[tuple[str, Write]]:
    """Yield the chapters in their order, each with the function that writes it if it has anything to say."""

    def drawn(chapter: Chapter) -> Write:
        return lambda: _with_charts(writer, chapter(writer), OF_PLAN, draw)

    yield "summary", lambda: summary(writer, clusters)
    yield "costs", drawn(money.costs)
    yield "bill", lambda: Section("bill", writer.word("section-bill"), tables=(money.bill_table(writer),))
    yield "order", lambda: money.order(writer)
    yield "alternatives", drawn(money.alternatives)
    yield "operation", lambda: money.operation(writer)
    yield "terms", lambda: money.terms(writer)
    for cluster in clusters:
        for id, chapter in _of_cluster(cluster.report.plan.cluster_name, drawings, of_racks).items():
            yield id, partial(_cluster_chapter, cluster, chapter, draw)
    yield "prices", lambda: money.prices(writer)
    yield "assumptions", lambda: evidence.assumption_section(writer)
    yield "checks", lambda: evidence.check_section(writer)
    yield "sources", lambda: evidence.source_section(writer)
    yield "derivations", lambda: evidence.derivation_section(writer, clusters)


def _of_cluster(
    name: str, drawings: Mapping[str, tuple[Drawing, ...]], of_racks: Mapping[str, tuple[Drawing, ...]]
) -> dict[str, Chapter]:
    return {
        "serving": sizing.serving,
        "reinforcement": sizing.reinforcement,
        "sizing": sizing.sizing,
        "network": lambda cluster: site.network(cluster, drawings.get(name, ())),
        "choices": evidence.choices,
        "storage": sizing.storage,
        "site": site.site,
        "racks": lambda cluster: site.racks(cluster, of_racks.get(name, ())),
        "installation": site.installation,
        "acceptance": acceptance.acceptance,
    }


def _cluster_chapter(cluster: Writer, chapter: Chapter, draw: Draw | None) -> Section | None:
    """Return a chapter of a cluster; with several clusters its titles name the cluster."""
    section, name = _with_charts(cluster, chapter(cluster), OF_CLUSTER, draw), cluster.report.plan.cluster_name
    if section is None or not name:
        return section
    tables = (replace(table, id=f"{table.id}.{name}", title=cluster.named(table.title)) for table in section.tables)
    return replace(section, id=f"{section.id}.{name}", title=cluster.named(section.title), tables=tuple(tables))


def _with_charts(
    writer: Writer, section: Section | None, of: Mapping[str, tuple[Charts, ...]], draw: Draw | None
) -> Section | None:
    if section is None or draw is None:
        return section
    name = writer.report.plan.cluster_name
    drawn = (draw(chart, f"{chart.id}.{name}" if name else chart.id) for chart in charts_of(writer, section.id, of))
    return replace(section, drawings=(*drawn, *section.drawings))


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


def summarize_cluster(writer: Writer) -> Iterator[str]:
    """Yield a few sentences about a cluster: bound of its size, sizing target with its margin, networks, storage."""
    yield from _bound(writer)
    yield from islice((*_training(writer), *_target(writer), *serving_sentences(writer)), 1)
    yield from margin_sentences(writer)
    networks = [
        writer.word(
            "quote-network",
            name=writer.fabric_name(built.plan.name),
            topology=writer.language.value(built.fabric.topology, "word"),
            endpoints=writer.language.number(built.fabric.endpoints.value),
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
    values |= {
        "servers": number(sizing.servers.value),
        "server": writer.language.message(cluster.server.identity.name),
    }
    if not cluster.server.trays:
        return writer.word("sentence-servers", **values)
    racks = number(ceil(sizing.servers.value / cluster.server.trays.value))
    return writer.word("sentence-racks", racks=racks, **values)


def _bound(writer: Writer) -> Iterator[str]:
    if groups := writer.report.plan.groups:
        names = (
            writer.word(
                "quote-required-part", name=server.identity.name, count=writer.language.number(group.servers.value)
            )
            for group in groups
            if (server := group.cluster.server)
        )
        yield writer.word("sentence-groups", groups=writer.word("list-comma").join(names))
    if why := writer.report.plan.cluster.why_largest:
        yield writer.language.message(why)


def _training(writer: Writer) -> Iterator[str]:
    sizing, training = writer.report.design.sizing, writer.report.plan.training
    learning, step = writer.report.plan.reinforcement, sizing.reinforced
    if training and learning and step and sizing.run and sizing.days:
        yield writer.word(
            "sentence-reinforcement",
            steps=writer.language.number(learning.steps.value),
            method=writer.language.value(learning.method.value, "word"),
            model=training.model.identity.name,
            parameters=writer.shown(sizing.run.parameters),
            days=_days(writer, sizing.days),
            responses=writer.language.number(learning.prompts.value * learning.responses.value),
            step=writer.shown(step.step.seconds),
            low=writer.shown(step.step.low),
            high=writer.shown(step.step.high),
        )
    elif training and sizing.run and sizing.days:
        tokens = writer.shown(training.tokens)
        if training.epochs.value != 1:
            tokens = writer.word("tokens-epochs", tokens=tokens, epochs=writer.language.number(training.epochs.value))
        yield writer.word(
            "sentence-tuning" if training.tuning else "sentence-training",
            method=writer.language.value(f"method-{training.tuning.method.value}", "word") if training.tuning else "",
            trainable=writer.shown(sizing.trainable_parameters) if sizing.trainable_parameters else "",
            model=training.model.identity.name,
            parameters=writer.shown(sizing.run.parameters),
            tokens=tokens,
            days=_days(writer, sizing.days),
            mfu=writer.shown(sizing.run.mfu),
            peak=writer.shown(sizing.run.peak_flops_per_gpu),
            precision=writer.language.value(training.precision.value, "word"),
        )


def _days(writer: Writer, days: Figure) -> str:
    """Return the duration of a run, with its interval where it is predicted."""
    low, high = (writer.numbers.get(("workload", f"days_{end}")) for end in ("low", "high"))
    if low is None or high is None:
        return writer.shown(days)
    return writer.word("days-between", days=writer.shown(days), low=writer.shown(low), high=writer.shown(high))


def _target(writer: Writer) -> Iterator[str]:
    sizing, compute = writer.report.design.sizing, writer.report.plan.compute
    target, reached = sizing.target, sizing.peak_flops
    if target and target.gpu_hours and sizing.days:
        hours, days = writer.shown(target.gpu_hours), writer.shown(sizing.days)
        yield writer.word("sentence-gpu-hours", hours=hours, days=days)
    elif compute and target and target.target_flops and target.peak_flops_per_gpu and reached:
        yield writer.word(
            "sentence-target",
            reached=writer.shown(reached),
            target=writer.shown(target.target_flops),
            peak=writer.shown(target.peak_flops_per_gpu),
            precision=writer.language.value(compute.precision.value, "word"),
            sparsity=writer.language.value(compute.sparsity.value, "word"),
        )


def _fabric(writer: Writer, built: BuiltFabric) -> str:
    planes, number = built.plan.planes.value, writer.language.number
    return writer.word(
        "sentence-fabric-planes" if planes > 1 else "sentence-fabric",
        planes=number(planes),
        name=writer.fabric_title(built.plan.name),
        topology=writer.language.value(built.fabric.topology, "word"),
        endpoints=number(built.fabric.endpoints.value),
        gbps=number(built.fabric.links[0].rate_gbps.value),
        switches=writer.describe_switches(built),
    )


def _direct(writer: Writer, built: BuiltFabric) -> Iterator[str]:
    fabric, number = built.fabric, writer.language.number
    shape = " × ".join(number(figure.value) for figure in fabric.dimensions.values())
    yield writer.word(
        "sentence-direct",
        name=writer.fabric_title(built.plan.name),
        topology=writer.language.value(fabric.topology, "word"),
        dimensions=f"{number(fabric.planes.value)} × ({shape})" if fabric.planes else shape,
        endpoints=number(fabric.endpoints.value),
        links=number(fabric.links[0].count.value),
        gbps=number(fabric.links[0].rate_gbps.value),
    )
    circuits = {key: number(figure.value) for key, figure in fabric.circuits.items()}
    yield writer.word("sentence-circuits" if circuits else "sentence-no-circuits", **circuits)

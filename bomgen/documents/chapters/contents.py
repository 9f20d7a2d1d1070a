"""The report as a document: chapters and tables, in the language of the quote."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from bomgen import __version__
from bomgen.core.document import Cell, Document, Drawing, Path, Section
from bomgen.core.language import Language
from bomgen.documents.chapters import alternatives, build, evidence, money, serving, site, sizing, summary
from bomgen.documents.chapters.writer import Writer
from bomgen.documents.charts import OF_CLUSTER, OF_PLAN, Chart, Charts, charts_of
from bomgen.documents.totals import sums_of
from bomgen.results.result import Report

GPUS, POWER = ("cluster", "gpus"), ("site", "power_w")
OF_WORKLOAD = tuple(("workload", key) for key in ("gpus_required", "days", "requests_per_minute"))
OF_SERVERS = (("cluster", "servers"), ("cluster", "nics"))
COUNTED = ("GPUs", "NICs", "servers", "switches", "pieces")
"""Units that the label of a key figure already names."""
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
    whole = ((writer.label(path), _key_figure(writer, path)) for path in known)
    return (*whole, *(fact for cluster in clusters for fact in _headline(cluster)))


def _headline(writer: Writer) -> Iterator[tuple[str, Cell]]:
    numbers: list[tuple[Path, str]] = [(path, writer.label(path)) for path in (GPUS, *OF_WORKLOAD, *OF_SERVERS)]
    for name in (built.plan.name for built in writer.report.design.fabrics):
        for path in (("fabrics", name, "switches", "total"), ("fabrics", name, "transceivers", "total")):
            numbers.append((path, writer.joined(writer.fabric_name(name), writer.label(path))))
        cables = writer.joined(writer.fabric_name(name), writer.word("headline-cables"))
        numbers.append((("fabrics", name, "cables_total"), cables))
    numbers.append((POWER, writer.label(POWER)))
    yield from ((writer.named(label), _key_figure(writer, path)) for path, label in numbers if path in writer.numbers)


def _key_figure(writer: Writer, path: Path) -> Cell:
    """Return a number as a cell; a prediction, whose interval is in numbers of its own, with that as its range."""
    cell, (*above, key) = writer.cell(path), path
    if cell.unit in COUNTED:
        cell = replace(cell, unit="count")
    for names in ((f"{key}_low",), (f"{key}_high",)), ((f"{key}_range", "low"), (f"{key}_range", "high")):
        ends = [writer.numbers[end] for name in names if (end := (*above, *name)) in writer.numbers]
        if cell.estimate is None and len(ends) == len(names):
            cell = replace(cell, estimate=(ends[0].value, ends[1].value))
    return cell


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

    yield "summary", lambda: summary.summary(writer, clusters)
    yield "costs", drawn(money.costs)
    yield "bill", lambda: Section("bill", writer.word("section-bill"), tables=(build.bill_table(writer),))
    yield "order", lambda: build.order(writer)
    yield "alternatives", drawn(alternatives.alternatives)
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
        "serving": serving.serving,
        "reinforcement": serving.reinforcement,
        "sizing": sizing.sizing,
        "network": lambda cluster: build.network(cluster, drawings.get(name, ())),
        "choices": alternatives.choices,
        "storage": sizing.storage,
        "site": site.site,
        "racks": lambda cluster: site.racks(cluster, of_racks.get(name, ())),
        "installation": site.installation,
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

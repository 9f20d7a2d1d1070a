"""Inputs of documents: a report with its chapters and drawings, shared by the formats of one build."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from bomgen.core import progress as telling
from bomgen.core.document import Document, Drawing
from bomgen.core.language import Language, language
from bomgen.fabric.types import SERVER, Fabric
from bomgen.output.registry import DOCUMENTS, QUOTE
from bomgen.results.result import Report

if TYPE_CHECKING:
    from bomgen.documents.charts import Chart
    from bomgen.documents.diff.difference import Difference


class NamedFabric(NamedTuple):
    """A fabric for a drawing."""

    name: str
    """Name of the fabric in the plan, with its cluster as prefix if there are several."""
    fabric: Fabric
    servers: int | None
    """Number of attached servers; None if unknown."""
    existing: Mapping[str, int]
    """Switches by tier, and servers, that the customer has in use."""


class DocumentInputs:
    """A report that is written in several formats, with cached parts that formats share."""

    def __init__(self, report: Report, formats: Sequence[str], words: Language | None = None) -> None:
        """Hold a report, to be written in `words`, by default the language of its quote."""
        self.report, self.language = report, words or language(report.plan.quote.language)
        self._formats, self._stage = formats, ""
        self._pages: dict[str, bytes] = {}

    def begin(self, form: str) -> None:
        """Report the start of a format, for progress and timing."""
        self._stage = form
        telling.stage(form)

    @property
    def fabrics(self) -> Iterator[NamedFabric]:
        """Return the fabrics of every cluster."""
        return (fabric for cluster in self.report.each_cluster for fabric in _fabrics(cluster))

    @cached_property
    def quote(self) -> Document:
        """Return the quote, written from the customer's record only."""
        from bomgen.documents.chapters.writer import Writer
        from bomgen.documents.customer_quote.contents import quote_document
        from bomgen.documents.customer_quote.record import customer_quote

        telling.stage("quote")
        record = customer_quote(Writer(self.report, self.language))
        page = quote_document(record, self.language, self._fabrics_of_clusters, self._racks_of_clusters)
        telling.stage(self._stage)
        return page

    def expansion(self, difference: Difference) -> Document | None:
        """Return the quote of an expansion, where the report is the new side; None if it is not one."""
        from bomgen.documents.chapters.writer import Writer
        from bomgen.documents.customer_quote.contents import quote_document
        from bomgen.documents.customer_quote.expansion import expansion_quote

        record = expansion_quote(Writer(self.report, self.language), difference)
        return quote_document(record, self.language, self._fabrics_of_clusters, {}) if record else None

    @cached_property
    def page(self) -> Document:
        """Return the chapters of the report with their drawings."""
        telling.stage("chapters and drawings")
        page = self.chapters()
        telling.stage(self._stage)
        return page

    def chapters(self, only: Collection[str] | None = None) -> Document:
        """Return chapters of the report with their drawings; `only` names them, all without it."""
        from bomgen.documents.chapters.contents import document

        networks = self._fabrics_of_clusters if only is None or "network" in only else {}
        racks = self._racks_of_clusters if only is None or "racks" in only else {}
        return document(self.report, self.language, networks, racks, self._draw_chart, only)

    def document(self, kind: str) -> Document:
        """Return the quote or the report."""
        return self.quote if kind == QUOTE else self.page

    def html(self, kind: str) -> bytes:
        """Return the quote or the report as one HTML page."""
        from bomgen.output.markdown_html import html

        if kind not in self._pages:
            self._pages[kind] = html(self.document(kind), self.language)
        return self._pages[kind]

    @property
    def _fabrics_of_clusters(self) -> dict[str, tuple[Drawing, ...]]:
        return {
            cluster.plan.cluster_name: tuple(self._fabric_drawings(cluster)) for cluster in self.report.each_cluster
        }

    @property
    def _racks_of_clusters(self) -> dict[str, tuple[Drawing, ...]]:
        from bomgen.output.drawing.racks import metre_of

        clusters = self.report.each_cluster
        floors = [(each.elevations, each.plan.site) for each in clusters]
        metre = min((metre_of(racks, site) for racks, site in floors if racks and site), default=0.0)
        return {cluster.plan.cluster_name: _rack_drawings(cluster, self.language, metre) for cluster in clusters}

    def _draw_chart(self, chart: Chart, name: str) -> Drawing:
        from bomgen.output.drawing.charts import chart_svg

        svg = chart_svg(chart, name, self.language)
        data = replace(chart.data, id=name) if chart.data else None
        return Drawing(name, chart.title, svg, chart.text, data=data)

    def _fabric_drawings(self, report: Report) -> Iterator[Drawing]:
        """Yield the drawings of a cluster's fabrics, each with the file name that `svg` writes."""
        from bomgen.output.drawing.fabrics import fabric_svg

        file = DOCUMENTS.constant("svg", "FILE") if "svg" in self._formats else None
        for fabric in _fabrics(report):
            title = self.language.word("drawing-title", name=fabric.name)
            svg = fabric_svg(fabric.fabric, fabric.name, self.language, fabric.servers, existing=fabric.existing)
            yield Drawing(f"drawing-{fabric.name}", title, svg, title, file.format(name=fabric.name) if file else None)


def _fabrics(report: Report) -> Iterator[NamedFabric]:
    servers = report.design.sizing.servers
    for built in report.design.fabrics:
        name = _name_in_cluster(report, built.plan.name)
        number = None if servers is None else int(servers.value)
        yield NamedFabric(name, built.fabric, number, _existing(report, built.plan.name))


def _existing(report: Report, fabric: str) -> dict[str, int]:
    """Return the switches of a fabric by tier, and the servers, that the customer has in use."""
    found: dict[str, int] = {}
    for line in report.bill.existing:
        if line.category == SERVER or (line.category == "switch" and line.fabric == fabric):
            key = SERVER if line.category == SERVER else str(line.role)
            found[key] = found.get(key, 0) + int(line.quantity.value)
    return found


def _name_in_cluster(report: Report, name: str) -> str:
    """Return a name with its cluster as prefix if there are several."""
    return f"{report.plan.cluster_name}.{name}" if report.plan.cluster_name else name


def _rack_drawings(report: Report, words: Language, metre: float) -> tuple[Drawing, ...]:
    """Return the floor plan and front views of racks; the first of them mentions racks that are not drawn.

    `metre` is the scale of all floor plans of the document.
    """
    found, site = report.elevations, report.plan.site
    if found is None or site is None:
        return ()
    from bomgen.output.drawing.racks import floor_svg, rack_svgs, racks_to_draw
    from bomgen.results.elevations.types import left_out

    floor, text = words.word("drawing-floor"), words.word("drawing-racks-text")
    if missing := left_out(found, racks_to_draw(found)):
        text = words.word("drawing-racks-some", text=text, racks=missing)
    name, of_floor = _name_in_cluster(report, "racks"), _name_in_cluster(report, "floor")
    fronts = (
        Drawing(f"{name}-{number}", title, svg, text if number == 1 else title)
        for number, (title, svg) in enumerate(rack_svgs(found, words, name), 1)
    )
    plan = floor_svg(found, site, words, of_floor, metre)
    return (Drawing(of_floor, floor, plan, words.word("drawing-floor-text")), *fronts)

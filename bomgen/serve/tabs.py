"""What the page shows of results, without scripts: the tabs of a plan, comparisons, and pictures of designs.

The quote is in its own language, everything else in that of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bomgen.core.document import QUOTE, Cell, Column, Document, Drawing, Row, Section, Table
from bomgen.core.language import Language
from bomgen.output.markdown_html import html
from bomgen.output.registry import DocumentInputs
from bomgen.results.result import Report
from bomgen.serve.requests import language_of, plan_of
from bomgen.serve.workspace import Refused, Request, Workspace, open_design
from bomgen.workflow.pipeline import list_cables, work_out

Data = dict[str, Any]

CHAPTERS = {
    "network": ("network",),
    "racks": ("site", "racks", "installation"),
    "bill": ("bill", "costs", "order"),
    "prices": ("prices",),
}
"""The chapters of the report that a tab shows, by their ids."""
EMPTY = "ui-nothing-{tab}"
"""The word for a tab that has nothing to show."""
CABLES_SHOWN = 500
"""Cables that the list shows of each cluster; a download has all."""
CABLE_COLUMNS = ("fabric", "a_device", "a_port", "b_device", "b_port", "medium", "sku", "length_m", "label")
DRAWN, KINDS = ("network", "racks", "serving", "sizing"), ("drawing", "racks")
"""The chapters that may have a drawing of a design, and the kinds that are shown rather than a chart."""


def _quote_tab(source: DocumentInputs) -> str:
    return _page(source.quote, source.language)


def _report_tab(source: DocumentInputs) -> str:
    return _page(source.page, source.language)


def _chapter_tab(tab: str) -> Callable[[DocumentInputs], str]:
    """Return the function that shows some chapters of the report."""

    def show(source: DocumentInputs) -> str:
        page = source.chapters(CHAPTERS[tab])
        shown = replace(_part(source, page.sections or [_nothing(tab, source)]), sums=page.sums)
        return _page(shown, source.language)

    return show


def _nothing(tab: str, source: DocumentInputs) -> Section:
    """Return the section of a tab without chapters, which says what they would come from."""
    said = source.language.word(EMPTY.format(tab=tab), lines=source.report.quote.totals.lines)
    return Section(tab, source.language.word("ui-nothing"), text=(said,))


def _cables_tab(source: DocumentInputs) -> str:
    sections = [_cables(cluster, source.language) for cluster in source.report.each_cluster]
    return _page(_part(source, sections), source.language)


def _part(source: DocumentInputs, sections: Sequence[Section]) -> Document:
    return Document(source.report.plan.title, source.language.code, tuple(sections), totals=source.report.quote.totals)


def _page(document: Document, words: Language) -> str:
    return html(document, words, alone=False).decode("utf-8")


def _cables(report: Report, words: Language) -> Section:
    """Return the first cables of a cluster as a table; several clusters have each a list of its own."""
    from bomgen.output.wiring.columns import tables
    from bomgen.output.wiring.xlsx import columns as titled_columns

    wiring = list_cables(report).each_cable
    rows = list[Row]()
    for table in tables(wiring):
        columns = [table[name][: CABLES_SHOWN - len(rows)].tolist() for name in CABLE_COLUMNS]
        rows += (Row(tuple(map(Cell, values))) for values in zip(*columns, strict=True))
        if len(rows) >= CABLES_SHOWN:
            break
    titles = {column.source: column.title for column in titled_columns(words)} | {"fabric": words.word("wiring-fabric")}
    head = tuple(Column(name, titles[name], "number" if name == "length_m" else "text") for name in CABLE_COLUMNS)
    key = "ui-cables-first" if len(rows) < wiring.pieces else "ui-cables-all"
    title = words.word(key, shown=words.integer(len(rows)), all=words.integer(wiring.pieces))
    name = report.plan.cluster_name or ""
    listed = Table(f"cables.{name}" if name else "cables", title, head, tuple(rows), open=True)
    return Section(listed.id, name or words.word("wiring-cables"), tables=(listed,))


TABS: dict[str, Callable[[DocumentInputs], str]] = {
    QUOTE: _quote_tab,
    "report": _report_tab,
    **{tab: _chapter_tab(tab) for tab in CHAPTERS},
    "cables": _cables_tab,
}


# other views ---------------------------------------------------------------------------------------------------------


def compare_plans(workspace: Workspace, request: Request) -> Data:
    """Return a comparison of plans as a page. Raises PlanErrors for an invalid one."""
    from bomgen.documents.compare.comparison import compared, document
    from bomgen.output.drawing.charts import comparison_drawing

    if len(request["plans"]) < 2:
        raise Refused("name two or more plans to compare")
    reports = [work_out(plan_of(workspace, plan)) for plan in request["plans"]]
    words = language_of(request, reports[0].plan.quote.language)
    found = compared(reports, words, False)
    return {"html": _page(document(found, words, comparison_drawing(found, words)), words)}


def picture(workspace: Workspace, request: Request) -> Data:
    """Return the drawing of a design as the report has it: of its network, else of a rack, else its first chart."""
    opened, words = open_design(request["name"]), language_of(request)
    report = work_out(workspace.plan_file(opened["path"], opened["text"]))
    sections = DocumentInputs(report, (), words).chapters(DRAWN).sections
    drawings = [drawing for section in sections for drawing in section.drawings]
    return {"svg": min(drawings, key=_rank).svg if drawings else ""}


def _rank(drawing: Drawing) -> int:
    """Return the rank of a drawing by its kind; a chart comes last."""
    kind = drawing.id.partition("-")[0]
    return KINDS.index(kind) if kind in KINDS else len(KINDS)

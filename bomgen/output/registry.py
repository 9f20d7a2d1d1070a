"""The formats of files, named as `-f` names them: those of a table, and those of a folder, each of which is a module.

The command line, the library and the documentation list the folder, so a format is added by adding a module. Constants
of the module describe the format. A document imports its renderer inside `write`, because `build` imports every format
of a document to know the names of its files.

A document, a `Format` or a module of `output/formats/`, has

- `ABOUT`: its description, in one sentence;
- `FILE`: its file name, such as `bom.json`; with `{name}` there is a file per fabric, with `{kind}` one for the
  customer, the quote, and one for the engineer, the report;
- `BINARY`: whether a terminal cannot show it;
- `write(source)`: takes `DocumentInputs` and returns the bytes of the file, or for a file per fabric the bytes by
  fabric; for two kinds `write(source, kind)`;
- `PACKAGE`, if it needs one that bomgen does not: its name, as Python imports it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from bomgen.core.diagnostics import OutputError
from bomgen.core.document import KINDS, QUOTE, Document, Drawing
from bomgen.core.jobs import report_stage
from bomgen.core.language import Language, language
from bomgen.core.safety import escape_formula
from bomgen.fabric.types import SERVER, Fabric
from bomgen.results.result import Report, lines_data, result

if TYPE_CHECKING:
    from bomgen.cabling.types import Wiring

FOLDER = Path(__file__).parent


KIND = "{kind}"
"""Placeholder in file names with one file per kind of document."""


class Format(NamedTuple):
    """A format that is no module, with the constants that a module has."""

    write: Callable[..., Any]
    ABOUT: str = ""
    FILE: str = ""
    BINARY: bool = False
    SUFFIXES: tuple[str, ...] = ()
    """Suffixes of its files besides its name."""
    PACKAGE: str | None = None
    SEVERAL_FILES: bool = False
    ONE_FABRIC: bool = False


class Formats:
    """The formats of a table and of a folder of `output/`, those in `first` first.

    `helpers` are modules of the folder that are no formats.
    """

    def __init__(
        self,
        table: Mapping[str, Format],
        folder: str = "",
        first: tuple[str, ...] = (),
        helpers: tuple[str, ...] = (),
    ) -> None:
        self._table, self._folder, self._first, self._helpers = table, folder, first, ("__init__", *helpers)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of all formats: the first ones, then the others by name."""
        modules = {path.stem for path in (FOLDER / self._folder).glob("*.py")} if self._folder else set[str]()
        return tuple(dict.fromkeys((*self._first, *sorted({*self._table, *modules.difference(self._helpers)}))))

    def module(self, name: str) -> Any:
        """Return the module of a format, or its row of the table. Raises KeyError if there is neither."""
        if name not in self.names:
            raise KeyError(name)
        return self._table.get(name) or import_module(f"bomgen.output.{self._folder}.{name}")

    def constant(self, name: str, constant: str, default: Any = None) -> Any:
        """Return a constant of a format's module, or `default`. Raises KeyError as `module`."""
        return getattr(self.module(name), constant, default)

    def suffixes(self) -> dict[str, tuple[str, ...]]:
        """Return the suffixes of the files of each format besides its name."""
        return {name: self.constant(name, "SUFFIXES", ()) for name in self.names}

    def described(self) -> list[tuple[str, str]]:
        """Return every format with its description, after its file name if that is fixed."""
        found = ((name, ", ".join(self.files(name)), self.constant(name, "ABOUT")) for name in self.names)
        return [(name, f"{files}: {about}" if files else about) for name, files, about in found]

    def files(self, name: str) -> tuple[str, ...]:
        """Return the file names of a format, with `NAME` for a fabric; empty if they are not fixed."""
        file = self.constant(name, "FILE", "")
        kinds = KINDS if KIND in file else ("",)
        return tuple(file.format(kind=kind, name="NAME") for kind in kinds if file)


class DocumentRequest(NamedTuple):
    """A document to write: its format, and its kind if the format has two."""

    form: str
    kind: str = ""


def choose_documents(names: Iterable[str]) -> list[DocumentRequest]:
    """Return the documents for formats and file names, such as `quote.md`, without duplicates, quotes first.

    Raises ValueError for a name that is neither.
    """
    found: dict[str, list[DocumentRequest]] = {}
    for form in DOCUMENTS.names:
        files = DOCUMENTS.files(form)
        choices = [DocumentRequest(form, kind) for kind in KINDS] if len(files) > 1 else [DocumentRequest(form)]
        found[form] = choices
        found |= {file: [choice] for file, choice in zip(files, choices, strict=True)}
    wanted = list(names)
    if unknown := [name for name in wanted if name not in found]:
        message = f"no format '{', '.join(unknown)}'; there are {','.join(DOCUMENTS.names)}, or a file such as quote.md"
        raise ValueError(message)
    chosen = dict.fromkeys(choice for name in wanted for choice in found[name])
    return sorted(chosen, key=lambda choice: KINDS.index(choice.kind) if choice.kind else len(KINDS))


def is_file_of_bomgen(name: str) -> bool:
    """Return whether a file name is that of a document of some plan."""
    files = (file for form in DOCUMENTS.names for file in DOCUMENTS.files(form))
    return any(re.fullmatch(re.escape(file).replace("NAME", ".*"), name) for file in files)


# wiring formats -----------------------------------------------------------------------------------------------------
# The wiring in formats for other programs: one module per format, found by its name.
#
# A module has `ABOUT`, a short description; `BINARY`, whether a terminal cannot show it; `SEVERAL_FILES`; `ONE_FABRIC`,
# whether it holds a single fabric; `SUFFIXES` of its files besides its name; and `write(wiring, out, progress)`, where
# `out` is a binary stream, or for several files the path of the named one, next to which the others are written.

Progress = Callable[[int], None]
"""Callback with the number of cables written since the last call."""


class Unsuitable(Exception):
    """A format cannot represent its input; the message suggests what it can."""


# inputs of documents ------------------------------------------------------------------------------------------------
# Inputs of documents: a report with its chapters and drawings, shared by the formats of one build.


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
        report_stage(form)

    @property
    def fabrics(self) -> Iterator[NamedFabric]:
        """Return the fabrics of every cluster."""
        return (fabric for cluster in self.report.each_cluster for fabric in _fabrics(cluster))

    @cached_property
    def quote(self) -> Document:
        """Return the quote, written from the customer's record only."""
        from bomgen.documents.customer_quote import customer_quote, expansion_quote
        from bomgen.documents.quote_contents import quote_document
        from bomgen.documents.tables import Writer

        report_stage("quote")
        writer, growth = Writer(self.report, self.language), self.report.growth
        record = expansion_quote(writer, growth) if growth else customer_quote(writer)
        page = quote_document(record, self.language, self._fabrics_of_clusters, self._racks_of_clusters)
        report_stage(self._stage)
        return page

    @cached_property
    def page(self) -> Document:
        """Return the chapters of the report with their drawings."""
        report_stage("chapters and drawings")
        page = self.chapters()
        report_stage(self._stage)
        return page

    def chapters(self, only: Collection[str] | None = None) -> Document:
        """Return chapters of the report with their drawings; `only` names them, all without it."""
        from bomgen.documents.chapters.contents import document
        from bomgen.output.drawing.charts import draw_chart

        networks = self._fabrics_of_clusters if only is None or "network" in only else {}
        racks = self._racks_of_clusters if only is None or "racks" in only else {}
        draw = partial(draw_chart, language=self.language)
        return document(self.report, self.language, networks, racks, draw, only)

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

    def draw(self, fabric: NamedFabric, alone: bool = False) -> str:
        """Return the drawing of a fabric as an SVG element, or with `alone` as a file."""
        from bomgen.output.drawing.fabrics import fabric_svg

        return fabric_svg(fabric.fabric, fabric.name, self.language, fabric.servers, alone, fabric.existing)

    def _fabric_drawings(self, report: Report) -> Iterator[Drawing]:
        """Yield the drawings of a cluster's fabrics, each with the file name that `svg` writes."""
        file = DOCUMENTS.constant("svg", "FILE") if "svg" in self._formats else None
        for fabric in _fabrics(report):
            title = self.language.word("drawing-title", name=fabric.name)
            name = file.format(name=fabric.name) if file else None
            yield Drawing(f"drawing-{fabric.name}", title, self.draw(fabric), title, name)


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
    from bomgen.results.elevations import left_out

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


# tables -------------------------------------------------------------------------------------------------------------
# The formats of documents that need no module of their own.


def _write_json(source: DocumentInputs) -> bytes:
    return (json.dumps(result(source.report), ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def _write_csv(source: DocumentInputs) -> bytes:
    """Return the lines as CSV (RFC 4180) with a header row, the keys of `lines[]` in their order.

    Text that a spreadsheet would run as a formula gets a leading apostrophe.
    """
    stream = io.StringIO()
    rows = lines_data(source.report)
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(rows[0] if rows else ())
    for row in rows:
        writer.writerow([escape_formula(value) for value in row.values()])
    return stream.getvalue().encode()


def render_page(page: Document, words: Language, form: str, every: bool = False) -> bytes:
    """Return a document as text, md, html, pdf or xlsx; text has `every` row or only important ones.

    Raises OutputError if no PDF can be written.
    """
    if form == "text":
        from bomgen.output.terminal import text

        return text(page, words, every)
    if form == "xlsx":
        from bomgen.output.xlsx.workbook import workbook

        return workbook(page, words).content
    from bomgen.output.markdown_html import html, markdown

    if form == "pdf":
        from bomgen.output.pdf import pdf

        return pdf(html(page, words))
    return html(page, words) if form == "html" else markdown(page, words)


def _write_page(form: str, source: DocumentInputs, kind: str) -> bytes:
    return render_page(source.document(kind), source.language, form)


def _write_pdf(source: DocumentInputs) -> bytes:
    """Return the page of the quote as PDF. Raises OutputError if it cannot be printed, such as without WeasyPrint."""
    from bomgen.output.pdf import NotPrinted, pdf

    try:
        return pdf(source.html(QUOTE))
    except NotPrinted as error:
        raise OutputError(f"quote.pdf: {error}") from error


def _write_wiring(module: str, wiring: Wiring, out: BinaryIO | Path, progress: Progress) -> None:
    """Write a wiring by a function of a module of `wiring/`, which imports this module: `subnet.write_topo`."""
    name, _, function = module.partition(".")
    getattr(import_module(f"bomgen.output.wiring.{name}"), function)(wiring, out, progress)


DEFAULT_DOCUMENTS = ("md", "html", "xlsx", "json", "csv")
"""Formats written by default."""
DOCUMENTS = Formats(
    {
        "md": Format(
            partial(_write_page, "md"), "Markdown, for sites that show the files of a repository.", "{kind}.md"
        ),
        "html": Format(
            DocumentInputs.html, "A single page that needs no other file; the report with derivations.", "{kind}.html"
        ),
        "xlsx": Format(
            partial(_write_page, "xlsx"),
            "A workbook whose prices and quantities can be changed.",
            "{kind}.xlsx",
            BINARY=True,
        ),
        "json": Format(_write_json, "The whole result for programs; bomgen schema bom describes it.", "bom.json"),
        "csv": Format(_write_csv, "The bill, one row per line.", "bom.csv"),
        "pdf": Format(
            _write_pdf, "The quote as PDF; needs the extra bomgen[pdf].", "quote.pdf", BINARY=True, PACKAGE="weasyprint"
        ),
        "svg": Format(
            lambda source: {fabric.name: source.draw(fabric, alone=True).encode() for fabric in source.fabrics},
            "A drawing of each fabric.",
            "fabric-{name}.svg",
        ),
    },
    "formats",
    DEFAULT_DOCUMENTS,
)
"""Document formats of `bomgen build`."""
WIRINGS = Formats(
    {
        "csv": Format(partial(_write_wiring, "columns.write_csv"), "One row per cable, for spreadsheets and scripts."),
        "dot": Format(
            partial(_write_wiring, "graphs.write_dot"),
            "Graphviz graph of devices and the cables between them; only the switches of large fabrics.",
            SUFFIXES=(".gv",),
        ),
        "ibnet": Format(
            partial(_write_wiring, "subnet.write_ibnet"),
            "InfiniBand fabric for ibsim, as ibnetdiscover prints it.",
            SUFFIXES=(".net",),
            ONE_FABRIC=True,
        ),
        "infragraph": Format(
            partial(_write_wiring, "graphs.write_infragraph"),
            "Infrastructure of InfraGraph, for simulators of traffic and failures.",
            SUFFIXES=(".json",),
        ),
        "labels": Format(
            partial(_write_wiring, "columns.write_labels"),
            "Texts of the labels for label printers: one row per end of a cable.",
            SUFFIXES=(".csv",),
        ),
        "p2p": Format(
            partial(_write_wiring, "xlsx.write_p2p"),
            "Point-to-point workbook of NVIDIA's cable validation: one row per link.",
            BINARY=True,
            SUFFIXES=(".xlsx",),
        ),
        "parquet": Format(
            partial(_write_wiring, "columns.write_parquet"),
            "The columns of the CSV, for notebooks and databases.",
            BINARY=True,
            PACKAGE="pyarrow",
        ),
        "ptm": Format(
            partial(_write_wiring, "graphs.write_ptm"),
            "Topology file of PTM, by which Cumulus Linux and SONiC check their neighbours.",
        ),
        "topo": Format(
            partial(_write_wiring, "subnet.write_topo"),
            "Topology file of ibdiagnet and ibdm, with a .ibnl file for each system.",
            SEVERAL_FILES=True,
            ONE_FABRIC=True,
        ),
        "xlsx": Format(
            partial(_write_wiring, "xlsx.write_xlsx"),
            "Point-to-point sheet for installers: one row per cable, with its label texts.",
            BINARY=True,
        ),
    },
    "wiring",
    helpers=("columns", "graphs", "subnet", "xlsx"),
)
"""Cable list formats of `bomgen wiring`."""

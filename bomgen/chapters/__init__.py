"""The document that readers get: the result in chapters and tables, in the language of the quote."""

from __future__ import annotations

from collections.abc import Iterator

from bomgen import __version__
from bomgen.chapters import alternatives, build, costs, evidence, money, racks, serving, site, sizing, storage, summary
from bomgen.chapters.writer import Writer
from bomgen.document import Cell, Document, Drawing, Section
from bomgen.language import Language
from bomgen.numbers import Path
from bomgen.report import Report

PROTECTED = "protected"
"""What a plan calls a workbook whose inputs alone may be changed."""


def document(
    report: Report,
    language: Language,
    drawings: tuple[Drawing, ...],
    of_racks: tuple[Drawing, ...] = (),
    of_costs: Drawing | None = None,
) -> Document:
    """The report for readers, in a language.

    `drawings` are those of the fabrics, `of_racks` of floor and racks, `of_costs` the one of what is paid for.
    """
    writer = Writer(report, language)
    return Document(
        title=report.plan.title,
        subtitle=_subtitle(writer),
        language=language.code,
        facts=tuple(money.facts(writer)),
        headline=tuple(_headline(writer)),
        sections=tuple(section for section in _sections(writer, drawings, of_racks, of_costs) if section is not None),
        totals=report.quote.totals,
        footer=language.word("footer", version=__version__, sha=report.sha256),
        parties=money.parties(writer),
        logo=report.logo,
        protected=report.plan.quote.workbook == PROTECTED,
    )


def _subtitle(writer: Writer) -> str:
    customer = writer.report.plan.quote.customer
    return writer.word("subtitle-customer", customer=customer.name) if customer else writer.word("subtitle")


def _headline(writer: Writer) -> Iterator[tuple[str, Cell]]:
    for path in (
        ("cluster", "gpus"),
        ("workload", "gpus_required"),
        ("workload", "days"),
        ("workload", "requests_per_minute"),
        ("cluster", "servers"),
        ("cluster", "nics"),
    ):
        if path in writer.numbers:
            yield writer.label(path), writer.cell(path)
    for name in (built.plan.name for built in writer.report.design.fabrics):
        for last in (("switches", "total"), ("transceivers", "total")):
            of_fabric: Path = ("fabrics", name, *last)
            if of_fabric in writer.numbers:
                yield writer.joined(name, writer.label(of_fabric)), writer.cell(of_fabric)
        cables: Path = ("fabrics", name, "cables_total")
        if cables in writer.numbers:
            yield writer.joined(name, writer.word("headline-cables")), writer.cell(cables)
    if ("site", "power_w") in writer.numbers:
        yield writer.label(("site", "power_w")), writer.cell(("site", "power_w"))


def _sections(
    writer: Writer, drawings: tuple[Drawing, ...], of_racks: tuple[Drawing, ...], of_costs: Drawing | None
) -> Iterator[Section | None]:
    yield summary.summary(writer)
    yield costs.costs(writer, of_costs)
    yield Section("bill", writer.word("section-bill"), tables=(build.bill_table(writer),))
    yield alternatives.alternatives(writer)
    yield money.operation(writer)
    yield money.terms(writer)
    yield serving.serving(writer)
    yield sizing.sizing(writer)
    yield build.network(writer, drawings)
    yield storage.storage(writer)
    yield site.site(writer)
    yield racks.racks(writer, of_racks)
    yield money.prices(writer)
    yield evidence.assumption_section(writer)
    yield evidence.check_section(writer)
    yield evidence.source_section(writer)
    yield evidence.derivation_section(writer)

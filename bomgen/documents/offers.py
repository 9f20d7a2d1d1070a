"""The designs that answer an inquiry, side by side: why each is offered, what it costs, does and takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from bomgen.core.document import MORE, Cell, Column, Path, Row, Table, row_at, row_of
from bomgen.core.language import Language
from bomgen.documents.chapters.writer import Writer
from bomgen.documents.comparison import difference
from bomgen.documents.customer_quote.record import describe_cluster
from bomgen.documents.customer_quote.requirements import DEMANDS, Demand
from bomgen.documents.tables import headline_total
from bomgen.pricing.quote import is_total
from bomgen.results.result import Report

NEEDED: Sequence[Path] = (("workload", "gpus_required"), ("workload", "gpus_to_buy"), ("cluster", "gpus"))
POWER: Path = ("site", "power_w")
WHY, TOTAL, DIFFERENCE, DESIGN = "why", "total", "difference", "design"
"""Ids of rows that every design has."""

Changes = Mapping[str, str | int]
"""Values of a plan by dotted key."""


class Offer(NamedTuple):
    """A design that answers an inquiry."""

    kind: str
    """smallest, asked, spare, growth, vendor, or gpu for one that is not recommended."""
    changes: Changes
    """What the design sets in the plan of the inquiry."""
    report: Report

    @property
    def gpu_vendor(self) -> str:
        """Return the maker of its GPUs."""
        return self.report.plan.cluster.gpu.identity.vendor or ""


def offers_table(offers: Sequence[Offer], language: Language) -> Table:
    """Return a column for each design, with the same rows: reason, total, difference from the first, and figures."""
    writers = [Writer(offer.report, language) for offer in offers]
    columns = (
        Column("name", language.word("compare-row"), "text", 34),
        *(Column(f"offer-{at}", _title(offer, language), "number", 30) for at, offer in enumerate(offers, 1)),
    )
    reasons = row_of(
        language.word("offer-why"), *(language.word(f"offer-why-{offer.kind}") for offer in offers), id=WHY
    )
    rows = [reasons, *_money(writers), *_figures(writers)]
    return Table("offers", language.word("section-offers"), columns, tuple(rows), open=True)


def _title(offer: Offer, language: Language) -> str:
    gpu = language.message(offer.report.plan.cluster.gpu.identity.name)
    return language.word(f"offer-{offer.kind}", vendor=offer.gpu_vendor, gpu=gpu)


def _money(writers: Sequence[Writer]) -> Iterator[Row]:
    """Yield the total of each design as its quote says it, and how much more it is than that of the first."""
    language, word = writers[0].language, writers[0].word
    quotes = [writer.report.quote for writer in writers]
    if not any(quote.totals.priced_lines for quote in quotes):
        return
    totals = (headline_total(quote.totals, quote.lines, quote.indications, language)[1] for quote in quotes)
    yield row_of(word("ui-total"), *totals, id=TOTAL)
    first, cells = quotes[0].totals, [Cell(None)]
    for quote in quotes[1:]:
        change = difference(first.amount, quote.totals.amount)
        if not is_total(quote.totals, quote.lines):
            cells.append(Cell(None))
        elif quote.indications:  # an amount to the cent would be more than anybody knows
            cells.append(Cell(language.relative(Fraction(change or 0), Fraction(first.amount))))
        else:
            cells.append(Cell(change, first.currency, base=first.amount))
    yield row_of(word("offer-difference"), *cells, id=DIFFERENCE)


def _figures(writers: Sequence[Writer]) -> Iterator[Row]:
    """Yield what each design does, as was asked, and what it takes; no row that is empty for all."""
    figures: list[tuple[Path, Callable[[Writer], Cell]]] = [
        *((demand.offered, partial(_promise, demand)) for demand in DEMANDS if demand.offered not in NEEDED),
        *((path, partial(_figure, path)) for path in (*NEEDED, POWER)),
    ]
    for path, show in figures:
        having = [writer for writer in writers if path in writer.numbers]
        cells = [show(writer) if writer in having else Cell(None) for writer in writers]
        if any(cell.value is not None for cell in cells):
            yield row_of(having[0].label(path), *cells)
    yield row_of(writers[0].word("offer-plan"), *map(describe_cluster, writers), id=DESIGN)


def _figure(path: Path, writer: Writer) -> Cell:
    return replace(writer.key_figure(path), why=None)


def _promise(demand: Demand, writer: Writer) -> Cell:
    """Return what is offered beside what was asked, as a multiple where more is better; none if nothing was asked."""
    asked, figure = demand.asked(writer.report.plan), _figure(demand.offered, writer)
    if asked is None:
        return Cell(None)
    (offered, interval), wanted = writer.language.figure(figure), writer.language.value(asked.value, figure.unit)
    row = row_at(demand.offered)
    word = "offer-times" if row and row.better == MORE else "offer-beside"
    times = writer.language.number(round(Fraction(figure.value or 0) / Fraction(asked.value), 1))
    return Cell(writer.language.beside(writer.word(word, offered=offered, wanted=wanted, times=times), interval))

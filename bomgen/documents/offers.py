"""What was asked and what is offered: of a quote, and of the designs that answer an inquiry, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from bomgen.core.document import MORE, Cell, Column, Path, Row, Table, row_at, row_of
from bomgen.core.language import Language
from bomgen.core.provenance import Figure
from bomgen.documents.chapters.contents import describe_cluster
from bomgen.documents.comparison import difference
from bomgen.documents.tables import Writer, columns_of, headline_total, make_table
from bomgen.plan.search_space import SERVING
from bomgen.plan.types import Plan, Targets
from bomgen.pricing.quote import is_total, unpriced_gpus
from bomgen.results.result import Report

# demands ------------------------------------------------------------------------------------------------------------


class Demand(NamedTuple):
    """A demand that a plan may state, and the number that answers it."""

    asked: Callable[[Plan], Figure | None]
    offered: Path
    at_most: bool = False
    """Whether less than asked is better."""


def _targets(plan: Plan) -> Targets | None:
    return plan.inference.targets if plan.inference else None


def _days(plan: Plan) -> Figure | None:
    run = plan.reinforcement or plan.training or plan.compute
    return run.target_days if run else None


DEMANDS = (
    Demand(lambda plan: plan.inference and plan.inference.requests_per_minute, ("workload", "requests_per_minute")),
    Demand(lambda plan: plan.inference and plan.inference.concurrency, ("workload", "concurrency_held")),
    Demand(lambda plan: (targets := _targets(plan)) and targets.ttft, ("workload", "latency", "ttft_seconds"), True),
    Demand(
        lambda plan: (targets := _targets(plan)) and targets.tpot,
        ("workload", "latency", "decode_seconds_per_token"),
        True,
    ),
    Demand(_days, ("workload", "days"), True),
    Demand(lambda plan: plan.compute and plan.compute.target, ("workload", "peak_flops")),
    Demand(lambda plan: plan.cluster.gpus, ("cluster", "gpus")),
    Demand(lambda plan: plan.cluster.power, ("site", "facility_power_w"), True),
)
"""Demands in the order of the table."""


def requirements(writer: Writer) -> Table:
    """Return the table of what was asked, what is offered, whether that is calculated or an estimate, and enough."""
    rows = []
    for demand in DEMANDS:
        asked = demand.asked(writer.report.plan)
        if asked is None or demand.offered not in writer.numbers:
            continue
        offered = replace(writer.key_figure(demand.offered), why=None)
        value, interval = writer.language.figure(offered)
        basis = writer.word("requirement-estimate", interval=interval) if interval else writer.word("requirement-count")
        reached, wanted = Fraction(writer.numbers[demand.offered].value), Fraction(asked.value)
        met = reached <= wanted if demand.at_most else reached >= wanted
        result = writer.word(
            "requirement-missed" if not met else "requirement-expected" if interval else "requirement-met"
        )
        rows.append(row_of(writer.label(demand.offered), Cell(asked.value, offered.unit), value, basis, result))
    kind = "requirements"
    id, title = f"{kind}-{writer.report.plan.cluster_name}", writer.named(writer.word("section-requirements"))
    return make_table(kind, writer.language, rows, id=id, title=title)


# offers -------------------------------------------------------------------------------------------------------------

NEEDED: Sequence[Path] = (("workload", "gpus_required"), ("workload", "gpus_to_buy"), ("cluster", "gpus"))
POWER: Path = ("site", "power_w")
TTFT, TOKENS_COST = (SERVING[name][0] for name in ("ttft", "tokens_cost"))
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
    def is_priced(self) -> bool:
        """Return whether its GPUs or their servers have a price."""
        return not unpriced_gpus(self.report.quote.lines)

    @property
    def gpu_vendor(self) -> str:
        """Return the maker of its GPUs."""
        return self.report.plan.cluster.gpu.identity.vendor or ""


def offers_table(offers: Sequence[Offer], language: Language) -> Table:
    """Return a column for each design, with the same rows: reason, total, difference from the first, and figures."""
    writers = [Writer(offer.report, language) for offer in offers]
    columns = (
        *columns_of("offers", language),
        *(Column(f"offer-{at}", _title(offer, language), "number", 30) for at, offer in enumerate(offers, 1)),
    )
    reasons = row_of(
        language.word("offer-why"), *(language.word(f"offer-why-{offer.kind}") for offer in offers), id=WHY
    )
    rows = [reasons, *_money(writers), *_figures(writers)]
    return make_table("offers", language, rows, columns=columns)


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
        *((path, partial(_figure, path)) for path in (TOKENS_COST, *NEEDED, POWER)),
    ]
    for path, show in figures:
        having = [writer for writer in writers if path in writer.numbers]
        cells = [show(writer) if writer in having else Cell(None) for writer in writers]
        if any(cell.value is not None for cell in cells):
            yield row_of(having[0].label(path), *cells, id=".".join(path))
    yield row_of(writers[0].word("offer-plan"), *map(describe_cluster, writers), id=DESIGN)


def _figure(path: Path, writer: Writer) -> Cell:
    if path == TOKENS_COST and not writer.report.quote.totals.complete:
        return Cell(None)
    return replace(writer.key_figure(path), why=None)


def _promise(demand: Demand, writer: Writer) -> Cell:
    """Return what is offered beside what was asked, a multiple where more is better; unasked, only the first token."""
    asked, figure = demand.asked(writer.report.plan), _figure(demand.offered, writer)
    if asked is None:
        return figure if demand.offered == TTFT else Cell(None)
    (offered, interval), wanted = writer.language.figure(figure), writer.language.value(asked.value, figure.unit)
    row = row_at(demand.offered)
    word = "offer-times" if row and row.better == MORE else "offer-beside"
    times = writer.language.number(round(Fraction(figure.value or 0) / Fraction(asked.value), 1))
    return Cell(writer.language.beside(writer.word(word, offered=offered, wanted=wanted, times=times), interval))

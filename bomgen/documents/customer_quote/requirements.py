"""What the customer asked for, what is offered, and how that is known, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.document import Cell, Column, Path, Row, Table, row_of
from bomgen.core.provenance import Figure
from bomgen.documents.chapters.writer import Writer
from bomgen.plan.types import Plan, Targets


class Demand(NamedTuple):
    """A demand that a plan may state, and the number that answers it."""

    asked: Callable[[Plan], Figure | None]
    offered: Path
    at_most: bool = False
    """Whether less than asked is better."""


def _targets(plan: Plan) -> Targets | None:
    return plan.inference.targets if plan.inference else None


def _days(plan: Plan) -> Figure | None:
    run = plan.reinforcement or plan.training
    return run.target_days if run else None


DEMANDS = (
    Demand(lambda plan: plan.inference and plan.inference.requests_per_minute, ("workload", "requests_per_minute")),
    Demand(lambda plan: (targets := _targets(plan)) and targets.ttft, ("workload", "latency", "ttft_seconds"), True),
    Demand(
        lambda plan: (targets := _targets(plan)) and targets.tpot,
        ("workload", "latency", "decode_seconds_per_token"),
        True,
    ),
    Demand(_days, ("workload", "days"), True),
    Demand(lambda plan: plan.compute and plan.compute.target, ("workload", "peak_flops")),
    Demand(lambda plan: plan.cluster.gpus, ("cluster", "gpus")),
)
"""Demands in the order of the table."""


def requirements(writer: Writer) -> Table:
    """Return the table of what was asked, what is offered, whether that is calculated or an estimate, and enough."""
    word = writer.word
    columns = (
        Column("name", word("quote-item"), "text", 34),
        Column("asked", word("requirement-asked"), "number", 16),
        Column("offered", word("requirement-offered"), "number", 16),
        Column("basis", word("requirement-basis"), "text", 40),
        Column("met", word("requirement-result"), "text", 12, main=True),
    )
    name = writer.report.plan.cluster_name
    title = writer.named(word("section-requirements"))
    return Table(f"requirements-{name}", title, columns, tuple(_rows(writer)), open=True)


def _rows(writer: Writer) -> Iterator[Row]:
    for demand in DEMANDS:
        asked = demand.asked(writer.report.plan)
        if asked is None or demand.offered not in writer.numbers:
            continue
        offered = replace(writer.key_figure(demand.offered), why=None)
        value, interval = writer.language.figure(offered)
        basis = writer.word("requirement-estimate", interval=interval) if interval else writer.word("requirement-count")
        met = _is_met(demand, Fraction(writer.numbers[demand.offered].value), Fraction(asked.value))
        result = "missed" if not met else "expected" if interval else "met"
        shown = Cell(asked.value, offered.unit), Cell(value), basis
        yield row_of(writer.label(demand.offered), *shown, writer.word(f"requirement-{result}"))


def _is_met(demand: Demand, offered: Fraction, asked: Fraction) -> bool:
    return offered <= asked if demand.at_most else offered >= asked

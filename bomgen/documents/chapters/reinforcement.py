"""The chapter of reinforcement learning: the parts of a step and the engines that generate."""

from __future__ import annotations

from bomgen.core.document import Cell, Column, Section, Table, row_of
from bomgen.core.number_registry import Path
from bomgen.documents.chapters.sizing import describe_evidence
from bomgen.documents.chapters.writer import Writer
from bomgen.plan.types import ASYNCHRONOUS, Reinforcement
from bomgen.sizing.reinforcement import ReinforcedStep

BASE: Path = ("workload", "reinforcement")
ENDS = ("low", "high")


def reinforcement(writer: Writer) -> Section | None:
    """Return the chapter of a step of reinforcement learning; None for other workloads."""
    learning, step = writer.report.plan.reinforcement, writer.report.design.sizing.reinforced
    if learning is None or step is None:
        return None
    return Section(
        "reinforcement",
        writer.word("section-reinforcement"),
        text=(_schedule(writer, learning, step),),
        tables=(_parts(writer, step), writer.table("reinforcement")),
    )


def _schedule(writer: Writer, learning: Reinforcement, step: ReinforcedStep) -> str:
    if step.generation_gpus is None:
        return writer.word("text-reinforcement-one" if step.engine else "text-reinforcement-given")
    which = "asynchronous" if learning.schedule.value == ASYNCHRONOUS else "two"
    pools = {"generation": step.generation_gpus, "training": step.training_gpus}
    return writer.word(f"text-reinforcement-{which}", **{name: writer.shown(figure) for name, figure in pools.items()})


def _parts(writer: Writer, step: ReinforcedStep) -> Table:
    columns = (
        Column("name", writer.word("column-name"), "text", 34, main=True),
        Column("low", writer.word("column-low"), "number", 16, main=True),
        Column("typical", writer.word("column-typical"), "number", 16, main=True),
        Column("high", writer.word("column-high"), "number", 16, main=True),
        Column("how", writer.word("column-how"), "text", 70, main=True, code=True),
    )
    whole = ((*BASE, "step_seconds"), [(*BASE, "step_seconds_range", end) for end in ENDS])
    parts = [((*BASE, "parts", name), [(*BASE, f"parts_{end}", name) for end in ENDS]) for name in step.parts]
    rows = []
    for path, ends in (*parts, whole):
        low, high = map(writer.cell, ends)
        how = Cell(writer.origin(writer.numbers[path]))
        rows.append(row_of(writer.label(path), low, writer.cell(path), high, how))
    caption = writer.word("caption-reinforcement-parts", evidence=describe_evidence(writer, step.update))
    return Table("reinforcement-parts", writer.word("table-reinforcement-parts"), columns, tuple(rows), caption)

"""The chapter of storage, and what the report says of the time that a training run loses."""

from __future__ import annotations

from collections.abc import Iterator

from bomgen.core.document import Cell, Column, Note, Row, Section, Table
from bomgen.plan.types import ESTIMATE
from bomgen.report.chapters.writer import Writer
from bomgen.sizing.storage import Stored


def storage(writer: Writer) -> Section | None:
    """Bandwidth, room and servers of the storage; None when the plan asks for none."""
    stored = writer.report.design.sizing.stored
    if stored is None:
        return None
    tables = (writer.table("storage", tuple(writer.rows(("storage",)))), _levels(writer, stored))
    notes = (Note("info", writer.word("capacity-unknown")),) if stored.dataset_bytes is None else ()
    return Section("storage", writer.word("section-storage"), tables=tables, notes=notes)


def _levels(writer: Writer, stored: Stored) -> Table:
    """The bandwidth of every level at the size of the cluster."""
    columns = (
        Column("name", writer.word("column-level"), "text", 34),
        Column("read", writer.word("column-read"), "number", 20),
        Column("write", writer.word("column-write"), "number", 20),
        Column("why", writer.word("column-level-for"), "text", 70),
    )
    rows = tuple(
        Row(
            (
                Cell(writer.language.value(level.name, "word")),
                Cell(level.read.value, level.read.unit),
                Cell(level.write.value, level.write.unit),
                Cell(writer.word(f"level-{level.name}")),
            )
        )
        for level in stored.levels
    )
    return Table("storage-levels", writer.word("table-storage-levels"), columns, rows, writer.word("levels-caption"))


def time_lost(writer: Writer) -> Iterator[Note]:
    """What the estimate of the goodput is worth, and whether it was used."""
    sizing, training = writer.report.design.sizing, writer.report.plan.training
    if sizing.lost is None or sizing.run is None or training is None:
        return
    goodput, used = writer.shown(sizing.lost.goodput), writer.shown(sizing.run.goodput)
    span = ""
    if sizing.lost.goodput_range:
        low, high = (writer.shown(end) for end in sizing.lost.goodput_range)
        span = writer.word("lost-time-span", low=low, high=high)
    if training.goodput.value == ESTIMATE:
        yield Note("info", writer.word("lost-time-used", goodput=goodput, span=span))
    else:
        yield Note("info", writer.word("lost-time-offered", goodput=goodput, span=span, used=used))
    yield Note("info", writer.word("lost-time-published"))
    without_copy = sizing.lost.checkpoint.contents.without_copy
    if without_copy:
        yield Note("info", writer.word("checkpoint-without-copy", size=writer.shown(without_copy)))

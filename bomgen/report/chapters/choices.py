"""The chapter about what was not chosen: parts and designs, each with why not or what it would change."""

from __future__ import annotations

from collections.abc import Iterator

from bomgen.core.document import Cell, Column, Row, Section, Table
from bomgen.report.chapters.writer import Writer
from bomgen.report.reasons.topics import reasons
from bomgen.report.reasons.types import Asked, Reason


def choices(writer: Writer) -> Section | None:
    """Every choice that had alternatives, and these; None where there were none."""
    columns = (
        Column("choice", writer.word("column-choice"), "text", 26),
        Column("taken", writer.word("column-taken"), "text", 44),
        Column("other", writer.word("column-not-taken"), "text", 34),
        Column("why", writer.word("column-why-not"), "text", 60),
    )
    found = [reason for reason in reasons(Asked(writer.report, writer.language), None) if reason.others]
    if not found:
        return None
    rows = tuple(row for reason in found for row in _rows(writer, reason))
    table = Table("choices", writer.word("table-choices"), columns, rows, folded=True)
    return Section("choices", writer.word("section-choices"), text=(writer.word("choices-lead"),), tables=(table,))


def _rows(writer: Writer, reason: Reason) -> Iterator[Row]:
    """A row for each alternative; the first one says what was taken, and why."""
    say = writer.language.message
    taken = [
        Cell(say(reason.title)),
        Cell(writer.word("taken-because", taken=say(reason.chosen), why=say(reason.because))),
    ]
    for other in reason.others:
        yield Row((*taken, Cell(say(other.name)), Cell(say(other.reason))))
        taken = [Cell("")] * len(taken)

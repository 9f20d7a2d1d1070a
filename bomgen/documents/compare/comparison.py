"""Comparison of plans: a column per plan, a row per number, with the best value of a row marked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from bomgen import __version__
from bomgen.core.document import Cell, Column, Document, Drawing, Note, Row, Section, Table
from bomgen.core.language import Language
from bomgen.core.number_registry import NEITHER
from bomgen.core.provenance import json_value
from bomgen.documents.chapters.writer import Writer
from bomgen.documents.compare.rows import GPUS, POWER, TOTAL, ComparedColumn, ComparedRow, compared_rows, workloads
from bomgen.results.result import Report

__all__ = ["Comparison", "charted", "compared", "data", "document"]

FORMAT = 1
"""Version of the JSON format of a comparison."""
DIGITS = 12
"""Digits of a digest in a comparison."""


class Comparison(NamedTuple):
    """Compared plans: columns, rows and warnings."""

    columns: tuple[ComparedColumn, ...]
    lines: tuple[ComparedRow, ...]
    warnings: tuple[str, ...]


def compared(reports: Sequence[Report], language: Language, alternatives: bool = False) -> Comparison:
    """Return a comparison of reports in a language; with `alternatives`, those of each plan follow it."""
    columns: list[ComparedColumn] = []
    names = [report.plan.name for report in reports]
    for report in reports:
        name = report.plan.name
        name = name if names.count(name) == 1 else f"{name} ({report.plan_file})"
        columns.append(ComparedColumn(name, Writer(report, language)))
        beside = zip(report.plan.quote.alternatives, report.alternatives, strict=True)
        for asked, other in beside if alternatives else ():
            columns.append(ComparedColumn(f"{name}: {asked.name}", Writer(other, language), alternative=True))
    return Comparison(tuple(columns), tuple(compared_rows(columns)), tuple(_warnings(columns, language)))


def _warnings(columns: Sequence[ComparedColumn], language: Language) -> list[str]:
    totals = {column.name: column.writer.report.quote.totals for column in columns}
    found = []
    currencies = dict.fromkeys(total.currency for total in totals.values() if total.priced_lines)
    if len(currencies) > 1:
        found.append(language.word("compare-currencies", names=language.word("list-comma").join(currencies)))
    if len(workloads(columns)) > 1:
        found.append(language.word("compare-workloads"))
    partly = [name for name, each in totals.items() if not each.complete and each.priced_lines]
    if partly:
        found.append(language.word("compare-partly", names=language.word("list-comma").join(partly)))
    return found


def charted(comparison: Comparison) -> ComparedRow | None:
    """Return the row for a chart: the first of total, power and GPUs that every plan has.

    None if there is nothing to compare: all values are equal, or amounts are in different currencies.
    """
    rows = {line.key: line for line in comparison.lines}
    for line in (rows[key] for key in (TOTAL, POWER, GPUS) if key in rows):
        known = all(cell.value is not None for cell in line.cells) and len({cell.unit for cell in line.cells}) == 1
        if known and not line.equal and len(line.cells) > 1:
            return line
    return None


def document(comparison: Comparison, language: Language, chart: Drawing | None = None) -> Document:
    """Return a comparison as a document: a table of different rows and one of equal rows."""
    word = language.word
    differing, equal = ([line for line in comparison.lines if line.equal is same] for same in (False, True))
    notes = tuple(Note("warning", text) for text in comparison.warnings)
    title = word("section-compare")
    tables = (
        _table(comparison, differing, "comparison", title, language),
        _table(comparison, equal, "equal", word("compare-equal"), language, folded=True),
    )
    return Document(
        title=word("compare-heading", names=word("list-comma").join(column.name for column in comparison.columns)),
        language=language.code,
        sections=(
            Section(
                "comparison",
                title,
                (word("compare-lead"),),
                tuple(table for table in tables if table.rows),
                notes,
                (chart,) if chart else (),
            ),
            Section("plans", word("section-compared"), tables=(_plans(comparison, language),)),
        ),
        footer=word("compare-footer", version=__version__),
    )


def _table(
    comparison: Comparison, lines: Sequence[ComparedRow], id: str, title: str, language: Language, folded: bool = False
) -> Table:
    word = language.word
    columns = (
        Column("name", word("compare-row"), "text", 34),
        *(Column(f"plan-{number}", each.name, "number", 24) for number, each in enumerate(comparison.columns, 1)),
        Column("better", word("compare-better"), "text", 18),
    )
    rows = tuple(
        Row((Cell(line.label), *line.cells, Cell(word(f"compare-{line.better}") if line.better else "")), line.group)
        for line in lines
    )
    return Table(id, title, columns, rows, open=not folded, folded=folded)


def _plans(comparison: Comparison, language: Language) -> Table:
    word = language.word
    columns = (
        Column("name", word("compare-plan"), "text", 30),
        Column("title", word("compare-title"), "text", 50),
        Column("file", word("compare-file"), "text", 40),
        Column("sha256", "sha256", "text", 16),
    )
    rows = [(column.name, column.writer.report) for column in comparison.columns]
    texts = [(name, report.plan.title, report.plan_file, report.sha256[:DIGITS]) for name, report in rows]
    return Table("plans", word("section-compared"), columns, tuple(Row(tuple(map(Cell, row))) for row in texts))


def data(comparison: Comparison) -> str:
    """Return a comparison as JSON."""
    content = {
        "compare": FORMAT,
        "version": __version__,
        "plans": [
            {
                "name": column.name,
                "title": column.writer.report.plan.title,
                "file": column.writer.report.plan_file,
                "sha256": column.writer.report.sha256,
            }
            for column in comparison.columns
        ],
        "rows": [
            {
                "key": line.key,
                "group": line.group,
                "label": line.label,
                "better": None if line.better == NEITHER else line.better,
                "values": [_value(cell) for cell in line.cells],
                "units": [cell.unit or None for cell in line.cells],
                "at_least": [cell.least for cell in line.cells],
                "best": [cell.best for cell in line.cells],
            }
            for line in comparison.lines
        ],
        "warnings": list(comparison.warnings),
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _value(cell: Cell) -> Any:
    return f"{cell.value:f}" if isinstance(cell.value, Decimal) else json_value(cell.value)

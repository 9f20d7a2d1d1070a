"""The chapters of alternatives and of rejected options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bomgen.core.document import Cell, Column, Note, Row, Section, Table, row_of
from bomgen.documents.chapters.writer import Writer
from bomgen.documents.comparison import ComparedRow, Comparison, category_rows
from bomgen.pricing.bill_line import CATEGORIES
from bomgen.pricing.quote import category_amounts
from bomgen.results.reasons import Reason, ReasonInputs, reasons
from bomgen.results.result import Report

SWITCH = "switch"
BOXES = "switches"
"""The bom.json key for numbers of switches."""
COUNTED = (SWITCH, "transceiver", "cable")
"""Categories shown with quantities in addition to amounts."""
Alternatives = Comparison[tuple[str, Report]]


def alternatives(writer: Writer) -> Section | None:
    """Return the chapter that compares the plan with its alternatives; None if there are none."""
    word = writer.word
    if not writer.report.alternatives:
        return None
    comparison = compared_alternatives(writer)
    (planned, _), *others = comparison.sides
    columns = [Column("name", word("xlsx-category"), "text", 30), Column("plan", planned, "money", 20)]
    counts = [Column("name", word("column-pieces"), "text", 30), Column("plan", planned, "number", 20)]
    for number, (name, _) in enumerate(others, 1):
        columns.append(Column(f"amount-{number}", name, "money", 20))
        columns.append(Column(f"difference-{number}", word("column-difference"), "money", 20))
        counts.append(Column(f"pieces-{number}", name, "number", 20))
    rows, counted = list[Row](), list[Row]()
    for row in comparison.rows:
        if row.unit:
            rows.append(row_of(row.label, *_cells(row)))
        elif any(cell.value for cell in row.cells):
            counted.append(row_of(row.label, *row.cells))
    tables = (
        Table("alternatives", word("table-alternatives"), tuple(columns), tuple(rows)),
        Table("alternatives-pieces", word("table-alternatives-pieces"), tuple(counts), tuple(counted)),
        *(_changes(writer, number, name, other) for number, (name, other) in enumerate(others, 1)),
    )
    notes = tuple(Note("warning", text) for text in comparison.notes)
    return Section("alternatives", word("section-alternatives"), (word("alternatives-lead"),), tables, notes)


def compared_alternatives(writer: Writer) -> Alternatives:
    """Return the amounts and pieces of the plan and of its alternatives; amounts have the currency as their unit."""
    word, report, currency = writer.word, writer.report, writer.report.quote.totals.currency
    names = (word("column-as-planned"), *(alternative.name for alternative in report.plan.quote.alternatives))
    sides = tuple(zip(names, (report, *report.alternatives), strict=True))
    amounts = [
        {part.category: (part.amount, not part.complete) for part in category_amounts(side.quote.lines)}
        for _, side in sides
    ]
    rows, totals = list(category_rows(amounts, currency, writer.language)), [side.quote.totals for _, side in sides]
    for key, name in (("xlsx-net", "net"), ("ui-tax", "tax"), ("ui-total", "amount")):
        if name != "tax" or report.quote.totals.taxes:
            sums = ((getattr(each, name), not each.complete) if each.priced_lines else (None, False) for each in totals)
            cells = tuple(Cell(amount, currency, least=least) for amount, least in sums)
            rows.append(ComparedRow(key, "", word(key), cells, currency))
    for category in COUNTED:
        cells = tuple(Cell(_count(side, category)) for _, side in sides)
        rows.append(ComparedRow(category, "", word(f"category-{category}"), cells))
    say = writer.language.message
    notes = (
        word("warning-of", name=name, text=say(problem.message))
        for name, other in sides[1:]
        for problem in other.problems
    )
    return Comparison(sides, tuple(rows), tuple(notes))


def _count(report: Report, category: str) -> int:
    """Return the pieces of a category; for switches without line cards and power supplies."""
    lines = (line for line in report.bill.lines if line.category == category)
    return sum(line.pieces for line in lines if category != SWITCH or BOXES in (line.path or "").split(".")[-2:])


def _cells(row: ComparedRow) -> Iterator[Cell]:
    """Yield the amount of the plan, then of each alternative with the difference."""
    planned, *others = row.cells
    yield planned
    for cell, difference in zip(others, row.differences, strict=True):
        yield cell
        certain = difference is not None and not cell.least and not planned.least
        yield Cell(difference, row.unit) if certain else Cell("–")


def _changes(writer: Writer, number: int, name: str, report: Report) -> Table:
    columns = (
        Column("category", writer.word("xlsx-category"), "text", 16),
        Column("part", writer.word("column-description"), "text", 50),
        Column("plan", writer.word("column-as-planned"), "number", 14),
        Column("other", name, "number", 14),
    )
    planned, other = _parts(writer, writer.report), _parts(writer, report)
    rows = tuple(
        row_of(writer.word(f"category-{category}"), part, planned[category, part], other[category, part])
        for category, part in sorted({*planned, *other}, key=lambda key: (CATEGORIES.index(key[0]), key[1]))
        if planned[category, part] != other[category, part]
    )
    return Table(f"alternative-{number}", writer.word("table-alternative", name=name), columns, rows)


def _parts(writer: Writer, report: Report) -> Counter[tuple[str, str]]:
    """Return the pieces of each part, by category and name."""
    pieces = Counter[tuple[str, str]]()
    for line in report.bill.lines:
        name = writer.described(line._replace(in_stock=False))
        pieces[line.category, writer.language.beside(name, line.sku or "")] += line.pieces
    return pieces


# choices ------------------------------------------------------------------------------------------------------------
# The chapter of rejected options: parts and designs, each with the reason or the difference.


def choices(writer: Writer) -> Section | None:
    """Return the chapter of every choice that had alternatives; None if there were none."""
    columns = (
        Column("choice", writer.word("column-choice"), "text", 26),
        Column("taken", writer.word("column-taken"), "text", 44, code=True),
        Column("other", writer.word("column-not-taken"), "text", 34, code=True),
        Column("why", writer.word("column-why-not"), "text", 60, code=True),
    )
    chosen = [reason for reason in reasons(ReasonInputs(writer.report, writer.language), None) if reason.others]
    if not chosen:
        return None
    rows = tuple(row for reason in chosen for row in _rows(writer, reason))
    table = Table("choices", writer.word("table-choices"), columns, rows, folded=True)
    return Section("choices", writer.word("section-choices"), text=(writer.word("choices-lead"),), tables=(table,))


def _rows(writer: Writer, reason: Reason) -> Iterator[Row]:
    say = writer.language.message
    taken = [
        Cell(say(reason.title)),
        Cell(writer.word("taken-because", taken=say(reason.chosen), why=say(reason.because))),
    ]
    for other in reason.others:
        yield row_of(*taken, say(other.name), say(other.reason))
        taken = [Cell("")] * len(taken)

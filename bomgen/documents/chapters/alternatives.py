"""The chapters of alternatives and of rejected options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from bomgen.core.document import Cell, Column, Note, Row, Section, Table, row_of
from bomgen.core.units import Totals, minor_unit
from bomgen.documents.chapters.writer import Writer
from bomgen.pricing.bill_line import CATEGORIES
from bomgen.pricing.quote import category_amounts
from bomgen.results.reasons.topics import reasons
from bomgen.results.reasons.types import Reason, ReasonInputs
from bomgen.results.result import Report

SWITCH = "switch"
BOXES = "switches"
"""The bom.json key for numbers of switches."""
COUNTED = (SWITCH, "transceiver", "cable")
"""Categories shown with quantities in addition to amounts."""


Amount = tuple[Decimal | None, bool]
"""The sum of several lines, None if none is priced; and whether an unpriced line is excluded."""


def alternatives(writer: Writer) -> Section | None:
    """Return the chapter that compares the plan with its alternatives; None if there are none."""
    report = writer.report
    if not report.alternatives:
        return None
    named = [
        *zip((alternative.name for alternative in report.plan.quote.alternatives), report.alternatives, strict=True)
    ]
    tables = [_side_by_side(writer, named), _pieces(writer, named)]
    tables += [_changes(writer, number, name, other) for number, (name, other) in enumerate(named, 1)]
    text = (writer.word("alternatives-lead"),)
    notes = tuple(
        Note("warning", writer.word("warning-of", name=name, text=writer.language.message(problem.message)))
        for name, other in named
        for problem in other.problems
    )
    return Section("alternatives", writer.word("section-alternatives"), text=text, tables=tuple(tables), notes=notes)


def _side_by_side(writer: Writer, named: list[tuple[str, Report]]) -> Table:
    word, own = writer.word, writer.report.quote
    quotes = [own, *(other.quote for _, other in named)]
    sums = [
        {part.category: (part.amount, not part.complete) for part in category_amounts(quote.lines)} for quote in quotes
    ]
    columns = [
        Column("name", word("xlsx-category"), "text", 30),
        Column("plan", word("column-as-planned"), "money", 20),
    ]
    for number, (name, _) in enumerate(named, 1):
        columns += [Column(f"amount-{number}", name, "money", 20)]
        columns += [Column(f"difference-{number}", word("column-difference"), "money", 20)]
    rows = []
    for category in CATEGORIES:
        if any(category in each for each in sums):
            nothing: Amount = (Decimal(0) * minor_unit(own.totals.currency), False)
            rows.append(_compared(writer, word(f"category-{category}"), [each.get(category, nothing) for each in sums]))
    for label in ("xlsx-net", "ui-tax", "ui-total"):
        if label != "ui-tax" or own.totals.taxes:
            amounts = [_total(quote.totals, label) for quote in quotes]
            rows.append(_compared(writer, word(label), amounts))
    return Table("alternatives", word("table-alternatives"), tuple(columns), tuple(rows))


def _total(totals: Totals, label: str) -> Amount:
    if not totals.priced_lines:
        return None, False
    sums = {"xlsx-net": totals.net, "ui-tax": totals.tax, "ui-total": totals.amount}
    return sums[label], not totals.complete


def _compared(writer: Writer, name: str, amounts: Sequence[Amount]) -> Row:
    """Return a row: the amount of the plan, then of each alternative with the difference."""
    currency = writer.report.quote.totals.currency
    (planned, least), *others = amounts
    cells = [Cell(name), Cell(planned, currency, least=least)]
    for amount, lower in others:
        difference = None if lower or least or amount is None or planned is None else amount - planned
        cells += [Cell(amount, currency, least=lower), Cell("–") if difference is None else Cell(difference, currency)]
    return Row(tuple(cells))


def _pieces(writer: Writer, named: list[tuple[str, Report]]) -> Table:
    columns = (
        Column("name", writer.word("column-pieces"), "text", 30),
        Column("plan", writer.word("column-as-planned"), "number", 20),
        *(Column(f"pieces-{number}", name, "number", 20) for number, (name, _) in enumerate(named, 1)),
    )
    reports = [writer.report, *(other for _, other in named)]
    rows = [
        row_of(writer.word(f"category-{category}"), *(Cell(_count(report, category)) for report in reports))
        for category in COUNTED
    ]
    shown = tuple(row for row in rows if any(cell.value for cell in row.cells[1:]))
    return Table("alternatives-pieces", writer.word("table-alternatives-pieces"), columns, shown)


def _count(report: Report, category: str) -> int:
    """Return the pieces of a category; for switches without line cards and power supplies."""
    lines = (line for line in report.bill.lines if line.category == category)
    return sum(line.pieces for line in lines if category != SWITCH or BOXES in (line.path or "").split(".")[-2:])


def _changes(writer: Writer, number: int, name: str, report: Report) -> Table:
    columns = (
        Column("category", writer.word("xlsx-category"), "text", 16),
        Column("part", writer.word("column-description"), "text", 50),
        Column("plan", writer.word("column-as-planned"), "number", 14),
        Column("other", name, "number", 14),
    )
    planned, wanted = _parts(writer, writer.report), _parts(writer, report)
    rows = tuple(
        row_of(writer.word(f"category-{key[0]}"), key[1], planned.get(key, 0), wanted.get(key, 0))
        for key in sorted({*planned, *wanted}, key=_place)
        if planned.get(key, 0) != wanted.get(key, 0)
    )
    return Table(f"alternative-{number}", writer.word("table-alternative", name=name), columns, rows)


def _place(key: tuple[str, str]) -> tuple[int, str]:
    return CATEGORIES.index(key[0]), key[1]


def _parts(writer: Writer, report: Report) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for line in report.bill.lines:
        name = writer.described(line._replace(in_stock=False))
        key = line.category, writer.language.beside(name, line.sku or "")
        found[key] = found.get(key, 0) + line.pieces
    return found


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
    found = [reason for reason in reasons(ReasonInputs(writer.report, writer.language), None) if reason.others]
    if not found:
        return None
    rows = tuple(row for reason in found for row in _rows(writer, reason))
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

"""The x-ray of a bill as a document and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bomgen import __version__
from bomgen.core.document import Cell, Column, Document, Row, Section, Table, row_of
from bomgen.core.language import Language
from bomgen.core.plain_data import json_value
from bomgen.core.provenance import Assumed, Figure, Mark
from bomgen.reading.bills import SentLine
from bomgen.reading.part_numbers import Named
from bomgen.results.result import sources_text
from bomgen.xray.types import SEVERITIES, Xray, name_place

WIDE, MIDDLE, NARROW = 80, 30, 10


def xray_document(xray: Xray, language: Language) -> Document:
    """Return the findings about a bill as a document."""
    word = language.word
    counts = {severity: sum(1 for finding in xray.findings if finding.severity == severity) for severity in SEVERITIES}
    return Document(
        title=word("xray-heading", file=xray.bill.file),
        language=language.code,
        headline=tuple((word(f"xray-{severity}s"), Cell(count)) for severity, count in counts.items()),
        sections=tuple(section for section in _sections(xray, language) if section.tables or section.text),
        footer=word("compare-footer", version=__version__),
    )


def _sections(xray: Xray, language: Language) -> Iterator[Section]:
    word = language.word
    table = _findings(xray, language)
    yield Section("findings", word("xray-findings"), tuple(_read(xray, language)), (table,) if table.rows else ())
    fabrics = _fabrics(xray, language)
    assumed = tuple(_assumption(figure, origin, language) for figure, origin in xray.assumptions)
    yield Section("fabrics", word("xray-fabrics"), assumed, (fabrics,) if fabrics.rows else ())
    yield Section("lines", word("xray-lines"), (), (_lines(xray, language),))


def _assumption(figure: Figure, origin: Assumed, language: Language) -> str:
    return language.word(
        "xray-assumed",
        name=language.message(origin.name),
        value=str(figure.value),
        unit=figure.unit,
        why=language.message(origin.why),
        sources=sources_text(origin),
    )


def _read(xray: Xray, language: Language) -> Iterator[str]:
    word = language.word
    columns = word("list-comma").join(f"{name} = {heading}" for name, heading in xray.bill.columns.items())
    yield word("xray-read-as", columns=columns)
    if xray.bill.repeating:
        yield word("xray-repeating", sheets=word("list-comma").join(xray.bill.repeating))
    if xray.bill.left_out:
        names = (word("xray-hidden", sheet=name) if name in xray.bill.hidden else name for name in xray.bill.left_out)
        yield word("xray-left-out", sheets=word("list-comma").join(names))


def _findings(xray: Xray, language: Language) -> Table:
    word = language.word
    columns = (
        Column("place", word("xray-place"), "text", MIDDLE),
        Column("finding", word("xray-finding"), "text", WIDE),
        Column("pieces", word("xray-pieces"), "number", NARROW),
        Column("money", word("column-amount"), "money", NARROW),
    )
    rows = tuple(
        row_of(
            name_place(finding.mark),
            language.message(finding.message),
            Cell(finding.pieces or ""),
            Cell("") if finding.money is None else Cell(finding.money, xray.bill.currency),
            group=word(f"xray-{finding.severity}"),
        )
        for finding in xray.findings
    )
    used = [at for at in range(len(columns)) if any(row.cells[at].value != "" for row in rows)]
    rows = tuple(Row(tuple(row.cells[at] for at in used), row.group) for row in rows)
    return Table("findings", word("xray-findings"), tuple(columns[at] for at in used), rows, open=True)


def _fabrics(xray: Xray, language: Language) -> Table:
    word = language.word
    columns = (
        Column("design", word("xray-design"), "text", WIDE),
        Column("servers", word("xray-servers"), "number", NARROW),
        Column("lines", word("xray-claimed"), "number", NARROW),
    )
    rows = list[Row]()
    for fabric in xray.fabrics:
        title = f"{fabric.title}{word('name-in')}{word(f'xray-explains-{fabric.explains}')}"
        if not fabric.designs:
            rows.append(row_of(word("xray-explains-nothing"), "", 0, group=title))
        for design in fabric.designs:
            tiers = ((language.value(tier, "word"), count) for tier, count in design.tiers)
            switches = " + ".join(word("xray-tier", count=count, tier=tier) for tier, count in tiers)
            said = [language.value(design.topology, "word"), language.beside(switches, design.switch)]
            said += [word("xray-ratio", ratio=design.ratio)] if design.ratio else []
            said += [word("xray-planes", planes=design.planes)] if design.planes > 1 else []
            said += [language.value(design.homing, "word")] if design.homing else []
            said += [word("xray-repeats")] if design.repeats else []
            rows.append(row_of(word("list-comma").join(said), design.servers, len(fabric.lines), group=title))
    return Table("fabrics", word("xray-fabrics"), columns, tuple(rows), open=True)


def _lines(xray: Xray, language: Language) -> Table:
    word = language.word
    is_workbook = any(line.mark.sheet for line in xray.bill.lines)
    columns = (
        Column("line", word("xray-line"), "text" if is_workbook else "number", NARROW),
        Column("shown", word("xray-shown"), "text", MIDDLE),
        Column("pieces", word("xray-pieces"), "number", NARROW),
        Column("part", word("xray-part"), "text", MIDDLE),
        Column("reason", word("xray-reason"), "text", WIDE),
        Column("fabric", word("column-fabric"), "text", NARROW),
    )
    claimed: dict[Mark, dict[str, None]] = {}
    for fabric in xray.fabrics:
        for line in fabric.lines:
            claimed.setdefault(line.mark, {})[fabric.title] = None
    rows = (
        row_of(
            name_place(line.mark) if line.mark.sheet else line.mark.line,
            line.shown,
            Cell(None if line.quantity is None else line.pieces),
            _part(named := line.recognition.named, language),
            language.message(named.reason) if named else "",
            word("list-comma").join(claimed.get(line.mark, ())),
        )
        for line in xray.bill.lines
    )
    return Table("lines", word("xray-lines"), columns, tuple(rows), folded=True)


def _part(named: Named | None, language: Language) -> str:
    if named is None:
        return language.word("xray-not-known")
    return named.part if named.certain else language.word("xray-taken", part=named.part)


# data ---------------------------------------------------------------------------------------------------------------
# The x-ray of a bill as data.

FORMAT = 1


def to_data(xray: Xray) -> dict[str, Any]:
    """Return the findings as data: numbers as numbers, amounts as text."""
    left = {line.mark for line in xray.left}
    return {
        "bomgen_xray": FORMAT,
        "file": xray.bill.file,
        "currency": xray.bill.currency or None,
        "columns": dict(xray.bill.columns),
        "left_out": list(xray.bill.left_out),
        "repeating": list(xray.bill.repeating),
        "findings": [
            {
                "severity": finding.severity,
                "code": finding.code,
                "file": finding.mark.file,
                "sheet": finding.mark.sheet or None,
                "line": finding.mark.line,
                "message": str(finding.message),
                "part": finding.part or None,
                "pieces": finding.pieces or None,
                "money": None if finding.money is None else f"{finding.money:f}",
            }
            for finding in xray.findings
        ],
        "fabrics": [
            {
                "name": fabric.name,
                "cluster": fabric.cluster or None,
                "explains": fabric.explains,
                "lines": [line.mark.line for line in fabric.lines],
                "places": [name_place(line.mark) for line in fabric.lines],
                "designs": [
                    {
                        **design._asdict(),
                        "tiers": dict(design.tiers),
                        "ratio": design.ratio or None,
                        "homing": design.homing or None,
                    }
                    for design in fabric.designs
                ],
            }
            for fabric in xray.fabrics
        ],
        "assumptions": [
            {
                "name": str(origin.name),
                "value": json_value(figure.value),
                "unit": figure.unit,
                "source": sources_text(origin),
            }
            for figure, origin in xray.assumptions
        ],
        "lines": [{**_line(line), "explained": line.mark not in left} for line in xray.bill.lines],
    }


def _line(line: SentLine) -> dict[str, Any]:
    named = line.recognition.named
    return {
        "place": name_place(line.mark),
        "sheet": line.mark.sheet or None,
        "line": line.mark.line,
        "part": line.part or None,
        "description": line.description or None,
        "quantity": line.quantity,
        "spare": line.spare,
        "unit_price": None if line.unit_price is None else f"{line.unit_price:f}",
        "amount": None if line.amount is None else f"{line.amount:f}",
        "kind": named.kind if named else None,
        "id": named.part if named else None,
        "certain": named.certain if named else None,
        "reason": str(named.reason) if named else None,
        "nearest": list(line.recognition.nearest),
    }

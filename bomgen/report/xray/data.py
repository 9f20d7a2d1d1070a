"""The x-ray of a bill as plain data."""

from __future__ import annotations

from typing import Any

from bomgen.core.plain_data import plain
from bomgen.core.provenance import Assumed, Figure
from bomgen.reading.bills import SentLine
from bomgen.reading.findings import name_place
from bomgen.report.result import sources_text
from bomgen.report.xray.types import Xray

FORMAT = 1
"""The version of the data."""


def to_data(found: Xray) -> dict[str, Any]:
    """What was found: numbers as numbers, amounts as text."""
    left = {line.mark for line in found.left}
    return {
        "bomgen_xray": FORMAT,
        "file": found.bill.file,
        "currency": found.bill.currency or None,
        "columns": dict(found.bill.columns),
        "left_out": list(found.bill.left_out),
        "repeating": list(found.bill.repeating),
        "findings": [
            {
                "severity": each.severity,
                "code": each.code,
                "file": each.mark.file,
                "sheet": each.mark.sheet or None,
                "line": each.mark.line,
                "message": str(each.message),
                "part": each.part or None,
                "pieces": each.pieces or None,
                "money": None if each.money is None else f"{each.money:f}",
            }
            for each in found.findings
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
            for fabric in found.fabrics
        ],
        "assumptions": [_assumption(figure, origin) for figure, origin in found.assumptions],
        "lines": [{**_line(line), "explained": line.mark not in left} for line in found.bill.lines],
    }


def _assumption(figure: Figure, origin: Assumed) -> dict[str, Any]:
    value, source = plain(figure.value), sources_text(origin)
    return {"name": str(origin.name), "value": value, "unit": figure.unit, "source": source}


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

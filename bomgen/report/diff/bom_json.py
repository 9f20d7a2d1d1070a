"""The bytes of a bom.json as data, whose numbers are finite."""

from __future__ import annotations

import json
from typing import Any

DERIVATIONS = "derivations"
SECTIONS = ("cluster", "workload", "fabrics", "storage", "site", "operation")
"""Where numbers stand in bom.json."""
LARGEST = 1e300
"""Numbers beyond it nobody means; they are near the end of what a float holds."""


def parse_bom(content: bytes) -> Any:
    """The data of JSON. Raises ValueError or RecursionError."""
    return json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant, parse_float=_finite)


def units_of(derivations: Any) -> dict[str, str]:
    """The units of numbers by their path, of the derivations of a bom.json; what says no unit is left out."""
    if not isinstance(derivations, dict):
        return {}
    units = ((path, each.get("unit")) for path, each in derivations.items() if isinstance(each, dict))
    return {path: unit for path, unit in units if isinstance(unit, str)}


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


def _finite(text: str) -> float:
    found = float(text)
    if abs(found) > LARGEST:
        _refuse_constant(text)
    return found

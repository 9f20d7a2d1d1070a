"""Conversion of values to JSON data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any


def json_value(value: Any) -> Any:
    """Return a value as JSON data: fractions become integers or floats, shapes become words."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return str(value) if isinstance(value, tuple) else value


def range_data(bounds: tuple[Any, Any]) -> dict[str, Any]:
    """Return the range of an estimate as in bom.json."""
    low, high = bounds
    return {"low": json_value(low), "high": json_value(high)}

"""Sizes and durations against published runs, from a plan to the delivered bom.json."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

CASES = yaml.safe_load(Path(__file__).with_name("sizing.yaml").read_text(encoding="utf-8"))


def value_at(data: Any, path: str) -> Any:
    """The value at a dotted path of the result."""
    for step in path.split("."):
        data = data[step]
    return data


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_size_is_as_published(case: dict[str, Any], built: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Every published number comes out within what its document rounds."""
    bom = built({"bomgen": 1, "name": "published", **case["plan"]})
    found = {path: value_at(bom, path) for path in case["expect"]}
    tolerance = float(case.get("tolerance", 0))
    # PyYAML reads 546e21 as text
    expected = {path: pytest.approx(float(value), rel=tolerance, abs=0) for path, value in case["expect"].items()}
    assert expected == found


def test_every_case_states_its_source() -> None:
    """No value is expected without the document it was read in."""
    assert [] == [case["id"] for case in CASES if not case["source"] or not case["expect"]]

"""Sizes, durations and lost time against published runs, from a plan to the delivered bom.json."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parent
CASES = [
    *yaml.safe_load((HERE / "sizing.yaml").read_text(encoding="utf-8")),
    *yaml.safe_load((HERE / "storage.yaml").read_text(encoding="utf-8"))["cases"],
]

Built = Callable[[dict[str, Any]], dict[str, Any]]
Cells = Callable[[dict[str, Any], Iterable[str]], dict[str, Any]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_size_is_as_published(case: dict[str, Any], built: Built, cells: Cells) -> None:
    """Every published number comes out within what its document rounds."""
    bom = built({"bomgen": 1, "name": "published", **case["plan"]})
    tolerance = float(case.get("tolerance", 0))
    # PyYAML reads 546e21 as text
    expected = {path: pytest.approx(float(value), rel=tolerance, abs=0) for path, value in case["expect"].items()}
    assert expected == cells(bom, expected)


def test_every_case_states_its_source() -> None:
    """No value is expected without the document it was read in."""
    assert [] == [case["id"] for case in CASES if not case["source"] or not case["expect"]]

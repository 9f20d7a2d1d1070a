"""Storage, interruptions and lost time against published figures, from a plan to the delivered bom.json."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

TABLES = yaml.safe_load(Path(__file__).with_name("storage.yaml").read_text(encoding="utf-8"))
LEVELS, CASES = TABLES["levels"], TABLES["cases"]
GIGA = 10**9

Built = Callable[[dict[str, Any]], dict[str, Any]]
Cells = Callable[[dict[str, Any], Iterable[str]], dict[str, Any]]


@pytest.mark.parametrize("size", LEVELS["servers"])
@pytest.mark.parametrize("level", ["good", "better", "best"])
def test_levels_are_those_of_the_reference_architecture(level: str, size: str, built: Built) -> None:
    """Every cell of table 6 comes out as it is printed, for a node, a scalable unit and four of them."""
    column = LEVELS["columns"].index(size)
    read, write = (next(row[column] for row in LEVELS[table] if row[0] == level) for table in ("read", "write"))
    cluster = {"gpu": "h100-sxm", "servers": LEVELS["servers"][size]}
    bom = built({"bomgen": 1, "name": "published", "cluster": cluster, "storage": {"level": level}})
    found = bom["storage"]
    assert (read * GIGA, write * GIGA) == (found["read_bytes_per_second"], found["write_bytes_per_second"])
    of_node = tuple(next(row[1] for row in LEVELS[table] if row[0] == level) for table in ("read", "write"))
    assert of_node == (found["read_per_server"] / GIGA, found["write_per_server"] / GIGA)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_figures_are_as_published(case: dict[str, Any], built: Built, cells: Cells) -> None:
    """Every published number comes out within what its document rounds."""
    bom = built({"bomgen": 1, "name": "published", **case["plan"]})
    tolerance = float(case.get("tolerance", 0))
    # PyYAML reads 2450e9 as text
    expected = {path: pytest.approx(float(value), rel=tolerance, abs=0) for path, value in case["expect"].items()}
    assert expected == cells(bom, expected)


def test_every_case_states_its_source() -> None:
    """No value is expected without the document it was read in."""
    assert [] == [case["id"] for case in CASES if not case["source"] or not case["expect"]]

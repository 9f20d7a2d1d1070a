"""Levels of storage bandwidth against the published table; `test_sizing.py` has the other cases of storage.yaml."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

TABLES = yaml.safe_load(Path(__file__).with_name("storage.yaml").read_text(encoding="utf-8"))
LEVELS = TABLES["levels"]
GIGA = 10**9

Built = Callable[[dict[str, Any]], dict[str, Any]]


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

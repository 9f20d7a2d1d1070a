"""Published minimal configurations of serving programs: which models which GPUs hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bomgen.core.diagnostics import PlanErrors
from bomgen.results.result import Report

Worked = Callable[[dict[str, Any]], Report]
TABLE = yaml.safe_load(Path(__file__).with_name("served.yaml").read_text(encoding="utf-8"))
ROWS = TABLE["rows"]
SERVER = 8
ENOUGH = 40


def plan(row: dict[str, Any], gpus: int, **keys: Any) -> dict[str, Any]:
    """A plan that serves the model of a row; a measured rate, so that only memory decides."""
    inference = {key: row[key] for key in ("engine", "model", "precision")}
    inference |= {"kv_precision": "fp16", "context": 4096, "tokens_per_second_per_gpu": 1, **keys}
    cluster = {"gpu": row["gpu"], "server": {"gpus": min(gpus, SERVER)}, "gpus": gpus}
    return {"bomgen": 1, "name": "served", "workload": {"inference": inference}, "cluster": cluster}


def holds(worked: Worked, row: dict[str, Any], gpus: int) -> bool:
    """Whether so many GPUs hold the model of a row and a request of 4096 tokens."""
    try:
        serving = worked(plan(row, gpus)).design.sizing.serving
    except PlanErrors as errors:
        if not all(problem.rule == "infeasible" for problem in errors.problems):
            raise
        return False
    return serving is not None and serving.need.replica.gpus.value <= gpus


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(str(row[key]) for key in list(row)[:6]))
def test_published_configurations_hold_their_models(row: dict[str, Any], worked: Worked) -> None:
    """The GPUs that a document names hold the model, and half of a minimal number do not."""
    agrees = holds(worked, row, row["gpus"])
    if row.get("minimal"):
        agrees = agrees and not holds(worked, row, row["gpus"] // 2)
    assert agrees is ("explained" not in row)


def test_the_table_is_long_enough_and_sourced() -> None:
    """Every row names a document of the table."""
    assert len(ROWS) >= ENOUGH
    assert {row["source"] for row in ROWS} == set(TABLE["sources"])


def test_one_node_of_h20_does_not_hold_deepseek_v3(worked: Worked) -> None:
    """Its files are 688.6 GB, 86 GB a GPU of 96: nothing is left for graphs and activations."""
    row = {"engine": "sglang", "model": "deepseek-v3", "precision": "fp8", "gpu": "h20"}
    assert [holds(worked, row, gpus) for gpus in (8, 16)] == [False, True]

"""The prediction of serving against what InferenceX measured, on its own and with prompts on replicas of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bomgen.results.result import Report

TABLE = yaml.safe_load(Path(__file__).with_name("inferencex.yaml").read_text(encoding="utf-8"))
ANSWERING = 2
"""Replicas that answer, of the disaggregated rows."""
ROWS = [
    dict(zip(TABLE["columns"], row, strict=True), disaggregated=disaggregated)
    for disaggregated, rows in ((False, TABLE["rows"]), (True, TABLE["disaggregated"]))
    for row in rows
]
ENOUGH = 20
WITHIN = 0.85
"""Share of the rows that lie in the range, at least."""

Worked = Callable[[dict[str, Any]], Report]


def name_of(row: dict[str, Any]) -> str:
    """What a row is called."""
    form = "disaggregated" if row["disaggregated"] else "together"
    return f"{row['gpu']} {row['precision']} x{row['gpus']} {row['prompt']}/{row['output']} {row['requests']} {form}"


def range_of(row: dict[str, Any], worked: Worked) -> tuple[float, float, float]:
    """Low, typical and high output tokens/s of a GPU, for the requests that a replica has."""
    inference = {
        "model": row["model"],
        "engine": row["engine"],
        "precision": "nvfp4" if row["precision"] == "fp4" else row["precision"],
        "prompt_tokens": row["prompt"] * 9 // 10,
        "output_tokens": row["output"] * 9 // 10,
        "parallelism": {"tensor": row["gpus"]},
        "concurrency": row["requests"] // (ANSWERING if row["disaggregated"] else 1),
    }
    server = {"name": "published", "gpus": row["gpus"]}
    cluster = {"gpu": row["gpu"], "server": server, "servers": 1}
    plan = {"bomgen": 1, "name": "published", "workload": {"inference": inference}, "cluster": cluster}
    serving = worked(plan).design.sizing.serving
    assert serving is not None
    speed = serving.speed
    assert speed is not None
    if not row["disaggregated"]:
        slow, fast = speed.rates
        return float(slow.value), float(speed.of_gpu.value), float(fast.value)
    replica = serving.need.speed
    assert replica is not None
    alone = replica._replace(load=replica.load._replace(shared_gpus=0.0)).times(float(speed.in_flight.value)).tpot
    low, high = (float(end.value / speed.tpot.value) for end in speed.intervals["tpot"])
    of_gpu = float(speed.in_flight.value) / alone / row["gpus"]
    return of_gpu / high, of_gpu, of_gpu / low


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_measured_rows_lie_in_the_range(row: dict[str, Any], worked: Worked) -> None:
    """Between low and high of the prediction, or listed with the ratio to the typical one and the reason."""
    low, typical, high = range_of(row, worked)
    measured = row["tokens_per_second_per_gpu"]
    listed = TABLE["outside"].get(name_of(row))
    assert (listed is None) is (low <= measured <= high), (low, typical, high, measured)
    if listed:
        assert listed["ratio"] == round(measured / typical, 2)
        assert listed["why"]


def test_the_table_is_long_enough_and_sourced() -> None:
    """Nearly all rows lie in the range; each names its run."""
    assert len(ROWS) >= ENOUGH
    assert len({name_of(row) for row in ROWS}) == len(ROWS)
    assert all(row["run"] and row["date"] for row in ROWS)
    assert TABLE["source"]["licence"]
    assert len(TABLE["outside"]) <= (1 - WITHIN) * len(ROWS)

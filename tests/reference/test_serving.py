"""Serving against published values: memory, the rule of thumb, and the prediction against measured throughput."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bomgen.results.result import Report

DATA = yaml.safe_load(Path(__file__).with_name("serving.yaml").read_text(encoding="utf-8"))
MODELS = Path(__file__).parent.parent.parent / "bomgen" / "data" / "model"
ROWS = [
    dict(zip(table["columns"], row, strict=True), source=table["source"])
    for table in DATA["measured"]
    for row in table["rows"]
]
WITHIN = 0.9
"""Share of the published rows that lie in the range of the prediction, at least."""

Built = Callable[[dict[str, Any]], dict[str, Any]]
Cells = Callable[[dict[str, Any], Iterable[str]], dict[str, Any]]


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: case["id"])
def test_serving_is_as_published(case: dict[str, Any], built: Built, cells: Cells) -> None:
    """Every published number comes out exactly."""
    bom = built({"bomgen": 1, "name": "published", **case["plan"]})
    # PyYAML reads 7e9 as text
    expected = {path: None if value is None else float(value) for path, value in case["expect"].items()}
    assert expected == cells(bom, expected)


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.yaml")), ids=lambda path: path.stem)
def test_kv_cache_of_every_model_is_that_of_its_configuration(path: Path, built: Built) -> None:
    """Bytes of a token in 16 bits, worked out from the shape, are those that the catalogue took from configurations."""
    inference = {"model": path.stem, "precision": "bf16", "context": 64, "parallelism": {"tensor": 1}}
    bom = built({"bomgen": 1, "name": "kv", "workload": {"inference": inference}, "cluster": {"gpu": "h200-sxm"}})
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert data.get("kv_bytes_per_token_bf16") == bom["workload"].get("kv_bytes_per_token")  # neither, without a shape


@pytest.mark.parametrize(("model", "share"), [("deepseek-v4-pro", 0.10), ("deepseek-v4-flash", 0.07)])
def test_kv_cache_of_deepseek_v4_is_the_share_that_was_published(model: str, share: float, built: Built) -> None:
    """Of DeepSeek-V3.2's at a million tokens 10 % and 7 %, says the model card of DeepSeek-V4-Pro (deepseek-ai, 2026).

    It counts what engines keep in narrow formats, not all in the same ones: here it is one format for all.
    """

    def workload(id: str, context: int) -> dict[str, float]:
        inference = {"model": id, "precision": "fp8", "context": context, "parallelism": {"tensor": 8, "pipeline": 2}}
        plan = {"bomgen": 1, "name": "kv", "workload": {"inference": inference}, "cluster": {"gpu": "h200-sxm"}}
        return dict(built(plan)["workload"])

    whole = workload("deepseek-v3.2", 64)["kv_bytes_per_token"] * 1_000_000
    assert share == pytest.approx(workload(model, 1_000_000)["kv_bytes_per_request"] / whole, abs=0.02)


def test_every_case_states_its_source() -> None:
    """No value is expected without the document it was read in."""
    assert [] == [case["id"] for case in DATA["cases"] if not case["source"] or not case["expect"]]
    assert [] == [row for row in ROWS if not row["source"]]
    assert [] == [name for name, row in DATA["outside"].items() if not row["why"]]


def name_of(row: dict[str, Any]) -> str:
    """What a measured row is called."""
    words = (row["model"], row["gpu"], row["precision"], f"x{row['gpus']}", f"{row['prompt']}/{row['output']}")
    return " ".join(map(str, words))


def plan_of(row: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The plan of a measured row."""
    inference = {
        "model": row["model"],
        "precision": row["precision"],
        "engine": "tensorrt-llm",
        "kv_precision": "fp8" if row["precision"] in ("fp8", "fp4") else "fp16",
        "context": row["prompt"] + row["output"],
        "output_tokens": row["output"],
        "parallelism": {"tensor": row["gpus"], "attention": row.get("attention", "tensor")},
        **more,
    }
    if "batch" in row:
        inference |= {"batch": row["batch"], "memory_share": row["memory_share"]}
    server = {"name": "published", "gpus": row["gpus"]}
    cluster = {"gpu": row["gpu"], "server": server, "servers": 1}
    return {"bomgen": 1, "name": "published", "workload": {"inference": inference}, "cluster": cluster}


def predicted(row: dict[str, Any], built: Built, cells: Cells) -> dict[str, float]:
    """What bomgen predicts for a measured row: low, typical, high, and the ratio measured to typical."""
    bom = built(plan_of(row))
    base = "workload.tokens_per_second_per_gpu"
    low, typical, high = cells(bom, (f"{base}_range.low", base, f"{base}_range.high")).values()
    measured = row["tokens_per_second"] / row["gpus"]
    return {"low": low, "typical": typical, "high": high, "measured": measured, "ratio": measured / typical}


def test_no_published_measurement_is_called_impossible(worked: Callable[[dict[str, Any]], Report]) -> None:
    """No row is warned of as above the roofline, which the largest of them come within a quarter of."""
    shares = []
    for row in ROWS:
        report = worked(plan_of(row, tokens_per_second_per_gpu=row["tokens_per_second"] / row["gpus"]))
        assert "above-roofline" not in [problem.rule for problem in report.problems], name_of(row)
        served = report.design.sizing.serving
        assert served is not None
        assert served.need.limit is not None
        shares.append(row["tokens_per_second"] / row["gpus"] / served.need.limit.of_gpu)
    assert 0.7 < max(shares) <= 1


@pytest.fixture(scope="module")
def predictions(built: Built, cells: Cells) -> dict[str, dict[str, float]]:
    """The predictions of all measured rows by their names."""
    return {name_of(row): predicted(row, built, cells) for row in ROWS}


def test_measured_throughput_lies_in_the_range_of_the_prediction(predictions: dict[str, dict[str, float]]) -> None:
    """Published rows lie between low and high, but for those that are listed with their ratio and the reason."""
    found = predictions
    assert len(found) == len(ROWS)
    outside = {
        name: round(row["ratio"], 2) for name, row in found.items() if not row["low"] <= row["measured"] <= row["high"]
    }
    assert {name: why["ratio"] for name, why in DATA["outside"].items()} == outside
    assert len(outside) <= (1 - WITHIN) * len(found)


def test_the_prediction_is_in_the_middle(predictions: dict[str, dict[str, float]]) -> None:
    """The median of measured over typical lies between 0.8 and 1.25."""
    ratios = sorted(each["ratio"] for each in predictions.values())
    assert 0.8 <= ratios[len(ratios) // 2] <= 1.25

"""The memory of training runs against published and measured values, from a plan to the delivered bom.json."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

BYTES = {"GB": 10**9, "GiB": 2**30}
STATES = ("weights", "gradients", "optimizer")
CASES, MEASURED = (
    yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    for name in ("training_memory.yaml", "measured_memory.yaml")
)
NOT_ALLOCATED = ("reserve_libraries", "reserve_nccl")
"""What a GPU holds beside what PyTorch allocates."""

Built = Callable[[dict[str, Any]], dict[str, Any]]


def term(memory: dict[str, Any], name: str) -> int:
    """A term of a memory in bom.json; `states` are weights, gradients and optimizer states."""
    return sum(memory[state] for state in STATES) if name == "states" else memory[name]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_memory_is_as_published(case: dict[str, Any], built: Built) -> None:
    """Every published term comes out as printed."""
    plan = {
        "bomgen": 1,
        "name": "published",
        "workload": {"training": {"tokens": "1T", **case["training"]}},
        "cluster": {"gpu": {"name": "any GPU", "bf16_tflops": 100, "fp32_tflops": 100}, "gpus": case["gpus"]},
    }
    memory = built(plan)["workload"]["memory"]
    for place, expected in ((memory["per_gpu"], case.get("per_gpu", {})), (memory, case.get("replica", {}))):
        for name, printed in expected.items():
            assert printed == round(term(place, name) / BYTES[case["unit"]], case["decimals"]), name
    for name, (least, most) in case.get("between", {}).items():
        assert least <= term(memory, name) / BYTES[case["unit"]] <= most


@pytest.mark.parametrize("case", MEASURED, ids=lambda case: case["id"])
def test_memory_is_as_measured(case: dict[str, Any], built: Built) -> None:
    """The total is near what was measured, and a run that ended for want of memory does not fit."""
    ((kind, run),) = case["workload"].items()
    gpu = {"name": "any GPU", "bf16_tflops": 100, "memory": case["memory"]}
    plan = {
        "bomgen": 1,
        "name": "measured",
        "workload": {kind: {"tokens": "1B", "parallelism": {"tensor": 1}, **run}},
        "cluster": {"gpu": gpu, "gpus": case.get("gpus", 1)},
    }
    memory = built(plan)["workload"]["memory"]
    total = memory["per_gpu"]["total"]
    assert (total <= memory["gpu"]) is case.get("fits", True)
    if case.get("allocator"):
        total -= sum(memory["per_gpu"].get(part, 0) for part in NOT_ALLOCATED)
    if "measured" in case:
        measured = case["measured"] * BYTES[case.get("unit", "GB")]
        assert total == pytest.approx(measured, rel=case.get("within", 0.1))


def test_every_case_states_its_source() -> None:
    """No value is expected without the document it was read in, and no case expects nothing."""
    assert all(case["source"] and ("per_gpu" in case or "replica" in case) for case in CASES)
    assert all(case["source"] and ("measured" in case or "fits" in case) for case in MEASURED)

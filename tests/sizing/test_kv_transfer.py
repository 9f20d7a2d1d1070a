"""The KV cache that passes between replicas for prompts and those that answer, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bomgen.results.result import Report
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

HERE = Path(__file__).parent
OPT_66B = {"name": "OPT-66B", "parameters": "66B", "layers": 64, "hidden": 9216, "heads": 72}
PROMPT_BYTES = 2 * 64 * 9216 * 2 * 512
"""Keys and values of 512 tokens in 64 layers of 9216, 2 bytes each: 1.125 GiB."""
FAST, SLOW = 400, 4


def report(port_gbps: int = FAST, **keys: Any) -> Report:
    """A plan that serves ten requests a second on servers of eight GPUs with as many NICs."""
    inference = {
        "model": OPT_66B,
        "precision": "fp16",
        "context": 1024,
        "output_tokens": 512,
        "requests_per_minute": 600,
        "parallelism": {"tensor": 8},
        "disaggregated": True,
    } | keys
    server = {"gpus": 8, "nics": 8, "port_gbps": port_gbps}
    cluster = {"gpu": "a100-sxm-80", "server": server}
    plan = {"bomgen": 1, "name": "served", "workload": {"inference": inference}, "cluster": cluster}
    return work_out(PlanFile("plan.yaml", json.dumps(plan).encode(), HERE, HERE))


def test_ten_requests_a_second_pass_on_eleven_gigabytes() -> None:
    """Ten prompts of 1.125 GiB a second over the GPUs of the fewer replicas."""
    serving = report().design.sizing.serving
    assert serving is not None
    assert serving.kv_transfer is not None
    assert serving.need.prefill is not None
    prompts = serving.need.prefill.replicas.value
    fewest = min(prompts, serving.replicas.value - prompts)
    assert serving.kv_transfer.value * 8 * fewest == pytest.approx(10 * PROMPT_BYTES)


def test_a_network_that_is_too_slow_is_warned_of() -> None:
    """4 Gb/s a GPU are 0.5 GB/s; 400 are enough, and without replicas of their own nothing passes."""
    assert "kv-transfer" not in [problem.rule for problem in report().problems]
    assert "kv-transfer" in [problem.rule for problem in report(SLOW).problems]
    together = report(SLOW, disaggregated=False)
    assert "kv-transfer" not in [problem.rule for problem in together.problems]
    assert together.design.sizing.serving is not None
    assert together.design.sizing.serving.kv_transfer is None

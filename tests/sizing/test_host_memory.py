"""Offloading within the memory of the host: a DGX H100 has 2 TB for eight GPUs (DGX BasePOD, core components)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bomgen.core.diagnostics import PlanErrors
from bomgen.sizing.training.parallelism import MemoryFit
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

HERE = Path(__file__).parent
OF_GPU = 2 * 10**12 // 8
SPLIT = {"tensor": 8, "pipeline": 8, "sequence_parallel": False}


def fit(gpus: int, server: str = "dgx-h100", **keys: Any) -> MemoryFit:
    """How Llama 3.1 405B is split with activations and optimizer states in host memory."""
    run = {"model": "llama-3.1-405b", "tokens": "1T", "sequence": 8192, "zero": 3, "recompute": "none"}
    run |= {"offload": ["activations", "optimizer"]} | keys
    cluster = {"gpu": "h100-sxm", "server": server, "gpus": gpus}
    plan = {"bomgen": 1, "name": "offloaded", "workload": {"training": run}, "cluster": cluster}
    found = work_out(PlanFile("plan.yaml", json.dumps(plan).encode(), HERE, HERE)).design.sizing.fit
    assert found is not None
    return found


def test_a_split_stays_within_the_memory_of_the_host() -> None:
    """The search takes none that moves more there than falls to a GPU, and refuses where all do."""
    found = fit(128)
    assert found.host_memory is not None
    assert found.per_gpu.host is not None
    assert found.per_gpu.host.value <= found.host_memory.value == OF_GPU
    with pytest.raises(PlanErrors, match="offloading moves"):
        fit(16)


def test_a_split_by_hand_is_warned_of() -> None:
    """It does not fit, whatever is left on the GPU."""
    found = fit(64, parallelism=SPLIT)
    assert found.per_gpu.host is not None
    assert found.per_gpu.host.value > OF_GPU
    assert found.fits is False
    assert found.warning is not None
    assert "offloading moves" in found.warning


def test_a_host_of_unknown_memory_limits_nothing() -> None:
    """A generic server says nothing of its memory: the same split fits."""
    found = fit(64, "hgx-h100-8-generic", parallelism=SPLIT)
    assert found.host_memory is None
    assert found.fits

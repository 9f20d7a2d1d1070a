"""Prompt tokens whose KV cache is in host memory or on NVMe, by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bomgen.core.diagnostics import PlanErrors
from bomgen.results.result import Report, numbers_of

Worked = Callable[[dict[str, Any]], Report]
TOKENS, VALUE_BYTES = 8000, 2
KV_OF_TOKEN = 2 * 80 * 8 * 128 * VALUE_BYTES
"""Of Llama 3.1 70B, by its config.json: keys and values of 80 layers with 8 heads of 128."""


def plan(gpu: str | dict[str, Any] = "h100-sxm", **keys: Any) -> dict[str, Any]:
    """A plan that serves Llama 3.1 70B over four GPUs."""
    inference = {"model": "llama-3.1-70b", "precision": "fp8", "prompt_tokens": TOKENS, "output_tokens": 300}
    inference |= {"concurrency": 4, "parallelism": {"tensor": 4}} | keys
    cluster = {"gpu": gpu, "server": {"gpus": 8}, "gpus": 8}
    return {"bomgen": 1, "name": "tiers", "workload": {"inference": inference}, "cluster": cluster}


def test_cached_tokens_are_loaded_instead_of_processed(worked: Worked) -> None:
    """A GPU loads a quarter of 30 % over PCIe 5.0 x16 (64 GB/s) and of 10 % at 6 GB/s; 30 % are on the GPU."""
    tiers = {"host": {"share": "30%"}, "nvme": {"share": "10%", "bandwidth": "6 GB/s"}}
    kept, all_kept = worked(plan(prefix_cache="30%", cache_tiers=tiers)), worked(plan(prefix_cache="70%"))
    of_gpu = KV_OF_TOKEN * TOKENS / 4
    loading = of_gpu * 0.3 / 64e9 + of_gpu * 0.1 / 6e9
    found, without = numbers_of(kept), numbers_of(all_kept)
    assert float(found["workload", "cache_loading_seconds"].value) == pytest.approx(loading)
    assert ("workload", "cache_loading_seconds") not in without
    for path in (("workload", "latency", "prefill_seconds"), ("workload", "latency", "decode_seconds_per_token")):
        assert float(found[path].value) == pytest.approx(float(without[path].value))
    ttft = "workload", "latency", "ttft_seconds"
    assert float(found[ttft].value) - float(without[ttft].value) == pytest.approx(loading)


def test_a_bandwidth_that_nobody_knows_is_asked_for(worked: Worked) -> None:
    """Of host memory, where the PCIe rate of the GPU is not known."""
    gpu = {"name": "GPU", "bf16_tflops": 500, "memory": "80 GB", "memory_bandwidth": "3 TB/s", "scale_up": "900 GB/s"}
    own = plan(gpu, cache_tiers={"host": {"share": "30%"}})
    with pytest.raises(PlanErrors, match=r"set `cache_tiers\.host\.bandwidth`"):
        worked(own)

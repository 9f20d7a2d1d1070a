"""Adapters (LoRA) of a served model, by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.provenance import Cited, Figure
from bomgen.plan.types import ServedAdapters
from bomgen.results.result import Report, numbers_of
from bomgen.sizing.serving.gpu_memory import adapter_bytes_of_gpu, adapter_parameters
from bomgen.sizing.serving.replicas import engine_command

Worked = Callable[[dict[str, Any]], Report]
HIDDEN, KEYS, BLOCK, LAYERS, RANK = 8192, 1024, 28672, 80, 16
"""Llama 3.1 70B, by its config.json."""


def count(number: int) -> Figure:
    """A number as a figure."""
    return Figure(number, "count", Cited("by hand", (), "high"))


def plan(**keys: Any) -> dict[str, Any]:
    """A plan that serves Llama 3.1 70B on H100."""
    inference = {"model": "llama-3.1-70b", "precision": "fp8", "prompt_tokens": 1000, "output_tokens": 300}
    inference |= {"requests_per_minute": 600, "parallelism": {"tensor": 4}} | keys
    return {"bomgen": 1, "name": "adapters", "workload": {"inference": inference}, "cluster": {"gpu": "h100-sxm"}}


def test_an_adapter_by_hand() -> None:
    """207 million parameters at rank 16; a GPU of four holds one side of each matrix whole, a quarter of the other."""
    model = part_records.model(Catalog().find("model", "llama-3.1-70b"))
    adapters = ServedAdapters(count(32), count(RANK))
    split_by_outputs = [(HIDDEN, HIDDEN), (HIDDEN, KEYS), (HIDDEN, KEYS), (HIDDEN, BLOCK), (HIDDEN, BLOCK)]
    split_by_inputs = [(HIDDEN, HIDDEN), (HIDDEN, BLOCK)]
    both = split_by_outputs + split_by_inputs
    assert adapter_parameters(model, adapters).value == RANK * LAYERS * sum(sum(sides) for sides in both) == 207_093_760
    of_gpu = RANK * LAYERS * sum(whole + split / 4 for whole, split in both)
    assert adapter_bytes_of_gpu(model, adapters, count(4)).value == 2 * of_gpu


def test_adapters_take_memory_and_time(worked: Worked) -> None:
    """Their bytes are part of the weights, each of the requests in flight reads one, and the engine is told."""
    without, with_adapters = worked(plan()), worked(plan(adapters={"count": 32, "rank": RANK}))
    before, after = numbers_of(without), numbers_of(with_adapters)
    size = after["workload", "adapter_bytes"].value
    assert ("workload", "adapter_bytes") not in before
    weights = "workload", "memory", "per_gpu", "weights"
    assert after[weights].value - before[weights].value == size
    read = ("workload", "serving_terms", "adapters")
    assert read not in before
    assert 0 < float(after[read].value) < float(size) / 3.35e12 * 2
    inference, served = with_adapters.plan.inference, with_adapters.design.sizing.serving
    assert inference is not None
    assert served is not None
    command = engine_command(inference, served.need.replica)
    assert command.endswith("--enable-lora --max-loras 32 --max-lora-rank 16")


def test_adapters_of_an_unknown_shape_are_refused(worked: Worked) -> None:
    """Their size follows from the matrices."""
    model = {"name": "Own 7B", "parameters": "7B"}
    with pytest.raises(PlanErrors, match="the adapters of Own 7B need its shape"):
        worked(plan(model=model, adapters={"count": 2, "rank": 8}))

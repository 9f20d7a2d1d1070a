"""The law of sizes as arrays: many numbers of servers at once come to what `size` finds for each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_plans import plan_file

from bomgen.core.diagnostics import Infeasible, PlanErrors
from bomgen.plan.binding.bind import bind
from bomgen.plan.fabric_demand import attachments
from bomgen.sizing.cluster_size import size_cluster
from bomgen.workflow.design_tables import refusal, size_counts, with_count
from bomgen.workflow.inputs import catalog_of, source_of

MODELS = [
    *("llama-2-7b", "llama-3.1-70b", "llama-3.1-405b", "mixtral-8x7b", "deepseek-v3", "gemma-2-27b"),
    {"name": "counted", "parameters": "65B"},
    {"name": "layers alone", "parameters": "30B", "layers": 60},
    {"name": "odd", "layers": 45, "hidden": 6144, "heads": 48, "kv_heads": 12, "ffn": 16384, "vocab": 50000},
]
GPU = {"name": "GPU", "bf16_tflops": 300}
SERVER = {"gpus": 8}
RACKS = {"gpu": "gb200", "server": "dgx-gb200-nvl72"}


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    """The keys of a training run that a plan may say or leave out."""
    choices: dict[str, list[Any]] = {
        "sequence": [2048, 5000, 8192, 131072],
        "zero": [0, 1, 2, 3],
        "recompute": ["none", "selective", "full"],
        "flash_attention": [True, False],
        "batch_tokens": ["100K", "1M", "4194304"],
        "micro_batch": [2, 3],
        "optimizer": ["adam-8bit", "sgd"],
        "goodput": ["90%", "estimate"],
        "attention": ["causal", "full"],
        "target_days": [30],
        "offload": [["optimizer"], ["activations"], ["activations", "optimizer"]],
        "parallelism": [
            {"tensor": 8},
            {"tensor": 4, "pipeline": 5, "sequence_parallel": True},
            {"tensor": 2, "pipeline": 4, "interleave": 2, "context": 3},
            {"pipeline": 2, "expert": 4},
        ],
    }
    rates: list[dict[str, Any]] = [{}, {"mfu": "40%"}, {"mfu": "90%"}, {"achieved_tflops": 140}]
    keys = {"model": draw(st.sampled_from(MODELS)), "tokens": "1T", **draw(st.sampled_from(rates))}
    for key, values in choices.items():
        if draw(st.integers(0, 2)) == 0:
            keys[key] = draw(st.sampled_from(values))
    return keys


@st.composite
def clusters(draw: st.DrawFn) -> dict[str, Any]:
    """A cluster by servers, GPUs or racks, of GPUs with little memory and with much."""
    given_by = draw(st.sampled_from(["servers", "gpus", "racks"]))
    if given_by == "racks":
        return {**RACKS, "racks": 1}
    memory = draw(st.sampled_from([None, 16, 24, 40, 80, 192]))
    server = SERVER if given_by == "servers" or draw(st.booleans()) else None
    cluster = {"gpu": GPU | ({"memory": f"{memory} GB"} if memory else {}), given_by: 8}
    return cluster | ({"server": server} if server else {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where plans are read from."""
    return tmp_path_factory.mktemp("plans")


def assert_alike(plan: dict[str, Any], counts: list[int], folder: Path) -> bool:
    """Compare arrays and `size` for each of many numbers; False where the plan is none for arrays."""
    file = plan_file(plan, folder)
    source = source_of(file)
    catalog = catalog_of(file, source)
    bound = bind(source, catalog)
    attached = attachments(bound, catalog.assumption("bmc-port-rate"))
    found = size_counts(bound, attached, counts)
    if found is None:
        return False
    rounded = found.rounded_days()
    for row, count in enumerate(counts):
        key = next(key for key in ("servers", "gpus", "racks") if key in plan["cluster"])
        source = source_of(plan_file({**plan, "cluster": {**plan["cluster"], key: count}}, folder))
        expected, reason = None, None
        try:
            expected = size_cluster(bind(source, catalog), attached)
        except (Infeasible, PlanErrors) as error:
            reason = error
        assert found.sized[row] == (reason is None)
        if expected is None:
            assert np.isnan(rounded[row])
            refused = refusal(with_count(bound, count), attached)
            assert (type(refused), str(refused)) == (type(reason), str(reason))
            continue
        assert found.gpus[row] == expected.gpus.value
        days, gpu_days = expected.days.value if expected.days else None, found.gpu_days[row]
        assert (None if gpu_days is None else gpu_days / expected.gpus.value) == days
        assert days is None or rounded[row] == float(days)
    return True


COUNTS = st.lists(
    st.one_of(st.integers(1, 40), st.integers(1, 4000), st.integers(1, 500).map(lambda count: 8 * count)),
    min_size=1,
    max_size=4,
)


@given(keys=runs(), cluster=clusters(), counts=COUNTS)
def test_arrays_and_one_size_agree_on_training(
    folder: Path, keys: dict[str, Any], cluster: dict[str, Any], counts: list[int]
) -> None:
    """GPUs, days, whether the run fits, and the reason why not, to the last digit and letter."""
    plan = {"bomgen": 1, "name": "law", "workload": {"training": keys}, "cluster": cluster}
    assert_alike(plan, counts, folder)


@given(
    workload=st.sampled_from(
        [None, {"target": "100 PFLOPS"}, {"target": "1P", "precision": "fp8"}, {"target": "1P", "sparsity": "sparse"}]
    ),
    storage=st.sampled_from([None, {"dataset": "1 PB"}]),
    cluster=clusters(),
    counts=COUNTS,
)
def test_arrays_and_one_size_agree_without_training(
    folder: Path,
    workload: dict[str, Any] | None,
    storage: dict[str, Any] | None,
    cluster: dict[str, Any],
    counts: list[int],
) -> None:
    """A cluster for a target of computing power or for nothing in particular, with storage and without."""
    plan: dict[str, Any] = {"bomgen": 1, "name": "law", "cluster": cluster}
    plan |= ({"workload": {"compute": workload}} if workload else {}) | ({"storage": storage} if storage else {})
    assert assert_alike(plan, counts, folder)

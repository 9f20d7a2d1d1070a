"""Every accelerator of the catalogue sizes a run, whoever makes it; pods end with sizing."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from written_plans import plan_file

from bomgen.catalog.files import Catalog
from bomgen.catalog.part_records import gpu
from bomgen.core.diagnostics import PlanErrors
from bomgen.workflow.pipeline import work_out

Built = Callable[[dict[str, Any]], dict[str, Any]]

PRECISIONS = ("bf16", "fp16", "fp32")
ACCELERATORS = [gpu(record) for record in Catalog().all("gpu")]
SIZED = [part for part in ACCELERATORS if not part.dense.keys().isdisjoint(PRECISIONS)]
NAMED_ONLY = {
    "cambricon-mlu590",
    "enflame-s60",
    "hygon-bw1000",
    "hygon-k100-ai",
    "kunlun-p800",
    "metax-c550",
    "mi430x",
    "mi440x",
}
"""Accelerators whose makers publish no peak; a plan or a part file gives it."""
NARROW_ONLY = {"gb300-station", "mtt-s5000", "rubin-cpx", "tpu-8i", "tpu-8t"}
"""Accelerators with a published peak in FP8 or FP4 alone."""
BF16_UNPUBLISHED = NAMED_ONLY | NARROW_ONLY | {"gb10", "mtt-s4000", "rtx-pro-4500"}
PODS = [part for part in ACCELERATORS if part.pod_chips]
FLOPS = 6 * 7 * 10**9 * 10**12


@pytest.mark.parametrize("part", SIZED, ids=lambda part: part.identity.id)
def test_every_accelerator_sizes_a_run(part: Any, built: Built) -> None:
    """GPUs for a target are the FLOPs over peak, share and seconds, rounded up."""
    precision = next(name for name in PRECISIONS if name in part.dense)
    training = {"model": {"parameters": "7B"}, "tokens": "1T", "target_days": 10, "mfu": "40%", "precision": precision}
    plan = {"workload": {"training": {**training, "parallelism": {"tensor": 1}}}, "cluster": {"gpu": part.identity.id}}
    bom = built({"bomgen": 1, "name": "accelerator", **plan})
    rate = part.dense[precision].value * 10**12 * 4 / 10
    assert ceil(FLOPS / (rate * 864000)) == bom["workload"]["gpus_required"]


def test_accelerators_without_a_published_peak_are_these() -> None:
    """A record without a peak is meant to be one: its maker publishes none."""
    assert {part.identity.id for part in ACCELERATORS if part not in SIZED} == NAMED_ONLY | NARROW_ONLY
    assert {part.identity.id for part in ACCELERATORS if not (part.dense or part.sparse)} == NAMED_ONLY


@pytest.mark.parametrize("id", sorted(NAMED_ONLY))
def test_an_accelerator_without_figures_takes_those_of_a_part_file(id: str, tmp_path: Path) -> None:
    """The error names the key to give; with it in a part file, the plan is worked out."""
    training = {"model": {"parameters": "7B"}, "tokens": "1T", "target_days": 10, "mfu": "40%"}
    workload = {"training": {**training, "parallelism": {"tensor": 1}}}
    plan = {"bomgen": 1, "name": "named", "catalog": ["parts/"], "cluster": {"gpu": id}, "workload": workload}
    (tmp_path / "parts" / "gpu").mkdir(parents=True)
    with pytest.raises(PlanErrors, match="give yours as `bf16_tflops` of the GPU"):
        work_out(plan_file(plan, tmp_path))
    (tmp_path / "parts" / "gpu" / f"{id}.yaml").write_text("bf16_tflops: 300\nmemory: 64 GB\n")
    run = work_out(plan_file(plan, tmp_path)).design.sizing.run
    assert run
    assert run.gpus_required
    assert ceil(FLOPS / (300 * 10**12 * 4 / 10 * 864000)) == run.gpus_required.value


def test_bf16_is_known_wherever_the_hardware_has_it() -> None:
    """A run in bf16 is not refused for want of a peak that a sister precision has."""
    without = {part.identity.id for part in ACCELERATORS if "bf16" not in part.dense}
    older = ("p100-", "v100-", "v100s-")
    assert BF16_UNPUBLISHED | {"k80"} == {id for id in without if not id.startswith(older)}


@pytest.mark.parametrize("id", ["ascend-910b3", "ascend-910c", "trainium2", "tpu-v7x", "mi300x", "gaudi3", "mlu370-x8"])
def test_accelerators_without_rows_are_predicted_too(id: str, built: Built) -> None:
    """Whether they have measurements or not, and know their links or not."""
    training = {"model": "llama-3.1-8b", "tokens": "1T", "mfu": "predicted", "sequence": 8192, "batch_tokens": "4M"}
    bom = built({"bomgen": 1, "name": "p", "workload": {"training": training}, "cluster": {"gpu": id, "gpus": 64}})
    assert 0 < bom["workload"]["mfu_low"] < bom["workload"]["mfu"] < bom["workload"]["mfu_high"]


@pytest.mark.parametrize("part", PODS, ids=lambda part: part.identity.id)
def test_a_pod_ends_with_sizing(part: Any, built: Built) -> None:
    """No fabric is built for chips with links of their own, and the result says so; pods are counted."""
    chips = part.pod_chips.value
    plan = {
        "cluster": {"gpu": part.identity.id, "gpus": chips + 1},
        "fabrics": {"compute": {"switch": "qm9700"}},
    }
    bom = built({"bomgen": 1, "name": "pod", **plan})
    assert ({}, 2) == (bom["fabrics"], bom["cluster"]["pods"])
    said = [check["message"] for check in bom["checks"] if check["id"] == "no-effect"]
    assert ["the plan ends with sizing" in message for message in said] == [True]


def test_there_are_pods_and_other_vendors() -> None:
    """The catalogue has nine TPUs, and accelerators of AMD, Intel and Huawei."""
    assert 9 == len(PODS)
    assert {"AMD", "Intel", "Huawei", "Google", "NVIDIA"} <= {part.identity.vendor for part in ACCELERATORS}

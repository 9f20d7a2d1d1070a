"""Every accelerator of the catalogue sizes a run, whoever makes it; pods end with sizing."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

import pytest

from bomgen.catalog.files import Catalog
from bomgen.catalog.part_records import gpu

Built = Callable[[dict[str, Any]], dict[str, Any]]

PRECISIONS = ("bf16", "fp16", "fp32")
ACCELERATORS = [gpu(record) for record in Catalog().all("gpu")]
PODS = [part for part in ACCELERATORS if part.pod_chips]
FLOPS = 6 * 7 * 10**9 * 10**12


@pytest.mark.parametrize("part", ACCELERATORS, ids=lambda part: part.identity.id)
def test_every_accelerator_sizes_a_run(part: Any, built: Built) -> None:
    """GPUs for a target are the FLOPs over peak, share and seconds, rounded up."""
    precision = next(name for name in PRECISIONS if name in part.dense)
    training = {"model": {"parameters": "7B"}, "tokens": "1T", "target_days": 10, "mfu": "40%", "precision": precision}
    plan = {"workload": {"training": {**training, "parallelism": {"tensor": 1}}}, "cluster": {"gpu": part.identity.id}}
    bom = built({"bomgen": 1, "name": "accelerator", **plan})
    rate = part.dense[precision].value * 10**12 * 4 / 10
    assert ceil(FLOPS / (rate * 864000)) == bom["workload"]["gpus_required"]


def test_bf16_is_known_wherever_the_hardware_has_it() -> None:
    """A run in bf16 is not refused for want of a peak that a sister precision has."""
    without = {part.identity.id for part in ACCELERATORS if "bf16" not in part.dense}
    assert {"k80"} == {id for id in without if not id.startswith(("p100-", "v100-", "v100s-"))}


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
    """The catalogue has seven generations of TPU, and accelerators of AMD, Intel and Huawei."""
    assert 7 == len(PODS)
    assert {"AMD", "Intel", "Huawei", "Google", "NVIDIA"} <= {part.identity.vendor for part in ACCELERATORS}

"""The network of a GPU at the rate of its ports as they are cabled: in the figures, not only in a warning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bomgen.results.result import Report

Worked = Callable[[Mapping[str, Any]], Report]
Built = Callable[[Mapping[str, Any]], dict[str, Any]]

TRAINING = {"model": "llama-3.1-70b", "tokens": "1T", "parallelism": {"tensor": 8, "pipeline": 4}}


def plan(cluster: Mapping[str, Any], **compute: Any) -> dict[str, Any]:
    """A training run on servers with a compute network of InfiniBand."""
    fabrics = {"compute": {"switch": "qm9700", **compute}}
    return {"bomgen": 1, "name": "n", "workload": {"training": TRAINING}, "cluster": cluster, "fabrics": fabrics}


def step(report: Report) -> float:
    """The predicted step [s]."""
    predicted = report.design.sizing.predicted
    assert predicted is not None
    return float(predicted.step.step.value)


def test_ports_count_at_the_rate_of_the_links_that_they_are_plugged_into(worked: Worked) -> None:
    """Eight 400G ports of a DGX H100 at 200 Gb/s: a GPU has half of its network, and its step takes longer."""
    cluster = {"server": "dgx-h100", "servers": 32}
    fast, slow = (worked(plan(cluster, **link)) for link in ({}, {"link": "200G"}))
    found = [each.design.fabrics[0].per_gpu for each in (fast, slow)]
    assert [each.network_gbps.value for each in found if each] == [400, 200]
    assert step(slow) > step(fast)


@pytest.mark.parametrize(("ports", "gbps", "carried"), [(1, 400, 128), (2, 200, 128), (1, 200, 100)])
def test_a_card_carries_no_more_than_its_slot(built: Built, ports: int, gbps: int, carried: int) -> None:
    """Four cards in the PCIe 4.0 x16 slots of a DGX A100, 256 Gb/s each, are 128 Gb/s for each of eight GPUs."""
    cluster = {"server": "dgx-a100-640", "servers": 32}
    bom = built(plan(cluster, nic={"ports": ports, "port_gbps": gbps}, gpus_per_nic=2))
    assert bom["fabrics"]["compute"]["per_gpu"]["network_gbps"] == carried
    if carried < gbps * ports * 4 / 8:
        inputs = bom["derivations"]["fabrics.compute.per_gpu.network_gbps"]["inputs"]
        assert inputs["link_gbps"]["value"] == 256 / ports


def test_a_slower_slot_lengthens_the_predicted_step(worked: Worked) -> None:
    """A card of 400 Gb/s is as fast as the slot that it is put in."""
    server = {"gpus": 8, "nics": 8, "port_gbps": 200}
    slot, free = (
        worked(
            plan(
                {"gpu": "a100-sxm-80", "servers": 32, "server": {**server, **slots}}, nic="cx7-400-osfp", gpus_per_nic=2
            )
        )
        for slots in ({"nic_slot": "PCIe 4.0 x16"}, {})
    )
    assert step(slot) > step(free)

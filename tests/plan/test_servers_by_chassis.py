"""A chassis that is sold with several GPUs, named as its maker does: the GPU of the plan says which one is meant."""

from __future__ import annotations

import pytest

from bomgen import PlanErrors, build, check

PLAN = "bomgen: 1\nname: x\ncluster: {{gpu: {gpu}, servers: 4, server: {server}}}\n"


@pytest.mark.parametrize(
    ("gpu", "server", "meant"),
    [
        ("h100-pcie", "SYS-421GE-TNRT", "smc-sys-421ge-tnrt-h100-pcie"),
        ("mi350x", "AS-8126GS-TNMR", "smc-as-8126gs-tnmr-mi350x"),
        ("h100-sxm", "PowerEdge XE9680", "dell-xe9680-h100"),
        ("h200-sxm", "{part: xe9680}", "dell-xe9680-h200"),
    ],
)
def test_the_gpu_tells_configurations_of_a_chassis_apart(gpu: str, server: str, meant: str) -> None:
    """The configuration that a plan means is the one with its GPU."""
    assert build(PLAN.format(gpu=gpu, server=server)).data["cluster"]["server"] == meant


def test_a_chassis_without_the_gpu_lists_its_configurations() -> None:
    """A GPU that the chassis is not sold with leaves the name ambiguous; other mistakes are told apart from it."""
    (problem,) = check(PLAN.format(gpu="mi300x", server="AS-8126GS-TNMR"))
    assert "the name fits several: smc-as-8126gs-tnmr, smc-as-8126gs-tnmr-mi350x" in problem.message
    with pytest.raises(PlanErrors) as caught:
        build(PLAN.format(gpu="h100-sxm", server="XE9680") + "sit: {}\n")
    assert [problem.rule for problem in caught.value.problems] == ["unknown-key"]

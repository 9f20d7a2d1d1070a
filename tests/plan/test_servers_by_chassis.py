"""A chassis that is sold with several GPUs, named as its maker does: the GPU of the plan says which one is meant."""

from __future__ import annotations

from pathlib import Path

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


@pytest.mark.parametrize("name", ["h200-sxm", "H200-141GB", "h200"])
def test_a_part_file_may_call_the_gpu_as_a_plan_does(tmp_path: Path, name: str) -> None:
    """By id or alias; of the GPUs that share a name, the plan's is meant."""
    (tmp_path / "parts" / "server").mkdir(parents=True)
    part = f"{{name: Acme 8, gpu: {name}, gpus: 8, rack_units: 8, power: 10 kW}}\n"
    (tmp_path / "parts" / "server" / "acme-8.yaml").write_text(part, "utf-8")
    plan = "bomgen: 1\nname: x\ncatalog: [parts/]\ncluster: {gpu: h200-sxm, server: acme-8, servers: 4}\n"
    (tmp_path / "plan.yaml").write_text(plan, "utf-8")
    assert build(tmp_path / "plan.yaml").data["cluster"]["gpu"] == "h200-sxm"

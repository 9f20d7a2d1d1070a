"""Days of a run by utilisation and GPUs, against T = C / (X A) by hand."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from bomgen.design.assembly import Design
from bomgen.results.what_if import sensitivity
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

ROOT = Path(__file__).parents[2]
FLOPS = 6 * 65_000_000_000 * 1_400_000_000_000
PEAK = 312 * 10**12
DAY = 86_400


def _design(name: str, *settings: str) -> Design:
    path = ROOT / "plans" / f"{name}.yaml"
    return work_out(PlanFile(f"plans/{name}.yaml", path.read_bytes(), path.parent, ROOT), settings).design


def test_days_are_flops_over_rate() -> None:
    """Every cell of the published example, LLaMA-65B: 2048 A100 at half their peak."""
    design = _design("llama65b")
    found = sensitivity(design.plan, design.sizing)
    training = design.plan.training
    assert found
    assert training
    losses = training.parallel_efficiency.value * training.goodput.value
    shares = [Fraction(percent, 100) for percent in (40, 45, 50, 55, 60)]
    counts = [1024, 1536, 2048, 3072, 4096]
    assert [outlook.mfu.value for outlook in found.outlooks] == shares
    assert [gpus.value for gpus in found.gpus] == counts
    assert found.planned == (2, 2)
    for outlook, share in zip(found.outlooks, shares, strict=True):
        days = [Fraction(FLOPS) / (count * PEAK * share * losses * DAY) for count in counts]
        assert [figure.value for figure in outlook.days] == days
    needed = [outlook.gpus_required.value for outlook in found.outlooks]
    assert needed == [2560, 2276, 2048, 1862, 1707]


def test_what_cannot_be_reached_is_left_out() -> None:
    """No run is shown above the peak of the GPU."""
    design = _design("llama65b", "workload.training.mfu=0.9")
    found = sensitivity(design.plan, design.sizing)
    assert found
    assert [float(outlook.mfu.value) for outlook in found.outlooks] == [0.72, 0.81, 0.9, 0.99]


def test_few_gpus_are_whole_servers() -> None:
    """A cluster of one server has no half of it."""
    design = _design("llama3-70b-lora")
    found = sensitivity(design.plan, design.sizing)
    server = design.plan.cluster.server
    assert found
    assert server
    assert all(gpus.value % server.gpus.value == 0 for gpus in found.gpus)
    assert found.gpus[found.planned[1]].value == design.sizing.gpus.value


def test_other_plans_have_none() -> None:
    """Serving, and a cluster without a workload, have no days."""
    for name in ("llama2-7b-chat", "meta-24k"):
        design = _design(name)
        assert sensitivity(design.plan, design.sizing) is None

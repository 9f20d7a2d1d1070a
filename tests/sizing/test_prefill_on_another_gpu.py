"""Prompts of a served model on another GPU than the cluster's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bomgen.core.diagnostics import PlanErrors
from bomgen.output.writer import render
from bomgen.results.result import Report, result

Worked = Callable[[dict[str, Any]], Report]
LOAD = {"prompt_tokens": 8000, "output_tokens": 800, "requests_per_minute": 600}
SERVED = {"model": "llama-3.3-70b", "precision": "fp8", "targets": {"ttft": "2 s", "tpot": "40 ms"}, **LOAD}


def served(worked: Worked, gpu: str = "h200-sxm", fabrics: Any = "default", **keys: Any) -> Report:
    """The report of a service on H200."""
    plan = {"bomgen": 1, "name": "pools", "workload": {"inference": SERVED | keys}, "cluster": {"gpu": gpu}}
    return worked(plan | ({"fabrics": {"compute": fabrics}} if fabrics else {}))


def test_each_pool_takes_as_long_as_alone(worked: Worked) -> None:
    """A prompt as on a cluster of its GPU, an output token as without prompts on the GPU of the cluster."""
    both = served(worked, pools={"prefill": {"gpu": "h100-sxm"}}).design.sizing.serving
    assert both is not None
    assert both.need.prefill is not None
    assert both.need.speed is not None
    for gpu, pool, replica in (
        ("h100-sxm", both.need.prefill.speed, both.need.prefill.replica),
        ("h200-sxm", both.need.speed, both.need.replica),
    ):
        degrees = {"tensor": int(replica.tensor.value)}
        alone = served(worked, gpu, pools={"prefill": {}, "decode": {"parallelism": degrees}}).design.sizing.serving
        assert alone is not None
        assert alone.need.speed is not None
        assert pool.times(8.0).prompt == alone.need.speed.times(8.0).prompt
        assert (
            pool._replace(load=pool.load._replace(shared_gpus=0.0)).times(8.0).tpot == alone.need.speed.times(8.0).tpot
        )


def test_its_servers_are_billed_and_cabled(worked: Worked) -> None:
    """As many as hold the replicas with the margin; the size of the cluster is that of decode."""
    report = served(worked, pools={"prefill": {"gpu": "h100-sxm"}})
    serving = report.design.sizing.serving
    assert serving is not None
    pool, lines = serving.need.prefill, {line.id: line.quantity.value for line in report.bill.lines}
    assert pool is not None
    servers = -(-pool.gpus_to_buy.value // 8)
    assert lines["compute.management.prefill"] == servers
    assert result(report)["fabrics"]["compute"]["endpoints"] == 8 * (servers + lines["server"])
    assert serving.need.gpus_required.value == serving.need.replicas.value * serving.need.replica.gpus.value


def test_two_pools_serve_what_both_can(worked: Worked) -> None:
    """Long prompts and short outputs: the replicas for prompts set the bound, at 95 % of their time."""
    keys = {"model": "llama-3.1-8b", "precision": "bf16", "output_tokens": 16, "requests_per_minute": 60}
    found = result(served(worked, "h100-sxm", None, disaggregated=True, **keys))["workload"]
    most = found["prefill_load"] * found["requests_per_minute"] / 60
    assert 0.5 < most <= 0.95


@pytest.mark.parametrize(
    ("language", "servers", "gpus"),
    [
        ("en", "Servers for prefill, on the same networks: DGX H100 (4).", "8 × H100 SXM5 80GB"),
        ("zh", "接入同一网络的 Prefill 服务器：DGX H100（4 件）。", "H100 SXM5 80GB × 8"),
    ],
)
def test_its_servers_are_quoted_by_what_they_do(language: str, servers: str, gpus: str, worked: Worked) -> None:
    """Their number, and the GPUs in each."""
    plan = {
        "bomgen": 1,
        "name": "pools",
        "workload": {"inference": SERVED | {"pools": {"prefill": {"gpu": "h100-sxm"}}}},
    }
    plan |= {"cluster": {"gpu": "h200-sxm"}, "fabrics": {"compute": "default"}, "quote": {"language": language}}
    quote = render(worked(plan), ("quote.md",))["quote.md"].decode("utf-8")
    assert servers in quote
    assert gpus in quote


@pytest.mark.parametrize(
    ("prefill", "fabrics", "rule"),
    [
        ({"gpu": "h100-sxm"}, None, "group"),
        ({"gpu": "gb200"}, "default", "group"),
        ({"gpu": "l40s"}, "default", "targets"),
    ],
)
def test_what_cannot_be_is_refused(prefill: dict[str, str], fabrics: str | None, rule: str, worked: Worked) -> None:
    """Servers that join no fabric, racks, and a GPU too slow for the target."""
    with pytest.raises(PlanErrors) as refused:
        served(worked, fabrics=fabrics, pools={"prefill": prefill})
    assert [problem.rule for problem in refused.value.problems] == [rule]

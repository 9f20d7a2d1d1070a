"""Queues and sizes of a served workload: by hand, and against the event simulation."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
import yaml

from bomgen.core.diagnostics import PlanErrors
from bomgen.results.result import Report, numbers_of
from bomgen.sizing.serving import capacity, simulation
from bomgen.sizing.serving.simulation import Outcome

Worked = Callable[[dict[str, Any]], Report]
INQUIRIES = yaml.safe_load(Path(__file__).with_name("inquiries.yaml").read_text(encoding="utf-8"))


def plan(inquiry: dict[str, Any]) -> dict[str, Any]:
    """The plan of an inquiry."""
    inference = {key: value for key, value in inquiry.items() if key not in ("name", "gpu")}
    return {
        "bomgen": 1,
        "name": "inquiry",
        "workload": {"inference": inference},
        "cluster": {"gpu": inquiry["gpu"]},
    }


def test_a_queue_by_hand() -> None:
    """M/D/1 at half load: of those that wait the mean is a service time; one replica makes half of them wait."""
    assert capacity.delay_of_waiting.function(2.0, 0.0, 0.5) == 2.0
    assert capacity.chance_of_waiting.function(0.5, 1.0) == pytest.approx(0.5)
    assert capacity.delay_of_waiting.function(2.0, 1.0, 0.5) == 4.0


def test_a_long_prompt_is_the_percentile_of_its_distribution() -> None:
    """A log-normal distribution with a standard deviation of 0.53 of its mean has twice the mean at 95 %."""
    assert capacity.long_over_mean(0.53, 0.95) == pytest.approx(2.0, rel=0.01)
    assert capacity.long_over_mean(0.0, 0.95) == 1.0


def test_the_cache_has_room_for_the_variation() -> None:
    """B + 2.3 sqrt(B) requests fit."""
    for held in (1.0, 30.0, 4000.0):
        most = capacity.most_in_flight(held)
        assert most + 2.3 * sqrt(most) == pytest.approx(held) or most == min(held, 1.0)


def simulated(report: Report, replicas: int | None, seed: int = simulation.SEED, count: int = 2000) -> Outcome:
    """What requests drawn for a plan come to on its required replicas, or on another number."""
    inference, found = report.plan.inference, report.design.sizing.serving
    assert inference is not None
    assert found is not None
    assert found.need.demand is not None
    arrivals = simulation.requests_of_plan(inference, found.need.demand, seed, count)
    return simulation.simulate_service(inference, found.need, replicas, arrivals)


@pytest.mark.parametrize("inquiry", INQUIRIES, ids=lambda inquiry: inquiry["name"])
def test_the_simulation_holds_at_the_size_and_fails_below(inquiry: dict[str, Any], worked: Worked) -> None:
    """The targets hold with the replicas required, and not with a fifth fewer."""
    report = worked(plan(inquiry))
    found = report.design.sizing.serving
    assert found is not None
    assert found.need.demand is not None
    assert simulated(report, None, count=8000).holds(found.need.demand)
    if fewer := int(found.need.replicas.value * 0.8):
        assert not simulated(report, fewer, count=8000).holds(found.need.demand)


def test_a_seed_repeats_a_simulation(worked: Worked) -> None:
    """The same numbers with one seed, others with another."""
    report = worked(plan(INQUIRIES[0]))
    one, same, other = (simulated(report, None, seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_the_simulation_agrees_with_the_closed_form(worked: Worked) -> None:
    """Requests of equal length: time per output token and requests in flight within 5 % of the fixed point."""
    inquiry = INQUIRIES[0]
    report = worked(plan(inquiry))
    found = report.design.sizing.serving
    assert found is not None
    need = found.need
    assert need.demand is not None
    assert need.speed is not None
    assert found.latency is not None
    equal = simulation.Lengths(1.0, 0.0), simulation.Lengths(need.demand.output, 0.0)
    held = float(need.replica.held.value) if need.replica.held else 1.0
    arrivals = simulation.draw_requests(need.demand.per_second, *equal)
    outcome = simulation.simulate(need.speed, need.demand, int(found.replicas.value), held, arrivals)
    assert outcome.tpot_mean == pytest.approx(float(found.latency.tpot.value), rel=0.05)


def test_waits_are_those_of_theory(worked: Worked) -> None:
    """One replica that only processes prompts is a queue M/D/1: its mean wait is half of load over one less load."""
    inquiry = dict(INQUIRIES[0], output_tokens=0, targets={"ttft": "5 s"}, requests_per_minute=60, peak=1)
    report = worked(plan(inquiry))
    found = report.design.sizing.serving
    assert found is not None
    speed, demand = found.need.speed, found.need.demand
    assert speed is not None
    assert demand is not None
    occupied = speed.times(1.0).shared / speed.prompts_at_a_time
    half = demand._replace(per_second=0.5 / occupied)
    equal = simulation.Lengths(1.0, 0.0)
    arrivals = simulation.draw_requests(half.per_second, equal, equal, count=40_000)
    outcome = simulation.simulate(speed, half, 1, 1e9, arrivals)
    mean = speed.times(1.0).undisturbed + occupied / 2
    assert outcome.in_flight == pytest.approx(half.per_second * mean, rel=0.15)


def test_a_target_that_nothing_reaches_is_refused(worked: Worked) -> None:
    """With the nearest that a split reaches."""
    inquiry = dict(INQUIRIES[0], targets={"tpot": "1 ms"})
    with pytest.raises(PlanErrors, match=r"the nearest is ttft [0-9.]+ ms and tpot [0-9.]+ ms with tensor 8"):
        worked(plan(inquiry))


def test_requests_without_output_are_prompts_alone(worked: Worked) -> None:
    """Embedding: no time per output token is asked for, and a cluster is found."""
    inquiry = dict(INQUIRIES[0], output_tokens=0, targets={"ttft": "500 ms"})
    found = worked(plan(inquiry)).design.sizing.serving
    assert found is not None
    assert found.latency is not None
    assert found.latency.ttft_of_most is not None
    assert float(found.latency.ttft_of_most.value) <= 0.5


def test_use_cases_are_their_mean_and_spread(worked: Worked) -> None:
    """Half of 500 and half of 1500 tokens are 1000 in the mean, with a standard deviation of half of that."""
    cases = [{"share": "50%", "prompt_tokens": each, "output_tokens": 100} for each in (500, 1500)]
    keys = {key: value for key, value in INQUIRIES[0].items() if key not in ("prompt_tokens", "output_tokens")}
    inference = worked(plan(keys | {"use_cases": cases})).plan.inference
    assert inference is not None
    assert inference.prompt_tokens is not None
    assert inference.prompt_spread is not None
    assert inference.prompt_tokens.value == 1000
    assert float(inference.prompt_spread.value) == pytest.approx(0.5)


def test_the_command_prints_what_holds(tmp_path: Path) -> None:
    """Exit code 0 at the size and 4 below, and the same as data."""
    from click.testing import CliRunner

    from bomgen.cli.check import simulate

    path = tmp_path / "plan.yaml"
    path.write_text(json.dumps(plan(INQUIRIES[0])), encoding="utf-8")
    asked = [str(path), "--requests", "3000"]
    shown = CliRunner().invoke(simulate, asked)
    assert shown.exit_code == 0, shown.output
    assert "holds" in shown.output
    assert CliRunner().invoke(simulate, [*asked, "--replicas", "4"]).exit_code == 4
    data = json.loads(CliRunner().invoke(simulate, [*asked, "-f", "json"]).output)
    assert data["holds"] is True
    assert data["ttft"]["p95"] <= 1


def test_a_trace_of_the_drawn_requests_comes_to_the_same(worked: Worked) -> None:
    """Requests with the lengths and arrivals that are drawn for the plan, written as tokens: the same times."""
    report = worked(plan(INQUIRIES[0]))
    inference, found = report.plan.inference, report.design.sizing.serving
    assert inference is not None
    assert inference.prompt_tokens is not None
    assert found is not None
    assert found.need.demand is not None
    drawn = simulation.requests_of_plan(inference, found.need.demand, simulation.SEED, 2000)
    mean = float(inference.prompt_tokens.value)
    trace = [simulation.TracedRequest(one.arrival, one.prompt * mean, one.output) for one in drawn.requests]
    traced = simulation.requests_of_trace(inference, trace)
    assert traced.per_second == pytest.approx(float(found.need.demand.per_second), rel=0.1)
    outcome = simulation.simulate_service(inference, found.need, None, traced._replace(steady=True))
    assert outcome.ttft == pytest.approx(simulated(report, None).ttft)


def test_the_command_takes_a_trace(tmp_path: Path) -> None:
    """Requests at a rate that the cluster serves hold, the same 25 times as fast do not; the trace is named."""
    from click.testing import CliRunner

    from bomgen.cli.check import simulate

    (tmp_path / "plan.yaml").write_text(json.dumps(plan(INQUIRIES[0])), encoding="utf-8")
    for apart, code in ((0.05, 0), (0.002, 4)):
        lines = [f"{number * apart},1000,300" for number in range(2000)]
        trace = tmp_path / "trace.csv"
        trace.write_text("\n".join(["arrival,prompt_tokens,output_tokens", *lines]), encoding="utf-8")
        shown = CliRunner().invoke(simulate, [str(tmp_path / "plan.yaml"), "--trace", str(trace), "-f", "json"])
        assert shown.exit_code == code, shown.output
        assert json.loads(shown.output)["requests"] == 2000


def test_a_batch_is_its_tokens_a_day(worked: Worked) -> None:
    """14.4 x 10^9 output tokens a day of 500 each are 20 000 requests a minute, and are generated."""
    keys = ("name", "gpu", "model", "prompt_tokens")
    inquiry = {key: INQUIRIES[0][key] for key in keys} | {"output_tokens": 500, "tokens_per_day": "14.4B"}
    report = worked(plan(inquiry))
    inference, found = report.plan.inference, report.design.sizing.serving
    assert inference is not None
    assert inference.requests_per_minute is not None
    assert inference.requests_per_minute.value == 20_000
    assert inference.peak is None
    assert found is not None
    assert float(numbers_of(report)["workload", "tokens_per_day"].value) >= 14.4e9
    slower = worked(plan(inquiry | {"tokens_per_day": "1.44B"})).design.sizing.serving
    assert slower is not None
    assert slower.need.gpus_required.value < found.need.gpus_required.value / 5


def test_tokens_cost_more_at_the_mean_than_in_the_busiest_minute(worked: Worked) -> None:
    """An hour of all GPUs over the tokens that the mean requests of an hour generate; peak 1 has no such cost."""
    priced = {"operation": {"years": 4}, "quote": {"price_book": "indicative"}}
    report = worked(plan(INQUIRIES[0]) | priced)
    found = numbers_of(report)
    hourly, gpus = found["operation", "cost_per_gpu_hour"].value, found["cluster", "gpus"].value
    tokens = INQUIRIES[0]["requests_per_minute"] * 60 * INQUIRIES[0]["output_tokens"]
    mean = float(found["workload", "cost_per_million_tokens_at_mean"].value)
    assert mean == pytest.approx(float(hourly * gpus) / tokens * 1e6)
    assert mean > float(found["workload", "cost_per_million_tokens"].value)
    steady = numbers_of(worked(plan(INQUIRIES[0] | {"peak": 1}) | priced))
    assert ("workload", "cost_per_million_tokens_at_mean") not in steady


def test_requests_beyond_the_cache_wait_in_a_queue(worked: Worked) -> None:
    """Twice as many as a replica holds: one waits for a whole request of another before its own."""
    inquiry = {"gpu": "h100-sxm", "model": "llama-3.1-8b", "prompt_tokens": 1000, "output_tokens": 500}
    one = plan(inquiry | {"parallelism": {"tensor": 8}})
    one["cluster"] |= {"servers": 1}
    held = worked(one).design.sizing.serving
    assert held is not None
    assert held.need.replica.held is not None
    one["workload"]["inference"]["concurrency"] = 2 * int(held.need.replica.held.value)
    found = worked(one).design.sizing.serving
    assert found is not None
    assert found.latency is not None
    assert found.speed is not None
    assert float(found.latency.ttft.value) == pytest.approx(float(found.speed.ttft.value + found.speed.request.value))

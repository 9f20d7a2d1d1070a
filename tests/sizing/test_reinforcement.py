"""Reinforcement learning: which parts a step has, how they add up, and the GPUs for target days."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose
from typing import Any

import pytest

from bomgen.results.result import Report
from bomgen.sizing.reinforcement import ReinforcedStep, seconds_of_generation, seconds_of_refit, steps_of_waiting

Worked = Callable[[dict[str, Any]], Report]
DAY = 86_400
LEARNING = {
    "model": "qwen3-8b",
    "steps": 1000,
    "prompts": 64,
    "responses": 16,
    "prompt_tokens": 100,
    "response_tokens": 1000,
    "longest_response": 4000,
}


def plan(gpus: int | None = 64, **keys: Any) -> dict[str, Any]:
    """A plan of reinforcement learning on H100."""
    cluster = {"gpu": "h100-sxm", "server": "dgx-h100"} | ({"gpus": gpus} if gpus else {})
    return {"bomgen": 1, "name": "learning", "workload": {"reinforcement": LEARNING | keys}, "cluster": cluster}


def step_of(report: Report) -> ReinforcedStep:
    """The step of a report."""
    step = report.design.sizing.reinforced
    assert step
    return step


def seconds(step: ReinforcedStep) -> dict[str, float]:
    """The seconds of the parts."""
    return {name: float(part.seconds.value) for name, part in step.parts.items()}


@pytest.mark.parametrize(
    ("keys", "parts"),
    [
        ({}, ["generation", "log_probabilities", "update", "refit"]),
        ({"method": "ppo"}, ["generation", "log_probabilities", "critic", "update", "refit"]),
        ({"reward": "qwen3-4b"}, ["generation", "log_probabilities", "reward", "update", "refit"]),
        ({"method": "dpo"}, ["log_probabilities", "update"]),
        ({"method": "dpo", "reference": False}, ["update"]),
    ],
)
def test_a_step_has_the_parts_of_its_method(keys: dict[str, Any], parts: list[str], worked: Worked) -> None:
    """And takes their sum where the same GPUs generate and train."""
    step = step_of(worked(plan(**keys)))
    assert list(step.parts) == parts
    assert isclose(float(step.step.seconds.value), sum(seconds(step).values()))


def test_a_reference_policy_doubles_the_log_probabilities(worked: Worked) -> None:
    """A forward pass of the policy, and one of the reference policy."""
    one, two = (seconds(step_of(worked(plan(reference=each)))) for each in (False, True))
    assert isclose(2 * one["log_probabilities"], two["log_probabilities"])
    assert one["update"] == two["update"]


def test_a_forward_pass_is_less_than_half_of_an_update(worked: Worked) -> None:
    """The backward pass takes twice as long, and the optimizer follows."""
    parts = seconds(step_of(worked(plan(reference=False))))
    assert 0.25 * parts["update"] < parts["log_probabilities"] < 0.5 * parts["update"]


def test_asynchronous_pools_work_at_the_same_time(worked: Worked) -> None:
    """A step takes the longer of generation and training, and the refit."""
    step = step_of(worked(plan(pools="two", schedule="asynchronous")))
    parts = seconds(step)
    training = parts["log_probabilities"] + parts["update"]
    assert isclose(float(step.step.seconds.value), max(parts["generation"], training) + parts["refit"])
    assert step.generation_gpus
    assert step.training_gpus.value + step.generation_gpus.value == 64


def test_the_given_pool_generates(worked: Worked) -> None:
    """The others train; the whole cluster is bought."""
    report = worked(plan(pools="two", generation={"gpus": 16}))
    step = step_of(report)
    assert step.engine
    assert (step.training_gpus.value, report.design.sizing.gpus.value) == (48, 64)
    assert step.engine.replicas.value * step.engine.replica.gpus.value == 16


def test_the_days_are_those_of_all_steps(worked: Worked) -> None:
    """At full goodput; half of it takes twice as long."""
    full, half = (worked(plan(goodput=share)) for share in ("100%", "50%"))
    days = full.design.sizing.days
    assert days
    assert isclose(float(days.value), 1000 * float(step_of(full).step.seconds.value) / DAY)
    assert half.design.sizing.days
    assert isclose(float(half.design.sizing.days.value), 2 * float(days.value))


def test_target_days_take_the_fewest_servers(worked: Worked) -> None:
    """The cluster found meets them, and one server less does not."""
    found = worked(plan(gpus=None, target_days=0.6)).design.sizing
    assert found.days
    assert found.days.value <= 0.6
    fewer = worked(plan(gpus=int(found.gpus.value) - 8)).design.sizing
    assert fewer.days
    assert fewer.days.value > 0.6


def test_a_given_cluster_that_misses_the_target_is_a_warning(worked: Worked) -> None:
    """The GPUs are kept."""
    report = worked(plan(gpus=8, target_days=0.1))
    assert report.design.sizing.gpus.value == 8
    assert "target-missed" in [problem.rule for problem in report.problems]


def test_longer_responses_take_longer(worked: Worked) -> None:
    """A step waits for the longest, with the same mean."""
    short, long = (seconds(step_of(worked(plan(longest_response=each)))) for each in (2000, 8000))
    assert short["generation"] < long["generation"]


def test_an_interval_holds_its_part(worked: Worked) -> None:
    """Of every part and of the step, which is as wrong as independent parts are."""
    step = step_of(worked(plan(method="ppo", reward="qwen3-4b")))
    for part in (*step.parts.values(), step.step):
        assert part.low.value < part.seconds.value < part.high.value
    widths = [float(part.high.value) - float(part.seconds.value) for part in step.parts.values()]
    assert float(step.step.high.value) - float(step.step.seconds.value) < sum(widths)


def test_responses_beyond_those_held_come_first() -> None:
    """100 responses of 500 tokens on a replica that holds 40: 60 x 500 / 40 steps before the longest."""
    assert steps_of_waiting.plain(100, 40, 500) == 750
    assert steps_of_waiting.plain(30, 40, 500) == 0


def test_generation_by_hand() -> None:
    """32 prompts of 10 ms, 100 steps of 40 ms at a full batch, then 1000 of 20 ms; each with 5 ms of the host."""
    assert isclose(seconds_of_generation.plain(0.01, 32, 1, 1, 1000, 0.02, 100, 0.04, 0.005), 0.32 + 25 + 4.5)


def test_responses_that_wait_take_longer_than_twice_as_many_replicas(worked: Worked) -> None:
    """A replica that holds a part of its responses decodes them one after the other, at its full batch."""
    few, many = (seconds(step_of(worked(plan(responses=each)))) for each in (32, 4096))
    assert many["generation"] > few["generation"] * 4


@pytest.mark.parametrize("pools", ["one", "two"])
def test_models_that_are_not_in_use_are_in_host_memory(pools: str, worked: Worked) -> None:
    """The reward model adds its weights; with two pools the policy stays on the GPUs that train."""
    with_reward, without = (
        step_of(worked(plan(pools=pools, generation={"gpus": 8} if pools == "two" else {}, **more)))
        for more in ({"reward": "qwen3-4b"}, {})
    )
    assert with_reward.host
    assert without.host
    assert with_reward.host.value > without.host.value


def test_dpo_has_no_reward_model_and_a_reference_in_host_memory(worked: Worked) -> None:
    """A reward model has no effect, which a warning says."""
    report = worked(plan(method="dpo", reward="qwen3-4b"))
    assert step_of(report).host
    assert "reward" not in step_of(report).parts
    assert any("no reward model" in problem.message for problem in report.problems)


def test_the_interval_of_two_pools_holds_both(worked: Worked) -> None:
    """An asynchronous step ends no earlier than either pool at its worst."""
    step = step_of(worked(plan(pools="two", schedule="asynchronous", generation={"gpus": 8})))
    training = sum(
        float(part.seconds.value) for name, part in step.parts.items() if name not in ("generation", "refit")
    )
    assert float(step.step.high.value) > max(training, float(step.parts["generation"].high.value))


def test_refit_by_hand() -> None:
    """100 GB at a quarter of 50 GB/s, after 3 s."""
    assert isclose(seconds_of_refit.plain(3, 100e9, 50e9, 0.25), 3 + 8)

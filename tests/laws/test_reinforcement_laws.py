"""Laws of reinforcement learning, on whole plans."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bomgen.results.result import Report
from bomgen.sizing.reinforcement import ReinforcedStep

Worked = Callable[[dict[str, Any]], Report]
METHODS = st.sampled_from(["grpo", "ppo", "dpo"])
MODELS = st.sampled_from(["llama-3.1-8b", "qwen3-32b", "qwen3-30b-a3b"])
COUNTS = st.integers(1, 512)
ROUNDING = 1e-9
TOKENS = st.integers(16, 8192)


def report_of(worked: Worked, **keys: Any) -> Report:
    """The report of a plan on 64 GPUs."""
    learning = {"steps": 100, "prompt_tokens": 100, **keys}
    cluster = {"gpu": "h100-sxm", "server": "dgx-h100", "gpus": 64}
    return worked({"bomgen": 1, "name": "law", "workload": {"reinforcement": learning}, "cluster": cluster})


def step_of(report: Report) -> ReinforcedStep:
    """The step of a report."""
    step = report.design.sizing.reinforced
    assert step
    return step


@given(method=METHODS, model=MODELS, prompts=COUNTS, responses=st.integers(2, 64), tokens=TOKENS)
def test_a_step_is_the_sum_of_parts_within_their_intervals(
    worked: Worked, method: str, model: str, prompts: int, responses: int, tokens: int
) -> None:
    """Every part takes time, and its interval holds it."""
    step = step_of(
        report_of(worked, method=method, model=model, prompts=prompts, responses=responses, response_tokens=tokens)
    )
    assert isclose(float(step.step.seconds.value), sum(float(part.seconds.value) for part in step.parts.values()))
    for part in (*step.parts.values(), step.step):
        assert 0 < part.low.value < part.seconds.value < part.high.value


@given(model=MODELS, prompts=COUNTS, tokens=TOKENS, more=st.integers(2, 4))
def test_more_prompts_never_take_less_time(worked: Worked, model: str, prompts: int, tokens: int, more: int) -> None:
    """Nor does generation of longer responses; updates may, in packs that are better filled."""
    # The split is given: one that is found may be another where more has to be held.
    keys = {"model": model, "parallelism": {"tensor": 8}, "generation": {"parallelism": {"tensor": 8}}}
    usual, wider, longer = (
        {name: float(part.seconds.value) for name, part in step_of(report_of(worked, **keys, **asked)).parts.items()}
        for asked in (
            {"prompts": prompts, "response_tokens": tokens},
            {"prompts": prompts * more, "response_tokens": tokens},
            {"prompts": prompts, "response_tokens": tokens * more},
        )
    )
    assert usual["generation"] <= longer["generation"]
    assert all(wider[name] >= seconds * (1 - ROUNDING) for name, seconds in usual.items())


@given(model=MODELS, prompts=COUNTS, tokens=TOKENS)
def test_pools_at_the_same_time_are_no_slower_than_in_turn(
    worked: Worked, model: str, prompts: int, tokens: int
) -> None:
    """With the same division of the cluster."""
    keys = {"model": model, "prompts": prompts, "response_tokens": tokens, "generation": {"gpus": 32}}
    in_turn, at_once = (
        float(step_of(report_of(worked, pools="two", schedule=schedule, **keys)).step.seconds.value)
        for schedule in ("synchronous", "asynchronous")
    )
    assert at_once <= in_turn

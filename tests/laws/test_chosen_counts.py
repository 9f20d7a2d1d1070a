"""Numbers that bomgen chooses itself: never an error about one, and never one that is larger than it must be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product
from math import ceil, lcm
from typing import Any

import pytest
from depth import examples, few
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bomgen.core.diagnostics import PlanErrors
from bomgen.results.result import Report, result
from bomgen.sizing import cluster_size
from bomgen.sizing.cluster_size import Sizing

Worked = Callable[[dict[str, Any]], Report]

MODELS = {
    "deepseek-v3": "14.8T",
    "gpt-3-175b": "300B",
    "kimi-k2": "15.5T",
    "llama-3.1-405b": "15.6T",
    "llama-3.1-70b": "15T",
    "mixtral-8x22b": "8T",
}
"""Models of the catalogue with the tokens that they were trained on, or about so many."""
DAYS = (7.3, 11, 14.5, 19, 23.7, 30, 41, 54.2, 77, 90)
GPUS = ("h800-sxm", "h100-sxm", "a100-sxm-80", "b200-sxm", "h200-sxm", "mi300x", "gb200")
IN_FP8 = ("h800-sxm", "h100-sxm", "b200-sxm", "h200-sxm")
BATCH = 62914560
"""Tokens of a step of DeepSeek-V3 late in its run."""
HEADROOM = 0.05
"""Share of the rate asked for that a cluster sized for it serves in addition."""
SERVED = ("llama-2-7b", "llama-3.1-70b", "mixtral-8x22b", "deepseek-v3", "gpt-oss-120b", "kimi-k2")


def ordinary_plans() -> Iterator[tuple[dict[str, Any], str]]:
    """Runs as people ask for them, each with its GPU."""
    for number, ((model, tokens), days) in enumerate(product(MODELS.items(), DAYS), 1):
        gpu = GPUS[(5 * number + DAYS.index(days)) % len(GPUS)]
        precision = "fp8" if gpu in IN_FP8 and number % 2 else "bf16"
        keys = {"model": model, "tokens": tokens, "target_days": days, "precision": precision}
        yield keys | ({"batch_tokens": BATCH} if number % 3 == 0 else {}), gpu
    # Of the published run: 2768 GPUs meet the days, and 2440 and 2928 were once the numbers that were named.
    keys = {"model": "deepseek-v3", "tokens": "14.8T", "target_days": 54.2, "precision": "fp8", "batch_tokens": BATCH}
    yield keys, "h800-sxm"


def plan(keys: dict[str, Any], **cluster: Any) -> dict[str, Any]:
    """The plan of a training run."""
    return {"bomgen": 1, "name": "law", "workload": {"training": keys}, "cluster": cluster}


def sized(worked: Worked, keys: dict[str, Any], **cluster: Any) -> Sizing | None:
    """The size of a run; None where no split of the model fits."""
    try:
        return worked(plan(keys, **cluster)).design.sizing
    except PlanErrors as errors:
        if "no split of the model fits" not in str(errors):
            raise
        return None


def holds(found: Sizing | None) -> bool:
    """Whether a cluster holds a run with its activations."""
    return bool(found and found.fit and found.fit.fits)


def meets(found: Sizing | None, days: float) -> bool:
    """Whether a cluster holds a run with its activations, and trains it in time."""
    return bool(found and holds(found) and found.days and found.days.value <= days)


def step_of(found: Sizing, keys: dict[str, Any], servers: int = 1) -> int:
    """What a number of GPUs is a multiple of: whole servers, so many at a time, whole racks, and whole replicas."""
    assert found.servers is not None
    of_server = found.gpus.value // found.servers.value
    degrees = keys.get("parallelism", {})
    stages = degrees.get("tensor", 1) * degrees.get("pipeline", 1)
    replica = lcm(stages * degrees.get("context", 1), stages * degrees.get("expert", 1))
    return lcm(of_server * servers, replica)


@pytest.mark.parametrize(
    ("keys", "gpu"), [pytest.param(*each, id=str(at)) for at, each in few(enumerate(ordinary_plans()), 3)]
)
def test_days_are_met_by_the_fewest_gpus_that_have_a_split(worked: Worked, keys: dict[str, Any], gpu: str) -> None:
    """An ordinary run is never refused for the number of GPUs that bomgen chose; every smaller number is."""
    racks = {"server": "gb200-nvl72"} if gpu == "gb200" else {}
    trays = 18 if racks else 1
    found = sized(worked, keys, gpu=gpu, **racks)
    assert found is not None
    assert found.run is not None
    assert found.run.gpus_required is not None
    assert found.fit is not None
    assert found.fit.fits
    assert meets(found, keys["target_days"])
    step, chosen = step_of(found, keys, trays), found.gpus.value
    assert chosen % step == 0
    least = ceil(found.run.gpus_required.value / step) * step
    for gpus in range(least, chosen, step):
        assert sized(worked, keys, gpu=gpu, gpus=gpus, **racks) is None
    fewer = max(least - step, 0)
    assert not fewer or not meets(sized(worked, keys, gpu=gpu, gpus=fewer, **racks), keys["target_days"])


SMALL = {"llama-2-7b": "30B", "llama-3.1-70b": "4B", "mixtral-8x7b": "10B", "gemma-2-27b": "10B", "deepseek-v3": "4B"}
"""Models with so few tokens that every smaller cluster can be looked at."""


@settings(max_examples=examples(30))
@given(
    model=st.sampled_from(sorted(SMALL)),
    gpu=st.sampled_from(["h100-sxm", "a100-sxm-40", "b200-sxm", "l40s"]),
    days=st.integers(1, 12),
    servers=st.sampled_from([1, 1, 3, 5]),
    degrees=st.sampled_from([None, None, {"tensor": 8, "pipeline": 2}, {"tensor": 4, "pipeline": 3, "context": 2}]),
    rate=st.sampled_from([{}, {"achieved_tflops": 110}, {"goodput": "estimate"}, {"mfu": "30%"}, {"zero": 3}]),
    recompute=st.sampled_from(["auto", "none", "full"]),
)
def test_the_fewest_whatever_the_plan_fixes(
    worked: Worked,
    model: str,
    gpu: str,
    days: int,
    servers: int,
    degrees: dict[str, int] | None,
    rate: dict[str, Any],
    recompute: str,
) -> None:
    """With numbers rounded up, degrees by hand, measured rates and lost time, smaller numbers are too slow or full."""
    keys = {"model": model, "tokens": SMALL[model], "target_days": days, "recompute": recompute, **rate}
    if degrees:
        keys["parallelism"] = degrees
    found = sized(worked, keys, gpu=gpu, round_up_to={"servers": servers})
    if found is None:
        assert all(sized(worked, keys, gpu=gpu, servers=servers * count) is None for count in (2, 30, 64, 729))
        return
    assert found.days is not None
    assert found.fit is not None
    assert found.days.value <= days
    step = step_of(found, keys, servers)
    assert found.gpus.value % step == 0
    if degrees and not found.fit.fits:
        # Degrees by hand may be too large: then the days alone count, and a warning says so.
        assert found.fit.warning
        return
    assert found.fit.fits
    for gpus in range(step, found.gpus.value, step):
        assert not meets(sized(worked, keys, gpu=gpu, gpus=gpus), days)


@given(
    model=st.sampled_from(["llama-2-7b", "llama-3.1-8b", "mixtral-8x7b", "gemma-2-27b", "gpt-oss-20b"]),
    gpu=st.sampled_from(["h100-sxm", "a100-sxm-80", "b200-sxm"]),
    days=st.integers(2, 20),
    batch=st.sampled_from(["1M", "4M", "16M"]),
    servers=st.sampled_from([1, 1, 3]),
    more=st.sampled_from(
        [{}, {"recompute": "full"}, {"parallelism": {"tensor": 4, "pipeline": 2}}, {"goodput": "estimate"}]
    ),
)
def test_the_fewest_by_prediction(
    worked: Worked, model: str, gpu: str, days: int, batch: str, servers: int, more: dict[str, Any]
) -> None:
    """A cluster sized by its prediction is the smallest that is predicted to meet the days."""
    keys = {"model": model, "tokens": "60B", "target_days": days, "batch_tokens": batch, "mfu": "predicted", **more}
    try:
        found = sized(worked, keys, gpu=gpu, round_up_to={"servers": servers})
    except PlanErrors as errors:
        if "no cluster is predicted" not in str(errors):
            raise
        assert not meets(sized(worked, keys, gpu=gpu, servers=servers * 64), days)
        return
    assert found is not None
    assert meets(found, days)
    step = step_of(found, keys, servers)
    for gpus in range(step, found.gpus.value, step):
        assert not meets(sized(worked, keys, gpu=gpu, gpus=gpus), days)


@settings(max_examples=examples(15))
@given(
    model=st.sampled_from(
        ["llama-3.1-70b", "mixtral-8x22b", "deepseek-v3", "gemma-2-27b", "llama-2-7b", "gpt-oss-120b"]
    ),
    gpu=st.sampled_from(["h100-sxm", "a100-sxm-40", "b200-sxm"]),
    servers=st.integers(1, 24),
    more=st.sampled_from([{"zero": 0}, {}, {}, {"zero": 2}, {"zero": 3}, {"recompute": "none"}]),
)
@example(model="llama-3.1-70b", gpu="h100-sxm", servers=1, more={})
@example(model="llama-3.1-70b", gpu="h100-sxm", servers=2, more={})
def test_a_refusal_names_the_smallest_number_that_fits(
    worked: Worked, model: str, gpu: str, servers: int, more: dict[str, Any]
) -> None:
    """And the smallest above the one that was given: what is named holds activations, too, and no smaller number does.

    So does a warning that activations are left out: no sequence is given here.
    """
    keys = {"model": model, "tokens": "1T", **more}
    try:
        report = worked(plan(keys, gpu=gpu, servers=servers))
    except PlanErrors as errors:
        text = str(errors)
        assert "at the assumed sequence of 4,096 tokens" in text
    else:
        left_out = [each.message for each in report.problems if "activations are left out" in each.message]
        if not left_out:
            return
        text = left_out[0]
    assert "would fit the model" in text
    named = [int(count) for count in re.findall(r"\d+", text.split("A cluster of ")[1].split(" GPUs would")[0])]
    assert all(count % 8 == 0 for count in named)
    of_servers = [count // 8 for count in named]
    assert all(holds(sized(worked, keys, gpu=gpu, servers=count)) for count in of_servers)
    smallest, above = of_servers[0], of_servers[-1]
    assert above > servers
    for count in (*range(1, smallest), *range(servers, above)):
        assert not holds(sized(worked, keys, gpu=gpu, servers=count))


@given(
    model=st.sampled_from(SERVED),
    gpu=st.sampled_from(["h100-sxm", "h200-sxm", "b200-sxm", "l40s", "a100-sxm-40", "mi300x"]),
    demand=st.dictionaries(st.sampled_from(["concurrency", "requests_per_minute"]), st.integers(1, 10**5)),
    servers=st.sampled_from([1, 1, 3]),
    degrees=st.sampled_from([None, None, {"tensor": 8, "pipeline": 2}, {"tensor": 4, "pipeline": 3}]),
)
def test_serving_is_never_refused_for_its_own_number(
    worked: Worked, model: str, gpu: str, demand: dict[str, int], servers: int, degrees: dict[str, int] | None
) -> None:
    """Requests in flight and per minute get a cluster; one server less misses a target or holds no replica.

    A rate is missed with its headroom: a cluster that is sized for a rate serves more.

    Only degrees of the plan that put more weights on a GPU than it has are refused.
    """
    keys: dict[str, Any] = {"model": model, "context": 4096, "output_tokens": 512, "precision": "bf16", **demand}
    if degrees:
        keys["parallelism"] = degrees
    keys["margin"] = 0  # what is bought beyond the need is another number
    inference = {"bomgen": 1, "name": "law", "workload": {"inference": keys}}
    try:
        found = worked(inference | {"cluster": {"gpu": gpu, "round_up_to": {"servers": servers}}}).design.sizing
    except PlanErrors as errors:
        text = str(errors)
        split = "tensor {tensor} x pipeline {pipeline} does not fit".format_map(degrees or {"tensor": 0, "pipeline": 0})
        assert f"{split}: on the fullest GPU, weights take " in text
        weights, memory = re.findall(r"weights take ([\d.]+) GB.* GB of ([\d.]+) GB is usable", text)[0]
        assert float(weights) > float(memory)
        return
    assert found.servers
    assert found.servers.value % servers == 0
    assert found.serving
    fewer = found.servers.value - servers
    if fewer and found.serving.need.replica.fits is not False:
        try:
            report = worked(inference | {"cluster": {"gpu": gpu, "servers": fewer}})
        except PlanErrors:
            return
        if not any(problem.rule == "target-missed" for problem in report.problems):
            served = result(report)["workload"]["requests_per_minute"]
            assert served < demand["requests_per_minute"] * (1 + HEADROOM)


@given(
    pflops=st.integers(1, 10**6),
    gpu=st.sampled_from([*GPUS, "l40s"]),
    servers=st.sampled_from([1, 3]),
    storage=st.sampled_from(
        [
            {},
            {"dataset": "3 PB", "servers": {"part": "wekapod-nitro-8t"}},
            {"level": "better", "dataset": "10 TB", "servers": {"part": "ddn-ai400x2", "capacity": "250 TB"}},
            {"dataset": "1 PB", "servers": {"part": "vast-dbox-df5630"}},
        ]
    ),
)
def test_power_and_storage_are_never_refused_for_their_own_numbers(
    worked: Worked, pflops: int, gpu: str, servers: int, storage: dict[str, Any]
) -> None:
    """A target of computing power, with storage for it, is always met by the fewest servers."""
    compute = {"target": f"{pflops} PFLOPS", "precision": "bf16"}
    cluster = {"gpu": gpu, "round_up_to": {"servers": servers}}
    asked = {"bomgen": 1, "name": "law", "workload": {"compute": compute}, "cluster": cluster}
    racks = 18 if gpu == "gb200" else 1
    found = worked(asked | ({"storage": storage} if storage else {})).design.sizing
    assert found.peak_flops
    assert found.target
    assert found.servers
    peak = found.target.peak_flops_per_gpu.value
    assert found.peak_flops.value >= pflops * 10**15
    of_server = found.gpus.value // found.servers.value
    assert (found.gpus.value - of_server * lcm(servers, racks)) * peak < pflops * 10**15


@pytest.mark.parametrize("size", [{"racks": 1}, {"servers": 36}, {"racks": 7}])
def test_degrees_by_hand_are_told_of_whole_racks(worked: Worked, size: dict[str, int]) -> None:
    """40 GPUs of a replica and 72 of a rack: only every fifth rack has whole replicas, and nothing less is named."""
    keys = {"model": "llama-3.1-70b", "tokens": "1T", "parallelism": {"tensor": 8, "pipeline": 5}}
    rack = {"gpu": "gb200", "server": "gb200-nvl72"}
    with pytest.raises(PlanErrors) as caught:
        worked(plan(keys, **rack, **size))
    named = [int(count) for count in re.findall(r"\d+", str(caught.value).split("= 40 GPUs;")[1].split("GPUs are")[0])]
    assert named
    for gpus in named:
        assert sized(worked, keys, **rack, racks=gpus // 72)
        assert gpus % 72 == 0


def test_degrees_by_hand_are_timed_with_their_recomputation(worked: Worked, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step of each number of GPUs is that with full recomputation, which the run takes: the first meets them."""
    monkeypatch.setattr(cluster_size, "MOST_CANDIDATES", 3)
    degrees = {"tensor": 8, "pipeline": 9, "sequence_parallel": False}
    keys = {"model": "llama-3.1-405b", "tokens": "3T", "target_days": 8, "batch_tokens": "256M", "mfu": "predicted"}
    found = sized(worked, keys | {"sequence": 8192, "parallelism": degrees}, gpu="gb200", server="gb200-nvl72")
    assert found
    assert found.fit
    assert found.fit.recompute
    assert found.fit.recompute.value == "full"
    assert found.days
    assert found.days.value <= 8

"""Laws of how a training run fits its GPUs: what the program finds, against what a plan may say by hand."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bomgen.core.diagnostics import PlanErrors
from bomgen.results.numbers import numbers
from bomgen.results.result import Report

Worked = Callable[[dict[str, Any]], Report]

HEADS = {"llama-2-7b": 32, "llama-3.1-70b": 64, "llama-3.1-405b": 128, "mixtral-8x7b": 32, "deepseek-v3": 128}
LAYERS = {"llama-2-7b": 32, "llama-3.1-70b": 80, "llama-3.1-405b": 126, "mixtral-8x7b": 32, "deepseek-v3": 61}
EXPERTS = {"mixtral-8x7b": 8, "deepseek-v3": 256}
RECOMPUTE = ("none", "selective", "full")
WAYS = st.sampled_from([1, 2, 3, 4, 8, 16])
STATES = ("weights", "gradients", "optimizer")


@st.composite
def runs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, int], int]:
    """The keys of a run, the degrees of a split of it that can be given by hand, and a number of GPUs."""
    model = draw(st.sampled_from(sorted(HEADS)))
    tensor = draw(WAYS.filter(lambda ways: HEADS[model] % ways == 0))
    pipeline, context = draw(WAYS), draw(WAYS)
    data = draw(st.sampled_from([1, 2, 8, 64]))
    gpus = tensor * pipeline * context * data
    assume(gpus % 8 == 0 and pipeline <= LAYERS[model])
    most = gcd(data * context, EXPERTS.get(model, 1))
    expert = draw(st.sampled_from([ways for ways in (1, 2, 4, 8, 64) if most % ways == 0]))
    keys = {
        "model": model,
        "tokens": "1T",
        "sequence": draw(st.sampled_from([2048, 8192, 131072])),
        "zero": draw(st.integers(0, 3)),
        "recompute": draw(st.sampled_from(RECOMPUTE)),
        "flash_attention": draw(st.booleans()),
        "batch_tokens": draw(st.sampled_from(["64K", "4M"])),
    }
    if draw(st.booleans()):
        keys["offload"] = draw(st.sampled_from([["optimizer"], ["activations"], ["activations", "optimizer"]]))
    return keys, {"tensor": tensor, "pipeline": pipeline, "context": context, "expert": expert}, gpus


def plan(keys: dict[str, Any], gpus: int, memory: int = 80) -> dict[str, Any]:
    """The plan of a run on GPUs with so many GB of memory, eight a server."""
    gpu = {"name": "GPU", "bf16_tflops": 300, "memory": f"{memory} GB"}
    cluster = {"gpu": gpu, "server": {"gpus": 8}, "gpus": gpus}
    return {"bomgen": 1, "name": "law", "workload": {"training": keys}, "cluster": cluster}


def fits(worked: Worked, keys: dict[str, Any], gpus: int, memory: int = 80) -> Report | None:
    """The report of a run that fits; None for one that does not."""
    try:
        report = worked(plan(keys, gpus, memory))
    except PlanErrors as errors:
        if {problem.rule for problem in errors.problems} != {"infeasible"}:
            raise
        return None
    fit = report.design.sizing.fit
    return report if fit and fit.fits else None


@given(runs(), st.sampled_from([16, 24, 80, 192]))
def test_auto_refuses_nothing_that_fits_by_hand(
    worked: Worked, drawn: tuple[dict[str, Any], dict[str, int], int], memory: int
) -> None:
    """Where a split given by hand fits, the search finds one; with sequence parallelism or without."""
    keys, degrees, gpus = drawn
    for sequence_parallel in (False, True) if degrees["tensor"] > 1 else (False,):
        split = {**degrees, "sequence_parallel": sequence_parallel}
        if fits(worked, {**keys, "parallelism": split}, gpus, memory):
            assert fits(worked, keys, gpus, memory)


@given(runs(), st.sampled_from([16, 24, 40, 80]), st.integers(1, 100))
def test_more_memory_never_turns_fit_into_not_fit(
    worked: Worked, drawn: tuple[dict[str, Any], dict[str, int], int], memory: int, more: int
) -> None:
    """A run that fits fits larger GPUs, too, and recomputes no more on them."""
    keys, _, gpus = drawn
    del keys["recompute"]
    if small := fits(worked, keys, gpus, memory):
        large = fits(worked, keys, gpus, memory + more)
        assert large
        assert RECOMPUTE.index(recomputed(large)) <= RECOMPUTE.index(recomputed(small))


@settings(max_examples=settings.default.max_examples // 4)  # each example is up to four runs
@given(runs(), st.sampled_from([16, 24, 40, 80]))
def test_auto_recomputes_the_least_that_fits(
    worked: Worked, drawn: tuple[dict[str, Any], dict[str, int], int], memory: int
) -> None:
    """What is found fits, less does not, and where nothing is found nothing fits."""
    keys, _, gpus = drawn
    del keys["recompute"]
    report = fits(worked, keys, gpus, memory)
    chosen = RECOMPUTE.index(recomputed(report)) if report else len(RECOMPUTE)
    for place, word in enumerate(RECOMPUTE[: chosen + 1]):
        assert bool(fits(worked, {**keys, "recompute": word}, gpus, memory)) is (place == chosen)


def recomputed(report: Report) -> str:
    """What a run recomputes that leaves it to the program."""
    fit = report.design.sizing.fit
    assert fit
    assert fit.recompute
    return str(fit.recompute.value)


@given(runs())
def test_all_gpus_together_hold_every_byte(worked: Worked, drawn: tuple[dict[str, Any], dict[str, int], int]) -> None:
    """The bytes of the fullest GPU, and of the host beside it, times the GPUs are at least the model's."""
    keys, degrees, gpus = drawn
    found = numbers(worked(plan({**keys, "parallelism": degrees}, gpus)).design)

    def bytes_of(*path: str) -> int:
        figure = found.get(("workload", "memory", *path))
        return int(figure.value) if figure else 0

    of_gpu = sum(bytes_of("per_gpu", state) for state in STATES) + bytes_of("per_gpu", "host")
    assert of_gpu * gpus >= sum(bytes_of(state) for state in STATES)

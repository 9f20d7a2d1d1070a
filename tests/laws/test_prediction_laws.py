"""Laws of predicted training steps: of the formulas for any split, machine and model, and of predicted plans."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import log
from operator import add
from typing import Any

from depth import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.provenance import Cited, Figure, trace
from bomgen.results.numbers import numbers
from bomgen.results.result import Report, result
from bomgen.sizing.prediction import coefficients
from bomgen.sizing.prediction.coefficients import Members
from bomgen.sizing.prediction.predict import end_of_interval, learn, predict_steps
from bomgen.sizing.prediction.terms import (
    HIDDEN,
    HIDING,
    Machine,
    Split,
    Terms,
    Work,
    line_rate_terms,
)

WAYS = st.sampled_from([1.0, 2.0, 4.0, 8.0, 16.0, 64.0])
FASTER = st.floats(1, 100)
SHARES = st.sampled_from([0.0, 1.0])
PRECISIONS = st.sampled_from(["16-bit", "fp8", "mxfp8", "nvfp4"])
GENERATIONS = st.sampled_from([None, "ampere", "hopper", "blackwell", "blackwell-ultra"])
MODELS = st.sampled_from(["dense", "deepseek-v3", "none"])
ROUNDING = 1 + 1e-9


@st.composite
def works(draw: st.DrawFn) -> Work[float]:
    """A dense model or a mixture of experts."""
    layers, hidden = float(draw(st.integers(1, 128))), float(draw(st.integers(1, 160)) * 128)
    sequence, moe = float(draw(st.sampled_from([512, 4096, 131072]))), draw(st.booleans())
    weights, frozen = 12 * layers * hidden * hidden, draw(st.booleans())
    return Work(
        layers=layers,
        blocks=2 * layers,
        hidden=hidden,
        sequence=sequence,
        weights=weights,
        split_width=14 * hidden * layers,
        products=layers * sequence * hidden,
        scores=layers * sequence * hidden / 128,
        states=draw(st.sampled_from([0.0, 1e5])) * layers,
        kv_width=2 * layers * hidden,
        head=hidden * 128_000,
        parameters=weights + 2 * hidden * 128_000,
        expert_weights=8 * weights if moe else 0.0,
        expert_parameters=64 * weights if moe else 0.0,
        expert_width=2048.0 if moe else 1.0,
        expert_input=hidden if moe else 0.0,
        expert_layers=layers if moe else 0.0,
        experts=64.0 if moe else 1.0,
        topk=8.0 if moe else 1.0,
        trained=0.01 if frozen else 1.0,
        adapted=7 * layers if frozen else 0.0,
        stored_weight=draw(st.sampled_from([0.5, 2.0])) if frozen else 2.0,
    )


@st.composite
def splits(draw: st.DrawFn) -> Split[float]:
    """A split with any settings."""
    return Split(
        batch=float(draw(st.integers(1, 8192))),
        micro_batch=draw(WAYS),
        tensor=draw(WAYS),
        pipeline=draw(WAYS),
        interleave=draw(WAYS),
        data=draw(WAYS),
        context=draw(WAYS),
        expert=draw(WAYS),
        gathers=draw(st.sampled_from([0.0, 1.0, 3.0])),
        messages=draw(st.sampled_from([1.0, 4.0])),
        sharded=draw(SHARES),
        recompute=draw(SHARES),
        attention_recompute=draw(SHARES),
        flash=draw(SHARES),
        sequence_parallel=draw(SHARES),
        overlapped=draw(SHARES),
        sent_once=draw(SHARES),
        exchange_overlapped=draw(SHARES),
    )


def machines() -> st.SearchStrategy[Machine[float]]:
    """A GPU with its links; scale-up links are no slower than NICs."""
    return st.builds(
        Machine,
        peak=st.floats(1e13, 1e16),
        plain_peak=st.floats(1e13, 5e15),
        memory_bandwidth=st.floats(1e11, 2e13),
        scale_up=st.floats(1e11, 2e12),
        network=st.floats(1e9, 1e11),
        domain=st.sampled_from([1.0, 8.0, 72.0]),
        attention_share=st.floats(0.1, 1),
    )


@st.composite
def efficiencies(draw: st.DrawFn) -> Terms[float]:
    """Fitted inverse efficiencies of any generation, precision and stack."""
    stack = draw(st.sampled_from(sorted(coefficients.load(coefficients.FIT)["stack"])))
    return coefficients.inverse_efficiencies(Members(draw(GENERATIONS), draw(PRECISIONS), stack, draw(MODELS)))


@given(works(), machines(), splits(), efficiencies(), FASTER)
def test_what_is_faster_never_slows(
    work: Work[float], machine: Machine[float], split: Split[float], inverse: Terms[float], times: float
) -> None:
    """Matrix units, memory, scale-up links, NICs, and all of them."""
    step = predict_steps(work, machine, split, inverse)
    rates = (("peak", "plain_peak"), ("memory_bandwidth",), ("scale_up",), ("network",))
    for changed in (*rates, tuple(name for names in rates for name in names)):
        faster = machine._replace(**{name: getattr(machine, name) * times for name in changed})
        assert predict_steps(work, faster, split, inverse) <= step * ROUNDING


@given(works(), machines(), splits(), efficiencies(), st.floats(0, 1))
def test_frozen_weights_never_slow(
    work: Work[float], machine: Machine[float], split: Split[float], inverse: Terms[float], share: float
) -> None:
    """Of the same work, a step that trains a smaller share of the weights takes no longer."""
    frozen = predict_steps(work._replace(trained=work.trained * share), machine, split, inverse)
    assert frozen <= predict_steps(work, machine, split, inverse) * ROUNDING


def test_kernels_take_longer_than_the_starts_that_they_hide() -> None:
    """For each generation, precision and stack: else a slower GPU would come out faster."""
    found = coefficients.load(coefficients.FIT)
    for born in (None, *found["generation"]):
        for precision in found["precision"]:
            for stack in sorted(coefficients.load(coefficients.FIT)["stack"]):
                inverse = coefficients.inverse_efficiencies(Members(born, precision, stack, "dense"))
                hiding = [getattr(inverse, name) for name in HIDING]
                hidden = [getattr(inverse, name) for name in HIDDEN]
                assert max(hidden) <= min(hiding), (born, precision, stack)


@given(works(), machines(), splits())
def test_figures_come_to_what_numbers_come_to(work: Work[float], machine: Machine[float], split: Split[float]) -> None:
    """Each term at line rate, to the last bit; none is negative."""

    def figures(values: tuple[float, ...]) -> list[Figure]:
        return [Figure(value, "count", Cited("drawn", (), "high")) for value in values]

    plain = line_rate_terms(work, machine, split)
    explained = trace(line_rate_terms, Work(*figures(work)), Machine(*figures(machine)), Split(*figures(split)))
    assert [figure.value for figure in explained] == list(plain)
    assert min(plain) >= 0


@given(st.floats(1e-3, 1e4), st.floats(0, 3), st.floats(0, 3))
def test_an_interval_holds_its_point_and_narrower_ones(step: float, wide: float, more: float) -> None:
    """Whatever its width; a larger coverage gives a wider interval."""
    low, high = (end_of_interval.plain(step, width) for width in (-wide, wide))
    assert low <= step <= high
    assert end_of_interval.plain(step, -wide - more) <= low
    assert end_of_interval.plain(step, wide + more) >= high


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20), st.floats(0.01, 2), st.floats(0.01, 2), st.floats(-1, 1))
def test_own_measurements_never_widen(errors: list[float], spread: float, within: float, one_more: float) -> None:
    """Nor does one more; the point moves towards them, and no further than they are off on average."""
    moved, left = learn(errors, spread, within)
    assert left <= spread * ROUNDING
    assert abs(moved) <= abs(sum(errors) / len(errors)) * ROUNDING
    assert learn([*errors, one_more], spread, within)[1] <= left * ROUNDING


# predicted plans -----------------------------------------------------------------------------------------------------

Worked = Callable[[dict[str, Any]], Report]
PREDICTION = ("workload", "prediction")
TRAINED = ["llama-3.1-8b", "llama-3.1-70b", "gpt-oss-120b", "qwen3-30b-a3b"]


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """A predicted run on GPUs whose memory and links are the plan's own."""
    training = {
        "model": draw(st.sampled_from(TRAINED)),
        "tokens": "1T",
        "sequence": draw(st.sampled_from([2048, 8192])),
        "batch_tokens": "4M",
        "mfu": "predicted",
        "zero": draw(st.integers(0, 3)),
        "stack": draw(st.sampled_from(sorted(coefficients.load(coefficients.FIT)["stack"]))),
        "recompute": draw(st.sampled_from(["none", "selective", "full"])),
    }
    gpu = {
        "name": "GPU",
        "bf16_tflops": 500,
        "memory": f"{draw(st.sampled_from([80, 192]))} GB",
        "memory_bandwidth": f"{draw(st.integers(1000, 8000))} GB/s",
        "scale_up": f"{draw(st.integers(200, 1800))} GB/s",
    }
    cluster = {"gpu": gpu, "server": {"gpus": 8}, "gpus": draw(st.sampled_from([64, 256, 1024]))}
    return {"bomgen": 1, "name": "law", "workload": {"training": training}, "cluster": cluster}


def predicted(worked: Worked, plan: dict[str, Any]) -> Report | None:
    """The report of a plan; None for a run that does not fit its GPUs."""
    try:
        return worked(plan)
    except PlanErrors as errors:
        if {problem.rule for problem in errors.problems} != {"infeasible"}:
            raise
        return None


def seconds_of(report: Report) -> dict[str, float]:
    """What is predicted of a step, its terms among them, by name."""
    under = len(PREDICTION)
    found = numbers(report.design)
    return {path[-1]: float(found[path].value) for path in found if path[:under] == PREDICTION}


def more(plan: dict[str, Any], key: str, times: int) -> dict[str, Any]:
    """The plan with more of something of its GPU."""
    amount, _, unit = plan["cluster"]["gpu"][key].partition(" ")
    gpu = plan["cluster"]["gpu"] | {key: f"{int(amount) * times} {unit}"}
    return plan | {"cluster": plan["cluster"] | {"gpu": gpu}}


@settings(max_examples=examples(10))
@given(plans(), st.sampled_from(["memory", "memory_bandwidth", "scale_up"]), st.sampled_from([2, 10]))
def test_more_of_a_gpu_never_slows_a_plan(worked: Worked, plan: dict[str, Any], key: str, times: int) -> None:
    """Whatever split the search then takes: what fitted still fits, and none of the splits is slower."""
    before = predicted(worked, plan)
    assume(before)
    after = predicted(worked, more(plan, key, times))
    assert before
    assert after
    assert seconds_of(after)["step_seconds"] <= seconds_of(before)["step_seconds"] * ROUNDING


@settings(max_examples=examples(10))
@given(plans(), st.floats(0, 1))
def test_a_predicted_plan_is_the_sum_of_its_terms_in_its_intervals(
    worked: Worked, plan: dict[str, Any], place: float
) -> None:
    """To the last digit of bom.json, each with its derivation; a step measured in the interval does not widen it."""
    report = predicted(worked, plan)
    assume(report)
    assert report
    bill = result(report)
    found = bill["workload"]["prediction"]
    assert reduce(add, found["terms"].values()) == found["step_seconds"]
    for name in found["terms"]:
        assert bill["derivations"][f"workload.prediction.terms.{name}"]["inputs"]
    ends = [found[f"step_seconds_{end}"] for end in ("low", "low_50", "high_50", "high")]
    assert sorted([*ends, found["step_seconds"]]) == [*ends[:2], found["step_seconds"], *ends[2:]]

    fit = report.design.sizing.fit
    assert fit
    split = {name: int(getattr(fit.split, name).value) for name in ("tensor", "pipeline", "context", "expert")}
    measured = found["step_seconds_low"] + place * (found["step_seconds_high"] - found["step_seconds_low"])
    own = {"gpus": plan["cluster"]["gpus"], **split, "step": f"{measured} s"}
    again = predicted(worked, plan | {"workload": {"training": plan["workload"]["training"] | {"measured": [own]}}})
    assume(again)
    assert again
    taught = seconds_of(again)
    width = log(found["step_seconds_high"] / found["step_seconds_low"])
    assert log(taught["step_seconds_high"] / taught["step_seconds_low"]) <= width * ROUNDING

"""Laws of sizing, on whole plans built through the library."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from bomgen.results.numbers import numbers
from bomgen.results.result import Report

Worked = Callable[[dict[str, Any]], Report]

MODELS = st.sampled_from(["llama-2-7b", "llama-1-65b", "llama-3.1-70b", "mixtral-8x7b", "deepseek-v3", "gemma-2-27b"])
GPUS = st.sampled_from(["a100-sxm-80", "h100-sxm", "b200-sxm"])
DAYS = st.integers(1, 400)
TOKENS = st.integers(10**9, 2 * 10**13)
METHODS = ("qlora", "lora", "full")
BY_HAND = {"tensor": 1}


def value(report: Report, path: str) -> Any:
    """A number of a result."""
    return numbers(report.design)[tuple(path.split("."))].value


def run(model: str, cluster: dict[str, Any], **training: Any) -> dict[str, Any]:
    """The plan of a training run, cut up by hand so that nothing is refused for its memory."""
    keys = {"model": model, "parallelism": BY_HAND, "sequence": 2048, **training}
    return {"bomgen": 1, "name": "law", "workload": {"training": keys}, "cluster": cluster}


@given(model=MODELS, gpu=GPUS, tokens=TOKENS, days=DAYS, more=st.integers(1, 400))
def test_more_days_never_need_more_gpus(
    worked: Worked, model: str, gpu: str, tokens: int, days: int, more: int
) -> None:
    """Relaxing the target never raises the number of GPUs, with the goodput estimated too."""
    assume(tokens < days * 10**12)
    for goodput in ("90%", "estimate"):
        tight, loose = (
            worked(run(model, {"gpu": gpu}, tokens=tokens, target_days=target, goodput=goodput))
            for target in (days, days + more)
        )
        assert value(loose, "workload.gpus_required") <= value(tight, "workload.gpus_required")
        assert value(loose, "cluster.gpus") <= value(tight, "cluster.gpus")


@given(model=MODELS, tokens=TOKENS, days=DAYS)
def test_days_and_gpus_agree(worked: Worked, model: str, tokens: int, days: int) -> None:
    """The GPUs for so many days take at most so many; one GPU fewer takes longer."""
    assume(tokens < days * 10**12)
    cluster = {"gpu": {"name": "GPU", "bf16_tflops": 300, "memory": "80 GB"}}
    required = value(worked(run(model, cluster, tokens=tokens, target_days=days)), "workload.gpus_required")
    for gpus, longer in ((required, False), (required - 1, True)):
        if gpus:
            taken = value(worked(run(model, {**cluster, "gpus": gpus}, tokens=tokens)), "workload.days")
            assert longer is (taken > days)


@given(model=MODELS, gpu=GPUS, servers=st.integers(1, 500), more=st.integers(1, 500))
def test_adding_gpus_never_lengthens_the_run(worked: Worked, model: str, gpu: str, servers: int, more: int) -> None:
    """More servers take fewer days."""
    few, many = (worked(run(model, {"gpu": gpu, "servers": count}, tokens="1T")) for count in (servers, servers + more))
    assert value(many, "workload.days") < value(few, "workload.days")


@given(
    model=MODELS,
    tensor=st.sampled_from([1, 2, 4, 8]),
    pipeline=st.sampled_from([1, 2, 4]),
    optimizer=st.sampled_from(["adam", "adam-8bit", "sgd", "adafactor"]),
)
def test_a_higher_stage_of_zero_never_needs_more(
    worked: Worked, model: str, tensor: int, pipeline: int, optimizer: str
) -> None:
    """Every stage divides one more kind of state among the replicas."""
    split = {"tensor": tensor, "pipeline": pipeline}
    needs = [
        value(
            worked(
                run(
                    model,
                    {"gpu": "h100-sxm", "gpus": 256},
                    **{
                        "tokens": "1T",
                        "zero": stage,
                        "parallelism": split,
                        "optimizer": optimizer,
                        "recompute": "none",
                    },
                )
            ),
            "workload.memory.per_gpu.total",
        )
        for stage in range(4)
    ]
    assert sorted(needs, reverse=True) == needs


@given(
    model=MODELS,
    gpu=GPUS,
    mfu=st.integers(5, 70),
    attention=st.sampled_from(["none", "causal", "full"]),
    recompute=st.sampled_from(["none", "selective", "full"]),
    flash=st.booleans(),
)
def test_rates_convert_into_each_other(
    worked: Worked, model: str, gpu: str, mfu: int, attention: str, recompute: str, flash: bool
) -> None:
    """A run given by its MFU takes as long as one given by the rates that its report shows."""
    keys = {"tokens": "1T", "attention": attention, "recompute": recompute, "flash_attention": flash}
    cluster = {"gpu": gpu, "gpus": 1024}
    first = worked(run(model, cluster, mfu=f"{mfu}%", **keys))
    hardware = Fraction(value(first, "workload.achieved_flops_per_gpu"))
    tokens = Fraction(value(first, "workload.tokens_per_second_per_gpu"))
    assert value(first, "workload.hfu") >= value(first, "workload.mfu")
    for key, rate in (
        ("achieved_tflops", hardware / 10**12),
        ("tokens_per_second_per_gpu", tokens),
    ):
        again = worked(run(model, cluster, **keys, **{key: float(rate)}))
        for path in ("workload.days", "workload.mfu", "workload.hfu"):
            assert abs(value(again, path) / value(first, path) - 1) < Fraction(1, 10**9)


@given(model=MODELS, gpu=GPUS, mfu=st.integers(5, 60))
def test_counting_attention_raises_the_utilisation(worked: Worked, model: str, gpu: str, mfu: int) -> None:
    """The same speed is a higher MFU the more of attention counts, and the one asked for is the one given."""
    report = worked(run(model, {"gpu": gpu, "gpus": 1024}, tokens="1T", mfu=f"{mfu}%", attention="causal"))
    by_name = [value(report, f"workload.mfu_by_convention.{name}") for name in ("none", "causal", "full")]
    assert sorted(by_name) == by_name
    assert by_name[1] == value(report, "workload.mfu") == Fraction(mfu, 100)


@given(model=MODELS, rank=st.integers(1, 256), zero=st.integers(0, 3))
def test_adapters_need_less_than_all_weights(worked: Worked, model: str, rank: int, zero: int) -> None:
    """Memory and FLOPs of QLoRA are at most those of LoRA, and those of small adapters at most those of full tuning.

    With the same recomputation: QLoRA fits with less of it.
    """
    reports = []
    for method in METHODS:
        keys = {"model": model, "tokens": "50M", "method": method, "rank": rank, "zero": zero, "sequence": 2048}
        keys["recompute"] = "full"
        plan = {"fine_tuning": {**keys, "parallelism": BY_HAND}}
        reports.append(
            worked({"bomgen": 1, "name": "law", "workload": plan, "cluster": {"gpu": "h100-sxm", "servers": 4}})
        )
    qlora, lora, full = reports
    trained = [value(report, "workload.trainable_parameters") for report in reports]
    assert trained[0] == trained[1]
    assert trained[2] == value(full, "workload.parameters")
    assert value(qlora, "workload.memory.total") < value(lora, "workload.memory.total")
    if trained[1] * 10 < trained[2]:
        assert value(lora, "workload.memory.per_gpu.total") < value(full, "workload.memory.per_gpu.total")
        assert value(lora, "workload.flops") < value(full, "workload.flops")


@given(target=st.integers(1, 5000), gpu=GPUS, precision=st.sampled_from(["bf16", "fp16"]), share=st.fractions(0, 1))
def test_a_target_is_reached_by_no_gpu_too_many(
    worked: Worked, target: int, gpu: str, precision: str, share: Fraction
) -> None:
    """The GPUs required reach the target and one fewer does not; sparse never needs more than dense."""
    asked = target * (1 + share)
    compute = {"target": f"{float(asked)} PFLOPS", "precision": precision}
    dense, sparse = (
        worked(
            {
                "bomgen": 1,
                "name": "law",
                "workload": {"compute": {**compute, "sparsity": kind}},
                "cluster": {"gpu": gpu},
            }
        )
        for kind in ("dense", "sparse")
    )
    gpus, peak = value(dense, "workload.gpus_required"), value(dense, "workload.peak_flops_per_gpu")
    wanted = value(dense, "workload.target_flops")
    assert (gpus - 1) * peak < wanted <= gpus * peak
    assert value(sparse, "workload.gpus_required") <= gpus


@given(model=MODELS, gpu=GPUS, servers=st.integers(1, 3000))
def test_the_goodput_lies_in_its_range(worked: Worked, model: str, gpu: str, servers: int) -> None:
    """Published clusters with more and fewer interruptions enclose the estimate, but not one from the plan's own."""
    report = worked(run(model, {"gpu": gpu, "servers": servers}, tokens="1T"))
    base = "workload.lost_time.goodput"
    low, high = (value(report, f"{base}_range.{end}") for end in ("low", "high"))
    assert low <= value(report, base) <= high
    given_ = run(model, {"gpu": gpu, "servers": servers}, tokens="1T") | {"storage": {"interruption_gpu_hours": 40000}}
    assert worked(given_).design.sizing.lost.goodput_range is None


@given(racks=st.integers(1, 100), days=DAYS, rates=st.sampled_from([{"goodput": "estimate"}, {"mfu": "predicted"}]))
def test_racks_are_the_trays_in_them(worked: Worked, racks: int, days: int, rates: dict[str, Any]) -> None:
    """A cluster given by racks takes as long as one given by their trays, whatever the days that are wanted."""
    cluster = {"gpu": "gb200", "server": "dgx-gb200-nvl72"}
    taken = {
        value(worked(run("llama-2-7b", {**cluster, **size}, tokens=10**13, target_days=days, **rates)), "workload.days")
        for size in ({"racks": racks}, {"servers": 18 * racks})
    }
    assert len(taken) == 1

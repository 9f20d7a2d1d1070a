"""Laws of serving: what halves, what grows with what, and that what is promised fits."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.resources import folder
from bomgen.results.result import Report, result

Worked = Callable[[dict[str, Any]], Report]

MODELS = ("llama-2-7b", "llama-3.1-8b", "llama-2-70b", "mixtral-8x7b", "qwen3-32b")
models = st.sampled_from(MODELS)
served = st.sampled_from((*MODELS, "gpt-oss-120b", "qwen3-235b-a22b", "deepseek-r1", "qwen3.6-35b-a3b"))
GPUS = tuple(sorted(path.stem for path in folder("data").glob("gpu/*.yaml")))
gpus = st.sampled_from(GPUS)
"""All of the catalogue."""
engines = st.sampled_from(("vllm", "sglang", "tensorrt-llm"))
contexts = st.integers(min_value=16, max_value=4096)
HEADROOM = 0.05
INTERFERENCE = 0.02
"""Share of the throughput that more requests in flight may cost: prompts and outputs disturb each other."""
shares = st.integers(min_value=70, max_value=100)
fixed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def workload(worked: Worked, cluster: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """The workload of bom.json for a model that is served on H200."""
    chosen = {"gpu": "h200-sxm"} | (cluster or {})
    plan = {"bomgen": 1, "name": "law", "workload": {"inference": keys}, "cluster": chosen}
    found: dict[str, Any] = result(worked(plan))["workload"]
    return found


@fixed
@given(model=models, context=contexts)
def test_half_the_format_half_the_bytes(model: str, context: int, worked: Worked) -> None:
    """The KV cache halves with its format; weights do down to 16 bits, which embeddings keep."""
    sizes = [
        workload(worked, model=model, context=context, precision=name, kv_precision=name)["memory"]
        for name in ("fp32", "bf16", "fp8")
    ]
    for wide, narrow in itertools.pairwise(sizes):
        assert wide["kv_cache"] == 2 * narrow["kv_cache"]
    fp32, bf16, fp8 = (size["weights"] for size in sizes)
    assert fp32 == 2 * bf16
    assert bf16 / 2 < fp8 < bf16


@fixed
@given(model=models, context=contexts, output=st.integers(1, 15), gpus=st.integers(1, 30), more=st.integers(1, 30))
def test_more_gpus_never_answer_less(
    model: str, context: int, output: int, gpus: int, more: int, worked: Worked
) -> None:
    """A larger cluster answers at least as many requests, at all ends of the estimate."""
    keys = {"model": model, "context": context, "output_tokens": output}
    small = workload(worked, {"servers": gpus}, **keys)
    large = workload(worked, {"servers": gpus + more}, **keys)
    assert small["requests_per_minute"] <= large["requests_per_minute"]
    for end in ("low", "high"):
        assert small["requests_per_minute_range"][end] <= large["requests_per_minute_range"][end]
    low, high = large["requests_per_minute_range"]["low"], large["requests_per_minute_range"]["high"]
    assert low <= large["requests_per_minute"] <= high


@fixed
@given(model=models, context=contexts, share=shares, more=shares)
def test_more_memory_never_holds_or_answers_less(
    model: str, context: int, share: int, more: int, worked: Worked
) -> None:
    """A replica of the same GPUs holds and answers at least as much when more of them may be filled."""
    keys = {"model": model, "context": context, "output_tokens": context // 2, "parallelism": {"tensor": 8}}
    less, much = (workload(worked, {"servers": 2}, memory_share=f"{part}%", **keys) for part in sorted((share, more)))
    assert less["concurrency_per_replica"] <= much["concurrency_per_replica"]
    assert less["requests_per_minute"] <= much["requests_per_minute"] * (1 + INTERFERENCE)


@fixed
@given(model=models, context=contexts, concurrency=st.integers(1, 3000), rate=st.integers(1, 100_000))
def test_what_is_required_suffices(model: str, context: int, concurrency: int, rate: int, worked: Worked) -> None:
    """The GPUs required hold the requests in flight, answer the rate and fit their memory; the range encloses them."""
    keys = {"model": model, "context": context, "output_tokens": 8}
    found = workload(worked, concurrency=concurrency, requests_per_minute=rate, **keys)
    replicas = found["replicas_required"]
    assert found["gpus_required"] <= replicas * found["gpus_per_replica"] <= found["gpus_to_buy"]
    assert replicas * found["concurrency_per_replica"] >= concurrency
    assert found["requests_per_minute"] >= rate * (1 + HEADROOM) * (1 - 1e-6)
    assert found["load"] <= 1 / (1 + HEADROOM) * (1 + 1e-6)
    assert found["replicas"] >= replicas
    span = found["gpus_required_range"]
    assert span["low"] <= found["gpus_required"]
    assert found["gpus_required"] <= span.get("high", found["gpus_required"])
    per_gpu = found["memory"]["per_gpu"]
    assert per_gpu["total"] <= per_gpu["room"]
    assert found["memory"]["total"] == found["memory"]["weights"] + found["memory"]["kv_cache"]


@fixed
@given(heads=st.sampled_from([8, 16, 32, 64]), groups=st.sampled_from([1, 2, 4, 8]), layers=st.integers(1, 128))
def test_shared_heads_never_keep_more(heads: int, groups: int, layers: int, worked: Worked) -> None:
    """GQA keeps the share of MHA that its KV heads are of all heads."""
    shape = {"name": "m", "parameters": "7B", "layers": layers, "hidden": heads * 128, "heads": heads}
    every = workload(worked, model=shape, context=1024)["memory"]["kv_cache"]
    shared = workload(worked, model=shape | {"kv_heads": groups}, context=1024)["memory"]["kv_cache"]
    assert shared == Fraction(groups, heads) * every <= every


@fixed
@given(model=models, context=contexts, concurrency=st.integers(1, 200))
def test_longer_requests_keep_more(model: str, context: int, concurrency: int, worked: Worked) -> None:
    """The KV cache grows with the tokens of a request and the requests in flight, and with nothing else."""
    keys = {"model": model, "parallelism": {"tensor": 8}}
    one = workload(worked, {"servers": 1}, context=context, **keys)
    assert one["memory"]["kv_cache"] == one["kv_bytes_per_token"] * context == one["kv_bytes_per_request"]
    more = workload(worked, {"servers": 1}, context=context, concurrency=concurrency, **keys)
    assert more["memory"]["kv_cache"] == concurrency * one["memory"]["kv_cache"]


@fixed
@given(model=models, context=contexts, batch=st.integers(1, 3000), more=st.integers(1, 3000))
def test_a_larger_batch_never_puts_out_less(model: str, context: int, batch: int, more: int, worked: Worked) -> None:
    """More requests at a time share the reading of the weights, up to what a replica holds."""
    keys = {"model": model, "context": context, "output_tokens": context // 2, "parallelism": {"tensor": 8}}
    less, much = (workload(worked, batch=size, **keys) for size in sorted((batch, more)))
    assert less["tokens_per_second_per_gpu"] <= much["tokens_per_second_per_gpu"] * (1 + INTERFERENCE)
    assert much["requests_at_a_time"] == min(max(batch, more), much["concurrency_per_replica"])


REFUSED_SPLIT = re.compile(
    r"plan\.yaml:\S+ error: tensor \d+ x pipeline \d+ does not fit: on the fullest GPU, weights take ([\d.]+) GB.*; "
    r"[\d.]+ GB of ([\d.]+) GB is usable, .* \[infeasible\]"
)
"""The refusal of degrees that put more weights on a GPU than it has memory."""


@fixed
@given(
    model=st.sampled_from((*MODELS, "llama-3.1-405b", "deepseek-v3")),
    context=contexts,
    concurrency=st.integers(1, 3000),
    rate=st.integers(1, 100_000),
    degrees=st.sampled_from([(1, 1), (2, 1), (4, 1), (8, 1)]) | st.tuples(st.just(8), st.integers(2, 32)),
)
def test_no_degrees_by_hand_need_fewer_gpus(
    model: str, context: int, concurrency: int, rate: int, degrees: tuple[int, int], worked: Worked
) -> None:
    """A tensor degree within the server, or stages of whole servers, given by hand never need fewer GPUs than auto."""
    keys = {"model": model, "context": context, "output_tokens": 8, "precision": "bf16"}
    keys |= {"concurrency": concurrency, "requests_per_minute": rate}
    found = workload(worked, **keys)
    try:
        given_ = workload(worked, parallelism=dict(zip(("tensor", "pipeline"), degrees, strict=True)), **keys)
    except PlanErrors as errors:
        refused = REFUSED_SPLIT.fullmatch(str(errors))
        assert refused
        weights, memory = map(float, refused.groups())
        assert weights > memory
        return
    if given_["concurrency_per_replica"]:
        assert found["gpus_required"] <= given_["gpus_required"]


RATED = {"prompt_tokens": 900, "output_tokens": 350}
loads = st.integers(1, 20_000)
lengths = st.integers(16, 3700)
milliseconds = st.integers(15, 200)


class Count(NamedTuple):
    """GPUs that a rate needs."""

    required: int
    to_buy: int

    def within(self, other: Count) -> bool:
        """Whether none of both is more than another."""
        return self.required <= other.required and self.to_buy <= other.to_buy


def gpus_for(worked: Worked, model: str, gpu: str = "h200-sxm", **keys: Any) -> Count | None:
    """GPUs that a rate needs; None: no split keeps the targets, or the accelerator cannot serve the model."""
    plan = {"bomgen": 1, "name": "law", "workload": {"inference": {"model": model, **RATED, **keys}}}
    try:
        found = result(worked(plan | {"cluster": {"gpu": gpu}}))["workload"]
    except PlanErrors as errors:
        if not {problem.rule for problem in errors.problems} <= REFUSALS:
            raise
        return None
    assert found["gpus_required"] <= found["gpus_to_buy"]
    return Count(found["gpus_required"], found["gpus_to_buy"])


REFUSALS = {"targets", "infeasible", "missing-key", "no-server", "unknown-links"}
"""Rules by which a model on an accelerator is refused."""


@fixed
@given(model=served, gpu=gpus, engine=engines, rate=loads, more=loads)
def test_more_requests_never_need_fewer_gpus(
    model: str, gpu: str, engine: str, rate: int, more: int, worked: Worked
) -> None:
    """The cluster for a higher rate serves the lower one."""
    few, many = (gpus_for(worked, model, gpu, engine=engine, requests_per_minute=each) for each in sorted((rate, more)))
    assert (few is None) is (many is None)
    assert few is None or (many is not None and few.within(many))


@fixed
@given(model=served, gpu=gpus, engine=engines, rate=loads, prompt=lengths, longer=lengths)
def test_longer_prompts_never_need_fewer_gpus(
    model: str, gpu: str, engine: str, rate: int, prompt: int, longer: int, worked: Worked
) -> None:
    """Longer prompts take more arithmetic and more KV cache."""
    keys = {"engine": engine, "requests_per_minute": rate}
    short, long = (gpus_for(worked, model, gpu, prompt_tokens=each, **keys) for each in sorted((prompt, longer)))
    assert long is None or (short is not None and short.within(long))


@fixed
@given(model=served, gpu=gpus, engine=engines, rate=loads, tight=milliseconds, loose=milliseconds)
def test_tighter_targets_never_need_fewer_gpus(
    model: str, gpu: str, engine: str, rate: int, tight: int, loose: int, worked: Worked
) -> None:
    """A target that is kept keeps a looser one; one that nothing reaches is refused."""
    keys = {"engine": engine, "requests_per_minute": rate}
    hard, easy = (
        gpus_for(worked, model, gpu, targets={"tpot": f"{each} ms", "ttft": "2 s"}, **keys)
        for each in sorted((tight, loose))
    )
    assert hard is None or (easy is not None and easy.within(hard))


@fixed
@given(
    model=served,
    gpu=gpus,
    engine=engines,
    load=st.integers(1, 500),
    precision=st.sampled_from(("bf16", "fp8", "int4")),
    tensor=st.sampled_from((1, 2, 4, 8)),
)
def test_nothing_is_faster_than_the_data_sheet(
    model: str, gpu: str, engine: str, load: int, precision: str, tensor: int, worked: Worked
) -> None:
    """No time, nor the low end of its interval, is below the bytes that are read over the bandwidth of the memory."""
    keys = {"model": model, "engine": engine, "precision": precision, "parallelism": {"tensor": tensor}, **RATED}
    plan = {"bomgen": 1, "name": "law", "workload": {"inference": keys | {"batch": load}}, "cluster": {"gpu": gpu}}
    try:
        found = worked(plan).design.sizing.serving
    except PlanErrors:
        return
    if found is None or found.need.speed is None or found.speed is None or found.in_flight is None:
        return
    terms = found.need.speed.at_line_rate(float(found.in_flight.value))
    reading = terms.weights + terms.experts + terms.cache
    low = float(found.speed.intervals["tpot"].low.value)
    assert reading <= low * (1 + 1e-9)
    assert low <= float(found.speed.tpot.value)
    assert terms.prompt_arithmetic + terms.prompt_experts <= float(found.speed.intervals["ttft"].low.value)


@fixed
@given(model=served, precision=st.sampled_from(("bf16", "fp8")), tensor=st.sampled_from((1, 2, 4, 8)))
def test_b200_is_faster_than_h200(model: str, precision: str, tensor: int, worked: Worked) -> None:
    """8 instead of 4.8 TB/s: a request alone gets its tokens at least a twentieth faster, measured pairs aside."""
    times = []
    for gpu in ("h200-sxm", "b200-sxm"):
        keys = {"model": model, "precision": precision, "parallelism": {"tensor": tensor}, "batch": 1, **RATED}
        plan = {"bomgen": 1, "name": "law", "workload": {"inference": keys}, "cluster": {"gpu": gpu}}
        try:
            speed = worked(plan).design.sizing.serving.need.speed  # type: ignore[union-attr]
        except PlanErrors:
            return
        assert speed is not None
        same = speed.coefficients._replace(corrections={"tpot": 1.0, "ttft": 1.0})
        times.append(speed._replace(coefficients=same).times(1.0).tpot)
    slow, fast = times
    assert slow > 1.05 * fast


@fixed
@given(model=models, rate=loads, bandwidth=st.integers(1000, 8000), faster=st.integers(1000, 8000))
def test_faster_memory_never_needs_more_gpus(
    model: str, rate: int, bandwidth: int, faster: int, worked: Worked
) -> None:
    """A GPU with more bandwidth and all else equal."""

    def gpus(gigabytes: int) -> int:
        described = {"bf16_tflops": 900, "memory": "141 GB", "memory_bandwidth": f"{gigabytes} GB/s"}
        gpu = described | {"scale_up": "900 GB/s"}
        cluster = {"gpu": gpu, "server": {"gpus": 8}}
        inference = {"model": model, **RATED, "requests_per_minute": rate}
        plan = {"bomgen": 1, "name": "law", "workload": {"inference": inference}, "cluster": cluster}
        return int(result(worked(plan))["workload"]["gpus_required"])

    slow, fast = (gpus(each) for each in sorted((bandwidth, faster)))
    assert fast <= slow


@fixed
@given(model=models, rate=loads)
def test_separate_pools_are_taken_where_they_need_fewer_gpus(model: str, rate: int, worked: Worked) -> None:
    """`auto` needs no more than either."""
    one, two, auto = (
        gpus_for(worked, model, requests_per_minute=rate, **keys)
        for keys in ({"pools": "one"}, {"disaggregated": True}, {"pools": "auto"})
    )
    assert one is not None
    assert two is not None
    assert auto == Count(min(one.required, two.required), min(one.to_buy, two.to_buy))

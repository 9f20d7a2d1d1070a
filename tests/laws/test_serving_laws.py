"""Laws of serving: what halves, what grows with what, and that what is promised fits."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bomgen.results.result import Report, result

Worked = Callable[[dict[str, Any]], Report]

MODELS = ("llama-2-7b", "llama-3.1-8b", "llama-2-70b", "mixtral-8x7b", "qwen3-32b")
models = st.sampled_from(MODELS)
contexts = st.integers(min_value=16, max_value=4096)
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
    keys = {"model": model, "context": context, "output_tokens": 8, "parallelism": {"tensor": 8}}
    less, much = (workload(worked, {"servers": 2}, memory_share=f"{part}%", **keys) for part in sorted((share, more)))
    assert less["concurrency_per_replica"] <= much["concurrency_per_replica"]
    assert less["requests_per_minute"] <= much["requests_per_minute"]


@fixed
@given(model=models, context=contexts, concurrency=st.integers(1, 3000), rate=st.integers(1, 100_000))
def test_what_is_required_suffices(model: str, context: int, concurrency: int, rate: int, worked: Worked) -> None:
    """The GPUs required hold the requests in flight, answer the rate and fit their memory; the range encloses them."""
    keys = {"model": model, "context": context, "output_tokens": 8}
    found = workload(worked, concurrency=concurrency, requests_per_minute=rate, **keys)
    replicas = found["replicas_required"]
    assert found["gpus_required"] == replicas * found["gpus_per_replica"]
    assert replicas * found["concurrency_per_replica"] >= concurrency
    assert found["requests_per_minute"] >= rate * (1 - 1e-9)
    assert found["replicas"] >= replicas
    assert found["gpus_required_range"]["low"] <= found["gpus_required"] <= found["gpus_required_range"]["high"]
    per_gpu = found["memory"]["per_gpu"]
    assert per_gpu["total"] <= per_gpu["room"] < found["memory"]["gpu"]
    assert per_gpu["total_in_estimate"] <= per_gpu["room"]
    assert per_gpu["total_in_estimate"] == per_gpu["weights"] + per_gpu["kv_cache_in_estimate"]
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
@given(model=models, context=contexts, concurrency=st.integers(1, 3000))
def test_requests_in_flight_change_no_rate(model: str, context: int, concurrency: int, worked: Worked) -> None:
    """What must be held does not change what a GPU of the same replicas puts out; 1 says what saying nothing says."""
    keys = {"model": model, "context": context, "output_tokens": 8, "parallelism": {"tensor": 8}}
    silent = workload(worked, **keys)
    assert workload(worked, concurrency=1, **keys) == silent
    held = workload(worked, concurrency=concurrency, **keys)
    for key in ("tokens_per_second_per_gpu", "tokens_per_second_per_gpu_range", "requests_at_a_time", "latency"):
        assert held[key] == silent[key]


@fixed
@given(model=models, context=contexts, batch=st.integers(1, 3000), more=st.integers(1, 3000))
def test_a_larger_batch_never_puts_out_less(model: str, context: int, batch: int, more: int, worked: Worked) -> None:
    """More requests at a time share the reading of the weights, up to what a replica holds."""
    keys = {"model": model, "context": context, "output_tokens": 8, "parallelism": {"tensor": 8}}
    less, much = (workload(worked, batch=size, **keys) for size in sorted((batch, more)))
    assert less["tokens_per_second_per_gpu"] <= much["tokens_per_second_per_gpu"] * (1 + 1e-12)
    assert much["requests_at_a_time"] == min(max(batch, more), much["concurrency_per_replica"])


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
    given_ = workload(worked, parallelism=dict(zip(("tensor", "pipeline"), degrees, strict=True)), **keys)
    if given_["concurrency_per_replica"]:
        assert found["gpus_required"] <= given_["gpus_required"]


@fixed
@given(model=models, batch=st.integers(1, 2000), drafted=st.integers(1, 8), share=st.integers(1, 100))
def test_drafting_gains_no_more_than_it_accepts(
    model: str, batch: int, drafted: int, share: int, worked: Worked
) -> None:
    """A step ends with one token and the accepted ones; where arithmetic bounds it, verifying costs more."""
    accepted = drafted * share / 100
    keys = {"model": model, "context": 2048, "output_tokens": 512, "batch": batch, "parallelism": {"tensor": 8}}
    plain, drafts = (
        workload(worked, {"servers": 2}, **keys, **more)["latency"]["decode_seconds_per_token"]
        for more in ({}, {"speculative": {"drafted": drafted, "accepted": accepted}})
    )
    assert plain / (1 + accepted) * (1 - 1e-9) <= drafts <= plain * (1 + drafted) / (1 + accepted) * (1 + 1e-9)


@fixed
@given(model=models, context=contexts, rate=st.integers(1, 100_000))
def test_disaggregated_replicas_answer_the_rate(model: str, context: int, rate: int, worked: Worked) -> None:
    """Replicas of their own for prompts take no more than rounding and the wait of a batch of prompts cost."""
    keys = {"model": model, "context": context, "output_tokens": 8, "requests_per_minute": rate}
    keys |= {"parallelism": {"tensor": 8}}
    both, each = (workload(worked, **keys, disaggregated=disaggregated) for disaggregated in (False, True))
    prompts = each["replicas_for_prompts"]
    assert 1 <= prompts < each["replicas_required"] <= both["replicas_required"] + 2
    assert prompts * 60 >= rate * each["latency"]["prefill_seconds"] * (1 - 1e-9)
    assert each["gpus_required"] == each["replicas_required"] * each["gpus_per_replica"]

"""Serving a model: memory of its replicas, requests in flight, and GPUs for the requests per minute.

`concurrency` is the number of requests that the whole cluster must hold at a time, and nothing else; the memory shown
counts it over the replicas. `batch` is the number of concurrent requests of a replica in the estimate, at most and by
default all that it holds; the memory at that batch is shown too. With disaggregated prefill some replicas only prefill
and all others decode: the KV cache of every prompt passes between them, and is compared with the network of a GPU.
Weights in int4 are unpacked to 16 bits; the GPU must support every other format, unless the throughput is measured. A
measured throughput is compared with the larger of arithmetic and reading, each at the full data sheet: above it there
is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from math import ceil
from typing import NamedTuple

from bomgen.catalog.parts import Gpu
from bomgen.core.diagnostics import Infeasible, PlanErrors, Problem
from bomgen.core.messages import message
from bomgen.core.provenance import (
    Assumed,
    Figure,
    Reference,
    first_given,
    floor_div,
    formula,
    maximum,
    product,
    require,
    sum_of,
)
from bomgen.core.units import GIGA
from bomgen.plan.types import Inference
from bomgen.sizing.serving import kv_cache as kv
from bomgen.sizing.serving import replicas as replica
from bomgen.sizing.serving import roofline, weights
from bomgen.sizing.serving.kv_cache import BYTES, Cache
from bomgen.sizing.serving.replicas import PATH, Replica, Shortage
from bomgen.sizing.serving.roofline import SECONDS_A_MINUTE, Estimate, Rate

DISTSERVE = "Zhong et al. 2024, DistServe, arXiv 2401.09670; Patel et al. 2023, Splitwise, arXiv 2311.18677"
_KWON = Reference(
    "Kwon et al. 2023, Efficient Memory Management for Large Language Model Serving with PagedAttention, section 3",
    "https://arxiv.org/abs/2309.06180",
    "2026",
)
_HOLDING = Figure(1, "replicas", Assumed(message("replicas-holding"), message("replicas-holding-why"), (_KWON,), "low"))


class EstimateRange(NamedTuple):
    """A figure at the low and at the high end of an estimate."""

    low: Figure | None
    high: Figure | None


class Need(NamedTuple):
    """The needs of serving, independent of the cluster."""

    replica: Replica
    """The chosen replica."""
    reasons: tuple[Shortage, ...]
    """The reasons why smaller ones do not hold the model, the largest first."""
    shortage: Shortage | None
    """The shortage of a given replica that is too small; None otherwise."""
    estimate: Estimate | None
    """The estimate; None: the throughput was measured, or an input is unknown."""
    missing: str | None
    """The missing input of an estimate, a key of `roofline.LACKS`; None: nothing."""
    replicas: Figure
    gpus_required: Figure
    gpus_range: EstimateRange | None
    """GPUs at the efficiencies that need the fewest and the most."""
    prompts: Figure | None
    """Replicas that only prefill; None: all prefill and decode."""
    smaller: tuple[Replica, Figure] | None
    """The smallest replica that holds the model, with its GPUs, when a larger replica needs fewer."""


class Held(NamedTuple):
    """Memory in use [bytes]."""

    weights: Figure
    kv_cache: Figure | None
    """The KV cache; None: the model's shape or the context is unknown."""
    total: Figure
    """Sum of the known parts."""


class Caution(NamedTuple):
    """A warning about serving, with its place in the results."""

    about: Figure
    """The figure of the plan that it refers to."""
    message: str
    rule: str
    path: str
    """Path in bom.json."""


class Serving(NamedTuple):
    """The results of serving on a cluster."""

    need: Need
    replicas: Figure
    """Whole replicas on the cluster."""
    model: Held
    """Memory of one replica with its share of the requests in flight."""
    per_gpu: Held
    """Memory of its fullest GPU."""
    in_estimate: Held | None
    """Memory of the fullest GPU at the estimate's batch; None without an estimate."""
    gpu_memory: Figure | None
    """Memory of a GPU [bytes]."""
    cache: Cache | None
    """The KV cache of the model; None if unknown."""
    request: Figure | None
    """KV cache of a request [bytes]."""
    narrow: Mapping[str, Figure]
    """Bytes of a value by format, for formats of weights and KV cache narrower than a byte."""
    of_gpu: Figure | None
    """Tokens/s per GPU, measured or typical."""
    tokens_per_second: Figure | None
    requests_per_minute: Figure | None
    requests_range: EstimateRange | None
    kv_transfer: Figure | None
    """KV cache that a GPU sends or receives between prefill and decode [bytes/s]; None: one replica does both."""
    cautions: tuple[Caution, ...]


class _Candidate(NamedTuple):
    replica: Replica
    estimate: Estimate | None
    holding: Figure
    """Replicas that hold the requests in flight."""
    replicas: Figure
    prompts: Figure | None
    gpus: Figure


class _Demand(NamedTuple):
    tokens: Figure
    """Tokens per second."""
    requests: Figure
    """Requests per minute."""
    disaggregated: bool
    """Whether prefill has separate replicas."""


def size_serving(inference: Inference, gpu: Gpu, gpus_per_server: Figure | None, at_most: int | None) -> Need:
    """Return the needs of serving a model; a replica has at most `at_most` GPUs, where the plan sets the cluster's.

    Raises PlanErrors when no replica holds the model, the GPU does not support the format of the weights, or a
    specified rate cannot be estimated; Infeasible for degrees that do not divide what they split.
    """
    measured = inference.tokens_per_second_per_gpu
    if measured is None and gpu.dense:
        roofline.working_peak(inference, gpu)
    choice = replica.choose(inference, gpu, gpus_per_server)
    lacks = roofline.missing(inference, gpu) if measured is None else None
    if lacks and inference.requests_per_minute:
        mark = replica.plan_mark(inference, inference.requests_per_minute)
        message = (
            f"the throughput cannot be estimated without {roofline.LACKS[lacks]}; set it, or a measured "
            "`tokens_per_second_per_gpu`"
        )
        raise PlanErrors([Problem(mark, "error", message, "missing-key", PATH)])
    demand = _demand(inference)
    smallest = best = _candidate(inference, gpu, choice.replica, demand)
    for larger in replica.larger_replicas(inference, gpu, gpus_per_server, choice.replica):
        if larger.gpus.value >= best.gpus.value or (at_most is not None and larger.gpus.value > at_most):
            break
        other = _candidate(inference, gpu, larger, demand)
        if other.gpus.value < best.gpus.value:
            best = other
    return Need(
        replica=best.replica,
        reasons=choice.reasons,
        shortage=choice.shortage,
        estimate=best.estimate,
        missing=lacks,
        replicas=best.replicas,
        gpus_required=best.gpus,
        gpus_range=_range_of_gpus(best, demand),
        prompts=best.prompts,
        smaller=None if best is smallest else (smallest.replica, smallest.gpus),
    )


def _demand(inference: Inference) -> _Demand | None:
    """Return the tokens/s for the requests per minute; None when the plan sets no rate."""
    of_minute, output = inference.requests_per_minute, inference.output_tokens
    return (
        _Demand(tokens_asked(of_minute, output), of_minute, inference.disaggregated) if of_minute and output else None
    )


def _candidate(inference: Inference, gpu: Gpu, found: Replica, demand: _Demand | None) -> _Candidate:
    """Return the needs with a replica, at the measured rate or the typical estimate."""
    measured = inference.tokens_per_second_per_gpu
    estimate = roofline.estimate(inference, gpu, found) if measured is None else None
    holding = replicas_for_requests(inference.concurrency, found.held) if found.held else _HOLDING
    prompts = None
    if measured is not None:
        replicas = _replicas_measured(holding, found, demand, measured)
    else:
        replicas, prompts = _replicas_estimated(holding, demand, estimate.typical if estimate else None)
    return _Candidate(found, estimate, holding, replicas, prompts, gpus_of_replicas(replicas, found.gpus))


def _replicas_measured(holding: Figure, found: Replica, demand: _Demand | None, rate_of_gpu: Figure) -> Figure:
    if demand is None:
        return holding
    return replicas_needed(holding, replicas_of_gpus(gpus_for_rate(demand.tokens, rate_of_gpu), found.gpus))


def _replicas_estimated(holding: Figure, demand: _Demand | None, rate: Rate | None) -> tuple[Figure, Figure | None]:
    if demand is None or rate is None or rate.of_replica is None:
        return holding, None
    if not demand.disaggregated:
        return replicas_needed(holding, replicas_for_rate(demand.tokens, rate.of_replica)), None
    prompts = replicas_for_prompts(demand.requests, rate.occupied)
    answering = replicas_needed(holding, replicas_for_rate(demand.tokens, rate.answering))
    return replicas_with_prompts(answering, prompts), prompts


def _range_of_gpus(option: _Candidate, demand: _Demand | None) -> EstimateRange | None:
    """Return the GPUs needed at the high and at the low end of an estimate."""
    if option.estimate is None or demand is None:
        return None
    fewest, most = (
        gpus_of_replicas(_replicas_estimated(option.holding, demand, rate)[0], option.replica.gpus)
        for rate in (option.estimate.high, option.estimate.low)
    )
    return EstimateRange(fewest, most)


def serve(
    inference: Inference, need: Need, gpu: Gpu, gpus: Figure, unit: int | None, network: Figure | None = None
) -> Serving:
    """Return the results of serving on `gpus` GPUs; `network`: of a GPU [bytes/s].

    `unit` is the factor of a number of GPUs in the plan; None: the plan sets none.

    Raises Infeasible when they hold no replica, or not a whole number of the plan's replicas.
    """
    found = need.replica
    if unit and inference.degrees:
        replica.check_whole(found, gpus, unit)
    if gpus.value < found.gpus.value:
        raise _too_few_gpus(need, gpus, unit or 1)
    replicas = replicas_of_cluster(gpus, found.gpus)
    cache = kv.cache(inference.model, str(inference.kv_precision.value))
    request = kv.request_bytes(cache, inference.context) if cache and inference.context else None
    holding = replicas_that_answer(replicas, need.prompts) if need.prompts else replicas
    requests = requests_of_replica(inference.concurrency, holding)
    formats = {str(word.value): BYTES[str(word.value)] for word in (inference.precision, inference.kv_precision)}
    rate = inference.tokens_per_second_per_gpu or (need.estimate.typical.of_gpu if need.estimate else None)
    output = inference.output_tokens
    put_out = tokens_of_cluster(rate, replicas, found.gpus) if rate else None
    served = requests_answered(put_out, output) if put_out and output else None
    cautions = [*_batch_cautions(inference, need), *_measurement_cautions(inference, need, gpu)]
    transfer = _kv_transfer(inference, need, cache, holding)
    if unit:
        cautions += _target_cautions(inference, need, gpus, replicas, served)
    if transfer and network and transfer.value > network.value:
        cautions.append(_transfer_caution(inference, transfer, network))
    return Serving(
        need=need,
        replicas=replicas,
        model=_held(weights.weights_of_model(inference), request, requests),
        per_gpu=_held(found.weights, found.request, requests),
        in_estimate=_held(found.weights, found.request, need.estimate.batch) if need.estimate else None,
        gpu_memory=gpu.memory_bytes,
        cache=cache,
        request=request,
        narrow={name: size for name, size in formats.items() if size.value < 1},
        of_gpu=rate,
        tokens_per_second=put_out,
        requests_per_minute=served,
        requests_range=_range_of_requests(need, replicas, output),
        kv_transfer=transfer,
        cautions=tuple(cautions),
    )


def _kv_transfer(inference: Inference, need: Need, cache: Cache | None, answering: Figure) -> Figure | None:
    """Return the KV cache per second of a GPU in prefill, or of one in decode, whichever has more [bytes/s]."""
    prompts, asked, output = need.prompts, inference.requests_per_minute, inference.output_tokens
    if not (prompts and prompts.value and cache and asked and output and inference.context):
        return None
    prompt, found = roofline.prompt_tokens(inference.context, output), need.replica
    of_gpu = partial(kv.request_bytes_per_gpu, cache, prompt)
    held = replica.kv_of_gpu(inference, found.tensor, of_gpu, found.stages)
    return kv_bytes_passed_on(held, asked, prompts, answering)


def _transfer_caution(inference: Inference, transfer: Figure, network: Figure) -> Caution:
    needed, most = (f"{float(each.value / GIGA):.3g} GB/s" for each in (transfer, network))
    about = require(inference.requests_per_minute, "a rate is asked for")
    return Caution(about, message("kv-transfer", needed=needed, most=most), "kv-transfer", "workload.kv_transfer")


def _range_of_requests(need: Need, replicas: Figure, output: Figure | None) -> EstimateRange | None:
    if need.estimate is None or output is None:
        return None

    def answered(rate: Figure) -> Figure:
        return requests_answered(tokens_of_cluster(rate, replicas, need.replica.gpus), output)

    low, high = need.estimate.low.of_gpu, need.estimate.high.of_gpu
    return EstimateRange(answered(low), answered(high)) if low and high else None


def _held(weights: Figure, request: Figure | None, requests: Figure) -> Held:
    if request is None:
        return Held(weights, None, weights)
    held = kv_of_requests(request, requests)
    return Held(weights, held, weights_and_cache(weights, held))


def _too_few_gpus(need: Need, gpus: Figure, unit: int) -> Infeasible:
    found = need.replica
    enough = ceil(found.gpus.value / unit) * unit
    why = f" ({need.reasons[0].message})" if need.reasons else ""
    message = (
        f"{gpus.value} GPUs hold no replica of tensor {found.tensor.value} x pipeline {found.pipeline.value} = "
        f"{found.gpus.value} GPUs; use {enough} or more{why}"
    )
    return Infeasible(message, because=gpus)


def _batch_cautions(inference: Inference, need: Need) -> Iterator[Caution]:
    """Yield warnings about a batch that exceeds what a replica holds, or that has no effect."""
    asked, estimate, held = inference.batch, need.estimate, need.replica.held
    if asked and inference.tokens_per_second_per_gpu:
        text = message("no-effect", key="workload.inference.batch", reason=message("throughput-measured"))
        yield Caution(asked, text, "no-effect", "workload.tokens_per_second_per_gpu")
    elif asked and estimate and held and held.value < asked.value:
        text = message("batch-not-held", held=held.value, asked=asked.value, batch=estimate.batch.value)
        yield Caution(asked, text, "batch", "workload.requests_at_a_time")


def _measurement_cautions(inference: Inference, need: Need, gpu: Gpu) -> Iterator[Caution]:
    """Yield a warning about a measured throughput that no GPU of the replica can reach."""
    measured = inference.tokens_per_second_per_gpu
    bound = roofline.bound(inference, gpu, need.replica) if measured else None
    if measured and bound and bound.of_gpu.value < measured.value:
        tokens, most, name = f"{float(measured.value):g}", f"{float(bound.of_gpu.value):.4g}", gpu.identity.name
        if bound.by == roofline.ARITHMETIC:
            text = message("above-arithmetic", tokens=tokens, gpu=name, most=most)
        else:
            text = message("above-bandwidth", tokens=tokens, gpu=name, batch=bound.batch.value, most=most)
        yield Caution(measured, text, "above-roofline", "workload.tokens_per_second_per_gpu")


def _target_cautions(
    inference: Inference, need: Need, gpus: Figure, replicas: Figure, served: Figure | None
) -> Iterator[Caution]:
    """Yield warnings about targets that a given cluster misses: requests in flight, and requests per minute."""
    held, enough = need.replica.held, message("enough-gpus", count=need.gpus_required.value)
    in_flight = inference.concurrency
    if first_given(in_flight) and held is not None and held.value * replicas.value < in_flight.value:
        together = held.value * replicas.value
        text = message("requests-not-held", gpus=gpus.value, held=together, asked=in_flight.value, remedy=enough)
        yield Caution(in_flight, text, "target-missed", "workload.concurrency")
    asked = inference.requests_per_minute
    if asked and served and served.value < asked.value:
        code = "rate-estimate-missed" if need.estimate else "rate-missed"
        rate, wanted = f"{float(served.value):.4g}", f"{float(asked.value):g}"
        text = message(code, gpus=gpus.value, served=rate, asked=wanted, remedy=enough)
        yield Caution(asked, text, "target-missed", "workload.requests_per_minute")


@formula("tokens/s")
def tokens_asked(requests_asked: int, output_tokens: int) -> Fraction:
    """Tokens/s for a number of requests per minute."""
    return Fraction(requests_asked * output_tokens, SECONDS_A_MINUTE)


@formula("replicas")
def replicas_for_requests(concurrency: int, held: int) -> int:
    """Replicas that hold the requests in flight; a replica that holds none is counted as holding one."""
    return ceil(Fraction(concurrency, max(1, held)))


@formula("GPUs", "慢慢学 AIGC, 你的 LLM 训练需要多少 GPU?: output tokens / throughput x queries a minute / 60")
def gpus_for_rate(demand: Fraction, measured: Fraction) -> int:
    """GPUs that generate the requested tokens/s, at the measured rate per GPU."""
    return ceil(Fraction(demand) / measured)


@formula("replicas")
def replicas_of_gpus(gpus: int, gpus_per_replica: int) -> int:
    """Whole replicas with at least a number of GPUs."""
    return ceil(Fraction(gpus, gpus_per_replica))


@formula("replicas")
def replicas_for_rate(demand: Fraction, rate_of_replica: Fraction) -> int:
    """Replicas that generate the requested tokens/s."""
    return ceil(Fraction(demand) / rate_of_replica)


@formula("replicas", DISTSERVE)
def replicas_for_prompts(requests_asked: int, occupied: Fraction) -> int:
    """Replicas dedicated to prefill that process the prompts of the requests per minute."""
    return ceil(Fraction(requests_asked, SECONDS_A_MINUTE) * Fraction(occupied))


replicas_with_prompts = sum_of("replicas_with_prompts", "replicas", "answering", "for_prompts", source=DISTSERVE)
"""Replicas for decode and for prefill."""


@formula("replicas")
def replicas_that_answer(replicas: int, for_prompts: int) -> int:
    """Replicas of a cluster that decode, and so hold the requests in flight."""
    return max(1, replicas - for_prompts)


@formula("bytes/s", f"{DISTSERVE}: the KV cache of a prompt moves from the GPUs that worked on it to those that answer")
def kv_bytes_passed_on(kv_of_prompt: Fraction, requests_asked: int, for_prompts: int, answering: int) -> Fraction:
    """KV cache that a GPU sends or receives per second between prefill and decode, replicated parts included."""
    return Fraction(requests_asked, SECONDS_A_MINUTE) * kv_of_prompt / min(for_prompts, answering)


replicas_needed = maximum("replicas_needed", "replicas", "holding", "answering")
"""Replicas that hold the requests in flight and also answer the requests per minute."""
gpus_of_replicas = product("gpus_of_replicas", "GPUs", "replicas", "gpus_per_replica")
"""GPUs of all replicas."""
replicas_of_cluster = floor_div("replicas_of_cluster", "replicas", "gpus", "gpus_per_replica")
"""Whole replicas that the cluster runs."""


@formula("requests")
def requests_of_replica(concurrency: int, replicas: int) -> int:
    """Requests in flight on the busiest replica."""
    return ceil(Fraction(concurrency, replicas))


kv_of_requests = product("kv_of_requests", "bytes", "kv_of_request", "requests")
"""KV cache of the requests in flight per replica."""
weights_and_cache = sum_of("weights_and_cache", "bytes", "weights", "kv_cache")
"""Weights and KV cache."""
tokens_of_cluster = product("tokens_of_cluster", "tokens/s", "rate_of_gpu", "replicas", "gpus_per_replica")
"""Tokens/s generated by all replicas."""


@formula("requests")
def requests_answered(tokens_per_second: Fraction, output_tokens: int) -> Fraction:
    """Requests answered per minute."""
    return Fraction(tokens_per_second) * SECONDS_A_MINUTE / output_tokens

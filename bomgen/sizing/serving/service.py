"""A model that is served: memory of its replicas, requests in flight, and GPUs for the requests of a minute.

`concurrency` is what the whole cluster must hold at a time, and nothing else; the memory shown counts it over the
replicas. `batch` is what a replica works on at a time in the estimate, at most and by default all that it holds; the
memory at that batch is shown too. Weights in int4 are unpacked to 16 bits; every other format must be one of the GPU's
own, unless the throughput is measured. A measured throughput is compared with the larger of arithmetic and reading,
each at the full data sheet: above it there is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.catalog.parts import Gpu
from bomgen.core.diagnostics import Infeasible, PlanErrors, Problem
from bomgen.core.provenance import Assumed, Figure, Reference, first_given, formula
from bomgen.plan.types import Inference
from bomgen.sizing.serving import kv_cache as kv
from bomgen.sizing.serving import replicas as replica
from bomgen.sizing.serving import roofline
from bomgen.sizing.serving.kv_cache import BYTES, Cache
from bomgen.sizing.serving.replicas import PATH, Replica, Shortage
from bomgen.sizing.serving.roofline import SECONDS_A_MINUTE, Estimate

_KWON = Reference(
    "Kwon et al. 2023, Efficient Memory Management for Large Language Model Serving with PagedAttention, section 3",
    "https://arxiv.org/abs/2309.06180",
    "2026",
)
_HOLDING = Figure(
    1,
    "replicas",
    Assumed(
        "Replicas that hold the requests in flight",
        "How many requests a replica holds is not known, for lack of the KV cache or of the GPU's memory; one is taken "
        "to hold them all.",
        (_KWON,),
        "low",
    ),
)


class Range(NamedTuple):
    """What a number is at the low and at the high end of an estimate."""

    low: Figure | None
    high: Figure | None


class Need(NamedTuple):
    """What serving needs of any cluster."""

    replica: Replica
    """That is taken."""
    reasons: tuple[Shortage, ...]
    """Why smaller ones do not hold the model, the largest first."""
    shortage: Shortage | None
    """Of a replica given by hand: that it is too small."""
    estimate: Estimate | None
    """None: the throughput was measured, or something for an estimate is not known."""
    missing: str | None
    """What an estimate would have needed: a key of `roofline.LACKS`."""
    replicas: Figure
    gpus_required: Figure
    gpus_range: Range | None
    """GPUs at the efficiencies that need the fewest and the most."""
    smaller: tuple[Replica, Figure] | None
    """The smallest replica that holds the model, and the GPUs that it would need, where a larger one needs fewer."""


class Held(NamedTuple):
    """What is kept [bytes]."""

    weights: Figure
    kv_cache: Figure | None
    """None: the model's shape or the context is not known."""
    total: Figure
    """Of what is known."""


class Caution(NamedTuple):
    """Something that the reader of a plan must know."""

    about: Figure
    """Of the plan."""
    message: str
    rule: str
    path: str
    """In bom.json."""


class Serving(NamedTuple):
    """What a cluster serves."""

    need: Need
    replicas: Figure
    """That the cluster runs."""
    model: Held
    """By one replica, with its share of the requests in flight."""
    per_gpu: Held
    """By the fullest GPU, likewise."""
    in_estimate: Held | None
    """By the fullest GPU, with as many requests as the estimate has."""
    gpu_memory: Figure | None
    """What the GPU has [bytes]."""
    cache: Cache | None
    """The KV cache of the model; None: not known."""
    request: Figure | None
    """KV cache of a request [bytes]."""
    narrow: Mapping[str, Figure]
    """Bytes of a value by format, of weights and KV cache that are narrower than a byte."""
    of_gpu: Figure | None
    """Tokens/s of a GPU, measured or typical."""
    tokens_per_second: Figure | None
    requests_per_minute: Figure | None
    requests_range: Range | None
    cautions: tuple[Caution, ...]


class _Option(NamedTuple):
    """A replica that may be taken, and what would be needed with it."""

    replica: Replica
    estimate: Estimate | None
    holding: Figure
    """Replicas that hold the requests in flight."""
    replicas: Figure
    gpus: Figure


def size(inference: Inference, gpu: Gpu, gpus_per_server: Figure | None, at_most: int | None) -> Need:
    """What serving a model needs; replicas have `at_most` so many GPUs, the cluster's where the plan gives them.

    Raises PlanErrors when no replica holds the model, the GPU does not work in the format of the weights, or a rate is
    asked for that nothing can be estimated of; Infeasible for degrees that do not divide what they cut up.
    """
    measured = inference.tokens_per_second_per_gpu
    if measured is None and gpu.dense:
        roofline.peak_of(inference, gpu)
    choice = replica.choose(inference, gpu, gpus_per_server)
    lacks = roofline.missing(inference, gpu) if measured is None else None
    if lacks and inference.requests_per_minute:
        mark = replica.place(inference, inference.requests_per_minute)
        message = (
            f"the throughput cannot be estimated without {roofline.LACKS[lacks]}; give it, or a measured "
            "`tokens_per_second_per_gpu`"
        )
        raise PlanErrors([Problem(mark, "error", message, "missing-key", PATH)])
    demand = _demand(inference)
    smallest = best = _option(inference, gpu, choice.replica, demand)
    for larger in replica.larger(inference, gpu, gpus_per_server, choice.replica):
        if larger.gpus.value >= best.gpus.value or (at_most is not None and larger.gpus.value > at_most):
            break
        other = _option(inference, gpu, larger, demand)
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
        smaller=None if best is smallest else (smallest.replica, smallest.gpus),
    )


def _demand(inference: Inference) -> Figure | None:
    """Tokens/s that the requests of a minute ask for; None where the plan asks for no rate."""
    of_minute, output = inference.requests_per_minute, inference.output_tokens
    return tokens_asked(of_minute, output) if of_minute and output else None


def _option(inference: Inference, gpu: Gpu, found: Replica, demand: Figure | None) -> _Option:
    """What would be needed with a replica, at the measured rate or the typical estimate."""
    measured = inference.tokens_per_second_per_gpu
    estimate = roofline.estimate(inference, gpu, found) if measured is None else None
    holding = replicas_for_requests(inference.concurrency, found.held) if found.held else _HOLDING
    if measured is not None:
        replicas = _replicas_measured(holding, found, demand, measured)
    else:
        replicas = _replicas_estimated(holding, demand, estimate.typical.of_replica if estimate else None)
    return _Option(found, estimate, holding, replicas, gpus_of_replicas(replicas, found.gpus))


def _replicas_measured(holding: Figure, found: Replica, demand: Figure | None, rate_of_gpu: Figure) -> Figure:
    """Replicas that are needed where the rate of a GPU was measured."""
    if demand is None:
        return holding
    return replicas_needed(holding, replicas_of_gpus(gpus_for_rate(demand, rate_of_gpu), found.gpus))


def _replicas_estimated(holding: Figure, demand: Figure | None, rate_of_replica: Figure | None) -> Figure:
    """Replicas that are needed at an estimated rate of a replica."""
    if demand is None or rate_of_replica is None:
        return holding
    return replicas_needed(holding, replicas_for_rate(demand, rate_of_replica))


def _range_of_gpus(option: _Option, demand: Figure | None) -> Range | None:
    """GPUs at the high and at the low end of an estimate."""
    if option.estimate is None or demand is None:
        return None
    fewest, most = (
        gpus_of_replicas(_replicas_estimated(option.holding, demand, rate.of_replica), option.replica.gpus)
        for rate in (option.estimate.high, option.estimate.low)
    )
    return Range(fewest, most)


def serve(inference: Inference, need: Need, gpu: Gpu, gpus: Figure, given: bool) -> Serving:
    """What so many GPUs serve; `given`: the plan gives their number.

    Raises Infeasible when they hold no replica, or no whole number of replicas given by hand.
    """
    found = need.replica
    if given and inference.degrees:
        replica.check_whole(found, gpus)
    if gpus.value < found.gpus.value:
        raise _no_replica(need, gpus)
    replicas = replicas_of_cluster(gpus, found.gpus)
    cache = kv.cache(inference)
    request = kv.of_request(cache, inference.context) if cache and inference.context else None
    requests = requests_of_replica(inference.concurrency, replicas)
    formats = {str(word.value): BYTES[str(word.value)] for word in (inference.precision, inference.kv_precision)}
    rate = inference.tokens_per_second_per_gpu or (need.estimate.typical.of_gpu if need.estimate else None)
    output = inference.output_tokens
    put_out = tokens_of_cluster(rate, replicas, found.gpus) if rate else None
    served = requests_answered(put_out, output) if put_out and output else None
    cautions = [*_of_batch(inference, need), *_of_measurement(inference, need, gpu)]
    if given:
        cautions += _missed(inference, need, gpus, replicas, served)
    return Serving(
        need=need,
        replicas=replicas,
        model=_held(kv.weights(inference.model.parameters, BYTES[str(inference.precision.value)]), request, requests),
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
        cautions=tuple(cautions),
    )


def _range_of_requests(need: Need, replicas: Figure, output: Figure | None) -> Range | None:
    if need.estimate is None or output is None:
        return None

    def answered(rate: Figure) -> Figure:
        return requests_answered(tokens_of_cluster(rate, replicas, need.replica.gpus), output)

    low, high = need.estimate.low.of_gpu, need.estimate.high.of_gpu
    return Range(answered(low), answered(high)) if low and high else None


def _held(weights: Figure, request: Figure | None, requests: Figure) -> Held:
    if request is None:
        return Held(weights, None, weights)
    held = kv_of_requests(request, requests)
    return Held(weights, held, weights_and_cache(weights, held))


def _no_replica(need: Need, gpus: Figure) -> Infeasible:
    found = need.replica
    why = f" ({need.reasons[0]})" if need.reasons else ""
    message = (
        f"{gpus.value} GPUs hold no replica of tensor {found.tensor.value} x pipeline {found.pipeline.value} = "
        f"{found.gpus.value} GPUs; give {found.gpus.value} or more{why}"
    )
    return Infeasible(message, because=gpus)


def _of_batch(inference: Inference, need: Need) -> Iterator[Caution]:
    """A batch that a replica does not hold, or that has no effect."""
    asked, estimate, held = inference.batch, need.estimate, need.replica.held
    if asked and inference.tokens_per_second_per_gpu:
        message = "workload.inference.batch has no effect, because the throughput is measured; leave it out"
        yield Caution(asked, message, "no-effect", "workload.tokens_per_second_per_gpu")
    elif asked and estimate and held and held.value < asked.value:
        message = (
            f"a replica holds {held.value} requests of {asked.value} at a time; the estimate has {estimate.batch.value}"
        )
        yield Caution(asked, message, "batch", "workload.requests_at_a_time")


def _of_measurement(inference: Inference, need: Need, gpu: Gpu) -> Iterator[Caution]:
    """A measured throughput that no GPU of the replica can reach."""
    measured = inference.tokens_per_second_per_gpu
    bound = roofline.bound(inference, gpu, need.replica) if measured else None
    if measured and bound and bound.of_gpu.value < measured.value:
        full = {
            roofline.ARITHMETIC: "arithmetic at its full peak",
            roofline.BANDWIDTH: f"reading at its full memory bandwidth, with {bound.batch.value} requests a replica,",
        }
        message = (
            f"{float(measured.value):g} tokens/s are more than {gpu.identity.name} can put out: {full[bound.by]} gives "
            f"{float(bound.of_gpu.value):.4g} for requests of this length"
        )
        yield Caution(measured, message, "above-roofline", "workload.tokens_per_second_per_gpu")


def _missed(
    inference: Inference, need: Need, gpus: Figure, replicas: Figure, served: Figure | None
) -> Iterator[Caution]:
    """What a cluster that the plan gives does not reach: requests in flight, and requests a minute."""
    held, enough = need.replica.held, f"{need.gpus_required.value} GPUs would do"
    in_flight = inference.concurrency
    if first_given(in_flight) and held is not None and held.value * replicas.value < in_flight.value:
        message = f"{gpus.value} GPUs hold {held.value * replicas.value} requests at a time, "
        message += f"{in_flight.value} are asked for; {enough}"
        yield Caution(in_flight, message, "target-missed", "workload.concurrency")
    asked = inference.requests_per_minute
    if asked and served and served.value < asked.value:
        how = " by a roofline estimate" if need.estimate else ""
        message = f"{gpus.value} GPUs answer{how} {float(served.value):.4g} requests a minute, "
        message += f"{float(asked.value):g} are asked for; {enough}"
        yield Caution(asked, message, "target-missed", "workload.requests_per_minute")


@formula("tokens/s")
def tokens_asked(requests_asked: int, output_tokens: int) -> Fraction:
    """Tokens/s that so many requests a minute ask for."""
    return Fraction(requests_asked * output_tokens, SECONDS_A_MINUTE)


@formula("replicas")
def replicas_for_requests(concurrency: int, held: int) -> int:
    """Replicas that hold the requests in flight; one that holds none is counted as if it held one."""
    return ceil(Fraction(concurrency, max(1, held)))


@formula("GPUs", "慢慢学 AIGC, 你的 LLM 训练需要多少 GPU?: output tokens / throughput x queries a minute / 60")
def gpus_for_rate(demand: Fraction, measured: Fraction) -> int:
    """GPUs that put out the tokens asked for, at the rate measured of one."""
    return ceil(Fraction(demand) / measured)


@formula("replicas")
def replicas_of_gpus(gpus: int, gpus_per_replica: int) -> int:
    """Whole replicas with at least so many GPUs."""
    return ceil(Fraction(gpus, gpus_per_replica))


@formula("replicas")
def replicas_for_rate(demand: Fraction, rate_of_replica: Fraction) -> int:
    """Replicas that put out the tokens asked for."""
    return ceil(Fraction(demand) / rate_of_replica)


@formula("replicas")
def replicas_needed(holding: int, answering: int) -> int:
    """Replicas that both hold the requests in flight and answer those of a minute."""
    return max(holding, answering)


@formula("GPUs")
def gpus_of_replicas(replicas: int, gpus_per_replica: int) -> int:
    """GPUs of all replicas."""
    return replicas * gpus_per_replica


@formula("replicas")
def replicas_of_cluster(gpus: int, gpus_per_replica: int) -> int:
    """Whole replicas that the cluster runs."""
    return gpus // gpus_per_replica


@formula("requests")
def requests_of_replica(concurrency: int, replicas: int) -> int:
    """Requests in flight on the replica that has most."""
    return ceil(Fraction(concurrency, replicas))


@formula("bytes")
def kv_of_requests(kv_of_request: Fraction, requests: int) -> Fraction:
    """The KV cache of the requests that a replica has in flight."""
    return kv_of_request * requests


@formula("bytes")
def weights_and_cache(weights: Fraction, kv_cache: Fraction) -> Fraction:
    """Weights and KV cache."""
    return weights + kv_cache


@formula("tokens/s")
def tokens_of_cluster(rate_of_gpu: Fraction, replicas: int, gpus_per_replica: int) -> Fraction:
    """Tokens put out by all replicas."""
    return rate_of_gpu * replicas * gpus_per_replica


@formula("requests")
def requests_answered(tokens_per_second: Fraction, output_tokens: int) -> Fraction:
    """Requests that are answered in a minute."""
    return Fraction(tokens_per_second) * SECONDS_A_MINUTE / output_tokens

"""A model that is served: memory of its replicas, requests in flight, and GPUs for the requests of a minute."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.figures import Figure, formula
from bomgen.parts import Gpu
from bomgen.plan import Inference
from bomgen.problems import Infeasible, PlanErrors, Problem
from bomgen.sizing import kv, replica, roofline
from bomgen.sizing.kv import BYTES
from bomgen.sizing.replica import PATH, Choice, Replica
from bomgen.sizing.roofline import SECONDS_A_MINUTE, Estimate


class Range(NamedTuple):
    """What a number is at the low and at the high end of an estimate."""

    low: Figure | None
    high: Figure | None


class Need(NamedTuple):
    """What serving needs of any cluster."""

    choice: Choice
    estimate: Estimate | None
    """None: the throughput was measured, or something for an estimate is not known."""
    missing: str | None
    """What an estimate would have needed: a key of `roofline.LACKS`."""
    demand: Figure | None
    """Tokens/s that the requests ask for."""
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


class Serving(NamedTuple):
    """What a cluster serves."""

    need: Need
    replicas: Figure
    """That the cluster runs."""
    model: Held
    """By one replica."""
    per_gpu: Held
    """By the fullest GPU."""
    gpu_memory: Figure | None
    """What the GPU has [bytes]."""
    token: Figure | None
    """KV cache of a token [bytes]."""
    request: Figure | None
    """KV cache of a request [bytes]."""
    of_gpu: Figure | None
    """Tokens/s of a GPU, measured or typical."""
    tokens_per_second: Figure | None
    requests_per_minute: Figure | None
    requests_range: Range | None
    missed: tuple[tuple[Figure, str], ...]
    """What is asked for that a cluster given by the plan does not reach, each with a sentence."""


def size(inference: Inference, gpu: Gpu, gpus_per_server: Figure | None, at_most: int | None) -> Need:
    """What serving a model needs; replicas have `at_most` so many GPUs, the cluster's where the plan gives them.

    Raises PlanErrors when no replica holds the model, the GPU does not work in the format of the weights, or a rate is
    asked for that nothing can be estimated of; Infeasible for degrees that do not divide what they cut up.
    """
    measured = inference.tokens_per_second_per_gpu
    if measured is None and gpu.dense:
        roofline.peak_of(inference, gpu)
    choice = replica.choose(inference, gpu, gpus_per_server)
    need = _need(inference, gpu, choice, choice.replica)
    lacks = roofline.missing(inference, gpu) if measured is None else None
    if lacks and inference.requests_per_minute:
        mark = replica.place(inference, inference.requests_per_minute)
        message = (
            f"the throughput cannot be estimated without {roofline.LACKS[lacks]}; give it, or a measured "
            "`tokens_per_second_per_gpu`"
        )
        raise PlanErrors([Problem(mark, "error", message, "missing-key", PATH)])
    best = need
    for larger in choice.larger:
        if at_most is None or larger.gpus.value <= at_most:
            other = _need(inference, gpu, choice._replace(replica=larger), larger)
            if other.gpus_required.value < best.gpus_required.value:
                best = other
    smallest = None if best is need else (choice.replica, need.gpus_required)
    return best._replace(missing=lacks, smaller=smallest)


def _need(inference: Inference, gpu: Gpu, choice: Choice, found: Replica) -> Need:
    measured, output = inference.tokens_per_second_per_gpu, inference.output_tokens
    estimate = roofline.estimate(inference, gpu, found) if measured is None else None
    of_minute = inference.requests_per_minute
    demand = tokens_asked(of_minute, output) if of_minute and output else None
    holding = _replicas_holding(inference, found)

    def replicas(rate: Figure | None) -> Figure:
        if demand is None or rate is None:
            return holding
        if measured is not None:
            return replicas_needed(holding, replicas_of_gpus(gpus_for_rate(demand, measured), found.gpus))
        return replicas_needed(holding, replicas_for_rate(demand, rate))

    def gpus(rate: Figure | None) -> Figure:
        return gpus_of_replicas(replicas(rate), found.gpus)

    needed = replicas(estimate.typical.of_replica if estimate else measured)
    span = Range(gpus(estimate.high.of_replica), gpus(estimate.low.of_replica)) if estimate and demand else None
    return Need(choice, estimate, None, demand, needed, gpus_of_replicas(needed, found.gpus), span, None)


def _replicas_holding(inference: Inference, found: Replica) -> Figure:
    """Replicas that hold the requests in flight; one where nobody knows how many one holds."""
    return replicas_unknown() if found.held is None else replicas_for_requests(inference.concurrency, found.held)


def serve(inference: Inference, need: Need, gpu: Gpu, gpus: Figure, given: bool) -> Serving:
    """What so many GPUs serve; `given`: the plan gives their number.

    Raises Infeasible when they hold no replica, or no whole number of replicas given by hand.
    """
    found = need.choice.replica
    if given and (inference.tensor or inference.pipeline):
        replica.check_whole(found, gpus)
    if gpus.value < found.gpus.value:
        raise _no_replica(need.choice, gpus)
    replicas = replicas_of_cluster(gpus, found.gpus)
    cache = kv.cache(inference)
    request = kv.of_request(cache, inference.context) if cache and inference.context else None
    requests = requests_of_replica(inference.concurrency, replicas)
    value = BYTES[str(inference.precision.value)]
    rate = _rate(need, inference.tokens_per_second_per_gpu)
    output = inference.output_tokens
    put_out = tokens_of_cluster(rate, replicas, found.gpus) if rate else None
    served = requests_answered(put_out, output) if put_out and output else None
    serving = Serving(
        gpu_memory=gpu.memory_bytes,
        need=need,
        replicas=replicas,
        model=_held(kv.weights(inference.model.parameters, value), request, requests),
        per_gpu=_held(found.weights, found.request, requests),
        token=cache.token if cache else None,
        request=request,
        of_gpu=rate,
        tokens_per_second=put_out,
        requests_per_minute=served,
        requests_range=_range_of_requests(need, replicas, output),
        missed=(),
    )
    return serving._replace(missed=tuple(_missed(inference, serving, gpus))) if given else serving


def _rate(need: Need, measured: Figure | None) -> Figure | None:
    return measured or (need.estimate.typical.of_gpu if need.estimate else None)


def _range_of_requests(need: Need, replicas: Figure, output: Figure | None) -> Range | None:
    if need.estimate is None or output is None:
        return None

    def answered(rate: Figure) -> Figure:
        return requests_answered(tokens_of_cluster(rate, replicas, need.choice.replica.gpus), output)

    low, high = need.estimate.low.of_gpu, need.estimate.high.of_gpu
    return Range(answered(low), answered(high)) if low and high else None


def _held(weights: Figure, request: Figure | None, requests: Figure) -> Held:
    if request is None:
        return Held(weights, None, weights)
    held = kv_of_requests(request, requests)
    return Held(weights, held, weights_and_cache(weights, held))


def _no_replica(choice: Choice, gpus: Figure) -> Infeasible:
    found = choice.replica
    why = f" ({choice.reasons[0]})" if choice.reasons else ""
    message = (
        f"{gpus.value} GPUs hold no replica of tensor {found.tensor.value} x pipeline {found.pipeline.value} = "
        f"{found.gpus.value} GPUs; give {found.gpus.value} or more{why}"
    )
    return Infeasible(message, because=gpus)


def _missed(inference: Inference, serving: Serving, gpus: Figure) -> Iterator[tuple[Figure, str]]:
    """What the cluster does not reach: requests in flight, and requests a minute."""
    need, held = serving.need, serving.need.choice.replica.held
    enough = f"{need.gpus_required.value} GPUs would do"
    in_flight = inference.concurrency
    if inference.asks and held is not None and held.value * serving.replicas.value < in_flight.value:
        message = f"{gpus.value} GPUs hold {held.value * serving.replicas.value} requests at a time, "
        yield in_flight, f"{message}{in_flight.value} are asked for; {enough}"
    asked, served = inference.requests_per_minute, serving.requests_per_minute
    if asked and served and served.value < asked.value:
        how = " by a roofline estimate" if need.estimate else ""
        message = f"{gpus.value} GPUs answer{how} {float(served.value):.4g} requests a minute, "
        yield asked, f"{message}{float(asked.value):g} are asked for; {enough}"


@formula("tokens/s")
def tokens_asked(requests_per_minute: int, output_tokens: int) -> Fraction:
    """Tokens/s that so many requests a minute ask for."""
    return Fraction(requests_per_minute * output_tokens, SECONDS_A_MINUTE)


@formula("replicas")
def replicas_unknown() -> int:
    """A single replica, where the requests that it holds are not known."""
    return 1


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

"""How many requests a replica serves within latency targets, and how many replicas serve a number of requests.

Requests arrive at random. In flight on a replica are, by Little's law, those that arrive while an answer is generated.
A prompt waits while its replica processes others: a queue with one server, of which the least loaded of several
replicas is chosen. A replica is never planned at its full load.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil, exp, inf, log, log1p, sqrt
from statistics import NormalDist
from typing import NamedTuple

from bomgen.core.provenance import Figure, formula, sum_of
from bomgen.plan.types import Inference
from bomgen.sizing.prediction.serving import ReplicaSpeed, request_seconds, tokens_per_second_of_gpu

BUSIEST = 0.95
"""Most of its time that a replica spends on prompts."""
VARIATION = 2.3
"""Standard deviations by which the requests in flight exceed their mean one time in a hundred."""
SECONDS_A_MINUTE = 60
ARITHMETIC, BANDWIDTH = "arithmetic", "bandwidth"
"""Possible bounds of a throughput."""
MOST_PREFILL = 4096
"""Most replicas that only prefill."""
USUAL_PERCENTILE = 0.95
LEAST_IN_FLIGHT = 0.01
"""Least mean requests in flight on a replica that are considered."""
STEPS = 18
"""Halvings of an interval in the search for a load, which leave it known to a ten thousandth."""
MOST_IN_FLIGHT = 4096.0
"""Most requests in flight that are considered where the GPU's memory is unknown."""


class Demand(NamedTuple):
    """Requests that a cluster has to serve, and the latency they need."""

    per_second: float
    """Requests per second in the busiest minute."""
    output: float
    """Mean output tokens."""
    variation: float
    """Standard deviation of the tokens of a prompt over their mean."""
    ttft: float
    """Most time to the first token [s]; infinite: no target."""
    tpot: float
    """Most time per output token [s]."""
    percentile: float


class Limit(NamedTuple):
    """The upper bound of the throughput of a GPU, at line rate."""

    of_gpu: float
    """Output tokens/s."""
    by: str
    """ARITHMETIC or BANDWIDTH."""
    in_flight: float


class LoadPoint(NamedTuple):
    """The speed of a replica at one load."""

    in_flight: float
    of_gpu: float
    """Output tokens per second and GPU."""
    of_user: float
    """Output tokens per second of a request."""
    ttft: float
    """Time to the first token with a fixed number of requests in flight [s]."""
    request: float
    """Time of a whole request [s]."""


class Latency(NamedTuple):
    """Latency of a replica at a rate of requests [s]."""

    in_flight: float
    tpot: float
    ttft: float
    """Mean."""
    ttft_of_most: float
    """At the percentile of the demand."""
    busy: float
    """Share of its time that a replica processes prompts."""


def demand_of(inference: Inference) -> Demand | None:
    """Return the demand of a plan; None where it has no rate of requests."""
    asked = inference.requests_per_minute
    if asked is None or inference.output_tokens is None:
        return None
    peak = inference.peak.value if inference.peak else 1
    return closed_demand(inference)._replace(per_second=float(asked.value * peak) / SECONDS_A_MINUTE)


def closed_demand(inference: Inference) -> Demand:
    """Return the demand of a plan without a rate of requests."""
    targets = inference.targets
    return Demand(
        per_second=0.0,
        output=max(1.0, float(inference.output_tokens.value)) if inference.output_tokens else 1.0,
        variation=float(inference.prompt_spread.value) if inference.prompt_spread else 0.0,
        ttft=float(targets.ttft.value) if targets and targets.ttft else inf,
        tpot=float(targets.tpot.value) if targets and targets.tpot else inf,
        percentile=float(targets.percentile.value) if targets else USUAL_PERCENTILE,
    )


def most_in_flight(held: float | None) -> float:
    """Return the mean requests in flight whose variation the KV cache of `held` requests has room for."""
    if held is None:
        return MOST_IN_FLIGHT
    # B + 2.3 sqrt(B) = held
    half = VARIATION / 2
    return max((sqrt(half**2 + held) - half) ** 2, min(held, 1.0))


def rate_of(speed: ReplicaSpeed, in_flight: float) -> float:
    """Return the requests per second that a replica answers with so many in flight."""
    times = speed.times(in_flight)
    return in_flight / (times.tpot * speed.load.output)


def latency(speed: ReplicaSpeed, demand: Demand, in_flight: float, per_second: float, replicas: int) -> Latency:
    """Return the latency of one of several replicas at a rate of requests to it."""
    times = speed.times(in_flight)
    occupied = times.shared / speed.prompts_at_a_time
    busy = per_second * occupied
    if busy >= 1:
        return Latency(in_flight, times.tpot, inf, inf, busy)
    delay = delay_of_waiting.plain(occupied, demand.variation, busy)
    chance = chance_of_waiting.plain(busy, replicas)
    mean = ttft_at_rate.plain(times.undisturbed, chance * delay)
    rare = 1 - demand.percentile
    longest = delay * log(chance / rare) if chance > rare else 0.0
    long_prompt = times.prompt * (long_over_mean(demand.variation, demand.percentile) - 1)
    further = sqrt(long_prompt**2 + max(0.0, longest - chance * delay) ** 2)
    return Latency(in_flight, times.tpot, mean, mean + further, busy)


def long_over_mean(variation: float, percentile: float) -> float:
    """Return a percentile of lengths over their mean, for a log-normal distribution."""
    sigma = sqrt(log1p(variation**2))
    return exp(NormalDist().inv_cdf(percentile) * sigma - sigma**2 / 2)


def trade_off(speed: ReplicaSpeed, most: float) -> list[LoadPoint]:
    """Return the speed of a replica from one request in flight to the most, which double from point to point."""
    loads = [1.0]
    while loads[-1] * 2 < most:
        loads.append(loads[-1] * 2)
    return [_point(speed, load) for load in ([*loads, most] if most > loads[-1] else loads)]


def _point(speed: ReplicaSpeed, in_flight: float) -> LoadPoint:
    times = speed.times(in_flight)
    request = request_seconds.plain(times.ttft, times.tpot, speed.load.output)
    of_gpu = tokens_per_second_of_gpu.plain(in_flight, speed.load.output, request, speed.gpus)
    return LoadPoint(in_flight, of_gpu, 1 / times.tpot, times.ttft, request)


def largest_load(speed: ReplicaSpeed, demand: Demand, batch: Figure | None, held: float | None) -> float | None:
    """Return the most mean requests in flight at which a replica keeps the targets; None: none.

    `batch` is the most that the plan allows, `held` the requests whose KV cache it has room for.
    """
    most = most_in_flight(held) if demand.per_second else max(1.0, MOST_IN_FLIGHT if held is None else float(held))
    return _largest(partial(_serves, speed, demand), min(most, float(batch.value)) if batch else most)


def replicas_for_prompts(speed: ReplicaSpeed, demand: Demand) -> int | None:
    """Return the fewest replicas that only prefill and keep the time to the first token; None: no number does."""
    counts = range(max(1, ceil(demand.per_second / _busiest_rate(speed))), MOST_PREFILL)
    return next((count for count in counts if demand.per_second <= count * prompts_in_time(speed, demand, count)), None)


def prompts_in_time(speed: ReplicaSpeed, demand: Demand, replicas: int) -> float:
    """Return the most prompts per second of each of `replicas` that only prefill and keep the time to the first token.

    It is 0 where no rate does.
    """

    def holds(per_second: float) -> bool:
        return latency(speed, demand, LEAST_IN_FLIGHT, per_second, replicas).ttft_of_most <= demand.ttft

    return _largest(holds, _busiest_rate(speed)) or 0.0


def _busiest_rate(speed: ReplicaSpeed) -> float:
    return BUSIEST * speed.prompts_at_a_time / speed.times(LEAST_IN_FLIGHT).shared


def fastest(speed: ReplicaSpeed, demand: Demand) -> tuple[float, float]:
    """Return the time to the first token, at the percentile, and per output token of a replica without load [s]."""
    alone = latency(speed, demand, LEAST_IN_FLIGHT, 0.0, 1)
    return alone.ttft_of_most, alone.tpot


def limit(speed: ReplicaSpeed, in_flight: float) -> Limit:
    """Return the upper bound of the throughput of a GPU of a replica: arithmetic and reading may overlap."""
    terms = speed.at_line_rate(in_flight)
    reading = terms.weights + terms.experts + terms.cache
    prompts = (terms.prompt_arithmetic + terms.prompt_experts + terms.prompt_attention) * in_flight
    arithmetic = terms.arithmetic + terms.expert_arithmetic + prompts / speed.prompts_at_a_time / speed.load.output
    by, step = max((ARITHMETIC, arithmetic), (BANDWIDTH, reading), key=lambda bound: bound[1])
    return Limit(in_flight / step / speed.gpus, by, in_flight)


def _serves(speed: ReplicaSpeed, demand: Demand, in_flight: float) -> bool:
    """Return whether replicas with so many requests in flight keep the targets."""
    rate = rate_of(speed, in_flight)
    if not speed.load.shared_gpus:
        return speed.times(in_flight).tpot <= demand.tpot
    reached = latency(speed, demand, in_flight, rate, max(1, ceil(demand.per_second / rate)))
    return reached.tpot <= demand.tpot and reached.ttft_of_most <= demand.ttft and reached.busy <= BUSIEST


def load_at(speed: ReplicaSpeed, demand: Demand, replicas: int, held: float | None) -> float | None:
    """Return the requests in flight on each of `replicas` that serve a demand; None: more than they can hold."""
    asked, most = demand.per_second / replicas, most_in_flight(held)
    if rate_of(speed, most) < asked:
        return None
    most_at_rate = _largest(lambda load: rate_of(speed, load) <= asked, most)
    return most if most_at_rate is None else most_at_rate


def _largest(holds: Callable[[float], bool], most: float) -> float | None:
    """Return the largest load up to `most` at which a condition holds that fails above some load; None: nowhere.

    The loads that are tried do not depend on `most`: a search with less room never finds more.
    """
    if holds(most):
        return most
    low, high = log(LEAST_IN_FLIGHT), log(MOST_IN_FLIGHT)
    if not holds(LEAST_IN_FLIGHT):
        return None
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if exp(middle) < most and holds(exp(middle)) else (low, middle)
    return exp(low)


ttft_at_rate = sum_of("ttft_at_rate", "s", "undisturbed", "wait")
"""Mean time to the first token of requests that arrive at random."""


@formula("share", "Kingman and Sakasegawa: chance that the least loaded of several servers is busy")
def chance_of_waiting(busy: float, replicas: float) -> float:
    """Chance that a prompt waits, on the least loaded of several replicas."""
    return float(busy ** (sqrt(2 * (replicas + 1)) - 1))


@formula("s", "Pollaczek and Khinchine: mean wait of those that wait, M/G/1")
def delay_of_waiting(occupied: float, variation: float, busy: float) -> float:
    """Mean time that a prompt waits, of those that wait."""
    return occupied * (1 + variation**2) / 2 / (1 - busy)

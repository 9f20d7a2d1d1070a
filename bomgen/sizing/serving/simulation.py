"""The event simulation of a served workload, the judge of its size.

Requests arrive at random, at the rate of the busiest minute, or as a trace has them, and go to the replica with the
fewest. A replica processes
one prompt at a time for each of its attention ranks and pipeline stages, and generates the outputs of all requests
that it holds; a prompt delays these by the share of its time that the prediction has for it. Step and prompt times are
those of the prediction, so the simulation judges queues, their variation and the headroom, not these times.

The number of requests in flight changes with events alone, and between them all advance at one rate: the simulation
goes from event to event, not from token to token.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from math import exp, log1p, sqrt
from random import Random
from typing import NamedTuple

from bomgen.core.provenance import require
from bomgen.plan.types import Inference
from bomgen.sizing.prediction.serving import ReplicaSpeed
from bomgen.sizing.prediction.serving_terms import Times
from bomgen.sizing.serving.capacity import MOST_IN_FLIGHT, Demand
from bomgen.sizing.serving.service import Need

SEED = 1
REQUESTS = 20_000
REQUESTS_ALLOWED = 100, 1_000_000
"""Fewest and most requests to simulate: fewer have no percentiles, more take minutes."""
WARM_UP = 0.2
"""Share of the requests, the first ones, that are not counted: the cluster starts empty."""
PERCENTILES = (0.5, 0.9, 0.95, 0.99)
GROWING = 1.5
"""A queue is unstable when the second half of the requests waits so many times as long as the first."""


class Lengths(NamedTuple):
    """Lengths of prompts or outputs: a log-normal distribution."""

    mean: float
    variation: float
    """Standard deviation over mean; 0: all are equal."""

    def draw(self, random: Random) -> float:
        """Return a length over the mean."""
        if not self.variation:
            return 1.0
        sigma = sqrt(log1p(self.variation**2))
        return exp(random.gauss(-sigma * sigma / 2, sigma))


class Outcome(NamedTuple):
    """What a simulated workload comes to; times in seconds, by percentile."""

    ttft: dict[float, float]
    tpot: dict[float, float]
    request: dict[float, float]
    """Time of whole requests."""
    in_flight: float
    """Mean requests in flight on a replica."""
    ttft_kept: float
    """Share of the requests within the target for the time to the first token."""
    tpot_mean: float
    stable: bool
    """Whether queues stay bounded."""

    def holds(self, demand: Demand) -> bool:
        """Return whether the targets of a demand hold."""
        return self.stable and self.ttft_kept >= demand.percentile and self.tpot_mean <= demand.tpot


class TracedRequest(NamedTuple):
    """A request that was recorded."""

    arrival: float
    """[s]."""
    prompt: float
    """Prompt tokens."""
    output: float
    """Output tokens."""


class Request(NamedTuple):
    """A request to simulate."""

    arrival: float
    """[s]."""
    prompt: float
    """Length of the prompt over the mean that the plan has."""
    output: float
    """Output tokens, at least one."""


class Arrivals(NamedTuple):
    """The requests to simulate, in the order of their arrival."""

    requests: Sequence[Request]
    steady: bool
    """Whether they arrive at one mean rate: the first ones, which meet an empty cluster, do not count, and a queue that
    grows is unstable."""

    @property
    def per_second(self) -> float:
        """Return their mean rate [requests/s]."""
        return (len(self.requests) - 1) / (self.requests[-1].arrival - self.requests[0].arrival)


class _Replica:
    """One replica: requests that wait, the prompt that is processed, and the outputs that are generated."""

    def __init__(self, speed: ReplicaSpeed, most: float) -> None:
        self.speed, self.most = speed, most
        self.waiting: deque[Request] = deque()
        self.generating: list[tuple[float, int, Request, float]] = []
        """By the number of tokens of the replica at which they end."""
        self.prompt: tuple[float, Request] | None = None
        """The end of the prompt that is processed."""
        self.tokens = self.debt = self.now = 0.0
        """Tokens generated per request, decode time owed to prompts [s], and the time of both."""
        self.version = 0
        self.by_count: dict[int, Times[float]] = {}

    @property
    def load(self) -> int:
        """Requests on the replica."""
        return len(self.waiting) + len(self.generating) + (self.prompt is not None)

    def times(self) -> Times[float]:
        """Return the times at the present load."""
        count = max(1, len(self.generating))
        if count not in self.by_count:
            self.by_count[count] = self.speed.times(float(count))
        return self.by_count[count]

    def advance(self, now: float) -> None:
        """Generate tokens up to a time."""
        passed = now - self.now
        paid = min(self.debt, passed)
        self.debt -= paid
        self.tokens += (passed - paid) / self.times().decode
        self.now = now

    def next_end(self) -> float | None:
        """Return the time of the next event; None: there is none."""
        ends = [self.prompt[0]] if self.prompt else []
        if self.generating:
            left = max(0.0, self.generating[0][0] - self.tokens)
            ends.append(self.now + self.debt + left * self.times().decode)
        return min(ends, default=None)


def draw_requests(
    per_second: float, prompts: Lengths, outputs: Lengths, seed: int = SEED, count: int = REQUESTS
) -> Arrivals:
    """Return requests that arrive at random at a rate, with lengths of prompts over their mean and of outputs."""
    random = Random(seed)  # noqa: S311 - a simulation is to repeat, not to be secret
    requests, now = [], 0.0
    for _ in range(count):
        now += random.expovariate(per_second)
        prompt, output = prompts.draw(random), outputs.draw(random)
        requests.append(Request(now, prompt, max(1.0, output * outputs.mean)))
    return Arrivals(requests, steady=True)


def requests_of_plan(inference: Inference, demand: Demand, seed: int, count: int) -> Arrivals:
    """Return requests at the rate and with the lengths of a plan."""
    spread = float(inference.output_spread.value) if inference.output_spread else 0.0
    return draw_requests(demand.per_second, Lengths(1.0, demand.variation), Lengths(demand.output, spread), seed, count)


def requests_of_trace(inference: Inference, trace: Iterable[TracedRequest]) -> Arrivals:
    """Return the requests of a trace; the time of a prompt is in proportion to its tokens over the mean of the plan."""
    mean = float(require(inference.prompt_tokens, "a rate is predicted").value)
    requests = [Request(one.arrival, one.prompt / mean, max(1.0, one.output)) for one in trace]
    return Arrivals(requests, steady=False)


def simulate(
    speed: ReplicaSpeed,
    demand: Demand,
    replicas: int,
    most: float,
    arrivals: Arrivals,
    prefill: tuple[ReplicaSpeed, int] | None = None,
) -> Outcome:
    """Return what requests on replicas come to that each hold `most` of them, by the targets of a demand.

    `prefill` are the speed and the number of replicas that only prefill, None where all replicas do.
    """
    requests, pool = arrivals.requests, [_Replica(speed, most) for _ in range(replicas)]
    if prefill is None:
        return _outcome(demand, _run(requests, pool, speed, None), replicas, arrivals.steady)
    first, count = prefill
    alone = first.times(1.0)
    occupied = alone.shared / first.prompts_at_a_time
    ends = _queue(requests, count, occupied)
    ready = [
        (end + (alone.prompt - occupied) * request.prompt, request) for end, request in zip(ends, requests, strict=True)
    ]
    ready.sort(key=lambda end_and_request: end_and_request[0])
    return _outcome(demand, _run(requests, pool, speed, ready), replicas, arrivals.steady)


def simulate_service(inference: Inference, need: Need, replicas: int | None, arrivals: Arrivals) -> Outcome:
    """Return what requests come to on the replicas that a plan requires, or on another number of them.

    Raises LookupError when the plan has no predicted rate of requests.
    """
    if need.demand is None or need.speed is None:
        raise LookupError("the plan has no predicted rate of requests")
    held = need.replica.held.value if need.replica.held else MOST_IN_FLIGHT
    most = min(float(held), float(inference.batch.value)) if inference.batch else float(held)
    first = (need.prefill.speed, int(need.prefill.replicas.value)) if need.prefill else None
    return simulate(need.speed, need.demand, replicas or int(need.replicas.value), most, arrivals, first)


class _Done(NamedTuple):
    request: Request
    first: float
    """Time of the first token."""
    end: float


def _queue(arrivals: Sequence[Request], servers: int, occupied: float) -> list[float]:
    """Return when prompts leave a queue of several servers, first come first served."""
    free = [0.0] * servers
    ends = []
    for request in arrivals:
        start = max(request.arrival, heappop(free))
        ends.append(start + occupied * request.prompt)
        heappush(free, ends[-1])
    return ends


def _run(
    arrivals: Sequence[Request],
    pool: list[_Replica],
    speed: ReplicaSpeed,
    ready: Sequence[tuple[float, Request]] | None,
) -> list[_Done]:
    """Return the requests as they end; `ready`: when their prompts are done by others, None: by the same replicas."""
    alone = speed.times(1.0)
    occupied = alone.shared / speed.prompts_at_a_time
    events: list[tuple[float, int, int, int]] = []
    """Time, order, replica and its version; the version is -1 for an arrival, whose replica is its place."""
    incoming = ready if ready is not None else [(request.arrival, request) for request in arrivals]
    order = 0
    done: list[_Done] = []

    def schedule(index: int) -> None:
        nonlocal order
        replica = pool[index]
        replica.version += 1
        if (end := replica.next_end()) is not None:
            order += 1
            heappush(events, (end, order, index, replica.version))

    def begin(replica: _Replica, now: float) -> None:
        """Start to process the next prompt, or to generate the next output."""
        while replica.waiting and replica.prompt is None and len(replica.generating) + 1 <= replica.most:
            request = replica.waiting.popleft()
            if ready is None:
                replica.prompt = (now + occupied * request.prompt, request)
                replica.debt += speed.delay * occupied * request.prompt
            else:
                join(replica, request, now)

    def join(replica: _Replica, request: Request, now: float) -> None:
        nonlocal order
        order += 1
        times = replica.times()
        first = now + max(0.0, times.undisturbed - times.prompt)
        if ready is None:
            first += (times.prompt - occupied) * request.prompt
        heappush(replica.generating, (replica.tokens + request.output - 1, order, request, first))

    index = 0
    while index < len(incoming) or events:
        if index < len(incoming) and (not events or incoming[index][0] <= events[0][0]):
            now, request = incoming[index]
            index += 1
            chosen = min(range(len(pool)), key=lambda number: pool[number].load)
            pool[chosen].advance(now)
            pool[chosen].waiting.append(request)
        else:
            now, _, chosen, version = heappop(events)
            replica = pool[chosen]
            if version != replica.version:
                continue
            replica.advance(now)
            if replica.prompt and replica.prompt[0] <= now:
                request, replica.prompt = replica.prompt[1], None
                join(replica, request, now)
            while replica.generating and replica.generating[0][0] <= replica.tokens + ROUNDING:
                _, _, request, first = heappop(replica.generating)
                done.append(_Done(request, first, max(now, first)))
        begin(pool[chosen], now)
        schedule(chosen)
    return done


ROUNDING = 1e-9
"""Tokens by which sums of floats differ from whole ones."""


def _outcome(demand: Demand, done: list[_Done], replicas: int, steady: bool) -> Outcome:
    done.sort(key=lambda request: request.request.arrival)
    counted = done[int(len(done) * WARM_UP) :] if steady else done
    ttft = [request.first - request.request.arrival for request in counted]
    tpot = [
        (request.end - request.first) / (request.request.output - 1)
        for request in counted
        if request.request.output >= MANY_TOKENS
    ]
    whole = [request.end - request.request.arrival for request in counted]
    half = len(ttft) // 2
    early, late = sum(ttft[:half]) / half, sum(ttft[half:]) / (len(ttft) - half)
    span = counted[-1].request.arrival - counted[0].request.arrival
    return Outcome(
        ttft=_percentiles(ttft),
        tpot=_percentiles(tpot or [0.0]),
        request=_percentiles(whole),
        in_flight=sum(whole) / span / replicas,
        ttft_kept=sum(time <= demand.ttft for time in ttft) / len(ttft),
        tpot_mean=sum(tpot) / len(tpot) if tpot else 0.0,
        stable=not steady or late <= GROWING * early,
    )


MANY_TOKENS = 16
"""Output tokens below which a time per token is not counted: it is a part of one step."""


def _percentiles(values: list[float]) -> dict[float, float]:
    ordered = sorted(values)
    return {share: ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in PERCENTILES}

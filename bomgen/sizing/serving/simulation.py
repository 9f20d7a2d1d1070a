"""The event simulation of a served workload, the judge of its size.

Requests arrive at random, at the rate of the busiest minute, and go to the replica with the fewest. A replica processes
one prompt at a time for each of its attention ranks and pipeline stages, and generates the outputs of all requests
that it holds; a prompt delays these by the share of its time that the prediction has for it. Step and prompt times are
those of the prediction, so the simulation judges queues, their variation and the headroom, not these times.

The number of requests in flight changes with events alone, and between them all advance at one rate: the simulation
goes from event to event, not from token to token.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from math import exp, log1p, sqrt
from random import Random
from typing import NamedTuple

from bomgen.plan.types import Plan
from bomgen.sizing.prediction.serving import ReplicaSpeed, TimesAtLoad
from bomgen.sizing.serving.capacity import MOST_IN_FLIGHT, Demand
from bomgen.sizing.serving.service import Serving

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


class _Request(NamedTuple):
    arrival: float
    prompt: float
    """Length of the prompt over the mean."""
    output: float
    """Output tokens."""


class _Replica:
    """One replica: requests that wait, the prompt that is processed, and the outputs that are generated."""

    def __init__(self, speed: ReplicaSpeed, most: float) -> None:
        self.speed, self.most = speed, most
        self.waiting: deque[_Request] = deque()
        self.generating: list[tuple[float, int, _Request, float]] = []
        """By the number of tokens of the replica at which they end."""
        self.prompt: tuple[float, _Request] | None = None
        """The end of the prompt that is processed."""
        self.tokens = self.debt = self.now = 0.0
        """Tokens generated per request, decode time owed to prompts [s], and the time of both."""
        self.version = 0
        self.by_count: dict[int, TimesAtLoad] = {}

    @property
    def load(self) -> int:
        """Requests on the replica."""
        return len(self.waiting) + len(self.generating) + (self.prompt is not None)

    def times(self) -> TimesAtLoad:
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


def simulate(
    speed: ReplicaSpeed,
    demand: Demand,
    replicas: int,
    most: float,
    lengths: tuple[Lengths, Lengths],
    prefill: tuple[ReplicaSpeed, int] | None = None,
    seed: int = SEED,
    requests: int = REQUESTS,
) -> Outcome:
    """Return what a demand on replicas comes to that each hold `most` requests.

    `lengths` are those of prompts and outputs; `prefill` are the speed and the number of replicas that only prefill,
    None where all replicas do.
    """
    random = Random(seed)  # noqa: S311 - a simulation is to repeat, not to be secret
    arrivals, now = [], 0.0
    for _ in range(requests):
        now += random.expovariate(demand.per_second)
        prompt, output = (lengths_of_part.draw(random) for lengths_of_part in lengths)
        arrivals.append(_Request(now, prompt, max(1.0, output * lengths[1].mean)))
    if prefill is None:
        return _outcome(demand, _run(arrivals, [_Replica(speed, most) for _ in range(replicas)], speed, None), replicas)
    first, count = prefill
    alone = first.times(1.0)
    occupied = alone.shared / first.prompts_at_a_time
    ends = _queue(arrivals, count, occupied)
    ready = [
        (end + (alone.prompt - occupied) * request.prompt, request) for end, request in zip(ends, arrivals, strict=True)
    ]
    ready.sort(key=lambda lengths_of_part: lengths_of_part[0])
    pool = [_Replica(speed, most) for _ in range(replicas)]
    return _outcome(demand, _run(arrivals, pool, speed, ready), replicas)


def simulate_service(plan: Plan, served: Serving, replicas: int | None, seed: int, requests: int) -> Outcome:
    """Return what the workload of a plan comes to on its cluster, or on another number of replicas.

    Raises LookupError when the plan has no predicted rate of requests.
    """
    need, inference = served.need, plan.inference
    if need.demand is None or need.speed is None or inference is None:
        raise LookupError("the plan has no predicted rate of requests")
    held = need.replica.held.value if need.replica.held else MOST_IN_FLIGHT
    most = min(float(held), float(inference.batch.value)) if inference.batch else float(held)
    first = (need.prefill.speed, int(need.prefill.replicas.value)) if need.prefill else None
    decoding = replicas or int(served.replicas.value) - (first[1] if first else 0)
    lengths = (
        Lengths(1.0, need.demand.variation),
        Lengths(need.demand.output, float(inference.output_spread.value) if inference.output_spread else 0.0),
    )
    return simulate(need.speed, need.demand, decoding, most, lengths, first, seed, requests)


class _Done(NamedTuple):
    request: _Request
    first: float
    """Time of the first token."""
    end: float


def _queue(arrivals: Sequence[_Request], servers: int, occupied: float) -> list[float]:
    """Return when prompts leave a queue of several servers, first come first served."""
    free = [0.0] * servers
    ends = []
    for request in arrivals:
        start = max(request.arrival, heappop(free))
        ends.append(start + occupied * request.prompt)
        heappush(free, ends[-1])
    return ends


def _run(
    arrivals: Sequence[_Request],
    pool: list[_Replica],
    speed: ReplicaSpeed,
    ready: Sequence[tuple[float, _Request]] | None,
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

    def join(replica: _Replica, request: _Request, now: float) -> None:
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


def _outcome(demand: Demand, done: list[_Done], replicas: int) -> Outcome:
    done.sort(key=lambda request: request.request.arrival)
    counted = done[int(len(done) * WARM_UP) :]
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
        stable=late <= GROWING * early,
    )


MANY_TOKENS = 16
"""Output tokens below which a time per token is not counted: it is a part of one step."""


def _percentiles(values: list[float]) -> dict[float, float]:
    ordered = sorted(values)
    return {share: ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in PERCENTILES}

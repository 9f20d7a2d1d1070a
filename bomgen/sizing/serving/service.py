"""Serving a model: replicas and GPUs for a load, and the speed, latency and memory of a cluster at it.

The load is the number of requests in flight (`concurrency`), or follows from the requests per minute: by Little's law
as many are in flight as arrive while an answer is generated. Of all splits of the model over GPUs the one is chosen
with the fewest GPUs to buy for the load. `docs/serving.md` describes how.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial, reduce
from math import ceil, inf
from typing import NamedTuple

from bomgen.catalog.parts import Gpu
from bomgen.core.diagnostics import Infeasible, PlanErrors, error_at
from bomgen.core.messages import message
from bomgen.core.provenance import (
    Assumed,
    Figure,
    Reference,
    ceil_div,
    difference,
    first_given,
    floor_div,
    formula,
    maximum,
    minimum,
    product,
    quotient,
    require,
    sum_of,
)
from bomgen.core.units import GIGA
from bomgen.plan.types import ONE_POOL, TWO_POOLS, Inference
from bomgen.sizing.prediction.predict import Interval
from bomgen.sizing.prediction.serving import TPOT, TTFT, UNMEASURED, ReplicaSpeed, Speed, predict, prepare
from bomgen.sizing.prediction.serving_terms import DECODE, PROMPT
from bomgen.sizing.servers import GpuLinks
from bomgen.sizing.serving import capacity, gpu_memory
from bomgen.sizing.serving import kv_cache as kv
from bomgen.sizing.serving import replicas as splits
from bomgen.sizing.serving.capacity import SECONDS_A_MINUTE, Demand, Limit
from bomgen.sizing.serving.kv_cache import VALUE_BYTES, Cache
from bomgen.sizing.serving.replicas import PATH, Replica, ReplicaChoice, Shortage
from bomgen.sizing.training.parallelism import SERVER_GPUS

MILLI = 1000
TARGET_DIGITS = 3
"""Digits to which times are compared with targets."""
LACKS = {
    "shape": "the shape of the model (layers, hidden, heads)",
    "lengths": "`output_tokens` and `context` or `prompt_tokens`",
    "bandwidth": "the memory bandwidth of the GPU",
    "peak": "the peak of the GPU",
    "links": "the bandwidth between the GPUs of a server",
}
"""Required inputs of a prediction."""
DISTSERVE = "Zhong et al. 2024, DistServe, arXiv 2401.09670; Patel et al. 2023, Splitwise, arXiv 2311.18677"
_LITTLE = Reference("Little 1961, A Proof for the Queuing Formula L = lambda W", "https://doi.org/10.1287/opre.9.3.383")


class ServersOfPrompts(NamedTuple):
    """Servers with another GPU than the cluster's, on which replicas only prefill."""

    gpu: Gpu
    links: GpuLinks | None
    gpus_per_server: Figure


class Pool(NamedTuple):
    """Replicas that only prefill."""

    replica: Replica
    speed: ReplicaSpeed
    replicas: Figure
    to_buy: Figure
    """Replicas with the margin."""
    apart: bool
    """Whether they have servers with another GPU, which are not of the cluster."""

    @property
    def gpus(self) -> Figure:
        """GPUs of all of them."""
        return gpus_of_replicas(self.replicas, self.replica.gpus)

    @property
    def gpus_to_buy(self) -> Figure:
        """GPUs of all of them with the margin."""
        return gpus_of_replicas(self.to_buy, self.replica.gpus)


class Need(NamedTuple):
    """The needs of serving, independent of the cluster."""

    replica: Replica
    """The chosen replica."""
    reasons: tuple[Shortage, ...]
    """The reasons why smaller ones do not hold the model, the largest first."""
    shortage: Shortage | None
    """The shortage of a given replica that is too small; None otherwise."""
    speed: ReplicaSpeed | None
    """What its speed follows from; None: the throughput was measured, or an input is unknown."""
    missing: str | None
    """The missing input of a prediction, a key of `LACKS`; None: nothing."""
    limit: Limit | None
    """The upper bound of a measured throughput; None: it is predicted, or an input is unknown."""
    demand: Demand | None
    """The requests per second to serve and their targets; None: the plan sets no rate."""
    replicas: Figure
    """Replicas for the load, as predicted: the prediction may err to either side."""
    gpus_required: Figure
    """The fewest GPUs for the load, as predicted; another split may need fewer to buy."""
    gpus_range: Interval | None
    """These at the ends of an interval of 80 % of the capacity at the targets."""
    replicas_to_buy: Figure
    """Replicas with the margin for the error of the prediction, and spare ones."""
    gpus_to_buy: Figure
    """GPUs with the margin for the error of the prediction, and spare replicas."""
    margin: Figure | None
    """The margin; None where nothing is predicted, or a replica was measured."""
    prefill: Pool | None
    """Replicas that only prefill, besides these; None: all prefill and decode."""
    most: Figure | None
    """Mean requests in flight on a replica up to which the targets are kept; None: not predicted."""
    smaller: tuple[Replica, int] | None
    """The smallest replica that holds the model, with its GPUs, when another replica needs fewer."""
    required_as: tuple[Replica, Figure] | None = None
    """The replica that requires the fewest GPUs, and those that the chosen one requires; None: it is the same."""


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


class Latency(NamedTuple):
    """The latency of requests on a cluster [s]."""

    ttft: Figure
    """Mean time to the first token."""
    ttft_range: Interval
    ttft_of_most: Figure | None
    """Time to the first token that the percentile of the targets keeps; None: the plan sets no rate of requests."""
    ttft_of_most_range: Interval | None
    tpot: Figure
    """Time per output token."""
    tpot_range: Interval
    prompt: Figure
    """Processing of a prompt alone."""
    busy: Figure | None
    """Share of their time that replicas process prompts; None: the plan sets no rate of requests."""


class Serving(NamedTuple):
    """The results of serving on a cluster."""

    need: Need
    replicas: Figure
    """Whole replicas on the cluster."""
    model: Held
    """Memory of one replica with its share of the requests in flight."""
    per_gpu: Held
    """Memory of its fullest GPU."""
    gpu_memory: Figure | None
    """Memory of a GPU [bytes]."""
    cache: Cache | None
    """The KV cache of the model; None if unknown."""
    request: Figure | None
    """KV cache of a request [bytes]."""
    narrow: Mapping[str, Figure]
    """Bytes of a value by format, for formats of weights and KV cache narrower than a byte."""
    in_flight: Figure | None
    """Mean requests in flight on a replica; None: unknown."""
    speed: Speed | None
    """The predicted speed of a replica at this load; None: the throughput was measured, or an input is unknown."""
    latency: Latency | None
    of_gpu: Figure | None
    """Output tokens/s per GPU, measured or predicted."""
    of_gpu_range: Interval | None
    tokens_per_second: Figure | None
    tokens_range: Interval | None
    requests_per_minute: Figure | None
    """Requests per minute that the cluster can serve."""
    requests_range: Interval | None
    load: Figure | None
    """Share of these that the plan's busiest minute asks for; None: the plan sets no rate of requests."""
    kv_transfer: Figure | None
    """KV cache that a GPU sends or receives between prefill and decode [bytes/s]; None: one replica does both."""
    cautions: tuple[Caution, ...]


class _Asked(NamedTuple):
    """What is asked of a cluster that serves a model, and the parts that it has."""

    inference: Inference
    gpu: Gpu
    links: GpuLinks | None
    """None: unknown, or nothing is to be predicted."""
    gpus_per_server: Figure | None
    demand: Demand | None
    prefill: tuple[Replica, ReplicaSpeed, int] | None = None
    """Replicas that only prefill on servers with another GPU, their speed and number."""

    def speed(self, replica: Replica) -> ReplicaSpeed | None:
        """Return what the speed of a replica follows from; None where an input is unknown."""
        return prepare(self.inference, self.gpu, self.links, replica.degrees) if self.links else None


class _Candidate(NamedTuple):
    """A split of the model that keeps the targets, and how many replicas of it the load needs."""

    replica: Replica
    speed: ReplicaSpeed | None
    most: Figure | None
    """Largest mean load of a replica that keeps the targets; None: not predicted."""
    holding: list[Figure]
    """Replicas whose memory holds the requests in flight, not rounded."""
    answering: list[Figure]
    """Replicas that are fast enough for each demand, not rounded, without those that only prefill."""
    counted: Figure | None = None
    """Share of the capacity that counts of a split over servers, None: all."""
    margin: Figure | None = None
    """Share by which more than these are bought."""
    spares: int = 0
    """Replicas that stand in for failed ones."""
    prefill: tuple[Replica, ReplicaSpeed, int] | None = None
    """Replicas that only prefill, besides these, their speed and number; None: these prefill, too."""

    @property
    def replicas(self) -> float:
        """Replicas that are fast enough for all demands, not rounded."""
        return max((float(count.value) for count in self.answering), default=0.0)

    def gpus(self, margin: float = 0.0, spares: int = 0) -> int:
        """Return the GPUs of all replicas, with a margin for the error of the prediction, and spare replicas."""
        count = max(1, *(ceil(count.value) for count in self.holding), ceil(self.replicas * (1 + margin))) + spares
        gpus = int(count * self.replica.gpus.value)
        return gpus + (ceil(self.prefill[2] * (1 + margin)) * int(self.prefill[0].gpus.value) if self.prefill else 0)

    @property
    def to_buy(self) -> int:
        """The GPUs to buy."""
        return self.gpus(float(self.margin.value) if self.margin else 0.0, self.spares)

    @property
    def rank(self) -> tuple[float, ...]:
        """The order of choice: fewest GPUs to buy, fewest required, the smaller replica, attention not by requests."""
        return self.to_buy, self.gpus(), float(self.replica.gpus.value), self.replica.by_requests, self.replicas


def size_serving(
    inference: Inference,
    gpu: Gpu,
    links: GpuLinks | None,
    gpus_per_server: Figure | None,
    at_most: int | None,
    prefill: ServersOfPrompts | None = None,
) -> Need:
    """Return the needs of serving a model; a replica has at most `at_most` GPUs, where the plan sets the cluster's.

    `prefill` are servers with another GPU for the prompts.

    Raises PlanErrors when no replica holds the model, or when a rate or targets cannot be predicted or kept;
    Infeasible for degrees that do not divide what they split, or split the weights for a load into more than a GPU has.
    """
    choice = splits.choose(inference, gpu, gpus_per_server)
    loaded = inference.concurrency or inference.requests_per_minute or inference.output_tokens
    if loaded and choice.shortage and choice.shortage.weights > choice.shortage.memory:
        raise Infeasible(choice.shortage.message, because=choice.replica.tensor)
    lacks = _missing(inference, gpu, links) if inference.tokens_per_second_per_gpu is None else None
    if lacks and (inference.requests_per_minute or inference.targets):
        mark = splits.plan_mark(inference, inference.requests_per_minute)
        text = (
            f"the throughput cannot be predicted without {LACKS[lacks]}; set it, "
            "or a measured `tokens_per_second_per_gpu`"
        )
        raise error_at(mark, text, "missing-key", PATH)
    links = None if lacks else links
    asked = _Asked(inference, gpu, links, gpus_per_server, capacity.demand_of(inference))
    if prefill and asked.demand and links:
        asked = asked._replace(prefill=_prefill_apart(inference, prefill, asked.demand))
    unmeasured = asked._replace(inference=inference._replace(measured=()))
    within = max((gpus_per_server or SERVER_GPUS).value, float(links.domain.value) if links else 0.0)
    candidates, counted = _candidates(unmeasured, choice.replica), None
    smallest = min(candidates, key=lambda candidate: candidate.rank, default=None)
    if choice.replica.gpus.value <= within and inference.capacity_errors:
        counted = inference.capacity_errors.over_servers
    tried = [degree.value for degree in choice.replica.degrees]
    for replica in splits.all_replicas(inference, gpu, gpus_per_server):
        if replica.gpus.value > min(at_most or inf, *(candidate.to_buy for candidate in candidates), inf):
            break
        if replica.fits is False or [degree.value for degree in replica.degrees] == tried:
            continue
        candidates += _candidates(unmeasured, replica, counted if replica.gpus.value > within else None)
    if candidates and inference.measured:
        best = min(candidates, key=lambda candidate: candidate.rank)
        candidates = _candidates(asked, best.replica, best.counted)
    if not candidates:
        raise _unreachable(asked)
    best = min(candidates, key=lambda candidate: candidate.rank)
    fewest = min(candidates, key=lambda candidate: (candidate.gpus(), candidate.rank))
    need = least = _need(asked, choice, best)
    if fewest is not best:
        least = _need(asked, choice, fewest)
        need = need._replace(required_as=(fewest.replica, need.gpus_required))
    return need._replace(
        missing=lacks,
        gpus_required=least.gpus_required,
        gpus_range=least.gpus_range,
        smaller=(smallest.replica, smallest.to_buy) if smallest and best.replica != smallest.replica else None,
    )


def _need(asked: _Asked, choice: ReplicaChoice, best: _Candidate) -> Need:
    """Return the needs with the chosen split as figures."""
    inference, size, margin, prefill = asked.inference, best.replica.gpus, best.margin, None
    holding, answering = best.holding, best.answering
    if best.speed and best.most:
        answering = _answering(asked, best.most, predict(best.speed, best.most, size).tpot, best.counted)
    replicas = to_buy = _whole([*holding, *answering])
    if margin and answering:
        to_buy = _whole([*holding, with_margin(reduce(replicas_needed, answering), margin)])
    if inference.spare_replicas and inference.spare_replicas.value:
        to_buy = with_spares(to_buy, inference.spare_replicas)
    gpus, gpus_to_buy = gpus_of_replicas(replicas, size), gpus_of_replicas(to_buy, size)
    if of_prompts := best.prefill or asked.prefill:
        only, first, count = of_prompts
        needed = _found(count, "replicas", "replicas-for-prefill")
        bought = whole_replicas(with_margin(needed, margin)) if margin else needed
        prefill = Pool(only, first, needed, bought, apart=best.prefill is None)
        if best.prefill:
            gpus = gpus_of_pools(gpus, prefill.gpus)
            gpus_to_buy = gpus_of_pools(gpus_to_buy, prefill.gpus_to_buy)
    return Need(
        replica=best.replica,
        reasons=choice.reasons,
        shortage=choice.shortage,
        speed=best.speed,
        missing=None,
        limit=_limit(asked, best.replica),
        demand=asked.demand,
        replicas=replicas,
        gpus_required=gpus,
        gpus_range=_range_of_gpus(inference, best, answering) if answering and not best.prefill else None,
        replicas_to_buy=replicas_with_prefill(to_buy, prefill.to_buy) if prefill and best.prefill else to_buy,
        gpus_to_buy=gpus_to_buy,
        margin=margin,
        prefill=prefill,
        most=best.most,
        smaller=None,
    )


def _whole(needed: list[Figure]) -> Figure:
    """Return whole replicas, as many as each of several needs."""
    return whole_replicas(reduce(replicas_needed, needed)) if needed else _found(1, "replicas", "replicas-holding")


def _margin(inference: Inference, replica: Replica, counted: Figure | None) -> Figure | None:
    """Return the margin of what is bought; None where a replica was measured, or not all of its capacity counts."""
    margin, errors = inference.margin, inference.capacity_errors
    if margin is None or counted or (inference.measured and not first_given(margin)):
        return None
    if errors and replica.by_requests and not first_given(margin):
        return margin_of_factor(errors.unmeasured)
    return margin


def _missing(inference: Inference, gpu: Gpu, links: GpuLinks | None) -> str | None:
    """Return the missing input of a prediction, as a key of `LACKS`; None when there is none."""
    if inference.output_tokens is None or inference.prompt_tokens is None:
        return "lengths"
    if gpu.memory_bandwidth is None:
        return "bandwidth"
    if not {"bf16", "fp16"} & gpu.dense.keys():
        return "peak"
    if links is None:
        return "links"
    return None if prepare(inference, gpu, links, splits.ONE_GPU) else "shape"


def _limit(asked: _Asked, replica: Replica) -> Limit | None:
    """Return the upper bound of a measured throughput of a full replica; None without one, or where unknown."""
    if asked.inference.tokens_per_second_per_gpu is None or replica.held is None:
        return None
    speed = asked.speed(replica)
    return capacity.limit(speed, max(1.0, float(replica.held.value))) if speed else None


def _candidates(asked: _Asked, replica: Replica, counted: Figure | None = None) -> list[_Candidate]:
    """Return the needs with a replica, with one pool and with two; none when no number of these keeps the targets."""
    inference = asked.inference
    in_flight, measured = inference.concurrency, inference.tokens_per_second_per_gpu
    holding = [replicas_for_requests(in_flight, replica.held)] if in_flight and replica.held else []
    speed = asked.speed(replica) if measured is None else None
    if speed is None:
        answering = []
        if measured and inference.requests_per_minute and inference.output_tokens:
            tokens = tokens_asked(_at_peak(inference, inference.requests_per_minute), inference.output_tokens)
            answering = [replicas_of_gpus(gpus_for_rate(tokens, measured), replica.gpus)]
        return [_Candidate(replica, None, None, holding, answering)]
    spares = int(inference.spare_replicas.value) if inference.spare_replicas else 0
    margin = _margin(inference, replica, counted)
    candidate = _Candidate(replica, speed, None, holding, [], counted, margin, spares)
    options = []
    if inference.pools != TWO_POOLS or asked.demand is None:
        options.append(_with_load(asked, candidate, speed))
    if inference.pools != ONE_POOL and asked.demand is not None:
        options.append(_with_two_pools(asked, candidate, speed, asked.demand))
    return [option for option in options if option]


def _with_load(asked: _Asked, candidate: _Candidate, speed: ReplicaSpeed) -> _Candidate | None:
    """Return a candidate with the largest load of a replica that keeps the targets; None: no load does."""
    demand, held = asked.demand or capacity.closed_demand(asked.inference), candidate.replica.holds
    most = capacity.largest_load(speed, demand, asked.inference.batch, held)
    if most is None:
        return None
    load = _found(most, "requests", "load-of-replica")
    tpot = _found(speed.times(most).tpot, "s", "load-of-replica")
    answering = _answering(asked, load, tpot, candidate.counted)
    return candidate._replace(speed=speed, most=load, answering=answering)


def _with_two_pools(asked: _Asked, candidate: _Candidate, speed: ReplicaSpeed, demand: Demand) -> _Candidate | None:
    """Return the needs with replicas that only decode, and others that only prefill."""
    inference, degrees, prefill = asked.inference, asked.inference.prefill, candidate.replica
    decode = _with_load(asked, candidate, speed._replace(load=speed.load._replace(shared_gpus=0.0)))
    if asked.prefill:
        return decode
    first: ReplicaSpeed | None = speed
    if degrees:
        prefill = splits.replica(inference._replace(degrees=degrees), asked.gpu, degrees.tensor, degrees.pipeline)
        first = speed.prepare(inference, prefill.degrees)
    needed = capacity.replicas_for_prompts(first, demand) if first else None
    return decode._replace(prefill=(prefill, first, needed)) if decode and first and needed else None


def _prefill_apart(
    inference: Inference, servers: ServersOfPrompts, demand: Demand
) -> tuple[Replica, ReplicaSpeed, int]:
    """Return the replicas that process the prompts on servers with another GPU, with the fewest GPUs.

    Raises PlanErrors when no number of them keeps the target.
    """
    asked = _Asked(
        inference._replace(degrees=inference.prefill), servers.gpu, servers.links, servers.gpus_per_server, demand
    )
    pools = [
        (replica, speed, count)
        for replica in splits.all_replicas(asked.inference, asked.gpu, asked.gpus_per_server)
        if replica.fits is not False and replica.gpus.value <= servers.gpus_per_server.value
        if (speed := asked.speed(replica)) and (count := capacity.replicas_for_prompts(speed, demand))
    ]
    if not pools:
        name, remedy = servers.gpu.identity.name, "use a faster one, or allow a longer `ttft`"
        text = f"no split of the model on {name} processes the prompts in time; {remedy}"
        mark = inference.targets.mark if inference.targets else inference.mark
        raise error_at(mark, text, "targets", f"{PATH}.pools.prefill")
    return min(pools, key=lambda pool: (pool[2] * pool[0].gpus.value, pool[0].gpus.value))


def _at_peak(inference: Inference, of_minute: Figure) -> Figure:
    return requests_at_peak(of_minute, inference.peak) if inference.peak else of_minute


def _answering(asked: _Asked, most: Figure, tpot: Figure, counted: Figure | None) -> list[Figure]:
    """Return the replicas that are fast enough, not rounded, at their largest load and its time per output token."""
    inference, answering = asked.inference, []
    if inference.concurrency and inference.targets:
        answering.append(replicas_for_load(inference.concurrency, most))
    if asked.demand and inference.requests_per_minute and inference.output_tokens:
        rate = requests_of_replica_a_minute(most, inference.output_tokens, tpot)
        headroom = require(inference.headroom, "assumed")
        answering.append(replicas_for_rate(_at_peak(inference, inference.requests_per_minute), rate, headroom))
    return [replicas_over_servers(count, counted) for count in answering] if counted else answering


FOUND = {
    "load-of-replica": (message("load-of-replica"), message("load-of-replica-why")),
    "load-at-rate": (message("load-at-rate"), message("load-at-rate-why")),
    "replicas-holding": (message("replicas-holding"), message("replicas-holding-why")),
    "replicas-for-prefill": (message("replicas-for-prefill"), message("replicas-for-prefill-why")),
    "prompts-in-time": (message("prompts-in-time"), message("prompts-in-time-why")),
    "replicas-at-end": (message("replicas-at-end"), message("replicas-at-end-why")),
    "ttft-of-most": (message("ttft-of-most"), message("ttft-of-most-why")),
    "one-request": (message("one-request"), message("one-request-why")),
}
"""Names of the numbers that the program finds, and how."""


def _found(value: float, unit: str, name: str) -> Figure:
    """Return a number that the program found, with the reason."""
    return Figure(value, unit, Assumed(*FOUND[name], (_LITTLE,), "medium", chosen=True))


def _range_of_gpus(inference: Inference, best: _Candidate, answering: list[Figure]) -> Interval | None:
    """Return the GPUs at both ends of the 80 % interval of the capacity that the targets leave a replica."""
    errors = inference.capacity_errors
    if best.speed is None or errors is None:
        return None
    ends = errors.low, errors.high
    if best.replica.by_requests or best.speed.coefficients.kind == UNMEASURED:
        ends = inverse(errors.unmeasured), errors.unmeasured
    most = reduce(replicas_needed, answering)
    counts = (_whole([*best.holding, replicas_at_end(most, end)]) for end in ends)
    return Interval(*(gpus_of_replicas(count, best.replica.gpus) for count in counts))


def serve(
    inference: Inference, need: Need, gpu: Gpu, gpus: Figure, unit: int | None, network: Figure | None = None
) -> Serving:
    """Return the results of serving on `gpus` GPUs; `network`: of a GPU [bytes/s].

    `unit` is the factor of a number of GPUs in the plan; None: the plan sets none.

    Raises Infeasible when they hold no replica, or not a whole number of the plan's replicas.
    """
    replica = need.replica
    if unit and inference.degrees:
        splits.check_whole(replica, gpus, unit)
    beside = need.prefill if need.prefill and not need.prefill.apart else None
    if gpus.value < replica.gpus.value + (beside.gpus.value if beside else 0):
        raise _too_few_gpus(need, gpus, unit or 1)
    pool = need.prefill
    if pool and (pool.apart or gpus.value >= need.gpus_to_buy.value):
        pool = pool._replace(replicas=pool.to_buy)
        need = need._replace(prefill=pool)
    decoding = replicas_of_cluster(gpus_of_decode(gpus, pool.gpus) if pool and beside else gpus, replica.gpus)
    replicas = replicas_with_prefill(decoding, pool.replicas) if pool and beside else decoding
    cache = kv.cache(inference.model, str(inference.kv_precision.value))
    request = kv.request_bytes(cache, inference.context) if cache and inference.context else None
    in_flight = _in_flight(inference, need, decoding)
    loaded = inference.concurrency or inference.batch or need.demand
    held = requests_on_busiest(in_flight) if in_flight and loaded else _found(1, "requests", "one-request")
    names = (str(precision.value) for precision in (inference.precision, inference.kv_precision))
    formats = {name: VALUE_BYTES[name] for name in names}
    speed = predict(need.speed, in_flight, replica.gpus) if need.speed and in_flight else None
    alone = predict(pool.speed, in_flight, pool.replica.gpus) if pool and in_flight else speed
    if speed and alone:
        of_prompts = {name: term for name, term in alone.terms.items() if name in PROMPT}
        speed = speed._replace(terms={name: speed.terms[name] for name in speed.terms if name in DECODE} | of_prompts)
    rate = inference.tokens_per_second_per_gpu or (speed.of_gpu if speed else None)
    put_out = tokens_of_cluster(rate, decoding, replica.gpus) if rate else None
    served = _requests_served(inference, need, decoding, put_out)
    asked = inference.requests_per_minute
    cautions = [*_cautions(inference, need, gpu)]
    transfer = _kv_transfer(inference, need, cache, decoding)
    if unit:
        cautions += _target_cautions(inference, need, gpus, replicas, served)
    if transfer and network and transfer.value > network.value:
        needed, most = (f"{float(figure.value / GIGA):.3g} GB/s" for figure in (transfer, network))
        about = require(inference.requests_per_minute, "a rate is asked for")
        text = message("kv-transfer", needed=needed, most=most)
        cautions.append(Caution(about, text, "kv-transfer", "workload.kv_transfer"))
    return Serving(
        need=need,
        replicas=replicas,
        model=_held(gpu_memory.weights_of_model(inference), request, held),
        per_gpu=_held(replica.weights, replica.request, held),
        gpu_memory=gpu.memory_bytes,
        cache=cache,
        request=request,
        narrow={name: size for name, size in formats.items() if size.value < 1},
        in_flight=in_flight,
        speed=speed,
        latency=_latency(inference, need, speed, alone, decoding) if speed and alone else None,
        of_gpu=rate,
        of_gpu_range=speed.rates if speed else None,
        tokens_per_second=put_out,
        tokens_range=_scaled_ends(put_out, speed.rates, speed.of_gpu) if speed and put_out else None,
        requests_per_minute=served,
        requests_range=_scaled_ends(served, speed.rates, speed.of_gpu) if speed and served else None,
        load=load_of_cluster(_at_peak(inference, asked), served) if asked and served else None,
        kv_transfer=transfer,
        cautions=tuple(cautions),
    )


def _in_flight(inference: Inference, need: Need, decoding: Figure) -> Figure | None:
    """Return the mean requests in flight on a replica of the cluster; None: unknown."""
    held = need.replica.held
    if inference.batch:
        return requests_at_a_time(inference.batch, held) if held else inference.batch
    if need.demand and need.speed:
        load = capacity.load_at(need.speed, need.demand, int(decoding.value), need.replica.holds)
        return _found(load, "requests", "load-at-rate") if load else need.most
    if inference.concurrency:
        of_load = requests_of_replica(inference.concurrency, decoding)
        return requests_at_a_time(of_load, held) if held else of_load
    return need.most or (requests_full(held) if held else None)


def _requests_served(inference: Inference, need: Need, decoding: Figure, put_out: Figure | None) -> Figure | None:
    """Return the requests per minute that a cluster can serve: within the targets, or at its load."""
    output = inference.output_tokens
    if output is None or put_out is None:
        return None
    if need.demand and need.speed and need.most:
        most = predict(need.speed, need.most, need.replica.gpus)
        served = requests_of_replicas(requests_of_replica_a_minute(need.most, output, most.tpot), decoding)
        if pool := need.prefill:
            count = int(pool.replicas.value)
            prompts = SECONDS_A_MINUTE * count * capacity.prompts_in_time(pool.speed, need.demand, count)
            served = requests_of_pools(served, _found(prompts, "requests", "prompts-in-time"))
        return served
    return requests_answered(put_out, output) if output.value else None


def _latency(inference: Inference, need: Need, speed: Speed, alone: Speed, decoding: Figure) -> Latency:
    """Return the latency of requests: of a fixed number in flight, or where they arrive at random at a rate.

    `alone` is the speed of the replicas that process the prompts.
    """
    ttft, of_most, busy, pool = speed.ttft, None, None, need.prefill
    if need.demand and need.speed and inference.requests_per_minute:
        first, replicas = (pool.speed, pool.replicas) if pool else (need.speed, decoding)
        per_replica = requests_of_replica_a_second(_at_peak(inference, inference.requests_per_minute), replicas)
        occupied = seconds_occupied(alone.shared, first.ranks, first.pipeline)
        busy = share_of_time(per_replica, occupied)
        if busy.value < 1:
            spread = inference.prompt_spread or _found(0, "ratio", "one-request")
            delay = capacity.delay_of_waiting(occupied, spread, busy)
            wait = mean_wait(capacity.chance_of_waiting(busy, replicas), delay)
            ttft = capacity.ttft_at_rate(alone.undisturbed, wait)
            rate, load = float(per_replica.value), float(speed.in_flight.value)
            times = capacity.latency(first, need.demand, load, rate, int(replicas.value))
            of_most = _found(times.ttft_of_most, "s", "ttft-of-most")
    elif inference.concurrency and not inference.batch:
        asked = requests_of_replica(inference.concurrency, decoding)
        if asked.value > speed.in_flight.value:
            ttft = ttft_behind_others(ttft, asked, speed.in_flight, speed.request)
    ends, whole = alone.intervals[TTFT], alone.ttft
    return Latency(
        ttft=ttft,
        ttft_range=_scaled_ends(ttft, ends, whole),
        ttft_of_most=of_most,
        ttft_of_most_range=_scaled_ends(of_most, ends, whole) if of_most else None,
        tpot=speed.tpot,
        tpot_range=speed.intervals[TPOT],
        prompt=alone.prompt,
        busy=busy,
    )


def _kv_transfer(inference: Inference, need: Need, cache: Cache | None, decoding: Figure) -> Figure | None:
    """Return the KV cache per second of a GPU in prefill, or of one in decode, whichever has more [bytes/s]."""
    prefill, asked, prompt = need.prefill, inference.requests_per_minute, inference.prompt_tokens
    if not (prefill and cache and asked and prompt):
        return None
    of_gpu = partial(kv.request_bytes_per_gpu, cache, prompt)
    held = splits.kv_of_gpu(need.replica.by_requests, need.replica.tensor, of_gpu, need.replica.stages)
    return kv_bytes_passed_on(held, _at_peak(inference, asked), prefill.replicas, decoding)


def _scaled_ends(figure: Figure, ends: Interval, predicted: Figure) -> Interval:
    """Return the ends of a figure that is proportional to a predicted one."""
    return Interval(scaled(figure, ends.low, predicted), scaled(figure, ends.high, predicted))


def _held(weights: Figure, request: Figure | None, requests: Figure) -> Held:
    if request is None:
        return Held(weights, None, weights)
    held = kv_of_requests(request, requests)
    return Held(weights, held, weights_and_cache(weights, held))


def _unreachable(asked: _Asked) -> PlanErrors:
    """Return the error when no split keeps the targets, with the nearest."""
    inference, targets = asked.inference, require(asked.inference.targets, "only targets are unreachable")
    demand, nearest = asked.demand or capacity.closed_demand(inference), None
    for replica in splits.all_replicas(inference, asked.gpu, asked.gpus_per_server):
        speed = asked.speed(replica)
        if speed is None or (replica.fits is False and not inference.degrees):
            continue
        ttft, tpot = capacity.fastest(speed, demand)
        missed = round(max(ttft / demand.ttft, tpot / demand.tpot), TARGET_DIGITS)
        if nearest is None or missed < nearest[0]:
            nearest = missed, f"ttft {ttft * MILLI:.3g} ms and tpot {tpot * MILLI:.3g} ms with {replica}"
    reached = f"; the nearest is {nearest[1]}" if nearest else ""
    message = f"no split of the model on {asked.gpu.identity.name} keeps the targets{reached}"
    return error_at(targets.mark, message, "targets", f"{PATH}.targets")


def _too_few_gpus(need: Need, gpus: Figure, unit: int) -> Infeasible:
    replica = need.replica
    enough = ceil(replica.gpus.value / unit) * unit
    why = f" ({need.reasons[0].message})" if need.reasons else ""
    message = (
        f"{gpus.value} GPUs hold no replica of tensor {replica.tensor.value} x pipeline {replica.pipeline.value} = "
        f"{replica.gpus.value} GPUs; use {enough} or more{why}"
    )
    return Infeasible(message, because=gpus)


def _cautions(inference: Inference, need: Need, gpu: Gpu) -> Iterator[Caution]:
    """Yield warnings about a batch that has no effect or exceeds what a replica holds, and an impossible throughput."""
    asked, held, measured = inference.batch, need.replica.held, inference.tokens_per_second_per_gpu
    if asked and measured:
        text = message("no-effect", key="workload.inference.batch", reason=message("throughput-measured"))
        yield Caution(asked, text, "no-effect", "workload.tokens_per_second_per_gpu")
    elif asked and held and held.value < asked.value:
        text = message("batch-not-held", held=held.value, asked=asked.value, batch=max(1, held.value))
        yield Caution(asked, text, "batch", "workload.requests_at_a_time")
    if measured and need.limit and need.limit.of_gpu < measured.value:
        rates = {"tokens": f"{float(measured.value):g}", "gpu": gpu.identity.name, "most": f"{need.limit.of_gpu:.4g}"}
        if need.limit.by == capacity.ARITHMETIC:
            text = message("above-arithmetic", **rates)
        else:
            text = message("above-bandwidth", batch=int(need.limit.in_flight), **rates)
        yield Caution(measured, text, "above-roofline", "workload.tokens_per_second_per_gpu")


def _target_cautions(
    inference: Inference, need: Need, gpus: Figure, replicas: Figure, served: Figure | None
) -> Iterator[Caution]:
    """Yield warnings about targets that a given cluster misses: requests in flight, and requests per minute."""
    enough = message("enough-gpus", count=need.gpus_required.value)
    in_flight, held = inference.concurrency, need.replica.held
    if in_flight and held and not need.shortage and (together := held.value * replicas.value) < in_flight.value:
        text = message("requests-not-held", gpus=gpus.value, held=together, asked=in_flight.value, remedy=enough)
        yield Caution(in_flight, text, "target-missed", "workload.concurrency")
    asked = inference.requests_per_minute
    if asked and served and served.value < _at_peak(inference, asked).value:
        code = "rate-estimate-missed" if need.speed else "rate-missed"
        rate, wanted = f"{float(served.value):.4g}", f"{float(asked.value):g}"
        text = message(code, gpus=gpus.value, served=rate, asked=wanted, remedy=enough)
        yield Caution(asked, text, "target-missed", "workload.requests_per_minute")


requests_at_peak = product("requests_at_peak", "requests/min", "requests_asked", "peak")
"""Requests of the busiest minute."""


@formula("tokens/s")
def tokens_asked(requests_asked: Fraction, output_tokens: Fraction) -> Fraction:
    """Tokens/s for a number of requests per minute."""
    return Fraction(requests_asked * output_tokens) / SECONDS_A_MINUTE


@formula("replicas")
def replicas_for_requests(concurrency: int, held: int) -> Fraction:
    """Replicas that hold the requests in flight; a replica that holds none is counted as holding one."""
    return Fraction(concurrency, max(1, held))


replicas_for_load = quotient("replicas_for_load", "replicas", "concurrency", "most")
"""Replicas on which the requests in flight are few enough for the targets."""


gpus_for_rate = ceil_div(
    "gpus_for_rate",
    "GPUs",
    "demand",
    "measured",
    source="慢慢学 AIGC, 你的 LLM 训练需要多少 GPU?: output tokens / throughput x queries a minute / 60",
)
"""GPUs that generate the requested tokens/s, at the measured rate per GPU."""
replicas_of_gpus = ceil_div("replicas_of_gpus", "replicas", "gpus", "gpus_per_replica")
"""Whole replicas with at least a number of GPUs."""


@formula("requests", "Little's law: as many are in flight as arrive while an answer is generated")
def requests_of_replica_a_minute(in_flight: float, output_tokens: float, tpot: float) -> float:
    """Requests per minute that a replica answers with a number of requests in flight."""
    return SECONDS_A_MINUTE * in_flight / (tpot * max(1, output_tokens))


@formula("replicas")
def replicas_for_rate(requests_asked: Fraction, rate_of_replica: float, headroom: Fraction) -> float:
    """Replicas that answer the requests per minute with headroom."""
    return float(requests_asked) * float(1 + headroom) / rate_of_replica


@formula("replicas")
def whole_replicas(needed: float) -> int:
    """Whole replicas, at least one."""
    return max(1, ceil(needed))


@formula("replicas")
def with_margin(needed: float, margin: Fraction) -> float:
    """Replicas with the margin for the error of the prediction."""
    return float(needed) * float(1 + margin)


with_spares = sum_of("with_spares", "replicas", "replicas", "spare_replicas")
"""Replicas with those that stand in for failed ones."""


replicas_at_end = product("replicas_at_end", "replicas", "needed", "end")
"""Replicas at one end of the interval of the capacity of a replica at the targets."""


@formula("replicas")
def replicas_over_servers(needed: float, counted: Fraction) -> float:
    """Replicas over several servers, of whose predicted capacity only a share is counted."""
    return needed / float(counted)


@formula("share")
def margin_of_factor(factor: Fraction) -> Fraction:
    """The margin that multiplies what is bought by a factor."""
    return Fraction(factor) - 1


@formula("ratio")
def inverse(factor: Fraction) -> Fraction:
    """The inverse of a factor."""
    return 1 / Fraction(factor)


replicas_with_prefill = sum_of("replicas_with_prefill", "replicas", "decoding", "for_prefill", source=DISTSERVE)
"""Replicas for decode and for prefill."""


gpus_of_pools = sum_of("gpus_of_pools", "GPUs", "decoding", "for_prefill", source=DISTSERVE)
"""GPUs of replicas for decode and for prefill."""
gpus_of_decode = difference("gpus_of_decode", "GPUs", "gpus", "for_prefill")
"""GPUs of a cluster without those for prefill."""


@formula("bytes/s", f"{DISTSERVE}: the KV cache of a prompt moves from the GPUs that worked on it to those that answer")
def kv_bytes_passed_on(kv_of_prompt: Fraction, requests_asked: Fraction, for_prefill: int, decoding: int) -> Fraction:
    """KV cache that a GPU sends or receives per second between prefill and decode, replicated parts included."""
    return Fraction(requests_asked) / SECONDS_A_MINUTE * kv_of_prompt / min(for_prefill, decoding)


replicas_needed = maximum("replicas_needed", "replicas", "holding", "answering")
"""Replicas that hold the requests in flight and also answer the requests per minute."""
gpus_of_replicas = product("gpus_of_replicas", "GPUs", "replicas", "gpus_per_replica")
"""GPUs of all replicas."""
replicas_of_cluster = floor_div("replicas_of_cluster", "replicas", "gpus", "gpus_per_replica")
"""Whole replicas that the cluster runs."""
requests_of_replica = quotient("requests_of_replica", "requests", "concurrency", "replicas")
"""Mean requests in flight on a replica."""


@formula("requests")
def requests_at_a_time(in_flight: Fraction, held: int) -> Fraction:
    """Requests in flight on a replica, limited to those that it holds."""
    return min(Fraction(in_flight), Fraction(max(1, held)))


@formula("requests")
def requests_full(held: int) -> int:
    """Requests that a replica holds, at least one."""
    return max(1, held)


@formula("requests")
def requests_on_busiest(in_flight: float) -> int:
    """Requests in flight on the busiest replica, whole ones."""
    return max(1, ceil(in_flight))


@formula("requests/s")
def requests_of_replica_a_second(requests_asked: Fraction, replicas: int) -> float:
    """Requests per second that arrive at a replica."""
    return float(requests_asked) / SECONDS_A_MINUTE / replicas


@formula("s")
def seconds_occupied(prompt: float, ranks: float, pipeline: float) -> float:
    """Time per prompt that a replica cannot process others; ranks and stages process one each."""
    return prompt / (ranks * pipeline)


share_of_time = product("share_of_time", "share", "requests_per_second", "occupied")
"""Share of its time that a replica processes prompts."""
mean_wait = product("mean_wait", "s", "chance", "delay")
"""Mean wait of all prompts."""
requests_of_replicas = product("requests_of_replicas", "requests", "of_replica", "replicas")
"""Requests per minute that all replicas can answer."""
requests_of_pools = minimum("requests_of_pools", "requests", "served", "prompts_served")
"""Requests per minute that replicas for decode and those for prefill can both serve."""
load_of_cluster = quotient("load_of_cluster", "share", "requests_asked", "served")
"""Share of the requests that a cluster can serve which the busiest minute asks for."""


@formula("<value>")
def scaled(value: float, end: float, predicted: float) -> float:
    """A figure at one end of the interval of another that it is proportional to."""
    return float(value) * end / predicted


@formula("s", "Little's law, for requests that the KV cache has no room for yet")
def ttft_behind_others(ttft: float, requests_sent: Fraction, in_flight: Fraction, request: float) -> float:
    """Time to the first token of requests of which more are sent than a replica holds."""
    return ttft + (requests_sent / in_flight - 1) * request


kv_of_requests = product("kv_of_requests", "bytes", "kv_of_request", "requests")
"""KV cache of the requests in flight per replica."""
weights_and_cache = sum_of("weights_and_cache", "bytes", "weights", "kv_cache")
"""Weights and KV cache."""
tokens_of_cluster = product("tokens_of_cluster", "tokens/s", "rate_of_gpu", "replicas", "gpus_per_replica")
"""Tokens/s generated by all replicas."""


@formula("requests")
def requests_answered(tokens_per_second: Fraction, output_tokens: Fraction) -> Fraction:
    """Requests answered per minute."""
    return Fraction(tokens_per_second) * SECONDS_A_MINUTE / output_tokens

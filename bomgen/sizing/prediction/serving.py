"""The predicted speed of a replica: time to the first token, time per output token and throughput at a load.

A time is a sum of terms of a decode step and of a prompt, each the seconds at line rate times the inverse efficiency
that `make fit` found. Requests in flight wait for the prompts of the others: decode steps are mixed with them, once in
the life of each request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, reduce
from math import exp, log, log2, prod
from typing import Any, NamedTuple

from bomgen.catalog.parts import Gpu
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Formula, Reference, formula, require
from bomgen.plan.types import Inference
from bomgen.sizing.model_work import ZERO
from bomgen.sizing.prediction.measurements import file
from bomgen.sizing.prediction.predict import (
    COVERAGES,
    SPREADS,
    UNMEASURED_FACTOR,
    WIDE,
    GpuLinks,
    Interval,
    corrected,
    floating,
    learn,
    lower_bound,
    seconds_of_term,
    spread_of_shares,
    upper_bound,
)
from bomgen.sizing.prediction.serving_rows import generation
from bomgen.sizing.prediction.serving_terms import (
    CONSTANT_S,
    DECODE,
    FORMAT_FAMILIES,
    HALF_STEP,
    PROMPT,
    ReplicaSplit,
    ServedWork,
    ServingMachine,
    ServingTerms,
    line_rate_terms,
    peak_of_format,
    served_work,
)
from bomgen.sizing.prediction.terms import add_seconds, greater
from bomgen.sizing.serving.gpu_memory import format_of_rest

FILE = "serving-fit.json"
_FIT = Reference("bomgen, docs/serving.md and docs/serving-accuracy.md: fitted to published measurements")
AGE = 0.053
"""Log by which serving is slower per year of the software before the newest rows."""
DRAFTING = ((8, 0.58), (32, 0.74), (float("inf"), 0.81))
"""Requests in flight up to which a token takes this share of the time with multi-token prediction."""
USUALLY_ACCEPTED = 0.8
"""Drafted tokens accepted per step in these measurements, of one that is drafted (DeepSeek-V3: 85 to 90 %)."""
INTERLEAVING, BURST, CONSTANT, BATCH = "interleaving", "burst", "constant", "batch"
SCALES = (INTERLEAVING, BURST, BATCH)
LEVELS = ("engine", "generation", "precision", "model")
TPOT, TTFT, REQUEST = "tpot", "ttft", "request"
KINDS = ("measured", "known", "new")
"""What the rows have seen of a replica, from the most to the least."""
Parts = Iterator[tuple[tuple[str, ...], Any]]
"""The terms and scales that multiply a part of a time, and its seconds at line rate."""


@cache
def fit() -> Mapping[str, Any]:
    """Return the file of the fit."""
    loaded: dict[str, Any] = json.loads(file(FILE))
    return loaded


class Coefficients(NamedTuple):
    """The inverse efficiencies of terms, and the scales, of a model on an accelerator."""

    values: Mapping[str, float]
    unseen: tuple[str, ...]
    """The levels of which the model, engine, generation or precision has no rows."""
    kind: str
    """`measured`: the model was, on this accelerator; `known`: each was, with others; else `new`."""
    engine: str


@cache
def coefficients(model: str, engine: str, gpu: str, precision: str) -> Coefficients:
    """Return the coefficients of a model, an engine, an accelerator and a family of precisions."""
    fitted, born = fit(), generation(gpu)
    members = dict(zip(LEVELS, (engine, born, precision, model), strict=True))
    rows = [fitted["base"]] + [fitted[level][name] for level, name in members.items() if name in fitted[level]]
    values = [exp(sum(logs)) for logs in zip(*rows, strict=True)]
    unseen = tuple(level for level, name in members.items() if name not in fitted[level])
    kind = "new" if {"model", "generation"} & set(unseen) else "known"
    kind = "measured" if f"{model} {gpu}" in fitted["pairs"] else kind
    return Coefficients(dict(zip(fitted["terms"], values, strict=True)), unseen, kind, engine)


class ReplicaSpeed(NamedTuple):
    """What the speed of a replica follows from, besides its load."""

    work: ServedWork[Figure]
    machine: ServingMachine[Figure]
    width: Figure
    ranks: Figure
    pipeline: Figure
    output: Figure
    mixed: bool
    """Whether prompts share the GPUs with decode."""
    drafting: float | None
    """Time of drafted tokens over that with the usual number accepted; None: none are drafted."""
    coefficients: Coefficients
    plain: tuple[ServedWork[float], ServingMachine[float]]
    """The same as `work` and `machine`, as floats."""
    prepare: Callable[..., ReplicaSpeed | None]
    """Makes the same for requests of other lengths, or other degrees."""

    def at_line_rate(self, in_flight: float) -> ServingTerms[float]:
        """Return the terms at a load, without their inverse efficiencies [s]."""
        work, machine = self.plain
        return line_rate_terms(Formula.plain, work, machine, self.split(in_flight))

    def terms(self, in_flight: float) -> list[float]:
        """Return the terms at a load, times their inverse efficiencies [s]."""
        values = self.coefficients.values
        terms = zip(ServingTerms._fields, self.at_line_rate(in_flight), strict=True)
        return [seconds * values[name] for name, seconds in terms]

    def split(self, in_flight: float) -> ReplicaSplit[float]:
        """Return the split at a load."""
        width, ranks = float(self.width.value), float(self.ranks.value)
        return ReplicaSplit(
            width=width,
            ranks=ranks,
            doublings=log2(width),
            exchanges=float(ranks > 1),
            pipeline=float(self.pipeline.value),
            in_flight=in_flight,
        )

    def times(self, in_flight: float) -> Times:
        """Return the times at a load."""
        terms = self.terms(in_flight)
        step, prompt = sum(terms[: len(DECODE)]), sum(terms[len(DECODE) :])
        prompts = prompts_of_others.plain(in_flight, float(self.ranks.value), float(self.pipeline.value))
        share = self.interleaving
        drafting = self.drafting_share(in_flight)
        tpot = tpot_seconds.plain(step, share, prompts, prompt, self.output_tokens, drafting)
        return Times(step, prompt, tpot, prompts, drafting)

    def drafting_share(self, in_flight: float) -> float:
        """Return the share of the time of an output token that drafting leaves; 1 without it."""
        return 1.0 if self.drafting is None else drafting_time(in_flight) * self.drafting

    @property
    def output_tokens(self) -> float:
        """Mean output tokens per request."""
        return max(1.0, float(self.output.value))

    @property
    def prompts_at_a_time(self) -> float:
        """Prompts that a replica processes at a time: one per attention rank and pipeline stage."""
        return float(self.ranks.value * self.pipeline.value)

    @property
    def gpus(self) -> float:
        """GPUs of the replica."""
        return float(self.width.value * self.ranks.value * self.pipeline.value)

    def at_ends(self, in_flight: float) -> tuple[ReplicaSpeed, ReplicaSpeed]:
        """Return the speed at the fast and at the slow end of the interval of the time of a request at a load."""
        split = self.split(in_flight)
        terms = self.at_line_rate(in_flight)
        spread = _spread(self, _request_parts(terms, split, self))
        width = spread * _factor(self, REQUEST, WIDE, spread)
        return self._slower(exp(-width)), self._slower(exp(width))

    def _slower(self, ratio: float) -> ReplicaSpeed:
        values = {n: value * (1 if n in SCALES else ratio) for n, value in self.coefficients.values.items()}
        return self._replace(coefficients=self.coefficients._replace(values=values))

    @property
    def over_network(self) -> bool:
        """Whether tokens reach experts in other scale-up domains."""
        width, ranks, domain = (float(figure.value) for figure in (self.width, self.ranks, self.machine.domain))
        return ranks > 1 and width * ranks > domain

    @property
    def interleaving(self) -> float:
        """Share of the time of a prompt by which it delays the outputs of others."""
        return self.coefficients.values[INTERLEAVING] if self.mixed else 0.0

    def ttft(self, times: Times) -> float:
        """Return the time to the first token of a fixed number of requests in flight [s]."""
        burst = self.coefficients.values[BURST]
        return float(ttft_seconds.plain(self.constant, times.prompt, times.step, burst, times.others))

    @property
    def constant(self) -> float:
        """Constant part of the time to the first token [s]."""
        return CONSTANT_S * self.coefficients.values[CONSTANT]


class Times(NamedTuple):
    """The times of a replica at a load [s]."""

    step: float
    prompt: float
    """Processing of a prompt alone."""
    tpot: float
    """Time per output token."""
    others: float
    """Prompts of other requests in flight on the same GPUs."""
    drafting: float
    """Share of the time of an output token that drafting leaves; 1 without it."""


class Speed(NamedTuple):
    """The predicted speed of a replica at a load."""

    in_flight: Figure
    terms: Mapping[str, Figure]
    """Time of each kind of work of a step and of a prompt [s]; those without work are omitted."""
    constant: Figure
    """Constant part of the time to the first token [s]."""
    step: Figure
    prompt: Figure
    tpot: Figure
    ttft: Figure
    request: Figure
    """Time of a whole request [s]."""
    of_gpu: Figure
    """Output tokens per second and GPU."""
    intervals: Mapping[str, Mapping[int, Interval]]
    """Bounds of `tpot`, `ttft` and `request` by coverage in percent."""
    rates: Mapping[int, Interval]
    """Bounds of `of_gpu` by coverage in percent."""
    kind: str
    """`measured`, `known` or `new`, as that of the coefficients."""


def drafting_time(in_flight: float) -> float:
    """Return the share of the time of an output token that multi-token prediction leaves."""
    return next(share for most, share in DRAFTING if in_flight <= most)


def prepare(
    inference: Inference,
    gpu: Gpu,
    links: GpuLinks,
    degrees: tuple[Figure, Figure, Figure],
    mixed: bool = True,
) -> ReplicaSpeed | None:
    """Return what the speed of a replica follows from; None where an input is unknown.

    `degrees` are the GPUs that share the attention of a request, the groups of them, and the pipeline stages.
    """
    model, precision = inference.model, str(inference.precision.value)
    if inference.prompt_tokens is None or inference.output_tokens is None or gpu.memory_bandwidth is None:
        return None
    names = (format_of_rest(model, precision), precision, "bf16")
    peaks = [floating(peak) for peak in (peak_of_format(gpu, name) for name in names) if peak is not None]
    work = served_work(
        model,
        (precision, str(inference.kv_precision.value)),
        inference.prompt_tokens,
        inference.output_tokens,
        degrees[0],
        inference.prefix_cache or ZERO,
    )
    if work is None or len(peaks) < len(names):
        return None
    work = ServedWork(*map(floating, work))
    machine = ServingMachine(
        peak=peaks[0],
        expert_peak=peaks[1],
        plain_peak=peaks[2],
        memory_bandwidth=floating(gpu.memory_bandwidth),
        scale_up=floating(links.scale_up),
        network=floating(links.network),
        domain=floating(links.domain),
    )
    fitted = coefficients(model.identity.id, str(inference.engine.value), gpu.identity.id, FORMAT_FAMILIES[precision])
    if degrees[1].value > 1:
        # attention by requests has few rows: what the model was measured with says less of it
        fitted = fitted._replace(kind=KINDS[min(KINDS.index(fitted.kind) + 1, len(KINDS) - 1)])
    return ReplicaSpeed(
        work,
        machine,
        *degrees,
        output=inference.output_tokens,
        mixed=mixed,
        drafting=_drafting_ratio(inference),
        coefficients=fitted,
        plain=(ServedWork(*(f.value for f in work)), ServingMachine(*(f.value for f in machine))),
        prepare=lambda asked, other=degrees: prepare(asked, gpu, links, other, mixed),
    )


def predict(speed: ReplicaSpeed, inference: Inference, in_flight: Figure, gpus: Figure) -> Speed:
    """Return the predicted speed of a replica with `gpus` GPUs and requests in flight, with its intervals."""
    split = ReplicaSplit(*(_known(value) for value in speed.split(float(in_flight.value))))
    split = split._replace(width=speed.width, ranks=speed.ranks, pipeline=speed.pipeline, in_flight=in_flight)
    at_line_rate = line_rate_terms(Formula.__call__, speed.work, speed.machine, split)
    terms = {
        name: seconds_of_term(seconds, _coefficient(speed, name))
        for name, seconds in zip(ServingTerms._fields, at_line_rate, strict=True)
        if seconds.value > 0
    }
    step = reduce(add_seconds, (terms[name] for name in DECODE if name in terms))
    prompt = reduce(add_seconds, (terms[name] for name in PROMPT if name in terms))
    prompts = prompts_of_others(in_flight, speed.ranks, speed.pipeline)
    share = _coefficient(speed, INTERLEAVING) if speed.mixed else _known(0.0)
    drafting = _known(speed.drafting_share(float(in_flight.value)))
    output = at_least_one(speed.output)
    tpot = tpot_seconds(step, share, prompts, prompt, output, drafting)
    constant = constant_of_request(_coefficient(speed, CONSTANT))
    ttft = ttft_seconds(constant, prompt, step, _coefficient(speed, BURST), prompts)
    plain_split = speed.split(float(in_flight.value))
    plain = speed.at_line_rate(float(in_flight.value))
    parts = {
        TPOT: dict(tpot_parts(plain, plain_split, speed.output_tokens, float(speed.mixed))),
        TTFT: dict(ttft_parts(plain, plain_split)),
        REQUEST: _request_parts(plain, plain_split, speed),
    }
    times = {TPOT: tpot, TTFT: ttft, REQUEST: request_seconds(ttft, tpot, output)}
    errors_by_kind = _own_errors(speed, inference)
    intervals = {}
    for kind, time in times.items():
        width = _spread(speed, parts[kind])
        if errors := errors_by_kind[kind] or errors_by_kind[REQUEST]:
            correction, width = learn(errors, width, float(fit()["within"]))
            ratio = Figure(exp(correction), "ratio", Cited(message("prediction-own"), (_FIT,), "medium"))
            times[kind] = corrected(time, ratio)
        intervals[kind] = _interval(speed, kind, times[kind], width)
    if errors_by_kind[TPOT] or errors_by_kind[TTFT]:
        times[REQUEST] = request_seconds(times[TTFT], times[TPOT], output)
    rate = tokens_per_second_of_gpu(in_flight, output, times[REQUEST], gpus)
    rates = {
        coverage: Interval(
            tokens_per_second_of_gpu(in_flight, output, ends.high, gpus),
            tokens_per_second_of_gpu(in_flight, output, ends.low, gpus),
        )
        for coverage, ends in intervals[REQUEST].items()
    }
    return Speed(
        in_flight=in_flight,
        terms=terms,
        constant=constant,
        step=step,
        prompt=prompt,
        tpot=times[TPOT],
        ttft=times[TTFT],
        request=times[REQUEST],
        of_gpu=rate,
        intervals=intervals,
        rates=rates,
        kind=speed.coefficients.kind,
    )


def _known(value: float) -> Figure:
    return Figure(value, "count", Cited(message("serving-setting"), (_FIT,), "medium"))


def _coefficient(speed: ReplicaSpeed, name: str) -> Figure:
    of = message("prediction-term-prior" if name in fit()["priors"] else "prediction-term", term=name)
    confidence = "low" if name in fit()["priors"] or speed.coefficients.unseen else "medium"
    return Figure(speed.coefficients.values[name], "ratio", Cited(of, (_FIT,), confidence))


def _spread(speed: ReplicaSpeed, parts: Mapping[tuple[str, ...], float]) -> float:
    values = speed.coefficients.values
    seconds = {names: part * prod(values[name] for name in names) for names, part in parts.items()}
    total = sum(seconds.values())
    shares = [sum(part for names, part in seconds.items() if name in names) / total for name in fit()["terms"]]
    return spread_of_shares(fit()["spread"], shares, speed.coefficients.unseen)


def _request_parts(
    terms: ServingTerms[float], split: ReplicaSplit[float], speed: ReplicaSpeed
) -> dict[tuple[str, ...], float]:
    """Return the parts of the time of a whole request."""
    tpot = tpot_parts(terms, split, speed.output_tokens, float(speed.mixed))
    parts = {names: part * (speed.output_tokens - 1) for names, part in tpot}
    for names, part in ttft_parts(terms, split):
        parts[names] = parts.get(names, 0.0) + part
    return parts


def _factor(speed: ReplicaSpeed, kind: str, coverage: int, spread: float) -> float:
    """Return the number of spreads that an interval of a time extends to either side.

    Where less was measured it is never narrower.
    """
    experts = "moe" if speed.work.experts_size.value else "dense"
    pooled = f"{kind} {experts}"
    of_engine = f"{pooled} {speed.coefficients.engine}"
    candidates = (fit()["factors"][name] for name in KINDS[: KINDS.index(speed.coefficients.kind) + 1])
    factor = max(float(factors.get(of_engine, factors[pooled])[str(coverage)]) for factors in candidates)
    if (speed.over_network or "generation" in speed.coefficients.unseen) and coverage == WIDE:
        return max(factor, log(UNMEASURED_FACTOR) / spread)
    return factor


def _interval(speed: ReplicaSpeed, kind: str, time: Figure, width: float) -> dict[int, Interval]:
    """Return the bounds of a time by coverage."""
    spread, bounds = Figure(width, "ratio", Cited(SPREADS, (_FIT,), "medium")), {}
    for coverage in COVERAGES:
        times = Figure(_factor(speed, kind, coverage, width), "ratio", Cited(SPREADS, (_FIT,), "medium"))
        bounds[coverage] = Interval(lower_bound(time, times, spread), upper_bound(time, times, spread))
    return bounds


def _own_errors(speed: ReplicaSpeed, inference: Inference) -> dict[str, list[float]]:
    """Return the logs of the user's measured times over those predicted, by kind of time."""
    errors: dict[str, list[float]] = {TPOT: [], TTFT: [], REQUEST: []}
    for run in inference.measured:
        asked = inference._replace(prompt_tokens=run.prompt_tokens, output_tokens=run.output_tokens)
        speed = require(speed.prepare(asked), "the model and the accelerator are known")
        times = speed.times(float(run.concurrency.value))
        ttft = speed.ttft(times)
        output = max(1.0, float(run.output_tokens.value))
        if run.tpot:
            errors[TPOT].append(log(float(run.tpot.value) / times.tpot))
        if run.ttft:
            errors[TTFT].append(log(float(run.ttft.value) / ttft))
        request = request_seconds.plain(ttft, times.tpot, output)
        if run.tokens_per_second_per_gpu:
            rate = tokens_per_second_of_gpu.plain(float(run.concurrency.value), output, request, speed.gpus)
            errors[REQUEST].append(log(rate / float(run.tokens_per_second_per_gpu.value)))
        elif run.tpot and run.ttft:
            measured = request_seconds.plain(float(run.ttft.value), float(run.tpot.value), output)
            errors[REQUEST].append(log(measured / request))
    return errors


def _drafting_ratio(inference: Inference) -> float | None:
    if inference.drafted is None:
        return None
    accepted = float(inference.accepted.value) if inference.accepted else USUALLY_ACCEPTED
    return (1 + USUALLY_ACCEPTED) / (1 + accepted)


def tpot_parts(terms: ServingTerms[Any], split: ReplicaSplit[Any], output: Any, mixed: Any) -> Parts:
    """Yield the parts of the time per output token; `mixed` is 1 where prompts share the GPUs, else 0."""
    prompts = prompts_of_others.plain(split.in_flight, split.ranks, split.pipeline)
    for name in DECODE:
        yield (name,), getattr(terms, name)
    for name in PROMPT:
        yield (name, INTERLEAVING), getattr(terms, name) * prompts * mixed / output


def ttft_parts(terms: ServingTerms[Any], split: ReplicaSplit[Any]) -> Parts:
    """Yield the parts of the time to the first token of a fixed number of requests in flight."""
    prompts = prompts_of_others.plain(split.in_flight, split.ranks, split.pipeline)
    yield (CONSTANT,), CONSTANT_S
    for name in DECODE:
        yield (name,), getattr(terms, name) * HALF_STEP
    for name in PROMPT:
        yield (name,), getattr(terms, name)
        yield (name, BURST), getattr(terms, name) * prompts


# formulas ------------------------------------------------------------------------------------------------------------


@formula("tokens")
def at_least_one(output_tokens: float) -> float:
    """Output tokens per request; a request without any counts as one, the first."""
    return max(1.0, float(output_tokens))


@formula("s")
def constant_of_request(inverse_efficiency: float) -> float:
    """Part of the time to the first token that does not depend on the prompt."""
    return CONSTANT_S * inverse_efficiency


@formula("requests")
def prompts_of_others(in_flight: float, ranks: float, pipeline: float) -> float:
    """Prompts of other requests in flight that the same GPUs process."""
    return greater(0.0, in_flight / ranks - 1) / pipeline


@formula("s")
def tpot_seconds(
    step: float, interleaving: float, prompts_ahead: float, prompt: float, output_tokens: float, drafting: float
) -> float:
    """Time per output token: the decode step, and the prompts of others that it is mixed with."""
    return (step + interleaving * prompts_ahead * prompt / output_tokens) * drafting


@formula("s")
def ttft_seconds(constant: float, prompt: float, step: float, burst: float, prompts_ahead: float) -> float:
    """Time to the first token of a fixed number of requests in flight."""
    return constant + prompt + HALF_STEP * step + burst * prompts_ahead * prompt


@formula("s")
def request_seconds(ttft: float, tpot: float, output_tokens: float) -> float:
    """Time of a whole request."""
    return ttft + tpot * (output_tokens - 1)


@formula("tokens/s")
def tokens_per_second_of_gpu(in_flight: float, output_tokens: float, request: float, gpus: float) -> float:
    """Output tokens per second and GPU, by Little's law."""
    return in_flight * output_tokens / request / gpus

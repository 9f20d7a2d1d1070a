"""The predicted speed of a replica: time to the first token, time per output token and throughput at a load.

A time is a sum of terms of a decode step and of a prompt, each the seconds at line rate times the inverse efficiency
that `make fit` found. Requests in flight wait for the prompts of the others: decode steps are mixed with them, once in
the life of each request. Times of exactly the model, accelerator, engine and format that were measured, and of the
user's own replica, are corrected by these measurements afterwards. Nothing is faster than the data sheet allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, reduce
from math import exp, inf, log
from typing import NamedTuple

from bomgen.catalog.parts import Gpu
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Reference, formula, require, trace
from bomgen.plan.types import Inference
from bomgen.sizing.model_work import ZERO
from bomgen.sizing.prediction.coefficients import SERVING_FACTS, SERVING_FIT, generation, load
from bomgen.sizing.prediction.predict import (
    UNMEASURED_FACTOR,
    Interval,
    end_of_interval,
    floating,
    learn,
    seconds_of_term,
)
from bomgen.sizing.prediction.serving_terms import (
    CHUNKED,
    COEFFICIENTS,
    CONSTANT,
    CONSTANT_S,
    DECODE,
    FORMAT_FAMILIES,
    NARROW,
    OVERLAP,
    OWN_STEPS,
    PROMPT,
    WAITED,
    WEIGHT_ONLY,
    Load,
    Parts,
    ReplicaSplit,
    ServedWork,
    ServingMachine,
    ServingTerms,
    Times,
    doublings,
    inverse_efficiency,
    least_times,
    line_rate_terms,
    peak_of_format,
    served_work,
    steps_of_token,
    times_of_load,
)
from bomgen.sizing.prediction.terms import add_seconds
from bomgen.sizing.servers import GpuLinks
from bomgen.sizing.serving.gpu_memory import format_of_rest
from bomgen.sizing.serving.kv_cache import cached_share, loading_of_prompt

_FIT = Reference("bomgen, docs/serving.md and docs/accuracy.md: fitted to published measurements")
TPOT, TTFT, REQUEST = "tpot", "ttft", "request"
LEVELS = ("engine", "generation")
MEASURED, PREDICTED, UNMEASURED = "measured", "predicted", "unmeasured"
"""What the rows have seen of a replica: this model on this accelerator; its like; not its like."""
SPREADS_OF_INTERVAL = 1.645
"""Standard deviations of a normal distribution that an interval of 90 % extends to either side."""


class Coefficients(NamedTuple):
    """What the measurements say of a replica."""

    values: Mapping[str, float]
    """Inverse efficiencies of terms."""
    kind: str
    """MEASURED, PREDICTED or UNMEASURED."""
    corrections: Mapping[str, float]
    """Ratios of measured times to those that follow from the terms, for TPOT and TTFT."""
    widths: Mapping[str, float]
    """Half widths of 90 % intervals of TPOT, TTFT and REQUEST, as logs."""
    measured_rows: int
    """Published rows of the accelerator with models of this kind."""
    measured_models: int
    """Models that these are of."""


@cache
def coefficients(model: str, engine: str, gpu: str, precision: str, kind: str) -> Coefficients:
    """Return the coefficients of a model, an engine, an accelerator and a format; `kind` is dense or moe."""
    fitted, members = load(SERVING_FIT), {"engine": engine, "generation": generation(gpu, SERVING_FACTS)}
    rows = [fitted["base"]] + [fitted[level][name] for level, name in members.items() if name in fitted[level]]
    logs = zip(fitted["terms"], (sum(column) for column in zip(*rows, strict=True)), strict=True)
    measured = {} if precision in WEIGHT_ONLY else fitted["pairs"]
    pair = measured.get(f"{model} {gpu} {engine} {FORMAT_FAMILIES[precision]}")
    of_accelerator = fitted["measured"].get(gpu, {}).get(kind, {})
    unmeasured = precision in WEIGHT_ONLY or members["generation"] not in fitted["generation"]
    return Coefficients(
        values={name: inverse_efficiency(name, value) for name, value in logs},
        kind=UNMEASURED if unmeasured else MEASURED if pair else PREDICTED,
        corrections={time: exp(pair.get(time, pair.get(REQUEST, 0.0))) if pair else 1.0 for time in (TPOT, TTFT)},
        widths={time: _width(fitted["widths"][time][f"{engine} {kind}"], unmeasured) for time in fitted["widths"]},
        measured_rows=of_accelerator.get("rows", 0),
        measured_models=of_accelerator.get("models", 0),
    )


def _width(width: float, unmeasured: bool) -> float:
    return max(width, log(UNMEASURED_FACTOR)) if unmeasured else width


class ReplicaSpeed(NamedTuple):
    """What the speed of a replica follows from, besides its load."""

    work: ServedWork[Figure]
    machine: ServingMachine[Figure]
    width: Figure
    ranks: Figure
    pipeline: Figure
    output: Figure
    load: Load[float]
    verified: float
    """Tokens of a request that a step processes: 1, and those that are drafted."""
    coefficients: Coefficients
    plain: tuple[ServedWork[float], ServingMachine[float]]
    """The same as `work` and `machine`, as floats."""
    prepare: Callable[..., ReplicaSpeed | None]
    """Makes the same for requests of other lengths, or other degrees."""
    loading: Figure | None
    """Time to load what of a prompt is cached in host memory and NVMe [s]; None: nothing is."""

    def at_line_rate(self, in_flight: float) -> ServingTerms[float]:
        """Return the terms at a load, without their inverse efficiencies [s]."""
        return line_rate_terms(*self.plain, self.split(in_flight))

    def split(self, in_flight: float) -> ReplicaSplit[float]:
        """Return the split at a load."""
        width, ranks = float(self.width.value), float(self.ranks.value)
        return ReplicaSplit(
            width=width,
            ranks=ranks,
            doublings=doublings(width, self.plain[1].domain),
            exchanges=float(ranks > 1),
            pipeline=float(self.pipeline.value),
            verified=self.verified,
            in_flight=in_flight,
        )

    def times(self, in_flight: float) -> Times[float]:
        """Return the times at a load."""
        terms, values = self.at_line_rate(in_flight), self.coefficients.values
        seconds = {
            name: values[COEFFICIENTS[name]] * at_rate if name in COEFFICIENTS else at_rate
            for name, at_rate in zip(ServingTerms._fields, terms, strict=True)
        }
        step, chunked = sum(seconds[name] for name in DECODE), sum(seconds[name] for name in CHUNKED)
        prompt = sum(seconds[name] for name in PROMPT if name not in CHUNKED)
        parts = Parts(step, prompt, chunked, self.constant)
        times = times_of_load(parts, self.plain[0], self.split(in_flight), self.load)
        least, corrections = least_times(terms, self.load), self.coefficients.corrections
        corrected = {
            name: corrected_time.plain(getattr(times, name), corrections[kind], getattr(least, kind))
            for kind, names in ((TPOT, ("decode", "tpot")), (TTFT, ("undisturbed", "ttft")))
            for name in names
        }
        return times._replace(**corrected)

    @property
    def evidence(self) -> tuple[Figure, Figure]:
        """Return the published rows of the accelerator with models of this kind, and how many models they are of."""
        counts = self.coefficients.measured_rows, self.coefficients.measured_models
        codes = message("evidence-rows"), message("evidence-models")
        rows, models = (
            Figure(count, "count", Cited(of, (_FIT,), "high")) for count, of in zip(counts, codes, strict=True)
        )
        return rows, models

    @property
    def prompts_at_a_time(self) -> float:
        """Prompts that a replica processes at a time: one per attention rank and pipeline stage."""
        return float(self.ranks.value * self.pipeline.value)

    @property
    def gpus(self) -> float:
        """GPUs of the replica."""
        return float(self.width.value * self.ranks.value * self.pipeline.value)

    @property
    def over_network(self) -> bool:
        """Whether tokens reach experts in other scale-up domains."""
        width, ranks, domain = (float(figure.value) for figure in (self.width, self.ranks, self.machine.domain))
        return ranks > 1 and width * ranks > domain

    @property
    def delay(self) -> float:
        """Share of the time of a prompt by which it delays the outputs of others."""
        return OVERLAP * (1 - self.load.waited) * self.load.shared_gpus * self.coefficients.corrections[TPOT]

    @property
    def constant(self) -> float:
        """Part of the time to the first token in which the GPU does not compute [s]."""
        loading = float(self.loading.value) if self.loading else 0.0
        return CONSTANT_S * self.coefficients.values[CONSTANT] + loading


class Speed(NamedTuple):
    """The predicted speed of a replica at a load."""

    in_flight: Figure
    terms: Mapping[str, Figure]
    """Time of each kind of work of a step and of a prompt [s]; those without work are omitted."""
    constant: Figure
    """Constant part of the time to the first token [s]."""
    step: Figure
    prompt: Figure
    """Processing of a prompt alone [s]."""
    shared: Figure
    """Processing of a prompt among others [s]."""
    tpot: Figure
    undisturbed: Figure
    """Time to the first token without prompts of others [s]."""
    ttft: Figure
    request: Figure
    """Time of a whole request [s]."""
    of_gpu: Figure
    """Output tokens per second and GPU."""
    intervals: Mapping[str, Interval]
    """Ends of the 90 % intervals of TPOT, TTFT and REQUEST."""
    rates: Interval
    """Those of `of_gpu`."""
    kind: str
    """MEASURED, PREDICTED or UNMEASURED."""


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
        cached_share(inference) or ZERO,
        inference.adapters,
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
    kind = "moe" if work.experts_size.value else "dense"
    drafted, accepted = (float(each.value) if each else 0.0 for each in (inference.drafted, inference.accepted))
    engine, spreads = str(inference.engine.value), (inference.prompt_spread, inference.output_spread)
    spread = inf if inference.requests_per_minute else max((float(each.value) for each in spreads if each), default=0.0)
    fitted = coefficients(model.identity.id, engine, gpu.identity.id, precision, kind)
    speed = ReplicaSpeed(
        work,
        machine,
        *degrees,
        output=inference.output_tokens,
        load=Load(
            output=max(1.0, float(inference.output_tokens.value)),
            shared_gpus=float(mixed),
            drafting=steps_of_token(drafted, accepted, float(work.layers.value)),
            apart=float(spread > 0 and engine in OWN_STEPS),
            waited=WAITED * (spread <= NARROW),
        ),
        verified=1 + drafted,
        coefficients=fitted,
        plain=(ServedWork(*(f.value for f in work)), ServingMachine(*(f.value for f in machine))),
        prepare=lambda asked, other=degrees: prepare(asked, gpu, links, other, mixed),
        loading=loading_of_prompt(inference, gpu, degrees[0], degrees[2]),
    )
    if speed.over_network:
        widths = {time: _width(width, unmeasured=True) for time, width in fitted.widths.items()}
        speed = speed._replace(coefficients=fitted._replace(kind=UNMEASURED, widths=widths))
    return _learn_own(speed, inference) if inference.measured else speed


def _learn_own(speed: ReplicaSpeed, inference: Inference) -> ReplicaSpeed:
    """Return the speed with times and widths as the user's own measurements of the replica have them."""
    errors: dict[str, list[float]] = {TPOT: [], TTFT: [], REQUEST: []}
    for run in inference.measured:
        same = inference._replace(prompt_tokens=run.prompt_tokens, output_tokens=run.output_tokens, measured=())
        asked = require(speed.prepare(same), "only lengths differ")
        times, in_flight = asked.times(float(run.concurrency.value)), float(run.concurrency.value)
        request = request_seconds.plain(times.ttft, times.tpot, asked.load.output)
        if run.tpot:
            errors[TPOT].append(log(float(run.tpot.value) / times.tpot))
        if run.ttft:
            errors[TTFT].append(log(float(run.ttft.value) / times.ttft))
        if run.tokens_per_second_per_gpu:
            rate = tokens_per_second_of_gpu.plain(in_flight, asked.load.output, request, asked.gpus)
            errors[REQUEST].append(log(rate / float(run.tokens_per_second_per_gpu.value)))
        elif run.tpot and run.ttft:
            whole = request_seconds.plain(float(run.ttft.value), float(run.tpot.value), asked.load.output)
            errors[REQUEST].append(log(whole / request))
    corrections, widths = dict(speed.coefficients.corrections), dict(speed.coefficients.widths)
    for time, logs in errors.items():
        if used := logs or errors[REQUEST]:
            ratio, spread = learn(used, widths[time] / SPREADS_OF_INTERVAL, float(load(SERVING_FIT)["within"]))
            widths[time] = spread * SPREADS_OF_INTERVAL
            if time in corrections:
                corrections[time] *= exp(ratio)
    return speed._replace(coefficients=speed.coefficients._replace(corrections=corrections, widths=widths))


def predict(speed: ReplicaSpeed, in_flight: Figure, gpus: Figure) -> Speed:
    """Return the predicted speed of a replica with `gpus` GPUs and requests in flight, with its intervals."""
    degrees = {"width": speed.width, "ranks": speed.ranks, "pipeline": speed.pipeline, "in_flight": in_flight}
    split = ReplicaSplit(*map(_setting, speed.split(float(in_flight.value))))._replace(**degrees)
    terms = trace(line_rate_terms, speed.work, speed.machine, split)
    seconds = {
        name: seconds_of_term(at_rate, _coefficient(speed, COEFFICIENTS[name])) if name in COEFFICIENTS else at_rate
        for name, at_rate in zip(ServingTerms._fields, terms, strict=True)
        if at_rate.value > 0
    }
    step, prompt, chunked = (
        reduce(add_seconds, (seconds[name] for name in names if name in seconds))
        for names in (DECODE, [name for name in PROMPT if name not in CHUNKED], CHUNKED)
    )
    constant = constant_of_request(_coefficient(speed, CONSTANT))
    if speed.loading:
        constant = add_seconds(constant, speed.loading)
    load = Load(*map(_setting, speed.load))._replace(output=at_least_one(speed.output))
    parts = Parts(step, prompt, chunked, constant)
    found = trace(times_of_load, parts, speed.work, split, load)
    least = trace(least_times, terms, load)
    floors = {TPOT: least.tpot, TTFT: least.ttft}

    def corrected(kind: str, time: Figure) -> Figure:
        correction = speed.coefficients.corrections[kind]
        ratio = Figure(correction, "ratio", Cited(message("serving-correction"), (_FIT,), "medium"))
        return time if correction == 1 else corrected_time(time, ratio, floors[kind])

    times = {TPOT: corrected(TPOT, found.tpot), TTFT: corrected(TTFT, found.ttft)}
    times[REQUEST] = request_seconds(times[TTFT], times[TPOT], load.output)
    floors[REQUEST] = request_seconds(floors[TTFT], floors[TPOT], load.output)
    intervals = {}
    for time, seconds_of_time in times.items():
        width = Figure(speed.coefficients.widths[time], "ratio", Cited(message("serving-width"), (_FIT,), "medium"))
        low, high = low_end(seconds_of_time, width, floors[time]), end_of_interval(seconds_of_time, width)
        intervals[time] = Interval(low, high)
    rate, fast, slow = (
        tokens_per_second_of_gpu(in_flight, load.output, request, gpus)
        for request in (times[REQUEST], *intervals[REQUEST])
    )
    return Speed(
        in_flight=in_flight,
        terms=seconds,
        constant=constant,
        step=step,
        prompt=found.prompt,
        shared=found.shared,
        tpot=times[TPOT],
        undisturbed=corrected(TTFT, found.undisturbed),
        ttft=times[TTFT],
        request=times[REQUEST],
        of_gpu=rate,
        intervals=intervals,
        rates=Interval(slow, fast),
        kind=speed.coefficients.kind,
    )


def _setting(value: float) -> Figure:
    return Figure(value, "count", Cited(message("serving-setting"), (_FIT,), "medium"))


def _coefficient(speed: ReplicaSpeed, name: str) -> Figure:
    prior = name in load(SERVING_FIT)["priors"]
    of = message("prediction-term-prior" if prior else "prediction-term", term=name)
    low = prior or speed.coefficients.kind == UNMEASURED
    return Figure(speed.coefficients.values[name], "ratio", Cited(of, (_FIT,), "low" if low else "medium"))


# formulas ------------------------------------------------------------------------------------------------------------


@formula("tokens")
def at_least_one(output_tokens: float) -> float:
    """Output tokens per request; a request without any counts as one, the first."""
    return max(1.0, float(output_tokens))


@formula("s")
def constant_of_request(inverse_efficiency: float) -> float:
    """Part of the time to the first token that does not depend on the prompt."""
    return CONSTANT_S * inverse_efficiency


@formula("s")
def corrected_time(seconds: float, measured_ratio: float, floor: float) -> float:
    """A time, corrected by measurements, and never less than reading and arithmetic at line rate."""
    return max(seconds * measured_ratio, floor)


@formula("s")
def low_end(seconds: float, width: float, floor: float) -> float:
    """Low end of the interval of a time, never less than reading and arithmetic at line rate."""
    return max(seconds * exp(-width), floor)


@formula("s")
def request_seconds(ttft: float, tpot: float, output_tokens: float) -> float:
    """Time of a whole request."""
    return ttft + tpot * (output_tokens - 1)


@formula("tokens/s")
def tokens_per_second_of_gpu(in_flight: float, output_tokens: float, request: float, gpus: float) -> float:
    """Output tokens per second and GPU, by Little's law."""
    return in_flight * output_tokens / request / gpus

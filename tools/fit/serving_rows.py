"""Published measurements of serving: times per output token, to the first token, of batches and of requests.

`serving-facts.json` beside the rows has what they do not say: their sources, generations of accelerators and the
scale-up domain of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from training_rows import GBPS, Unusable, UnusedRow, usable_rows

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import Model
from bomgen.core.provenance import Cited, Figure, Reference, require
from bomgen.sizing.prediction.coefficients import SERVING_FACTS, generation, load
from bomgen.sizing.prediction.serving_terms import (
    NARROW,
    OWN_STEPS,
    WAITED,
    ReplicaSplit,
    ServedWork,
    ServingMachine,
    doublings,
    peak_of_format,
    served_work,
)
from bomgen.sizing.serving.gpu_memory import format_of_rest

ROWS = "serving-steps.csv"
RANDOM_LENGTHS = "0.8-1.0 random"
MEAN_OF_RANDOM_LENGTHS = Fraction(9, 10)
FROM_ONE_TOKEN = 0.58
SPREAD_OF_LENGTHS = {"fixed": 0.0, RANDOM_LENGTHS: 0.06}
"""Standard deviation of lengths over their mean, uniform from the least to the longest, otherwise from one token."""
DRAFTING = "mtp"
DRAFTED = 1.0
"""Tokens that rows with multi-token prediction draft per step, as the models have one module; few say so."""
ACCEPTED = 0.85
"""Share of these that is accepted (DeepSeek-V3 Technical Report, section 5.4.3: 85 to 90 %)."""
PLAIN = ("none", DRAFTING)
"""Rows that say whether tokens are drafted."""
DAYS_A_YEAR = 365.25
MIDDLE = (1, 7, 1)
"""Month and day of a date that lacks them, the middle of its year."""
FEW_IN_FLIGHT = 64
MOST_QUEUED = 0.7
"""Requests that decode for less of their time waited in a queue, where at least `FEW_IN_FLIGHT` were sent at once."""
SIXTEEN_BITS = "bf16"
MILLISECONDS = 1000


class MeasuredServing(NamedTuple):
    """A measured replica with the inputs of the terms; times in seconds, None: not published."""

    number: int
    """Line of the file."""
    fields: Mapping[str, str]
    engine: str
    generation: str
    model: str
    gpu: str
    group: str
    """Model, GPU, engine and precision."""
    years: float
    """Years before the newest rows."""
    work: ServedWork[float]
    machine: ServingMachine[float]
    split: ReplicaSplit[float]
    output: float
    mixed: bool
    """Whether prompts are processed on the GPUs that decode."""
    apart: float
    """1: prompts do not arrive together, and are processed in steps of their own; else 0."""
    waited: float
    """Share of the prompts of others that is processed before the first token of a request."""
    tpot: float | None
    ttft: float | None
    batch: float | None
    """Time of a whole batch, all of whose prompts start together."""
    request: float | None
    """Mean time of a request, from the throughput, or the two times above."""


def years_before_newest(day: str) -> float:
    """Return how many years a day, month or year, as `2024-05-17`, is before the newest rows; 0 if not before."""
    parts = [int(part) for part in (day or load(SERVING_FACTS)["undated"]).split("-")]
    released = date(*(*parts, *MIDDLE[len(parts) :]))
    return max(0.0, (date.fromisoformat(load(SERVING_FACTS)["newest"]) - released).days / DAYS_A_YEAR)


def read() -> tuple[list[MeasuredServing], list[UnusedRow]]:
    """Return all usable rows, and those left out."""
    return usable_rows(ROWS, _row)


def _row(number: int, fields: Mapping[str, str]) -> MeasuredServing:
    if fields["speculative"] not in PLAIN:
        raise Unusable("whether tokens are drafted is not published")
    if fields["note"].startswith("not plausible"):
        raise Unusable(fields["note"])
    if not fields["concurrency"]:
        raise Unusable("the number of requests in flight is not published")
    born = generation(fields["gpu"], SERVING_FACTS)
    if born is None:
        raise Unusable("too few rows of this generation of accelerators")
    machine = _machine(fields["gpu"], fields["model"], fields["precision"])
    split, queued = _split(fields, machine.domain), _queued(fields)
    if queued is not None:
        split = split._replace(in_flight=split.in_flight * queued)
    formats = fields["model"], fields["precision"], fields["kv_precision"] or SIXTEEN_BITS
    work = _known_work(*formats, _length(fields, "prompt"), _length(fields, "output"), split.width)
    output = float(_length(fields, "output"))
    throughput, whole = fields["tokens_per_second_per_gpu"], fields["disaggregated"] == ""
    measured = "computed" not in fields["throughput_counts"] and "prompt as well" not in fields["throughput_counts"]
    gpus = split.width * split.ranks * split.pipeline
    request = None
    if throughput and whole and measured and not fields["latency_s"] and not fields["tpot_ms"]:
        request = float(fields["concurrency"]) * output / (float(throughput) * gpus)
    spread = SPREAD_OF_LENGTHS.get(fields["length_rule"], FROM_ONE_TOKEN)
    tpot, ttft = (float(fields[key]) / MILLISECONDS if fields[key] else None for key in ("tpot_ms", "ttft_ms"))
    ttft = ttft if whole and queued is None else None
    if tpot and ttft:
        request = ttft + tpot * (output - 1)
    return MeasuredServing(
        number=number,
        fields=fields,
        engine=fields["engine"],
        generation=born,
        model=fields["model"],
        gpu=fields["gpu"],
        group=" ".join(fields[key] for key in ("model", "gpu", "engine", "precision")),
        years=years_before_newest(fields["date"]),
        work=work,
        machine=machine,
        split=split,
        output=output,
        mixed=whole,
        apart=float(fields["engine"] in OWN_STEPS and spread > 0),
        waited=WAITED * (spread <= NARROW),
        tpot=tpot,
        ttft=ttft,
        batch=float(fields["latency_s"]) if fields["latency_s"] else None,
        request=request,
    )


def _length(fields: Mapping[str, str], key: str) -> Fraction:
    return Fraction(fields[key]) * (MEAN_OF_RANDOM_LENGTHS if fields["length_rule"] == RANDOM_LENGTHS else 1)


def _split(fields: Mapping[str, str], domain: float) -> ReplicaSplit[float]:
    width, ranks, expert = (float(fields[key]) for key in ("tensor", "attention_data", "expert"))
    in_flight = float(fields["concurrency"])
    if pools := fields["disaggregated"]:
        # `1x(t4 d1 e1) / 2x(t4 d1 e1) = 4/8 GPUs` has two replicas of decode.
        _, slash, decode = pools.partition(" / ")
        in_flight /= int(decode.partition("x")[0]) if slash else 1
    return ReplicaSplit(
        width=width,
        ranks=ranks,
        doublings=doublings(width, domain),
        exchanges=float(ranks > 1 and max(width * ranks, expert) > 1),
        pipeline=float(fields["pipeline"]),
        verified=1.0 + DRAFTED * (fields["speculative"] == DRAFTING),
        in_flight=in_flight,
    )


def _queued(fields: Mapping[str, str]) -> float | None:
    """Return the share of the requests in flight that were processed, not queued; None: all were.

    By Little's law, from the share of their time that requests spent decoding.
    """
    if not (fields["ttft_ms"] and fields["tpot_ms"]) or float(fields["concurrency"]) < FEW_IN_FLIGHT:
        return None
    answering = float(fields["tpot_ms"]) * float(_length(fields, "output"))
    share = answering / (float(fields["ttft_ms"]) + answering)
    return share if share < MOST_QUEUED else None


@cache
def _model(id: str) -> Model:
    return part_records.model(Catalog().find("model", id))


@cache
def _known_work(
    id: str, precision: str, kv: str, prompt: Fraction, output: Fraction, width: float
) -> ServedWork[float]:
    origin = Cited(id, (Reference(ROWS),), "high")
    sizes = [Figure(number, "tokens", origin) for number in (prompt, output)]
    model = _model(id)
    of_gpus = Figure(int(width), "count", origin)
    work = served_work(model, (weight_format(id, precision), kv), sizes[0], sizes[1], of_gpus)
    if work is None:
        raise Unusable("the terms do not describe this kind of model")
    return ServedWork(*(float(figure.value) for figure in work))


def weight_format(model: str, precision: str) -> str:
    """Return the format of the weights that rows call `fp4`: MXFP4 for gpt-oss, else NVFP4."""
    if precision != "fp4":
        return precision
    return "mxfp4" if model.startswith("gpt-oss") else "nvfp4"


@cache
def _machine(id: str, model: str, precision: str) -> ServingMachine[float]:
    gpu = part_records.gpu(Catalog().find("gpu", id))
    served = weight_format(model, precision)
    plain = format_of_rest(_model(model), served)
    lacks = "the catalogue lacks a rate of the accelerator"
    peaks = [float(require(peak_of_format(gpu, name), lacks).value) for name in (plain, served, SIXTEEN_BITS)]
    if gpu.scale_up is None and gpu.pcie_gbps is None:
        raise Unusable(lacks)
    scale_up = gpu.scale_up.value / 2 if gpu.scale_up else require(gpu.pcie_gbps, lacks).value * GBPS
    return ServingMachine(
        peak=peaks[0],
        expert_peak=peaks[1],
        plain_peak=peaks[2],
        memory_bandwidth=float(require(gpu.memory_bandwidth, lacks).value),
        scale_up=float(scale_up),
        network=load(SERVING_FACTS)["network_gbps"] * GBPS,
        domain=float(load(SERVING_FACTS)["domains"].get(id, load(SERVING_FACTS)["domain"])),
    )

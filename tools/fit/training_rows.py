"""Published measurements of training steps, as inputs of the terms.

`facts.json` beside the rows has further facts: the network of each cluster, the catalogue's name of each model, the
behaviour of the software, and settings that a publisher prints elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from bomgen.catalog import models, part_records
from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import Gpu, Identity, Model
from bomgen.core.provenance import Cited, Figure, Reference, require
from bomgen.sizing.model_work import Adapters, work_of_model, work_with_adapters
from bomgen.sizing.prediction.coefficients import (
    ALL_GATHERS,
    FACTS,
    OVERLAPPED,
    PLAIN,
    ROWS,
    SENT_ONCE,
    adapts,
    family,
    generation,
    load,
    member,
    numbered_rows,
    stack_name,
)
from bomgen.sizing.prediction.terms import Machine, Split, Work
from bomgen.sizing.training.states import QUANTISED

SHAPE = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab")
TUNING = ("tuning", "rank", "modules")
"""Columns that only rows of fine-tuning have: full, lora or qlora; the rank of adapters, and the adapted matrices."""
MODEL_FLOPS = 6
"""FLOPs of training per multiply-add of the forward pass."""
GBPS = 1e9 / 8
TERA = 1e12
CLOCK_BY_POWER = 1 / 3
"""Power grows with the clock and the square of the voltage, which grows with the clock."""
VERSION_LENGTH = len("26.02")
GATHERS = {"": 0.0, "zero2": 1.0}


class MeasuredStep(NamedTuple):
    """A measured step with the inputs of the terms."""

    number: int
    """Line of the file."""
    fields: Mapping[str, str]
    cluster: str
    stack: str
    version: str
    """Stack with its version, where there are several."""
    generation: str
    gpu: str
    """Id in the catalogue."""
    precision: str
    """The family of the row's precision: 16-bit, fp8, mxfp8 or nvfp4."""
    step: float
    """Measured time of a step [s]."""
    work: Work[float]
    machine: Machine[float]
    split: Split[float]

    @property
    def model(self) -> str:
        """The model as a member of its level of the fit."""
        return member(self.moe, str(load(FACTS)["models"].get(self.fields["model"], self.fields["model"])))

    @property
    def moe(self) -> bool:
        """Whether the model is a mixture of experts."""
        return self.work.expert_weights > 0


class UnusedRow(NamedTuple):
    """A row that is not used, and why."""

    number: int
    fields: Mapping[str, str]
    reason: str


Described = TypeVar("Described")


class Unusable(Exception):
    """A row that the terms cannot describe; the text says why."""


def read(catalog: Catalog) -> tuple[list[MeasuredStep], list[UnusedRow]]:
    """Return all usable rows, and those left out."""
    work_by_shape: dict[tuple[str, ...], Work[float]] = {}
    return usable_rows(ROWS, lambda number, fields: _row(catalog, number, fields, work_by_shape))


def usable_rows(
    file: str, describe: Callable[[int, Mapping[str, str]], Described]
) -> tuple[list[Described], list[UnusedRow]]:
    """Return the rows of a file as `describe` returns them, and those for which it raises Unusable."""
    rows, left_out = [], []
    for number, fields in numbered_rows(file):
        try:
            rows.append(describe(number, fields))
        except Unusable as reason:
            left_out.append(UnusedRow(number, fields, str(reason)))
    return rows, left_out


def _row(
    catalog: Catalog, number: int, fields: Mapping[str, str], work_by_shape: dict[tuple[str, ...], Work[float]]
) -> MeasuredStep:
    """Return a row as numbers; `known` caches the work of models. Raises Unusable."""
    cluster = load(FACTS)["clusters"].get(fields["cluster"])
    for rule in load(FACTS)["left_out"]:
        if (rule["cluster"], rule["seq"]) == (fields["cluster"], fields["seq"]):
            raise Unusable(rule["why"])
    if not fields["layers"] and fields["model"] not in load(FACTS)["models"]:
        raise Unusable("no shape of the model")
    if cluster is None:
        raise Unusable("batch and split are not published")
    if not fields["gbs"] or not fields["dp"]:
        raise Unusable("replicas are not published, or do not multiply to the number of GPUs")
    stack = _stack(fields["framework"])
    shape = tuple(fields[name] for name in ("model", "seq", *SHAPE, *TUNING))
    if shape not in work_by_shape:
        work_by_shape[shape] = _work(catalog, fields)
    numbers = work_by_shape[shape]
    gpu = part_records.gpu(catalog.find("gpu", cluster["gpu"]))
    precision = family(fields["precision"])
    settings = load(FACTS)["settings"].get(fields["cluster"], {}).get(fields["model"], {})
    split = _split(fields, settings, stack, numbers.layers)
    return MeasuredStep(
        number=number,
        fields=fields,
        cluster=fields["cluster"],
        stack=stack["stack"],
        gpu=cluster["gpu"],
        precision=precision,
        step=_step(fields, numbers, split),
        work=numbers,
        machine=_machine(gpu, cluster["gpu"], precision, cluster, stack["kernel"]),
        generation=generation(cluster["gpu"]) or "",
        version=_version(fields["framework"], stack),
        split=split,
    )


def _work(catalog: Catalog, fields: Mapping[str, str]) -> Work[float]:
    model, origin = _model(catalog, fields), _origin(fields)
    work = work_of_model(model, Figure(int(fields["seq"]), "tokens", origin))
    if work is None:
        raise Unusable("the terms do not describe this kind of model")
    if adapts(fields):
        modules = tuple(fields["modules"].split()) or None
        rank = Figure(int(fields["rank"]), "count", origin)
        work = work_with_adapters(work, model, Adapters(rank, modules, fields["tuning"] == QUANTISED))
    return Work(*(float(figure.value) for figure in work))


PEAKS = {"16-bit": "bf16", "fp8": "fp8", "mxfp8": "fp8", "nvfp4": "fp4"}


def _version(framework: str, stack: Mapping[str, Any]) -> str:
    """Return stack and version, the suffix of the framework's name: `Megatron-Bridge 26.02.01` is 26.02."""
    name, number = stack_name(stack), framework.rpartition(" ")[2]
    return f"{name}-{number[:VERSION_LENGTH]}" if number[:1].isdigit() else name


def _machine(gpu: Gpu, id: str, precision: str, cluster: Mapping[str, Any], kernel: str) -> Machine[float]:
    clock = float(cluster.get("power_limit", 1)) ** CLOCK_BY_POWER
    return Machine(
        peak=float(gpu.dense[PEAKS[precision]].value) * TERA * clock,
        plain_peak=float(gpu.dense["bf16"].value) * TERA * clock,
        memory_bandwidth=float(gpu.memory_bandwidth.value),  # type: ignore[union-attr]
        scale_up=float(gpu.scale_up.value) / 2,  # type: ignore[union-attr]
        network=cluster["nic_gbps"] * GBPS,
        domain=float(cluster["domain"]),
        attention_share=float(load(FACTS)["kernels"][kernel][generation(id)]),
    )


def _step(fields: Mapping[str, str], work: Work[float], split: Split[float]) -> float:
    if fields["iter_s"]:
        return float(fields["iter_s"])
    tokens = split.batch * work.sequence / float(fields["gpus"])
    if fields["tok_s_gpu"]:
        return tokens / float(fields["tok_s_gpu"])
    if fields["flops_convention"] == "model":
        flops = MODEL_FLOPS * (work.weights + work.head + work.products)
        return tokens * flops / (float(fields["tflops_reported"]) * TERA)
    raise Unusable("neither step time nor tokens per second are published")


def _split(
    fields: Mapping[str, str], settings: Mapping[str, Any], stack: Mapping[str, Any], layers: float
) -> Split[float]:
    def number(key: str, otherwise: float = 1.0) -> float:
        return float(fields[key]) if fields[key] else otherwise

    fsdp = fields["fsdp"]
    flash = stack["kernel"] != "none"
    again = load(FACTS)["recomputation"].get(fields["recompute"], {})
    chunks = min(float(stack.get("interleave", 1)), layers // number("pp")) if number("pp") > 1 else 1.0
    return Split(
        batch=number("gbs"),
        micro_batch=number("mbs", float(settings.get("micro_batch", 1))),
        tensor=number("tp"),
        pipeline=number("pp"),
        interleave=number("vp", float(settings.get("interleave", chunks))),
        data=number("dp"),
        context=number("cp"),
        expert=number("ep"),
        gathers=GATHERS.get(fsdp, ALL_GATHERS),
        messages=float(stack.get("messages", 1)),
        sharded=float(stack["sharded"] or bool(fsdp)),
        recompute=float(again.get("share", 0)),
        attention_recompute=float(again.get("attention", fields["recompute"] == "selective" and not flash)),
        flash=float(flash),
        sequence_parallel=float(stack["sequence_parallel"]),
        overlapped=float(stack["overlapped"]),
        sent_once=float(stack.get("exchange", PLAIN) in SENT_ONCE),
        exchange_overlapped=float(stack.get("exchange", PLAIN) == OVERLAPPED),
    )


def _stack(framework: str) -> Mapping[str, Any]:
    stacks: dict[str, Any] = load(FACTS)["stacks"]
    for name in sorted(stacks, key=len, reverse=True):
        if framework.startswith(name):
            stack: Mapping[str, Any] = stacks[name]
            return stack
    raise Unusable("the software is not published")


def _model(catalog: Catalog, fields: Mapping[str, str]) -> Model:
    if id := load(FACTS)["models"].get(fields["model"]):
        return part_records.model(catalog.find("model", id))
    if fields["moe"] == "1":
        raise Unusable("the terms need more of a mixture of experts than the row says")
    origin = _origin(fields)
    shape = {key: Figure(int(fields[key]), "count", origin) for key in SHAPE}
    identity = Identity(kind="model", id=fields["model"], name=fields["model"])
    plain = Model(
        identity=identity,
        parameters=models.ZERO_PARAMETERS,
        active_parameters=models.ZERO_PARAMETERS,
        moe=False,
        shape=shape,
        tied=fields["gated"] == "0",
        mlp="gated" if fields["gated"] == "1" else "plain",
    )
    parameters = require(models.parameters(plain), "the row has all keys of the shape")
    return plain._replace(parameters=parameters, active_parameters=parameters)


def _origin(fields: Mapping[str, str]) -> Cited:
    return Cited(fields["model"], (Reference(fields["source"], fields["url"]),), "high")

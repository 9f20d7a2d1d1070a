"""Binding of the workload block of a plan, and of the storage that it reads from and writes to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bomgen.catalog import part_records, parts
from bomgen.catalog.files import Catalog
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, difference, require
from bomgen.core.units import parse
from bomgen.plan.binding.fabrics import plug_of
from bomgen.plan.binding.section import PlanSection
from bomgen.plan.types import (
    ESTIMATE,
    PREDICTED,
    Compute,
    Degrees,
    Inference,
    OwnStep,
    Parallelism,
    Plug,
    PublishedRange,
    Storage,
    StorageLevel,
    StorageServers,
    Training,
    Tuning,
)

DEGREES = ("tensor", "pipeline", "interleave", "context", "expert")
WIDE = ("fp64", "fp32", "tf32", "bf16", "fp16")
"""Precisions of 16 bits and more."""
STORAGE_SERVER = "storage server"
"""The name of a storage server without one."""


def training(section: PlanSection, gpu: parts.Gpu | None) -> Training | None:
    """Return a training run on a GPU; None when it is wrong, which the section notes."""
    model = section.part("model", "model", part_records.model)
    tokens = section.figure("tokens", "tokens")
    achieved = section.figure("achieved_tflops", "TFLOP/s")
    token_rate = section.figure("tokens_per_second_per_gpu", "tokens/s")
    measured = achieved is not None or token_rate is not None
    precision = section.word("precision", "training-precision")
    usual = _usual_mfu(model, precision)
    predicted = section.word("mfu", usual) if section.data.get("mfu") == PREDICTED else None
    mfu = (
        section.catalog.assumption(usual) if predicted else section.figure("mfu", "share", None if measured else usual)
    )
    flash = section.yes_or_no("flash_attention", "training-flash-attention")
    if gpu and gpu.flash_attention and not section.has("flash_attention"):
        flash = gpu.flash_attention
    if section.data.get("goodput") == ESTIMATE:
        goodput = section.word("goodput", "training-goodput")
    else:
        goodput = section.quantity("goodput", "share", "training-goodput")
    run = partial(
        Training,
        mark=section.mark,
        epochs=section.quantity("epochs", "epochs", "training-epochs"),
        target_days=section.figure("target_days", "days"),
        precision=precision,
        mfu=mfu,
        achieved_tflops=achieved,
        tokens_per_second_per_gpu=token_rate,
        attention=section.word("attention", "training-attention"),
        embedding=section.word("embedding", "training-embedding"),
        recompute=section.word("recompute", "training-recompute"),
        flash_attention=flash,
        parallel_efficiency=section.quantity("parallel_efficiency", "share", "training-parallel-efficiency"),
        goodput=goodput,
        sequence=section.figure("sequence", "tokens") or (_usual_sequence(section, model) if model else None),
        micro_batch=section.quantity("micro_batch", "count", "training-micro-batch"),
        batch_tokens=section.quantity("batch_tokens", "tokens", "training-batch-tokens"),
        optimizer=section.word("optimizer", "training-optimizer"),
        gradient_precision=section.word("gradient_precision", "training-gradient-precision"),
        zero=section.quantity("zero", "count", "training-zero", zero=True),
        parallelism=_parallelism(section.below("parallelism")),
        flops_per_parameter_token=section.catalog.assumption("flops-per-parameter-token"),
        recompute_flops_per_parameter_token=section.catalog.assumption("recompute-flops-per-parameter-token"),
        published_runs=partial(part_records.published_runs, Catalog()),
        offload=tuple(section.data.get("offload", ())),
        predicted=predicted,
        stack=section.word("stack", "") if section.has("stack") else None,
        measured=tuple(map(_own_step, section.items("measured"))),
        network=section.catalog.assumption("prediction-network"),
    )
    return None if model is None or tokens is None else run(model=model, tokens=tokens)


def _own_step(section: PlanSection) -> OwnStep:
    gpus = require(section.figure("gpus", "count"), "the schema asks for the GPUs")
    step = require(section.figure("step", "days"), "the schema asks for the step")
    return OwnStep(gpus=gpus, step=step, **_degrees(section, DEGREES))


def _degrees(section: PlanSection, keys: Sequence[str]) -> dict[str, Figure]:
    return {key: section.quantity(key, "count", "parallelism-degree") for key in keys}


def _usual_mfu(model: parts.Model | None, precision: Figure) -> str:
    """Return the assumption for the utilisation: by kind of model, for mixtures of experts by precision."""
    if model is None or not model.moe:
        return "training-mfu"
    return "training-mfu-experts" if precision.value in WIDE else "training-mfu-experts-narrow"


def _usual_sequence(section: PlanSection, model: parts.Model) -> Figure | None:
    """Return the usual training sequence length, at most a model's context; None where that is unknown."""
    context = model.shape.get("context")
    if context is None:
        return None
    usual = section.catalog.assumption("training-sequence")
    return usual if usual.value < context.value else context


def fine_tuning(section: PlanSection, gpu: parts.Gpu | None) -> Training | None:
    """Return a fine-tuning run on a GPU; None when it is wrong, which the section notes."""
    run = training(section, gpu)
    modules = section.data.get("target_modules")
    tuning = Tuning(
        method=section.word("method", "fine-tuning-method"),
        rank=section.quantity("rank", "count", "fine-tuning-rank"),
        modules=tuple(str(module) for module in modules) if modules else None,
        modules_mark=section.value_mark("target_modules") if modules else section.mark,
        frozen_flops_per_parameter_token=section.catalog.assumption("frozen-flops-per-parameter-token"),
    )
    return run._replace(tuning=tuning) if run else None


def _parallelism(section: PlanSection) -> Parallelism | None:
    if not section.data:
        return None
    sequence_parallel = bool(section.data.get("sequence_parallel", False))
    return Parallelism(sequence_parallel=sequence_parallel, mark=section.mark, **_degrees(section, DEGREES))


def inference(section: PlanSection) -> Inference | None:
    """Return a model to be served; None when it is wrong, which the section notes."""
    model = section.part("model", "model", part_records.model)
    precision = section.word("precision", "inference-precision")
    engine = section.word("engine", "inference-engine")
    drafted = accepted = None
    context = section.figure("context", "tokens") or (model.shape.get("context") if model else None)
    output = section.figure("output_tokens", "tokens")
    if section.has("speculative"):
        drafts = section.below("speculative")
        drafted = drafts.quantity("drafted", "count", "inference-drafted")
        accepted = drafts.quantity("accepted", "ratio", "inference-accepted")
    serving = partial(
        Inference,
        mark=section.mark,
        precision=precision,
        kv_precision=section.word("kv_precision", "inference-precision") if section.has("kv_precision") else precision,
        context=context,
        prompt_tokens=prompt_tokens(context, output) if context and output else None,
        concurrency=section.quantity("concurrency", "requests", "inference-concurrency"),
        batch=section.figure("batch", "requests"),
        output_tokens=output,
        requests_per_minute=section.figure("requests_per_minute", "requests/min"),
        tokens_per_second_per_gpu=section.figure("tokens_per_second_per_gpu", "tokens/s"),
        engine=engine,
        memory_share=section.quantity("memory_share", "share", f"inference-memory-share-{engine.value}"),
        degrees=_replica_degrees(section.below("parallelism")),
        drafted=drafted,
        accepted=accepted,
        disaggregated=bool(section.data.get("disaggregated", False)),
        compute_efficiency=_spread(section, "compute_efficiency", "-experts" if model and model.moe else ""),
        bandwidth_efficiency=_spread(section, "bandwidth_efficiency"),
        headroom=section.catalog.assumption("inference-headroom"),
        network=section.catalog.assumption("prediction-network"),
    )
    return None if model is None else serving(model=model)


prompt_tokens = difference("prompt_tokens", "tokens", "context", "output_tokens")
"""Tokens of a request's prompt."""


def _replica_degrees(section: PlanSection) -> Degrees | None:
    if not section.data:
        return None
    attention = str(section.data.get("attention", Degrees._field_defaults["attention"]))
    return Degrees(mark=section.mark, attention=attention, **_degrees(section, ("tensor", "pipeline")))


def _spread(section: PlanSection, key: str, kind: str = "") -> PublishedRange:
    """Return an efficiency at its low, typical and high end: from the plan, else as assumed for a kind of model."""
    given, assumption = section.below(key), f"inference-{key.replace('_', '-')}{kind}"
    return PublishedRange(*(given.quantity(end, "share", f"{assumption}-{end}") for end in PublishedRange._fields))


def compute(section: PlanSection) -> Compute | None:
    """Return the target of peak computing power; None when it is wrong, which the section notes."""
    target = section.figure("target", "FLOP/s")
    if target is None:
        return None
    return Compute(
        mark=section.mark,
        target=target,
        precision=section.word("precision", "compute-precision"),
        sparsity=section.word("sparsity", "compute-sparsity"),
    )


def storage(section: PlanSection) -> Storage:
    """Return the storage of the plan, with assumptions about interruptions where it gives none."""
    assumption = section.catalog.assumption
    published = assumption("interruption-gpu-hours-low"), assumption("interruption-gpu-hours-high")
    return Storage(
        mark=section.mark if section.data else section.source.mark(()),
        given=bool(section.data),
        checkpoint_every=section.figure("checkpoint_every", "days"),
        keep=section.quantity("keep", "count", "checkpoints-kept"),
        dataset_bytes=section.figure("dataset", "bytes"),
        read_per_server=section.figure("read_per_server", "bytes/s"),
        write_per_server=section.figure("write_per_server", "bytes/s"),
        level=section.word("level", "storage-level"),
        levels=_storage_levels(section.catalog),
        unit_servers=assumption("storage-unit-servers"),
        server_gpus=assumption("storage-server-gpus"),
        interruption_gpu_hours=section.quantity("interruption_gpu_hours", "GPU-hours", "interruption-gpu-hours"),
        interruption_range=None if section.has("interruption_gpu_hours") else published,
        restart_days=section.quantity("restart", "days", "restart-time", zero=True),
        servers=_storage_servers(section),
    )


STORAGE_FIGURES = {
    "read_of_server": "storage-server-read",
    "write_of_server": "storage-server-write",
    "read_of_four_units": "storage-units-read",
    "write_of_four_units": "storage-units-write",
}
"""The messages that name the figures of a level."""


def _storage_levels(catalog: Catalog) -> dict[str, StorageLevel]:
    record = catalog.find("assumption", "storage-bandwidth")
    references, confidence = record.references(list(record.data["source"])), str(record.data["confidence"])

    def cited(level: str, key: str) -> Figure:
        of = message(STORAGE_FIGURES[key], level=level)
        return Figure(parse(record.value("value", level, key), "bytes/s"), "bytes/s", Cited(of, references, confidence))

    return {level: StorageLevel(*(cited(level, key) for key in StorageLevel._fields)) for level in record.data["value"]}


def _storage_servers(storage: PlanSection) -> StorageServers | None:
    """Return the storage system of the plan: from the catalogue, with the plan's values overriding it, or described."""
    section, given = storage.below("servers"), storage.data.get("servers")
    named = storage.part("servers", "storage", part_records.storage_system) if isinstance(given, str) else None
    if section.has("part"):
        named = section.part("part", "storage", part_records.storage_system)
    if named is None and (isinstance(given, str) or section.has("part") or not section.data):
        return None
    nic = section.part("nic", "nic", part_records.nic)
    plug = plug_of(nic) if nic else _plug_of_system(named)
    return StorageServers(
        mark=storage.value_mark("servers") if isinstance(given, str) else section.mark,
        identity=named.identity if named else _described_storage(section),
        pieces=section.figure("count", "count"),
        capacity_bytes=section.figure("capacity", "bytes") or (named and named.capacity_bytes),
        read=section.figure("read", "bytes/s") or (named and named.read),
        write=section.figure("write", "bytes/s") or (named and named.write),
        power_w=section.figure("power", "W") or (named and named.power_w),
        rack_units=section.figure("rack_units", "U") or (named and named.rack_units),
        weight_kg=section.figure("weight", "kg") or (named and named.weight_kg),
        ports=section.figure("ports", "count")
        or (named and named.ports)
        or section.quantity("ports", "count", "storage-server-ports"),
        plug=plug,
        least=named and named.least,
        bmc_ports=named and named.bmc_ports,
        supplies=named and named.supplies,
    )


def _plug_of_system(system: parts.StorageSystem | None) -> Plug | None:
    if system is None or system.cage == parts.ANY:
        return None
    return Plug(system.cage, system.ports_per_cage, system.port_gbps)


def _described_storage(section: PlanSection) -> parts.Identity:
    name = section.text("name") or STORAGE_SERVER
    return parts.Identity(
        kind="storage",
        id=part_records.slug(name) or part_records.slug(STORAGE_SERVER),
        name=name,
        vendor=section.text("vendor"),
        part_number=section.text("part_number"),
        mark=section.mark,
        inline=True,
    )

"""The summary: the proposal in sentences, and every warning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from math import ceil

from bomgen.core.document import Note, Section
from bomgen.core.provenance import Figure
from bomgen.design.assembly import BuiltFabric
from bomgen.documents.chapters.serving import margin
from bomgen.documents.chapters.serving import sentences as of_serving
from bomgen.documents.chapters.writer import Writer


def summary(writer: Writer, clusters: Sequence[Writer]) -> Section:
    """Return the chapter with the proposal for each cluster of the plan and every warning."""
    notes = tuple(
        Note("warning", writer.language.message(problem.message), problem.mark.recorded)
        for problem in writer.report.problems
    )
    text = tuple(cluster.named(sentence) for cluster in clusters for sentence in sentences(cluster))
    return Section("summary", writer.word("section-summary"), text=text, notes=notes)


def summarize_cluster(writer: Writer) -> Iterator[str]:
    """Yield a few sentences about a cluster: sizing target, with its margin, networks, storage."""
    yield from islice((*_training(writer), *_target(writer), *of_serving(writer)), 1)
    yield from margin(writer)
    networks = [
        writer.word(
            "quote-network",
            name=writer.fabric_name(built.plan.name),
            topology=writer.language.value(built.fabric.topology, "word"),
            endpoints=writer.language.number(built.fabric.endpoints.value),
            gbps=writer.language.number(built.fabric.links[0].rate_gbps.value),
        )
        for built in writer.report.design.fabrics
    ]
    if networks:
        yield writer.word("quote-networks", networks=writer.word("list-semicolon").join(networks))
    yield from _storage(writer)


def sentences(writer: Writer) -> Iterator[str]:
    """Yield the proposal in sentences with its numbers."""
    yield summarize_machines(writer)
    yield from _training(writer)
    yield from _target(writer)
    pods, chips = writer.report.design.sizing.pods, writer.report.plan.cluster.gpu.pod_chips
    if pods and chips:
        number = writer.language.number
        yield writer.word("sentence-pods", pods=number(pods.value), chips=number(chips.value))
    yield from of_serving(writer)
    for built in writer.report.design.fabrics:
        yield from _direct(writer, built) if built.plan.switchless else (_fabric(writer, built),)
    yield from _storage(writer)


def _storage(writer: Writer) -> Iterator[str]:
    """Yield a sentence about the storage that is sold: its parts, capacity and bandwidth, and what was requested."""
    stored = writer.report.design.sizing.stored
    if stored is None or not stored.units:
        return
    number, word = writer.language.number, writer.word
    names = [(number(part.number.value), writer.language.message(part.of.identity.name)) for part in stored.units]
    facts = [word("list-comma").join(word("storage-units", count=count, name=name) for count, name in names)]
    capacities = (
        ("storage-usable", stored.sold_capacity_bytes),
        ("storage-requested", stored.capacity_bytes),
    )
    rates = (("storage-read", stored.delivered_read), ("storage-write", stored.delivered_write))
    for group in (capacities, rates):
        known = [word(key, value=writer.shown(figure)) for key, figure in group if figure]
        facts += [word("list-comma").join(known)] if known else []
    yield word("sentence-storage", facts=word("list-semicolon").join(facts))


def summarize_machines(writer: Writer) -> str:
    """Return the sentence about the GPUs and servers of a cluster."""
    sizing, cluster = writer.report.design.sizing, writer.report.plan.cluster
    number = writer.language.number
    values = {"gpus": number(sizing.gpus.value), "gpu": cluster.gpu.identity.name}
    if not (sizing.servers and cluster.server):
        return writer.word("sentence-gpus", **values)
    values |= {
        "servers": number(sizing.servers.value),
        "server": writer.language.message(cluster.server.identity.name),
    }
    if not cluster.server.trays:
        return writer.word("sentence-servers", **values)
    racks = number(ceil(sizing.servers.value / cluster.server.trays.value))
    return writer.word("sentence-racks", racks=racks, **values)


def _training(writer: Writer) -> Iterator[str]:
    sizing, training = writer.report.design.sizing, writer.report.plan.training
    learning, step = writer.report.plan.reinforcement, sizing.reinforced
    if training and learning and step and sizing.run and sizing.days:
        yield writer.word(
            "sentence-reinforcement",
            steps=writer.language.number(learning.steps.value),
            method=writer.language.value(learning.method.value, "word"),
            model=training.model.identity.name,
            parameters=writer.shown(sizing.run.parameters),
            days=_days(writer, sizing.days),
            responses=writer.language.number(learning.prompts.value * learning.responses.value),
            step=writer.shown(step.step.seconds),
            low=writer.shown(step.step.low),
            high=writer.shown(step.step.high),
        )
    elif training and sizing.run and sizing.days:
        tokens = writer.shown(training.tokens)
        if training.epochs.value != 1:
            tokens = writer.word("tokens-epochs", tokens=tokens, epochs=writer.language.number(training.epochs.value))
        yield writer.word(
            "sentence-tuning" if training.tuning else "sentence-training",
            method=writer.language.value(f"method-{training.tuning.method.value}", "word") if training.tuning else "",
            trainable=writer.shown(sizing.trainable_parameters) if sizing.trainable_parameters else "",
            model=training.model.identity.name,
            parameters=writer.shown(sizing.run.parameters),
            tokens=tokens,
            days=_days(writer, sizing.days),
            mfu=writer.shown(sizing.run.mfu),
            peak=writer.shown(sizing.run.peak_flops_per_gpu),
            precision=writer.language.value(training.precision.value, "word"),
        )


def _days(writer: Writer, days: Figure) -> str:
    """Return the duration of a run, with its interval where it is predicted."""
    low, high = (writer.numbers.get(("workload", f"days_{end}")) for end in ("low", "high"))
    if low is None or high is None:
        return writer.shown(days)
    return writer.word("days-between", days=writer.shown(days), low=writer.shown(low), high=writer.shown(high))


def _target(writer: Writer) -> Iterator[str]:
    sizing, compute = writer.report.design.sizing, writer.report.plan.compute
    if compute and sizing.target and sizing.peak_flops:
        yield writer.word(
            "sentence-target",
            reached=writer.shown(sizing.peak_flops),
            target=writer.shown(sizing.target.target_flops),
            peak=writer.shown(sizing.target.peak_flops_per_gpu),
            precision=writer.language.value(compute.precision.value, "word"),
            sparsity=writer.language.value(compute.sparsity.value, "word"),
        )


def _fabric(writer: Writer, built: BuiltFabric) -> str:
    planes, number = built.plan.planes.value, writer.language.number
    return writer.word(
        "sentence-fabric-planes" if planes > 1 else "sentence-fabric",
        planes=number(planes),
        name=writer.fabric_title(built.plan.name),
        topology=writer.language.value(built.fabric.topology, "word"),
        endpoints=number(built.fabric.endpoints.value),
        gbps=number(built.fabric.links[0].rate_gbps.value),
        switches=writer.describe_switches(built),
    )


def _direct(writer: Writer, built: BuiltFabric) -> Iterator[str]:
    fabric, number = built.fabric, writer.language.number
    shape = " × ".join(number(figure.value) for figure in fabric.dimensions.values())
    yield writer.word(
        "sentence-direct",
        name=writer.fabric_title(built.plan.name),
        topology=writer.language.value(fabric.topology, "word"),
        dimensions=f"{number(fabric.planes.value)} × ({shape})" if fabric.planes else shape,
        endpoints=number(fabric.endpoints.value),
        links=number(fabric.links[0].count.value),
        gbps=number(fabric.links[0].rate_gbps.value),
    )
    circuits = {key: number(figure.value) for key, figure in fabric.circuits.items()}
    yield writer.word("sentence-circuits" if circuits else "sentence-no-circuits", **circuits)

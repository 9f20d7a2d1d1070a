"""The chapters of sizing and storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from bomgen.core.document import Cell, Column, Note, Path, Section, Table, row_at, row_of
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Cited, Figure, Given, walk
from bomgen.documents.chapters.writer import Writer
from bomgen.plan.types import ESTIMATE
from bomgen.sizing.prediction.measurements import generation_name
from bomgen.sizing.prediction.predict import Predicted, Prediction, kind_of_model, nearest_to_run
from bomgen.sizing.storage import Stored
from bomgen.sizing.training.parallelism import describe_faster
from bomgen.sizing.training.run import Opinions
from bomgen.sizing.training.states import adapts

# storage ------------------------------------------------------------------------------------------------------------
# The chapter of storage, and the notes about the lost time of a training run.


def storage(writer: Writer) -> Section | None:
    """Return the chapter of storage bandwidth, capacity and servers; None if the plan requests none."""
    stored = writer.report.design.sizing.stored
    if stored is None:
        return None
    parts = (_parts(writer, stored),) if len(stored.units) > 1 else ()
    tables = (writer.table("storage"), *parts, _levels(writer, stored))
    notes = (Note("info", writer.word("capacity-unknown")),) if stored.dataset_bytes is None else ()
    return Section("storage", writer.word("section-storage"), tables=tables, notes=notes)


def _parts(writer: Writer, stored: Stored) -> Table:
    columns = (
        Column("name", writer.word("column-name"), "text", 34),
        Column("servers", writer.word("column-quantity"), "number", 14),
        Column("capacity", writer.word("column-usable"), "number", 20),
        Column("read", writer.word("column-read"), "number", 20),
        Column("write", writer.word("column-write"), "number", 20),
    )
    rows = tuple(
        row_of(
            writer.language.message(part.of.identity.name),
            *(
                Cell(figure.value, figure.unit) if figure else ""
                for figure in (part.number, part.capacity_bytes, part.read, part.write)
            ),
        )
        for part in stored.units
    )
    return Table("storage-parts", writer.word("table-storage-parts"), columns, rows)


def _levels(writer: Writer, stored: Stored) -> Table:
    columns = (
        Column("name", writer.word("column-level"), "text", 34),
        Column("read", writer.word("column-read"), "number", 20),
        Column("write", writer.word("column-write"), "number", 20),
        Column("why", writer.word("column-level-for"), "text", 70),
    )
    rows = tuple(
        row_of(
            writer.language.value(level.name, "word"),
            Cell(level.read.value, level.read.unit),
            Cell(level.write.value, level.write.unit),
            writer.word(f"level-{level.name}"),
        )
        for level in stored.levels
    )
    return Table("storage-levels", writer.word("table-storage-levels"), columns, rows, writer.word("levels-caption"))


def time_lost(writer: Writer) -> Iterator[Note]:
    """Yield notes about the reliability of the goodput estimate, and whether it was used."""
    sizing, training = writer.report.design.sizing, writer.report.plan.training
    if sizing.lost is None or sizing.run is None or training is None:
        return
    goodput, used = writer.shown(sizing.lost.goodput), writer.shown(sizing.run.goodput)
    span = ""
    if sizing.lost.goodput_range:
        low, high = (writer.shown(end) for end in sizing.lost.goodput_range)
        span = writer.word("lost-time-span", low=low, high=high)
    if training.goodput.value == ESTIMATE:
        yield Note("info", writer.word("lost-time-used", goodput=goodput, span=span))
    else:
        yield Note("info", writer.word("lost-time-offered", goodput=goodput, span=span, used=used))
    yield Note("info", writer.word("lost-time-published"))
    without_copy = sizing.lost.checkpoint.contents.without_copy
    if without_copy:
        yield Note("info", writer.word("checkpoint-without-copy", size=writer.shown(without_copy)))


# sizing -------------------------------------------------------------------------------------------------------------

WORKLOAD = "workload"
PUBLISHED: Path = (WORKLOAD, "published_runs")
NO_BASIS = ("published-runs", "lost-time", "mfu-conventions", "prediction", "prediction-terms")
"""Tables whose numbers the sizing does not depend on."""


def sizing(writer: Writer) -> Section:
    """Return the chapter of workload requirements, parallelism and performance."""
    plan, found = writer.report.plan, writer.report.design.sizing
    tables = []
    if plan.training or plan.compute:
        tables.append(writer.table("training" if plan.training else "target", WORKLOAD))
    tables += [_captioned(writer, "mfu-conventions"), writer.table("cluster")]
    if found.fit:
        tables += [
            writer.table("parallelism"),
            writer.table("memory-per-gpu", "memory-per-gpu", "memory-host"),
            writer.table("memory-replica"),
        ]
    if found.predicted:
        tables += [
            _captioned(writer, "prediction", evidence=describe_evidence(writer, found.predicted.step)),
            _captioned(writer, "prediction-terms"),
            _nearest(writer, found.predicted),
        ]
    tables.append(writer.table("lost-time"))
    if found.opinions:
        tables += [_captioned(writer, "second-opinion"), _published(writer, found.opinions())]
    tables.append(_basis(writer))
    return Section(
        "sizing",
        writer.word("section-sizing"),
        text=tuple(_texts(writer)),
        tables=tuple(table for table in tables if table.rows),
        notes=tuple(_notes(writer)),
    )


def _texts(writer: Writer) -> Iterator[str]:
    plan = writer.report.plan
    if plan.training:
        tuning = plan.training.tuning
        if tuning and adapts(plan.training):
            yield writer.word(f"convention-{tuning.method.value}")
            yield writer.word(f"convention-attention-{plan.training.attention.value}")
        else:
            yield writer.word(f"convention-{plan.training.attention.value}")
    if plan.compute:
        yield writer.word(
            f"convention-{plan.compute.sparsity.value}",
            precision=writer.language.value(plan.compute.precision.value, "word"),
        )
    if writer.report.design.sizing.fit:
        yield writer.word("convention-bytes")


def _notes(writer: Writer) -> Iterator[Note]:
    found = writer.report.design.sizing
    if found.fit:
        faster = found.faster() if found.faster else None
        better = describe_faster(found.fit, faster, int(found.gpus.value)) if faster else None
        reasons = (better, *found.fit.reasons) if better else found.fit.reasons
        yield from (Note("info", writer.language.message(reason)) for reason in reasons)
        if found.fit.fits is None:
            yield Note("info", writer.word("memory-unknown"))
        yield Note("info", writer.word("memory-reserved" if found.fit.per_gpu.reserve else "memory-not-counted"))
        if found.fit.per_gpu.host and not found.fit.host_memory:
            yield Note("info", writer.word("host-memory-unknown"))
    yield from time_lost(writer)
    if found.pods and not writer.report.design.fabrics:
        yield Note("info", writer.word("sizing-only", gpu=writer.report.plan.cluster.gpu.identity.name))


def describe_evidence(writer: Writer, step: Prediction) -> str:
    """Return which measured steps the interval of a prediction rests on."""
    gpu, evidence = writer.report.plan.cluster.gpu, step.evidence
    kind = message(f"evidence-{kind_of_model(step.moe)}")
    generation = generation_name(step.generation) if step.generation else gpu.identity.name
    if evidence.left_out_error is None:
        return writer.language.message(message("evidence-none", kind=kind, generation=generation))
    found = message(
        "evidence-found",
        steps=evidence.measured_steps.value,
        kind=kind,
        generation=generation,
        error=writer.shown(evidence.left_out_error),
        of_stack=evidence.measured_steps_of_stack.value,
        stack=step.stack.name,
    )
    return writer.language.message(found)


def _nearest(writer: Writer, predicted: Predicted) -> Table:
    columns = (
        Column("source", writer.word("column-source"), "text", 30, main=True),
        Column("gpus", writer.word("column-gpus"), "text", 20),
        Column("model", writer.word("column-model"), "text", 24),
        Column("split", writer.word("column-split"), "text", 40),
        Column("step", writer.word("column-step"), "number", 16, main=True),
        Column("rate", writer.word("column-token-rate"), "number", 20, main=True),
    )
    rows = []
    sized, workload = writer.report.design.sizing, writer.report.plan.training
    near = nearest_to_run(workload, predicted, sized.fit, sized.gpus) if workload and sized.fit else []
    for each in near:
        row = each.fields
        split = writer.word(
            "split-of-row", tensor=row["tp"], pipeline=row["pp"], data=row["dp"], sequence=row["seq"], batch=row["gbs"]
        )
        model = f"{row['model']} {writer.language.value(row['precision'], 'word')}"
        if row["tuning"]:
            model += f", {writer.language.value('method-' + row['tuning'], 'word')}"
        cells = (f"{row['source']}, {row['framework']}", f"{row['gpus']} {row['gpu']}", model)
        measured = (Cell(float(row["iter_s"]), "s"), Cell(float(row["tok_s_gpu"]), "tokens/s"))
        rows.append(row_of(*(Cell(text) for text in cells), split, *measured))
    caption = writer.word("caption-nearest-steps")
    return Table("nearest-steps", writer.word("table-nearest-steps"), columns, tuple(rows), caption)


def _captioned(writer: Writer, id: str, **values: str) -> Table:
    return replace(writer.table(id), caption=writer.word(f"caption-{id}", **values))


def _published(writer: Writer, opinions: Opinions) -> Table:
    columns = (
        Column("run", writer.word("column-run"), "text", 34),
        Column("mfu", writer.word("column-mfu-of-run"), "share", 20),
        Column("days", writer.word("column-days-at-mfu"), "number", 14),
        Column("source", writer.word("column-source"), "text", 70),
    )
    rows = []
    for each in opinions.runs:
        base = (*PUBLISHED, each.run.identity.id)
        figures = (each.run.active_parameters, each.run.tokens, each.run.gpu_hours)
        parameters, tokens, hours = (writer.shown(figure) for figure in figures)
        run = writer.word(
            "published-run",
            **{"name": each.run.identity.name, "parameters": parameters, "tokens": tokens, "hours": hours},
            gpu=each.run.gpu,
        )
        source = _where(writer, each.run.gpu_hours)
        rows.append(row_of(run, writer.cell((*base, "mfu")), writer.cell((*base, "days")), source))
    caption = writer.word("caption-published-runs", mfu=writer.shown(opinions.effective_mfu))
    return Table("published-runs", writer.word("table-published-runs"), columns, tuple(rows), caption)


def _basis(writer: Writer) -> Table:
    columns = (
        Column("name", writer.word("column-name"), "text", 34),
        Column("value", writer.word("column-value"), "number", 18),
        Column("basis", writer.word("column-basis"), "text", 16),
        Column("source", writer.word("column-source"), "text", 60),
    )
    figures = [
        figure
        for path, figure in writer.numbers.items()
        if path[0] == WORKLOAD and (row := row_at(path)) and row.table not in NO_BASIS
    ]
    rows = tuple(
        row_of(name, Cell(writer.held(figure), figure.unit), _kind(writer, figure), _where(writer, figure))
        for name, figure in _leaves(writer, figures)
    )
    caption = writer.word("caption-basis")
    return Table("basis", writer.word("table-basis"), columns, rows, caption)


def _leaves(writer: Writer, figures: Iterable[Figure]) -> Iterator[tuple[str, Figure]]:
    """Yield the underived input figures, once each, with a name for the reader."""
    seen: set[int] = set()
    for node in walk(*figures):
        for parameter, figure in node.inputs:
            origin = figure.origin
            if id(figure) in seen or not isinstance(origin, Given | Cited | Assumed):
                continue
            seen.add(id(figure))
            if isinstance(origin, Cited):
                yield writer.cited(origin), figure
            else:
                named = writer.language.message(origin.name) if isinstance(origin, Assumed) else origin.key
                yield named or parameter, figure


def _where(writer: Writer, figure: Figure) -> Cell:
    origin = figure.origin
    return writer.sources(origin) if isinstance(origin, Cited | Assumed) else Cell(writer.origin(figure))


def _kind(writer: Writer, figure: Figure) -> str:
    plan, origin = writer.report.plan, figure.origin
    measured = [plan.training.achieved_tflops, plan.training.tokens_per_second_per_gpu] if plan.training else []
    if plan.inference:
        measured.append(plan.inference.tokens_per_second_per_gpu)
    if isinstance(origin, Given):
        return writer.word("basis-measured" if any(figure is one for one in measured) else "basis-given")
    if isinstance(origin, Cited):
        weak = "basis-cited-low" if origin.confidence == "low" else "basis-cited"
        return writer.word(weak if origin.verified else "unverified")
    return writer.word("basis-chosen" if isinstance(origin, Assumed) and origin.chosen else "basis-assumed")
